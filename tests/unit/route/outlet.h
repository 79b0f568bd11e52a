#ifndef WEIR_TESTS_UNIT_ROUTE_OUTLET_H
#define WEIR_TESTS_UNIT_ROUTE_OUTLET_H

/* A streamed answer between a task that is the test and a connection that is a fake. */
#include "route/stream_out.h"
#include "route/stream_stats.h"
#include "unit/flow_watch.h"
#include "unit/route/fake_stream.h"

/* The last line about a stream, as it was logged. */
static char outlet_log[2048];

static inline void outlet_on_line(void *ctx, struct weir_slice line)
{
    static const char words[] = "stream ended";
    (void)ctx;
    const char *at = memmem(line.p, line.n, words, sizeof words - 1);
    if (at != NULL) {
        (void)snprintf(outlet_log, sizeof outlet_log, "%.*s", (int)(line.p + line.n - at), at);
    }
}

/* For cmocka: before all tests. */
static inline int outlet_setup(void **state)
{
    (void)state;
    weir_stream_stats_declare();
    weir_log_set_capture(outlet_on_line, NULL);
    return 0;
}

struct outlet {
    struct fake *f;
    struct weir_stream_out *o;
    struct weir_batching batching;
    unsigned n_resumed;
    struct flow_watch flow;
};

static inline void outlet_resumed(void *ctx)
{
    struct outlet *t = ctx;
    assert_false(t->o->is_over);
    flow_watch_resumed(&t->flow);
    t->n_resumed++;
}

#define OUTLET_MODEL "openai: {service: {hostname: localhost, port: 8000}}\n"

/* `streaming` is that section of a configuration, as flow YAML; NULL: nothing can be batched. */
static inline void outlet_open(struct outlet *t, const char *streaming,
                               struct weir_stream_out_options options)
{
    char conf[1024];
    struct weir_json json;
    struct weir_buf why = {0};
    *t = (struct outlet){0};
    (void)snprintf(conf, sizeof conf, OUTLET_MODEL "streaming: %s\n",
                   streaming != NULL ? streaming : "{}");
    t->f = fake_new(conf);
    weir_json_parse(&json, WEIR_SLICE("{}"), NULL, &t->f->stream.arena, NULL);
    struct weir_batching_request request = {.body = &json, .model = WEIR_SLICE("m")};
    assert_int_equal(weir_batching_resolve(&t->f->stream, &request, &t->batching, &why), 0);
    options.batching = streaming != NULL ? &t->batching : NULL;
    t->o = weir_stream_out_new(&t->f->stream, &options);
    t->o->base.on_resume = outlet_resumed;
    t->o->base.ctx = t;
}

/* Server-sent events that end with [DONE], without heartbeats. */
static inline void outlet_sse(struct outlet *t, const char *streaming)
{
    outlet_open(t, streaming, (struct weir_stream_out_options){.has_done = true});
}

static inline void outlet_close(struct outlet *t)
{
    fake_free(t->f);
}

static inline enum weir_flow outlet_event(struct outlet *t, const char *json)
{
    return FLOW_WATCH_WRITE(&t->flow, t->o->base.ops->event(&t->o->base, weir_slice_cstr(json)));
}

static inline enum weir_flow outlet_raw(struct outlet *t, const char *bytes, const char *json,
                                        const char *id)
{
    struct weir_out_raw event = {weir_slice_cstr(bytes), weir_slice_cstr(json),
                                 weir_slice_cstr(id)};
    return FLOW_WATCH_WRITE(&t->flow, t->o->base.ops->raw(&t->o->base, &event));
}

/* Framed as events without a name are. The bytes say so by a blank more than `event` writes. */
#define OUTLET_FRAMED(json) "data:  " json "\n\n"

static inline enum weir_flow outlet_framed(struct outlet *t, const char *bytes, const char *json)
{
    struct weir_out_raw event = {.bytes = weir_slice_cstr(bytes), .json = weir_slice_cstr(json)};
    return FLOW_WATCH_WRITE(&t->flow, t->o->base.ops->framed(&t->o->base, &event));
}

static inline void outlet_end(struct outlet *t)
{
    flow_watch_ended(&t->flow);
    t->o->base.ops->end(&t->o->base);
}

/* The model server answers this status, or (0) nothing usable. */
static inline void outlet_fail(struct outlet *t, int status)
{
    struct weir_fault fault = {.origin = WEIR_FAULT_CHAT_COMPLETION,
                               .id = WEIR_SLICE("m"),
                               .err = WEIR_EPEER,
                               .status = status,
                               .message = WEIR_SLICE("no luck")};
    (t->o->base.ops->fail)(&t->o->base, &fault); /* cmocka has a macro of that name */
}

#define DELTA(members) "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{" members "}}]}"
#define TEXT(word) DELTA("\"content\":\"" word "\"")
#define FINISH "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}"
#define MERGED(delta)                                                                              \
    "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{" delta "},\"finish_reason\":null}]}"
#define JOINED(words) MERGED("\"content\":\"" words "\"")
#define CALL(id, arguments)                                                                        \
    "\"tool_calls\":[{\"index\":0,\"id\":\"" id "\",\"type\":\"function\",\"function\":{"          \
    "\"name\":\"f\",\"arguments\":\"" arguments "\"}}]"
#define SSE(json) "data: " json "\n\n"
#define DONE "data: [DONE]\n\n"
#define ERROR_EVENT                                                                                \
    "event: error\ndata: {\"code\":500,\"details\":\"" SILENT_ERROR                                \
    "\",\"error\":{\"message\":\"" SILENT_ERROR "\",\"type\":\"server_error\",\"code\":500}}\n\n"
#define SILENT_ERROR "unexpected error occurred while processing request"

#endif
