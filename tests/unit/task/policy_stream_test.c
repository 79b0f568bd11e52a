/* Streams of routes as transcripts: what annotate, block and redact make of findings. */
#include "unit/task/policy_stage.h"

static void play(enum weir_policy_action action, const char *output, const char *script)
{
    policy_ask = (struct policy_ask){.policy = policy_of(action)};
    policy_play_with(&POLICY_STREAM, "", output, script);
}

#define USAGE "event {\"id\":\"c1\",\"choices\":[],\"usage\":{\"total_tokens\":3}}\n"

/* ---- annotate ---- */

static void test_annotate(void **state)
{
    (void)state;
    play(WEIR_POLICY_ANNOTATE, "a",
         "delta 0 {\"role\":\"assistant\",\"content\":\"\"}\n"
         "> 0 role \"\"\n"
         "say 0 A bad. Two.\n"
         "answer a A bad.\n"
         "> 0 \"A bad.\" [a@2] !UNSUITABLE_OUTPUT\n"
         "answer a\n"
         "> 0 \" Two.\" []\n"
         "finish 0\n" USAGE "-\n"
         "done\n"
         "> 0 stop\n"
         "> - usage\n"
         "> end\n");
}

/* The role leaves once per choice, on its first event, wherever the server puts it. */
static void test_annotate_role(void **state)
{
    (void)state;
    play(WEIR_POLICY_ANNOTATE, "now",
         "say 0 One. Two\n"
         "> 0 role \"One.\" []\n"
         "delta 0 {\"role\":\"assistant\",\"content\":\".\"}\n"
         "> 0 \" Two.\" []\n"
         "say 1 Bad.\n"
         "> 1 role \"Bad.\" []\n"
         "delta 2 {\"role\":\"assistant\",\"refusal\":\"n\"}\n"
         "> 2 role refusal:\"n\"\n"
         "delta 2 {\"role\":\"assistant\",\"content\":\"x.\"}\n"
         "> 2 \"x.\" []\n"
         "finish 0\n"
         "done\n"
         "> 0 stop\n"
         "> end\n");
}

/* Other channels leave in place and nothing is dropped; their findings ride on the last event. */
static void test_annotate_channels(void **state)
{
    (void)state;
    play(WEIR_POLICY_ANNOTATE, "now",
         "delta 0 {\"reasoning\":\"bad.\",\"x\":1}\n"
         "> {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"bad.\",\"x\":1,"
         "\"role\":\"assistant\"}}]}\n"
         "finish 0\n"
         "done\n"
         "> 0 stop reasoning[now@0] !UNSUITABLE_OUTPUT\n"
         "> end\n");
}

/* ---- block ---- */

static void test_block(void **state)
{
    (void)state;
    play(WEIR_POLICY_BLOCK, "a",
         "delta 0 {\"role\":\"assistant\",\"content\":\"\"}\n"
         "> 0 role \"\"\n"
         "say 0 One. A bad. Three.\n"
         "answer a One.\n"
         "> 0 \"One.\" []\n"
         "answer a  Three.\n"
         "-\n"
         "answer a  A bad.\n"
         "> 0 \" A \" []\n"
         "> 0 \"\\n\\nNo.\" [a@7] !UNSUITABLE_OUTPUT\n"
         "> 0 content_filter\n"
         "> end\n"
         "stopped\n");
}

/* Exactly this, and nothing of what was found. */
static void test_block_shapes(void **state)
{
    (void)state;
    play(WEIR_POLICY_BLOCK, "now",
         "event {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\","
         "\"service_tier\":\"t\",\"system_fingerprint\":\"f\",\"secret\":\"bad\",\"choices\":[{"
         "\"index\":0,\"delta\":{\"content\":\"So bad.\",\"mood\":\"bad\"},\"logprobs\":{"
         "\"content\":[1]},\"token_ids\":[2],\"stop_reason\":null,\"finish_reason\":null,"
         "\"hint\":\"bad\"}],\"usage\":{\"total_tokens\":9}}\n"
         "> {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\","
         "\"service_tier\":\"t\",\"system_fingerprint\":\"f\",\"choices\":[{\"index\":0,\"delta\":"
         "{\"role\":\"assistant\",\"content\":\"So \"},\"logprobs\":null,\"finish_reason\":null}],"
         "\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[]}]}}\n"
         "> {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\","
         "\"service_tier\":\"t\",\"system_fingerprint\":\"f\",\"choices\":[{\"index\":0,\"delta\":"
         "{\"content\":\"\\n\\nNo.\"},\"logprobs\":null,"
         "\"finish_reason\":null}],\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[{"
         "\"start\":3,\"end\":6,\"detector_id\":\"now\",\"detection_type\":\"word\","
         "\"detection\":\"Ugh\",\"score\":0.5}]}]},\"warnings\":[{\"type\":\"UNSUITABLE_OUTPUT\","
         "\"message\":\"Unsuitable output detected.\"}]}\n"
         "> {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\","
         "\"service_tier\":\"t\",\"system_fingerprint\":\"f\",\"choices\":[{\"index\":0,"
         "\"delta\":{},\"logprobs\":null,\"finish_reason\":\"content_filter\"}]}\n"
         "> {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\","
         "\"service_tier\":\"t\",\"system_fingerprint\":\"f\",\"choices\":[],"
         "\"usage\":{\"total_tokens\":9}}\n"
         "> end\n"
         "stopped\n");
}

static void test_block_without_fallback(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = {.action = WEIR_POLICY_BLOCK}};
    policy_play_with(&POLICY_STREAM, "", "now",
                     "say 0 Bye. bad.\n"
                     "> 0 role \"Bye.\" []\n"
                     "> 0 \" \" []\n"
                     "> 0 \"\\n\\nI can't help with that.\" [now@5] !UNSUITABLE_OUTPUT\n"
                     "> 0 content_filter\n"
                     "> end\n"
                     "stopped\n");
}

/* Some are blocked, the others go on to the end of the stream. */
static void test_block_choices(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK), .n_choices = 3};
    policy_play_with(&POLICY_STREAM, "", "now",
                     "say 0 bad.\n"
                     "> 0 role \"No.\" [now@0] !UNSUITABLE_OUTPUT\n"
                     "> 0 content_filter\n"
                     "say 1 Fine.\n"
                     "> 1 role \"Fine.\" []\n"
                     "say 0 More of it.\n"
                     "-\n"
                     "finish 1\n"
                     "say 2 Also bad.\n"
                     "> 2 role \"Also \" []\n"
                     "> 2 \"\\n\\nNo.\" [now@5] !UNSUITABLE_OUTPUT\n"
                     "> 2 content_filter\n"
                     "reading\n"
                     "done\n"
                     "> 1 stop\n"
                     "> end\n");
}

