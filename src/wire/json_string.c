/*
 * The value of a string. Without a backslash it is the source itself; otherwise it is read in
 * pieces: the run up to the next escape, then what that escape stands for.
 *
 *   ab\ncd\ud83d\ude00      pieces  "ab"  "\n"  "cd"  "😀"
 *
 * The parser has checked every escape, so nothing here can fail.
 */
#include "base/err.h"
#include "base/utf8.h"
#include "wire/json_int.h"

static inline int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

int32_t weir_json__hex4(const char *p)
{
    int a = hex_digit(p[0]);
    int b = hex_digit(p[1]);
    int c = hex_digit(p[2]);
    int d = hex_digit(p[3]);
    return (a | b | c | d) < 0 ? -1 : (a << 12) | (b << 8) | (c << 4) | d;
}

static inline bool is_high(uint32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static inline bool is_low(uint32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

static char simple_escape(char c)
{
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default: /* quote, backslash, slash */
        return c;
    }
}

/* The code point of the \u escape that begins `s`, and how many bytes it takes there: 6, or 12. */
static uint32_t unicode_escape(struct weir_slice s, size_t *n_bytes)
{
    uint32_t unit = (uint32_t)weir_json__hex4(s.p + 2);
    *n_bytes = 6;
    if (is_high(unit) && s.n >= 12 && s.p[6] == '\\' && s.p[7] == 'u') {
        uint32_t second = (uint32_t)weir_json__hex4(s.p + 8);
        if (is_low(second)) {
            *n_bytes = 12;
            return 0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00);
        }
    }
    return unit;
}

static size_t encode_half(uint32_t unit, char out[4])
{
    out[0] = (char)(0xE0 | (unit >> 12));
    out[1] = (char)(0x80 | ((unit >> 6) & 0x3F));
    out[2] = (char)(0x80 | (unit & 0x3F));
    return 3;
}

static struct weir_slice take_escape(struct weir_json__pieces *it)
{
    size_t n_source = 2;
    size_t n = 1;
    if (it->rest.p[1] != 'u') {
        it->escape[0] = simple_escape(it->rest.p[1]);
    } else {
        uint32_t cp = unicode_escape(it->rest, &n_source);
        bool is_half = is_high(cp) || is_low(cp);
        n = is_half && it->keep_halves ? encode_half(cp, it->escape)
                                       : weir_utf8_encode(cp, it->escape);
    }
    it->rest = weir_slice_sub(it->rest, n_source, it->rest.n);
    return weir_slice_make(it->escape, n);
}

bool weir_json__next_piece(struct weir_json__pieces *it, struct weir_slice *piece)
{
    if (it->rest.n == 0) {
        return false;
    }
    if (it->rest.p[0] == '\\') {
        *piece = take_escape(it);
        return true;
    }
    size_t n = weir_slice_find(it->rest, '\\');
    *piece = weir_slice_sub(it->rest, 0, n);
    it->rest = weir_slice_sub(it->rest, n, it->rest.n);
    return true;
}

/* Writes the value to `out` if that is not NULL; returns its size, at most inside.n. */
static size_t unescape(struct weir_slice inside, char *out)
{
    struct weir_json__pieces it = {.rest = inside};
    struct weir_slice piece;
    size_t n = 0;
    while (weir_json__next_piece(&it, &piece)) {
        if (out != NULL) {
            memcpy(out + n, piece.p, piece.n);
        }
        n += piece.n;
    }
    return n;
}

struct weir_slice weir_json_string(const struct weir_json *j, uint32_t at, struct weir_arena *arena)
{
    struct weir_slice inside = weir_json__inside(j, at);
    if (!j->nodes[at].is_escaped) {
        return inside;
    }
    char *out = weir_arena_alloc(arena, inside.n);
    return weir_slice_make(out, unescape(inside, out));
}

