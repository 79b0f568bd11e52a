#include "unit/cmocka_all.h"

#include "base/account.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/bufq.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

static int no_limit(void **state)
{
    (void)state;
    weir_account_set_limit(0);
    return 0;
}

static void test_sums(void **state)
{
    (void)state;
    struct weir_account a = {0};
    struct weir_account b = {0};
    size_t before = weir_account_total();
    weir_account_add(&a, 100);
    weir_account_add(&b, 1000000);
    weir_account_add(NULL, 5000);
    assert_int_equal(a.bytes, 100);
    assert_int_equal(weir_account_total(), before + 1000100);
    weir_account_sub(&b, 999999);
    assert_int_equal(weir_account_total(), before + 101);
    weir_account_sub(&b, 1);
    weir_account_sub(&a, 100);
    assert_int_equal(weir_account_total(), before);
}

/* While the reserve is in use nobody is given room; who asks sets it aside again, if that works. */
static void test_memory_is_short(void **state)
{
    (void)state;
    struct weir_account a = {0};
    weir_mem_keep_reserve(1 << 20);
    assert_false(weir_mem_is_short());
    assert_int_equal(weir_account_room(&a), SIZE_MAX);
    weir_mem_make_room();
    weir_mem_make_room();
    assert_true(weir_mem_is_short());
    assert_int_equal(weir_account_room(&a), 0);
    assert_string_equal(weir_account_full_words(&a), "the server has no more memory: try again");
    assert_true(weir_account_has_room(&a, 1));
    assert_false(weir_mem_is_short());
    assert_int_equal(weir_account_room(&a), SIZE_MAX);
    assert_true(weir_mem_recover());
}

static void test_share(void **state)
{
    (void)state;
    struct weir_account a = {0};
    struct weir_account_share share = {.account = &a};
    weir_account_set(&share, 700);
    assert_int_equal(a.bytes, 700);
    weir_account_set(&share, 200);
    weir_account_set(&share, 200);
    assert_int_equal(a.bytes, 200);
    weir_account_set(&share, 0);
    assert_int_equal(a.bytes, 0);
    struct weir_account_share nowhere = {0};
    weir_account_set(&nowhere, 10);
    assert_int_equal(nowhere.bytes, 10);
}

static void test_room(void **state)
{
    (void)state;
    struct weir_account a = {.max = 1000};
    struct weir_account other = {0};
    assert_int_equal(weir_account_room(NULL), SIZE_MAX);
    assert_int_equal(weir_account_room(&a), 1000);
    weir_account_add(&a, 400);
    assert_true(weir_account_has_room(&a, 600));
    assert_false(weir_account_has_room(&a, 601));
    assert_non_null(strstr(weir_account_full_words(&a), "half of"));
    weir_account_set_limit(weir_account_total() + 500);
    assert_int_equal(weir_account_room(&a), 500);
    assert_int_equal(weir_account_room(&other), 500);
    assert_null(strstr(weir_account_full_words(&a), "half of"));
    weir_account_add(&other, 700);
    assert_int_equal(weir_account_room(&a), 0);
    assert_true(weir_account_has_room(&a, 0));
    weir_account_sub(&other, 700);
    weir_account_sub(&a, 400);
}

static void test_buf(void **state)
{
    (void)state;
    struct weir_account a = {0};
    struct weir_buf b;
    weir_buf_init(&b, 100000);
    b.account = &a;
    while (weir_buf_append(&b, WEIR_SLICE("some more bytes")) == 0) {
        assert_int_equal(a.bytes, b.cap);
    }
    weir_buf_cstr(&b);
    assert_int_equal(a.bytes, b.cap);
    weir_buf_dispose(&b);
    assert_int_equal(a.bytes, 0);
    weir_buf_printf(&b, "%0500d", 1);
    assert_int_equal(a.bytes, b.cap);
    weir_buf_dispose(&b);
    assert_int_equal(a.bytes, 0);
}

static void test_bufq(void **state)
{
    (void)state;
    struct weir_account a = {0};
    struct weir_bufq q = {.account = &a};
    struct weir_bufq to = {.account = &a};
    char bytes[5000] = {0};
    for (int i = 0; i < 30; i++) {
        weir_bufq_append(&q, weir_slice_make(bytes, sizeof bytes));
        assert_true(a.bytes >= q.n);
    }
    weir_bufq_consume(&q, 60000);
    assert_true(a.bytes >= q.n && a.bytes < q.n + 2 * 16384 + sizeof bytes);
    size_t before = a.bytes;
    weir_bufq_move(&to, &q);
    assert_int_equal(a.bytes, before);
    weir_bufq_append(&q, weir_slice_make(bytes, 10));
    weir_bufq_consume(&q, 10);
    weir_bufq_consume(&to, to.n - 1);
    weir_bufq_dispose(&to);
    assert_int_equal(a.bytes, 0);
}

static void test_arena(void **state)
{
    (void)state;
    struct weir_account a = {0};
    struct weir_arena arena = {.account = &a};
    struct weir_buf b = {.account = &a};
    weir_arena_alloc(&arena, 10);
    weir_arena_alloc(&arena, 300000);
    assert_int_equal(a.bytes, arena.total_bytes);
    assert_true(a.bytes > 300010);
    for (int i = 0; i < 3000; i++) {
        weir_buf_append(&b, WEIR_SLICE("a buffer that is worth keeping"));
    }
    size_t with_both = a.bytes;
    weir_arena_take_buf(&arena, &b);
    assert_true(a.bytes >= with_both && a.bytes < with_both + 4096);
    assert_int_equal(a.bytes, arena.total_bytes);
    weir_arena_take(&arena, malloc(777), 777);
    assert_int_equal(a.bytes, arena.total_bytes);
    weir_arena_dispose(&arena);
    assert_int_equal(a.bytes, 0);
    weir_arena_alloc(&arena, 10);
    assert_true(a.bytes != 0);
    weir_arena_dispose(&arena);
    assert_int_equal(a.bytes, 0);
}

static void *hold(void *arg)
{
    for (int i = 0; i < 10000; i++) {
        weir_account_add(arg, 1000);
        weir_account_sub(arg, i % 10 == 0 ? 500 : 1000);
    }
    return NULL;
}

/* Each thread's rest is small, whatever it has done. */
static void test_threads(void **state)
{
    (void)state;
    enum { N = 4, HELD = 1000 * 500, REST = 16 * 1024 };
    struct weir_account a[N] = {{0}};
    pthread_t threads[N];
    size_t before = weir_account_total();
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, hold, &a[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(a[i].bytes, HELD);
    }
    size_t held = weir_account_total() - before;
    assert_in_range(held, N * (HELD - REST), N * (HELD + REST));
    for (int i = 0; i < N; i++) {
        weir_account_sub(&a[i], HELD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_memory_is_short),
        cmocka_unit_test_teardown(test_room, no_limit),
        cmocka_unit_test(test_buf),
        cmocka_unit_test(test_bufq),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
