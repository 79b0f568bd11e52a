/* Detectors that only watch: what they are given, when they look, and that they go. */
#include "task/shadow.h"

#include "unit/task/policy_stage.h"

static struct weir_shadows shadows;
static unsigned n_let_go;
static unsigned n_ended;
static char found[256];

static void let_go(void *held)
{
    assert_ptr_equal(held, &n_let_go);
    n_let_go++;
}

static void on_found(void *ctx, const struct weir_seen_where *where, const struct weir_detection *d,
                     struct weir_slice detection)
{
    (void)ctx;
    (void)detection;
    assert_int_equal(where->action, WEIR_POLICY_SHADOWED);
    size_t n = strlen(found);
    snprintf(found + n, sizeof found - n, "%s %s %.*s@%zu;",
             where->side == WEIR_POLICY_INPUT ? "in" : "out", where->channel, (int)d->detector_id.n,
             d->detector_id.p, d->start_cp);
}

static void on_end(void *ctx)
{
    (void)ctx;
    n_ended++;
}

static struct stage *begin(void)
{
    struct stage *st = stage_new();
    weir_shadows_init(&shadows, &st->loop);
    n_let_go = n_ended = 0;
    found[0] = 0;
    return st;
}

static struct weir_shadow *watch(struct stage *st, const char *input, const char *output)
{
    struct weir_plan *plans = weir_arena_array(&st->arena, 2, sizeof *plans);
    plans[0] = stage_plan(st, input);
    plans[1] = stage_plan(st, output);
    struct weir_shadow *s = weir_shadow_new(&(struct weir_shadow_options){.all = &shadows,
                                                                          .task = &st->task,
                                                                          .input = &plans[0],
                                                                          .output = &plans[1],
                                                                          .route = WEIR_SLICE("r"),
                                                                          .held = &n_let_go,
                                                                          .let_go = let_go});
    if (s != NULL) {
        weir_shadow_seen(s)->watch = on_found;
        weir_shadow_on_end(s, on_end, NULL);
    }
    return s;
}

static void finish(struct stage *st, unsigned n_shadows)
{
    assert_int_equal(n_ended, n_shadows);
    assert_int_equal(n_let_go, n_shadows);
    assert_int_equal(shadows.account.bytes, 0);
    assert_true(weir_list_is_empty(&shadows.all));
    weir_shadows_dispose(&shadows);
    stage_free(st);
}

static void say(struct weir_shadow *s, const char *event)
{
    char *copy = strdup(event); /* so that whoever keeps a slice of it is caught */
    weir_shadow_add_answer(s, &weir_openai_chat, WEIR_TALK_EVENT, weir_slice_cstr(copy));
    free(copy);
}

#define SAID(choice, text)                                                                         \
    "{\"choices\":[{\"index\":" #choice ",\"delta\":{\"content\":\"" text "\"}}]}"

/* Nobody is asked before the request is over; then text in pieces is one text again. */
static void test_it_looks_afterwards(void **state)
{
    (void)state;
    struct stage *st = begin();
    struct weir_shadow *s = watch(st, "", "a now");
    say(s, SAID(0, "It is b"));
    say(s, SAID(1, "Well."));
    say(s, SAID(0, "ad."));
    say(s, "nonsense");
    say(s, "[1]");
    say(s, "{\"choices\":[1,{\"index\":-1,\"delta\":3}]}");
    stage_turn(st);
    assert_null(st->calls);
    weir_shadow_end(s);
    assert_null(st->calls); /* not from inside */
    stage_settle(st);
    stage_turn(st);
    stage_turn(st);
    assert_string_equal(found, "out content now@6;");
    script_run(st, &(struct script_hooks){0}, "calls 1\nanswer a Well.|It is bad.\n");
    stage_turn(st);
    stage_turn(st);
    assert_string_equal(found, "out content now@6;out content a@6;");
    finish(st, 1);
}

/* One that hangs is given up in the end, and one that fails stops nobody. */
static void test_late_and_failed(void **state)
{
    (void)state;
    struct stage *st = begin();
    struct weir_shadow *s = watch(st, "", "a b now");
    say(s, SAID(0, "So bad."));
    weir_shadow_end(s);
    stage_turn(st);
    stage_turn(st);
    script_run(st, &(struct script_hooks){0}, "calls 2\nrefuse b So bad.\n");
    stage_turn(st);
    assert_string_equal(found, "out content now@3;");
    st->loop.held_ms += WEIR_SHADOW_LATE_MS - 1;
    weir_timers_run(&st->loop.timers, st->loop.held_ms);
    assert_non_null(st->calls);
    st->loop.held_ms += 1;
    weir_timers_run(&st->loop.timers, st->loop.held_ms);
    assert_null(st->calls); /* broken off */
    finish(st, 1);
}

static void test_no_more_than_so_much(void **state)
{
    (void)state;
    struct stage *st = begin();
    struct weir_shadow *s = watch(st, "", "now");
    struct weir_buf event = {0};
    weir_buf_printf(&event, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%01000d\"}}]}", 0);
    say(s, SAID(0, "bad."));
    for (int i = 0; i < 200; i++) {
        say(s, weir_buf_cstr(&event));
        assert_true(shadows.account.bytes < 3 * (size_t)WEIR_SHADOW_MAX_BYTES);
    }
    weir_shadow_end(s);
    for (int i = 0; i < 20; i++) {
        stage_turn(st);
    }
    assert_string_equal(found, "out content now@0;"); /* what it has of it is looked at */
    weir_buf_dispose(&event);
    finish(st, 1);
}

