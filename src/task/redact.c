#include "task/redact.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>

/* First in a run: smallest start, then largest end, then detector id. */
static int by_rank(const void *a, const void *b)
{
    const struct weir_detection *x = *(const struct weir_detection *const *)a;
    const struct weir_detection *y = *(const struct weir_detection *const *)b;
    if (x->start_cp != y->start_cp) {
        return x->start_cp < y->start_cp ? -1 : 1;
    }
    if (x->end_cp != y->end_cp) {
        return x->end_cp > y->end_cp ? -1 : 1;
    }
    return weir_slice_cmp(x->detector_id, y->detector_id);
}

/* Those with a span, in rank order; the array is the caller's to free. */
static size_t rank(const struct weir_redact_piece *piece, const struct weir_detection ***out)
{
    size_t n = 0;
    *out = weir_mem_alloc(piece->n_findings * sizeof **out);
    for (size_t i = 0; i < piece->n_findings; i++) {
        const struct weir_detection *d = piece->findings[i];
        if (weir_redact_can(d)) {
            (*out)[n++] = d;
        }
    }
    qsort(*out, n, sizeof **out, by_rank);
    return n;
}

static void append_filled(struct weir_buf *out, struct weir_slice with,
                          const struct weir_detection *d)
{
    const struct {
        struct weir_slice name;
        struct weir_slice value;
    } places[] = {{WEIR_SLICE("{detection}"), d->detection},
                  {WEIR_SLICE("{detection_type}"), d->detection_type},
                  {WEIR_SLICE("{detector_id}"), d->detector_id}};
    while (with.n != 0) {
        size_t at = weir_slice_find(with, '{');
        weir_buf_append(out, weir_slice_sub(with, 0, at));
        with = weir_slice_sub(with, at, with.n);
        size_t skip = with.n != 0 ? 1 : 0;
        struct weir_slice value = weir_slice_sub(with, 0, skip);
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            if (weir_slice_starts_with(with, places[i].name)) {
                value = places[i].value;
                skip = places[i].name.n;
            }
        }
        weir_buf_append(out, value);
        with = weir_slice_sub(with, skip, with.n);
    }
}

/* Walks the text once: `at_cp` is the offset of the first code point of `rest`. */
struct walk {
    struct weir_slice rest;
    size_t at_cp;
};

static struct weir_slice take_until(struct walk *w, size_t cp)
{
    if (cp <= w->at_cp) {
        return WEIR_SLICE("");
    }
    size_t n = weir_utf8_byte_at(w->rest, cp - w->at_cp);
    struct weir_slice taken = weir_slice_sub(w->rest, 0, n);
    w->rest = weir_slice_sub(w->rest, n, w->rest.n);
    w->at_cp = cp;
    return taken;
}

bool weir_redact_piece(struct weir_redact *r, struct weir_slice redact_with,
                       const struct weir_redact_piece *piece, struct weir_buf *out)
{
    if (piece->n_findings == 0 && r->until_cp <= piece->start_cp) {
        weir_buf_append(out, piece->text);
        return false;
    }
    const struct weir_detection **ranked;
    size_t n = rank(piece, &ranked);
    size_t end_cp = piece->start_cp + weir_utf8_count(piece->text);
    struct walk w = {piece->text, piece->start_cp};
    bool is_changed = r->until_cp > piece->start_cp && piece->text.n != 0;
    take_until(&w, r->until_cp < end_cp ? r->until_cp : end_cp);
    for (size_t i = 0; i < n && ranked[i]->start_cp < end_cp; i++) {
        const struct weir_detection *d = ranked[i];
        bool is_new = r->until_cp == 0 || d->start_cp > r->until_cp;
        if (is_new) {
            weir_buf_append(out, take_until(&w, d->start_cp));
            append_filled(out, redact_with, d);
        }
        r->until_cp = d->end_cp > r->until_cp ? d->end_cp : r->until_cp;
        take_until(&w, r->until_cp < end_cp ? r->until_cp : end_cp);
        is_changed = true;
    }
    weir_buf_append(out, w.rest);
    free(ranked);
    return is_changed;
}
