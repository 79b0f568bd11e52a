#ifndef WEIR_CONF_STREAM_H
#define WEIR_CONF_STREAM_H

#include "base/slice.h"
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

enum weir_conf_mode { WEIR_CONF_MODE_OFF, WEIR_CONF_MODE_METRICS, WEIR_CONF_MODE_ON };
enum weir_conf_role {                      /* delta.role of outgoing events */
                      WEIR_CONF_ROLE_AUTO, /* what the composer decided */
                      WEIR_CONF_ROLE_FIRST,
                      WEIR_CONF_ROLE_EVERY,
                      WEIR_CONF_ROLE_VERBATIM,
};
enum weir_conf_obfuscation { WEIR_CONF_OBFUSCATION_DROP, WEIR_CONF_OBFUSCATION_REGENERATE };
enum weir_conf_boundary {
    WEIR_CONF_BOUNDARY_NONE,
    WEIR_CONF_BOUNDARY_SENTENCE,
    WEIR_CONF_BOUNDARY_MARKDOWN,
};
enum weir_conf_gate { WEIR_CONF_GATE_OFF, WEIR_CONF_GATE_CLOSED, WEIR_CONF_GATE_FINISH };
enum weir_conf_incomplete { WEIR_CONF_INCOMPLETE_RELEASE, WEIR_CONF_INCOMPLETE_DROP };
enum weir_conf_abort { WEIR_CONF_ABORT_DROP, WEIR_CONF_ABORT_RELEASE };
enum weir_conf_index { WEIR_CONF_INDEX_VERBATIM, WEIR_CONF_INDEX_REPAIR };
enum weir_conf_dedup_mode {
    WEIR_CONF_DEDUP_OFF,
    WEIR_CONF_DEDUP_METRICS,
    WEIR_CONF_DEDUP_SAFE,
    WEIR_CONF_DEDUP_TEXT, /* unsafe: a model may repeat a line */
};

struct weir_conf_reasoning {
    uint64_t set;
    uint32_t min_chars_per_emit; /* after resolve: inherited from batching where not set */
    uint32_t max_latency_ms;
    bool inherits_min_chars; /* after resolve: a request that changes the one changes both */
    bool inherits_max_latency;
};

struct weir_conf_batching { /* the adapter stage */
    uint64_t set;
    struct weir_conf_pos at;
    enum weir_conf_mode mode;
    uint32_t min_chars_per_emit;
    uint32_t max_latency_ms; /* 0: emit per chunk */
    uint32_t idle_flush_ms;  /* 0: off */
    bool flush_on_sentence;
    bool flush_on_tool_call;
    bool first_emit_immediate;
    uint32_t ramp_factor; /* 0: off, else at least 2 */
    uint32_t ramp_initial_chars;
    struct weir_conf_reasoning reasoning;
    enum weir_conf_role role_policy;
    enum weir_conf_obfuscation obfuscation;
    struct weir_conf_list latest_wins_fields;
    struct weir_conf_list append_array_fields;
    uint32_t max_batch_bytes;
};

struct weir_conf_coalescer { /* the business stage */
    uint64_t set;
    struct weir_conf_pos at;
    enum weir_conf_mode mode;
    uint32_t min_delta_chars;
    uint32_t max_partial_count; /* 0: no limit */
    enum weir_conf_boundary boundary;
    uint32_t max_hold_ms;
    bool first_emit_immediate;
    bool flush_on_tool_call; /* only where the gate is off */
    enum weir_conf_role role_policy;
    enum weir_conf_gate tool_call_gate;
    bool tool_gate_emit_head;
    uint32_t max_tool_args_bytes;
    uint32_t max_tool_hold_ms;
    enum weir_conf_incomplete on_incomplete;
    enum weir_conf_abort tool_gate_on_abort;
    enum weir_conf_index tool_index_policy;
};

struct weir_conf_dedup {
    uint64_t set;
    struct weir_conf_pos at;
    enum weir_conf_dedup_mode mode;
    uint32_t window; /* keys kept per stream */
    uint32_t min_chars;
};

struct weir_conf_stream_policy {
    struct weir_conf_batching batching;
    struct weir_conf_coalescer coalescer;
    struct weir_conf_dedup dedup;
};

struct weir_conf_stream_model {
    struct weir_conf_text glob; /* * and ? */
    struct weir_conf_stream_policy policy;
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
 * The settings of one request before its own override: model glob (the longest that matches) over
 * `route` (NULL: none) over global, reasoning filled in.
 */
struct weir_conf_stream_policy weir_conf_stream_resolve(const struct weir_conf_streaming *streaming,
                                                        const struct weir_conf_stream_policy *route,
                                                        struct weir_slice model);

/* `*` any run, `?` one byte, everything else itself. */
bool weir_conf_glob_match(struct weir_slice glob, struct weir_slice text);

#endif