/* The model is stopped when the last of them is blocked. */
static void test_block_all_choices(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK), .n_choices = 2};
    policy_play_with(&POLICY_STREAM, "", "now",
                     "say 1 bad.\n"
                     "> 1 role \"No.\" [now@0] !UNSUITABLE_OUTPUT\n"
                     "> 1 content_filter\n"
                     "reading\n"
                     "say 0 bad.\n"
                     "> 0 role \"No.\" [now@0] !UNSUITABLE_OUTPUT\n"
                     "> 0 content_filter\n"
                     "> end\n"
                     "stopped\n");
}

/* A request that does not say how many choices it wants may be given several: blocking the first
 * loses none of the others. */
static void test_block_without_n(void **state)
{
    (void)state;
    policy_ask =
        (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK), .may_be_given_more = true};
    policy_play_with(&POLICY_STREAM, "", "now",
                     "say 0 bad.\n"
                     "> 0 role \"No.\" [now@0] !UNSUITABLE_OUTPUT\n"
                     "> 0 content_filter\n"
                     "reading\n"
                     "clock 1900\n"
                     "say 0 More of it.\n"
                     "-\n"
                     "say 1 Fine.\n"
                     "> 1 role \"Fine.\" []\n"
                     "clock 5000\n"
                     "-\n"
                     "finish 1\n"
                     "done\n"
                     "> 1 stop\n"
                     "> end\n");
    policy_play_with(&POLICY_STREAM, "", "now",
                     "say 0 bad.\n"
                     "> 0 role \"No.\" [now@0] !UNSUITABLE_OUTPUT\n"
                     "> 0 content_filter\n"
                     "clock 1900\n"
                     "say 0 It goes on.\n"
                     "reading\n"
                     "clock 200\n"
                     "> end\n"
                     "stopped\n");
}

/* A choice that was asked for may still come. */
static void test_block_awaits_choices(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK), .n_choices = 2};
    policy_play_with(&POLICY_STREAM, "", "now",
                     "say 0 bad.\n"
                     "> 0 role \"No.\" [now@0] !UNSUITABLE_OUTPUT\n"
                     "> 0 content_filter\n"
                     "reading\n"
                     "say 1 Fine.\n"
                     "> 1 role \"Fine.\" []\n"
                     "finish 1\n"
                     "finish 0\n" USAGE "done\n"
                     "> 1 stop\n"
                     "> - usage\n"
                     "> end\n");
}

/* More choices than were asked for, in the event that ends the first. */
static void test_block_more_choices(void **state)
{
    (void)state;
    play(WEIR_POLICY_BLOCK, "now",
         "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"bad.\"}},{\"index\":1,"
         "\"delta\":{\"content\":\"Fine. So\"}}]}\n"
         "> 0 role \"No.\" [now@0] !UNSUITABLE_OUTPUT\n"
         "> 0 content_filter\n"
         "> 1 role \"Fine.\" []\n"
         "reading\n"
         "say 1  bad.\n"
         "> 1 \" So \" []\n"
         "> 1 \"\\n\\nNo.\" [now@9] !UNSUITABLE_OUTPUT\n"
         "> 1 content_filter\n"
         "> end\n"
         "stopped\n");
}

/* The last usage the server sent, wherever it came, never one of our own. */
static void test_block_usage(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK), .n_choices = 2};
    policy_play_with(
        &POLICY_STREAM, "", "now",
        "say 0 bad.\n"
        "> 0 role \"No.\" [now@0] !UNSUITABLE_OUTPUT\n"
        "> 0 content_filter\n"
        "say 1 Fine.\n"
        "> 1 role \"Fine.\" []\n"
        "finish 1\n"
        "event {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"bad\"},"
        "\"finish_reason\":\"stop\"}],\"usage\":{\"total_tokens\":8}}\n"
        "-\n"
        "done\n"
        "> 1 stop\n"
        "> {\"id\":\"c1\",\"choices\":[],\"usage\":{\"total_tokens\":8}}\n"
        "> end\n");
    policy_play_with(
        &POLICY_STREAM, "", "now",
        "say 0 bad.\n"
        "> 0 role \"No.\" [now@0] !UNSUITABLE_OUTPUT\n"
        "> 0 content_filter\n"
        "event {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{}}],\"usage\":{\"n\":8}}\n"
        "event {\"id\":\"c1\",\"choices\":[{\"index\":1,\"delta\":{\"content\":\"Fine.\"},"
        "\"finish_reason\":\"stop\"}],\"usage\":{\"n\":9}}\n"
        "> 1 role \"Fine.\" []\n"
        "done\n"
        "> {\"id\":\"c1\",\"choices\":[{\"index\":1,\"delta\":{},\"logprobs\":null,"
        "\"finish_reason\":\"stop\"}],\"usage\":{\"n\":9}}\n"
        "> end\n");
}

/* The choice has ended by itself before it was judged: what it cost may still come. */
static void test_block_late(void **state)
{
    (void)state;
    play(WEIR_POLICY_BLOCK, "a",
         "say 0 bad.\n"
         "finish 0\n"
         "answer a\n"
         "> 0 role \"No.\" [a@0] !UNSUITABLE_OUTPUT\n"
         "> 0 content_filter\n"
         "reading\n" USAGE "done\n"
         "> - usage\n"
         "> end\n");
}

/* ---- redact ---- */

static void test_redact(void **state)
{
    (void)state;
    play(WEIR_POLICY_REDACT, "a",
         "say 0 One. A ba\n"
         "say 0 d b\n"
         "answer a One.\n"
         "> 0 role \"One.\" []\n"
         "say 0 ad. Three.\n"
         "answer a  Three.\n"
         "-\n"
         "answer a\n"
         "> 0 \" A [Ugh] [Ugh].\" [a@7 a@13] !UNSUITABLE_OUTPUT\n"
         "> 0 \" Three.\" []\n"
         "finish 0\n" USAGE "-\n"
         "done\n"
         "> 0 stop\n"
         "> - usage\n"
         "> end\n");
}

