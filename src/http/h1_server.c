/*
 * HTTP/1.0 and 1.1, serving side. One exchange at a time; what a caller sends ahead (pipelining)
 * waits in the stash, unparsed and bounded, until the present exchange is over.
 *
 *   input ─► pump: reader events ─► the stream's handler
 *   respond / write / end ─► the socket's queue
 *   advance: the one place that ends an exchange, starts the next, or ends the connection
 *
 * A response that is complete before its request body is says `connection: close` where that is
 * known in time. A streamed one cannot know: the rest of the body is then read and dropped, within
 * bounds, so that the caller can use the connection for its next request.
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/http_int.h"

#include <stdlib.h>

/* Pipelined bytes kept while an exchange runs; then reading stops until they are used. */
enum { STASH_BYTES = 32 * 1024 };

static void append(struct weir_http_conn *c, struct weir_slice bytes)
{
    weir_bufq_append(weir_sock_out(&c->sock), bytes);
}

/* ---- the response ---- */

static struct weir_http_conn *conn_of(struct weir_http_stream *s);

static void append_field(struct weir_http_conn *c, struct weir_slice name, struct weir_slice value)
{
    append(c, name);
    append(c, WEIR_SLICE(": "));
    append(c, value);
    append(c, WEIR_SLICE("\r\n"));
}

static void append_status_line(struct weir_http_conn *c, int status)
{
    char digits[WEIR_HTTP_DECIMAL_BYTES];
    append(c, WEIR_SLICE("HTTP/1.1 "));
    append(c, weir_http_decimal(digits, (uint64_t)status));
    append(c, WEIR_SLICE(" "));
    append(c, weir_slice_cstr(weir_http_reason(status)));
    append(c, WEIR_SLICE("\r\n"));
}

static void append_length(struct weir_http_conn *c, uint64_t length)
{
    char digits[WEIR_HTTP_DECIMAL_BYTES];
    append_field(c, WEIR_SLICE("content-length"), weir_http_decimal(digits, length));
}

static enum weir_h1_out out_of(const struct weir_http_stream *s, const struct weir_http_response *r)
{
    if (r->body == WEIR_HTTP_BODY_NONE || s->req.method == WEIR_HTTP_HEAD) {
        return WEIR_H1_OUT_NOTHING;
    }
    if (r->body == WEIR_HTTP_BODY_LENGTH) {
        return WEIR_H1_OUT_LENGTH;
    }
    return s->req.version == WEIR_HTTP_1_0 ? WEIR_H1_OUT_UNTIL_CLOSE : WEIR_H1_OUT_CHUNKED;
}

/* Would more of the request's body have to be dropped than we care to? */
static bool has_long_rest(const struct weir_http_stream *s)
{
    return s->req.has_length && s->req.length - s->body_bytes > WEIR_HTTP__REST_BYTES;
}

/* Decides how the body ends and whether the connection lives on, and says so. */
static void append_framing(struct weir_http_conn *c, const struct weir_http_response *r)
{
    struct weir_h1 *h = &c->h1;
    const struct weir_http_stream *s = h->stream;
    bool is_old = s->req.version == WEIR_HTTP_1_0;
    bool is_stream = r->body == WEIR_HTTP_BODY_STREAM;
    h->out = out_of(s, r);
    h->out_left = h->out == WEIR_H1_OUT_LENGTH ? r->length : 0;
    if (r->body == WEIR_HTTP_BODY_LENGTH) {
        append_length(c, r->length);
    } else if (is_stream && !is_old) {
        append_field(c, WEIR_SLICE("transfer-encoding"), WEIR_SLICE("chunked"));
    }
    /* A streamed answer may outlast the request's body, any other is given at once. */
    bool is_early = !s->body_ended && (!is_stream || h->owes_continue || has_long_rest(s));
    if (is_early || h->out == WEIR_H1_OUT_UNTIL_CLOSE || c->ep->is_draining) {
        h->close_after = true;
    }
    if (h->close_after) {
        append(c, WEIR_SLICE("connection: close\r\n"));
    } else if (is_old) {
        append(c, WEIR_SLICE("connection: keep-alive\r\n"));
    }
}

/* Output waits for the socket: the write time-out must be watched from now on. */
static enum weir_flow queued(struct weir_http_conn *c)
{
    enum weir_flow flow = weir_sock_mark_dirty(&c->sock);
    weir_http__conn_tick_at(c, weir_loop_now_ms(c->ep->loop) + c->limits.write_timeout_ms);
    return flow;
}

