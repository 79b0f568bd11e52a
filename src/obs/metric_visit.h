#ifndef WEIR_OBS_METRIC_VISIT_H
#define WEIR_OBS_METRIC_VISIT_H

#include "obs/metric.h"

#include <stdbool.h>

/*
 * The registry for other formats than Prometheus text: what weir_metric_render shows, family by
 * family, as numbers. Everything is borrowed until the function returns.
 */
struct weir_metric_point {
    struct weir_slice labels; /* for weir_metric_visit_label */
    bool is_real;             /* `real` is the value; else it is whole / 10^decimals */
    double real;
    int64_t whole; /* a counter's as unsigned */

    /* A histogram's: observations of each bucket alone, the last is beyond all bounds; as all it
     * has are whole numbers, sum / 10^decimals is shown. */
    const uint64_t *counts;
    const uint64_t *bounds; /* one fewer than counts */
    size_t n_counts;
    uint64_t count; /* of all buckets */
    uint64_t sum;
};

/* Called under the registry's lock: they must not use the registry. */
struct weir_metric_visitor {
    void (*on_family)(void *ctx, const struct weir_metric_def *def);
    void (*on_point)(void *ctx, const struct weir_metric_def *def,
                     const struct weir_metric_point *point);
    void (*on_family_end)(void *ctx, const struct weir_metric_def *def);
};

void weir_metric_visit(const struct weir_metric_visitor *visitor, void *ctx);

/* The next label of `*labels`, which moves on behind it; the value replaces what `value` holds.
 * False when none is left. */
bool weir_metric_visit_label(struct weir_slice *labels, struct weir_slice *name,
                             struct weir_buf *value);

#endif
