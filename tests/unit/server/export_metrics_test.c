#include "obs/metric.h"
#include "server/export_metrics.h"
#include "unit/cmocka_all.h"
#include "unit/server/otlp_read.h"

#include <math.h>

enum { SUM = 7, GAUGE = 5, HISTOGRAM = 9, NUMBER_ATTR = 7, HIST_ATTR = 9 };
enum { START_NS = 1000, NOW_NS = 5000 };

struct pieces {
    struct weir_buf all;
    size_t n;
};

static void take_piece(void *ctx, struct weir_buf *entries)
{
    struct pieces *p = ctx;
    p->n++;
    weir_buf_append(&p->all, weir_buf_slice(entries));
    weir_buf_dispose(entries);
}

static void write_all(struct pieces *p, size_t max_bytes)
{
    struct weir_export_metrics m = {
        .start_ns = START_NS,
        .now_ns = NOW_NS,
        .max_bytes = max_bytes,
        .take_piece = take_piece,
        .ctx = p,
    };
    weir_export_metrics_write(&m);
}

static struct weir_slice find(const struct pieces *p, const char *name)
{
    struct otlp_field f;
    for (size_t i = 0; (f = otlp_nth(weir_buf_slice(&p->all), 2, i)).is_there; i++) {
        if (weir_slice_eq_cstr(otlp_bytes(f.bytes, 1), name)) {
            return f.bytes;
        }
    }
    return (struct weir_slice){0};
}

static double no_number(void *ctx)
{
    (void)ctx;
    return NAN;
}

static double a_number(void *ctx)
{
    return *(double *)ctx;
}

static void test_counters(void **state)
{
    (void)state;
    struct weir_metric_family *f = weir_metric_declare(&(struct weir_metric_def){
        .name = "t_requests_total",
        .help = "Requests.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"route", "code"},
    });
    struct pieces before = {0};
    write_all(&before, 1 << 20);
    assert_int_equal(find(&before, "t_requests_total").n, 0); /* nobody has counted */
    weir_buf_dispose(&before.all);
    struct weir_slice odd = WEIR_SLICE("a\"b\\c\nd,=");
    weir_metric_add(weir_metric_counter(f, WEIR_METRIC_LABELS(odd, WEIR_SLICE(""))), 42);
    weir_metric_add(weir_metric_counter(f, WEIR_METRIC_LABELS(WEIR_SLICE("x"), WEIR_SLICE("y"))),
                    UINT64_MAX / 4);
    struct pieces p = {0};
    write_all(&p, 1 << 20);
    struct weir_slice metric = find(&p, "t_requests_total");
    assert_true(weir_slice_eq_cstr(otlp_bytes(metric, 2), "Requests."));
    assert_false(otlp_has(metric, 3));
    struct weir_slice sum = otlp_bytes(metric, SUM);
    assert_int_equal(otlp_number(sum, 2), 2);
    assert_int_equal(otlp_number(sum, 3), 1);
    struct weir_slice first = otlp_nth(sum, 1, 0).bytes;
    struct weir_slice second = otlp_nth(sum, 1, 1).bytes;
    assert_true(otlp_attr_is(first, NUMBER_ATTR, "route", "a\"b\\c\nd,="));
    assert_true(otlp_attr_is(first, NUMBER_ATTR, "code", ""));
    assert_int_equal(otlp_number(first, 2), START_NS);
    assert_int_equal(otlp_number(first, 3), NOW_NS);
    assert_int_equal(otlp_number(first, 6), 42);
    assert_true(otlp_number(second, 6) == UINT64_MAX / 4);
    assert_true(otlp_attr_is(second, NUMBER_ATTR, "code", "y"));
    weir_buf_dispose(&p.all);
}

static void test_names_of_a_convention(void **state)
{
    (void)state;
    static const struct weir_metric_otlp names = {
        "t.ai.tokens", "{token}", {"t.ai.model", "error.type"}};
    struct weir_metric_family *f = weir_metric_declare(&(struct weir_metric_def){
        .name = "t_ai_tokens_total",
        .help = "Tokens.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"t_ai_model", "error_type"},
        .otlp = &names,
    });
    struct weir_metric_labels labels = WEIR_METRIC_LABELS(WEIR_SLICE("m"), WEIR_SLICE(""));
    weir_metric_add(weir_metric_counter(f, labels), 7);
    struct pieces p = {0};
    write_all(&p, 1 << 20);
    assert_int_equal(find(&p, "t_ai_tokens_total").n, 0);
    struct weir_slice metric = find(&p, "t.ai.tokens");
    assert_true(weir_slice_eq_cstr(otlp_bytes(metric, 3), "{token}"));
    struct weir_slice point = otlp_bytes(otlp_bytes(metric, SUM), 1);
    assert_int_equal(otlp_number(point, 6), 7);
    assert_true(otlp_attr_is(point, NUMBER_ATTR, "t.ai.model", "m"));
    assert_int_equal(otlp_attr(point, NUMBER_ATTR, "error.type").n, 0); /* empty: left out */
    weir_buf_dispose(&p.all);
    struct weir_buf text = {0};
    assert_int_equal(weir_metric_render_family(f, &text), 0);
    assert_non_null(
        strstr(weir_buf_cstr(&text), "t_ai_tokens_total{t_ai_model=\"m\",error_type=\"\"} 7\n"));
    weir_buf_dispose(&text);
}

