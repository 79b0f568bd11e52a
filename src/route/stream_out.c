#include "route/stream_out.h"

#include "route/env.h"
#include "route/reply.h"
#include "wire/json_write.h"
#include "wire/sse.h"

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

static void expect_silence(struct weir_stream_out *o)
{
    if (o->options.heartbeat_ms != 0) {
        weir_loop_after(o->stream->loop, &o->heartbeat, o->options.heartbeat_ms);
    }
}

/* Sends the scratch buffer; silence is counted from here. */
static enum weir_flow flush(struct weir_stream_out *o)
{
    start(o);
    enum weir_flow flow = weir_http_stream_write(o->stream, weir_buf_slice(&o->scratch));
    weir_buf_clear(&o->scratch);
    expect_silence(o);
    return flow;
}

static void on_heartbeat(struct weir_timer *t, void *ctx)
{
    struct weir_stream_out *o = ctx;
    (void)t;
    if (o->options.is_ndjson) {
        start(o);
        return;
    }
    weir_buf_append(&o->scratch, WEIR_SLICE(": keep-alive\n\n"));
    flush(o);
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

static enum weir_flow out_event(struct weir_out *base, struct weir_slice json)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    put_event(o, WEIR_SLICE(""), json);
    return flush(o);
}

static enum weir_flow out_raw(struct weir_out *base, struct weir_slice bytes)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    weir_buf_append(&o->scratch, bytes);
    return flush(o);
}

static void finish(struct weir_stream_out *o)
{
    if (o->options.has_done) {
        weir_buf_append(&o->scratch, WEIR_SLICE("data: [DONE]\n\n"));
    }
    if (o->scratch.n != 0 || !o->is_started) {
        flush(o);
    }
    weir_loop_cancel(o->stream->loop, &o->heartbeat);
    o->stream->handler = NULL;
    weir_http_stream_end(o->stream);
}

static void out_end(struct weir_out *base)
{
    finish((struct weir_stream_out *)base);
}

/* OpenAI clients raise what has an `error` member; the rest is the shape of all our errors. */
static void write_error(struct weir_buf *out, const struct weir_reply_problem *problem, bool is_fms)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("code"));
    weir_json_write_i64(&w, problem->status);
    weir_json_write_key(&w, WEIR_SLICE("details"));
    weir_json_write_string(&w, problem->details);
    if (!is_fms) {
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
    if (!o->is_started && !o->options.is_fms) {
        weir_loop_cancel(o->stream->loop, &o->heartbeat);
        weir_reply_fault(o->stream, fault, log);
        return;
    }
    struct weir_reply_problem problem = weir_reply_problem_of(fault, &o->stream->arena);
    weir_reply_log_fault(fault, problem.status, log);
    struct weir_buf json = {0};
    write_error(&json, &problem, o->options.is_fms || o->options.is_ndjson);
    put_event(o, WEIR_SLICE("error"), weir_buf_slice(&json));
    weir_buf_dispose(&json);
    finish(o);
}

static const struct weir_out_ops OPS = {
    .event = out_event,
    .raw = out_raw,
    .end = out_end,
    .fail = out_fail,
};

static void on_resume(struct weir_http_stream *s)
{
    struct weir_stream_out *o = s->ctx;
    if (o->base.on_resume != NULL) {
        o->base.on_resume(o->base.ctx);
    }
}

static const struct weir_http_handler HANDLER = {.on_resume = on_resume};

static void undo(void *ctx)
{
    struct weir_stream_out *o = ctx;
    weir_loop_cancel(o->stream->loop, &o->heartbeat);
    weir_buf_dispose(&o->scratch);
}

struct weir_stream_out *weir_stream_out_new(struct weir_http_stream *s,
                                            const struct weir_stream_out_options *options)
{
    struct weir_stream_out *o = weir_arena_zalloc(&s->arena, sizeof *o);
    o->base.ops = &OPS;
    o->stream = s;
    o->options = *options;
    o->heartbeat.fn = on_heartbeat;
    o->heartbeat.ctx = o;
    weir_arena_defer(&s->arena, undo, o);
    s->handler = &HANDLER;
    s->ctx = o;
    expect_silence(o);
    return o;
}
