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
    /* As the header `x-weir-streaming` says them, for who reports on the stream: the entry under
     * `models` that counted (`*`: none), and the settings in short. Empty with compat fms. */
    struct weir_slice profile;
    struct weir_slice settings;
};

struct weir_stream_dialect;

struct weir_batching_request {
    const struct weir_json *body;
    struct weir_slice model;
    const struct weir_conf_route *route;       /* NULL: the endpoints under /api */
    const struct weir_stream_dialect *dialect; /* of its stream; NULL: OpenAI's chunks */
    bool looks_at_tools; /* detectors see tool calls: they leave when their choice finishes */
};

/* 0, or WEIR_EINVAL and a sentence for a 400 in `why`. */
int weir_batching_resolve(struct weir_http_stream *s, const struct weir_batching_request *request,
                          struct weir_batching *out, struct weir_buf *why);

/*
 * Settings in short, the same for the same ones: `batching=on/120/200/auto,coalescer=on/40/8/400`,
 * that is min_chars_per_emit, max_latency_ms, idle_flush_ms; min_delta_chars, max_partial_count,
 * max_hold_ms.
 */
struct weir_slice weir_batching_settings(const struct weir_chain_options *chain,
                                         struct weir_arena *arena);

/* Does the configuration know them: the entry under `models` (or `*`), and some route or /api where
 * streams of such models have these settings, if no request asks for others? */
struct weir_batching_known {
    bool is_profile;
    bool is_settings;
};
struct weir_batching_known weir_batching_known(const struct weir_conf *conf,
                                               struct weir_slice profile,
                                               struct weir_slice settings,
                                               struct weir_arena *arena);

/* For an answer that is not streamed: what the request asks for changes nothing, but what it says
 * must make sense. The same results. */
int weir_batching_check(struct weir_http_stream *s, const struct weir_batching_request *request,
                        struct weir_buf *why);

#endif
