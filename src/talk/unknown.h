#ifndef WEIR_TALK_UNKNOWN_H
#define WEIR_TALK_UNKNOWN_H

#include "base/buf.h"
#include "talk/delta.h"
#include "talk/dialect.h"

#include <stdbool.h>

/*
 * The members of an answer's choice that nobody here knows, where a route looks at them before they
 * leave: what an event (or a whole answer) has of them as one JSON object, by the object that they
 * stand in.
 *
 *   {"choices":[{"delta":{"content":"Hi","mood":"good"}}],"cost":{"cents":1}}
 *
 *   {"delta":{"mood":"good"},"top":{"cost":{"cents":1}}}
 *
 * Members of tool calls are not among them, nor is what nobody can look at: the data of audio, and
 * members with a `data:` URL in them.
 */

/* Appends the object; nothing where there are no such members. `with_top`: those of the event
 * itself, too. Returns how many were left out because nobody can look at them. */
size_t weir_unknown_append(const struct weir_delta *d, const struct weir_dialect *dialect,
                           bool with_top, struct weir_buf *out);

/* Is the text a `data:` URL, as a browser reads it? */
bool weir_unknown_is_data_url(struct weir_slice text);

/* The members of such an object, as they stand in an event: borrowed from `json`. */
void weir_unknown_read(const struct weir_json *json, uint32_t object, struct weir_talk_out *out);

#endif
