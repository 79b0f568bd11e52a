#include "http/msg.h"

#include "unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>

static void methods_are_case_sensitive(void **state)
{
    (void)state;
    assert_int_equal(weir_http_method_of(WEIR_SLICE("GET")), WEIR_HTTP_GET);
    assert_int_equal(weir_http_method_of(WEIR_SLICE("HEAD")), WEIR_HTTP_HEAD);
    assert_int_equal(weir_http_method_of(WEIR_SLICE("POST")), WEIR_HTTP_POST);
    assert_int_equal(weir_http_method_of(WEIR_SLICE("OPTIONS")), WEIR_HTTP_OPTIONS);
    assert_int_equal(weir_http_method_of(WEIR_SLICE("get")), WEIR_HTTP_OTHER);
    assert_int_equal(weir_http_method_of(WEIR_SLICE("GETS")), WEIR_HTTP_OTHER);
    assert_int_equal(weir_http_method_of(WEIR_SLICE("")), WEIR_HTTP_OTHER);
}

static void the_first_field_of_a_name_in_any_case(void **state)
{
    (void)state;
    struct weir_http_field fields[] = {
        {WEIR_SLICE("X-A"), WEIR_SLICE("1")},
        {WEIR_SLICE("x-b"), WEIR_SLICE("")},
        {WEIR_SLICE("x-a"), WEIR_SLICE("2")},
    };
    struct weir_http_request req = {.fields = fields, .n_fields = 3};
    assert_true(weir_slice_eq_cstr(weir_http_request_get(&req, WEIR_SLICE("x-a")), "1"));
    struct weir_slice empty = weir_http_request_get(&req, WEIR_SLICE("X-B"));
    assert_true(empty.p != NULL && empty.n == 0);
    assert_null(weir_http_request_get(&req, WEIR_SLICE("x-")).p);
}

static void expect_target(const char *target, const char *path, const char *query)
{
    struct weir_http_request req = {0};
    weir_http_request_set_target(&req, weir_slice_cstr(target));
    assert_true(weir_slice_eq_cstr(req.path, path));
    assert_true(weir_slice_eq_cstr(req.query, query));
}

static void a_target_is_cut_at_the_first_question_mark(void **state)
{
    (void)state;
    expect_target("/", "/", "");
    expect_target("/a/b?c=d", "/a/b", "c=d");
    expect_target("/a?", "/a", "");
    expect_target("/a?b?c", "/a", "b?c");
    expect_target("*", "*", "");
    expect_target("", "", "");
}

/* A status line has a space before the phrase even where there is none. */
static void every_status_of_ours_has_a_phrase(void **state)
{
    (void)state;
    static const int ours[] = {200, 204, 400, 401, 404, 405, 408, 413, 414,
                               415, 417, 422, 429, 431, 500, 501, 503, 505};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        assert_true(strlen(weir_http_reason(ours[i])) > 0);
    }
    assert_string_equal(weir_http_reason(299), "");
}

static void numbers_are_decimal(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {0, 9, 10, 200, 1048576, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char out[WEIR_HTTP_DECIMAL_BYTES];
        char expected[32];
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)numbers[i]);
        assert_true(weir_slice_eq_cstr(weir_http_decimal(out, numbers[i]), expected));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_are_case_sensitive),
        cmocka_unit_test(the_first_field_of_a_name_in_any_case),
        cmocka_unit_test(a_target_is_cut_at_the_first_question_mark),
        cmocka_unit_test(every_status_of_ours_has_a_phrase),
        cmocka_unit_test(numbers_are_decimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
