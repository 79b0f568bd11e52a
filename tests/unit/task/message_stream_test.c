/* Streams of Messages, line by line. */
#include "task/message.h"
#include "unit/task/policy_stage.h"

#define BEGUN                                                                                      \
    "event {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[]}}\n"               \
    "event {\"type\":\"content_block_start\",\"index\":0,\"content_block\":"                       \
    "{\"type\":\"text\",\"text\":\"\"}}\n"
#define ENDED                                                                                      \
    "event {\"type\":\"content_block_stop\",\"index\":0}\n"                                        \
    "event {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{}}\n"   \
    "event {\"type\":\"message_stop\"}\n"

static void start_message(struct stage *st)
{
    struct weir_task_completion request = policy_request(st);
    weir_message_stream_start(&st->task, &request, &st->out);
}

/* Messages, too, are not read while a chunker takes no more. */
static void test_message_with_full_chunker(void **state)
{
    (void)state;
    static const struct script_hooks MESSAGE_STREAM = {.start = start_message};
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    struct stage *st = policy_stage("", "f");
    script_play(st, &MESSAGE_STREAM,
                "stuff far\n" BEGUN "event {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
                "{\"type\":\"text_delta\",\"text\":\"One.\"}}\n"
                "paused\n"
                "unstuff far\n"
                "reading\n",
                SIZE_MAX);
    stage_free(st);
}

static bool has_left(struct stage *st, const char *text)
{
    return strstr(weir_buf_cstr(&st->lines), text) != NULL;
}

/* Everything was said, only its end was not: a detector that answers later lets all of it go. */
static void test_a_connection_breaks_behind_the_last_event(void **state)
{
    (void)state;
    static const struct script_hooks hooks = {.start = start_message};
    const struct script_hooks none = {0};
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    struct stage *st = policy_stage("", "a");
    script_play(st, &hooks,
                BEGUN "event {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
                      "{\"type\":\"text_delta\",\"text\":\"One.\"}}\n" ENDED "broken\n",
                SIZE_MAX);
    assert_false(st->is_over);
    script_play(st, &none, "answer a\n", SIZE_MAX);
    assert_true(st->is_over);
    assert_true(has_left(st, "One."));
    assert_true(has_left(st, "message_stop"));
    assert_false(has_left(st, "error"));
    stage_free(st);
}

/* What an event has besides its text leaves with the last piece that a chunker makes of it. */
static void test_a_cut_event_keeps_its_members(void **state)
{
    (void)state;
    static const struct script_hooks hooks = {.start = start_message};
    const struct script_hooks none = {0};
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_ANNOTATE)};
    struct stage *st = policy_stage("", "a");
    script_play(st, &hooks,
                BEGUN "event {\"type\":\"content_block_delta\",\"index\":0,\"extra\":\"kept\","
                      "\"delta\":{\"type\":\"text_delta\",\"text\":\"A sentence which ends in the "
                      "middle of its event. And another one\"}}\n" ENDED,
                SIZE_MAX);
    script_play(st, &none, "answer a\n", SIZE_MAX);
    assert_true(has_left(st, "its event."));
    assert_false(has_left(st, "And another one"));
    assert_false(has_left(st, "kept"));
    script_play(st, &none, "answer a\ndone\n", SIZE_MAX);
    assert_true(has_left(st, "And another one"));
    assert_true(has_left(st, "\"extra\":\"kept\""));
    assert_true(st->is_over);
    stage_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_with_full_chunker),
        cmocka_unit_test(test_a_connection_breaks_behind_the_last_event),
        cmocka_unit_test(test_a_cut_event_keeps_its_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
