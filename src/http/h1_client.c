/*
 * HTTP/1.1, calling side. One exchange at a time, no pipelining.
 *
 *   begin ─► head and body into the socket's queue, a large body bit by bit
 *   input ─► pump: reader events ─► the exchange
 *
 * A connection is good for another exchange only when everything matched: the request was sent
 * whole, the answer ended by itself, nothing came behind it and nobody asked to close. Bytes that
 * come when nothing was asked make it useless: they could be taken for the next answer.
 */
#include "base/err.h"
#include "base/mem.h"
#include "http/up_int.h"

#include <stdlib.h>

/* Of a large body, put into the socket's queue at a time. */
enum { BODY_PIECE_BYTES = 64 * 1024 };

static const struct weir_http1_limits LIMITS = {
    .max_head_bytes = WEIR_HTTP_UP__HEAD_BYTES,
    .max_headers = WEIR_HTTP_UP__MAX_FIELDS,
};

static struct weir_http_exchange *exchange_of(const struct weir_http_up *up)
{
    struct weir_list *link = weir_list_first(&up->exchanges);
    return link != NULL ? WEIR_LIST_ENTRY(link, struct weir_http_exchange, link) : NULL;
}

/* The request */

/* Appends to memory that was measured before. */
static char *put(char *to, struct weir_slice s)
{
    if (s.n != 0) {
        memcpy(to, s.p, s.n);
    }
    return to + s.n;
}

static const struct weir_slice VERSION_HOST = {" HTTP/1.1\r\nhost: ", 17};
static const struct weir_slice LENGTH = {"\r\ncontent-length: ", 18};

/* A request without a body says content-length: 0, unless its method (GET, HEAD) never has one. */
static bool has_length(const struct weir_http_up_request *r)
{
    return r->body.n != 0 || !(weir_slice_eq(r->method, WEIR_SLICE("GET")) ||
                               weir_slice_eq(r->method, WEIR_SLICE("HEAD")));
}

static void append_head(struct weir_bufq *out, const struct weir_http_up_request *r)
{
    char digits[WEIR_HTTP_DECIMAL_BYTES];
    struct weir_slice length = weir_http_decimal(digits, r->body.n);
    size_t n =
        r->method.n + 1 + r->path.n + VERSION_HOST.n + r->authority.n + LENGTH.n + length.n + 4;
    for (size_t i = 0; i < r->n_fields; i++) {
        n += r->fields[i].name.n + r->fields[i].value.n + 4;
    }
    size_t room;
    char *begin = weir_bufq_reserve(out, n, &room);
    char *p = put(begin, r->method);
    *p++ = ' ';
    p = put(p, r->path);
    p = put(p, VERSION_HOST);
    p = put(p, r->authority);
    for (size_t i = 0; i < r->n_fields; i++) {
        p = put(p, WEIR_SLICE("\r\n"));
        p = put(p, r->fields[i].name);
        p = put(p, WEIR_SLICE(": "));
        p = put(p, r->fields[i].value);
    }
    if (has_length(r)) {
        p = put(p, LENGTH);
        p = put(p, length);
    }
    p = put(p, WEIR_SLICE("\r\n\r\n"));
    weir_bufq_commit(out, (size_t)(p - begin));
}

/* Until the socket has enough, or all is there. */
static void send_more(struct weir_http_up *up, struct weir_http_exchange *ex)
{
    enum weir_flow flow = WEIR_FLOW_OK;
    do {
        size_t n = ex->body.n < BODY_PIECE_BYTES ? ex->body.n : BODY_PIECE_BYTES;
        weir_bufq_append(weir_sock_out(&up->sock), weir_slice_sub(ex->body, 0, n));
        ex->body = weir_slice_sub(ex->body, n, ex->body.n);
        flow = weir_sock_mark_dirty(&up->sock);
    } while (ex->body.n != 0 && flow == WEIR_FLOW_OK);
    ex->out_ms = weir_loop_now_ms(up->loop);
    ex->is_sent = ex->body.n == 0 && flow == WEIR_FLOW_OK;
}

