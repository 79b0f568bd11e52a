#ifndef WEIR_DETECT_VIEWS_H
#define WEIR_DETECT_VIEWS_H

#include "base/slice.h"
#include "detect/builtin.h"
#include "detect/found.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Text that is written in another way is seen as what it stands for, one level deep:
 *
 *   mail=ann%40example.com        characters written as others (&#64; %40 \u0040), from the last
 *   "phone":"(212)\u0020555-0187"     blank, or 200 bytes before the first of them, to the next
 * blank Z2hwX2FiY2RlZg…               base64 of text; what is found in it covers all of it
 *
 * Kinds that want it (weir_builtin_kind.has_views) are shown such a part decoded and by itself. Of
 * the first sort only findings with a decoded character in or before them are told: the others are
 * in the text as it stands. A part that goes on for more than 1,024 bytes is let go.
 */
struct weir_view {
    size_t from;
    size_t to;
    bool is_base64;
};

/* One text, from its beginning on. Offsets are bytes of the whole. All-zero is a beginning. */
struct weir_views {
    size_t at;           /* looked at up to there */
    size_t word_from;    /* after the last blank */
    size_t written_from; /* the first character of that word that is written as another, */
    bool is_written;     /* if there is one */
    size_t base64_from;  /* of the run that `at` stands in; `at`: in none */
};

/* The text between has no escape and no run of base64 that is long enough, and no run goes on
 * behind it: if that is where `v` stands, it is passed. */
struct weir_views_rested {
    size_t from;
    size_t to;
};
void weir_views_pass(struct weir_views *v, struct weir_slice text, size_t from_byte,
                     struct weir_views_rested rested);

/* Goes on to the next part that is over; false: there is none yet. `is_end`: no more text comes. */
bool weir_views_next(struct weir_views *v, struct weir_slice text, size_t from_byte, bool is_end,
                     struct weir_view *view);

/* Where the part begins that is not over; the text's end: there is none. */
size_t weir_views_low(const struct weir_views *v, struct weir_slice text, size_t from_byte);

/* Adds what is found in a view; `text` begins at from_byte. 0, or WEIR_ELIMIT. */
int weir_views_look(const struct weir_view *view, struct weir_slice text, size_t from_byte,
                    const struct weir_builtin_kind *kind, const void *settings,
                    struct weir_found *found);

/* All views of a whole text. */
int weir_views_scan(struct weir_slice text, const struct weir_builtin_kind *kind,
                    const void *settings, struct weir_found *found);

#endif
