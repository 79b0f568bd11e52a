#ifndef WEIR_ROUTE_BATCHING_H
#define WEIR_ROUTE_BATCHING_H

#include "base/buf.h"
#include "conf/conf.h"
#include "emit/chain.h"
#include "http/stream.h"
#include "wire/json.h"

#include <stdbool.h>

/*
 * How one stream is batched: the configuration (model over route over global), then what the
 * request asks for itself in its body (`stream_options.batching`) or in the header
 * `x-stream-batching`.
 */
struct weir_batching {
    struct weir_chain_options chain; /* its lists live in the stream's arena */
    bool is_used;                    /* some stage is on or counts */
    struct weir_slice model;         /* for metrics and the log */
    struct weir_slice route;
};

struct weir_batching_request {
    const struct weir_json *body;
    struct weir_slice model;
    const struct weir_conf_route *route; /* NULL: the endpoints under /api */
    bool looks_at_tools; /* detectors see tool calls: they leave when their choice finishes */
};

/* 0, or WEIR_EINVAL and a sentence for a 400 in `why`. */
int weir_batching_resolve(struct weir_http_stream *s, const struct weir_batching_request *request,
                          struct weir_batching *out, struct weir_buf *why);

/* For an answer that is not streamed: what the request asks for changes nothing, but what it says
 * must make sense. The same results. */
int weir_batching_check(struct weir_http_stream *s, const struct weir_batching_request *request,
                        struct weir_buf *why);

#endif
