/*
 * Life and reading of a socket; sock_out.c writes, sock_tls.c stands between both and the owner.
 *
 *   accept ──────────────┐
 *                        ├─► [SHAKING] ─► OPEN ─► FAILED ─► CLOSING
 *   connect ─► CONNECTING┘
 *
 * libuv calls in from the top of the loop, so data, end and open are reported straight from there.
 * What comes up inside a call of the owner or in the flush is noted and told by `later`, which is
 * posted.
 */
#include "io/sock.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "io/fds.h"
#include "io/io_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    OUT_MAX_BYTES = 64 * 1024,
    READ_TURN_BYTES = 4 * WEIR_LOOP_READ_BYTES, /* then the others have their turn */
    KEEPALIVE_S = 60,
};

static uv_stream_t *stream_of(struct weir_sock *s)
{
    return (uv_stream_t *)&s->tcp;
}

static bool is_live(const struct weir_sock *s)
{
    return s->state == WEIR_SOCK_OPEN || s->state == WEIR_SOCK_SHAKING;
}

/* Told to the owner */

void weir_sock__opened(struct weir_sock *s)
{
    s->state = WEIR_SOCK_OPEN;
    if (weir_sock_pending(s) != 0 || s->end_after_flush) {
        weir_sock__flush_soon(s);
    }
    if (s->is_paused) {
        weir_sock_pause(s);
    }
    if (s->events->on_open != NULL) {
        s->events->on_open(s->ctx);
    }
}

void weir_sock__give(struct weir_sock *s, struct weir_slice bytes)
{
    if (s->events->on_data != NULL) {
        s->events->on_data(s->ctx, bytes);
    }
}

static void stop_reading(struct weir_sock *s)
{
    if (s->is_reading) {
        s->is_reading = false;
        uv_read_stop(stream_of(s));
    }
}

void weir_sock__eof(struct weir_sock *s)
{
    stop_reading(s);
    s->has_eof = true;
    if (s->events->on_eof != NULL) {
        s->events->on_eof(s->ctx);
    }
}

void weir_sock__set_why(struct weir_sock *s, const char *what, const char *detail)
{
    if (s->why != NULL) {
        return;
    }
    struct weir_buf text = {0};
    weir_buf_printf(&text, "%s%s%s", what, detail != NULL ? ": " : "",
                    detail != NULL ? detail : "");
    weir_buf_cstr(&text);
    s->why = text.p;
}

void weir_sock__fail(struct weir_sock *s, int err)
{
    if (s->state == WEIR_SOCK_FAILED || s->state == WEIR_SOCK_CLOSING) {
        return;
    }
    s->state = WEIR_SOCK_FAILED;
    s->err = err;
    stop_reading(s);
    weir_sock__drop_output(s);
    weir_loop_post(s->loop, &s->later);
}

/* Reading */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct weir_sock *s = handle->data;
    *buf = uv_buf_init(s->loop->read_buf, WEIR_LOOP_READ_BYTES);
}

static void input_ended(struct weir_sock *s, int uv_err)
{
    s->is_reading = false;
    if (s->write_err != 0) {
        weir_sock__fail(s, s->write_err);
    } else if (uv_err != UV_EOF) {
        weir_sock__fail(s, weir_io__err(uv_err));
    } else if (s->state == WEIR_SOCK_SHAKING) {
        weir_sock__set_why(s, "the peer closed during the TLS handshake", NULL);
        weir_sock__fail(s, WEIR_ECLOSED);
    } else {
        s->tls_truncated = s->tls != NULL;
        weir_sock__eof(s);
    }
}

/* libuv goes on reading while the kernel has more, so one fast peer could keep the loop from all
 * others. */
static void spend_budget(struct weir_sock *s, size_t n)
{
    if (s->read_turn != s->loop->turn) {
        s->read_turn = s->loop->turn;
        s->read_bytes = 0;
    }
    s->read_bytes += n;
    if (s->read_bytes >= READ_TURN_BYTES) {
        stop_reading(s);
        weir_loop_post(s->loop, &s->later);
    }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct weir_sock *s = stream->data;
    if (n == 0) {
        return;
    }
    if (n < 0) {
        input_ended(s, (int)n);
        return;
    }
    spend_budget(s, (size_t)n);
    struct weir_slice bytes = weir_slice_make(buf->base, (size_t)n);
    if (s->tls != NULL) {
        weir_sock__tls_feed(s, bytes);
    } else {
        weir_sock__give(s, bytes);
    }
}

