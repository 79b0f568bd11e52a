#include "task/stream.h"

#include "io/loop.h"

/* The end of a server's answer usually comes right behind its last event. A connection whose answer
 * was read to its end can be used again. */
enum { PATIENCE_MS = 100 };

/* ---- the model server ---- */

void weir_stream_stop_model(struct weir_stream *s)
{
    weir_model_free(s->run);
    s->run = NULL;
}

void weir_stream_ask(struct weir_stream *s, const struct weir_model *model,
                     const struct weir_model_events *events, void *ctx)
{
    struct weir_model_env env = weir_task_model_env(s->task);
    weir_stream_stop_model(s);
    s->run = weir_model_start(model, &env, &s->model_request, events, ctx);
}

/* ---- reading on or not ---- */

static void set_paused(void *ctx, bool is_paused)
{
    struct weir_stream *s = ctx;
    if (s->ops->set_paused != NULL) {
        s->ops->set_paused(s, is_paused);
    } else if (s->run != NULL && is_paused) {
        weir_model_pause(s->run);
    } else if (s->run != NULL) {
        weir_model_resume(s->run);
    }
}

static void on_resume(void *ctx)
{
    struct weir_stream *s = ctx;
    weir_source_set_full(&s->source, false);
    if (!s->is_over) {
        s->ops->resume(s);
    }
}

static void on_stuck(void *ctx)
{
    weir_stream_fail_held(ctx);
}

void weir_stream_read_on(struct weir_stream *s, size_t held_bytes)
{
    bool is_heavy = held_bytes >= s->source.max_held_bytes;
    enum weir_path_wait waits = is_heavy ? s->ops->waits(s) : WEIR_PATH_IDLE;
    if (!weir_source_decide(&s->source, held_bytes, waits)) {
        weir_stream_fail_held(s);
    }
}

void weir_stream_stop_reading(struct weir_stream *s)
{
    weir_source_end(&s->source);
}

bool weir_stream_awaits_source(const struct weir_stream *s)
{
    return weir_timer_is_armed(&s->patience);
}

/* ---- what leaves ---- */

static void note_flow(struct weir_stream *s, enum weir_flow flow)
{
    if (flow == WEIR_FLOW_FULL) {
        weir_source_set_full(&s->source, true);
    }
}

void weir_stream_send(struct weir_stream *s, struct weir_slice json)
{
    note_flow(s, s->out->ops->event(s->out, json));
}

void weir_stream_send_raw(struct weir_stream *s, const struct weir_out_raw *event)
{
    note_flow(s, s->out->ops->raw(s->out, event));
}

void weir_stream_send_framed(struct weir_stream *s, const struct weir_out_raw *event)
{
    const struct weir_out_ops *ops = s->out->ops;
    note_flow(s,
              ops->framed != NULL ? ops->framed(s->out, event) : ops->event(s->out, event->json));
}

/* ---- the end ---- */

static void stop(struct weir_stream *s)
{
    weir_stream_stop_model(s);
    if (s->ops->stop != NULL) {
        s->ops->stop(s);
    }
}

/* Who failed, or said the last word, may be a detector in the middle of telling: what still runs is
 * stopped when it has returned. */
static void on_cleanup(struct weir_post *post)
{
    stop(WEIR_LIST_ENTRY(post, struct weir_stream, cleanup));
}

static void be_over(struct weir_stream *s)
{
    s->is_over = true;
    weir_stream_stop_reading(s);
    weir_loop_cancel(s->task->loop, &s->patience);
    weir_loop_post(s->task->loop, &s->cleanup);
}

/* What was said last may have been too much to hold: then it has failed. */
void weir_stream_end(struct weir_stream *s)
{
    if (s->is_over) {
        return;
    }
    be_over(s);
    s->out->ops->end(s->out);
}

static void on_patience(struct weir_timer *t, void *ctx)
{
    (void)t;
    weir_stream_end(ctx);
}

void weir_stream_end_with_source(struct weir_stream *s)
{
    if (s->source.has_ended || s->run == NULL) {
        weir_stream_end(s);
    } else if (!weir_timer_is_armed(&s->patience)) {
        weir_loop_after(s->task->loop, &s->patience, PATIENCE_MS);
    }
}

void weir_stream_finish(struct weir_stream *s, struct weir_slice body)
{
    struct weir_task_answer answer = {.body = body};
    if (s->is_over) {
        return;
    }
    be_over(s);
    s->done(s->ctx, &answer);
}

void weir_stream_abandon(struct weir_stream *s)
{
    if (!s->is_over) {
        be_over(s);
    }
}

void weir_stream_fail(struct weir_stream *s, const struct weir_fault *fault)
{
    if (s->is_over) {
        return;
    }
    if (s->ops->flush != NULL) {
        s->ops->flush(s);
    }
    const struct weir_fault *kept = weir_fault_keep(s->task->arena, fault);
    be_over(s);
    if (s->out != NULL) {
        s->out->ops->fail(s->out, kept);
    } else {
        struct weir_task_answer answer = {.fault = kept};
        s->done(s->ctx, &answer);
    }
}

void weir_stream_fail_held(struct weir_stream *s)
{
    struct weir_fault fault = weir_source_limit_fault(s->task->arena, s->source.max_held_bytes);
    weir_stream_fail(s, &fault);
}

/* ---- beginning, and going ---- */

static void init(struct weir_stream *s, struct weir_task_ctx *task,
                 const struct weir_stream_ops *ops)
{
    s->ops = ops;
    s->task = task;
    s->cleanup.fn = on_cleanup;
    s->patience = (struct weir_timer){.fn = on_patience, .ctx = s};
    s->source = (struct weir_source){.loop = task->loop,
                                     .account = task->arena->account,
                                     .max_held_bytes = task->env->max_held_bytes,
                                     .set_paused = set_paused,
                                     .on_stuck = on_stuck,
                                     .ctx = s,
                                     .n_full_chunkers = &task->n_full_chunkers};
    weir_source_init(&s->source);
}

void weir_stream_init(struct weir_stream *s, struct weir_task_ctx *task,
                      const struct weir_stream_ops *ops, struct weir_out *out)
{
    init(s, task, ops);
    s->out = out;
    out->on_resume = on_resume;
    out->ctx = s;
}

void weir_stream_init_whole(struct weir_stream *s, struct weir_task_ctx *task,
                            const struct weir_stream_ops *ops, weir_task_done_fn done, void *ctx)
{
    init(s, task, ops);
    s->done = done;
    s->ctx = ctx;
}

void weir_stream_dispose(struct weir_stream *s)
{
    s->is_over = true;
    weir_stream_stop_reading(s);
    weir_loop_unpost(&s->cleanup);
    weir_loop_cancel(s->task->loop, &s->patience);
    stop(s);
}
