#include "unit/cmocka_all.h"

#include "base/err.h"
#include "obs/metric.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_rendered(const struct weir_metric_family *f, const char *expected)
{
    struct weir_buf out = {0};
    assert_int_equal(weir_metric_render_family(f, &out), 0);
    assert_string_equal(weir_buf_cstr(&out), expected);
    weir_buf_dispose(&out);
}

static void test_counter_text(void **state)
{
    (void)state;
    struct weir_metric_family *f = weir_metric_declare(&(struct weir_metric_def){
        .name = "t_requests_total",
        .help = "Requests\nseen, with a \\ in \"it\".",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"route", "code"},
    });
    assert_rendered(f, "# HELP t_requests_total Requests\\nseen, with a \\\\ in \"it\".\n"
                       "# TYPE t_requests_total counter\n");
    struct weir_metric_counter a =
        weir_metric_counter(f, WEIR_METRIC_LABELS(WEIR_SLICE("chat"), WEIR_SLICE("200")));
    struct weir_metric_counter b = weir_metric_counter(
        f, WEIR_METRIC_LABELS(WEIR_SLICE("a\"b\\c\nd"), WEIR_SLICE("5\xFF\x1b[0m\xC2\x9B")));
    weir_metric_add(a, 1);
    weir_metric_add(a, 41);
    weir_metric_add(b, UINT64_MAX);
    assert_rendered(f, "# HELP t_requests_total Requests\\nseen, with a \\\\ in \"it\".\n"
                       "# TYPE t_requests_total counter\n"
                       "t_requests_total{route=\"chat\",code=\"200\"} 42\n"
                       "t_requests_total{route=\"a\\\"b\\\\c\\nd\",code=\"5��[0m�\"} "
                       "18446744073709551615\n");
}

static void test_same_series_same_slot(void **state)
{
    (void)state;
    static const struct weir_metric_def def = {
        .name = "t_same_total", .help = "h", .type = WEIR_METRIC_COUNTER, .labels = {"x"}};
    struct weir_metric_family *f = weir_metric_declare(&def);
    assert_ptr_equal(weir_metric_declare(&def), f);
    struct weir_metric_counter a = weir_metric_counter(f, WEIR_METRIC_LABELS(WEIR_SLICE("1")));
    struct weir_metric_counter b = weir_metric_counter(f, WEIR_METRIC_LABELS(WEIR_SLICE("1")));
    struct weir_metric_counter c = weir_metric_counter(f, WEIR_METRIC_LABELS(WEIR_SLICE("2")));
    assert_int_equal(a.slot, b.slot);
    assert_int_not_equal(a.slot, c.slot);
}

static void test_a_gauge_is_forgotten(void **state)
{
    (void)state;
    static const struct weir_metric_def def = {
        .name = "t_now", .help = "h", .type = WEIR_METRIC_GAUGE, .labels = {"k"}, .max_series = 2};
    struct weir_metric_family *f = weir_metric_declare(&def);
    /* More of them, one after the other, than there is room for at once. */
    for (int i = 0; i < 9; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        struct weir_metric_labels labels = WEIR_METRIC_LABELS(weir_slice_cstr(key));
        char want[128];
        snprintf(want, sizeof want, "# HELP t_now h\n# TYPE t_now gauge\nt_now{k=\"%d\"} 1\n", i);
        weir_metric_set(weir_metric_gauge(f, labels), 1);
        assert_rendered(f, want);
        weir_metric_forget(f, labels);
        weir_metric_forget(f, labels); /* there is none any more */
    }
    assert_rendered(f, "# HELP t_now h\n# TYPE t_now gauge\n");
}

