#include "server/export.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "client/client.h"
#include "obs/log.h"
#include "obs/metric.h"
#include "server/export_attr.h"
#include "server/export_metrics.h"
#include "server/export_send.h"
#include "server/export_where.h"
#include "wire/grpc_paths.h"
#include "wire/http1.h"

#include <stdlib.h>
#include <time.h>

enum {
    DELAY_MS = 5000,
    INTERVAL_MS = 60 * 1000,
    LAST_MS = 3000, /* for what is sent at the end */
    CONNECT_MS = 5000,
    LOOK_UP_MS = 30 * 1000, /* a collector may move */
    REQUEST_MS = 10 * 1000, /* as the OpenTelemetry specification has it */
    MAX_PIECE_BYTES = 1024 * 1024,
    RESOURCE_ATTR = 1,
};

struct weir_export {
    struct weir_export_options options;
    struct weir_loop *loop;
    struct weir_client *client;
    struct weir_tls *tls; /* of whatever is https */
    struct weir_arena arena;
    struct weir_buf resource;
    const struct weir_http_field *headers; /* sent with every export */
    size_t n_headers;
    struct weir_export_send traces;
    struct weir_export_send metrics;
    struct weir_timer tick;
    uint64_t start_ns;

    struct weir_timer last; /* the end's limit */
    struct weir_post done;
    void (*fn)(void *ctx);
    void *ctx;
};

uint64_t weir_export_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_idle(void *ctx);

/* ---- what is counted ---- */

static struct weir_metric_counter spans[2];

static void declare_metrics(void)
{
    static const struct weir_metric_def def = {
        .name = "weir_otlp_spans_total",
        .help = "Spans that a collector has taken, or that were dropped.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"result"},
    };
    struct weir_metric_family *f = weir_metric_declare(&def);
    spans[0] = weir_metric_counter(f, WEIR_METRIC_LABELS(WEIR_SLICE("dropped")));
    spans[1] = weir_metric_counter(f, WEIR_METRIC_LABELS(WEIR_SLICE("sent")));
}

static void count_spans(void *ctx, bool is_sent, size_t n)
{
    (void)ctx;
    weir_metric_add(spans[is_sent], n);
}

/* ---- metrics ---- */

static void take_piece(void *ctx, struct weir_buf *entries)
{
    struct weir_export *e = ctx;
    weir_export_send_add(&e->metrics, entries, 0);
}

static void send_metrics(struct weir_export *e)
{
    struct weir_export_metrics m = {
        .start_ns = e->start_ns,
        .now_ns = weir_export_now_ns(),
        .max_bytes = MAX_PIECE_BYTES,
        .take_piece = take_piece,
        .ctx = e,
    };
    weir_export_metrics_write(&m);
    weir_export_send_go(&e->metrics);
}

/* If the round before is not over yet, no new one is started. */
static void on_tick(struct weir_timer *t, void *ctx)
{
    struct weir_export *e = ctx;
    if (weir_export_send_is_idle(&e->metrics)) {
        send_metrics(e);
    }
    weir_loop_after(e->loop, t, e->options.metrics_interval_ms);
}

/* ---- starting ---- */

static void write_resource(struct weir_export *e)
{
    weir_export_attr_text(&e->resource, RESOURCE_ATTR, WEIR_SLICE("service.name"),
                          weir_slice_cstr(e->options.service_name));
    weir_export_attr_text(&e->resource, RESOURCE_ATTR, WEIR_SLICE("service.version"),
                          WEIR_SLICE(WEIR_VERSION));
}

static const char *default_endpoint(bool is_http)
{
    return is_http ? "http://localhost:4318" : "http://localhost:4317";
}

static struct weir_tls *new_tls(const struct weir_export *e, struct weir_buf *why)
{
    return weir_tls_new_client(&(struct weir_tls_options){.ca_path = e->options.ca_path,
                                                          .cert_path = e->options.cert_path,
                                                          .key_path = e->options.key_path,
                                                          .offer_h2 = true},
                               why);
}

/* False when TLS cannot be had. */
static bool need_tls(struct weir_export *e, struct weir_buf *why)
{
    if (e->tls == NULL) {
        e->tls = new_tls(e, why);
    }
    return e->tls != NULL;
}

struct signal {
    const char *id; /* of the service, for metrics and logs */
    const char *name;
    bool is_http; /* else gRPC */
    const char *own_endpoint;
    const char *path;
    const char *grpc_path;
};