/* However many hang: all of them together keep so much, and who comes then has none. */
static void test_many(void **state)
{
    (void)state;
    struct stage *st = begin();
    struct weir_buf event = {0};
    unsigned n = 0;
    unsigned n_refused = 0;
    weir_buf_printf(&event, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%060000d.\"}}]}",
                    0);
    for (; n < 1000; n++) {
        struct weir_shadow *s = watch(st, "", "a");
        n_refused += s == NULL;
        if (s != NULL) {
            say(s, weir_buf_cstr(&event));
            weir_shadow_end(s);
            stage_turn(st);
        }
    }
    assert_true(shadows.n_looking <= WEIR_SHADOWS_AT_ONCE);
    assert_true(n_let_go >= n_refused); /* whose environment was given back at once */
    assert_true(n_let_go > 500);
    assert_true(shadows.account.bytes < 2 * (size_t)WEIR_SHADOWS_MAX_BYTES);
    st->loop.held_ms += WEIR_SHADOW_LATE_MS;
    weir_timers_run(&st->loop.timers, st->loop.held_ms);
    assert_int_equal(shadows.account.bytes, 0);
    assert_int_equal(n_let_go, 1000);
    struct weir_shadow *s = watch(st, "", "a"); /* there is room again */
    assert_non_null(s);
    weir_shadow_end(s);
    weir_buf_dispose(&event);
    weir_shadows_dispose(&shadows); /* the worker goes: before it has begun to look */
    n_ended = n_let_go = 0;
    finish(st, 0);
}

/* Nothing to look at, or nobody who looks. */
static void test_nothing(void **state)
{
    (void)state;
    struct stage *st = begin();
    struct weir_shadow *s = watch(st, "", "");
    say(s, SAID(0, "bad"));
    weir_shadow_end(s);
    stage_turn(st);
    stage_turn(st);
    weir_shadow_end(watch(st, "", "now"));
    stage_turn(st);
    stage_turn(st);
    stage_turn(st);
    weir_shadow_add_answer(NULL, &weir_openai_chat, WEIR_TALK_EVENT, WEIR_SLICE("{}"));
    finish(st, 2);
}

static void look(struct weir_shadow *s, struct stage *st, const char *expected)
{
    weir_shadow_end(s);
    for (int i = 0; i < 5; i++) {
        stage_turn(st);
    }
    assert_string_equal(found, expected);
    finish(st, 1);
}

/* Messages: blocks, thinking and a tool's input. */
static void test_blocks(void **state)
{
    (void)state;
    struct stage *st = begin();
    struct weir_shadow *s = watch(st, "", "now");
    static const char *const events[] = {
        "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","
        "\"text\":\"\"}}",
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
        "\"text\":\"a b\"}}",
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
        "\"text\":\"ad\"}}",
        "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"thinking_delta\","
        "\"thinking\":\"bad\"}}",
        "{\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\","
        "\"partial_json\":\"{\\\"a\\\":\\\"bad\\\"}\"}}",
    };
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        weir_shadow_add_row(s, WEIR_MODEL_MESSAGES, WEIR_TALK_EVENT, weir_slice_cstr(events[i]));
    }
    look(s, st, "out tool_calls now@6;out reasoning now@0;out content now@2;");
}

/* Responses: what is said bit by bit, and nothing of what repeats it. */
static void test_items(void **state)
{
    (void)state;
    struct stage *st = begin();
    struct weir_shadow *s = watch(st, "", "now");
    static const char *const events[] = {
        "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,"
        "\"item_id\":\"m\",\"delta\":\"a b\"}",
        "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,"
        "\"item_id\":\"m\",\"delta\":\"ad\"}",
        "{\"type\":\"response.output_text.done\",\"output_index\":0,\"content_index\":0,"
        "\"item_id\":\"m\",\"text\":\"a bad\"}",
        "{\"type\":\"response.function_call_arguments.delta\",\"output_index\":1,"
        "\"item_id\":\"f\",\"delta\":\"{\\\"a\\\":\\\"bad\\\"}\"}",
    };
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        weir_shadow_add_row(s, WEIR_MODEL_RESPONSES, WEIR_TALK_EVENT, weir_slice_cstr(events[i]));
    }
    look(s, st, "out tool_calls now@6;out content now@2;");
}

static void test_whole_items(void **state)
{
    (void)state;
    struct stage *st = begin();
    struct weir_shadow *s = watch(st, "", "now");
    weir_shadow_add_row(
        s, WEIR_MODEL_RESPONSES, WEIR_TALK_ANSWER,
        WEIR_SLICE("{\"output\":[{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\","
                   "\"text\":\"bad\"}]},{\"type\":\"message\",\"content\":[{\"type\":"
                   "\"output_text\",\"text\":\"fine\"},{\"type\":\"refusal\",\"refusal\":"
                   "\"so bad\"}]},{\"type\":\"function_call\",\"arguments\":\"bad\"},7]}"));
    look(s, st, "out tool_calls now@0;out refusal now@3;out reasoning_content now@0;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_looks_afterwards),
        cmocka_unit_test(test_late_and_failed),
        cmocka_unit_test(test_no_more_than_so_much),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_items),
        cmocka_unit_test(test_whole_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
