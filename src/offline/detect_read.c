#include "offline/detect_read.h"

#include "base/utf8.h"

enum { MAX_SEQUENCE = 4 };

static const struct weir_slice REPLACEMENT = {"\xEF\xBF\xBD", 3};
static const struct weir_slice MARK = {"\xEF\xBB\xBF", 3};

void weir_detect_read_init(struct weir_detect_read *r)
{
    *r = (struct weir_detect_read){.place = {.line = 1, .column = 1}};
}

void weir_detect_read_init_plain(struct weir_detect_read *r)
{
    weir_detect_read_init(r);
    r->is_past_start = true;
    r->encoding = WEIR_DETECT_UTF8;
}

void weir_detect_read_dispose(struct weir_detect_read *r)
{
    weir_buf_dispose(&r->text);
}

/* ---- bytes to UTF-8 ---- */

/* How long the sequence would be that this byte begins; 0: it begins none. */
static size_t length_of(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first <= 0xDF) {
        return 2;
    }
    if (first >= 0xE0 && first <= 0xEF) {
        return 3;
    }
    return first >= 0xF0 && first <= 0xF4 ? MAX_SEQUENCE : 0;
}

/* The end of what was added could be the beginning of a sequence: it waits for the rest. */
static bool is_unfinished(struct weir_slice s)
{
    size_t length = s.n != 0 ? length_of((unsigned char)s.p[0]) : 0;
    if (s.n >= length) {
        return false;
    }
    for (size_t i = 1; i < s.n; i++) {
        if (((unsigned char)s.p[i] & 0xC0) != 0x80) {
            return false;
        }
    }
    return true;
}

/* Appends what is certain; returns how many bytes that used up. */
static size_t take(struct weir_detect_read *r, struct weir_slice in)
{
    size_t at = 0;
    while (at < in.n) {
        struct weir_slice rest = weir_slice_sub(in, at, in.n);
        size_t n = weir_utf8_valid_prefix(rest);
        weir_buf_append(&r->text, weir_slice_sub(rest, 0, n));
        at += n;
        rest = weir_slice_sub(in, at, in.n);
        if (rest.n == 0 || (!r->is_ended && is_unfinished(rest))) {
            break;
        }
        weir_buf_append(&r->text, REPLACEMENT);
        at++;
    }
    return at;
}

static void drop_mark(struct weir_detect_read *r)
{
    if (!r->is_past_start && (r->text.n >= MARK.n || r->is_ended)) {
        r->is_past_start = true;
        if (weir_slice_starts_with(weir_buf_slice(&r->text), MARK)) {
            weir_buf_consume(&r->text, MARK.n);
        }
    }
}

/* What was held goes first, with as much of the new bytes as completes it. */
static struct weir_slice take_held(struct weir_detect_read *r, struct weir_slice in)
{
    while (r->n_held != 0 && in.n != 0) {
        r->held[r->n_held++] = (unsigned char)in.p[0];
        in = weir_slice_sub(in, 1, in.n);
        struct weir_slice held = weir_slice_make((const char *)r->held, r->n_held);
        size_t used = take(r, held);
        memmove(r->held, r->held + used, r->n_held - used);
        r->n_held -= used;
    }
    return in;
}

static void add_utf8(struct weir_detect_read *r, struct weir_slice bytes)
{
    struct weir_slice in = take_held(r, bytes);
    size_t used = take(r, in);
    if (used < in.n) {
        memcpy(r->held, in.p + used, in.n - used);
        r->n_held = in.n - used;
    }
    drop_mark(r);
}

/* ---- UTF-16 to UTF-8 ---- */

static void append_cp(struct weir_detect_read *r, uint32_t cp)
{
    char bytes[4];
    size_t n = weir_utf8_encode(cp, bytes);
    weir_buf_append(&r->text, weir_slice_make(bytes, n));
}

/* A lone half becomes U+FFFD, as weir_utf8_encode has it. */
static void take_unit(struct weir_detect_read *r, uint16_t unit)
{
    bool is_low = unit >= 0xDC00 && unit <= 0xDFFF;
    if (r->high != 0 && is_low) {
        append_cp(r, 0x10000 + ((uint32_t)(r->high - 0xD800) << 10) + (unit - 0xDC00U));
        r->high = 0;
        return;
    }
    if (r->high != 0) {
        append_cp(r, r->high);
        r->high = 0;
    }
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        r->high = unit;
    } else {
        append_cp(r, unit);
    }
}

static void add_utf16(struct weir_detect_read *r, struct weir_slice bytes)
{
    bool is_little = r->encoding == WEIR_DETECT_UTF16LE;
    for (size_t i = 0; i < bytes.n; i++) {
        r->held[r->n_held++] = (unsigned char)bytes.p[i];
        if (r->n_held == 2) {
            unsigned first = r->held[is_little ? 1 : 0];
            unsigned second = r->held[is_little ? 0 : 1];
            take_unit(r, (uint16_t)(first << 8 | second));
            r->n_held = 0;
        }
    }
}

