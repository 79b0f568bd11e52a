#include "task/gather_int.h"

/*
 * aligned: as max_processed_index, but the end moves on until no verdict straddles it, so that
 * everything known about a text leaves with it.
 *
 * The target only grows while verdicts come and is kept from try to try, as is each queue's cursor:
 * chunkers that never line up make long queues, and no verdict is looked at twice.
 */

/* The same of a reader's findings, which may lie in one another. Few wait at a time. */
static size_t end_of_finding(const struct weir_gather_queue *q, size_t target_cp)
{
    size_t end_cp = target_cp;
    for (size_t i = 0; !q->is_late && i < q->n && weir_gather__entry(q, i)->start_cp < target_cp;
         i++) {
        size_t own_cp = weir_gather__entry(q, i)->end_cp;
        end_cp = own_cp > end_cp ? own_cp : end_cp;
    }
    return end_cp;
}

/* The end of the verdict that starts before the target and ends behind it, or the target. */
static size_t end_of_straddler(struct weir_gather_queue *q, size_t target_cp)
{
    while (q->cursor < q->n && weir_gather__entry(q, q->cursor)->end_cp <= target_cp) {
        q->cursor++;
    }
    if (q->cursor == q->n || weir_gather__entry(q, q->cursor)->start_cp >= target_cp) {
        return target_cp;
    }
    return weir_gather__entry(q, q->cursor)->end_cp;
}

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
    size_t n_agreeing = 0; /* in a row, with the target as it is now */
    for (size_t i = 0; n_agreeing < g->n_queues; i = (i + 1) % g->n_queues) {
        struct weir_gather_queue *q = &g->queues[i];
        if (!weir_gather__has_reached(q, g->target_cp)) {
            return weir_gather__wait(g, i);
        }
        size_t straddle_cp =
            q->is_reader ? end_of_finding(q, g->target_cp) : end_of_straddler(q, g->target_cp);
        n_agreeing = straddle_cp > g->target_cp ? 1 : n_agreeing + 1;
        g->target_cp = straddle_cp;
    }
    *end_cp = g->target_cp;
    return true;
}

const struct weir_gather_strategy weir_gather__aligned = {
    .name = "aligned",
    .takes_straddling = false,
    .next = next,
};
