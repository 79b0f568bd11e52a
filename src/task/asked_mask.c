/*
 * A question where what was found becomes tokens (docs/masking.md):
 *
 *   places ──► values ──► where else they stand ──► more places ──► the map
 *
 * A name that was found in one message and missed in another must not leave: each value is sought
 * in everything that is looked at. Tokens that were made here before stay what they are.
 */
#include "base/err.h"
#include "base/utf8.h"
#include "detect/found.h"
#include "talk/recur.h"
#include "task/asked_int.h"
#include "task/trace.h"
#include "task/unmask.h"

#define LINE                                                                                       \
    "Words such as EMAIL_ADDRESS_7F3KQ2MAX9 stand for values that are not shown to you: repeat "   \
    "them exactly as they are."

/* ---- failing ---- */

static bool fail(struct weir_asked *a, const char *why)
{
    struct weir_fault *fault = weir_arena_zalloc(a->o.arena, sizeof *fault);
    *fault = (struct weir_fault){.origin = WEIR_FAULT_REQUEST,
                                 .err = WEIR_EINVAL,
                                 .status = 422,
                                 .message = weir_slice_cstr(why)};
    a->fault = fault;
    return false;
}

/* ---- tokens that are there already ---- */

/* Words of the text one after the other: where the next one that is a token of ours begins and
 * ends. False: there is none. */
struct word {
    size_t from;
    size_t to;
};

static bool next_token(const struct weir_asked *a, struct weir_slice text, struct word *w)
{
    while (w->to < text.n) {
        w->from = w->to;
        while (w->from < text.n && !weir_mask_is_word((unsigned char)text.p[w->from])) {
            w->from++;
        }
        w->to = w->from;
        while (w->to < text.n && weir_mask_is_word((unsigned char)text.p[w->to])) {
            w->to++;
        }
        if (w->to > w->from && weir_mask_is_ours(a->o.mask, weir_slice_sub(text, w->from, w->to))) {
            return true;
        }
    }
    return false;
}

/* Hits of a place come by their starts, so the words do, too. */
static void drop_in_tokens(struct weir_asked *a, struct weir_asked_place *place, size_t *n)
{
    struct weir_slice text = weir_asked__value(a, &a->hits[place->first]);
    struct word w = {0};
    bool has_word = next_token(a, text, &w);
    size_t at_byte = 0;
    size_t at_cp = 0;
    for (size_t i = place->first; i < place->first + place->n; i++) {
        const struct weir_detection *d = a->hits[i].d;
        struct weir_slice rest = weir_slice_sub(text, at_byte, text.n);
        at_byte += weir_utf8_byte_at(rest, d->start_cp - at_cp);
        at_cp = d->start_cp;
        while (has_word && w.to <= at_byte) {
            has_word = next_token(a, text, &w);
        }
        rest = weir_slice_sub(text, at_byte, text.n);
        size_t end = at_byte + weir_utf8_byte_at(rest, d->end_cp - d->start_cp);
        if (!has_word || at_byte < w.from || end > w.to) {
            a->hits[(*n)++] = a->hits[i];
        }
    }
}

static void drop_tokens(struct weir_asked *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n_places; i++) {
        drop_in_tokens(a, &a->places[i], &n);
    }
    if (n != a->n_hits) {
        a->n_hits = n;
        weir_asked__make_places(a);
    }
}

static void count_foreign(const struct weir_asked *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n_views; i++) {
        const struct weir_asked_view *view = &a->views[i];
        struct weir_mask_foreign f = {0};
        if (view->kind == WEIR_ASKED_OWN || view->kind == WEIR_ASKED_LINES) {
            n += weir_mask_foreign_feed(&f, a->o.mask, view->text);
            n += weir_mask_foreign_end(&f, a->o.mask);
        }
    }
    if (n != 0) {
        weir_metric_add(a->o.policy->mask->foreign, n);
    }
}

/* ---- values ---- */

/* A maximal run of findings in a place: what one token stands for. */
struct run {
    size_t hit;    /* its first finding */
    size_t behind; /* the hit behind its last one */
    size_t start_cp;
    size_t end_cp;
    struct weir_slice before; /* what stands between it and the one before */
    struct weir_slice text;
};

/* Goes through the runs of a place; `rest` is what stands behind the last one. */
struct runs {
    const struct weir_asked *a;
    size_t next; /* hit */
    size_t behind;
    struct weir_slice rest;
    size_t at_cp;
};

static struct runs runs_of(const struct weir_asked *a, const struct weir_asked_place *place)
{
    return (struct runs){.a = a,
                         .next = place->first,
                         .behind = place->first + place->n,
                         .rest = weir_asked__value(a, &a->hits[place->first])};
}

static struct weir_slice take(struct runs *r, size_t until_cp)
{
    size_t n = weir_utf8_byte_at(r->rest, until_cp - r->at_cp);
    struct weir_slice taken = weir_slice_sub(r->rest, 0, n);
    r->rest = weir_slice_sub(r->rest, n, r->rest.n);
    r->at_cp = until_cp;
    return taken;
}

