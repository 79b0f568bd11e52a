#include "chunk/abbrev.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/utf8.h"

#include <string.h>
#include <unicode/uchar.h>
#include <unicode/ures.h>
#include <unicode/ustring.h>

enum {
    RIGHT_QUOTE = 0x2019,
    ARTICLE_BYTES = 8,
    PAIR_BYTES = 3, /* the longest half of own_pairs */
};

/* data/abbreviations.txt inside the program; the build names the file and rebuilds when it
 * changes. */
__asm__(".pushsection .rodata\n"
        "weir_abbrev__text_begin:\n"
        ".incbin \"" WEIR_ABBREVIATIONS "\"\n"
        "weir_abbrev__text_end:\n"
        ".popsection\n");

extern const char weir_abbrev__text_begin[];
extern const char weir_abbrev__text_end[];

struct list {
    enum weir_abbrev_kind kind;
    const char *name; /* in the file */
};

static const struct list lists[] = {
    {WEIR_ABBREV_NEVER, "never"},
    {WEIR_ABBREV_OFTEN, "often"},
    {WEIR_ABBREV_NUMBER, "number"},
    {WEIR_ABBREV_NONE, "none"},
};

static bool is_letter(uint32_t ascii)
{
    return (ascii >= 'a' && ascii <= 'z') || (ascii >= 'A' && ascii <= 'Z');
}

static bool is_cased(uint32_t cp)
{
    return cp < 0x80 ? is_letter(cp) : u_hasBinaryProperty((UChar32)cp, UCHAR_CASED);
}

static bool is_small(uint32_t cp)
{
    return cp < 0x80 ? cp >= 'a' : u_islower((UChar32)cp);
}

/* Most of any text is ASCII. */
static inline uint32_t first_cp(struct weir_slice text, size_t *n_bytes)
{
    *n_bytes = 1;
    return (unsigned char)text.p[0] < 0x80 ? (unsigned char)text.p[0]
                                           : weir_utf8_decode(text, n_bytes);
}

/* Letter, full stop, letter, full stop, …: how many, 0 where the word is something else. */
static size_t row_letters(struct weir_slice word, bool *has_small)
{
    size_t n = 0;
    for (; word.n != 0; n++) {
        size_t n_bytes;
        uint32_t cp = first_cp(word, &n_bytes);
        if (!is_cased(cp) || n_bytes >= word.n || word.p[n_bytes] != '.') {
            return 0;
        }
        *has_small = *has_small || is_small(cp);
        word = weir_slice_sub(word, n_bytes + 1, word.n);
    }
    return n;
}

/* ---- the lists, made one ---- */

/* The two bytes before a word's full stop, as a number. */
static uint16_t ending(struct weir_slice word)
{
    unsigned char last = (unsigned char)word.p[word.n - 2];
    unsigned char other = (unsigned char)(word.n >= 3 ? word.p[word.n - 3] : 0);
    return (uint16_t)(other << 8 | last);
}

static void add(struct weir_abbrev *a, struct weir_slice word, const struct list *list)
{
    bool is_word = word.n >= 2 && word.n <= WEIR_ABBREV_MAX_BYTES && word.p[word.n - 1] == '.';
    if (is_word && !weir_map_has(&a->words, word)) {
        weir_map_put(&a->words, weir_arena_dup(&a->arena, word), (void *)list);
        a->endings[ending(word) / 64] |= (uint64_t)1 << ending(word) % 64;
    }
}

/* "_" in the file is a space. */
static void add_own_word(struct weir_abbrev *a, struct weir_slice word, const struct list *list)
{
    char spelled[WEIR_ABBREV_MAX_BYTES];
    WEIR_ASSERT(word.n <= sizeof spelled);
    for (size_t i = 0; i < word.n; i++) {
        spelled[i] = word.p[i] == '_' ? ' ' : word.p[i];
    }
    add(a, weir_slice_make(spelled, word.n), list);
}

