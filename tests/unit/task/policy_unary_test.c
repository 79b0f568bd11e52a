/* Unary answers of routes: the same guards, and the shapes that leave. */
#include "unit/task/policy_stage.h"

/* Asks, lets the model server answer, and compares: JSON as it is, or the beginning of a failure.
 */
static void answers_with(const char *input, const char *output, const char *script)
{
    policy_play_with(&POLICY_UNARY, input, output, script);
}

static void answers(enum weir_policy_action action, const char *output, const char *script)
{
    policy_ask = (struct policy_ask){.policy = policy_of(action)};
    answers_with("", output, script);
}

static void test_clean(void **state)
{
    (void)state;
    answers(WEIR_POLICY_REDACT, "now",
            "event {\"id\":\"1\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
            "\"content\":\"Fine. Yes.\",\"refusal\":null},\"logprobs\":{\"content\":[{\"token\":"
            "\"Fine. Yes.\",\"logprob\":-1.50}]},"
            "\"finish_reason\":\"stop\"}],\"usage\":{\"total_tokens\":5}}\n"
            "done\n"
            "> {\"id\":\"1\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
            "\"content\":\"Fine. Yes.\",\"refusal\":null},\"logprobs\":{\"content\":[{\"token\":"
            "\"Fine. Yes.\",\"logprob\":-1.50,\"bytes\":null,\"top_logprobs\":[]}],"
            "\"refusal\":null},"
            "\"finish_reason\":\"stop\"}],\"usage\":{\"total_tokens\":5}}\n");
}

static void test_redacted(void **state)
{
    (void)state;
    answers(
        WEIR_POLICY_REDACT, "now",
        "event {\"id\":\"1\",\"prompt_logprobs\":[1],\"choices\":[{\"index\":0,\"message\":{"
        "\"role\":\"assistant\",\"content\":\"A bad. Two.\",\"reasoning\":\"Hm, "
        "bad\"},\"logprobs\":"
        "{\"content\":[1]},\"token_ids\":[1],\"finish_reason\":\"stop\"},{\"index\":1,\"message\":{"
        "\"role\":\"assistant\",\"content\":\"Fine\"},\"logprobs\":{\"content\":[2]},\"token_ids\":"
        "[2],\"finish_reason\":\"length\"}],\"usage\":{\"total_tokens\":5}}\n"
        "done\n"
        "> {\"id\":\"1\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":"
        "\"A [Ugh]. Two.\",\"reasoning\":\"Hm, [Ugh]\",\"refusal\":null},\"logprobs\":null,"
        "\"finish_reason\":"
        "\"stop\"},{\"index\":1,\"message\":{\"role\":\"assistant\",\"content\":\"Fine\","
        "\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"length\"}],\"usage\":"
        "{\"total_tokens\":5},\"detections\":{\"output\":[{\"choice_index\":0,\"results\":"
        "[" FOUND_AT(2, 7) "]},{\"choice_index\":0,\"channel\":\"reasoning\",\"results\":"
                           "[" FOUND_AT(4, 9) "]}"
                                              "]}," UNSUITABLE "}\n");
}

