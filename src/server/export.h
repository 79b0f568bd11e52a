#ifndef WEIR_SERVER_EXPORT_H
#define WEIR_SERVER_EXPORT_H

#include "base/buf.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Traces and metrics to a collector, over OTLP. Off unless asked for, and then nothing of this
 * exists.
 *
 *   worker ── spans, packed as they end ──► batch ─┐
 *   worker ── spans ─────────────────────► batch ─┴► main thread: export_send ─► collector
 *   registry ── every interval ────────────────────► main thread: export_send ─► collector
 *
 * A span is written into its worker's batch when the request or call ends and holds nothing of
 * either. A batch is handed over when it is large enough, or old enough, or at the end. A collector
 * that is slow or away costs spans, never requests: what may wait is bounded and the rest is
 * dropped and counted. Metrics are cumulative, so that a lost round of them costs nothing.
 */
struct weir_export_options {
    bool traces;
    bool metrics;
    bool is_traces_http; /* else gRPC; as the next */
    bool is_metrics_http;
    const char *endpoint;        /* NULL: the protocol's own on localhost. URLs were checked */
    const char *traces_endpoint; /* NULL: as `endpoint` */
    const char *metrics_endpoint;
    const char *service_name;
    const char *headers;   /* `name=value,…`, values percent-encoded; sent with every export */
    const char *ca_path;   /* https: whom to trust instead of the system's authorities; NULL */
    const char *cert_path; /* https: a certificate of ours and its key; NULL: none */
    const char *key_path;
    bool is_gzip;                 /* requests are compressed */
    uint64_t traces_delay_ms;     /* how long a span waits for others; 0: five seconds */
    uint64_t metrics_interval_ms; /* 0: a minute */
};

struct weir_export;

/* On the main thread's loop. NULL: nothing is asked for, or, with a sentence in `why`, it cannot be
 * done. The options' strings must live on. */
struct weir_export *weir_export_new(const struct weir_export_options *options,
                                    struct weir_loop *loop, struct weir_buf *why);

/* Reads the certificates again; where that fails, which the log tells, the old ones stay. What is
 * under way goes on with those it began with. NULL is fine. */
void weir_export_reload(struct weir_export *e);

/* Sends the last batches and the last metrics. Calls `fn` when they are sent, or have failed, or
 * when their time is up; never from inside this call. `e` must not be NULL. */
void weir_export_finish(struct weir_export *e, void (*fn)(void *ctx), void *ctx);

/* Breaks off what is under way. When the loop has been disposed of, free. NULL is fine in both. */
void weir_export_close(struct weir_export *e);
void weir_export_free(struct weir_export *e);

/* What a worker hands its spans to; NULL: no traces are asked for, or `e` is NULL. */
struct weir_export_send *weir_export_traces(struct weir_export *e);

/* Nanoseconds since 1970. */
uint64_t weir_export_now_ns(void);

#endif
