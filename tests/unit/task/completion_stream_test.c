/* Streamed completions as transcripts: what the model server says, when detectors answer, what
 * leaves. */
#include "task/completion_stream.h"

#include "unit/task/script.h"

static void start_with(struct stage *st, const char *body, bool is_chat)
{
    struct weir_json *json = weir_arena_alloc(&st->arena, sizeof *json);
    assert_int_equal(weir_json_parse(json, weir_slice_cstr(body), NULL, &st->arena, NULL), 0);
    struct weir_input_text *question = weir_arena_zalloc(&st->arena, sizeof *question);
    *question = (struct weir_input_text){.text = WEIR_SLICE("a bad question.")};
    struct weir_task_completion request = {.is_chat = is_chat,
                                           .json = json,
                                           .model_id = WEIR_SLICE("m"),
                                           .input = stage_plan(st, st->input),
                                           .output = stage_plan(st, st->output),
                                           .inputs = question,
                                           .n_inputs = 1,
                                           .prompt = question->text};
    weir_completion_stream_start(&st->task, &request, st->env.strategy, &st->out);
}

static void start_chat(struct stage *st)
{
    start_with(st,
               "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\","
               "\"content\":\"hi\"}]}",
               true);
}

static void start_text(struct stage *st)
{
    start_with(st, "{\"model\":\"m\",\"stream\":true,\"prompt\":\"hi\"}", false);
}

static const struct script_hooks CHAT = {.start = start_chat};
static const struct script_hooks TEXT = {.start = start_text};

static struct stage *stage_with(const char *output)
{
    struct stage *st = stage_new();
    st->output = output;
    return st;
}

static void play(const char *output, const char *script)
{
    struct stage *st = stage_with(output);
    script_run(st, &CHAT, script);
    stage_free(st);
}

#define ROLE                                                                                       \
    "event {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n"
#define USAGE "event {\"id\":\"c1\",\"choices\":[],\"usage\":{\"total_tokens\":3}}\n"
#define TOOLS                                                                                      \
    "event {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"      \
    "\"id\":\"t\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}"  \
    "\n"

static void test_sentences(void **state)
{
    (void)state;
    play("a", ROLE "> 0 []\n"
                   "say 0 Hel\n"
                   "say 0 lo. This is\n"
                   "-\n"
                   "answer a Hello.\n"
                   "> 0 \"Hello.\" []\n"
                   "say 0  bad.\n"
                   "answer a  This is bad.\n"
                   "> 0 \" This is bad.\" [a@15] !UNSUITABLE_OUTPUT\n"
                   "finish 0\n"
                   "> 0 stop []\n" USAGE "-\n"
                   "done\n"
                   "> - usage\n"
                   "> end\n");
}

static void test_slow_and_fast(void **state)
{
    (void)state;
    play("a b", "say 0 One. bad. Three\n"
                "answer a  bad.\n"
                "answer a One.\n"
                "-\n"
                "finish 0\n"
                "done\n"
                "answer b  bad.\n"
                "-\n"
                "answer b One.\n"
                "> 0 \"One.\" []\n"
                "> 0 \" bad.\" [a@5 b@5] !UNSUITABLE_OUTPUT\n"
                "answer b  Three\n"
                "answer a  Three\n"
                "> 0 \" Three\" []\n"
                "> 0 stop []\n"
                "> end\n");
}

