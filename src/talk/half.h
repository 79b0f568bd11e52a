#ifndef WEIR_TALK_HALF_H
#define WEIR_TALK_HALF_H

#include "base/buf.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Streams may cut a character between two events: the first half of a surrogate pair ends one
 * string, the second half begins the next. `half` is the first half while it waits; 0: none does.
 */
#define WEIR_HALF_ALONE WEIR_SLICE("\xEF\xBF\xBD") /* U+FFFD: what a half that stays alone is */

/* Joins the string's text with the half that came before. */
void weir_half_join(const struct weir_json *json, uint32_t at, uint16_t *half,
                    struct weir_buf *text);

/* Holds back one at the end of the string's text. False: there is none. */
bool weir_half_cut(const struct weir_json *json, uint32_t at, uint16_t *half,
                   struct weir_buf *text);

#endif
