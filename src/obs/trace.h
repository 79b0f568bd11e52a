#ifndef WEIR_OBS_TRACE_H
#define WEIR_OBS_TRACE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Who a request is, across services: the W3C trace context (header `traceparent`) and request ids.
 *
 *   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 *   version      trace id                  span id      flags
 *
 * Ids come from a generator per thread that was seeded by the kernel: no system call for an id.
 * They are names, not secrets: whoever has seen some can guess others.
 */
enum {
    WEIR_TRACE_SAMPLED = 0x01,
    WEIR_TRACE_PARENT_BYTES = 55,
    WEIR_TRACE_ID_BYTES = 32, /* a trace id or request id in hexadecimal */
    WEIR_TRACE_SPAN_ID_BYTES = 16,
};

/* All-zero: no trace. */
struct weir_trace {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t flags;
};

/*
 * Strict: lower-case hexadecimal, ids that are not all zero, exactly 55 bytes in version 00; later
 * versions may carry more behind a dash, which is ignored. Only the sampled flag is kept. 0, or
 * WEIR_EBAD with `*out` untouched.
 */
int weir_trace_parse(struct weir_slice s, struct weir_trace *out);

/* The header's value in version 00, and a NUL after it. */
void weir_trace_format(const struct weir_trace *t, char out[WEIR_TRACE_PARENT_BYTES + 1]);

/* A new trace with its first span. */
void weir_trace_start(struct weir_trace *out, bool is_sampled);

/* A new span in the trace of `parent`; both may be the same object. */
void weir_trace_child(const struct weir_trace *parent, struct weir_trace *out);

static inline bool weir_trace_is_set(const struct weir_trace *t)
{
    static const uint8_t zero[16];
    return memcmp(t->trace_id, zero, sizeof zero) != 0;
}

/* In lower-case hexadecimal, with a NUL. */
void weir_trace_id_hex(const struct weir_trace *t, char out[WEIR_TRACE_ID_BYTES + 1]);

/* A new request id: 32 hexadecimal digits and a NUL. */
void weir_trace_request_id(char out[WEIR_TRACE_ID_BYTES + 1]);

/* 64 random bits of this thread's generator: for jitter and sampling as well. */
uint64_t weir_trace_random(void);

#endif
