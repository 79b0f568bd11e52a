/*
 * ASCII is skipped by the word of memory; what is left is decoded once and classified by range. A
 * character or word is judged by itself, the 64 letters before it and, for controls, the next
 * letter: never by the text as a whole. Only a word of Latin and another script is shown to ICU.
 */
#include "detect/unicode.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/lookalike.h"
#include "detect/rest.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/uspoof.h>

enum {
    MAX_WORD = 256,
    MAX_RUN = 64, /* characters of a pile of marks, or in dress, that are read at once */
    MAX_AHEAD = 16,
    MEMORY = 64,
    MIN_GREEK = 5,
    MIN_DRESSED = 3,
    MIN_MARKS = 4,
};

struct settings {
    USpoofChecker *spoof; /* only read after it was made */
};

static void free_settings(void *p)
{
    struct settings *s = p;
    uspoof_close(s->spoof);
    free(s);
}

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    (void)params;
    UErrorCode err = U_ZERO_ERROR;
    USpoofChecker *spoof = uspoof_open(&err);
    uspoof_setChecks(spoof, USPOOF_RESTRICTION_LEVEL, &err);
    uspoof_setRestrictionLevel(spoof, USPOOF_MODERATELY_RESTRICTIVE);
    if (U_FAILURE(err)) {
        uspoof_close(spoof);
        weir_buf_printf(why, "ICU's table of confusable characters is missing: %s",
                        u_errorName(err));
        return NULL;
    }
    struct settings *s = weir_mem_zalloc(sizeof *s);
    s->spoof = spoof;
    return s;
}

/* What was met, and how many letters there were before it; 0: never. */
struct sight {
    uint64_t at;
};

struct scan {
    const struct settings *settings;
    struct weir_slice text;
    size_t from_byte; /* where that begins */
    struct weir_found *found;
    struct weir_lookalike_context letters; /* up to letters_to */
    size_t letters_to;
    uint32_t before; /* the character before this one, and before joiners that are as they should */
    size_t n_joiners; /* in a row */
    size_t word_end;  /* words up to here have been judged */
    size_t long_end;  /* up to here goes a word that is too long to be judged; 0: there is none */
    size_t marks_end; /* the same of a pile of marks that was told, */
    size_t dress_end; /* and of letters in dress that were */
    bool is_in_flag;  /* tags after a black flag */
    struct sight han;
    struct sight rtl;
    struct sight braille;
    struct sight unspaced;
    uint64_t overrides; /* a bit per open embedding, the innermost lowest: is it an override? */
};

typedef bool (*char_fn)(uint32_t cp);

/* Letters of ASCII up to `at` become context; other words do when they are read. */
static void pass_letters(struct scan *s, size_t at)
{
    size_t n = 0;
    for (size_t i = s->letters_to; i < at; i++) {
        n += weir_ascii_is_alpha(s->text.p[i]);
    }
    weir_lookalike_pass_ascii(&s->letters, n);
    s->letters_to = at > s->letters_to ? at : s->letters_to;
}

static void see(struct scan *s, struct sight *sight)
{
    sight->at = s->letters.n_letters + 1;
}

/* Was it met among the last 64 letters, or is there one in the next characters after `at`? */
static bool is_near(struct scan *s, const struct sight *sight, size_t at, char_fn is_like)
{
    pass_letters(s, at);
    if (sight->at != 0 && s->letters.n_letters + 1 - sight->at < MEMORY) {
        return true;
    }
    size_t n;
    for (size_t i = 0; i < MAX_AHEAD && weir_ascii_has(s->text, at); i++, at += n) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(s->text, at, s->text.n), &n);
        if (is_like(cp)) {
            return true;
        }
    }
    return false;
}

static int add(struct scan *s, size_t from, size_t to, const char *kind, double score)
{
    struct weir_found_span span = {.start_byte = from,
                                   .end_byte = to,
                                   .detection = weir_slice_cstr(kind),
                                   .detection_type = WEIR_SLICE("obfuscation"),
                                   .score = score};
    return weir_found_add(s->found, &span);
}

