#include "unit/cmocka_all.h"

#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>

static int values[2000];
static char names[2000][16];

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        snprintf(names[i], sizeof names[i], "key-%d", i);
    }
    return 0;
}

static struct weir_slice key(int i)
{
    return weir_slice_cstr(names[i]);
}

static void test_empty(void **state)
{
    (void)state;
    struct weir_map m = {0};
    size_t at = 0;
    assert_null(weir_map_get(&m, WEIR_SLICE("a")));
    assert_false(weir_map_has(&m, WEIR_SLICE("a")));
    assert_null(weir_map_remove(&m, WEIR_SLICE("a")));
    assert_null(weir_map_next(&m, &at));
    weir_map_dispose(&m);
    weir_map_dispose(&m);
}

static void test_put_get_replace_remove(void **state)
{
    (void)state;
    struct weir_map m = {0};
    assert_null(weir_map_put(&m, WEIR_SLICE("a"), &values[1]));
    assert_null(weir_map_put(&m, WEIR_SLICE("b"), &values[2]));
    assert_ptr_equal(weir_map_put(&m, WEIR_SLICE("a"), &values[3]), &values[1]);
    assert_int_equal(m.n, 2);
    assert_ptr_equal(weir_map_get(&m, WEIR_SLICE("a")), &values[3]);
    assert_ptr_equal(weir_map_remove(&m, WEIR_SLICE("a")), &values[3]);
    assert_null(weir_map_remove(&m, WEIR_SLICE("a")));
    assert_false(weir_map_has(&m, WEIR_SLICE("a")));
    assert_true(weir_map_has(&m, WEIR_SLICE("b")));
    assert_int_equal(m.n, 1);
    weir_map_dispose(&m);
}

static void test_odd_keys(void **state)
{
    (void)state;
    struct weir_map m = {0};
    static const struct weir_slice keys[] = {
        {NULL, 0}, {"\0", 1}, {"\0\0", 2}, {"a", 1}, {"a\0", 2}, {"12345678", 8}, {"123456789", 9},
    };
    enum { N = sizeof keys / sizeof keys[0] };
    for (size_t i = 0; i < N; i++) {
        assert_null(weir_map_put(&m, keys[i], &values[i]));
    }
    for (size_t i = 0; i < N; i++) {
        assert_ptr_equal(weir_map_get(&m, keys[i]), &values[i]);
    }
    assert_ptr_equal(weir_map_get(&m, WEIR_SLICE("")), &values[0]);
    /* A value may be NULL; has tells it from absent. */
    weir_map_put(&m, WEIR_SLICE("null"), NULL);
    assert_null(weir_map_get(&m, WEIR_SLICE("null")));
    assert_true(weir_map_has(&m, WEIR_SLICE("null")));
    weir_map_dispose(&m);
}

static void test_insertion_order(void **state)
{
    (void)state;
    struct weir_map m = {0};
    for (int i = 0; i < 1000; i++) {
        weir_map_put(&m, key(i), &values[i]);
    }
    for (int i = 0; i < 1000; i += 3) {
        weir_map_remove(&m, key(i));
    }
    weir_map_put(&m, key(1), &values[1]); /* replaced: keeps its place */
    weir_map_put(&m, key(0), &values[0]); /* back again: at the end */
    struct weir_map_entry *e;
    int want = 1;
    for (size_t at = 0; (e = weir_map_next(&m, &at)) != NULL;) {
        assert_true(weir_slice_eq(e->key, key(want)));
        assert_ptr_equal(e->value, &values[want]);
        want += want % 3 == 1 ? 1 : 2;
        want = want > 999 ? 0 : want;
    }
    weir_map_dispose(&m);
}

