#ifndef WEIR_BASE_BUFQ_H
#define WEIR_BASE_BUFQ_H

#include "base/account.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/*
 * A first-in first-out queue of bytes in blocks: what waits for a socket.
 *
 *   head ─► [####····] ─► [########] ─► [###.....] ◄─ tail      # queued   . free   · taken
 *
 * Bytes never move once queued, so an asynchronous write may point into the queue until it takes
 * them off with consume. A drained queue keeps no memory. The ceiling is soft on purpose (the flow
 * contract: a writer's bytes are always accepted, then it is told FULL); see weir_bufq_is_full.
 * With an account (set after init, while empty) its blocks count there. All-zero is a valid empty
 * queue without ceiling.
 */
struct weir_bufq_block;

struct weir_bufq {
    struct weir_bufq_block *head;
    struct weir_bufq_block *tail;
    size_t n;   /* bytes queued */
    size_t max; /* full at or above this; 0: never */
    struct weir_account *account;
};

void weir_bufq_init(struct weir_bufq *q, size_t max_bytes);
void weir_bufq_dispose(struct weir_bufq *q); /* keeps `max` and `account` */

/* Queues of a thread keep some empty blocks for each other: at its end it gives them back. */
void weir_bufq_free_spares(void);

void weir_bufq_append(struct weir_bufq *q, struct weir_slice s);

/*
 * At least `want` contiguous free bytes at the tail; fill some, then weir_bufq_commit. Nothing else
 * may happen to the queue in between: consuming the rest of it would free the reserved bytes.
 */
char *weir_bufq_reserve(struct weir_bufq *q, size_t want, size_t *room);
void weir_bufq_commit(struct weir_bufq *q, size_t n);

/* The first run of contiguous bytes; empty when the queue is. */
struct weir_slice weir_bufq_peek(const struct weir_bufq *q);

/* Fills up to `max_iov` entries from the front; returns how many, and their bytes in `*bytes`. */
int weir_bufq_iov(const struct weir_bufq *q, struct iovec *iov, int max_iov, size_t *bytes);

/* Takes `n` bytes (at most q->n) off the front. */
void weir_bufq_consume(struct weir_bufq *q, size_t n);

/* Moves everything in `from`, another queue with the same account, behind what `to` has, without
 * copying. */
void weir_bufq_move(struct weir_bufq *to, struct weir_bufq *from);

static inline bool weir_bufq_is_full(const struct weir_bufq *q)
{
    return q->max != 0 && q->n >= q->max;
}

#endif
