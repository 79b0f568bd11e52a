#include "unit/cmocka_all.h"

#include "base/arena.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#include <stdio.h>
#include <stdlib.h>

static void test_empty(void **state)
{
    (void)state;
    struct weir_arena a = {0};
    weir_arena_dispose(&a);
    weir_arena_dispose(&a);
    assert_null(a.blocks);
    assert_int_equal(a.total_bytes, 0);
}

/* Nothing is an amount too: a valid, distinct pointer, even from an arena that has no block. */
static void test_nothing(void **state)
{
    (void)state;
    struct weir_arena a = {0};
    void *p = weir_arena_zalloc(&a, 0);
    void *q = weir_arena_array(&a, 0, 8);
    void *r = weir_arena_alloc(&a, 0);
    assert_non_null(p);
    assert_non_null(q);
    assert_ptr_not_equal(p, q);
    assert_ptr_not_equal(q, r);
    struct weir_slice s = weir_arena_dup(&a, (struct weir_slice){NULL, 0});
    assert_int_equal(s.n, 0);
    assert_string_equal(s.p, "");
    weir_arena_dispose(&a);
}

enum { N_PIECES = 400 };

struct piece {
    unsigned char *p;
    size_t n;
    unsigned char fill;
};

/* Sizes around every edge: tiny, a block, the largest block, far beyond. */
static size_t odd_size(void)
{
    static const size_t edges[] = {1, 16, 1024, 2048, 16384, 65536, 200000};
    switch (rand() % 8) {
    case 0: {
        size_t edge = edges[(size_t)rand() % (sizeof edges / sizeof edges[0])];
        return edge + (size_t)(rand() % 3) - 1;
    }
    case 1:
        return (size_t)rand() % 5000;
    default:
        return (size_t)rand() % 100;
    }
}

/* Every piece is aligned, inside memory of its own, and stays as it was written. */
static void test_pieces_do_not_overlap(void **state)
{
    (void)state;
    srand(11);
    for (int round = 0; round < 30; round++) {
        struct weir_arena a = {0};
        struct piece pieces[N_PIECES];
        size_t total = 0;
        for (size_t i = 0; i < N_PIECES; i++) {
            struct piece piece = {.n = odd_size(), .fill = (unsigned char)i};
            bool is_zeroed = rand() % 2 == 0;
            piece.p = is_zeroed ? weir_arena_zalloc(&a, piece.n) : weir_arena_alloc(&a, piece.n);
            assert_int_equal((uintptr_t)piece.p % _Alignof(max_align_t), 0);
            for (size_t k = 0; is_zeroed && k < piece.n; k++) {
                assert_int_equal(piece.p[k], 0);
            }
            memset(piece.p, piece.fill, piece.n);
            pieces[i] = piece;
            total += piece.n;
        }
        for (size_t i = 0; i < N_PIECES; i++) {
            for (size_t k = 0; k < pieces[i].n; k++) {
                if (pieces[i].p[k] != pieces[i].fill) {
                    fail_msg("piece %zu of %zu bytes was overwritten at %zu", i, pieces[i].n, k);
                }
            }
        }
        assert_true(a.total_bytes >= total);
        weir_arena_dispose(&a);
        assert_int_equal(a.total_bytes, 0);
    }
}

/* The sanitizer build sees the byte behind every piece, whatever its size. */
static void test_end_is_guarded(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    struct weir_arena a = {0};
    for (size_t n = 0; n < 40000; n = n * 2 + (n % 3) + 1) {
        char *p = weir_arena_alloc(&a, n);
        assert_null(__asan_region_is_poisoned(p, n));
        assert_int_not_equal(__asan_address_is_poisoned(p + n), 0);
    }
    weir_arena_dispose(&a);
#endif
}

static void test_first_block_is_small(void **state)
{
    (void)state;
    struct weir_arena a = {0};
    weir_arena_alloc(&a, 1);
    assert_in_range(a.total_bytes, 1, 256);
    weir_arena_dispose(&a);
}

/* A large piece gets memory of its own; what was free before it is still used after it. */
static void test_large_piece_wastes_nothing(void **state)
{
    (void)state;
    struct weir_arena a = {0};
    weir_arena_alloc(&a, 16);
    weir_arena_alloc(&a, 1000000);
    size_t before = a.total_bytes;
    weir_arena_alloc(&a, 16);
    assert_int_equal(a.total_bytes, before);
    assert_in_range(before, 1000000, 1010000);
    weir_arena_dispose(&a);
}

/* So does one that is larger than the first blocks, whether it comes first or not. */
static void test_middling_piece_wastes_nothing(void **state)
{
    (void)state;
    for (size_t n_before = 0; n_before < 2; n_before++) {
        struct weir_arena a = {0};
        for (size_t i = 0; i < n_before; i++) {
            weir_arena_alloc(&a, 16);
        }
        size_t before = a.total_bytes;
        weir_arena_alloc(&a, 1000);
        assert_in_range(a.total_bytes - before, 1000, 1000 + 64);
        before = a.total_bytes;
        weir_arena_alloc(&a, 16);
        assert_int_equal(a.total_bytes == before, n_before != 0);
        weir_arena_dispose(&a);
    }
}