static void h1_respond(struct weir_http_stream *s, const struct weir_http_response *r)
{
    struct weir_http_conn *c = conn_of(s);
    append_status_line(c, r->status);
    for (size_t i = 0; i < r->n_fields; i++) {
        append_field(c, r->fields[i].name, r->fields[i].value);
    }
    append_field(c, WEIR_SLICE("date"), weir_http_endpoint_date(c->ep));
    append_framing(c, r);
    append(c, WEIR_SLICE("\r\n"));
    queued(c);
}

/* In one piece: a chunk is small, and there is one for every token. */
static void append_chunk(struct weir_http_conn *c, struct weir_slice bytes)
{
    struct weir_bufq *out = weir_sock_out(&c->sock);
    size_t room;
    char *at = weir_bufq_reserve(out, WEIR_HTTP1_CHUNK_HEAD_BYTES + bytes.n + 2, &room);
    size_t n = weir_http1_chunk_head(at, bytes.n);
    memcpy(at + n, bytes.p, bytes.n);
    n += bytes.n;
    at[n++] = '\r';
    at[n++] = '\n';
    weir_bufq_commit(out, n);
}

static enum weir_flow h1_write(struct weir_http_stream *s, struct weir_slice bytes)
{
    struct weir_http_conn *c = conn_of(s);
    struct weir_h1 *h = &c->h1;
    switch (h->out) {
    case WEIR_H1_OUT_NOTHING:
        return WEIR_FLOW_OK;
    case WEIR_H1_OUT_LENGTH:
        WEIR_ASSERT(bytes.n <= h->out_left);
        h->out_left -= bytes.n;
        append(c, bytes);
        break;
    case WEIR_H1_OUT_CHUNKED:
        append_chunk(c, bytes);
        break;
    case WEIR_H1_OUT_UNTIL_CLOSE:
        append(c, bytes);
        break;
    }
    return queued(c);
}

static void h1_end(struct weir_http_stream *s, const struct weir_http_field *trailers, size_t n)
{
    struct weir_http_conn *c = conn_of(s);
    WEIR_ASSERT(c->h1.out_left == 0);
    if (c->h1.out == WEIR_H1_OUT_CHUNKED) {
        append(c, WEIR_SLICE("0\r\n"));
        for (size_t i = 0; i < n; i++) {
            append_field(c, trailers[i].name, trailers[i].value);
        }
        append(c, WEIR_SLICE("\r\n"));
        queued(c);
    }
    if (!c->h1.is_pumping) {
        weir_http__conn_post(c);
    }
}

static void h1_abort(struct weir_http_stream *s)
{
    struct weir_http_conn *c = conn_of(s);
    c->h1.aborted = true;
    weir_http__conn_post(c);
}

static void h1_set_paused(struct weir_http_stream *s, bool paused)
{
    struct weir_http_conn *c = conn_of(s);
    if (paused) {
        weir_sock_pause(&c->sock);
    } else {
        s->last_in_ms = weir_loop_now_ms(c->ep->loop);
        weir_http__conn_post(c);
    }
}

static const struct weir_http_stream_ops STREAM_OPS = {
    .respond = h1_respond,
    .write = h1_write,
    .end = h1_end,
    .abort = h1_abort,
    .set_paused = h1_set_paused,
};

/* ---- the exchange ---- */

/* The connection in front: a write looks at it and at the first members of `base`. */
struct h1_stream {
    struct weir_http_conn *conn;
    struct weir_http_stream base;
};

static struct weir_http_conn *conn_of(struct weir_http_stream *s)
{
    return WEIR_LIST_ENTRY(s, struct h1_stream, base)->conn;
}

/* The head's slices die with the next feed: everything is copied, in one piece. */
static void copy_head(struct weir_http_stream *s, const struct weir_http1_head *head)
{
    struct weir_http_request *req = &s->req;
    req->version = head->minor == 0 ? WEIR_HTTP_1_0 : WEIR_HTTP_1_1;
    req->method_name = weir_arena_dup(&s->arena, head->method);
    req->method = weir_http_method_of(req->method_name);
    weir_http_request_set_target(req, weir_arena_dup(&s->arena, head->target));
    req->has_length = head->has_length;
    req->length = head->length;
    req->has_body = head->is_chunked || (head->has_length && head->length != 0);
    req->n_fields = head->n_headers;
    req->fields = weir_arena_alloc(&s->arena, head->n_headers * sizeof *req->fields);
    for (size_t i = 0; i < head->n_headers; i++) {
        req->fields[i].name = weir_arena_dup(&s->arena, head->headers[i].name);
        req->fields[i].value = weir_arena_dup(&s->arena, head->headers[i].value);
    }
    req->authority = weir_arena_dup(&s->arena, head->host);
}

