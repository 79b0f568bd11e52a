#include "detect/fold.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/charref.h"
#include "detect/lookalike.h"

#include <stdlib.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>

enum { MAX_WORD = 256, MIN_SPELLED = 4, MIN_SPELLED_ON = 2, MAX_JOINTS = 4, MAX_MAPPED = 32 };

static bool is_joint(char c)
{
    return c == ' ' || c == '.' || c == '-' || c == '_' || c == '*';
}

static bool is_leet_sign(char c)
{
    return c == '@' || c == '$' || c == '!' || c == '|';
}

static bool is_leet_digit(char c)
{
    return c != '\0' && strchr("0134578", c) != NULL;
}

/* A digit or sign after a letter and before one, from `at` on, one of the next eight bytes? */
static bool has_leet(struct weir_slice t, size_t at)
{
    for (size_t i = at; i < at + 8 && i < t.n; i++) {
        bool is_sign = weir_ascii_is_digit(t.p[i]) || t.p[i] == '@' || t.p[i] == '$';
        if (!is_sign || !weir_ascii_is_alpha(weir_ascii_before(t, i))) {
            continue;
        }
        size_t end = i;
        while (is_leet_digit(weir_ascii_at(t, end)) || is_leet_sign(weir_ascii_at(t, end))) {
            end++;
        }
        if (end > i && weir_ascii_is_alpha(weir_ascii_at(t, end))) {
            return true;
        }
    }
    return false;
}

/* Three equal joints with a letter between each, at `at` or one of the three bytes after it? */
static bool has_spelled(struct weir_slice t, size_t at)
{
    for (size_t i = at; i < at + 4 && i + 5 < t.n; i++) {
        if (is_joint(t.p[i]) && t.p[i + 2] == t.p[i] && t.p[i + 4] == t.p[i] &&
            weir_ascii_is_alnum(t.p[i + 1]) && weir_ascii_is_alnum(t.p[i + 3])) {
            return true;
        }
    }
    return false;
}

/* Bytes that are the same two and four further on: a zero in x ^ x >> 16. */
static bool has_thrice(const char *p)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t x;
    memcpy(&x, p, sizeof x);
    uint64_t differ = (x ^ (x >> 16)) | ((x >> 16) ^ (x >> 32)) | 0xFFFFFFFF00000000u;
    return ((differ - ones) & ~differ & (ones << 7)) != 0;
}

/* Eight ASCII bytes: a digit, @ or $ among them? */
static bool has_sign(const char *p)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t tops = ones << 7;
    uint64_t x;
    memcpy(&x, p, sizeof x);
    uint64_t digits = ~((x ^ (0x30 * ones)) + 0x76 * ones);
    uint64_t signs = ~(((x ^ ('@' * ones)) + 0x7F * ones) & ((x ^ ('$' * ones)) + 0x7F * ones));
    return ((digits | signs) & tops) != 0;
}

/* ASCII that folding would change, eight bytes at a time. */
static bool is_ascii_wanted(struct weir_slice t, size_t at, size_t end)
{
    for (; at + 12 <= end; at += 8) {
        const char *p = t.p + at;
        if ((has_sign(p) && has_leet(t, at)) || ((has_thrice(p) || has_thrice(p + 4)) &&
                                                 (has_spelled(t, at) || has_spelled(t, at + 4)))) {
            return true;
        }
    }
    for (; at < end; at += 4) {
        if (has_leet(t, at) || has_spelled(t, at)) {
            return true;
        }
    }
    return false;
}

/* ---- characters written as others */

static int hex_at(struct weir_slice t, size_t at)
{
    char c = weir_ascii_lower(weir_ascii_at(t, at));
    if (weir_ascii_is_digit(c)) {
        return c - '0';
    }
    return weir_ascii_is_hex(c) ? c - 'a' + 10 : -1;
}

/* `n` hexadecimal digits at `at` as one number. */
static bool read_hex(struct weir_slice t, size_t at, size_t n, uint32_t *value)
{
    *value = 0;
    for (size_t i = 0; i < n; i++) {
        int digit = hex_at(t, at + i);
        if (digit < 0) {
            return false;
        }
        *value = *value * 16 + (uint32_t)digit;
    }
    return true;
}

