/*
 * Reads an expression for its keys: groups of words, or words, that a match cannot do without. A
 * key is told as its stems, the literal beginnings of all its alternatives.
 *
 *   \b(?:show|print(?:ing)?)GAP WORDS(5)(?:prompts?|instructions)\b
 *       ^show$ ^print                      ^prompt ^instructions$
 */
#include "detect/ascii.h"
#include "detect/injection_int.h"

#include <string.h>

enum { MIN_STEM = 3, MIN_EDGED_STEM = 2, MIN_RUN = 4, MIN_SIGNS = 2 };

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

static bool is_gap(struct weir_slice e, size_t at)
{
    struct weir_slice gap = WEIR_SLICE(GAP);
    return at + gap.n <= e.n && memcmp(e.p + at, gap.p, gap.n) == 0 && !is_optional(e, at + gap.n);
}

static struct weir_slice inside(struct weir_slice group)
{
    size_t from = group.n > 3 && group.p[1] == '?' ? 3 : 1; /* "(?:" */
    return weir_slice_sub(group, from, group.n - 1);
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
                !take_key(inside(weir_slice_sub(e, at, end)), has_edge, is_gap(e, end), key)) {
                return false;
            }
        } else {
            if (key->n == WEIR_INJECTION_MAX_STEMS) {
                return false;
            }
            struct weir_injection_stem *stem = &key->stems[key->n];
            *stem = (struct weir_injection_stem){.begins_word = has_edge};
            size_t end = take_literals(e, at, stem);
            bool is_whole = end == e.n || weir_ascii_at(e, end) == '|';
            stem->ends_word = stem->n != 0 && is_word_byte(stem->bytes[stem->n - 1]) &&
                              ((is_whole && is_ended) || is_gap(e, end) || is_edge(e, end));
            stem->begins_word = has_edge && stem->n != 0 && is_word_byte(stem->bytes[0]);
            size_t least = is_edged && stem->ends_word ? MIN_EDGED_STEM : MIN_STEM;
            if (stem->n < least) {
                return false;
            }
            key->n++;
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

/* Such words are everywhere: a key with one is not kept, or only the best of such. */
static bool is_common_stem(const struct weir_injection_stem *stem)
{
    static const char *const common[] = {"the",  "all",  "any",  "and", "you", "our", "not",
                                         "for",  "are",  "was",  "has", "had", "may", "can",
                                         "out",  "but",  "his",  "her", "its", "who", "this",
                                         "that", "with", "from", NULL};
    for (const char *const *w = common; *w != NULL; w++) {
        if (weir_slice_eq_cstr(weir_slice_make(stem->bytes, stem->n), *w)) {
            return true;
        }
    }
    for (size_t i = 0; i < stem->n; i++) {
        if (!is_word_byte(stem->bytes[i])) {
            return false;
        }
    }
    return stem->n <= MIN_STEM && !(stem->begins_word && stem->ends_word);
}

static bool is_common(const struct weir_injection_key *key)
{
    for (size_t i = 0; i < key->n; i++) {
        if (is_common_stem(&key->stems[i])) {
            return true;
        }
    }
    return false;
}

static size_t average_stem(const struct weir_injection_key *key)
{
    size_t n = 0;
    for (size_t i = 0; i < key->n; i++) {
        n += key->stems[i].n;
    }
    return key->n != 0 ? 16 * n / key->n : 0;
}

static size_t drop_common(struct weir_injection_key keys[], size_t n)
{
    size_t kept = 0;
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        if (average_stem(&keys[i]) > average_stem(&keys[best])) {
            best = i;
        }
        if (!is_common(&keys[i])) {
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
    bool has_edge = false;
    if (has_alternatives(e)) {
        keys[0].n = 0;
        keys[0].is_first = true;
        return take_key(e, false, false, &keys[0]);
    }
    for (size_t at = 0; at < e.n && n < WEIR_INJECTION_MAX_KEYS;) {
        struct weir_injection_key *key = &keys[n];
        struct weir_injection_stem run = {0};
        size_t end = take_literals(e, at, &run);
        key->n = 0;
        key->is_first = at == 0 || (at == 2 && is_edge(e, 0));
        if (end > at) {
            run.begins_word = has_edge && is_word_byte(run.bytes[0]);
            run.ends_word =
                is_word_byte(run.bytes[run.n - 1]) && (is_gap(e, end) || is_edge(e, end));
            key->stems[key->n++] = run;
            n += is_good_run(&run);
            has_edge = false;
        } else {
            end = atom_end(e, at);
            bool is_key = e.p[at] == '(' && !is_optional(e, end) &&
                          take_key(inside(weir_slice_sub(e, at, end)), has_edge,
                                   is_gap(e, end) || is_edge(e, end), key);
            n += is_key;
            has_edge = edge_after(e, at, end, has_edge);
        }
        at = quantifier_end(e, end);
    }
    return drop_common(keys, n);
}
