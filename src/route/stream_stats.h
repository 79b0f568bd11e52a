#ifndef WEIR_ROUTE_STREAM_STATS_H
#define WEIR_ROUTE_STREAM_STATS_H

struct weir_stream_out;

/*
 * What a stream was: added to the metrics (batching.md, 16) and told in one log line. Once, when it
 * has ended; only for streams that may be batched.
 */
void weir_stream_stats_report(const struct weir_stream_out *o);

/* Before the first stream. */
void weir_stream_stats_declare(void);

#endif
