#ifndef WEIR_TALK_RECUR_H
#define WEIR_TALK_RECUR_H

#include "base/arena.h"
#include "talk/mask.h"

/*
 * Where values recur: all of them are sought at once, in texts of any length, in a time that grows
 * with the text (an automaton of Aho and Corasick for each form of talk/mask.h).
 *
 *   values   Jane Doe, 4111111111111111
 *   text     Dear Jane Doe, your card 4111 1111 1111 1111 …      but not Jane Does
 *                 └──────┘           └─────────────────┘
 *
 * A value is found in its normalised form and not inside a longer word. In scripts that do without
 * spaces, and in Korean, where endings are attached, a word may end anywhere. Digits may have up to
 * three separators between them.
 */
struct weir_recur;

enum {
    WEIR_RECUR_LEAST_CP = 4,        /* shorter values are not sought */
    WEIR_RECUR_VALUE_BYTES = 1024,  /* nor are longer ones */
    WEIR_RECUR_BYTES = 1024 * 1024, /* of all values together */
};

struct weir_recur *weir_recur_new(struct weir_arena *arena);

/* A normalised value; what must not be sought is left out. 0, or WEIR_ELIMIT: all are too much. */
int weir_recur_add(struct weir_recur *r, enum weir_mask_form form, struct weir_slice norm,
                   const void *tag);

/* All are there. */
void weir_recur_build(struct weir_recur *r);

/* Calls back for what was found, in any order; of several that end at one place for one. False
 * returned by it ends the search. */
typedef bool (*weir_recur_found_fn)(void *ctx, struct weir_slice text, size_t from_byte,
                                    size_t to_byte, const void *tag);
struct weir_recur_sink {
    weir_recur_found_fn found;
    void *ctx;
};
void weir_recur_find(struct weir_recur *r, struct weir_slice text,
                     const struct weir_recur_sink *sink);

#endif
