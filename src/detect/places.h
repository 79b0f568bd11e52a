#ifndef WEIR_DETECT_PLACES_H
#define WEIR_DETECT_PLACES_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Code points of a text that somebody else names, in any order and any number: counted and marked
 * when the first is asked for, so that each costs a few hundred steps and not the whole text.
 */
struct weir_places {
    struct weir_slice text;
    size_t n_cp;
    bool is_counted;
    bool is_marked;
    struct weir_buf marks; /* size_t: byte offset of every 256th code point */
};

/* Another text from now on; memory is kept. */
void weir_places_set(struct weir_places *p, struct weir_slice text);
size_t weir_places_count(struct weir_places *p);
/* From start_cp to end_cp, which must lie in the text. */
struct weir_slice weir_places_slice(struct weir_places *p, size_t start_cp, size_t end_cp);
void weir_places_dispose(struct weir_places *p);

#endif
