#include "task/gather_int.h"

/* The strategies by name, the default first, and the steps they share. */

static const struct weir_gather_strategy *const strategies[] = {
    &weir_gather__max,
    &weir_gather__aligned,
    &weir_gather__min,
};

enum { N_STRATEGIES = sizeof strategies / sizeof strategies[0] };

const struct weir_gather_strategy *weir_gather_strategy_at(size_t index)
{
    return index < N_STRATEGIES ? strategies[index] : NULL;
}

const struct weir_gather_strategy *weir_gather_strategy_find(struct weir_slice name)
{
    for (size_t i = 0; i < N_STRATEGIES; i++) {
        if (weir_slice_eq_cstr(name, strategies[i]->name)) {
            return strategies[i];
        }
    }
    return NULL;
}

const char *weir_gather_strategy_name(const struct weir_gather_strategy *strategy)
{
    return strategy->name;
}

bool weir_gather__find_target(struct weir_gather *g)
{
    size_t target_cp = 0;
    for (size_t i = 0; i < g->n_queues; i++) {
        const struct weir_gather_queue *q = &g->queues[i];
        if (q->is_reader) {
            continue;
        }
        if (q->n == 0 && !q->has_ended) {
            return weir_gather__wait(g, i);
        }
        if (q->n != 0 && weir_gather__entry(q, 0)->end_cp > target_cp) {
            target_cp = weir_gather__entry(q, 0)->end_cp;
        }
    }
    g->target_cp = target_cp;
    return true;
}

bool weir_gather__rest(struct weir_gather *g, size_t *end_cp)
{
    if (g->length_cp == SIZE_MAX || g->length_cp == g->left_cp) {
        return weir_gather__wait(g, WEIR_GATHER_SOURCE);
    }
    *end_cp = g->length_cp;
    return weir_gather__readers_reach(g, g->length_cp);
}

bool weir_gather__readers_reach(struct weir_gather *g, size_t end_cp)
{
    for (size_t i = 0; g->n_readers != 0 && i < g->n_queues; i++) {
        if (g->queues[i].is_reader && !weir_gather__has_reached(&g->queues[i], end_cp)) {
            return weir_gather__wait(g, i);
        }
    }
    return true;
}

/* One that has ended has read everything, and one that has failed lets nothing past that. */
static void find_low(struct weir_gather *g)
{
    g->has_low = true;
    g->low_cp = SIZE_MAX;
    for (size_t i = 0; i < g->n_queues; i++) {
        const struct weir_gather_queue *q = &g->queues[i];
        if (!q->has_ended && q->reach_cp < g->low_cp) {
            g->low_cp = q->reach_cp;
            g->low_by = i;
        }
    }
}

bool weir_gather__smallest_mark(struct weir_gather *g, size_t *end_cp)
{
    if (!g->has_low) {
        find_low(g);
    }
    if (g->low_cp == SIZE_MAX) {
        return weir_gather__rest(g, end_cp);
    }
    *end_cp = g->low_cp;
    return g->low_cp > g->left_cp || weir_gather__wait(g, g->low_by);
}
