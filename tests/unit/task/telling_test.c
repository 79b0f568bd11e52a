/* Detectors of a route that only tell: they hold nothing back, and what they find leads to nothing
 * else. */
#include "unit/task/policy_stage.h"

static struct weir_plan plan_of(struct stage *st, const char *ids, const char *telling)
{
    struct weir_plan plan = stage_plan(st, ids);
    struct weir_plan_use *uses = weir_arena_array(&st->arena, plan.n, sizeof *uses);
    memcpy(uses, plan.uses, plan.n * sizeof *uses);
    for (size_t i = 0; i < plan.n; i++) {
        uses[i].only_tells = weir_slice_eq_cstr(uses[i].d->id, telling);
    }
    plan.uses = uses;
    weir_plan_split(&plan, &st->arena);
    return plan;
}

static void test_plans(void **state)
{
    (void)state;
    static const struct weir_slice globs[] = {{"big", 3}};
    struct stage *st = stage_new();
    struct weir_plan plan = plan_of(st, "a b", "b");
    assert_int_equal(plan.n, 2);
    assert_int_equal(weir_plan_judging(&plan)->n, 1);
    assert_ptr_equal(weir_plan_judging(&plan)->uses[0].d, plan.uses[0].d);
    assert_int_equal(plan.telling->n, 1);
    assert_ptr_equal(plan.telling->uses[0].d, plan.uses[1].d);
    struct weir_plan_use *uses = (struct weir_plan_use *)(uintptr_t)plan.uses;
    uses[1].models = globs;
    uses[1].n_models = 1;
    struct weir_plan other = weir_plan_for_model(&plan, WEIR_SLICE("small"), &st->arena);
    assert_null(other.telling);
    assert_int_equal(weir_plan_judging(&other)->n, 1);
    plan = plan_of(st, "a b", "");
    assert_null(plan.telling);
    assert_ptr_equal(weir_plan_judging(&plan), &plan);
    stage_free(st);
}

static void start(struct stage *st)
{
    struct weir_task_completion request = policy_request(st);
    request.output = plan_of(st, "a b", "b");
    weir_completion_stream_start(&st->task, &request, st->env.strategy, &st->out);
}

static bool has_left(struct stage *st, const char *text)
{
    return strstr(weir_buf_cstr(&st->lines), text) != NULL;
}

/* `a` is answered for each text, `b` for none of them until all has left. */
static void test_nothing_waits(void **state)
{
    (void)state;
    static const struct script_hooks hooks = {.start = start};
    const struct script_hooks none = {0};
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT), .n_choices = 1};
    struct stage *st = policy_stage("", "");
    script_play(st, &hooks, "say 0 Is bad.\n", SIZE_MAX);
    assert_false(has_left(st, "Is "));
    script_play(st, &none, "answer a\n", SIZE_MAX);
    assert_true(has_left(st, "Is [Ugh]."));
    script_play(st, &none, "finish 0\ndone\n", SIZE_MAX);
    assert_false(st->is_over);
    assert_false(has_left(st, "\"finish_reason\":\"stop\""));
    assert_false(has_left(st, "\"detector_id\":\"b\""));
    script_play(st, &none, "answer b\n", SIZE_MAX);
    /* Where it stands in what has left: `Is [Ugh].` */
    assert_true(has_left(st, "\"start\":3,\"end\":8"));
    assert_true(has_left(st, "\"detector_id\":\"b\""));
    assert_true(has_left(st, "\"finish_reason\":\"stop\""));
    assert_true(st->is_over);
    stage_free(st);
}

/* The other way round: what it has found first is told behind the text. */
static void test_what_it_knows_first_waits_for_the_text(void **state)
{
    (void)state;
    static const struct script_hooks hooks = {.start = start};
    const struct script_hooks none = {0};
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT), .n_choices = 1};
    struct stage *st = policy_stage("", "");
    script_play(st, &hooks, "say 0 Is bad.\nanswer b\n", SIZE_MAX);
    assert_false(has_left(st, "\"detector_id\":\"b\""));
    assert_false(has_left(st, "Is "));
    script_play(st, &none, "answer a\nfinish 0\ndone\n", SIZE_MAX);
    assert_true(has_left(st, "\"detector_id\":\"b\""));
    assert_true(st->is_over);
    stage_free(st);
}

static void test_a_block_is_the_last_that_is_told(void **state)
{
    (void)state;
    static const struct script_hooks hooks = {.start = start};
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK), .n_choices = 1};
    struct stage *st = policy_stage("", "");
    script_play(st, &hooks, "say 0 Is bad.\nfinish 0\ndone\nanswer a\n", SIZE_MAX);
    assert_true(has_left(st, "content_filter"));
    assert_false(has_left(st, "\"detector_id\":\"b\""));
    assert_true(st->is_over);
    stage_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_nothing_waits),
        cmocka_unit_test(test_what_it_knows_first_waits_for_the_text),
        cmocka_unit_test(test_a_block_is_the_last_that_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
