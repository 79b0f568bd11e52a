/* The promise: what leaves was judged. How that is computed, and what a release build does when it
 * is broken. */
#include "task/promise.h"

#include "obs/metric.h"
#include "task/completion_stream_int.h"
#include "task/guard.h"
#include "unit/task/policy_stage.h"

static void do_nothing(void *ctx)
{
    (void)ctx;
}

static struct weir_guard *guard_new(struct stage *st, const struct weir_plan *plan)
{
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    return weir_guard_new(&(struct weir_guard_options){.task = &st->task,
                                                       .plan = plan,
                                                       .policy = &policy_ask.policy,
                                                       .max_held_bytes = 1000,
                                                       .on_progress = do_nothing});
}

static bool has_judged(struct weir_guard *guard, size_t start_cp, size_t end_cp)
{
    struct weir_guard_piece piece = {.what = WEIR_GUARD_TEXT,
                                     .channel = WEIR_CHANNEL_CONTENT,
                                     .start_cp = start_cp,
                                     .end_cp = end_cp};
    return weir_guard_has_judged(guard, &piece);
}

/* Every detector must have answered, for every code point that is not white, in order. */
static void test_text(void **state)
{
    (void)state;
    struct stage *st = policy_stage("", "a b");
    struct weir_plan plan = stage_plan(st, st->output);
    struct weir_guard *guard = guard_new(st, &plan);
    assert_int_equal(weir_guard_push(guard, WEIR_CHANNEL_CONTENT, 0, WEIR_SLICE("One. Two.")), 0);
    stage_turn(st);
    assert_false(has_judged(guard, 0, 4));
    weir_guard_free(guard);

    guard = guard_new(st, &plan);
    assert_int_equal(weir_guard_push(guard, WEIR_CHANNEL_CONTENT, 0, WEIR_SLICE("One. Two.")), 0);
    stage_turn(st);
    script_answer(st, WEIR_SLICE("a One."), false);
    script_answer(st, WEIR_SLICE("a  Two."), false);
    script_answer(st, WEIR_SLICE("b One."), false);
    assert_true(has_judged(guard, 0, 4));
    assert_true(has_judged(guard, 4, 5));  /* white */
    assert_false(has_judged(guard, 5, 6)); /* b has not seen it */
    assert_false(has_judged(guard, 3, 4)); /* it has left already */
    weir_guard_free(guard);
    stage_free(st);
}

static void take_calls(struct weir_tools *tools, const char *name, const char *arguments)
{
    struct weir_arena arena = {0};
    struct weir_buf calls = {0};
    struct weir_json j;
    const char *why;
    weir_tools_dispose(tools);
    weir_buf_printf(&calls, "[{\"function\":{\"name\":\"%s\",\"arguments\":\"%s\"}}]", name,
                    arguments);
    assert_int_equal(weir_json_parse(&j, weir_buf_slice(&calls), NULL, &arena, NULL), 0);
    assert_int_equal(weir_tools_take(tools, &j, 0, &why), 0);
    weir_arena_dispose(&arena);
    weir_buf_dispose(&calls);
}

static bool let_go(struct weir_guard *guard, struct weir_tools *tools)
{
    const struct weir_json *left;
    return weir_guard_let_go(guard, tools, WEIR_SLICE(""), &left);
}

/* Tool calls must be those that were judged, byte for byte, and the judgement must be over. */
static void test_tools(void **state)
{
    (void)state;
    struct stage *st = policy_stage("", "a");
    struct weir_plan plan = stage_plan(st, st->output);
    struct weir_guard *guard = guard_new(st, &plan);
    struct weir_tools tools = {0};
    assert_true(let_go(guard, &tools));
    take_calls(&tools, "name.", "args.");
    assert_false(let_go(guard, &tools));
    weir_guard_end(guard, &(struct weir_guard_ending){.calls = &tools});
    stage_turn(st);
    assert_false(let_go(guard, &tools));
    script_answer(st, WEIR_SLICE("a name.|args."), false);
    stage_turn(st);
    assert_true(let_go(guard, &tools));
    tools.items[0].arguments.p[0] = 'b'; /* what was judged is a copy */
    assert_false(let_go(guard, &tools));
    take_calls(&tools, "mane.", "args.");
    assert_false(let_go(guard, &tools));
    weir_guard_free(guard);
    weir_tools_dispose(&tools);
    stage_free(st);
}