static void h1_begin(struct weir_http_up *up, struct weir_http_exchange *ex,
                     const struct weir_http_up_request *request)
{
    if (ex->is_head_only) {
        weir_http1_expect_no_body(&up->reader);
    }
    if (ex->has_stream_body) {
        weir_loop_post(up->loop, &up->post); /* it fails there */
        return;
    }
    append_head(weir_sock_out(&up->sock), request);
    send_more(up, ex);
    if (ex->is_paused) {
        weir_sock_pause(&up->sock);
    }
}

static void h1_drained(struct weir_http_up *up)
{
    struct weir_http_exchange *ex = exchange_of(up);
    if (ex != NULL && !ex->is_sent) {
        if (ex->body.n != 0) {
            send_more(up, ex);
        } else {
            ex->out_ms = weir_loop_now_ms(up->loop);
            ex->is_sent = true;
        }
    }
}

/* The answer */

/* The reader's slices die with its next call: the fields are copied, in one piece. */
static const struct weir_http_field *copy_fields(struct weir_arena *arena,
                                                 const struct weir_http1_head *head)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < head->n_headers; i++) {
        n_bytes += head->headers[i].name.n + head->headers[i].value.n;
    }
    struct weir_http_field *fields;
    size_t n_array = head->n_headers * sizeof *fields;
    fields = weir_arena_alloc(arena, n_array + n_bytes);
    char *p = (char *)fields + n_array;
    for (size_t i = 0; i < head->n_headers; i++) {
        const struct weir_http1_header *from = &head->headers[i];
        fields[i].name = weir_slice_make(p, from->name.n);
        p = put(p, from->name);
        fields[i].value = weir_slice_make(p, from->value.n);
        p = put(p, from->value);
    }
    return fields;
}

static void on_head(struct weir_http_up *up, struct weir_http_exchange *ex)
{
    const struct weir_http1_head *head = &up->reader.head;
    if (head->status == 101) {
        weir_http_up__fail(up, WEIR_EPROTO,
                           "the service answered 101, but no other protocol was asked for");
    } else if (head->status < 200) {
        if (++up->n_interim > WEIR_HTTP_UP__MAX_INTERIM) {
            weir_http_up__fail(up, WEIR_EPROTO, "too many interim answers");
        }
    } else {
        const struct weir_http_field *fields = copy_fields(ex->arena, head);
        ex->events->on_head(ex->ctx, head->status, fields, head->n_headers);
    }
}

/* The answer is complete. The connection is told first, so that a call that starts in on_end can
 * use it. */
static void finish(struct weir_http_up *up, struct weir_http_exchange *ex, bool has_rest)
{
    bool is_reusable = up->reader.head.keep_alive && ex->is_sent && !has_rest && !up->has_eof;
    weir_http_up__detach(ex);
    up->n_interim = 0;
    if (is_reusable) {
        up->events->on_room(up);
    } else {
        weir_http_up_close(up);
    }
    weir_http_up__end(ex);
}

static bool can_parse(const struct weir_http_up *up)
{
    const struct weir_http_exchange *ex = exchange_of(up);
    return up->state == WEIR_HTTP_UP_READY && ex != NULL && !ex->is_paused;
}

static void on_event(struct weir_http_up *up, enum weir_http1_event event, bool has_rest)
{
    struct weir_http_exchange *ex = exchange_of(up);
    switch (event) {
    case WEIR_HTTP1_HEAD:
        on_head(up, ex);
        break;
    case WEIR_HTTP1_DATA:
        ex->events->on_body(ex->ctx, up->reader.data);
        break;
    case WEIR_HTTP1_END:
        if (up->reader.head.status >= 200) {
            finish(up, ex, has_rest);
        }
        break;
    }
}

/* Parses on until the bytes, or what may be done with them, run out; returns how many were used. */
static size_t pump(struct weir_http_up *up, struct weir_slice in)
{
    size_t at = 0;
    while (can_parse(up)) {
        size_t used = 0;
        enum weir_http1_event event;
        int rc = weir_http1_feed(&up->reader, weir_slice_sub(in, at, in.n), &used, &event);
        at += used;
        if (rc == WEIR_EAGAIN) {
            break;
        }
        if (rc != 0) {
            weir_http_up__fail(up, rc == WEIR_ELIMIT ? WEIR_ELIMIT : WEIR_EPROTO,
                               up->reader.bad_what);
            break;
        }
        on_event(up, event, at < in.n);
    }
    return at;
}

