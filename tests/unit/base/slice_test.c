#include "unit/cmocka_all.h"

#include "base/err.h"
#include "base/slice.h"

#include <stdio.h>
#include <stdlib.h>

static const struct weir_slice none = {NULL, 0};

static void test_make(void **state)
{
    (void)state;
    struct weir_slice s = WEIR_SLICE("a\0b");
    assert_int_equal(s.n, 3);
    assert_memory_equal(s.p, "a\0b", 3);
    assert_int_equal(WEIR_SLICE("").n, 0);
    assert_int_equal(weir_slice_cstr("four").n, 4);
    assert_int_equal(weir_slice_cstr(NULL).n, 0);
    assert_null(weir_slice_cstr(NULL).p);
    struct weir_slice part = weir_slice_sub(WEIR_SLICE("abcdef"), 2, 4);
    assert_int_equal(part.n, 2);
    assert_memory_equal(part.p, "cd", 2);
    assert_int_equal(weir_slice_sub(none, 0, 0).n, 0);
}

static void test_eq(void **state)
{
    (void)state;
    static const struct {
        struct weir_slice a;
        struct weir_slice b;
        bool eq;
        bool eq_nocase;
    } cases[] = {
        {{NULL, 0}, {NULL, 0}, true, true},
        {{NULL, 0}, {"x", 0}, true, true},
        {{"x", 0}, {NULL, 0}, true, true},
        {{"a", 1}, {NULL, 0}, false, false},
        {{"abc", 3}, {"abc", 3}, true, true},
        {{"abc", 3}, {"abd", 3}, false, false},
        {{"abc", 3}, {"ab", 2}, false, false},
        {{"aBc", 3}, {"AbC", 3}, false, true},
        {{"a\0b", 3}, {"a\0c", 3}, false, false},
        {{"a\0b", 3}, {"A\0B", 3}, false, true},
        /* neighbours of the letters must not fold into each other */
        {{"@[`{", 4}, {"@[`{", 4}, true, true},
        {{"@", 1}, {"`", 1}, false, false},
        {{"[", 1}, {"{", 1}, false, false},
        {{"\xC4", 1}, {"\xE4", 1}, false, false}, /* no folding beyond ASCII */
        {{"0", 1}, {"\x10", 1}, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(weir_slice_eq(cases[i].a, cases[i].b), cases[i].eq);
        assert_int_equal(weir_slice_eq(cases[i].b, cases[i].a), cases[i].eq);
        assert_int_equal(weir_slice_eq_secret(cases[i].a, cases[i].b), cases[i].eq);
        assert_int_equal(weir_slice_eq_nocase(cases[i].a, cases[i].b), cases[i].eq_nocase);
        assert_int_equal(weir_slice_eq_nocase(cases[i].b, cases[i].a), cases[i].eq_nocase);
    }
    assert_true(weir_slice_eq_cstr(WEIR_SLICE("abc"), "abc"));
    assert_false(weir_slice_eq_cstr(WEIR_SLICE("abc"), "abcd"));
    assert_true(weir_slice_eq_cstr(none, ""));
}

/* Every pair of bytes, against the C library in its own locale. */
static void test_eq_nocase_every_pair(void **state)
{
    (void)state;
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            char x = (char)a;
            char y = (char)b;
            int la = a >= 'A' && a <= 'Z' ? a + 32 : a;
            int lb = b >= 'A' && b <= 'Z' ? b + 32 : b;
            bool eq = weir_slice_eq_nocase(weir_slice_make(&x, 1), weir_slice_make(&y, 1));
            assert_int_equal(eq, la == lb);
        }
    }
}

static void test_eq_secret_sees_each_bit(void **state)
{
    (void)state;
    char a[33];
    char b[33];
    memset(a, 0x5A, sizeof a);
    for (size_t i = 0; i < sizeof a; i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(b, a, sizeof a);
            b[i] = (char)(b[i] ^ (1 << bit));
            struct weir_slice sa = weir_slice_make(a, sizeof a);
            assert_false(weir_slice_eq_secret(sa, weir_slice_make(b, sizeof b)));
        }
    }
}

static void test_starts_ends(void **state)
{
    (void)state;
    static const struct {
        struct weir_slice s;
        struct weir_slice part;
        bool starts;
        bool ends;
    } cases[] = {
        {{"abcab", 5}, {"ab", 2}, true, true}, {{"abc", 3}, {"bc", 2}, false, true},
        {{"abc", 3}, {"abc", 3}, true, true},  {{"abc", 3}, {"abcd", 4}, false, false},
        {{"abc", 3}, {NULL, 0}, true, true},   {{NULL, 0}, {NULL, 0}, true, true},
        {{NULL, 0}, {"a", 1}, false, false},   {{"a\0b", 3}, {"\0b", 2}, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(weir_slice_starts_with(cases[i].s, cases[i].part), cases[i].starts);
        assert_int_equal(weir_slice_ends_with(cases[i].s, cases[i].part), cases[i].ends);
    }
}

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

static void test_cmp(void **state)
{
    (void)state;
    /* rising: each is smaller than all that follow */
    static const struct weir_slice rising[] = {
        {NULL, 0}, {"\0", 1}, {"A", 1},    {"a", 1},    {"a\0", 2},
        {"aa", 2}, {"b", 1},  {"\x80", 1}, {"\xFF", 1},
    };
    enum { N = sizeof rising / sizeof rising[0] };
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            assert_int_equal(sign(weir_slice_cmp(rising[i], rising[k])), sign(i - k));
        }
    }
}

