/*
 * A streamed generation:
 *
 *   input detectors ──findings──► tokenize ─► one object ─► end
 *          └─none─► model ─► messages ─► path ─► an object per batch ─► one more, perhaps ─► end
 *
 * Callbacks record and drain; advance decides about the end and about reading on.
 */
#include "task/generation_stream_int.h"

#include "base/err.h"
#include "base/utf8.h"
#include "task/generated.h"

static void stop_model(struct weir_gs *gs)
{
    weir_model_free(gs->run);
    gs->run = NULL;
}

static void stop_path(struct weir_gs *gs)
{
    weir_gs__free_frames(gs);
    weir_path_free(gs->path);
    gs->path = NULL;
}

/* Services work for nobody any more; who failed may still be in the middle of telling. */
static void on_cleanup(struct weir_post *post)
{
    struct weir_gs *gs = WEIR_LIST_ENTRY(post, struct weir_gs, cleanup);
    stop_model(gs);
    weir_scan_cancel(gs->whole_scan);
    stop_path(gs);
}

static void fail(struct weir_gs *gs, const struct weir_fault *fault)
{
    if (gs->is_over) {
        return;
    }
    gs->is_over = true;
    weir_source_end(&gs->source);
    weir_loop_post(gs->task->loop, &gs->cleanup);
    gs->out->ops->fail(gs->out, weir_fault_keep(gs->task->arena, fault));
}

static void fail_held(void *ctx)
{
    struct weir_gs *gs = ctx;
    struct weir_fault fault = weir_source_limit_fault(gs->task->arena, gs->source.max_held_bytes);
    fail(gs, &fault);
}

/* Sends the scratch buffer, if there is something in it. */
static void emit(struct weir_gs *gs)
{
    struct weir_slice json = weir_buf_slice(&gs->scratch);
    if (!gs->is_over && json.n != 0 && gs->out->ops->event(gs->out, json) == WEIR_FLOW_FULL) {
        weir_source_set_full(&gs->source, true);
    }
    weir_buf_clear(&gs->scratch);
}

/* ---- what happens next ---- */

static void finish(struct weir_gs *gs)
{
    weir_gs__write_final(gs, &gs->scratch);
    emit(gs);
    gs->is_over = true;
    weir_source_end(&gs->source);
    gs->out->ops->end(gs->out);
}

static void advance(struct weir_gs *gs)
{
    if (gs->is_over) {
        return;
    }
    bool has_left = gs->path == NULL || weir_path_is_done(gs->path);
    if (gs->source_done && gs->whole_done && has_left) {
        finish(gs);
        return;
    }
    enum weir_path_wait waits = gs->path != NULL ? weir_path_waits(gs->path) : WEIR_PATH_IDLE;
    if (!weir_source_decide(&gs->source, gs->held_bytes, waits)) {
        fail_held(gs);
    }
}

static void set_paused(void *ctx, bool is_paused)
{
    struct weir_gs *gs = ctx;
    if (gs->run != NULL && is_paused) {
        weir_model_pause(gs->run);
    } else if (gs->run != NULL) {
        weir_model_resume(gs->run);
    }
}

static void on_resume(void *ctx)
{
    struct weir_gs *gs = ctx;
    weir_source_set_full(&gs->source, false);
    advance(gs);
}

/* ---- the way of the text ---- */

static void drain(struct weir_gs *gs)
{
    struct weir_gather_batch batch;
    int rc = 0;
    while (gs->path != NULL && !gs->is_over && (rc = weir_path_pop(gs->path, &batch)) == 0) {
        weir_gs__write_batch(gs, &batch, &gs->scratch);
        weir_path_leave(gs->path, &batch);
        emit(gs);
    }
    if (rc != 0 && rc != WEIR_EAGAIN) {
        fail(gs, weir_path_fault(gs->path));
    }
}

static void on_progress(void *ctx)
{
    struct weir_gs *gs = ctx;
    if (!gs->is_over) {
        drain(gs);
        advance(gs);
    }
}

static void open_path(struct weir_gs *gs)
{
    if (weir_path_is_needed(&gs->request.output)) {
        gs->path =
            weir_path_new(&(struct weir_path_options){.task = gs->task,
                                                      .plan = &gs->request.output,
                                                      .strategy = gs->strategy,
                                                      .max_held_bytes = gs->source.max_held_bytes,
                                                      .on_progress = on_progress,
                                                      .ctx = gs});
    }
    gs->has_whole = weir_path_has_whole(&gs->request.output);
    weir_buf_init(&gs->whole, gs->source.max_held_bytes);
    gs->whole.account = gs->source.account;
}

static void guard(struct weir_gs *gs, const struct weir_model_generated *m)
{
    struct weir_gs_frame *frame = weir_gs__frame_new(gs, m);
    int rc = weir_path_push(gs->path, gs->n_frames, m->text, frame);
    if (rc == 0) {
        drain(gs);
        return;
    }
    weir_gs__frame_free(gs, frame);
    struct weir_fault fault = {.origin = WEIR_FAULT_GENERATE,
                               .id = gs->request.model_id,
                               .err = WEIR_EPEER,
                               .why = WEIR_SLICE("a message's text is not UTF-8")};
    if (rc == WEIR_ELIMIT) {
        fail_held(gs);
    } else {
        fail(gs, &fault);
    }
}

/* ---- detectors that look at the whole ---- */

static void on_whole_done(void *ctx, struct weir_scan *scan)
{
    struct weir_gs *gs = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    gs->whole_done = true;
    if (fault != NULL) {
        fail(gs, fault);
    } else {
        advance(gs);
    }
}

