#ifndef WEIR_ROUTE_HEADERS_H
#define WEIR_ROUTE_HEADERS_H

#include "http/stream.h"
#include "route/env.h"

/*
 * The header fields that every answer has, whatever becomes of it:
 *
 *   x-request-id    every answer of every endpoint, refusals of HTTP itself included
 *   x-weir-route, x-weir-policy, x-weir-guarded    on routes
 *   x-weir-action   on routes, where it is known before the first byte
 *   x-weir-model, x-weir-attempts   likewise: PROVIDER/MODEL, and how many servers were asked
 */

/* The caller's own `x-request-id` where it is 1 to 128 visible ASCII characters, else a new one.
 * Lives in the stream's arena. */
/* The id that the answer's header says; empty: none yet. */
struct weir_slice weir_headers_said_id(const struct weir_http_stream *s);

struct weir_slice weir_headers_request_id(struct weir_http_stream *s);

/* From now on every answer to `s` has this id, the first of `fields`, which live as long as the
 * stream. What is added later needs the struct weir_request whose fields they are. */
void weir_headers_begin(struct weir_http_stream *s, struct weir_http_field *fields,
                        struct weir_slice request_id);

/* One more, borrowed. */
void weir_headers_add(struct weir_http_stream *s, struct weir_slice name, struct weir_slice value);

/* Another value, borrowed, for one that is there. */
void weir_headers_replace(struct weir_http_stream *s, struct weir_slice name,
                          struct weir_slice value);

/* The request came in by this route. */
void weir_headers_set_route(struct weir_http_stream *s, const struct weir_guarded *guarded);

/* What became of a completion on a route, if it did: before its answer begins. */
void weir_headers_set_action(struct weir_http_stream *s);

/* Which server an answer on a route comes from, if one was asked: before its head is sent. Safe
 * twice. */
void weir_headers_set_model(struct weir_http_stream *s);

#endif
