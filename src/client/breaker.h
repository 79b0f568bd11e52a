#ifndef WEIR_CLIENT_BREAKER_H
#define WEIR_CLIENT_BREAKER_H

#include "base/slice.h"
#include "obs/metric.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * How a service has fared, in the whole process: whether it is worth asking now.
 *
 *   closed ── fails five times in a row ─► open: rests for ten seconds
 *     ▲                                      │
 *     └── the trial works ◄─ half open: one request tries it ◄─ the rest is over
 *                              └── it fails: rests again
 *
 * A request is told apart by a number, so that all its calls belong to the trial: a stream that
 * tries a detector with its first chunk does not fail by its second one.
 *
 * All counts are atomic and belong to the process; two workers that look at the same moment may
 * both see room for one more, which does no harm.
 */
enum { WEIR_BREAKER_MAX_FAILURES = 5, WEIR_BREAKER_REST_MS = 10000 };

struct weir_breaker {
    atomic_uint n_failed;           /* in a row */
    atomic_uint_least64_t rest_ms;  /* loop time at which the rest is over; 0: it never rested */
    atomic_uint_least64_t trial;    /* who tries it after its rest; 0: nobody */
    struct weir_metric_gauge state; /* 0 closed, 1 open, 2 half open; may be all-zero */
    struct weir_metric_counter n_opened; /* likewise */
};

/* What became of a request that was let through: once each. */
enum weir_breaker_outcome {
    WEIR_BREAKER_WORKED,  /* it answered, or refused for a reason of the request's */
    WEIR_BREAKER_FAILED,  /* it cannot be reached, is late, too busy or broken */
    WEIR_BREAKER_STOPPED, /* nobody wants to know any more */
};

void weir_breaker_init(struct weir_breaker *b);

/* A request's number, of its id; an empty one is like no other. */
uint64_t weir_breaker_who(struct weir_slice request_id);

/* Could it be asked now? After its rest only by one request at a time. */
bool weir_breaker_is_awake(const struct weir_breaker *b, uint64_t who, uint64_t now_ms);

/* Of one that is awake: this request asks it. False: another was faster to try it. */
bool weir_breaker_claim(struct weir_breaker *b, uint64_t who);

void weir_breaker_settle(struct weir_breaker *b, enum weir_breaker_outcome outcome,
                         uint64_t now_ms);

/* weir_detector_breaker_state and weir_detector_breaker_opened_total of a detector. */
void weir_breaker_count(struct weir_breaker *b, struct weir_slice detector_id);

#endif
