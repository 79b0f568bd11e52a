/* Streamed completions under `compat: fms`, as transcripts. */
#include "task/completion_stream.h"

#include "unit/task/script.h"

static void start_with(struct stage *st, const char *body, bool is_chat)
{
    struct weir_json *json = weir_arena_alloc(&st->arena, sizeof *json);
    assert_int_equal(weir_json_parse(json, weir_slice_cstr(body), NULL, &st->arena, NULL), 0);
    struct weir_task_completion request = {.is_chat = is_chat,
                                           .json = json,
                                           .model_id = WEIR_SLICE("m"),
                                           .output = stage_plan(st, st->output)};
    weir_completion_stream_start(&st->task, &request, st->env.strategy, &st->out);
}

static void start_chat(struct stage *st)
{
    start_with(st, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}", true);
}

static void start_text(struct stage *st)
{
    start_with(st, "{\"model\":\"m\",\"prompt\":\"hi\"}", false);
}

static const struct script_hooks CHAT = {.start = start_chat};
static const struct script_hooks TEXT = {.start = start_text};

static struct stage *fms_with(const char *output)
{
    struct stage *st = stage_new();
    st->output = output;
    st->env.compat = weir_compat_fms;
    return st;
}

static void play_as(const struct script_hooks *hooks, const char *output, const char *script)
{
    struct stage *st = fms_with(output);
    script_run(st, hooks, script);
    stage_free(st);
}

static void play(const char *output, const char *script)
{
    play_as(&CHAT, output, script);
}

#define ROLE                                                                                       \
    "event {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","            \
    "\"content\":\"\"}}]}\n"
#define USAGE "event {\"id\":\"c1\",\"choices\":[],\"usage\":{\"total_tokens\":3}}\n"
#define TOOLS                                                                                      \
    "event {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"      \
    "\"id\":\"t\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}"  \
    "\n"
/* Text and finish_reason in one event, and what such an event looks like when it has left. */
#define LAST(text)                                                                                 \
    "event {\"id\":\"c9\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text                \
    "\"},\"finish_reason\":\"stop\",\"stop_reason\":\"x\"}]}\n"

/* The role is absorbed; a batch is the chunk the chunker told; usage comes last. */
static void test_batches(void **state)
{
    (void)state;
    play("f", ROLE "-\n"
                   "say 0 You ba\n"
                   "say 0 d. Bye\n"
                   "tell far 0 8 1 2 You bad.\n"
                   "-\n"
                   "answer f\n"
                   "> 0 \"You bad.\" [f@4] !UNSUITABLE_OUTPUT\n"
                   "finish 0\n"
                   "-\n"
                   "tell far 8 12 2 2  Bye\n"
                   "answer f\n"
                   "> 0 \" Bye\" []\n"
                   "-\n"
                   "chunked far\n"
                   "> 0 stop\n" USAGE "-\n"
                   "done\n"
                   "> - usage\n"
                   "> end\n");
}

/* Spans are relative to their chunk, what the chunker leaves out never leaves. */
static void test_chunker_is_believed(void **state)
{
    (void)state;
    play("f", "say 0 One. bad. Three\n"
              "tell far 5 9 0 0 bad.\n"
              "answer f\n"
              "> 0 \"bad.\" [f@0] !UNSUITABLE_OUTPUT\n"
              "tell far 90 70 0 0 something bad\n"
              "answer f\n"
              "> 0 \"something bad\" [f@10] !UNSUITABLE_OUTPUT\n"
              "finish 0\n"
              "chunked far\n"
              "> 0 stop\n"
              "done\n"
              "> end\n");
}

