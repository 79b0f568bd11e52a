#include "detect/found.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "talk/form.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 4 };

void weir_found_dispose(struct weir_found *f)
{
    free(f->spans);
    *f = (struct weir_found){0};
}

int weir_found_add(struct weir_found *f, const struct weir_found_span *span)
{
    if (f->n == WEIR_FOUND_MAX) {
        return WEIR_ELIMIT;
    }
    if (f->n == f->cap) {
        f->cap = f->cap != 0 ? 2 * f->cap : FIRST_CAP;
        f->spans = weir_mem_realloc(f->spans, f->cap * sizeof *f->spans);
    }
    f->spans[f->n++] = *span;
    return 0;
}

static int compare_numbers(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

/* By kind, then by start, the longer first: overlaps of one kind are neighbours. */
static int by_kind(const void *pa, const void *pb)
{
    const struct weir_found_span *a = pa;
    const struct weir_found_span *b = pb;
    int order = weir_slice_cmp(a->detection, b->detection);
    if (order == 0) {
        order = compare_numbers(a->start_byte, b->start_byte);
    }
    return order != 0 ? order : compare_numbers(b->end_byte, a->end_byte);
}

static int by_start(const void *pa, const void *pb)
{
    const struct weir_found_span *a = pa;
    const struct weir_found_span *b = pb;
    int order = compare_numbers(a->start_byte, b->start_byte);
    if (order == 0) {
        order = compare_numbers(b->end_byte, a->end_byte);
    }
    return order != 0 ? order : weir_slice_cmp(a->detection, b->detection);
}

static size_t length(const struct weir_found_span *s)
{
    return s->end_byte - s->start_byte;
}

static bool is_better(const struct weir_found_span *a, const struct weir_found_span *b)
{
    bool is_same_kind = weir_slice_eq(a->detection, b->detection);
    if (!is_same_kind && a->score > b->score) {
        return true;
    }
    if (!is_same_kind && a->score < b->score) {
        return false;
    }
    return length(a) > length(b);
}

/* Had `b` been told, in a stream, before `a` could begin? */
static bool is_opened(const struct weir_found_span *a, const struct weir_found_span *b)
{
    return b->is_sure && a->start_byte > b->start_byte;
}

/*
 * Spans that overlap, one with the next, are a heap: which of them stay is decided inside of it. A
 * heap takes no more spans where it is as wide as a finding can be, or it might never be over.
 */
struct heap {
    size_t from; /* index of its first span */
    size_t to;
    size_t end_byte;
};

static struct heap heap_at(const struct weir_found_span *spans, size_t n, size_t from,
                           bool across_kinds)
{
    const struct weir_found_span *first = &spans[from];
    struct heap h = {from, from + 1, first->end_byte};
    while (h.to < n && spans[h.to].start_byte < h.end_byte &&
           spans[h.to].start_byte < first->start_byte + WEIR_FOUND_HEAP_BYTES &&
           (across_kinds || weir_slice_eq(first->detection, spans[h.to].detection))) {
        h.end_byte = spans[h.to].end_byte > h.end_byte ? spans[h.to].end_byte : h.end_byte;
        h.to++;
    }
    return h;
}

/* Those of a heap that stay are moved to `out`: how many. `out` is not behind the heap. */
static size_t pick(const struct weir_found_span *spans, struct heap h, struct weir_found_span *out)
{
    size_t kept = 0;
    for (size_t i = h.from; i < h.to; i++) {
        bool meets = kept != 0 && spans[i].start_byte < out[kept - 1].end_byte;
        if (!meets) {
            out[kept++] = spans[i];
        } else if (is_better(&spans[i], &out[kept - 1]) && !is_opened(&spans[i], &out[kept - 1])) {
            out[kept - 1] = spans[i];
        }
    }
    return kept;
}

/* `spans` is sorted so that overlaps are neighbours. */
static size_t drop_overlaps(struct weir_found_span *spans, size_t n, bool across_kinds)
{
    size_t kept = 0;
    for (size_t i = 0; i < n;) {
        struct heap h = heap_at(spans, n, i, across_kinds);
        kept += pick(spans, h, spans + kept);
        i = h.to;
    }
    return kept;
}

static size_t drop_low_scores(struct weir_found_span *spans, size_t n, double threshold)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (spans[i].score >= threshold) {
            spans[kept++] = spans[i];
        }
    }
    return kept;
}

