#ifndef WEIR_ROUTE_FORWARD_H
#define WEIR_ROUTE_FORWARD_H

#include "conf/conf.h"
#include "http/stream.h"

/*
 * Paths that a route's `unguarded` names: they pass to the model server without a look, and their
 * answers come back as they are: status, content type, bytes.
 */

/* The entry that this path below a route's name is; p NULL: it is none. */
struct weir_slice weir_forward_find(const struct weir_conf_route *route, struct weir_slice below);

/* A weir_route_begin_fn: the request's route has such an entry. */
void weir_forward_begin(void *env, struct weir_http_stream *s);

/* What x-weir-guarded says of an answer on this path. In the arena. */
struct weir_slice weir_forward_describe(struct weir_slice path, struct weir_arena *arena);

#endif
