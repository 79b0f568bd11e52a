/*
 * The wall around messages: nothing that a detector finds leaves a route that blocks or redacts,
 * wherever a model server puts it; and what a route that annotates tells.
 */
#include "task/message.h"
#include "task/seal.h"
#include "unit/task/wall.h"

#define BLOCK(index, block)                                                                        \
    "{\"type\":\"content_block_start\",\"index\":" #index ",\"content_block\":" block "}"
#define DELTA(index, delta)                                                                        \
    "{\"type\":\"content_block_delta\",\"index\":" #index ",\"delta\":" delta "}"
#define STOP(index) "{\"type\":\"content_block_stop\",\"index\":" #index "}"

#define USAGE                                                                                      \
    "\"usage\":{\"input_tokens\":1,\"output_tokens\":1,\"service_tier\":\"standard\","             \
    "\"inference_geo\":\"eu\",\"server_tool_use\":{\"web_search_requests\":1},"                    \
    "\"cache_creation\":{\"ephemeral_5m_input_tokens\":0},\"iterations\":[{\"type\":\"message\"}]" \
    "}"
#define CONTAINER "\"container\":{\"id\":\"container_1\",\"expires_at\":\"2026-01-01T00:00:00Z\"}"

/* Citations of all kinds. */
#define BY_CHARACTERS                                                                              \
    "{\"type\":\"char_location\",\"cited_text\":\"quoted\",\"document_index\":0,"                  \
    "\"document_title\":\"A\",\"start_char_index\":0,\"end_char_index\":5,\"file_id\":\"file_1\"}"
#define BY_PAGES                                                                                   \
    "{\"type\":\"page_location\",\"cited_text\":\"quoted\",\"document_index\":0,"                  \
    "\"document_title\":null,\"start_page_number\":1,\"end_page_number\":2}"
#define BY_BLOCKS                                                                                  \
    "{\"type\":\"content_block_location\",\"cited_text\":\"quoted\",\"document_index\":0,"         \
    "\"document_title\":\"B\",\"start_block_index\":0,\"end_block_index\":1}"
#define BY_WEB                                                                                     \
    "{\"type\":\"web_search_result_location\",\"cited_text\":\"quoted\",\"title\":\"C\","          \
    "\"url\":\"https://a.example\",\"encrypted_index\":\"aW5kZXg=\"}"
#define BY_SEARCH                                                                                  \
    "{\"type\":\"search_result_location\",\"cited_text\":\"quoted\",\"title\":\"D\",\"source\":"   \
    "\"s\",\"search_result_index\":0,\"start_block_index\":0,\"end_block_index\":1}"
#define BY_SOMETHING_NEW "{\"type\":\"new_location\",\"said\":\"quoted\",\"more\":[\"x\"]}"

/* Blocks that come whole. */
#define WEB_RESULT                                                                                 \
    "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srv_1\",\"content\":[{\"type\":"       \
    "\"web_search_result\",\"title\":\"T\",\"url\":\"https://a.example\",\"encrypted_content\":"   \
    "\"c2VhbA==\",\"page_age\":\"a day\"}]}"
#define WEB_ERROR                                                                                  \
    "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srv_1\",\"content\":{\"type\":"        \
    "\"web_search_tool_result_error\",\"error_code\":\"unavailable\"}}"
#define FETCH_RESULT                                                                               \
    "{\"type\":\"web_fetch_tool_result\",\"tool_use_id\":\"srv_2\",\"content\":{\"type\":"         \
    "\"web_fetch_result\",\"url\":\"https://a.example\",\"retrieved_at\":\"now\",\"content\":{"    \
    "\"type\":\"document\",\"title\":\"T\",\"source\":{\"type\":\"text\",\"media_type\":"          \
    "\"text/plain\",\"data\":\"page\"}}}}"
#define CODE_RESULT                                                                                \
    "{\"type\":\"bash_code_execution_tool_result\",\"tool_use_id\":\"srv_3\",\"content\":{"        \
    "\"type\":\"bash_code_execution_result\",\"stdout\":\"out\",\"stderr\":\"err\","               \
    "\"return_code\":0,\"content\":[{\"type\":\"bash_code_execution_output\",\"file_id\":\"f\"}]}" \
    "}"
