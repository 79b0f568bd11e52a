/* What OpenAI-compatible servers say instead of a completion, in the shapes they say it. */
#include "unit/cmocka_all.h"

#include "model/openai_answer.h"

#include <stdio.h>

static void expect_error_event(const char *name, const char *data, bool is_error)
{
    struct weir_sse_event e = {
        .name = weir_slice_cstr(name), .data = weir_slice_cstr(data), .has_data = true};
    if (weir_openai_answer_is_error(&e) != is_error) {
        fail_msg("%s is %san error", data, is_error ? "not " : "");
    }
}

static void test_is_error(void **state)
{
    (void)state;
    expect_error_event("", "{\"error\":{\"message\":\"m\"}}", true);
    expect_error_event("", "{\"error\":\"m\"}", true);
    expect_error_event("", "{\"choices\":[],\"error\":{}}", true);
    expect_error_event("", "{\"object\":\"error\",\"message\":\"m\"}", true);
    expect_error_event("error", "words", true);
    expect_error_event("message", "{\"choices\":[]}", false);
    expect_error_event("", "{\"choices\":[],\"error\":null}", false);
    expect_error_event("", "{\"object\":\"error\",\"choices\":[]}", false);
    expect_error_event("",
                       "{\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{"
                       "\"content\":\"error\"}}]}",
                       false);
    expect_error_event("", "{\"choices\":[{\"error\":1}]}", false);
    expect_error_event("", "{\"error\":", false);
    expect_error_event("", "\"error\"", false);
    expect_error_event("", "", false);
}

/* Wherever the member stands in an event of whatever length. */
static void test_is_error_anywhere(void **state)
{
    (void)state;
    char text[700];
    for (int before = 0; before < 300; before++) {
        for (int behind = 0; behind < 300; behind += 37) {
            static const char *const names[] = {"error", "erron"};
            for (int i = 0; i < 2; i++) {
                (void)snprintf(text, sizeof text, "{\"a\":\"%0*d\",\"%s\":{},\"b\":\"%0*d\"}",
                               before, 1, names[i], behind, 1);
                expect_error_event("", text, i == 0);
            }
        }
    }
}

static void expect(const char *body, int status, const char *message)
{
    struct weir_arena arena = {0};
    struct weir_fault fault = {.status = 418};
    weir_openai_answer_message(&fault, weir_slice_cstr(body), &arena);
    if (fault.status != 418 || !weir_slice_eq_cstr(fault.message, message)) {
        fail_msg("%s: %d \"%.*s\"", body, fault.status, (int)fault.message.n, fault.message.p);
    }
    weir_openai_answer_event(&fault, weir_slice_cstr(body), &arena);
    if (fault.status != status || !weir_slice_eq_cstr(fault.message, message)) {
        fail_msg("%s: %d \"%.*s\"", body, fault.status, (int)fault.message.n, fault.message.p);
    }
    weir_arena_dispose(&arena);
}

static void expect_names(const char *body, const char *code, const char *param)
{
    struct weir_arena arena = {0};
    struct weir_fault fault = {0};
    weir_openai_answer_message(&fault, weir_slice_cstr(body), &arena);
    if (!weir_slice_eq_cstr(fault.code, code) || !weir_slice_eq_cstr(fault.param, param)) {
        fail_msg("%s: %.*s %.*s", body, (int)fault.code.n, fault.code.p, (int)fault.param.n,
                 fault.param.p);
    }
    weir_arena_dispose(&arena);
}

