/*
 * HTTP/2, serving side, on nghttp2: it knows the protocol, this file and h2_response.c tie it to
 * streams and flow.
 *
 *   input ─► nghttp2_session_mem_recv ─► callbacks ─► the stream's handler
 *   respond / write / end ─► per-stream queue ─► flush: nghttp2_session_mem_send ─► socket
 *
 * Flow control is the flow contract in both directions. A paused body is held in the stream and its
 * window is not given back; a response waits in its stream's queue, and only as much as the socket
 * can take soon is turned into frames, so that streams share a slow connection fairly.
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/h2_server_int.h"

#include <stdlib.h>

enum {
    GOAWAY_GRACE_MS = 100, /* between announcing a shutdown and refusing new streams */
    TICK_MAX_MS = 5000,
    TICK_MIN_MS = 10,
};

static uint64_t tick_interval_ms(const struct weir_http_limits *l)
{
    uint64_t ms = l->header_timeout_ms;
    ms = l->idle_timeout_ms < ms ? l->idle_timeout_ms : ms;
    ms = l->write_timeout_ms < ms ? l->write_timeout_ms : ms;
    ms = l->body_timeout_ms != 0 && l->body_timeout_ms < ms ? l->body_timeout_ms : ms;
    ms /= 2;
    ms = ms > TICK_MAX_MS ? TICK_MAX_MS : ms;
    return ms < TICK_MIN_MS ? TICK_MIN_MS : ms;
}

static void tick_soon(struct weir_http_conn *c)
{
    weir_http__conn_tick_at(c, weir_loop_now_ms(c->ep->loop) + tick_interval_ms(&c->limits));
}

/* ---- the request ---- */

/* Delivers what came while the body was paused, until it is paused again. */
static void deliver_held(struct weir_h2_stream *hs)
{
    struct weir_http_stream *s = &hs->base;
    while (hs->in.n != 0 && !s->body_paused) {
        struct weir_slice run = weir_bufq_peek(&hs->in);
        weir_http__stream_give(s, run);
        nghttp2_session_consume(weir_h2__session_of(hs), hs->id, run.n);
        weir_bufq_consume(&hs->in, run.n);
    }
    if (hs->in.n == 0 && !s->body_paused && hs->end_received && !s->body_ended) {
        weir_http__stream_give_end(s);
    }
    weir_sock_mark_dirty(&hs->conn->sock);
}

static void stop_left(struct weir_h2_stream *hs)
{
    nghttp2_submit_rst_stream(weir_h2__session_of(hs), NGHTTP2_FLAG_NONE, hs->id, NGHTTP2_NO_ERROR);
    weir_sock_mark_dirty(&hs->conn->sock);
}

static void discard(struct weir_h2_stream *hs, size_t n)
{
    bool was_enough = hs->left.bytes > WEIR_HTTP__REST_BYTES;
    bool is_enough = !weir_http__rest_drop(&hs->left, weir_loop_now_ms(hs->conn->ep->loop), n);
    nghttp2_session_consume(weir_h2__session_of(hs), hs->id, n);
    if (!was_enough && is_enough) {
        stop_left(hs);
    }
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t stream_id,
                         const uint8_t *data, size_t len, void *user_data)
{
    struct weir_h2_stream *hs = nghttp2_session_get_stream_user_data(session, stream_id);
    (void)flags;
    (void)user_data;
    if (hs == NULL) {
        nghttp2_session_consume_connection(session, len);
        return 0;
    }
    if (hs->is_left) {
        discard(hs, len);
        return 0;
    }
    struct weir_http_stream *s = &hs->base;
    struct weir_slice bytes = {(const char *)data, len};
    s->last_in_ms = weir_loop_now_ms(s->loop);
    s->body_bytes += len;
    if (weir_http__stream_wants_body(s) && (s->body_paused || hs->in.n != 0)) {
        weir_bufq_append(&hs->in, bytes);
        return 0;
    }
    weir_http__stream_give(s, bytes);
    nghttp2_session_consume(session, stream_id, len);
    return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    struct weir_http_conn *c = user_data;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
        return 0;
    }
    struct weir_h2_stream *hs = weir_mem_zalloc(sizeof *hs);
    hs->conn = c;
    hs->id = frame->hd.stream_id;
    weir_bufq_init(&hs->out, c->limits.max_out_bytes);
    hs->out.account = &c->account;
    hs->in.account = &c->account;
    weir_http__stream_init(&hs->base, c, &weir_h2__stream_ops);
    hs->base.req.version = WEIR_HTTP_2;
    weir_list_append(&c->h2->streams, &hs->link);
    c->h2->n_streams++;
    nghttp2_session_set_stream_user_data(session, hs->id, hs);
    tick_soon(c);
    return 0;
}