/* A finding without a span cannot be replaced: it blocks that choice, the others go on. */
static void test_redact_without_span(void **state)
{
    (void)state;
    policy_ask =
        (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT),
                            .n_choices = 2,
                            .body = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"};
    policy_play_with(&POLICY_STREAM, "", "now chat",
                     "say 0 Fine.\n"
                     "say 1 So bad.\n"
                     "finish 0\n"
                     "finish 1\n"
                     "done\n"
                     "answer chat\n"
                     "> 0 role \"Fine.\" []\n"
                     "> 0 stop\n"
                     "answer chat\n"
                     "> 1 role \"No.\" [chat]\n"
                     "> 1 content_filter\n"
                     "> end\n");
}

/* ---- whole documents ---- */

static void test_whole_is_held(void **state)
{
    (void)state;
    play(WEIR_POLICY_REDACT, "now doc",
         "delta 0 {\"role\":\"assistant\"}\n"
         "> 0 role \"\"\n"
         "say 0 One. A bad\n"
         "say 0  word. End\n"
         "delta 0 {\"reasoning\":\"Hm, bad.\"}\n"
         "finish 0\n"
         "done\n"
         "-\n"
         "answer doc Hm, bad.\n"
         "-\n"
         "answer doc\n"
         "> 0 reasoning:\"Hm, [Ugh].\" reasoning[doc@4 now@4] !UNSUITABLE_OUTPUT\n"
         "> 0 \"One. A [Ugh] word. End\" [doc@7 now@7] !UNSUITABLE_OUTPUT\n"
         "> 0 stop\n"
         "> end\n");
    play(WEIR_POLICY_BLOCK, "doc",
         "say 0 One. A bad\n"
         "finish 0\n"
         "done\n"
         "-\n"
         "answer doc\n"
         "> 0 role \"One. A \" []\n"
         "> 0 \"\\n\\nNo.\" [doc@7] !UNSUITABLE_OUTPUT\n"
         "> 0 content_filter\n"
         "> end\n");
}

/* A detector of the exchange decides about everything a choice says, so it is shown all of it. */
static void test_the_exchange_has_every_channel(void **state)
{
    (void)state;
    static const char *const deltas[] = {
        "{\"reasoning\":\"So bad.\"}", "{\"reasoning_content\":\"So bad.\"}",
        "{\"refusal\":\"So bad.\"}", "{\"audio\":{\"id\":\"a\",\"transcript\":\"So bad.\"}}"};
    for (size_t i = 0; i < sizeof deltas / sizeof deltas[0]; i++) {
        struct weir_buf script = {0};
        weir_buf_printf(&script,
                        "say 0 Fine.\n"
                        "delta 0 %s\n"
                        "finish 0\n"
                        "done\n"
                        "answer chat\n"
                        "> 0 role \"No.\" [chat]\n"
                        "> 0 content_filter\n"
                        "> end\n",
                        deltas[i]);
        policy_ask =
            (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK),
                                .body = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"};
        policy_play_with(&POLICY_STREAM, "", "chat", weir_buf_cstr(&script));
        weir_buf_dispose(&script);
    }
}

/* A finish_reason ends nothing: a detector of the whole sees what comes behind it too. */
static void test_text_behind_the_whole(void **state)
{
    (void)state;
    play(WEIR_POLICY_REDACT, "doc",
         "say 0 One b\n"
         "finish 0\n"
         "say 0 ad.\n"
         "done\n"
         "answer doc One bad.\n"
         "> 0 role \"One [Ugh].\" [doc@4] !UNSUITABLE_OUTPUT\n"
         "> 0 stop\n"
         "> end\n");
}

/* ---- a finish_reason ends nothing by itself ---- */

#define SAY_AND_FINISH(text)                                                                       \
    "event {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text                \
    "\"},\"finish_reason\":\"length\"}]}\n"

/* Cut in two by one, on every event, a finding is found whole; the last value leaves at the end. */
static void test_finish_cuts_nothing(void **state)
{
    (void)state;
    play(WEIR_POLICY_REDACT, "now",
         SAY_AND_FINISH("A b") SAY_AND_FINISH("ad")
             SAY_AND_FINISH(" one. So") "> 0 role \"A [Ugh] one.\" [now@2] !UNSUITABLE_OUTPUT\n"
                                        "finish 0\n"
                                        "done\n"
                                        "> 0 \" So\" []\n"
                                        "> 0 stop\n"
                                        "> end\n");
    play(WEIR_POLICY_BLOCK, "now",
         SAY_AND_FINISH("A b") SAY_AND_FINISH("ad.") "> 0 role \"A \" []\n"
                                                     "> 0 \"\\n\\nNo.\" [now@2] "
                                                     "!UNSUITABLE_OUTPUT\n"
                                                     "> 0 content_filter\n"
                                                     "> end\n"
                                                     "stopped\n");
    play(WEIR_POLICY_ANNOTATE, "now",
         SAY_AND_FINISH("A b") SAY_AND_FINISH("ad")
             SAY_AND_FINISH(" one. So") "> 0 role \"A bad one.\" [now@2] !UNSUITABLE_OUTPUT\n"
                                        "done\n"
                                        "> 0 \" So\" []\n"
                                        "> 0 length\n"
                                        "> end\n");
    play(WEIR_POLICY_ANNOTATE, "doc",
         SAY_AND_FINISH("A b") "> 0 role \"A b\"\n"
                               "finish 0\n"
                               "say 0 ad.\n"
                               "> 0 \"ad.\"\n"
                               "done\n"
                               "answer doc A bad.\n"
                               "> 0 stop [doc@2] !UNSUITABLE_OUTPUT\n"
                               "> end\n");
}

/* What such an event says besides leaves in its place, and once. */
static void test_finish_loses_nothing(void **state)
{
    (void)state;
    play(WEIR_POLICY_ANNOTATE, "now",
         "event {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\","
         "\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"x\"}}]},"
         "\"extra\":1,\"finish_reason\":\"stop\",\"stop_reason\":7}],\"usage\":{\"n\":1}}\n"
         "> 0 role \"Hi.\" []\n"
         "> {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"
         "\"function\":{\"name\":\"f\",\"arguments\":\"x\"}}]},\"extra\":1,\"finish_reason\":null,"
         "\"stop_reason\":null}],\"usage\":{\"n\":1}}\n"
         "done\n"
         "> {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\","
         "\"stop_reason\":7}]}\n"
         "> end\n");
    play(WEIR_POLICY_BLOCK, "now",
         "event {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":"
         "\"stop\"}],\"usage\":{\"n\":1}}\n"
         "event {\"id\":\"2\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":"
         "\"length\"}]}\n"
         "done\n"
         "> 0 role length\n"
         "> {\"id\":\"2\",\"choices\":[],\"usage\":{\"n\":1}}\n"
         "> end\n");
}

