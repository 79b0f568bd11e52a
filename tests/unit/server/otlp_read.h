#ifndef WEIR_TESTS_UNIT_SERVER_OTLP_READ_H
#define WEIR_TESTS_UNIT_SERVER_OTLP_READ_H

#include "base/slice.h"
#include "unit/cmocka_all.h"

#include <string.h>

/*
 * Packed messages, looked into by field number: a reader that shares nothing with the writer.
 *
 *   otlp_bytes(span, 5)           the one field 5
 *   otlp_nth(span, 9, 2).bytes    the third field 9
 */
struct otlp_field {
    bool is_there;
    uint64_t number; /* varint or fixed64 */
    struct weir_slice bytes;
};

static inline uint64_t otlp_varint(struct weir_slice *s)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(s->n != 0 && shift < 70);
        unsigned char c = (unsigned char)*s->p++;
        s->n--;
        value |= (uint64_t)(c & 0x7F) << shift;
        if (c < 0x80) {
            return value;
        }
    }
}

static inline struct weir_slice otlp_take(struct weir_slice *s, size_t n)
{
    assert_true(n <= s->n);
    struct weir_slice taken = {s->p, n};
    s->p += n;
    s->n -= n;
    return taken;
}

static inline uint64_t otlp_u64(struct weir_slice s)
{
    uint64_t value = 0;
    assert_int_equal(s.n, 8);
    for (size_t i = 8; i-- > 0;) {
        value = value << 8 | (unsigned char)s.p[i];
    }
    return value;
}

static inline double otlp_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Number `at` of the fields with that number; reads the whole message, which must be sound. */
static inline struct otlp_field otlp_nth(struct weir_slice message, uint32_t number, size_t at)
{
    struct otlp_field found = {0};
    while (message.n != 0) {
        uint64_t tag = otlp_varint(&message);
        struct otlp_field f = {.is_there = true};
        if ((tag & 7) == 0) {
            f.number = otlp_varint(&message);
        } else if ((tag & 7) == 1) {
            f.number = otlp_u64(otlp_take(&message, 8));
        } else {
            assert_int_equal(tag & 7, 2);
            f.bytes = otlp_take(&message, otlp_varint(&message));
        }
        if (tag >> 3 == number && at-- == 0) {
            found = f;
        }
    }
    return found;
}

static inline struct weir_slice otlp_bytes(struct weir_slice message, uint32_t number)
{
    struct otlp_field f = otlp_nth(message, number, 0);
    assert_true(f.is_there);
    assert_false(otlp_nth(message, number, 1).is_there);
    return f.bytes;
}

static inline uint64_t otlp_number(struct weir_slice message, uint32_t number)
{
    struct otlp_field f = otlp_nth(message, number, 0);
    assert_true(f.is_there);
    return f.number;
}

static inline bool otlp_has(struct weir_slice message, uint32_t number)
{
    return otlp_nth(message, number, 0).is_there;
}

/* The AnyValue of the attribute `key` among the fields `number`; empty: there is none. */
static inline struct weir_slice otlp_attr(struct weir_slice message, uint32_t number,
                                          const char *key)
{
    struct otlp_field f;
    for (size_t i = 0; (f = otlp_nth(message, number, i)).is_there; i++) {
        if (weir_slice_eq_cstr(otlp_bytes(f.bytes, 1), key)) {
            return otlp_bytes(f.bytes, 2);
        }
    }
    return (struct weir_slice){0};
}

static inline bool otlp_attr_is(struct weir_slice message, uint32_t number, const char *key,
                                const char *value)
{
    struct weir_slice any = otlp_attr(message, number, key);
    return any.n != 0 && weir_slice_eq_cstr(otlp_bytes(any, 1), value);
}

#endif
