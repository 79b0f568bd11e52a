/*
 * ASCII is skipped by the word of memory; what is left is decoded once and classified by range.
 * Only a word that has letters of two scripts, or none of Latin, is shown to ICU.
 */
#include "detect/unicode.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/ascii.h"

#include <stdlib.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/uspoof.h>

enum {
    MAX_WORD = 256,
    MAX_ALONE = 16,
    MIN_ALONE = 4,
    MIN_GREEK = 5,
    MIN_DRESSED = 3,
    MIN_MARKS = 4
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

/* Words that look Latin and are not: findings only if nothing else in the text is like them. */
struct alone {
    struct weir_found_span spans[MAX_ALONE];
    size_t n;
    bool has_others;
};

struct scan {
    const struct settings *settings;
    struct weir_slice text;
    struct weir_found *found;
    struct alone alone;
    uint32_t before; /* the character before this one */
    size_t word_end; /* words up to here have been judged */
    bool is_in_flag; /* tags after a black flag */
    bool is_han_known;
    bool is_han;
    bool is_rtl_known;
    bool is_rtl;
};

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

static bool is_invisible(const struct scan *s, uint32_t cp, size_t at)
{
    switch (cp) {
    case 0x200C:
        return !is_joining_script(s->before);
    case 0x200D:
        return !is_joining_script(s->before) && (!is_pictograph(s->before));
    case 0xFEFF:
        return at != 0;
    case 0x00AD:
    case 0x034F:
    case 0x115F:
    case 0x1160:
    case 0x17B4:
    case 0x17B5:
    case 0x180E:
    case 0x200B:
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

static bool has_rtl(struct scan *s)
{
    for (size_t at = 0; at < s->text.n && !s->is_rtl_known;) {
        size_t n;
        s->is_rtl = is_rtl(weir_utf8_decode(weir_slice_sub(s->text, at, s->text.n), &n));
        s->is_rtl_known = s->is_rtl;
        at += n;
    }
    s->is_rtl_known = true;
    return s->is_rtl;
}

static bool is_bidi(struct scan *s, uint32_t cp)
{
    if (cp == 0x202D || cp == 0x202E) {
        return true;
    }
    bool is_control = cp == 0x061C || cp == 0x200E || cp == 0x200F ||
                      (cp >= 0x202A && cp <= 0x202C) || (cp >= 0x2066 && cp <= 0x2069);
    return is_control && !has_rtl(s);
}

/* ---- words of several scripts */

struct word {
    size_t from;
    size_t to;
    size_t n_latin;
    size_t n_other; /* letters of Cyrillic, Greek and their like */
    size_t n_greek;
    size_t n_turns; /* from one to the other */
};

static bool is_word_cp(uint32_t cp)
{
    return u_isalnum((UChar32)cp) || (U_GET_GC_MASK((UChar32)cp) & U_GC_M_MASK) != 0;
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

static void read_word(struct scan *s, size_t at, struct word *w)
{
    struct weir_slice t = s->text;
    *w = (struct word){.from = at, .to = at};
    while (w->from > s->word_end && weir_ascii_is_alnum(t.p[w->from - 1])) {
        w->from--;
    }
    int last = 0;
    for (size_t i = w->from, n; i < t.n; i += n, w->to = i) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(t, i, t.n), &n);
        if (!is_word_cp(cp)) {
            break;
        }
        bool is_other = is_lookalike_script(cp);
        int script = is_other ? 2 : is_latin(cp);
        w->n_other += is_other;
        w->n_greek += is_other && cp < 0x0400;
        w->n_latin += script == 1;
        w->n_turns += script != 0 && last != 0 && script != last;
        last = script != 0 ? script : last;
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

/* PDFом is Russian for "as a PDF", kΩ a unit: one turn, and not all of it looks Latin. */
static int judge_word(struct scan *s, const struct word *w)
{
    if (w->to - w->from > MAX_WORD || w->n_other == 0) {
        return 0;
    }
    if (w->n_latin == 0) {
        bool is_like = w->n_other >= MIN_ALONE && looks_latin(s, w);
        if (!is_like || s->alone.n == MAX_ALONE) {
            s->alone.has_others = true;
            return 0;
        }
        s->alone.spans[s->alone.n++] =
            (struct weir_found_span){.start_byte = w->from, .end_byte = w->to};
        return 0;
    }
    size_t n = w->n_latin + w->n_other;
    bool is_formula = w->n_greek == w->n_other && n < MIN_GREEK;
    bool is_trick = (w->n_turns >= 2 || looks_latin(s, w)) && !is_formula && n > 1;
    s->alone.has_others = s->alone.has_others || !is_trick;
    return is_trick && is_mixed(s, w) ? add(s, w->from, w->to, "homoglyph", 1.0) : 0;
}

/* ---- letters in dress, piles of marks */

static bool is_dressed(uint32_t cp)
{
    return (cp >= 0x1D400 && cp <= 0x1D6A5) || (cp >= 0x24B6 && cp <= 0x24E9) ||
           (cp >= 0xFF21 && cp <= 0xFF3A) || (cp >= 0xFF41 && cp <= 0xFF5A) ||
           (cp >= 0x1F130 && cp <= 0x1F149) || (cp >= 0x1F150 && cp <= 0x1F169) ||
           (cp >= 0x1F170 && cp <= 0x1F189);
}

static bool is_mark(uint32_t cp)
{
    return (cp >= 0x0300 && cp <= 0x036F && cp != 0x034F) || (cp >= 0x1AB0 && cp <= 0x1AFF) ||
           (cp >= 0x1DC0 && cp <= 0x1DFF) || (cp >= 0x20D0 && cp <= 0x20DC) ||
           (cp >= 0x0483 && cp <= 0x0489);
}

typedef bool (*in_run_fn)(uint32_t cp);

/* One past the run that begins at `at`; `*n_cp` its characters. */
static size_t run_end(struct weir_slice t, size_t at, in_run_fn is_in, size_t *n_cp)
{
    size_t n;
    *n_cp = 0;
    while (at < t.n && is_in(weir_utf8_decode(weir_slice_sub(t, at, t.n), &n))) {
        at += n;
        ++*n_cp;
    }
    return at;
}

/* Full-width letters in a text with Han or kana are how such text sets Latin ones. */
static bool is_set_wide(struct scan *s, uint32_t cp)
{
    if (cp < 0xFF00 || cp > 0xFFFF) {
        return false;
    }
    for (size_t at = 0; at < s->text.n && !s->is_han_known;) {
        size_t n;
        s->is_han = is_han(weir_utf8_decode(weir_slice_sub(s->text, at, s->text.n), &n));
        s->is_han_known = s->is_han;
        at += n;
    }
    s->is_han_known = true;
    return s->is_han;
}

/* ---- the pass */

/* Judges the character at `at`; returns where to go on. */
static size_t judge_at(struct scan *s, size_t at, int *rc)
{
    struct weir_slice t = s->text;
    size_t n;
    size_t n_cp;
    uint32_t cp = weir_utf8_decode(weir_slice_sub(t, at, t.n), &n);
    size_t end = at + n;
    s->is_in_flag = cp == 0x1F3F4 || (s->is_in_flag && is_tag(cp));
    if (is_invisible(s, cp, at)) {
        *rc = add(s, at, end, "invisible", 1.0);
    } else if (is_bidi(s, cp)) {
        *rc = add(s, at, end, "bidi_control", 1.0);
    } else if (is_mark(cp)) {
        end = run_end(t, at, is_mark, &n_cp);
        *rc = n_cp >= MIN_MARKS ? add(s, at, end, "zalgo", 0.9) : 0;
    } else if (is_dressed(cp)) {
        end = run_end(t, at, is_dressed, &n_cp);
        bool is_trick = n_cp >= MIN_DRESSED && !is_set_wide(s, cp);
        *rc = is_trick ? add(s, at, end, "homoglyph", 0.8) : 0;
    } else if (is_lookalike_script(cp) && at >= s->word_end) {
        struct word w;
        read_word(s, at, &w);
        *rc = judge_word(s, &w);
        s->word_end = w.to;
    }
    s->before = cp;
    return end;
}

/* Neighbours of one kind are one finding. */
static void join(struct weir_found *f, size_t first)
{
    size_t kept = first;
    for (size_t i = first; i < f->n; i++) {
        struct weir_found_span *last = kept > first ? &f->spans[kept - 1] : NULL;
        if (last != NULL && last->end_byte == f->spans[i].start_byte &&
            weir_slice_eq(last->detection, f->spans[i].detection)) {
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
    for (size_t at = 0; at < text.n && rc == 0;) {
        size_t next = weir_ascii_skip(text, at);
        if (next > at) {
            s.before = (unsigned char)text.p[next - 1];
        }
        at = next < text.n ? judge_at(&s, next, &rc) : next;
    }
    for (size_t i = 0; i < s.alone.n && !s.alone.has_others && rc == 0; i++) {
        rc = add(&s, s.alone.spans[i].start_byte, s.alone.spans[i].end_byte, "homoglyph", 0.6);
    }
    join(found, first);
    return rc;
}

static const char *const members[] = {NULL};

const struct weir_builtin_kind weir_detect_unicode = {
    .name = "unicode", .members = members, .make = make, .free = free_settings, .scan = scan};