static bool open_signal(struct weir_export *e, struct weir_export_send *s,
                        const struct signal *signal, struct weir_buf *why)
{
    const struct weir_export_options *o = &e->options;
    bool is_own = signal->own_endpoint != NULL;
    const char *common = o->endpoint != NULL ? o->endpoint : default_endpoint(signal->is_http);
    struct weir_export_where where;
    int rc =
        weir_export_where_parse(weir_slice_cstr(is_own ? signal->own_endpoint : common), &where);
    WEIR_ASSERT(rc == 0);
    if (where.is_tls && !need_tls(e, why)) {
        return false;
    }
    s->loop = e->loop;
    s->tls = where.is_tls ? &e->tls : NULL;
    s->is_gzip = o->is_gzip;
    s->target = (struct weir_target){
        .id = weir_slice_cstr(signal->id),
        .hostname = weir_arena_dup(&e->arena, where.host).p,
        .port = where.port,
        .protocol = signal->is_http ? WEIR_TARGET_HTTP : WEIR_TARGET_H2,
        .path_prefix = WEIR_SLICE(""),
        .api_token = WEIR_SLICE(""),
        .connect_timeout_ms = CONNECT_MS,
        .request_timeout_ms = REQUEST_MS,
        .dns_interval_ms = LOOK_UP_MS,
    };
    s->context.passthrough = e->headers;
    s->context.n_passthrough = e->n_headers;
    s->signal = signal->name;
    s->path = weir_export_where_path(&e->arena, &where, is_own, signal->path);
    s->grpc_path = signal->is_http ? NULL : signal->grpc_path;
    s->resource = weir_buf_slice(&e->resource);
    s->on_idle = on_idle;
    s->ctx = e;
    weir_export_send_init(s);
    return true;
}

static bool open_traces(struct weir_export *e, struct weir_buf *why)
{
    struct signal signal = {.id = "otlp-traces",
                            .name = "traces",
                            .is_http = e->options.is_traces_http,
                            .own_endpoint = e->options.traces_endpoint,
                            .path = "/v1/traces",
                            .grpc_path = WEIR_GRPC_OTLP_TRACES};
    declare_metrics();
    e->traces.is_repeated = true;
    e->traces.delay_ms = e->options.traces_delay_ms != 0 ? e->options.traces_delay_ms : DELAY_MS;
    e->traces.on_entries = count_spans;
    return open_signal(e, &e->traces, &signal, why);
}

static bool open_metrics(struct weir_export *e, struct weir_buf *why)
{
    struct signal signal = {.id = "otlp-metrics",
                            .name = "metrics",
                            .is_http = e->options.is_metrics_http,
                            .own_endpoint = e->options.metrics_endpoint,
                            .path = "/v1/metrics",
                            .grpc_path = WEIR_GRPC_OTLP_METRICS};
    e->tick = (struct weir_timer){.fn = on_tick, .ctx = e};
    return open_signal(e, &e->metrics, &signal, why);
}

/* Nothing of this is on the loop yet. */
static bool open_signals(struct weir_export *e, struct weir_buf *why)
{
    const struct weir_export_options *o = &e->options;
    return (!o->traces || open_traces(e, why)) && (!o->metrics || open_metrics(e, why));
}

static void start(struct weir_export *e)
{
    e->client = weir_client_new(e->loop);
    e->traces.client = e->client;
    e->metrics.client = e->client;
    if (e->options.metrics) {
        weir_loop_after(e->loop, &e->tick, e->options.metrics_interval_ms);
    }
}

static int hex_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* `%20` is a space; what is no such pair stays. */
static struct weir_slice percent_decode(struct weir_arena *arena, struct weir_slice s)
{
    char *out = weir_arena_alloc(arena, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool may_be = s.p[i] == '%' && i + 2 < s.n;
        int high = may_be ? hex_value(s.p[i + 1]) : -1;
        int low = may_be ? hex_value(s.p[i + 2]) : -1;
        if (high >= 0 && low >= 0) {
            out[n++] = (char)(high * 16 + low);
            i += 2;
        } else {
            out[n++] = s.p[i];
        }
    }
    return weir_slice_make(out, n);
}