/* What began in the context was reported with it, except for the rest of something longer. */
static size_t drop_context(struct weir_found_span *spans, size_t n, size_t from_byte)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_rest = spans[i].edge == WEIR_EDGE_REST && spans[i].end_byte > from_byte;
        if (spans[i].start_byte >= from_byte || is_rest) {
            spans[kept] = spans[i];
            spans[kept].start_byte =
                spans[i].start_byte > from_byte ? spans[i].start_byte : from_byte;
            kept++;
        }
    }
    return kept;
}

/* Spans may still overlap across kinds, but their starts only grow. */
static void fill(const struct weir_found *f, const struct weir_found_finish *o,
                 struct weir_detection *items, struct weir_arena *arena)
{
    size_t at_byte = o->from_byte;
    size_t at_cp = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct weir_found_span *s = &f->spans[i];
        at_cp += weir_utf8_count(weir_slice_sub(o->text, at_byte, s->start_byte));
        at_byte = s->start_byte;
        struct weir_slice text = weir_slice_sub(o->text, s->start_byte, s->end_byte);
        items[i] = (struct weir_detection){
            .has_span = true,
            .start_cp = at_cp,
            .end_cp = at_cp + weir_utf8_count(text),
            .text = text,
            .detection = weir_arena_dup(arena, s->detection),
            .detection_type = weir_arena_dup(arena, s->detection_type),
            .detector_id = o->detector_id,
            .score = s->score,
            .edge = s->edge,
        };
    }
}

static void sort(struct weir_found *f, bool across_kinds)
{
    if (f->n > 1) {
        qsort(f->spans, f->n, sizeof *f->spans, across_kinds ? by_start : by_kind);
    }
}

size_t weir_found_settle(struct weir_found *f, const struct weir_found_settle *options,
                         struct weir_found *out)
{
    size_t low_byte = options->low_byte;
    size_t left = 0;
    size_t first_byte = SIZE_MAX;
    f->n = drop_low_scores(f->spans, f->n, options->threshold);
    sort(f, options->across_kinds);
    for (size_t i = 0; i < f->n;) {
        struct heap h = heap_at(f->spans, f->n, i, options->across_kinds);
        size_t start_byte = f->spans[i].start_byte;
        bool is_wide = low_byte > start_byte && low_byte - start_byte >= WEIR_FOUND_HEAP_BYTES;
        if (h.end_byte <= low_byte || is_wide) {
            size_t n = pick(f->spans, h, f->spans + i);
            for (size_t k = 0; k < n; k++) {
                weir_found_add(out, &f->spans[i + k]);
            }
        } else {
            first_byte = start_byte < first_byte ? start_byte : first_byte;
            memmove(f->spans + left, f->spans + i, (h.to - h.from) * sizeof *f->spans);
            left += h.to - h.from;
        }
        i = h.to;
    }
    f->n = left;
    if (out->n > 1) {
        qsort(out->spans, out->n, sizeof *out->spans, by_start);
    }
    return first_byte;
}

struct weir_detect_list weir_found_finish(struct weir_found *f,
                                          const struct weir_found_finish *options,
                                          struct weir_arena *arena)
{
    struct weir_detect_list list = {0};
    f->n = drop_low_scores(f->spans, f->n, options->threshold);
    if (f->n == 0) {
        return list;
    }
    if (!options->across_kinds) {
        qsort(f->spans, f->n, sizeof *f->spans, by_kind);
        f->n = drop_overlaps(f->spans, f->n, false);
    }
    qsort(f->spans, f->n, sizeof *f->spans, by_start);
    if (options->across_kinds) {
        f->n = drop_overlaps(f->spans, f->n, true);
    }
    f->n = drop_context(f->spans, f->n, options->from_byte);
    struct weir_detection *items = weir_arena_array(arena, f->n, sizeof *items);
    fill(f, options, items, arena);
    list = (struct weir_detect_list){.items = items, .n = f->n};
    f->n = 0;
    return list;
}

/* Has it the form of a name, and is it not what was found? Detectors may ignore case. */
static bool is_name(const struct weir_detection *d, struct weir_slice s)
{
    bool is_text = d->text.n != 0 && weir_slice_eq_nocase(s, d->text);
    return !is_text && weir_form_is_detection(s);
}

struct weir_slice weir_detection_type_name(const struct weir_detection *d)
{
    return is_name(d, d->detection_type) ? d->detection_type : WEIR_SLICE("other");
}

struct weir_slice weir_detection_name(const struct weir_detection *d)
{
    return is_name(d, d->detection) ? d->detection : weir_detection_type_name(d);
}
