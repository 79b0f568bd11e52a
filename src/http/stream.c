#include "http/stream.h"

#include "base/assert.h"
#include "http/http_int.h"

void weir_http_stream_respond(struct weir_http_stream *s, const struct weir_http_response *r)
{
    WEIR_ASSERT(s->status == 0 && !s->response_ended);
    s->status = r->status;
    s->last_out_ms = weir_loop_now_ms(s->loop);
    s->head_ms = s->last_out_ms;
    if (s->n_extra == 0) {
        s->ops->respond(s, r);
        return;
    }
    struct weir_http_response with_extra = *r;
    struct weir_http_field *fields =
        weir_arena_array(&s->arena, r->n_fields + s->n_extra, sizeof *fields);
    for (size_t i = 0; i < r->n_fields; i++) {
        fields[i] = r->fields[i];
    }
    for (size_t i = 0; i < s->n_extra; i++) {
        fields[r->n_fields + i] = s->extra[i];
    }
    with_extra.fields = fields;
    with_extra.n_fields += s->n_extra;
    s->ops->respond(s, &with_extra);
}

enum weir_flow weir_http_stream_write(struct weir_http_stream *s, struct weir_slice bytes)
{
    WEIR_ASSERT(s->status != 0 && !s->response_ended);
    s->sent_bytes += bytes.n;
    bool is_full = bytes.n != 0 && s->ops->write(s, bytes) == WEIR_FLOW_FULL;
    return weir_flow_gate_answer(&s->gate, is_full);
}

void weir_http_stream_end_with(struct weir_http_stream *s, const struct weir_http_field *trailers,
                               size_t n)
{
    WEIR_ASSERT(s->status != 0 && !s->response_ended);
    s->response_ended = true;
    weir_flow_gate_close(&s->gate);
    s->end_ms = weir_loop_now_ms(s->loop);
    s->ops->end(s, trailers, n);
}

void weir_http_stream_end(struct weir_http_stream *s)
{
    weir_http_stream_end_with(s, NULL, 0);
}

void weir_http_stream_abort(struct weir_http_stream *s)
{
    s->handler = NULL;
    weir_flow_gate_close(&s->gate);
    s->ops->abort(s);
}

void weir_http_stream_pause_body(struct weir_http_stream *s)
{
    if (!s->body_paused && !s->body_ended) {
        s->body_paused = true;
        s->ops->set_paused(s, true);
    }
}

void weir_http_stream_resume_body(struct weir_http_stream *s)
{
    if (s->body_paused) {
        s->body_paused = false;
        s->ops->set_paused(s, false);
    }
}

void weir_http_stream_reply(struct weir_http_stream *s, int status,
                            const struct weir_http_field *fields, size_t n_fields,
                            struct weir_slice body)
{
    struct weir_http_response r = {.status = status,
                                   .fields = fields,
                                   .n_fields = n_fields,
                                   .body = WEIR_HTTP_BODY_LENGTH,
                                   .length = body.n};
    if (status == 204) {
        r.body = WEIR_HTTP_BODY_NONE;
    }
    weir_http_stream_respond(s, &r);
    weir_http_stream_write(s, body);
    weir_http_stream_end(s);
}

/* For the protocols: what they all do with a stream. */

void weir_http__stream_init(struct weir_http_stream *s, struct weir_http_conn *c,
                            const struct weir_http_stream_ops *ops)
{
    s->ops = ops;
    s->loop = c->ep->loop;
    s->peer = c->peer;
    s->arena.account = &c->account;
    s->body_timeout_ms = c->limits.body_timeout_ms;
    s->started_ms = weir_loop_now_ms(c->ep->loop);
    s->last_in_ms = s->started_ms;
    s->last_out_ms = s->started_ms;
}

uint64_t weir_http__stream_body_deadline(const struct weir_http_stream *s,
                                         const struct weir_http_limits *l, const char **why)
{
    if (s->body_ended || s->body_paused) {
        return UINT64_MAX;
    }
    uint64_t idle_ms = s->last_in_ms + l->idle_timeout_ms;
    uint64_t all_ms = s->body_timeout_ms != 0 ? s->started_ms + s->body_timeout_ms : UINT64_MAX;
    *why = all_ms < idle_ms ? "the request body did not come in time: limits.body_timeout"
                            : "no more of the request body came in time: limits.idle_timeout";
    return all_ms < idle_ms ? all_ms : idle_ms;
}

/* A handler that has answered gets no more up-calls. */
static const struct weir_http_handler *listener_of(const struct weir_http_stream *s)
{
    static const struct weir_http_handler nobody;
    return s->handler != NULL && !s->response_ended ? s->handler : &nobody;
}

bool weir_http__stream_wants_body(const struct weir_http_stream *s)
{
    return listener_of(s)->on_body != NULL;
}

void weir_http__stream_give(struct weir_http_stream *s, struct weir_slice bytes)
{
    if (weir_http__stream_wants_body(s)) {
        s->handler->on_body(s, bytes);
    }
}

void weir_http__stream_give_end(struct weir_http_stream *s)
{
    s->body_ended = true;
    if (listener_of(s)->on_body_end != NULL) {
        s->handler->on_body_end(s);
    }
}

void weir_http__stream_resume(struct weir_http_stream *s)
{
    if (weir_flow_gate_resume(&s->gate) && listener_of(s)->on_resume != NULL) {
        s->handler->on_resume(s);
    }
}

void weir_http__stream_has_room(struct weir_http_stream *s)
{
    weir_flow_gate_has_room(&s->gate);
    weir_http__stream_resume(s);
}

/* The idle time starts anew, so that a handler that keeps the request is asked once per idle
 * time. */
bool weir_http__stream_is_late(struct weir_http_stream *s)
{
    if (listener_of(s)->on_late == NULL) {
        return false;
    }
    s->last_in_ms = weir_loop_now_ms(s->loop);
    s->handler->on_late(s);
    return true;
}

void weir_http__stream_gone(struct weir_http_stream *s, int err)
{
    if (s->is_gone || s->response_ended) {
        return;
    }
    s->is_gone = true;
    weir_flow_gate_close(&s->gate);
    if (s->handler != NULL && s->handler->on_gone != NULL) {
        s->handler->on_gone(s, err);
    }
    s->handler = NULL;
}

void weir_http__stream_refuse(struct weir_http_stream *s, struct weir_http_conn *c, int status,
                              const char *what)
{
    const struct weir_http_endpoint *ep = c->ep;
    struct weir_buf body = {0};
    struct weir_http_field fields[] = {
        {WEIR_SLICE("content-type"), WEIR_SLICE("application/json")},
        {WEIR_SLICE("retry-after"), WEIR_SLICE("1")},
    };
    if (s->service_ctx == NULL && ep->service->on_refused != NULL) {
        ep->service->on_refused(ep->ctx, s);
    }
    ep->service->render_error(ep->ctx, &s->req, status, what, &body);
    s->handler = NULL;
    weir_http_stream_reply(s, status, fields, status == 503 ? 2 : 1, weir_buf_slice(&body));
    weir_buf_dispose(&body);
}

void weir_http__stream_dispose(struct weir_http_stream *s, struct weir_http_conn *c)
{
    c->ep->service->on_done(c->ep->ctx, s);
    s->handler = NULL;
    weir_arena_dispose(&s->arena);
}
