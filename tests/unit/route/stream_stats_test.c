#include "unit/route/outlet.h"

#include "obs/metric.h"

/* The value of a series as /metrics shows it, or -1. */
static double metric(const char *series)
{
    struct weir_buf out = {0};
    char line[256];
    assert_int_equal(weir_metric_render(&out), 0);
    (void)snprintf(line, sizeof line, "\n%s ", series);
    const char *at = strstr(weir_buf_cstr(&out), line);
    double value = at != NULL ? strtod(at + strlen(line), NULL) : -1;
    weir_buf_dispose(&out);
    return value;
}

/* Series are the process's: what a stream added is the difference. */
struct watched {
    const char *series;
    double by;
    double before;
};

static void watch(struct watched *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double now = metric(w[i].series);
        w[i].before = now < 0 ? 0 : now;
    }
}

static void expect_grown(const struct watched *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double grown = metric(w[i].series) - w[i].before;
        if (grown != w[i].by) {
            fail_msg("%s grew by %g, not by %g", w[i].series, grown, w[i].by);
        }
    }
}

static void logged(const char *part)
{
    if (strstr(outlet_log, part) == NULL) {
        fail_msg("no `%s` in: %s", part, outlet_log);
    }
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void say_hello(struct outlet *t)
{
    outlet_event(t, TEXT("Hi"));
    outlet_event(t, TEXT(" th"));
    outlet_event(t, TEXT("ere."));
    outlet_event(t, "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},"
                    "\"finish_reason\":\"stop\"}]}");
    outlet_end(t);
}

static void what_left_is_counted_at_every_tap(void **state)
{
    (void)state;
    struct watched w[] = {
        {"stream_chunks_total{tap=\"raw\",model=\"m\",route=\"api\"}", 4, 0},
        {"stream_chunks_total{tap=\"adapter\",model=\"m\",route=\"api\"}", 3, 0},
        {"stream_chunks_total{tap=\"business\",model=\"m\",route=\"api\"}", 3, 0},
        {"stream_chars_total{tap=\"raw\"}", 9, 0},
        {"stream_chars_total{tap=\"adapter\"}", 9, 0},
        {"stream_chars_total{tap=\"business\"}", 9, 0},
        {"stream_chunk_chars_count{tap=\"raw\"}", 3, 0},
        {"stream_chunk_chars_count{tap=\"adapter\"}", 2, 0},
        {"stream_chunk_chars_count{tap=\"business\"}", 2, 0},
        {"stream_flushes_total{stage=\"adapter\",reason=\"first\"}", 1, 0},
        {"stream_flushes_total{stage=\"adapter\",reason=\"sentence\"}", 1, 0},
        {"stream_flushes_total{stage=\"adapter\",reason=\"passthrough\"}", 1, 0},
        {"stream_flushes_total{stage=\"business\",reason=\"first\"}", 0, 0},
        {"stream_flush_chars_sum{stage=\"adapter\"}", 9, 0},
        {"stream_flush_chars_count{stage=\"adapter\"}", 2, 0},
        {"stream_flush_hold_seconds_count{stage=\"adapter\"}", 2, 0},
        {"stream_added_ttft_seconds_count", 1, 0},
        {"stream_added_ttft_seconds_sum", 0, 0},
        {"stream_would_chunks_total{stage=\"adapter\",model=\"m\",route=\"api\"}", -1, 0},
    };
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on}}");
    watch(w, COUNT(w));
    say_hello(&t);
    expect_grown(w, COUNT(w));
    logged("end=done model=m route=api raw=4 adapter=3 business=3");
    logged("flushes=\"adapter.first=1 adapter.sentence=1 adapter.passthrough=1\"");
    logged("batching=on coalescer=off min_chars=120 max_latency_ms=200");
    outlet_close(&t);
}