static void start_whole(struct weir_gs *gs)
{
    if (!gs->has_whole || gs->whole.n == 0) {
        gs->whole_done = true;
        return;
    }
    gs->whole_scan = weir_scan_new(gs->task, on_whole_done, gs);
    gs->whole_found = weir_scan_add_group(gs->whole_scan, WEIR_RESULTS_CLASSIFICATION);
    weir_scan_add_text(gs->whole_found, weir_path_whole_plan(&gs->request.output, gs->task->arena),
                       weir_buf_slice(&gs->whole));
    weir_scan_start(gs->whole_scan);
}

static void keep_whole(struct weir_gs *gs, struct weir_slice text)
{
    if (gs->has_whole && weir_buf_append(&gs->whole, text) != 0) {
        fail_held(gs);
    }
}

/* ---- the model ---- */

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct weir_gs *gs = ctx;
    if (gs->is_over) {
        return;
    }
    keep_whole(gs, frame->generated->text);
    if (gs->path != NULL) {
        guard(gs, frame->generated);
    } else {
        weir_gs__write_message(gs, frame->generated, &gs->scratch);
        emit(gs);
    }
    gs->length_cp += weir_utf8_count(frame->generated->text);
    gs->n_frames++;
    advance(gs);
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct weir_gs *gs = ctx;
    gs->source_done = true;
    weir_source_end(&gs->source);
    if (fault != NULL) {
        fail(gs, fault);
        return;
    }
    if (gs->path != NULL) {
        weir_path_end(gs->path);
        drain(gs);
    }
    if (!gs->is_over) {
        start_whole(gs);
        advance(gs);
    }
}

static const struct weir_model_events MODEL_EVENTS = {
    .on_frame = on_frame,
    .on_done = on_done,
};

static void start_model(struct weir_gs *gs, const struct weir_model_events *events)
{
    const struct weir_task_env *limits = gs->task->env;
    struct weir_model_env env = {.loop = gs->task->loop,
                                 .client = gs->task->client,
                                 .context = &gs->task->call,
                                 .max_body_bytes = limits->max_service_body_bytes,
                                 .max_event_bytes = limits->max_event_bytes};
    stop_model(gs);
    gs->run = weir_model_start(limits->generation, &env, &gs->model_request, events, gs);
}

static void call_model(struct weir_gs *gs)
{
    gs->model_request = (struct weir_model_request){.op = WEIR_MODEL_GENERATE,
                                                    .is_stream = true,
                                                    .model_id = gs->request.model_id,
                                                    .text = gs->request.inputs,
                                                    .params = gs->request.params};
    open_path(gs);
    start_model(gs, &MODEL_EVENTS);
}

/* ---- input ---- */

static void on_tokens(void *ctx, const struct weir_model_frame *frame)
{
    struct weir_gs *gs = ctx;
    gs->n_input_tokens = frame->n_tokens;
}

static void on_tokenized(void *ctx, const struct weir_fault *fault)
{
    struct weir_gs *gs = ctx;
    if (fault != NULL) {
        fail(gs, fault);
        return;
    }
    weir_buf_append(&gs->scratch, weir_generated_unsuitable_input(gs->task->arena, gs->input_found,
                                                                  gs->n_input_tokens));
    emit(gs);
    gs->is_over = true;
    gs->out->ops->end(gs->out);
}

static const struct weir_model_events TOKENIZE_EVENTS = {
    .on_frame = on_tokens,
    .on_done = on_tokenized,
};

static void on_input_scanned(void *ctx, struct weir_scan *scan)
{
    struct weir_gs *gs = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    if (fault != NULL) {
        fail(gs, fault);
    } else if (gs->input_found->n_found == 0) {
        call_model(gs);
    } else {
        gs->model_request = (struct weir_model_request){.op = WEIR_MODEL_TOKENIZE,
                                                        .model_id = gs->request.model_id,
                                                        .text = gs->request.inputs};
        start_model(gs, &TOKENIZE_EVENTS);
    }
}

static void undo(void *ctx)
{
    struct weir_gs *gs = ctx;
    gs->is_over = true;
    weir_source_end(&gs->source);
    weir_loop_unpost(&gs->cleanup);
    stop_model(gs);
    stop_path(gs);
    weir_buf_dispose(&gs->second_input);
    weir_buf_dispose(&gs->whole);
    weir_buf_dispose(&gs->scratch);
}

void weir_generation_stream_start(struct weir_task_ctx *task,
                                  const struct weir_task_generation *request,
                                  const struct weir_gather_strategy *strategy, struct weir_out *out)
{
    struct weir_gs *gs = weir_arena_zalloc(task->arena, sizeof *gs);
    gs->task = task;
    gs->request = *request;
    gs->strategy = strategy;
    gs->out = out;
    out->on_resume = on_resume;
    out->ctx = gs;
    gs->cleanup.fn = on_cleanup;
    gs->source = (struct weir_source){.loop = task->loop,
                                      .account = task->arena->account,
                                      .max_held_bytes = task->env->max_held_bytes,
                                      .set_paused = set_paused,
                                      .on_stuck = fail_held,
                                      .ctx = gs,
                                      .n_full_chunkers = &task->n_full_chunkers};
    weir_source_init(&gs->source);
    weir_arena_defer(task->arena, undo, gs);
    if (gs->request.input.n == 0) {
        call_model(gs);
        return;
    }
    struct weir_scan *scan = weir_scan_new(task, on_input_scanned, gs);
    gs->input_found = weir_scan_add_group(scan, WEIR_RESULTS_CLASSIFICATION);
    weir_scan_add_masked(gs->input_found, &gs->request.input, request->inputs, request->masks,
                         request->n_masks);
    weir_scan_start(scan);
}
