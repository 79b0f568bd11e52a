/* Streams of Messages, line by line. */
#include "task/message.h"
#include "unit/task/policy_stage.h"

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
                "stuff far\n"
                "event {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[]}}\n"
                "event {\"type\":\"content_block_start\",\"index\":0,\"content_block\":"
                "{\"type\":\"text\",\"text\":\"\"}}\n"
                "event {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
                "{\"type\":\"text_delta\",\"text\":\"One.\"}}\n"
                "paused\n"
                "unstuff far\n"
                "reading\n",
                SIZE_MAX);
    stage_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_with_full_chunker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