/* Tool calls behind a finish_reason are judged with the others, whatever the detector's timing;
 * nothing is asked before the end, so nothing under judgement can change. */
static void test_tools_behind_a_finish(void **state)
{
    (void)state;
    static const char *const last[] = {"x", "bad"};
    for (size_t i = 0; i < 2; i++) {
        struct weir_buf script = {0};
        weir_buf_printf(
            &script,
            "event {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{"
            "\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"f\",\"arguments\":\"a\"}}]},"
            "\"finish_reason\":\"tool_calls\"}]}\n"
            "calls 0\n"
            "delta 0 {\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"%s\"}}]}\n"
            "say 0 More.\n"
            "answer a More.\n"
            "> 0 role \"More.\" []\n"
            "done\n"
            "answer a f|a%s\n",
            last[i], last[i]);
        weir_buf_append(&script,
                        i == 0 ? WEIR_SLICE("> 0 tool_calls:[{\"index\":0,\"id\":\"t\",\"type\":"
                                            "\"function\",\"function\":{\"name\":\"f\","
                                            "\"arguments\":\"ax\"}}]\n"
                                            "> 0 tool_calls\n> end\n")
                               : WEIR_SLICE("> 0 \"\\n\\nNo.\" tool_calls[a@1] !UNSUITABLE_OUTPUT\n"
                                            "> 0 content_filter\n> end\n"));
        play(WEIR_POLICY_BLOCK, "a", weir_buf_cstr(&script));
        weir_buf_dispose(&script);
    }
}

/* The stream counts as ended after two seconds of silence when every choice has finished, once and
 * last; not while the caller keeps us from reading. */
static void test_silence_ends(void **state)
{
    (void)state;
    static const enum weir_policy_action actions[] = {WEIR_POLICY_ANNOTATE, WEIR_POLICY_REDACT};
    for (size_t i = 0; i < 2; i++) {
        play(actions[i], "now",
             "say 0 One.\n"
             "> 0 role \"One.\" []\n"
             "clock 9000\n"
             "finish 0\n"
             "clock 1900\n" USAGE "clock 1900\n"
             "-\n"
             "clock 200\n"
             "> 0 stop\n"
             "> - usage\n"
             "> end\n"
             "stopped\n");
        play(actions[i], "now",
             "finish 0\n"
             "say 0 One.\n"
             "> 0 role \"One.\" []\n"
             "finish 0\n"
             "clock 60000\n"
             "reading\n"
             "done\n"
             "> 0 stop\n"
             "> end\n");
        play(actions[i], "now",
             "full\n"
             "say 0 One. Two\n"
             "> 0 role \"One.\" []\n"
             "room\n"
             "event {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\".\"},"
             "\"finish_reason\":\"stop\"}]}\n"
             "> 0 \" Two.\" []\n"
             "clock 60000\n"
             "> 0 stop\n"
             "> end\n");
    }
    play(WEIR_POLICY_REDACT, "now",
         "full\n"
         "event {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"One.\"},"
         "\"finish_reason\":\"stop\"}]}\n"
         "> 0 role \"One.\" []\n"
         "paused\n"
         "clock 60000\n"
         "-\n"
         "room\n"
         "clock 2100\n"
         "> 0 stop\n"
         "> end\n");
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT), .n_choices = 2};
    policy_play_with(&POLICY_STREAM, "", "now",
                     "say 0 One.\n"
                     "> 0 role \"One.\" []\n"
                     "finish 0\n"
                     "clock 60000\n"
                     "-\n"
                     "reading\n");
}

static void test_whole_ceiling(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    struct stage *st = policy_stage("", "doc");
    st->env.max_held_bytes = 1000;
    script_play(st, &POLICY_STREAM, "", 0);
    for (int i = 0; i < 100 && !st->is_over; i++) {
        script_say(st, WEIR_SLICE("0 Twenty bytes of text."));
        stage_turn(st);
    }
    assert_non_null(strstr(weir_buf_cstr(&st->lines), "fail limit"));
    assert_int_equal(strncmp(st->lines.p, "fail limit", 10), 0); /* and nothing before it */
    stage_free(st);
}

/* ---- channels ---- */

/* Every channel is a text of its own; a finding cut in two by another channel is found. */
static void test_channels(void **state)
{
    (void)state;
    play(WEIR_POLICY_REDACT, "now",
         "delta 0 {\"role\":\"assistant\",\"reasoning\":\"A ba\"}\n"
         "delta 0 {\"reasoning_content\":\"B ba\",\"content\":\"C ba\"}\n"
         "delta 0 {\"refusal\":\"D ba\",\"audio\":{\"id\":\"au\",\"transcript\":\"E ba\"}}\n"
         "delta 0 {\"audio\":{\"transcript\":\"d.\",\"data\":\"AAAA\"},\"refusal\":\"d.\"}\n"
         "> 0 role refusal:\"D [Ugh].\" refusal[now@2] !UNSUITABLE_OUTPUT\n"
         "> 0 audio:{\"id\":\"au\",\"transcript\":\"E [Ugh].\"} audio.transcript[now@2] "
         "!UNSUITABLE_OUTPUT\n"
         "delta 0 {\"content\":\"d.\"}\n"
         "> 0 \"C [Ugh].\" [now@2] !UNSUITABLE_OUTPUT\n"
         "delta 0 {\"reasoning_content\":\"d.\"}\n"
         "> 0 reasoning_content:\"B [Ugh].\" reasoning_content[now@2] !UNSUITABLE_OUTPUT\n"
         "delta 0 {\"audio\":{\"expires_at\":9}}\n"
         "delta 0 {\"reasoning\":\"d\"}\n"
         "finish 0\n"
         "done\n"
         "> 0 reasoning:\"A [Ugh]\" reasoning[now@2] !UNSUITABLE_OUTPUT\n"
         "> 0 audio:{\"expires_at\":9}\n"
         "> 0 stop\n"
         "> end\n");
}

