/*
 * A trie over folded code points, walked from every word's beginning. Its edges are in one hash
 * table, so that neither many terms nor terms of one beginning make a step slower.
 *
 * Folded is: letters and marks taken apart (NFD), then Unicode's full case folding. So ß is ss,
 * and ï is the same as i with a diaeresis after it. A term ends only where a character of the text
 * does. A text with letters that look like others, or with characters that nobody sees, is walked a
 * second time as people read it.
 *
 * Reading along, a walk stops where it would need the text behind the end, and begins again from
 * there when that has come.
 */
#include "detect/keywords.h"

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/fold.h"
#include "detect/rest.h"

#include <pthread.h>
#include <stdlib.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

enum { MAX_TERMS = 20000, MAX_TERM_BYTES = 256, MAX_ALL_BYTES = 262144, NO_TERM = 0 };

struct edge {
    uint32_t from;
    uint32_t cp;
    uint32_t to; /* 0: free */
};

struct term {
    struct weir_slice spelling;
    bool is_allowed;
};

struct settings {
    struct edge *edges;
    size_t n_slots; /* power of two */
    uint32_t *ends; /* by node: index of a term + 1, or NO_TERM */
    uint32_t n_nodes;
    struct term *terms;
    size_t n_terms;
    char *spellings; /* of all terms: in one block, because freeing many would hold a loop up */
    size_t n_spelled;
    uint64_t seed;
    bool is_word[256];            /* of a byte of ASCII */
    bool starts[256][256];        /* may a term begin with these two bytes? */
    bool firsts[256];             /* and with this one? */
    struct weir_rest_words words; /* what terms begin with */
    bool never_rests;             /* some are too short for that */
};

static void free_settings(void *p)
{
    struct settings *s = p;
    free(s->terms);
    free(s->spellings);
    free(s->edges);
    free(s->ends);
    free(s);
}

/* ---- folding */

/* What one character becomes. No character has a longer form than ᾂ, which has four; the longest
 * by its bytes is ΐ: two bytes, three characters. */
enum { MAX_FOLDED = 6, MAX_GROWTH = 2 };

struct folded {
    uint32_t cps[MAX_FOLDED];
    size_t n;
};

/* Characters below this have their folded form in a table, or LONG there; few above fold at all. */
enum { N_TABLE = 0x3100, LONG = 0xFFFF, DOTTED_I = 0x0130 };

static uint16_t fold_table[N_TABLE]; /* written once */
static pthread_once_t fold_once = PTHREAD_ONCE_INIT;

static void fold_slowly(uint32_t cp, struct folded *f)
{
    enum { UNITS = 16 };
    UChar apart[UNITS];
    UChar out[UNITS];
    UChar32 cps[MAX_FOLDED] = {0};
    UChar32 whole = (UChar32)cp;
    UErrorCode err = U_ZERO_ERROR;
    const UNormalizer2 *nfd = unorm2_getNFDInstance(&err);
    int32_t n = U_SUCCESS(err) ? unorm2_getDecomposition(nfd, whole, apart, UNITS, &err) : -1;
    if (n < 0) {
        u_strFromUTF32(apart, UNITS, &n, &whole, 1, &err);
    }
    int32_t n_out = u_strFoldCase(out, UNITS, apart, n, U_FOLD_CASE_DEFAULT, &err);
    u_strToUTF32(cps, MAX_FOLDED, &n, out, n_out, &err);
    *f = (struct folded){.cps = {cp}, .n = 1};
    for (int32_t i = 0; U_SUCCESS(err) && i < n && i < MAX_FOLDED; i++) {
        f->cps[i] = (uint32_t)cps[i];
        f->n = (size_t)i + 1;
    }
}

static void fill_table(void)
{
    for (uint32_t cp = 0; cp < N_TABLE; cp++) {
        struct folded f;
        fold_slowly(cp, &f);
        fold_table[cp] = f.n == 1 && f.cps[0] < LONG ? (uint16_t)f.cps[0] : (uint16_t)LONG;
    }
    fold_table[DOTTED_I] = 'i'; /* else İstanbul is no istanbul */
}