/* The same of members nobody knows; what may leave of them is what is left after the findings. */
static void test_unknown(void **state)
{
    (void)state;
    struct stage *st = policy_stage("", "now");
    struct weir_plan plan = stage_plan(st, st->output);
    struct weir_guard *guard = guard_new(st, &plan);
    struct weir_tools tools = {0};
    const struct weir_json *left;
    struct weir_slice said = WEIR_SLICE("{\"top\":{\"x\":\"a bad one\",\"bad\":1,\"y\":\"b\"}},"
                                        "{\"top\":{\"y\":\"ad\"}}");
    weir_guard_end(guard, &(struct weir_guard_ending){.unknown = said});
    assert_false(weir_guard_let_go(guard, &tools, said, &left));
    stage_turn(st);
    assert_false(weir_guard_let_go(guard, &tools, WEIR_SLICE("{\"top\":{}}"), &left));
    assert_true(weir_guard_let_go(guard, &tools, said, &left));
    struct weir_slice text = weir_json_raw(left, 0);
    assert_true(weir_slice_eq_cstr(text, "[{\"top\":{\"x\":\"a [Ugh] one\",\"y\":\"[Ugh]\"}},"
                                         "{\"top\":{\"y\":\"[Ugh]\"}}]"));
    weir_guard_free(guard);
    stage_free(st);
}

/* Replaced where that can be; not let go where it cannot, whatever was decided. */
static void test_replaced_tools(void **state)
{
    (void)state;
    static const struct {
        enum weir_policy_action action;
        const char *name;
        const char *arguments;
        const char *left; /* NULL: nothing */
    } cases[] = {
        {WEIR_POLICY_REDACT, "f", "{\\\"x\\\":\\\"b\\\\u0061d\\\"}", "{\"x\":\"[Ugh]\"}"},
        {WEIR_POLICY_REDACT, "bad", "{}", NULL},
        {WEIR_POLICY_BLOCK, "f", "bad", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage *st = policy_stage("", "now");
        struct weir_plan plan = stage_plan(st, st->output);
        struct weir_guard *guard = guard_new(st, &plan);
        policy_ask.policy.action = cases[i].action;
        struct weir_tools tools = {0};
        take_calls(&tools, cases[i].name, cases[i].arguments);
        weir_guard_end(guard, &(struct weir_guard_ending){.calls = &tools});
        stage_turn(st);
        assert_int_equal(let_go(guard, &tools), cases[i].left != NULL);
        if (cases[i].left != NULL) {
            assert_string_equal(weir_buf_cstr(&tools.items[0].arguments), cases[i].left);
        }
        weir_guard_free(guard);
        weir_tools_dispose(&tools);
        stage_free(st);
    }
}

static uint64_t counted(void)
{
    struct weir_buf out = {0};
    uint64_t n = 0;
    weir_promise_declare();
    assert_int_equal(weir_metric_render(&out), 0);
    const char *line = strstr(weir_buf_cstr(&out), "\nweir_promise_broken_total ");
    assert_non_null(line);
    n = strtoull(line + strlen("\nweir_promise_broken_total "), NULL, 10);
    weir_buf_dispose(&out);
    return n;
}

/* That one request fails, nothing leaves, and it is counted. */
static void test_broken(void **state)
{
    (void)state;
    weir_promise_set_aborts(false);
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK)};
    struct stage *st = policy_stage("", "a");
    script_play(st, &POLICY_STREAM, "say 0 One. Two.\nanswer a  Two.\n", SIZE_MAX);
    struct weir_cs *cs = st->out.ctx;
    uint64_t before = counted();
    weir_cs__fail_promise(
        WEIR_LIST_ENTRY(weir_list_first(&cs->choices), struct weir_cs_choice, link), "content");
    stage_turn(st);
    script_expect(st, WEIR_SLICE("fail internal  EINTERNAL"));
    script_expect_nothing(st);
    assert_null(st->run);
    assert_null(st->calls);
    assert_int_equal(counted(), before + 1);
    stage_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),           cmocka_unit_test(test_tools),
        cmocka_unit_test(test_replaced_tools), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