static bool next_run(struct runs *r, struct run *run)
{
    if (r->next == r->behind) {
        return false;
    }
    const struct weir_asked_hit *hits = r->a->hits;
    *run = (struct run){
        .hit = r->next, .start_cp = hits[r->next].d->start_cp, .end_cp = hits[r->next].d->end_cp};
    while (r->next < r->behind && hits[r->next].d->start_cp <= run->end_cp) {
        size_t end_cp = hits[r->next++].d->end_cp;
        run->end_cp = end_cp > run->end_cp ? end_cp : run->end_cp;
    }
    run->behind = r->next;
    run->before = take(r, run->start_cp);
    run->text = take(r, run->end_cp);
    return true;
}

static bool is_named(const struct weir_policy_mask *mask, struct weir_slice name)
{
    for (size_t i = 0; i < mask->n_never; i++) {
        if (weir_slice_eq_nocase(mask->never[i], name)) {
            return true;
        }
    }
    return false;
}

static bool is_restored(const struct weir_asked *a, const struct run *run)
{
    const struct weir_policy_mask *mask = a->o.policy->mask;
    for (size_t i = run->hit; i < run->behind; i++) {
        const struct weir_detection *d = a->hits[i].d;
        if (is_named(mask, d->detector_id) || is_named(mask, d->detection) ||
            is_named(mask, d->detection_type)) {
            return false;
        }
    }
    return true;
}

static const struct weir_mask_entry *entry_of(const struct weir_asked *a, const struct run *run)
{
    struct weir_mask_value value = {.type = a->hits[run->hit].d->detection,
                                    .text = run->text,
                                    .is_restored = is_restored(a, run)};
    return weir_mask_add(a->o.mask, &value);
}

static bool fill_map(struct weir_asked *a)
{
    struct run run;
    for (size_t i = 0; i < a->n_places; i++) {
        struct runs runs = runs_of(a, &a->places[i]);
        while (next_run(&runs, &run)) {
            if (run.text.n != 0 && entry_of(a, &run) == NULL) {
                return fail(a, "two values of the request have the same token");
            }
        }
    }
    weir_mask_seal(a->o.mask);
    return true;
}

struct weir_slice weir_asked__masked(const struct weir_asked *a,
                                     const struct weir_asked_place *place)
{
    struct runs runs = runs_of(a, place);
    struct run run;
    struct weir_buf out = {0};
    while (next_run(&runs, &run)) {
        weir_buf_append(&out, run.before);
        if (run.text.n != 0) {
            const struct weir_mask_entry *entry = entry_of(a, &run);
            weir_buf_append(&out, weir_slice_make(entry->token, entry->n));
        }
    }
    weir_buf_append(&out, runs.rest);
    return weir_arena_take_buf(a->o.arena, &out);
}

void weir_asked_trace(const struct weir_asked *a, const struct weir_task_trace *trace)
{
    struct run run;
    for (size_t i = 0; a->o.mask != NULL && a->fault == NULL && i < a->n_places; i++) {
        const struct weir_walk_item *item = weir_asked__item(a, &a->hits[a->places[i].first]);
        struct runs runs = runs_of(a, &a->places[i]);
        bool is_text = item->kind == WEIR_WALK_TEXT && item->message != WEIR_WALK_NO_INDEX;
        while (is_text && next_run(&runs, &run)) {
            const struct weir_mask_entry *entry = entry_of(a, &run);
            trace->note(trace, &(struct weir_task_step){.kind = WEIR_TASK_STEP_TOKEN,
                                                        .start_cp = run.start_cp,
                                                        .end_cp = run.end_cp,
                                                        .message = item->message,
                                                        .token = {entry->token, entry->n}});
        }
    }
}

/* ---- where else they stand ---- */

/* A value that is sought. */
struct sought {
    const struct weir_detection *d; /* its first finding */
    char sign;                      /* a number's first byte, where that is no digit */
};

struct seeking {
    struct weir_asked *a;
    const struct weir_asked_view *view;
    size_t at_byte; /* a place of the view's text whose code point is known */
    size_t at_cp;
    size_t n;
};

static size_t cp_at(struct seeking *s, struct weir_slice text, size_t byte)
{
    if (byte < s->at_byte) {
        s->at_cp -= weir_utf8_count(weir_slice_sub(text, byte, s->at_byte));
    } else {
        s->at_cp += weir_utf8_count(weir_slice_sub(text, s->at_byte, byte));
    }
    s->at_byte = byte;
    return s->at_cp;
}

/* A number may begin with a sign or a bracket, which do not count in it. */
static size_t grown(const struct sought *sought, struct weir_slice text, size_t from)
{
    bool has_sign = sought->sign != '\0' && from > 0 && text.p[from - 1] == sought->sign;
    return from - has_sign;
}

static bool on_found(void *ctx, struct weir_slice text, size_t from, size_t to, const void *tag)
{
    struct seeking *s = ctx;
    const struct sought *sought = tag;
    struct weir_detection *d = weir_arena_alloc(s->a->o.arena, sizeof *d);
    *d = *sought->d;
    d->has_span = true;
    d->start_cp = cp_at(s, text, grown(sought, text, from));
    d->end_cp = cp_at(s, text, to);
    weir_asked__take(s->a, s->view, d);
    return ++s->n < WEIR_FOUND_MAX;
}

