/* Pointers to the nodes of a document, in their order. */
#include "talk/pointer.h"

#include "unit/cmocka_all.h"

static void test_all_nodes(void **state)
{
    (void)state;
    static const char *const want[] = {
        "", "/a", "/a", "/a/0", "/a/1", "/a/1/b~1~0c", "/a/1/b~1~0c", "/a/2", "/", "/", "/d", "/d"};
    struct weir_arena arena = {0};
    struct weir_json json;
    assert_int_equal(weir_json_parse(&json,
                                     WEIR_SLICE("{\"a\":[1,{\"b/~c\":\"x\"},[]],\"\":null,"
                                                "\"\\u0064\":{}}"),
                                     NULL, &arena, NULL),
                     0);
    assert_int_equal(json.n_nodes, sizeof want / sizeof want[0]);
    struct weir_pointer p = {.json = &json, .arena = &arena};
    for (uint32_t i = 0; i < json.n_nodes; i++) {
        struct weir_buf out = {0};
        weir_pointer_append(&p, i, &out);
        assert_true(weir_slice_eq_cstr(weir_buf_slice(&out), want[i]));
        weir_buf_clear(&out);
        weir_pointer_append(&p, i, &out); /* again */
        assert_true(weir_slice_eq_cstr(weir_buf_slice(&out), want[i]));
        assert_true(weir_slice_eq_cstr(weir_pointer_of(&json, i, &arena), want[i]));
        weir_buf_dispose(&out);
    }
    weir_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
