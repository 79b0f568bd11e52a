#include "route/stream_out.h"

#include "route/env.h"
#include "route/reply.h"
#include "route/stream_stats.h"
#include "wire/json_write.h"
#include "wire/sse.h"

/* ---- bytes ---- */

static void start(struct weir_stream_out *o)
{
    static const struct weir_http_field sse[] = {
        {{"content-type", 12}, {"text/event-stream", 17}},
        {{"cache-control", 13}, {"no-cache", 8}},
        {{"x-accel-buffering", 17}, {"no", 2}},
    };
    static const struct weir_http_field ndjson[] = {
        {{"content-type", 12}, {"application/x-ndjson", 20}},
        {{"cache-control", 13}, {"no-cache", 8}},
        {{"x-accel-buffering", 17}, {"no", 2}},
    };
    if (!o->is_started) {
        o->is_started = true;
        weir_http_stream_respond(
            o->stream, &(struct weir_http_response){.status = 200,
                                                    .fields = o->options.is_ndjson ? ndjson : sse,
                                                    .n_fields = 3,
                                                    .body = WEIR_HTTP_BODY_STREAM});
    }
}

/* Sends the scratch buffer; silence is counted from here. */
static enum weir_flow flush(struct weir_stream_out *o)
{
    start(o);
    enum weir_flow flow = weir_http_stream_write(o->stream, weir_buf_slice(&o->scratch));
    weir_buf_clear(&o->scratch);
    o->last_sent_ms = weir_loop_now_ms(o->stream->loop);
    return flow;
}

static void put_event(struct weir_stream_out *o, struct weir_slice name, struct weir_slice json)
{
    if (o->options.is_ndjson) {
        weir_buf_append(&o->scratch, json);
        weir_buf_append_byte(&o->scratch, '\n');
    } else {
        weir_sse_append_event(&o->scratch, name, json);
    }
}

/* ---- the timer ---- */

static void arm(struct weir_stream_out *o)
{
    uint64_t at_ms = UINT64_MAX;
    if (o->options.heartbeat_ms != 0) {
        at_ms = o->last_sent_ms + o->options.heartbeat_ms;
    }
    uint64_t deadline_ms;
    if (o->chain != NULL && weir_chain_next_deadline(o->chain, &deadline_ms) &&
        deadline_ms < at_ms) {
        at_ms = deadline_ms;
    }
    if (o->is_over || at_ms == UINT64_MAX) {
        weir_loop_cancel(o->stream->loop, &o->timer);
    } else {
        weir_timers_set(&o->stream->loop->timers, &o->timer, at_ms);
    }
}

static void say_something(struct weir_stream_out *o)
{
    if (o->options.is_ndjson) {
        start(o);
        o->last_sent_ms = weir_loop_now_ms(o->stream->loop);
    } else {
        weir_buf_append(&o->scratch, WEIR_SLICE(": keep-alive\n\n"));
        flush(o);
    }
}

static void on_timer(struct weir_timer *t, void *ctx)
{
    struct weir_stream_out *o = ctx;
    uint64_t now_ms = weir_loop_now_ms(o->stream->loop);
    (void)t;
    if (o->chain != NULL) {
        weir_chain_tick(o->chain, now_ms);
    }
    bool is_silent =
        o->options.heartbeat_ms != 0 && now_ms >= o->last_sent_ms + o->options.heartbeat_ms;
    if (!o->is_over && is_silent) {
        say_something(o);
    }
    if (!o->is_over) {
        arm(o);
    }
}

/* ---- the end ---- */

static void finish(struct weir_stream_out *o)
{
    if (o->options.has_done) {
        weir_buf_append(&o->scratch, WEIR_SLICE("data: [DONE]\n\n"));
    }
    if (o->scratch.n != 0 || !o->is_started) {
        flush(o);
    }
    o->is_over = true;
    weir_loop_cancel(o->stream->loop, &o->timer);
    weir_stream_stats_report(o);
    o->stream->handler = NULL;
    weir_http_stream_end(o->stream);
}

/* ---- through the chain ---- */

static void on_chain(void *ctx, enum weir_batch_reason why, const struct weir_event *e)
{
    struct weir_stream_out *o = ctx;
    (void)why;
    switch (e->kind) {
    case WEIR_EVENT_CHUNK:
        put_event(o, WEIR_SLICE(""), e->data);
        break;
    case WEIR_EVENT_COMMENT:
        weir_sse_append_comment(&o->scratch, e->data);
        break;
    case WEIR_EVENT_ERROR:
        put_event(o, WEIR_SLICE("error"), e->data);
        finish(o);
        return;
    case WEIR_EVENT_DONE:
    case WEIR_EVENT_EOF:
    case WEIR_EVENT_DISCARD:
        finish(o);
        return;
    }
    if (flush(o) == WEIR_FLOW_FULL && !o->is_blocked) {
        o->is_blocked = true;
        weir_chain_blocked(o->chain, o->last_sent_ms, true);
    }
}

static enum weir_flow push(struct weir_stream_out *o, const struct weir_event *e)
{
    enum weir_flow flow = WEIR_FLOW_OK;
    weir_chain_push(o->chain, weir_loop_now_ms(o->stream->loop), e, &flow);
    if (!o->is_over) {
        arm(o);
    }
    o->owes_resume = flow == WEIR_FLOW_FULL;
    return flow;
}