/* A choice that was blocked says no and nothing else; the others are as they were. */
static void test_blocked(void **state)
{
    (void)state;
    answers(
        WEIR_POLICY_BLOCK, "now",
        "event {\"id\":\"1\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
        "\"content\":\"One. A bad. Two.\",\"audio\":{\"id\":\"a\",\"transcript\":\"Hm\","
        "\"data\":\"AA\"},\"tool_calls\":[{\"id\":\"t\",\"type\":\"function\",\"function\":{"
        "\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"},{\"index\":1,"
        "\"message\":{\"role\":\"assistant\",\"content\":\"Fine\"},\"finish_reason\":\"stop\"}"
        "],\"usage\":{\"total_tokens\":5}}\n"
        "done\n"
        "> {\"id\":\"1\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
        "\"content\":\"No.\",\"refusal\":null},\"logprobs\":null,"
        "\"finish_reason\":\"content_filter\"},{\"index\":1,"
        "\"message\":{\"role\":\"assistant\",\"content\":\"Fine\",\"refusal\":null},"
        "\"logprobs\":null,\"finish_reason\":\"stop\"}"
        "],\"usage\":{\"total_tokens\":5},\"detections\":{\"output\":[{\"choice_index\":0,"
        "\"results\":[" FOUND_AT(7, 10) "]}]}," UNSUITABLE "}\n");
    policy_ask.policy.fallback = (struct weir_slice){0};
    policy_ask.policy.block_as = WEIR_POLICY_BLOCK_AS_REFUSAL;
    policy_ask.policy.ends_completed = true;
    answers_with(
        "", "now",
        "event {\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":"
        "\"A bad.\",\"refusal\":null},\"finish_reason\":\"stop\"}]}\n"
        "done\n"
        "> {\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":null,"
        "\"refusal\":\"I can't help with that.\"},\"logprobs\":null,\"finish_reason\":\"stop\"}],"
        "\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[" FOUND_AT(
            2, 5) "]}]}," UNSUITABLE "}\n");
}

/* However detectors answer, reasoning is judged before what is said. */
static void test_channels_in_order(void **state)
{
    (void)state;
    static const char *const orders[] = {
        "answer a One.\nanswer a bad.\nanswer a Hm.\n",
        "answer a bad.\nanswer a Hm.\nanswer a One.\n",
        "answer a Hm.\nanswer a One.\nanswer a bad.\n",
    };
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct weir_buf script = {0};
        weir_buf_printf(&script,
                        "event {\"choices\":[{\"index\":0,\"message\":{\"content\":\"One.\","
                        "\"reasoning\":\"Hm.bad.\"},\"finish_reason\":\"stop\"}]}\n"
                        "done\n"
                        "%s",
                        orders[i]);
        policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK)};
        struct stage *st = policy_stage("", "a");
        script_play(st, &POLICY_UNARY, weir_buf_cstr(&script), i == 1 ? 4 : SIZE_MAX);
        assert_non_null(strstr(weir_buf_cstr(&st->lines), "\"content\":\"No.\",\"refusal\":null}"));
        assert_non_null(strstr(weir_buf_cstr(&st->lines), "\"channel\":\"reasoning\""));
        stage_free(st);
        weir_buf_dispose(&script);
    }
}

