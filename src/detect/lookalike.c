/*
 * The table is made once, from ICU's confusable characters (Unicode's own list) and from letters
 * that are not in it and yet are used so: к for k, т for t. Pages of 256 characters, those
 * without an entry shared.
 */
#include "detect/lookalike.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "detect/ascii.h"

#include <pthread.h>
#include <stdlib.h>
#include <unicode/uchar.h>
#include <unicode/uspoof.h>

enum { MEMORY = 64, MIN_MIXED = 3, MIN_WHOLE = 4, PAGE = 256, N_PAGES = 0x1F2 };
enum { DOTLESS_I = 0x0131, DOTLESS_J = 0x0237 };

#define HASH_STEP 0x100000001B3u

/* ---- groups */

static const struct {
    uint32_t from;
    uint32_t to;
    enum weir_lookalike_group group;
} ranges[] = {
    {0x00AA, 0x024F, WEIR_LETTERS_ACCENTED}, {0x0250, 0x02AF, WEIR_LETTERS_ODD},
    {0x0370, 0x03FF, WEIR_LETTERS_GREEK},    {0x0400, 0x052F, WEIR_LETTERS_CYRILLIC},
    {0x0530, 0x058F, WEIR_LETTERS_ARMENIAN}, {0x10A0, 0x10FF, WEIR_LETTERS_OTHER},
    {0x13A0, 0x13FF, WEIR_LETTERS_CHEROKEE}, {0x1400, 0x167F, WEIR_LETTERS_OTHER},
    {0x1C80, 0x1C8F, WEIR_LETTERS_CYRILLIC}, {0x1D00, 0x1DBF, WEIR_LETTERS_ODD},
    {0x1E00, 0x1EFF, WEIR_LETTERS_ACCENTED}, {0x1F00, 0x1FFF, WEIR_LETTERS_GREEK},
    {0x2100, 0x217F, WEIR_LETTERS_ODD},      {0x249C, 0x24E9, WEIR_LETTERS_ODD},
    {0x2C60, 0x2C7F, WEIR_LETTERS_ODD},      {0x2C80, 0x2D7F, WEIR_LETTERS_OTHER},
    {0xA4D0, 0xA4FF, WEIR_LETTERS_LISU},     {0xA640, 0xA69F, WEIR_LETTERS_CYRILLIC},
    {0xA720, 0xA7FF, WEIR_LETTERS_ODD},      {0xAB30, 0xAB6F, WEIR_LETTERS_ODD},
    {0xAB70, 0xABBF, WEIR_LETTERS_CHEROKEE}, {0xFF21, 0xFF5A, WEIR_LETTERS_ODD},
    {0x10280, 0x104FF, WEIR_LETTERS_OTHER},  {0x118A0, 0x118FF, WEIR_LETTERS_OTHER},
    {0x16F00, 0x16F9F, WEIR_LETTERS_OTHER},  {0x1D400, 0x1D6A5, WEIR_LETTERS_ODD},
    {0x1F130, 0x1F189, WEIR_LETTERS_ODD},
};

/* Script and black-letter letters that are older than the mathematical alphabets. */
static bool is_letterlike(uint32_t cp)
{
    return cp == 0x2102 || (cp >= 0x210A && cp <= 0x2113) || cp == 0x2115 ||
           (cp >= 0x2119 && cp <= 0x211D) || cp == 0x2124 || cp == 0x2128 || cp == 0x212C ||
           cp == 0x212D || (cp >= 0x212F && cp <= 0x2134);
}

/* Some are phonetic letters too, which do not come three in a row. */
static bool is_small_capital(uint32_t cp)
{
    return (cp >= 0x1D00 && cp <= 0x1D22) || cp == 0x0262 || cp == 0x026A || cp == 0x0274 ||
           cp == 0x0280 || cp == 0x028F || cp == 0x0299 || cp == 0x029C || cp == 0x029F ||
           cp == 0xA730 || cp == 0xA731;
}

bool weir_lookalike_is_dressed(uint32_t cp)
{
    return (cp >= 0x1D400 && cp <= 0x1D6A5) || is_letterlike(cp) || is_small_capital(cp) ||
           (cp >= 0x249C && cp <= 0x24B5) || (cp >= 0x24B6 && cp <= 0x24E9) ||
           (cp >= 0xFF21 && cp <= 0xFF3A) || (cp >= 0xFF41 && cp <= 0xFF5A) ||
           (cp >= 0x1F130 && cp <= 0x1F149) || (cp >= 0x1F150 && cp <= 0x1F169) ||
           (cp >= 0x1F170 && cp <= 0x1F189);
}

