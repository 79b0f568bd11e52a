/* The rules of all tables made into one set: keys for Vectorscan, expressions for PCRE2. */
#include "base/mem.h"
#include "detect/ascii.h"
#include "detect/fold.h"
#include "detect/injection_int.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 240, SLACK = 16 };

/* Between words of one clause. */
#define PLAIN_GAP "[^\\w.!?;:,\\n]+"

/* Keys and stems found so far, equal ones once. */
struct names {
    struct weir_buf *list;
    size_t n;
    size_t cap;
};

struct pair {
    unsigned short from;
    struct weir_injection_link link;
};

struct pairs {
    struct pair *list;
    size_t n;
    size_t cap;
};

struct making {
    struct weir_injection_set *set;
    struct names keys;  /* a key's stems as one text */
    struct names stems; /* expressions; what comes first is case */
    struct pairs stem_key;
    struct pairs key_rule;
    struct weir_buf *why;
};

/* One past the ">" of "<4>" or "<10>" at `at`; `at` when it is no such thing. */
static size_t words_end(struct weir_slice expr, size_t at)
{
    size_t end = at + 1;
    while (weir_ascii_is_digit(weir_ascii_at(expr, end))) {
        end++;
    }
    bool is_words = expr.p[at] == '<' && end > at + 1 && weir_ascii_at(expr, end) == '>';
    return is_words ? end + 1 : at;
}

/* `gap` is what a space stands for. */
static void spell(struct weir_buf *out, struct weir_slice expr, const char *gap)
{
    bool is_class = false;
    for (size_t at = 0, end; at < expr.n; at = end) {
        char c = expr.p[at];
        size_t words = words_end(expr, at);
        end = at + 1;
        if (c == '\\') {
            end = at + 2;
            weir_buf_append(out, weir_slice_sub(expr, at, end));
        } else if (c == ' ' && !is_class) {
            weir_buf_append(out, weir_slice_cstr(gap));
        } else if (words > at) {
            end = words;
            weir_buf_printf(out, "(?:\\w+%s){0,%.*s}", gap, (int)(end - at - 2), expr.p + at + 1);
        } else {
            is_class = is_class ? c != ']' : c == '[';
            weir_buf_append_byte(out, c);
        }
    }
}

void weir_injection__spell(struct weir_buf *out, struct weir_slice expr)
{
    spell(out, expr, GAP);
}

static pcre2_code *compile_spelled(struct weir_slice expr, uint32_t options, struct weir_buf *why)
{
    int error;
    PCRE2_SIZE at;
    options |= PCRE2_USE_OFFSET_LIMIT;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)expr.p, expr.n, options, &error, &at, NULL);
    if (code == NULL) {
        weir_buf_printf(why, "prompt_injection: error %d at %zu of %.*s", error, (size_t)at,
                        (int)expr.n, expr.p);
        return NULL;
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    return code;
}

static pcre2_code *compile_expr(const char *expr, const char *gap, struct weir_buf *why)
{
    struct weir_buf spelled = {0};
    spell(&spelled, weir_slice_cstr(expr), gap);
    pcre2_code *code = compile_spelled(weir_buf_slice(&spelled), PCRE2_CASELESS, why);
    weir_buf_dispose(&spelled);
    return code;
}

static unsigned short name(struct names *names, struct weir_slice text, bool *is_new)
{
    for (size_t i = 0; i < names->n; i++) {
        if (weir_slice_eq(text, weir_buf_slice(&names->list[i]))) {
            *is_new = false;
            return (unsigned short)i;
        }
    }
    if (names->n == names->cap) {
        names->cap = names->cap != 0 ? 2 * names->cap : 64;
        names->list = weir_mem_realloc(names->list, names->cap * sizeof *names->list);
    }
    names->list[names->n] = (struct weir_buf){0};
    weir_buf_append(&names->list[names->n], text);
    *is_new = true;
    return (unsigned short)names->n++;
}

static void dispose_names(struct names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        weir_buf_dispose(&names->list[i]);
    }
    free(names->list);
}

static void add_pair(struct pairs *pairs, struct pair pair)
{
    if (pairs->n == pairs->cap) {
        pairs->cap = pairs->cap != 0 ? 2 * pairs->cap : 256;
        pairs->list = weir_mem_realloc(pairs->list, pairs->cap * sizeof *pairs->list);
    }
    pairs->list[pairs->n++] = pair;
}

static int by_first(const void *pa, const void *pb)
{
    const struct pair *a = pa;
    const struct pair *b = pb;
    return a->from != b->from ? a->from - b->from : a->link.to - b->link.to;
}

