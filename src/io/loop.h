#ifndef WEIR_IO_LOOP_H
#define WEIR_IO_LOOP_H

#include "base/list.h"
#include "io/timer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/*
 * One event loop, owned by one thread. A turn:
 *
 *   timers ─► [wait for the kernel] ─► sockets' events ─► posted work ─► some of the long work
 *                                                                    ─► one write per socket
 *
 * Work that must not run inside the current call is posted and runs at the end of the same turn;
 * sockets gather what is written to them and send it once per turn, after the posted work. Work
 * that may be long is done in steps, which share a few milliseconds of each turn.
 */
struct weir_loop;

struct weir_post {
    struct weir_list link; /* all-zero: not posted */
    void (*fn)(struct weir_post *post);
};

/* A call from another thread. */
struct weir_loop_call {
    struct weir_loop_call *next;
    void (*fn)(void *arg);
    void *arg;
};

enum { WEIR_LOOP_READ_BYTES = 64 * 1024 };

struct weir_loop {
    uv_loop_t uv;
    uv_prepare_t end_of_turn;
    uv_idle_t again; /* active while posted work is left for the next turn */
    uv_async_t wake;
    uv_tcp_t first; /* never used: makes libuv open its own descriptor now, not with the first
                       connection */
    uv_timer_t clock;
    struct weir_timers timers;
    struct weir_list posted;
    struct weir_list steps;     /* of long work, the next one to run first */
    struct weir_list dirty;     /* sockets with bytes to send, io/sock.c */
    struct weir_list dirty_end; /* in it while flushing: where the present turn ends */
    pthread_mutex_t calls_lock;
    struct weir_loop_call *calls; /* newest first */
    char *read_buf;               /* WEIR_LOOP_READ_BYTES, shared by all sockets of the loop */
    void (*flush_dirty)(struct weir_loop *loop);
    char *tls_buf;        /* plain text of TLS sockets, from the first one on */
    uint64_t clock_at_ms; /* what `clock` is armed for; UINT64_MAX: nothing */
    uint64_t turn;        /* counts turns, for per-turn budgets */
    uint64_t held_ms;     /* not 0: the time stands here, for tests on a clock of their own */
    bool has_skipped;     /* no step in the last turn */
    bool is_running;
};

/* Also makes the process ignore SIGPIPE. 0, WEIR_ELIMIT when out of descriptors, WEIR_EIO. */
int weir_loop_init(struct weir_loop *loop);

/* Runs until weir_loop_stop; then handles may be closed and run may be called again. */
void weir_loop_run(struct weir_loop *loop);
void weir_loop_stop(struct weir_loop *loop);

/*
 * Runs until every other handle is closed (they must all be closing), with the posted work and the
 * calls of other threads that are left; armed timers are forgotten. Then closes the loop's own
 * handles and frees. No other thread may call any more.
 */
void weir_loop_dispose(struct weir_loop *loop);

/* Milliseconds, monotonic, fixed within a turn. */
uint64_t weir_loop_now_ms(const struct weir_loop *loop);

/*
 * Runs post->fn at the end of this turn, or of the next one when called from posted work; a post
 * that is already queued is left where it is. It is unlinked before fn, so fn may free or re-post.
 */
void weir_loop_post(struct weir_loop *loop, struct weir_post *post);

/*
 * The same for a step of long work, so that one request's large text does not hold up the others:
 * the steps of all take turns, in order, until this turn's work has taken WEIR_LOOP_STEPS_US; the
 * others wait for the next. At least one runs in every other turn. A step should take well below a
 * millisecond; what has more to do asks again.
 */
enum { WEIR_LOOP_STEPS_US = 2000 };
void weir_loop_step(struct weir_loop *loop, struct weir_post *step);

/* Takes either back. */
void weir_loop_unpost(struct weir_post *post);

/* From any thread: runs fn(arg) on the loop's thread, in order. */
void weir_loop_call(struct weir_loop *loop, void (*fn)(void *arg), void *arg);

/* Timer by a delay from now. Armed timers do not outlive the loop. */
void weir_loop_after(struct weir_loop *loop, struct weir_timer *t, uint64_t delay_ms);
void weir_loop_cancel(struct weir_loop *loop, struct weir_timer *t);

#endif
