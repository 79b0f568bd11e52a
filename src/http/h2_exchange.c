/*
 * One exchange on an HTTP/2 connection: its request made into frames, its answer made out of them.
 *
 *   begin / write ─► the exchange's queue ─► read_body, when the socket has room
 *   fields, data, end ─► the exchange's events, or held while it is paused
 *
 * A paused answer is held and the stream's window is not given back; the connection's is, so that
 * one slow reader does not stop the others. What came whole does not need its connection any more.
 *
 * nghttp2 may call back while it makes frames, which is when the socket is about to send; what an
 * exchange has to be told then is noted and posted.
 */
#include "base/err.h"
#include "base/mem.h"
#include "http/h2_client_int.h"

#include <stdlib.h>
#include <string.h>

enum { N_PSEUDO = 4 }; /* :method, :scheme, :authority, :path */

static nghttp2_session *session_of(const struct weir_http_up *up)
{
    return up->h2->session;
}

static struct weir_http_exchange *exchange_at(nghttp2_session *session, int32_t stream_id)
{
    return nghttp2_session_get_stream_user_data(session, stream_id);
}

static bool is_closing(const struct weir_http_up *up)
{
    return up->state == WEIR_HTTP_UP_CLOSING;
}

/* Lets go of the stream, telling the peer unless it is over anyway. */
static void leave_stream(struct weir_http_up *up, struct weir_http_exchange *ex, bool is_over)
{
    if (ex->id <= 0) {
        return;
    }
    nghttp2_session_set_stream_user_data(session_of(up), ex->id, NULL);
    if (!is_over) {
        nghttp2_submit_rst_stream(session_of(up), NGHTTP2_FLAG_NONE, ex->id, NGHTTP2_CANCEL);
        weir_sock_mark_dirty(&up->sock);
    }
    ex->id = 0;
}

/* The owner has got the whole answer. The connection is told first that it has room. */
static void finish(struct weir_http_exchange *ex)
{
    struct weir_http_up *up = ex->up;
    if (up != NULL) {
        leave_stream(up, ex, ex->is_sent);
        weir_http_up__detach(ex);
        weir_loop_post(up->loop, &up->post); /* perhaps it was the last of a draining connection */
        up->events->on_room(up);
    }
    weir_http_up__end(ex);
}

/* Notes a failure; the first one counts. */
static void note(struct weir_http_exchange *ex, int err, const char *why)
{
    if (ex->err == 0) {
        ex->err = err;
        ex->why = why;
        weir_loop_post(ex->loop, &ex->post);
    }
}

static void fail_noted(struct weir_http_exchange *ex)
{
    struct weir_http_up *up = ex->up;
    leave_stream(up, ex, false);
    weir_http_up__detach(ex);
    weir_loop_post(up->loop, &up->post);
    up->events->on_room(up);
    weir_http_up__give_up(ex, ex->err, ex->why);
}

static void give_window(struct weir_http_exchange *ex, size_t n)
{
    if (ex->up != NULL && ex->id > 0) {
        nghttp2_session_consume_stream(session_of(ex->up), ex->id, n);
        weir_sock_mark_dirty(&ex->up->sock);
    }
}

/* Gives the owner what came while the exchange was paused, until it is paused again. False when
 * the owner has cancelled the exchange. */
static bool deliver_held(struct weir_http_exchange *ex)
{
    struct weir_bufq held = ex->in;
    bool is_alive = true;
    ex->in = (struct weir_bufq){.account = held.account};
    ex->is_alive = &is_alive;
    while (held.n != 0 && is_alive && !ex->is_paused) {
        struct weir_slice run = weir_bufq_peek(&held);
        give_window(ex, run.n);
        ex->events->on_body(ex->ctx, run);
        weir_bufq_consume(&held, run.n);
    }
    if (is_alive) {
        ex->is_alive = NULL;
        weir_bufq_move(&held, &ex->in);
        ex->in = held;
    } else {
        weir_bufq_dispose(&held);
    }
    return is_alive;
}