static struct weir_injection_index make_index(struct pairs *pairs, size_t n_items)
{
    struct weir_injection_index index = {
        .list = weir_mem_array(pairs->n + 1, sizeof *index.list),
        .first = weir_mem_array(n_items + 1, sizeof *index.first),
    };
    if (pairs->n != 0) {
        qsort(pairs->list, pairs->n, sizeof *pairs->list, by_first);
    }
    size_t at = 0;
    for (size_t item = 0; item < n_items; item++) {
        index.first[item] = at;
        for (; at < pairs->n && pairs->list[at].from == item; at++) {
            index.list[at] = pairs->list[at].link;
        }
    }
    index.first[n_items] = at;
    free(pairs->list);
    return index;
}

/* A key that no rule ends with is only remembered. */
static void mark_ends(struct weir_injection_set *set, size_t n_stems)
{
    struct weir_injection_link *links = set->keys_of_stem.list;
    for (size_t i = 0; i < set->keys_of_stem.first[n_stems]; i++) {
        const size_t *rules = &set->rules_of_key.first[links[i].to];
        links[i].is_end = rules[1] > rules[0];
    }
}

static void free_index(struct weir_injection_index *index)
{
    free(index->list);
    free(index->first);
}

static unsigned char edges_of(const struct weir_injection_stem *stem)
{
    return (unsigned char)((stem->begins_word ? WEIR_INJECTION_BEGINS : 0) |
                           (stem->ends_word ? WEIR_INJECTION_ENDS : 0));
}

/* A name of its own for each literal: a byte that tells its case, one of who finds it, its bytes.
 */
static void spell_stem(struct weir_buf *out, const struct weir_injection_stem *stem,
                       bool is_exact_case)
{
    weir_buf_append_byte(out, is_exact_case ? 'c' : 'i');
    weir_buf_append_byte(out, !weir_injection__is_word_stem(stem) ? 'o'
                              : stem->ends_word                   ? 'e'
                                                                  : 'w');
    weir_buf_append(out, weir_slice_make(stem->bytes, stem->n));
}

static void spell_key(struct weir_buf *out, const struct weir_injection_key *key,
                      bool is_exact_case)
{
    for (size_t i = 0; i < key->n; i++) {
        weir_buf_append_byte(out, (char)('0' + edges_of(&key->stems[i])));
        spell_stem(out, &key->stems[i], is_exact_case);
    }
}

static unsigned short add_stem(struct making *m, const struct weir_injection_stem *stem,
                               bool is_exact_case)
{
    bool is_new;
    struct weir_buf spelled = {0};
    spell_stem(&spelled, stem, is_exact_case);
    unsigned short id = name(&m->stems, weir_buf_slice(&spelled), &is_new);
    weir_buf_dispose(&spelled);
    return id;
}

static unsigned short add_key(struct making *m, const struct weir_injection_key *key,
                              bool is_exact_case)
{
    bool is_new;
    struct weir_buf spelled = {0};
    spell_key(&spelled, key, is_exact_case);
    unsigned short id = name(&m->keys, weir_buf_slice(&spelled), &is_new);
    for (size_t i = 0; i < key->n && is_new; i++) {
        struct pair pair = {.from = add_stem(m, &key->stems[i], is_exact_case),
                            .link = {.to = id, .edges = edges_of(&key->stems[i])}};
        add_pair(&m->stem_key, pair);
    }
    weir_buf_dispose(&spelled);
    return id;
}

/* Lengths are guessed on the safe side, and nothing is looked for further than WINDOW away. */
static size_t window(size_t n_bytes)
{
    return n_bytes + SLACK < WINDOW ? n_bytes + SLACK : WINDOW;
}

static int add_rule(struct making *m, const struct weir_injection_rule *rule)
{
    struct weir_injection_compiled *c = &m->set->rules[m->set->n_rules];
    struct weir_injection_key *keys = weir_mem_array(WEIR_INJECTION_MAX_KEYS, sizeof *keys);
    struct weir_buf folded = {0};
    struct weir_buf expr = {0};
    weir_fold_wide(&folded, weir_slice_cstr(rule->expr));
    weir_injection__spell(&expr, weir_buf_slice(&folded));
    c->rule = rule;
    c->n_keys = weir_injection__keys(weir_buf_slice(&expr), keys);
    for (size_t i = 0; i < c->n_keys; i++) {
        c->keys[i] = add_key(m, &keys[i], rule->is_exact_case);
        c->apart[i] = (unsigned short)window(keys[c->n_keys - 1].until - keys[i].before);
    }
    if (c->n_keys != 0) {
        c->reach = window(keys[c->n_keys - 1].until);
        struct weir_injection_link link = {
            .to = (unsigned short)m->set->n_rules, .other = c->keys[0], .apart = c->apart[0]};
        add_pair(&m->key_rule, (struct pair){.from = c->keys[c->n_keys - 1], .link = link});
    }
    bool is_ascii = weir_ascii_skip(weir_buf_slice(&expr), 0) == expr.n;
    c->begins_with_key = c->n_keys != 0 && keys[0].is_first && is_ascii;
    c->code = compile_spelled(weir_buf_slice(&expr),
                              (rule->is_exact_case ? 0 : PCRE2_CASELESS) |
                                  (c->begins_with_key ? PCRE2_ANCHORED : 0),
                              m->why);
    m->set->n_rules++;
    if (c->n_keys == 0) {
        weir_buf_printf(m->why, "prompt_injection: no key in %s", rule->expr);
    }
    weir_buf_dispose(&folded);
    weir_buf_dispose(&expr);
    free(keys);
    return c->code != NULL && c->n_keys != 0 ? 0 : -1;
}

