/*
 * Where the keys of a rule meet PCRE2 has a look. A text that is still being written is scanned
 * from some way back each time: keys before `from` are only remembered, and where a rule would need
 * more text the scan stops.
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "detect/ascii.h"
#include "detect/injection_int.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_HITS = 65536,
    FREE_LOOKS = 8192, /* of PCRE2 in one text, and one for each of so many bytes: a manual has a */
    LOOK_BYTES = 20,   /* third of that */
    AHEAD = 160,
    BEFORE = 56,  /* looked at for who is to do it */
    AROUND = 160, /* looked at for what it is about */
    MATCH_LIMIT = 20000,
    WAITS = 1, /* not an error: the scan stopped */
};

static const double LIKELY = WEIR_INJECTION_LIKELY;
static const double REPORTED = 0.3; /* what is left of an order that is described or forbidden */
static const double QUOTED = 0.45;

struct place {
    size_t from;
    size_t to;
    size_t before; /* where the one before it began */
};

/*
 * What a scan knows of keys and rules, each thread's own and never cleared: places count on from
 * one text to the next, and those up to `base` are of another text.
 */
struct weir_injection_state {
    size_t base;
    size_t *seen;        /* by rule: the end of the last match */
    struct place last[]; /* by key */
};

static bool matches(struct weir_injection_scan *s, const pcre2_code *code, size_t from, size_t to)
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
    while (next < at + 4 && weir_ascii_has(t, next) && strchr("\"')]", t.p[next]) != NULL) {
        next++;
    }
    return !weir_ascii_has(t, next) || weir_ascii_is_space(t.p[next]);
}

/* Where the sentence after `at` ends, no further than AROUND. */
static size_t sentence_end(struct weir_slice t, size_t at)
{
    size_t stop = at + AROUND;
    while (at < stop && weir_ascii_has(t, at) && !ends_sentence(t, at)) {
        at++;
    }
    return at;
}

/* How much of the rule's score stays, from what stands before the match and after it in its
 * sentence. */
static double weigh(struct weir_injection_scan *s, size_t from, size_t to)
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
static double share_of(struct weir_injection_scan *s, unsigned rule, size_t from, size_t to)
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

static int add_hit(struct weir_injection_scan *s, unsigned rule, size_t from, size_t to)
{
    if (s->n_hits == MAX_HITS) {
        return WEIR_ELIMIT;
    }
    if (s->n_hits == s->cap_hits) {
        s->cap_hits = s->cap_hits != 0 ? 2 * s->cap_hits : 16;
        s->hits = weir_mem_realloc(s->hits, s->cap_hits * sizeof *s->hits);
    }
    double share = share_of(s, rule, from, to);
    struct weir_injection_hit hit = {.from = from, .to = to, .rule = rule};
    if (s->fold != NULL) {
        hit.from = weir_fold_start(s->fold, from);
        hit.to = weir_fold_end(s->fold, to);
    }
    hit.score = share * s->set->rules[rule].rule->score;
    s->hits[s->n_hits++] = hit;
    return 0;
}

static void prepare_matching(struct weir_injection_scan *s)
{
    if (s->data == NULL) {
        s->data = pcre2_match_data_create(1, weir_pcre_heap_get());
        s->limits = pcre2_match_context_create(weir_pcre_heap_get());
        pcre2_set_match_limit(s->limits, MATCH_LIMIT);
    }
}

/* Matches are remembered by those who go on with the text later. */
static void remember(struct weir_injection_scan *s, unsigned rule, size_t to)
{
    if (s->seen == NULL) {
        return;
    }
    if (s->seen->n == s->seen->cap) {
        s->seen->cap = s->seen->cap != 0 ? 2 * s->seen->cap : 4;
        s->seen->list = weir_mem_realloc(s->seen->list, s->seen->cap * sizeof *s->seen->list);
    }
    s->seen->list[s->seen->n++] = (struct weir_injection_end){.rule = rule, .to = to};
}

/* The line break that some rules begin with is not of the finding. */
static int take_match(struct weir_injection_scan *s, unsigned rule)
{
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(s->data);
    size_t from = span[0];
    size_t to = span[1];
    while (from < to && weir_ascii_is_space(s->text.p[from])) {
        from++;
    }
    s->state->seen[rule] = s->state->base + to;
    remember(s, rule, to);
    return from < to ? add_hit(s, rule, from, to) : 0;
}