/* The events named by number, all their logprobs, the highest one's other members. */
static void test_named_events(void **state)
{
    (void)state;
    play("f",
         "event {\"id\":\"0\",\"x\":0,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A\"},"
         "\"logprobs\":{\"content\":[1]},\"finish_reason\":null}]}\n"
         "event {\"id\":\"1\",\"choices\":[{\"index\":1,\"delta\":{\"content\":\"other\"}}]}\n"
         "event {\"id\":\"2\",\"x\":2,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b. C\"},"
         "\"logprobs\":{\"content\":[2,3]},\"finish_reason\":null,\"extra\":5}]}\n"
         "event {\"id\":\"3\",\"x\":3,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"d\"},"
         "\"logprobs\":{\"content\":[4]},\"finish_reason\":null}]}\n"
         "tell far 0 3 0 2 Ab.\n"
         "answer f Ab.\n"
         "> {\"id\":\"2\",\"x\":2,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Ab.\","
         "\"role\":\"assistant\"},\"logprobs\":{\"content\":[1,2,3]},\"finish_reason\":null,"
         "\"extra\":5}],\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[]}]}}\n"
         "tell far 3 6 2 3  Cd\n"
         "answer f  Cd\n"
         "> {\"id\":\"3\",\"x\":3,\"choices\":[{\"index\":0,\"delta\":{\"content\":\" Cd\","
         "\"role\":\"assistant\"},\"logprobs\":{\"content\":[2,3,4]},\"finish_reason\":null}],"
         "\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[]}]}}\n");
}

/* What is no text keeps its place inside of a chunk; spans count from the chunk as ever. */
static void test_text_does_not_overtake(void **state)
{
    (void)state;
    play("f", ROLE "say 0 One bad\n"
                   "delta 0 {\"refusal\":\"no\"}\n"
                   "say 0  two\n"
                   "delta 0 {\"tool_calls\":[]}\n"
                   "delta 0 {\"tool_calls\":[{\"index\":0}]}\n"
                   "say 0  bad.\n"
                   "say 0  End\n"
                   "tell far 0 16 1 6 One bad two bad.\n"
                   "answer f\n"
                   "> 0 \"One bad\" [f@4] !UNSUITABLE_OUTPUT\n"
                   "> 0 refusal\n"
                   "> 0 \" two\" []\n"
                   "> 0 tool_calls\n"
                   "> 0 \" bad.\" [f@12] !UNSUITABLE_OUTPUT\n"
                   "finish 0\n"
                   "tell far 16 20 7 7  End\n"
                   "answer f\n"
                   "> 0 \" End\" []\n"
                   "chunked far\n"
                   "> 0 stop\n"
                   "done\n"
                   "> end\n");
    /* a finish_reason with text rides on the last part, and is not overtaken either */
    play("f", "say 0 One\n"
              "delta 0 {\"refusal\":\"no\"}\n" LAST(" two") "tell far 0 7 0 2 One two\n"
                                                            "answer f\n"
                                                            "> 0 \"One\" []\n"
                                                            "> 0 refusal\n"
                                                            "-\n"
                                                            "chunked far\n"
                                                            "> 0 \" two\" stop []\n"
                                                            "done\n"
                                                            "> end\n");
    /* words of its own cannot be cut */
    play("f", "say 0 One\n"
              "delta 0 {\"refusal\":\"no\"}\n"
              "say 0  two\n"
              "tell far 0 7 0 2 Something else\n"
              "answer f\n"
              "> 0 \"Something else\" []\n"
              "> 0 refusal\n"
              "finish 0\n"
              "chunked far\n"
              "> 0 stop\n"
              "done\n"
              "> end\n");
}

/* A chunker that numbers nothing names event 0, the one with the role, every time. */
static void test_zeros(void **state)
{
    (void)state;
    play("f",
         "event {\"id\":\"first\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n"
         "say 0 One.\n"
         "say 0 Two.\n"
         "tell far 0 0 0 0 One.\n"
         "answer f\n"
         "> {\"id\":\"first\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
         "\"content\":\"One.\"}}],\"detections\":{\"output\":[{\"choice_index\":0,"
         "\"results\":[]}]}}\n"
         "tell far 0 0 0 0 Two.\n"
         "answer f\n"
         "> {\"id\":\"first\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
         "\"content\":\"Two.\"}}],\"detections\":{\"output\":[{\"choice_index\":0,"
         "\"results\":[]}]}}\n"
         "finish 0\n"
         "chunked far\n"
         "> 0 stop\n"
         "done\n"
         "> end\n");
}

