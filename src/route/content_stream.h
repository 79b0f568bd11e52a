#ifndef WEIR_ROUTE_CONTENT_STREAM_H
#define WEIR_ROUTE_CONTENT_STREAM_H

#include "http/stream.h"

/*
 * Endpoint D (docs/api/endpoints.md): lines of JSON in, findings out, both directions at once. The
 * answer is a stream of events, or of lines where the caller accepts those.
 */
void weir_content_stream_begin(void *ctx, struct weir_http_stream *s);

#endif
