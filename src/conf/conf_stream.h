#ifndef WEIR_CONF_STREAM_H
#define WEIR_CONF_STREAM_H

#include "base/slice.h"
#include "base/stream_options.h"
#include "conf/conf_problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The `streaming:` section: how released text is batched on its way to the caller.
 *
 * The same three blocks (batching, coalescer, dedup) stand globally, on a route and under a model
 * glob; the more special one wins key by key. So each block remembers which of its keys were
 * written (`set`, a bit per key, for conf's own use) and weir_conf_stream_resolve lays them over
 * each other. Text is counted in code points.
 */

/* Text with the place it was written at. `s.p` is NUL-terminated, or NULL when absent. */
struct weir_conf_text {
    struct weir_slice s;
    struct weir_conf_pos at;
};

struct weir_conf_list {
    const struct weir_conf_text *items;
    size_t n;
};

/* The fields and what they mean: base/stream_options.h. */
#define WEIR_CONF__NUMBER(key, ...) uint32_t key;
#define WEIR_CONF__FLAG(key, ...) bool key;
#define WEIR_CONF__WORD(key, member, tag, ...) enum tag key;
#define WEIR_CONF__LIST(key, ...) struct weir_conf_list key;

struct weir_conf_reasoning {
    uint64_t set;
    /* after resolve: inherited from batching where not set */
    WEIR_STREAM_REASONING(WEIR_CONF__NUMBER)
    bool inherits_min_chars; /* after resolve: a request that changes the one changes both */
    bool inherits_max_latency;
};

struct weir_conf_batching { /* the adapter stage */
    uint64_t set;
    struct weir_conf_pos at;
    WEIR_STREAM_PACE(WEIR_CONF__NUMBER, WEIR_CONF__NUMBER, WEIR_CONF__FLAG, WEIR_CONF__WORD)
    WEIR_STREAM_JOINING(WEIR_CONF__NUMBER, WEIR_CONF__FLAG, WEIR_CONF__WORD, WEIR_CONF__LIST)
    struct weir_conf_reasoning reasoning;
};

struct weir_conf_coalescer { /* the business stage */
    uint64_t set;
    struct weir_conf_pos at;
    WEIR_STREAM_COALESCER(WEIR_CONF__NUMBER, WEIR_CONF__FLAG, WEIR_CONF__WORD)
};

struct weir_conf_dedup {
    uint64_t set;
    struct weir_conf_pos at;
    WEIR_STREAM_DEDUP(WEIR_CONF__NUMBER, WEIR_CONF__WORD)
};

#undef WEIR_CONF__NUMBER
#undef WEIR_CONF__FLAG
#undef WEIR_CONF__WORD
#undef WEIR_CONF__LIST

struct weir_conf_stream_policy {
    struct weir_conf_batching batching;
    struct weir_conf_coalescer coalescer;
    struct weir_conf_dedup dedup;
};

/* How much a model may write, in tokens; 0: nothing is said. */
struct weir_conf_max_tokens {
    uint32_t fallback; /* `default`: for a request that does not say */
    uint32_t cap;      /* for all; `default` is not above it */
};

struct weir_conf_stream_model {
    struct weir_conf_stream_policy policy;
    struct weir_conf_text glob; /* * and ? */
    struct weir_conf_max_tokens max_tokens;
};

/* What a request may ask for itself, and how far. */
struct weir_conf_request_override {
    bool enabled;
    uint32_t max_latency_ms;     /* clamps */
    uint32_t min_chars_per_emit; /* clamps */
};

struct weir_conf_streaming {
    struct weir_conf_stream_policy policy;
    uint32_t heartbeat_ms;            /* 0: none */
    uint64_t max_stream_buffer_bytes; /* the same value as limits.max_stream_buffer_bytes */
    const struct weir_conf_stream_model *models;
    size_t n_models;
    struct weir_conf_request_override request_override;
};

/*
 * The settings of one request before its own override: `match` (NULL: no model's) over
 * `route` (NULL: none) over global, reasoning filled in.
 */
struct weir_conf_stream_policy weir_conf_stream_resolve(const struct weir_conf_streaming *streaming,
                                                        const struct weir_conf_stream_policy *route,
                                                        const struct weir_conf_stream_model *match);

/* The entry under `models` that counts for a model; NULL: none does. */
const struct weir_conf_stream_model *
weir_conf_stream_match(const struct weir_conf_streaming *streaming, struct weir_slice model);

/* How much `model` may write on a route that says `route` (NULL: none): the model's default is
 * before the route's, of two caps the smaller counts, and the default is not above it. */
struct weir_conf_max_tokens weir_conf_stream_max_tokens(const struct weir_conf_streaming *streaming,
                                                        const struct weir_conf_max_tokens *route,
                                                        struct weir_slice model);

#endif