/* Events the choice does not have: nothing could carry the text. */
static void test_no_such_event(void **state)
{
    (void)state;
    play("f", "say 0 One.\n"
              "tell far 0 4 3 4 One.\n"
              "answer f\n"
              "> fail chunker far EPEER\n");
    play("f", "say 1 One.\n"
              "say 0 Two.\n"
              "tell far 0 4 1 1 One.\n"
              "answer f One.\n"
              "> fail chunker far EPEER\n");
}

/* Before the first batch no content of a choice leaves; tool calls and reasoning leave in place. */
static void test_no_content_before_the_first_batch(void **state)
{
    (void)state;
    play("f", ROLE TOOLS "> 0 tool_calls\n"
                         "say 0 One.\n"
                         "-\n"
                         "tell far 0 4 2 2 One.\n"
                         "answer f\n"
                         "> 0 \"One.\" []\n" TOOLS "> 0 tool_calls\n"
                         "finish 0\n"
                         "-\n"
                         "chunked far\n"
                         "> 0 stop\n"
                         "done\n"
                         "> end\n");
    play("f", ROLE "delta 0 {\"reasoning_content\":\"Hm.\"}\n"
                   "> 0 reasoning_content\n"
                   "say 0 One.\n"
                   "delta 0 {\"reasoning_content\":\"So.\"}\n"
                   "-\n"
                   "tell far 0 4 2 2 One.\n"
                   "answer f\n"
                   "> 0 \"One.\" []\n"
                   "> 0 reasoning_content\n");
    play("f", ROLE TOOLS "> 0 tool_calls\n"
                         "finish 0\n"
                         "> 0 stop\n"
                         "done\n"
                         "> - !EMPTY_OUTPUT\n"
                         "> end\n");
    play("a w", ROLE TOOLS "> 0 tool_calls\n"
                           "done\n"
                           "> - !EMPTY_OUTPUT\n"
                           "> end\n");
}

/* An event that only says who speaks is absorbed, with the usage it may have. */
static void test_only_the_role_is_absorbed(void **state)
{
    (void)state;
    play("a w", "event {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}],"
                "\"usage\":{\"n\":1}}\n"
                "-\n"
                "event {\"choices\":[{\"index\":0,\"delta\":{},\"extra\":1}]}\n"
                "> {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"},\"extra\":1}]}\n"
                "event {\"choices\":[{\"index\":0,\"delta\":{},\"extra\":null}],\"usage\":null}\n"
                "finish 0\n"
                "> 0 stop\n"
                "done\n"
                "> - !EMPTY_OUTPUT\n"
                "> end\n");
}

/* A finish_reason that came with text rides on the last batch, whichever that is. */
static void test_finish_with_text(void **state)
{
    (void)state;
    play("f",
         "say 0 One.\n" LAST(
             " Two. Three") "tell far 0 4 0 0 One.\n"
                            "tell far 4 9 1 1  Two.\n"
                            "answer f One.\n"
                            "-\n"
                            "answer f  Two.\n"
                            "> 0 \"One.\" []\n"
                            "-\n"
                            "tell far 9 15 1 1  Three\n"
                            "answer f  Three\n"
                            "> 0 \" Two.\" []\n"
                            "-\n"
                            "chunked far\n"
                            "> {\"id\":\"c9\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" "
                            "Three\","
                            "\"role\":\"assistant\"},\"finish_reason\":\"stop\",\"stop_reason\":"
                            "\"x\"}],"
                            "\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[]}]}}\n"
                            "done\n"
                            "> end\n");
    /* on an envelope that is another event's */
    play("f", "say 0 One\n" LAST(".") "tell far 0 4 0 0 One.\n"
                                      "answer f\n"
                                      "-\n"
                                      "done\n"
                                      "chunked far\n"
                                      "> 0 \"One.\" stop []\n"
                                      "> end\n");
}

