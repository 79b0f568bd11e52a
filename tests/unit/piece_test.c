/* That a lent piece can be read to its end, and neither behind it nor later. */
#include "unit/cmocka_all.h"

#include "unit/piece.h"

static const char TEXT[] = "0123456789abcdefghijklmnopqrstuvwxyz";

/* The compiler must not reason about where a text lies and how long it is. */
static struct weir_slice text_of(size_t n)
{
    const char *volatile text = TEXT;
    return weir_slice_make(text, n);
}

static void test_a_piece_is_a_copy(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof TEXT; n++) {
        struct weir_slice from = text_of(n);
        struct weir_slice lent = piece_lend(from);
        assert_true(weir_slice_eq(lent, from));
        assert_ptr_not_equal(lent.p, from.p);
        piece_take_back(lent);
    }
}

#ifdef PIECE_HAS_ASAN

static void expect_lent(struct weir_slice lent)
{
    assert_null(__asan_region_is_poisoned((void *)(uintptr_t)lent.p, lent.n));
    assert_true(__asan_address_is_poisoned(lent.p + lent.n));
    assert_true(__asan_address_is_poisoned(lent.p - 1));
}

static void test_nothing_behind_it_can_be_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < 20000; i++) { /* several times round the ring */
        struct weir_slice lent = piece_lend(text_of(i % sizeof TEXT));
        expect_lent(lent);
        piece_take_back(lent);
        assert_true(__asan_address_is_poisoned(lent.p));
    }
}

static void test_what_was_taken_back_stays_so(void **state)
{
    (void)state;
    struct weir_slice old[1000];
    for (size_t i = 0; i < 1000; i++) {
        old[i] = piece_lend(text_of(1 + i % 9));
        piece_take_back(old[i]);
        for (size_t k = 0; k <= i; k += 37) {
            assert_true(__asan_address_is_poisoned(old[k].p));
        }
    }
}

static void test_a_large_piece(void **state)
{
    (void)state;
    size_t n = PIECE_RING_BYTES;
    char *text = weir_mem_zalloc(n);
    struct weir_slice lent = piece_lend(weir_slice_make(text, n));
    expect_lent(lent);
    const char *volatile where = lent.p;
    piece_take_back(lent);
    assert_true(__asan_address_is_poisoned(where));
    free(text);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_piece_is_a_copy),
#ifdef PIECE_HAS_ASAN
        cmocka_unit_test(test_nothing_behind_it_can_be_read),
        cmocka_unit_test(test_what_was_taken_back_stays_so),
        cmocka_unit_test(test_a_large_piece),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
