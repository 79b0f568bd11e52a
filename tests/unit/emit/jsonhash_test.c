#include "emit/jsonhash.h"
#include "unit/cmocka_all.h"

static struct weir_arena arena;
static struct weir_buf scratch;

static uint64_t hash(const char *text)
{
    struct weir_json j;
    assert_int_equal(weir_json_parse(&j, weir_slice_cstr(text), NULL, &arena, NULL), 0);
    return weir_jsonhash(&j, 0, &scratch);
}

static void equal_values_hash_equal(void **state)
{
    (void)state;
    assert_true(hash("{\"a\":1,\"b\":[true,null]}") == hash(" {\"b\":[true, null],\"a\":1.0} "));
    assert_true(hash("\"\\u0061\"") == hash("\"a\""));
    assert_true(hash("{\"\\u0061\":0}") == hash("{\"a\":-0}"));
    assert_true(hash("100") == hash("1e2"));
}

static void different_values_do_not(void **state)
{
    (void)state;
    static const char *const values[] = {"null",
                                         "true",
                                         "false",
                                         "0",
                                         "1",
                                         "\"\"",
                                         "\"0\"",
                                         "[]",
                                         "{}",
                                         "[[]]",
                                         "[0]",
                                         "[0,1]",
                                         "[1,0]",
                                         "{\"a\":1}",
                                         "{\"b\":1}",
                                         "{\"a\":2}",
                                         "{\"a\":\"b\"}",
                                         "{\"b\":\"a\"}",
                                         "{\"a\":1,\"b\":2}",
                                         "{\"a\":2,\"b\":1}",
                                         "[\"a\",1]",
                                         "\"null\"",
                                         "[null]",
                                         "{\"a\":{}}",
                                         "{\"a\":[]}"};
    enum { N = sizeof values / sizeof values[0] };
    for (size_t i = 0; i < N; i++) {
        for (size_t k = i + 1; k < N; k++) {
            assert_true(hash(values[i]) != hash(values[k]));
        }
    }
}

static void extending_is_joining(void **state)
{
    (void)state;
    uint64_t whole = weir_jsonhash_extend(0, WEIR_SLICE("abcdef"));
    uint64_t parts =
        weir_jsonhash_extend(weir_jsonhash_extend(0, WEIR_SLICE("ab")), WEIR_SLICE("cdef"));
    assert_true(whole == parts);
    assert_true(whole != weir_jsonhash_extend(0, WEIR_SLICE("abcdeg")));
}

static int clean_up(void **state)
{
    (void)state;
    weir_arena_dispose(&arena);
    weir_buf_dispose(&scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_values_hash_equal),
        cmocka_unit_test(different_values_do_not),
        cmocka_unit_test(extending_is_joining),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
