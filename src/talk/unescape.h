#ifndef WEIR_TALK_UNESCAPE_H
#define WEIR_TALK_UNESCAPE_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A text that was meant to be JSON and is not, with its escapes decoded all the same: `\u0040` is
 * `@`. Readers of JSON differ (a name that stands twice, NaN, a comma too many), so what one of
 * them would decode is looked at decoded here.
 */
struct weir_unescape_mark {
    size_t at_cp;    /* of the character in the decoded text */
    size_t from_cp;  /* where its escape begins as written … */
    size_t until_cp; /* … and ends */
};

struct weir_unescape {
    struct weir_slice text; /* decoded; empty: there are no escapes in it */
    struct weir_unescape_mark *marks;
    size_t n;
};

/* In the arena. */
void weir_unescape_read(struct weir_unescape *u, struct weir_slice written,
                        struct weir_arena *arena);

/* Where a stretch of the decoded text stands as written: whole escapes. */
void weir_unescape_span(const struct weir_unescape *u, size_t *start_cp, size_t *end_cp);

#endif
