#ifndef WEIR_ROUTE_PASSTHROUGH_H
#define WEIR_ROUTE_PASSTHROUGH_H

#include "route/env.h"

/*
 * Which of the caller's headers go on to every service: those listed in `passthrough_headers`, and
 * the forwarded access token as Authorization where that is configured. Authorization goes nowhere
 * when it held one of our own keys. The caller's own credential is kept for the provider that may
 * have it (model/provider.h). Fills r->task.call.
 */
void weir_passthrough_collect(struct weir_request *r, const struct weir_http_stream *s);

#endif