/* The envelope is the last event that a batch touches; what ends an event waits for its end. */
static void test_envelopes(void **state)
{
    (void)state;
    play("a",
         "event {\"id\":\"1\",\"x\":1,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A\"},"
         "\"logprobs\":{\"content\":[1]},\"finish_reason\":null}]}\n"
         "event {\"id\":\"2\",\"x\":2,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b. C\"},"
         "\"logprobs\":{\"content\":[2,3]},\"finish_reason\":\"stop\",\"stop_reason\":\"s\","
         "\"extra\":5}],\"usage\":{\"n\":1}}\n"
         "answer a Ab.\n"
         "> {\"id\":\"2\",\"x\":2,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Ab.\","
         "\"role\":\"assistant\"},\"logprobs\":{\"content\":[1]},\"finish_reason\":null,"
         "\"stop_reason\":null}],\"detections\":{\"output\":[{\"choice_index\":0,"
         "\"results\":[]}]}}\n"
         "answer a  C\n"
         "> {\"id\":\"2\",\"x\":2,\"choices\":[{\"index\":0,\"delta\":{\"content\":\" C\","
         "\"role\":\"assistant\"},\"logprobs\":{\"content\":[2,3]},\"finish_reason\":\"stop\","
         "\"stop_reason\":\"s\",\"extra\":5}],\"usage\":{\"n\":1},\"detections\":{\"output\":["
         "{\"choice_index\":0,\"results\":[]}]}}\n"
         "done\n"
         "> end\n");
}

static void test_choices_do_not_wait(void **state)
{
    (void)state;
    play("a", "say 0 Zero.\n"
              "say 1 One.\n"
              "event {\"choices\":[{\"index\":2,\"delta\":{\"role\":\"assistant\"}}]}\n"
              "> 2 []\n"
              "answer a One.\n"
              "> 1 \"One.\" []\n"
              "finish 1\n"
              "> 1 stop []\n"
              "finish 2\n"
              "> 2 stop []\n"
              "finish 0\n"
              "-\n"
              "answer a Zero.\n"
              "> 0 \"Zero.\" []\n"
              "> 0 stop []\n"
              "done\n"
              "> - !EMPTY_OUTPUT\n"
              "> end\n");
}

/* One event with several choices is split; usage rides on the last. */
static void test_event_with_choices(void **state)
{
    (void)state;
    play("now",
         "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A.\"}},{\"index\":1,\"delta\":"
         "{\"content\":\"B.\"}}],\"usage\":{\"n\":1}}\n"
         "> 0 \"A.\" []\n"
         "> 1 \"B.\" [] usage\n"
         "done\n"
         "> end\n");
}

static void test_tool_calls_only(void **state)
{
    (void)state;
    play("a", ROLE TOOLS "> 0 []\n"
                         "> 0 tool_calls []\n"
                         "finish 0\n"
                         "> 0 stop []\n" USAGE "done\n"
                         "> - !EMPTY_OUTPUT usage\n"
                         "> end\n");
}

/* Without text in the order of their choice; reasoning before its text, the rest after it. */
static void test_other_payloads(void **state)
{
    (void)state;
    play("a", "say 0 Look\n" TOOLS "-\n"
              "answer a Look\n" /* a built-in chunker ends its chunk there */
              "> 0 \"Look\" []\n"
              "> 0 tool_calls []\n"
              "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hm.\","
              "\"reasoning_content\":\"why\",\"refusal\":\"no\"},\"logprobs\":{\"content\":[1]},"
              "\"finish_reason\":\"stop\"}],\"usage\":{\"n\":1}}\n"
              "> 0 reasoning_content []\n"
              "-\n"
              "answer a Hm.\n"
              "> 0 \"Hm.\" {\"content\":[1]} []\n"
              "> 0 refusal stop [] usage\n"
              "done\n"
              "> end\n");
}

static void test_events_without_choices(void **state)
{
    (void)state;
    play("a", "event {\"choices\":[],\"prompt_filter_results\":[]}\n"
              "> -\n"
              "say 0 One.\n"
              "event {\"choices\":[],\"content_filter_offsets\":{}}\n"
              "say 0 Two.\n"
              "answer a Two.\n"
              "-\n"
              "answer a One.\n"
              "> 0 \"One.\" []\n"
              "> -\n"
              "> 0 \"Two.\" []\n"
              "done\n"
              "> end\n");
}

static void test_finish_on_the_last_text(void **state)
{
    (void)state;
    play("a", "say 0 Hi\n"
              "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" you\"},\"finish_reason\":"
              "\"length\"}]}\n"
              "answer a Hi you\n"
              "> 0 \"Hi you\" length []\n"
              "done\n"
              "> end\n");
}