/* ---- invisible characters and direction */

static bool is_joining_script(uint32_t cp)
{
    return cp >= 0x0600 && cp <= 0x1CFF;
}

static bool is_pictograph(uint32_t cp)
{
    return (cp >= 0x2190 && cp <= 0x2BFF) || (cp >= 0x1F000 && cp <= 0x1FAFF) || cp == 0xFE0F ||
           cp == 0x3030 || cp == 0x303D || cp == 0xA9 || cp == 0xAE || cp == 0x20E3 ||
           cp == 0x3297 || cp == 0x3299 || cp == 0x203C || cp == 0x2049 || cp == 0x2122 ||
           cp == 0x2139;
}

static bool is_han(uint32_t cp)
{
    return (cp >= 0x2E80 && cp <= 0x9FFF) || (cp >= 0xF900 && cp <= 0xFAFF) ||
           (cp >= 0x20000 && cp <= 0x3FFFF);
}

static bool is_tag(uint32_t cp)
{
    return cp >= 0xE0000 && cp <= 0xE007F;
}

static bool is_selector(uint32_t cp)
{
    return (cp >= 0xFE00 && cp <= 0xFE0F) || (cp >= 0xE0100 && cp <= 0xE01EF);
}

static bool is_selector_fit(uint32_t before)
{
    return is_pictograph(before) || is_han(before) || (before >= '0' && before <= '9') ||
           before == '#' || before == '*' || (before >= 0x1800 && before <= 0x18AF) ||
           (before >= 0x2200 && before <= 0x22FF) || (before >= 0x1000 && before <= 0x109F) ||
           before == 0x3001 || before == 0x3002 || before == 0xFF0C || before == 0xFF0E;
}

static bool is_braille(uint32_t cp)
{
    return cp > 0x2800 && cp <= 0x28FF;
}

/* Scripts that mark where a line may break with a space of no width: Thai, Lao, Tibetan, Burmese,
 * Khmer and their neighbours. */
static bool is_unspaced(uint32_t cp)
{
    return (cp >= 0x0E00 && cp <= 0x109F) || (cp >= 0x1780 && cp <= 0x17FF) ||
           (cp >= 0x1950 && cp <= 0x1AAF) || (cp >= 0xA9E0 && cp <= 0xAADF);
}

/* The character at `at`; a space at the end. */
static uint32_t char_at(const struct scan *s, size_t at)
{
    size_t n;
    return weir_ascii_has(s->text, at)
               ? weir_utf8_decode(weir_slice_sub(s->text, at, s->text.n), &n)
               : ' ';
}

/* A joiner has its place beside letters that join, on either side; two in a row are how Malayalam
 * was written once, more carry something. */
static bool is_stray_joiner(struct scan *s, uint32_t cp, size_t at)
{
    enum { MOST = 2, JOINER_BYTES = 3 };
    bool is_emoji = cp == 0x200D && is_pictograph(s->before);
    bool is_beside =
        is_joining_script(s->before) || is_joining_script(char_at(s, at + JOINER_BYTES));
    return ++s->n_joiners > MOST || (!is_emoji && !is_beside);
}

/* A space of no width is at home in a text that needs it; not in the middle of other words. */
static bool is_stray_space(struct scan *s, size_t at)
{
    enum { SPACE_BYTES = 3 };
    uint32_t next = char_at(s, at + SPACE_BYTES);
    bool is_inside = u_isalpha((UChar32)s->before) && !is_unspaced(s->before) &&
                     u_isalpha((UChar32)next) && !is_unspaced(next);
    return is_inside || !is_near(s, &s->unspaced, at, is_unspaced);
}

