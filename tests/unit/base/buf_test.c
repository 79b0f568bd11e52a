#include "unit/cmocka_all.h"

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>
#include <stdlib.h>

static void assert_content(const struct weir_buf *b, const char *text)
{
    assert_true(weir_slice_eq_cstr(weir_buf_slice(b), text));
}

static void test_empty(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    assert_int_equal(weir_buf_append(&b, (struct weir_slice){NULL, 0}), 0);
    assert_null(b.p);
    weir_buf_consume(&b, 0);
    weir_buf_clear(&b);
    assert_string_equal(weir_buf_cstr(&b), "");
    assert_int_equal(b.n, 0);
    weir_buf_dispose(&b);
    weir_buf_dispose(&b);
    assert_null(b.p);
}

static void test_append(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    assert_int_equal(weir_buf_append(&b, WEIR_SLICE("abc")), 0);
    assert_int_equal(weir_buf_append_byte(&b, '\0'), 0);
    assert_int_equal(weir_buf_printf(&b, "%s-%d", "x", 7), 0);
    assert_int_equal(b.n, 7);
    assert_memory_equal(b.p, "abc\0x-7", 7);
    weir_buf_consume(&b, 4);
    assert_content(&b, "x-7");
    weir_buf_clear(&b);
    assert_int_equal(b.n, 0);
    assert_non_null(b.p);
    weir_buf_dispose(&b);
}

static void test_reserve_exact(void **state)
{
    (void)state;
    struct weir_account account = {0};
    struct weir_buf b = {.max = 100, .account = &account};
    assert_int_equal(weir_buf_reserve_exact(&b, 101), WEIR_ELIMIT);
    assert_int_equal(account.bytes, 0);
    assert_int_equal(weir_buf_reserve_exact(&b, 71), 0);
    assert_int_equal(account.bytes, 71);
    assert_int_equal(weir_buf_append(&b, WEIR_SLICE("abc")), 0);
    assert_int_equal(weir_buf_reserve_exact(&b, 68), 0); /* there already */
    assert_int_equal(account.bytes, 71);
    assert_content(&b, "abc");
    weir_buf_dispose(&b);
    assert_int_equal(account.bytes, 0);
}

/* Every ceiling and every length: accepted exactly when it fits, otherwise nothing changes. */
static void test_ceiling(void **state)
{
    (void)state;
    static char text[301];
    memset(text, 't', sizeof text - 1);
    for (size_t max = 1; max <= 140; max++) {
        for (size_t first = 0; first <= max; first += 13) {
            for (size_t n = 0; n <= 300; n += 7) {
                struct weir_buf b;
                weir_buf_init(&b, max);
                assert_int_equal(weir_buf_append(&b, weir_slice_make(text, first)), 0);
                int want = first + n <= max ? 0 : WEIR_ELIMIT;
                int rc = n % 2 == 0 ? weir_buf_append(&b, weir_slice_make(text, n))
                                    : weir_buf_printf(&b, "%.*s", (int)n, text);
                assert_int_equal(rc, want);
                assert_int_equal(b.n, want == 0 ? first + n : first);
                assert_true(b.cap <= max + 1);
                assert_int_equal(strlen(weir_buf_cstr(&b)), b.n);
                assert_int_equal(weir_buf_reserve(&b, max - b.n), 0);
                assert_int_equal(weir_buf_reserve(&b, max - b.n + 1), WEIR_ELIMIT);
                weir_buf_dispose(&b);
                assert_int_equal(b.max, max);
            }
        }
    }
}

/* The byte that a NUL may take beyond the ceiling must not become content. */
static void test_ceiling_after_nul(void **state)
{
    (void)state;
    struct weir_buf b;
    weir_buf_init(&b, 100);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(weir_buf_printf(&b, "%s", "0123456789"), 0);
    }
    weir_buf_cstr(&b);
    assert_int_equal(weir_buf_append_byte(&b, 'x'), WEIR_ELIMIT);
    assert_int_equal(weir_buf_printf(&b, "x"), WEIR_ELIMIT);
    assert_int_equal(weir_buf_printf(&b, "%s", ""), 0);
    assert_int_equal(b.n, 100);
    weir_buf_dispose(&b);
}