static void add_own_line(struct weir_abbrev *a, struct weir_slice line)
{
    struct weir_slice kind = weir_slice_cut(&line, ' ');
    const struct list *list = NULL;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        list = weir_slice_eq_cstr(kind, lists[i].name) ? &lists[i] : list;
    }
    WEIR_ASSERT(list != NULL || weir_slice_eq_cstr(kind, "ordinal"));
    while (line.p != NULL) {
        struct weir_slice word = weir_slice_cut(&line, ' ');
        if (list != NULL) {
            add_own_word(a, word, list);
        } else {
            weir_map_put(&a->articles, word, a);
        }
    }
}

static void add_own(struct weir_abbrev *a)
{
    uintptr_t n = (uintptr_t)weir_abbrev__text_end - (uintptr_t)weir_abbrev__text_begin;
    struct weir_slice rest = weir_slice_make(weir_abbrev__text_begin, (size_t)n);
    while (rest.p != NULL) {
        struct weir_slice line = weir_slice_cut(&rest, '\n');
        if (line.n != 0 && line.p[0] != '#') {
            add_own_line(a, line);
        }
    }
}

/* Of ICU's words some are no abbreviations at all ("Joe.", "Link."): a word behind may tell. Rows
 * have their own rule. */
static void add_icu_words(struct weir_abbrev *a, struct weir_slice words)
{
    static const struct list icu = {WEIR_ABBREV_OFTEN, NULL};
    while (words.p != NULL) {
        struct weir_slice word = weir_slice_cut(&words, ' ');
        if (row_letters(word, &(bool){false}) == 0) {
            add(a, word, &icu);
        }
    }
}

static void add_list(struct weir_abbrev *a, UResourceBundle *list)
{
    int32_t n = ures_getSize(list);
    for (int32_t i = 0; i < n; i++) {
        UErrorCode err = U_ZERO_ERROR;
        char word[2 * WEIR_ABBREV_MAX_BYTES];
        int32_t n_units = 0;
        int32_t n_bytes = 0;
        const UChar *units = ures_getStringByIndex(list, i, &n_units, &err);
        u_strToUTF8(word, sizeof word, &n_bytes, units, n_units, &err);
        if (U_SUCCESS(err)) { /* longer than `word`: no abbreviation for us */
            add_icu_words(a, weir_slice_make(word, (size_t)n_bytes));
        }
    }
}

/* Where the iterators of ICU find them: there is no other way to them in C. */
static int add_icu(struct weir_abbrev *a, const char *language)
{
    UErrorCode err = U_ZERO_ERROR;
    UResourceBundle *root = ures_open(U_ICUDATA_NAME "-brkitr", language, &err);
    if (U_FAILURE(err)) {
        return WEIR_EUNSUPPORTED;
    }
    UResourceBundle *kinds = ures_getByKey(root, "exceptions", NULL, &err);
    UResourceBundle *list = ures_getByKey(kinds, "SentenceBreak", NULL, &err);
    if (U_SUCCESS(err)) {
        add_list(a, list);
    }
    ures_close(list);
    ures_close(kinds);
    ures_close(root);
    return err == U_MISSING_RESOURCE_ERROR || U_SUCCESS(err) ? 0 : WEIR_EUNSUPPORTED;
}

int weir_abbrev_init(struct weir_abbrev *a, const char *language)
{
    *a = (struct weir_abbrev){0};
    add_own(a);
    return add_icu(a, language);
}

void weir_abbrev_dispose(struct weir_abbrev *a)
{
    weir_map_dispose(&a->words);
    weir_map_dispose(&a->articles);
    weir_arena_dispose(&a->arena);
}

/* Some list has a word with this ending. */
static bool is_likely(const struct weir_abbrev *a, struct weir_slice word)
{
    return (a->endings[ending(word) / 64] >> ending(word) % 64 & 1) != 0;
}

