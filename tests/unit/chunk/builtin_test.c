#include "chunk/builtin.h"
#include "unit/chunk/cutting.h"
#include "unit/cmocka_all.h"

static void expect(const struct weir_chunk_builtin_options *options, const char *want)
{
    struct weir_chunk_builtin b;
    assert_int_equal(weir_chunk_builtin_init(&b, WEIR_SLICE("mine"), options), 0);
    assert_true(weir_slice_eq_cstr(b.as.base.id, "mine"));
    assert_int_equal(b.as.base.is_whole_doc, options->kind == WEIR_CHUNK_BUILTIN_WHOLE);
    cutting_expect(&b.as.base, want);
    weir_chunk_builtin_dispose(&b);
    weir_chunk_builtin_dispose(&b); /* safe twice */
}

static void test_each_kind(void **state)
{
    (void)state;
    struct weir_chunk_builtin_options options = {.kind = WEIR_CHUNK_BUILTIN_SENTENCE};
    expect(&options, "One. |Two\n\n|Three");
    options.kind = WEIR_CHUNK_BUILTIN_PARAGRAPH;
    expect(&options, "One. Two\n\n|Three");
    options.kind = WEIR_CHUNK_BUILTIN_WHOLE;
    expect(&options, "One. Two\n\nThree");
    options.kind = WEIR_CHUNK_BUILTIN_WINDOW;
    options.size_cp = 8;
    options.overlap_cp = 2;
    expect(&options, "One. T|wo\n\nTh|ree");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_each_kind),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
