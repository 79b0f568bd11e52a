#include "task/gather_int.h"

/*
 * max_processed_index: the batch goes to the largest end among the queues' first verdicts, once
 * every detector has come that far. A verdict that goes further stays for a later batch, so a
 * finding may come after the beginning of its text.
 */
static bool next(struct weir_gather *g, size_t *end_cp)
{
    if (g->n_readers == g->n_queues) {
        return weir_gather__smallest_mark(g, end_cp);
    }
    if (g->target_cp == 0 && !weir_gather__find_target(g)) {
        return false;
    }
    if (g->target_cp == 0) {
        return weir_gather__rest(g, end_cp);
    }
    for (size_t i = 0; i < g->n_queues; i++) {
        if (!weir_gather__has_reached(&g->queues[i], g->target_cp)) {
            return weir_gather__wait(g, i);
        }
    }
    *end_cp = g->target_cp;
    return true;
}

const struct weir_gather_strategy weir_gather__max = {
    .name = "max_processed_index",
    .takes_straddling = false,
    .next = next,
};