static bool is_invisible(struct scan *s, uint32_t cp, size_t at)
{
    switch (cp) {
    case 0x200C:
    case 0x200D:
        return is_stray_joiner(s, cp, at);
    case 0x200B:
        return is_stray_space(s, at);
    case 0x2800:
        return !is_near(s, &s->braille, at, is_braille);
    case 0xFEFF:
        return s->from_byte + at != 0;
    case 0x00AD:
    case 0x034F:
    case 0x115F:
    case 0x1160:
    case 0x17B4:
    case 0x17B5:
    case 0x180E:
    case 0x3164:
    case 0xFFA0:
        return true;
    default:
        break;
    }
    if (is_tag(cp)) {
        return !s->is_in_flag;
    }
    if (is_selector(cp)) {
        bool is_fit = cp >= 0xE0100 ? is_han(s->before) : is_selector_fit(s->before);
        return !is_fit || is_selector(s->before);
    }
    return (cp >= 0x2060 && cp <= 0x2064) || (cp >= 0x206A && cp <= 0x206F) ||
           (cp >= 0x1D173 && cp <= 0x1D17A);
}

static bool is_rtl(uint32_t cp)
{
    return (cp >= 0x0590 && cp <= 0x08FF && cp != 0x061C) || (cp >= 0xFB1D && cp <= 0xFDFF) ||
           (cp >= 0xFE70 && cp <= 0xFEFC) || (cp >= 0x10800 && cp <= 0x10FFF) ||
           (cp >= 0x1E800 && cp <= 0x1EFFF);
}

/* Keeps account of embeddings and overrides; is `cp` an override, or the end of one? */
static bool is_override(struct scan *s, uint32_t cp)
{
    bool is_end = cp == 0x202C && (s->overrides & 1) != 0;
    if (cp >= 0x202A && cp <= 0x202E) {
        uint64_t opened = s->overrides << 1 | (cp >= 0x202D);
        s->overrides = cp == 0x202C ? s->overrides >> 1 : opened;
    }
    return is_end || cp == 0x202D || cp == 0x202E;
}

static bool is_bidi(struct scan *s, uint32_t cp, size_t at)
{
    if (is_override(s, cp)) {
        return true;
    }
    bool is_control = cp == 0x061C || cp == 0x200E || cp == 0x200F ||
                      (cp >= 0x202A && cp <= 0x202C) || (cp >= 0x2066 && cp <= 0x2069);
    return is_control && !is_near(s, &s->rtl, at, is_rtl);
}

/* ---- words of several scripts */

struct word {
    size_t from;
    size_t to;
    struct weir_lookalike_word letters;
    size_t n_latin;
    size_t n_plain; /* of these, without an accent */
    size_t n_like;  /* of these, letters that Cyrillic has the like of */
    size_t n_caps;  /* of these, capitals */
    size_t n_other; /* letters of Cyrillic, Greek and their like */
    size_t n_greek;
    size_t n_turns; /* from one to the other */
    bool has_rtl;
    bool has_han;
    bool has_unspaced;
};

static bool is_word_cp(uint32_t cp)
{
    return u_isalnum((UChar32)cp) || (U_GET_GC_MASK((UChar32)cp) & U_GC_M_MASK) != 0 ||
           weir_lookalike_group(cp) != WEIR_LETTERS_NONE;
}

/* Scripts whose letters are taken for Latin ones. */
static bool is_lookalike_script(uint32_t cp)
{
    return (cp >= 0x0370 && cp <= 0x058F) || (cp >= 0x13A0 && cp <= 0x13FF) ||
           (cp >= 0x1C80 && cp <= 0x1C8F) || (cp >= 0x1F00 && cp <= 0x1FFF) ||
           (cp >= 0xA4D0 && cp <= 0xA4FF) || (cp >= 0xA640 && cp <= 0xA69F) ||
           (cp >= 0xAB70 && cp <= 0xABBF);
}

static bool is_latin(uint32_t cp)
{
    if (cp < 0x80) {
        return weir_ascii_is_alpha((char)cp);
    }
    UErrorCode err = U_ZERO_ERROR;
    return (cp < 0x250 || (cp >= 0x1E00 && cp <= 0x1EFF)) &&
           uscript_getScript((UChar32)cp, &err) == USCRIPT_LATIN;
}

