#ifndef WEIR_TESTS_UNIT_TASK_FAKES_MODEL_H
#define WEIR_TESTS_UNIT_TASK_FAKES_MODEL_H

/* A model server that says what a test tells it to. */
#include "unit/task/fakes.h"

static inline struct weir_model_run *stage_model_start(const struct weir_model *m,
                                                       const struct weir_model_env *env,
                                                       const struct weir_model_request *request,
                                                       const struct weir_model_events *events,
                                                       void *ctx)
{
    struct stage *st = WEIR_LIST_ENTRY((struct weir_model *)(uintptr_t)m, struct stage, model);
    struct stage_run *run = weir_mem_zalloc(sizeof *run);
    (void)env;
    assert_null(st->run);
    *run = (struct stage_run){.base = {.model = m},
                              .stage = st,
                              .events = events,
                              .ctx = ctx,
                              .op = request->op,
                              .body = request->body};
    st->run = run;
    return &run->base;
}

static inline void stage_model_set_paused(struct weir_model_run *base, bool is_paused)
{
    ((struct stage_run *)base)->is_paused = is_paused;
}

static inline void stage_model_free(struct weir_model_run *base)
{
    struct stage_run *run = (struct stage_run *)base;
    assert_ptr_equal(run->stage->run, run);
    run->stage->run = NULL;
    free(run);
}

static const struct weir_model_ops STAGE_MODEL_OPS = {
    .start = stage_model_start, .set_paused = stage_model_set_paused, .free = stage_model_free};

#endif
