#include "unit/cmocka_all.h"

#include "base/bufq.h"

#include <stdlib.h>

/* The queue's bytes, by way of iov with few entries at a time being the harder one. */
static size_t copy_out(const struct weir_bufq *q, char *out)
{
    struct iovec iov[512];
    size_t bytes;
    int n = weir_bufq_iov(q, iov, 512, &bytes);
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        assert_true(iov[i].iov_len != 0);
        memcpy(out + at, iov[i].iov_base, iov[i].iov_len);
        at += iov[i].iov_len;
    }
    assert_int_equal(at, bytes);
    return at;
}

static void test_empty(void **state)
{
    (void)state;
    struct weir_bufq q = {0};
    struct weir_bufq other = {0};
    struct iovec iov[2];
    size_t bytes = 99;
    assert_int_equal(weir_bufq_peek(&q).n, 0);
    assert_int_equal(weir_bufq_iov(&q, iov, 2, &bytes), 0);
    assert_int_equal(bytes, 0);
    weir_bufq_append(&q, (struct weir_slice){NULL, 0});
    assert_null(q.head);
    weir_bufq_consume(&q, 0);
    weir_bufq_move(&q, &other);
    assert_null(q.head);
    assert_false(weir_bufq_is_full(&q));
    weir_bufq_dispose(&q);
    weir_bufq_dispose(&q);
}

static void test_full(void **state)
{
    (void)state;
    struct weir_bufq q;
    weir_bufq_init(&q, 4);
    weir_bufq_append(&q, WEIR_SLICE("abc"));
    assert_false(weir_bufq_is_full(&q));
    weir_bufq_append(&q, WEIR_SLICE("d"));
    assert_true(weir_bufq_is_full(&q));
    weir_bufq_append(&q, WEIR_SLICE("and more")); /* soft: accepted all the same */
    assert_int_equal(q.n, 12);
    weir_bufq_consume(&q, 9);
    assert_false(weir_bufq_is_full(&q));
    weir_bufq_dispose(&q);
    assert_int_equal(q.max, 4);
}

static void test_drained_keeps_no_memory(void **state)
{
    (void)state;
    struct weir_bufq q;
    weir_bufq_init(&q, 100);
    weir_bufq_append(&q, WEIR_SLICE("abc"));
    weir_bufq_consume(&q, 2);
    assert_non_null(q.head);
    weir_bufq_consume(&q, 1);
    assert_null(q.head);
    assert_null(q.tail);
    assert_int_equal(q.max, 100);
}

/* An asynchronous write points into the queue: appending must not move what is queued. */
static void test_queued_bytes_stay_put(void **state)
{
    (void)state;
    struct weir_bufq q = {0};
    weir_bufq_append(&q, WEIR_SLICE("first"));
    const char *at = weir_bufq_peek(&q).p;
    static char big[50000];
    for (int i = 0; i < 20; i++) {
        weir_bufq_append(&q, weir_slice_make(big, (size_t)i * 2500));
    }
    assert_ptr_equal(weir_bufq_peek(&q).p, at);
    assert_memory_equal(at, "first", 5);
    weir_bufq_consume(&q, 2);
    assert_ptr_equal(weir_bufq_peek(&q).p, at + 2);
    weir_bufq_dispose(&q);
}

static void test_reserve_and_commit(void **state)
{
    (void)state;
    struct weir_bufq q = {0};
    size_t room = 0;
    for (size_t want = 1; want < 40000; want = want * 3 + 1) {
        char *p = weir_bufq_reserve(&q, want, &room);
        assert_true(room >= want);
        memset(p, 'r', room); /* all of it is ours */
        weir_bufq_commit(&q, want);
    }
    size_t n = q.n;
    weir_bufq_reserve(&q, 100000, &room);
    weir_bufq_commit(&q, 0); /* nothing came */
    assert_int_equal(q.n, n);
    weir_bufq_append(&q, WEIR_SLICE("end"));
    char *all = malloc(n + 3);
    assert_int_equal(copy_out(&q, all), n + 3);
    assert_memory_equal(all + n, "end", 3);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(all[i], 'r');
    }
    free(all);
    weir_bufq_dispose(&q);
}