static void test_finish_on_every_event(void **state)
{
    (void)state;
    play("a", "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A\"},\"finish_reason\":"
              "\"stop\"}]}\n"
              "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"B\"},\"finish_reason\":"
              "\"stop\"}]}\n"
              "answer a B\n"
              "-\n"
              "answer a A\n"
              "> 0 \"A\" stop []\n"
              "> 0 \"B\" stop []\n"
              "done\n"
              "> end\n");
}

static void test_text_after_finish(void **state)
{
    (void)state;
    play("a", "say 0 A\n"
              "finish 0\n"
              "say 0 B\n"
              "answer a A\n"
              "> 0 \"A\" []\n"
              "> 0 stop []\n"
              "done\n"
              "answer a B\n"
              "> 0 \"B\" []\n"
              "> end\n");
}

static void test_split_surrogates(void **state)
{
    (void)state;
    play("a", "say 0 A\\ud83d\n"
              "say 0 \\ude00.\n"
              "answer a A😀.\n"
              "> 0 \"A😀.\" []\n"
              "say 0 \\ud83d\n" /* nothing but the half: no end of a sentence */
              "> 0 \"\" []\n"
              "say 0 \\ude00 b\n"
              "say 0 \\ud83d\n"
              "say 0 c.\n"
              "answer a 😀 b\xEF\xBF\xBD"
              "c.\n"
              "> 0 \"😀 b\xEF\xBF\xBD"
              "c.\" []\n"
              "say 0 \\ud83d\n"
              "> 0 \"\" []\n"
              "finish 0\n" /* no other half will come */
              "answer a \xEF\xBF\xBD\n"
              "> 0 \"\xEF\xBF\xBD\" []\n"
              "> 0 stop []\n"
              "done\n"
              "> end\n");
}

/* The second half alone in its event. */
static void test_second_half_alone(void **state)
{
    (void)state;
    play("a", "say 0 A\\ud83d\n"
              "say 0 \\ude00\n"
              "say 0 b.\n"
              "answer a A😀b.\n"
              "> 0 \"A😀b.\" []\n"
              "finish 0\n"
              "> 0 stop []\n"
              "done\n"
              "> end\n");
}

#define EMPTY "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"}}]}\n"

/* An event with nothing in it ends no sentence, parts no pair of halves and does not leave behind
 * the text it was in; where no text is held, it leaves as it came. */
static void test_hollow_events(void **state)
{
    (void)state;
    play("a", EMPTY "> 0 \"\" []\n"
                    "say 0 This is b\n" EMPTY
                    "event {\"choices\":[{\"index\":0,\"delta\":{}}],\"usage\":{\"n\":1}}\n"
                    "event {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
                    "\"tool_calls\":[],\"refusal\":null},\"logprobs\":null}]}\n"
                    "say 0 ad\\ud83d\n" EMPTY "say 0 \\ude00.\n" EMPTY "answer a This is bad😀.\n"
                    "> 0 \"This is bad😀.\" [a@8] !UNSUITABLE_OUTPUT\n"
                    "> 0 \"\" []\n"
                    "finish 0\n"
                    "> 0 stop []\n"
                    "done\n"
                    "> end\n");
}

/* A token that is half a character has no text of its own, but its logprobs. */
static void test_hollow_logprobs(void **state)
{
    (void)state;
    play("a", "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A\"},\"logprobs\":"
              "{\"content\":[1]}}]}\n"
              "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"logprobs\":"
              "{\"content\":[2]}}]}\n"
              "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ud83d\"},\"logprobs\":"
              "{\"content\":[3]}}]}\n"
              "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ude00.\"},\"logprobs\":"
              "{\"content\":[4]}}]}\n"
              "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"logprobs\":"
              "{\"content\":[5]}}]}\n"
              "answer a A😀.\n"
              "> 0 \"A😀.\" {\"content\":[1,2,3,4]} []\n"
              "> 0 \"\" {\"content\":[5]} []\n"
              "finish 0\n"
              "> 0 stop []\n"
              "done\n"
              "> end\n");
}