static void add_field(struct weir_h2_stream *hs, struct weir_slice name, struct weir_slice value)
{
    struct weir_http_request *req = &hs->base.req;
    if (req->n_fields == hs->cap_fields) {
        size_t cap = hs->cap_fields != 0 ? hs->cap_fields * 2 : 16;
        struct weir_http_field *grown = weir_arena_array(&hs->base.arena, cap, sizeof *grown);
        if (req->n_fields != 0) {
            memcpy(grown, req->fields, req->n_fields * sizeof *grown);
        }
        req->fields = grown;
        hs->cap_fields = cap;
    }
    req->fields[req->n_fields].name = weir_arena_dup(&hs->base.arena, name);
    req->fields[req->n_fields].value = weir_arena_dup(&hs->base.arena, value);
    req->n_fields++;
}

static void add_pseudo(struct weir_h2_stream *hs, struct weir_slice name, struct weir_slice value)
{
    struct weir_http_request *req = &hs->base.req;
    struct weir_slice copy = weir_arena_dup(&hs->base.arena, value);
    if (weir_slice_eq(name, WEIR_SLICE(":method"))) {
        req->method_name = copy;
        req->method = weir_http_method_of(copy);
    } else if (weir_slice_eq(name, WEIR_SLICE(":path"))) {
        weir_http_request_set_target(req, copy);
    } else if (weir_slice_eq(name, WEIR_SLICE(":authority"))) {
        req->authority = copy;
    }
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t namelen, const uint8_t *value, size_t valuelen, uint8_t flags,
                     void *user_data)
{
    struct weir_h2_stream *hs = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    const struct weir_http_conn *c = user_data;
    (void)flags;
    if (hs == NULL || hs->head_done) {
        return 0; /* trailers: checked by nghttp2, of no use to us */
    }
    hs->head_bytes += namelen + valuelen + 32;
    bool is_too_many = hs->base.req.n_fields >= c->limits.max_headers;
    if (hs->head_bytes > c->limits.max_header_bytes || is_too_many) {
        hs->head_too_large = true;
        /* Compressed fields can be far larger than their bytes on the wire: stop unpacking. */
        bool is_hopeless = hs->head_bytes > 2 * c->limits.max_header_bytes;
        return is_hopeless ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
    }
    struct weir_slice n = {(const char *)name, namelen};
    struct weir_slice v = {(const char *)value, valuelen};
    if (namelen != 0 && name[0] == ':') {
        add_pseudo(hs, n, v);
    } else {
        add_field(hs, n, v);
    }
    return 0;
}

/* Sends 100 (Continue) to a caller that waits for it before it sends its body, unless the answer
 * has begun. */
static void allow_body(struct weir_h2_stream *hs)
{
    struct weir_slice expect = weir_http_request_get(&hs->base.req, WEIR_SLICE("expect"));
    if (hs->base.status == 0 && weir_slice_eq_nocase(expect, WEIR_SLICE("100-continue"))) {
        nghttp2_nv status = weir_h2__nv(WEIR_SLICE(":status"), WEIR_SLICE("100"));
        nghttp2_submit_headers(weir_h2__session_of(hs), NGHTTP2_FLAG_NONE, hs->id, NULL, &status, 1,
                               NULL);
    }
}

static void on_head(struct weir_http_conn *c, struct weir_h2_stream *hs, bool is_end)
{
    struct weir_http_request *req = &hs->base.req;
    hs->head_done = true;
    hs->base.last_in_ms = weir_loop_now_ms(c->ep->loop);
    hs->base.body_ended = is_end;
    req->has_body = !is_end;
    struct weir_slice length = weir_http_request_get(req, WEIR_SLICE("content-length"));
    req->has_length = length.p != NULL && weir_slice_u64(length, &req->length) == 0;
    if (req->authority.p == NULL) {
        req->authority = weir_http_request_get(req, WEIR_SLICE("host"));
    }
    if (req->path.n == 0) {
        req->path = WEIR_SLICE("*"); /* CONNECT has none */
    }
    if (hs->head_too_large) {
        weir_http__stream_refuse(&hs->base, c, 431,
                                 "the request head is too large: limits.max_header_bytes");
        return;
    }
    c->ep->service->on_request(c->ep->ctx, &hs->base);
    if (!is_end) {
        allow_body(hs);
    } else if (!hs->base.response_ended) {
        weir_http__stream_give_end(&hs->base);
    }
}

