/*
 *   text ──── Vectorscan: keys of rules ──── PCRE2: whole rules ──┐
 *   folded ── the same, spans told in the original ───────────────┴─ neighbours ── findings
 */
#include "detect/injection.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "detect/ascii.h"
#include "detect/fold.h"
#include "detect/injection_int.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_HITS = 65536,
    FREE_LOOKS = 8192, /* of PCRE2 in one text, and one for each of so many bytes: a manual has a */
    LOOK_BYTES = 20,   /* third of that */
    AHEAD = 160,
    NEAR = 240,   /* bytes between rules that add up */
    CLOSE = 80,   /* and between two weak ones */
    BEFORE = 56,  /* looked at for who is to do it */
    AROUND = 160, /* looked at for what it is about */
    MAX_NEIGHBOURS = 48,
    MATCH_LIMIT = 20000,
};

static const double LIKELY = 0.5;
static const double LIKELY_CONDUCT = 0.6;
static const double STRONG_HINT = 0.45;
static const double REPORTED = 0.3; /* what is left of an order that is described or forbidden */
static const double QUOTED = 0.45;

/* ---- matching */

struct hit {
    size_t from; /* in the original */
    size_t to;
    unsigned rule;
    double score;
};

struct place {
    size_t from;
    size_t to;
    size_t before; /* where the one before it began */
};

/*
 * What a scan knows of keys and rules, each thread's own and never cleared: places count on from
 * one text to the next, and those up to `base` are of another text.
 */
struct state {
    size_t base;
    size_t *seen;        /* by rule: the end of the last match */
    struct place last[]; /* by key */
};

