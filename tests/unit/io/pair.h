#ifndef WEIR_TESTS_UNIT_IO_PAIR_H
#define WEIR_TESTS_UNIT_IO_PAIR_H

/*
 * Two sockets of one loop, connected over loopback: `down` connects, `up` is accepted. Every event
 * is recorded; a test hooks into the events it wants to act on. pair_run turns the loop until a
 * condition holds, with a watchdog instead of sleeps.
 */
#include "base/buf.h"
#include "base/err.h"
#include "io/listener.h"
#include "io/sock.h"
#include "unit/cmocka_all.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct side;
typedef void (*side_hook_fn)(struct side *side);

struct side {
    struct weir_sock sock;
    struct pair *pair;
    struct weir_buf got;
    struct weir_slice now; /* during on_data */
    size_t n_got;          /* also when `keep` is off */
    bool drop;             /* count only */
    int n_open, n_eof, n_drain, n_flush, n_sent_end, n_error, n_closed;
    int err;
    char why[160];
    side_hook_fn at_open, at_data, at_eof, at_drain, at_flush, at_sent_end, at_error;
    size_t to_send; /* for the senders of the tests */
    size_t sent;
};

struct pair {
    struct weir_loop loop;
    struct weir_listener listener;
    bool is_listening;
    struct weir_timer watchdog;
    bool timed_out;
    struct weir_tls *up_tls, *down_tls;
    const char *server_name;
    struct side down, up;
    int accept_err;
};

/* An event told at the end of a turn must not be followed by a poll that blocks. */
static inline void pair_look(struct pair *p)
{
    weir_loop_stop(&p->loop);
}

static inline void side_on_open(void *ctx)
{
    struct side *side = ctx;
    pair_look(side->pair);
    assert_int_equal(side->n_open, 0);
    assert_int_equal(side->n_got, 0);
    side->n_open++;
    if (side->at_open != NULL) {
        side->at_open(side);
    }
}

static inline void side_on_data(void *ctx, struct weir_slice bytes)
{
    struct side *side = ctx;
    pair_look(side->pair);
    assert_int_equal(side->n_open, 1);
    assert_int_equal(side->n_eof, 0);
    assert_int_equal(side->n_error, 0);
    assert_int_equal(side->sock.state, WEIR_SOCK_OPEN);
    assert_false(side->sock.is_paused);
    assert_true(bytes.n > 0);
    side->n_got += bytes.n;
    if (!side->drop) {
        weir_buf_append(&side->got, bytes);
    }
    side->now = bytes;
    if (side->at_data != NULL) {
        side->at_data(side);
    }
    side->now = weir_slice_make(NULL, 0);
}

static inline void side_on_eof(void *ctx)
{
    struct side *side = ctx;
    pair_look(side->pair);
    assert_int_equal(side->n_eof, 0);
    side->n_eof++;
    if (side->at_eof != NULL) {
        side->at_eof(side);
    }
}

static inline void side_on_drain(void *ctx)
{
    struct side *side = ctx;
    pair_look(side->pair);
    side->n_drain++;
    if (side->at_drain != NULL) {
        side->at_drain(side);
    }
}

static inline void side_on_flush(void *ctx)
{
    struct side *side = ctx;
    assert_int_equal(side->n_open, 1);
    side->n_flush++;
    if (side->at_flush != NULL) {
        side->at_flush(side);
    }
}

static inline void side_on_sent_end(void *ctx)
{
    struct side *side = ctx;
    pair_look(side->pair);
    assert_int_equal(side->n_sent_end, 0);
    assert_int_equal(weir_sock_pending(&side->sock), 0);
    side->n_sent_end++;
    if (side->at_sent_end != NULL) {
        side->at_sent_end(side);
    }
}

