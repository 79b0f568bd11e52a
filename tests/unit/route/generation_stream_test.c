/* A streamed, from the request's JSON to events; and which faults are answered how. */
#include "route/generation.h"

#include "unit/route/exchange.h"

static struct exchange *ask(const char *body, bool is_fms)
{
    struct exchange *x = exchange_new("application/json");
    x->env.tasks.compat = is_fms ? weir_compat_fms : (struct weir_compat){0};
    weir_generation_begin_stream(&x->env, &x->s);
    exchange_send(x, body);
    return x;
}

#define REQUEST(config) "{\"model_id\":\"m\",\"inputs\":\"so bad\",\"guardrail_config\":" config "}"
#define SSE "> 200 text/event-stream\n"

static void test_stream(void **state)
{
    (void)state;
    struct exchange *x =
        ask(REQUEST("{\"input\":{\"models\":{\"a\":{}},\"masks\":[[0,2]]},\"output\":{\"models\":{"
                    "\"now\":{\"threshold\":0.6}}},\"aggregation\":\"aligned\"}"),
            false);
    exchange_play(x, "answer a so\n"
                     "gen Hi.\n" SSE
                     "> data: {\"generated_text\":\"Hi.\",\"token_classification_results\":{"
                     "\"output\":[]},\"input_token_count\":0,\"tokens\":[{\"text\":\"Hi.\"}],"
                     "\"start_index\":0,\"processed_index\":3}\\\\\n"
                     "done\n"
                     "> end\n"); /* no [DONE] */
    exchange_free(x);
}

static void test_input_findings(void **state)
{
    (void)state;
    struct exchange *x = ask(REQUEST("{\"input\":{\"models\":{\"a\":{}}}}"), false);
    exchange_play(x, "answer a so bad\n"
                     "tokens 2\n" SSE
                     "> data: {\"token_classification_results\":{\"input\":[{\"start\":3,\"end\":6,"
                     "\"word\":\"bad\",\"entity\":\"Ugh\",\"entity_group\":\"word\","
                     "\"detector_id\":\"a\",\"score\":0.5}]},\"input_token_count\":2,\"warnings\":["
                     "{\"id\":\"UNSUITABLE_INPUT\",\"message\":\"Unsuitable input detected. Please "
                     "check the detected entities on your input and try again with the unsuitable "
                     "input removed.\"}]}\\\\\n"
                     "> end\n");
    exchange_free(x);
}

static const struct {
    const char *body;
    const char *details;
    int status;
    bool is_late;
} BAD[] = {
    {"{]", "the request body is not JSON: expected a name in double quotes at line 1, column 2",
     400, false},
    {"{\"inputs\":\"x\"}", "missing field `model_id`", 422, false},
    {"{\"model_id\":\"m\",\"inputs\":5}", "inputs: invalid type: number `5`, expected a string",
     422, false},
    {"{\"model_id\":\"m\",\"inputs\":\"x\",\"input\":1}",
     "input: unknown field `input`, expected one of `model_id`, `inputs`, `guardrail_config`, "
     "`text_gen_parameters`",
     422, false},
    {"{\"model_id\":\"\",\"inputs\":\"x\"}", "`model_id` is required", 422, true},
    {"{\"model_id\":\"m\",\"inputs\":\"\"}", "`inputs` is required", 422, true},
    {REQUEST("{\"input\":{\"models\":{\"a\":{}},\"masks\":[[0,7]]}}"), "invalid masks", 422, true},
    {REQUEST("{\"output\":{\"models\":{\"zz\":{}}}}"), "detector `zz` not found", 404, true},
    {REQUEST("{\"output\":{\"models\":{\"chat\":{}}}}"),
     "detector `chat` is not supported by this endpoint", 422, true},
    {REQUEST("{\"output\":{\"models\":{\"a\":{\"threshold\":[]}}}}"),
     "`threshold` parameter specified for model `a` must be a number", 422, true},
};

static void check_refused(const char *body, bool is_fms, int status, const char *details,
                          bool is_event)
{
    struct exchange *x = ask(body, is_fms);
    struct weir_buf want = {0};
    if (is_event) {
        weir_buf_printf(&want, SSE "> event: error\\data: {\"code\":%d,\"details\":\"%s\"}\\\\\n",
                        status, details);
    } else {
        weir_buf_printf(&want, "> %d application/json\n> {\"code\":%d,\"details\":\"%s\"}\n",
                        status, status, details);
    }
    weir_buf_append(&want, WEIR_SLICE("> end\n"));
    exchange_play(x, weir_buf_cstr(&want));
    weir_buf_dispose(&want);
    exchange_free(x);
}

static void test_faults_of_the_request(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        check_refused(BAD[i].body, false, BAD[i].status, BAD[i].details, false);
        check_refused(BAD[i].body, true, BAD[i].status, BAD[i].details, BAD[i].is_late);
    }
}

static void test_whole_documents_fms(void **state)
{
    (void)state;
    check_refused(REQUEST("{\"output\":{\"models\":{\"doc\":{}}}}"), true, 422,
                  "detector `doc` uses chunker `whole_doc_chunker`, which is not supported by this "
                  "endpoint",
                  true);
    struct exchange *x = ask(REQUEST("{\"input\":{\"models\":{\"doc\":{}}}}"), true);
    exchange_play(x, "calls 1\n"); /* allowed on the input */
    exchange_free(x);
    x = ask(REQUEST("{\"output\":{\"models\":{\"doc\":{}}},\"unknown\":1}"), false);
    script_expect(x->st, WEIR_SLICE("422 application/json"));
    exchange_free(x);
    x = ask(REQUEST("{\"output\":{\"models\":{\"a\":{}}},\"unknown\":1}"), true);
    exchange_play(x, "reading\n");
    assert_non_null(x->st->run);
    exchange_free(x);
}

static void test_failure_before_and_after(void **state)
{
    (void)state;
    const char *body = REQUEST("{\"output\":{\"models\":{\"a\":{}}}}");
    const char *error = "\"code\":503,\"details\":\"detector request failed for `a`: Service "
                        "Unavailable\"";
    struct exchange *x = ask(body, false);
    char want[512];
    snprintf(want, sizeof want, "gen A.\nrefuse a A.\n> 503 application/json\n> {%s}\n> end\n",
             error);
    exchange_play(x, want);
    exchange_free(x);
    x = ask(body, true);
    snprintf(want, sizeof want,
             "gen A.\nrefuse a A.\n" SSE "> event: error\\data: {%s}\\\\\n> end\n", error);
    exchange_play(x, want);
    exchange_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_input_findings),
        cmocka_unit_test(test_faults_of_the_request),
        cmocka_unit_test(test_whole_documents_fms),
        cmocka_unit_test(test_failure_before_and_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
