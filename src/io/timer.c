/*
 * The heap orders timers by `heap_ms`, which may lag behind the wanted `due_ms` but never passes
 * it. So the root bounds every due time from below, and a root whose two times agree is the next
 * to fire; a root that lags is brought up to date and sinks.
 */
#include "io/timer.h"

#include "base/mem.h"

#include <stdlib.h>

enum { FIRST_CAP = 64 };

void weir_timers_dispose(struct weir_timers *ts)
{
    for (size_t i = 0; i < ts->n; i++) {
        ts->heap[i]->slot = 0;
    }
    free(ts->heap);
    *ts = (struct weir_timers){0};
}

static void place(struct weir_timers *ts, struct weir_timer *t, size_t i)
{
    ts->heap[i] = t;
    t->slot = i + 1;
}

/* Puts `t` at the hole `i` or above it. */
static void sift_up(struct weir_timers *ts, struct weir_timer *t, size_t i)
{
    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (ts->heap[parent]->heap_ms <= t->heap_ms) {
            break;
        }
        place(ts, ts->heap[parent], i);
        i = parent;
    }
    place(ts, t, i);
}

/* Puts `t` at the hole `i` or below it. */
static void sift_down(struct weir_timers *ts, struct weir_timer *t, size_t i)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= ts->n) {
            break;
        }
        if (child + 1 < ts->n && ts->heap[child + 1]->heap_ms < ts->heap[child]->heap_ms) {
            child++;
        }
        if (t->heap_ms <= ts->heap[child]->heap_ms) {
            break;
        }
        place(ts, ts->heap[child], i);
        i = child;
    }
    place(ts, t, i);
}

static void push(struct weir_timers *ts, struct weir_timer *t)
{
    if (ts->n == ts->cap) {
        ts->cap = ts->cap != 0 ? 2 * ts->cap : FIRST_CAP;
        ts->heap = weir_mem_realloc(ts->heap, ts->cap * sizeof(struct weir_timer *));
    }
    ts->n++;
    sift_up(ts, t, ts->n - 1);
}

void weir_timers_set(struct weir_timers *ts, struct weir_timer *t, uint64_t due_ms)
{
    if (ts->is_running && due_ms <= ts->run_ms) {
        due_ms = ts->run_ms + 1;
    }
    t->due_ms = due_ms;
    if (t->slot == 0) {
        t->heap_ms = due_ms;
        push(ts, t);
    } else if (due_ms < t->heap_ms) {
        t->heap_ms = due_ms;
        sift_up(ts, t, t->slot - 1);
    }
}

void weir_timers_cancel(struct weir_timers *ts, struct weir_timer *t)
{
    if (t->slot == 0) {
        return;
    }
    size_t hole = t->slot - 1;
    t->slot = 0;
    ts->n--;
    if (hole == ts->n) {
        return;
    }
    struct weir_timer *last = ts->heap[ts->n];
    if (last->heap_ms < t->heap_ms) {
        sift_up(ts, last, hole);
    } else {
        sift_down(ts, last, hole);
    }
}

bool weir_timers_next(const struct weir_timers *ts, uint64_t *at_ms)
{
    if (ts->n == 0) {
        return false;
    }
    *at_ms = ts->heap[0]->heap_ms;
    return true;
}

void weir_timers_run(struct weir_timers *ts, uint64_t now_ms)
{
    ts->is_running = true;
    ts->run_ms = now_ms;
    while (ts->n != 0 && ts->heap[0]->heap_ms <= now_ms) {
        struct weir_timer *t = ts->heap[0];
        if (t->heap_ms < t->due_ms) {
            t->heap_ms = t->due_ms;
            sift_down(ts, t, 0);
        } else {
            weir_timers_cancel(ts, t);
            t->fn(t, t->ctx);
        }
    }
    ts->is_running = false;
}
