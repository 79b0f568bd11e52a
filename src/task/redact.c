#include "task/redact.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* A finding, and which of the piece's it is. */
struct ranked {
    const struct weir_detection *d;
    size_t at;
};

/* First in a run: smallest start, then largest end, then detector id. */
static int by_rank(const void *a, const void *b)
{
    const struct weir_detection *x = ((const struct ranked *)a)->d;
    const struct weir_detection *y = ((const struct ranked *)b)->d;
    if (x->start_cp != y->start_cp) {
        return x->start_cp < y->start_cp ? -1 : 1;
    }
    if (x->end_cp != y->end_cp) {
        return x->end_cp > y->end_cp ? -1 : 1;
    }
    return weir_slice_cmp(x->detector_id, y->detector_id);
}

/* Those with a span, in rank order; the array is the caller's to free. */
static size_t rank(const struct weir_redact_piece *piece, struct ranked **out)
{
    size_t n = 0;
    *out = weir_mem_alloc(piece->n_findings * sizeof **out);
    for (size_t i = 0; i < piece->n_findings; i++) {
        const struct weir_detection *d = piece->findings[i];
        if (weir_redact_can(d)) {
            (*out)[n++] = (struct ranked){d, i};
        }
    }
    qsort(*out, n, sizeof **out, by_rank);
    return n;
}

void weir_redact_fill(struct weir_buf *out, struct weir_slice with, const struct weir_detection *d)
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

static void tell(const struct weir_redact *r, struct weir_slice text, bool is_replaced)
{
    if (r->on_stretch != NULL) {
        r->on_stretch(r->ctx, text, is_replaced);
    }
}

/* JSON, of which `out` had so many bytes before. */
static void count_kept(struct weir_redact *r, struct weir_slice text, bool is_replaced,
                       struct weir_buf *out)
{
    size_t before = out->n;
    weir_keep_json_feed(r->keep, text, is_replaced, out);
    r->out_cp += weir_utf8_count(weir_slice_sub(weir_buf_slice(out), before, out->n));
}

/*
 * In JSON the run that was replaced last ends with its token: a number is replaced as a whole, with
 * quotes around it, once its end has come. Goes on to there, character by character; returns the
 * rest.
 */
static struct weir_slice end_run(struct weir_redact *r, struct weir_slice text,
                                 struct weir_buf *out)
{
    while (text.n != 0 && r->is_run_open) {
        struct weir_redact_run *run = &r->runs[r->n_runs - 1];
        struct weir_slice c = weir_slice_sub(text, 0, weir_utf8_byte_at(text, 1));
        bool is_of_escape = r->keep->scan.in_string && r->keep->token.n != 0;
        count_kept(r, c, false, out);
        run->end_cp += 1;
        if (!weir_keep_json_holds(r->keep)) {
            run->end_cp -= !is_of_escape; /* it stands behind what was replaced */
            run->end_out = r->out_cp - !is_of_escape;
            r->is_run_open = false;
        }
        text = weir_slice_sub(text, c.n, text.n);
    }
    return text;
}

/* Text that leaves as it is, of so many code points; 0: they are counted. */
static void pass(struct weir_redact *r, struct weir_slice text, size_t n_cp, struct weir_buf *out)
{
    tell(r, text, false);
    if (r->keep != NULL) {
        count_kept(r, r->is_run_open ? end_run(r, text, out) : text, false, out);
    } else {
        weir_buf_append(out, text);
        r->out_cp += n_cp != 0 ? n_cp : weir_utf8_count(text);
    }
}

/* Text of the run at hand. */
static void swallow(struct weir_redact *r, struct weir_slice text, struct weir_buf *out)
{
    tell(r, text, true);
    if (r->keep != NULL) {
        count_kept(r, text, true, out);
    }
}

/* ---- where what was said stands in what leaves ---- */

void weir_redact_dispose(struct weir_redact *r)
{
    free(r->runs);
    r->runs = NULL;
    r->n_runs = 0;
    r->cap_runs = 0;
}

static void keep_run(struct weir_redact *r, const struct weir_redact_run *run)
{
    if (r->n_runs == r->cap_runs) {
        r->cap_runs = r->cap_runs != 0 ? r->cap_runs * 2 : 8;
        r->runs = weir_mem_realloc(r->runs, r->cap_runs * sizeof *r->runs);
    }
    r->runs[r->n_runs++] = *run;
}

