#ifndef WEIR_DETECT_CANARY_H
#define WEIR_DETECT_CANARY_H

#include "detect/builtin.h"

/*
 * `canary`: words that nobody says unless they were told a system text that has them (a route's
 * `canary`, docs/policies.md). It only reads along.
 *
 *   {"words": ["kx7r3dq2mvw6pn4c"]}
 *
 * `canary` / canary, score 1: such a word in any case, with up to 16 bytes that are no letters and
 * digits between its characters (k-x-7, "k x 7"), backwards, or in base64, wherever it stands in
 * what was encoded, in its own case or all small or all capital letters.
 *
 * Of a word only letters and digits of ASCII count, and it has 8 to 64 of them; at most 16 words.
 */
extern const struct weir_builtin_kind weir_detect_canary;

#endif
