#ifndef WEIR_TESTS_WIRE_CUTS_H
#define WEIR_TESTS_WIRE_CUTS_H

#include "base/buf.h"
#include "base/mem.h"
#include "unit/piece.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A codec must not care how its input is cut. The input is fed whole, byte by byte and at random
 * cuts; each run writes down what happened as text, and all texts must be the same.
 *
 * Every piece is lent (unit/piece.h): a sanitizer sees both a read behind it and a slice kept too
 * long.
 */
struct cuts_codec {
    void *(*begin)(const void *options);
    void (*feed)(void *self, struct weir_slice piece, struct weir_buf *trace);
    void (*finish)(void *self, struct weir_buf *trace); /* end of input; frees self */
};

struct cuts_run {
    const struct cuts_codec *codec;
    const void *options;
    struct weir_slice input;
};

static inline uint64_t cuts_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Pieces of 1..max_piece bytes, random when `seed` is not NULL. */
static inline void cuts_feed(const struct cuts_run *run, size_t max_piece, uint64_t *seed,
                             struct weir_buf *trace)
{
    void *self = run->codec->begin(run->options);
    size_t at = 0;
    while (at < run->input.n) {
        size_t n = seed != NULL ? 1 + (size_t)(cuts_random(seed) % max_piece) : max_piece;
        n = n < run->input.n - at ? n : run->input.n - at;
        struct weir_slice piece = piece_lend(weir_slice_sub(run->input, at, at + n));
        run->codec->feed(self, piece, trace);
        piece_take_back(piece);
        at += n;
    }
    run->codec->finish(self, trace);
}

static inline void cuts_compare(const char *how, const struct weir_buf *want, struct weir_buf *got)
{
    if (!weir_slice_eq(weir_buf_slice(want), weir_buf_slice(got))) {
        fprintf(stderr, "the cut changes the events (%s)\nwhole:\n%.*s\ncut:\n%.*s\n", how,
                (int)want->n, want->p, (int)got->n, got->p);
        abort();
    }
    weir_buf_clear(got);
}

/* Aborts unless all cuts agree; the text of what happened is appended to `trace`. */
static inline void cuts_check(const struct cuts_run *run, int n_random, struct weir_buf *trace)
{
    struct weir_buf other = {0};
    uint64_t seed = 0x9e3779b97f4a7c15 ^ (run->input.n + 1);
    weir_buf_clear(trace);
    cuts_feed(run, run->input.n != 0 ? run->input.n : 1, NULL, trace);
    cuts_feed(run, 1, NULL, &other);
    cuts_compare("byte by byte", trace, &other);
    for (int i = 0; i < n_random; i++) {
        static const size_t widths[] = {2, 3, 8, 40, 300};
        size_t max_piece = i % 6 == 5 ? run->input.n + 1 : widths[i % 6];
        cuts_feed(run, max_piece, &seed, &other);
        cuts_compare("random pieces", trace, &other);
    }
    weir_buf_dispose(&other);
}

#endif