/* Syllables of Hangul stay whole: a term is not part of one. */
static void fold(uint32_t cp, struct folded *f)
{
    bool is_plain = cp >= N_TABLE && cp < 0xF900;
    if (is_plain || (cp < N_TABLE && fold_table[cp] != LONG)) {
        f->cps[0] = is_plain ? cp : fold_table[cp];
        f->n = 1;
        return;
    }
    fold_slowly(cp, f);
}

static uint32_t fold_ascii(uint32_t c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static bool is_mark(uint32_t cp)
{
    return cp >= 0x300 && (U_GET_GC_MASK((UChar32)cp) & U_GC_MN_MASK) != 0;
}

static bool is_unparted(uint32_t cp)
{
    return (cp >= 0x0E00 && cp <= 0x0EFF) || (cp >= 0x1000 && cp <= 0x109F) ||
           (cp >= 0x1100 && cp <= 0x11FF) || (cp >= 0x1780 && cp <= 0x17FF) ||
           (cp >= 0x2E80 && cp <= 0xD7FF) || (cp >= 0xF900 && cp <= 0xFAFF) ||
           (cp >= 0x20000 && cp <= 0x3FFFF);
}

static bool is_word(uint32_t cp)
{
    if (cp < 128) {
        return (cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z') || (cp >= '0' && cp <= '9') ||
               cp == '_';
    }
    return !is_unparted(cp) &&
           (u_isalnum((UChar32)cp) || (U_GET_GC_MASK((UChar32)cp) & U_GC_M_MASK));
}

static struct edge *slot(const struct settings *s, uint32_t from, uint32_t cp)
{
    uint64_t hash = ((uint64_t)from << 32 | cp) ^ s->seed;
    hash *= 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(hash >> 20) & (s->n_slots - 1);
    while (s->edges[at].to != 0 && (s->edges[at].from != from || s->edges[at].cp != cp)) {
        at = (at + 1) & (s->n_slots - 1);
    }
    return &s->edges[at];
}

/* The next character, folded; any run of space is one space. */
static void next_folded(struct weir_slice t, size_t *at, struct folded *f)
{
    size_t n;
    uint32_t cp = weir_utf8_decode(weir_slice_sub(t, *at, t.n), &n);
    *at += n;
    if (!weir_utf8_is_space(cp)) {
        fold(cp, f);
        return;
    }
    while (*at < t.n && weir_utf8_is_space(weir_utf8_decode(weir_slice_sub(t, *at, t.n), &n))) {
        *at += n;
    }
    *f = (struct folded){.cps = {' '}, .n = 1};
}

/* What a text must begin with to be worth a walk; beyond ASCII anything. */
static void note_start(struct settings *s, uint32_t c, uint32_t second, bool is_single)
{
    for (uint32_t next = 0; next < 256; next++) {
        uint32_t folded = weir_utf8_is_space(next) ? ' ' : fold_ascii(next);
        bool is_start = is_single || second >= 128 || next >= 128 || folded == second;
        s->starts[c][next] = s->starts[c][next] || is_start;
        s->firsts[c] = true;
    }
}

static void note_beginning(struct settings *s, uint32_t first, uint32_t second, bool is_single)
{
    if (first < 128) {
        note_start(s, first, second, is_single);
        note_start(s, first >= 'a' && first <= 'z' ? first - 32 : first, second, is_single);
    }
}

static uint32_t add_edge(struct settings *s, uint32_t from, uint32_t cp)
{
    struct edge *e = slot(s, from, cp);
    if (e->to == 0) {
        *e = (struct edge){.from = from, .cp = cp, .to = ++s->n_nodes};
    }
    return e->to;
}

/* The plain bytes that a term begins with: four, or three and a blank. A term that goes on with
 * other characters begins in the word that these are in. */
static void note_plain(struct settings *s, const uint32_t begin[], size_t n_cp)
{
    char gram[WEIR_REST_GRAM];
    size_t n = 0;
    while (n < n_cp && n < WEIR_REST_GRAM && begin[n] < 128 && weir_rest_codes[begin[n]] != 0) {
        gram[n] = (char)begin[n];
        n++;
    }
    bool has_end = false; /* where what is before it may leave; a blank may be the fourth */
    for (size_t i = 0; i < n; i++) {
        has_end = has_end || (strchr(WEIR_REST_ENDS, gram[i]) != NULL && (i < 3 || gram[i] != ' '));
    }
    if (n < n_cp && n < WEIR_REST_GRAM && !has_end) {
        return;
    }
    if (has_end || n < 3) {
        s->never_rests = true;
        return;
    }
    static const char ends[] = " ,.'-!"; /* one for each code */
    for (size_t i = 0; n == 3 && ends[i] != '\0'; i++) {
        gram[3] = ends[i];
        weir_rest_add(&s->words, weir_slice_make(gram, WEIR_REST_GRAM));
    }
    if (n == WEIR_REST_GRAM) {
        weir_rest_add(&s->words, weir_slice_make(gram, n));
    }
}

static void add_term(struct settings *s, struct weir_slice term, bool is_allowed)
{
    uint32_t node = 0;
    uint32_t begin[WEIR_REST_GRAM] = {0};
    size_t n_cp = 0;
    for (size_t at = 0; at < term.n;) {
        struct folded f;
        next_folded(term, &at, &f);
        for (size_t i = 0; i < f.n; i++, n_cp++) {
            node = add_edge(s, node, f.cps[i]);
            if (n_cp < WEIR_REST_GRAM) {
                begin[n_cp] = f.cps[i];
            }
        }
    }
    note_beginning(s, begin[0], begin[1], n_cp == 1);
    if (!is_allowed) {
        note_plain(s, begin, n_cp);
    }
    char *spelling = s->spellings + s->n_spelled;
    memcpy(spelling, term.p, term.n);
    s->n_spelled += term.n;
    s->terms[s->n_terms++] =
        (struct term){.spelling = weir_slice_make(spelling, term.n), .is_allowed = is_allowed};
    s->ends[node] = (uint32_t)s->n_terms;
}

static struct weir_slice trim(struct weir_slice s)
{
    size_t n;
    while (s.n != 0 && weir_utf8_is_space(weir_utf8_decode(s, &n))) {
        s = weir_slice_sub(s, n, s.n);
    }
    while (s.n != 0 && strchr(" \t\r\n", s.p[s.n - 1]) != NULL) {
        s.n--;
    }
    return s;
}

static int check_terms(struct weir_slice *terms, size_t n, size_t *n_bytes, struct weir_buf *why)
{
    for (size_t i = 0; i < n; i++) {
        terms[i] = trim(terms[i]);
        *n_bytes += terms[i].n;
        if (terms[i].n == 0 || terms[i].n > MAX_TERM_BYTES) {
            weir_buf_printf(why, "a term has 1 to %d bytes", MAX_TERM_BYTES);
            return WEIR_EINVAL;
        }
    }
    if (*n_bytes > MAX_ALL_BYTES) {
        weir_buf_printf(why, "the terms have more than %d bytes in all", MAX_ALL_BYTES);
        return WEIR_EINVAL;
    }
    return 0;
}

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    struct weir_slice *deny;
    struct weir_slice *allow;
    size_t n_deny;
    size_t n_allow;
    size_t n_bytes = 0;
    if (weir_builtin_strings(params, "deny", MAX_TERMS, why, &deny, &n_deny) != 0 ||
        weir_builtin_strings(params, "allow", MAX_TERMS, why, &allow, &n_allow) != 0 ||
        check_terms(deny, n_deny, &n_bytes, why) != 0 ||
        check_terms(allow, n_allow, &n_bytes, why) != 0) {
        return NULL;
    }
    pthread_once(&fold_once, fill_table);
    struct settings *s = weir_mem_zalloc(sizeof *s);
    size_t n_nodes = MAX_GROWTH * n_bytes;
    s->n_slots = 16;
    while (s->n_slots < 2 * n_nodes) {
        s->n_slots *= 2;
    }
    s->edges = weir_mem_array(s->n_slots, sizeof *s->edges);
    s->ends = weir_mem_array(n_nodes + 1, sizeof *s->ends);
    s->terms = weir_mem_array(n_deny + n_allow, sizeof *s->terms);
    s->spellings = weir_mem_alloc(n_bytes + 1);
    s->seed = weir_map_hash(WEIR_SLICE("keywords"));
    for (unsigned c = 0; c < 128; c++) {
        s->is_word[c] = is_word(c);
    }
    memset(s->starts[128], true, 128 * sizeof s->starts[0]);
    memset(s->firsts + 128, true, 128);
    for (size_t i = 0; i < n_deny; i++) {
        add_term(s, deny[i], false);
    }
    for (size_t i = 0; i < n_allow; i++) {
        add_term(s, allow[i], true);
    }
    return s;
}

/* ---- scanning */

/* Where a walk is: from `at` on nothing is decided. */
struct place {
    size_t at;
    uint32_t before;   /* the character before it */
    size_t allowed_to; /* an allowed term ends there, in the original */
};

struct walk {
    const struct settings *s;
    struct weir_slice text;
    const struct weir_fold *fold; /* the text is a folded one; NULL: it is the original */
    size_t n_source;              /* bytes of the original that `text` stands for */
    struct place place;
    size_t from;     /* where the term begins that is looked for */
    size_t deny_end; /* of the longest term that begins here; 0: none */
    size_t allow_end;
    uint32_t deny_term;
};

static size_t source_start(const struct walk *w, size_t at)
{
    if (at >= w->text.n) {
        return w->n_source;
    }
    return w->fold != NULL ? weir_fold_start(w->fold, at) : at;
}

static size_t source_end(const struct walk *w, size_t at)
{
    return w->fold != NULL ? weir_fold_end(w->fold, at) : at;
}

/* What begins at `at` is too far away to be of the term. */
static bool is_out_of_reach(const struct walk *w, size_t at)
{
    size_t n = w->fold != NULL ? source_start(w, at) - source_start(w, w->from) : at - w->from;
    return n > WEIR_READER_REACH;
}

static void take_end(struct walk *w, uint32_t node, uint32_t cp, size_t at)
{
    uint32_t term = w->s->ends[node];
    size_t n;
    if (term == NO_TERM) {
        return;
    }
    bool has_next = !is_out_of_reach(w, at) && weir_ascii_has(w->text, at);
    uint32_t next = has_next ? weir_utf8_decode(weir_slice_sub(w->text, at, w->text.n), &n) : ' ';
    if (is_mark(next) || (is_word(cp) && is_word(next))) {
        return; /* a longer word */
    }
    if (w->s->terms[term - 1].is_allowed) {
        w->allow_end = at;
    } else {
        w->deny_end = at;
        w->deny_term = term - 1;
    }
}

static void walk_from(struct walk *w, size_t at)
{
    uint32_t node = 0;
    w->from = at;
    w->deny_end = 0;
    w->allow_end = 0;
    while (!is_out_of_reach(w, at) && weir_ascii_has(w->text, at)) {
        struct folded f;
        next_folded(w->text, &at, &f);
        for (size_t i = 0; i < f.n; i++) {
            node = slot(w->s, node, f.cps[i])->to;
            if (node == 0) {
                return;
            }
        }
        take_end(w, node, f.cps[f.n - 1], at);
    }
}

/* `base_byte` is where the original begins. */
static int report(const struct walk *w, size_t base_byte, struct weir_found *found)
{
    const struct term *t = &w->s->terms[w->deny_term];
    struct weir_found_span span = {.start_byte = base_byte + source_start(w, w->from),
                                   .end_byte = base_byte + source_end(w, w->deny_end),
                                   .detection = t->spelling,
                                   .detection_type = WEIR_SLICE("keyword"),
                                   .score = 1.0};
    return weir_found_add(found, &span);
}

/* The next two bytes that a term may begin with, four places at a time: nearly all are none, and
 * guesses of the processor that go wrong would cost more than the looking. */
static size_t find_start(const struct settings *s, struct weir_slice t, size_t at)
{
    const unsigned char *p = (const unsigned char *)t.p;
    while (t.n - at > 4) {
        bool first = s->starts[p[at]][p[at + 1]] | s->starts[p[at + 1]][p[at + 2]];
        bool second = s->starts[p[at + 2]][p[at + 3]] | s->starts[p[at + 3]][p[at + 4]];
        if (first | second) {
            break;
        }
        at += 4;
    }
    while (at + 1 < t.n && !s->starts[p[at]][p[at + 1]]) {
        at++;
    }
    return at + 1 == t.n && !s->firsts[p[at]] ? t.n : at;
}

/* The next byte where a term may begin; inside a word of ASCII it cannot. */
static size_t skip(const struct settings *s, struct weir_slice t, size_t at, uint32_t *before)
{
    const unsigned char *p = (const unsigned char *)t.p;
    size_t from = at;
    bool was_word = is_word(*before);
    for (;; at++) {
        at = find_start(s, t, at);
        was_word = at > from ? s->is_word[p[at - 1]] : was_word;
        if (at >= t.n || !was_word || !s->is_word[p[at]]) {
            break;
        }
    }
    *before = at > from ? p[at - 1] : *before;
    return at;
}

/* Goes on to the end of the text; unless `is_end`, to where more of it is needed. */
static int walk_on(struct walk *w, size_t base_byte, bool is_end, struct weir_found *found)
{
    const struct settings *s = w->s;
    struct place *p = &w->place;
    size_t n;
    int rc = 0;
    for (; s->n_terms != 0 && rc == 0; p->at += n) {
        p->at = skip(s, w->text, p->at, &p->before);
        if (p->at >= w->text.n) {
            break;
        }
        uint32_t cp = weir_utf8_decode(weir_slice_sub(w->text, p->at, w->text.n), &n);
        if (!(is_word(p->before) && is_word(cp))) {
            weir_ascii_edge = (struct weir_ascii_edge){.end = w->text.p + w->text.n};
            walk_from(w, p->at);
            bool is_met = weir_ascii_edge.is_met;
            weir_ascii_edge = (struct weir_ascii_edge){0};
            if (is_met && !is_end) {
                break;
            }
            size_t allow_end = w->allow_end != 0 ? source_end(w, w->allow_end) : 0;
            p->allowed_to = allow_end > p->allowed_to ? allow_end : p->allowed_to;
            if (w->deny_end != 0 && source_end(w, w->deny_end) > p->allowed_to) {
                rc = report(w, base_byte, found);
            }
        }
        p->before = cp;
    }
    return rc;
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    (void)run;
    const struct settings *s = settings;
    const struct place start = {.before = ' '};
    struct walk w = {.s = s, .text = text, .n_source = text.n, .place = start};
    struct weir_fold fold = {0};
    int rc = walk_on(&w, 0, true, found);
    if (rc == 0 && s->n_terms != 0 && weir_fold_letters(&fold, text)) {
        w = (struct walk){.s = s,
                          .text = weir_buf_slice(&fold.text),
                          .fold = &fold,
                          .n_source = text.n,
                          .place = start};
        rc = walk_on(&w, 0, true, found);
    }
    weir_fold_dispose(&fold);
    return rc;
}

/* ---- reading along */

/*
 * Two walks: over the text as it is, and as it reads. The second begins each time at the word that
 * its place lies in; where that word and all behind it are ASCII both are the same.
 *
 *   text   ······ привет, idi|оt sаys           | ends what has come before
 *                 word_byte ┘└ read.at
 */
struct reader {
    struct place seen; /* offsets count from the beginning of the whole text */
    struct place read;
    size_t word_byte; /* no word that is folded as one lies around it; read.at or before it */
    size_t to_byte;   /* the end of what has been read */
    struct weir_fold_state before; /* of that */
};

static size_t reader_size(const void *settings)
{
    (void)settings;
    return sizeof(struct reader);
}

static void reader_init(void *state, const void *settings)
{
    (void)settings;
    struct reader *r = state;
    r->seen.before = ' ';
    r->read.before = ' ';
}

static void reader_dispose(void *state)
{
    (void)state;
}

static size_t minus(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

static struct place moved_back(struct place p, size_t by)
{
    return (struct place){
        .at = minus(p.at, by), .before = p.before, .allowed_to = minus(p.allowed_to, by)};
}

static struct place moved_on(struct place p, size_t by)
{
    return (struct place){.at = p.at + by,
                          .before = p.before,
                          .allowed_to = p.allowed_to != 0 ? p.allowed_to + by : 0};
}

/* In ASCII a word that is folded as one ends, if not before, after 256 bytes; nothing changes it.
 */
static void pass_ascii(struct reader *r, const struct weir_reader_text *t)
{
    enum { MAX_WORD = 256 };
    size_t from = r->word_byte - t->from_byte;
    size_t to = r->read.at - t->from_byte;
    size_t word = to;
    while (word > from && (weir_ascii_is_alnum(t->text.p[word - 1]) ||
                           strchr("@$!|", t->text.p[word - 1]) != NULL)) {
        word--;
    }
    word = word == from ? from + (to - from) / MAX_WORD * MAX_WORD : word;
    word += (to - word) / MAX_WORD * MAX_WORD;
    size_t n = 0;
    for (size_t i = from; i < word; i++) {
        n += weir_ascii_is_alpha(t->text.p[i]);
    }
    weir_lookalike_pass_ascii(&r->before.before, n);
    r->word_byte = t->from_byte + word;
}

/* The first folded byte that stands for the original's at `source` or behind it. */
static size_t folded_at(const struct weir_fold *fold, size_t source)
{
    size_t at = 0;
    size_t n;
    while (at < fold->text.n && weir_fold_start(fold, at) < source) {
        weir_utf8_decode(weir_slice_sub(weir_buf_slice(&fold->text), at, fold->text.n), &n);
        at += n;
    }
    return at;
}

/* Letters and signs of many languages that no word of them makes read otherwise: accented ones of
 * Latin-1, kana, Han and Hangul, dashes and quotes. */
static bool reads_as_it_is(uint32_t cp)
{
    return (cp >= 0xC0 && cp <= 0xFF && cp != 0xD7 && cp != 0xF7) || cp == 0x2013 || cp == 0x2014 ||
           (cp >= 0x2018 && cp <= 0x201D) || cp == 0x2026 || cp == 0x3001 || cp == 0x3002 ||
           (cp >= 0x3041 && cp <= 0x3096) || (cp >= 0x30A1 && cp <= 0x30FC) ||
           (cp >= 0x4E00 && cp <= 0x9FFF) || (cp >= 0xAC00 && cp <= 0xD7A3);
}

static bool all_reads_as_it_is(struct weir_slice s)
{
    size_t n;
    for (size_t at = weir_ascii_skip(s, 0); at < s.n; at = weir_ascii_skip(s, at + n)) {
        if (!reads_as_it_is(weir_utf8_decode(weir_slice_sub(s, at, s.n), &n))) {
            return false;
        }
    }
    return true;
}

/* The second walk would say what the first has said: only what stands before the next word is
 * worked out. */
static void pass_folded(struct reader *r, const struct weir_reader_text *t)
{
    struct weir_slice rest = weir_slice_sub(t->text, r->word_byte - t->from_byte, t->text.n);
    struct weir_fold_part part = {
        .text = rest, .stop = r->read.at - r->word_byte, .is_end = true, .is_letters_only = true};
    r->word_byte += weir_fold_part(NULL, &part, &r->before);
}

/* The second walk, from word_byte on. */
static int read_folded(struct reader *r, const struct settings *s, const struct weir_reader_text *t,
                       struct weir_found *found)
{
    struct weir_fold fold = {0};
    struct weir_fold_state before = r->before;
    size_t base = r->word_byte;
    struct weir_slice rest = weir_slice_sub(t->text, base - t->from_byte, t->text.n);
    struct weir_fold_part part = {
        .text = rest, .stop = rest.n, .is_end = t->is_end, .is_letters_only = true};
    size_t n = weir_fold_part(&fold, &part, &before);
    struct walk w = {.s = s,
                     .text = weir_buf_slice(&fold.text),
                     .fold = &fold,
                     .n_source = n,
                     .place = moved_back(r->read, base)};
    w.place.at = folded_at(&fold, w.place.at);
    int rc = walk_on(&w, base, t->is_end && n == rest.n, found);
    w.place.at = source_start(&w, w.place.at);
    r->read = moved_on(w.place, base);
    weir_fold_dispose(&fold);
    part.stop = w.place.at;
    part.is_end = true;
    r->word_byte += weir_fold_part(NULL, &part, &r->before);
    return rc;
}

static int reader_read(void *state, const void *settings, const struct weir_reader_text *t,
                       struct weir_reader_out *out)
{
    enum { KEPT = WEIR_READER_CONTEXT - 8 };
    struct reader *r = state;
    const struct settings *s = settings;
    struct place before = r->seen;
    r->to_byte = t->from_byte + t->text.n;
    struct walk w = {
        .s = s, .text = t->text, .n_source = t->text.n, .place = moved_back(r->seen, t->from_byte)};
    if (s->n_terms == 0) {
        out->low_byte = t->from_byte + t->text.n;
        return 0;
    }
    int rc = walk_on(&w, t->from_byte, t->is_end, out->found);
    r->seen = moved_on(w.place, t->from_byte);
    bool is_even = before.at >= r->word_byte && before.allowed_to <= r->word_byte;
    struct weir_slice rest = weir_slice_sub(t->text, r->word_byte - t->from_byte, t->text.n);
    if (is_even && weir_ascii_skip(rest, 0) == rest.n) {
        r->read = r->seen;
        pass_ascii(r, t);
    } else if (is_even && all_reads_as_it_is(rest)) {
        r->read = r->seen;
        pass_folded(r, t);
    } else if (rc == 0) {
        rc = read_folded(r, s, t, out->found);
    }
    size_t low = r->seen.at < r->read.at ? r->seen.at : r->read.at;
    low = low < r->word_byte + KEPT ? low : r->word_byte + KEPT;
    out->quiet_byte = r->seen.at < out->quiet_byte ? r->seen.at : out->quiet_byte;
    out->low_byte = low > out->low_byte ? low : out->low_byte;
    return rc;
}

/* No term has begun. */
static bool can_rest(const void *state, const void *settings)
{
    const struct settings *s = settings;
    const struct reader *r = state;
    return s->n_terms == 0 ||
           (!s->never_rests && r->seen.at >= r->to_byte && r->read.at >= r->to_byte);
}

static const struct weir_rest_words *words_of(const void *settings)
{
    const struct settings *s = settings;
    return &s->words;
}

static const struct weir_reader_ops reader = {.size = reader_size,
                                              .init = reader_init,
                                              .dispose = reader_dispose,
                                              .read = reader_read,
                                              .can_rest = can_rest,
                                              .rests_on = WEIR_REST_WORDS,
                                              .words = words_of};

static const char *const members[] = {"deny", "allow", NULL};

const struct weir_builtin_kind weir_detect_keywords = {.name = "keywords",
                                                       .members = members,
                                                       .needs = "deny",
                                                       .make = make,
                                                       .free = free_settings,
                                                       .scan = scan,
                                                       .reader = &reader};