struct scan {
    struct weir_slice text; /* what is matched: the original, or folded */
    const struct weir_fold *fold;
    const struct weir_injection_set *set;
    struct hit *hits;
    size_t n_hits;
    size_t cap_hits;
    size_t n_looks;
    size_t n_read; /* its words up to here are looked at */
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

/* A mark and, after quotes and brackets, a blank or the end. */
static bool ends_sentence(struct weir_slice t, size_t at)
{
    if (t.p[at] != '.' && t.p[at] != '!' && t.p[at] != '?') {
        return t.p[at] == '\n';
    }
    size_t next = at + 1;
    while (next < t.n && next < at + 4 && strchr("\"')]", t.p[next]) != NULL) {
        next++;
    }
    return next >= t.n || weir_ascii_is_space(t.p[next]);
}

/* Where the sentence after `at` ends, no further than AROUND. */
static size_t sentence_end(struct weir_slice t, size_t at)
{
    size_t stop = at + AROUND < t.n ? at + AROUND : t.n;
    while (at < stop && !ends_sentence(t, at)) {
        at++;
    }
    return at;
}

/* How much of the rule's score stays, from what stands before the match and after it in its
 * sentence. */
static double weigh(struct scan *s, size_t from, size_t to)
{
    size_t before = from > BEFORE ? from - BEFORE : 0;
    if (from > 0 && matches(s, s->set->around[WEIR_INJECTION_REPORTED], before, from)) {
        return REPORTED;
    }
    size_t end = sentence_end(s->text, to);
    size_t after = to + BEFORE < end ? to + BEFORE : end;
    if (matches(s, s->set->around[WEIR_INJECTION_OTHER], to, after)) {
        return QUOTED;
    }
    size_t left = from > AROUND ? from - AROUND : 0;
    bool is_topic = is_quote_before(s->text, from) &&
                    (matches(s, s->set->around[WEIR_INJECTION_TOPIC], left, from) ||
                     matches(s, s->set->around[WEIR_INJECTION_TOPIC], to, end));
    return is_topic ? QUOTED : 1.0;
}

/* Orders are weighed by what is around them; hints mean less where somebody writes of the matter.
 */
static double share_of(struct scan *s, unsigned rule, size_t from, size_t to)
{
    const struct weir_injection_rule *r = s->set->rules[rule].rule;
    if (r->is_speech) {
        return weigh(s, from, to);
    }
    size_t left = from > AROUND ? from - AROUND : 0;
    size_t right = sentence_end(s->text, to);
    return r->score < LIKELY && matches(s, s->set->around[WEIR_INJECTION_MATTER], left, right)
               ? QUOTED
               : 1.0;
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
    double share = share_of(s, rule, from, to);
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
    s->state->seen[rule] = s->state->base + to;
    return from < to ? add_hit(s, rule, from, to) : 0;
}

/* How far a match may go on after `at`: a word's end is not where we stop looking. */
static size_t end_of_look(const struct scan *s, size_t at)
{
    size_t to = at + AHEAD < s->text.n ? at + AHEAD : s->text.n;
    while (to < s->text.n && to < at + 2 * AHEAD && weir_ascii_is_alnum(s->text.p[to])) {
        to++;
    }
    return to;
}

/* A match of the rule that begins between `from` and `stop`. */
static int look_once(struct scan *s, unsigned rule, size_t from, size_t stop, size_t to)
{
    if (++s->n_looks > FREE_LOOKS + s->text.n / LOOK_BYTES) {
        return WEIR_ELIMIT;
    }
    pcre2_set_offset_limit(s->limits, stop);
    int n = pcre2_match(s->set->rules[rule].code, (PCRE2_SPTR)s->text.p, to, from, PCRE2_NOTEMPTY,
                        s->data, s->limits);
    return n >= 0 ? take_match(s, rule) : 0;
}

/* Where the last match of the rule in this text ends. */
static size_t seen_end(const struct scan *s, unsigned rule)
{
    size_t seen = s->state->seen[rule];
    return seen > s->state->base ? seen - s->state->base : 0;
}

/* A match that begins with the rule's first key: at the last place it was, or the one before. */
static int look_at_starts(struct scan *s, unsigned rule, size_t at, size_t to)
{
    const struct weir_injection_compiled *c = &s->set->rules[rule];
    const struct place *first = &s->state->last[c->keys[0]];
    size_t base = s->state->base;
    int rc = 0;
    if (first->before > base && first->before + c->apart[0] >= base + at &&
        first->before - base - 1 >= seen_end(s, rule)) {
        rc = look_once(s, rule, first->before - base - 1, first->before - base - 1, to);
    }
    size_t from = first->from - base - 1;
    return rc == 0 && from >= seen_end(s, rule) ? look_once(s, rule, from, from, to) : rc;
}

/* Matches of the rule around `at`, where its last key ends, that begin where they can. */
static int look(struct scan *s, unsigned rule, size_t at)
{
    prepare_matching(s);
    const struct weir_injection_compiled *c = &s->set->rules[rule];
    size_t to = end_of_look(s, at);
    size_t seen = seen_end(s, rule);
    if (c->begins_with_key) {
        return look_at_starts(s, rule, at, to);
    }
    int rc = 0;
    size_t from = at > c->reach ? at - c->reach : 0;
    from = from > seen ? from : seen;
    for (bool is_more = true; rc == 0 && is_more && from <= at;) {
        rc = look_once(s, rule, from, at, to);
        is_more = seen_end(s, rule) > from;
        from = seen_end(s, rule);
    }
    return rc;
}

/* The first was looked at. */
static bool has_all_keys(const struct scan *s, const struct weir_injection_compiled *rule,
                         size_t at)
{
    for (size_t i = 1; i + 1 < rule->n_keys; i++) {
        size_t last = s->state->last[rule->keys[i]].to;
        if (last <= s->state->base || last + rule->apart[i] < s->state->base + at) {
            return false;
        }
    }
    return true;
}

/* Rules that may end with this key. */
static int try_rules(struct scan *s, unsigned key, size_t at)
{
    const struct weir_injection_index *index = &s->set->rules_of_key;
    size_t base = s->state->base;
    int rc = 0;
    for (size_t i = index->first[key]; i < index->first[key + 1] && rc == 0; i++) {
        const struct weir_injection_link *link = &index->list[i];
        size_t other = s->state->last[link->other].to;
        bool is_near = other > base && other + link->apart >= base + at;
        if (is_near && has_all_keys(s, &s->set->rules[link->to], at)) {
            rc = look(s, link->to, at);
        }
    }
    return rc;
}

static inline int take_key(struct scan *s, const struct weir_injection_link *link,
                           struct place place)
{
    size_t base = s->state->base;
    struct place *last = &s->state->last[link->to];
    *last =
        (struct place){.from = base + place.from + 1, .to = base + place.to, .before = last->from};
    return link->is_end ? try_rules(s, link->to, place.to) : 0;
}

static bool is_word(char c)
{
    return weir_ascii_is_alnum(c) || c == '_';
}

/* The edges of words that `place` has. */
static unsigned edges_at(const struct scan *s, struct place place)
{
    return (is_word(weir_ascii_before(s->text, place.from)) ? 0 : WEIR_INJECTION_BEGINS) |
           (is_word(weir_ascii_at(s->text, place.to)) ? 0 : WEIR_INJECTION_ENDS);
}

/* Keys of the stem that need no more edges than it has. */
static int take_stem(struct scan *s, unsigned id, struct place place, unsigned edges)
{
    const struct weir_injection_index *index = &s->set->keys_of_stem;
    int rc = 0;
    for (size_t i = index->first[id]; i < index->first[id + 1] && rc == 0; i++) {
        if ((index->list[i].edges & ~edges) == 0) {
            rc = take_key(s, &index->list[i], place);
        }
    }
    return rc;
}

static int on_word(void *ctx, const struct weir_injection_literal *stem, size_t at)
{
    struct scan *s = ctx;
    struct place place = {.from = at, .to = at + stem->n};
    const struct weir_injection_link *links = s->set->keys_of_stem.list + stem->first;
    int rc = 0;
    for (size_t i = 0; i < stem->n_links && rc == 0; i++) {
        rc = take_key(s, &links[i], place);
    }
    return rc;
}

static int read_words(struct scan *s, size_t to)
{
    return weir_injection__words_scan(s->set->words, s->text, &s->n_read, to,
                                      (struct weir_injection_taker){.on_stem = on_word, .ctx = s});
}

/* Keys are taken in the order of the text: first the words before. */
static int on_other(void *ctx, unsigned id, size_t end_byte)
{
    struct scan *s = ctx;
    unsigned stem = s->set->other_ids[id];
    struct place place = {.from = end_byte - s->set->lengths[stem], .to = end_byte};
    int rc = read_words(s, end_byte);
    return rc == 0 ? take_stem(s, stem, place, edges_at(s, place)) : rc;
}

/* ---- a thread's memory */

static pthread_key_t state_key;
static pthread_once_t state_once = PTHREAD_ONCE_INIT;

static void make_state_key(void)
{
    int rc = pthread_key_create(&state_key, free);
    WEIR_ASSERT(rc == 0);
}

static struct state *own_state(const struct weir_injection_set *set)
{
    pthread_once(&state_once, make_state_key);
    struct state *state = pthread_getspecific(state_key);
    if (state == NULL) {
        size_t n_places = set->n_keys * sizeof(struct place);
        state = weir_mem_zalloc(sizeof *state + n_places + set->n_rules * sizeof *state->seen);
        state->seen = (size_t *)(state->last + set->n_keys);
        pthread_setspecific(state_key, state);
    }
    return state;
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
    double missing;    /* 1 - score */
    size_t n;          /* rules in it */
    size_t n_refusals; /* of these, hints that a refusal is not wanted */
    size_t n_strong;   /* of these, more than weak hints */
    size_t apart;      /* bytes between the hit and the last one before it */
    bool is_near_likely;
    uint64_t counted[WEIR_INJECTION_MAX_RULES / 64];
};

static void count(const struct scan *s, struct sum *sum, const struct hit *h)
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
static bool is_same_matter(const struct hit *a, const struct hit *b)
{
    return a->from < b->to && b->from < a->to;
}

/* Of hits on one place the best counts, as far as they are not the hit's own. Only what comes
 * before it adds to a hit: so the phrase that makes a text likely is the one that is told. */
static struct sum sum_before(const struct scan *s, size_t at)
{
    const struct hit *own = &s->hits[at];
    const struct hit *best = NULL;
    struct sum sum = {.missing = 1};
    count(s, &sum, own);
    sum.is_near_likely = false;
    for (size_t i = at > MAX_NEIGHBOURS ? at - MAX_NEIGHBOURS : 0; i < at; i++) {
        const struct hit *h = &s->hits[i];
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
static int report(const struct scan *s, struct weir_found *found)
{
    int rc = 0;
    for (size_t i = 0; i < s->n_hits && rc == 0; i++) {
        const struct hit *h = &s->hits[i];
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

static int scan_one(struct scan *s)
{
    s->state = own_state(s->set);
    s->n_read = 0;
    int rc = weir_patterns_scan(s->set->others, s->text, on_other, s);
    rc = rc == 0 ? read_words(s, s->text.n) : rc;
    s->state->base += s->text.n + 1;
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