static void on_end_stream(struct weir_h2_stream *hs)
{
    if (hs->base.body_paused || hs->in.n != 0) {
        hs->end_received = true;
    } else if (!hs->base.body_ended) {
        weir_http__stream_give_end(&hs->base);
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    struct weir_http_conn *c = user_data;
    if (weir_h2__is_flood(&c->h2->calm, frame, weir_loop_now_ms(c->ep->loop))) {
        nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
        return 0;
    }
    bool is_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    struct weir_h2_stream *hs =
        carries ? nghttp2_session_get_stream_user_data(session, frame->hd.stream_id) : NULL;
    if (hs == NULL || hs->is_left) {
        return 0;
    }
    if (frame->hd.type == NGHTTP2_HEADERS && !hs->head_done) {
        on_head(c, hs, is_end);
    } else if (is_end) {
        on_end_stream(hs);
    }
    return 0;
}

/* The request and everything made for it. */
static void release(struct weir_h2_stream *hs, int err)
{
    weir_http__stream_gone(&hs->base, err);
    weir_http__stream_dispose(&hs->base, hs->conn);
}

/* The request is over for us; what still comes of its body is thrown away. */
static void mark_left(struct weir_h2_stream *hs)
{
    struct weir_http_conn *c = hs->conn;
    release(hs, WEIR_ECLOSED);
    hs->is_left = true;
    hs->is_body_due = false;
    weir_http__rest_begin(&hs->left, weir_loop_now_ms(c->ep->loop));
    discard(hs, hs->in.n);
    weir_bufq_dispose(&hs->in);
    weir_http__conn_tick_at(c, weir_http__rest_deadline(&hs->left));
}

/*
 * The answer is complete and the caller still sends. To be told at once to stop is the standard's
 * way, but widespread clients (curl 7, httpx) then forget the answer, or wait for a window to go on
 * sending: so the rest of the body is taken and thrown away, within bounds, as on HTTP/1.
 */
static void leave(struct weir_h2_stream *hs)
{
    struct weir_http_conn *c = hs->conn;
    if (c->h2->goaway_at_ms != 0 || c->h2->has_goaway) {
        stop_left(hs);
    } else if (!hs->is_left) {
        mark_left(hs);
    }
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    (void)user_data;
    bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!carries || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) {
        return 0;
    }
    struct weir_h2_stream *hs = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (hs != NULL && !hs->base.body_ended && !hs->end_received) {
        leave(hs);
    }
    return 0;
}

static void free_stream(struct weir_h2_stream *hs, int err)
{
    struct weir_http_conn *c = hs->conn;
    weir_list_remove(&hs->link);
    c->h2->n_streams--;
    c->since_ms = weir_loop_now_ms(c->ep->loop);
    if (!hs->is_left) {
        release(hs, err);
    }
    /* The stream's window goes with it; the connection's must be given back. */
    nghttp2_session_consume_connection(c->h2->session, hs->in.n);
    weir_bufq_dispose(&hs->in);
    weir_bufq_dispose(&hs->out);
    free(hs->writes.bytes);
    free(hs);
    if (c->h2->has_goaway && c->h2->n_streams == 0) {
        weir_http__conn_post(c);
    }
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code,
                           void *user_data)
{
    struct weir_h2_stream *hs = nghttp2_session_get_stream_user_data(session, stream_id);
    (void)user_data;
    if (hs != NULL) {
        free_stream(hs, error_code == NGHTTP2_NO_ERROR ? WEIR_ECLOSED : WEIR_ERESET);
    }
    return 0;
}

/* ---- the connection ---- */

static nghttp2_session *new_session(struct weir_http_conn *c)
{
    nghttp2_session_callbacks *cb = weir_h2__callbacks();
    nghttp2_option *option = weir_h2__options();
    nghttp2_session *session;
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_sent);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    int rc = nghttp2_session_server_new3(&session, cb, c, option, weir_h2__memory());
    WEIR_ASSERT(rc == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(cb);
    return session;
}

static void h2_start(struct weir_http_conn *c)
{
    c->h2 = weir_mem_zalloc(sizeof *c->h2);
    weir_list_init(&c->h2->streams);
    c->h2->session = new_session(c);
    c->account.max = c->limits.max_held_bytes;
    c->sock.out_max = WEIR_H2__SOCK_BYTES;
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, c->limits.max_streams},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)c->limits.max_header_bytes},
    };
    nghttp2_submit_settings(c->h2->session, NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(c->h2->session, NGHTTP2_FLAG_NONE, 0,
                                          WEIR_H2__CONN_WINDOW_BYTES);
    weir_sock_mark_dirty(&c->sock);
    tick_soon(c);
}