static void test_tools(void **state)
{
    (void)state;
#define CALLS(arguments)                                                                           \
    "event {\"choices\":[{\"index\":0,\"message\":{\"content\":null,\"tool_calls\":[{\"id\":"      \
    "\"t\",\"type\":\"function\",\"sign\":1,\"function\":{\"name\":\"f\",\"arguments\":\""         \
    "{}\",\"x\":2}},{\"id\":\"u\",\"type\":\"custom\",\"custom\":{\"name\":\"g\",\"input\":"       \
    "\"" arguments "\"}}]},\"finish_reason\":\"tool_calls\"}]}\n"                                  \
    "done\n"
    answers(WEIR_POLICY_REDACT, "now",
            CALLS("go") "> {\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
                        "\"content\":null,\"refusal\":null,\"tool_calls\":["
                        "{\"id\":\"t\",\"type\":\"function\",\"function\":{\"name\":\"f\","
                        "\"arguments\":\"{}\"}},{\"id\":\"u\",\"type\":\"custom\",\"custom\":{"
                        "\"name\":\"g\",\"input\":\"go\"}}]},\"logprobs\":null,"
                        "\"finish_reason\":\"tool_calls\"}]}\n");
    policy_ask.policy.keeps_unknown = true;
    answers_with(
        "", "now",
        CALLS("go") "> {\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
                    "\"content\":null,\"refusal\":null,"
                    "\"tool_calls\":[{\"id\":\"t\",\"type\":\"function\","
                    "\"function\":{\"name\":\"f\",\"arguments\":\"{}\",\"x\":2},\"sign\":1},"
                    "{\"id\":\"u\",\"type\":\"custom\",\"custom\":{\"name\":\"g\","
                    "\"input\":\"go\"}}]},\"logprobs\":null,"
                    "\"finish_reason\":\"tool_calls\"}]}\n");
    answers_with(
        "", "now",
        CALLS("{\\\"q\\\":\\\"b\\\\u0061d\\\"}") "> {\"choices\":[{\"index\":0,\"message\":{"
                                                 "\"role\":\"assistant\",\"content\":null,"
                                                 "\"refusal\":null,"
                                                 "\"tool_calls\":[{\"id\":\"t\",\"type\":"
                                                 "\"function\","
                                                 "\"function\":{\"name\":\"f\",\"arguments\":\"{}"
                                                 "\",\"x\":2},\"sign\":1},"
                                                 "{\"id\":\"u\",\"type\":\"custom\",\"custom\":{"
                                                 "\"name\":\"g\","
                                                 "\"input\":\"{\\\"q\\\":\\\"[Ugh]\\\"}\"}}]},"
                                                 "\"logprobs\":null,"
                                                 "\"finish_reason\":\"tool_calls\"}],"
                                                 "\"detections\":{\"output\":[{"
                                                 "\"choice_index\":0,\"channel\":\"tool_calls\","
                                                 "\"tool_index\":1,\"member\":"
                                                 "\"input\",\"path\":\"/q\",\"results\":[" FOUND_AT(
                                                     0, 5) "]}]}," UNSUITABLE "}\n");
    answers(
        WEIR_POLICY_BLOCK, "now",
        CALLS("bad") "> {\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
                     "\"content\":\"No.\",\"refusal\":null},\"logprobs\":null,"
                     "\"finish_reason\":\"content_filter\"}],\"detections\":{\"output\":[{"
                     "\"choice_index\":0,\"channel\":\"tool_calls\",\"tool_index\":1,\"member\":"
                     "\"input\",\"results\":[" FOUND_AT(0, 3) "]}]}," UNSUITABLE "}\n");
#undef CALLS
}

static void test_unreadable(void **state)
{
    (void)state;
    static const char *const messages[] = {
        "{\"content\":[\"bad\"]}",
        "{\"content\":\"x\",\"tool_calls\":[{\"function\":{\"arguments\":{\"x\":1}}}]}",
        "{\"content\":\"x\",\"function_call\":[]}", "null", "7"};
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        char script[256];
        snprintf(script, sizeof script,
                 "event {\"choices\":[{\"index\":0,\"message\":%s}]}\ndone\n"
                 "> fail chat completion m EPEER\n",
                 messages[i]);
        answers(WEIR_POLICY_BLOCK, "now", script);
    }
    answers(WEIR_POLICY_BLOCK, "now", "event {\"id\":1}\ndone\n> fail chat completion m EPEER\n");
    answers(WEIR_POLICY_BLOCK, "now", "event []\ndone\n> fail chat completion m EPEER\n");
    answers(WEIR_POLICY_BLOCK, "now", "broken\n> fail chat completion m ERESET\n");
}

static void test_completions(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT), .is_text = true};
    answers_with("", "now",
                 "event {\"choices\":[{\"index\":0,\"text\":\"A bad.\",\"hint\":1,\"logprobs\":{"
                 "\"tokens\":[]},\"finish_reason\":\"stop\"}]}\n"
                 "done\n"
                 "> {\"choices\":[{\"index\":0,\"text\":\"A [Ugh].\",\"logprobs\":null,"
                 "\"finish_reason\":\"stop\"}],\"detections\":{\"output\":[{\"choice_index\":0,"
                 "\"results\":[" FOUND_AT(2, 7) "]}]}," UNSUITABLE "}\n");
}