/* Where the word begins that the judge at `at` would look at, if it is not too long. */
static size_t word_start(const struct scan *s, size_t at)
{
    size_t from = at;
    while (from > s->word_end && at - from < MAX_WORD && weir_ascii_is_alnum(s->text.p[from - 1])) {
        from--;
    }
    return from;
}

/* A word of more than MAX_WORD bytes is read in parts. */
static void read_word(struct scan *s, size_t at, struct word *w)
{
    struct weir_slice t = s->text;
    *w = (struct word){.from = word_start(s, at), .to = at};
    int last = 0;
    for (size_t i = w->from, n; w->to <= w->from + MAX_WORD && weir_ascii_has(t, i);
         i += n, w->to = i) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(t, i, t.n), &n);
        bool is_own =
            is_han(cp) || is_unspaced(cp); /* scripts without spaces: no word to wait for */
        if (!is_word_cp(cp) || (is_own && i > w->from)) {
            break;
        }
        weir_lookalike_add(&w->letters, cp);
        w->has_rtl = w->has_rtl || is_rtl(cp);
        w->has_han = w->has_han || is_han(cp);
        w->has_unspaced = w->has_unspaced || is_unspaced(cp);
        bool is_other = is_lookalike_script(cp);
        int script = is_other ? 2 : is_latin(cp);
        w->n_other += is_other;
        w->n_greek += is_other && cp < 0x0400;
        w->n_latin += script == 1;
        w->n_plain += script == 1 && cp < 0x80;
        w->n_like += cp < 0x80 && strchr("aceopxyisjABCEHIKMOPTXS", (int)cp) != NULL;
        w->n_caps += cp < 0x80 && weir_ascii_is_upper((char)cp);
        w->n_turns += script != 0 && last != 0 && script != last;
        last = script != 0 ? script : last;
        if (is_own) {
            w->to = i + n;
            break;
        }
    }
}

