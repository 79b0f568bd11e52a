#include "task/gather_int.h"

/*
 * min_processed_index: the batch goes as far as every detector still at work has come. Verdicts
 * that begin in it leave with it, so a span may point past the batch's end.
 */
static bool next(struct weir_gather *g, size_t *end_cp)
{
    if (g->n_ended == g->n_queues) {
        return weir_gather__rest(g, end_cp);
    }
    size_t smallest_cp = SIZE_MAX;
    for (size_t i = 0; i < g->n_queues; i++) {
        const struct weir_gather_queue *q = &g->queues[i];
        if (q->has_ended) {
            continue;
        }
        if (q->reach_cp <= g->left_cp) {
            return weir_gather__wait(g, i);
        }
        if (q->reach_cp < smallest_cp) {
            smallest_cp = q->reach_cp;
        }
    }
    *end_cp = smallest_cp;
    return true;
}

const struct weir_gather_strategy weir_gather__min = {
    .name = "min_processed_index",
    .takes_straddling = true,
    .next = next,
};