static inline void side_on_error(void *ctx, int err)
{
    struct side *side = ctx;
    pair_look(side->pair);
    assert_int_equal(side->n_error, 0);
    side->n_error++;
    side->err = err;
    snprintf(side->why, sizeof side->why, "%s", weir_sock_why(&side->sock));
    if (side->at_error != NULL) {
        side->at_error(side);
    }
}

static const struct weir_sock_events SIDE_EVENTS = {
    .on_open = side_on_open,
    .on_data = side_on_data,
    .on_eof = side_on_eof,
    .on_drain = side_on_drain,
    .on_flush = side_on_flush,
    .on_sent_end = side_on_sent_end,
    .on_error = side_on_error,
};

static inline void side_on_closed(void *ctx)
{
    struct side *side = ctx;
    side->n_closed++;
}

static inline bool side_is_open(const struct side *side)
{
    return side->sock.state != WEIR_SOCK_IDLE && side->sock.state != WEIR_SOCK_CLOSING;
}

static inline void side_close(struct side *side)
{
    weir_sock_close(&side->sock, false, side_on_closed, side);
}

static inline void side_reset(struct side *side)
{
    weir_sock_close(&side->sock, true, side_on_closed, side);
}

static inline enum weir_flow side_say(struct side *side, const char *text)
{
    return weir_sock_write(&side->sock, weir_slice_cstr(text));
}

static inline void pair_on_connection(void *ctx, int fd)
{
    struct pair *p = ctx;
    struct side *up = &p->up;
    p->accept_err = weir_sock_accept(&up->sock, &p->loop, fd, p->up_tls);
    assert_int_equal(p->accept_err, 0);
    weir_sock_listen_to(&up->sock, &SIDE_EVENTS, up);
}

static inline void pair_on_watchdog(struct weir_timer *t, void *ctx)
{
    (void)t;
    struct pair *p = ctx;
    p->timed_out = true;
}

static inline struct sockaddr_in pair_addr(uint16_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return addr;
}

static inline void pair_connect(struct pair *p)
{
    struct sockaddr_in addr = pair_addr(p->listener.port);
    assert_int_equal(weir_sock_connect(&p->down.sock, &p->loop, (struct sockaddr *)&addr,
                                       p->down_tls, p->server_name),
                     0);
    weir_sock_listen_to(&p->down.sock, &SIDE_EVENTS, &p->down);
}

static inline int pair_setup(void **state)
{
    struct pair *p = calloc(1, sizeof *p);
    p->down.pair = p;
    p->up.pair = p;
    p->server_name = "weir.test";
    p->watchdog.fn = pair_on_watchdog;
    p->watchdog.ctx = p;
    assert_int_equal(weir_loop_init(&p->loop), 0);
    weir_loop_after(&p->loop, &p->watchdog, 100000);
    assert_int_equal(weir_listener_open(&p->listener, &p->loop, "localhost", 0, false), 0);
    p->is_listening = true;
    p->listener.on_connection = pair_on_connection;
    p->listener.ctx = p;
    assert_int_equal(weir_listener_start(&p->listener), 0);
    *state = p;
    return 0;
}

static inline int pair_teardown(void **state)
{
    struct pair *p = *state;
    struct side *sides[] = {&p->down, &p->up};
    for (int i = 0; i < 2; i++) {
        if (side_is_open(sides[i])) {
            side_close(sides[i]);
        }
    }
    if (p->is_listening) {
        weir_listener_close(&p->listener, NULL, NULL);
    }
    weir_loop_dispose(&p->loop);
    weir_tls_unref(p->up_tls);
    weir_tls_unref(p->down_tls);
    for (int i = 0; i < 2; i++) {
        weir_buf_dispose(&sides[i]->got);
    }
    free(p);
    return 0;
}

static inline void pair_turn(struct pair *p, uv_run_mode mode)
{
    p->loop.is_running = true;
    uv_run(&p->loop.uv, mode);
    p->loop.is_running = false;
}

