#include "http/stream.h"

#include "base/assert.h"

void weir_http_stream_respond(struct weir_http_stream *s, const struct weir_http_response *r)
{
    WEIR_ASSERT(s->status == 0 && !s->response_ended);
    s->status = r->status;
    s->last_out_ms = weir_loop_now_ms(s->loop);
    s->ops->respond(s, r);
}

enum weir_flow weir_http_stream_write(struct weir_http_stream *s, struct weir_slice bytes)
{
    WEIR_ASSERT(s->status != 0 && !s->response_ended);
    s->sent_bytes += bytes.n;
    if (bytes.n != 0 && s->ops->write(s, bytes) == WEIR_FLOW_FULL) {
        s->is_full = true;
    }
    /* Once FULL it stays so until on_resume, whatever room there is in between: an OK would take
     * back a promise that the handler waits for. */
    return s->is_full ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

void weir_http_stream_end_with(struct weir_http_stream *s, const struct weir_http_field *trailers,
                               size_t n)
{
    WEIR_ASSERT(s->status != 0 && !s->response_ended);
    s->response_ended = true;
    s->ops->end(s, trailers, n);
}

void weir_http_stream_end(struct weir_http_stream *s)
{
    weir_http_stream_end_with(s, NULL, 0);
}

void weir_http_stream_abort(struct weir_http_stream *s)
{
    s->handler = NULL;
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