static void h1_input(struct weir_http_up *up, struct weir_slice bytes)
{
    struct weir_http_exchange *ex = exchange_of(up);
    if (ex == NULL) {
        weir_http_up__fail(up, WEIR_EPROTO, "the service sent bytes though nothing was asked");
        return;
    }
    ex->in_ms = weir_loop_now_ms(up->loop);
    weir_http_up__answered(ex);
    size_t used = pump(up, bytes);
    if (used < bytes.n && up->state == WEIR_HTTP_UP_READY) {
        weir_buf_append(&up->stash, weir_slice_sub(bytes, used, bytes.n)); /* paused */
    }
}

/* An answer may last until the connection ends; with TLS only a proper end counts. */
static void take_eof(struct weir_http_up *up)
{
    int rc = weir_http1_eof(&up->reader);
    if (rc == 0 && !up->sock.tls_truncated) {
        pump(up, WEIR_SLICE(""));
    } else {
        weir_http_up__fail(up, WEIR_ECLOSED,
                           rc == WEIR_ECLOSED
                               ? "the service closed the connection without an answer"
                               : "the service closed the connection in the middle of its answer");
    }
}

/* What was read before the end may still wait for the exchange to be resumed. */
static void h1_eof(struct weir_http_up *up)
{
    up->has_eof = true;
    if (exchange_of(up) == NULL) {
        weir_http_up__fail(up, WEIR_ECLOSED, "the service closed an idle connection");
    } else if (can_parse(up) && up->stash.n == 0) {
        take_eof(up);
    }
}

/* Parses what was put back while paused. */
static void use_stash(struct weir_http_up *up)
{
    struct weir_buf stash = up->stash;
    up->stash = (struct weir_buf){0};
    struct weir_slice all = weir_buf_slice(&stash);
    size_t used = pump(up, all);
    if (up->state == WEIR_HTTP_UP_READY) {
        weir_buf_append(&up->stash, weir_slice_sub(all, used, all.n));
    }
    weir_buf_dispose(&stash);
}

/* Goes on after a pause. */
static void h1_posted(struct weir_http_up *up)
{
    const struct weir_http_exchange *ex = exchange_of(up);
    if (ex != NULL && ex->has_stream_body) {
        weir_http_up__fail(up, WEIR_EUNSUPPORTED,
                           "a streamed request needs HTTP/2, the service speaks HTTP/1.1");
        return;
    }
    use_stash(up);
    ex = exchange_of(up);
    bool is_held = ex != NULL && ex->is_paused;
    if (up->state != WEIR_HTTP_UP_READY || is_held) {
        return;
    }
    if (up->has_eof && ex != NULL) {
        take_eof(up);
    } else {
        weir_sock_resume(&up->sock);
    }
}

static void h1_set_paused(struct weir_http_exchange *ex)
{
    if (ex->is_paused) {
        weir_sock_pause(&ex->up->sock);
    } else {
        weir_loop_post(ex->up->loop, &ex->up->post);
    }
}

static size_t h1_room(const struct weir_http_up *up)
{
    return up->n_exchanges == 0;
}

static void h1_start(struct weir_http_up *up)
{
    weir_http1_init(&up->reader, WEIR_HTTP1_RESPONSES, &LIMITS);
    up->state = WEIR_HTTP_UP_READY;
    up->events->on_ready(up);
}

static void h1_wake(struct weir_http_exchange *ex)
{
    (void)ex; /* a streamed body never gets this far */
}

static void h1_cancel(struct weir_http_exchange *ex)
{
    weir_http_up_close(ex->up);
}

static void h1_dispose(struct weir_http_up *up)
{
    weir_http1_dispose(&up->reader);
}

const struct weir_http_up_proto weir_h1__up = {
    .start = h1_start,
    .input = h1_input,
    .eof = h1_eof,
    .drained = h1_drained,
    .posted = h1_posted,
    .room = h1_room,
    .begin = h1_begin,
    .wake = h1_wake,
    .set_paused = h1_set_paused,
    .cancel = h1_cancel,
    .dispose = h1_dispose,
};
