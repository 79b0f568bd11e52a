#ifndef WEIR_ROUTE_STREAM_OUT_H
#define WEIR_ROUTE_STREAM_OUT_H

#include "base/buf.h"
#include "http/stream.h"
#include "io/loop.h"
#include "task/out.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A streaming answer over HTTP: events as server-sent events or as JSON lines.
 *
 * Nothing is sent before the first event, so that what fails before it is an ordinary error with
 * its status; but after `heartbeat_ms` of silence a comment must go out, and the head with it.
 */
struct weir_stream_out_options {
    bool is_ndjson; /* lines instead of events; no comments */
    bool has_done;  /* `data: [DONE]` ends it, errors included */
    bool is_fms;    /* errors before the first event are events, too; plainer error data */
    uint64_t heartbeat_ms;
};

struct weir_stream_out {
    struct weir_out base;
    struct weir_http_stream *stream;
    struct weir_stream_out_options options;
    struct weir_timer heartbeat;
    struct weir_buf scratch;
    bool is_started;
};

/* Made in the stream's arena; sets the stream's handler. */
struct weir_stream_out *weir_stream_out_new(struct weir_http_stream *s,
                                            const struct weir_stream_out_options *options);

#endif
