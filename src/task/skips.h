#ifndef WEIR_TASK_SKIPS_H
#define WEIR_TASK_SKIPS_H

#include "base/buf.h"
#include "base/slice.h"
#include "client/fault.h"
#include "obs/metric.h"

#include <stdbool.h>

/*
 * Detectors that could not answer and are passed over: `on_error: skip`. The request goes on, and
 * its answer says so: `warnings` has a DETECTOR_SKIPPED for each of them, once.
 *
 *   a detector fails ─► weir_skips_take ─┬ true: as if nothing was found; noted here
 *                                        └ false: the request fails
 *   an event or an answer leaves ─► weir_skips_tell adds what nobody was told yet
 *
 * Only where the answer has `warnings` (`may_skip`): elsewhere nobody would learn of it, and the
 * request fails.
 */
struct weir_task_ctx;
struct weir_task_detector;

struct weir_skip {
    struct weir_skip *next;
    struct weir_slice id;
};

/* Of one request; all-zero: none may be skipped. */
struct weir_skips {
    bool may_skip;
    struct weir_skip *all;     /* in the order of failing, each detector once */
    struct weir_skip **untold; /* where those begin that the caller was not told; NULL: at `all` */
};

/* Is this failure passed over? Then it is counted, and the first one of a detector is logged. A
 * fault of ours or of the caller's never is. */
bool weir_skips_take(struct weir_task_ctx *task, const struct weir_task_detector *d,
                     const struct weir_fault *fault);

/* Is there one that the caller was not told of? */
static inline bool weir_skips_are_due(const struct weir_skips *s)
{
    return s->all != NULL && (s->untold == NULL || *s->untold != NULL);
}

/* The JSON object `json` with those warnings added, written to `out`, which must be empty; they
 * count as told. `json` itself when none is due, or it is no object. */
struct weir_slice weir_skips_tell(struct weir_skips *s, struct weir_slice json,
                                  struct weir_buf *out);

/* "hap pii": all of them, for the log. */
void weir_skips_write_ids(const struct weir_skips *s, struct weir_buf *out);

/* weir_detector_skipped_total of a detector. */
struct weir_metric_counter weir_skips_counter(struct weir_slice detector_id);

#endif