/* They are passed on to callers, so they must be what they claim to be. */
static void test_codes_and_params(void **state)
{
    (void)state;
    expect_names("{\"error\":{\"code\":\"model_not_found\",\"param\":\"messages[0].content\"}}",
                 "\"model_not_found\"", "\"messages[0].content\"");
    expect_names("{\"object\":\"error\",\"code\":40001,\"param\":null}", "40001", "");
    expect_names("{\"error\":{\"code\":4111111111111111,\"param\":7}}", "", "");
    expect_names("{\"error\":{\"code\":-1,\"param\":\"\"}}", "", "");
    expect_names("{\"error\":{\"code\":\"jane@example.org\",\"param\":\"two words\"}}", "", "");
    expect_names("{\"error\":{\"code\":\"a\\u0040b\",\"param\":[\"x\"]}}", "", "");
    expect_names("{\"error\":\"text\",\"code\":\"outer\"}", "\"outer\"", "");
    expect_names("not JSON", "", "");
}

static void test_messages(void **state)
{
    (void)state;
    expect("{\"error\":{\"message\":\"a\\tb\",\"type\":\"t\",\"param\":null,\"code\":400}}", 400,
           "a b");
    expect("{\"error\":{\"message\":\"m\",\"code\":\"context_length_exceeded\"}}", 0, "m");
    expect("{\"error\":{\"message\":\"m\",\"code\":\"429\"}}", 429, "m");
    expect("{\"error\":{\"message\":\"m\",\"code\":null,\"status\":503}}", 503, "m");
    expect("{\"error\":{\"message\":\"m\",\"code\":200}}", 0, "m");
    expect("{\"error\":{\"message\":\"inner\"},\"message\":\"outer\",\"code\":404}", 0, "inner");
    expect("{\"error\":\"words\",\"status_code\":422}", 422, "words");
    expect("{\"object\":\"error\",\"message\":\"flat\",\"type\":\"t\",\"code\":400}", 400, "flat");
    expect("{\"message\":\"plain\"}", 0, "plain");
    expect("{\"detail\":\"Not Found\"}", 0, "Not Found");
    expect("{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"field required\"},{\"msg\":\"x\"}]}", 0,
           "field required");
    expect("{\"detail\":[]}", 0, "");
    expect("{\"detail\":[\"x\"]}", 0, "");
    expect("{\"error\":{\"message\":{}}}", 0, "");
    expect("{\"error\":{}}", 0, "");
    expect("[\"error\"]", 0, "");
    expect("\"error\"", 0, "");
    expect("{\"error\":{\"message\":\"cut", 0, "");
    expect("<html>502</html>", 0, "");
    expect("", 0, "");
}

static void test_whole(void **state)
{
    struct weir_arena arena = {0};
    (void)state;
    assert_null(weir_openai_answer_check(WEIR_SLICE("{\"choices\":[]}"), &arena));
    assert_string_equal(weir_openai_answer_check(WEIR_SLICE("{\"choices\":[]"), &arena),
                        "not JSON that can be read: unterminated object at byte 13 of 13");
    assert_non_null(weir_openai_answer_check(WEIR_SLICE("data: {}"), &arena));
    assert_non_null(weir_openai_answer_check(WEIR_SLICE("{\"a\":1,\"a\":2}"), &arena));
    weir_arena_dispose(&arena);
}

static void test_count(void **state)
{
    static const char *const bad[] = {"{\"count\":-1}",
                                      "{\"count\":1.5}",
                                      "{\"count\":\"7\"}",
                                      "{\"count\":null}",
                                      "{}",
                                      "[7]",
                                      "7",
                                      "{\"count\":7"};
    struct weir_arena arena = {0};
    uint64_t count = 0;
    (void)state;
    assert_null(weir_openai_answer_count(
        WEIR_SLICE("{\"count\":7,\"max_model_len\":4096,\"tokens\":[1,2]}"), &arena, &count));
    assert_int_equal(count, 7);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_non_null(weir_openai_answer_count(weir_slice_cstr(bad[i]), &arena, &count));
    }
    weir_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_error), cmocka_unit_test(test_is_error_anywhere),
        cmocka_unit_test(test_messages), cmocka_unit_test(test_codes_and_params),
        cmocka_unit_test(test_whole),    cmocka_unit_test(test_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
