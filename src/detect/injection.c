/*
 *   text ──── Vectorscan: keys of rules ──── PCRE2: whole rules ──┐
 *   folded ── the same, spans told in the original ───────────────┴─ neighbours ── findings
 */
#include "detect/injection.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/injection_int.h"

#include <stdlib.h>
#include <string.h>

enum {
    NEAR = 240, /* bytes between rules that add up */
    CLOSE = 80, /* and between two weak ones */
    MAX_NEIGHBOURS = 48,
};

static const double LIKELY = WEIR_INJECTION_LIKELY;
static const double LIKELY_CONDUCT = 0.6;
static const double STRONG_HINT = 0.45;
static const char too_much[] = "too much of one text looks like prompt injection";

/* ---- adding up */

/* In order of place. */
struct hits {
    const struct weir_injection_set *set;
    struct weir_injection_hit *list;
    size_t n;
};

static int by_place(const void *pa, const void *pb)
{
    const struct weir_injection_hit *a = pa;
    const struct weir_injection_hit *b = pb;
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return a->rule < b->rule ? -1 : a->rule > b->rule;
}

struct sum {
    double missing;    /* 1 - score */
    size_t n;          /* rules in it */
    size_t n_refusals; /* of these, hints that a refusal is not wanted */
    size_t n_strong;   /* of these, more than weak hints */
    size_t apart;      /* bytes between the hit and the last one before it */
    bool is_near_likely;
    uint64_t counted[WEIR_INJECTION_MAX_RULES / 64];
};

static void count(const struct hits *s, struct sum *sum, const struct weir_injection_hit *h)
{
    uint64_t *word = &sum->counted[h->rule / 64];
    uint64_t bit = (uint64_t)1 << (h->rule % 64);
    if ((*word & bit) == 0) {
        *word |= bit;
        sum->n++;
        sum->n_refusals +=
            weir_slice_eq_cstr(s->set->rules[h->rule].rule->family, WEIR_INJECTION_REFUSAL);
        sum->n_strong += h->score >= STRONG_HINT;
        sum->missing *= 1 - h->score;
        sum->is_near_likely = sum->is_near_likely || h->score >= LIKELY;
    }
}

/* Two rules on one place say the same. */
static bool is_same_matter(const struct weir_injection_hit *a, const struct weir_injection_hit *b)
{
    return a->from < b->to && b->from < a->to;
}

/* Of hits on one place the best counts, as far as they are not the hit's own. Only what comes
 * before it adds to a hit: so the phrase that makes a text likely is the one that is told. */
static struct sum sum_before(const struct hits *s, size_t at)
{
    const struct weir_injection_hit *own = &s->list[at];
    const struct weir_injection_hit *best = NULL;
    struct sum sum = {.missing = 1};
    count(s, &sum, own);
    sum.is_near_likely = false;
    for (size_t i = at > MAX_NEIGHBOURS ? at - MAX_NEIGHBOURS : 0; i < at; i++) {
        const struct weir_injection_hit *h = &s->list[i];
        if (h->to + NEAR < own->from || is_same_matter(own, h)) {
            continue;
        }
        if (best != NULL && !is_same_matter(best, h)) {
            count(s, &sum, best);
            best = NULL;
        }
        best = best == NULL || h->score > best->score ? h : best;
        sum.apart = own->from > h->to ? own->from - h->to : 0;
    }
    if (best != NULL) {
        count(s, &sum, best);
    }
    return sum;
}

/* Licences, manuals and rules of conduct have two weak hints here and there, and two of them that
 * warnings or refusals are not wanted. */
static bool is_likely(const struct sum *sum)
{
    bool is_scattered = sum->n == 2 && sum->n_strong == 0 && sum->apart > CLOSE;
    bool is_conduct = sum->n == 2 && sum->n_refusals == 2;
    return !is_scattered && 1 - sum->missing >= (is_conduct ? LIKELY_CONDUCT : LIKELY);
}

