/* Fields by hand, checked byte by byte and against protobuf-c's own reader. */
#include "base/arena.h"
#include "unit/cmocka_all.h"
#include "wire/proto.h"
#include "wire/proto_write.h"

#include <proto/fmaas.pb-c.h>
#include <stdlib.h>
#include <string.h>

static void assert_bytes(struct weir_buf *out, struct weir_slice want)
{
    assert_int_equal(out->n, want.n);
    assert_memory_equal(out->p, want.p, want.n);
    weir_buf_dispose(out);
}

static void test_numbers(void **state)
{
    (void)state;
    struct weir_buf out = {0};
    weir_proto_write_u64(&out, 1, 0);
    weir_proto_write_u64(&out, 2, 300);
    weir_proto_write_u64(&out, 16, UINT64_MAX);
    assert_bytes(&out, WEIR_SLICE("\x08\0\x10\xac\2\x80\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"));
    weir_proto_write_fixed64(&out, 7, 0x0102030405060708);
    weir_proto_write_double(&out, 4, 1.0);
    assert_bytes(&out, WEIR_SLICE("\x39\x08\7\6\5\4\3\2\1\x21\0\0\0\0\0\0\xf0\x3f"));
}

static void test_bytes_and_nesting(void **state)
{
    (void)state;
    struct weir_buf out = {0};
    size_t outer = weir_proto_write_begin(&out, 9);
    weir_proto_write_bytes(&out, 1, WEIR_SLICE("ab"));
    size_t inner = weir_proto_write_begin(&out, 2);
    weir_proto_write_end(&out, inner);
    weir_proto_write_end(&out, outer);
    weir_proto_write_bytes(&out, 1, WEIR_SLICE(""));
    assert_bytes(&out, WEIR_SLICE("\x4a\6\x0a\2ab\x12\0\x0a\0"));
}

/* A nested message of this length, read back by somebody else's reader. */
static void check_nested(size_t n)
{
    struct weir_arena arena = {0};
    struct weir_buf out = {0};
    char *text = malloc(n + 1);
    memset(text, 'x', n + 1);
    weir_proto_write_bytes(&out, 1, WEIR_SLICE("m"));
    size_t mark = weir_proto_write_begin(&out, 3);
    weir_proto_write_bytes(&out, 2, weir_slice_make(text, n));
    weir_proto_write_end(&out, mark);
    mark = weir_proto_write_begin(&out, 3);
    weir_proto_write_bytes(&out, 2, WEIR_SLICE("next"));
    weir_proto_write_end(&out, mark);
    Fmaas__BatchedGenerationRequest *m = weir_proto_unpack(
        &arena, &fmaas__batched_generation_request__descriptor, weir_buf_slice(&out));
    assert_non_null(m);
    assert_int_equal(m->n_requests, 2);
    assert_int_equal(m->requests[0]->text.len, n);
    assert_memory_equal(m->requests[0]->text.data, text, n);
    assert_int_equal(m->requests[1]->text.len, 4);
    free(text);
    weir_buf_dispose(&out);
    weir_arena_dispose(&arena);
}

static void test_lengths_of_every_size(void **state)
{
    (void)state;
    static const size_t lengths[] = {0,     1,     120,   124,   125,     126,    127,
                                     128,   200,   16378, 16379, 16380,   16381,  16384,
                                     20000, 65535, 65536, 70000, 2097140, 2097152};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        check_nested(lengths[i]);
    }
}

static void test_size_is_what_is_written(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 127, 128, 16383, 16384};
    static const uint32_t fields[] = {1, 15, 16, 2047, 2048};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (size_t k = 0; k < sizeof fields / sizeof fields[0]; k++) {
            struct weir_buf out = {0};
            weir_proto_write_head(&out, fields[k], lengths[i]);
            assert_int_equal(out.n + lengths[i], weir_proto_write_size(fields[k], lengths[i]));
            weir_buf_dispose(&out);
        }
    }
}

static void assert_text(struct weir_slice in, size_t max, struct weir_slice want)
{
    struct weir_buf out = {0};
    weir_proto_write_text(&out, 1, in, max);
    assert_int_equal(out.n, want.n + 2);
    assert_int_equal(out.p[1], want.n);
    assert_memory_equal(out.p + 2, want.p, want.n);
    weir_buf_dispose(&out);
}

static void test_texts_are_utf8(void **state)
{
    (void)state;
    assert_text(WEIR_SLICE("gr\xC3\xBC"), 10, WEIR_SLICE("gr\xC3\xBC"));
    assert_text(WEIR_SLICE(""), 10, WEIR_SLICE(""));
    assert_text(WEIR_SLICE("a\xFF"
                           "b"),
                10,
                WEIR_SLICE("a\xEF\xBF\xBD"
                           "b"));
    assert_text(WEIR_SLICE("\xC3"), 10, WEIR_SLICE("\xEF\xBF\xBD"));
    assert_text(WEIR_SLICE("\xFF\xFF"), 10, WEIR_SLICE("\xEF\xBF\xBD\xEF\xBF\xBD"));
}

static void test_texts_are_cut_at_a_character(void **state)
{
    (void)state;
    assert_text(WEIR_SLICE("abcdef"), 3, WEIR_SLICE("abc"));
    assert_text(WEIR_SLICE("ab\xC3\xBC"), 3, WEIR_SLICE("ab"));
    assert_text(WEIR_SLICE("ab\xF0\x9F\x98\x80"), 5, WEIR_SLICE("ab"));
    assert_text(WEIR_SLICE("ab\xF0\x9F\x98\x80"), 6, WEIR_SLICE("ab\xF0\x9F\x98\x80"));
    /* No characters to cut at: what is left is replaced like everything else of its kind. */
    assert_text(WEIR_SLICE("\x80\x80\x80\x80\x80\x80"), 4, WEIR_SLICE("\xEF\xBF\xBD"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_bytes_and_nesting),
        cmocka_unit_test(test_lengths_of_every_size),
        cmocka_unit_test(test_size_is_what_is_written),
        cmocka_unit_test(test_texts_are_utf8),
        cmocka_unit_test(test_texts_are_cut_at_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