static struct weir_http_stream *open_exchange(struct weir_http_conn *c)
{
    struct h1_stream *hs = weir_mem_zalloc(sizeof *hs);
    hs->conn = c;
    weir_http__stream_init(&hs->base, c, &STREAM_OPS);
    c->h1.stream = &hs->base;
    return &hs->base;
}

static void begin_exchange(struct weir_http_conn *c)
{
    struct weir_h1 *h = &c->h1;
    const struct weir_http1_head *head = &h->reader.head;
    bool wants_continue = head->expect_continue;
    struct weir_http_stream *s = open_exchange(c);
    copy_head(s, head);
    s->body_ended = !s->req.has_body;
    h->close_after = !head->keep_alive;
    h->owes_continue = wants_continue && s->req.has_body;
    h->head_since_ms = 0;
    c->ep->service->on_request(c->ep->ctx, s);
    if (h->owes_continue && s->status == 0) {
        h->owes_continue = false;
        append(c, WEIR_SLICE("HTTP/1.1 100 Continue\r\n\r\n"));
        weir_sock_mark_dirty(&c->sock);
    }
}

static void end_exchange(struct weir_http_conn *c)
{
    struct weir_http_stream *s = c->h1.stream;
    c->h1.stream = NULL;
    weir_http__stream_dispose(s, c);
    free(WEIR_LIST_ENTRY(s, struct h1_stream, base));
    c->since_ms = weir_loop_now_ms(c->ep->loop);
}

/* An exchange for a request whose head is wrong or incomplete, with as much of the request line
 * as was read. */
static struct weir_http_stream *open_broken_exchange(struct weir_http_conn *c)
{
    const struct weir_http1_head *head = &c->h1.reader.head;
    struct weir_http_stream *s = open_exchange(c);
    s->req.version = WEIR_HTTP_1_1;
    s->req.method = WEIR_HTTP_OTHER;
    s->req.method_name = weir_arena_dup(&s->arena, head->method);
    weir_http_request_set_target(&s->req, weir_arena_dup(&s->arena, head->target));
    return s;
}

/* The caller broke the protocol or was too slow. It gets an error if no answer has begun yet, and
 * the connection ends. */
static void break_off(struct weir_http_conn *c, int status, const char *what, int err)
{
    struct weir_http_stream *s = c->h1.stream;
    if (s == NULL) {
        s = open_broken_exchange(c);
    }
    if (s->status != 0) {
        weir_http__conn_close(c, err, true);
        return;
    }
    weir_http__stream_gone(s, err);
    s->body_ended = false; /* nor will it be */
    weir_http__stream_refuse(s, c, status, what);
}

/* ---- input ---- */

static bool can_parse(const struct weir_http_conn *c)
{
    const struct weir_http_stream *s = c->h1.stream;
    if (c->state != WEIR_HTTP_CONN_OPEN || c->h1.aborted) {
        return false;
    }
    if (c->h1.is_leaving) {
        return true;
    }
    if (s == NULL) {
        /* A caller that does not read its answers: parse no more requests of it until it does. */
        return weir_sock_pending(&c->sock) < c->sock.out_max;
    }
    /* An early answer leaves the rest of the body unread. */
    bool is_unwanted = s->response_ended && !s->body_ended;
    return !s->body_paused && !is_unwanted && !weir_http1_is_idle(&c->h1.reader);
}

/* What comes behind a complete answer. */
static void drop_rest(struct weir_http_conn *c, enum weir_http1_event event)
{
    struct weir_h1 *h = &c->h1;
    uint64_t now_ms = weir_loop_now_ms(c->ep->loop);
    if (event == WEIR_HTTP1_END) {
        h->is_leaving = false;
        c->since_ms = now_ms;
    } else if (!weir_http__rest_drop(&h->left, now_ms, h->reader.data.n)) {
        weir_http__conn_linger(c);
    }
}

static void on_event(struct weir_http_conn *c, enum weir_http1_event event)
{
    struct weir_http_stream *s = c->h1.stream;
    if (c->h1.is_leaving) {
        drop_rest(c, event);
        return;
    }
    switch (event) {
    case WEIR_HTTP1_HEAD:
        begin_exchange(c);
        break;
    case WEIR_HTTP1_DATA:
        s->last_in_ms = weir_loop_now_ms(c->ep->loop);
        s->body_bytes += c->h1.reader.data.n;
        weir_http__stream_give(s, c->h1.reader.data);
        break;
    case WEIR_HTTP1_END:
        weir_http__stream_give_end(s);
        break;
    }
}