int weir_json_string_append(const struct weir_json *j, uint32_t at, struct weir_buf *out)
{
    struct weir_slice inside = weir_json__inside(j, at);
    if (!j->nodes[at].is_escaped) {
        return weir_buf_append(out, inside);
    }
    /* The value is shorter than its spelling: near the ceiling only its true size counts. */
    if (weir_buf_reserve(out, inside.n) != 0 &&
        weir_buf_reserve(out, unescape(inside, NULL)) != 0) {
        return WEIR_ELIMIT;
    }
    out->n += unescape(inside, out->p + out->n);
    return 0;
}

bool weir_json__string_is(const struct weir_json *j, uint32_t at, struct weir_slice s)
{
    struct weir_slice inside = weir_json__inside(j, at);
    if (!j->nodes[at].is_escaped) {
        return weir_slice_eq(inside, s);
    }
    struct weir_json__pieces it = {.rest = inside};
    struct weir_slice piece;
    while (weir_json__next_piece(&it, &piece)) {
        if (!weir_slice_starts_with(s, piece)) {
            return false;
        }
        s = weir_slice_sub(s, piece.n, s.n);
    }
    return s.n == 0;
}

/* Two readers in step: each time the shorter of the two current pieces is compared. */
static bool same_pieces(struct weir_json__pieces *a, struct weir_json__pieces *b)
{
    struct weir_slice x = {0};
    struct weir_slice y = {0};
    for (;;) {
        bool more_a = x.n != 0 || weir_json__next_piece(a, &x);
        bool more_b = y.n != 0 || weir_json__next_piece(b, &y);
        if (!more_a || !more_b) {
            return more_a == more_b;
        }
        size_t n = x.n < y.n ? x.n : y.n;
        if (memcmp(x.p, y.p, n) != 0) {
            return false;
        }
        x = weir_slice_sub(x, n, x.n);
        y = weir_slice_sub(y, n, y.n);
    }
}

bool weir_json__same_string(const struct weir_json *a, uint32_t at_a, const struct weir_json *b,
                            uint32_t at_b, bool keep_halves)
{
    const struct weir_json_node *x = &a->nodes[at_a];
    const struct weir_json_node *y = &b->nodes[at_b];
    if (x->n != y->n) {
        return false;
    }
    if (!x->is_escaped && !y->is_escaped) {
        return weir_slice_eq(weir_json__inside(a, at_a), weir_json__inside(b, at_b));
    }
    struct weir_json__pieces in_a = {.rest = weir_json__inside(a, at_a),
                                     .keep_halves = keep_halves};
    struct weir_json__pieces in_b = {.rest = weir_json__inside(b, at_b),
                                     .keep_halves = keep_halves};
    return same_pieces(&in_a, &in_b);
}

/* Is the backslash at `i` the beginning of an escape, and not the second half of one? */
static bool begins_escape(struct weir_slice inside, size_t i)
{
    size_t before = 0;
    while (before < i && inside.p[i - 1 - before] == '\\') {
        before++;
    }
    return before % 2 == 0;
}

bool weir_json_string_ends_high(const struct weir_json *j, uint32_t at, uint16_t *unit)
{
    if (!j->nodes[at].has_lone_surrogate) {
        return false;
    }
    struct weir_slice inside = weir_json__inside(j, at);
    size_t i = inside.n - 6;
    if (inside.n < 6 || inside.p[i] != '\\' || inside.p[i + 1] != 'u' ||
        !begins_escape(inside, i)) {
        return false;
    }
    uint16_t last = (uint16_t)weir_json__hex4(inside.p + i + 2);
    if (is_high(last)) {
        *unit = last;
    }
    return is_high(last);
}

bool weir_json_string_begins_low(const struct weir_json *j, uint32_t at, uint16_t *unit)
{
    if (!j->nodes[at].has_lone_surrogate) {
        return false;
    }
    struct weir_slice inside = weir_json__inside(j, at);
    if (inside.n < 6 || inside.p[0] != '\\' || inside.p[1] != 'u') {
        return false;
    }
    uint16_t first = (uint16_t)weir_json__hex4(inside.p + 2);
    if (is_low(first)) {
        *unit = first;
    }
    return is_low(first);
}