/* Neither side will send anything more. */
static bool is_over(const struct weir_h2 *h)
{
    if (nghttp2_session_want_write(h->session)) {
        return false;
    }
    bool is_left = h->has_goaway && h->n_streams == 0;
    return is_left || !nghttp2_session_want_read(h->session);
}

/* Frames for as much as the socket takes soon; drained tells when there is room for more. Runs
 * right before the socket sends. */
static void h2_flush(struct weir_http_conn *c)
{
    nghttp2_session *session = c->h2->session;
    while (weir_sock_pending(&c->sock) < WEIR_H2__SOCK_BYTES) {
        const uint8_t *data;
        ssize_t n = nghttp2_session_mem_send(session, &data);
        if (n <= 0) {
            break;
        }
        weir_bufq_append(weir_sock_out(&c->sock), weir_slice_make((const char *)data, (size_t)n));
    }
    if (is_over(c->h2)) {
        weir_http__conn_post(c);
    }
}

static void h2_input(struct weir_http_conn *c, struct weir_slice bytes)
{
    if (c->h2 == NULL) {
        h2_start(c);
    }
    /* Each turn sends what it can, so these are answers that the caller does not read. */
    if (nghttp2_session_get_outbound_queue_size(c->h2->session) > WEIR_H2__MAX_QUEUED_FRAMES) {
        weir_http__conn_close(c, WEIR_ELIMIT, true);
        return;
    }
    ssize_t used = nghttp2_session_mem_recv(c->h2->session, (const uint8_t *)bytes.p, bytes.n);
    if (used < 0) {
        weir_http__conn_close(c, WEIR_EPROTO, false);
        return;
    }
    weir_sock_mark_dirty(&c->sock);
}

static void resume_streams(struct weir_http_conn *c)
{
    struct weir_list *at = c->h2->streams.next;
    while (at != &c->h2->streams) {
        struct weir_h2_stream *hs = WEIR_LIST_ENTRY(at, struct weir_h2_stream, link);
        at = at->next;
        if (hs->is_body_due) {
            hs->is_body_due = false;
            deliver_held(hs);
        }
        weir_http__stream_resume(&hs->base);
    }
}

static void h2_posted(struct weir_http_conn *c)
{
    if (c->h2 == NULL) {
        h2_start(c);
        return;
    }
    resume_streams(c);
    if (is_over(c->h2)) {
        weir_http__conn_linger(c);
    }
}

static void h2_drained(struct weir_http_conn *c)
{
    weir_sock_mark_dirty(&c->sock);
}

/* HTTP/2 has no half-closed connections: a caller that ends its side has gone. */
static void h2_eof(struct weir_http_conn *c)
{
    weir_http__conn_close(c, WEIR_ECLOSED, false);
}

/* Says when to look again. */
static uint64_t check_left(struct weir_h2_stream *hs, uint64_t now_ms)
{
    uint64_t due_ms = weir_http__rest_deadline(&hs->left);
    if (now_ms < due_ms) {
        return due_ms;
    }
    stop_left(hs);
    return UINT64_MAX;
}

static void check_stream(struct weir_h2_stream *hs, uint64_t now_ms)
{
    const struct weir_http_limits *l = &hs->conn->limits;
    struct weir_http_stream *s = &hs->base;
    bool is_head_late = !hs->head_done && now_ms >= s->started_ms + l->header_timeout_ms;
    const char *why = NULL;
    bool is_body_late = hs->head_done && now_ms >= weir_http__stream_body_deadline(s, l, &why);
    bool is_out_late = hs->out.n != 0 && now_ms >= s->last_out_ms + l->write_timeout_ms;
    if (is_body_late && !is_out_late && weir_http__stream_is_late(s)) {
        return;
    }
    if (is_body_late && s->status == 0) {
        weir_http__stream_gone(s, WEIR_ETIMEOUT);
        weir_http__stream_refuse(s, hs->conn, 408, why);
    } else if (is_head_late || is_out_late || is_body_late) {
        weir_http__stream_gone(s, WEIR_ETIMEOUT);
        nghttp2_submit_rst_stream(weir_h2__session_of(hs), NGHTTP2_FLAG_NONE, hs->id,
                                  NGHTTP2_CANCEL);
        weir_sock_mark_dirty(&hs->conn->sock);
    }
}