static void test_channel_blocks(void **state)
{
    (void)state;
    static const char *const names[] = {"reasoning", "reasoning_content", "refusal"};
    for (size_t i = 0; i < 3; i++) {
        char script[512];
        snprintf(script, sizeof script,
                 "say 0 Fine. And\n"
                 "> 0 role \"Fine.\" []\n"
                 "delta 0 {\"%s\":\"bad.\"}\n"
                 "> 0 \"\\n\\nNo.\" %s[now@0] !UNSUITABLE_OUTPUT\n"
                 "> 0 content_filter\n"
                 "> end\n"
                 "stopped\n",
                 names[i], names[i]);
        play(WEIR_POLICY_BLOCK, "now", script);
    }
}

static void test_split_surrogates(void **state)
{
    (void)state;
    play(WEIR_POLICY_REDACT, "now",
         "delta 0 {\"content\":\"\\ud83d\",\"reasoning\":\"x\\ud83d\"}\n"
         "delta 0 {\"content\":\"\\ude00 bad.\"}\n"
         "> 0 role \"\xF0\x9F\x98\x80 [Ugh].\" [now@2] !UNSUITABLE_OUTPUT\n"
         "finish 0\n"
         "done\n"
         "> 0 reasoning:\"x\xEF\xBF\xBD\" reasoning[]\n"
         "> 0 stop\n"
         "> end\n");
}

static void test_completions(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT), .is_text = true};
    policy_play_with(
        &POLICY_STREAM, "", "now",
        "event {\"id\":\"t\",\"choices\":[{\"index\":0,\"text\":\"A bad. \","
        "\"logprobs\":{\"tokens\":[\"A\"]},\"reasoning\":\"bad\"}]}\n"
        "> {\"id\":\"t\",\"choices\":[{\"index\":0,\"text\":\"A [Ugh].\",\"logprobs\":"
        "null,\"finish_reason\":null}],\"detections\":{\"output\":[{\"choice_index\":0,"
        "\"results\":[{\"start\":2,\"end\":7,\"detector_id\":\"now\","
        "\"detection_type\":\"word\",\"detection\":\"Ugh\",\"score\":0.5}]}]},"
        "\"warnings\":[{\"type\":\"UNSUITABLE_OUTPUT\",\"message\":\"Unsuitable output "
        "detected.\"}]}\n"
        "event {\"id\":\"t\",\"choices\":[{\"index\":0,\"text\":\"\","
        "\"finish_reason\":\"stop\"}]}\n"
        "done\n"
        "> 0 \" \" []\n"
        "> 0 \"\" stop\n"
        "> end\n");
    policy_ask.policy = (struct weir_policy){.action = WEIR_POLICY_BLOCK};
    policy_play_with(&POLICY_STREAM, "", "now",
                     "event {\"id\":\"t\",\"choices\":[{\"index\":0,\"text\":\"A bad.\"}]}\n"
                     "> 0 \"A \" []\n"
                     "> 0 \"\\n\\nI can't help with that.\" [now@2] !UNSUITABLE_OUTPUT\n"
                     "> 0 \"\" content_filter\n"
                     "> end\n"
                     "stopped\n");
}

/* ---- tool calls ---- */

#define HELD                                                                                       \
    "say 0 Let me see. \n"                                                                         \
    "> 0 role \"Let me see.\" []\n"                                                                \
    "delta 0 {\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\"type\":\"function\",\"function\":{"     \
    "\"name\":\"find\",\"arguments\":\"{\\\"q\\\":\\\"\"}}]}\n"                                    \
    "delta 0 {\"tool_calls\":[{\"index\":1,\"id\":\"t2\",\"type\":\"custom\",\"custom\":{"         \
    "\"name\":\"run\",\"input\":\"go \"}}]}\n"                                                     \
    "delta 0 {\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"x\\\"}\"}}]}\n"           \
    "delta 0 {\"function_call\":{\"name\":\"old\",\"arguments\":\"{}\"}}\n"                        \
    "-\n"

static void test_tools_are_held(void **state)
{
    (void)state;
    play(WEIR_POLICY_BLOCK, "a now",
         "say 0 Hm. \n"
         "answer a\n"
         "> 0 role \"Hm.\" []\n"
         "delta 0 {\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\"type\":\"function\",\"function\":{"
         "\"name\":\"find\",\"arguments\":\"{}\"}}]}\n"
         "delta 0 {\"function_call\":{\"name\":\"old\",\"arguments\":\"{}\"}}\n"
         "finish 0\n"
         "done\n"
         "answer a  \n"
         "> 0 \" \" []\n"
         "answer a find|old\n"
         "> 0 tool_calls:[{\"index\":0,\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":"
         "\"find\",\"arguments\":\"{}\"}}] function_call:{\"name\":\"old\",\"arguments\":\"{}\"}\n"
         "> 0 stop\n"
         "> end\n");
}

static void test_tools_leave_whole(void **state)
{
    (void)state;
    play(WEIR_POLICY_BLOCK, "now",
         HELD "finish 0\n"
              "done\n"
              "> 0 \" \" []\n"
              "> 0 tool_calls:[{\"index\":0,\"id\":\"t1\",\"type\":\"function\",\"function\":{"
              "\"name\":\"find\",\"arguments\":\"{\\\"q\\\":\\\"x\\\"}\"}},{\"index\":1,\"id\":"
              "\"t2\",\"type\":\"custom\",\"custom\":{\"name\":\"run\",\"input\":\"go \"}}] "
              "function_call:{\"name\":\"old\",\"arguments\":\"{}\"}\n"
              "> 0 stop\n"
              "> end\n");
}

/* In a name or in arguments, of a function, a custom tool or a call of old: none of it leaves where
 * the route blocks; and where it redacts, if it cannot be replaced. */
