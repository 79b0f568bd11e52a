#ifndef WEIR_TESTS_CHUNK_CUTTING_H
#define WEIR_TESTS_CHUNK_CUTTING_H

#include "base/assert.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chunk/chunk.h"
#include "unit/piece.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Runs a built-in chunker over a text, pushed in pieces of any size, and keeps what came out and
 * after which push. What every chunker owes is checked on the way: chunks in order, side by side,
 * none empty, none past what was pushed, frames that are those of its first and last code point,
 * everything covered at the end.
 *
 * Every piece is lent for the push (unit/piece.h).
 */
enum { CUTTING_FIRST_FRAME = 100, CUTTING_START_CP = 7 };

struct cutting_chunk {
    size_t start_cp, end_cp, seen_end_cp; /* counted from the text's beginning */
    size_t known_cp;                      /* how much had been pushed when it came out */
};

struct cutting {
    struct cutting_chunk *chunks;
    size_t n;
    size_t cap;
    struct weir_chunk_stream *stream;
    size_t pushed_cp;
    uint64_t *frame_of; /* by code point */
    uint64_t frame;
    size_t told_cp;
};

struct cutting_input {
    const struct weir_chunker *chunker;
    struct weir_slice text;
    const size_t *cuts_cp; /* weir_chunk_cut after so many code points, in order */
    size_t n_cuts;
};

static inline uint64_t cutting_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static inline void cutting_check(struct cutting *c, const struct weir_chunk *chunk)
{
    WEIR_ASSERT(chunk->text.p == NULL);
    WEIR_ASSERT(chunk->start_cp >= CUTTING_START_CP);
    WEIR_ASSERT(chunk->start_cp - CUTTING_START_CP == c->told_cp);
    WEIR_ASSERT(chunk->end_cp > chunk->start_cp);
    WEIR_ASSERT(chunk->seen_end_cp >= chunk->end_cp);
    WEIR_ASSERT(chunk->seen_end_cp - CUTTING_START_CP <= c->pushed_cp);
    WEIR_ASSERT(chunk->first_frame == c->frame_of[chunk->start_cp - CUTTING_START_CP]);
    WEIR_ASSERT(chunk->last_frame == c->frame_of[chunk->end_cp - CUTTING_START_CP - 1]);
    c->told_cp = chunk->end_cp - CUTTING_START_CP;
}

static inline void cutting_pull(struct cutting *c, bool has_ended)
{
    struct weir_chunk chunk;
    int rc;
    while ((rc = weir_chunk_next(c->stream, &chunk)) == 0) {
        cutting_check(c, &chunk);
        if (c->n == c->cap) {
            c->cap = c->cap != 0 ? 2 * c->cap : 8;
            c->chunks = weir_mem_realloc(c->chunks, c->cap * sizeof *c->chunks);
        }
        c->chunks[c->n++] =
            (struct cutting_chunk){.start_cp = chunk.start_cp - CUTTING_START_CP,
                                   .end_cp = chunk.end_cp - CUTTING_START_CP,
                                   .seen_end_cp = chunk.seen_end_cp - CUTTING_START_CP,
                                   .known_cp = c->pushed_cp};
    }
    WEIR_ASSERT(rc == (has_ended ? WEIR_ECLOSED : WEIR_EAGAIN));
}

static inline void cutting_push(struct cutting *c, struct weir_slice piece)
{
    size_t n_cp = weir_utf8_count(piece);
    struct weir_slice lent = piece_lend(piece);
    for (size_t i = 0; i < n_cp; i++) {
        c->frame_of[c->pushed_cp + i] = c->frame;
    }
    c->pushed_cp += n_cp;
    WEIR_ASSERT(weir_chunk_push(c->stream, c->frame, lent) == WEIR_FLOW_OK);
    c->frame += 2;
    piece_take_back(lent);
}

/* The length of the next piece: 1..max_cp code points, random when `seed` is not NULL; never over
 * the next cut. */
static inline size_t cutting_piece(const struct cutting *c, const struct cutting_input *in,
                                   size_t max_cp, uint64_t *seed)
{
    size_t n_cp = seed != NULL ? 1 + (size_t)(cutting_random(seed) % max_cp) : max_cp;
    for (size_t i = 0; i < in->n_cuts; i++) {
        size_t cut = in->cuts_cp[i];
        if (cut > c->pushed_cp) {
            n_cp = n_cp < cut - c->pushed_cp ? n_cp : cut - c->pushed_cp;
        }
    }
    return n_cp;
}

static inline void cutting_cut(struct cutting *c, const struct cutting_input *in)
{
    for (size_t i = 0; i < in->n_cuts; i++) {
        if (in->cuts_cp[i] == c->pushed_cp) {
            weir_chunk_cut(c->stream);
            cutting_pull(c, false);
            WEIR_ASSERT(c->told_cp == c->pushed_cp);
        }
    }
}