/* A chunker of somebody else's does not end a chunk at a tool call: the batch is cut there, and
 * findings go with the part in which they begin. */
static void test_text_does_not_overtake(void **state)
{
    (void)state;
    play("f", "say 0 One bad\n" TOOLS "say 0  two b\n"
              "delta 0 {\"reasoning_content\":\"hm\"}\n"
              "delta 0 {\"refusal\":\"no\"}\n"
              "say 0 ad\n"
              "say 0  bad.\n"
              "finish 0\n"
              "-\n"
              "chunk far 0 20\n"
              "answer f One bad two bad bad.\n"
              "> 0 \"One bad\" [f@4] !UNSUITABLE_OUTPUT\n"
              "> 0 tool_calls []\n"
              "> 0 \" two b\" [f@12] !UNSUITABLE_OUTPUT\n"
              "> 0 reasoning_content []\n"
              "> 0 refusal []\n"
              "> 0 \"ad bad.\" [f@16] !UNSUITABLE_OUTPUT\n"
              "> 0 stop []\n"
              "chunked far\n"
              "done\n"
              "> end\n");
    /* reasoning that shares its event with text stands before it, a tool call behind it */
    play("f", "say 0 One\n"
              "delta 0 {\"content\":\" two\",\"reasoning_content\":\"hm\",\"refusal\":\"no\"}\n"
              "say 0  end\n"
              "chunk far 0 11\n"
              "answer f One two end\n"
              "> 0 \"One\" []\n"
              "> 0 reasoning_content []\n"
              "> 0 \" two\" []\n"
              "> 0 refusal []\n"
              "> 0 \" end\" []\n"
              "done\n"
              "chunked far\n"
              "> end\n");
}

/* Nor does what ends the choice. */
static void test_finish_waits_for_what_is_no_text(void **state)
{
    (void)state;
    play("f", "say 0 One\n" TOOLS
              "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" two\"},\"logprobs\":"
              "{\"content\":[1]},\"finish_reason\":\"stop\",\"x\":1}],\"usage\":{\"n\":1}}\n"
              "chunk far 0 7\n"
              "answer f One two\n"
              "> 0 \"One\" []\n"
              "> 0 tool_calls []\n"
              "> 0 \" two\" {\"content\":[1]} stop [] usage\n"
              "chunked far\n"
              "done\n"
              "> end\n");
}

/* What else a choice has leaves once, with the last part of its event. */
static void test_extras_leave_once(void **state)
{
    (void)state;
    play("a",
         "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\",\"reasoning\":\"hm\","
         "\"refusal\":\"no\"},\"token_ids\":[1]}]}\n"
         "> {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"hm\",\"role\":\"assistant\"}"
         "}]"
         ",\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[]}]}}\n"
         "answer a Hi.\n"
         "> {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\",\"role\":\"assistant\"}"
         "}],\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[]}]}}\n"
         "> {\"choices\":[{\"index\":0,\"delta\":{\"refusal\":\"no\",\"role\":\"assistant\"},"
         "\"token_ids\":[1]}]"
         ",\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[]}]}}\n"
         "finish 0\n"
         "> 0 stop []\n"
         "done\n"
         "> end\n");
}

/* Text that nothing holds back leaves as it came, but for halves of characters. */
static void test_halves_pass(void **state)
{
    (void)state;
    play("doc", "say 0 A\\u00e9\n"
                "> {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":"
                "\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A\\u00e9\","
                "\"role\":\"assistant\"},\"finish_reason\":null}]}\n"
                "say 0 B\\ud83d\n"
                "> 0 \"B\"\n"
                "say 0 \\ude00 \\udead\n"
                "> 0 \"😀 \xEF\xBF\xBD\"\n"
                "say 0 \\ud83d\n"
                "> 0 \"\"\n"
                "finish 0\n"
                "> 0 \"\xEF\xBF\xBD\"\n"
                "> 0 stop\n"
                "done\n"
                "answer doc\n"
                "> - []\n"
                "> end\n");
}

