#ifndef WEIR_EMIT_OVERRIDE_H
#define WEIR_EMIT_OVERRIDE_H

#include "base/buf.h"
#include "base/slice.h"
#include "emit/batch.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What a request asks of batching for itself, in its body or in a header:
 *
 *   "stream_options": {"batching": {"mode": "on", "min_chars_per_emit": 60, "max_latency_ms": 80}}
 *   x-stream-batching: off
 *   x-stream-batching: min_chars=60;max_latency_ms=80
 *
 * Keys are those of `streaming.batching` that shape its pace; a value that is not valid, or a key
 * that is not known, is an error and never ignored. A valid value beyond the operator's limits is
 * clamped to them. Parsing and applying are two steps, because header and body may both be there:
 * parse the header first, then the body into the same override, which wins key by key.
 */
struct weir_override {
    uint32_t set;                   /* a bit per key that was given */
    struct weir_batch_options mine; /* their values, in the members they are laid over */
};

struct weir_override_limits {
    bool is_enabled;
    uint32_t max_latency_ms;
    uint32_t min_chars_per_emit;
};

/* Both return 0, or WEIR_EINVAL and a sentence for the caller of the gateway in `why`. */
int weir_override_parse_body(struct weir_override *o, const struct weir_json *j, uint32_t batching,
                             struct weir_buf *why);
int weir_override_parse_header(struct weir_override *o, struct weir_slice value,
                               struct weir_buf *why);

/* Lays the override over an adapter's options. WEIR_EINVAL with `why` when overrides are disabled
 * or the result contradicts itself; then `options` is unchanged. */
int weir_override_apply(const struct weir_override *o, const struct weir_override_limits *limits,
                        struct weir_batch_options *options, struct weir_buf *why);

#endif