/* How many of them begin before that place. */
static size_t runs_before(const struct weir_redact *r, size_t at_cp)
{
    size_t from = 0;
    size_t to = r->n_runs;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (r->runs[middle].start_cp < at_cp) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

size_t weir_redact_map(const struct weir_redact *r, size_t at_cp, bool is_end)
{
    size_t n = runs_before(r, is_end ? at_cp : at_cp + 1);
    if (n == 0) {
        return at_cp;
    }
    const struct weir_redact_run *run = &r->runs[n - 1];
    if (at_cp < run->end_cp) {
        return is_end ? run->end_out : run->start_out;
    }
    return run->end_out + (at_cp - run->end_cp);
}

/* The last one before that place stays: what is behind it is counted from its end. */
void weir_redact_forget(struct weir_redact *r, size_t until_cp)
{
    size_t n = runs_before(r, until_cp);
    size_t n_gone = n != 0 ? n - 1 : 0;
    if (n_gone > r->n_runs / 2) {
        r->n_runs -= n_gone;
        memmove(r->runs, r->runs + n_gone, r->n_runs * sizeof *r->runs);
    }
}

/* ---- replacing ---- */

static void begin_run(struct weir_redact *r, struct weir_slice with, const struct weir_detection *d,
                      struct weir_buf *out)
{
    struct weir_buf filled = {0};
    weir_redact_fill(&filled, with, d);
    size_t n_cp = weir_utf8_count(weir_buf_slice(&filled));
    r->run_start_out = r->out_cp;
    r->run_end_out = r->out_cp + n_cp;
    if (r->keeps_runs) {
        keep_run(
            r, &(struct weir_redact_run){d->start_cp, d->end_cp, r->run_start_out, r->run_end_out});
        r->is_run_open = r->keep != NULL;
    }
    if (r->keep != NULL) {
        weir_keep_json_begin(r->keep, weir_buf_slice(&filled));
    } else {
        weir_buf_append(out, weir_buf_slice(&filled));
        r->out_cp += n_cp;
    }
    weir_buf_dispose(&filled);
}

static bool touches_nothing(const struct weir_redact *r, const struct weir_redact_piece *piece)
{
    return piece->n_findings == 0 && r->until_cp <= piece->start_cp;
}

bool weir_redact_passes(struct weir_redact *r, const struct weir_redact_piece *piece)
{
    if (r->keep != NULL || piece->n_cp == 0 || !touches_nothing(r, piece)) {
        return false;
    }
    tell(r, piece->text, false);
    r->out_cp += piece->n_cp;
    return true;
}

bool weir_redact_mapped(struct weir_redact *r, struct weir_slice redact_with,
                        const struct weir_redact_piece *piece, struct weir_redact_span *spans,
                        struct weir_buf *out)
{
    if (touches_nothing(r, piece)) {
        pass(r, piece->text, piece->n_cp, out);
        return false;
    }
    struct ranked *ranked;
    size_t n = rank(piece, &ranked);
    size_t end_cp = piece->start_cp + weir_utf8_count(piece->text);
    struct walk w = {piece->text, piece->start_cp};
    bool is_changed = r->until_cp > piece->start_cp && piece->text.n != 0;
    swallow(r, take_until(&w, r->until_cp < end_cp ? r->until_cp : end_cp), out);
    for (size_t i = 0; i < n && ranked[i].d->start_cp < end_cp; i++) {
        const struct weir_detection *d = ranked[i].d;
        if (r->until_cp == 0 || d->start_cp > r->until_cp) {
            pass(r, take_until(&w, d->start_cp), 0, out);
            begin_run(r, redact_with, d, out);
        }
        if (spans != NULL) {
            spans[ranked[i].at] = (struct weir_redact_span){r->run_start_out, r->run_end_out};
        }
        r->until_cp = d->end_cp > r->until_cp ? d->end_cp : r->until_cp;
        if (r->n_runs != 0) {
            r->runs[r->n_runs - 1].end_cp = r->until_cp;
        }
        swallow(r, take_until(&w, r->until_cp < end_cp ? r->until_cp : end_cp), out);
        is_changed = true;
    }
    pass(r, w.rest, 0, out);
    free(ranked);
    return is_changed;
}

void weir_redact_end(struct weir_redact *r, struct weir_buf *out)
{
    if (r->keep != NULL) {
        weir_keep_json_end(r->keep, out);
    }
}

bool weir_redact_piece(struct weir_redact *r, struct weir_slice redact_with,
                       const struct weir_redact_piece *piece, struct weir_buf *out)
{
    return weir_redact_mapped(r, redact_with, piece, NULL, out);
}
