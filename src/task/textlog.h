#ifndef WEIR_TASK_TEXTLOG_H
#define WEIR_TASK_TEXTLOG_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The text of one (choice, channel) path, stored once. Frames append to its end, batches leave from
 * its front, chunks and findings are offsets in it.
 *
 *   frames      |  7 |   8   |9|      12      |        numbered over the whole stream
 *   text    ····|the quick br|own fox jumps ov|er      · has left: trimmed, offsets stay
 *               from_cp                         end_cp
 *
 * Offsets are absolute: the first code point ever appended is 0 and keeps that number after it has
 * left. The held text is contiguous, so any part of it is one slice. Every offset given must lie in
 * [from_cp, end_cp]; anything else is a mistake of ours and asserts.
 *
 * A frame may be empty (an event without text): it has a place in the order and no extent.
 *
 * Costs: append amortised O(bytes), offsets O(log held) whatever the size of the frames, trim
 * amortised O(1) per byte and frame. A drained log keeps at most a few hundred bytes.
 */
struct weir_textlog_row {
    void *p;
    size_t head; /* elements before it have left */
    size_t n;    /* elements from head on */
    size_t cap;
};

struct weir_textlog_limits {
    size_t max_bytes;  /* of text held; 0: none */
    size_t max_frames; /* held; 0: none */
};

struct weir_textlog {
    struct weir_textlog_row text;   /* char */
    struct weir_textlog_row frames; /* in order of arrival */
    struct weir_textlog_row marks;  /* code points before every 256th byte */
    struct weir_textlog_limits limits;
    size_t from_cp, from_byte;         /* of the first code point held */
    size_t end_cp, end_byte;           /* of all text that has arrived */
    size_t white_from_cp, white_to_cp; /* known to be white: the last answer of is_white */
};

struct weir_textlog_frame {
    uint64_t number;
    size_t start_cp, end_cp; /* the start may have left already */
    size_t start_byte, end_byte;
    void *tag; /* the composer's; never looked at here */
};

/* All-zero is an empty log without ceilings. */
void weir_textlog_init(struct weir_textlog *log, const struct weir_textlog_limits *limits);
void weir_textlog_dispose(struct weir_textlog *log); /* tags are not touched; leaves all-zero */

/*
 * Appends one frame and copies its text. WEIR_EBAD when that is not UTF-8, WEIR_ELIMIT at a
 * ceiling; the log is then unchanged. Slices given out before are void.
 */
int weir_textlog_append(struct weir_textlog *log, uint64_t number, struct weir_slice text,
                        void *tag);

/* The text of [start_cp, end_cp), borrowed until the next append or trim. */
struct weir_slice weir_textlog_slice(const struct weir_textlog *log, size_t start_cp,
                                     size_t end_cp);

/* Where a code point begins, both absolute. */
size_t weir_textlog_byte_at(const struct weir_textlog *log, size_t at_cp);

/*
 * Is every code point of [start_cp, end_cp) Unicode White_Space? True for an empty range. The last
 * range found white is remembered, so many detectors asking about one gap scan it once.
 */
bool weir_textlog_is_white(struct weir_textlog *log, size_t start_cp, size_t end_cp);

/* Held frames by index, 0 the oldest. */
static inline size_t weir_textlog_n_frames(const struct weir_textlog *log)
{
    return log->frames.n;
}
struct weir_textlog_frame weir_textlog_frame(const struct weir_textlog *log, size_t index);

/* How many held frames have a number below this one. Numbers must never have gone down. */
size_t weir_textlog_frames_below(const struct weir_textlog *log, uint64_t number);

/*
 * What a batch from the front of the log to end_cp means for the held frames: it touches the first
 * `n_touched` and the first `n_ended` of them end in it. Only the last touched one may go on behind
 * the batch. An empty frame at or before end_cp counts as touched and ended.
 */
struct weir_textlog_cut {
    size_t n_touched;
    size_t n_ended;
};
struct weir_textlog_cut weir_textlog_cut(const struct weir_textlog *log, size_t end_cp);

/* Where the last frame ends that ends at at_cp or before; where none does, from_cp. */
size_t weir_textlog_floor(const struct weir_textlog *log, size_t at_cp);

/* Forgets the text before to_cp and the frames that end there or earlier. */
void weir_textlog_trim(struct weir_textlog *log, size_t to_cp);

/* The same with no more than `n_frames` of them: empty ones at to_cp may stay. */
void weir_textlog_trim_some(struct weir_textlog *log, size_t to_cp, size_t n_frames);

#endif
