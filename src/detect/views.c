#include "detect/views.h"

#include "base/arena.h"
#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/fold.h"
#include "detect/rest.h"
#include "wire/base64.h"

enum {
    BEFORE = 200,    /* bytes before the first escape */
    LONGEST = 1024,  /* of a part, behind its first escape */
    MIN_BASE64 = 22, /* 16 bytes */
    MAX_PADS = 2,
    BUDGET_US = 20000, /* for callers' patterns */
};

_Static_assert((int)MIN_BASE64 > (int)WEIR_REST_WORD, "readers rest on shorter runs");

enum class { OTHER, BASE64, BLANK, SIGN };

#define LETTER(c) [(c)] = BASE64, [(c) + 32] = BASE64
#define BLANKS(c) [(c)] = BLANK, [(c) + 1] = BLANK, [(c) + 2] = BLANK, [(c) + 3] = BLANK

static const unsigned char classes[256] = {
    BLANKS(0),      BLANKS(4),      BLANKS(8),      BLANKS(12),     BLANKS(16),     BLANKS(20),
    BLANKS(24),     BLANKS(28),     [' '] = BLANK,  ['%'] = SIGN,   ['&'] = SIGN,   ['\\'] = SIGN,
    LETTER('A'),    LETTER('B'),    LETTER('C'),    LETTER('D'),    LETTER('E'),    LETTER('F'),
    LETTER('G'),    LETTER('H'),    LETTER('I'),    LETTER('J'),    LETTER('K'),    LETTER('L'),
    LETTER('M'),    LETTER('N'),    LETTER('O'),    LETTER('P'),    LETTER('Q'),    LETTER('R'),
    LETTER('S'),    LETTER('T'),    LETTER('U'),    LETTER('V'),    LETTER('W'),    LETTER('X'),
    LETTER('Y'),    LETTER('Z'),    ['0'] = BASE64, ['1'] = BASE64, ['2'] = BASE64, ['3'] = BASE64,
    ['4'] = BASE64, ['5'] = BASE64, ['6'] = BASE64, ['7'] = BASE64, ['8'] = BASE64, ['9'] = BASE64,
    ['+'] = BASE64, ['/'] = BASE64, ['-'] = BASE64, ['_'] = BASE64,
};

static enum class class_of(char c) { return classes[(unsigned char)c]; }

static bool is_base64(char c)
{
    return class_of(c) == BASE64;
}

/* ---- where they are */

/* The run of base64 that ends before `at`, with its padding. */
static bool end_base64(struct weir_views *v, struct weir_slice text, size_t from_byte,
                       struct weir_view *view)
{
    size_t from = v->base64_from;
    size_t n = v->at > from ? v->at - from : 0;
    v->base64_from = v->at + 1;
    if (n < MIN_BASE64 || n > LONGEST) {
        return false;
    }
    size_t to = v->at;
    while (to < v->at + MAX_PADS && weir_ascii_at(text, to - from_byte) == '=') {
        to++;
    }
    *view = (struct weir_view){.from = from, .to = to, .is_base64 = true};
    return true;
}

/* The word that ends before `at`. */
static bool end_word(struct weir_views *v, struct weir_view *view)
{
    bool is_view = v->is_written && v->at - v->written_from <= LONGEST;
    size_t from = v->written_from > v->word_from + BEFORE ? v->written_from - BEFORE : v->word_from;
    *view = (struct weir_view){.from = from, .to = v->at};
    v->is_written = false;
    v->word_from = v->at + 1;
    return is_view;
}

/* Is the sign at `at` the beginning of a character that is written as another? False in
 * `*is_known`: more text must come. */
static bool is_written_at(struct weir_slice text, size_t at, bool is_end, bool *is_known)
{
    weir_ascii_edge = (struct weir_ascii_edge){.end = text.p + text.n};
    bool is_written = weir_fold_is_written(text, at);
    *is_known = is_end || !weir_ascii_edge.is_met;
    weir_ascii_edge = (struct weir_ascii_edge){0};
    return is_written;
}

