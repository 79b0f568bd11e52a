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
 * event but needs a close too. No event ever comes from inside a call made on the socket; any call
 * may be made from inside any event. Idle it keeps no buffers.
 *
 * When the kernel takes no more (the peer has reset) the socket first delivers what the peer had
 * sent before, an early answer perhaps, and only then gives on_error; paused, it does so at once.
 */
struct weir_sock;

/* Any of them may be NULL. */
struct weir_sock_events {
    void (*on_open)(void *ctx); /* connected, TLS done: ALPN is known */
    void (*on_data)(void *ctx, struct weir_slice bytes);
    void (*on_eof)(void *ctx);   /* the peer will send no more */
    void (*on_drain)(void *ctx); /* after FULL: no more than half of the ceiling is queued */
    /* Right before queued bytes are sent: what else is ready may be appended to weir_sock_out.
     * Nothing else may be done with the socket here. */
    void (*on_flush)(void *ctx);
    void (*on_sent_end)(void *ctx); /* after shutdown: the end of the stream has left */
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

/* In the order of use: a token that passes touches the lines in front and none behind. */
struct weir_sock {
    uv_tcp_t tcp;
    struct weir_loop *loop;
    const struct weir_sock_events *events;
    void *ctx;
    enum weir_sock_state state;
    uv_os_fd_t fd; /* as libuv has it, whose own record of it lies far from what we look at */
    int write_err; /* the kernel takes no more; what the peer sent before is still read */
    struct weir_flow_gate gate; /* to the owner: FULL, then on_drain */
    bool is_reading;
    bool end_after_flush; /* shutdown asked for */
    bool tls_truncated;   /* with on_eof: TCP ended without TLS close_notify */
    /* the rest is the socket's own, but for `out_max` and `sent_bytes` */
    bool is_paused;
    bool is_writing; /* an asynchronous write is under way */
    bool has_eof;
    bool has_sent_end;
    bool tell_open; /* these events are due: `later` calls them */
    bool tell_sent_end;
    bool is_counted; /* among the connections to services: io/fds.h */
    struct weir_sock_tls *tls;
    uint64_t read_turn;
    size_t read_bytes;    /* in turn `read_turn` */
    struct weir_bufq out; /* not yet given to the kernel; TLS: cipher text */
    size_t out_max;       /* write answers FULL at or above this; default 64 KiB */
    uint64_t sent_bytes;  /* taken by the kernel so far: shows whether a slow peer still reads */
    struct weir_list dirty_link;
    size_t in_flight_bytes; /* front of `out` that an asynchronous write points into */
    struct weir_post later; /* calls events that must not come from inside a call */
    int err;                /* that on_error is or was called with */
    char *why;
    void (*close_fn)(void *ctx);
    void *close_ctx;
};

/*
 * Takes the descriptor of a connection (from a listener's on_connection). `tls` NULL: plain. After
 * an error the socket needs weir_sock_close like any other. `tls` may be unreferenced right after.
 */
int weir_sock_accept(struct weir_sock *s, struct weir_loop *loop, int fd, struct weir_tls *tls);

/*
 * Connects. `server_name` (a host name or an address literal) is used for SNI and verification
 * when tls is given. Always 0: a failure, even an immediate one, comes as on_error; WEIR_ELIMIT is
 * that the process has no descriptor left for it.
 */
int weir_sock_connect(struct weir_sock *s, struct weir_loop *loop, const struct sockaddr *addr,
                      struct weir_tls *tls, const char *server_name);

/* What is queued counts there. Right after accept or connect. */
void weir_sock_count_on(struct weir_sock *s, struct weir_account *account);

/* Set right after accept/connect, before any event can come. Reading starts by itself. */
void weir_sock_listen_to(struct weir_sock *s, const struct weir_sock_events *events, void *ctx);

/* Queues all of it, also before on_open. FULL: the owner should wait for on_drain. Ignored (OK)
 * after shutdown and when failed or closing. */
enum weir_flow weir_sock_write(struct weir_sock *s, struct weir_slice bytes);

/* For writers that build in place: append to weir_sock_out(s), then mark; mark answers as write
 * does. Without TLS this is s->out itself; with TLS a staging queue, encrypted at the end of turn.
 */
struct weir_bufq *weir_sock_out(struct weir_sock *s);
enum weir_flow weir_sock_mark_dirty(struct weir_sock *s);
size_t weir_sock_pending(const struct weir_sock *s); /* bytes not yet taken by the kernel */

void weir_sock_pause(struct weir_sock *s); /* no on_data until resume; back-pressure to the peer */
void weir_sock_resume(struct weir_sock *s);

/* Sends what is queued, then the end of the stream (TLS close_notify, FIN). Reading goes on; no
 * on_drain comes any more. */
void weir_sock_shutdown(struct weir_sock *s);

/* Closes now, dropping what is queued; `reset`: with RST. fn runs when the memory is free again.
 * Once per accept or connect. */
void weir_sock_close(struct weir_sock *s, bool reset, void (*fn)(void *ctx), void *ctx);

/* "h2", "http/1.1" or empty, after on_open on TLS. */
struct weir_slice weir_sock_alpn(const struct weir_sock *s);

/* Why it failed, for logs: "certificate verify failed: unable to get issuer certificate". Lives
 * until the close callback. */
const char *weir_sock_why(const struct weir_sock *s);

#endif