/* NULL where no list has the word. */
static const struct list *find(const struct weir_abbrev *a, struct weir_slice word)
{
    return is_likely(a, word) ? weir_map_get(&a->words, word) : NULL;
}

/* ---- one word ---- */

/* A word with its full stop, and the one before it, empty where there is none on the line. */
struct word {
    struct weir_slice text;
    struct weir_slice before;
};

static bool is_small_initial(struct weir_slice word)
{
    bool has_small = false;
    return row_letters(word, &has_small) == 1 && has_small;
}

/* "z. B.", "i. d. R." are one row in several words. */
static enum weir_abbrev_kind kind_of_row(struct weir_slice text, struct weir_slice before)
{
    bool has_small = false;
    size_t n = row_letters(text, &has_small);
    if (n == 0) {
        return WEIR_ABBREV_NONE;
    }
    if (n == 1) {
        return is_small_initial(before) ? WEIR_ABBREV_NEVER : WEIR_ABBREV_INITIAL;
    }
    return has_small ? WEIR_ABBREV_NEVER : WEIR_ABBREV_OFTEN;
}

/* Belongs to the word it stands in; an apostrophe only between letters ("don't."), since it opens
 * quotations too. */
static bool is_inner(uint32_t cp, bool is_inside)
{
    if (cp == '\'' || cp == RIGHT_QUOTE) {
        return is_inside;
    }
    if (cp < 0x80) {
        return is_letter(cp) || (cp >= '0' && cp <= '9') || cp == '.';
    }
    return (U_GET_GC_MASK((UChar32)cp) & (U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK)) != 0;
}

/* At each place where a word begins; behind an apostrophe only the lists' words ("l'avv."), no rows
 * ("don't."). */