/* Padding is looked at behind the run, so its two bytes must have come. */
static bool must_wait(const struct weir_views *v, struct weir_slice rest, char c, bool is_end)
{
    return !is_end && c == '=' && v->at - v->base64_from >= MIN_BASE64 && rest.n < MAX_PADS + 1;
}

/* Over what is nothing: short words and blanks between them. */
static void skip(struct weir_views *v, struct weir_slice text, size_t from_byte)
{
    const char *p = text.p + (v->at - from_byte);
    const char *end = text.p + text.n;
    const char *run = v->base64_from > v->at ? p : p - (v->at - v->base64_from);
    const char *word = NULL;
    for (; p < end; p++) {
        enum class c = class_of(*p);
        if (c == BASE64) {
            continue;
        }
        if (c == SIGN || p - run >= MIN_BASE64 || (c == BLANK && v->is_written)) {
            break;
        }
        run = p + 1;
        word = c == BLANK ? run : word;
    }
    v->at = from_byte + (size_t)(p - text.p);
    v->base64_from = from_byte + (size_t)(run - text.p);
    v->word_from = word != NULL ? from_byte + (size_t)(word - text.p) : v->word_from;
}

void weir_views_pass(struct weir_views *v, struct weir_slice text, size_t from_byte,
                     struct weir_views_rested rested)
{
    size_t to = rested.to > from_byte ? rested.to - from_byte : 0;
    if (v->at != rested.from || rested.to <= rested.from || v->is_written ||
        is_base64(text.p[to - 1])) {
        return;
    }
    size_t word = to;
    while (word > v->at - from_byte && class_of(text.p[word - 1]) != BLANK) {
        word--;
    }
    v->word_from = word > v->at - from_byte ? from_byte + word : v->word_from;
    v->at = rested.to;
    v->base64_from = rested.to;
}

bool weir_views_next(struct weir_views *v, struct weir_slice text, size_t from_byte, bool is_end,
                     struct weir_view *view)
{
    size_t end = from_byte + text.n;
    for (skip(v, text, from_byte); v->at < end; v->at++, skip(v, text, from_byte)) {
        size_t at = v->at - from_byte;
        char c = text.p[at];
        if (must_wait(v, weir_slice_sub(text, at, text.n), c, is_end)) {
            return false;
        }
        bool is_known = true;
        if (class_of(c) == SIGN && !v->is_written && is_written_at(text, at, is_end, &is_known)) {
            v->is_written = true;
            v->written_from = v->at;
        }
        if (!is_known) {
            return false;
        }
        if (end_base64(v, text, from_byte, view)) {
            return true; /* and comes back to this byte */
        }
        if (class_of(c) == BLANK && end_word(v, view)) {
            v->at++;
            return true;
        }
    }
    return is_end && ((v->is_written && end_word(v, view)) || end_base64(v, text, from_byte, view));
}

static unsigned value_of(char c)
{
    if (weir_ascii_is_upper(c)) {
        return (unsigned)(c - 'A');
    }
    if (weir_ascii_is_alpha(c)) {
        return (unsigned)(c - 'a' + 26);
    }
    if (weir_ascii_is_digit(c)) {
        return (unsigned)(c - '0' + 52);
    }
    return c == '+' || c == '-' ? 62 : 63;
}

static bool is_text(unsigned char c)
{
    return c >= ' ' ? c < 0x7f : weir_ascii_is_space((char)c);
}

/* Does what has come of a run decode to text, as far as it goes? Most words do not. */
static bool is_text_so_far(struct weir_slice run)
{
    for (size_t i = 0; i + 4 <= run.n; i += 4) {
        const char *p = run.p + i;
        unsigned bits =
            value_of(p[0]) << 18 | value_of(p[1]) << 12 | value_of(p[2]) << 6 | value_of(p[3]);
        if (!is_text(bits >> 16 & 255) || !is_text(bits >> 8 & 255) || !is_text(bits & 255)) {
            return false;
        }
    }
    return true;
}