static void on_post(struct weir_post *post)
{
    struct weir_http_exchange *ex = WEIR_LIST_ENTRY(post, struct weir_http_exchange, post);
    if (ex->err != 0) {
        fail_noted(ex);
        return;
    }
    if (weir_flow_gate_resume(&ex->gate)) {
        weir_loop_post(ex->loop, post); /* for the rest, if any: it may be cancelled by then */
        ex->events->on_room(ex->ctx);
        return;
    }
    if (deliver_held(ex) && ex->has_end && ex->in.n == 0 && !ex->is_paused) {
        finish(ex);
    }
}

/* The request */

static size_t take_body(struct weir_http_exchange *ex, uint8_t *buf, size_t length)
{
    size_t n = 0;
    if (!ex->has_stream_body) {
        n = ex->body.n < length ? ex->body.n : length;
        memcpy(buf, ex->body.p, n);
        ex->body = weir_slice_sub(ex->body, n, ex->body.n);
        return n;
    }
    while (n < length && ex->out.n != 0) {
        struct weir_slice run = weir_bufq_peek(&ex->out);
        size_t take = run.n < length - n ? run.n : length - n;
        memcpy(buf + n, run.p, take);
        weir_bufq_consume(&ex->out, take);
        n += take;
    }
    return n;
}

static bool has_all_of_body(const struct weir_http_exchange *ex)
{
    return ex->has_stream_body ? ex->has_body_end && ex->out.n == 0 : ex->body.n == 0;
}

/* A stretch of the body for one DATA frame. */
static ssize_t read_body(nghttp2_session *session, int32_t stream_id, uint8_t *buf, size_t length,
                         uint32_t *data_flags, nghttp2_data_source *source, void *user_data)
{
    struct weir_http_exchange *ex = exchange_at(session, stream_id);
    (void)source;
    (void)user_data;
    if (ex == NULL) {
        return NGHTTP2_ERR_DEFERRED; /* it is being reset */
    }
    size_t n = take_body(ex, buf, length);
    if (n != 0) {
        ex->out_ms = weir_loop_now_ms(ex->loop);
    }
    if (ex->out.n <= ex->out.max / 2 && weir_flow_gate_has_room(&ex->gate)) {
        weir_loop_post(ex->loop, &ex->post);
    }
    if (has_all_of_body(ex)) {
        *data_flags |= NGHTTP2_DATA_FLAG_EOF;
        ex->is_sent = true;
        ex->out_ms = weir_loop_now_ms(ex->loop);
    } else if (n == 0) {
        ex->is_deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)n;
}

/* HPACK keeps no field that differs with every request (that would fill its table) or is secret. */
static nghttp2_nv field_of(const struct weir_http_field *f)
{
    nghttp2_nv nv = weir_h2__nv(f->name, f->value);
    if (weir_slice_eq(f->name, WEIR_SLICE("authorization")) ||
        weir_slice_eq(f->name, WEIR_SLICE("traceparent"))) {
        nv.flags = NGHTTP2_NV_FLAG_NO_INDEX;
    }
    return nv;
}

static size_t fill_fields(const struct weir_http_up *up, const struct weir_http_up_request *r,
                          struct weir_slice length, nghttp2_nv *to)
{
    size_t n = 0;
    struct weir_slice scheme = up->sock.tls != NULL ? WEIR_SLICE("https") : WEIR_SLICE("http");
    to[n++] = weir_h2__nv(WEIR_SLICE(":method"), r->method);
    to[n++] = weir_h2__nv(WEIR_SLICE(":scheme"), scheme);
    to[n++] = weir_h2__nv(WEIR_SLICE(":authority"), r->authority);
    to[n++] = weir_h2__nv(WEIR_SLICE(":path"), r->path);
    for (size_t i = 0; i < r->n_fields; i++) {
        to[n++] = field_of(&r->fields[i]);
    }
    if (r->body.n != 0) {
        to[n++] = weir_h2__nv(WEIR_SLICE("content-length"), length);
    }
    return n;
}

