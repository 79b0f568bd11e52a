/* What a remote detector is asked, byte for byte. */
#include "unit/cmocka_all.h"

#include "detect/request.h"

static void expect_body(const struct weir_detect_input *input, const char *expected)
{
    struct weir_buf out = {0};
    weir_detect_request_write(input, &out);
    if (!weir_slice_eq_cstr(weir_buf_slice(&out), expected)) {
        fail_msg("%.*s, not %s", (int)out.n, out.p, expected);
    }
    weir_buf_dispose(&out);
}

static void test_contents(void **state)
{
    struct weir_slice texts[] = {WEIR_SLICE("a \"b\"\n"), WEIR_SLICE(""),
                                 WEIR_SLICE("gr\xc3\xbc\xc3\x9f")};
    struct weir_detect_input in = {
        .type = WEIR_DETECT_CONTENTS, .contents = texts, .n_contents = 3};
    (void)state;
    expect_body(
        &in,
        "{\"contents\":[\"a \\\"b\\\"\\n\",\"\",\"gr\xc3\xbc\xc3\x9f\"],\"detector_params\":{}}");
    in.n_contents = 1;
    in.params = WEIR_SLICE("{\"a\": [1, 2],\n \"b c\": \"x y\"}");
    expect_body(
        &in,
        "{\"contents\":[\"a \\\"b\\\"\\n\"],\"detector_params\":{\"a\":[1,2],\"b c\":\"x y\"}}");
    in.n_contents = 0;
    in.params = WEIR_SLICE("{}");
    expect_body(&in, "{\"contents\":[],\"detector_params\":{}}");
}

static void test_chat(void **state)
{
    struct weir_detect_input in = {
        .type = WEIR_DETECT_CHAT,
        .messages = WEIR_SLICE("[ {\"role\" : \"user\",\t\"content\":\"a \\\" b\\\\\" } ]"),
    };
    (void)state;
    expect_body(&in,
                "{\"messages\":[{\"role\":\"user\",\"content\":\"a \\\" b\\\\\"}],\"tools\":[],"
                "\"detector_params\":{}}");
    in.tools = WEIR_SLICE("[{\"type\":\"function\"}]");
    in.params = WEIR_SLICE("{\"k\":1.50}");
    expect_body(&in, "{\"messages\":[{\"role\":\"user\",\"content\":\"a \\\" b\\\\\"}],"
                     "\"tools\":[{\"type\":\"function\"}],\"detector_params\":{\"k\":1.50}}");
}

static void test_context(void **state)
{
    struct weir_detect_input in = {
        .type = WEIR_DETECT_CONTEXT_DOC,
        .content = WEIR_SLICE("text"),
        .context_type = WEIR_SLICE("docs"),
        .context = WEIR_SLICE("[\"one\", \"two \"]"),
    };
    (void)state;
    expect_body(&in,
                "{\"content\":\"text\",\"context_type\":\"docs\",\"context\":[\"one\",\"two \"],"
                "\"detector_params\":{}}");
}

static void test_generation(void **state)
{
    struct weir_detect_input in = {
        .type = WEIR_DETECT_GENERATION,
        .prompt = WEIR_SLICE("p"),
        .generated_text = WEIR_SLICE("g\x01"),
    };
    (void)state;
    expect_body(&in, "{\"prompt\":\"p\",\"generated_text\":\"g\\u0001\",\"detector_params\":{}}");
}

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        enum weir_detect_type type;
        const char *path;
    } cases[] = {
        {WEIR_DETECT_CONTENTS, "/api/v1/text/contents"},
        {WEIR_DETECT_CHAT, "/api/v1/text/chat"},
        {WEIR_DETECT_CONTEXT_DOC, "/api/v1/text/context/doc"},
        {WEIR_DETECT_GENERATION, "/api/v1/text/generation"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(weir_slice_eq_cstr(weir_detect_request_path(cases[i].type), cases[i].path));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents), cmocka_unit_test(test_chat),
        cmocka_unit_test(test_context),  cmocka_unit_test(test_generation),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