/* One past the reference (&#73;), escape (\u0049, \x49) or percent code (%49) of a character at
 * `at`, or `at`. Only what stands for ASCII that is seen, or a space. */
static size_t written_end(struct weir_slice t, size_t at, uint32_t *cp)
{
    enum { LONGEST_REFERENCE = 64 };
    char next = weir_ascii_at(t, at + 1);
    size_t end = at;
    if (t.p[at] == '&') {
        size_t stop = t.n - at > LONGEST_REFERENCE ? at + LONGEST_REFERENCE : t.n;
        end = weir_charref_read(weir_slice_sub(t, 0, stop), at, cp);
    } else if (t.p[at] == '%' && read_hex(t, at + 1, 2, cp)) {
        end = at + 3;
    } else if (t.p[at] == '\\' && next == 'u' && read_hex(t, at + 2, 4, cp)) {
        end = at + 6;
    } else if (t.p[at] == '\\' && next == 'x' && read_hex(t, at + 2, 2, cp)) {
        end = at + 4;
    }
    return end > at && *cp >= ' ' && *cp < 0x7f ? end : at;
}

static bool is_written_sign(char c)
{
    return c == '&' || c == '%' || c == '\\';
}

/* Is a character written as another anywhere? */
static bool has_written(struct weir_slice t, char sign)
{
    uint32_t cp;
    const char *end = t.p + t.n;
    for (const char *at = t.p; at != NULL && at < end; at++) {
        at = memchr(at, sign, (size_t)(end - at));
        if (at == NULL) {
            return false;
        }
        if (written_end(t, (size_t)(at - t.p), &cp) > (size_t)(at - t.p)) {
            return true;
        }
    }
    return false;
}

/* Signs of everyday text, which stay as they are. */
static bool is_dull(uint32_t cp)
{
    return (cp >= 0xA0 && cp < 0xC0 && cp != 0xAD) || (cp >= 0x2010 && cp <= 0x2027);
}

bool weir_fold_is_wanted(struct weir_slice t)
{
    size_t n;
    if (has_written(t, '&') || has_written(t, '%') || has_written(t, '\\')) {
        return true;
    }
    for (size_t at = 0; at < t.n; at += n) {
        size_t end = weir_ascii_skip(t, at);
        if (is_ascii_wanted(t, at, end)) {
            return true;
        }
        if (end == t.n) {
            return false;
        }
        at = end;
        uint32_t cp = weir_utf8_decode(weir_slice_sub(t, at, t.n), &n);
        if (!is_dull(cp)) {
            return true;
        }
    }
    return false;
}

/* ---- pieces */

static void add_piece(struct weir_fold *f, size_t source, size_t n_source)
{
    if (f->pieces == NULL || f->n_pieces == f->cap_pieces) {
        f->cap_pieces = f->cap_pieces != 0 ? 2 * f->cap_pieces : 16;
        f->pieces = weir_mem_realloc(f->pieces, f->cap_pieces * sizeof *f->pieces);
    }
    f->pieces[f->n_pieces++] = (struct weir_fold_piece){
        .folded = (uint32_t)f->text.n, .source = (uint32_t)source, .n_source = (uint32_t)n_source};
}

/* `bytes` stand for the `n` bytes at `source`. */
static void put(struct weir_fold *f, size_t source, size_t n, struct weir_slice bytes)
{
    if (bytes.n == 0) {
        return;
    }
    bool is_same_size = bytes.n == n;
    const struct weir_fold_piece *last = f->n_pieces != 0 ? &f->pieces[f->n_pieces - 1] : NULL;
    bool goes_on = is_same_size && last != NULL && last->n_source == 0 && source == f->n_source;
    if (!goes_on) {
        add_piece(f, source, is_same_size ? 0 : n);
    }
    weir_buf_append(&f->text, bytes);
    f->n_source = source + n;
}