static void off_counts_messages_and_bytes_only(void **state)
{
    (void)state;
    double n_bytes = sizeof TEXT("Hi") + sizeof TEXT(" th") + sizeof TEXT("ere.") - 3 +
                     sizeof "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},"
                            "\"finish_reason\":\"stop\"}]}" -
                     1;
    struct watched w[] = {
        {"stream_chunks_total{tap=\"raw\",model=\"m\",route=\"api\"}", 4, 0},
        {"stream_chunks_total{tap=\"business\",model=\"m\",route=\"api\"}", 4, 0},
        {"stream_bytes_total{tap=\"raw\"}", n_bytes, 0},
        {"stream_bytes_total{tap=\"business\"}", n_bytes, 0},
        {"stream_chars_total{tap=\"raw\"}", 0, 0},
        {"stream_added_ttft_seconds_count", 0, 0},
    };
    struct outlet t;
    outlet_sse(&t, "{}");
    watch(w, COUNT(w));
    say_hello(&t);
    expect_grown(w, COUNT(w));
    logged("raw=4 adapter=4 business=4 ratio=1");
    logged("batching=off coalescer=off");
    outlet_close(&t);
    /* Through a chain in which nothing looks at text they are the same bytes. */
    outlet_sse(&t, "{dedup: {mode: safe}}");
    watch(w, COUNT(w));
    say_hello(&t);
    expect_grown(w, COUNT(w));
    outlet_close(&t);
}

static void metrics_mode_counts_under_names_of_its_own(void **state)
{
    (void)state;
    struct watched w[] = {
        {"stream_chunks_total{tap=\"adapter\",model=\"m\",route=\"api\"}", 4, 0},
        {"stream_chunks_total{tap=\"business\",model=\"m\",route=\"api\"}", 4, 0},
        {"stream_chars_total{tap=\"raw\"}", 9, 0},
        {"stream_chars_total{tap=\"business\"}", 9, 0},
        {"stream_chunk_chars_count{tap=\"business\"}", 3, 0},
        {"stream_flushes_total{stage=\"adapter\",reason=\"first\"}", 0, 0},
        {"stream_flushes_total{stage=\"adapter\",reason=\"passthrough\"}", 4, 0},
        {"stream_flush_chars_sum{stage=\"adapter\"}", 0, 0},
        {"stream_would_flushes_total{stage=\"adapter\",reason=\"first\"}", 1, 0},
        {"stream_would_flushes_total{stage=\"adapter\",reason=\"sentence\"}", 1, 0},
        {"stream_would_flush_chars_sum{stage=\"adapter\"}", 9, 0},
        {"stream_would_flush_hold_seconds_count{stage=\"adapter\"}", 2, 0},
        {"stream_added_ttft_seconds_count", 0, 0},
    };
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: metrics}}");
    watch(w, COUNT(w));
    say_hello(&t);
    expect_grown(w, COUNT(w));
    double n = metric("stream_would_chunks_total{stage=\"adapter\",model=\"m\",route=\"api\"}");
    assert_true(n == 3);
    logged("raw=4 adapter=4 business=4 ratio=1 adapter_ratio=1 business_ratio=1 would_adapter=3 "
           "would_business=0");
    outlet_close(&t);
}

/* With two stages on, what both see is not counted twice. */
static void two_stages_count_once(void **state)
{
    (void)state;
    struct watched w[] = {
        {"stream_post_finish_deltas_total", 1, 0}, {"stream_opaque_chunks_total", 1, 0},
        {"stream_added_ttft_seconds_count", 1, 0}, {"stream_added_ttft_seconds_sum", 0.3, 0},
        {"stream_chars_total{tap=\"raw\"}", 5, 0}, {"stream_chars_total{tap=\"business\"}", 5, 0},
    };
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on, first_emit_immediate: false, max_latency_ms: 100},"
                   " coalescer: {mode: on, first_emit_immediate: false, max_hold_ms: 200,"
                   " hold_from: own}}");
    watch(w, COUNT(w));
    outlet_event(&t, TEXT("one"));
    fake_pass(t.f, 300);
    outlet_event(&t, "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},"
                     "\"finish_reason\":\"stop\"}]}");
    outlet_event(&t, TEXT("!?"));
    outlet_event(&t, "what");
    outlet_end(&t);
    expect_grown(w, COUNT(w));
    outlet_close(&t);
}

