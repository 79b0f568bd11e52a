/*
 * Reads an expression for its keys: groups of words, or words, that a match cannot do without. A
 * key is given as its stems, the literal beginnings of all its alternatives.
 *
 *   \b(?:show|print(?:ing)?)GAP WORDS(5)(?:prompts?|instructions)\b
 *       ^show$ ^print                      ^prompt ^instructions$
 */
#include "detect/ascii.h"
#include "detect/injection_int.h"

#include <string.h>

enum {
    MIN_STEM = 3,
    MIN_EDGED_STEM = 2,
    MIN_RUN = 4,
    MIN_SIGNS = 2,
    LONG_RUN = 12, /* a word */
    LONG_GAP = 3,
    LONG_SPAN = 200,
};

/* One past the atom at `at`: a class, a group, an escape or a character. */
static size_t atom_end(struct weir_slice e, size_t at)
{
    size_t depth = 0;
    bool is_class = false;
    do {
        char c = e.p[at];
        if (c == '\\') {
            at++;
        } else if (is_class) {
            is_class = c != ']';
        } else {
            is_class = c == '[';
            depth += c == '(';
            depth -= c == ')' && depth > 0;
        }
        at++;
    } while (at < e.n && (depth > 0 || is_class));
    return at;
}

static size_t quantifier_end(struct weir_slice e, size_t at)
{
    char c = weir_ascii_at(e, at);
    if (c == '{') {
        while (at < e.n && e.p[at] != '}') {
            at++;
        }
        return at + 1;
    }
    return at + (c == '?' || c == '*' || c == '+');
}

static bool is_optional(struct weir_slice e, size_t at)
{
    char c = weir_ascii_at(e, at);
    return c == '?' || c == '*' || (c == '{' && weir_ascii_at(e, at + 1) == '0');
}

static bool is_gap(struct weir_slice e, size_t at)
{
    struct weir_slice gap = WEIR_SLICE(GAP);
    return at + gap.n <= e.n && memcmp(e.p + at, gap.p, gap.n) == 0 && !is_optional(e, at + gap.n);
}

static struct weir_slice inside(struct weir_slice group)
{
    bool is_marked = group.n > 3 && group.p[1] == '?';
    return weir_slice_sub(group, is_marked ? 3 : 1, group.n - 1); /* "(?:" */
}

/* What looks around is no part of a match. */
static bool is_plain_group(struct weir_slice e, size_t at)
{
    return weir_ascii_at(e, at) == '(' && weir_ascii_at(e, at + 1) == '?' &&
           weir_ascii_at(e, at + 2) == ':';
}

/* How often the atom at `at` comes at most, by the quantifier at `end`; words have an end, and what
 * is all but some bytes goes on. */
static size_t most_times(struct weir_slice e, size_t at, size_t end)
{
    char c = weir_ascii_at(e, end);
    bool is_all_but = e.p[at] == '[' && weir_ascii_at(e, at + 1) == '^';
    size_t open = is_all_but ? LONG_SPAN : LONG_RUN;
    size_t n = 0;
    if (c == '+' || c == '*') {
        return open;
    }
    if (c != '{') {
        return 1;
    }
    for (end++; end < e.n && e.p[end] != '}'; end++) {
        n = e.p[end] == ',' ? 0 : 10 * n + (size_t)(e.p[end] - '0');
    }
    return n != 0 ? n : open;
}

/* Bytes that a match of `e` has at most, or nearly: a long word, a wide gap may have more. */
static size_t most_bytes(struct weir_slice e)
{
    size_t most = 0;
    size_t sum = 0;
    for (size_t at = 0; at < e.n;) {
        size_t end = atom_end(e, at);
        size_t next = quantifier_end(e, end);
        size_t one = e.p[at] != '\\' || weir_ascii_at(e, at + 1) != 'b';
        if (e.p[at] == '|') {
            sum = 0;
        } else if (is_gap(e, at)) {
            sum += LONG_GAP;
        } else {
            bool is_group = e.p[at] == '(';
            one = is_group ? most_bytes(inside(weir_slice_sub(e, at, end))) : one;
            sum += one * most_times(e, at, end);
        }
        most = sum > most ? sum : most;
        at = next;
    }
    return most;
}

/* The character that stands at `at` for itself, 0: none does; `*n` its spelling's length. */
static char literal(struct weir_slice e, size_t at, size_t *n)
{
    char c = weir_ascii_at(e, at);
    char next = weir_ascii_at(e, at + 1);
    *n = 1;
    if (c == '\\' && next != '\0' && !weir_ascii_is_alnum(next)) {
        *n = 2;
        return next;
    }
    return c != '\0' && strchr("[](){}?*+|.^$\\", c) == NULL ? c : '\0';
}