/* Roman numerals have characters of their own. */
static bool is_letter(uint32_t cp)
{
    return u_isalpha((UChar32)cp) || weir_lookalike_is_dressed(cp) ||
           (cp >= 0x2160 && cp <= 0x217F);
}

enum weir_lookalike_group weir_lookalike_group(uint32_t cp)
{
    if (cp < 0x80) {
        return weir_ascii_is_alpha((char)cp) ? WEIR_LETTERS_ASCII : WEIR_LETTERS_NONE;
    }
    if (!is_letter(cp)) {
        return WEIR_LETTERS_NONE;
    }
    size_t low = 0;
    size_t high = sizeof ranges / sizeof ranges[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle].to < cp) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_in = low < sizeof ranges / sizeof ranges[0] && ranges[low].from <= cp;
    return is_in ? ranges[low].group : WEIR_LETTERS_FOREIGN;
}

/* ---- the table */

/* What Unicode's list lacks, or takes for another letter. */
static const struct {
    uint32_t cp;
    char latin;
} ours[] = {
    {0x0399, 'I'}, {0x03B1, 'a'}, {0x03B5, 'e'}, {0x03B7, 'n'}, {0x03B9, 'i'}, {0x03BA, 'k'},
    {0x03BD, 'v'}, {0x03C4, 't'}, {0x03C5, 'u'}, {0x03C7, 'x'}, {0x03C9, 'w'}, {0x03F2, 'c'},
    {0x0406, 'I'}, {0x0432, 'b'}, {0x0433, 'r'}, {0x0434, 'd'}, {0x0438, 'n'}, {0x043A, 'k'},
    {0x043C, 'm'}, {0x043D, 'h'}, {0x043F, 'n'}, {0x0442, 't'}, {0x0446, 'u'}, {0x0448, 'w'},
    {0x044C, 'b'}, {0x0454, 'e'}, {0x0491, 'r'}, {0x04A3, 'h'}, {0x04BB, 'h'}, {0x04C0, 'I'},
    {0x04CF, 'l'}, {0x050D, 'g'}, {0x051B, 'q'}, {0x051D, 'w'}, {0x0261, 'g'}, {0x0131, 'i'},
    {0x0237, 'j'}, {0x0251, 'a'}, {0x025B, 'e'}, {0x0268, 'i'}, {0x0269, 'i'}, {0x0271, 'm'},
    {0x0273, 'n'}, {0x0289, 'u'}, {0x028B, 'v'}, {0x0561, 'w'}, {0x0563, 'q'}, {0x0566, 'q'},
    {0x0570, 'h'}, {0x0572, 'n'}, {0x0574, 'u'}, {0x0575, 'j'}, {0x0578, 'n'}, {0x057C, 'n'},
    {0x057D, 'u'}, {0x0580, 'r'}, {0x0581, 'g'}, {0x0582, 'i'}, {0x0584, 'p'}, {0x0585, 'o'},
    {0x056C, 'l'}, {0x0569, 'p'}, {0x13A5, 'i'}, {0xAB75, 'i'}, {0xA7AE, 'I'}, {0x1D7C6, 'a'},
};

/* A letter, with LOOSE added where Unicode's list does not have it. */
enum { LOOSE = 0x80 };

static const unsigned char *pages[N_PAGES];
static const unsigned char no_page[PAGE];

/* The single ASCII letter or digit that Unicode's list makes of it. The list has l for all that
 * look like a stroke. */
static char ask_icu(const USpoofChecker *spoof, uint32_t cp)
{
    char bytes[4];
    char skeleton[16];
    UErrorCode err = U_ZERO_ERROR;
    int32_t n = uspoof_getSkeletonUTF8(spoof, 0, bytes, (int32_t)weir_utf8_encode(cp, bytes),
                                       skeleton, (int32_t)sizeof skeleton, &err);
    if (U_FAILURE(err)) {
        return '\0';
    }
    if (n == 2 && skeleton[0] == 'r' && skeleton[1] == 'n') {
        return 'm';
    }
    bool is_letter = n == 1 && weir_ascii_is_alpha(skeleton[0]);
    bool is_stroke =
        is_letter && skeleton[0] == 'l' && !u_hasBinaryProperty((UChar32)cp, UCHAR_LOWERCASE);
    return is_stroke ? 'I' : is_letter ? skeleton[0] : '\0';
}