static void test_annotate(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_ANNOTATE)};
    struct stage *st = policy_stage("a", "now");
    script_play(st, &POLICY_UNARY,
                "answer a\n"
                "event {\"x\":1,\"choices\":[{\"index\":0,\"message\":{\"content\":\"Oh bad.\","
                "\"mood\":\"bad\"}}]}\n"
                "done\n",
                SIZE_MAX);
    const char *line = weir_buf_cstr(&st->lines);
    assert_non_null(strstr(line,
                           "{\"x\":1,\"choices\":[{\"index\":0,\"message\":{\"content\":\"Oh "
                           "bad.\",\"mood\":\"bad\"}}],\"detections\":{\"input\":[{"
                           "\"message_index\":0,\"path\":\"/messages/0/content\",\"results\":["
                           "{\"start\":2,\"end\":5,\"text\":\"bad\","));
    assert_non_null(strstr(line, "\"output\":[{\"choice_index\":0,"));
    assert_non_null(strstr(line, "UNSUITABLE_INPUT"));
    assert_non_null(strstr(line, "UNSUITABLE_OUTPUT"));
    stage_free(st);
}

static void check_refusal(struct stage *st, const char *choice)
{
    const char *line = weir_buf_cstr(&st->lines);
    assert_non_null(strstr(line, choice));
    assert_non_null(strstr(line, "\"usage\":{\"prompt_tokens\":0,\"total_tokens\":0,"
                                 "\"completion_tokens\":0}"));
    assert_non_null(strstr(line, "UNSUITABLE_INPUT"));
    assert_null(strstr(line, "\"text\":\"bad\""));
    assert_null(st->run);
}

static void test_input_blocked(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK)};
    struct stage *st = policy_stage("a", "now");
    script_play(st, &POLICY_UNARY, "answer a\n", SIZE_MAX);
    check_refusal(st, "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":"
                      "\"No.\"},\"logprobs\":null,\"finish_reason\":\"content_filter\"}]");
    stage_free(st);
    policy_ask.policy.fallback = (struct weir_slice){0};
    policy_ask.policy.block_as = WEIR_POLICY_BLOCK_AS_REFUSAL;
    st = policy_stage("a", "now");
    script_play(st, &POLICY_UNARY, "answer a\n", SIZE_MAX);
    check_refusal(st, "\"message\":{\"role\":\"assistant\",\"content\":null,\"refusal\":\"I can't "
                      "help with that.\"}");
    stage_free(st);
}

static void test_input_redacted(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    answers_with(
        "a", "",
        "answer a\n"
        "asked {\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a [Ugh] "
        "question.\"}]}\n"
        "event {\"choices\":[{\"index\":0,\"message\":{\"content\":\"bad\",\"x\":1}}]}\n"
        "done\n"
        "> {\"choices\":[{\"index\":0,\"message\":{\"content\":\"bad\",\"x\":1}}],"
        "\"detections\":{\"input\":[{\"message_index\":0,\"path\":\"/messages/0/content\","
        "\"results\":[{\"start\":2,\"end\":5,\"detector_id\":\"a\",\"detection_type\":\"word\","
        "\"detection\":\"Ugh\",\"score\":0.5}]}]}}\n");
}

static struct stage *new_stage(void)
{
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK)};
    return policy_stage("a", "a doc");
}

static void test_dropped_anywhere(void **state)
{
    (void)state;
    script_drop_anywhere(&POLICY_UNARY, new_stage, "answer a\n");
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK)};
    static const char script[] =
        "event {\"choices\":[{\"index\":0,\"message\":{\"content\":\"A.bad.\",\"reasoning\":\"B.\","
        "\"function_call\":{\"name\":\"f\",\"arguments\":\"x\"}}}]}\n"
        "done\nanswer a B.\nanswer a A.\nanswer a f|x\nanswer a bad.\n";
    for (size_t at = 0; at < 7; at++) {
        struct stage *st = policy_stage("", "a");
        script_play(st, &POLICY_UNARY, script, at);
        stage_free(st);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_redacted),
        cmocka_unit_test(test_blocked),
        cmocka_unit_test(test_channels_in_order),
        cmocka_unit_test(test_tools),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_annotate),
        cmocka_unit_test(test_input_blocked),
        cmocka_unit_test(test_input_redacted),
        cmocka_unit_test(test_dropped_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