/* A pause holds back data, not the handshake. */
static bool may_read(const struct weir_sock *s)
{
    return is_live(s) && !s->has_eof && !(s->is_paused && s->state == WEIR_SOCK_OPEN);
}

static void start_reading(struct weir_sock *s)
{
    if (s->is_reading || !may_read(s)) {
        return;
    }
    int err = uv_read_start(stream_of(s), on_alloc, on_read);
    s->is_reading = err == 0;
    if (err != 0) {
        weir_sock__fail(s, weir_io__err(err));
    }
}

void weir_sock_pause(struct weir_sock *s)
{
    s->is_paused = true;
    if (s->state != WEIR_SOCK_OPEN) {
        return;
    }
    stop_reading(s);
    if (s->write_err != 0) {
        weir_sock__fail(s, s->write_err);
    }
}

void weir_sock_resume(struct weir_sock *s)
{
    s->is_paused = false;
    if (s->state != WEIR_SOCK_OPEN || s->tell_open) {
        return;
    }
    if (s->tls != NULL && weir_sock__tls_has_input(s)) {
        weir_loop_post(s->loop, &s->later);
    } else {
        start_reading(s);
    }
}

/* Posted */

static void tell_drain(struct weir_sock *s)
{
    if (s->events->on_drain != NULL) {
        s->events->on_drain(s->ctx);
    }
}

static void tell_sent_end(struct weir_sock *s)
{
    s->tell_sent_end = false;
    if (s->events->on_sent_end != NULL) {
        s->events->on_sent_end(s->ctx);
    }
}

static void tell_error(struct weir_sock *s)
{
    weir_loop_unpost(&s->later); /* it may have failed just now, further up in on_later */
    if (s->events->on_error != NULL) {
        s->events->on_error(s->ctx, s->err);
    }
}

static void on_later(struct weir_post *post)
{
    struct weir_sock *s = WEIR_LIST_ENTRY(post, struct weir_sock, later);
    if (s->state == WEIR_SOCK_OPEN && s->tell_open) {
        s->tell_open = false;
        weir_sock__opened(s);
    }
    if (s->state == WEIR_SOCK_OPEN && weir_flow_gate_resume(&s->gate)) {
        tell_drain(s);
    }
    if (s->state == WEIR_SOCK_OPEN && s->tell_sent_end) {
        tell_sent_end(s);
    }
    if (s->tls != NULL && may_read(s) && weir_sock__tls_has_input(s)) {
        weir_sock__tls_advance(s);
    }
    start_reading(s);
    if (s->state == WEIR_SOCK_FAILED) {
        tell_error(s);
    }
}

/* Opening and closing */

static void flush_dirty(struct weir_loop *loop)
{
    struct weir_list *link;
    weir_list_append(&loop->dirty,
                     &loop->dirty_end); /* sockets marked from here on wait for the next turn */
    while ((link = weir_list_pop(&loop->dirty)) != &loop->dirty_end) {
        weir_sock__flush(WEIR_LIST_ENTRY(link, struct weir_sock, dirty_link));
    }
}

static void init(struct weir_sock *s, struct weir_loop *loop)
{
    *s = (struct weir_sock){.loop = loop, .fd = -1, .out_max = OUT_MAX_BYTES, .later.fn = on_later};
    uv_tcp_init(&loop->uv, &s->tcp); /* cannot fail without an address family */
    s->tcp.data = s;
    loop->flush_dirty = flush_dirty;
}

int weir_sock_accept(struct weir_sock *s, struct weir_loop *loop, int fd, struct weir_tls *tls)
{
    init(s, loop);
    int err = uv_tcp_open(&s->tcp, fd);
    if (err != 0) {
        close(fd);
        s->state = WEIR_SOCK_FAILED;
        return weir_io__err(err);
    }
    s->fd = fd;
    /* No delay and keep-alive are inherited from the listener. */
    if (tls != NULL) {
        s->state = WEIR_SOCK_SHAKING;
        weir_sock__tls_open(s, tls, NULL);
        start_reading(s);
    } else {
        s->state = WEIR_SOCK_OPEN;
        s->tell_open = true;
        weir_loop_post(loop, &s->later);
    }
    return 0;
}

