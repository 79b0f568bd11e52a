/*
 * What is counted about the services that are called. Series appear when they are first needed: a
 * service that never fails has no line for failures.
 */
#include "client/client_int.h"

#include <pthread.h>

static struct weir_metric_family *f_requests;
static struct weir_metric_family *f_seconds;
static struct weir_metric_family *f_connections;
static struct weir_metric_family *f_retries;

static const uint64_t SECONDS_BUCKETS[] = {500,     1000,     2500,     5000,    10000,   25000,
                                           50000,   100000,   250000,   500000,  1000000, 2500000,
                                           5000000, 10000000, 30000000, 60000000};

static const struct weir_metric_def REQUESTS = {
    .name = "weir_service_requests_total",
    .help = "Calls to services, by class of status or by what went wrong.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"service", "result"},
};
static const struct weir_metric_def SECONDS = {
    .name = "weir_service_request_duration_seconds",
    .help = "From the start of a call, waiting and retries included, to its end.",
    .type = WEIR_METRIC_HISTOGRAM,
    .decimals = 6,
    .labels = {"service"},
    .buckets = SECONDS_BUCKETS,
    .n_buckets = sizeof SECONDS_BUCKETS / sizeof SECONDS_BUCKETS[0],
};
static const struct weir_metric_def CONNECTIONS = {
    .name = "weir_service_connections",
    .help = "Connections to services open now.",
    .type = WEIR_METRIC_GAUGE,
    .labels = {"service"},
};
static const struct weir_metric_def RETRIES = {
    .name = "weir_service_retries_total",
    .help = "Attempts beyond the first.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"service"},
};

static void declare(void)
{
    f_requests = weir_metric_declare(&REQUESTS);
    f_seconds = weir_metric_declare(&SECONDS);
    f_connections = weir_metric_declare(&CONNECTIONS);
    f_retries = weir_metric_declare(&RETRIES);
}

void weir_service__stats_init(struct weir_service_stats *stats, struct weir_slice id)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, declare);
    *stats = (struct weir_service_stats){
        .id = id,
        .retries = weir_metric_counter(f_retries, WEIR_METRIC_LABELS(id)),
        .seconds = weir_metric_histogram(f_seconds, WEIR_METRIC_LABELS(id)),
        .connections = weir_metric_gauge(f_connections, WEIR_METRIC_LABELS(id)),
    };
}

void weir_service__count(struct weir_service_stats *stats, enum weir_service_result result,
                         uint64_t took_us)
{
    static const char *const NAMES[WEIR_SERVICE_RESULTS] = {
        "1xx",     "2xx",    "3xx",   "4xx",  "5xx",      "connect",
        "timeout", "broken", "limit", "busy", "canceled",
    };
    struct weir_metric_counter *counter = &stats->results[result];
    if (counter->slot == 0) {
        struct weir_slice name = weir_slice_cstr(NAMES[result]);
        *counter = weir_metric_counter(f_requests, WEIR_METRIC_LABELS(stats->id, name));
    }
    weir_metric_add(*counter, 1);
    weir_metric_observe(stats->seconds, took_us);
}
