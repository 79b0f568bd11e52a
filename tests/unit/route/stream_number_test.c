/* Events that are counted: each leaves with its number, wherever the server has put its own. */
#include "base/buf.h"
#include "route/stream_dialect.h"

#include "unit/cmocka_all.h"

#include <stdio.h>

#define KEY WEIR_SLICE("\"n\":")

static bool finds(const char *event, const char *want)
{
    struct weir_slice digits;
    bool is_found = weir_stream_find_number(weir_slice_cstr(event), KEY, &digits);
    return is_found && weir_slice_eq_cstr(digits, want);
}

static bool finds_none(const char *event)
{
    struct weir_slice digits;
    return !weir_stream_find_number(weir_slice_cstr(event), KEY, &digits);
}

static void test_next_to_the_type(void **state)
{
    (void)state;
    assert_true(finds("{\"type\":\"t\",\"n\":7,\"a\":1}", "7"));
    assert_true(finds("{\"type\":\"t\",\"n\":70}", "70"));
    assert_true(finds("{\"a\":1,\"n\":7,\"type\":\"t\"}", "7"));
    assert_true(finds("{\"n\":12,\"type\":\"t\"}", "12"));
    assert_true(finds("{\"delta\":\"\\\"n\\\":3\",\"n\":7,\"type\":\"t\"}", "7"));
    static const char *const others[] = {
        "{\"a\":1,\"n\":7}",
        "{\"type\":\"t\",\"a\":1,\"n\":7}",
        "{\"type\":\"t\",\"n\":-7}",
        "{\"type\":\"t\",\"n\":7.5}",
        "{\"type\":\"t\",\"n\":\"7\"}",
        "{\"type\":\"t\",\"n\":",
        "{\"type\":\"t\",\"n\":7",
        "{\"type\":\"t\",\"nn\":7}",
        "{\"type\":\"t",
        "{\"a\":{\"n\":7,\"type\":\"t\"}}", /* of something inside */
        "{\"delta\":\"\\\"n\\\":7,\\\"type\\\":\\\"t\"}",
        "{\"xn\":7,\"type\":\"t\"}",
        "{\"n\":,\"type\":\"t\"}",
        "{\"n\":-7,\"type\":\"t\"}",
        "\"}",
        "7,\"type\":\"t\"}",
        "",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (!finds_none(others[i])) {
            fail_msg("%s", others[i]);
        }
    }
}

static void expect_set(const char *event, uint64_t number, const char *want)
{
    struct weir_buf out = {0};
    bool is_set = weir_stream_set_number(weir_slice_cstr(event), KEY, number, &out);
    assert_int_equal(is_set, want != NULL);
    if (want != NULL) {
        assert_string_equal(weir_buf_cstr(&out), want);
    } else {
        assert_int_equal(out.n, 0);
    }
    weir_buf_dispose(&out);
}

static void test_set(void **state)
{
    (void)state;
    expect_set("{\"type\":\"t\",\"n\":7,\"a\":1}", 7, NULL);
    expect_set("{\"type\":\"t\",\"n\":7,\"a\":1}", 10, "{\"type\":\"t\",\"n\":10,\"a\":1}");
    expect_set("{\"type\":\"t\",\"n\":07}", 7, "{\"type\":\"t\",\"n\":7}");
    expect_set("{\"type\":\"t\",\"n\":99999999999999999999999}", 7, "{\"type\":\"t\",\"n\":7}");
    expect_set("{\"n\":7,\"type\":\"t\"}", 7, NULL);
    expect_set("{\"n\":7,\"type\":\"t\"}", 123, "{\"n\":123,\"type\":\"t\"}");
    /* Anywhere else, and where there is none. */
    expect_set("{\"type\":\"t\",\"a\":1,\"n\":7}", 7, NULL);
    expect_set("{\"type\":\"t\",\"a\":1,\"n\":7}", 8, "{\"type\":\"t\",\"a\":1,\"n\":8}");
    expect_set("{\"type\":\"t\",\"n\": 7}", 7, NULL);
    expect_set("{\"type\":\"t\",\"n\":\"7\"}", 7, "{\"type\":\"t\",\"n\":7}");
    expect_set("{\"type\":\"t\"}", 0, "{\"type\":\"t\",\"n\":0}");
    expect_set("{\"a\":{\"n\":7,\"type\":\"t\"}}", 8, "{\"a\":{\"n\":7,\"type\":\"t\"},\"n\":8}");
    expect_set("no JSON", 8, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next_to_the_type),
        cmocka_unit_test(test_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
