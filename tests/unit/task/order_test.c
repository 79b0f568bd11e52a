/* The order of findings, and sorting them a few at a time against the C library's. */
#include "task/order.h"

#include "unit/cmocka_all.h"

#include <stdint.h>
#include <stdlib.h>

enum { MOST = 400 };

static uint64_t seed;

static size_t random_below(size_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % n;
}

/* Equal ones stay as they came: they lie in one array. */
static int compare(const void *left, const void *right)
{
    const struct weir_detection *a = *(const struct weir_detection *const *)left;
    const struct weir_detection *b = *(const struct weir_detection *const *)right;
    int c = weir_order_compare(a, b);
    return c != 0 ? c : (a > b) - (a < b);
}

static void fill(struct weir_detection *items, size_t n, size_t n_runs)
{
    static const struct weir_slice ids[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    for (size_t i = 0; i < n; i++) {
        size_t start = i % (n / n_runs + 1) + random_below(2);
        items[i] = (struct weir_detection){.has_span = random_below(20) != 0,
                                           .detector_id = ids[random_below(3)]};
        if (items[i].has_span) {
            items[i].start_cp = start;
            items[i].end_cp = start + random_below(3);
        }
    }
}

static void test_like_qsort(void **state)
{
    (void)state;
    static struct weir_detection items[MOST];
    for (uint64_t round = 1; round < 200; round++) {
        seed = round;
        struct weir_arena arena = {0};
        size_t n = random_below(MOST) + 1;
        fill(items, n, random_below(8) + 1);
        const struct weir_detection **want = weir_arena_array(&arena, n, sizeof *want);
        const struct weir_detection **got = weir_arena_array(&arena, n, sizeof *got);
        for (size_t i = 0; i < n; i++) {
            want[i] = got[i] = &items[i];
        }
        qsort(want, n, sizeof *want, compare);
        struct weir_order_sort sort;
        weir_order_sort_begin(&sort, got, n, &arena);
        size_t left;
        do {
            left = random_below(30) + 1;
        } while (!weir_order_sort_some(&sort, &left));
        assert_memory_equal(sort.items, want, n * sizeof *want);
        weir_arena_dispose(&arena);
    }
}

/* What is in order already is looked at once. */
static void test_one_run_is_one_pass(void **state)
{
    (void)state;
    static struct weir_detection items[MOST];
    const struct weir_detection *list[MOST];
    struct weir_arena arena = {0};
    for (size_t i = 0; i < MOST; i++) {
        items[i] = (struct weir_detection){.has_span = true, .start_cp = i, .end_cp = i + 1};
        list[i] = &items[i];
    }
    struct weir_order_sort sort;
    weir_order_sort_begin(&sort, list, MOST, &arena);
    size_t left = MOST - 1;
    assert_false(weir_order_sort_some(&sort, &left));
    assert_int_equal(left, 0);
    left = 1;
    assert_true(weir_order_sort_some(&sort, &left));
    assert_ptr_equal(sort.items, list);
    weir_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_qsort),
        cmocka_unit_test(test_one_run_is_one_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
