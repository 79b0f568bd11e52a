/* Which detectors a request asks for, and the order in which a wrong one is told. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "task/plan.h"

struct world {
    struct weir_arena arena;
    struct weir_json json;
    struct weir_task_env env;
    struct weir_task_ctx ctx;
    struct weir_plan plan;
    struct weir_plan_error error;
};

static const struct weir_detector TEXTS = {.id = WEIR_SLICE("texts"), .type = WEIR_DETECT_CONTENTS};
static const struct weir_detector CHAT = {.id = WEIR_SLICE("chat"), .type = WEIR_DETECT_CHAT};
static const struct weir_task_detector DETECTORS[] = {
    {.id = WEIR_SLICE("texts"), .detector = &TEXTS, .default_threshold = 0.25},
    {.id = WEIR_SLICE("chat"), .detector = &CHAT, .default_threshold = 0.75},
};

static int read_plan(struct world *w, const char *text, unsigned types)
{
    *w = (struct world){.arena = {0}};
    for (size_t i = 0; i < 2; i++) {
        weir_map_put(&w->env.detectors_by_id, DETECTORS[i].id, (void *)(uintptr_t)&DETECTORS[i]);
    }
    w->ctx = (struct weir_task_ctx){.env = &w->env, .arena = &w->arena};
    struct weir_slice copy = weir_arena_dup(&w->arena, weir_slice_cstr(text));
    assert_int_equal(weir_json_parse(&w->json, copy, NULL, &w->arena, NULL), 0);
    return weir_plan_read(&w->plan, &w->ctx, &w->json, 0, types, &w->error);
}

static void dispose(struct world *w)
{
    weir_map_dispose(&w->env.detectors_by_id);
    weir_arena_dispose(&w->arena);
}

#define BOTH (WEIR_PLAN_TYPE(WEIR_DETECT_CONTENTS) | WEIR_PLAN_TYPE(WEIR_DETECT_CHAT))

static void test_uses(void **state)
{
    (void)state;
    struct world w;
    assert_int_equal(read_plan(&w,
                               "{\"chat\":{\"threshold\":1e-1,\"z\":[ 1 , {\"b\":1,\"a\":2} ],"
                               "\"a\":1.50,\"B\":\"\\u0041\"},\"texts\":{}}",
                               BOTH),
                     0);
    assert_int_equal(w.plan.n, 2);
    assert_ptr_equal(w.plan.uses[0].d, &DETECTORS[1]);
    assert_true(w.plan.uses[0].threshold == 0.1);
    assert_true(weir_slice_eq_cstr(w.plan.uses[0].params,
                                   "{\"B\":\"\\u0041\",\"a\":1.50,\"z\":[1,{\"b\":1,\"a\":2}]}"));
    assert_ptr_equal(w.plan.uses[1].d, &DETECTORS[0]);
    assert_true(w.plan.uses[1].threshold == 0.25);
    assert_true(weir_slice_eq_cstr(w.plan.uses[1].params, "{}"));
    dispose(&w);
}

static void test_thresholds_that_are_absent(void **state)
{
    (void)state;
    struct world w;
    assert_int_equal(read_plan(&w, "{\"texts\":{\"threshold\":null}}", BOTH), 0);
    assert_true(w.plan.uses[0].threshold == 0.25);
    assert_true(weir_slice_eq_cstr(w.plan.uses[0].params, "{}"));
    dispose(&w);
    assert_int_equal(read_plan(&w, "{}", BOTH), 0);
    assert_int_equal(w.plan.n, 0);
    assert_int_equal(weir_plan_read(&w.plan, &w.ctx, &w.json, WEIR_JSON_NONE, BOTH, &w.error), 0);
    assert_int_equal(w.plan.n, 0);
    dispose(&w);
}

static void check_error(const char *text, int status, const char *details)
{
    struct world w;
    assert_int_equal(read_plan(&w, text, WEIR_PLAN_TYPE(WEIR_DETECT_CONTENTS)), WEIR_EINVAL);
    assert_int_equal(w.error.status, status);
    assert_string_equal(w.error.details, details);
    assert_int_equal(w.plan.n, 0);
    dispose(&w);
}

static void test_errors(void **state)
{
    (void)state;
    check_error("{\"texts\":{},\"no\":{}}", 404, "detector `no` not found");
    check_error("{\"chat\":{}}", 422, "detector `chat` is not supported by this endpoint");
    check_error("{\"no\":{},\"chat\":{}}", 404, "detector `no` not found");
    check_error("{\"no\":{},\"chat\":{\"threshold\":\"1\"}}", 422,
                "`threshold` parameter specified for model `chat` must be a number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uses),
        cmocka_unit_test(test_thresholds_that_are_absent),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