static void test_gauge_text(void **state)
{
    (void)state;
    struct weir_metric_family *f = weir_metric_declare(
        &(struct weir_metric_def){.name = "t_open", .help = "Open.", .type = WEIR_METRIC_GAUGE});
    struct weir_metric_gauge g = weir_metric_gauge(f, WEIR_METRIC_NO_LABELS);
    weir_metric_set(g, 7);
    weir_metric_gauge_add(g, -10);
    assert_rendered(f, "# HELP t_open Open.\n# TYPE t_open gauge\nt_open -3\n");
    weir_metric_set(g, INT64_MIN);
    assert_rendered(f, "# HELP t_open Open.\n# TYPE t_open gauge\nt_open -9223372036854775808\n");

    struct weir_metric_family *ms = weir_metric_declare(&(struct weir_metric_def){
        .name = "t_lag_seconds", .help = "Lag.", .type = WEIR_METRIC_GAUGE, .decimals = 3});
    weir_metric_set(weir_metric_gauge(ms, WEIR_METRIC_NO_LABELS), -50);
    assert_rendered(ms, "# HELP t_lag_seconds Lag.\n# TYPE t_lag_seconds gauge\n"
                        "t_lag_seconds -0.05\n");
}

static double read_double(void *ctx)
{
    return *(double *)ctx;
}

static void test_callback_values(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "0"},
        {1, "1"},
        {-17, "-17"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {4096.5, "4096.5"},
        {1e300, "1e+300"},
        {5e-324, "4.94065645841247e-324"},
        {9007199254740991.0, "9007199254740991"},
        {1700000000.123456, "1700000000.123456"},
        {HUGE_VAL, "+Inf"},
        {-HUGE_VAL, "-Inf"},
        {(double)NAN, "NaN"},
    };
    struct weir_metric_family *f = weir_metric_declare(&(struct weir_metric_def){
        .name = "t_asked", .help = "h", .type = WEIR_METRIC_GAUGE, .labels = {"k"}});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = cases[i].value;
        char expected[200];
        snprintf(expected, sizeof expected,
                 "# HELP t_asked h\n# TYPE t_asked gauge\nt_asked{k=\"v\"} %s\n", cases[i].text);
        weir_metric_callback(f, WEIR_METRIC_LABELS(WEIR_SLICE("v")), read_double, &value);
        assert_rendered(f, expected);
    }
    weir_metric_callback(f, WEIR_METRIC_LABELS(WEIR_SLICE("v")), NULL, NULL);
    assert_rendered(f, "# HELP t_asked h\n# TYPE t_asked gauge\n");
}

static const uint64_t latency_us[] = {5000, 10000, 25000, 500000, 1000000, 2500000};

static void test_histogram_text(void **state)
{
    (void)state;
    struct weir_metric_family *f = weir_metric_declare(&(struct weir_metric_def){
        .name = "t_latency_seconds",
        .help = "Latency.",
        .type = WEIR_METRIC_HISTOGRAM,
        .decimals = 6,
        .labels = {"service"},
        .buckets = latency_us,
        .n_buckets = 6,
    });
    struct weir_metric_histogram h =
        weir_metric_histogram(f, WEIR_METRIC_LABELS(WEIR_SLICE("hap")));
    static const uint64_t values[] = {0, 1, 5000, 5001, 24999, 499999, 500001, 2500000, 99000001};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        weir_metric_observe(h, values[i]);
    }
    assert_int_equal(weir_metric_histogram_count(h), 9);
    assert_int_equal(weir_metric_histogram_sum(h), 102535002);
    assert_rendered(f, "# HELP t_latency_seconds Latency.\n"
                       "# TYPE t_latency_seconds histogram\n"
                       "t_latency_seconds_bucket{service=\"hap\",le=\"0.005\"} 3\n"
                       "t_latency_seconds_bucket{service=\"hap\",le=\"0.01\"} 4\n"
                       "t_latency_seconds_bucket{service=\"hap\",le=\"0.025\"} 5\n"
                       "t_latency_seconds_bucket{service=\"hap\",le=\"0.5\"} 6\n"
                       "t_latency_seconds_bucket{service=\"hap\",le=\"1\"} 7\n"
                       "t_latency_seconds_bucket{service=\"hap\",le=\"2.5\"} 8\n"
                       "t_latency_seconds_bucket{service=\"hap\",le=\"+Inf\"} 9\n"
                       "t_latency_seconds_sum{service=\"hap\"} 102.535002\n"
                       "t_latency_seconds_count{service=\"hap\"} 9\n");
}