static char dressed_letter(uint32_t cp)
{
    static const struct {
        uint32_t from;
        uint32_t to;
        char first;
    } rows[] = {{0x249C, 0x24B5, 'a'},   {0x24B6, 0x24CF, 'A'},  {0x24D0, 0x24E9, 'a'},
                {0xFF21, 0xFF3A, 'A'},   {0xFF41, 0xFF5A, 'a'},  {0x1F130, 0x1F149, 'A'},
                {0x1F150, 0x1F169, 'A'}, {0x1F170, 0x1F189, 'A'}};
    static const char small_capitals[] = "a..bcddeeijklmnooooo..ooprrtuuumvwz"; /* U+1D00 and on */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (cp >= rows[i].from && cp <= rows[i].to) {
            return (char)(rows[i].first + (char)(cp - rows[i].from));
        }
    }
    if (cp >= 0x1D400 && cp <= 0x1D6A3) {
        uint32_t at = (cp - 0x1D400) % 52;
        return (char)(at < 26 ? 'A' + (char)at : 'a' + (char)(at - 26));
    }
    if (cp >= 0x1D00 && cp < 0x1D00 + sizeof small_capitals - 1) {
        char letter = small_capitals[cp - 0x1D00];
        return letter != '.' ? letter : '\0';
    }
    switch (cp) {
    case 0x0262:
        return 'g';
    case 0x026A:
        return 'i';
    case 0x0274:
        return 'n';
    case 0x0280:
        return 'r';
    case 0x028F:
        return 'y';
    case 0x0299:
        return 'b';
    case 0x029C:
        return 'h';
    case 0x029F:
        return 'l';
    case 0xA730:
        return 'f';
    case 0xA731:
        return 's';
    default:
        return '\0';
    }
}

static void enter(uint32_t cp, char latin, bool is_loose)
{
    if (latin == '\0') {
        return;
    }
    if (pages[cp / PAGE] == no_page) {
        pages[cp / PAGE] = weir_mem_zalloc(PAGE);
    }
    unsigned char *page = (unsigned char *)(uintptr_t)pages[cp / PAGE];
    page[cp % PAGE] = (unsigned char)((unsigned char)latin | (is_loose ? LOOSE : 0));
}

static unsigned char entry_of(uint32_t cp)
{
    return cp / PAGE < N_PAGES ? pages[cp / PAGE][cp % PAGE] : 0;
}

static void make_table(void)
{
    UErrorCode err = U_ZERO_ERROR;
    USpoofChecker *spoof = uspoof_open(&err);
    for (size_t i = 0; i < N_PAGES; i++) {
        pages[i] = no_page;
    }
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        for (uint32_t cp = ranges[i].from; cp <= ranges[i].to; cp++) {
            char dressed = dressed_letter(cp);
            bool is_asked = dressed == '\0' && U_SUCCESS(err) && is_letter(cp);
            enter(cp, is_asked ? ask_icu(spoof, cp) : dressed, false);
        }
    }
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        enter(ours[i].cp, ours[i].latin, entry_of(ours[i].cp) == 0);
    }
    uspoof_close(spoof);
}

static unsigned char entry(uint32_t cp)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_table);
    return entry_of(cp);
}

char weir_lookalike_of(uint32_t cp)
{
    return (char)(entry(cp) & ~LOOSE);
}

/* ---- words */

/* Letters of Greek that phonetic writing shares: β θ λ φ χ. */
static bool is_phonetic(uint32_t cp)
{
    return cp == 0x03B2 || cp == 0x03B8 || cp == 0x03BB || cp == 0x03C6 || cp == 0x03C7;
}

static bool is_one_of(uint32_t cp, const char *letters)
{
    return cp != 0 && cp < 0x80 && strchr(letters, (int)cp) != NULL;
}

/* Turkic languages have dotless i, but no w, and o and e not beside it; nobody has dotless j. */
static void note_dotless(struct weir_lookalike_word *w, uint32_t cp)
{
    static const char vowels[] = "eoEO";
    bool is_beside = (cp == DOTLESS_I && is_one_of(w->last, vowels)) ||
                     (w->last == DOTLESS_I && is_one_of(cp, vowels));
    w->n_dotless += cp == DOTLESS_I;
    w->is_not_turkish = w->is_not_turkish || is_beside || is_one_of(cp, "wW");
    w->has_dotless_j = w->has_dotless_j || cp == DOTLESS_J;
    w->last = cp;
}

/* Cyrillic letters that are in no alphabet of today, or of a small people; and those of several
 * alphabets, which do not meet in a word: Macedonian and Serbian ones, and those of Ukrainian and
 * the Turkic languages. */
