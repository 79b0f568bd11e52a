#ifndef WEIR_ROUTE_STREAM_TRACE_H
#define WEIR_ROUTE_STREAM_TRACE_H

#include "route/stream_out.h"
#include "task/trace.h"

/*
 * What the playground draws: `x-weir-trace: 1`, where `playground` is on, adds events of their own
 * to a streamed completion. Offsets in code points and times, never text.
 *
 *   event: weir-trace
 *   data: {"t_ms":12.5,"kind":"verdict","choice":0,"detector":"pii","start":0,"end":80,"ms":0.3}
 *
 * `t_ms` counts from the request's start. `channel` is said where it is not `content`. The first of
 * them starts the answer: what fails later is an error event, not a status.
 */

/* NULL: the caller did not ask for it, or `playground` is off. Lives in the stream's arena. */
const struct weir_task_trace *weir_stream_trace_open(struct weir_http_stream *s,
                                                     struct weir_stream_out *out);

#endif
