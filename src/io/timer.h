#ifndef WEIR_IO_TIMER_H
#define WEIR_IO_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Timers of one loop: a binary heap, pure, with the time handed in, so that tests run it on a
 * virtual clock. Pushing a deadline back (an idle time-out on every token) only stores the new
 * time; the heap learns of it when the old one comes due.
 */
struct weir_timer;
typedef void (*weir_timer_fn)(struct weir_timer *t, void *ctx);

struct weir_timer {
    weir_timer_fn fn;
    void *ctx;
    uint64_t due_ms;  /* wanted */
    uint64_t heap_ms; /* as the heap knows it, <= due_ms */
    size_t slot;      /* index + 1 in the heap, 0 = not armed */
};

struct weir_timers {
    struct weir_timer **heap;
    size_t n;
    size_t cap;
    bool is_running;
    uint64_t run_ms; /* the time of the run under way */
};

void weir_timers_dispose(struct weir_timers *ts); /* armed timers are forgotten */

/*
 * Arms or re-arms. `fn` and `ctx` are taken from the timer. From inside a timer's fn the earliest
 * time is one millisecond after the run under way, so a run always ends.
 */
void weir_timers_set(struct weir_timers *ts, struct weir_timer *t, uint64_t due_ms);

/* Safe when not armed, also from inside any timer's fn. */
void weir_timers_cancel(struct weir_timers *ts, struct weir_timer *t);

/* Earliest time at which run must be called; false when nothing is armed. */
bool weir_timers_next(const struct weir_timers *ts, uint64_t *at_ms);

/* Fires what is due at `now_ms`, each disarmed before its fn runs, in order of due time. A fn may
 * set, cancel and free any timer, its own included. */
void weir_timers_run(struct weir_timers *ts, uint64_t now_ms);

static inline bool weir_timer_is_armed(const struct weir_timer *t)
{
    return t->slot != 0;
}

#endif