size_t weir_views_low(const struct weir_views *v, struct weir_slice text, size_t from_byte)
{
    size_t low = from_byte + text.n;
    bool is_waiting = v->at < low && !is_base64(text.p[v->at - from_byte]);
    if (v->is_written || is_waiting) {
        size_t first = v->is_written ? v->written_from : v->at;
        size_t from = first > v->word_from + BEFORE ? first - BEFORE : v->word_from;
        low = low - first <= LONGEST ? from : low;
    }
    size_t n = v->at > v->base64_from ? v->at - v->base64_from : 0;
    if (n > 0 && n <= LONGEST && v->base64_from >= from_byte && v->base64_from < low &&
        is_text_so_far(weir_slice_sub(text, v->base64_from - from_byte, v->at - from_byte))) {
        low = v->base64_from;
    }
    return low;
}

/* ---- what they say */

static int look_written(const struct weir_view *view, struct weir_slice part,
                        const struct weir_builtin_kind *kind, const void *settings,
                        struct weir_found *found)
{
    struct weir_fold fold = {0};
    struct weir_found own = {0};
    struct weir_builtin_run run = {.budget_us = BUDGET_US};
    weir_fold_written(&fold, part);
    int rc = kind->scan(settings, weir_buf_slice(&fold.text), &own, &run);
    for (size_t i = 0; i < own.n && rc == 0; i++) {
        struct weir_found_span span = own.spans[i];
        size_t from = span.start_byte > 0 ? span.start_byte - 1 : 0; /* password%3D… */
        size_t n = span.end_byte - from;
        from = weir_fold_start(&fold, from);
        span.start_byte = weir_fold_start(&fold, span.start_byte);
        span.end_byte = weir_fold_end(&fold, span.end_byte);
        bool is_decoded = span.end_byte - from != n;
        span.start_byte += view->from;
        span.end_byte += view->from;
        rc = is_decoded ? weir_found_add(found, &span) : 0;
    }
    weir_found_dispose(&own);
    weir_fold_dispose(&fold);
    return rc;
}

static bool decode(struct weir_arena *arena, struct weir_slice part, struct weir_slice *text)
{
    while (part.n != 0 && part.p[part.n - 1] == '=') {
        part.n--;
    }
    bool is_good = weir_base64_decode(arena, WEIR_BASE64_BARE, part, text) == 0 ||
                   weir_base64_decode(arena, WEIR_BASE64_URL, part, text) == 0;
    for (size_t i = 0; is_good && i < text->n; i++) {
        is_good = is_text((unsigned char)text->p[i]);
    }
    return is_good;
}

static int look_base64(const struct weir_view *view, struct weir_slice part,
                       const struct weir_builtin_kind *kind, const void *settings,
                       struct weir_found *found)
{
    struct weir_arena arena = {0};
    struct weir_found own = {0};
    struct weir_builtin_run run = {.budget_us = BUDGET_US};
    struct weir_slice text;
    int rc = decode(&arena, part, &text) ? kind->scan(settings, text, &own, &run) : 0;
    for (size_t i = 0; i < own.n && rc == 0; i++) {
        struct weir_found_span span = own.spans[i];
        span.start_byte = view->from;
        span.end_byte = view->to;
        rc = weir_found_add(found, &span);
    }
    weir_found_dispose(&own);
    weir_arena_dispose(&arena);
    return rc;
}

int weir_views_look(const struct weir_view *view, struct weir_slice text, size_t from_byte,
                    const struct weir_builtin_kind *kind, const void *settings,
                    struct weir_found *found)
{
    if (view->from < from_byte) {
        return 0; /* it was let go: it cannot be text */
    }
    struct weir_view own = *view;
    size_t from = weir_utf8_floor(text, view->from - from_byte);
    own.from = from_byte + from;
    struct weir_slice part = weir_slice_sub(text, from, view->to - from_byte);
    return view->is_base64 ? look_base64(&own, part, kind, settings, found)
                           : look_written(&own, part, kind, settings, found);
}

int weir_views_scan(struct weir_slice text, const struct weir_builtin_kind *kind,
                    const void *settings, struct weir_found *found)
{
    struct weir_views v = {0};
    struct weir_view view;
    int rc = 0;
    while (rc == 0 && weir_views_next(&v, text, 0, true, &view)) {
        rc = weir_views_look(&view, text, 0, kind, settings, found);
    }
    return rc;
}
