#ifndef WEIR_TASK_ORDER_H
#define WEIR_TASK_ORDER_H

#include "base/arena.h"
#include "detect/detection.h"

#include <stdbool.h>
#include <stddef.h>

/* The order of findings in every answer: those with spans by start, end, detector id, then those
 * without, by detector id. 0: equal, the order of arrival decides. */
int weir_order_compare(const struct weir_detection *a, const struct weir_detection *b);

/*
 * Brings findings into that order a few at a time, however many there are. Runs that are in order
 * already are merged two by two: findings of k detectors, each in order, take log2(k) passes.
 */
struct weir_order_sort {
    const struct weir_detection **items; /* n of them; sorted when done */
    size_t n;
    /* the rest is its own */
    const struct weir_detection **spare; /* what a pass writes to */
    size_t *ends;                        /* of the runs */
    size_t n_runs;
    size_t n_seen;  /* looked at for runs */
    size_t n_pairs; /* merged in this pass */
    size_t n_out;
    size_t left; /* the next of the pair's first run, and of its second */
    size_t right;
};

/* `items` and what it needs besides are in the arena. */
void weir_order_sort_begin(struct weir_order_sort *s, const struct weir_detection **items, size_t n,
                           struct weir_arena *arena);

/* Takes at most `*left` steps off `*left`. True: done. */
bool weir_order_sort_some(struct weir_order_sort *s, size_t *left);

#endif
