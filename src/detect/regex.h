#ifndef WEIR_DETECT_REGEX_H
#define WEIR_DETECT_REGEX_H

#include "detect/builtin.h"

/*
 * `regex`: personal data by name (detect/pii.h) and patterns that users write (detect/custom.h).
 *
 *   {"regex": ["email", "credit-card", "ORD-\\d{6}"]}     at most 32
 *
 * Findings score 1. Without the parameter nothing is looked for.
 */
extern const struct weir_builtin_kind weir_detect_regex;

#endif
