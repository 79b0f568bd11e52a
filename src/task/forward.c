#include "task/forward.h"

#include "base/err.h"

struct forward {
    struct weir_task_ctx *task;
    weir_task_forward_fn done;
    void *ctx;
    struct weir_model_run *run;
    struct weir_model_request request;
    struct weir_model_forwarded answer;
    bool has_answer;
};

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct forward *f = ctx;
    f->has_answer = true;
    f->answer.status = frame->forwarded->status;
    f->answer.content_type = weir_arena_dup(f->task->arena, frame->forwarded->content_type);
    f->answer.body = weir_arena_dup(f->task->arena, frame->forwarded->body);
}

/* An answer beyond what may be held: callers are told which limit it is. */
static void name_limit(struct weir_fault *fault, struct forward *f)
{
    *fault = (struct weir_fault){
        .origin = WEIR_FAULT_LIMIT,
        .err = WEIR_ELIMIT,
        .status = 502,
        .why = fault->why,
        .message = weir_slice_cstr(weir_arena_printf(
            f->task->arena,
            "the model server's answer is larger than %zu bytes: limits.max_service_body_bytes",
            f->task->env->max_service_body_bytes))};
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct forward *f = ctx;
    struct weir_task_forwarded forwarded = {0};
    struct weir_fault told = {.origin = WEIR_FAULT_CHAT_COMPLETION,
                              .err = WEIR_EPEER,
                              .why = WEIR_SLICE("there is no answer")};
    if (fault != NULL) {
        told = *fault;
    }
    if (told.err == WEIR_ELIMIT) {
        name_limit(&told, f);
    }
    if (fault == NULL && f->has_answer) {
        forwarded.answer = &f->answer;
    } else {
        forwarded.fault = weir_fault_keep(f->task->arena, &told);
    }
    f->done(f->ctx, &forwarded);
}

static void undo(void *ctx)
{
    struct forward *f = ctx;
    weir_model_free(f->run);
}

void weir_task_forward_start(struct weir_task_ctx *task, const struct weir_model_request *request,
                             weir_task_forward_fn done, void *ctx)
{
    static const struct weir_model_events events = {.on_frame = on_frame, .on_done = on_done};
    struct weir_model_env env = weir_task_model_env(task);
    struct forward *f = weir_arena_zalloc(task->arena, sizeof *f);
    *f = (struct forward){.task = task, .done = done, .ctx = ctx, .request = *request};
    weir_arena_defer(task->arena, undo, f);
    f->run = weir_model_start(task->env->openai, &env, &f->request, &events, f);
}
