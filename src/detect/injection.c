/*
 *   text ──── Vectorscan: keys of rules ──── PCRE2: whole rules ──┐
 *   folded ── the same, spans told in the original ───────────────┴─ neighbours ── findings
 */
#include "detect/injection.h"

#include "base/err.h"
#include "base/mem.h"
#include "detect/ascii.h"
#include "detect/fold.h"
#include "detect/injection_int.h"

#include <stdlib.h>

enum {
    MAX_HITS = 65536,
    FREE_LOOKS = 8192, /* of PCRE2 in one text, and one for each of so many bytes: a manual has a */
    LOOK_BYTES = 20,   /* third of that */
    WINDOW = 240,      /* of a match up to its last key */
    AHEAD = 160,
    PAUSE = 80,   /* a rule that did not match is not tried again within */
    NEAR = 240,   /* bytes between rules that add up */
    BEFORE = 56,  /* looked at for who is to do it */
    AROUND = 160, /* looked at for what it is about */
    MAX_NEIGHBOURS = 48,
    MATCH_LIMIT = 20000,
};

static const double LIKELY = 0.5;
static const double REPORTED = 0.3; /* what is left of an order that is told of or forbidden */
static const double QUOTED = 0.45;

/* ---- matching */

struct hit {
    size_t from; /* in the original */
    size_t to;
    unsigned rule;
    double score;
};

/* Made when the first stem is met: most texts have none. */
struct state {
    size_t seen[WEIR_INJECTION_MAX_RULES];      /* the end of the last match */
    size_t next_look[WEIR_INJECTION_MAX_RULES]; /* no look before */
    size_t last[];                              /* by key: where it ended; 0: not yet */
};

struct scan {
    struct weir_slice text; /* what is matched: the original, or folded */
    const struct weir_fold *fold;
    const struct weir_injection_set *set;
    struct hit *hits;
    size_t n_hits;
    size_t cap_hits;
    size_t n_looks;
    struct state *state;
    pcre2_match_data *data;
    pcre2_match_context *limits;
};

static bool matches(struct scan *s, const pcre2_code *code, size_t from, size_t to)
{
    struct weir_slice part = weir_slice_sub(s->text, from, to);
    pcre2_set_offset_limit(s->limits, PCRE2_UNSET);
    return pcre2_match(code, (PCRE2_SPTR)part.p, part.n, 0, 0, s->data, s->limits) >= 0;
}

static bool is_quote_before(struct weir_slice t, size_t at)
{
    char c = weir_ascii_before(t, at);
    return c == '"' || c == '\'' || c == '`' || c == '*' ||
           (at >= 3 && (unsigned char)t.p[at - 3] == 0xE2 && (unsigned char)t.p[at - 2] == 0x80) ||
           (at >= 2 && (unsigned char)t.p[at - 2] == 0xC2 && (unsigned char)c == 0xAB);
}

/* How much of the rule's score stays, from what is around the match. */
static double weigh(struct scan *s, size_t from, size_t to)
{
    size_t before = from > BEFORE ? from - BEFORE : 0;
    if (from > 0 && matches(s, s->set->reported, before, from)) {
        return REPORTED;
    }
    size_t after = to + BEFORE < s->text.n ? to + BEFORE : s->text.n;
    if (matches(s, s->set->other, to, after)) {
        return QUOTED;
    }
    size_t left = from > AROUND ? from - AROUND : 0;
    size_t right = to + AROUND < s->text.n ? to + AROUND : s->text.n;
    bool is_topic = is_quote_before(s->text, from) &&
                    (matches(s, s->set->topic, left, from) || matches(s, s->set->topic, to, right));
    return is_topic ? QUOTED : 1.0;
}

static int add_hit(struct scan *s, unsigned rule, size_t from, size_t to)
{
    if (s->n_hits == MAX_HITS) {
        return WEIR_ELIMIT;
    }
    if (s->n_hits == s->cap_hits) {
        s->cap_hits = s->cap_hits != 0 ? 2 * s->cap_hits : 16;
        s->hits = weir_mem_realloc(s->hits, s->cap_hits * sizeof *s->hits);
    }
    double share = s->set->rules[rule].rule->is_speech ? weigh(s, from, to) : 1.0;
    struct hit hit = {.from = from, .to = to, .rule = rule};
    if (s->fold != NULL) {
        hit.from = weir_fold_start(s->fold, from);
        hit.to = weir_fold_end(s->fold, to);
    }
    hit.score = share * s->set->rules[rule].rule->score;
    s->hits[s->n_hits++] = hit;
    return 0;
}