/* What is not likely is not told; a hint beside something likely has done its part. */
static int report(const struct hits *s, size_t from, size_t low_byte, struct weir_found *found)
{
    int rc = 0;
    for (size_t i = from; i < s->n && s->list[i].from < low_byte && rc == 0; i++) {
        const struct weir_injection_hit *h = &s->list[i];
        struct sum sum = sum_before(s, i);
        if ((h->score < LIKELY && !is_likely(&sum)) || (h->score < LIKELY && sum.is_near_likely)) {
            continue;
        }
        struct weir_found_span span = {
            .start_byte = h->from,
            .end_byte = h->to,
            .detection = s->set->rules[h->rule].rule->family,
            .detection_type = WEIR_SLICE("prompt_injection"),
            .score = 1 - sum.missing,
        };
        rc = weir_found_add(found, &span);
    }
    return rc;
}

/* ---- whole texts */

static int scan_folded(struct weir_injection_scan *s, struct weir_slice text)
{
    struct weir_fold fold = {0};
    weir_fold_run(&fold, text);
    s->text = weir_buf_slice(&fold.text);
    s->fold = &fold;
    s->n_looks = 0;
    int rc = weir_injection__scan(s);
    weir_fold_dispose(&fold);
    return rc;
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    struct weir_injection_scan s = {.text = text, .set = settings};
    int rc = weir_injection__scan(&s);
    if (rc == 0 && weir_fold_is_wanted(text)) {
        rc = scan_folded(&s, text);
    }
    if (rc == 0 && s.n_hits != 0) {
        qsort(s.hits, s.n_hits, sizeof *s.hits, by_place);
        rc =
            report(&(struct hits){.set = s.set, .list = s.hits, .n = s.n_hits}, 0, SIZE_MAX, found);
    }
    run->why = rc != 0 ? too_much : run->why;
    weir_injection__scan_dispose(&s);
    return rc;
}

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    (void)params;
    return (void *)(uintptr_t)weir_injection__set(why);
}

/* ---- reading along */

/*
 * Each time enough has come, the text is scanned again from some way back, so that a stream keeps
 * no keys: only its text, the ends of matches, and hits.
 *
 *   text  |·········KEPT·········|··· new ···|AHEAD|      as it is, and folded
 *                          low ┘ └ done              └ a rule that would need more stops before it
 */
enum {
    KEPT = 512,  /* bytes before what is done, folded too; no rule looks further back */
    SLACK = 256, /* and so many more before some go */
    STEP = 32,   /* bytes that must have come, */
    SHARE = 32,  /* and this part of what is kept: characters that leave nothing can make it long */
    OLD = 1024,  /* bytes: nothing is near to what ended that far before it */
};

struct pass {
    size_t done_byte; /* keys before it were taken */
    struct weir_injection_ends seen;
    size_t n_looks;
};

struct reader {
    struct weir_buf text;
    size_t from_byte;              /* where it begins */
    size_t read_byte;              /* where the text ended at the last scan */
    size_t keep_byte;              /* what is before it goes */
    struct weir_fold_state before; /* of from_byte: no word that is folded as one lies around it */
    struct pass passes[2];         /* of the original, and folded */
    struct weir_injection_hit *hits; /* offsets count from the beginning of the whole text */
    size_t n_hits;
    size_t n_told; /* of these, the first */
    size_t n_ever;
};

static size_t reader_size(const void *settings)
{
    (void)settings;
    return sizeof(struct reader);
}

static void reader_init(void *state, const void *settings)
{
    (void)state;
    (void)settings;
}

static void reader_dispose(void *state)
{
    struct reader *r = state;
    weir_buf_dispose(&r->text);
    free(r->passes[0].seen.list);
    free(r->passes[1].seen.list);
    free(r->hits);
}