static void end_utf16(struct weir_detect_read *r)
{
    if (r->high != 0 || r->n_held != 0) {
        weir_buf_append(&r->text, REPLACEMENT);
    }
    r->high = 0;
    r->n_held = 0;
}

/* ---- */

bool weir_detect_read_is_utf16(struct weir_slice bytes)
{
    return weir_slice_starts_with(bytes, WEIR_SLICE("\xFF\xFE")) ||
           weir_slice_starts_with(bytes, WEIR_SLICE("\xFE\xFF"));
}

/* By the first two bytes, or what there is. */
static void decide(struct weir_detect_read *r)
{
    char first[2];
    struct weir_slice start = weir_slice_make(first, r->n_held);
    memcpy(first, r->held, r->n_held);
    r->n_held = 0;
    if (weir_detect_read_is_utf16(start)) {
        r->encoding = first[0] == '\xFF' ? WEIR_DETECT_UTF16LE : WEIR_DETECT_UTF16BE;
        r->is_past_start = true;
    } else {
        r->encoding = WEIR_DETECT_UTF8;
        add_utf8(r, start);
    }
}

void weir_detect_read_add(struct weir_detect_read *r, struct weir_slice bytes)
{
    if (r->encoding == WEIR_DETECT_UNKNOWN) {
        while (r->n_held < 2 && bytes.n != 0) {
            r->held[r->n_held++] = (unsigned char)bytes.p[0];
            bytes = weir_slice_sub(bytes, 1, bytes.n);
        }
        if (r->n_held < 2) {
            return;
        }
        decide(r);
    }
    if (r->encoding == WEIR_DETECT_UTF8) {
        add_utf8(r, bytes);
    } else {
        add_utf16(r, bytes);
    }
}

void weir_detect_read_end(struct weir_detect_read *r)
{
    if (r->encoding == WEIR_DETECT_UNKNOWN) {
        decide(r);
    }
    r->is_ended = true;
    if (r->encoding != WEIR_DETECT_UTF8) {
        end_utf16(r);
        return;
    }
    if (r->n_held != 0) {
        take(r, weir_slice_make((const char *)r->held, r->n_held));
        r->n_held = 0;
    }
    drop_mark(r);
}

/* ---- blocks ---- */

/* Where the next block begins: behind the last line's end of the second half, else behind the last
 * space, else where a code point begins. */
static size_t cut(struct weir_slice s, size_t at)
{
    size_t space = 0;
    for (size_t i = at; i > at / 2; i--) {
        char c = s.p[i - 1];
        if (c == '\n') {
            return i;
        }
        if (space == 0 && (c == ' ' || c == '\t')) {
            space = i;
        }
    }
    return space != 0 ? space : weir_utf8_floor(s, at);
}

bool weir_detect_read_next(struct weir_detect_read *r, struct weir_detect_block *block)
{
    struct weir_slice all = weir_buf_slice(&r->text);
    bool is_enough = all.n > WEIR_DETECT_READ_BLOCK_BYTES;
    if (r->is_last_out || !r->is_past_start || (!is_enough && !r->is_ended) || all.n == 0) {
        return false;
    }
    *block = (struct weir_detect_block){.text = all, .place = r->place, .is_last = !is_enough};
    block->answers_bytes = all.n;
    if (is_enough) {
        size_t end = weir_utf8_floor(all, WEIR_DETECT_READ_BLOCK_BYTES);
        block->text = weir_slice_sub(all, 0, end);
        block->answers_bytes =
            cut(block->text, WEIR_DETECT_READ_BLOCK_BYTES - WEIR_DETECT_READ_OVERLAP_BYTES);
    }
    block->answers_cp = weir_utf8_count(weir_slice_sub(all, 0, block->answers_bytes));
    return true;
}

void weir_detect_read_pass(struct weir_detect_read *r, const struct weir_detect_block *block)
{
    struct weir_slice rest = block->text;
    weir_detect_place_move(&r->place, &rest, block->answers_cp);
    weir_buf_consume(&r->text, block->answers_bytes);
    r->is_last_out = block->is_last;
}

void weir_detect_place_move(struct weir_detect_place *p, struct weir_slice *rest, uint64_t n_cp)
{
    size_t at = 0;
    for (uint64_t i = 0; i < n_cp && at < rest->n; i++) {
        size_t n;
        uint32_t cp = weir_utf8_decode(weir_slice_sub(*rest, at, rest->n), &n);
        at += n;
        p->at_cp++;
        p->column++;
        if (cp == '\n') {
            p->line++;
            p->column = 1;
        }
    }
    *rest = weir_slice_sub(*rest, at, rest->n);
}
