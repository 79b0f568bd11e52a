/* What is changed in a request before anybody else looks at it. */
#include "route/adjust.h"

#include "unit/cmocka_all.h"
#include "unit/route/reading.h"

#include <stdio.h>

static void becomes(const char *text, const struct weir_adjust_options *o, const char *want,
                    const char *warnings)
{
    struct reading r;
    read_json(&r, text);
    struct weir_adjust got = weir_adjust(&r.json, o, &r.arena);
    assert_null(got.conflict);
    assert_int_equal(got.json->src.n, strlen(want));
    assert_memory_equal(got.json->src.p, want, strlen(want));
    assert_int_equal(got.warnings.n, strlen(warnings));
    assert_memory_equal(got.warnings.p, warnings, strlen(warnings));
    weir_arena_dispose(&r.arena);
}

#define WARNING(text) "{\"type\":\"MAX_TOKENS\",\"message\":\"" text "\"}"

static void tokens_are_limited(void **state)
{
    (void)state;
    struct weir_adjust_options chat = {.is_chat = true, .max_tokens = {.fallback = 5, .cap = 10}};
    struct weir_adjust_options text = {.max_tokens = {.cap = 10}};
    struct weir_adjust_options no_cap = {.is_chat = true, .max_tokens = {.fallback = 5}};
    struct weir_adjust_options nothing = {.is_chat = true};
    becomes("{}", &nothing, "{}", "");
    becomes("{\"a\":1}", &chat, "{\"a\":1,\"max_completion_tokens\":5}", "");
    becomes("{\"a\":1}", &text, "{\"a\":1,\"max_tokens\":10}", "");
    becomes("{\"max_completion_tokens\":null}", &chat, "{\"max_completion_tokens\":5}", "");
    becomes("{\"max_tokens\":10}", &chat, "{\"max_tokens\":10}", "");
    becomes("{\"max_tokens\":11}", &chat, "{\"max_tokens\":10}",
            WARNING("`max_tokens` was 11, it is limited to 10"));
    becomes("{\"max_tokens\":11}", &no_cap, "{\"max_tokens\":11}", "");
    becomes("{\"n_predict\":-1,\"max_output_tokens\":1e9}", &chat,
            "{\"n_predict\":10,\"max_output_tokens\":10}",
            WARNING("`max_output_tokens` was 1e9, it is limited to 10") "," WARNING(
                "`n_predict` was -1, it is limited to 10"));
    becomes("{\"max_tokens\":\"99\",\"max_completion_tokens\":4}", &chat,
            "{\"max_tokens\":10,\"max_completion_tokens\":4}",
            WARNING("`max_tokens` is limited to 10"));
    becomes("[\"max_tokens\"]", &chat, "[\"max_tokens\"]", "");
}

/* Whatever a caller writes, what goes on has a number within the cap under each name it has. */
static void no_request_is_above_the_cap(void **state)
{
    (void)state;
    static const char *const names[] = {"max_completion_tokens", "max_tokens", "max_output_tokens",
                                        "n_predict"};
    static const char *const values[] = {"0",    "7",   "8",    "-0",   "-1",
                                         "7.5",  "7.0", "1e0",  "1e99", "18446744073709551617",
                                         "null", "[7]", "true", "{}",   "\"7\""};
    struct weir_adjust_options o = {.is_chat = true, .max_tokens = {.cap = 7}};
    for (size_t i = 0; i < 4 * 15 * 15; i++) {
        struct reading r;
        char text[256];
        snprintf(text, sizeof text, "{\"%s\":%s,\"%s\":%s}", names[i % 4], values[i / 4 % 15],
                 names[(i + 1) % 4], values[i / 60]);
        read_json(&r, text);
        struct weir_adjust got = weir_adjust(&r.json, &o, &r.arena);
        assert_null(got.conflict);
        size_t n_said = 0;
        for (size_t k = 0; k < 4; k++) {
            uint64_t n;
            uint32_t at = weir_json_get_set(got.json, 0, weir_slice_cstr(names[k]));
            if (at != WEIR_JSON_NONE) {
                assert_int_equal(weir_json_u64(got.json, at, &n), 0);
                assert_in_range(n, 0, 7);
                n_said++;
            }
        }
        assert_true(n_said > 0);
        weir_arena_dispose(&r.arena);
    }
}

static void histories_are_merged(void **state)
{
    (void)state;
    struct weir_adjust_options o = {.is_chat = true, .merges_history = true};
    becomes("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":"
            "\"a\"}],\"model\":\"m\"}",
            &o, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"model\":\"m\"}",
            "{\"type\":\"HISTORY\",\"message\":\"messages[1]: this message was left out, it "
            "repeats what came before\"}");
    becomes("{\"messages\":7}", &o, "{\"messages\":7}", "");
    struct reading r;
    read_json(&r, "{\"messages\":[{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"a\"},"
                  "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"b\"}]}");
    assert_non_null(weir_adjust(&r.json, &o, &r.arena).conflict);
    weir_arena_dispose(&r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_limited),
        cmocka_unit_test(no_request_is_above_the_cap),
        cmocka_unit_test(histories_are_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
