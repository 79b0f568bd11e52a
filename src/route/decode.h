#ifndef WEIR_ROUTE_DECODE_H
#define WEIR_ROUTE_DECODE_H

#include "http/stream.h"
#include "wire/json.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Reads a request body as JSON. What is wrong with it is answered here: another content type (415),
 * too large (413), not JSON (400, saying where), too deep (400), too many values (413), no memory
 * to be had for it (503).
 */
struct weir_decode_limits {
    uint64_t max_body_bytes;
    uint32_t max_json_depth;
    uint32_t max_json_nodes;
};

/* The whole body, read. It lives in the stream's arena. */
typedef void (*weir_decode_done_fn)(void *ctx, struct weir_http_stream *s,
                                    const struct weir_json *body);

/* Sets the stream's handler; calls `done` once, or answers itself. `limits` is copied. */
void weir_decode_json_body(struct weir_http_stream *s, const struct weir_decode_limits *limits,
                           weir_decode_done_fn done, void *ctx);

/* The same for a body of any type, which nobody reads: its bytes, in the stream's arena. */
typedef void (*weir_decode_bytes_fn)(void *ctx, struct weir_http_stream *s, struct weir_slice body);
void weir_decode_bytes(struct weir_http_stream *s, const struct weir_decode_limits *limits,
                       weir_decode_bytes_fn done, void *ctx);

/* Is the request's body of this type, parameters such as charset aside? */
bool weir_decode_has_type(const struct weir_http_stream *s, struct weir_slice type);

/* Is the request's body of another content type than `type` (parameters such as charset aside), or
 * compressed? Then it was answered with 415. */
bool weir_decode_refuses_type(struct weir_http_stream *s, struct weir_slice type);

#endif
