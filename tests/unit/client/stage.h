#ifndef WEIR_TESTS_UNIT_CLIENT_STAGE_H
#define WEIR_TESTS_UNIT_CLIENT_STAGE_H

/*
 * A client and the services it calls, in one process on one loop. The services are bare sockets
 * (struct peer) whose every byte is said by the test; the owners of calls are in asker.h. stage_run
 * turns the loop until a condition holds, with a watchdog instead of sleeps; after the test every
 * descriptor must be closed again.
 *
 * Where a time-out is shorter than what a busy machine may need between two turns, the test holds
 * the time (stage_hold_time) and lets it pass itself.
 */
#include "base/buf.h"
#include "base/err.h"
#include "client/call.h"
#include "client/client_int.h"
#include "io/listener.h"
#include "io/sock.h"
#include "unit/cmocka_all.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGE_PEERS = 512, STAGE_PATIENCE_S = 60 };

struct stage;
struct peer;
typedef void (*peer_hook_fn)(struct peer *peer);

/* One accepted connection. */
struct peer {
    struct weir_sock sock;
    struct stage *stage;
    struct weir_buf got;
    size_t at;    /* how much of it a reader of frames has used */
    size_t n_got; /* also when `drop` is set */
    bool drop;
    int n_open, n_eof, n_error, n_closed;
    void *ctx; /* the test's */
};

struct stage {
    struct weir_loop loop;
    struct weir_client *client;
    struct weir_listener listener;
    bool is_listening;
    uint64_t give_up_ns; /* by the kernel's clock */
    bool is_client_closed;
    struct peer peers[STAGE_PEERS];
    size_t n_peers;
    peer_hook_fn at_open, at_data, at_eof;
    struct weir_tls *peer_tls;
    struct weir_target target;
    size_t n_fds;
};

static inline size_t stage_count_fds(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n;
}

/* Peers */

static inline void peer_on_open(void *ctx)
{
    struct peer *peer = ctx;
    weir_loop_stop(&peer->stage->loop);
    peer->n_open++;
    if (peer->stage->at_open != NULL) {
        peer->stage->at_open(peer);
    }
}

static inline void peer_on_data(void *ctx, struct weir_slice bytes)
{
    struct peer *peer = ctx;
    weir_loop_stop(&peer->stage->loop);
    peer->n_got += bytes.n;
    if (!peer->drop) {
        weir_buf_append(&peer->got, bytes);
    }
    if (peer->stage->at_data != NULL) {
        peer->stage->at_data(peer);
    }
}

static inline void peer_on_eof(void *ctx)
{
    struct peer *peer = ctx;
    weir_loop_stop(&peer->stage->loop);
    peer->n_eof++;
    if (peer->stage->at_eof != NULL) {
        peer->stage->at_eof(peer);
    }
}

static inline void peer_on_error(void *ctx, int err)
{
    struct peer *peer = ctx;
    (void)err;
    weir_loop_stop(&peer->stage->loop);
    peer->n_error++;
}

static const struct weir_sock_events PEER_EVENTS = {
    .on_open = peer_on_open,
    .on_data = peer_on_data,
    .on_eof = peer_on_eof,
    .on_error = peer_on_error,
};

static inline void peer_on_closed(void *ctx)
{
    struct peer *peer = ctx;
    peer->n_closed++;
}

static inline bool peer_is_open(const struct peer *peer)
{
    return peer->sock.state != WEIR_SOCK_IDLE && peer->sock.state != WEIR_SOCK_CLOSING;
}

static inline void peer_close(struct peer *peer)
{
    weir_sock_close(&peer->sock, false, peer_on_closed, peer);
}

static inline void peer_reset(struct peer *peer)
{
    weir_sock_close(&peer->sock, true, peer_on_closed, peer);
}

static inline void peer_say_bytes(struct peer *peer, const void *p, size_t n)
{
    weir_sock_write(&peer->sock, weir_slice_make(p, n));
}

static inline void peer_say(struct peer *peer, const char *text)
{
    weir_sock_write(&peer->sock, weir_slice_cstr(text));
}

/* What the peer was told, from the beginning or since the last peer_forget. */
static inline bool peer_heard(struct peer *peer, const char *text)
{
    return strstr(weir_buf_cstr(&peer->got), text) != NULL;
}

static inline void peer_forget(struct peer *peer)
{
    weir_buf_clear(&peer->got);
    peer->at = 0;
}

/* A whole request has come: its head and as much as that says. */
static inline bool peer_has_request(struct peer *peer)
{
    const char *text = weir_buf_cstr(&peer->got);
    const char *end = strstr(text, "\r\n\r\n");
    if (end == NULL) {
        return false;
    }
    const char *length = strstr(text, "content-length: ");
    size_t n = length != NULL && length < end ? strtoul(length + 16, NULL, 10) : 0;
    return (size_t)(end + 4 - text) + n <= peer->got.n;
}

/* The stage */

