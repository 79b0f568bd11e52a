#ifndef WEIR_DETECT_DESK_H
#define WEIR_DETECT_DESK_H

#include "base/account.h"
#include "base/map.h"
#include "detect/detect.h"
#include "obs/metric.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Texts of different requests in one call to a classifier: per worker and detector one desk.
 *
 *   a text ─► a slot is free? ─ yes ─► leaves at once, so a quiet gateway adds nothing
 *                             └ no ──► waits; when a slot is free, up to max_items leave together
 *
 * Only texts with equal parameters, threshold and passed-on headers share a call. Answers are dealt
 * out by their place. When a call about several texts is refused (4xx but not 429), each of them is
 * tried once alone, so that one bad text does not fail its neighbours; any other failure fails all.
 * Who leaves takes its text out if it has not left; a call that nobody waits for any more ends.
 */
/* Sends texts that were put together: as weir_detect_ops.start, never done at once. */
typedef struct weir_detect_call *(*weir_desk_send_fn)(const struct weir_detector *d,
                                                      const struct weir_detect_env *env,
                                                      const struct weir_detect_input *input,
                                                      weir_detect_done_fn on_done, void *ctx);

struct weir_desk_options {
    weir_desk_send_fn send;
    size_t in_flight;   /* calls at once; at least 1 */
    size_t max_items;   /* texts of one call; 0 or 1: nothing is batched */
    size_t max_bytes;   /* of text of one call, but for the first */
    uint64_t wait_ms;   /* a call that is not full waits so long for more */
    size_t max_waiting; /* texts that wait; who comes then fails with WEIR_EBUSY. 0: no limit */
    struct weir_metric_histogram sizes;
    struct weir_metric_histogram waits; /* microseconds */
};

/* A worker's. */
struct weir_desks {
    struct weir_loop *loop;
    struct weir_account account; /* texts under way count here, not for a caller who may leave */
    struct weir_map desks;       /* by the detector's address, while they are in use */
};

void weir_desks_init(struct weir_desks *b, struct weir_loop *loop);
/* Every call must be over or freed. Safe twice. */
void weir_desks_dispose(struct weir_desks *b);

/* As weir_detect_start, for CONTENTS and env->desks; done at once when too many wait. `o` must live
 * as long as the detector. */
struct weir_detect_call *weir_desk_start(const struct weir_detector *d,
                                         const struct weir_desk_options *o,
                                         const struct weir_detect_env *env,
                                         const struct weir_detect_input *input,
                                         struct weir_detect_waiter waiter);

/* weir_detector_batch_size and weir_detector_batch_wait_seconds of a detector. */
void weir_desk_count(struct weir_desk_options *o, struct weir_slice detector_id);

#endif
