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

static void stop(struct weir_stream *s)
{
    struct weir_gs *gs = WEIR_LIST_ENTRY(s, struct weir_gs, stream);
    weir_scan_cancel(gs->whole_scan);
    weir_gs__free_frames(gs);
    weir_path_free(gs->path);
    gs->path = NULL;
}

/* Sends the scratch buffer, if there is something in it. */
static void emit(struct weir_gs *gs)
{
    struct weir_slice json = weir_buf_slice(&gs->scratch);
    if (!gs->stream.is_over && json.n != 0) {
        weir_stream_send(&gs->stream, json);
    }
    weir_buf_clear(&gs->scratch);
}

/* ---- what happens next ---- */

static void finish(struct weir_gs *gs)
{
    weir_gs__write_final(gs, &gs->scratch);
    emit(gs);
    weir_stream_end(&gs->stream);
}

static void advance(struct weir_gs *gs)
{
    if (gs->stream.is_over) {
        return;
    }
    bool has_left = gs->path == NULL || weir_path_is_done(gs->path);
    if (gs->source_done && gs->whole_done && has_left) {
        finish(gs);
    } else {
        weir_stream_read_on(&gs->stream, gs->held_bytes);
    }
}

static enum weir_path_wait waits(const struct weir_stream *s)
{
    const struct weir_gs *gs = WEIR_LIST_ENTRY(s, const struct weir_gs, stream);
    return gs->path != NULL ? weir_path_waits(gs->path) : WEIR_PATH_IDLE;
}

static void resume(struct weir_stream *s)
{
    advance(WEIR_LIST_ENTRY(s, struct weir_gs, stream));
}

static const struct weir_stream_ops STREAM_OPS = {
    .waits = waits,
    .resume = resume,
    .stop = stop,
};

/* ---- the way of the text ---- */

static void drain(struct weir_gs *gs)
{
    struct weir_gather_batch batch;
    int rc = 0;
    while (gs->path != NULL && !gs->stream.is_over && (rc = weir_path_pop(gs->path, &batch)) == 0) {
        weir_gs__write_batch(gs, &batch, &gs->scratch);
        weir_path_leave(gs->path, &batch);
        emit(gs);
    }
    if (rc != 0 && rc != WEIR_EAGAIN) {
        weir_stream_fail(&gs->stream, weir_path_fault(gs->path));
    }
}

static void on_progress(void *ctx)
{
    struct weir_gs *gs = ctx;
    if (!gs->stream.is_over) {
        drain(gs);
        advance(gs);
    }
}

static void open_path(struct weir_gs *gs)
{
    if (weir_path_is_needed(&gs->request.output)) {
        gs->path = weir_path_new(
            &(struct weir_path_options){.task = gs->stream.task,
                                        .plan = &gs->request.output,
                                        .strategy = gs->strategy,
                                        .max_held_bytes = gs->stream.source.max_held_bytes,
                                        .on_progress = on_progress,
                                        .ctx = gs});
    }
    gs->has_whole = weir_path_has_whole(&gs->request.output);
    weir_buf_init(&gs->whole, gs->stream.source.max_held_bytes);
    gs->whole.account = gs->stream.source.account;
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
        weir_stream_fail_held(&gs->stream);
    } else {
        weir_stream_fail(&gs->stream, &fault);
    }
}

/* ---- detectors that look at the whole ---- */

static void on_whole_done(void *ctx, struct weir_scan *scan)
{
    struct weir_gs *gs = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    gs->whole_done = true;
    if (fault != NULL) {
        weir_stream_fail(&gs->stream, fault);
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
    gs->whole_scan = weir_scan_new(gs->stream.task, on_whole_done, gs);
    gs->whole_found = weir_scan_add_group(gs->whole_scan, WEIR_RESULTS_CLASSIFICATION);
    weir_scan_add_text(gs->whole_found,
                       weir_path_whole_plan(&gs->request.output, gs->stream.task->arena),
                       weir_buf_slice(&gs->whole));
    weir_scan_start(gs->whole_scan);
}

static void keep_whole(struct weir_gs *gs, struct weir_slice text)
{
    if (gs->has_whole && weir_buf_append(&gs->whole, text) != 0) {
        weir_stream_fail_held(&gs->stream);
    }
}

/* ---- the model ---- */

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct weir_gs *gs = ctx;
    if (gs->stream.is_over) {
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
    weir_stream_stop_reading(&gs->stream);
    if (fault != NULL) {
        weir_stream_fail(&gs->stream, fault);
        return;
    }
    if (gs->path != NULL) {
        weir_path_end(gs->path);
        drain(gs);
    }
    if (!gs->stream.is_over) {
        start_whole(gs);
        advance(gs);
    }
}

static const struct weir_model_events MODEL_EVENTS = {
    .on_frame = on_frame,
    .on_done = on_done,
};

static void call_model(struct weir_gs *gs)
{
    gs->stream.model_request = (struct weir_model_request){.op = WEIR_MODEL_GENERATE,
                                                           .is_stream = true,
                                                           .model_id = gs->request.model_id,
                                                           .text = gs->request.inputs,
                                                           .params = gs->request.params};
    open_path(gs);
    weir_stream_ask(&gs->stream, gs->stream.task->env->generation, &MODEL_EVENTS, gs);
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
        weir_stream_fail(&gs->stream, fault);
        return;
    }
    weir_buf_append(&gs->scratch, weir_generated_unsuitable_input(
                                      gs->stream.task->arena, gs->input_found, gs->n_input_tokens));
    emit(gs);
    weir_stream_end(&gs->stream);
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
        weir_stream_fail(&gs->stream, fault);
    } else if (gs->input_found->n_found == 0) {
        call_model(gs);
    } else {
        gs->stream.model_request = (struct weir_model_request){.op = WEIR_MODEL_TOKENIZE,
                                                               .model_id = gs->request.model_id,
                                                               .text = gs->request.inputs};
        weir_stream_ask(&gs->stream, gs->stream.task->env->generation, &TOKENIZE_EVENTS, gs);
    }
}

static void undo(void *ctx)
{
    struct weir_gs *gs = ctx;
    weir_stream_dispose(&gs->stream);
    weir_buf_dispose(&gs->second_input);
    weir_buf_dispose(&gs->whole);
    weir_buf_dispose(&gs->scratch);
}

void weir_generation_stream_start(struct weir_task_ctx *task,
                                  const struct weir_task_generation *request,
                                  const struct weir_gather_strategy *strategy, struct weir_out *out)
{
    struct weir_gs *gs = weir_arena_zalloc(task->arena, sizeof *gs);
    gs->request = *request;
    gs->strategy = strategy;
    weir_stream_init(&gs->stream, task, &STREAM_OPS, out);
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
