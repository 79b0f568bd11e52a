#ifndef WEIR_IO_SOCK_H
#define WEIR_IO_SOCK_H

#include "base/bufq.h"
#include "base/flow.h"
#include "base/list.h"
#include "base/slice.h"
#include "io/loop.h"
#include "io/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/*
 * A TCP connection, plain or TLS, on a loop.
 *
 *   kernel ─► on_data(bytes)            bytes live only during the call; pause() stops it
 *   write(bytes) ─► out ─► kernel       gathered; one writev per loop turn
 *
 * Embedded in its owner. Opened by accept or connect, closed by weir_sock_close, whose callback is
 * the only place where the memory may be reused. Events stop with close, and on_error is the last
 * event but needs a close too. No event ever comes from inside a call made on the socket.
 * Idle it keeps no buffers.
 */
struct weir_sock;

struct weir_sock_events {
    void (*on_open)(void *ctx); /* connected, TLS done: ALPN is known */
    void (*on_data)(void *ctx, struct weir_slice bytes);
    void (*on_eof)(void *ctx);   /* the peer will send no more */
    void (*on_drain)(void *ctx); /* after FULL: below half of the ceiling */
    void (*on_error)(void *ctx, int err);
};

enum weir_sock_state {
    WEIR_SOCK_IDLE,       /* all-zero: not open */
    WEIR_SOCK_CONNECTING, /* TCP connect under way */
    WEIR_SOCK_SHAKING,    /* TLS handshake under way */
    WEIR_SOCK_OPEN,
    WEIR_SOCK_FAILED, /* on_error was given (or is posted); waits for close */
    WEIR_SOCK_CLOSING,
};

struct weir_sock_tls; /* SSL and its memory BIOs; NULL on plain connections */

struct weir_sock {
    uv_tcp_t tcp;
    struct weir_loop *loop;
    const struct weir_sock_events *events;
    void *ctx;
    enum weir_sock_state state;
    struct weir_bufq out; /* not yet given to the kernel; TLS: cipher text */
    size_t out_max;       /* write answers FULL at or above this; default 64 KiB */
    struct weir_list dirty_link;
    struct weir_sock_tls *tls;
    uv_write_t write_req;
    size_t in_flight_bytes; /* front of `out` that an asynchronous write points into */
    bool is_reading;
    bool want_drain;
    bool end_after_flush; /* shutdown asked for */
    void (*close_fn)(void *ctx);
    /* … the rest is the socket's own … */
};

/* Takes a connection from a listener (in its on_connection). `tls` NULL: plain. */
int weir_sock_accept(struct weir_sock *s, struct weir_loop *loop, uv_stream_t *listener,
                     struct weir_tls *tls);

/* Connects. `server_name` is used for SNI and verification when tls is given. */
int weir_sock_connect(struct weir_sock *s, struct weir_loop *loop, const struct sockaddr *addr,
                      struct weir_tls *tls, const char *server_name);

/* Set right after accept/connect, before any event can come. Reading starts by itself. */
void weir_sock_listen_to(struct weir_sock *s, const struct weir_sock_events *events, void *ctx);

/* Queues all of it; FULL when the owner should wait for on_drain. Ignored when failed or closing.
 */
enum weir_flow weir_sock_write(struct weir_sock *s, struct weir_slice bytes);

/* For writers that build in place: append to weir_sock_out(s) on plain sockets, then mark. Without
 * TLS this is s->out itself; with TLS it is a staging queue that is encrypted at the end of turn.
 */
struct weir_bufq *weir_sock_out(struct weir_sock *s);
void weir_sock_mark_dirty(struct weir_sock *s);
size_t weir_sock_pending(const struct weir_sock *s); /* bytes not yet taken by the kernel */

void weir_sock_pause(struct weir_sock *s); /* no on_data until resume; back-pressure to the peer */
void weir_sock_resume(struct weir_sock *s);

/* Sends what is queued, then the end of the stream (TLS close_notify, FIN). Reading goes on. */
void weir_sock_shutdown(struct weir_sock *s);

/* Closes now, dropping what is queued; `reset`: with RST. fn runs when the memory is free again. */
void weir_sock_close(struct weir_sock *s, bool reset, void (*fn)(void *ctx), void *ctx);

/* "h2", "http/1.1" or empty, after on_open on TLS. */
struct weir_slice weir_sock_alpn(const struct weir_sock *s);

/* The peer's address as text, for logs. */
void weir_sock_peer(const struct weir_sock *s, char *out, size_t n);

#endif
