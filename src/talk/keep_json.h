#ifndef WEIR_TALK_KEEP_JSON_H
#define WEIR_TALK_KEEP_JSON_H

#include "base/buf.h"
#include "base/slice.h"
#include "wire/argscan.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Replaces stretches of a JSON text that comes in pieces so that it stays JSON. A stretch is
 * applied token by token:
 *
 *   found       ├──────────────────────────┤
 *   text    {"a":"x jane@example.org","b":17,"c":[]}
 *   leaves  {"a":"x [mail]","[mail]":"[mail]","c":[]}
 *
 * Of a string the part it touches is replaced, grown to whole escapes; a number, true, false or
 * null becomes a string as a whole; brackets, colons, commas and quotes stay. A number, literal or
 * escape that is not complete is held back. From the first byte on that is not JSON, the text is
 * plain: a stretch is replaced as a whole.
 *
 * What leaves does not depend on how the text was cut.
 */
struct weir_keep_json { /* all-zero is the beginning of a text */
    struct weir_argscan scan;
    struct weir_buf token;  /* an unfinished number, literal or escape */
    bool is_token_replaced; /* something in it is */
    bool has_said;          /* the stretch, or its part of this string, is replaced already */
    bool is_plain;
    struct weir_buf with;       /* what the stretch is replaced with */
    struct weir_buf token_with; /* the same, of the unfinished token */
};

void weir_keep_json_dispose(struct weir_keep_json *k);

/* What the stretches that follow are replaced with. */
void weir_keep_json_begin(struct weir_keep_json *k, struct weir_slice with);

/* The next text, whole characters; `is_replaced`: a stretch. Appends what may leave. */
void weir_keep_json_feed(struct weir_keep_json *k, struct weir_slice text, bool is_replaced,
                         struct weir_buf *out);

/* Is something held back, which may be replaced with what comes? */
static inline bool weir_keep_json_holds(const struct weir_keep_json *k)
{
    return k->token.n != 0;
}

/* The text has ended. */
void weir_keep_json_end(struct weir_keep_json *k, struct weir_buf *out);

#endif
