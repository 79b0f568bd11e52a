/*
 * The wall around responses: a word that detectors find, put into every string and every name of
 * every event and of a whole response, one after the other, does not leave a route that blocks or
 * redacts; streams that do not fail end as clients need it. And what a route that annotates tells.
 */
#include "task/response.h"
#include "unit/task/policy_stage.h"

static const struct weir_json_node NODES[] = {{.end = 2, .next = 1, .type = WEIR_JSON_OBJECT}};
static const struct weir_json NOTHING_ASKED = {.src = {"{}", 2}, .nodes = NODES, .n_nodes = 1};

#define TRACER "a bad word."

/* Every kind of event that talk/responses_read.c knows, in an order that servers have. */
static const char *const EVENTS[] = {
    "{\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\","
    "\"object\":\"response\",\"created_at\":1,\"model\":\"m\",\"status\":\"in_progress\","
    "\"output\":[],\"instructions\":\"be nice\",\"tools\":[{\"type\":\"x\"}],\"metadata\":{\"a\":"
    "\"b\"},\"tool_choice\":\"auto\",\"text\":{\"format\":{\"type\":\"text\"}},\"reasoning\":{"
    "\"effort\":\"low\"},\"user\":\"u\",\"service_tier\":\"auto\",\"truncation\":\"disabled\"}}",
    "{\"type\":\"response.queued\",\"response\":{\"id\":\"resp_1\"}}",
    "{\"type\":\"response.in_progress\",\"response\":{\"id\":\"resp_1\"}}",
    "{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"reasoning\","
    "\"id\":\"rs_1\",\"summary\":[]}}",
    "{\"type\":\"response.reasoning_summary_part.added\",\"item_id\":\"rs_1\",\"output_index\":0,"
    "\"summary_index\":0,\"part\":{\"type\":\"summary_text\",\"text\":\"\"}}",
    "{\"type\":\"response.reasoning_summary_text.delta\",\"item_id\":\"rs_1\",\"output_index\":0,"
    "\"summary_index\":0,\"delta\":\"Sum. \"}",
    "{\"type\":\"response.reasoning_summary_text.done\",\"item_id\":\"rs_1\",\"output_index\":0,"
    "\"summary_index\":0,\"text\":\"Sum. \"}",
    "{\"type\":\"response.reasoning_summary_part.done\",\"item_id\":\"rs_1\",\"output_index\":0,"
    "\"summary_index\":0,\"part\":{\"type\":\"summary_text\",\"text\":\"Sum. \"}}",
    "{\"type\":\"response.reasoning_part.added\",\"item_id\":\"rs_1\",\"output_index\":0,"
    "\"content_index\":0,\"part\":{\"type\":\"reasoning_text\",\"text\":\"\"}}",
    "{\"type\":\"response.reasoning_text.delta\",\"item_id\":\"rs_1\",\"output_index\":0,"
    "\"content_index\":0,\"delta\":\"Hm. \"}",
    "{\"type\":\"response.reasoning_text.done\",\"item_id\":\"rs_1\",\"output_index\":0,"
    "\"content_index\":0,\"text\":\"Hm. \"}",
    "{\"type\":\"response.reasoning_part.done\",\"item_id\":\"rs_1\",\"output_index\":0,"
    "\"content_index\":0,\"part\":{\"type\":\"reasoning_text\",\"text\":\"Hm. \"}}",
    "{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\","
    "\"id\":\"rs_1\",\"status\":\"completed\",\"encrypted_content\":\"c2VhbA==\",\"summary\":[{"
    "\"type\":\"summary_text\",\"text\":\"Sum. \"}],\"content\":[{\"type\":\"reasoning_text\","
    "\"text\":\"Hm. \"}]}}",
    "{\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"message\","
    "\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"in_progress\",\"phase\":\"commentary\","
    "\"content\":[]}}",
    "{\"type\":\"response.content_part.added\",\"item_id\":\"msg_1\",\"output_index\":1,"
    "\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}}",
    "{\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\"output_index\":1,"
    "\"content_index\":0,\"delta\":\"Hello. \",\"logprobs\":[{\"token\":\"Hello. \",\"logprob\":-1,"
    "\"bytes\":null,\"top_logprobs\":[{\"token\":\"Hi\",\"logprob\":-2}]}],\"obfuscation\":\"x\"}",
    "{\"type\":\"response.output_text.annotation.added\",\"item_id\":\"msg_1\",\"output_index\":1,"
    "\"content_index\":0,\"annotation_index\":0,\"annotation\":{\"type\":\"url_citation\","
    "\"start_index\":0,\"end_index\":5,\"title\":\"T\",\"url\":\"https://a.example\"}}",
    "{\"type\":\"response.output_text.done\",\"item_id\":\"msg_1\",\"output_index\":1,"
    "\"content_index\":0,\"text\":\"Hello. \",\"logprobs\":[]}",
    "{\"type\":\"response.content_part.done\",\"item_id\":\"msg_1\",\"output_index\":1,"
    "\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"Hello. \",\"annotations\":[{"
    "\"type\":\"url_citation\",\"start_index\":0,\"end_index\":5,\"title\":\"T\",\"url\":"
    "\"https://a.example\"}],\"logprobs\":[{\"token\":\"Hello. \",\"logprob\":-1}]}}",
    "{\"type\":\"response.content_part.added\",\"item_id\":\"msg_1\",\"output_index\":1,"
    "\"content_index\":1,\"part\":{\"type\":\"refusal\",\"refusal\":\"\"}}",
    "{\"type\":\"response.refusal.delta\",\"item_id\":\"msg_1\",\"output_index\":1,"
    "\"content_index\":1,\"delta\":\"Never. \"}",
    "{\"type\":\"response.refusal.done\",\"item_id\":\"msg_1\",\"output_index\":1,"
    "\"content_index\":1,\"refusal\":\"Never. \"}",
    "{\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"message\","
    "\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":[{\"type\":"
    "\"output_text\",\"text\":\"Hello. \",\"annotations\":[]},{\"type\":\"refusal\",\"refusal\":"
    "\"Never. \"}]}}",
    "{\"type\":\"response.output_item.added\",\"output_index\":2,\"item\":{\"type\":"
    "\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c_1\",\"name\":\"look\",\"arguments\":\"\"}}",
    "{\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_1\",\"output_index\":2,"
    "\"delta\":\"{}\"}",
    "{\"type\":\"response.function_call_arguments.done\",\"item_id\":\"fc_1\",\"output_index\":2,"
    "\"name\":\"look\",\"arguments\":\"{}\"}",
    "{\"type\":\"response.output_item.done\",\"output_index\":2,\"item\":{\"type\":"
    "\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c_1\",\"name\":\"look\",\"namespace\":\"n\","
    "\"arguments\":\"{\\\"a\\\":\\\"b\\\"}\",\"status\":\"completed\",\"caller\":{\"type\":"
    "\"direct\"}}}",
    "{\"type\":\"response.output_item.added\",\"output_index\":3,\"item\":{\"type\":"
    "\"custom_tool_call\",\"id\":\"ct_1\",\"call_id\":\"c_2\",\"name\":\"run\",\"input\":\"\"}}",
    "{\"type\":\"response.custom_tool_call_input.delta\",\"item_id\":\"ct_1\",\"output_index\":3,"
    "\"delta\":\"ls\"}",
    "{\"type\":\"response.custom_tool_call_input.done\",\"item_id\":\"ct_1\",\"output_index\":3,"
    "\"input\":\"ls\"}",
    "{\"type\":\"response.output_item.done\",\"output_index\":3,\"item\":{\"type\":"
    "\"custom_tool_call\",\"id\":\"ct_1\",\"call_id\":\"c_2\",\"name\":\"run\",\"input\":\"ls\"}}",
    "{\"type\":\"response.output_item.added\",\"output_index\":4,\"item\":{\"type\":\"mcp_call\","
    "\"id\":\"mc_1\",\"name\":\"find\",\"server_label\":\"s\",\"arguments\":\"\"}}",
    "{\"type\":\"response.mcp_call.in_progress\",\"item_id\":\"mc_1\",\"output_index\":4}",
    "{\"type\":\"response.mcp_call_arguments.delta\",\"item_id\":\"mc_1\",\"output_index\":4,"
    "\"delta\":\"[1]\"}",
    "{\"type\":\"response.mcp_call_arguments.done\",\"item_id\":\"mc_1\",\"output_index\":4,"
    "\"arguments\":\"[1]\"}",
    "{\"type\":\"response.mcp_call.completed\",\"item_id\":\"mc_1\",\"output_index\":4}",
    "{\"type\":\"response.output_item.done\",\"output_index\":4,\"item\":{\"type\":\"mcp_call\","
    "\"id\":\"mc_1\",\"name\":\"find\",\"server_label\":\"s\",\"arguments\":\"[1]\",\"output\":"
    "\"{\\\"x\\\":\\\"y\\\"}\",\"error\":\"e\"}}",
    "{\"type\":\"response.output_item.added\",\"output_index\":5,\"item\":{\"type\":"
    "\"code_interpreter_call\",\"id\":\"ci_1\",\"container_id\":\"k\",\"code\":\"\"}}",
    "{\"type\":\"response.code_interpreter_call.in_progress\",\"item_id\":\"ci_1\","
    "\"output_index\":5}",
    "{\"type\":\"response.code_interpreter_call_code.delta\",\"item_id\":\"ci_1\","
    "\"output_index\":5,\"delta\":\"1\"}",
    "{\"type\":\"response.code_interpreter_call_code.done\",\"item_id\":\"ci_1\","
    "\"output_index\":5,\"code\":\"1\"}",
    "{\"type\":\"response.code_interpreter_call.interpreting\",\"item_id\":\"ci_1\","
    "\"output_index\":5}",
    "{\"type\":\"response.code_interpreter_call.completed\",\"item_id\":\"ci_1\","
    "\"output_index\":5}",
    "{\"type\":\"response.output_item.done\",\"output_index\":5,\"item\":{\"type\":"
    "\"code_interpreter_call\",\"id\":\"ci_1\",\"container_id\":\"k\",\"code\":\"1\",\"outputs\":[{"
    "\"type\":\"logs\",\"logs\":\"out\"}],\"status\":\"completed\"}}",
    "{\"type\":\"response.output_item.added\",\"output_index\":6,\"item\":{\"type\":\"shell_call\","
    "\"id\":\"sh_1\",\"call_id\":\"c_3\",\"action\":{\"commands\":[]}}}",
    "{\"type\":\"response.shell_call_command.added\",\"output_index\":6,\"command_index\":0,"
    "\"command\":\"\"}",
    "{\"type\":\"response.shell_call_command.delta\",\"output_index\":6,\"command_index\":0,"
    "\"delta\":\"ls\"}",
    "{\"type\":\"response.shell_call_command.done\",\"output_index\":6,\"command_index\":0,"
    "\"command\":\"ls\"}",
    "{\"type\":\"response.shell_call_output_content.delta\",\"item_id\":\"sh_1\",\"output_index\":"
    "6,"
    "\"command_index\":0,\"delta\":{\"stdout\":\"o\",\"stderr\":\"e\"}}",
    "{\"type\":\"response.shell_call_output_content.done\",\"item_id\":\"sh_1\",\"output_index\":6,"
    "\"command_index\":0,\"output\":[{\"stdout\":\"o\",\"stderr\":\"e\"}]}",
    "{\"type\":\"response.output_item.done\",\"output_index\":6,\"item\":{\"type\":\"shell_call\","
    "\"id\":\"sh_1\",\"call_id\":\"c_3\",\"action\":{\"commands\":[\"ls\"]},\"status\":"
    "\"completed\"}}",
    "{\"type\":\"response.output_item.added\",\"output_index\":7,\"item\":{\"type\":"
    "\"image_generation_call\",\"id\":\"ig_1\",\"status\":\"in_progress\",\"result\":null}}",
    "{\"type\":\"response.image_generation_call.generating\",\"item_id\":\"ig_1\",\"output_index\":"
    "7}",
    "{\"type\":\"response.image_generation_call.partial_image\",\"item_id\":\"ig_1\","
    "\"output_index\":7,\"partial_image_index\":0,\"partial_image_b64\":\"aW1n\"}",
    "{\"type\":\"response.output_item.done\",\"output_index\":7,\"item\":{\"type\":"
    "\"image_generation_call\",\"id\":\"ig_1\",\"status\":\"completed\",\"result\":\"aW1n\","
    "\"revised_prompt\":\"a weir\"}}",
    "{\"type\":\"response.audio.delta\",\"delta\":\"YQ==\"}",
    "{\"type\":\"response.audio.transcript.delta\",\"delta\":\"Said. \"}",
    "{\"type\":\"response.audio.transcript.done\"}",
    "{\"type\":\"response.audio.done\"}",
    "{\"type\":\"response.output_item.added\",\"output_index\":8,\"item\":{\"type\":\"compaction\","
    "\"id\":\"cp_1\",\"encrypted_content\":\"c2VhbA==\"}}",
    "{\"type\":\"response.output_item.done\",\"output_index\":8,\"item\":{\"type\":\"compaction\","
    "\"id\":\"cp_1\",\"encrypted_content\":\"c2VhbA==\"}}",
    "{\"type\":\"response.news\",\"about\":\"x\"}",
    "{\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"model\":\"m\",\"status\":"
    "\"completed\",\"incomplete_details\":{\"reason\":\"x\"},\"error\":{\"code\":\"e\",\"message\":"
    "\"oh\"},\"usage\":{\"input_tokens\":1,\"note\":\"word\"},\"output\":[{\"type\":\"reasoning\","
    "\"id\":\"rs_1\",\"summary\":[]},{\"type\":\"message\",\"id\":\"msg_1\",\"content\":[]},{"
    "\"type\":\"function_call\",\"id\":\"fc_1\"},{\"type\":\"custom_tool_call\",\"id\":\"ct_1\"},{"
    "\"type\":\"mcp_call\",\"id\":\"mc_1\"},{\"type\":\"code_interpreter_call\",\"id\":\"ci_1\"},{"
    "\"type\":\"shell_call\",\"id\":\"sh_1\"},{\"type\":\"image_generation_call\",\"id\":\"ig_1\"},"
    "{\"type\":\"compaction\",\"id\":\"cp_1\",\"encrypted_content\":\"c2VhbA==\"},{\"type\":"
    "\"message\",\"id\":\"late\",\"content\":[{\"type\":\"output_text\",\"text\":\"Late. \","
    "\"annotations\":[{\"type\":\"file_path\",\"file_id\":\"f\",\"index\":0}]}]},{\"type\":"
    "\"web_search_call\",\"id\":\"ws_1\",\"status\":\"completed\",\"action\":{\"query\":\"q\"}}]}}",
};
enum { N_EVENTS = sizeof EVENTS / sizeof EVENTS[0] };

static bool has_tracer(struct weir_slice s)
{
    return memmem(s.p, s.n, "bad word", 8) != NULL;
}

static void begin(struct stage *st, bool is_unary)
{
    struct weir_task_response request = {.sent = &NOTHING_ASKED, .completion = policy_request(st)};
    st->env.max_remembered_bytes = 1 << 20;
    if (is_unary) {
        weir_task_response_start(&st->task, &request, policy_answered, st);
    } else {
        weir_response_stream_start(&st->task, &request, &st->out);
    }
    stage_turn(st);
}

static void say(struct stage *st, struct weir_slice json)
{
    if (!st->is_over && st->run != NULL) {
        script_event(st, json);
        stage_turn(st);
    }
}

static void end(struct stage *st)
{
    if (!st->is_over && st->run != NULL) {
        script_done(st, 0);
        stage_turn(st);
    }
    assert_true(st->is_over);
}

/* The document with the tracer in the place of a string or a name. */
static void taint(const struct weir_json *doc, uint32_t at, struct weir_buf *out)
{
    const struct weir_json_node *node = &doc->nodes[at];
    weir_buf_append(out, weir_slice_sub(doc->src, 0, node->start));
    weir_buf_append(out, WEIR_SLICE("\"" TRACER "\""));
    weir_buf_append(out, weir_slice_sub(doc->src, node->end, doc->src.n));
}

/* A stream in which one event says something else. Returns whether it ended as a response does. */
static bool stream_with(size_t which, struct weir_slice instead)
{
    struct stage *st = policy_stage("", "now");
    begin(st, false);
    for (size_t i = 0; i < N_EVENTS; i++) {
        say(st, i == which ? instead : weir_slice_cstr(EVENTS[i]));
    }
    end(st);
    struct weir_slice lines = weir_buf_slice(&st->lines);
    if (has_tracer(lines)) {
        fail_msg("event %zu: %.*s\nleft: %.*s", which, (int)instead.n, instead.p, (int)lines.n,
                 lines.p);
    }
    bool is_whole = memmem(lines.p, lines.n, "\"type\":\"response.completed\"", 27) != NULL ||
                    memmem(lines.p, lines.n, "\"type\":\"response.incomplete\"", 28) != NULL;
    stage_free(st);
    return is_whole;
}

static void test_streams_let_nothing_through(void **state)
{
    (void)state;
    static const enum weir_policy_action actions[] = {WEIR_POLICY_REDACT, WEIR_POLICY_BLOCK};
    struct weir_arena arena = {0};
    size_t n_runs = 0;
    size_t n_whole = 0;
    for (size_t a = 0; a < 2; a++) {
        policy_ask = (struct policy_ask){.policy = policy_of(actions[a])};
        assert_true(stream_with(N_EVENTS, WEIR_SLICE("")));
        for (size_t i = 0; i < N_EVENTS; i++) {
            struct weir_json doc;
            assert_int_equal(weir_json_parse(&doc, weir_slice_cstr(EVENTS[i]), NULL, &arena, NULL),
                             0);
            for (uint32_t at = 0; at < doc.n_nodes; at++) {
                struct weir_buf tainted = {0};
                if (weir_json_type(&doc, at) == WEIR_JSON_STRING) {
                    taint(&doc, at, &tainted);
                    n_whole += stream_with(i, weir_buf_slice(&tainted));
                    n_runs++;
                }
                weir_buf_dispose(&tainted);
            }
        }
    }
    assert_true(n_runs > 800 && n_whole > n_runs / 2); /* most are not errors */
    weir_arena_dispose(&arena);
}

/* The last event's response as a whole answer. */
static void answer_with(struct weir_slice json, bool *is_whole)
{
    struct stage *st = policy_stage("", "now");
    begin(st, true);
    say(st, json);
    end(st);
    struct weir_slice lines = weir_buf_slice(&st->lines);
    if (has_tracer(lines)) {
        fail_msg("%.*s\nleft: %.*s", (int)json.n, json.p, (int)lines.n, lines.p);
    }
    *is_whole = memmem(lines.p, lines.n, "\"object\":\"response\"", 19) != NULL;
    stage_free(st);
}

static const char WHOLE[] =
    "{\"id\":\"resp_1\",\"model\":\"m\",\"status\":\"completed\",\"instructions\":\"i\",\"tools\":["
    "{"
    "\"type\":\"x\"}],\"metadata\":{\"a\":\"b\"},\"user\":\"u\",\"incomplete_details\":{\"reason\":"
    "\"x\"},\"error\":{\"code\":\"e\",\"message\":\"oh\"},\"usage\":{\"input_tokens\":1,\"note\":"
    "\"word\"},\"output\":[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"encrypted_content\":"
    "\"c2VhbA==\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"Sum. \"}],\"content\":[{"
    "\"type\":\"reasoning_text\",\"text\":\"Hm. "
    "\"}]},{\"type\":\"message\",\"id\":\"msg_1\",\"role\":"
    "\"assistant\",\"status\":\"completed\",\"phase\":\"commentary\",\"content\":[{\"type\":"
    "\"output_text\",\"text\":\"Hello. "
    "\",\"annotations\":[{\"type\":\"url_citation\",\"start_index\":"
    "0,\"end_index\":5,\"title\":\"T\",\"url\":\"https://a.example\"}],\"logprobs\":[{\"token\":"
    "\"Hello. \",\"logprob\":-1,\"top_logprobs\":[{\"token\":\"x\",\"logprob\":-2}]}]},{\"type\":"
    "\"refusal\",\"refusal\":\"Never. "
    "\"}]},{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":"
    "\"c_1\",\"name\":\"look\",\"namespace\":\"n\",\"arguments\":\"{\\\"a\\\":\\\"b\\\"}\","
    "\"status\":\"completed\"},{\"type\":\"mcp_call\",\"id\":\"mc_1\",\"name\":\"find\","
    "\"server_label\":\"s\",\"arguments\":\"[1]\",\"output\":\"{\\\"x\\\":\\\"y\\\"}\",\"error\":"
    "\"e\"},{\"type\":\"image_generation_call\",\"id\":\"ig_1\",\"result\":\"aW1n\","
    "\"revised_prompt\":\"p\"},{\"type\":\"compaction\",\"id\":\"cp_1\",\"encrypted_content\":"
    "\"c2VhbA==\"},{\"type\":\"file_search_call\",\"id\":\"fs_1\",\"queries\":[\"q\"],\"results\":["
    "{"
    "\"text\":\"r\",\"n\":1,\"o\":null}]}]}";

static void test_whole_responses_let_nothing_through(void **state)
{
    (void)state;
    static const enum weir_policy_action actions[] = {WEIR_POLICY_REDACT, WEIR_POLICY_BLOCK};
    struct weir_arena arena = {0};
    struct weir_json doc;
    size_t n_runs = 0;
    size_t n_whole = 0;
    assert_int_equal(weir_json_parse(&doc, weir_slice_cstr(WHOLE), NULL, &arena, NULL), 0);
    for (size_t a = 0; a < 2; a++) {
        bool is_whole;
        policy_ask = (struct policy_ask){.policy = policy_of(actions[a])};
        answer_with(weir_slice_cstr(WHOLE), &is_whole);
        assert_true(is_whole);
        for (uint32_t at = 0; at < doc.n_nodes; at++) {
            struct weir_buf tainted = {0};
            if (weir_json_type(&doc, at) == WEIR_JSON_STRING) {
                taint(&doc, at, &tainted);
                answer_with(weir_buf_slice(&tainted), &is_whole);
                n_runs++;
                n_whole += is_whole;
            }
            weir_buf_dispose(&tainted);
        }
    }
    assert_true(n_runs > 200 && n_whole > n_runs / 2);
    weir_arena_dispose(&arena);
}

/* A response that a server kept: its request is not at hand, so what repeats one is looked at. */
static void guard_kept(const char *instructions, const char *expected)
{
    struct stage *st = policy_stage("", "now");
    struct weir_task_response request = {.sent = &NOTHING_ASKED, .completion = policy_request(st)};
    struct weir_buf json = {0};
    request.sent = NULL;
    request.completion.input = (struct weir_plan){0};
    request.ids = (struct weir_response_id){.secret = WEIR_SLICE("a secret of sixteen"),
                                            .route = WEIR_SLICE("r")};
    request.server = WEIR_SLICE("one");
    weir_buf_printf(&json,
                    "{\"id\":\"resp_1\",\"model\":\"m\",\"status\":\"completed\",\"instructions\":"
                    "\"%s\",\"output\":[{\"type\":\"message\",\"id\":\"m\",\"content\":[{\"type\":"
                    "\"output_text\",\"text\":\"Hi.\"}]}]}",
                    instructions);
    weir_task_response_guard(&st->task, &request, weir_arena_take_buf(&st->arena, &json),
                             policy_answered, st);
    stage_turn(st);
    assert_true(st->is_over);
    struct weir_slice lines = weir_buf_slice(&st->lines);
    assert_non_null(memmem(lines.p, lines.n, expected, strlen(expected)));
    assert_non_null(memmem(lines.p, lines.n, "\"id\":\"resp_1.one.", 17));
    assert_non_null(memmem(lines.p, lines.n, "\"text\":\"Hi.\"", 12));
    stage_free(st);
}

static void test_kept_responses(void **state)
{
    (void)state;
    static const enum weir_policy_action actions[] = {WEIR_POLICY_REDACT, WEIR_POLICY_BLOCK};
    for (size_t a = 0; a < 2; a++) {
        policy_ask = (struct policy_ask){.policy = policy_of(actions[a])};
        guard_kept("be nice", "\"instructions\":\"be nice\"");
        guard_kept(TRACER, "\"instructions\":null");
    }
}

/* What has left is remembered, up to a limit. */
static void test_remembered_bytes_have_a_limit(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    struct stage *st = policy_stage("", "now");
    begin(st, false);
    st->env.max_remembered_bytes = 5000;
    say(st, weir_slice_cstr(EVENTS[0]));
    for (size_t i = 0; i < 1000 && !st->is_over; i++) {
        say(st, WEIR_SLICE("{\"type\":\"response.output_text.delta\",\"output_index\":0,"
                           "\"content_index\":0,\"delta\":\"ten bytes. \"}"));
    }
    assert_true(st->is_over);
    struct weir_slice lines = weir_buf_slice(&st->lines);
    assert_non_null(memmem(lines.p, lines.n, "fail limit", 10));
    assert_true(lines.n < 200000); /* of 1,000 deltas */
    stage_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams_let_nothing_through),
        cmocka_unit_test(test_whole_responses_let_nothing_through),
        cmocka_unit_test(test_kept_responses),
        cmocka_unit_test(test_remembered_bytes_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
