/*
 * HTTP/2, calling side, on nghttp2: it knows the protocol, this file ties it to exchanges and flow.
 *
 *   input ─► nghttp2_session_mem_recv ─► callbacks ─► the exchange
 *   begin / write ─► the exchange's queue ─► flush: nghttp2_session_mem_send ─► socket
 *
 * The connection is ready when the peer's SETTINGS have come: then its limit of streams is known,
 * and that it speaks HTTP/2 at all. A paused answer is held in its exchange and the stream's window
 * is not given back; the connection's is, so that one slow reader does not stop the others.
 *
 * nghttp2 may call back while it makes frames, which is when the socket is about to send; what an
 * exchange has to be told then is noted and posted. An owner may close the connection from inside
 * any event, also while nghttp2 reads: the session is deleted when it has returned, and until then
 * callbacks refuse.
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/h2_session.h"
#include "http/up_int.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_STREAMS = 1000, /* on one connection, whatever the peer allows */
    N_PSEUDO = 4,       /* :method, :scheme, :authority, :path */
};

struct weir_h2_up {
    nghttp2_session *session;
    struct weir_h2_calm calm;
    uint64_t heard_ms; /* when bytes last came, or the first exchange began */
    uint64_t ping_ms;  /* when a ping was sent that is not answered; 0: none */
    bool is_receiving; /* inside mem_recv */
    bool is_doomed;    /* to be deleted after it */
    bool is_flooded;
};

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

/* The answer is complete and told. The owner of the connection hears of it first. */
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

