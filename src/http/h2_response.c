/*
 * The answer of one HTTP/2 stream: written bytes wait in the stream's queue, and nghttp2 asks for
 * the next stretch of them when there is room for a DATA frame.
 */
#include "base/assert.h"
#include "base/mem.h"
#include "http/h2_server_int.h"

enum { MAX_RESPONSE_FIELDS = 64 };

/* The body is over: so is the stream, unless fields follow. */
static uint32_t end_body(const struct weir_h2_stream *hs)
{
    nghttp2_nv fields[MAX_RESPONSE_FIELDS];
    for (size_t i = 0; i < hs->n_trailers; i++) {
        fields[i] = weir_h2__nv(hs->trailers[i].name, hs->trailers[i].value);
    }
    if (hs->n_trailers == 0) {
        return NGHTTP2_DATA_FLAG_EOF;
    }
    nghttp2_submit_trailer(weir_h2__session_of(hs), hs->id, fields, hs->n_trailers);
    return NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
}

static void note_write(struct weir_h2_writes *w, size_t bytes)
{
    if (w->head + w->n == w->cap && w->head >= w->n && w->n != 0) {
        memmove(w->bytes, w->bytes + w->head, w->n * sizeof *w->bytes);
        w->head = 0;
    } else if (w->head + w->n == w->cap) {
        w->cap = w->cap != 0 ? w->cap * 2 : 16;
        w->bytes = weir_mem_realloc(w->bytes, w->cap * sizeof *w->bytes);
    }
    w->bytes[w->head + w->n++] = bytes;
}

/* How much the next frame may have: what is left of the oldest write. */
static size_t left_of_write(const struct weir_h2_stream *hs, size_t length)
{
    const struct weir_h2_writes *w = &hs->writes;
    bool is_short = hs->keeps_writes && w->n != 0 && w->bytes[w->head] < length;
    return is_short ? w->bytes[w->head] : length;
}

static void note_framed(struct weir_h2_writes *w, size_t bytes)
{
    if (w->n == 0 || (w->bytes[w->head] -= bytes) != 0) {
        return;
    }
    w->head++;
    w->n--;
    if (w->n == 0) {
        w->head = 0;
    }
}

/* A stretch of the body for one DATA frame. */
static ssize_t read_body(nghttp2_session *session, int32_t stream_id, uint8_t *buf, size_t length,
                         uint32_t *data_flags, nghttp2_data_source *source, void *user_data)
{
    struct weir_h2_stream *hs = source->ptr;
    size_t n = 0;
    (void)session;
    (void)stream_id;
    (void)user_data;
    length = left_of_write(hs, length);
    while (n < length && hs->out.n != 0) {
        struct weir_slice run = weir_bufq_peek(&hs->out);
        size_t take = run.n < length - n ? run.n : length - n;
        memcpy(buf + n, run.p, take);
        weir_bufq_consume(&hs->out, take);
        n += take;
    }
    note_framed(&hs->writes, n);
    hs->base.last_out_ms = weir_loop_now_ms(hs->base.loop);
    if (hs->out.n <= hs->out.max / 2 && weir_flow_gate_has_room(&hs->base.gate)) {
        weir_http__conn_post(hs->conn);
    }
    if (hs->out.n == 0 && hs->base.response_ended) {
        *data_flags |= end_body(hs);
    } else if (n == 0) {
        hs->is_deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)n;
}

static void wake(struct weir_h2_stream *hs)
{
    if (hs->is_deferred) {
        hs->is_deferred = false;
        nghttp2_session_resume_data(weir_h2__session_of(hs), hs->id);
    }
    weir_sock_mark_dirty(&hs->conn->sock);
}

static void h2_respond(struct weir_http_stream *s, const struct weir_http_response *r)
{
    struct weir_h2_stream *hs = weir_h2__of(s);
    WEIR_ASSERT(r->n_fields <= MAX_RESPONSE_FIELDS);
    nghttp2_nv fields[MAX_RESPONSE_FIELDS + 3];
    size_t n = 0;
    char status[WEIR_HTTP_DECIMAL_BYTES];
    fields[n++] =
        weir_h2__nv(WEIR_SLICE(":status"), weir_http_decimal(status, (uint64_t)r->status));
    for (size_t i = 0; i < r->n_fields; i++) {
        fields[n++] = weir_h2__nv(r->fields[i].name, r->fields[i].value);
    }
    fields[n++] = weir_h2__nv(WEIR_SLICE("date"), weir_http_endpoint_date(hs->conn->ep));
    char length[WEIR_HTTP_DECIMAL_BYTES];
    if (r->body == WEIR_HTTP_BODY_LENGTH) {
        fields[n++] =
            weir_h2__nv(WEIR_SLICE("content-length"), weir_http_decimal(length, r->length));
    }
    bool is_empty =
        r->body == WEIR_HTTP_BODY_NONE || (r->body == WEIR_HTTP_BODY_LENGTH && r->length == 0);
    hs->no_body_out = is_empty || s->req.method == WEIR_HTTP_HEAD;
    hs->keeps_writes = r->keeps_writes;
    nghttp2_data_provider provider = {.source.ptr = hs, .read_callback = read_body};
    nghttp2_submit_response(weir_h2__session_of(hs), hs->id, fields, n,
                            hs->no_body_out ? NULL : &provider);
    weir_sock_mark_dirty(&hs->conn->sock);
}

static enum weir_flow h2_write(struct weir_http_stream *s, struct weir_slice bytes)
{
    struct weir_h2_stream *hs = weir_h2__of(s);
    if (hs->no_body_out) {
        return WEIR_FLOW_OK;
    }
    if (hs->out.n == 0) {
        s->last_out_ms = weir_loop_now_ms(s->loop);
    }
    weir_bufq_append(&hs->out, bytes);
    if (hs->keeps_writes) {
        note_write(&hs->writes, bytes.n);
    }
    wake(hs);
    return weir_bufq_is_full(&hs->out) ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

static void h2_end(struct weir_http_stream *s, const struct weir_http_field *trailers, size_t n)
{
    struct weir_h2_stream *hs = weir_h2__of(s);
    WEIR_ASSERT(n <= MAX_RESPONSE_FIELDS);
    if (n != 0) {
        hs->trailers = weir_arena_array(&s->arena, n, sizeof *trailers);
        hs->n_trailers = n;
    }
    for (size_t i = 0; i < n; i++) {
        hs->trailers[i].name = weir_arena_dup(&s->arena, trailers[i].name);
        hs->trailers[i].value = weir_arena_dup(&s->arena, trailers[i].value);
    }
    wake(hs);
}

static void h2_abort(struct weir_http_stream *s)
{
    struct weir_h2_stream *hs = weir_h2__of(s);
    s->is_gone = true;
    nghttp2_submit_rst_stream(weir_h2__session_of(hs), NGHTTP2_FLAG_NONE, hs->id,
                              NGHTTP2_INTERNAL_ERROR);
    weir_sock_mark_dirty(&hs->conn->sock);
}

static void h2_set_paused(struct weir_http_stream *s, bool paused)
{
    struct weir_h2_stream *hs = weir_h2__of(s);
    if (!paused) {
        s->last_in_ms = weir_loop_now_ms(s->loop);
        hs->is_body_due = true;
        weir_http__conn_post(hs->conn);
    }
}

const struct weir_http_stream_ops weir_h2__stream_ops = {
    .respond = h2_respond,
    .write = h2_write,
    .end = h2_end,
    .abort = h2_abort,
    .set_paused = h2_set_paused,
};
