#include "task/order.h"

static int order(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

int weir_order_compare(const struct weir_detection *a, const struct weir_detection *b)
{
    int c = order(b->has_span, a->has_span);
    if (c == 0 && a->has_span) {
        c = order(a->start_cp, b->start_cp);
        c = c != 0 ? c : order(a->end_cp, b->end_cp);
    }
    return c != 0 ? c : weir_slice_cmp(a->detector_id, b->detector_id);
}

void weir_order_sort_begin(struct weir_order_sort *s, const struct weir_detection **items, size_t n,
                           struct weir_arena *arena)
{
    *s = (struct weir_order_sort){.items = items, .n = n};
    s->spare = weir_arena_alloc(arena, n * sizeof(void *));
    s->ends = weir_arena_alloc(arena, n * sizeof *s->ends);
}

static bool find_runs(struct weir_order_sort *s, size_t *left)
{
    for (; s->n_seen < s->n && *left != 0; s->n_seen++, --*left) {
        size_t i = s->n_seen;
        if (i != 0 && weir_order_compare(s->items[i - 1], s->items[i]) > 0) {
            s->ends[s->n_runs++] = i;
        }
    }
    if (s->n_seen < s->n) {
        return false;
    }
    if (s->n_runs == 0 || s->ends[s->n_runs - 1] != s->n) {
        s->ends[s->n_runs++] = s->n;
        s->right = s->ends[0];
    }
    return true;
}

/* All runs are merged with their neighbours: the next pass has half as many. */
static void end_pass(struct weir_order_sort *s)
{
    const struct weir_detection **merged = s->spare;
    s->spare = s->items;
    s->items = merged;
    s->n_runs = s->n_pairs;
    s->n_pairs = 0;
    s->n_out = 0;
    s->left = 0;
    s->right = s->ends[0];
}

/* The next finding of the present pair. Of two that rank the same the first one stays first. */
static void merge_one(struct weir_order_sort *s)
{
    size_t first = 2 * s->n_pairs;
    size_t left_end = s->ends[first];
    size_t right_end = first + 1 < s->n_runs ? s->ends[first + 1] : left_end;
    bool takes_left = s->left < left_end;
    if (takes_left && s->right < right_end) {
        takes_left = weir_order_compare(s->items[s->left], s->items[s->right]) <= 0;
    }
    s->spare[s->n_out++] = s->items[takes_left ? s->left++ : s->right++];
    if (s->n_out == right_end) {
        s->ends[s->n_pairs++] = right_end; /* nobody reads so far back any more */
        s->left = right_end;
        s->right = right_end < s->n ? s->ends[first + 2] : right_end;
    }
}

bool weir_order_sort_some(struct weir_order_sort *s, size_t *left)
{
    if (!find_runs(s, left)) {
        return false;
    }
    for (; s->n_runs > 1 && *left != 0; --*left) {
        merge_one(s);
        if (s->n_out == s->n) {
            end_pass(s);
        }
    }
    return s->n_runs <= 1;
}