static void test_histogram_without_labels(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 10};
    struct weir_metric_family *f =
        weir_metric_declare(&(struct weir_metric_def){.name = "t_size_bytes",
                                                      .help = "Size.",
                                                      .type = WEIR_METRIC_HISTOGRAM,
                                                      .buckets = sizes,
                                                      .n_buckets = 2});
    struct weir_metric_histogram h = weir_metric_histogram(f, WEIR_METRIC_NO_LABELS);
    weir_metric_observe(h, 0);
    weir_metric_observe(h, 1);
    weir_metric_observe(h, UINT64_MAX - 1);
    assert_rendered(f, "# HELP t_size_bytes Size.\n# TYPE t_size_bytes histogram\n"
                       "t_size_bytes_bucket{le=\"0\"} 1\n"
                       "t_size_bytes_bucket{le=\"10\"} 2\n"
                       "t_size_bytes_bucket{le=\"+Inf\"} 3\n"
                       "t_size_bytes_sum 18446744073709551615\n"
                       "t_size_bytes_count 3\n");
}

/* The shortcut by highest bit must agree with a plain search, around every bound and power. */
static void test_buckets_agree_with_search(void **state)
{
    (void)state;
    static const uint64_t bounds[] = {0, 1, 2, 3, 4, 7, 8, 9, 1000, 1024, 1025, UINT64_MAX - 1};
    enum { N = sizeof bounds / sizeof bounds[0] };
    struct weir_metric_family *f =
        weir_metric_declare(&(struct weir_metric_def){.name = "t_search",
                                                      .help = "h",
                                                      .type = WEIR_METRIC_HISTOGRAM,
                                                      .labels = {"value"},
                                                      .buckets = bounds,
                                                      .n_buckets = N});
    for (unsigned b = 0; b < 64; b++) {
        for (int d = -1; d <= 1; d++) {
            uint64_t value = ((uint64_t)1 << b) + (uint64_t)(int64_t)d;
            size_t want = 0;
            while (want < N && value > bounds[want]) {
                want++;
            }
            char label[32];
            snprintf(label, sizeof label, "%" PRIu64, value);
            struct weir_metric_histogram h =
                weir_metric_histogram(f, WEIR_METRIC_LABELS(weir_slice_cstr(label)));
            uint64_t before =
                weir_metric_counter_value((struct weir_metric_counter){h.slot + (uint32_t)want});
            weir_metric_observe(h, value);
            assert_int_equal(
                weir_metric_counter_value((struct weir_metric_counter){h.slot + (uint32_t)want}),
                before + 1);
        }
    }
}

static void test_hostile_labels_overflow(void **state)
{
    (void)state;
    struct weir_metric_family *f =
        weir_metric_declare(&(struct weir_metric_def){.name = "t_hostile_total",
                                                      .help = "h",
                                                      .type = WEIR_METRIC_COUNTER,
                                                      .labels = {"who", "what"},
                                                      .max_series = 3});
    for (int i = 0; i < 100; i++) {
        char who[16];
        snprintf(who, sizeof who, "w%d", i);
        weir_metric_add(
            weir_metric_counter(f, WEIR_METRIC_LABELS(weir_slice_cstr(who), WEIR_SLICE("x"))), 1);
    }
    assert_rendered(f, "# HELP t_hostile_total h\n# TYPE t_hostile_total counter\n"
                       "t_hostile_total{who=\"other\",what=\"other\"} 97\n"
                       "t_hostile_total{who=\"w0\",what=\"x\"} 1\n"
                       "t_hostile_total{who=\"w1\",what=\"x\"} 1\n"
                       "t_hostile_total{who=\"w2\",what=\"x\"} 1\n");
    /* Known ones still count for themselves. */
    weir_metric_add(weir_metric_counter(f, WEIR_METRIC_LABELS(WEIR_SLICE("w1"), WEIR_SLICE("x"))),
                    1);
    struct weir_metric_counter w1 =
        weir_metric_counter(f, WEIR_METRIC_LABELS(WEIR_SLICE("w1"), WEIR_SLICE("x")));
    assert_int_equal(weir_metric_counter_value(w1), 2);
}