/* Tells what was held while paused, until it is paused again. False when the exchange is gone. */
static bool deliver_held(struct weir_http_exchange *ex)
{
    struct weir_bufq held = ex->in;
    bool is_alive = true;
    ex->in = (struct weir_bufq){0};
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
    if (ex->owes_room) {
        ex->owes_room = false;
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
    if (ex->is_full && ex->out.n <= ex->out.max / 2) {
        ex->is_full = false;
        ex->owes_room = true;
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

/* What differs with every request, or is secret, does not belong into the table of fields. */
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

static void watch_peer(struct weir_http_up *up)
{
    struct weir_h2_up *h = up->h2;
    if (up->n_exchanges == 1) {
        h->heard_ms = weir_loop_now_ms(up->loop);
        h->ping_ms = 0;
    }
    if (up->ping_interval_ms != 0 && !weir_timer_is_armed(&up->timer)) {
        weir_loop_after(up->loop, &up->timer, up->ping_interval_ms);
    }
}

static void h2_begin(struct weir_http_up *up, struct weir_http_exchange *ex,
                     const struct weir_http_up_request *request)
{
    nghttp2_nv *fields =
        weir_arena_alloc(ex->arena, (N_PSEUDO + request->n_fields + 1) * sizeof *fields);
    char digits[24];
    int n_digits = snprintf(digits, sizeof digits, "%zu", request->body.n);
    size_t n = fill_fields(up, request, weir_slice_make(digits, (size_t)n_digits), fields);
    bool has_body = request->body.n != 0 || request->has_stream_body;
    nghttp2_data_provider provider = {.read_callback = read_body};
    ex->post.fn = on_post;
    ex->is_sent = !has_body;
    ex->id =
        nghttp2_submit_request(session_of(up), NULL, fields, n, has_body ? &provider : NULL, ex);
    if (ex->id < 0) {
        ex->is_refused = true;
        note(ex, WEIR_EPROTO, nghttp2_strerror(ex->id));
        return;
    }
    weir_sock_mark_dirty(&up->sock);
    watch_peer(up);
}

static void h2_wake(struct weir_http_exchange *ex)
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

static void h2_set_paused(struct weir_http_exchange *ex)
{
    if (!ex->is_paused && ex->in.n != 0) {
        weir_loop_post(ex->loop, &ex->post);
    }
}

static void h2_cancel(struct weir_http_exchange *ex)
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
        size_t cap = ex->cap_fields != 0 ? ex->cap_fields * 2 : 16;
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
static void on_end(struct weir_http_exchange *ex)
{
    ex->has_end = ex->err == 0;
    if (ex->has_end && !ex->is_paused && ex->in.n == 0) {
        finish(ex);
    }
}

static void on_headers(nghttp2_session *session, struct weir_http_exchange *ex, bool is_end)
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
        on_end(ex);
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

/* A request that never left: the peer said goodbye before. */
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

/* Frames about the connection */

static void on_settings(struct weir_http_up *up)
{
    if (up->state == WEIR_HTTP_UP_SETTLING) {
        up->state = WEIR_HTTP_UP_READY;
        up->events->on_ready(up);
    } else {
        up->events->on_room(up);
    }
}

static void on_goaway(struct weir_http_up *up)
{
    up->is_draining = true;
    weir_loop_post(up->loop, &up->post);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    struct weir_http_up *up = user_data;
    if (is_closing(up)) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (weir_h2__is_flood(&up->h2->calm, frame, weir_loop_now_ms(up->loop))) {
        up->h2->is_flooded = true;
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    struct weir_http_exchange *ex = exchange_at(session, frame->hd.stream_id);
    bool is_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame->hd.type) {
    case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
            on_settings(up);
        }
        break;
    case NGHTTP2_GOAWAY:
        on_goaway(up);
        break;
    case NGHTTP2_HEADERS:
        if (ex != NULL) {
            on_headers(session, ex, is_end);
        }
        break;
    case NGHTTP2_DATA:
        if (ex != NULL && is_end) {
            on_end(ex);
        }
        break;
    default:
        break;
    }
    return is_closing(up) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* The connection */

static nghttp2_session *new_session(struct weir_http_up *up)
{
    nghttp2_session_callbacks *cb;
    nghttp2_option *option = weir_h2__options();
    nghttp2_session *session;
    int rc = nghttp2_session_callbacks_new(&cb);
    WEIR_ASSERT(rc == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid_frame);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, on_frame_not_sent);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    rc = nghttp2_session_client_new2(&session, cb, up, option);
    WEIR_ASSERT(rc == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(cb);
    return session;
}

static void h2_start(struct weir_http_up *up)
{
    up->state = WEIR_HTTP_UP_SETTLING;
    up->h2 = weir_mem_zalloc(sizeof *up->h2);
    up->h2->session = new_session(up);
    up->sock.out_max = WEIR_H2__SOCK_BYTES;
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, WEIR_HTTP_UP__HEAD_BYTES},
    };
    nghttp2_submit_settings(session_of(up), NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(session_of(up), NGHTTP2_FLAG_NONE, 0,
                                          WEIR_H2__CONN_WINDOW_BYTES);
    weir_sock_mark_dirty(&up->sock);
}

static bool is_over(const struct weir_http_up *up)
{
    nghttp2_session *session = session_of(up);
    return !nghttp2_session_want_read(session) && !nghttp2_session_want_write(session);
}

/* Frames for as much as the socket takes soon; drained tells when there is room for more. Runs
 * right before the socket sends. */
static void h2_flush(struct weir_http_up *up)
{
    while (weir_sock_pending(&up->sock) < WEIR_H2__SOCK_BYTES) {
        const uint8_t *data;
        ssize_t n = nghttp2_session_mem_send(session_of(up), &data);
        if (n <= 0) {
            break;
        }
        weir_bufq_append(weir_sock_out(&up->sock), weir_slice_make((const char *)data, (size_t)n));
    }
    if (is_over(up)) {
        weir_loop_post(up->loop, &up->post);
    }
}

static void free_session(struct weir_http_up *up)
{
    nghttp2_session_del(up->h2->session);
    free(up->h2);
    up->h2 = NULL;
}

/* Whatever came, the peer is alive. */
static void heard(struct weir_http_up *up)
{
    struct weir_h2_up *h = up->h2;
    h->heard_ms = weir_loop_now_ms(up->loop);
    if (h->ping_ms != 0) {
        h->ping_ms = 0;
        weir_loop_after(up->loop, &up->timer, up->ping_interval_ms);
    }
}

static void h2_input(struct weir_http_up *up, struct weir_slice bytes)
{
    struct weir_h2_up *h = up->h2;
    heard(up);
    h->is_receiving = true;
    ssize_t used = nghttp2_session_mem_recv(h->session, (const uint8_t *)bytes.p, bytes.n);
    h->is_receiving = false;
    if (h->is_doomed) {
        free_session(up);
    } else if (used < 0) {
        weir_http_up__fail(up, WEIR_EPROTO,
                           h->is_flooded ? "the service floods the connection with empty frames"
                                         : nghttp2_strerror((int)used));
    } else if (nghttp2_session_get_outbound_queue_size(h->session) > WEIR_H2__MAX_QUEUED_FRAMES) {
        weir_http_up__fail(up, WEIR_ELIMIT, "the service does not read what it asks for");
    } else {
        weir_sock_mark_dirty(&up->sock);
    }
}

static void h2_eof(struct weir_http_up *up)
{
    weir_http_up__fail(up, WEIR_ECLOSED, "the service closed the connection");
}

static void h2_drained(struct weir_http_up *up)
{
    weir_sock_mark_dirty(&up->sock);
}

/* A connection that will take no more exchanges ends with its last one. */
static void h2_posted(struct weir_http_up *up)
{
    if (is_over(up) && !up->is_draining) {
        weir_http_up__fail(up, WEIR_EPROTO,
                           up->state == WEIR_HTTP_UP_SETTLING ? "the service does not speak HTTP/2"
                                                              : "the service broke HTTP/2's rules");
    } else if (is_over(up) || (up->is_draining && up->n_exchanges == 0)) {
        weir_http_up__fail(up, WEIR_ECLOSED, "the service ended the connection");
    }
}

static void h2_tick(struct weir_http_up *up)
{
    struct weir_h2_up *h = up->h2;
    uint64_t now_ms = weir_loop_now_ms(up->loop);
    if (up->n_exchanges == 0) {
        return;
    }
    uint64_t at_ms = h->heard_ms + up->ping_interval_ms;
    if (h->ping_ms != 0) {
        at_ms = h->ping_ms + up->ping_timeout_ms;
        if (now_ms >= at_ms) {
            weir_http_up__fail(up, WEIR_ETIMEOUT, "the service does not answer pings");
            return;
        }
    } else if (now_ms >= at_ms) {
        nghttp2_submit_ping(h->session, NGHTTP2_FLAG_NONE, NULL);
        weir_sock_mark_dirty(&up->sock);
        h->ping_ms = now_ms;
        at_ms = now_ms + up->ping_timeout_ms;
    }
    weir_timers_set(&up->loop->timers, &up->timer, at_ms);
}

static size_t h2_room(const struct weir_http_up *up)
{
    nghttp2_session *session = session_of(up);
    if (up->is_draining || nghttp2_session_check_request_allowed(session) == 0) {
        return 0;
    }
    size_t max =
        nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    max = max < MAX_STREAMS ? max : MAX_STREAMS;
    return max > up->n_exchanges ? max - up->n_exchanges : 0;
}

static void h2_dispose(struct weir_http_up *up)
{
    if (up->h2->is_receiving) {
        up->h2->is_doomed = true;
    } else {
        free_session(up);
    }
}

const struct weir_http_up_proto weir_h2__up = {
    .start = h2_start,
    .input = h2_input,
    .eof = h2_eof,
    .drained = h2_drained,
    .flush = h2_flush,
    .tick = h2_tick,
    .posted = h2_posted,
    .room = h2_room,
    .begin = h2_begin,
    .wake = h2_wake,
    .set_paused = h2_set_paused,
    .cancel = h2_cancel,
    .dispose = h2_dispose,
};