void weir_h2__begin(struct weir_http_up *up, struct weir_http_exchange *ex,
                    const struct weir_http_up_request *request)
{
    nghttp2_nv *fields = weir_mem_array(N_PSEUDO + request->n_fields + 1, sizeof *fields);
    char digits[WEIR_HTTP_DECIMAL_BYTES];
    size_t n = fill_fields(up, request, weir_http_decimal(digits, request->body.n), fields);
    bool has_body = request->body.n != 0 || request->has_stream_body;
    nghttp2_data_provider provider = {.read_callback = read_body};
    ex->post.fn = on_post;
    ex->is_sent = !has_body;
    ex->id =
        nghttp2_submit_request(session_of(up), NULL, fields, n, has_body ? &provider : NULL, ex);
    free(fields); /* copied */
    if (ex->id < 0) {
        ex->is_refused = true;
        note(ex, WEIR_EPROTO, nghttp2_strerror(ex->id));
        return;
    }
    weir_sock_mark_dirty(&up->sock);
}

void weir_h2__wake(struct weir_http_exchange *ex)
{
    if (ex->id <= 0) {
        return;
    }
    if (ex->is_deferred) {
        ex->is_deferred = false;
        nghttp2_session_resume_data(session_of(ex->up), ex->id);
    }
    weir_sock_mark_dirty(&ex->up->sock);
}

void weir_h2__set_paused(struct weir_http_exchange *ex)
{
    if (!ex->is_paused && ex->in.n != 0) {
        weir_loop_post(ex->loop, &ex->post);
    }
}

void weir_h2__cancel(struct weir_http_exchange *ex)
{
    leave_stream(ex->up, ex, false);
    weir_loop_post(ex->up->loop, &ex->up->post);
}