static void test_long_label_is_cut_between_characters(void **state)
{
    (void)state;
    struct weir_metric_family *f = weir_metric_declare(&(struct weir_metric_def){
        .name = "t_long_total", .help = "h", .type = WEIR_METRIC_COUNTER, .labels = {"x"}});
    char value[1000];
    memset(value, 'a', sizeof value);
    memcpy(value + WEIR_METRIC_MAX_VALUE_BYTES - 1, "é", strlen("é"));
    weir_metric_counter(f, WEIR_METRIC_LABELS(weir_slice_make(value, sizeof value)));
    char expected[400];
    snprintf(expected, sizeof expected,
             "# HELP t_long_total h\n# TYPE t_long_total counter\nt_long_total{x=\"%.*s\"} 0\n",
             WEIR_METRIC_MAX_VALUE_BYTES - 1, value);
    assert_rendered(f, expected);
}

static void test_zero_handles_are_harmless(void **state)
{
    (void)state;
    weir_metric_add((struct weir_metric_counter){0}, 5);
    weir_metric_observe((struct weir_metric_histogram){0}, 5);
    weir_metric_set((struct weir_metric_gauge){0}, 5);
    weir_metric_gauge_add((struct weir_metric_gauge){0}, 5);
    assert_int_equal(weir_metric_histogram_count((struct weir_metric_histogram){0}), 0);
    assert_int_equal(weir_metric_histogram_sum((struct weir_metric_histogram){0}), 0);
}

static void test_render_respects_the_ceiling(void **state)
{
    (void)state;
    struct weir_buf all = {0};
    assert_int_equal(weir_metric_render(&all), 0);
    assert_true(all.n > 100);
    struct weir_buf small;
    for (size_t max = 1; max < all.n; max += 97) {
        weir_buf_init(&small, max);
        assert_int_equal(weir_metric_render(&small), WEIR_ELIMIT);
        assert_true(small.n <= max);
        assert_memory_equal(small.p != NULL ? small.p : "", all.p, small.n);
        weir_buf_dispose(&small);
    }
    weir_buf_dispose(&all);
}

/* Enough histogram series to use up every slot: later ones share `other`, nothing breaks. */
static void test_slots_run_out(void **state)
{
    (void)state;
    static uint64_t bounds[WEIR_METRIC_MAX_BUCKETS];
    for (size_t i = 0; i < WEIR_METRIC_MAX_BUCKETS; i++) {
        bounds[i] = i + 1;
    }
    struct weir_metric_family *f =
        weir_metric_declare(&(struct weir_metric_def){.name = "t_many",
                                                      .help = "h",
                                                      .type = WEIR_METRIC_HISTOGRAM,
                                                      .labels = {"n"},
                                                      .buckets = bounds,
                                                      .n_buckets = WEIR_METRIC_MAX_BUCKETS,
                                                      .max_series = 100000});
    enum { N = 5000 };
    uint64_t total = 0;
    uint32_t last_slot = 0;
    for (int i = 0; i < N; i++) {
        char n[16];
        snprintf(n, sizeof n, "%d", i);
        struct weir_metric_histogram h =
            weir_metric_histogram(f, WEIR_METRIC_LABELS(weir_slice_cstr(n)));
        weir_metric_observe(h, 3);
        last_slot = h.slot;
    }
    struct weir_metric_histogram other =
        weir_metric_histogram(f, WEIR_METRIC_LABELS(WEIR_SLICE("other")));
    assert_int_equal(last_slot, other.slot);
    assert_in_range(weir_metric_histogram_count(other), 500, N);
    for (int i = 0; i < N; i++) {
        char n[16];
        snprintf(n, sizeof n, "%d", i);
        struct weir_metric_histogram h =
            weir_metric_histogram(f, WEIR_METRIC_LABELS(weir_slice_cstr(n)));
        if (h.slot != other.slot) {
            total += weir_metric_histogram_count(h);
        }
    }
    assert_int_equal(total + weir_metric_histogram_count(other), N);
}

enum { N_THREADS = 4, N_ROUNDS = 5, N_ADDS = 8000 };

struct load {
    struct weir_metric_family *counters;
    struct weir_metric_family *histograms;
    struct weir_metric_gauge gauge;
};

