#include "chunk/registry.h"

#include "unit/chunk/cutting.h"
#include "unit/cmocka_all.h"

static void expect(const char *kind, const char *params, const char *want)
{
    struct weir_arena arena = {0};
    struct weir_buf why = {0};
    struct weir_chunk_builtin_options options = {weir_slice_cstr(kind), WEIR_SLICE("mine"),
                                                 weir_slice_cstr(params)};
    const struct weir_chunker *c = weir_chunk_builtin_new(&arena, &options, &why);
    assert_non_null(c);
    assert_true(weir_slice_eq_cstr(c->id, "mine"));
    assert_int_equal(c->is_whole_doc, strcmp(kind, "whole_doc") == 0);
    cutting_expect(c, want);
    weir_arena_dispose(&arena);
}

static void expect_wrong(const char *kind, const char *params, const char *want)
{
    struct weir_arena arena = {0};
    struct weir_buf why = {0};
    struct weir_chunk_builtin_options options = {weir_slice_cstr(kind), WEIR_SLICE("mine"),
                                                 weir_slice_cstr(params)};
    assert_null(weir_chunk_builtin_new(&arena, &options, &why));
    assert_string_equal(weir_buf_cstr(&why), want);
    weir_buf_dispose(&why);
    weir_arena_dispose(&arena);
}

static void test_each_kind(void **state)
{
    (void)state;
    expect("sentence", "", "One. |Two\n\n|Three");
    expect("sentence", "{\"max_bytes\":16}", "abcdefghijklmnop|q");
    expect("paragraph", "{}", "One. Two\n\n|Three");
    expect("paragraph", "{\"max_bytes\":16}", "abcdefghijklmnop|q");
    expect("whole_doc", "{}", "One. Two\n\nThree");
    expect("window", "{\"size\":8,\"overlap\":2}", "One. T|wo\n\nTh|ree");
    expect("window", "{\"size\":null}", "One. Two\n\nThree");
}

static void test_wrong_params(void **state)
{
    (void)state;
    expect_wrong("word", "{}", "there is no built-in chunker `word`");
    expect_wrong("sentence", "{\"size\":3}", "`size` is not a parameter of `sentence`");
    expect_wrong("whole_doc", "{\"max_bytes\":3}", "`max_bytes` is not a parameter of `whole_doc`");
    expect_wrong("window", "{\"size\":1}", "`size` must be an integer from 2 to 65536");
    expect_wrong("window", "{\"size\":\"9\"}", "`size` must be an integer from 2 to 65536");
    expect_wrong("window", "{\"size\":2.5}", "`size` must be an integer from 2 to 65536");
    expect_wrong("window", "{\"size\":64}", "`overlap` (64) must be less than `size` (64)");
    expect_wrong("window", "{\"overlap\":65536}", "`overlap` must be an integer from 0 to 65535");
    expect_wrong("paragraph", "{\"max_bytes\":15}",
                 "`max_bytes` must be an integer from 16 to 65536");
    expect_wrong("window", "[]", "its parameters are not an object");
    expect_wrong("window", "{", "its parameters are not JSON");
}

/* Every name of the table makes a chunker without parameters. */
static void test_names(void **state)
{
    (void)state;
    size_t n = 0;
    for (; weir_chunk_builtin_name(n) != NULL; n++) {
        struct weir_arena arena = {0};
        struct weir_buf why = {0};
        struct weir_chunk_builtin_options options = {weir_slice_cstr(weir_chunk_builtin_name(n)),
                                                     WEIR_SLICE("mine"), WEIR_SLICE("")};
        assert_non_null(weir_chunk_builtin_new(&arena, &options, &why));
        weir_arena_dispose(&arena);
    }
    assert_int_equal(n, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind),
        cmocka_unit_test(test_wrong_params),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