/* The first folded byte that stands for the original's at `source` or behind it. */
static size_t folded_at(const struct weir_fold *f, size_t source)
{
    size_t low = 0;
    size_t high = f->text.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (weir_fold_start(f, middle) < source) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static size_t place_of(const struct weir_fold *f, size_t source)
{
    return f != NULL ? folded_at(f, source) : source;
}

static size_t source_of(const struct weir_injection_scan *s, size_t at, size_t n_source)
{
    if (at >= s->text.n) {
        return n_source;
    }
    return s->fold != NULL ? weir_fold_start(s->fold, at) : at;
}

static size_t source_end(const struct weir_injection_scan *s, size_t at)
{
    return s->fold != NULL ? weir_fold_end(s->fold, at) : at;
}

/* Ends that no match can begin before any more are forgotten. */
static void forget(struct pass *p, size_t from_byte)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->seen.n; i++) {
        if (p->seen.list[i].to > from_byte) {
            p->seen.list[kept++] = p->seen.list[i];
        }
    }
    p->seen.n = kept;
}

/* Hits of a scan become the reader's. */
static void take_hits(struct reader *r, const struct weir_injection_scan *s)
{
    if (s->n_hits == 0) {
        return;
    }
    r->hits = weir_mem_realloc(r->hits, (r->n_hits + s->n_hits) * sizeof *r->hits);
    for (size_t i = 0; i < s->n_hits; i++) {
        struct weir_injection_hit hit = s->hits[i];
        hit.from += r->from_byte;
        hit.to += r->from_byte;
        r->hits[r->n_hits++] = hit;
    }
    r->n_ever += s->n_hits;
}

/* One pass over the text; `fold` NULL: as it is. Returns from where on matches may still begin. */
static int run_pass(struct reader *r, struct weir_injection_scan *s, struct pass *p,
                    size_t n_source, size_t *low_byte)
{
    forget(p, r->from_byte);
    for (size_t i = 0; i < p->seen.n; i++) {
        struct weir_injection_end *e = &p->seen.list[i];
        e->to = place_of(s->fold, e->to - r->from_byte);
    }
    s->seen = &p->seen;
    s->from = place_of(s->fold, p->done_byte - r->from_byte);
    s->to = s->text.n > WEIR_INJECTION_AHEAD ? s->text.n - WEIR_INJECTION_AHEAD : 0;
    s->to = s->to > s->from ? s->to : s->from;
    s->n_looks = p->n_looks;
    int rc = weir_injection__scan(s);
    for (size_t i = 0; i < p->seen.n; i++) {
        struct weir_injection_end *e = &p->seen.list[i];
        e->to = r->from_byte + source_end(s, e->to);
    }
    size_t back = s->to > WEIR_INJECTION_BACK ? s->to - WEIR_INJECTION_BACK : 0;
    *low_byte = r->from_byte + source_of(s, back, n_source);
    size_t keep = r->from_byte + source_of(s, s->to > KEPT ? s->to - KEPT : 0, n_source);
    r->keep_byte = s->fold == NULL || keep < r->keep_byte ? keep : r->keep_byte;
    p->done_byte = r->from_byte + source_of(s, s->to, n_source);
    p->n_looks = s->n_looks;
    take_hits(r, s);
    return rc;
}

/* The same keys are where nothing is folded. */
static void follow(struct pass *p, const struct pass *other)
{
    p->done_byte = other->done_byte;
    p->seen.n = 0;
    if (other->seen.n > p->seen.cap) {
        p->seen.cap = other->seen.n;
        p->seen.list = weir_mem_realloc(p->seen.list, p->seen.cap * sizeof *p->seen.list);
    }
    if (other->seen.n != 0) {
        memcpy(p->seen.list, other->seen.list, other->seen.n * sizeof *p->seen.list);
        p->seen.n = other->seen.n;
    }
}

static int run_folded(struct reader *r, const struct weir_injection_set *set, bool is_end,
                      size_t *low_byte)
{
    struct weir_fold fold = {0};
    struct weir_fold_state before = r->before;
    struct weir_fold_part part = {
        .text = weir_buf_slice(&r->text), .stop = r->text.n, .is_end = is_end};
    size_t n = weir_fold_part(&fold, &part, &before);
    struct weir_injection_scan s = {
        .text = weir_buf_slice(&fold.text), .fold = &fold, .set = set, .is_open = !is_end};
    int rc = run_pass(r, &s, &r->passes[1], n, low_byte);
    weir_injection__scan_dispose(&s);
    weir_fold_dispose(&fold);
    return rc;
}