static void prepare_matching(struct scan *s)
{
    if (s->data == NULL) {
        s->data = pcre2_match_data_create(1, NULL);
        s->limits = pcre2_match_context_create(NULL);
        pcre2_set_match_limit(s->limits, MATCH_LIMIT);
    }
}

/* The line break that some rules begin with is not of the finding. */
static int take_match(struct scan *s, unsigned rule)
{
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(s->data);
    size_t from = span[0];
    size_t to = span[1];
    while (from < to && weir_ascii_is_space(s->text.p[from])) {
        from++;
    }
    s->state->seen[rule] = to;
    return from < to ? add_hit(s, rule, from, to) : 0;
}

/* Matches of the rule around `at`, where its last key ends, that begin where they can. */
static int look(struct scan *s, unsigned rule, size_t at)
{
    prepare_matching(s);
    const struct weir_injection_compiled *c = &s->set->rules[rule];
    size_t to = at + AHEAD < s->text.n ? at + AHEAD : s->text.n;
    while (to < s->text.n && to < at + 2 * AHEAD && weir_ascii_is_alnum(s->text.p[to])) {
        to++; /* a word's end is not where we stop looking */
    }
    size_t stop = c->begins_with_key ? s->state->last[c->keys[0]] : at;
    size_t reach = c->begins_with_key ? WEIR_INJECTION_MAX_STEM + 1 : WINDOW;
    size_t from = stop > reach ? stop - reach : 0;
    pcre2_set_offset_limit(s->limits, stop);
    s->state->next_look[rule] = at + (c->begins_with_key ? 1 : PAUSE);
    int rc = 0;
    for (; rc == 0 && from <= stop; from = s->state->seen[rule]) {
        from = from > s->state->seen[rule] ? from : s->state->seen[rule];
        if (++s->n_looks > FREE_LOOKS + s->text.n / LOOK_BYTES) {
            return WEIR_ELIMIT;
        }
        int n = from > stop ? -1
                            : pcre2_match(c->code, (PCRE2_SPTR)s->text.p, to, from, PCRE2_NOTEMPTY,
                                          s->data, s->limits);
        if (n < 0) {
            return 0;
        }
        rc = take_match(s, rule);
    }
    return rc;
}

static bool has_all_keys(const struct scan *s, const struct weir_injection_compiled *rule,
                         size_t at)
{
    for (size_t i = 0; i < rule->n_keys; i++) {
        size_t last = s->state->last[rule->keys[i]];
        if (last == 0 || last + WINDOW < at) {
            return false;
        }
    }
    return true;
}

static int take_key(struct scan *s, unsigned key, size_t at)
{
    const struct weir_injection_index *index = &s->set->rules_of_key;
    int rc = 0;
    s->state->last[key] = at;
    for (size_t i = index->first[key]; i < index->first[key + 1] && rc == 0; i++) {
        unsigned rule = index->list[i];
        if (at >= s->state->next_look[rule] && has_all_keys(s, &s->set->rules[rule], at)) {
            rc = look(s, rule, at);
        }
    }
    return rc;
}

static bool is_word(char c)
{
    return weir_ascii_is_alnum(c) || c == '_';
}

static bool has_edges(const struct scan *s, unsigned stem, size_t end)
{
    unsigned edges = s->set->edges[stem];
    return !((edges & 1) != 0 &&
             is_word(weir_ascii_before(s->text, end - s->set->lengths[stem]))) &&
           !((edges & 2) != 0 && is_word(weir_ascii_at(s->text, end)));
}

static int on_match(void *ctx, unsigned id, size_t end_byte)
{
    struct scan *s = ctx;
    const struct weir_injection_index *index = &s->set->keys_of_stem;
    int rc = 0;
    if (!has_edges(s, id, end_byte)) {
        return 0;
    }
    if (s->state == NULL) {
        s->state = weir_mem_zalloc(sizeof *s->state + s->set->n_keys * sizeof *s->state->last);
    }
    for (size_t i = index->first[id]; i < index->first[id + 1] && rc == 0; i++) {
        rc = take_key(s, index->list[i], end_byte);
    }
    return rc;
}