static enum weir_abbrev_kind kind_of_word(const struct weir_abbrev *a, struct word word)
{
    bool is_inside = false;
    bool is_elided = false;
    for (struct weir_slice text = word.text; text.n >= 2;) {
        size_t n_bytes;
        uint32_t cp = first_cp(text, &n_bytes);
        bool is_word = is_inner(cp, is_inside);
        if (is_word && (!is_inside || is_elided)) {
            const struct list *list = find(a, text);
            enum weir_abbrev_kind row =
                is_elided ? WEIR_ABBREV_NONE : kind_of_row(text, word.before);
            if (list != NULL || row != WEIR_ABBREV_NONE) {
                return list != NULL ? list->kind : row;
            }
        }
        is_elided = is_inside && (cp == '\'' || cp == RIGHT_QUOTE);
        is_inside = is_word;
        text = weir_slice_sub(text, n_bytes, text.n);
    }
    bool is_street = weir_slice_ends_with(word.text, WEIR_SLICE("str.")); /* "Hauptstr. 8" */
    return is_street ? WEIR_ABBREV_NUMBER : WEIR_ABBREV_NONE;
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_roman(char c)
{
    return c == 'I' || c == 'V' || c == 'X' || c == 'L' || c == 'C';
}

/* Of one to three digits, or Roman ones, which one letter alone is not; with its full stop. */
static bool is_small_number(struct weir_slice word)
{
    if (word.n < 2 || word.p[word.n - 1] != '.') {
        return false;
    }
    word.n--;
    bool has_digits = is_digit(word.p[0]);
    size_t n = 0;
    while (n < word.n && (has_digits ? is_digit(word.p[n]) : is_roman(word.p[n]))) {
        n++;
    }
    return n == word.n && (has_digits ? n <= 3 : n >= 2 && n <= 7);
}

/* With its full stop. */
static bool is_year(struct weir_slice word)
{
    return word.n == 5 && is_digit(word.p[0]) && is_digit(word.p[1]) && is_digit(word.p[2]) &&
           is_digit(word.p[3]) && word.p[4] == '.';
}

/* "II. Mehmet öldü.": no sentence is a Roman number alone. */
static bool begins_with_roman(struct weir_slice text, struct weir_slice before)
{
    bool is_first = before.n == 0 || strchr(".!?", before.p[before.n - 1]) != NULL;
    return is_first && is_roman(text.p[0]);
}

/* "I am 30." is no ordinal; `before` is a word of a text that begins at `start`. */
static bool is_english_am(const char *start, struct weir_slice before)
{
    return before.p - start >= 2 && weir_slice_eq_cstr(before, "am") && before.p[-1] == ' ' &&
           before.p[-2] == 'I';
}

static enum weir_abbrev_kind kind_of_number(const struct weir_abbrev *a, const char *start,
                                            struct word word)
{
    struct weir_slice before = word.before;
    bool is_item = before.n != 0 && before.p[before.n - 1] == ':'; /* "steps: 1. Open it" */
    if (is_item || begins_with_roman(word.text, before)) {
        return WEIR_ABBREV_NEVER;
    }
    bool is_article = before.n <= ARTICLE_BYTES && weir_map_has(&a->articles, before) &&
                      !is_english_am(start, before);
    /* "am 3. 10. 1990", "2024. 3. 11." */
    bool is_ordinal = is_article || is_small_number(before) || is_year(before);
    return is_ordinal ? WEIR_ABBREV_OFTEN : WEIR_ABBREV_COUNT;
}

/* ---- text ---- */

static size_t word_start(struct weir_slice text)
{
    size_t i = text.n;
    while (i != 0 && (unsigned char)text.p[i - 1] > ' ') {
        i--;
    }
    return i;
}

/* False where the word may have begun before `text`. */
static bool last_words(struct weir_slice text, struct word *out)
{
    bool is_cut = text.n >= WEIR_ABBREV_MAX_BYTES;
    size_t at = word_start(text);
    *out = (struct word){.text = weir_slice_sub(text, at, text.n)};
    if (at == 0) {
        return !is_cut;
    }
    struct weir_slice rest = weir_slice_sub(text, 0, at - 1);
    size_t before = word_start(rest);
    if (text.p[at - 1] == ' ' && (before != 0 || !is_cut)) {
        out->before = weir_slice_sub(rest, before, rest.n);
    }
    return true;
}

static struct weir_slice skip_opening(struct weir_slice word)
{
    while (word.n != 0 && (word.p[0] == '(' || word.p[0] == '"' || word.p[0] == '[')) {
        word = weir_slice_sub(word, 1, word.n);
    }
    return word;
}

/* Most words are none of ours, which two bytes tell: no list has a word that ends like that, and it
 * is neither a single letter nor a number. */
static bool is_other(const struct weir_abbrev *a, struct weir_slice before)
{
    if (before.n < 3) {
        return false;
    }
    unsigned char last = (unsigned char)before.p[before.n - 2];
    unsigned char other = (unsigned char)before.p[before.n - 3];
    return is_letter(last) && is_letter(other) && !is_roman((char)last) && !is_likely(a, before);
}

enum weir_abbrev_kind weir_abbrev_kind(const struct weir_abbrev *a, struct weir_slice before)
{
    struct word word;
    if (is_other(a, before) || !last_words(before, &word)) {
        return WEIR_ABBREV_NONE;
    }
    struct weir_slice number = skip_opening(word.text);
    bool is_number = is_small_number(number);
    word.before = skip_opening(word.before);
    if (word.before.n != 0 && word.before.n <= PAIR_BYTES && word.text.n <= PAIR_BYTES) {
        const char *from = word.before.p;
        size_t n = (size_t)(before.p + before.n - from);
        const struct list *pair = find(a, weir_slice_make(from, n));
        if (pair != NULL) {
            return pair->kind;
        }
    }
    word.text = is_number ? number : word.text;
    if (is_year(number)) {
        return WEIR_ABBREV_YEAR;
    }
    return is_number ? kind_of_number(a, before.p, word) : kind_of_word(a, word);
}