static void *count_a_lot(void *arg)
{
    const struct load *load = arg;
    struct weir_metric_counter c =
        weir_metric_counter(load->counters, WEIR_METRIC_LABELS(WEIR_SLICE("shared")));
    struct weir_metric_histogram h = weir_metric_histogram(load->histograms, WEIR_METRIC_NO_LABELS);
    for (uint64_t i = 0; i < N_ADDS; i++) {
        weir_metric_add(c, 2);
        weir_metric_observe(h, i);
        weir_metric_gauge_add(load->gauge, i % 2 == 0 ? 1 : -1);
        if (i % 4096 == 0) {
            char label[16];
            snprintf(label, sizeof label, "l%" PRIu64, i);
            weir_metric_add(
                weir_metric_counter(load->counters, WEIR_METRIC_LABELS(weir_slice_cstr(label))), 1);
        }
    }
    return NULL;
}

static void *report_shard(void *arg)
{
    weir_metric_add((struct weir_metric_counter){0}, 1);
    *(struct weir_metric_shard **)arg = weir_metric__shard;
    return NULL;
}

static void test_shard_goes_to_the_next_thread(void **state)
{
    (void)state;
    struct weir_metric_shard *seen[2];
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, report_shard, &seen[i]), 0);
        pthread_join(thread, NULL);
    }
    assert_ptr_equal(seen[0], seen[1]);
    assert_ptr_not_equal(seen[0], weir_metric__shard);
}

/* Threads come and go while others read, and nothing is lost. */
static void test_threads(void **state)
{
    (void)state;
    struct load load = {
        .counters = weir_metric_declare(&(struct weir_metric_def){
            .name = "t_threads_total", .help = "h", .type = WEIR_METRIC_COUNTER, .labels = {"x"}}),
        .histograms = weir_metric_declare(&(struct weir_metric_def){.name = "t_threads_us",
                                                                    .help = "h",
                                                                    .type = WEIR_METRIC_HISTOGRAM,
                                                                    .buckets = latency_us,
                                                                    .n_buckets = 6}),
        .gauge =
            weir_metric_gauge(weir_metric_declare(&(struct weir_metric_def){
                                  .name = "t_threads", .help = "h", .type = WEIR_METRIC_GAUGE}),
                              WEIR_METRIC_NO_LABELS),
    };
    struct weir_metric_counter c =
        weir_metric_counter(load.counters, WEIR_METRIC_LABELS(WEIR_SLICE("shared")));
    uint64_t seen = 0;
    for (int round = 0; round < N_ROUNDS; round++) {
        pthread_t threads[N_THREADS];
        for (int i = 0; i < N_THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, count_a_lot, &load), 0);
        }
        struct weir_buf out = {0};
        assert_int_equal(weir_metric_render(&out), 0);
        weir_buf_dispose(&out);
        uint64_t now = weir_metric_counter_value(c);
        assert_true(now >= seen);
        seen = now;
        for (int i = 0; i < N_THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    const uint64_t n = (uint64_t)N_THREADS * N_ROUNDS;
    struct weir_metric_histogram h = weir_metric_histogram(load.histograms, WEIR_METRIC_NO_LABELS);
    assert_int_equal(weir_metric_counter_value(c), n * N_ADDS * 2);
    assert_int_equal(weir_metric_histogram_count(h), n * N_ADDS);
    assert_int_equal(weir_metric_histogram_sum(h), n * N_ADDS * (N_ADDS - 1) / 2);
    assert_int_equal(*load.gauge.value, 0);
    struct weir_metric_counter l0 =
        weir_metric_counter(load.counters, WEIR_METRIC_LABELS(WEIR_SLICE("l4096")));
    assert_int_equal(weir_metric_counter_value(l0), n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counter_text),
        cmocka_unit_test(test_same_series_same_slot),
        cmocka_unit_test(test_a_gauge_is_forgotten),
        cmocka_unit_test(test_gauge_text),
        cmocka_unit_test(test_callback_values),
        cmocka_unit_test(test_histogram_text),
        cmocka_unit_test(test_histogram_without_labels),
        cmocka_unit_test(test_buckets_agree_with_search),
        cmocka_unit_test(test_hostile_labels_overflow),
        cmocka_unit_test(test_long_label_is_cut_between_characters),
        cmocka_unit_test(test_zero_handles_are_harmless),
        cmocka_unit_test(test_render_respects_the_ceiling),
        cmocka_unit_test(test_shard_goes_to_the_next_thread),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_slots_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
