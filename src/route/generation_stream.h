#ifndef WEIR_ROUTE_GENERATION_STREAM_H
#define WEIR_ROUTE_GENERATION_STREAM_H

#include "http/stream.h"

/* Endpoint A (docs/api/endpoints.md), streamed: server-sent events, without [DONE]. */
void weir_generation_stream_begin(void *env, struct weir_http_stream *s);

#endif