/* How far a match may go on after `at`: a word's end is not where we stop looking. */
static size_t end_of_look(const struct weir_injection_scan *s, size_t at)
{
    size_t to = at + AHEAD < s->text.n ? at + AHEAD : s->text.n;
    while (to < s->text.n && to < at + 2 * AHEAD && weir_ascii_is_alnum(s->text.p[to])) {
        to++;
    }
    return to;
}

/* More text could make another match of it, or one at all. */
static bool is_undecided(struct weir_injection_scan *s, unsigned rule, size_t from, size_t to)
{
    if (!s->is_open || to < s->text.n) {
        return false;
    }
    int n = pcre2_match(s->set->rules[rule].code, (PCRE2_SPTR)s->text.p, to, from,
                        PCRE2_NOTEMPTY | PCRE2_PARTIAL_HARD, s->data, s->limits);
    return n < 0 && n != PCRE2_ERROR_NOMATCH;
}

/* A match of the rule that begins between `from` and `stop`. */
static int look_once(struct weir_injection_scan *s, unsigned rule, size_t from, size_t stop,
                     size_t to)
{
    if (++s->n_looks > FREE_LOOKS + s->text.n / LOOK_BYTES) {
        return WEIR_ELIMIT;
    }
    pcre2_set_offset_limit(s->limits, stop);
    if (is_undecided(s, rule, from, to)) {
        weir_ascii_meet(s->text);
        return 0;
    }
    int n = pcre2_match(s->set->rules[rule].code, (PCRE2_SPTR)s->text.p, to, from, PCRE2_NOTEMPTY,
                        s->data, s->limits);
    return n >= 0 ? take_match(s, rule) : 0;
}

/* Where the last match of the rule in this text ends. */
static size_t seen_end(const struct weir_injection_scan *s, unsigned rule)
{
    size_t seen = s->state->seen[rule];
    return seen > s->state->base ? seen - s->state->base : 0;
}

/* A match that begins with the rule's first key: at the last place it was, or the one before. */
static int look_at_starts(struct weir_injection_scan *s, unsigned rule, size_t at, size_t to)
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
static int look(struct weir_injection_scan *s, unsigned rule, size_t at)
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
static bool has_all_keys(const struct weir_injection_scan *s,
                         const struct weir_injection_compiled *rule, size_t at)
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
static int try_rules(struct weir_injection_scan *s, unsigned key, size_t at)
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

/* `is_new`: it has not been looked at before. */
static inline int take_key(struct weir_injection_scan *s, const struct weir_injection_link *link,
                           struct place place, bool is_new)
{
    size_t base = s->state->base;
    struct place *last = &s->state->last[link->to];
    *last =
        (struct place){.from = base + place.from + 1, .to = base + place.to, .before = last->from};
    return link->is_end && is_new ? try_rules(s, link->to, place.to) : 0;
}

static bool is_word(char c)
{
    return weir_ascii_is_alnum(c) || c == '_';
}

/* The edges of words that `place` has. */
static unsigned edges_at(const struct weir_injection_scan *s, struct place place)
{
    return (is_word(weir_ascii_before(s->text, place.from)) ? 0 : WEIR_INJECTION_BEGINS) |
           (is_word(weir_ascii_at(s->text, place.to)) ? 0 : WEIR_INJECTION_ENDS);
}

/* Keys of the stem that need no more edges than it has. */
static int take_stem(struct weir_injection_scan *s, unsigned id, struct place place, bool is_new)
{
    const struct weir_injection_index *index = &s->set->keys_of_stem;
    unsigned edges = edges_at(s, place);
    int rc = 0;
    for (size_t i = index->first[id]; i < index->first[id + 1] && rc == 0; i++) {
        if ((index->list[i].edges & ~edges) == 0) {
            rc = take_key(s, &index->list[i], place, is_new);
        }
    }
    return rc;
}

/* What is done at one place of the text is done, or undone when it would take more text to do it.
 */
