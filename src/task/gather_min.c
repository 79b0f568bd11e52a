#include "task/gather_int.h"

#include "base/mem.h"

#include <string.h>

/*
 * min_processed_index: the batch goes as far as every detector still at work has come. Verdicts
 * that begin in it leave with it, so a span may point past the batch's end.
 *
 * How far that is changes with every verdict, so it is noted when one comes: several that come
 * before the next batch is asked for make the batches they would have made one by one.
 */
enum { MARKS_SMALLEST = 8 };

static void mark(struct weir_gather_marks *m, size_t end_cp)
{
    if (m->first + m->n == m->cap) {
        if (m->first == 0) {
            m->cap = m->cap != 0 ? m->cap * 2 : MARKS_SMALLEST;
            m->cp = weir_mem_realloc(m->cp, m->cap * sizeof m->cp[0]);
        } else {
            memmove(m->cp, m->cp + m->first, m->n * sizeof m->cp[0]);
            m->first = 0;
        }
    }
    m->cp[m->first + m->n++] = end_cp;
    m->last_cp = end_cp;
}

/* All that say how far it goes: readers only where there is nothing else. */
static bool have_ended(const struct weir_gather *g)
{
    bool has_chunks = g->n_readers < g->n_queues;
    for (size_t i = 0; i < g->n_queues; i++) {
        const struct weir_gather_queue *q = &g->queues[i];
        if (!q->has_ended && !(q->is_reader && has_chunks)) {
            return false;
        }
    }
    return true;
}

/* How far all have come, or where the last mark is, with stuck_on set. */
static size_t reach(struct weir_gather *g)
{
    struct weir_gather_marks *m = &g->marks;
    if (have_ended(g)) {
        m->stuck_on = g->length_cp == SIZE_MAX ? WEIR_GATHER_SOURCE : WEIR_GATHER_NOBODY;
        return g->length_cp == SIZE_MAX ? m->last_cp : g->length_cp;
    }
    size_t smallest_cp = SIZE_MAX;
    for (size_t i = 0; i < g->n_queues; i++) {
        const struct weir_gather_queue *q = &g->queues[i];
        if (q->has_ended || (q->is_reader && g->n_readers < g->n_queues)) {
            continue;
        }
        if (q->reach_cp <= m->last_cp) {
            m->stuck_on = i;
            return m->last_cp;
        }
        if (q->reach_cp < smallest_cp) {
            smallest_cp = q->reach_cp;
        }
    }
    return smallest_cp;
}

static void note(struct weir_gather *g, size_t who)
{
    struct weir_gather_marks *m = &g->marks;
    if (m->stuck_on != WEIR_GATHER_NOBODY && m->stuck_on != who) {
        return;
    }
    m->stuck_on = WEIR_GATHER_NOBODY;
    size_t end_cp = reach(g);
    if (end_cp > m->last_cp) {
        mark(m, end_cp);
    }
}

static bool next(struct weir_gather *g, size_t *end_cp)
{
    struct weir_gather_marks *m = &g->marks;
    while (m->n != 0 && m->cp[m->first] <= g->left_cp) {
        m->first++;
        m->n--;
    }
    if (m->n == 0) {
        m->first = 0;
        return false;
    }
    *end_cp = m->cp[m->first];
    return weir_gather__readers_reach(g, *end_cp);
}

const struct weir_gather_strategy weir_gather__min = {
    .name = "min_processed_index",
    .takes_straddling = true,
    .next = next,
    .note = note,
};