/* What was expected fits into one block. */
static void test_expected(void **state)
{
    (void)state;
    struct weir_arena a = {0};
    weir_arena_expect(&a, 2048);
    size_t before = a.total_bytes;
    weir_arena_alloc(&a, 1000);
    weir_arena_alloc(&a, 500);
    assert_int_equal(a.total_bytes, before);
    weir_arena_dispose(&a);
}

/* Many small ones cost little more than they hold. */
static void test_growth_is_bounded(void **state)
{
    (void)state;
    struct weir_arena a = {0};
    for (int i = 0; i < 100000; i++) {
        weir_arena_alloc(&a, 32);
    }
    assert_in_range(a.total_bytes, 3200000, 8000000); /* the sanitizer keeps gaps between them */
    weir_arena_dispose(&a);
}

static void test_dup_and_printf(void **state)
{
    (void)state;
    struct weir_arena a = {0};
    char text[] = "a\0b";
    struct weir_slice s = weir_arena_dup(&a, weir_slice_make(text, 3));
    text[0] = 'x';
    assert_int_equal(s.n, 3);
    assert_memory_equal(s.p, "a\0b\0", 4);
    assert_string_equal(weir_arena_printf(&a, "%d-%s", 42, "x"), "42-x");
    assert_string_equal(weir_arena_printf(&a, "%s", ""), "");
    static char big[100001];
    memset(big, 'b', sizeof big - 1);
    assert_string_equal(weir_arena_printf(&a, "%s", big), big);
    weir_arena_dispose(&a);
}

static char undone[64];

/* Small ones are copied, large ones handed over; both are the arena's then. */
static void test_take_buf(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 1000, 100000};
    struct weir_arena a = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct weir_buf b = {0};
        weir_buf_init(&b, 200000);
        for (size_t k = 0; k < sizes[i]; k++) {
            weir_buf_append_byte(&b, (char)('a' + k % 26));
        }
        struct weir_slice got = weir_arena_take_buf(&a, &b);
        assert_int_equal(got.n, sizes[i]);
        assert_int_equal(got.p[got.n], '\0');
        assert_true(got.n == 0 || got.p[got.n - 1] == (char)('a' + (got.n - 1) % 26));
        assert_null(b.p);
        assert_int_equal(b.n, 0);
        assert_int_equal(b.max, 200000);
    }
    weir_arena_dispose(&a);
}

static void undo(void *ctx)
{
    size_t n = strlen(undone);
    snprintf(undone + n, sizeof undone - n, "%s", (const char *)ctx);
}

static void test_undo_newest_first(void **state)
{
    (void)state;
    struct weir_arena a = {0};
    char a_text[] = "a";
    char b_text[] = "b";
    char c_text[] = "c";
    undone[0] = '\0';
    weir_arena_defer(&a, undo, a_text);
    weir_arena_defer(&a, undo, b_text);
    weir_arena_defer(&a, undo, c_text);
    weir_arena_dispose(&a);
    assert_string_equal(undone, "cba");
    weir_arena_dispose(&a);
    assert_string_equal(undone, "cba");
}

static struct weir_arena nested;

static void undo_and_defer(void *ctx)
{
    undo(ctx);
    char *more = weir_arena_printf(&nested, "(%s)", (const char *)ctx);
    weir_arena_defer(&nested, undo, more);
}

/* What is undone may use the arena once more, and its own deferred work still runs. */
static void test_undo_may_use_the_arena(void **state)
{
    (void)state;
    char a_text[] = "a";
    char b_text[] = "b";
    undone[0] = '\0';
    weir_arena_defer(&nested, undo, a_text);
    weir_arena_defer(&nested, undo_and_defer, b_text);
    weir_arena_dispose(&nested);
    assert_string_equal(undone, "b(b)a");
    assert_null(nested.blocks);
}

static void test_reuse_after_dispose(void **state)
{
    (void)state;
    struct weir_arena a = {0};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(weir_arena_printf(&a, "%d", i), i == 0 ? "0" : i == 1 ? "1" : "2");
        weir_arena_dispose(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_pieces_do_not_overlap),
        cmocka_unit_test(test_end_is_guarded),
        cmocka_unit_test(test_first_block_is_small),
        cmocka_unit_test(test_large_piece_wastes_nothing),
        cmocka_unit_test(test_middling_piece_wastes_nothing),
        cmocka_unit_test(test_expected),
        cmocka_unit_test(test_growth_is_bounded),
        cmocka_unit_test(test_dup_and_printf),
        cmocka_unit_test(test_take_buf),
        cmocka_unit_test(test_undo_newest_first),
        cmocka_unit_test(test_undo_may_use_the_arena),
        cmocka_unit_test(test_reuse_after_dispose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