static void test_gauges(void **state)
{
    (void)state;
    static double real = 2.5;
    struct weir_metric_family *whole = weir_metric_declare(
        &(struct weir_metric_def){.name = "t_things", .help = "", .type = WEIR_METRIC_GAUGE});
    weir_metric_set(weir_metric_gauge(whole, WEIR_METRIC_NO_LABELS), -3);
    struct weir_metric_family *told = weir_metric_declare(&(struct weir_metric_def){
        .name = "t_told_bytes", .help = "", .type = WEIR_METRIC_GAUGE, .labels = {"of"}});
    weir_metric_callback(told, WEIR_METRIC_LABELS(WEIR_SLICE("a")), a_number, &real);
    weir_metric_callback(told, WEIR_METRIC_LABELS(WEIR_SLICE("b")), no_number, NULL);
    struct pieces p = {0};
    write_all(&p, 1 << 20);
    struct weir_slice point = otlp_bytes(otlp_bytes(find(&p, "t_things"), GAUGE), 1);
    assert_int_equal((int64_t)otlp_number(point, 6), -3);
    assert_false(otlp_has(point, 2));
    struct weir_slice metric = find(&p, "t_told_bytes");
    assert_true(weir_slice_eq_cstr(otlp_bytes(metric, 3), "By"));
    point = otlp_bytes(otlp_bytes(metric, GAUGE), 1); /* one: the other has no value */
    assert_true(otlp_f64(otlp_number(point, 4)) == 2.5);
    weir_metric_callback(told, WEIR_METRIC_LABELS(WEIR_SLICE("a")), NULL, NULL);
    weir_metric_callback(told, WEIR_METRIC_LABELS(WEIR_SLICE("b")), NULL, NULL);
    weir_buf_dispose(&p.all);
}

static void test_histograms(void **state)
{
    (void)state;
    static const uint64_t buckets[] = {500, 1000000};
    struct weir_metric_family *f = weir_metric_declare(&(struct weir_metric_def){
        .name = "t_wait_seconds",
        .help = "",
        .type = WEIR_METRIC_HISTOGRAM,
        .decimals = 6,
        .labels = {"of"},
        .buckets = buckets,
        .n_buckets = 2,
    });
    struct weir_metric_histogram h = weir_metric_histogram(f, WEIR_METRIC_LABELS(WEIR_SLICE("a")));
    weir_metric_observe(h, 500);
    weir_metric_observe(h, 501);
    weir_metric_observe(h, 600);
    weir_metric_observe(h, 3000000);
    struct pieces p = {0};
    write_all(&p, 1 << 20);
    struct weir_slice metric = find(&p, "t_wait_seconds");
    assert_true(weir_slice_eq_cstr(otlp_bytes(metric, 3), "s"));
    struct weir_slice data = otlp_bytes(metric, HISTOGRAM);
    assert_int_equal(otlp_number(data, 2), 2);
    struct weir_slice point = otlp_bytes(data, 1);
    assert_true(otlp_attr_is(point, HIST_ATTR, "of", "a"));
    assert_int_equal(otlp_number(point, 2), START_NS);
    assert_int_equal(otlp_number(point, 3), NOW_NS);
    assert_int_equal(otlp_number(point, 4), 4);
    assert_true(fabs(otlp_f64(otlp_number(point, 5)) - 3.001601) < 1e-9);
    struct weir_slice counts = otlp_bytes(point, 6);
    struct weir_slice bounds = otlp_bytes(point, 7);
    assert_int_equal(counts.n, 24);
    assert_int_equal(bounds.n, 16);
    assert_int_equal(otlp_u64(otlp_take(&counts, 8)), 1);
    assert_int_equal(otlp_u64(otlp_take(&counts, 8)), 2);
    assert_int_equal(otlp_u64(otlp_take(&counts, 8)), 1);
    assert_true(otlp_f64(otlp_u64(otlp_take(&bounds, 8))) == 0.0005);
    assert_true(otlp_f64(otlp_u64(otlp_take(&bounds, 8))) == 1.0);
    weir_buf_dispose(&p.all);
}

static void test_pieces_are_all_of_it(void **state)
{
    (void)state;
    struct pieces whole = {0};
    struct pieces cut = {0};
    write_all(&whole, 1 << 20);
    write_all(&cut, 1);
    assert_int_equal(whole.n, 1);
    assert_true(cut.n > 1);
    assert_int_equal(whole.all.n, cut.all.n);
    assert_memory_equal(whole.all.p, cut.all.p, cut.all.n);
    weir_buf_dispose(&whole.all);
    weir_buf_dispose(&cut.all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_names_of_a_convention),
        cmocka_unit_test(test_gauges),
        cmocka_unit_test(test_histograms),
        cmocka_unit_test(test_pieces_are_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
