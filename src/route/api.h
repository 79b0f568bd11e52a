#ifndef WEIR_ROUTE_API_H
#define WEIR_ROUTE_API_H

#include "http/stream.h"

/*
 * Everything the API port answers: finds the endpoint of a request, checks the caller's key, and
 * starts it. s->service_ctx is the struct weir_request.
 */
void weir_api_begin(struct weir_http_stream *s);

#endif
