#include "chunk/queue.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 4, KEPT_CAP = 16 };

static void grow(struct weir_chunk_queue *q)
{
    if (q->head >= q->cap / 2 && q->head != 0) { /* half of it was given out: enough room */
        memmove(q->items, q->items + q->head, q->n * sizeof *q->items);
        q->head = 0;
        return;
    }
    q->cap = q->cap != 0 ? q->cap * 2 : FIRST_CAP;
    q->items = weir_mem_realloc(q->items, q->cap * sizeof *q->items);
}

void weir_chunk_queue_add(struct weir_chunk_queue *q, const struct weir_chunk_queue_item *item)
{
    if (q->head + q->n == q->cap) {
        grow(q);
    }
    q->items[q->head + q->n++] = *item;
}

static void rewind_empty(struct weir_chunk_queue *q)
{
    q->head = 0;
    if (q->cap > KEPT_CAP) {
        free(q->items);
        q->items = NULL;
        q->cap = 0;
    }
}

int weir_chunk_queue_take(struct weir_chunk_queue *q, struct weir_chunk *out)
{
    if (q->n_ready == 0) {
        return WEIR_EAGAIN;
    }
    const struct weir_chunk_queue_item *item = weir_chunk_queue_at(q, 0);
    *out = (struct weir_chunk){.start_cp = q->start_cp,
                               .end_cp = item->end_cp,
                               .seen_end_cp = item->seen_end_cp,
                               .first_frame = item->first_frame,
                               .last_frame = item->last_frame};
    q->start_cp = item->end_cp;
    q->head++;
    q->n--;
    q->n_ready--;
    if (q->n == 0) {
        rewind_empty(q);
    }
    return 0;
}

void weir_chunk_queue_dispose(struct weir_chunk_queue *q)
{
    free(q->items);
    *q = (struct weir_chunk_queue){0};
}
