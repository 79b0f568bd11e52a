#ifndef WEIR_ROUTE_COMPLETION_H
#define WEIR_ROUTE_COMPLETION_H

#include "http/stream.h"
#include "route/batching.h"
#include "route/stream_out.h"

/* Endpoints H and I (docs/api/endpoints.md): completions whose callers choose the detectors. */
void weir_completion_begin_chat(void *env, struct weir_http_stream *s);
void weir_completion_begin_text(void *env, struct weir_http_stream *s);

/* Opens the stream of a completion, batched as configured and as the request asks. NULL: the
 * request asks for nonsense and was answered. */
struct weir_stream_out *weir_completion_open_stream(struct weir_http_stream *s,
                                                    const struct weir_batching_request *request);

/* Checks the same settings for an answer that is not streamed. False: they are nonsense, and the
 * request was answered. */
bool weir_completion_check_unary(struct weir_http_stream *s,
                                 const struct weir_batching_request *request);

/* Declares the counter of requests that pass unguarded. Once, before any request. */
void weir_completion_declare(void);

/* One more of them. */
void weir_completion_count_unguarded(void);

#endif
