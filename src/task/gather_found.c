#include "task/gather_int.h"

#include "base/mem.h"
#include "task/order.h"

#include <stdlib.h>
#include <string.h>

/*
 * The findings' memory. A verdict with findings becomes one block that owns everything they point
 * to; a block waits in its queue, leaves with a batch and is freed when the next one is asked for.
 */
enum { SORTED_KEEP = 256 }; /* findings; a larger array is given back after its batch */

/* The slices of a detection that are copied; detector_id is the aggregator's own. */
static const size_t copied[] = {
    offsetof(struct weir_detection, text),      offsetof(struct weir_detection, detection),
    offsetof(struct weir_detection, evidence),  offsetof(struct weir_detection, detection_type),
    offsetof(struct weir_detection, score_raw), offsetof(struct weir_detection, metadata),
};

enum { N_COPIED = sizeof copied / sizeof copied[0] };

static struct weir_slice *member(struct weir_detection *d, size_t i)
{
    return (struct weir_slice *)(void *)((char *)d + copied[i]);
}

size_t weir_gather__block_bytes(const struct weir_gather_verdict *v)
{
    size_t bytes =
        sizeof(struct weir_gather_block) + v->n_findings * sizeof(struct weir_gather_found);
    for (size_t i = 0; i < v->n_findings; i++) {
        struct weir_detection d = v->findings[i];
        for (size_t m = 0; m < N_COPIED; m++) {
            bytes += member(&d, m)->n;
        }
    }
    return bytes;
}

struct weir_gather_block *weir_gather__block_new(const struct weir_gather *g, size_t detector,
                                                 const struct weir_gather_verdict *v, size_t bytes)
{
    struct weir_gather_block *b = weir_mem_alloc(bytes);
    *b = (struct weir_gather_block){.bytes = bytes};
    char *cursor = (char *)(b->found + v->n_findings);
    for (size_t i = 0; i < v->n_findings; i++) {
        const struct weir_detection *d = &v->findings[i];
        if (d->has_span && d->start_cp >= v->end_cp && !g->spans_are_foreign) {
            continue;
        }
        struct weir_gather_found *f = &b->found[b->n++];
        *f = (struct weir_gather_found){.detection = *d};
        if (!g->queues[detector].is_late) { /* their ids are those of a plan, which outlives it */
            f->detection.detector_id = g->queues[detector].id;
        }
        for (size_t m = 0; m < N_COPIED; m++) {
            struct weir_slice *s = member(&f->detection, m);
            if (s->n != 0) {
                s->p = memcpy(cursor, s->p, s->n);
                cursor += s->n;
            }
        }
    }
    return b;
}

void weir_gather__release(struct weir_gather *g)
{
    while (g->leaving != NULL) {
        struct weir_gather_block *b = g->leaving;
        g->leaving = b->next;
        g->held_bytes -= b->bytes;
        free(b);
    }
    g->leaving_tail = &g->leaving;
    if (g->cap_sorted > SORTED_KEEP) {
        free(g->sorted);
        g->sorted = NULL;
        g->cap_sorted = 0;
    }
}

/* Total, so that the result does not depend on how qsort works: places are by detector, then by
 * verdict. */
static int compare(const void *left, const void *right)
{
    const struct weir_gather_found *a = *(const struct weir_gather_found *const *)left;
    const struct weir_gather_found *b = *(const struct weir_gather_found *const *)right;
    int c = weir_order_compare(&a->detection, &b->detection);
    return c != 0 ? c : (a->place > b->place) - (a->place < b->place);
}

void weir_gather__sort_leaving(struct weir_gather *g, struct weir_gather_batch *batch)
{
    if (g->leaving == NULL) {
        return; /* the batch has none */
    }
    size_t n = 0;
    for (const struct weir_gather_block *b = g->leaving; b != NULL; b = b->next) {
        n += b->n;
    }
    if (n > g->cap_sorted) {
        free(g->sorted);
        g->sorted = weir_mem_array(n, sizeof(void *));
        g->cap_sorted = n;
    }
    size_t place = 0;
    for (struct weir_gather_block *b = g->leaving; b != NULL; b = b->next) {
        for (size_t i = 0; i < b->n; i++) {
            b->found[i].place = place;
            g->sorted[place++] = &b->found[i].detection;
        }
    }
    if (n > 1) {
        qsort(g->sorted, n, sizeof(void *), compare);
    }
    batch->findings = g->sorted;
    batch->n_findings = n;
}
