/* Requests read by a table: what is told, and in which order things are noticed. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "unit/route/reading.h"

enum { NAME, SIZE, FLAG, LIST, N_SPECS };

static const struct weir_fields_spec SPECS[N_SPECS] = {
    [NAME] = {"name", WEIR_FIELDS_STRING, true},
    [SIZE] = {"size", WEIR_FIELDS_INTEGER, false},
    [FLAG] = {"flag", WEIR_FIELDS_BOOL, false},
    [LIST] = {"list", WEIR_FIELDS_ARRAY, false},
};

static void check(const char *text, const char *expected)
{
    struct reading r;
    uint32_t at[N_SPECS];
    int rc = weir_fields_read(&read_json(&r, text)->f, 0, "", SPECS, N_SPECS, at);
    assert_int_equal(rc, expected == NULL ? 0 : WEIR_EINVAL);
    assert_told(&r, expected);
}

static void test_fine(void **state)
{
    (void)state;
    check("{\"name\":\"\"}", NULL);
    check("{\"list\":[],\"flag\":false,\"size\":-5,\"name\":\"x\"}", NULL);
    check("{\"name\":\"x\",\"size\":null,\"flag\":null,\"list\":null}", NULL);
    check("{\"n\\u0061me\":\"x\"}", NULL);
}

static void test_nodes(void **state)
{
    (void)state;
    struct reading r;
    uint32_t at[N_SPECS];
    read_json(&r, "{\"size\":null,\"name\":\"a\\u00e9\",\"flag\":true}");
    assert_int_equal(weir_fields_read(&r.f, 0, "", SPECS, N_SPECS, at), 0);
    assert_true(weir_slice_eq_cstr(weir_fields_string(&r.f, at[NAME]), "a\xc3\xa9"));
    assert_int_equal(at[SIZE], WEIR_JSON_NONE);
    assert_int_equal(weir_json_type(&r.json, at[FLAG]), WEIR_JSON_TRUE);
    assert_int_equal(at[LIST], WEIR_JSON_NONE);
    assert_int_equal(weir_fields_string(&r.f, at[LIST]).n, 0);
    weir_arena_dispose(&r.arena);
}

static void test_what_is_told(void **state)
{
    (void)state;
    check("{\"nam\":1}",
          "nam: unknown field `nam`, expected one of `name`, `size`, `flag`, `list`");
    check("{}", "missing field `name`");
    check("[]", "invalid type: array, expected an object");
    check("{\"name\":null}", "name: invalid type: null, expected a string");
    check("{\"name\":7}", "name: invalid type: number `7`, expected a string");
    check("{\"name\":\"\",\"size\":1.0}", "size: invalid type: number `1.0`, expected an integer");
    check("{\"name\":\"\",\"size\":1e2}", "size: invalid type: number `1e2`, expected an integer");
    check("{\"name\":\"\",\"flag\":\"a\\nb\"}",
          "flag: invalid type: string \"a\\nb\", expected a boolean");
    check("{\"name\":true}", "name: invalid type: boolean `true`, expected a string");
    check("{\"name\":\"\",\"list\":{}}", "list: invalid type: object, expected an array");
    /* The first in the order of the body; what is missing comes last. */
    check("{\"size\":[],\"x\":1}", "size: invalid type: array, expected an integer");
}

static void test_paths(void **state)
{
    (void)state;
    struct reading r;
    uint32_t at[N_SPECS];
    weir_fields_read(&read_json(&r, "{\"name\":1}")->f, 0, "a.b[2]", SPECS, N_SPECS, at);
    assert_told(&r, "a.b[2].name: invalid type: number `1`, expected a string");
    weir_fields_read(&read_json(&r, "{}")->f, 0, "a", SPECS, N_SPECS, at);
    assert_told(&r, "a: missing field `name`");
    weir_fields_read(&read_json(&r, "{\"x\":1}")->f, 0, "a", SPECS, 1, at);
    assert_told(&r, "a.x: unknown field `x`, expected `name`");
}

static void test_others_business(void **state)
{
    (void)state;
    struct reading r;
    uint32_t at[N_SPECS];
    read_json(&r, "{\"x\":1,\"name\":\"n\"}");
    assert_int_equal(weir_fields_read_some(&r.f, 0, "", SPECS, N_SPECS, at), 0);
    assert_int_equal(weir_fields_read(&r.f, 0, "", SPECS, N_SPECS, at), WEIR_EINVAL);
    r.f.ignores_unknown = true;
    r.f.error = NULL;
    assert_int_equal(weir_fields_read(&r.f, 0, "", SPECS, N_SPECS, at), 0);
    assert_told(&r, NULL);
}

static void test_values_of_any_length(void **state)
{
    (void)state;
    char text[600];
    memset(text, '1', sizeof text);
    memcpy(text, "{\"name\":", 8);
    memcpy(text + 590, "}", 2);
    check(text, "name: invalid type: number, expected a string");
    text[8] = text[589] = '"';
    memcpy(text + 2, "flag", 4);
    check(text, "flag: invalid type: string, expected a boolean");
    /* A name is shown up to a point, twice. */
    memset(text, 'k', sizeof text);
    memcpy(text, "{\"", 2);
    memcpy(text + 500, "\":1}", 5);
    struct reading r;
    uint32_t at[N_SPECS];
    weir_fields_read(&read_json(&r, text)->f, 0, "", SPECS, N_SPECS, at);
    assert_in_range(strlen(r.f.error), 500, 640);
    weir_arena_dispose(&r.arena);
}

static void test_variants(void **state)
{
    (void)state;
    static const char *const names[] = {"docs", "url", "more"};
    struct reading r;
    read_json(&r, "[\"docs\",\"u\\u0072l\",\"doc\"]");
    assert_int_equal(weir_fields_variant(&r.f, WEIR_JSON_NONE, "t", names, 2), 0);
    assert_int_equal(weir_fields_variant(&r.f, 1, "t", names, 2), 0);
    assert_int_equal(weir_fields_variant(&r.f, 2, "t", names, 2), 0);
    assert_int_equal(weir_fields_variant(&r.f, 3, "t", names, 2), WEIR_EINVAL);
    assert_string_equal(r.f.error, "t: unknown variant `doc`, expected `docs` or `url`");
    weir_fields_variant(&r.f, 3, "t", names, 3);
    assert_told(&r, "t: unknown variant `doc`, expected one of `docs`, `url`, `more`");
}

static void test_objects(void **state)
{
    (void)state;
    struct reading r;
    assert_int_equal(weir_fields_check_objects(&read_json(&r, "{}")->f, WEIR_JSON_NONE, "d"), 0);
    assert_told(&r, NULL);
    assert_int_equal(
        weir_fields_check_objects(&read_json(&r, "{\"a\":{},\"b\":{\"x\":1}}")->f, 0, "d"), 0);
    assert_told(&r, NULL);
    weir_fields_check_objects(&read_json(&r, "{\"a\":{},\"b\":null}")->f, 0, "d.in");
    assert_told(&r, "d.in.b: invalid type: null, expected an object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fine),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_what_is_told),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_others_business),
        cmocka_unit_test(test_values_of_any_length),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