/* No batch was left to carry it: it leaves alone, without the text nobody has seen. */
static void test_finish_without_a_batch(void **state)
{
    (void)state;
    play("f", "say 0 One.\n"
              "tell far 0 4 0 0 One.\n"
              "answer f\n"
              "> 0 \"One.\" []\n" LAST(" unseen") "-\n"
                                                  "chunked far\n"
                                                  "> 0 \"\" stop\n"
                                                  "done\n"
                                                  "> end\n");
}

/* What was held to see whether it is the last leaves before an error. */
static void test_error_behind_the_finish(void **state)
{
    (void)state;
    play("f", LAST("One. Two.") "tell far 0 4 0 0 One.\n"
                                "answer f\n"
                                "-\n"
                                "tell far 4 9 0 0  Two.\n"
                                "refuse f\n"
                                "> 0 \"One.\" []\n"
                                "> fail detector f EPEER\n");
    play("f", LAST("One.") "tell far 0 4 0 0 One.\n"
                           "answer f\n"
                           "broken\n"
                           "> 0 \"One.\" []\n"
                           "> fail chat completion m ERESET\n");
}

static void test_finish_on_every_event(void **state)
{
    (void)state;
    play("now", LAST("One") "> 0 \"One\" stop []\n" LAST(".") "> 0 \".\" stop []\n"
                                                              "done\n"
                                                              "> end\n");
}

/* With chunk-wise detectors usage is held; one event has it and the results. */
static void test_whole_documents(void **state)
{
    (void)state;
    play("now doc", ROLE "say 0 so bad\n"
                         "finish 0\n"
                         "> 0 \"so bad\" [now@3] !UNSUITABLE_OUTPUT\n"
                         "> 0 stop\n" USAGE "done\n"
                         "-\n"
                         "answer doc so bad\n"
                         "> - [doc@3] !UNSUITABLE_OUTPUT usage\n"
                         "> end\n");
}

/* With whole-document detectors only, all events pass, and one more has the usage again. */
static void test_whole_documents_only(void **state)
{
    (void)state;
    play("doc", ROLE "> 0 \"\"\n"
                     "say 0 so bad\n"
                     "> 0 \"so bad\"\n"
                     "finish 0\n"
                     "> 0 stop\n" USAGE "> - usage\n"
                     "done\n"
                     "answer doc so bad\n"
                     "> - [doc@3] !UNSUITABLE_OUTPUT usage\n"
                     "> end\n");
    play("doc", "say 0 fine\n"
                "> 0 \"fine\"\n"
                "done\n"
                "answer doc\n"
                "> - []\n"
                "> end\n");
    play("doc", "done\n"
                "> {\"choices\":[],\"detections\":{\"output\":[]}}\n"
                "> end\n");
}

static void test_text_completions(void **state)
{
    (void)state;
    play_as(&TEXT, "f",
            "event {\"id\":\"0\",\"choices\":[{\"index\":0,\"text\":\"One\",\"logprobs\":{"
            "\"tokens\":[1],\"token_logprobs\":[2],\"top_logprobs\":[3],\"text_offset\":[0]}}]}\n"
            "event {\"id\":\"1\",\"choices\":[{\"index\":0,\"text\":\".\",\"logprobs\":{"
            "\"tokens\":[4],\"token_logprobs\":[5],\"top_logprobs\":[6],\"text_offset\":[3]},"
            "\"finish_reason\":\"length\"}]}\n"
            "tell far 0 4 0 1 One.\n"
            "answer f\n"
            "-\n"
            "chunked far\n"
            "> {\"id\":\"1\",\"choices\":[{\"index\":0,\"text\":\"One.\",\"logprobs\":{"
            "\"tokens\":[1,4],\"token_logprobs\":[2,5],\"top_logprobs\":[3,6],"
            "\"text_offset\":[0,3]},\"finish_reason\":\"length\"}],\"detections\":{\"output\":["
            "{\"choice_index\":0,\"results\":[]}]}}\n"
            "done\n"
            "> end\n");
}

