/*
 * What being watched costs, in CPU time: counting, observing, a log call whose level is off, and an
 * emitted line. Usage: obs_bench
 */
#include "obs/log.h"
#include "obs/metric.h"
#include "obs/trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct weir_metric_family *requests;
static struct weir_metric_counter counter;
static struct weir_metric_gauge gauge;
static struct weir_metric_histogram histogram;

static void run_add(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        weir_metric_add(counter, 1);
        __asm__ volatile("" ::: "memory");
    }
}

static void run_gauge(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        weir_metric_gauge_add(gauge, 1);
    }
}

/* Values spread over all buckets, so that no branch is learned by heart. */
static void run_observe(uint64_t n)
{
    static uint64_t values[4096];
    if (values[0] == 0) {
        for (size_t i = 0; i < 4096; i++) {
            values[i] = 1 + weir_trace_random() % ((uint64_t)1 << (8 + weir_trace_random() % 16));
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        weir_metric_observe(histogram, values[i % 4096]);
        __asm__ volatile("" ::: "memory");
    }
}

/* As a stream does it: the same few microseconds again and again. */
static void run_observe_alike(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        weir_metric_observe(histogram, 1800 + i % 64);
        __asm__ volatile("" ::: "memory");
    }
}

static void run_lookup(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct weir_metric_counter c = weir_metric_counter(
            requests, WEIR_METRIC_LABELS(WEIR_SLICE("chat"), WEIR_SLICE("200")));
        weir_metric_add(c, 1);
    }
}

static void run_log_off(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        WEIR_LOG_DEBUG("bench", NULL, "token", weir_log_u64("i", i));
        __asm__ volatile("" ::: "memory");
    }
}

static void run_log_json(uint64_t n)
{
    struct weir_log_ctx ctx = {.request_id = WEIR_SLICE("5f0c9a4e7b1d2836aa90c4e1d7f35b28")};
    weir_trace_start(&ctx.trace, true);
    for (uint64_t i = 0; i < n; i++) {
        WEIR_LOG_INFO("route", &ctx, "request", weir_log_cstr("method", "POST"),
                      weir_log_cstr("path", "/api/v2/chat/completions-detection"),
                      weir_log_u64("status", 200), weir_log_u64("took_us", 12345 + i));
    }
}

static void run_trace(uint64_t n)
{
    struct weir_trace t;
    for (uint64_t i = 0; i < n; i++) {
        weir_trace_start(&t, true);
        __asm__ volatile("" ::"r"(&t) : "memory");
    }
}

/* The best of several rounds: what the work costs without the neighbours. */
static void report(const char *what, void (*run)(uint64_t n), uint64_t n)
{
    double best = 0;
    for (int round = 0; round < 9; round++) {
        double from = cpu_ns();
        run(n);
        double ns = (cpu_ns() - from) / (double)n;
        best = round == 0 || ns < best ? ns : best;
    }
    printf("%-36s %9.2f ns\n", what, best);
}

static void declare(void)
{
    static const uint64_t bounds_us[] = {1000,   2500,   5000,    10000,   25000,   50000,   100000,
                                         250000, 500000, 1000000, 2500000, 5000000, 10000000};
    static const struct weir_metric_def requests_def = {
        .name = "bench_requests_total",
        .help = "h",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"route", "code"},
    };
    static const struct weir_metric_def open_def = {
        .name = "bench_open", .help = "h", .type = WEIR_METRIC_GAUGE};
    static const struct weir_metric_def latency_def = {
        .name = "bench_latency_seconds",
        .help = "h",
        .type = WEIR_METRIC_HISTOGRAM,
        .decimals = 6,
        .buckets = bounds_us,
        .n_buckets = sizeof bounds_us / sizeof bounds_us[0],
    };
    requests = weir_metric_declare(&requests_def);
    counter =
        weir_metric_counter(requests, WEIR_METRIC_LABELS(WEIR_SLICE("chat"), WEIR_SLICE("200")));
    gauge = weir_metric_gauge(weir_metric_declare(&open_def), WEIR_METRIC_NO_LABELS);
    histogram = weir_metric_histogram(weir_metric_declare(&latency_def), WEIR_METRIC_NO_LABELS);
}

int main(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        perror("/dev/null");
        return 1;
    }
    weir_log_setup(&(struct weir_log_options){
        .fd = fd, .level = WEIR_LOG_LEVEL_INFO, .format = WEIR_LOG_JSON});
    declare();
    report("counter, add", run_add, 20000000);
    report("gauge, add", run_gauge, 5000000);
    report("histogram, observe, alike", run_observe_alike, 20000000);
    report("histogram, observe, spread", run_observe, 20000000);
    report("counter, look up by labels and add", run_lookup, 500000);
    report("log call, level off", run_log_off, 20000000);
    report("log line, json to /dev/null", run_log_json, 200000);
    report("new trace and span id", run_trace, 5000000);
    return 0;
}
