#include "wire/proto_write.h"

#include "base/assert.h"
#include "base/utf8.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, MAX_VARINT_BYTES = 10 };

static inline size_t put_varint(char *out, uint64_t value)
{
    size_t n = 0;
    while (value >= 0x80) {
        out[n++] = (char)(value | 0x80);
        value >>= 7;
    }
    out[n++] = (char)value;
    return n;
}

static inline size_t varint_size(uint64_t value)
{
    return 1 + (size_t)(63 - __builtin_clzll(value | 1)) / 7;
}

/* Room for the largest thing that is written at once; out of memory aborts, so it succeeds. */
static inline char *room(struct weir_buf *out, size_t n)
{
    if (out->cap - out->n < n) {
        int rc = weir_buf_reserve(out, n);
        WEIR_ASSERT(rc == 0);
    }
    return out->p + out->n;
}

static inline size_t put_tag(char *out, uint32_t field, unsigned kind)
{
    return put_varint(out, (uint64_t)field << 3 | kind);
}

void weir_proto_write_u64(struct weir_buf *out, uint32_t field, uint64_t value)
{
    char *p = room(out, (size_t)2 * MAX_VARINT_BYTES);
    size_t n = put_tag(p, field, VARINT);
    out->n += n + put_varint(p + n, value);
}

void weir_proto_write_fixed64(struct weir_buf *out, uint32_t field, uint64_t value)
{
    char *p = room(out, MAX_VARINT_BYTES + sizeof value);
    size_t n = put_tag(p, field, FIXED64);
    for (size_t i = 0; i < sizeof value; i++) {
        p[n++] = (char)(value >> (8 * i));
    }
    out->n += n;
}

void weir_proto_write_double(struct weir_buf *out, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    weir_proto_write_fixed64(out, field, bits);
}

void weir_proto_write_head(struct weir_buf *out, uint32_t field, size_t n_bytes)
{
    char *p = room(out, (size_t)2 * MAX_VARINT_BYTES);
    size_t n = put_tag(p, field, BYTES);
    out->n += n + put_varint(p + n, n_bytes);
}

size_t weir_proto_write_size(uint32_t field, size_t n_bytes)
{
    return varint_size((uint64_t)field << 3) + varint_size(n_bytes) + n_bytes;
}

void weir_proto_write_bytes(struct weir_buf *out, uint32_t field, struct weir_slice bytes)
{
    weir_proto_write_head(out, field, bytes.n);
    if (bytes.n != 0) {
        memcpy(room(out, bytes.n), bytes.p, bytes.n);
        out->n += bytes.n;
    }
}

/* Not in the middle of a character, if there are characters at all. */
static struct weir_slice cut(struct weir_slice text, size_t max_bytes)
{
    if (text.n <= max_bytes) {
        return text;
    }
    size_t n = max_bytes;
    while (n > 0 && max_bytes - n < 3 && ((unsigned char)text.p[n] & 0xC0) == 0x80) {
        n--;
    }
    return weir_slice_sub(text, 0, n);
}

void weir_proto_write_text(struct weir_buf *out, uint32_t field, struct weir_slice text,
                           size_t max_bytes)
{
    text = cut(text, max_bytes);
    size_t good = weir_utf8_valid_prefix(text);
    if (good == text.n) {
        weir_proto_write_bytes(out, field, text);
        return;
    }
    size_t mark = weir_proto_write_begin(out, field);
    while (text.n != 0) {
        weir_buf_append(out, weir_slice_sub(text, 0, good));
        if (good < text.n) {
            weir_buf_append(out, WEIR_SLICE("\xEF\xBF\xBD"));
            good++;
        }
        text = weir_slice_sub(text, good, text.n);
        good = weir_utf8_valid_prefix(text);
    }
    weir_proto_write_end(out, mark);
}

/* One byte is kept for the length, which suffices below 128; else the content moves. */
size_t weir_proto_write_begin(struct weir_buf *out, uint32_t field)
{
    char *p = room(out, MAX_VARINT_BYTES + 1);
    out->n += put_tag(p, field, BYTES) + 1;
    return out->n;
}

void weir_proto_write_end(struct weir_buf *out, size_t mark)
{
    size_t n = out->n - mark;
    size_t n_more = varint_size(n) - 1;
    if (n_more != 0) {
        room(out, n_more);
        memmove(out->p + mark + n_more, out->p + mark, n);
        out->n += n_more;
    }
    put_varint(out->p + mark - 1, n);
}
