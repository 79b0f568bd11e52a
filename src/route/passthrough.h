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

/* `anthropic-version` and `anthropic-beta` go to the model server, and nobody looks at them: they
 * must be names, or lists of names. Returns the one that is not; NULL: both are. */
const char *weir_passthrough_odd(const struct weir_http_request *req);

#endif
