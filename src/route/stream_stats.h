#ifndef WEIR_ROUTE_STREAM_STATS_H
#define WEIR_ROUTE_STREAM_STATS_H

#include "route/stream_out.h"

#include <stddef.h>

/* What a stream was in the end: for its line in the log and the request's span. */
struct weir_stream_summary {
    struct weir_chain_report report;
    uint64_t avg_bytes[3]; /* of a message: as it came, behind batching, as it left */
    struct weir_slice profile;
    struct weir_slice settings;
    bool has_first;   /* something was sent */
    uint64_t ttft_ms; /* from the request to its first text; where nobody reads text, first event */
};

/*
 * Adds what a stream did to the metrics (docs/streaming.md) and logs it in one line. Called once,
 * when the stream has ended, and only for streams that may be batched.
 *
 * The summary is left with the request.
 *
 * A stage in metrics mode changes nothing, so what it counts stands under names of its own,
 * `stream_would_…`; the other metrics always count what really left.
 */
void weir_stream_stats_report(const struct weir_stream_out *o, enum weir_stream_out_end how);

/* A stream holds `now` bytes where it held `before`. */
void weir_stream_stats_buffered(size_t now, size_t before);

/* Before the first stream. */
void weir_stream_stats_declare(void);

#endif