static void test_tools_block(void **state)
{
    (void)state;
    static const char *const last[] = {
        "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"b\"}}]}\n"
        "delta 0 {\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"ad\"}}]}\n",
        "{\"tool_calls\":[{\"index\":1,\"custom\":{\"input\":\"bad\"}}]}\n",
        "{\"function_call\":{\"arguments\":\"bad\"}}\n",
        "{\"tool_calls\":[{\"index\":2,\"function\":{\"name\":\"bad\"}}]}\n",
        "{\"tool_calls\":[{\"index\":2,\"function\":{\"arguments\":\"{\\\"a\\\":{\\\"b\\\\u0061"
        "d\\\":1}}\"}}]}\n"};
    enum { CAN_BE_REPLACED = 3 };
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        struct weir_buf script = {0};
        weir_buf_printf(&script,
                        HELD "delta 0 %s"
                             "finish 0\n"
                             "done\n",
                        last[i]);
        for (int redacts = 0; redacts < (i < CAN_BE_REPLACED ? 1 : 2); redacts++) {
            struct weir_policy policy = policy_of(redacts ? WEIR_POLICY_REDACT : WEIR_POLICY_BLOCK);
            policy_ask = (struct policy_ask){.policy = policy};
            struct stage *st = policy_stage("", "now");
            script_play(st, &POLICY_STREAM, weir_buf_cstr(&script), SIZE_MAX);
            script_expect(st, WEIR_SLICE("0 \" \" []"));
            const char *line =
                strstr(weir_buf_cstr(&st->lines) + st->seen, "\"channel\":\"tool_calls\"");
            assert_non_null(line);
            assert_null(strstr(weir_buf_cstr(&st->lines), "\"tool_calls\":["));
            assert_null(strstr(weir_buf_cstr(&st->lines), "bad"));
            assert_non_null(strstr(line, "\"finish_reason\":\"content_filter\""));
            stage_free(st);
        }
        weir_buf_dispose(&script);
    }
}

/* On redact: inside of the decoded leaf, so that JSON stays JSON; what is no JSON as it stands. */
static void test_tools_redact(void **state)
{
    (void)state;
    play(
        WEIR_POLICY_REDACT, "now",
        "delta 0 {\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"f\","
        "\"arguments\":\"{\\\"a\\\": [\\\"A b\\\\u0061d\\\\n\\\", "
        "{\\\"b\\\":\\\"\\\\\\\"bad\\\"\"}},"
        "{\"index\":3,\"id\":\"u\",\"custom\":{\"name\":\"g\",\"input\":\"a b\"}}]}\n"
        "delta 0 {\"tool_calls\":[{\"index\":3,\"custom\":{\"input\":\"ad one\"}},"
        "{\"index\":0,\"function\":{\"arguments\":\"}], \\\"c\\\": 5}\"}}]}\n"
        "delta 0 "
        "{\"function_call\":{\"name\":\"old\",\"arguments\":\"{\\\"x\\\":\\\"b\\\\u0061d\"}}\n"
        "finish 0\n"
        "done\n"
        "> {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
        "\"function_call\":{\"name\":\"old\",\"arguments\":\"{\\\"x\\\":\\\"[Ugh]\"},\"tool_"
        "calls\":[{\"index\":0,\"id\":\"t\","
        "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\": [\\\"A "
        "[Ugh]\\\\n\\\", {\\\"b\\\":\\\"\\\\\\\"[Ugh]\\\"}], \\\"c\\\": 5}\"}},{\"index\":3,\"id\":"
        "\"u\",\"type\":\"custom\",\"custom\":{\"name\":\"g\",\"input\":\"a [Ugh] one\"}}]},"
        "\"logprobs\":null,\"finish_reason\":null}],\"detections\":{\"output\":["
        "{\"choice_index\":0,\"channel\":\"tool_calls\",\"tool_index\":0,\"member\":\"arguments\","
        "\"path\":\"/a/0\",\"results\":[" FOUND_AT(
            2, 7) "]},"
                  "{\"choice_index\":0,\"channel\":\"tool_calls\",\"tool_index\":0,\"member\":"
                  "\"arguments\","
                  "\"path\":\"/a/1/b\",\"results\":[" FOUND_AT(
                      1, 6) "]},"
                            "{\"choice_index\":0,\"channel\":\"tool_calls\",\"tool_index\":3,"
                            "\"member\":\"input\","
                            "\"results\":[" FOUND_AT(
                                2, 7) "]},"
                                      "{\"choice_index\":0,\"channel\":\"tool_calls\",\"member\":"
                                      "\"arguments\",\"results\":[" FOUND_AT(
                                          6, 11) "]}]}," UNSUITABLE "}\n"
                                                 "> 0 stop\n"
                                                 "> end\n");
}

/* ---- members nobody knows ---- */

#define STRANGE                                                                                    \
    "event {\"id\":\"1\",\"top\":1,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\","      \
    "\"mood\":\"bad\",\"audio\":{\"data\":\"AA\"},\"tool_calls\":[{\"index\":0,\"id\":\"t\","      \
    "\"sign\":\"s\",\"function\":{\"name\":\"f\",\"arguments\":\"\",\"more\":2}}]},\"hint\":3}]}"  \
    "\n"

static void test_unknown_dropped(void **state)
{
    (void)state;
    play(WEIR_POLICY_BLOCK, "now",
         STRANGE
         "> {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
         "\"content\":\"Hi.\"},\"logprobs\":null,\"finish_reason\":null}],\"detections\":{"
         "\"output\":[{"
         "\"choice_index\":0,\"results\":[]}]}}\n"
         "event {\"id\":\"1\",\"choices\":[],\"mood\":[\"bad\"],\"prompt_filter_results\":[{"
         "\"hate\":\"safe\",\"bad\":\"a bad text\"}]}\n"
         "finish 0\n"
         "done\n"
         "> {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"
         "\"id\":\"t\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
         "\"\"}}]},\"logprobs\":null,\"finish_reason\":null}],\"prompt_filter_results\":[{"
         "\"hate\":\"safe\",\"bad\":null}]}\n"
         "> 0 stop\n"
         "> end\n");
}

static void test_unknown_passed(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK)};
    policy_ask.policy.keeps_unknown = true;
    policy_play_with(
        &POLICY_STREAM, "", "now",
        STRANGE "> {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
                "\"audio\":{\"data\":\"AA\"},\"mood\":\"bad\"},\"logprobs\":null,"
                "\"finish_reason\":null,\"hint\":3}],\"top\":1}\n"
                "> {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\"},"
                "\"logprobs\":null,\"finish_reason\":null}],\"detections\":{\"output\":[{"
                "\"choice_index\":0,\"results\":[]}]}}\n"
                "event {\"id\":\"1\",\"choices\":[],\"prompt_filter_results\":[]}\n"
                "> {\"id\":\"1\",\"choices\":[],\"prompt_filter_results\":[]}\n"
                "finish 0\n"
                "done\n"
                "> 0 tool_calls:[{\"index\":0,\"id\":\"t\",\"type\":\"function\",\"function\":{"
                "\"name\":\"f\",\"arguments\":\"\",\"more\":2},\"sign\":\"s\"}]\n"
                "> 0 stop\n"
                "> end\n");
}