/* What stands once in an event leaves once, also when its text ends in half a character. */
static void test_half_with_an_ending(void **state)
{
    (void)state;
    play("a", "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A\\ud83d\"},\"logprobs\":"
              "{\"content\":[1]},\"finish_reason\":\"stop\"}],\"usage\":{\"n\":1}}\n"
              "answer a A\xEF\xBF\xBD\n"
              "> 0 \"A\xEF\xBF\xBD\" {\"content\":[1]} stop [] usage\n"
              "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"B.\\ud83d\"},\"logprobs\":"
              "{\"content\":[2]}}],\"usage\":{\"n\":2}}\n"
              "answer a B.\n"
              "> 0 \"B.\" {\"content\":[2]} [] usage\n"
              "finish 0\n"
              "answer a \xEF\xBF\xBD\n"
              "> 0 \"\xEF\xBF\xBD\" []\n"
              "> 0 stop []\n"
              "done\n"
              "> end\n");
}

static void test_whole_documents(void **state)
{
    (void)state;
    play("a doc chat", "say 0 Hi. bad\n"
                       "answer a Hi.\n"
                       "> 0 \"Hi.\" []\n" USAGE "finish 0\n"
                       "answer a  bad\n"
                       "> 0 \" bad\" [a@4] !UNSUITABLE_OUTPUT\n"
                       "> 0 stop []\n"
                       "-\n"
                       "done\n"
                       "calls 2\n"
                       "answer doc Hi. bad\n"
                       "-\n"
                       "answer chat\n"
                       "> - [doc@4 chat] !UNSUITABLE_OUTPUT usage\n"
                       "> end\n");
}

/* With only such detectors events pass as they come; the usage event is held. */
static void test_whole_documents_only(void **state)
{
    (void)state;
    play("chat", "say 0 Hi\n"
                 "> 0 \"Hi\"\n" TOOLS "> 0 tool_calls\n" USAGE "say 1 bad\n"
                 "> 1 \"bad\"\n"
                 "done\n"
                 "calls 2\n"
                 "answer chat [{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\","
                 "\"content\":\"bad\"}]\n"
                 "answer chat [{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\","
                 "\"content\":\"Hi\",\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"type\":"
                 "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}]\n"
                 "> - [] [chat] usage\n"
                 "> end\n");
}

static void test_final_event_of_ours(void **state)
{
    (void)state;
    play("doc", "say 0 Fine\n"
                "> 0 \"Fine\"\n"
                "done\n"
                "answer doc Fine\n"
                "> {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":"
                "\"m\",\"choices\":[],\"detections\":{\"output\":[{\"choice_index\":0,"
                "\"results\":[]}]}}\n"
                "> end\n");
}

static void test_nothing_guarded(void **state)
{
    (void)state;
    play("", "event {\"any\":1}\n"
             "> raw {\"any\":1}\n"
             "done\n"
             "> end\n");
}

static void test_completions(void **state)
{
    (void)state;
    struct stage *st = stage_with("a gen");
    script_run(st, &TEXT,
               "event {\"id\":\"1\",\"choices\":[{\"index\":0,\"text\":\"Hi \",\"logprobs\":"
               "{\"tokens\":[\"Hi\"],\"token_logprobs\":[-1],\"top_logprobs\":null,"
               "\"text_offset\":[0]}}]}\n"
               "event {\"id\":\"2\",\"choices\":[{\"index\":0,\"text\":\"bad.\",\"logprobs\":"
               "{\"tokens\":[\"bad\",\".\"],\"token_logprobs\":[-2,-3],\"top_logprobs\":null,"
               "\"text_offset\":[3,6]},\"finish_reason\":\"stop\"}]}\n"
               "answer a Hi bad.\n"
               "> 0 \"Hi bad.\" {\"tokens\":[\"Hi\",\"bad\",\".\"],\"token_logprobs\":[-1,-2,-3],"
               "\"top_logprobs\":[],\"text_offset\":[0,3,6]} stop [a@3] !UNSUITABLE_OUTPUT\n"
               "done\n"
               "answer gen Hi bad.\n"
               "> - [gen]\n"
               "> end\n");
    stage_free(st);
}