static void note_rare(struct weir_lookalike_word *w, uint32_t cp)
{
    static const uint32_t rare[] = {0x0475, 0x0501, 0x050D, 0x051B, 0x051D, 0x04CF, 0};
    for (const uint32_t *r = rare; *r != 0; r++) {
        w->has_rare = w->has_rare || cp == *r;
    }
    w->has_balkan = w->has_balkan || cp == 0x0455 || cp == 0x0458;
    w->has_steppe = w->has_steppe || cp == 0x0456 || cp == 0x04BB || cp == 0x04AF;
}

void weir_lookalike_add(struct weir_lookalike_word *w, uint32_t cp)
{
    enum weir_lookalike_group group = weir_lookalike_group(cp);
    if (group == WEIR_LETTERS_NONE) {
        return;
    }
    unsigned char twin = group == WEIR_LETTERS_ASCII ? (unsigned char)cp : entry(cp);
    char latin = weir_ascii_lower((char)(twin & ~LOOSE));
    if (w->n_letters + 1 < sizeof w->latin) {
        w->has_odd_x =
            w->has_odd_x || (latin == 'x' && w->n_letters != 0 &&
                             !is_one_of((unsigned char)w->latin[w->n_letters - 1], "aeiou"));
        w->latin[w->n_letters] = latin;
    }
    note_rare(w, cp);
    w->n_of[group]++;
    w->n_letters++;
    w->n_like += twin != 0;
    w->n_strict += twin != 0 && twin < LOOSE;
    w->n_phonetic += is_phonetic(cp);
    w->hash = (w->hash ^ cp) * HASH_STEP;
    note_dotless(w, cp);
}

static bool is_other_script(enum weir_lookalike_group g)
{
    return g >= WEIR_LETTERS_GREEK && g <= WEIR_LETTERS_OTHER;
}

static size_t count_scripts(const struct weir_lookalike_word *w, enum weir_lookalike_group *one)
{
    size_t n = 0;
    for (enum weir_lookalike_group g = WEIR_LETTERS_GREEK; g <= WEIR_LETTERS_OTHER; g++) {
        *one = w->n_of[g] != 0 ? g : *one;
        n += w->n_of[g] != 0;
    }
    return n;
}

/* Russian words, and forms of them, that have only letters with a Latin twin. */
static bool is_russian(uint64_t hash)
{
    static const char *const words[] = {
        "роса",   "росе",   "росу",  "сера",  "сере",  "серу",   "серо",    "сахар", "сахара",
        "сахару", "сахаре", "орех",  "ореха", "ореху", "орехе",  "хаос",    "хаоса", "хаосу",
        "хаосе",  "соус",   "соуса", "соусу", "соусе", "раса",   "расе",    "расу",  "сухо",
        "сухое",  "соха",   "ссора", "ссоре", "ссору", "херес",  "хереса",  "аура",  "ауре",
        "ауру",   "охра",   "охре",  "охру",  "сура",  "хоррор", "хоррора", "руса",  "сухаре",
        "сухара", "сухару", "осеру", "ересе", NULL};
    for (const char *const *word = words; *word != NULL; word++) {
        struct weir_slice s = weir_slice_cstr(*word);
        uint64_t sum = 0;
        for (size_t at = 0, n; at < s.n; at += n) {
            sum = (sum ^ weir_utf8_decode(weir_slice_sub(s, at, s.n), &n)) * HASH_STEP;
        }
        if (sum == hash) {
            return true;
        }
    }
    return false;
}

/* Common words, and those of orders to models. Left out are those that a Russian or Greek word
 * looks like: pot (рот), not (пот), had (над), data (дата), take (таке), meta (μετα). */
static bool is_english(const struct weir_lookalike_word *w)
{
    static const char *const words[] = {
        "about",        "above",      "account", "address",     "after",        "again",
        "all",          "also",       "and",     "another",     "answer",       "anything",
        "are",          "bank",       "because", "been",        "before",       "being",
        "between",      "call",       "card",    "change",      "click",        "code",
        "confidential", "could",      "delete",  "disregard",   "document",     "does",
        "down",         "download",   "each",    "email",       "enter",        "every",
        "everything",   "file",       "find",    "first",       "follow",       "following",
        "for",          "forget",     "free",    "from",        "give",         "good",
        "great",        "guidelines", "have",    "hello",       "help",         "here",
        "hidden",       "how",        "ignore",  "instruction", "instructions", "invoice",
        "just",         "know",       "last",    "like",        "link",         "list",
        "little",       "login",      "long",    "look",        "made",         "make",
        "message",      "money",      "more",    "most",        "much",         "must",
        "need",         "never",      "now",     "number",      "only",         "open",
        "other",        "our",        "out",     "over",        "password",     "payment",
        "people",       "place",      "please",  "previous",    "print",        "private",
        "prompt",       "read",       "reply",   "report",      "reset",        "reveal",
        "right",        "rules",      "said",    "same",        "secret",       "security",
        "send",         "should",     "show",    "some",        "support",      "system",
        "tell",         "than",       "that",    "the",         "their",        "them",
        "then",         "there",      "these",   "they",        "thing",        "think",
        "this",         "time",       "told",    "transfer",    "under",        "use",
        "user",         "username",   "verify",  "very",        "want",         "well",
        "were",         "what",       "when",    "where",       "which",        "while",
        "who",          "why",        "will",    "with",        "word",         "words",
        "work",         "world",      "would",   "write",       "year",         "you",
        "your",         NULL};
    if (w->n_letters >= sizeof w->latin) {
        return false;
    }
    for (const char *const *word = words; *word != NULL; word++) {
        if (strcmp(w->latin, *word) == 0) {
            return true;
        }
    }
    return false;
}