/* The answer */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    const struct weir_http_up *up = user_data;
    if (is_closing(up)) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    struct weir_http_exchange *ex = exchange_at(session, frame->hd.stream_id);
    if (ex != NULL) {
        ex->fields = NULL;
        ex->n_fields = 0;
        ex->cap_fields = 0;
        ex->head_bytes = 0;
        ex->in_ms = weir_loop_now_ms(ex->loop);
        weir_http_up__answered(ex);
    }
    return is_closing(up) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static void add_field(struct weir_http_exchange *ex, struct weir_slice name,
                      struct weir_slice value)
{
    if (ex->n_fields == ex->cap_fields) {
        size_t cap = ex->cap_fields != 0 ? ex->cap_fields * 2 : 8;
        struct weir_http_field *grown = weir_arena_array(ex->arena, cap, sizeof *grown);
        if (ex->n_fields != 0) {
            memcpy(grown, ex->fields, ex->n_fields * sizeof *grown);
        }
        ex->fields = grown;
        ex->cap_fields = cap;
    }
    ex->fields[ex->n_fields].name = weir_arena_dup(ex->arena, name);
    ex->fields[ex->n_fields].value = weir_arena_dup(ex->arena, value);
    ex->n_fields++;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t namelen, const uint8_t *value, size_t valuelen, uint8_t flags,
                     void *user_data)
{
    struct weir_http_exchange *ex = exchange_at(session, frame->hd.stream_id);
    (void)flags;
    if (is_closing(user_data)) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (ex == NULL) {
        return 0;
    }
    ex->head_bytes += namelen + valuelen + 32;
    if (ex->head_bytes > WEIR_HTTP_UP__HEAD_BYTES || ex->n_fields == WEIR_HTTP_UP__MAX_FIELDS) {
        note(ex, WEIR_ELIMIT, "the head of the answer is too large");
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    struct weir_slice n = {(const char *)name, namelen};
    struct weir_slice v = {(const char *)value, valuelen};
    uint64_t status;
    if (!weir_slice_eq(n, WEIR_SLICE(":status"))) {
        add_field(ex, n, v);
    } else if (weir_slice_u64(v, &status) == 0 && status >= 100 && status < 600) {
        ex->status = (int)status;
    } else {
        note(ex, WEIR_EPROTO, "malformed status");
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return 0;
}

/* The stream has ended on the peer's side. */
void weir_h2__on_end(struct weir_http_exchange *ex)
{
    ex->has_end = ex->err == 0;
    if (ex->has_end && !ex->is_paused && ex->in.n == 0) {
        finish(ex);
    }
}

void weir_h2__on_headers(nghttp2_session *session, struct weir_http_exchange *ex, bool is_end)
{
    int32_t id = ex->id;
    if (ex->err != 0) {
        return;
    }
    if (!ex->has_head && ex->status < 200) {
        if (++ex->n_interim > WEIR_HTTP_UP__MAX_INTERIM) {
            note(ex, WEIR_EPROTO, "too many interim answers");
        }
        return;
    }
    if (!ex->has_head) {
        const struct weir_http_field *fields = ex->fields;
        size_t n_fields = ex->n_fields;
        ex->has_head = true;
        ex->fields = NULL;
        ex->n_fields = 0;
        ex->events->on_head(ex->ctx, ex->status, fields, n_fields);
    }
    if (is_end && exchange_at(session, id) == ex) {
        weir_h2__on_end(ex);
    }
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t stream_id,
                         const uint8_t *data, size_t len, void *user_data)
{
    struct weir_http_exchange *ex = exchange_at(session, stream_id);
    (void)flags;
    if (is_closing(user_data)) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    nghttp2_session_consume_connection(session, len);
    if (ex == NULL || ex->err != 0) {
        return 0;
    }
    struct weir_slice bytes = {(const char *)data, len};
    ex->in_ms = weir_loop_now_ms(ex->loop);
    if (ex->is_paused || ex->in.n != 0) {
        weir_bufq_append(&ex->in, bytes);
        return 0;
    }
    nghttp2_session_consume_stream(session, stream_id, len);
    ex->events->on_body(ex->ctx, bytes);
    return is_closing(user_data) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code,
                           void *user_data)
{
    if (is_closing(user_data)) {
        return 0;
    }
    struct weir_http_exchange *ex = exchange_at(session, stream_id);
    if (ex == NULL) {
        return 0;
    }
    ex->id = 0;
    if (!ex->has_end) {
        ex->is_refused = ex->is_refused || error_code == NGHTTP2_REFUSED_STREAM;
        note(ex, WEIR_ERESET,
             weir_arena_printf(ex->arena, "the stream was reset: %s",
                               nghttp2_http2_strerror(error_code)));
    }
    return 0;
}

/* A request that was never sent, because the peer had said GOAWAY. */
static int on_frame_not_sent(nghttp2_session *session, const nghttp2_frame *frame,
                             int lib_error_code, void *user_data)
{
    (void)user_data;
    if (frame->hd.type == NGHTTP2_HEADERS) {
        struct weir_http_exchange *ex = exchange_at(session, frame->hd.stream_id);
        if (ex != NULL) {
            ex->is_refused = true;
            note(ex, WEIR_ECLOSED, nghttp2_strerror(lib_error_code));
        }
    }
    return 0;
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame,
                            int lib_error_code, void *user_data)
{
    struct weir_http_exchange *ex = exchange_at(session, frame->hd.stream_id);
    if (!is_closing(user_data) && ex != NULL) {
        note(ex, WEIR_EPROTO, nghttp2_strerror(lib_error_code));
    }
    return 0;
}

void weir_h2__set_stream_callbacks(nghttp2_session_callbacks *cb)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid_frame);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, on_frame_not_sent);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
}