static void say_goaway(struct weir_http_conn *c)
{
    nghttp2_session *session = c->h2->session;
    nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(session), NGHTTP2_NO_ERROR, NULL,
                          0);
    c->h2->has_goaway = true;
    weir_sock_mark_dirty(&c->sock);
    weir_http__conn_post(c);
}

static uint64_t h2_tick(struct weir_http_conn *c, uint64_t now_ms)
{
    struct weir_h2 *h = c->h2;
    if (now_ms >= weir_http__conn_write_deadline(c, now_ms)) {
        weir_http__conn_close(c, WEIR_ETIMEOUT, true);
        return UINT64_MAX;
    }
    uint64_t left_ms = UINT64_MAX;
    for (struct weir_list *at = h->streams.next; at != &h->streams; at = at->next) {
        struct weir_h2_stream *hs = WEIR_LIST_ENTRY(at, struct weir_h2_stream, link);
        if (hs->is_left) {
            uint64_t due_ms = check_left(hs, now_ms);
            left_ms = due_ms < left_ms ? due_ms : left_ms;
        } else {
            check_stream(hs, now_ms);
        }
    }
    bool is_idle = h->n_streams == 0 && now_ms >= c->since_ms + c->limits.idle_timeout_ms;
    bool is_due = h->goaway_at_ms != 0 && now_ms >= h->goaway_at_ms;
    if ((is_idle || is_due) && !h->has_goaway) {
        say_goaway(c);
    }
    if (h->has_goaway && h->n_streams == 0) {
        weir_http__conn_post(c);
    }
    uint64_t next_ms = now_ms + tick_interval_ms(&c->limits);
    next_ms = left_ms < next_ms ? left_ms : next_ms;
    bool is_shorter = h->goaway_at_ms != 0 && !h->has_goaway && h->goaway_at_ms < next_ms;
    return is_shorter ? h->goaway_at_ms : next_ms;
}

static void h2_drain(struct weir_http_conn *c)
{
    struct weir_h2 *h = c->h2;
    if (h->n_streams == 0) {
        say_goaway(c);
        return;
    }
    for (struct weir_list *at = h->streams.next; at != &h->streams; at = at->next) {
        struct weir_h2_stream *hs = WEIR_LIST_ENTRY(at, struct weir_h2_stream, link);
        if (hs->is_left) {
            stop_left(hs);
        }
    }
    nghttp2_submit_shutdown_notice(h->session);
    h->goaway_at_ms = weir_loop_now_ms(c->ep->loop) + GOAWAY_GRACE_MS;
    weir_sock_mark_dirty(&c->sock);
    weir_http__conn_tick_at(c, h->goaway_at_ms);
}

/* The request is released before this returns, so that a handler cannot answer it a second time;
 * the stream itself stays until the answer has been sent. */
static void refuse_stream(struct weir_h2_stream *hs, int status, const char *what)
{
    weir_http__stream_gone(&hs->base, WEIR_ECANCELED);
    weir_http__stream_refuse(&hs->base, hs->conn, status, what);
    mark_left(hs);
}

static void h2_refuse(struct weir_http_conn *c, int status, const char *what)
{
    for (struct weir_list *at = c->h2->streams.next; at != &c->h2->streams; at = at->next) {
        struct weir_h2_stream *hs = WEIR_LIST_ENTRY(at, struct weir_h2_stream, link);
        if (hs->head_done && !hs->is_left && hs->base.status == 0) {
            refuse_stream(hs, status, what);
        }
    }
}

static void h2_dispose(struct weir_http_conn *c, int err)
{
    if (c->h2 == NULL) {
        return;
    }
    struct weir_list *at;
    while ((at = weir_list_pop(&c->h2->streams)) != NULL) {
        struct weir_h2_stream *hs = WEIR_LIST_ENTRY(at, struct weir_h2_stream, link);
        nghttp2_session_set_stream_user_data(c->h2->session, hs->id, NULL);
        free_stream(hs, err);
    }
    nghttp2_session_del(c->h2->session);
    free(c->h2);
    c->h2 = NULL;
}

const struct weir_http_proto weir_h2__proto = {
    .input = h2_input,
    .eof = h2_eof,
    .drained = h2_drained,
    .flush = h2_flush,
    .tick = h2_tick,
    .drain = h2_drain,
    .refuse = h2_refuse,
    .dispose = h2_dispose,
    .posted = h2_posted,
};