/* Ends an exchange whose response is complete, and with it perhaps the connection. */
static void settle_exchange(struct weir_http_conn *c)
{
    const struct weir_http_stream *s = c->h1.stream;
    if (s == NULL || !s->response_ended) {
        return;
    }
    if (s->body_ended && !weir_http1_is_idle(&c->h1.reader)) {
        return; /* no body, but the reader still has its END to give */
    }
    bool is_early = !s->body_ended;
    bool is_last = c->h1.close_after || c->ep->is_draining;
    end_exchange(c);
    if (is_last) {
        weir_http__conn_linger(c);
    } else if (is_early) {
        c->h1.is_leaving = true;
        weir_http__rest_begin(&c->h1.left, c->since_ms);
    }
}

/* Parses on, one exchange after the other, until the bytes or what may be done with them run out;
 * returns how many were used. */
static size_t pump(struct weir_http_conn *c, struct weir_slice in)
{
    size_t at = 0;
    c->h1.is_pumping = true;
    for (;;) {
        settle_exchange(c);
        if (!can_parse(c)) {
            break;
        }
        size_t used = 0;
        enum weir_http1_event event;
        int rc = weir_http1_feed(&c->h1.reader, weir_slice_sub(in, at, in.n), &used, &event);
        at += used;
        if (rc == WEIR_EAGAIN) {
            break;
        }
        if (rc == 0) {
            on_event(c, event);
        } else if (c->h1.is_leaving) {
            weir_http__conn_linger(c); /* answered already */
        } else {
            break_off(c, c->h1.reader.bad_status, c->h1.reader.bad_what, WEIR_EPROTO);
        }
    }
    c->h1.is_pumping = false;
    return at;
}

/* The stash: bytes that could not be parsed yet. stash_at of them have been used since. */

static size_t stashed(const struct weir_h1 *h)
{
    return h->stash.n - h->stash_at;
}

static void keep(struct weir_http_conn *c, struct weir_slice rest)
{
    struct weir_h1 *h = &c->h1;
    if (rest.n == 0 || c->state != WEIR_HTTP_CONN_OPEN) {
        return;
    }
    weir_buf_consume(&h->stash, h->stash_at);
    h->stash_at = 0;
    weir_buf_append(&h->stash, rest);
    if (h->stash.n >= STASH_BYTES) {
        weir_sock_pause(&c->sock);
    }
}

static void pump_stash(struct weir_http_conn *c)
{
    struct weir_h1 *h = &c->h1;
    size_t used = pump(c, weir_slice_sub(weir_buf_slice(&h->stash), h->stash_at, h->stash.n));
    if (c->state != WEIR_HTTP_CONN_OPEN) {
        return;
    }
    h->stash_at += used;
    if (stashed(h) == 0) {
        weir_buf_dispose(&h->stash);
        h->stash_at = 0;
    }
}

/* ---- what happens next ---- */

static uint64_t read_deadline(const struct weir_http_conn *c)
{
    const struct weir_h1 *h = &c->h1;
    const struct weir_http_limits *l = &c->limits;
    if (h->stream != NULL) {
        const char *why;
        return weir_http__stream_body_deadline(h->stream, l, &why);
    }
    if (h->is_leaving) {
        return weir_http__rest_deadline(&h->left);
    }
    if (h->head_since_ms != 0) {
        return h->head_since_ms + l->header_timeout_ms;
    }
    if (stashed(h) != 0) {
        return UINT64_MAX; /* requests wait because the caller does not read; so it is not idle */
    }
    uint64_t since_ms = c->since_ms > c->seen_sent_ms ? c->since_ms : c->seen_sent_ms;
    return since_ms + l->idle_timeout_ms;
}

static uint64_t next_deadline(struct weir_http_conn *c, uint64_t now_ms)
{
    uint64_t write_at = weir_http__conn_write_deadline(c, now_ms);
    uint64_t read_at = read_deadline(c);
    return write_at < read_at ? write_at : read_at;
}