#define MCP_RESULT                                                                                 \
    "{\"type\":\"mcp_tool_result\",\"tool_use_id\":\"mcp_1\",\"is_error\":false,\"content\":[{"    \
    "\"type\":\"text\",\"text\":\"found\"}]}"
#define UPLOAD "{\"type\":\"container_upload\",\"file_id\":\"file_1\"}"
#define NEW_BLOCK "{\"type\":\"new_block\",\"said\":\"something\",\"deep\":[{\"er\":[\"x\"]}]}"
#define SEALED "{\"type\":\"redacted_thinking\",\"data\":\"c2VhbA==\"}"

/* Every kind of event, block and delta that talk/messages_read.c knows, and some it does not. */
static const char *const EVENTS[] = {
    "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":"
    "\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,"
    "\"unknown\":\"member\"," CONTAINER "," USAGE "}}",
    "{\"type\":\"ping\"}",
    BLOCK(0, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"),
    DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"Hm. \"}"),
    DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}"),
    STOP(0),
    BLOCK(1, "{\"type\":\"thinking\",\"thinking\":\"Well. \",\"signature\":\"c2ln\"}"),
    STOP(1),
    BLOCK(2, SEALED),
    STOP(2),
    BLOCK(3, "{\"type\":\"text\",\"text\":\"First. \",\"citations\":[" BY_CHARACTERS "]}"),
    DELTA(3, "{\"type\":\"text_delta\",\"text\":\"Hello. \"}"),
    DELTA(3, "{\"type\":\"citations_delta\",\"citation\":" BY_CHARACTERS "}"),
    DELTA(3, "{\"type\":\"citations_delta\",\"citation\":" BY_PAGES "}"),
    DELTA(3, "{\"type\":\"citations_delta\",\"citation\":" BY_BLOCKS "}"),
    DELTA(3, "{\"type\":\"citations_delta\",\"citation\":" BY_WEB "}"),
    DELTA(3, "{\"type\":\"citations_delta\",\"citation\":" BY_SEARCH "}"),
    DELTA(3, "{\"type\":\"citations_delta\",\"citation\":" BY_SOMETHING_NEW "}"),
    DELTA(3, "{\"type\":\"text_delta\",\"text\":\"Bye. \",\"unknown\":\"member\"}"),
    STOP(3),
    BLOCK(4, "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"look\",\"input\":{},"
             "\"caller\":{\"type\":\"direct\"}}"),
    DELTA(4, "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\"}"),
    DELTA(4, "{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"b\\\"}\"}"),
    STOP(4),
    BLOCK(5, "{\"type\":\"server_tool_use\",\"id\":\"srv_1\",\"name\":\"web_search\",\"input\":{"
             "\"query\":\"q\"}}"),
    STOP(5),
    BLOCK(6, WEB_RESULT),
    STOP(6),
    BLOCK(7, WEB_ERROR),
    STOP(7),
    BLOCK(8, FETCH_RESULT),
    STOP(8),
    BLOCK(9, CODE_RESULT),
    STOP(9),
    BLOCK(10, "{\"type\":\"mcp_tool_use\",\"id\":\"mcp_1\",\"name\":\"find\",\"server_name\":\"s\","
              "\"input\":{}}"),
    DELTA(10, "{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}"),
    STOP(10),
    BLOCK(11, MCP_RESULT),
    STOP(11),
    BLOCK(12, UPLOAD),
    STOP(12),
    BLOCK(13, "{\"type\":\"compaction\",\"content\":\"\"}"),
    DELTA(13, "{\"type\":\"compaction_delta\",\"content\":\"so far\"}"),
    STOP(13),
    BLOCK(14, NEW_BLOCK),
    DELTA(14, "{\"type\":\"new_delta\",\"more\":\"words\",\"deep\":{\"er\":\"x\"}}"),
    STOP(14),
    "{\"type\":\"news\",\"about\":\"x\"}",
    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"stop_sequence\",\"stop_sequence\":"
    "\"END\",\"stop_details\":{\"type\":\"refusal\",\"category\":\"cyber\",\"explanation\":"
    "\"because\",\"unknown\":\"member\"}," CONTAINER ",\"unknown\":\"member\"}," USAGE
    ",\"context_management\":{\"applied_edits\":[{\"type\":\"clear\"}]}}",
    "{\"type\":\"message_stop\",\"unknown\":\"member\"}",
};

