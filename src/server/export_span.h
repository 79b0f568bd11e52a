#ifndef WEIR_SERVER_EXPORT_SPAN_H
#define WEIR_SERVER_EXPORT_SPAN_H

#include "base/buf.h"
#include "base/slice.h"
#include "client/client.h"
#include "http/msg.h"
#include "obs/trace.h"
#include "route/stream_stats.h"
#include "task/seen.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One span of OTLP, packed as an entry of `ScopeSpans`: what is appended borrows nothing. At most
 * some four KiB, however long the path.
 */
struct weir_export_times {
    uint64_t start_ns; /* since 1970 */
    uint64_t end_ns;
};

/* A request on the API port. */
struct weir_export_request {
    const struct weir_trace *trace;
    const uint8_t *parent_id; /* eight bytes of a trusted caller's span, or NULL */
    struct weir_export_times times;
    const struct weir_http_request *req;
    const char *pattern;     /* of the endpoint; NULL: no such path */
    struct weir_slice route; /* of the configuration; empty: none */
    struct weir_slice request_id;
    struct weir_slice provider; /* of the model; empty: none was asked */
    struct weir_slice model;    /* as the provider knows it */
    const char *system;         /* whose API the provider speaks; NULL: none was asked */
    unsigned n_attempts;        /* servers that were asked for it */
    int status;                 /* 0: no answer was begun */
    bool is_cut;                /* the caller went before its end */
    const struct weir_stream_summary *stream; /* what the answer was as a stream; NULL: none */
    const struct weir_seen *seen;             /* on routes: what became of it; else NULL */
    struct weir_slice asked_model;            /* on routes, where it is one; else empty */
    const char *revision;                     /* of the configuration */
};

void weir_export_span_request(struct weir_buf *out, const struct weir_export_request *r);

/* A call to a service. */
void weir_export_span_call(struct weir_buf *out, const struct weir_client_span *call,
                           struct weir_export_times times);

#endif