static bool is_ascii(const char *s, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if ((unsigned char)s[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

static bool looks_latin(const struct scan *s, const struct word *w)
{
    char skeleton[4 * MAX_WORD];
    UErrorCode err = U_ZERO_ERROR;
    int32_t n = uspoof_getSkeletonUTF8(s->settings->spoof, 0, s->text.p + w->from,
                                       (int32_t)(w->to - w->from), skeleton,
                                       (int32_t)sizeof skeleton, &err);
    return U_SUCCESS(err) && n <= (int32_t)sizeof skeleton && is_ascii(skeleton, n);
}

static bool is_mixed(const struct scan *s, const struct word *w)
{
    UErrorCode err = U_ZERO_ERROR;
    int32_t checks = uspoof_check2UTF8(s->settings->spoof, s->text.p + w->from,
                                       (int32_t)(w->to - w->from), NULL, &err);
    return U_SUCCESS(err) && checks != 0;
}

/* A letter or a few in a Cyrillic word, all with a twin there; abbreviations are capitals, and the
 * letter of -c is none of the word's. */
static bool looks_cyrillic(const struct scan *s, const struct word *w)
{
    char before = weir_ascii_before(s->text, w->from);
    return before != '-' && before != '$' && w->n_greek == 0 && w->n_like == w->n_latin &&
           w->n_latin * 2 <= w->n_other && w->n_other >= 3 && w->n_latin <= 2 && w->n_caps <= 1;
}

/* PDFом is Russian for "as a PDF", kΩ a unit: one turn, and not all of it looks Latin. */
static bool is_beside_latin(const struct scan *s, const struct word *w)
{
    size_t n = w->n_latin + w->n_other;
    bool is_formula = w->n_greek == w->n_other && n < MIN_GREEK;
    char before = weir_ascii_before(s->text, w->from);
    bool is_escape = (before == '%' || before == '\\') && w->n_turns == 1; /* %s, \n */
    bool is_accented = w->n_plain == 0 && w->n_other > w->n_latin;         /* кôд */
    bool is_like = !is_escape && (looks_latin(s, w) || looks_cyrillic(s, w));
    bool is_trick = (w->n_turns >= 2 || is_like) && !is_formula && !is_accented && n > 1;
    return is_trick && (is_like || is_mixed(s, w));
}

/* Is it one that is too long, or the rest of one? */
static bool is_long(struct scan *s, const struct word *w)
{
    bool is_rest = s->long_end != 0 && w->from <= s->long_end;
    bool is_one = is_rest || w->to - w->from > MAX_WORD;
    s->long_end = is_one ? w->to : 0;
    return is_one;
}

static int judge_word(struct scan *s, const struct word *w, enum weir_lookalike_kind kind)
{
    if (is_long(s, w)) {
        return 0;
    }
    switch (kind) {
    case WEIR_WORD_MIXED:
        return add(s, w->from, w->to, "homoglyph", 1.0);
    case WEIR_WORD_WHOLE:
        return add(s, w->from, w->to, "homoglyph", 0.6);
    default:
        break;
    }
    bool is_trick = w->n_other != 0 && w->n_latin != 0 && is_beside_latin(s, w);
    return is_trick ? add(s, w->from, w->to, "homoglyph", 1.0) : 0;
}

/* The word at `at` is judged, once, and becomes context of those after it. */
static int take_word(struct scan *s, size_t at)
{
    struct word w;
    read_word(s, at, &w);
    pass_letters(s, w.from);
    enum weir_lookalike_kind kind = weir_lookalike_judge(&w.letters, &s->letters);
    int rc = judge_word(s, &w, kind);
    weir_lookalike_pass(&s->letters, &w.letters, kind);
    s->letters_to = w.to;
    s->word_end = w.to;
    if (w.has_rtl) {
        see(s, &s->rtl);
    }
    if (w.has_han) {
        see(s, &s->han);
    }
    if (w.has_unspaced) {
        see(s, &s->unspaced);
    }
    return rc;
}

/* ---- letters in dress, piles of marks */

static bool is_mark(uint32_t cp)
{
    return (cp >= 0x0300 && cp <= 0x036F && cp != 0x034F) || (cp >= 0x1AB0 && cp <= 0x1AFF) ||
           (cp >= 0x1DC0 && cp <= 0x1DFF) || (cp >= 0x20D0 && cp <= 0x20DC) ||
           (cp >= 0x0483 && cp <= 0x0489);
}

/* One past the run that begins at `at`, or a part of it; `*n_cp` its characters. */
static size_t run_end(struct weir_slice t, size_t at, char_fn is_in, size_t *n_cp)
{
    size_t n;
    *n_cp = 0;
    while (*n_cp < MAX_RUN && weir_ascii_has(t, at) &&
           is_in(weir_utf8_decode(weir_slice_sub(t, at, t.n), &n))) {
        at += n;
        ++*n_cp;
    }
    return at;
}

/* Full-width letters in a text with Han or kana are how such text sets Latin ones. */
static bool is_set_wide(struct scan *s, uint32_t cp, size_t end)
{
    return cp >= 0xFF00 && cp <= 0xFFFF && is_near(s, &s->han, end, is_han);
}

/* A pile of marks. */
static size_t take_marks(struct scan *s, size_t at, int *rc)
{
    size_t n_cp;
    size_t end = run_end(s->text, at, is_mark, &n_cp);
    bool is_rest = s->marks_end != 0 && s->marks_end == at;
    bool is_pile = is_rest || n_cp >= MIN_MARKS;
    s->marks_end = is_pile ? end : 0;
    *rc = is_pile ? add(s, at, end, "zalgo", 0.9) : 0;
    return end;
}

static size_t take_dressed(struct scan *s, size_t at, int *rc)
{
    size_t n;
    size_t n_cp;
    uint32_t cp = weir_utf8_decode(weir_slice_sub(s->text, at, s->text.n), &n);
    *rc = at >= s->word_end ? take_word(s, at) : 0;
    size_t end = run_end(s->text, at, weir_lookalike_is_dressed, &n_cp);
    bool is_rest = s->dress_end != 0 && s->dress_end == at;
    bool is_trick = *rc == 0 && (is_rest || (n_cp >= MIN_DRESSED && !is_set_wide(s, cp, end)));
    s->dress_end = is_trick ? end : 0;
    *rc = is_trick ? add(s, at, end, "homoglyph", 0.8) : *rc;
    return end;
}

/* ---- the pass */

/* Judges the character at `at`; returns where to go on. */
static size_t judge_at(struct scan *s, size_t at, int *rc)
{
    struct weir_slice t = s->text;
    size_t n;
    uint32_t cp = weir_utf8_decode(weir_slice_sub(t, at, t.n), &n);
    size_t end = at + n;
    s->is_in_flag = cp == 0x1F3F4 || (s->is_in_flag && is_tag(cp));
    if (is_invisible(s, cp, at)) {
        *rc = add(s, at, end, "invisible", 1.0);
    } else if (is_bidi(s, cp, at)) {
        *rc = add(s, at, end, "bidi_control", 1.0);
    } else if (is_mark(cp)) {
        end = take_marks(s, at, rc);
    } else if (weir_lookalike_is_dressed(cp)) {
        end = take_dressed(s, at, rc);
    } else if (at >= s->word_end && u_isalpha((UChar32)cp)) {
        *rc = take_word(s, at);
    } else if (is_braille(cp)) {
        see(s, &s->braille);
    }
    bool is_joiner = cp == 0x200C || cp == 0x200D;
    s->n_joiners = is_joiner ? s->n_joiners : 0;
    s->before = is_joiner && is_joining_script(s->before) ? s->before : cp;
    return end;
}

/* The next character that is not ASCII. */
static size_t pass_ascii(struct scan *s, size_t at)
{
    size_t next = weir_ascii_skip(s->text, at);
    if (next > at) {
        s->n_joiners = 0;
        s->before = (unsigned char)s->text.p[next - 1];
    }
    return next;
}

/* Neighbours of one kind are one finding, up to the length that findings have. */
static bool is_joined(const struct weir_found_span *last, const struct weir_found_span *next)
{
    return last->end_byte == next->start_byte && last->end_byte != 0 &&
           next->end_byte - last->start_byte <= WEIR_READER_SURE_REACH &&
           weir_slice_eq(last->detection, next->detection);
}

static void join(struct weir_found *f, size_t first)
{
    size_t kept = first;
    for (size_t i = first; i < f->n; i++) {
        struct weir_found_span *last = kept > first ? &f->spans[kept - 1] : NULL;
        if (last != NULL && is_joined(last, &f->spans[i])) {
            last->end_byte = f->spans[i].end_byte;
        } else {
            f->spans[kept++] = f->spans[i];
        }
    }
    f->n = kept;
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    (void)run;
    struct scan s = {.settings = settings, .text = text, .found = found};
    size_t first = found->n;
    int rc = 0;
    for (size_t at = pass_ascii(&s, 0); at < text.n && rc == 0;) {
        at = pass_ascii(&s, judge_at(&s, at, &rc));
    }
    join(found, first);
    return rc;
}

/* ---- reading along */

struct reader {
    struct scan scan;            /* its offsets count from the beginning of the whole text */
    size_t at_byte;              /* judged up to there */
    struct weir_found_span last; /* may still be joined with the next; all-zero: none */
};

static size_t reader_size(const void *settings)
{
    (void)settings;
    return sizeof(struct reader);
}

static void reader_init(void *state, const void *settings)
{
    struct reader *r = state;
    r->scan.settings = settings;
}

static void reader_dispose(void *state)
{
    (void)state;
}

static size_t minus(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* Moves the offsets of a scan from one beginning to another. */
static void move_base(struct scan *s, size_t from_byte)
{
    s->letters_to = minus(s->from_byte + s->letters_to, from_byte);
    s->word_end = minus(s->from_byte + s->word_end, from_byte);
    s->long_end = minus(s->from_byte + s->long_end, from_byte);
    s->marks_end = minus(s->from_byte + s->marks_end, from_byte);
    s->dress_end = minus(s->from_byte + s->dress_end, from_byte);
    s->from_byte = from_byte;
}

/* The word of ASCII that the text ends with: with the next letter it may be a mixed one. */
static size_t tail_start(const struct scan *s)
{
    size_t from = s->text.n;
    while (from > s->word_end && s->text.n - from <= MAX_WORD &&
           weir_ascii_is_alnum(s->text.p[from - 1])) {
        from--;
    }
    return s->text.n - from <= MAX_WORD ? from : s->text.n;
}

/* One step that nothing still to come can change; false: more must come. */
static bool step(struct scan *s, size_t *at, bool is_end, int *rc)
{
    struct scan before = *s;
    size_t n_found = s->found->n;
    weir_ascii_edge = (struct weir_ascii_edge){.end = s->text.p + s->text.n};
    size_t next = judge_at(s, *at, rc);
    bool is_met = weir_ascii_edge.is_met;
    weir_ascii_edge = (struct weir_ascii_edge){0};
    if (is_met && !is_end) {
        *s = before;
        s->found->n = n_found;
        return false;
    }
    *at = pass_ascii(s, next);
    return true;
}

/* What was found new, joined; the last of it is kept back. */
static int pass_on(struct reader *r, const struct weir_found *news, struct weir_found *found)
{
    int rc = 0;
    for (size_t i = 0; i < news->n && rc == 0; i++) {
        struct weir_found_span span = news->spans[i];
        span.start_byte += r->scan.from_byte;
        span.end_byte += r->scan.from_byte;
        if (is_joined(&r->last, &span)) {
            r->last.end_byte = span.end_byte;
            continue;
        }
        rc = r->last.end_byte != 0 ? weir_found_add(found, &r->last) : 0;
        r->last = span;
    }
    return rc;
}

static int reader_read(void *state, const void *settings, const struct weir_reader_text *t,
                       struct weir_reader_out *out)
{
    (void)settings;
    struct reader *r = state;
    struct scan *s = &r->scan;
    struct weir_found news = {0};
    int rc = 0;
    move_base(s, t->from_byte);
    s->text = t->text;
    s->found = &news;
    size_t at = minus(r->at_byte, t->from_byte);
    at = at < t->text.n ? pass_ascii(s, at) : at;
    while (at < t->text.n && rc == 0 && step(s, &at, t->is_end, &rc)) {
    }
    r->at_byte = t->from_byte + at;
    rc = rc == 0 ? pass_on(r, &news, out->found) : rc;
    weir_found_dispose(&news);
    size_t low = at < t->text.n ? word_start(s, at) : tail_start(s);
    pass_letters(s, low < at ? low : at);
    low += t->from_byte;
    out->quiet_byte = at < t->text.n && low < out->quiet_byte ? low : out->quiet_byte;
    if (r->last.end_byte != 0 && (t->is_end || low > r->last.end_byte)) {
        rc = rc == 0 ? weir_found_add(out->found, &r->last) : rc;
        r->last = (struct weir_found_span){0};
    }
    bool is_kept = r->last.end_byte != 0;
    out->quiet_byte =
        is_kept && r->last.start_byte < out->quiet_byte ? r->last.start_byte : out->quiet_byte;
    low = is_kept && r->last.start_byte < low ? r->last.start_byte : low;
    out->low_byte = low > out->low_byte ? low : out->low_byte;
    return rc;
}

/* Its at_byte is the end of what it has read, or a character that waits. */
static bool can_rest(const void *state, const void *settings)
{
    (void)settings;
    const struct reader *r = state;
    return r->last.end_byte == 0 && r->at_byte >= r->scan.from_byte + r->scan.text.n;
}

static const struct weir_reader_ops reader = {.size = reader_size,
                                              .init = reader_init,
                                              .dispose = reader_dispose,
                                              .read = reader_read,
                                              .can_rest = can_rest,
                                              .rests_on = WEIR_REST_ASCII};

static const char *const members[] = {NULL};

const struct weir_builtin_kind weir_detect_unicode = {.name = "unicode",
                                                      .members = members,
                                                      .make = make,
                                                      .free = free_settings,
                                                      .scan = scan,
                                                      .reader = &reader};
