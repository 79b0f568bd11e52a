/* Who watches a stream is told where and when, in the order in which it happened. A note is a line
 * of the transcript: kind choice[/channel] start-end, and for verdicts detector and time; an event,
 * whatever it says, is "said". The clock goes one millisecond further each time somebody looks at
 * it. */
#include "task/completion_stream.h"
#include "task/policy.h"

#include "unit/task/script.h"

struct watcher {
    struct weir_task_trace base;
    struct stage *stage;
};

static uint64_t clock_us;

static uint64_t now_us(void)
{
    return clock_us += 1000;
}

static void note(const struct weir_task_trace *trace, const struct weir_task_step *step)
{
    static const char *const kinds[] = {"raw", "chunk", "verdict", "batch"};
    struct weir_buf *lines = &((const struct watcher *)trace)->stage->lines;
    weir_buf_printf(lines, "%s %d", kinds[step->kind], (int)step->choice);
    if (step->channel != WEIR_CHANNEL_CONTENT) {
        weir_buf_printf(lines, "/%s", weir_channel_name(step->channel));
    }
    weir_buf_printf(lines, " %zu-%zu", step->start_cp, step->end_cp);
    if (step->kind == WEIR_TASK_STEP_VERDICT) {
        weir_buf_printf(lines, " %.*s %dms", (int)step->detector.n, step->detector.p,
                        (int)(step->took_us / 1000));
    }
    weir_buf_append_byte(lines, '\n');
}

static enum weir_flow on_event(struct weir_out *o, struct weir_slice json)
{
    (void)json;
    return stage_line(WEIR_LIST_ENTRY(o, struct stage, out), WEIR_SLICE("said"));
}

static const struct weir_out_ops OUT_OPS = {
    .event = on_event, .raw = stage_out_raw, .end = stage_out_end, .fail = stage_out_fail};

static const struct weir_policy *policy;

static void start(struct stage *st)
{
    static const char body[] = "{\"model\":\"m\",\"stream\":true,\"messages\":[]}";
    struct weir_json *json = weir_arena_alloc(&st->arena, sizeof *json);
    assert_int_equal(weir_json_parse(json, weir_slice_cstr(body), NULL, &st->arena, NULL), 0);
    struct watcher *watcher = weir_arena_zalloc(&st->arena, sizeof *watcher);
    *watcher = (struct watcher){.base = {.now_us = now_us, .note = note}, .stage = st};
    st->task.trace = &watcher->base;
    struct weir_task_completion request = {.is_chat = true,
                                           .json = json,
                                           .model_id = WEIR_SLICE("m"),
                                           .output = stage_plan(st, st->output),
                                           .policy = policy};
    weir_completion_stream_start(&st->task, &request, st->env.strategy, &st->out);
}

static void play(const char *output, const struct weir_policy *on_route, const char *script)
{
    static const struct script_hooks hooks = {.start = start};
    struct stage *st = stage_new();
    st->output = output;
    st->out.ops = &OUT_OPS;
    policy = on_route;
    clock_us = 0;
    script_run(st, &hooks, script);
    stage_free(st);
}

static void test_a_chunk_on_its_way(void **state)
{
    (void)state;
    play("a b", NULL,
         "say 0 Gr\\u00fc\\u00df\n"
         "> raw 0 0-4\n"
         "say 0  Gott. Und\n"
         "> raw 0 4-14\n"
         "> chunk 0 0-10\n"
         "-\n"
         "answer b Grüß Gott.\n"
         "> verdict 0 0-10 b 1ms\n"
         "-\n"
         "answer a Grüß Gott.\n"
         "> verdict 0 0-10 a 3ms\n"
         "> said\n"
         "> batch 0 0-10\n"
         "say 1 x\n"
         "> raw 1 0-1\n"
         "finish 0\n"
         "> chunk 0 10-14\n"
         "refuse a  Und\n"
         "> fail detector a EPEER\n");
}

static void test_at_once(void **state)
{
    (void)state;
    play("now", NULL,
         "say 0 bad. So\n"
         "> raw 0 0-7\n"
         "> chunk 0 0-4\n"
         "> verdict 0 0-4 now 1ms\n"
         "> said\n"
         "> batch 0 0-4\n"
         "-\n");
}

/* Nothing is held, and the one that looks at the whole answers at the end. */
static void test_whole(void **state)
{
    (void)state;
    play("doc", NULL,
         "say 0 Hello\n"
         "> raw 0 0-5\n"
         "> batch 0 0-5\n"
         "> said\n"
         "finish 0\n"
         "> said\n"
         "done\n"
         "answer doc Hello\n"
         "> verdict 0 0-5 doc 1ms\n"
         "> said\n"
         "> end\n");
}

/* Channels are told apart; what is blocked never leaves. */
static void test_enforced(void **state)
{
    static const struct weir_policy block = {.action = WEIR_POLICY_BLOCK};
    (void)state;
    play("now", &block,
         "event {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
         "\"reasoning\":\"Hm.\"}}]}\n"
         "> raw 0/reasoning 0-3\n"
         "> chunk 0/reasoning 0-3\n"
         "> verdict 0/reasoning 0-3 now 1ms\n"
         "> said\n"
         "> batch 0/reasoning 0-3\n"
         "say 0 A bad one. More.\n"
         "> raw 0 0-16\n"
         "> chunk 0 0-10\n"
         "> verdict 0 0-10 now 1ms\n"
         "> chunk 0 10-16\n"
         "> verdict 0 10-16 now 1ms\n"
         "> batch 0 0-2\n"
         "> said\n"
         "> said\n"
         "> said\n"
         "> end\n");
}

static void test_enforced_whole(void **state)
{
    static const struct weir_policy redact = {.action = WEIR_POLICY_REDACT,
                                              .redact_with = {"[x]", 3}};
    (void)state;
    play("doc", &redact,
         "say 0 A bad\n"
         "> raw 0 0-5\n"
         "say 0  one\n"
         "> raw 0 5-9\n"
         "finish 0\n"
         "done\n"
         "answer doc A bad one\n"
         "> verdict 0 0-9 doc 1ms\n"
         "> batch 0 0-9\n"
         "> said\n"
         "> said\n"
         "> end\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chunk_on_its_way),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_enforced),
        cmocka_unit_test(test_enforced_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
