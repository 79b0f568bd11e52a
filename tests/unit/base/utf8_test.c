#include "unit/cmocka_all.h"

#include "base/utf8.h"

#include <stdlib.h>

/* By the ranges of RFC 3629's grammar, written down once more: bytes of the sequence at p, or 0. */
static size_t reference(const unsigned char *p, size_t n)
{
    static const struct {
        unsigned char lead_low, lead_high, second_low, second_high;
        size_t len;
    } rules[] = {
        {0x00, 0x7F, 0, 0, 1},       {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        if (p[0] < rules[r].lead_low || p[0] > rules[r].lead_high) {
            continue;
        }
        if (n < rules[r].len) {
            return 0;
        }
        for (size_t i = 1; i < rules[r].len; i++) {
            unsigned char low = i == 1 ? rules[r].second_low : 0x80;
            unsigned char high = i == 1 ? rules[r].second_high : 0xBF;
            if (p[i] < low || p[i] > high) {
                return 0;
            }
        }
        return rules[r].len;
    }
    return 0;
}

static size_t reference_prefix(struct weir_slice s)
{
    size_t i = 0;
    while (i < s.n) {
        size_t len = reference((const unsigned char *)s.p + i, s.n - i);
        if (len == 0) {
            break;
        }
        i += len;
    }
    return i;
}

static void check_bytes(const unsigned char *p, size_t n)
{
    struct weir_slice s = weir_slice_make((const char *)p, n);
    assert_int_equal(weir_utf8_sequence(s), reference(p, n));
    assert_int_equal(weir_utf8_valid_prefix(s), reference_prefix(s));
}

static void test_all_short_sequences(void **state)
{
    (void)state;
    unsigned char p[4];
    for (int a = 0; a < 256; a++) {
        p[0] = (unsigned char)a;
        check_bytes(p, 1);
        for (int b = 0; b < 256; b++) {
            p[1] = (unsigned char)b;
            check_bytes(p, 2);
        }
    }
    /* Behind the second byte only the class of a byte matters. */
    static const unsigned char classes[] = {0x00, 0x7F, 0x80, 0x8F, 0x90,
                                            0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
    for (int a = 0xC0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            for (size_t c = 0; c < sizeof classes; c++) {
                for (size_t d = 0; d < sizeof classes; d++) {
                    p[0] = (unsigned char)a;
                    p[1] = (unsigned char)b;
                    p[2] = classes[c];
                    p[3] = classes[d];
                    check_bytes(p, 3);
                    check_bytes(p, 4);
                }
            }
        }
    }
}

static void test_every_code_point(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x110000; cp++) {
        char out[4];
        size_t n = weir_utf8_encode(cp, out);
        bool is_scalar = cp <= 0x10FFFF && !(cp >= 0xD800 && cp <= 0xDFFF);
        struct weir_slice s = weir_slice_make(out, n);
        size_t n_bytes;
        if (!weir_utf8_is_valid(s) || weir_utf8_sequence(s) != n || weir_utf8_count(s) != 1 ||
            weir_utf8_decode(s, &n_bytes) != (is_scalar ? cp : 0xFFFD) || n_bytes != n) {
            fail_msg("code point U+%04X", (unsigned)cp);
        }
    }
    char out[4];
    assert_int_equal(weir_utf8_encode(UINT32_MAX, out), 3);
    assert_memory_equal(out, "\xEF\xBF\xBD", 3);
}

static void test_empty(void **state)
{
    (void)state;
    struct weir_slice none = {NULL, 0};
    assert_int_equal(weir_utf8_valid_prefix(none), 0);
    assert_true(weir_utf8_is_valid(none));
    assert_int_equal(weir_utf8_sequence(none), 0);
    assert_int_equal(weir_utf8_count(none), 0);
    assert_int_equal(weir_utf8_byte_at(none, 0), 0);
    assert_int_equal(weir_utf8_byte_at(none, 5), 0);
}

/* Random bytes that are nearly text, in exactly sized memory so that reading beyond is seen. */
static void test_random_bytes(void **state)
{
    (void)state;
    srand(3);
    for (int round = 0; round < 20000; round++) {
        size_t n = (size_t)rand() % 40;
        char *p = malloc(n + (n == 0));
        size_t i = 0;
        while (i < n) {
            char out[4];
            size_t len = weir_utf8_encode((uint32_t)rand() % 0x3000, out);
            for (size_t k = 0; k < len && i < n; k++) {
                p[i++] = rand() % 60 == 0 ? (char)rand() : out[k];
            }
        }
        struct weir_slice s = weir_slice_make(p, n);
        assert_int_equal(weir_utf8_valid_prefix(s), reference_prefix(s));
        free(p);
    }
}

