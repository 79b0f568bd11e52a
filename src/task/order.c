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
