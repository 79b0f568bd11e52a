#include "task/held.h"

struct weir_metric_histogram weir_held_histogram(struct weir_slice detector_id)
{
    static const uint64_t bounds[] = {1000,   2000,   5000,    10000,   20000,   50000,   100000,
                                      200000, 500000, 1000000, 2000000, 5000000, 10000000};
    static const struct weir_metric_def def = {
        .name = "weir_held_seconds",
        .help = "How long text of streams was held before it left, by the detector that it waited "
                "for last.",
        .type = WEIR_METRIC_HISTOGRAM,
        .decimals = 6,
        .labels = {"detector"},
        .buckets = bounds,
        .n_buckets = sizeof bounds / sizeof bounds[0],
    };
    return weir_metric_histogram(weir_metric_declare(&def), WEIR_METRIC_LABELS(detector_id));
}