static bool is_word_byte(char c)
{
    return weir_ascii_is_alnum(c) || c == '_';
}

static bool is_edge(struct weir_slice e, size_t at)
{
    return weir_ascii_at(e, at) == '\\' && weir_ascii_at(e, at + 1) == 'b';
}

static bool ends_with_gap(struct weir_slice e)
{
    struct weir_slice gap = WEIR_SLICE(GAP);
    return e.n >= gap.n && is_gap(e, e.n - gap.n);
}

/* Takes literals from `at`, each there once and surely, into `stem`; where they end. */
static size_t take_literals(struct weir_slice e, size_t at, struct weir_injection_stem *stem)
{
    size_t n;
    char c = literal(e, at, &n);
    while (c != '\0' && !is_optional(e, at + n) && stem->n < WEIR_INJECTION_MAX_STEM) {
        stem->bytes[stem->n++] = c;
        at += n;
        if (weir_ascii_at(e, at) == '+') {
            break;
        }
        c = literal(e, at, &n);
    }
    return at;
}

/* Does an alternative end at `at`? */
static bool is_last(struct weir_slice e, size_t at)
{
    return at == e.n || weir_ascii_at(e, at) == '|';
}

static bool is_same_stem(const struct weir_injection_stem *a, const struct weir_injection_stem *b)
{
    return a->begins_word == b->begins_word && a->ends_word == b->ends_word &&
           weir_slice_eq(weir_slice_make(a->bytes, a->n), weir_slice_make(b->bytes, b->n));
}

static bool is_there(const struct weir_injection_key *key, const struct weir_injection_stem *stem)
{
    size_t i = 0;
    while (i < key->n && !is_same_stem(&key->stems[i], stem)) {
        i++;
    }
    return i < key->n;
}

/* `is_begun` and `is_ended`: no word goes on before and after the key. */
static bool take_key(struct weir_slice e, bool is_begun, bool is_ended,
                     struct weir_injection_key *key)
{
    for (size_t at = 0; at <= e.n; at++) {
        bool is_edged = is_edge(e, at);
        bool has_edge = is_begun || is_edged;
        at += is_edged ? 2 : 0;
        if (weir_ascii_at(e, at) == '(') {
            size_t end = atom_end(e, at);
            if (is_optional(e, end) ||
                !take_key(inside(weir_slice_sub(e, at, end)), has_edge,
                          is_gap(e, end) || (is_last(e, end) && is_ended), key)) {
                return false;
            }
        } else {
            if (key->n == WEIR_INJECTION_MAX_STEMS) {
                return false;
            }
            struct weir_injection_stem *stem = &key->stems[key->n];
            *stem = (struct weir_injection_stem){0};
            size_t end = take_literals(e, at, stem);
            bool is_whole = is_last(e, end);
            stem->ends_word = stem->n != 0 && is_word_byte(stem->bytes[stem->n - 1]) &&
                              ((is_whole && is_ended) || is_gap(e, end) || is_edge(e, end));
            stem->begins_word = has_edge && stem->n != 0 && is_word_byte(stem->bytes[0]);
            size_t least = has_edge && stem->ends_word ? MIN_EDGED_STEM : MIN_STEM;
            if (stem->n < least) {
                return false;
            }
            key->n += !is_there(key, stem);
        }
        while (at < e.n && e.p[at] != '|') {
            at = atom_end(e, at);
        }
    }
    return key->n != 0;
}

static bool has_alternatives(struct weir_slice e)
{
    size_t at = 0;
    while (at < e.n && e.p[at] != '|') {
        at = atom_end(e, at);
    }
    return at < e.n;
}

/* A run of literals is a key when it is long, or when signs make it rare. */
static bool is_good_run(const struct weir_injection_stem *run)
{
    size_t n_signs = 0;
    for (size_t i = 0; i < run->n; i++) {
        n_signs += !is_word_byte(run->bytes[i]) && run->bytes[i] != ' ';
    }
    size_t least = run->begins_word && run->ends_word ? MIN_STEM : MIN_RUN;
    return run->n >= least || n_signs >= MIN_SIGNS;
}