static void test_input_findings(void **state)
{
    (void)state;
    struct stage *st = stage_with("a");
    st->input = "a";
    script_play(st, &CHAT, "-\nanswer a a bad question.\ntokens 4\n", 3);
    struct weir_slice line = weir_buf_slice(&st->lines);
    assert_non_null(memmem(line.p, line.n, "\"prompt_tokens\":4", 17));
    assert_non_null(memmem(line.p, line.n, "UNSUITABLE_INPUT", 16));
    assert_non_null(memmem(line.p, line.n, "\nend\n", 5));
    stage_free(st);
}

static void test_input_is_fine(void **state)
{
    (void)state;
    struct stage *st = stage_with("now");
    st->input = "b";
    script_play(st, &CHAT, "calls 1\n", 1);
    struct stage_call *call = st->calls;
    weir_buf_clear(&call->content);
    weir_buf_append(&call->content, WEIR_SLICE("fine"));
    script_run(st, &(struct script_hooks){0},
               "answer b fine\nsay 0 Hi.\n> 0 \"Hi.\" []\ndone\n> end\n");
    stage_free(st);
}

static void test_failures(void **state)
{
    (void)state;
    play("a", "say 0 One.\n"
              "say 0 Two.\n"
              "refuse a Two.\n"
              "-\n"
              "answer a One.\n"
              "> 0 \"One.\" []\n"
              "> fail detector a EPEER\n"
              "calls 0\n");
    play("a", "event {\"no\":\"choices\"}\n> fail chat completion m EPEER\n");
    play("a", "event not json\n> fail chat completion m EPEER\n");
    play("a", "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":[]}}]}\n"
              "> fail chat completion m EPEER\n");
    play("chat", "say 0 Hi\n> 0 \"Hi\"\ndone\nrefuse chat\n> fail detector chat EPEER\n");
    play("a", "say 0 x\nsay 1 x\nsay 2 x\nsay 3 x\nsay 4 x\n> fail limit  ELIMIT\n");
    play("f", "say 0 One two\nchunk far 0 3\nunchunked far\n-\nanswer f One\n"
              "> 0 \"One\" []\n> fail chunker far ERESET\n");
}

/* At the ceiling the source waits for calls that can release something; without any the request
 * fails, and a chunker that says nothing for long counts as none. */
static void test_held_ceiling(void **state)
{
    (void)state;
    struct stage *st = stage_with("a");
    st->env.max_held_bytes = 160;
    script_run(st, &CHAT,
               "say 0 One.\n"
               "reading\n"
               "say 0 Two.\n"
               "paused\n"
               "clock 60000\n" /* a detector may take its time */
               "-\n"
               "answer a One.\n"
               "> 0 \"One.\" []\n"
               "reading\n"
               "say 0 Three\n"
               "paused\n"
               "answer a Two.\n"
               "> 0 \"Two.\" []\n"
               "reading\n"
               "say 0  and four\n"
               "> fail limit  ELIMIT\n");
    stage_free(st);

    st = stage_with("f");
    st->env.max_held_bytes = 100;
    script_run(st, &CHAT,
               "say 0 One.\n"
               "paused\n"
               "clock 4000\n"
               "-\n"
               "clock 6000\n"
               "> fail limit  ELIMIT\n");
    stage_free(st);

    st = stage_with("f"); /* after the end of the source nobody waits for more text */
    st->env.max_held_bytes = 400;
    script_run(st, &CHAT,
               "say 0 One.\n"
               "finish 0\n"
               "done\n"
               "clock 60000\n"
               "-\n"
               "chunk far 0 4\n"
               "chunked far\n"
               "answer f One.\n"
               "> 0 \"One.\" []\n"
               "> 0 stop []\n"
               "> end\n");
    stage_free(st);
}

