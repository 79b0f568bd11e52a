/* Detectors for some models, and for some channels of an answer. */
#include "unit/task/policy_stage.h"

static struct weir_plan plan_of(struct stage *st, const char *ids, uint32_t channels)
{
    struct weir_plan plan = stage_plan(st, ids);
    struct weir_plan_use *uses = weir_arena_array(&st->arena, plan.n, sizeof *uses);
    memcpy(uses, plan.uses, plan.n * sizeof *uses);
    uses[0].channels = channels;
    plan.uses = uses;
    return plan;
}

static void test_channels(void **state)
{
    (void)state;
    struct stage *st = stage_new();
    struct weir_plan plan = plan_of(st, "a b", 1u << WEIR_CHANNEL_REASONING);
    weir_plan_split(&plan, &st->arena);
    assert_null(plan.late);
    assert_int_equal(weir_plan_on(&plan, WEIR_CHANNEL_REASONING)->n, 2);
    assert_int_equal(weir_plan_on(&plan, WEIR_CHANNEL_CONTENT)->n, 1);
    assert_int_equal(weir_plan_on(&plan, WEIR_CHANNEL_TOOLS)->n, 1);
    assert_ptr_equal(weir_plan_on(&plan, WEIR_CHANNEL_CONTENT)->uses[0].d, plan.uses[1].d);
    plan = plan_of(st, "a b", 0);
    weir_plan_split(&plan, &st->arena);
    assert_ptr_equal(weir_plan_on(&plan, WEIR_CHANNEL_CONTENT), &plan);
    stage_free(st);
}

static void test_models(void **state)
{
    (void)state;
    static const struct weir_slice globs[] = {{"gpt-*", 5}, {"big", 3}};
    struct stage *st = stage_new();
    struct weir_plan plan = plan_of(st, "a b", 1u << WEIR_CHANNEL_CONTENT);
    struct weir_plan_use *uses = (struct weir_plan_use *)(uintptr_t)plan.uses;
    uses[0].models = globs;
    uses[0].n_models = 2;
    uses[0].is_late = uses[1].is_late = true;
    plan.max_exposed_cp = 7;
    weir_plan_split(&plan, &st->arena);
    assert_int_equal(plan.late->n, 2);
    struct weir_plan big = weir_plan_for_model(&plan, WEIR_SLICE("big"), &st->arena);
    assert_ptr_equal(big.uses, plan.uses);
    struct weir_plan other = weir_plan_for_model(&plan, WEIR_SLICE("bigger"), &st->arena);
    assert_int_equal(other.n, 1);
    assert_int_equal(other.late->n, 1);
    assert_int_equal(other.late->max_exposed_cp, 7);
    assert_null(other.by_channel);
    stage_free(st);
}

static void start(struct stage *st)
{
    struct weir_task_completion request = policy_request(st);
    request.output = plan_of(st, "a", 1u << WEIR_CHANNEL_CONTENT);
    weir_plan_split(&request.output, &st->arena);
    weir_completion_stream_start(&st->task, &request, st->env.strategy, &st->out);
}

/* A channel that nobody looks at leaves as it comes, others wait as ever; tool calls leave at the
 * end. */
static void test_streams(void **state)
{
    (void)state;
    static const struct script_hooks hooks = {.start = start};
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT), .n_choices = 1};
    struct stage *st = policy_stage("", "");
    script_play(st, &hooks, "delta 0 {\"reasoning\":\"so bad\"}\n", SIZE_MAX);
    assert_non_null(strstr(weir_buf_cstr(&st->lines), "so bad"));
    const struct script_hooks none = {0};
    script_play(st, &none,
                "say 0 Is bad.\n"
                "delta 0 {\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"f\","
                "\"arguments\":\"{\\\"x\\\":\\\"bad\\\"}\"}}]}\n"
                "calls 1\n",
                SIZE_MAX);
    assert_null(strstr(weir_buf_cstr(&st->lines), "Is "));
    script_play(st, &none, "answer a\nfinish 0\ndone\n", SIZE_MAX);
    assert_non_null(strstr(weir_buf_cstr(&st->lines), "Is [Ugh]."));
    assert_null(strstr(weir_buf_cstr(&st->lines), "Is bad"));
    assert_non_null(strstr(weir_buf_cstr(&st->lines), "\"arguments\""));
    assert_true(st->is_over);
    stage_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