/* ---- what the task calls ---- */

static enum weir_flow send_plain(struct weir_stream_out *o)
{
    o->n_events++;
    o->n_bytes += o->scratch.n;
    enum weir_flow flow = flush(o);
    arm(o);
    o->owes_resume = flow == WEIR_FLOW_FULL;
    return flow;
}

static enum weir_flow out_event(struct weir_out *base, struct weir_slice json)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    if (o->chain != NULL) {
        return push(o, &(struct weir_event){.kind = WEIR_EVENT_CHUNK, .data = json});
    }
    put_event(o, WEIR_SLICE(""), json);
    return send_plain(o);
}

static enum weir_flow out_raw(struct weir_out *base, const struct weir_out_raw *event)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    if (o->chain != NULL) {
        return push(o, &(struct weir_event){
                           .kind = WEIR_EVENT_CHUNK, .data = event->json, .sse_id = event->sse_id});
    }
    weir_buf_append(&o->scratch, event->bytes);
    return send_plain(o);
}

static void out_end(struct weir_out *base)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    if (o->chain != NULL) {
        push(o, &(struct weir_event){.kind = WEIR_EVENT_DONE});
    } else {
        finish(o);
    }
}

/* OpenAI clients raise what has an `error` member; the rest is the shape of all our errors. */
static void write_error(struct weir_buf *out, const struct weir_reply_problem *problem,
                        bool is_plain)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("code"));
    weir_json_write_i64(&w, problem->status);
    weir_json_write_key(&w, WEIR_SLICE("details"));
    weir_json_write_string(&w, problem->details);
    if (!is_plain) {
        weir_json_write_key(&w, WEIR_SLICE("error"));
        weir_json_write_begin_object(&w);
        weir_json_write_key(&w, WEIR_SLICE("message"));
        weir_json_write_string(&w, problem->details);
        weir_json_write_key(&w, WEIR_SLICE("type"));
        weir_json_write_string(&w, weir_slice_cstr(weir_reply_error_type(problem->status)));
        weir_json_write_key(&w, WEIR_SLICE("code"));
        weir_json_write_i64(&w, problem->status);
        weir_json_write_end_object(&w);
    }
    weir_json_write_end_object(&w);
}

static void out_fail(struct weir_out *base, const struct weir_fault *fault)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    const struct weir_log_ctx *log = &weir_request_of(o->stream)->log;
    bool holds_text = o->chain != NULL && weir_chain_buffered_bytes(o->chain) != 0;
    if (!o->is_started && !holds_text && !o->options.is_fms) {
        o->is_over = true;
        weir_loop_cancel(o->stream->loop, &o->timer);
        weir_reply_fault(o->stream, fault, log);
        return;
    }
    struct weir_reply_problem problem = weir_reply_problem_of(fault, &o->stream->arena);
    weir_reply_log_fault(fault, problem.status, log);
    struct weir_buf json = {0};
    write_error(&json, &problem, o->options.is_fms || o->options.is_ndjson);
    if (o->chain != NULL) {
        push(o, &(struct weir_event){.kind = WEIR_EVENT_ERROR, .data = weir_buf_slice(&json)});
    } else {
        put_event(o, WEIR_SLICE("error"), weir_buf_slice(&json));
        finish(o);
    }
    weir_buf_dispose(&json);
}

static const struct weir_out_ops OPS = {
    .event = out_event,
    .raw = out_raw,
    .end = out_end,
    .fail = out_fail,
};

/* ---- what the connection calls ---- */

static void on_resume(struct weir_http_stream *s)
{
    struct weir_stream_out *o = s->ctx;
    if (o->chain != NULL && o->is_blocked) {
        o->is_blocked = false;
        weir_chain_blocked(o->chain, weir_loop_now_ms(s->loop), false);
        if (o->is_over) {
            return;
        }
        arm(o);
    }
    bool is_full = o->chain != NULL && weir_chain_is_full(o->chain);
    if (o->owes_resume && !is_full) {
        o->owes_resume = false;
        o->base.on_resume(o->base.ctx);
    }
}

static const struct weir_http_handler HANDLER = {.on_resume = on_resume};

static void undo(void *ctx)
{
    struct weir_stream_out *o = ctx;
    weir_loop_cancel(o->stream->loop, &o->timer);
    weir_chain_free(o->chain);
    o->chain = NULL;
    weir_buf_dispose(&o->scratch);
}

struct weir_stream_out *weir_stream_out_new(struct weir_http_stream *s,
                                            const struct weir_stream_out_options *options)
{
    struct weir_stream_out *o = weir_arena_zalloc(&s->arena, sizeof *o);
    o->base.ops = &OPS;
    o->stream = s;
    o->options = *options;
    o->timer.fn = on_timer;
    o->timer.ctx = o;
    o->last_sent_ms = weir_loop_now_ms(s->loop);
    if (options->batching != NULL && options->batching->is_used) {
        o->chain = weir_chain_new(&options->batching->chain, on_chain, o);
    }
    weir_arena_defer(&s->arena, undo, o);
    s->handler = &HANDLER;
    s->ctx = o;
    arm(o);
    return o;
}