static void advance(struct weir_http_conn *c)
{
    struct weir_h1 *h = &c->h1;
    if (h->aborted) {
        weir_http__conn_close(c, WEIR_ECANCELED, true);
        return;
    }
    pump_stash(c);
    if (c->state != WEIR_HTTP_CONN_OPEN) {
        return;
    }
    bool is_held = h->stream != NULL && h->stream->body_paused;
    if (c->sock.is_paused && !is_held && stashed(h) < STASH_BYTES) {
        weir_sock_resume(&c->sock);
    }
    uint64_t now_ms = weir_loop_now_ms(c->ep->loop);
    bool in_head = h->stream == NULL && !h->is_leaving && !weir_http1_is_idle(&h->reader);
    if (in_head && h->head_since_ms == 0) {
        h->head_since_ms = now_ms;
    }
    if (in_head && weir_account_room(&c->account) == 0) {
        break_off(c, 503, weir_account_full_words(&c->account), WEIR_ELIMIT);
        weir_http__conn_post(c);
        return;
    }
    weir_http__conn_tick_at(c, next_deadline(c, now_ms));
}

static void h1_start(struct weir_http_conn *c)
{
    c->h1.reader_limits = (struct weir_http1_limits){
        .max_head_bytes = c->limits.max_header_bytes,
        .max_headers = c->limits.max_headers,
    };
    weir_http1_init(&c->h1.reader, WEIR_HTTP1_REQUESTS, &c->h1.reader_limits);
    c->h1.reader.held.account = &c->account;
    c->h1.stash.account = &c->account;
    /* The first head is timed from the connection's beginning. */
    c->h1.head_since_ms = c->since_ms != 0 ? c->since_ms : 1;
}

static void h1_posted(struct weir_http_conn *c)
{
    if (c->h1.reader.limits == NULL) {
        h1_start(c);
    }
    advance(c);
}

static void h1_input(struct weir_http_conn *c, struct weir_slice bytes)
{
    if (c->h1.reader.limits == NULL) {
        h1_start(c);
    }
    if (stashed(&c->h1) != 0) {
        keep(c, bytes);
    } else {
        size_t used = pump(c, bytes);
        keep(c, weir_slice_sub(bytes, used, bytes.n));
    }
    advance(c);
}

/* A caller that half-closes while its answer is being made has gone. */
static void h1_eof(struct weir_http_conn *c)
{
    if (c->h1.stream != NULL && !c->h1.stream->response_ended) {
        weir_http__conn_close(c, WEIR_ECLOSED, false);
    } else {
        weir_http__conn_linger(c);
    }
}

static void h1_drained(struct weir_http_conn *c)
{
    if (c->h1.stream != NULL) {
        weir_http__stream_has_room(c->h1.stream);
    }
    advance(c);
}

static uint64_t h1_tick(struct weir_http_conn *c, uint64_t now_ms)
{
    const struct weir_h1 *h = &c->h1;
    if (now_ms >= weir_http__conn_write_deadline(c, now_ms)) {
        weir_http__conn_close(c, WEIR_ETIMEOUT, true);
        return UINT64_MAX;
    }
    uint64_t deadline = next_deadline(c, now_ms);
    if (now_ms < deadline) {
        return deadline;
    }
    if (h->stream != NULL && weir_http__stream_is_late(h->stream)) {
        return next_deadline(c, now_ms);
    }
    const char *why = NULL;
    if (h->stream != NULL) {
        weir_http__stream_body_deadline(h->stream, &c->limits, &why);
        break_off(c, 408, why, WEIR_ETIMEOUT);
    } else if (h->is_leaving) {
        weir_http__conn_linger(c);
    } else if (!weir_http1_is_idle(&h->reader)) {
        break_off(c, 408, "the request head did not come in time: limits.header_timeout",
                  WEIR_ETIMEOUT);
    } else {
        weir_http__conn_linger(c);
    }
    return UINT64_MAX;
}

static void h1_drain(struct weir_http_conn *c)
{
    if (c->h1.stream == NULL && stashed(&c->h1) == 0) {
        weir_http__conn_linger(c);
    } else {
        c->h1.close_after = true;
    }
}

/* The exchange ends before this returns, so that a handler cannot answer it a second time. */
static void h1_refuse(struct weir_http_conn *c, int status, const char *what)
{
    if (c->h1.stream != NULL && c->h1.stream->status == 0) {
        break_off(c, status, what, WEIR_ECANCELED);
        advance(c);
    }
}

static void h1_dispose(struct weir_http_conn *c, int err)
{
    if (c->h1.stream != NULL) {
        weir_http__stream_gone(c->h1.stream, err);
        end_exchange(c);
    }
    weir_buf_dispose(&c->h1.stash);
    weir_http1_dispose(&c->h1.reader);
}

const struct weir_http_proto weir_h1__proto = {
    .input = h1_input,
    .eof = h1_eof,
    .drained = h1_drained,
    .tick = h1_tick,
    .drain = h1_drain,
    .refuse = h1_refuse,
    .dispose = h1_dispose,
    .posted = h1_posted,
};
