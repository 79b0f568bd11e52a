#ifndef WEIR_ROUTE_RENDER_H
#define WEIR_ROUTE_RENDER_H

#include "base/slice.h"
#include "http/stream.h"

#include <stdbool.h>

/*
 * POST /api/v1/streams/{request id}/render: a user interface says how long it took to show the
 * pieces of a stream.
 *
 *   {"ms": [1.5, 2], "model": "gpt-4o*", "settings": "batching=on/120/200/0,coalescer=off"}
 *
 * `model` and `settings` are what the header `x-weir-streaming` of the answer said. The times go to
 * `weir_ui_render_seconds{model,settings}` and, with the id, to the log. The id is not looked up:
 * nothing is kept of a stream that is over. What the running configuration does not know is counted
 * as `other`, so that callers cannot make series.
 */
#define WEIR_RENDER_PATTERN "/api/v1/streams/{request_id}/render"

bool weir_render_is_path(struct weir_slice path);
void weir_render_begin(void *env, struct weir_http_stream *s);

/* Before the first request. */
void weir_render_declare(void);

#endif