static const struct weir_fold_piece *piece_at(const struct weir_fold *f, size_t at)
{
    size_t low = 0;
    size_t high = f->n_pieces;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (f->pieces[middle].folded <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &f->pieces[low];
}

size_t weir_fold_start(const struct weir_fold *f, size_t at)
{
    if (f->n_pieces == 0) {
        return at;
    }
    const struct weir_fold_piece *p = piece_at(f, at);
    return p->n_source != 0 ? p->source : p->source + (at - p->folded);
}

size_t weir_fold_end(const struct weir_fold *f, size_t at)
{
    if (f->n_pieces == 0 || at == 0) {
        return at;
    }
    const struct weir_fold_piece *p = piece_at(f, at - 1);
    return p->source + (p->n_source != 0 ? p->n_source : at - p->folded);
}

void weir_fold_dispose(struct weir_fold *f)
{
    weir_buf_dispose(&f->text);
    free(f->pieces);
    *f = (struct weir_fold){0};
}

/* ---- characters */

/* Between the letters of a word; 1 and ! pass for i more often than for l. */
static char unleet(char c)
{
    static const char from[] = "0134578@$!|";
    static const char to[] = "oieastbasil";
    const char *at = c != '\0' ? strchr(from, c) : NULL;
    return at != NULL ? to[at - from] : c;
}

/* Han, kana, Hangul and the scripts between keep what NFKC would take apart. */
static bool is_left_alone(uint32_t cp)
{
    return (cp >= 0x0900 && cp <= 0x1DFF) || (cp >= 0x2E80 && cp <= 0xFDFF) ||
           (cp >= 0x20000 && cp <= 0x3FFFF);
}

static bool is_mark(uint32_t cp)
{
    return (U_GET_GC_MASK((UChar32)cp) & (U_GC_MN_MASK | U_GC_ME_MASK)) != 0;
}

/* What NFKC with case folding makes of it, without marks; false: it stays as it is. */
static bool map_cp(uint32_t cp, struct weir_buf *out)
{
    UErrorCode err = U_ZERO_ERROR;
    UChar mapped[MAX_MAPPED];
    const UNormalizer2 *forms = unorm2_getNFKCCasefoldInstance(&err);
    int32_t n = unorm2_getDecomposition(forms, (UChar32)cp, mapped, MAX_MAPPED, &err);
    if (U_FAILURE(err) || n < 0) {
        return false;
    }
    for (int32_t i = 0; i < n;) {
        uint32_t c = mapped[i++];
        char bytes[4];
        if (c >= 0xD800 && c <= 0xDBFF && i < n) {
            c = 0x10000 + ((c - 0xD800) << 10) + (mapped[i++] - 0xDC00U);
        }
        if (!is_mark(c)) {
            weir_buf_append(out, weir_slice_make(bytes, weir_utf8_encode(c, bytes)));
        }
    }
    return true;
}

struct folding {
    struct weir_fold *f;
    struct weir_slice t;
    struct weir_buf mapped; /* used again and again */
    struct weir_lookalike_context before;
    size_t word_folded;   /* where the word begins in the folded text */
    size_t spelled_until; /* the next word may be short before it: "i g n o r e   a l l" */
    size_t n_dropped;     /* characters that left nothing, in a row, */
    size_t dropped_at;    /* at that place of the folded text */
    bool is_letters_only;
    bool is_changed;
};

/* Of the word around a character. */
struct word {
    size_t end;
    bool is_latin_spoofed;
    bool is_leet;
};

/* Latin letters of no language are always read as the ones they look like, in lower case as their
 * compatibility forms. */
static char latin_of(uint32_t cp, bool is_spoofed)
{
    enum { DOTLESS_I = 0x0131, DOTLESS_J = 0x0237 };
    if (cp == DOTLESS_I || cp == DOTLESS_J || weir_lookalike_group(cp) == WEIR_LETTERS_ODD) {
        return weir_ascii_lower(weir_lookalike_of(cp));
    }
    return is_spoofed ? weir_lookalike_of(cp) : '\0';
}

/* A stroke after a small letter of its word is an l, before one an I. */
static bool is_after_small(const struct folding *g)
{
    const struct weir_buf *text = &g->f->text;
    return text->n > g->word_folded && text->p[text->n - 1] >= 'a' && text->p[text->n - 1] <= 'z';
}

/* The character leaves nothing; a long run of such is a blank, or a text without end would become
 * one word. */
static void drop(struct folding *g, size_t at, size_t n)
{
    enum { MOST = 32 };
    g->n_dropped = g->dropped_at == g->f->text.n ? g->n_dropped + 1 : 1;
    if (g->n_dropped % MOST == 0) {
        put(g->f, at, n, WEIR_SLICE(" "));
    }
    g->dropped_at = g->f->text.n;
}

static void fold_wide(struct folding *g, size_t at, size_t n, uint32_t cp, const struct word *w)
{
    struct weir_slice same = weir_slice_sub(g->t, at, at + n);
    char one = latin_of(cp, w->is_latin_spoofed);
    one = one == 'I' && is_after_small(g) ? 'l' : one;
    if (cp >= 0xE0020 && cp <= 0xE007E) {
        one = (char)(cp - 0xE0000); /* tags spell ASCII that nobody sees */
    } else if ((cp == 0x3002 || cp == 0xFF61) && !g->is_letters_only) {
        one = '.';
    }
    if (one != '\0') {
        g->is_changed = true;
        put(g->f, at, n, weir_slice_make(&one, 1));
        return;
    }
    if (g->is_letters_only) {
        bool is_unseen = u_hasBinaryProperty((UChar32)cp, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
        g->is_changed = g->is_changed || is_unseen;
        put(g->f, at, n, is_unseen ? (struct weir_slice){0} : same);
        return;
    }
    weir_buf_clear(&g->mapped);
    bool is_same = is_left_alone(cp) || is_dull(cp);
    bool is_mapped = !is_same && (is_mark(cp) || map_cp(cp, &g->mapped));
    if (is_mapped && g->mapped.n == 0) {
        drop(g, at, n);
    } else {
        put(g->f, at, n, is_mapped ? weir_buf_slice(&g->mapped) : same);
    }
}

/* ---- words */

static bool is_letter_near(struct weir_slice t, size_t at)
{
    return weir_ascii_is_alnum(weir_ascii_before(t, at)) &&
           weir_ascii_is_alnum(weir_ascii_at(t, at + 1));
}

/* Letters of another script beside Latin ones, or words that look Latin and are not. */
static bool is_spoofed(const struct weir_lookalike_word *w, struct weir_lookalike_context *before)
{
    size_t n_others = w->n_letters - w->n_of[WEIR_LETTERS_ASCII] - w->n_of[WEIR_LETTERS_ACCENTED] -
                      w->n_of[WEIR_LETTERS_FOREIGN];
    enum weir_lookalike_kind kind = weir_lookalike_judge(w, before);
    weir_lookalike_pass(before, w, kind);
    return kind != WEIR_WORD_PLAIN || (w->n_of[WEIR_LETTERS_ASCII] != 0 && n_others != 0);
}

/* Scripts without spaces: each of their characters is a word of its own. Lisu, Cherokee and the
 * small capitals behind them are not: people spell Latin words with those. */
static bool is_unparted(uint32_t cp)
{
    return (cp >= 0x0E00 && cp <= 0x0EFF) || (cp >= 0x1000 && cp <= 0x109F) ||
           (cp >= 0x1780 && cp <= 0x17FF) || (cp >= 0x2E80 && cp <= 0xA4CF) ||
           (cp >= 0xA980 && cp <= 0xA9DF) || (cp >= 0xAA60 && cp <= 0xAADF) ||
           (cp >= 0xF900 && cp <= 0xFAFF) || (cp >= 0x20000 && cp <= 0x3FFFF);
}

/* Digits and signs between letters of a word, as has_leet has it. */
struct leet {
    bool is_after_letter;
    bool is_run; /* they have begun after a letter */
    bool is_inside;
};

static void follow_leet(struct leet *l, char c)
{
    bool is_letter = weir_ascii_is_alpha(c);
    bool is_start = l->is_after_letter && (weir_ascii_is_digit(c) || c == '@' || c == '$');
    l->is_inside = l->is_inside || (is_letter && l->is_run);
    l->is_run = (is_start || l->is_run) && (is_leet_digit(c) || is_leet_sign(c));
    l->is_after_letter = is_letter;
}

/* A run of letters, digits and marks, with signs that stand for letters. */
static struct word read_word(struct folding *g, size_t at)
{
    struct weir_slice t = g->t;
    struct word w = {.end = at};
    struct weir_lookalike_word letters = {0};
    struct leet leet = {0};
    size_t n_digits = 0;
    size_t from = at;
    bool is_alone = false;
    for (size_t n; !is_alone && at - from < MAX_WORD && weir_ascii_has(t, at); at += n) {
        n = 1;
        char c = t.p[at];
        uint32_t cp = (unsigned char)c;
        if (cp >= 0x80) {
            cp = weir_utf8_decode(weir_slice_sub(t, at, t.n), &n);
        }
        bool is_sign = is_leet_sign(c) && is_letter_near(t, at);
        bool is_part = cp < 0x80 ? weir_ascii_is_alnum(c) || is_sign
                                 : !weir_utf8_is_space(cp) && !u_ispunct((UChar32)cp);
        is_alone = cp >= 0x80 && is_unparted(cp);
        if (!is_part || (is_alone && at > from)) {
            break;
        }
        n_digits += weir_ascii_is_digit(c) || is_sign;
        follow_leet(&leet, c);
        weir_lookalike_add(&letters, cp);
    }
    size_t n_latin = letters.n_of[WEIR_LETTERS_ASCII];
    w.end = at;
    w.is_latin_spoofed = is_spoofed(&letters, &g->before);
    w.is_leet = leet.is_inside && n_latin >= 2 && n_latin >= n_digits;
    return w;
}

static void fold_word(struct folding *g, size_t at, const struct word *w)
{
    for (size_t n; at < w->end; at += n) {
        n = 1;
        char c = g->t.p[at];
        if ((unsigned char)c >= 0x80) {
            uint32_t cp = weir_utf8_decode(weir_slice_sub(g->t, at, g->t.n), &n);
            fold_wide(g, at, n, cp, w);
        } else {
            c = w->is_leet && !g->is_letters_only ? unleet(c) : c;
            put(g->f, at, 1, weir_slice_make(&c, 1));
        }
    }
}

/* One past the last of `least` letters and more of "i g n o r e" at `at`; `at` when it is no such
 * thing. */
static size_t spelled_end(struct weir_slice t, size_t at, size_t least)
{
    char joint = weir_ascii_at(t, at + 1);
    size_t end = at;
    size_t n_letters = 0;
    if (!is_joint(joint) || weir_ascii_is_alnum(weir_ascii_before(t, at))) {
        return at;
    }
    while (end - at < MAX_WORD && weir_ascii_is_alnum(weir_ascii_at(t, end)) &&
           !weir_ascii_is_alnum(weir_ascii_at(t, end + 1))) {
        n_letters++;
        if (weir_ascii_at(t, end + 1) != joint || !weir_ascii_is_alnum(weir_ascii_at(t, end + 2))) {
            return n_letters >= least ? end + 1 : at;
        }
        end += 2;
    }
    return n_letters >= least ? end - 1 : at; /* the last joint is before a word */
}

static size_t fold_spelled(struct folding *g, size_t at, size_t end)
{
    for (; at < end; at += 2) {
        put(g->f, at, 1, weir_slice_sub(g->t, at, at + 1));
    }
    return end;
}

/* The word at `at`, or the one character that is none. Returns where it ends. */
static size_t fold_next(struct folding *g, size_t at)
{
    uint32_t written;
    if (is_written_sign(g->t.p[at]) && !g->is_letters_only) {
        size_t end = written_end(g->t, at, &written);
        if (end > at) {
            char one = (char)written;
            put(g->f, at, end - at, weir_slice_make(&one, 1));
            return end;
        }
    }
    struct word w = read_word(g, at);
    g->word_folded = g->f->text.n;
    if (w.end > at) {
        fold_word(g, at, &w);
        return w.end;
    }
    size_t n = 1;
    uint32_t cp = (unsigned char)g->t.p[at];
    if (cp >= 0x80) {
        cp = weir_utf8_decode(weir_slice_sub(g->t, at, g->t.n), &n);
        fold_wide(g, at, n, cp, &w);
    } else {
        put(g->f, at, 1, weir_slice_sub(g->t, at, at + 1));
    }
    return at + n;
}

/* The word, the spelled-out word or the character at `at`. Returns where it ends. */
static size_t fold_step(struct folding *g, size_t at)
{
    size_t least = at < g->spelled_until ? MIN_SPELLED_ON : MIN_SPELLED;
    size_t spelled = g->is_letters_only ? at : spelled_end(g->t, at, least);
    if (spelled > at) {
        fold_spelled(g, at, spelled);
        g->spelled_until = spelled + MAX_JOINTS + 1;
        return spelled;
    }
    return fold_next(g, at);
}

void weir_fold_run(struct weir_fold *f, struct weir_slice text)
{
    struct folding g = {.f = f, .t = text};
    for (size_t at = 0; at < text.n;) {
        at = fold_step(&g, at);
    }
    weir_buf_dispose(&g.mapped);
}

bool weir_fold_letters(struct weir_fold *f, struct weir_slice text)
{
    struct folding g = {.f = f, .t = text, .is_letters_only = true};
    if (weir_ascii_skip(text, 0) == text.n) {
        return false;
    }
    for (size_t at = 0; at < text.n;) {
        at = fold_step(&g, at);
    }
    return g.is_changed;
}

size_t weir_fold_part(struct weir_fold *f, const struct weir_fold_part *part,
                      struct weir_fold_state *state)
{
    struct weir_fold none = {0};
    struct folding g = {.f = f != NULL ? f : &none,
                        .t = part->text,
                        .before = state->before,
                        .n_dropped = state->n_dropped,
                        .spelled_until = state->spelled_until,
                        .is_letters_only = part->is_letters_only};
    size_t done = 0;
    while (done < part->text.n && done < part->stop) {
        struct weir_fold was = *g.f;
        weir_ascii_edge = (struct weir_ascii_edge){.end = part->text.p + part->text.n};
        size_t next = fold_step(&g, done);
        bool is_met = weir_ascii_edge.is_met;
        weir_ascii_edge = (struct weir_ascii_edge){0};
        if ((is_met && !part->is_end) || next > part->stop) {
            g.f->text.n = was.text.n;
            g.f->n_pieces = was.n_pieces;
            g.f->n_source = was.n_source;
            break;
        }
        state->before = g.before;
        state->n_dropped = g.n_dropped;
        done = next;
        state->spelled_until = g.spelled_until > done ? g.spelled_until - done : 0;
    }
    weir_buf_dispose(&g.mapped);
    weir_fold_dispose(&none);
    return done;
}

bool weir_fold_is_written(struct weir_slice text, size_t at)
{
    uint32_t cp;
    return written_end(text, at, &cp) > at;
}

void weir_fold_written(struct weir_fold *f, struct weir_slice text)
{
    for (size_t at = 0, end; at < text.n; at = end) {
        uint32_t cp;
        end = is_written_sign(text.p[at]) ? written_end(text, at, &cp) : at;
        char one = end > at ? (char)cp : text.p[at];
        end = end > at ? end : at + 1;
        put(f, at, end - at, weir_slice_make(&one, 1));
    }
}

void weir_fold_wide(struct weir_buf *out, struct weir_slice text)
{
    struct weir_fold f = {0};
    struct folding g = {.f = &f, .t = text};
    struct word w = {0};
    size_t n;
    for (size_t at = 0; at < text.n; at += n) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(text, at, text.n), &n);
        if (cp >= 0x80) {
            fold_wide(&g, at, n, cp, &w);
        } else {
            put(&f, at, 1, weir_slice_sub(text, at, at + 1));
        }
    }
    weir_buf_append(out, weir_buf_slice(&f.text));
    weir_buf_dispose(&g.mapped);
    weir_fold_dispose(&f);
}