/* Removing what the loop stands on is allowed. */
static void test_remove_while_iterating(void **state)
{
    (void)state;
    struct weir_map m = {0};
    struct weir_map_entry *e;
    int n_seen = 0;
    for (int i = 0; i < 100; i++) {
        weir_map_put(&m, key(i), &values[i]);
    }
    for (size_t at = 0; (e = weir_map_next(&m, &at)) != NULL; n_seen++) {
        weir_map_remove(&m, e->key);
    }
    assert_int_equal(n_seen, 100);
    assert_int_equal(m.n, 0);
    weir_map_dispose(&m);
}

/* Coming and going does not grow it, and does not slow it down. */
static void test_churn_is_bounded(void **state)
{
    (void)state;
    struct weir_map m = {0};
    size_t cap = 0;
    for (int i = 0; i < 200000; i++) {
        weir_map_put(&m, key(i % 2000), &values[0]);
        weir_map_remove(&m, key((i + 2000 - 20) % 2000));
        cap = i == 1000 ? m.cap_table : cap;
    }
    assert_in_range(m.n, 19, 21);
    assert_int_equal(m.cap_table, cap);
    assert_in_range(cap, 1, 128);
    weir_map_dispose(&m);
}

/* The table is at least an eighth and at most half full while it only grows. */
static void test_load(void **state)
{
    (void)state;
    struct weir_map m = {0};
    for (int i = 0; i < 2000; i++) {
        weir_map_put(&m, key(i), &values[i]);
        assert_true(2 * m.n <= m.cap_table);
        assert_true(m.cap_table <= 16 || 4 * m.n >= m.cap_table);
    }
    weir_map_dispose(&m);
}

static void test_model(void **state)
{
    (void)state;
    enum { N_KEYS = 300 };
    struct weir_map m = {0};
    void *model[N_KEYS] = {0};
    size_t n = 0;
    srand(23);
    for (int step = 0; step < 100000; step++) {
        int k = rand() % N_KEYS;
        void *old = model[k];
        switch (rand() % 3) {
        case 0:
            model[k] = &values[rand() % 2000];
            assert_ptr_equal(weir_map_put(&m, key(k), model[k]), old);
            n += old == NULL;
            break;
        case 1:
            model[k] = NULL;
            assert_ptr_equal(weir_map_remove(&m, key(k)), old);
            n -= old != NULL;
            break;
        default:
            assert_ptr_equal(weir_map_get(&m, key(k)), old);
            assert_int_equal(weir_map_has(&m, key(k)), old != NULL);
            break;
        }
        assert_int_equal(m.n, n);
    }
    size_t n_seen = 0;
    for (size_t at = 0; weir_map_next(&m, &at) != NULL;) {
        n_seen++;
    }
    assert_int_equal(n_seen, n);
    weir_map_dispose(&m);
}

/* Each byte and the length matter, and half of the bits change with a single one. */
static void test_hash(void **state)
{
    (void)state;
    char text[32] = {0};
    uint64_t seen[33];
    for (size_t n = 0; n <= sizeof text; n++) {
        seen[n] = weir_map_hash(weir_slice_make(text, n));
        for (size_t k = 0; k < n; k++) {
            assert_true(seen[n] != seen[k]);
        }
        assert_true(seen[n] == weir_map_hash(weir_slice_make(text, n)));
    }
    int n_changed = 0;
    for (size_t bit = 0; bit < 8 * sizeof text; bit++) {
        text[bit / 8] = (char)(1 << bit % 8);
        uint64_t h = weir_map_hash(weir_slice_make(text, sizeof text));
        int changed = __builtin_popcountll(h ^ seen[32]);
        assert_in_range(changed, 8, 56);
        n_changed += changed;
        text[bit / 8] = 0;
    }
    assert_in_range(n_changed, 256 * 30, 256 * 34);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_put_get_replace_remove),
        cmocka_unit_test(test_odd_keys),
        cmocka_unit_test(test_insertion_order),
        cmocka_unit_test(test_remove_while_iterating),
        cmocka_unit_test(test_churn_is_bounded),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_hash),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