/* What is no string cannot be checked. */
static void test_unreadable(void **state)
{
    (void)state;
    static const char *const deltas[] = {
        "{\"content\":[{\"type\":\"text\",\"text\":\"bad\"}]}",
        "{\"reasoning\":{\"text\":\"bad\"}}",
        "{\"audio\":\"bad\"}",
        "{\"audio\":{\"transcript\":1}}",
        "{\"tool_calls\":{\"0\":\"bad\"}}",
        "{\"tool_calls\":[\"bad\"]}",
        "{\"tool_calls\":[{\"function\":\"bad\"}]}",
        "{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"x\":\"bad\"}}}]}",
        "{\"tool_calls\":[{\"custom\":{\"input\":[\"bad\"]}}]}",
        "{\"function_call\":\"bad\"}",
        "{\"function_call\":{\"name\":[\"bad\"]}}",
        "\"bad\"",
    };
    for (size_t i = 0; i < sizeof deltas / sizeof deltas[0]; i++) {
        char script[256];
        snprintf(script, sizeof script, "delta 0 %s\n> fail chat completion m EPEER\n", deltas[i]);
        play(WEIR_POLICY_REDACT, "now", script);
    }
}

/* ---- input ---- */

static void play_input(enum weir_policy_action action, const char *output, const char *script)
{
    policy_ask = (struct policy_ask){.policy = policy_of(action)};
    policy_play_with(&POLICY_STREAM, "a", output, script);
}

#define ASKED                                                                                      \
    "asked {\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a bad question.\"}]}\n"

/* On the first event, whatever it is; without output detectors the others pass as they are. */
static void test_input_annotate(void **state)
{
    (void)state;
    play_input(WEIR_POLICY_ANNOTATE, "now",
               "answer a\n" ASKED "delta 0 {\"role\":\"assistant\"}\n"
               "> 0 role [a@2] !UNSUITABLE_INPUT\n"
               "say 0 Oh, bad.\n"
               "> 0 \"Oh, bad.\" [now@4] !UNSUITABLE_OUTPUT\n"
               "finish 0\n"
               "done\n"
               "> 0 stop\n"
               "> end\n");
    play_input(WEIR_POLICY_ANNOTATE, "now",
               "answer a\n"
               "say 0 Oh, bad.\n"
               "> 0 role \"Oh, bad.\" [a@2] [now@4] !UNSUITABLE_OUTPUT !UNSUITABLE_INPUT\n"
               "finish 0\n"
               "done\n"
               "> 0 stop\n"
               "> end\n");
    play_input(
        WEIR_POLICY_ANNOTATE, "",
        "answer a\n"
        "event {\"id\":1,\"choices\":[]}\n"
        "> {\"id\":1,\"choices\":[],\"detections\":{\"input\":[{\"message_index\":0,"
        "\"path\":\"/messages/0/"
        "content\",\"results\":[{\"start\":2,\"end\":5,\"text\":\"bad\",\"detector_id\":\"a\","
        "\"detection_type\":\"word\",\"detection\":\"Ugh\",\"score\":0.5}]}]},\"warnings\":"
        "[{\"type\":\"UNSUITABLE_INPUT\",\"message\":\"Unsuitable input detected. Please "
        "check the detected entities on your input and try again with the unsuitable input "
        "removed.\"}]}\n"
        "event {\"id\": 2 }\n"
        "> raw {\"id\": 2 }\n"
        "done\n"
        "> end\n");
    play_input(WEIR_POLICY_ANNOTATE, "",
               "answer a\n"
               "done\n"
               "> - [a@2] !UNSUITABLE_INPUT\n"
               "> end\n");
    play_input(WEIR_POLICY_ANNOTATE, "",
               "answer a\n"
               "event [1]\n"
               "> fail chat completion m EPEER\n");
}

static void test_input_block(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK)};
    struct stage *st = policy_stage("a", "now");
    script_play(st, &POLICY_STREAM,
                "answer a\n"
                "stopped\n"
                "> 0 role \"No.\" [a@2] !UNSUITABLE_INPUT\n"
                "> 0 content_filter\n"
                "> end\n",
                SIZE_MAX);
    assert_null(strstr(weir_buf_cstr(&st->lines), "\"text\""));
    stage_free(st);
    policy_ask.policy.fallback = (struct weir_slice){0};
    policy_play_with(&POLICY_STREAM, "a", "now",
                     "answer a\n"
                     "> 0 role \"I can't help with that.\" [a@2] !UNSUITABLE_INPUT\n"
                     "> 0 content_filter\n"
                     "> end\n");
    policy_ask.is_text = true;
    policy_play_with(&POLICY_STREAM, "a", "now",
                     "answer a\n"
                     "> 0 \"I can't help with that.\" [a@2] !UNSUITABLE_INPUT\n"
                     "> 0 \"\" content_filter\n"
                     "> end\n");
}

static void test_input_redact(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){
        .policy = policy_of(WEIR_POLICY_REDACT),
        .body =
            "{\"model\" : \"m\",\"x\":[1.0],\"messages\":[{\"content\":\"\\u0062ad \\\"bad\\\"\","
            "\"role\":\"user\"}],\"_prompt_masks\":[[0,1]]}"};
    policy_play_with(
        &POLICY_STREAM, "a", "now",
        "answer a\n"
        "asked {\"model\" : \"m\",\"x\":[1.0],\"messages\":[{\"content\":\"[Ugh] \\\"[Ugh]\\\"\","
        "\"role\":\"user\"}],\"_prompt_masks\":[[0,1]]}\n"
        "say 0 Fine.\n"
        "> {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\","
        "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Fine.\"},"
        "\"logprobs\":null,\"finish_reason\":null}],"
        "\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[]}],"
        "\"input\":[{\"message_index\":0,\"path\":\"/messages/0/content\",\"results\":["
        "{\"start\":0,\"end\":3,\"detector_id\":\"a\",\"detection_type\":\"word\","
        "\"detection\":\"Ugh\",\"score\":0.5},{\"start\":5,\"end\":8,\"detector_id\":\"a\","
        "\"detection_type\":\"word\",\"detection\":\"Ugh\",\"score\":0.5}]}]"
        "}}\n"
        "finish 0\n"
        "done\n"
        "> 0 stop\n"
        "> end\n");
}

