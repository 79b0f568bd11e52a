#include "model/grpc.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "client/grpc_call.h"

#include <stdlib.h>

struct run {
    struct weir_model_run base;
    const struct weir_model_request *request;
    const struct weir_model_events *events;
    void *ctx;
    struct weir_grpc_call *call; /* NULL: over */
    struct weir_arena arena;     /* the fault's words */
    bool *is_gone;               /* set while an event is given: freed from inside of it? */
};

static const struct weir_model_grpc *model_of(const struct run *r)
{
    return (const struct weir_model_grpc *)(const void *)r->base.model;
}

static struct weir_fault fault_of(const struct run *r)
{
    bool is_tokenize = r->request->op == WEIR_MODEL_TOKENIZE;
    return (struct weir_fault){
        .origin = is_tokenize ? WEIR_FAULT_TOKENIZE : WEIR_FAULT_GENERATE,
        .id = r->request->model_id,
    };
}

/* Hands out the frame in `bytes`. 0, WEIR_EPEER, or WEIR_ECANCELED when the run is gone. */
static int give_frame(struct run *r, struct weir_slice bytes)
{
    struct weir_arena arena = {0};
    struct weir_model_frame frame = {0};
    bool is_gone = false;
    int rc = model_of(r)->dialect->read(r->request, bytes, &arena, &frame);
    if (rc == 0) {
        r->is_gone = &is_gone;
        r->events->on_frame(r->ctx, &frame);
        if (is_gone) {
            rc = WEIR_ECANCELED;
        } else {
            r->is_gone = NULL;
        }
    }
    weir_arena_dispose(&arena);
    return rc;
}

static void tell_nonsense(struct run *r)
{
    struct weir_fault fault = fault_of(r);
    fault.err = WEIR_EPEER;
    fault.why = WEIR_SLICE("the model's answer is malformed");
    r->events->on_done(r->ctx, &fault);
}

static void on_message(void *ctx, struct weir_slice bytes)
{
    struct run *r = ctx;
    if (give_frame(r, bytes) == WEIR_EPEER) {
        weir_grpc_call_cancel(r->call);
        r->call = NULL;
        tell_nonsense(r);
    }
}

static void on_done(void *ctx, const struct weir_grpc_result *result)
{
    struct run *r = ctx;
    r->call = NULL;
    if (result->status != WEIR_GRPC_OK) {
        struct weir_fault fault = fault_of(r);
        weir_grpc_result_fault(result, &r->arena, &fault);
        r->events->on_done(r->ctx, &fault);
        return;
    }
    bool has_frame = !r->request->is_stream || r->request->op == WEIR_MODEL_TOKENIZE;
    int rc = has_frame ? give_frame(r, result->bytes) : 0;
    if (rc == WEIR_EPEER) {
        tell_nonsense(r);
    } else if (rc == 0) {
        r->events->on_done(r->ctx, NULL);
    }
}

static void begin(struct run *r, const struct weir_model_env *env)
{
    static const struct weir_grpc_call_events events = {.on_message = on_message,
                                                        .on_done = on_done};
    const struct weir_model_grpc *m = model_of(r);
    bool is_tokenize = r->request->op == WEIR_MODEL_TOKENIZE;
    bool is_stream = r->request->is_stream && !is_tokenize;
    const char *path = is_stream ? m->dialect->stream_path : m->dialect->generate_path;
    struct weir_arena scratch = {0};
    struct weir_grpc_request request = {
        .loop = env->loop,
        .target = m->target,
        .context = env->context,
        .path = is_tokenize ? m->dialect->tokenize_path : path,
        .message = m->dialect->pack(r->request, &scratch),
        .has_stream_answer = is_stream,
        .max_message_bytes = is_stream ? env->max_event_bytes : env->max_body_bytes,
        .may_retry = true,
    };
    if (m->dialect->has_model_header) {
        request.model_id = r->request->model_id;
    }
    r->call = weir_grpc_call_start(env->client, &request, &events, r);
    weir_arena_dispose(&scratch);
}

static struct weir_model_run *grpc_start(const struct weir_model *m,
                                         const struct weir_model_env *env,
                                         const struct weir_model_request *request,
                                         const struct weir_model_events *events, void *ctx)
{
    WEIR_ASSERT(request->op == WEIR_MODEL_GENERATE || request->op == WEIR_MODEL_TOKENIZE);
    struct run *r = weir_mem_zalloc(sizeof *r);
    r->base.model = m;
    r->request = request;
    r->events = events;
    r->ctx = ctx;
    begin(r, env);
    return &r->base;
}

static void grpc_set_paused(struct weir_model_run *base, bool is_paused)
{
    struct run *r = (struct run *)(void *)base;
    if (r->call == NULL) {
        return;
    }
    if (is_paused) {
        weir_grpc_call_pause(r->call);
    } else {
        weir_grpc_call_resume(r->call);
    }
}

static void grpc_free(struct weir_model_run *base)
{
    struct run *r = (struct run *)(void *)base;
    if (r->call != NULL) {
        weir_grpc_call_cancel(r->call);
    }
    if (r->is_gone != NULL) {
        *r->is_gone = true;
    }
    weir_arena_dispose(&r->arena);
    free(r);
}

void weir_model_grpc_init(struct weir_model_grpc *m, const struct weir_target *target,
                          const struct weir_model_dialect *dialect)
{
    static const struct weir_model_ops ops = {grpc_start, grpc_set_paused, grpc_free};
    *m = (struct weir_model_grpc){.base = {&ops}, .target = target, .dialect = dialect};
}