static int add_rules(struct making *m, const struct weir_injection_data *data)
{
    int rc = 0;
    for (size_t i = 0; i < data->n_rules && rc == 0; i++) {
        rc = add_rule(m, &data->rules[i]);
    }
    return rc;
}

/* What a space stands for is narrower in reported speech. */
static int compile_around(struct weir_injection_set *set, struct weir_buf *why)
{
    int rc = 0;
    for (size_t i = 0; i < WEIR_INJECTION_N_AROUND && rc == 0; i++) {
        const char *gap = i == WEIR_INJECTION_REPORTED ? PLAIN_GAP : GAP;
        set->around[i] = compile_expr(set->data.around[i], gap, why);
        rc = set->around[i] != NULL ? 0 : -1;
    }
    return rc;
}

static struct weir_injection_literal literal_of(struct weir_slice spelled, size_t id)
{
    struct weir_injection_literal l = {.n = (unsigned char)(spelled.n - 2),
                                       .ends_word = spelled.p[1] == 'e',
                                       .id = (unsigned short)id};
    memcpy(l.bytes, spelled.p + 2, l.n);
    return l;
}

/* Each stem to whom finds it. */
static int compile_stems(struct weir_injection_set *set, const struct names *stems,
                         struct weir_buf *why)
{
    struct weir_injection_literal *words = weir_mem_array(stems->n, sizeof *words);
    struct weir_pattern *others = weir_mem_array(stems->n, sizeof *others);
    size_t n_words = 0;
    size_t n_others = 0;
    set->lengths = weir_mem_array(stems->n, sizeof *set->lengths);
    set->other_ids = weir_mem_array(stems->n, sizeof *set->other_ids);
    for (size_t i = 0; i < stems->n; i++) {
        const char *spelled = weir_buf_cstr(&stems->list[i]);
        set->lengths[i] = (unsigned char)(stems->list[i].n - 2);
        if (spelled[1] != 'o') {
            words[n_words] = literal_of(weir_buf_slice(&stems->list[i]), i);
            words[n_words].first = (uint32_t)set->keys_of_stem.first[i];
            words[n_words].n_links =
                (uint32_t)(set->keys_of_stem.first[i + 1] - set->keys_of_stem.first[i]);
            n_words++;
        } else {
            set->other_ids[n_others] = (unsigned short)i;
            others[n_others++] = (struct weir_pattern){
                .expr = spelled + 2, .is_caseless = spelled[0] == 'i', .is_regex = false};
        }
    }
    set->words = weir_injection__words_new(words, n_words);
    set->others = weir_patterns_new(others, n_others, why);
    free(others);
    return set->others != NULL ? 0 : -1;
}

static void free_set(struct weir_injection_set *set)
{
    for (size_t i = 0; i < set->n_rules; i++) {
        pcre2_code_free(set->rules[i].code);
    }
    for (size_t i = 0; i < WEIR_INJECTION_N_AROUND; i++) {
        pcre2_code_free(set->around[i]);
    }
    weir_injection__data_dispose(&set->data);
    weir_injection__words_free(set->words);
    free(set->other_ids);
    free(set->lengths);
    free_index(&set->keys_of_stem);
    free_index(&set->rules_of_key);
    free(set);
}

static struct weir_injection_set *compile(struct weir_buf *why)
{
    struct weir_injection_set *set = weir_mem_zalloc(sizeof *set);
    struct making m = {.set = set, .why = why};
    int rc = weir_injection__data_read(&set->data, weir_injection__text(), why);
    rc = rc == 0 ? add_rules(&m, &set->data) : rc;
    rc = rc == 0 ? compile_around(set, why) : rc;
    set->n_keys = m.keys.n;
    set->keys_of_stem = make_index(&m.stem_key, m.stems.n);
    set->rules_of_key = make_index(&m.key_rule, m.keys.n);
    mark_ends(set, m.stems.n);
    rc = rc == 0 ? compile_stems(set, &m.stems, why) : rc;
    dispose_names(&m.keys);
    dispose_names(&m.stems);
    weir_arena_dispose(&set->data.arena); /* expressions, which are compiled */
    if (rc != 0) {
        free_set(set);
        return NULL;
    }
    return set;
}

const struct weir_injection_set *weir_injection__set(struct weir_buf *why)
{
    static struct weir_injection_set *made;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (made == NULL) {
        made = compile(why);
    }
    struct weir_injection_set *result = made;
    pthread_mutex_unlock(&lock);
    return result;
}