/* What an atom leaves behind: may a word go on after it? */
static bool edge_after(struct weir_slice e, size_t at, size_t end, bool was_edge)
{
    if (is_edge(e, at) || is_gap(e, at)) {
        return true;
    }
    bool is_passing =
        e.p[at] == '(' && is_optional(e, end) && ends_with_gap(inside(weir_slice_sub(e, at, end)));
    return is_passing && was_edge;
}

static bool is_one_of(const struct weir_injection_stem *stem, const char *const words[])
{
    while (*words != NULL && !weir_slice_eq_cstr(weir_slice_make(stem->bytes, stem->n), *words)) {
        words++;
    }
    return *words != NULL;
}

/* How much of a text has such a word: 2 all of it, 1 most, 0 little. */
static int commonness(const struct weir_injection_stem *stem)
{
    static const char *const everywhere[] = {"the",  "and", "for", "was", "with", "this", "that",
                                             "from", "of",  "to",  "in",  "is",   "it",   "as",
                                             "at",   "on",  "or",  "be",  "an",   "by",   NULL};
    static const char *const frequent[] = {
        "has",   "what", "before", "every", "does", "when", "first", "not", "you", "are",
        "can",   "have", "do",     "will",  "all",  "if",   "no",    "any", "may", "them",
        "about", "each", "one",    "out",   "but",  "who",  "see",   NULL};
    size_t n_letters = 0;
    while (n_letters < stem->n && is_word_byte(stem->bytes[n_letters])) {
        n_letters++;
    }
    bool is_short = n_letters == stem->n && stem->n <= MIN_STEM;
    if (is_one_of(stem, everywhere) || (is_short && !(stem->begins_word && stem->ends_word))) {
        return 2;
    }
    return is_one_of(stem, frequent);
}

static int key_commonness(const struct weir_injection_key *key)
{
    int most = 0;
    for (size_t i = 0; i < key->n; i++) {
        int one = commonness(&key->stems[i]);
        most = one > most ? one : most;
    }
    return most;
}

static size_t average_stem(const struct weir_injection_key *key)
{
    size_t n = 0;
    for (size_t i = 0; i < key->n; i++) {
        n += key->stems[i].n;
    }
    return key->n != 0 ? 16 * n / key->n : 0;
}

/* A key that most texts have is kept where there are not two better ones. */
static size_t drop_common(struct weir_injection_key keys[], size_t n)
{
    size_t kept = 0;
    size_t best = 0;
    size_t n_rare = 0;
    for (size_t i = 0; i < n; i++) {
        best = average_stem(&keys[i]) > average_stem(&keys[best]) ? i : best;
        n_rare += key_commonness(&keys[i]) == 0;
    }
    int most = n_rare >= 2 ? 0 : 1;
    for (size_t i = 0; i < n; i++) {
        if (key_commonness(&keys[i]) <= most) {
            keys[kept++] = keys[i];
        }
    }
    if (kept == 0 && n != 0) {
        keys[kept++] = keys[best];
    }
    return kept;
}

size_t weir_injection__keys(struct weir_slice e, struct weir_injection_key keys[])
{
    size_t n = 0;
    size_t before = 0;
    bool has_edge = false;
    if (has_alternatives(e)) {
        keys[0] = (struct weir_injection_key){.is_first = true, .until = most_bytes(e)};
        return take_key(e, false, false, &keys[0]);
    }
    for (size_t at = 0; at < e.n && n < WEIR_INJECTION_MAX_KEYS;) {
        struct weir_injection_key *key = &keys[n];
        struct weir_injection_stem run = {0};
        size_t end = take_literals(e, at, &run);
        key->n = 0;
        key->is_first = at == 0 || (at == 2 && is_edge(e, 0));
        key->before = before;
        if (end > at) {
            run.begins_word = has_edge && is_word_byte(run.bytes[0]);
            run.ends_word =
                is_word_byte(run.bytes[run.n - 1]) && (is_gap(e, end) || is_edge(e, end));
            key->stems[key->n++] = run;
            n += is_good_run(&run);
            has_edge = false;
        } else {
            end = atom_end(e, at);
            bool is_key = is_plain_group(e, at) && !is_optional(e, end) &&
                          take_key(inside(weir_slice_sub(e, at, end)), has_edge,
                                   is_gap(e, end) || is_edge(e, end), key);
            n += is_key;
            has_edge = edge_after(e, at, end, has_edge);
        }
        before += most_bytes(weir_slice_sub(e, at, quantifier_end(e, end)));
        key->until = before;
        at = quantifier_end(e, end);
    }
    return drop_common(keys, n);
}
