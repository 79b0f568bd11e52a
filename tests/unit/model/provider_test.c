/* How each kind of server is asked. */
#include "base/buf.h"
#include "model/provider.h"
#include "unit/cmocka_all.h"

static const struct weir_http_field CONSTANTS[] = {{{"x-team", 6}, {"t", 1}},
                                                   {{"anthropic-version", 17}, {"mine", 4}}};

/* The path, then a line per field. */
static void expect_for(const struct weir_provider *p, enum weir_model_op op, const char *model,
                       const struct weir_call_context *context, const char *expected)
{
    struct weir_arena arena = {0};
    struct weir_buf out = {0};
    struct weir_model_way way = weir_provider_way(p, op, weir_slice_cstr(model), context, &arena);
    weir_buf_append(&out, way.path);
    for (size_t i = 0; i < way.n_fields; i++) {
        weir_buf_printf(&out, "\n%.*s: %.*s", (int)way.fields[i].name.n, way.fields[i].name.p,
                        (int)way.fields[i].value.n, way.fields[i].value.p);
    }
    assert_string_equal(weir_buf_cstr(&out), expected);
    assert_true(way.keeps_credentials_back);
    assert_true(way.is_asked_once);
    weir_buf_dispose(&out);
    weir_arena_dispose(&arena);
}

static void expect(const struct weir_provider *p, enum weir_model_op op,
                   const struct weir_call_context *context, const char *expected)
{
    expect_for(p, op, "a model/1", context, expected);
}

static void test_openai(void **state)
{
    (void)state;
    struct weir_provider p = {.kind = WEIR_PROVIDER_OPENAI,
                              .base_path = WEIR_SLICE("/x/v1"),
                              .api_key = WEIR_SLICE("k"),
                              .fields = CONSTANTS,
                              .n_fields = 1};
    expect(&p, WEIR_MODEL_CHAT, NULL, "/x/v1/chat/completions\nauthorization: Bearer k\nx-team: t");
    p.n_fields = 0;
    p.api_key = WEIR_SLICE("");
    expect(&p, WEIR_MODEL_COMPLETION, NULL, "/x/v1/completions");
    expect(&p, WEIR_MODEL_EMBEDDINGS, NULL, "/x/v1/embeddings");
    expect(&p, WEIR_MODEL_RERANK, NULL, "/x/v1/rerank");
    expect(&p, WEIR_MODEL_SCORE, NULL, "/x/v1/score");
    expect(&p, WEIR_MODEL_MODELS, NULL, "/x/v1/models");
    expect(&p, WEIR_MODEL_TOKENIZE, NULL, "/x/tokenize");
    expect(&p, WEIR_MODEL_FORWARD, NULL, "/x/v1");
    p.query = WEIR_SLICE("a=b");
    expect(&p, WEIR_MODEL_CHAT, NULL, "/x/v1/chat/completions?a=b");
}

static void test_azure(void **state)
{
    (void)state;
    struct weir_provider p = {.kind = WEIR_PROVIDER_AZURE,
                              .api_key = WEIR_SLICE("k"),
                              .api_version = WEIR_SLICE("2024-10-21"),
                              .query = WEIR_SLICE("a=b")};
    expect(&p, WEIR_MODEL_CHAT, NULL,
           "/openai/deployments/a%20model%2F1/chat/completions?api-version=2024-10-21&a=b\n"
           "api-key: k");
    expect(&p, WEIR_MODEL_EMBEDDINGS, NULL,
           "/openai/deployments/a%20model%2F1/embeddings?api-version=2024-10-21&a=b\napi-key: k");
    expect(&p, WEIR_MODEL_MODELS, NULL, "/openai/models?api-version=2024-10-21&a=b\napi-key: k");
    expect(&p, WEIR_MODEL_FORWARD, NULL,
           "/openai/deployments/a%20model%2F1?api-version=2024-10-21&a=b\napi-key: k");
    expect_for(&p, WEIR_MODEL_FORWARD, "", NULL, "/openai?api-version=2024-10-21&a=b\napi-key: k");
    p.api_version = WEIR_SLICE("v1");
    expect(&p, WEIR_MODEL_FORWARD, NULL, "/openai/v1?a=b\napi-key: k");
    expect(&p, WEIR_MODEL_CHAT, NULL, "/openai/v1/chat/completions?a=b\napi-key: k");
    expect(&p, WEIR_MODEL_MODELS, NULL, "/openai/v1/models?a=b\napi-key: k");
}

static void test_anthropic(void **state)
{
    (void)state;
    struct weir_provider p = {.kind = WEIR_PROVIDER_ANTHROPIC,
                              .api_key = WEIR_SLICE("k"),
                              .fields = CONSTANTS,
                              .n_fields = 2};
    struct weir_call_context context = {.anthropic_version = WEIR_SLICE("2024-01-01")};
    expect(&p, WEIR_MODEL_MODELS, NULL,
           "/v1/models\nx-api-key: k\nanthropic-version: 2023-06-01\nx-team: t");
    expect(&p, WEIR_MODEL_MODELS, &context,
           "/v1/models\nx-api-key: k\nanthropic-version: 2024-01-01\nx-team: t");
    expect(&p, WEIR_MODEL_MESSAGES, NULL,
           "/v1/messages\nx-api-key: k\nanthropic-version: 2023-06-01\nx-team: t");
    expect(&p, WEIR_MODEL_COUNT, NULL,
           "/v1/messages/count_tokens\nx-api-key: k\nanthropic-version: 2023-06-01\nx-team: t");
}

static void test_the_callers_key(void **state)
{
    (void)state;
    struct weir_provider p = {.kind = WEIR_PROVIDER_OPENAI, .passes_caller_key = true};
    struct weir_call_context context = {.caller_key = WEIR_SLICE("own")};
    expect(&p, WEIR_MODEL_CHAT, &context, "/chat/completions\nauthorization: Bearer own");
    expect(&p, WEIR_MODEL_CHAT, NULL, "/chat/completions");
    p.passes_caller_key = false;
    expect(&p, WEIR_MODEL_CHAT, &context, "/chat/completions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openai),
        cmocka_unit_test(test_azure),
        cmocka_unit_test(test_anthropic),
        cmocka_unit_test(test_the_callers_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
