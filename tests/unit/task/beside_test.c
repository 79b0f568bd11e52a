/*
 * `input_check: beside`: the model is asked while services look at the question, and nothing of its
 * answer is told before they have answered. `a`, `b` and `chat` are services here, `now` is built
 * in.
 */
#include "task/message.h"
#include "unit/task/policy_stage.h"

#define CLEAN                                                                                      \
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a good question.\"}]}"
#define BAD "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a bad question.\"}]}"
#define ANSWER                                                                                     \
    "event {\"id\":\"c\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","           \
    "\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n"
#define MESSAGE                                                                                    \
    "event {\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","             \
    "\"content\":[{\"type\":\"text\",\"text\":\"Hello.\"}],\"stop_reason\":\"end_turn\"}\n"

static void start_message(struct stage *st)
{
    struct weir_task_completion request = policy_request(st);
    weir_message_stream_start(&st->task, &request, &st->out);
}

static void start_whole_message(struct stage *st)
{
    struct weir_task_completion request = policy_request(st);
    weir_task_message_start(&st->task, &request, policy_answered, st);
}

static const struct script_hooks MESSAGE_STREAM = {.start = start_message};
static const struct script_hooks MESSAGE_UNARY = {.start = start_whole_message};

static void ask(enum weir_policy_action action, const char *body)
{
    policy_ask = (struct policy_ask){.policy = policy_of(action), .body = body};
    policy_ask.policy.asks_beside = true;
    policy_ask.policy.blocks_history = true;
}

static void play(const struct script_hooks *hooks, const char *input, const char *script)
{
    policy_play_with(hooks, input, "", script);
}

/* ---- streams ---- */

static void test_nothing_is_told_before_the_verdict(void **state)
{
    (void)state;
    ask(WEIR_POLICY_BLOCK, CLEAN);
    play(&POLICY_STREAM, "now a",
         "asked " CLEAN "\n"
         "calls 1\n"
         "say 0 Hello\n"
         "paused\n"
         "-\n"
         "answer a\n"
         "> raw {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\","
         "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":null}]}\n"
         "reading\n"
         "event {\"more\":1}\n"
         "> raw {\"more\":1}\n"
         "done\n"
         "> end\n");
}

static void test_the_verdict_comes_first(void **state)
{
    (void)state;
    ask(WEIR_POLICY_BLOCK, CLEAN);
    play(&POLICY_STREAM, "a",
         "asked " CLEAN "\n"
         "answer a\n"
         "reading\n"
         "event {\"more\":1}\n"
         "> raw {\"more\":1}\n"
         "broken\n"
         "> fail chat completion m ERESET\n");
}

static void test_a_finding_resets_the_model(void **state)
{
    (void)state;
    ask(WEIR_POLICY_BLOCK, BAD);
    policy_ask.policy.block_as = WEIR_POLICY_BLOCK_AS_ERROR;
    static const char *const before[] = {"", "say 0 Hello\n", "done\n", "broken\n"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        struct weir_buf script = {0};
        weir_buf_printf(&script,
                        "asked " BAD "\n%s"
                        "-\n"
                        "answer a\n"
                        "> fail request  EINVAL\n"
                        "stopped\n",
                        before[i]);
        struct stage *st = policy_stage("a", "");
        script_play(st, &POLICY_STREAM, weir_buf_cstr(&script), SIZE_MAX);
        script_expect_nothing(st);
        stage_free(st);
        weir_buf_dispose(&script);
    }
}

static void test_refusing_resets_the_model(void **state)
{
    (void)state;
    ask(WEIR_POLICY_BLOCK, BAD);
    for (size_t i = 0; i < 2; i++) {
        struct stage *st = policy_stage("a", "");
        script_play(st, i == 0 ? &POLICY_STREAM : &MESSAGE_STREAM, "asked " BAD "\nanswer a\n",
                    SIZE_MAX);
        assert_null(st->run);
        assert_true(st->is_over);
        assert_non_null(strstr(weir_buf_cstr(&st->lines), "No."));
        stage_free(st);
    }
}

static void test_a_service_that_fails_resets_it(void **state)
{
    (void)state;
    ask(WEIR_POLICY_ANNOTATE, CLEAN);
    play(&POLICY_STREAM, "a",
         "asked " CLEAN "\n"
         "say 0 Hello\n"
         "refuse a\n"
         "> fail detector a EPEER\n"
         "stopped\n");
    play(&MESSAGE_STREAM, "a",
         "asked " CLEAN "\n"
         "refuse a\n"
         "> fail detector a EPEER\n"
         "stopped\n");
}

static void test_an_error_is_held_too(void **state)
{
    (void)state;
    ask(WEIR_POLICY_ANNOTATE, CLEAN);
    play(&POLICY_STREAM, "a b",
         "asked " CLEAN "\n"
         "broken\n"
         "-\n"
         "answer b\n"
         "-\n"
         "answer a\n"
         "> fail chat completion m ERESET\n");
}

/* What is built in looks before in any case. */
static void test_what_is_built_in_blocks_before(void **state)
{
    (void)state;
    ask(WEIR_POLICY_BLOCK, BAD);
    struct stage *st = policy_stage("now a", "");
    script_play(st, &POLICY_STREAM, "stopped\ncalls 1\nanswer a\nstopped\n", SIZE_MAX);
    assert_non_null(strstr(weir_buf_cstr(&st->lines), "No."));
    stage_free(st);
    st = policy_stage("now", ""); /* nobody to wait for: nothing is asked beside anything */
    script_play(st, &POLICY_STREAM, "stopped\n", SIZE_MAX);
    assert_non_null(strstr(weir_buf_cstr(&st->lines), "No."));
    stage_free(st);
}