/* One event may take the held bytes over the ceiling: it is not refused, the next ones wait. */
static void test_large_event(void **state)
{
    (void)state;
    struct stage *st = stage_with("a");
    struct weir_buf script = {0};
    st->env.max_held_bytes = 1000;
    weir_buf_printf(&script, "say 0 A.\nsay 0 %02000d.\npaused\nanswer a A.\n> 0 \"A.\" []\n", 7);
    weir_buf_printf(&script, "answer a %02000d.\n> 0 \"%02000d.\" []\nreading\ndone\n> end\n", 7,
                    7);
    script_run(st, &CHAT, weir_buf_cstr(&script));
    weir_buf_dispose(&script);
    stage_free(st);
}

static void test_full_and_resume(void **state)
{
    (void)state;
    play("now", "full\n"
                "say 0 One.\n"
                "> 0 \"One.\" []\n"
                "paused\n"
                "room\n"
                "reading\n"
                "say 0 Two.\n"
                "> 0 \"Two.\" []\n"
                "reading\n"
                "done\n"
                "> end\n");
    play("", "full\n"
             "event {}\n"
             "> raw {}\n"
             "paused\n"
             "room\n"
             "reading\n"
             "done\n"
             "> end\n");
}

/* A chunker that is behind pulls the same wire as the caller. A chunk of it is no room yet. */
static void test_full_chunker_holds_the_model(void **state)
{
    (void)state;
    play("f", "stuff far\n"
              "say 0 One.\n"
              "paused\n"
              "chunk far 0 4\n"
              "answer f One.\n"
              "> 0 \"One.\" []\n"
              "paused\n"
              "unstuff far\n"
              "reading\n"
              "say 0 Two.\n"
              "reading\n"
              "chunk far 4 8\n"
              "answer f Two.\n"
              "> 0 \"Two.\" []\n"
              "done\n"
              "chunked far\n"
              "> end\n");
    /* both the chunker and the caller must have room */
    play("f", "stuff far\n"
              "say 0 One.\n"
              "paused\n"
              "full\n"
              "chunk far 0 4\n"
              "answer f One.\n"
              "> 0 \"One.\" []\n"
              "unstuff far\n"
              "paused\n" /* the caller is */
              "room\n"
              "reading\n"
              "done\n"
              "chunked far\n"
              "> end\n");
}

/* It has text to work on, so the stream is not stuck, however much is held back. */
static void test_full_chunker_is_not_stuck(void **state)
{
    (void)state;
    struct stage *st = stage_with("f");
    st->env.max_held_bytes = 100;
    script_run(st, &CHAT,
               "stuff far\n"
               "say 0 One.\n"
               "paused\n"
               "clock 60000\n"
               "-\n"
               "unstuff far\n" /* from here on its silence counts */
               "paused\n"
               "clock 4000\n"
               "-\n"
               "clock 6000\n"
               "> fail limit  ELIMIT\n");
    stage_free(st);
}

static const char LONG[] = ROLE TOOLS "say 0 One. Two\n"
                                      "say 1 Other\\ud83d\n"
                                      "event {\"choices\":[],\"other\":1}\n"
                                      "answer a One.\n"
                                      "full\n"
                                      "chunk far 0 4\n"
                                      "answer f One.\n"
                                      "room\n"
                                      "say 1 . Text\n"
                                      "finish 0\n"
                                      "answer a  Two\n"
                                      "chunk far 4 8\n" USAGE "finish 1\n"
                                      "done\n"
                                      "answer f  Two\n"
                                      "chunked far\n"
                                      "answer doc\n"
                                      "chunk far 0 12\n"
                                      "answer a\n"
                                      "answer chat\n"
                                      "chunked far\n"
                                      "answer f\n"
                                      "answer a\n"
                                      "answer doc\n"
                                      "answer chat\n"
                                      "> 0 []\n";

static struct stage *new_long(void)
{
    return stage_with("a f doc chat");
}

static struct stage *new_with_input(void)
{
    struct stage *st = stage_with("a");
    st->input = "a";
    return st;
}