/* Text that passes with detections on it is text all the same. */
static void text_in_barriers_counts(void **state)
{
    (void)state;
    struct watched w[] = {
        {"stream_chars_total{tap=\"raw\"}", 6, 0},
        {"stream_chars_total{tap=\"adapter\"}", 6, 0},
        {"stream_chars_total{tap=\"business\"}", 6, 0},
        {"stream_added_ttft_seconds_count", 1, 0},
        {"stream_added_ttft_seconds_sum", 0, 0},
    };
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on}, coalescer: {mode: on}}");
    watch(w, COUNT(w));
    outlet_event(&t, "{\"id\":\"x\",\"detections\":{},\"choices\":["
                     "{\"index\":0,\"delta\":{\"content\":\"ab\"}},"
                     "{\"index\":1,\"delta\":{\"content\":\"cdef\"}}]}");
    outlet_end(&t);
    expect_grown(w, COUNT(w));
    outlet_close(&t);
}

static void tool_calls_are_counted_by_outcome(void **state)
{
    (void)state;
    struct watched w[] = {
        {"stream_tool_gate_total{outcome=\"complete\"}", 1, 0},
        {"stream_tool_gate_total{outcome=\"dropped_abort\"}", 1, 0},
        {"stream_dedup_total{rule=\"tool_id\",action=\"dropped\"}", 1, 0},
        {"stream_tool_incomplete_attempts_total", 2, 0},
        {"stream_tool_hold_seconds_count", 1, 0},
        {"stream_tool_hold_seconds_sum", 0.05, 0},
        {"stream_would_tool_incomplete_attempts_total", 0, 0},
    };
    struct outlet t;
    outlet_sse(&t, "{coalescer: {mode: on}}");
    watch(w, COUNT(w));
    outlet_event(&t, DELTA("\"role\":\"assistant\""));
    outlet_event(&t, DELTA(CALL("1", "{\\\"a\\\":")));
    fake_pass(t.f, 50);
    outlet_event(&t, DELTA(CALL("1", "1}")));
    outlet_event(&t, DELTA(CALL("1", "{\\\"a\\\":1}"))); /* delivered twice */
    outlet_event(&t, DELTA(CALL("2", "{")));
    outlet_fail(&t, 0);
    expect_grown(w, COUNT(w));
    logged("end=error");
    outlet_close(&t);
}

static void what_waits_is_on_the_gauge(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on}}");
    assert_true(metric("stream_buffered_bytes") == 0);
    outlet_event(&t, TEXT("a"));
    assert_true(metric("stream_buffered_bytes") == 0);
    outlet_event(&t, TEXT("b"));
    assert_true(metric("stream_buffered_bytes") == (double)weir_chain_buffered_bytes(t.o->chain));
    assert_true(metric("stream_buffered_bytes") > 0);
    fake_pass(t.f, 250);
    assert_true(metric("stream_buffered_bytes") == 0);
    outlet_event(&t, TEXT("c"));
    assert_true(metric("stream_buffered_bytes") > 0);
    weir_http__stream_gone(&t.f->stream, WEIR_ECLOSED);
    logged("end=gone");
    outlet_close(&t);
    assert_true(metric("stream_buffered_bytes") == 0);
}

static void blocked_times_are_seconds(void **state)
{
    (void)state;
    struct watched w[] = {
        {"stream_backpressure_seconds_count", 1, 0},
        {"stream_backpressure_seconds_bucket{le=\"0.4\"}", 1, 0},
        {"stream_backpressure_seconds_bucket{le=\"0.2\"}", 0, 0},
        {"stream_flushes_total{stage=\"adapter\",reason=\"backpressure\"}", 1, 0},
    };
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on}}");
    watch(w, COUNT(w));
    t.f->answers_full = true;
    outlet_event(&t, TEXT("a"));
    outlet_event(&t, TEXT("b."));
    fake_pass(t.f, 300);
    fake_drain(t.f);
    outlet_end(&t);
    expect_grown(w, COUNT(w));
    outlet_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_left_is_counted_at_every_tap),
        cmocka_unit_test(off_counts_messages_and_bytes_only),
        cmocka_unit_test(metrics_mode_counts_under_names_of_its_own),
        cmocka_unit_test(two_stages_count_once),
        cmocka_unit_test(text_in_barriers_counts),
        cmocka_unit_test(tool_calls_are_counted_by_outcome),
        cmocka_unit_test(what_waits_is_on_the_gauge),
        cmocka_unit_test(blocked_times_are_seconds),
    };
    return cmocka_run_group_tests(tests, outlet_setup, NULL);
}
