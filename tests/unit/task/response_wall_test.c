/*
 * The wall around responses: nothing that a detector finds leaves a route that blocks or redacts,
 * wherever a model server puts it; what it keeps, and how much of it is remembered.
 */
#include "task/response.h"
#include "unit/task/wall.h"

static const struct weir_json_node NODES[] = {{.end = 2, .next = 1, .type = WEIR_JSON_OBJECT}};
static const struct weir_json NOTHING_ASKED = {.src = {"{}", 2}, .nodes = NODES, .n_nodes = 1};

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

/* Control members, what repeats the request, and pieces that the end of their item says whole. */
static const struct wall_mute MUTE[] = {
    {"id", ""},
    {"object", ""},
    {"model", ""},
    {"status", ""},
    {"role", ""},
    {"phase", ""},
    {"service_tier", ""},
    {"truncation", ""},
    {"item_id", ""},
    {"call_id", "item.added"},
    {"container_id", "item.added"},
    {"reason", ""},
    {"note", "\"usage\""},
    {"token", "\"logprobs\""},
    {"obfuscation", ""},
    {"instructions", "\"instructions\""},
    {"type", "\"tools\""},
    {"a", "\"metadata\""},
    {"tool_choice", ""},
    {"effort", ""},
    {"user", ""},
    {"name", "item.added"},
    {"name", "_arguments.done"},
    {"server_label", "item.added"},
    {"delta", "_arguments.delta"},
    {"delta", "_input.delta"},
    {"delta", "_code.delta"},
    {"delta", "_command.delta"},
    {"arguments", "_arguments.done"},
    {"input", "_input.done"},
    {"code", "_code.done"},
    {"command", "_command."},
    {"stdout", "_output_content."},
    {"stderr", "_output_content."},
    {"delta", "audio.delta"},
    {"partial_image_b64", ""},
    {NULL, NULL},
};

static const struct wall WALL = {
    .events = EVENTS,
    .n_events = N_EVENTS,
    .whole = WHOLE,
    .begin = begin,
    .endings = {"\"type\":\"response.completed\"", "\"type\":\"response.incomplete\""},
    .whole_mark = "\"status\":",
    .mute = MUTE,
};

static void test_nothing_leaves(void **state)
{
    (void)state;
    static const enum weir_policy_action actions[] = {WEIR_POLICY_REDACT, WEIR_POLICY_BLOCK};
    for (size_t i = 0; i < 4; i++) {
        policy_ask = (struct policy_ask){.policy = policy_of(actions[i / 2]), .asks_json = i % 2};
        struct wall_counts counts = wall_taint_everything(&WALL, TRACER, wall_holds);
        assert_true(counts.n_runs > 500 && counts.n_whole > counts.n_runs / 2);
    }
}

/* Nor in ids, which nobody looks at. */
static void test_ids_let_no_address_through(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    struct wall_counts counts = wall_taint_everything(&WALL, TRACER_ID, wall_holds);
    assert_true(counts.n_whole > counts.n_runs / 2);
}

static void test_everything_is_told(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_ANNOTATE)};
    struct wall_counts counts = wall_taint_everything(&WALL, TRACER, wall_tells);
    assert_true(counts.n_runs > 500 && counts.n_told > 100);
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
    wall_say(st, weir_slice_cstr(EVENTS[0]));
    for (size_t i = 0; i < 1000 && !st->is_over; i++) {
        wall_say(st, WEIR_SLICE("{\"type\":\"response.output_text.delta\",\"output_index\":0,"
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
        cmocka_unit_test(test_nothing_leaves),
        cmocka_unit_test(test_ids_let_no_address_through),
        cmocka_unit_test(test_everything_is_told),
        cmocka_unit_test(test_kept_responses),
        cmocka_unit_test(test_remembered_bytes_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
