#include "server/stats.h"

#include "base/account.h"
#include "detect/verdicts.h"
#include "io/fds.h"
#include "obs/log.h"
#include "obs/metric.h"
#include "obs/process.h"
#include "route/completion.h"
#include "route/openai.h"
#include "route/render.h"
#include "route/reply.h"
#include "route/stream_stats.h"
#include "task/promise.h"

#include <stdio.h>

enum { N_LISTENERS = 2, N_CLASSES = 6 };

static struct weir_metric_counter requests[N_LISTENERS][N_CLASSES];
static struct weir_metric_histogram seconds[N_LISTENERS];
static struct weir_metric_gauge connections[N_LISTENERS];
static struct weir_metric_counter rejected[N_LISTENERS];
static struct weir_metric_counter reloads[2];
static struct weir_metric_family *info;

static const uint64_t SECONDS_BUCKETS[] = {500,     1000,     2500,     5000,    10000,   25000,
                                           50000,   100000,   250000,   500000,  1000000, 2500000,
                                           5000000, 10000000, 30000000, 60000000};

static const struct weir_metric_def REQUESTS = {
    .name = "weir_http_requests_total",
    .help = "HTTP exchanges, by listener and class of status (aborted: no answer was made).",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"listener", "status"},
};
static const struct weir_metric_def SECONDS = {
    .name = "weir_http_request_duration_seconds",
    .help = "From the request head to the end of the exchange.",
    .type = WEIR_METRIC_HISTOGRAM,
    .decimals = 6,
    .labels = {"listener"},
    .buckets = SECONDS_BUCKETS,
    .n_buckets = sizeof SECONDS_BUCKETS / sizeof SECONDS_BUCKETS[0],
};
static const struct weir_metric_def CONNECTIONS = {
    .name = "weir_http_connections",
    .help = "Connections open now.",
    .type = WEIR_METRIC_GAUGE,
    .labels = {"listener"},
};
static const struct weir_metric_def REJECTED = {
    .name = "weir_http_connections_rejected_total",
    .help = "Connections refused: limits.max_connections, or too few file descriptors.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"listener"},
};
static const struct weir_metric_def RELOADS = {
    .name = "weir_config_reloads_total",
    .help = "Configuration reloads: applied, or refused with the old configuration kept.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"result"},
};
static const struct weir_metric_def HELD = {
    .name = "weir_held_bytes",
    .help = "Memory held for callers now: what limits.max_held_bytes_total is about.",
    .type = WEIR_METRIC_GAUGE,
};
static const struct weir_metric_def INFO = {
    .name = "weir_config_info",
    .help = "Always 1; the label is the revision of the configuration in use.",
    .type = WEIR_METRIC_GAUGE,
    .labels = {"revision"},
};

static double read_held(void *ctx)
{
    (void)ctx;
    return (double)weir_account_total();
}

void weir_stats_declare(void)
{
    static const char *const names[N_LISTENERS] = {"api", "health"};
    static const char *const classes[N_CLASSES] = {"aborted", "1xx", "2xx", "3xx", "4xx", "5xx"};
    weir_process_declare_metrics();
    weir_log_declare_metrics();
    weir_fds_declare_metrics();
    struct weir_metric_family *f_requests = weir_metric_declare(&REQUESTS);
    struct weir_metric_family *f_seconds = weir_metric_declare(&SECONDS);
    struct weir_metric_family *f_connections = weir_metric_declare(&CONNECTIONS);
    struct weir_metric_family *f_rejected = weir_metric_declare(&REJECTED);
    for (size_t i = 0; i < N_LISTENERS; i++) {
        struct weir_slice name = weir_slice_cstr(names[i]);
        for (size_t k = 0; k < N_CLASSES; k++) {
            struct weir_metric_labels both = WEIR_METRIC_LABELS(name, weir_slice_cstr(classes[k]));
            requests[i][k] = weir_metric_counter(f_requests, both);
        }
        seconds[i] = weir_metric_histogram(f_seconds, WEIR_METRIC_LABELS(name));
        connections[i] = weir_metric_gauge(f_connections, WEIR_METRIC_LABELS(name));
        rejected[i] = weir_metric_counter(f_rejected, WEIR_METRIC_LABELS(name));
    }
    struct weir_metric_family *f_reloads = weir_metric_declare(&RELOADS);
    reloads[0] = weir_metric_counter(f_reloads, WEIR_METRIC_LABELS(WEIR_SLICE("refused")));
    reloads[1] = weir_metric_counter(f_reloads, WEIR_METRIC_LABELS(WEIR_SLICE("applied")));
    weir_metric_callback(weir_metric_declare(&HELD), WEIR_METRIC_NO_LABELS, read_held, NULL);
    weir_reply_declare();
    info = weir_metric_declare(&INFO);
    weir_stream_stats_declare();
    weir_render_declare();
    weir_completion_declare();
    weir_openai_declare();
    weir_promise_declare();
    weir_verdicts_declare();
}

void weir_stats_request(enum weir_stats_listener listener, const struct weir_http_stream *s,
                        uint64_t now_ms)
{
    size_t class = s->status >= 100 && s->status < 600 ? (size_t)s->status / 100 : 0;
    weir_metric_add(requests[listener][class], 1);
    weir_metric_observe(seconds[listener], (now_ms - s->started_ms) * 1000);
}

void weir_stats_connection(enum weir_stats_listener listener, int change)
{
    weir_metric_gauge_add(connections[listener], change);
}

void weir_stats_rejected(enum weir_stats_listener listener)
{
    weir_metric_add(rejected[listener], 1);
}

void weir_stats_reload(bool ok)
{
    weir_metric_add(reloads[ok], 1);
}

void weir_stats_revision(const char *revision)
{
    static char shown[WEIR_METRIC_MAX_VALUE_BYTES];
    if (shown[0] != '\0') {
        weir_metric_forget(info, WEIR_METRIC_LABELS(weir_slice_cstr(shown)));
    }
    snprintf(shown, sizeof shown, "%s", revision);
    weir_metric_set(weir_metric_gauge(info, WEIR_METRIC_LABELS(weir_slice_cstr(shown))), 1);
}
