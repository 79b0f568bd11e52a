#ifndef WEIR_EMIT_PACE_H
#define WEIR_EMIT_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How fast deltas come: the running mean of the intervals between them. The newest interval counts
 * for an eighth, so the mean follows a model that changes its pace, and is near nothing at the end
 * of a burst. All-zero: nothing has come yet.
 *
 * A pause that is longer than twice the mean is one: the burst is over, or the model stutters.
 */
enum { WEIR_PACE_LEAST_MS = 20, WEIR_PACE_PARTS = 16 };

struct weir_pace {
    uint64_t last_ms;
    uint64_t mean; /* in 1/16 ms; 0 with has_mean: all at once */
    bool has_last;
    bool has_mean; /* two have come */
};

/* A delta comes. An interval longer than `most_ms` says nothing more of the pace: it counts as
 * that. */
static inline void weir_pace_note(struct weir_pace *p, uint64_t now_ms, uint64_t most_ms)
{
    if (p->has_last) {
        uint64_t gap_ms = now_ms - p->last_ms;
        uint64_t gap = (gap_ms < most_ms ? gap_ms : most_ms) * WEIR_PACE_PARTS;
        p->mean = p->has_mean ? (p->mean * 7 + gap) / 8 : gap;
        p->has_mean = true;
    }
    p->has_last = true;
    p->last_ms = now_ms;
}

/* From which length on silence is a pause: within [20 ms, most_ms / 2]; most_ms while the pace is
 * not known. */
static inline uint64_t weir_pace_pause_ms(const struct weir_pace *p, uint64_t most_ms)
{
    if (!p->has_mean) {
        return most_ms;
    }
    uint64_t pause_ms = 2 * p->mean / WEIR_PACE_PARTS;
    pause_ms = pause_ms < WEIR_PACE_LEAST_MS ? WEIR_PACE_LEAST_MS : pause_ms;
    return pause_ms < most_ms / 2 ? pause_ms : most_ms / 2;
}

#endif