/* Turns the loop until a condition on the events holds. */
#define pair_run(p, cond) pair_turns((p), UV_RUN_ONCE, cond)

/* The same for any condition, never blocking. */
#define pair_poll(p, cond) pair_turns((p), UV_RUN_NOWAIT, cond)

#define pair_turns(p, mode, cond)                                                                  \
    do {                                                                                           \
        while (!(cond)) {                                                                          \
            if ((p)->timed_out) {                                                                  \
                fail_msg("waited in vain for: %s", #cond);                                         \
            }                                                                                      \
            pair_turn((p), (mode));                                                                \
        }                                                                                          \
    } while (0)

/* Some turns without waiting, for things that must not happen. */
static inline void pair_spin(struct pair *p)
{
    for (int i = 0; i < 20; i++) {
        pair_turn(p, UV_RUN_NOWAIT);
    }
}

/* Turns until a number that somebody holds back stays as it is. The kernel may still take a little
 * more after it has refused to: how much it is in the end is asked here, not when. */
#define pair_settle(p, number) pair_settle_by(pair_spin(p), number)

#define pair_settle_by(spin, number)                                                               \
    do {                                                                                           \
        uint64_t before;                                                                           \
        do {                                                                                       \
            before = (uint64_t)(number);                                                           \
            (spin);                                                                                \
        } while ((uint64_t)(number) != before);                                                    \
    } while (0)

static inline void pair_open(struct pair *p)
{
    pair_connect(p);
    pair_run(p, p->down.n_open == 1 && p->up.n_open == 1);
}

/* What several tests do in events. */

static inline bool side_got(const struct side *side, const char *text)
{
    return weir_slice_eq_cstr(weir_buf_slice(&side->got), text);
}

static inline void side_echo(struct side *side)
{
    weir_sock_write(&side->sock, side->now);
}

/* A stream of bytes whose content depends on the place, sent as fast as FULL allows. */
enum { PAIR_BIG = 8 * 1024 * 1024, PAIR_PIECE = 10007 };

static inline char pair_byte(size_t i)
{
    return (char)(i * 31 + i / 251);
}

static inline void side_send_on(struct side *side)
{
    enum weir_flow flow = WEIR_FLOW_OK;
    while (side->sent < side->to_send && flow == WEIR_FLOW_OK) {
        char piece[PAIR_PIECE];
        size_t n =
            side->to_send - side->sent < PAIR_PIECE ? side->to_send - side->sent : PAIR_PIECE;
        for (size_t i = 0; i < n; i++) {
            piece[i] = pair_byte(side->sent + i);
        }
        side->sent += n;
        flow = weir_sock_write(&side->sock, weir_slice_make(piece, n));
        assert_true(weir_sock_pending(&side->sock) < side->sock.out_max + PAIR_PIECE);
        assert_int_equal(flow == WEIR_FLOW_FULL,
                         weir_sock_pending(&side->sock) >= side->sock.out_max);
    }
    if (side->sent == side->to_send) {
        weir_sock_shutdown(&side->sock);
    }
}

static inline void side_check_bytes(struct side *side)
{
    size_t from = side->n_got - side->now.n;
    for (size_t i = 0; i < side->now.n; i++) {
        assert_int_equal(side->now.p[i], pair_byte(from + i));
    }
}

static inline void side_pause(struct side *side)
{
    weir_sock_pause(&side->sock);
}

/* Close from inside each event: no event after it, and its callback comes. */
static inline void pair_assert_quiet(struct pair *p, struct side *side)
{
    pair_run(p, side->n_closed == 1);
    int opens = side->n_open;
    size_t bytes = side->n_got;
    pair_spin(p);
    assert_int_equal(side->n_open, opens);
    assert_int_equal(side->n_got, bytes);
    assert_int_equal(side->n_closed, 1);
}

static inline void side_say_and_close(struct side *side)
{
    side_say(side, "lost");
    side_close(side);
}

#endif