/* Sizes near the end of the address space are refused, not wrapped around. */
static void test_absurd_sizes(void **state)
{
    (void)state;
    static const size_t maxes[] = {0, 10, SIZE_MAX / 2, SIZE_MAX - 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof maxes / sizeof maxes[0]; i++) {
        struct weir_buf b;
        weir_buf_init(&b, maxes[i]);
        assert_int_equal(weir_buf_append(&b, WEIR_SLICE("ab")), 0);
        assert_int_equal(weir_buf_reserve(&b, SIZE_MAX), WEIR_ELIMIT);
        assert_int_equal(weir_buf_reserve(&b, SIZE_MAX - 1), WEIR_ELIMIT);
        assert_int_equal(weir_buf_reserve(&b, SIZE_MAX / 2), WEIR_ELIMIT);
        assert_int_equal(weir_buf_printf(&b, "%s", "cd"), 0);
        assert_string_equal(weir_buf_cstr(&b), "abcd");
        weir_buf_dispose(&b);
    }
}

/* printf and cstr as the very first call, with the largest ceiling. */
static void test_printf_first(void **state)
{
    (void)state;
    struct weir_buf b;
    weir_buf_init(&b, SIZE_MAX);
    assert_int_equal(weir_buf_printf(&b, "%s", "a long enough text to need memory of its own here"),
                     0);
    assert_content(&b, "a long enough text to need memory of its own here");
    weir_buf_dispose(&b);
    assert_string_equal(weir_buf_cstr(&b), "");
    weir_buf_dispose(&b);
}

static void test_reserve_and_claim(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    assert_int_equal(weir_buf_append(&b, WEIR_SLICE("head ")), 0);
    assert_int_equal(weir_buf_reserve(&b, 1000), 0);
    assert_true(b.cap - b.n >= 1000);
    assert_int_equal(b.n, 5);
    memset(b.p + b.n, 'x', 1000);
    b.n += 3;
    assert_content(&b, "head xxx");
    weir_buf_dispose(&b);
}

/* Appending byte by byte moves the content a logarithmic number of times. */
static void test_growth_doubles(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    size_t n_grown = 0;
    for (int i = 0; i < 1000000; i++) {
        size_t cap = b.cap;
        assert_int_equal(weir_buf_append_byte(&b, 'x'), 0);
        n_grown += b.cap != cap;
    }
    assert_in_range(n_grown, 1, 20);
    weir_buf_dispose(&b);
}

/* Random steps against an array. */
static void test_model(void **state)
{
    (void)state;
    enum { MAX = 500 };
    char model[MAX];
    size_t n = 0;
    struct weir_buf b;
    weir_buf_init(&b, MAX);
    srand(13);
    for (int step = 0; step < 50000; step++) {
        char piece[64];
        size_t len = (size_t)rand() % sizeof piece;
        memset(piece, 'a' + step % 26, len);
        bool fits = n + len <= MAX;
        switch (rand() % 5) {
        case 0:
            assert_int_equal(weir_buf_append(&b, weir_slice_make(piece, len)),
                             fits ? 0 : WEIR_ELIMIT);
            break;
        case 1:
            assert_int_equal(weir_buf_printf(&b, "%.*s", (int)len, piece), fits ? 0 : WEIR_ELIMIT);
            break;
        case 2:
            len = n != 0 ? (size_t)rand() % n : 0;
            weir_buf_consume(&b, len);
            memmove(model, model + len, n - len);
            n -= len;
            fits = false;
            break;
        case 3:
            assert_int_equal(strlen(weir_buf_cstr(&b)), n);
            fits = false;
            break;
        default:
            assert_int_equal(weir_buf_reserve(&b, len), fits ? 0 : WEIR_ELIMIT);
            fits = false;
            break;
        }
        if (fits) {
            memcpy(model + n, piece, len);
            n += len;
        }
        assert_int_equal(b.n, n);
        assert_true(n == 0 || memcmp(b.p, model, n) == 0);
    }
    weir_buf_dispose(&b);
}

static void test_append_u64(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    weir_buf_append_u64(&b, 0);
    weir_buf_append_byte(&b, ' ');
    weir_buf_append_u64(&b, 907);
    weir_buf_append_byte(&b, ' ');
    weir_buf_append_u64(&b, UINT64_MAX);
    assert_string_equal(weir_buf_cstr(&b), "0 907 18446744073709551615");
    weir_buf_dispose(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append_u64),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_reserve_exact),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_ceiling_after_nul),
        cmocka_unit_test(test_absurd_sizes),
        cmocka_unit_test(test_printf_first),
        cmocka_unit_test(test_reserve_and_claim),
        cmocka_unit_test(test_growth_doubles),
        cmocka_unit_test(test_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
