/* Paths with a star: at the end it stands for anything, before the end for one segment. */
#include "unit/cmocka_all.h"

#include "route/table.h"

static void begin(void *env, struct weir_http_stream *s)
{
    (void)env;
    (void)s;
}

static const struct weir_route_entry TABLE[] = {
    {"/v1/things", WEIR_HTTP_POST, begin, NULL},
    {"/v1/things/*/cancel", WEIR_HTTP_POST, begin, NULL},
    {"/v1/things/*", WEIR_HTTP_DELETE, begin, NULL},
    {"/v1/models/*", WEIR_HTTP_GET, begin, NULL},
};

static void expect(const char *path, const char *pattern)
{
    const struct weir_route_entry *found =
        weir_route_find(TABLE, sizeof TABLE / sizeof *TABLE, weir_slice_cstr(path));
    if (pattern == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found->path, pattern);
    }
}

static void test_a_star_at_the_end_is_anything_but_nothing(void **state)
{
    (void)state;
    expect("/v1/things", "/v1/things");
    expect("/v1/things/", NULL);
    expect("/v1/things/a", "/v1/things/*");
    expect("/v1/models/org/model", "/v1/models/*");
}

static void test_a_star_in_the_middle_is_one_segment(void **state)
{
    (void)state;
    expect("/v1/things/a/cancel", "/v1/things/*/cancel");
    expect("/v1/things//cancel", "/v1/things/*");
    expect("/v1/things/a/b/cancel", "/v1/things/*");
    expect("/v1/things/a/cancel/", "/v1/things/*");
    expect("/v1/things/cancel", "/v1/things/*");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_star_at_the_end_is_anything_but_nothing),
        cmocka_unit_test(test_a_star_in_the_middle_is_one_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
