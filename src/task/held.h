#ifndef WEIR_TASK_HELD_H
#define WEIR_TASK_HELD_H

#include "base/slice.h"
#include "obs/metric.h"

/* weir_held_seconds{detector}: how long text of streams waited, by the detector it waited for last:
 * the one that had come least far. Observed in microseconds, each time text leaves. */
struct weir_metric_histogram weir_held_histogram(struct weir_slice detector_id);

#endif