static void test_conversations(void **state)
{
    (void)state;
    ask(WEIR_POLICY_BLOCK, CLEAN);
    play(&POLICY_STREAM, "now chat",
         "asked " CLEAN "\n"
         "event {\"more\":1}\n"
         "-\n"
         "answer chat\n"
         "> raw {\"more\":1}\n"
         "done\n"
         "> end\n");
    ask(WEIR_POLICY_BLOCK, CLEAN);
    play(&POLICY_STREAM, "a chat",
         "asked " CLEAN "\n"
         "answer a\n"
         "event {\"more\":1}\n"
         "-\n"
         "answer chat\n"
         "> raw {\"more\":1}\n"
         "done\n"
         "> end\n");
}

/* The caller's way is full while what was kept is told: the rest waits. */
static void test_a_full_caller(void **state)
{
    (void)state;
    ask(WEIR_POLICY_ANNOTATE, CLEAN);
    struct stage *st = policy_stage("a", "");
    script_play(st, &POLICY_STREAM, "", 0);
    for (size_t i = 0; i < 3; i++) { /* what was read with the first comes all the same */
        st->run->is_paused = false;
        struct weir_buf event = {0};
        weir_buf_printf(&event, "{\"n\":%zu}", i);
        script_event(st, weir_buf_slice(&event));
        weir_buf_dispose(&event);
    }
    const struct script_hooks none = {0};
    script_play(st, &none,
                "full\n"
                "answer a\n"
                "> raw {\"n\":0}\n"
                "-\n"
                "paused\n"
                "full\n"
                "room\n"
                "> raw {\"n\":1}\n"
                "> raw {\"n\":2}\n"
                "reading\n"
                "done\n"
                "> end\n",
                SIZE_MAX);
    script_expect_nothing(st);
    stage_free(st);
}

static struct stage *make_stage(void)
{
    return policy_stage("a", "");
}

static void test_the_caller_goes(void **state)
{
    (void)state;
    ask(WEIR_POLICY_BLOCK, CLEAN);
    script_drop_anywhere(&POLICY_STREAM, make_stage, "say 0 Hello\nanswer a\n");
    script_drop_anywhere(&POLICY_UNARY, make_stage, ANSWER "done\nanswer a\n");
    script_drop_anywhere(&MESSAGE_UNARY, make_stage, MESSAGE "done\nanswer a\n");
}

/* ---- whole answers ---- */

static void test_whole_answers(void **state)
{
    (void)state;
    ask(WEIR_POLICY_BLOCK, CLEAN);
    const struct script_hooks *hooks[] = {&POLICY_UNARY, &MESSAGE_UNARY};
    const char *const answers[] = {ANSWER, MESSAGE};
    for (size_t i = 0; i < 2; i++) {
        struct weir_buf script = {0};
        weir_buf_printf(&script, "asked " CLEAN "\n%sdone\n-\nanswer a\n", answers[i]);
        struct stage *st = policy_stage("a", "");
        script_play(st, hooks[i], weir_buf_cstr(&script), SIZE_MAX);
        assert_true(st->is_over);
        assert_non_null(strstr(weir_buf_cstr(&st->lines), "Hello."));
        stage_free(st);
        weir_buf_dispose(&script);
    }
}

static void test_whole_answers_are_reset(void **state)
{
    (void)state;
    ask(WEIR_POLICY_BLOCK, BAD);
    const struct script_hooks *hooks[] = {&POLICY_UNARY, &MESSAGE_UNARY};
    const char *const answers[] = {ANSWER "done\n", MESSAGE "done\n"};
    for (size_t i = 0; i < 4; i++) {
        struct weir_buf script = {0};
        weir_buf_printf(&script, "asked " BAD "\n%s-\nanswer a\nstopped\n",
                        i < 2 ? answers[i] : "");
        struct stage *st = policy_stage("a", "");
        script_play(st, hooks[i % 2], weir_buf_cstr(&script), SIZE_MAX);
        assert_true(st->is_over);
        assert_non_null(strstr(weir_buf_cstr(&st->lines), "No."));
        assert_null(strstr(weir_buf_cstr(&st->lines), "Hello."));
        stage_free(st);
        weir_buf_dispose(&script);
    }
}

static void test_whole_answers_fail(void **state)
{
    (void)state;
    ask(WEIR_POLICY_ANNOTATE, CLEAN);
    const struct script_hooks *hooks[] = {&POLICY_UNARY, &MESSAGE_UNARY};
    for (size_t i = 0; i < 2; i++) {
        play(hooks[i], "a",
             "broken\n"
             "-\n"
             "answer a\n"
             "> fail chat completion m ERESET\n");
        struct stage *st = policy_stage("a", "");
        script_play(st, hooks[i], "refuse a\n> fail detector a EPEER\nstopped\n", SIZE_MAX);
        stage_free(st);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_told_before_the_verdict),
        cmocka_unit_test(test_the_verdict_comes_first),
        cmocka_unit_test(test_a_finding_resets_the_model),
        cmocka_unit_test(test_refusing_resets_the_model),
        cmocka_unit_test(test_a_service_that_fails_resets_it),
        cmocka_unit_test(test_an_error_is_held_too),
        cmocka_unit_test(test_what_is_built_in_blocks_before),
        cmocka_unit_test(test_conversations),
        cmocka_unit_test(test_a_full_caller),
        cmocka_unit_test(test_the_caller_goes),
        cmocka_unit_test(test_whole_answers),
        cmocka_unit_test(test_whole_answers_are_reset),
        cmocka_unit_test(test_whole_answers_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