static void test_dropped_anywhere(void **state)
{
    (void)state;
    struct stage *st = new_long();
    script_play(st, &CHAT, LONG, SIZE_MAX);
    assert_true(st->is_over);
    stage_free(st);
    script_drop_anywhere(&CHAT, new_long, LONG);
    script_drop_anywhere(&CHAT, new_with_input, "answer a\ntokens 5\n");
}

static size_t line_of(const char *script, const char *line)
{
    size_t n = 0;
    const char *end = strstr(script, line);
    for (const char *at = script; at < end; at++) {
        n += *at == '\n';
    }
    return n;
}

/* One failure, nothing behind it; what was under way is stopped though the caller is still there.
 */
static void check_failed(struct stage *st, const char *line)
{
    size_t n = strlen(line);
    stage_turn(st);
    assert_true(st->is_over);
    assert_null(st->run);
    assert_null(st->calls);
    assert_null(st->chunks);
    assert_true(st->lines.n >= n);
    assert_memory_equal(st->lines.p + st->lines.n - n, line, n);
}

static void test_broken_anywhere(void **state)
{
    (void)state;
    size_t n = line_of(LONG, "\ndone\n");
    assert_in_range(n, 10, 30);
    for (size_t at = 0; at <= n + 1; at++) {
        struct stage *st = new_long();
        script_play(st, &CHAT, LONG, at);
        if (!st->run->is_paused) {
            script_done(st, WEIR_ERESET);
            check_failed(st, "fail chat completion m ERESET\n");
        }
        stage_free(st);
    }
}

/* Every call that is under way after each line fails. */
static void test_refused_anywhere(void **state)
{
    (void)state;
    size_t n_failed = 0;
    size_t n = line_of(LONG, "> 0 []\n");
    for (size_t at = 0; at <= n; at++) {
        struct stage *st = new_long();
        script_play(st, &CHAT, LONG, at);
        bool has_calls = script_n_calls(st) != 0;
        while (!st->is_over && script_n_calls(st) != 0) {
            struct stage_call *call = st->calls;
            while (call->base.is_done) {
                call = call->next;
            }
            script_answer(st, call->base.detector->id, true);
        }
        if (has_calls) {
            check_failed(st, " EPEER\n");
            n_failed++;
        }
        stage_free(st);
    }
    assert_true(n_failed > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_slow_and_fast),
        cmocka_unit_test(test_envelopes),
        cmocka_unit_test(test_choices_do_not_wait),
        cmocka_unit_test(test_event_with_choices),
        cmocka_unit_test(test_tool_calls_only),
        cmocka_unit_test(test_other_payloads),
        cmocka_unit_test(test_events_without_choices),
        cmocka_unit_test(test_finish_on_the_last_text),
        cmocka_unit_test(test_finish_on_every_event),
        cmocka_unit_test(test_text_after_finish),
        cmocka_unit_test(test_split_surrogates),
        cmocka_unit_test(test_second_half_alone),
        cmocka_unit_test(test_half_with_an_ending),
        cmocka_unit_test(test_hollow_events),
        cmocka_unit_test(test_hollow_logprobs),
        cmocka_unit_test(test_text_does_not_overtake),
        cmocka_unit_test(test_finish_waits_for_what_is_no_text),
        cmocka_unit_test(test_extras_leave_once),
        cmocka_unit_test(test_halves_pass),
        cmocka_unit_test(test_whole_documents),
        cmocka_unit_test(test_whole_documents_only),
        cmocka_unit_test(test_final_event_of_ours),
        cmocka_unit_test(test_nothing_guarded),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_input_findings),
        cmocka_unit_test(test_input_is_fine),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_held_ceiling),
        cmocka_unit_test(test_large_event),
        cmocka_unit_test(test_full_and_resume),
        cmocka_unit_test(test_full_chunker_holds_the_model),
        cmocka_unit_test(test_full_chunker_is_not_stuck),
        cmocka_unit_test(test_dropped_anywhere),
        cmocka_unit_test(test_broken_anywhere),
        cmocka_unit_test(test_refused_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
