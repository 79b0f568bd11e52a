#include "unit/cmocka_all.h"

#include "base/err.h"
#include "base/mem.h"
#include "wire/gzip.h"

#include <stdlib.h>
#include <zlib.h>

enum { LARGE = 300 * 1000 };

/* What another reader makes of it. */
static void assert_unpacks(struct weir_slice packed, struct weir_slice bytes)
{
    char *back = weir_mem_alloc(bytes.n + 1);
    z_stream z = {.next_in = (z_const Bytef *)packed.p,
                  .avail_in = (uInt)packed.n,
                  .next_out = (Bytef *)back,
                  .avail_out = (uInt)bytes.n + 1};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    assert_int_equal(z.total_out, bytes.n);
    assert_memory_equal(back, bytes.p, bytes.n);
    inflateEnd(&z);
    free(back);
}

static void comes_back(void **state)
{
    (void)state;
    char *large = weir_mem_alloc(LARGE);
    uint32_t dice = 1;
    for (size_t i = 0; i < LARGE; i++) { /* the first half cannot be made smaller */
        dice = dice * 1664525u + 1013904223u;
        large[i] = (char)(i < LARGE / 2 ? dice >> 24 : i % 7);
    }
    size_t sizes[] = {0, 1, 2, 1000, LARGE / 2, LARGE};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct weir_buf out = {0};
        struct weir_slice bytes = weir_slice_make(large, sizes[i]);
        weir_buf_append(&out, WEIR_SLICE("before"));
        assert_int_equal(weir_gzip_pack(bytes, &out), 0);
        struct weir_slice all = weir_buf_slice(&out);
        assert_true(weir_slice_starts_with(all, WEIR_SLICE("before\x1f\x8b")));
        assert_unpacks(weir_slice_sub(all, strlen("before"), all.n), bytes);
        weir_buf_dispose(&out);
    }
    free(large);
}

static void same_bytes_same_result_and_smaller(void **state)
{
    (void)state;
    struct weir_buf text = {0}, a = {0}, b = {0};
    for (int i = 0; i < 1000; i++) {
        weir_buf_printf(&text, "gen_ai.guardrail.policy.id=%d ", i % 10);
    }
    assert_int_equal(weir_gzip_pack(weir_buf_slice(&text), &a), 0);
    assert_int_equal(weir_gzip_pack(weir_buf_slice(&text), &b), 0);
    assert_true(weir_slice_eq(weir_buf_slice(&a), weir_buf_slice(&b)));
    assert_true(a.n < text.n / 10);
    weir_buf_dispose(&text);
    weir_buf_dispose(&a);
    weir_buf_dispose(&b);
}

static void no_room(void **state)
{
    (void)state;
    struct weir_buf out = {.max = 8};
    assert_int_equal(weir_gzip_pack(WEIR_SLICE("hello"), &out), WEIR_ELIMIT);
    assert_int_equal(out.n, 0);
    weir_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back),
        cmocka_unit_test(same_bytes_same_result_and_smaller),
        cmocka_unit_test(no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
