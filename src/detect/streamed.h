#ifndef WEIR_DETECT_STREAMED_H
#define WEIR_DETECT_STREAMED_H

#include "base/flow.h"
#include "client/breaker.h"
#include "client/target.h"
#include "detect/detect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A service that reads along: `protocol: stream`. One HTTP/2 request for each text, which goes out
 * as it is written, in lines; findings come back while it is (docs/streaming-detector.md).
 *
 *   ─► {"detectors":{"hap":{…}},"aggregation":"aligned","content":"You "}
 *   ─► {"content":"fool. And"}
 *   ◄─ {"detections":[{"start":4,"end":8,…}],"start_index":0,"processed_index":9}
 *   ─► the end                 ◄─ {"detections":[],"start_index":9,"processed_index":13}, the end
 *
 * `processed_index` is the mark: no later finding may touch what lies before it. Whoever breaks
 * that, tells nonsense, ends before the text does or is silent for `idle_ms` while it owes an
 * answer has failed. Whole texts are asked about in the same way, one after the other.
 */
struct weir_detect_streamed {
    struct weir_detector base;
    const struct weir_target *target; /* HTTP/2 */
    struct weir_slice name;           /* what the service calls the detector */
    struct weir_slice params;         /* a JSON object, of every request; or "" */
    uint64_t idle_ms;                 /* 0: no limit */
    struct weir_breaker *breaker;     /* as weir_detect_remote's; or NULL */
};

/* All is borrowed. */
void weir_detect_streamed_init(struct weir_detect_streamed *d, struct weir_slice id,
                               const struct weir_target *target);

bool weir_streamed_is(const struct weir_detector *d);

/* One text on its way through one. */
struct weir_streamed;

/* Neither comes from inside a call of the owner's, which may free it in on_progress only. */
struct weir_streamed_events {
    /* No more is found before mark_cp; with what was found since the last time, in order of their
     * starts, valid during the call. Places count from the text's beginning. */
    void (*on_found)(void *ctx, size_t mark_cp, const struct weir_detect_list *found);
    void (*on_progress)(void *ctx); /* that, or full, fault or done have changed; the last */
};

struct weir_streamed_options {
    const struct weir_detector *detector; /* one that is streamed */
    struct weir_detect_env env;
    struct weir_slice params; /* as of weir_detect_input; borrowed */
    double threshold;
    size_t max_bytes; /* of all that comes back; 0: any number, for texts that come bit by bit */
    const struct weir_streamed_events *events;
    void *ctx;
};

struct weir_streamed *weir_streamed_open(const struct weir_streamed_options *options);
void weir_streamed_free(struct weir_streamed *s); /* cancels; NULL is fine */

/* More text, whole code points. FULL: the service takes no more for now, see on_progress. */
enum weir_flow weir_streamed_push(struct weir_streamed *s, struct weir_slice text);
/* No more text. Without any before there is nothing to wait for: it is done. */
void weir_streamed_end(struct weir_streamed *s);

bool weir_streamed_is_full(const struct weir_streamed *s);
/* All of the text was looked at. */
bool weir_streamed_is_done(const struct weir_streamed *s);
/* NULL: it has not failed. */
const struct weir_fault *weir_streamed_fault(const struct weir_streamed *s);

#endif
