#include "mock/mock_settings.h"

#include "base/err.h"
#include "unit/cmocka_all.h"

static struct weir_mock_settings set;
static struct weir_mock_mistake mistake;

static int setup(void **state)
{
    (void)state;
    weir_mock_settings_init(&set);
    return 0;
}

static int one(const char *name, const char *value)
{
    return weir_mock_settings_set(&set, weir_slice_cstr(name), weir_slice_cstr(value), &mistake);
}

static int header(const char *value)
{
    return weir_mock_settings_header(&set, weir_slice_cstr(value), &mistake);
}

static void values_are_checked(void **state)
{
    (void)state;
    assert_int_equal(one("rate", "50"), 0);
    assert_int_equal(set.rate, 50);
    static const char *const bad[][2] = {
        {"rate", ""},       {"rate", "-1"},       {"rate", "1e3"},  {"rate", "1000001"},
        {"burst", "0"},     {"score", "1.1"},     {"score", "nan"}, {"score", "0.5x"},
        {"score", ""},      {"error", ""},        {"error", "Cut"}, {"scenario", ""},
        {"scenario", "a,"}, {"text", "\xff"},     {"pieces", "["},  {"status", "99"},
        {"find", "some"},   {"grpc_status", "17"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(one(bad[i][0], bad[i][1]), WEIR_EINVAL);
    }
    assert_int_equal(set.rate, 50);
    assert_int_equal(one("no_such", "1"), WEIR_ENOTFOUND);
}

static void dashes_and_underscores_are_one(void **state)
{
    (void)state;
    assert_int_equal(one("fail-at", "7"), 0);
    assert_int_equal(set.fail_at, 7);
    assert_int_equal(one("fail_at", "8"), 0);
    assert_int_equal(set.fail_at, 8);
}

static void a_header_has_many(void **state)
{
    (void)state;
    assert_int_equal(header(" rate = 5;;text=a = b ; scenario=tools, usage;"), 0);
    assert_int_equal(set.rate, 5);
    assert_true(weir_slice_eq_cstr(set.text, "a = b"));
    assert_true(weir_mock_settings_has(&set, WEIR_MOCK_TOOLS));
    assert_true(weir_mock_settings_has(&set, WEIR_MOCK_USAGE));
    assert_false(weir_mock_settings_has(&set, WEIR_MOCK_TEXT));
    assert_int_equal(header(""), 0);
    assert_int_equal(header("rate"), WEIR_EINVAL);
    assert_int_equal(header("rate=1;x=2"), WEIR_EINVAL);
}

static void an_empty_text_is_set(void **state)
{
    (void)state;
    assert_null(set.text.p);
    assert_int_equal(header("text="), 0);
    assert_non_null(set.text.p);
    assert_int_equal(set.text.n, 0);
}

static int json(const char *src, bool is_lenient, struct weir_arena *arena)
{
    struct weir_json j;
    assert_int_equal(weir_json_parse(&j, weir_slice_cstr(src), NULL, arena, NULL), 0);
    struct weir_mock_json from = {.json = &j, .is_lenient = is_lenient, .arena = arena};
    return weir_mock_settings_json(&set, &from, &mistake);
}

static void objects_have_many(void **state)
{
    struct weir_arena arena = {0};
    (void)state;
    assert_int_equal(json("{\"rate\":9,\"text\":\"\\u0061\",\"score\":0.5,\"error\":\"cut\","
                          "\"scenario\":[\"tools\",\"usage\"],\"burst\":null,"
                          "\"events\":[1, {\"a\":null}]}",
                          false, &arena),
                     0);
    assert_int_equal(set.rate, 9);
    assert_int_equal(set.burst, 1);
    assert_int_equal(set.error, WEIR_MOCK_ERROR_CUT);
    assert_true(set.score == 0.5);
    assert_true(weir_slice_eq_cstr(set.text, "a"));
    assert_true(weir_slice_eq_cstr(set.events, "[1, {\"a\":null}]"));
    assert_int_equal(set.scenario, (1 << WEIR_MOCK_TOOLS) | (1 << WEIR_MOCK_USAGE));
    assert_int_equal(json("{\"theirs\":1,\"rate\":3}", true, &arena), 0);
    assert_int_equal(set.rate, 3);
    assert_int_equal(json("{\"theirs\":1}", false, &arena), WEIR_EINVAL);
    assert_int_equal(json("{\"rate\":\"3\"}", true, &arena), WEIR_EINVAL);
    assert_int_equal(json("{\"text\":3}", true, &arena), WEIR_EINVAL);
    assert_int_equal(json("[]", true, &arena), WEIR_EINVAL);
    weir_arena_dispose(&arena);
}

static void an_error_has_a_place(void **state)
{
    (void)state;
    assert_int_equal(weir_mock_settings_fail_at(&set), WEIR_MOCK_UNSET);
    header("error=cut");
    assert_int_equal(weir_mock_settings_fail_at(&set), WEIR_MOCK_FAIL_AT);
    header("fail_at=0");
    assert_int_equal(weir_mock_settings_fail_at(&set), 0);
}

static void every_setting_is_a_flag(void **state)
{
    struct weir_flag flags[WEIR_MOCK_MAX_FLAGS];
    const char *values[WEIR_MOCK_MAX_FLAGS] = {0};
    (void)state;
    size_t n = weir_mock_settings_flags(flags, 0);
    for (size_t i = 0; i < n; i++) {
        assert_null(strchr(flags[i].name, '_'));
        assert_int_equal(flags[i].offset, i * sizeof(const char *));
        if (strcmp(flags[i].name, "tool-calls") == 0) {
            values[i] = "5";
        }
    }
    assert_int_equal(weir_mock_settings_take_flags(&set, values, &mistake), 0);
    assert_int_equal(set.tool_calls, 5);
}

#define TEST(fn) cmocka_unit_test_setup(fn, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_are_checked),      TEST(dashes_and_underscores_are_one),
        TEST(a_header_has_many),       TEST(an_empty_text_is_set),
        TEST(objects_have_many),       TEST(an_error_has_a_place),
        TEST(every_setting_is_a_flag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
