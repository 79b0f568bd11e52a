#ifndef WEIR_EMIT_BATCH_STATS_H
#define WEIR_EMIT_BATCH_STATS_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a batching stage did in one stream. Plain numbers, added up by whoever exports them; the
 * stage itself has no globals. `live` is what really left; `would` is what a stage in metrics mode
 * would have done.
 */

/* Why something left. Soft reasons wait while the downstream is blocked, hard ones take a place in
 * the queue; text, not soft or hard, is what a reason is called on metrics and in logs. */
#define WEIR_BATCH_REASON_MAP(X)                                                                   \
    X(FIRST, "first")                                                                              \
    X(SIZE, "size")                                                                                \
    X(SENTENCE, "sentence")                                                                        \
    X(BOUNDARY, "boundary")                                                                        \
    X(MAX_PARTIAL, "max_partial")                                                                  \
    X(LATENCY, "latency")                                                                          \
    X(IDLE, "idle") /* up to here soft */                                                          \
    X(CHANNEL_SWITCH, "channel_switch")                                                            \
    X(ENVELOPE, "envelope")                                                                        \
    X(FIELD_CHANGE, "field_change")                                                                \
    X(TOOL_CALL, "tool_call")                                                                      \
    X(NONTEXT, "nontext")                                                                          \
    X(USAGE, "usage")                                                                              \
    X(FINISH, "finish")                                                                            \
    X(ERROR, "error")                                                                              \
    X(STREAM_END, "stream_end")                                                                    \
    X(BACKPRESSURE, "backpressure")                                                                \
    X(TOOL_COMPLETE, "tool_complete")                                                              \
    X(TOOL_INCOMPLETE, "tool_incomplete")                                                          \
    X(TOOL_LIMIT, "tool_limit")                                                                    \
    X(TOOL_HEAD, "tool_head")                                                                      \
    X(ROLE, "role")                                                                                \
    X(PASSTHROUGH, "passthrough")

enum weir_batch_reason {
#define WEIR_BATCH_REASON_ENUM(name, text) WEIR_BATCH_##name,
    WEIR_BATCH_REASON_MAP(WEIR_BATCH_REASON_ENUM)
#undef WEIR_BATCH_REASON_ENUM
        WEIR_BATCH_REASONS,
    WEIR_BATCH_NO_REASON = WEIR_BATCH_REASONS,
};

const char *weir_batch_reason_text(enum weir_batch_reason why);

/* Upper bounds of the buckets; the last bucket of a histogram has none. */
enum { WEIR_BATCH_BOUNDS = 9, WEIR_BATCH_BUCKETS = WEIR_BATCH_BOUNDS + 1 };
extern const uint32_t weir_batch_hold_bounds_ms[WEIR_BATCH_BOUNDS];
extern const uint32_t weir_batch_chars_bounds[WEIR_BATCH_BOUNDS];

struct weir_batch_histogram {
    uint64_t buckets[WEIR_BATCH_BUCKETS];
    uint64_t sum;
    uint64_t n;
};

void weir_batch_histogram_add(struct weir_batch_histogram *h, const uint32_t *bounds,
                              uint64_t value);

/* The bound under which that part (0.5, 0.99) of the values lie; of what is above the last bound,
 * the last bound. 0 without values. */
uint64_t weir_batch_histogram_quantile(const struct weir_batch_histogram *h, const uint32_t *bounds,
                                       double part);

/* Counters that have a name of their own: field, name. */
#define WEIR_BATCH_COUNT_MAP(X)                                                                    \
    X(chunks, "chunks")           /* that left */                                                  \
    X(chars, "chars")             /* code points of text in them */                                \
    X(bytes, "bytes")             /* of their payloads */                                          \
    X(flush_chars, "flush_chars") /* code points in flushes of text, and how many of these */      \
    X(text_flushes, "text_flushes")                                                                \
    X(absorbed_empty, "absorbed_empty")                                                            \
    X(discarded_chars, "discarded_chars")                                                          \
    X(post_finish_deltas, "post_finish_deltas")                                                    \
    X(opaque_chunks, "opaque_chunks")                                                              \
    X(tool_released, "tool_complete") /* the following count calls, not chunks */                  \
    X(tool_finished, "tool_finish")                                                                \
    X(tool_limited, "tool_limit")                                                                  \
    X(tool_heads, "tool_head")                                                                     \
    X(tool_incomplete_released, "tool_incomplete_released")                                        \
    X(tool_incomplete_dropped, "tool_incomplete_dropped")                                          \
    X(tool_abort_dropped, "tool_abort_dropped")                                                    \
    X(tool_discarded, "tool_discarded")                                                            \
    X(tool_dup_dropped, "dedup_dropped.tool_id")                                                   \
    X(tool_incomplete_attempts, "tool_incomplete_attempts") /* these two count fragments */        \
    X(tool_post_close, "tool_post_close")                                                          \
    X(tool_trailing_space, "tool_trailing_space")

struct weir_batch_counts {
#define WEIR_BATCH_COUNT_FIELD(field, name) uint64_t field;
    WEIR_BATCH_COUNT_MAP(WEIR_BATCH_COUNT_FIELD)
#undef WEIR_BATCH_COUNT_FIELD
    uint64_t flush[WEIR_BATCH_REASONS];
    struct weir_batch_histogram hold_ms;     /* age of the oldest delta in what left */
    struct weir_batch_histogram chunk_chars; /* code points in each chunk with text */
    struct weir_batch_histogram tool_hold_ms;
};

struct weir_batch_stats {
    struct weir_batch_counts live;
    struct weir_batch_counts would;
    struct weir_batch_histogram in_chars;   /* code points in each choice with text that came */
    struct weir_batch_histogram blocked_ms; /* times the downstream was blocked */
    uint64_t first_text_ms;                 /* when the first text came */
    uint64_t added_ttft_ms;                 /* how long it waited here */
    bool has_text;
    bool has_ttft; /* it has left; never of what only counts */
    size_t most_buffered_bytes;
};

/* Appends ` prefix.size=3 prefix.first=1`, the reasons that occurred: for a log line. */
void weir_batch_counts_text(const struct weir_batch_counts *c, const char *prefix,
                            struct weir_buf *out);

#endif
