#ifndef WEIR_DETECT_REGEX_H
#define WEIR_DETECT_REGEX_H

#include "detect/builtin.h"

/*
 * `regex`: personal data by name (detect/pii.h) and patterns that users write (detect/custom.h).
 *
 *   {"regex": ["email", "credit-card", "ORD-\\d{6}", {"name": "order", "pattern": "ORD\\d+"}]}
 *
 * At most 32 entries. Findings score 1; those of a pattern are called by its name. Without the
 * parameter nothing is looked for.
 */
extern const struct weir_builtin_kind weir_detect_regex;

/*
 * The first entry of parameters that somebody may have meant as a name (letters, digits, `_` and
 * `-` only) and that is none; p NULL: there is no such. In requests such a word is a pattern, as
 * elsewhere; in a configuration it is a slip that would leave a guard without its aim.
 */
struct weir_slice weir_regex_unknown_name(struct weir_slice params, struct weir_arena *arena);

#endif