/* Detectors on different chunkers: checked as always, but for the role and the spans. */
static void test_two_chunkers(void **state)
{
    (void)state;
    play("a w", ROLE "say 0 Oh bad. So\n"
                     "answer w Oh \n"
                     "answer a Oh bad.\n"
                     "answer w bad. \n"
                     "> 0 \"Oh bad.\" [a@3] !UNSUITABLE_OUTPUT\n"
                     "finish 0\n"
                     "answer a  So\n"
                     "answer w So\n"
                     "> 0 \" So\" [w@0] !UNSUITABLE_OUTPUT\n"
                     "> 0 stop\n"
                     "done\n"
                     "> end\n");
}

static void test_choices_do_not_wait(void **state)
{
    (void)state;
    play("f", "say 0 Zero.\n"
              "say 1 One.\n"
              "finish 2\n"
              "> 2 stop\n"
              "tell far 0 5 0 0 Zero.\n"
              "tell far 0 5 0 0 again\n"
              "event {\"choices\":[],\"prompt_filter_results\":[]}\n"
              "finish 0\n"
              "answer f again\n"
              "-\n"
              "answer f Zero.\n"
              "> 0 \"Zero.\" []\n"
              "> 0 \"again\" []\n"
              "chunked far\n"
              "> 0 stop\n"
              "tell far 0 4 1 1 One.\n"
              "answer f One.\n"
              "> 1 \"One.\" []\n"
              "> -\n"
              "done\n"
              "chunked far\n"
              "> - !EMPTY_OUTPUT\n"
              "> end\n");
}

/* What is kept of events stays within the ceiling however long the stream, as long as the chunker
 * tells by offsets or by numbers how far it has come. */
static void test_long_streams(void **state)
{
    (void)state;
    for (int by_number = 0; by_number < 2; by_number++) {
        struct stage *st = fms_with("f");
        struct script_hooks go_on = {0};
        char line[128];
        st->env.max_held_bytes = 4096;
        script_play(st, &CHAT, ROLE, SIZE_MAX);
        for (int i = 0; i < 60; i++) {
            snprintf(line, sizeof line, "say 0 word\ntell far 0 %d %d %d word\nanswer f\n",
                     by_number ? 0 : (i + 1) * 4, by_number ? i + 1 : 0, by_number ? i + 1 : 0);
            script_play(st, &go_on, line, SIZE_MAX);
            script_run(st, &go_on, "> 0 \"word\" []\n");
        }
        script_run(st, &go_on, "finish 0\nchunked far\n> 0 stop\ndone\n> end\n");
        stage_free(st);
    }
}

static struct stage *new_stage(void)
{
    return fms_with("f g doc");
}

static void test_dropped_anywhere(void **state)
{
    (void)state;
    script_drop_anywhere(&CHAT, new_stage,
                         ROLE TOOLS "say 0 One.\n"
                                    "tell far 0 4 0 2 One.\n"
                                    "answer f\n" LAST(" Two") "answer g\n"
                                                              "tell far 4 8 3 3  Two\n"
                                                              "answer g\n"
                                                              "answer f\n" USAGE "done\n"
                                                              "chunked far\n"
                                                              "answer doc\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_does_not_overtake),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_chunker_is_believed),
        cmocka_unit_test(test_named_events),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_no_such_event),
        cmocka_unit_test(test_no_content_before_the_first_batch),
        cmocka_unit_test(test_only_the_role_is_absorbed),
        cmocka_unit_test(test_finish_with_text),
        cmocka_unit_test(test_finish_without_a_batch),
        cmocka_unit_test(test_error_behind_the_finish),
        cmocka_unit_test(test_finish_on_every_event),
        cmocka_unit_test(test_whole_documents),
        cmocka_unit_test(test_whole_documents_only),
        cmocka_unit_test(test_text_completions),
        cmocka_unit_test(test_two_chunkers),
        cmocka_unit_test(test_choices_do_not_wait),
        cmocka_unit_test(test_long_streams),
        cmocka_unit_test(test_dropped_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