/* False: what the variable holds are no headers. Their values are not shown: they are secrets. */
static bool read_headers(struct weir_export *e, struct weir_buf *why)
{
    enum { MAX_HEADERS = 64 };
    struct weir_http_field *fields = weir_arena_array(&e->arena, MAX_HEADERS, sizeof *fields);
    struct weir_slice rest =
        e->options.headers != NULL ? weir_slice_cstr(e->options.headers) : (struct weir_slice){0};
    while (rest.p != NULL) {
        struct weir_slice value = weir_slice_trim(weir_slice_cut(&rest, ','));
        struct weir_slice name = weir_slice_trim(weir_slice_cut(&value, '='));
        if (name.n == 0 && value.p == NULL) {
            continue;
        }
        struct weir_slice decoded = WEIR_SLICE("\n"); /* nobody's value */
        if (value.p != NULL) {
            decoded = percent_decode(&e->arena, weir_slice_trim(value));
        }
        if (!weir_http1_is_token(name) || !weir_http1_is_field_value(decoded) ||
            e->n_headers == MAX_HEADERS) {
            weir_buf_printf(why, "OTEL_EXPORTER_OTLP_HEADERS: header %zu is not `name=value`",
                            e->n_headers + 1);
            return false;
        }
        fields[e->n_headers++] = (struct weir_http_field){name, decoded};
    }
    e->headers = fields;
    return true;
}

struct weir_export *weir_export_new(const struct weir_export_options *options,
                                    struct weir_loop *loop, struct weir_buf *why)
{
    if (!options->traces && !options->metrics) {
        return NULL;
    }
    struct weir_export *e = weir_mem_zalloc(sizeof *e);
    e->options = *options;
    if (e->options.metrics_interval_ms == 0) {
        e->options.metrics_interval_ms = INTERVAL_MS;
    }
    e->loop = loop;
    e->start_ns = weir_export_now_ns();
    write_resource(e);
    if (!read_headers(e, why) || !open_signals(e, why)) {
        weir_export_free(e);
        return NULL;
    }
    start(e);
    return e;
}

struct weir_export_send *weir_export_traces(struct weir_export *e)
{
    return e != NULL && e->options.traces ? &e->traces : NULL;
}

void weir_export_reload(struct weir_export *e)
{
    if (e == NULL || e->tls == NULL) {
        return;
    }
    struct weir_buf why = {0};
    struct weir_tls *fresh = new_tls(e, &why);
    if (fresh != NULL) {
        weir_tls_unref(e->tls); /* the client keeps its own reference while it needs it */
        e->tls = fresh;
    } else {
        WEIR_LOG_ERROR("export", NULL, "the collector's certificates stay as they were",
                       weir_log_str("why", weir_buf_slice(&why)));
    }
    weir_buf_dispose(&why);
}

/* ---- the end ---- */

static void on_done(struct weir_post *post)
{
    struct weir_export *e = WEIR_LIST_ENTRY(post, struct weir_export, done);
    void (*fn)(void *ctx) = e->fn;
    weir_loop_cancel(e->loop, &e->last);
    e->fn = NULL;
    fn(e->ctx);
}

static void on_idle(void *ctx)
{
    struct weir_export *e = ctx;
    bool is_idle = (!e->options.traces || weir_export_send_is_idle(&e->traces)) &&
                   (!e->options.metrics || weir_export_send_is_idle(&e->metrics));
    if (e->fn != NULL && is_idle) {
        weir_loop_post(e->loop, &e->done);
    }
}

static void on_last(struct weir_timer *t, void *ctx)
{
    struct weir_export *e = ctx;
    (void)t;
    WEIR_LOG_WARN("export", NULL, "no time is left to send the last telemetry");
    weir_loop_post(e->loop, &e->done);
}

void weir_export_finish(struct weir_export *e, void (*fn)(void *ctx), void *ctx)
{
    e->fn = fn;
    e->ctx = ctx;
    e->done.fn = on_done;
    e->last = (struct weir_timer){.fn = on_last, .ctx = e};
    weir_loop_cancel(e->loop, &e->tick);
    weir_loop_after(e->loop, &e->last, LAST_MS);
    if (e->options.traces) {
        weir_export_send_finish(&e->traces);
    }
    if (e->options.metrics) {
        send_metrics(e);
        weir_export_send_finish(&e->metrics);
    }
    on_idle(e);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

void weir_export_close(struct weir_export *e)
{
    if (e == NULL) {
        return;
    }
    e->fn = NULL;
    weir_loop_unpost(&e->done);
    weir_loop_cancel(e->loop, &e->tick);
    weir_loop_cancel(e->loop, &e->last);
    if (e->options.traces) {
        weir_export_send_close(&e->traces);
    }
    if (e->options.metrics) {
        weir_export_send_close(&e->metrics);
    }
    weir_client_close(e->client, nothing, NULL);
    e->client = NULL;
}

void weir_export_free(struct weir_export *e)
{
    if (e == NULL) {
        return;
    }
    if (e->tls != NULL) {
        weir_tls_unref(e->tls);
    }
    weir_buf_dispose(&e->resource);
    weir_arena_dispose(&e->arena);
    free(e);
}