/* A reserved block that stayed empty is in nobody's way. */
static void test_empty_blocks_are_skipped(void **state)
{
    (void)state;
    struct weir_bufq q = {0};
    size_t room;
    weir_bufq_reserve(&q, 10, &room);
    weir_bufq_reserve(&q, 5000, &room);
    weir_bufq_reserve(&q, 50000, &room);
    assert_int_equal(weir_bufq_peek(&q).n, 0);
    weir_bufq_append(&q, WEIR_SLICE("abc"));
    assert_true(weir_slice_eq_cstr(weir_bufq_peek(&q), "abc"));
    struct iovec iov[4];
    size_t bytes;
    assert_int_equal(weir_bufq_iov(&q, iov, 4, &bytes), 1);
    assert_int_equal(bytes, 3);
    weir_bufq_consume(&q, 1);
    assert_true(weir_slice_eq_cstr(weir_bufq_peek(&q), "bc"));
    struct weir_bufq to = {0};
    weir_bufq_move(&to, &q);
    assert_true(weir_slice_eq_cstr(weir_bufq_peek(&to), "bc"));
    weir_bufq_reserve(&q, 10, &room);
    weir_bufq_move(&to, &q); /* nothing but an empty block: no leak, nothing moved */
    assert_null(q.head);
    assert_int_equal(to.n, 2);
    weir_bufq_dispose(&to);
}

static void test_few_iovecs(void **state)
{
    (void)state;
    struct weir_bufq q = {0};
    static char text[100000];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (char)('a' + i % 26);
    }
    for (size_t i = 0; i < sizeof text; i += 1000) {
        weir_bufq_append(&q, weir_slice_make(text + i, 1000));
    }
    struct iovec iov[16];
    size_t bytes;
    assert_in_range(weir_bufq_iov(&q, iov, 16, &bytes), 2, 9); /* large blocks: few entries */
    assert_int_equal(bytes, sizeof text);
    assert_int_equal(weir_bufq_iov(&q, iov, 2, &bytes), 2);
    assert_int_equal(bytes, iov[0].iov_len + iov[1].iov_len);
    assert_int_equal(weir_bufq_iov(&q, iov, 0, &bytes), 0);
    assert_int_equal(bytes, 0);
    weir_bufq_dispose(&q);
}

enum { MODEL_BYTES = 200000 };

struct model {
    char bytes[MODEL_BYTES];
    size_t n;
};

static unsigned char next_byte;

static void fill(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)next_byte++;
    }
}

static void step_append(struct weir_bufq *q, struct model *m, size_t len)
{
    fill(m->bytes + m->n, len);
    weir_bufq_append(q, weir_slice_make(m->bytes + m->n, len));
    m->n += len;
}

static void step_reserve(struct weir_bufq *q, struct model *m, size_t len)
{
    size_t room;
    char *p = weir_bufq_reserve(q, len, &room);
    assert_true(room >= len);
    size_t used = len != 0 ? (size_t)rand() % (len + 1) : 0;
    fill(m->bytes + m->n, used);
    memcpy(p, m->bytes + m->n, used);
    weir_bufq_commit(q, used);
    m->n += used;
}

static void step_consume(struct weir_bufq *q, struct model *m)
{
    size_t len = rand() % 3 == 0 ? m->n : weir_bufq_peek(q).n;
    len = rand() % 2 == 0 && len != 0 ? (size_t)rand() % len : len;
    weir_bufq_consume(q, len);
    m->n -= len;
    memmove(m->bytes, m->bytes + len, m->n);
}

static void step_move(struct weir_bufq *q, struct model *m, size_t len)
{
    struct weir_bufq from = {0};
    struct model *added = calloc(1, sizeof *added);
    step_append(&from, added, len);
    if (len > 1) {
        weir_bufq_consume(&from, 1);
        added->n--;
        memmove(added->bytes, added->bytes + 1, added->n);
    }
    weir_bufq_move(q, &from);
    assert_null(from.head);
    assert_int_equal(from.n, 0);
    memcpy(m->bytes + m->n, added->bytes, added->n);
    m->n += added->n;
    free(added);
}

/* Random steps against an array. */
static void test_model(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 10, 1000, 1024, 1025, 16000, 16320, 20000};
    struct weir_bufq q = {0};
    struct model *m = calloc(1, sizeof *m);
    char *got = malloc(MODEL_BYTES);
    srand(17);
    for (int step = 0; step < 5000; step++) {
        size_t len = sizes[(size_t)rand() % (sizeof sizes / sizeof sizes[0])];
        int what = m->n > MODEL_BYTES / 2 ? 3 : rand() % 6;
        if (what == 0) {
            step_append(&q, m, len);
        } else if (what == 1) {
            step_reserve(&q, m, len);
        } else if (what == 2) {
            step_move(&q, m, len);
        } else {
            step_consume(&q, m);
        }
        assert_int_equal(q.n, m->n);
        assert_int_equal(weir_bufq_peek(&q).n != 0, m->n != 0);
        assert_int_equal(copy_out(&q, got), m->n);
        assert_int_equal(memcmp(got, m->bytes, m->n), 0);
    }
    weir_bufq_dispose(&q);
    free(m);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_drained_keeps_no_memory),
        cmocka_unit_test(test_queued_bytes_stay_put),
        cmocka_unit_test(test_reserve_and_commit),
        cmocka_unit_test(test_empty_blocks_are_skipped),
        cmocka_unit_test(test_few_iovecs),
        cmocka_unit_test(test_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