/* ---- adding up */

static int by_place(const void *pa, const void *pb)
{
    const struct hit *a = pa;
    const struct hit *b = pb;
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return a->rule < b->rule ? -1 : a->rule > b->rule;
}

struct sum {
    double missing; /* 1 - score */
    bool is_near_likely;
    uint64_t counted[WEIR_INJECTION_MAX_RULES / 64];
};

static void count(struct sum *sum, const struct hit *h)
{
    uint64_t *word = &sum->counted[h->rule / 64];
    uint64_t bit = (uint64_t)1 << (h->rule % 64);
    if ((*word & bit) == 0) {
        *word |= bit;
        sum->missing *= 1 - h->score;
        sum->is_near_likely = sum->is_near_likely || h->score >= LIKELY;
    }
}

/* Two rules on one place say the same. */
static bool is_same_matter(const struct hit *a, const struct hit *b)
{
    return a->from < b->to && b->from < a->to;
}

static struct sum sum_around(const struct scan *s, size_t at)
{
    const struct hit *own = &s->hits[at];
    struct sum sum = {.missing = 1};
    count(&sum, own);
    sum.is_near_likely = false;
    size_t from = at > MAX_NEIGHBOURS ? at - MAX_NEIGHBOURS : 0;
    size_t to = at + MAX_NEIGHBOURS < s->n_hits ? at + MAX_NEIGHBOURS : s->n_hits;
    for (size_t i = from; i < to; i++) {
        const struct hit *h = &s->hits[i];
        bool is_near = h->to + NEAR >= own->from && own->to + NEAR >= h->from;
        if (i != at && is_near && !is_same_matter(own, h)) {
            count(&sum, h);
        }
    }
    return sum;
}

/* What is not likely is not told; a hint beside something likely has done its part. */
static int report(const struct scan *s, struct weir_found *found)
{
    int rc = 0;
    for (size_t i = 0; i < s->n_hits && rc == 0; i++) {
        const struct hit *h = &s->hits[i];
        struct sum sum = sum_around(s, i);
        if (1 - sum.missing < LIKELY || (h->score < LIKELY && sum.is_near_likely)) {
            continue;
        }
        struct weir_found_span span = {
            .start_byte = h->from,
            .end_byte = h->to,
            .detection = weir_slice_cstr(s->set->rules[h->rule].rule->family),
            .detection_type = WEIR_SLICE("prompt_injection"),
            .score = 1 - sum.missing,
        };
        rc = weir_found_add(found, &span);
    }
    return rc;
}

static int scan_one(struct scan *s)
{
    int rc = weir_patterns_scan(s->set->stems, s->text, on_match, s);
    free(s->state);
    s->state = NULL;
    return rc;
}

static int scan_folded(struct scan *s, struct weir_slice text)
{
    struct weir_fold fold = {0};
    weir_fold_run(&fold, text);
    s->text = weir_buf_slice(&fold.text);
    s->fold = &fold;
    s->n_looks = 0;
    int rc = scan_one(s);
    weir_fold_dispose(&fold);
    return rc;
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    struct scan s = {.text = text, .set = settings};
    int rc = scan_one(&s);
    if (rc == 0 && weir_fold_is_wanted(text)) {
        rc = scan_folded(&s, text);
    }
    if (rc == 0 && s.n_hits != 0) {
        qsort(s.hits, s.n_hits, sizeof *s.hits, by_place);
        rc = report(&s, found);
    }
    if (rc != 0) {
        run->why = "too much of one text looks like prompt injection";
    }
    free(s.hits);
    pcre2_match_data_free(s.data);
    pcre2_match_context_free(s.limits);
    return rc;
}

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    (void)params;
    return (void *)(uintptr_t)weir_injection__set(why);
}

static const char *const members[] = {NULL};

const struct weir_builtin_kind weir_detect_injection = {
    .name = "prompt_injection", .members = members, .make = make, .scan = scan};
