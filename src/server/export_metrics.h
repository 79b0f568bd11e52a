#ifndef WEIR_SERVER_EXPORT_METRICS_H
#define WEIR_SERVER_EXPORT_METRICS_H

#include "base/buf.h"

#include <stdint.h>

/*
 * What /metrics shows, packed as entries of OTLP's `ScopeMetrics`: counters as cumulative sums,
 * gauges, histograms with explicit bounds; labels are attributes. Names are those of /metrics, or
 * the family's own for OpenTelemetry.
 */
struct weir_export_metrics {
    uint64_t start_ns; /* since 1970: when counting began */
    uint64_t now_ns;
    size_t max_bytes; /* of one piece, as far as whole families allow */
    /* A piece: some entries; takes them over. Runs under the registry's lock: no metric may be
     * touched. */
    void (*take_piece)(void *ctx, struct weir_buf *entries);
    void *ctx;

    /* The writer's own. */
    struct weir_buf entries;
    struct weir_buf value;
    size_t n_points; /* of the family under way */
    size_t family_at;
    size_t metric_mark;
    size_t data_mark;
};

/* Hands out all of it, in one or more pieces. */
void weir_export_metrics_write(struct weir_export_metrics *m);

#endif