bool weir_lookalike_is_near(const struct weir_lookalike_context *c, enum weir_lookalike_group group)
{
    return c->last[group] != 0 && c->n_letters - c->last[group] < MEMORY;
}

/* Greek letters among phonetic ones are phonetic writing. */
static bool is_mixed(const struct weir_lookalike_word *w, size_t n_scripts)
{
    bool is_phonetic_word =
        n_scripts == 1 && w->n_of[WEIR_LETTERS_GREEK] == w->n_phonetic && w->n_phonetic != 0;
    size_t n_groups = n_scripts + (w->n_of[WEIR_LETTERS_ODD] != 0);
    return n_groups >= 2 && n_scripts >= 1 && w->n_letters >= MIN_MIXED && !is_phonetic_word &&
           w->n_of[WEIR_LETTERS_FOREIGN] == 0 && w->n_like * 4 >= w->n_letters * 3;
}

static bool is_whole(const struct weir_lookalike_word *w,
                     const struct weir_lookalike_context *before, enum weir_lookalike_group one)
{
    bool is_like =
        one != WEIR_LETTERS_NONE && w->n_of[one] == w->n_letters && w->n_like == w->n_letters;
    if (!is_like) {
        return false;
    }
    bool is_after_trick = before->last_trick != 0 && w->n_letters >= 2 &&
                          before->n_letters - before->last_trick < MEMORY;
    bool is_of_nations = w->has_balkan && w->has_steppe;
    if ((w->has_rare || is_of_nations || is_english(w)) && w->n_letters >= MIN_MIXED) {
        return true;
    }
    if (weir_lookalike_is_near(before, one)) {
        return false; /* the script is at home here */
    }
    return is_after_trick ||
           (w->n_strict == w->n_letters && w->n_letters >= MIN_WHOLE && !is_russian(w->hash) &&
            !w->has_odd_x && weir_lookalike_is_near(before, WEIR_LETTERS_ASCII));
}

enum weir_lookalike_kind weir_lookalike_judge(const struct weir_lookalike_word *w,
                                              const struct weir_lookalike_context *before)
{
    enum weir_lookalike_group one = WEIR_LETTERS_NONE;
    size_t n_scripts = count_scripts(w, &one);
    bool is_dotless = w->has_dotless_j || (w->n_dotless != 0 && w->is_not_turkish);
    if (is_mixed(w, n_scripts) || is_dotless) {
        return WEIR_WORD_MIXED;
    }
    return is_whole(w, before, n_scripts == 1 ? one : WEIR_LETTERS_NONE) ? WEIR_WORD_WHOLE
                                                                         : WEIR_WORD_PLAIN;
}

/* Words that could be Latin do not make their script at home, nor do tricks. */
void weir_lookalike_pass(struct weir_lookalike_context *c, const struct weir_lookalike_word *w,
                         enum weir_lookalike_kind kind)
{
    c->n_letters += w->n_letters;
    c->last_trick = kind != WEIR_WORD_PLAIN ? c->n_letters : c->last_trick;
    bool is_plain = kind == WEIR_WORD_PLAIN && w->n_like != w->n_letters;
    for (enum weir_lookalike_group g = WEIR_LETTERS_ASCII; g < WEIR_LETTERS_N; g++) {
        if (w->n_of[g] != 0 && (is_plain || !is_other_script(g))) {
            c->last[g] = c->n_letters;
        }
    }
}

void weir_lookalike_pass_ascii(struct weir_lookalike_context *c, size_t n)
{
    c->n_letters += n;
    c->last[WEIR_LETTERS_ASCII] = n != 0 ? c->n_letters : c->last[WEIR_LETTERS_ASCII];
}