static const char WHOLE[] =
    "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":["
    "{\"type\":\"thinking\",\"thinking\":\"Hm. \",\"signature\":\"c2ln\"}," SEALED
    ",{\"type\":\"text\",\"text\":\"Hello. \",\"citations\":[" BY_CHARACTERS "," BY_PAGES
    "," BY_BLOCKS "," BY_WEB "," BY_SEARCH "," BY_SOMETHING_NEW "],\"unknown\":\"member\"},"
    "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"look\",\"input\":{\"a\":[\"b\"]}},"
    "{\"type\":\"server_tool_use\",\"id\":\"srv_1\",\"name\":\"web_search\",\"input\":{\"query\":"
    "\"q\"}},{\"type\":\"mcp_tool_use\",\"id\":\"mcp_1\",\"name\":\"find\",\"server_name\":\"s\","
    "\"input\":{}}," WEB_RESULT "," WEB_ERROR "," FETCH_RESULT "," CODE_RESULT "," MCP_RESULT
    "," UPLOAD "," NEW_BLOCK "],\"stop_reason\":\"stop_sequence\",\"stop_sequence\":\"END\","
    "\"stop_details\":{\"type\":\"refusal\",\"category\":\"cyber\",\"explanation\":\"because\"},"
    "\"unknown\":{\"mem\":\"ber\"}," CONTAINER "," USAGE "}";

static void begin(struct stage *st, bool is_unary)
{
    struct weir_task_completion request = policy_request(st);
    if (is_unary) {
        weir_task_message_start(&st->task, &request, policy_answered, st);
    } else {
        weir_message_stream_start(&st->task, &request, &st->out);
    }
    stage_turn(st);
}

/* Control members, and members that nobody knows in what is known. */
static const struct wall_mute MUTE[] = {
    {"id", ""},           {"type", "\"usage\""}, {"type", "\"caller\""}, {"role", ""},
    {"model", ""},        {"stop_reason", ""},   {"category", ""},       {"expires_at", ""},
    {"service_tier", ""}, {"inference_geo", ""}, {"unknown", ""},        {"mem", ""},
    {NULL, NULL},
};

static const struct wall WALL = {
    .events = EVENTS,
    .n_events = sizeof EVENTS / sizeof EVENTS[0],
    .whole = WHOLE,
    .begin = begin,
    .endings = {"\"type\":\"message_stop\"", "\"type\":\"message_stop\""},
    .whole_mark = "\"content\":[",
    .mute = MUTE,
};

static void test_nothing_leaves(void **state)
{
    (void)state;
    struct weir_seal seal;
    weir_seal_init(&seal, WEIR_SLICE("a secret of some length"), WEIR_SLICE("r"));
    static const enum weir_policy_action actions[] = {WEIR_POLICY_REDACT, WEIR_POLICY_BLOCK};
    for (size_t i = 0; i < 6; i++) {
        policy_ask =
            (struct policy_ask){.policy = policy_of(actions[i / 3]), .asks_json = i % 3 == 1};
        policy_ask.policy.seal = i % 3 == 2 ? &seal : NULL;
        struct wall_counts counts = wall_taint_everything(&WALL, TRACER, wall_holds);
        assert_true(counts.n_runs > 400 && counts.n_whole > counts.n_runs / 2);
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
    assert_true(counts.n_runs > 400 && counts.n_told > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_leaves),
        cmocka_unit_test(test_ids_let_no_address_through),
        cmocka_unit_test(test_everything_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