static void test_find(void **state)
{
    (void)state;
    assert_int_equal(weir_slice_find(WEIR_SLICE("abcabc"), 'c'), 2);
    assert_int_equal(weir_slice_find(WEIR_SLICE("abc"), 'x'), 3);
    assert_int_equal(weir_slice_find(WEIR_SLICE("a\0b"), '\0'), 1);
    assert_int_equal(weir_slice_find(WEIR_SLICE("abc"), '\0'), 3);
    assert_int_equal(weir_slice_find(WEIR_SLICE("\xFF"), '\xFF'), 0);
    assert_int_equal(weir_slice_find(none, 'x'), 0);
}

static void test_trim(void **state)
{
    (void)state;
    static const struct {
        struct weir_slice in;
        const char *out;
    } cases[] = {
        {{"  a b\t", 6}, "a b"},     {{"\t \t", 3}, ""}, {{"x", 1}, "x"},
        {{"\r\nx\v", 4}, "\r\nx\v"}, {{NULL, 0}, ""},    {{" x", 2}, "x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(weir_slice_eq_cstr(weir_slice_trim(cases[i].in), cases[i].out));
    }
}

static void test_cut(void **state)
{
    (void)state;
    struct weir_slice rest = WEIR_SLICE("a,,b,");
    static const char *const parts[] = {"a", "", "b", ""};
    size_t n = 0;
    while (rest.p != NULL) {
        assert_true(n < 4);
        assert_true(weir_slice_eq_cstr(weir_slice_cut(&rest, ','), parts[n]));
        n++;
    }
    assert_int_equal(n, 4);
    rest = WEIR_SLICE("whole");
    assert_true(weir_slice_eq_cstr(weir_slice_cut(&rest, ','), "whole"));
    assert_null(rest.p);
    assert_int_equal(weir_slice_cut(&rest, ',').n, 0);
}

/* Joining what was cut gives the text back. */
static void test_cut_and_join(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 2000; round++) {
        char text[20];
        char joined[32];
        size_t n = (size_t)rand() % sizeof text;
        for (size_t i = 0; i < n; i++) {
            text[i] = (char)(rand() % 3 == 0 ? ',' : 'a' + rand() % 3);
        }
        struct weir_slice rest = weir_slice_make(text, n);
        size_t n_joined = 0;
        while (rest.p != NULL) {
            struct weir_slice part = weir_slice_cut(&rest, ',');
            assert_int_equal(weir_slice_find(part, ','), part.n);
            memcpy(joined + n_joined, part.p, part.n);
            n_joined += part.n;
            joined[n_joined++] = ',';
        }
        assert_int_equal(n_joined, n + 1);
        assert_memory_equal(joined, text, n);
    }
}

static void test_u64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc;
        uint64_t value;
    } cases[] = {
        {"0", 0, 0},
        {"7", 0, 7},
        {"0000000000000000000000000000000012", 0, 12},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", WEIR_EINVAL, 0},
        {"18446744073709551620", WEIR_EINVAL, 0},
        {"99999999999999999999", WEIR_EINVAL, 0},
        {"184467440737095516150", WEIR_EINVAL, 0},
        {"", WEIR_EINVAL, 0},
        {"-1", WEIR_EINVAL, 0},
        {"+1", WEIR_EINVAL, 0},
        {" 1", WEIR_EINVAL, 0},
        {"1 ", WEIR_EINVAL, 0},
        {"1a", WEIR_EINVAL, 0},
        {"0x1", WEIR_EINVAL, 0},
        {"/", WEIR_EINVAL, 0},
        {":", WEIR_EINVAL, 0},
        {"\xB1", WEIR_EINVAL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t v = 99;
        assert_int_equal(weir_slice_u64(weir_slice_cstr(cases[i].text), &v), cases[i].rc);
        assert_true(v == (cases[i].rc == 0 ? cases[i].value : 99));
    }
}

static void test_u64_reads_what_was_printed(void **state)
{
    (void)state;
    for (unsigned b = 0; b < 64; b++) {
        for (int d = -1; d <= 1; d++) {
            uint64_t want = ((uint64_t)1 << b) + (uint64_t)(int64_t)d;
            char text[32];
            uint64_t got;
            snprintf(text, sizeof text, "%llu", (unsigned long long)want);
            assert_int_equal(weir_slice_u64(weir_slice_cstr(text), &got), 0);
            assert_true(got == want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_make),
        cmocka_unit_test(test_eq),
        cmocka_unit_test(test_eq_nocase_every_pair),
        cmocka_unit_test(test_eq_secret_sees_each_bit),
        cmocka_unit_test(test_starts_ends),
        cmocka_unit_test(test_cmp),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_cut_and_join),
        cmocka_unit_test(test_u64),
        cmocka_unit_test(test_u64_reads_what_was_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