static inline void stage_on_connection(void *ctx, int fd)
{
    struct stage *s = ctx;
    assert_true(s->n_peers < STAGE_PEERS);
    struct peer *peer = &s->peers[s->n_peers++];
    peer->stage = s;
    weir_loop_stop(&s->loop);
    assert_int_equal(weir_sock_accept(&peer->sock, &s->loop, fd, s->peer_tls), 0);
    weir_sock_listen_to(&peer->sock, &PEER_EVENTS, peer);
}

static inline struct weir_target stage_target(struct stage *s)
{
    return (struct weir_target){
        .id = WEIR_SLICE("hap-en"),
        .hostname = "127.0.0.1",
        .port = s->listener.port,
        .connect_timeout_ms = 10000,
        .first_byte_timeout_ms = 10000,
        .idle_timeout_ms = 10000,
        .request_timeout_ms = 20000,
        .keep_alive_interval_ms = 10000,
        .keep_alive_timeout_ms = 10000,
        .dns_interval_ms = 10000,
        .max_retries = 3,
        .max_concurrent = 8,
        .max_waiting = 4,
    };
}

static inline void stage_listen(struct stage *s)
{
    assert_int_equal(weir_listener_open(&s->listener, &s->loop, "127.0.0.1", 0, false), 0);
    s->is_listening = true;
    s->listener.on_connection = stage_on_connection;
    s->listener.ctx = s;
    assert_int_equal(weir_listener_start(&s->listener), 0);
}

/* libuv keeps some descriptors from its first loop on. */
static inline void stage_open_for_good(void)
{
    struct weir_loop loop;
    assert_int_equal(weir_loop_init(&loop), 0);
    weir_loop_dispose(&loop);
}

static inline int stage_setup(void **state)
{
    stage_open_for_good();
    size_t n_fds = stage_count_fds();
    struct stage *s = calloc(1, sizeof *s);
    s->n_fds = n_fds;
    s->give_up_ns = uv_hrtime() + STAGE_PATIENCE_S * UINT64_C(1000000000);
    assert_int_equal(weir_loop_init(&s->loop), 0);
    stage_listen(s);
    s->client = weir_client_new(&s->loop);
    s->target = stage_target(s);
    *state = s;
    return 0;
}

static inline void stage_on_client_closed(void *ctx)
{
    struct stage *s = ctx;
    s->is_client_closed = true;
    weir_loop_stop(&s->loop);
}

static inline void stage_turn(struct stage *s, uv_run_mode mode)
{
    s->loop.is_running = true;
    uv_run(&s->loop.uv, mode);
    s->loop.is_running = false;
}

/* Turns the loop until a condition on what was told holds. */
#define stage_run(s, cond)                                                                         \
    do {                                                                                           \
        while (!(cond)) {                                                                          \
            if (uv_hrtime() > (s)->give_up_ns) {                                                   \
                fail_msg("waited in vain for: %s", #cond);                                         \
            }                                                                                      \
            stage_turn((s), UV_RUN_NOWAIT);                                                        \
        }                                                                                          \
    } while (0)

/* From here on the time stands still, but for what is let pass. */
static inline void stage_hold_time(struct stage *s)
{
    s->loop.held_ms = weir_loop_now_ms(&s->loop);
}

static inline void stage_pass_ms(struct stage *s, uint64_t ms)
{
    s->loop.held_ms += ms;
    s->loop.is_running = true;
    weir_timers_run(&s->loop.timers, s->loop.held_ms);
    s->loop.is_running = false;
}

/* stage_run while the time is held: a millisecond passes with each turn. */
#define stage_run_passing(s, cond)                                                                 \
    do {                                                                                           \
        while (!(cond)) {                                                                          \
            if (uv_hrtime() > (s)->give_up_ns) {                                                   \
                fail_msg("let time pass in vain for: %s", #cond);                                  \
            }                                                                                      \
            stage_turn((s), UV_RUN_NOWAIT);                                                        \
            stage_pass_ms((s), 1);                                                                 \
        }                                                                                          \
    } while (0)

/* Some turns without waiting, for things that must not happen. */
static inline void stage_spin(struct stage *s)
{
    for (int i = 0; i < 20; i++) {
        stage_turn(s, UV_RUN_NOWAIT);
    }
}

static inline void stage_close_client(struct stage *s)
{
    if (s->client != NULL) {
        weir_client_close(s->client, stage_on_client_closed, s);
        s->client = NULL;
        stage_run(s, s->is_client_closed);
    }
}

static inline void stage_stop_listening(struct stage *s)
{
    if (s->is_listening) {
        s->is_listening = false;
        weir_listener_close(&s->listener, NULL, NULL);
        stage_spin(s);
    }
}

static inline int stage_teardown(void **state)
{
    struct stage *s = *state;
    stage_close_client(s);
    stage_stop_listening(s);
    for (size_t i = 0; i < s->n_peers; i++) {
        if (peer_is_open(&s->peers[i])) {
            peer_close(&s->peers[i]);
        }
    }
    weir_loop_dispose(&s->loop);
    for (size_t i = 0; i < s->n_peers; i++) {
        weir_buf_dispose(&s->peers[i].got);
    }
    weir_tls_unref(s->peer_tls);
    weir_tls_unref(s->target.tls);
    assert_int_equal(stage_count_fds(), s->n_fds);
    free(s);
    return 0;
}

#endif