static void on_connect(uv_connect_t *req, int status)
{
    struct weir_sock *s = req->data;
    free(req);
    if (s->state != WEIR_SOCK_CONNECTING) {
        return;
    }
    if (status != 0) {
        weir_sock__fail(s, weir_io__err(status));
        return;
    }
    uv_tcp_nodelay(&s->tcp, 1);
    uv_tcp_keepalive(&s->tcp, 1, KEEPALIVE_S);
    if (s->tls != NULL) {
        s->state = WEIR_SOCK_SHAKING;
        weir_sock__tls_advance(s);
    } else {
        weir_sock__opened(s);
    }
    start_reading(s);
}

/* The same words whether our own limit was reached or the kernel's. */
static void fail_for_want_of_descriptors(struct weir_sock *s)
{
    weir_sock__set_why(s, "out of file descriptors", NULL);
    weir_sock__fail(s, WEIR_ELIMIT);
}

int weir_sock_connect(struct weir_sock *s, struct weir_loop *loop, const struct sockaddr *addr,
                      struct weir_tls *tls, const char *server_name)
{
    init(s, loop);
    s->state = WEIR_SOCK_CONNECTING;
    s->is_counted = weir_fds_take(WEIR_FDS_SERVICE);
    if (!s->is_counted) {
        fail_for_want_of_descriptors(s);
        return 0;
    }
    if (tls != NULL) {
        weir_sock__tls_open(s, tls, server_name);
    }
    if (s->state == WEIR_SOCK_FAILED) {
        return 0;
    }
    uv_connect_t *req = weir_mem_alloc(sizeof *req);
    req->data = s;
    int err = uv_tcp_connect(req, &s->tcp, addr, on_connect);
    if (err != 0) {
        free(req);
    }
    uv_fileno((uv_handle_t *)&s->tcp, &s->fd);
    if (err == UV_EMFILE || err == UV_ENFILE) {
        weir_fds_note_unconnected();
        fail_for_want_of_descriptors(s);
    } else if (err != 0) {
        weir_sock__fail(s, weir_io__err(err));
    }
    return 0;
}

void weir_sock_listen_to(struct weir_sock *s, const struct weir_sock_events *events, void *ctx)
{
    s->events = events;
    s->ctx = ctx;
}

static void on_closed(uv_handle_t *handle)
{
    struct weir_sock *s = handle->data;
    s->state = WEIR_SOCK_IDLE;
    weir_bufq_dispose(&s->out);
    free(s->why);
    s->why = NULL;
    if (s->close_fn != NULL) {
        s->close_fn(s->close_ctx);
    }
}

void weir_sock_close(struct weir_sock *s, bool reset, void (*fn)(void *ctx), void *ctx)
{
    WEIR_ASSERT(s->state != WEIR_SOCK_IDLE && s->state != WEIR_SOCK_CLOSING);
    s->state = WEIR_SOCK_CLOSING;
    s->close_fn = fn;
    s->close_ctx = ctx;
    weir_loop_unpost(&s->later);
    weir_list_remove(&s->dirty_link);
    if (reset && s->fd >= 0) {
        /* By hand, because uv_tcp_close_reset refuses what is half closed. */
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    s->is_reading = false;
    uv_close((uv_handle_t *)&s->tcp, on_closed);
    s->fd = -1;
    if (s->is_counted) {
        s->is_counted = false;
        weir_fds_give(WEIR_FDS_SERVICE);
    }
    /* The descriptor is closed: a write that was under way does not read its bytes any more. */
    s->is_writing = false;
    weir_sock__drop_output(s);
    if (s->tls != NULL) {
        weir_sock__tls_free(s);
    }
}

/* Asking */

const char *weir_sock_why(const struct weir_sock *s)
{
    return s->why != NULL ? s->why : weir_err_text(s->err);
}
