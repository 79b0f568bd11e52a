#include "task/models.h"

#include "base/err.h"

struct models {
    struct weir_task_ctx *task;
    weir_task_done_fn done;
    void *ctx;
    struct weir_model_run *run;
    struct weir_model_request request;
    struct weir_slice body;
};

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct models *m = ctx;
    m->body = weir_arena_dup(m->task->arena, frame->json);
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct models *m = ctx;
    struct weir_fault empty = {.origin = WEIR_FAULT_CHAT_COMPLETION,
                               .err = WEIR_EPEER,
                               .why = WEIR_SLICE("there is no answer")};
    if (fault == NULL && m->body.n == 0) {
        fault = &empty;
    }
    struct weir_task_answer answer = {.body = m->body};
    if (fault != NULL) {
        answer.fault = weir_fault_keep(m->task->arena, fault);
    }
    m->done(m->ctx, &answer);
}

static void undo(void *ctx)
{
    struct models *m = ctx;
    weir_model_free(m->run);
}

void weir_task_models_start(struct weir_task_ctx *task, weir_task_done_fn done, void *ctx)
{
    static const struct weir_model_events events = {.on_frame = on_frame, .on_done = on_done};
    struct models *m = weir_arena_zalloc(task->arena, sizeof *m);
    *m = (struct models){.task = task, .done = done, .ctx = ctx, .request.op = WEIR_MODEL_MODELS};
    weir_arena_defer(task->arena, undo, m);
    struct weir_model_env env = weir_task_model_env(task);
    m->run = weir_model_start(task->env->openai, &env, &m->request, &events, m);
}
