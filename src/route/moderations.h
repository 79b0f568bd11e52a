#ifndef WEIR_ROUTE_MODERATIONS_H
#define WEIR_ROUTE_MODERATIONS_H

#include "http/stream.h"

/*
 * POST /v1/moderations behind a route: answered here, by the route's input detectors; no model
 * server is asked. A route that has none of them answers 404: what nobody has looked at must not be
 * called harmless.
 */
void weir_moderations_begin(void *env, struct weir_http_stream *s);

#endif