static int run_both(struct reader *r, const struct weir_injection_set *set, bool is_end,
                    size_t *low_byte)
{
    struct weir_injection_scan s = {
        .text = weir_buf_slice(&r->text), .set = set, .is_open = !is_end};
    int rc = run_pass(r, &s, &r->passes[0], r->text.n, low_byte);
    weir_injection__scan_dispose(&s);
    if (rc == 0 && !weir_fold_is_wanted(weir_buf_slice(&r->text))) {
        follow(&r->passes[1], &r->passes[0]);
    } else if (rc == 0) {
        size_t other_byte = *low_byte;
        rc = run_folded(r, set, is_end, &other_byte);
        *low_byte = other_byte < *low_byte ? other_byte : *low_byte;
    }
    return rc;
}

/* Hits before `low_byte` are told; those that nothing can be near to any more are forgotten. */
static int tell(struct reader *r, const struct weir_injection_set *set, size_t low_byte,
                struct weir_found *found)
{
    if (r->n_hits == 0) {
        return 0;
    }
    qsort(r->hits, r->n_hits, sizeof *r->hits, by_place);
    struct hits hits = {.set = set, .list = r->hits, .n = r->n_hits};
    int rc = report(&hits, r->n_told, low_byte, found);
    size_t n_old = 0;
    while (r->n_told < r->n_hits && r->hits[r->n_told].from < low_byte) {
        r->n_told++;
    }
    while (n_old < r->n_told && low_byte > r->hits[n_old].to + OLD) {
        n_old++;
    }
    memmove(r->hits, r->hits + n_old, (r->n_hits - n_old) * sizeof *r->hits);
    r->n_hits -= n_old;
    r->n_told -= n_old;
    return rc;
}

/* What no rule looks at any more goes. */
static void trim(struct reader *r)
{
    if (r->keep_byte < r->from_byte + SLACK) {
        return;
    }
    struct weir_fold_part part = {
        .text = weir_buf_slice(&r->text), .stop = r->keep_byte - r->from_byte, .is_end = true};
    size_t n = weir_fold_part(NULL, &part, &r->before);
    weir_buf_consume(&r->text, n);
    r->from_byte += n;
}

static int reader_read(void *state, const void *settings, const struct weir_reader_text *t,
                       struct weir_reader_out *out)
{
    struct reader *r = state;
    size_t to_byte = t->from_byte + t->text.n;
    size_t own_byte = r->from_byte + r->text.n;
    weir_buf_append(&r->text, weir_slice_sub(t->text, own_byte - t->from_byte, t->text.n));
    out->quiet_byte = out->low_byte < out->quiet_byte ? out->low_byte : out->quiet_byte;
    if (!t->is_end && to_byte - r->read_byte < STEP + r->text.n / SHARE) {
        return 0;
    }
    r->read_byte = to_byte;
    size_t low_byte = out->low_byte;
    int rc = run_both(r, settings, t->is_end, &low_byte);
    low_byte = t->is_end ? SIZE_MAX : low_byte;
    rc = rc == 0 ? tell(r, settings, low_byte, out->found) : rc;
    out->why = rc != 0 ? too_much : out->why;
    low_byte = low_byte < to_byte ? low_byte : to_byte;
    out->low_byte = low_byte > out->low_byte ? low_byte : out->low_byte;
    trim(r);
    return rc;
}

static const struct weir_reader_ops reader = {
    .size = reader_size, .init = reader_init, .dispose = reader_dispose, .read = reader_read};

static const char *const members[] = {NULL};

const struct weir_builtin_kind weir_detect_injection = {
    .name = "prompt_injection", .members = members, .make = make, .scan = scan, .reader = &reader};
