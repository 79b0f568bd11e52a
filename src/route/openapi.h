#ifndef WEIR_ROUTE_OPENAPI_H
#define WEIR_ROUTE_OPENAPI_H

#include "http/stream.h"

/* GET /openapi.json: docs/api/openapi.json, which the build puts into the program. */
void weir_openapi_begin(void *env, struct weir_http_stream *s);

#endif