/* One bad byte anywhere in a long ASCII text: the eight-byte steps must not miss it. */
static void test_bad_byte_at_each_place(void **state)
{
    (void)state;
    char text[40];
    for (size_t at = 0; at < sizeof text; at++) {
        memset(text, 'a', sizeof text);
        text[at] = '\x80';
        assert_int_equal(weir_utf8_valid_prefix(weir_slice_make(text, sizeof text)), at);
    }
}

enum { MAX_CP = 40 };

struct sample {
    char bytes[4 * MAX_CP];
    size_t n;
    size_t starts[MAX_CP + 1]; /* byte offset of each code point, and the end */
    size_t n_cp;
};

static void make_sample(struct sample *s)
{
    static const uint32_t ends[] = {0x7F, 0x7FF, 0xFFFF, 0x10FFFF};
    s->n = 0;
    s->n_cp = (size_t)rand() % (MAX_CP + 1);
    for (size_t i = 0; i < s->n_cp; i++) {
        s->starts[i] = s->n;
        s->n += weir_utf8_encode((uint32_t)rand() % ends[rand() % 4], s->bytes + s->n);
    }
    s->starts[s->n_cp] = s->n;
}

static void test_floor(void **state)
{
    (void)state;
    struct weir_slice s = WEIR_SLICE("a\xC3\xA4\xF0\x9F\x98\x80z"); /* a, 2 bytes, 4 bytes, z */
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 3, 7, 8, 8};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_int_equal(weir_utf8_floor(s, i), want[i]);
    }
    assert_int_equal(weir_utf8_floor(WEIR_SLICE(""), 3), 0);
}

static void test_count_and_byte_at(void **state)
{
    (void)state;
    srand(4);
    for (int round = 0; round < 5000; round++) {
        struct sample sample;
        make_sample(&sample);
        struct weir_slice s = weir_slice_make(sample.bytes, sample.n);
        assert_true(weir_utf8_is_valid(s));
        assert_int_equal(weir_utf8_count(s), sample.n_cp);
        for (size_t i = 0; i <= sample.n_cp; i++) {
            assert_int_equal(weir_utf8_byte_at(s, i), sample.starts[i]);
            assert_int_equal(weir_utf8_count(weir_slice_sub(s, 0, sample.starts[i])), i);
        }
        assert_int_equal(weir_utf8_byte_at(s, sample.n_cp + 1), sample.n);
        for (size_t i = 0; i <= sample.n_cp; i++) {
            assert_int_equal(weir_utf8_back(s, sample.n, sample.n_cp - i),
                             i < sample.n_cp ? sample.starts[i] : sample.n);
        }
        assert_int_equal(weir_utf8_back(s, sample.n, sample.n_cp + 1), 0);
        assert_int_equal(weir_utf8_byte_at(s, SIZE_MAX), sample.n);
    }
}

static void test_decode_walks_the_text(void **state)
{
    (void)state;
    struct weir_slice s = WEIR_SLICE("aé€😀");
    static const uint32_t cps[] = {'a', 0xE9, 0x20AC, 0x1F600};
    for (size_t i = 0; i < 4; i++) {
        size_t n_bytes;
        assert_int_equal(weir_utf8_decode(s, &n_bytes), cps[i]);
        assert_int_equal(n_bytes, i + 1);
        s = weir_slice_sub(s, n_bytes, s.n);
    }
    assert_int_equal(s.n, 0);
}

static void test_is_space(void **state)
{
    (void)state;
    static const uint32_t spaces[] = {
        0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x20,   0x85,   0xA0,   0x1680,
        0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
        0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
    };
    size_t n = 0;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        if (weir_utf8_is_space(cp)) {
            assert_true(n < sizeof spaces / sizeof spaces[0]);
            assert_int_equal(cp, spaces[n++]);
        }
    }
    assert_int_equal(n, sizeof spaces / sizeof spaces[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_short_sequences),
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_bad_byte_at_each_place),
        cmocka_unit_test(test_count_and_byte_at),
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_decode_walks_the_text),
        cmocka_unit_test(test_is_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