/* Disposed of with cutting_dispose. */
static inline struct cutting cutting_run(const struct cutting_input *in, size_t max_cp,
                                         uint64_t *seed)
{
    struct weir_chunk_options options = {.start_cp = CUTTING_START_CP};
    size_t n_cp = weir_utf8_count(in->text);
    struct cutting c = {.stream = weir_chunk_open(in->chunker, NULL, &options, NULL, NULL),
                        .frame_of = weir_mem_array(n_cp + 1, sizeof *c.frame_of),
                        .frame = CUTTING_FIRST_FRAME};
    struct weir_slice rest = in->text;
    while (rest.n != 0) {
        size_t n = weir_utf8_byte_at(rest, cutting_piece(&c, in, max_cp, seed));
        if (seed != NULL && cutting_random(seed) % 16 == 0) { /* an event without text */
            weir_chunk_push(c.stream, c.frame++, (struct weir_slice){0});
        }
        cutting_push(&c, weir_slice_sub(rest, 0, n));
        rest = weir_slice_sub(rest, n, rest.n);
        cutting_pull(&c, false);
        cutting_cut(&c, in);
    }
    weir_chunk_end(c.stream);
    cutting_pull(&c, true);
    WEIR_ASSERT(c.told_cp == n_cp);
    weir_chunk_close(c.stream);
    c.stream = NULL;
    return c;
}

static inline void cutting_dispose(struct cutting *c)
{
    free(c->chunks);
    free(c->frame_of);
    *c = (struct cutting){0};
}

static inline void cutting_print(struct weir_buf *out, const struct cutting *c,
                                 struct weir_slice text)
{
    for (size_t i = 0; i < c->n; i++) {
        size_t from = weir_utf8_byte_at(text, c->chunks[i].start_cp);
        size_t to = weir_utf8_byte_at(text, c->chunks[i].end_cp);
        weir_buf_append(out, weir_slice_sub(text, from, to));
        if (i + 1 < c->n) {
            weir_buf_append_byte(out, '|');
        }
    }
}

static inline void cutting_same(const struct cutting_input *in, const struct cutting *want,
                                const struct cutting *got)
{
    bool is_same = want->n == got->n;
    for (size_t i = 0; is_same && i < want->n; i++) {
        is_same = want->chunks[i].end_cp == got->chunks[i].end_cp &&
                  want->chunks[i].seen_end_cp == got->chunks[i].seen_end_cp;
    }
    if (!is_same) {
        struct weir_buf a = {0};
        struct weir_buf b = {0};
        cutting_print(&a, want, in->text);
        cutting_print(&b, got, in->text);
        fprintf(stderr, "the cut changes the chunks\n--- one by one\n%.*s\n--- else\n%.*s\n",
                (int)a.n, a.p, (int)b.n, b.p);
        abort();
    }
}

/*
 * All cuts of the input give the same chunks, and a chunk is out with the push that brings the code
 * point with which it is out when they come one by one.
 */
static inline void cutting_check_all(const struct cutting_input *in, int n_random)
{
    struct cutting one = cutting_run(in, 1, NULL);
    uint64_t seed = 0x9e3779b97f4a7c15 ^ (in->text.n + 1);
    for (int i = -1; i < n_random; i++) {
        static const size_t widths[] = {2, 4, 9, 40, 300};
        size_t width = i < 0 ? in->text.n + 1 : widths[i % 5];
        struct cutting other = cutting_run(in, width, i < 0 ? NULL : &seed);
        cutting_same(in, &one, &other);
        for (size_t k = 0; k < one.n; k++) {
            size_t known = one.chunks[k].known_cp;
            WEIR_ASSERT(other.chunks[k].known_cp >= known);
            WEIR_ASSERT(known == 0 ||
                        other.frame_of[other.chunks[k].known_cp - 1] == other.frame_of[known - 1]);
        }
        cutting_dispose(&other);
    }
    cutting_dispose(&one);
}

/* The expected chunks, joined by "|", which the text itself has none of. */
static inline void cutting_expect(const struct weir_chunker *chunker, const char *want)
{
    struct weir_buf text = {0};
    struct weir_buf got = {0};
    for (const char *p = want; *p != 0; p++) {
        if (*p != '|') {
            weir_buf_append_byte(&text, *p);
        }
    }
    struct cutting_input in = {.chunker = chunker, .text = weir_buf_slice(&text)};
    cutting_check_all(&in, 8);
    struct cutting c = cutting_run(&in, 1, NULL);
    cutting_print(&got, &c, in.text);
    if (!weir_slice_eq_cstr(weir_buf_slice(&got), want)) {
        fprintf(stderr, "--- expected\n%s\n--- got\n%.*s\n", want, (int)got.n, got.p);
        abort();
    }
    cutting_dispose(&c);
    weir_buf_dispose(&text);
    weir_buf_dispose(&got);
}

#endif