static bool is_number(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
    }
    return true;
}

/* 0 or WEIR_ELIMIT. */
static int add_value(struct weir_recur *recur, const struct weir_detection *d,
                     struct weir_slice value, struct weir_arena *work)
{
    struct weir_buf norm = {0};
    struct sought *sought = weir_arena_zalloc(work, sizeof *sought);
    enum weir_mask_form form = weir_mask_form_of(d->detection);
    weir_mask_normalise(form, value, &norm);
    sought->d = d;
    if (form == WEIR_MASK_DIGITS && norm.n != 0) {
        bool has_digits = norm.p[0] >= '0' && norm.p[0] <= '9' && norm.p[0] != value.p[0];
        sought->sign = has_digits ? value.p[0] : '\0';
        form = is_number(weir_buf_slice(&norm)) ? form : WEIR_MASK_AS_IS;
    }
    int rc = weir_recur_add(recur, form, weir_buf_slice(&norm), sought);
    weir_buf_dispose(&norm);
    return rc;
}

static int add_values(struct weir_asked *a, struct weir_recur *recur, struct weir_arena *work)
{
    struct run run;
    int rc = 0;
    for (size_t i = 0; i < a->n_places && rc == 0; i++) {
        struct runs runs = runs_of(a, &a->places[i]);
        while (rc == 0 && next_run(&runs, &run)) {
            rc = add_value(recur, a->hits[run.hit].d, run.text, work);
        }
    }
    return rc;
}

static bool seek(struct weir_asked *a)
{
    struct weir_arena work = {.account = a->o.arena->account};
    struct weir_recur *recur = weir_recur_new(&work);
    int rc = add_values(a, recur, &work);
    size_t n_hits = a->n_hits;
    size_t n_found = 0;
    weir_recur_build(recur);
    for (size_t i = 0; rc == 0 && i < a->n_views && n_found < WEIR_FOUND_MAX; i++) {
        struct seeking s = {.a = a, .view = &a->views[i], .n = n_found};
        if (s.view->kind != WEIR_ASKED_WRITTEN) {
            weir_recur_find(recur, s.view->text, &(struct weir_recur_sink){on_found, &s});
        }
        n_found = s.n;
    }
    weir_arena_dispose(&work);
    if (rc != 0 || n_found == WEIR_FOUND_MAX) {
        return fail(a, "the request has more values to mask than can be sought in it");
    }
    if (a->n_hits != n_hits) {
        weir_asked__make_places(a);
    }
    return true;
}

void weir_asked__mask(struct weir_asked *a)
{
    drop_tokens(a);
    if (a->o.policy->only_tells) {
        return; /* the map is for what does not leave */
    }
    bool is_sought = a->n_hits == 0 || seek(a);
    if (is_sought && fill_map(a)) {
        count_foreign(a);
    }
}

/* ---- answers ---- */

/* A name has no tokens: what is found in it stays found. */
static void sift_place(struct weir_asked *a, const struct weir_asked_place *place,
                       const struct weir_mask *mask, size_t *n)
{
    struct weir_unmask_spans spans = {0};
    if (weir_asked__item(a, &a->hits[place->first])->kind != WEIR_WALK_IDENTIFIER) {
        weir_unmask_spans_read(&spans, mask, weir_asked__value(a, &a->hits[place->first]));
    }
    for (size_t i = place->first; i < place->first + place->n; i++) {
        struct weir_asked_hit hit = a->hits[i];
        struct weir_detection *d = weir_arena_alloc(a->o.arena, sizeof *d);
        *d = *hit.d;
        if (d->end_cp == d->start_cp || weir_unmask_spans_judge(&spans, d)) {
            hit.d = d;
            a->hits[(*n)++] = hit;
        }
    }
    weir_unmask_spans_dispose(&spans);
}

void weir_asked__sift(struct weir_asked *a, const struct weir_mask *mask)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n_places; i++) {
        sift_place(a, &a->places[i], mask, &n);
    }
    a->n_hits = n;
    weir_asked__make_places(a);
}

/* ---- the line ---- */

const struct weir_walk_item *weir_asked__instructed(const struct weir_asked *a)
{
    if (a->o.mask == NULL || !a->o.policy->mask->instructs || a->fault != NULL) {
        return NULL;
    }
    for (size_t i = 0; i < a->o.walk->n; i++) {
        const struct weir_walk_item *item = &a->o.walk->items[i];
        bool is_system = item->role == WEIR_WALK_SYSTEM || item->role == WEIR_WALK_DEVELOPER;
        if (is_system && item->kind == WEIR_WALK_TEXT) {
            return item;
        }
    }
    return NULL;
}

struct weir_slice weir_asked__with_line(const struct weir_asked *a, struct weir_slice text)
{
    struct weir_buf out = {0};
    weir_buf_append(&out, text);
    weir_buf_append(&out, WEIR_SLICE("\n" LINE));
    return weir_arena_take_buf(a->o.arena, &out);
}