static void begin_unit(struct weir_injection_scan *s, size_t at)
{
    if (s->is_open && (at > s->unit.at || !s->unit.is_begun)) {
        s->unit = (struct weir_injection_unit){.at = at,
                                               .is_begun = true,
                                               .n_hits = s->n_hits,
                                               .n_seen = s->seen != NULL ? s->seen->n : 0,
                                               .n_looks = s->n_looks};
        weir_ascii_edge = (struct weir_ascii_edge){.end = s->text.p + s->text.n};
    }
}

static int end_unit(struct weir_injection_scan *s, int rc)
{
    if (!s->is_open || !weir_ascii_edge.is_met) {
        return rc;
    }
    s->n_hits = s->unit.n_hits;
    s->n_looks = s->unit.n_looks;
    if (s->seen != NULL) {
        s->seen->n = s->unit.n_seen;
    }
    s->to = s->unit.at;
    return WAITS;
}

static int on_word(void *ctx, const struct weir_injection_literal *stem, size_t at)
{
    struct weir_injection_scan *s = ctx;
    struct place place = {.from = at, .to = at + stem->n};
    const struct weir_injection_link *links = s->set->keys_of_stem.list + stem->first;
    int rc = 0;
    begin_unit(s, at);
    for (size_t i = 0; i < stem->n_links && rc == 0; i++) {
        rc = take_key(s, &links[i], place, at >= s->from);
    }
    return end_unit(s, rc);
}

static int read_words(struct weir_injection_scan *s, size_t to)
{
    to = to < s->to ? to : s->to;
    return to > s->n_read ? weir_injection__words_scan(
                                s->set->words, s->text, &s->n_read, to,
                                (struct weir_injection_taker){.on_stem = on_word, .ctx = s})
                          : 0;
}

/* Keys are taken in the order of the text: first the words before. */
static int on_other(void *ctx, unsigned id, size_t end_byte)
{
    struct weir_injection_scan *s = ctx;
    unsigned stem = s->set->other_ids[id];
    struct place place = {.from = end_byte - s->set->lengths[stem], .to = end_byte};
    int rc = read_words(s, end_byte);
    if (rc != 0 || end_byte > s->to) {
        return rc;
    }
    begin_unit(s, end_byte - 1);
    rc = take_stem(s, stem, place, end_byte > s->from);
    return end_unit(s, rc);
}

/* ---- a thread's memory */

static pthread_key_t state_key;
static pthread_once_t state_once = PTHREAD_ONCE_INIT;

static void make_state_key(void)
{
    int rc = pthread_key_create(&state_key, free);
    WEIR_ASSERT(rc == 0);
}

static struct weir_injection_state *own_state(const struct weir_injection_set *set)
{
    pthread_once(&state_once, make_state_key);
    struct weir_injection_state *state = pthread_getspecific(state_key);
    if (state == NULL) {
        size_t n_places = set->n_keys * sizeof(struct place);
        state = weir_mem_zalloc(sizeof *state + n_places + set->n_rules * sizeof *state->seen);
        state->seen = (size_t *)(state->last + set->n_keys);
        pthread_setspecific(state_key, state);
    }
    return state;
}

/* ---- the whole */

int weir_injection__scan(struct weir_injection_scan *s)
{
    size_t n_seen = s->seen != NULL ? s->seen->n : 0;
    s->state = own_state(s->set);
    s->n_read = 0;
    s->to = s->is_open && s->to < s->text.n ? s->to : s->text.n;
    s->unit = (struct weir_injection_unit){0};
    for (size_t i = 0; i < n_seen; i++) {
        s->state->seen[s->seen->list[i].rule] = s->state->base + s->seen->list[i].to;
    }
    int rc = weir_patterns_scan(s->set->others, s->text, on_other, s);
    rc = rc == 0 ? read_words(s, s->text.n) : rc;
    weir_ascii_edge = (struct weir_ascii_edge){0};
    s->state->base += s->text.n + 1;
    return rc == WAITS ? 0 : rc;
}

void weir_injection__scan_dispose(struct weir_injection_scan *s)
{
    free(s->hits);
    pcre2_match_data_free(s->data);
    pcre2_match_context_free(s->limits);
}
