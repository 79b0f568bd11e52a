#ifndef WEIR_ROUTE_REGISTRY_H
#define WEIR_ROUTE_REGISTRY_H

#include "http/stream.h"

/*
 * GET /registry: the built-in detectors of the configuration and what each can find, in words:
 *
 *   {"regex":{"email":"…","credit-card":"…"},"secrets":{"github_token":"…"}}
 */
void weir_registry_begin(void *env, struct weir_http_stream *s);

#endif
