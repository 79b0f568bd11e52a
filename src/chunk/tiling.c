#include "chunk/tiling.h"

#include "base/err.h"

#include <stdlib.h>

void weir_tiling_init(struct weir_tiling *t, const struct weir_chunker *chunker, size_t start_cp,
                      size_t max_bytes)
{
    *t = (struct weir_tiling){.base.chunker = chunker,
                              .queue.start_cp = start_cp,
                              .start.cp = start_cp,
                              .here.cp = start_cp,
                              .max_bytes = max_bytes != 0 ? max_bytes : WEIR_TILING_MAX_BYTES};
}

void weir_tiling_dispose(struct weir_tiling *t)
{
    weir_chunk_queue_dispose(&t->queue);
    *t = (struct weir_tiling){0};
}

void weir_tiling_end_at(struct weir_tiling *t, const struct weir_tiling_place *place)
{
    if (place->cp <= t->start.cp) {
        return;
    }
    struct weir_chunk_queue_item item = {.end_cp = place->cp,
                                         .seen_end_cp = place->cp,
                                         .first_frame = t->start.frame_after,
                                         .last_frame = place->frame_before};
    weir_chunk_queue_add(&t->queue, &item);
    t->queue.n_ready++;
    t->start = *place;
}

struct weir_tiling_place weir_tiling_best(const struct weir_tiling *t)
{
    size_t half = t->start.byte + t->max_bytes / 2;
    const struct weir_tiling_place *latest = NULL;
    for (size_t i = 0; i < WEIR_TILING_RANKS; i++) {
        const struct weir_tiling_place *mark = &t->marks[i];
        if (mark->cp <= t->start.cp) {
            continue;
        }
        if (mark->byte >= half) {
            return *mark;
        }
        latest = latest == NULL || mark->cp > latest->cp ? mark : latest;
    }
    return latest != NULL ? *latest : t->here;
}

void weir_tiling_close(struct weir_chunk_stream *s)
{
    weir_tiling_dispose((struct weir_tiling *)s);
    free(s);
}

int weir_tiling_next(struct weir_chunk_stream *s, struct weir_chunk *out)
{
    struct weir_tiling *t = (struct weir_tiling *)s;
    int rc = weir_chunk_queue_take(&t->queue, out);
    return rc == WEIR_EAGAIN && t->has_ended ? WEIR_ECLOSED : rc;
}
