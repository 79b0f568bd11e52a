#ifndef WEIR_CHUNK_QUEUE_H
#define WEIR_CHUNK_QUEUE_H

#include "chunk/chunk.h"

/*
 * Chunks of a built-in chunker on their way to weir_chunk_next: in order, each beginning where the
 * one before it ends. The oldest `n_ready` of them may be given out; the others are still growing
 * (windows overlap, so several can be open at once).
 *
 * Drained, it keeps a few hundred bytes. All-zero is an empty queue that begins at 0.
 */
struct weir_chunk_queue_item {
    size_t end_cp;
    size_t seen_end_cp;
    uint64_t first_frame;
    uint64_t last_frame;
};

struct weir_chunk_queue {
    struct weir_chunk_queue_item *items;
    size_t head; /* items before it were given out */
    size_t n;    /* from head on */
    size_t cap;
    size_t n_ready;
    size_t start_cp; /* of the item at head */
};

static inline struct weir_chunk_queue_item *weir_chunk_queue_at(const struct weir_chunk_queue *q,
                                                                size_t i)
{
    return &q->items[q->head + i];
}

/* A copy of `item` at the end, not ready yet. */
void weir_chunk_queue_add(struct weir_chunk_queue *q, const struct weir_chunk_queue_item *item);

/* The oldest if it is ready, else WEIR_EAGAIN. */
int weir_chunk_queue_take(struct weir_chunk_queue *q, struct weir_chunk *out);

void weir_chunk_queue_dispose(struct weir_chunk_queue *q);

#endif