/* What a history check has to say rides on the first event, findings or not. */
static void test_route_warnings(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK),
                                     .warnings = "{\"type\":\"HISTORY\",\"message\":\"m\"}"};
    policy_play_with(&POLICY_STREAM, "", "now",
                     "say 0 Fine. So\n"
                     "> 0 role \"Fine.\" [] !HISTORY\n"
                     "finish 0\n"
                     "done\n"
                     "> 0 \" So\" []\n"
                     "> 0 stop\n"
                     "> end\n");
}

/* ---- what goes wrong ---- */

static void test_failures(void **state)
{
    (void)state;
    play(WEIR_POLICY_REDACT, "a",
         "say 0 One. Two. Three.\n"
         "refuse a  Two.\n"
         "-\n"
         "answer a One.\n"
         "> 0 role \"One.\" []\n"
         "> fail detector a EPEER\n");
    play(WEIR_POLICY_BLOCK, "a",
         "delta 0 {\"content\":\"Hm.\",\"function_call\":{\"name\":\"f\",\"arguments\":\"x\"}}\n"
         "finish 0\n"
         "done\n"
         "refuse a f|x\n"
         "-\n"
         "answer a Hm.\n"
         "> 0 role \"Hm.\" []\n"
         "> fail detector a EPEER\n");
    play(WEIR_POLICY_REDACT, "doc",
         "say 0 One.\n"
         "finish 0\n"
         "done\n"
         "refuse doc\n"
         "> fail detector doc EPEER\n");
    play(WEIR_POLICY_REDACT, "now",
         "say 0 One. bad\n"
         "> 0 role \"One.\" []\n"
         "broken\n"
         "> fail chat completion m ERESET\n");
}

static const char LONG[] = "delta 0 {\"role\":\"assistant\",\"content\":\"\"}\n"
                           "say 0 One. A ba\n"
                           "delta 0 {\"reasoning\":\"Hm.Ha\"}\n"
                           "say 1 bad. And more. \n"
                           "answer a One.\n"
                           "say 0 d. Three\n"
                           "answer a bad.\n"
                           "delta 0 {\"function_call\":{\"name\":\"f\",\"arguments\":\"x\"}}\n"
                           "delta 0 {\"audio\":{\"id\":\"1\",\"transcript\":\"T\"}}\n"
                           "finish 0\n"
                           "say 1 and so on.\n"
                           "done\n"
                           "answer a f|x\n"
                           "answer a Hm.\n"
                           "answer a  A bad.\n"
                           "answer a  Three\n"
                           "answer a T\n"
                           "answer a Ha\n";

static struct stage *new_redact(void)
{
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    return policy_stage("", "a");
}

static struct stage *new_block(void)
{
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK), .n_choices = 2};
    return policy_stage("", "a");
}

static struct stage *new_whole(void)
{
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    return policy_stage("", "now doc chat");
}

static struct stage *new_input(void)
{
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    return policy_stage("a", "now");
}

/* The caller goes at any moment: all that was opened is closed in that turn. */
static void test_dropped_anywhere(void **state)
{
    (void)state;
    script_drop_anywhere(&POLICY_STREAM, new_redact, LONG);
    script_drop_anywhere(&POLICY_STREAM, new_input, "answer a\nsay 0 So bad. A\nfinish 0\ndone\n");
    script_drop_anywhere(&POLICY_STREAM, new_block,
                         "say 0 One.bad.\nanswer a One.\nsay 1 Two.\nanswer a bad.\n"
                         "answer a Two.\nfinish 1\nfinish 0\ndone\n");
    script_drop_anywhere(&POLICY_STREAM, new_whole,
                         "say 0 One. bad.\ndelta 0 {\"function_call\":{\"name\":\"f\"}}\nfinish 0\n"
                         "done\nanswer doc\nanswer chat\n");
}

/* A blocked choice's chunker is closed: the others need not wait for it. */
static void test_blocked_with_full_chunker(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK), .n_choices = 2};
    policy_play_with(&POLICY_STREAM, "", "f",
                     "stuff far\n"
                     "say 0 A bad one.\n"
                     "paused\n"
                     "chunk far 0 10\n"
                     "answer f A bad one.\n"
                     "> 0 role \"A \" []\n"
                     "> 0 \"\\n\\nNo.\" [f@2] !UNSUITABLE_OUTPUT\n"
                     "> 0 content_filter\n"
                     "reading\n"
                     "done\n"
                     "> end\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_annotate),
        cmocka_unit_test(test_annotate_role),
        cmocka_unit_test(test_annotate_channels),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_block_shapes),
        cmocka_unit_test(test_block_without_fallback),
        cmocka_unit_test(test_block_choices),
        cmocka_unit_test(test_the_exchange_has_every_channel),
        cmocka_unit_test(test_block_all_choices),
        cmocka_unit_test(test_block_without_n),
        cmocka_unit_test(test_finish_cuts_nothing),
        cmocka_unit_test(test_finish_loses_nothing),
        cmocka_unit_test(test_tools_behind_a_finish),
        cmocka_unit_test(test_silence_ends),
        cmocka_unit_test(test_block_awaits_choices),
        cmocka_unit_test(test_block_more_choices),
        cmocka_unit_test(test_block_usage),
        cmocka_unit_test(test_block_late),
        cmocka_unit_test(test_redact),
        cmocka_unit_test(test_redact_without_span),
        cmocka_unit_test(test_whole_is_held),
        cmocka_unit_test(test_text_behind_the_whole),
        cmocka_unit_test(test_whole_ceiling),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_channel_blocks),
        cmocka_unit_test(test_split_surrogates),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_tools_are_held),
        cmocka_unit_test(test_tools_leave_whole),
        cmocka_unit_test(test_tools_block),
        cmocka_unit_test(test_tools_redact),
        cmocka_unit_test(test_unknown_dropped),
        cmocka_unit_test(test_unknown_passed),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_input_annotate),
        cmocka_unit_test(test_input_block),
        cmocka_unit_test(test_input_redact),
        cmocka_unit_test(test_route_warnings),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_dropped_anywhere),
        cmocka_unit_test(test_blocked_with_full_chunker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
