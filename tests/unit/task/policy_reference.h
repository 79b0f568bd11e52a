#ifndef WEIR_TESTS_UNIT_TASK_POLICY_REFERENCE_H
#define WEIR_TESTS_UNIT_TASK_POLICY_REFERENCE_H

/* What a route does with a text, said as simply as it can be: what property tests compare with. */
#include "unit/task/policy_talk.h"

static inline size_t n_rounds(size_t usual)
{
    const char *asked = getenv("WEIR_PROPERTY_ROUNDS");
    uint64_t n = usual;
    if (asked != NULL) {
        assert_int_equal(weir_slice_u64(weir_slice_cstr(asked), &n), 0);
    }
    return n;
}

/* Nothing was found, and no character was cut in two: all events leave as they came. */
static inline void expect_untouched(const struct world *w, const struct weir_buf *events)
{
    struct weir_buf all = {0};
    weir_buf_append(&all, weir_buf_slice(events));
    weir_buf_append(&all, WEIR_SLICE("end\n"));
    bool has_half = strstr(weir_buf_cstr(&all), "\\ud83d\"") != NULL;
    if (!has_half && !weir_slice_eq(weir_buf_slice(&all), weir_buf_slice(&w->st->lines))) {
        fail_msg("came:\n%s\nleft:\n%s", weir_buf_cstr(&all), weir_buf_cstr(&w->st->lines));
    }
    weir_buf_dispose(&all);
}

/* ---- the reference: all findings of a text, then every code point by itself ---- */

struct reference {
    struct weir_arena arena;
    struct weir_detection *found;
    size_t n;
    size_t cap;
};

static inline void add_found(struct reference *r, const struct weir_detection *d)
{
    if (r->n == r->cap) {
        size_t cap = 2 * r->cap + 16;
        struct weir_detection *more = weir_arena_array(&r->arena, cap, sizeof *more);
        if (r->n != 0) {
            memcpy(more, r->found, r->n * sizeof *more);
        }
        r->found = more;
        r->cap = cap;
    }
    r->found[r->n++] = *d;
}

/* One detector on the chunks of the complete text. */
static inline void find_all(struct reference *r, const struct world_detector *d,
                            const struct weir_chunker *chunker, struct weir_slice text)
{
    struct weir_chunk_env env = {0};
    struct weir_chunk_options options = {0};
    struct weir_chunk chunk;
    struct weir_chunk_stream *s = weir_chunk_open(chunker, &env, &options, NULL, NULL);
    weir_chunk_push(s, 0, text);
    weir_chunk_end(s);
    while (weir_chunk_next(s, &chunk) == 0) {
        size_t from = weir_utf8_byte_at(text, chunk.start_cp);
        size_t to = weir_utf8_byte_at(text, chunk.seen_end_cp);
        struct weir_slice seen = weir_slice_sub(text, from, to);
        size_t n = world_find(d, seen, NULL);
        struct weir_detection *items = weir_arena_array(&r->arena, n, sizeof *items);
        world_find(d, seen, items);
        for (size_t i = 0; i < n; i++) {
            items[i].start_cp += chunk.start_cp;
            items[i].end_cp += chunk.start_cp;
            if (items[i].start_cp < chunk.end_cp) {
                add_found(r, &items[i]);
            }
        }
    }
    weir_chunk_close(s);
}

static inline void find_in(struct reference *r, const struct world *w, struct weir_slice text)
{
    *r = (struct reference){0};
    for (size_t i = 0; i < w->n_detectors; i++) {
        find_all(r, &w->detectors[i], w->described[i].chunker, text);
    }
}

static inline bool ranks_before(const struct weir_detection *a, const struct weir_detection *b)
{
    if (a->start_cp != b->start_cp) {
        return a->start_cp < b->start_cp;
    }
    if (a->end_cp != b->end_cp) {
        return a->end_cp > b->end_cp;
    }
    return weir_slice_cmp(a->detector_id, b->detector_id) < 0;
}

/* Code point by code point: a run of covered ones becomes what its first finding is called. */
static inline void redact_simply(struct reference *r, struct weir_slice text, struct weir_buf *out)
{
    bool is_in_run = false;
    size_t cp = 0;
    while (text.n != 0) {
        const struct weir_detection *first = NULL;
        for (size_t i = 0; i < r->n; i++) {
            const struct weir_detection *d = &r->found[i];
            if (d->start_cp <= cp && cp < d->end_cp && (first == NULL || ranks_before(d, first))) {
                first = d;
            }
        }
        size_t n = weir_utf8_byte_at(text, 1);
        if (first == NULL) {
            weir_buf_append(out, weir_slice_sub(text, 0, n));
        } else if (!is_in_run) {
            weir_buf_printf(out, "[%.*s by %.*s]", (int)first->detection.n, first->detection.p,
                            (int)first->detector_id.n, first->detector_id.p);
        }
        is_in_run = first != NULL;
        text = weir_slice_sub(text, n, text.n);
        cp++;
    }
}

/* ---- comparing ---- */

static inline void expect_same(const struct weir_buf *got, const struct weir_buf *want,
                               const char *whose)
{
    struct weir_slice a = weir_buf_slice(got);
    struct weir_slice b = weir_buf_slice(want);
    if (!weir_slice_eq(a, b)) {
        fail_msg("%s:\n got  %.*s\n want %.*s", whose, (int)a.n, a.p, (int)b.n, b.p);
    }
}

static inline void expect_no_words(const struct world *w, struct weir_slice text)
{
    for (size_t i = 0; i < w->n_detectors; i++) {
        if (world_find(&w->detectors[i], text, NULL) != 0) {
            fail_msg("something of %s is left: %.*s", WORLD_IDS[i], (int)text.n, text.p);
        }
    }
}

#endif
