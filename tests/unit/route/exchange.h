#ifndef WEIR_TESTS_UNIT_ROUTE_EXCHANGE_H
#define WEIR_TESTS_UNIT_ROUTE_EXCHANGE_H

/*
 * A request on the API port without a connection: what the endpoint answers is written down, one
 * line for the head, each write and the end, newlines within them as `\`.
 */
#include "conf/conf.h"
#include "http/stream.h"
#include "route/env.h"
#include "unit/task/script.h"

struct exchange {
    struct weir_http_stream s;
    struct stage *st; /* its fakes, its loop, and its lines */
    struct weir_conf conf;
    struct weir_env env;
    struct weir_request request;
    struct weir_http_field fields[4];
};

static inline struct exchange *exchange_of(struct weir_http_stream *s)
{
    return WEIR_LIST_ENTRY(s, struct exchange, s);
}

static inline void exchange_note(struct weir_http_stream *s, const char *what,
                                 struct weir_slice bytes)
{
    struct weir_buf *lines = &exchange_of(s)->st->lines;
    weir_buf_append(lines, weir_slice_cstr(what));
    for (size_t i = 0; i < bytes.n; i++) {
        weir_buf_append_byte(lines, bytes.p[i] == '\n' ? '\\' : bytes.p[i]);
    }
    weir_buf_append_byte(lines, '\n');
}

static inline void exchange_respond(struct weir_http_stream *s, const struct weir_http_response *r)
{
    char head[128];
    struct weir_slice type =
        weir_http_field_get(r->fields, r->n_fields, WEIR_SLICE("content-type"));
    int n = snprintf(head, sizeof head, "%d %.*s%s", r->status, (int)type.n, type.p,
                     r->keeps_writes ? " framed" : "");
    exchange_note(s, "", weir_slice_make(head, (size_t)n));
}

static inline enum weir_flow exchange_write(struct weir_http_stream *s, struct weir_slice bytes)
{
    exchange_note(s, "", bytes);
    return exchange_of(s)->st->is_full ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

static inline void exchange_end(struct weir_http_stream *s, const struct weir_http_field *trailers,
                                size_t n)
{
    (void)trailers;
    assert_int_equal(n, 0);
    exchange_note(s, "end", WEIR_SLICE(""));
}

static inline void exchange_abort(struct weir_http_stream *s)
{
    exchange_note(s, "abort", WEIR_SLICE(""));
}

static inline void exchange_set_paused(struct weir_http_stream *s, bool is_paused)
{
    exchange_of(s)->st->is_body_paused = is_paused;
}

static const struct weir_http_stream_ops EXCHANGE_OPS = {.respond = exchange_respond,
                                                         .write = exchange_write,
                                                         .end = exchange_end,
                                                         .abort = exchange_abort,
                                                         .set_paused = exchange_set_paused};

static inline struct exchange *exchange_new(const char *type)
{
    struct exchange *x = weir_mem_zalloc(sizeof *x);
    x->st = stage_new();
    x->conf.limits.max_body_bytes = 1 << 20;
    x->conf.limits.max_json_depth = 64;
    x->conf.streaming.heartbeat_ms = 15000;
    x->env = (struct weir_env){.conf = &x->conf, .tasks = x->st->env};
    for (size_t i = 0; i < x->st->n_detectors; i++) {
        struct weir_task_detector *d = &x->st->detectors[i];
        weir_map_put(&x->env.tasks.detectors_by_id, d->id, d);
    }
    x->fields[0] = (struct weir_http_field){WEIR_SLICE("content-type"), weir_slice_cstr(type)};
    x->s = (struct weir_http_stream){.ops = &EXCHANGE_OPS,
                                     .loop = &x->st->loop,
                                     .req = {.method = WEIR_HTTP_POST,
                                             .path = WEIR_SLICE("/api/x"),
                                             .fields = x->fields,
                                             .n_fields = 1,
                                             .has_body = true},
                                     .service_ctx = &x->request};
    x->request = (struct weir_request){.env = &x->env, .task = x->st->task};
    x->request.task.env = &x->env.tasks;
    x->request.task.arena = &x->s.arena;
    return x;
}

static inline void exchange_accept(struct exchange *x, const char *types)
{
    x->fields[x->s.req.n_fields++] =
        (struct weir_http_field){WEIR_SLICE("accept"), weir_slice_cstr(types)};
}

/* Body bytes as they come, `\` for the end of a line. */
static inline void exchange_body(struct exchange *x, const char *text)
{
    char *copy = strdup(text);
    for (char *at = copy; *at != '\0'; at++) {
        *at = *at == '\\' ? '\n' : *at;
    }
    if (x->s.handler != NULL && x->s.handler->on_body != NULL) {
        x->s.body_bytes += strlen(copy);
        x->s.handler->on_body(&x->s, weir_slice_cstr(copy));
    }
    free(copy);
    stage_turn(x->st);
}

static inline void exchange_body_end(struct exchange *x)
{
    x->s.body_ended = true;
    if (x->s.handler != NULL && x->s.handler->on_body_end != NULL) {
        x->s.handler->on_body_end(&x->s);
    }
    stage_turn(x->st);
}

/* The whole body at once. */
static inline void exchange_send(struct exchange *x, const char *text)
{
    exchange_body(x, text);
    exchange_body_end(x);
}

/* Transcript lines; `body TEXT` and `eof` are the caller's. */
static inline void exchange_play(struct exchange *x, const char *script)
{
    script_run(x->st, &(struct script_hooks){0}, script);
}

static inline void exchange_free(struct exchange *x)
{
    weir_arena_dispose(&x->s.arena);
    stage_free(x->st);
    weir_map_dispose(&x->env.tasks.detectors_by_id);
    free(x);
}

#endif
