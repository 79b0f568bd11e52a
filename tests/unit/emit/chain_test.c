#include "base/err.h"
#include "emit/chain.h"
#include "unit/cmocka_all.h"
#include "vectors/batching_counters.h"

#define TEXT(word) "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" word "\"}}]}"

struct sink {
    size_t n_chunks;
    size_t n_ends;
    const char *last;
    uint64_t at_ms;
};

static void on_emit(void *ctx, enum weir_batch_reason why, const struct weir_event *e)
{
    struct sink *s = ctx;
    (void)why;
    s->n_chunks += e->kind == WEIR_EVENT_CHUNK;
    s->n_ends += weir_event_is_end(e);
    s->last = e->data.p;
    s->at_ms = e->at_ms;
}

static struct weir_chain_options options(enum weir_batch_mode adapter,
                                         enum weir_batch_mode business)
{
    struct weir_chain_options o = {
        .adapter = weir_batch_defaults(WEIR_BATCH_ADAPTER),
        .business = weir_batch_defaults(WEIR_BATCH_BUSINESS),
        .dedup = weir_dedup_defaults(),
    };
    o.adapter.mode = adapter;
    o.business.mode = business;
    return o;
}

static void push(struct weir_chain *c, uint64_t now_ms, const char *data)
{
    struct weir_event e = {.data = weir_slice_cstr(data)};
    weir_chain_push(c, now_ms, &e);
}

static void stages_that_are_off_touch_nothing(void **state)
{
    (void)state;
    struct weir_chain_options o = options(WEIR_BATCH_OFF, WEIR_BATCH_OFF);
    struct sink s = {0};
    uint64_t n;
    struct weir_chain *c = weir_chain_new(&o, on_emit, &s);
    static const char data[] = "anything at all";
    push(c, 7, data);
    assert_ptr_equal(s.last, data);
    assert_int_equal(s.at_ms, 7);
    weir_chain_blocked(c, 8, true);
    push(c, 9, data);
    assert_int_equal(s.n_chunks, 2);
    assert_false(weir_chain_next_deadline(c, &n));
    assert_int_equal(batching_counter(c, WEIR_SLICE("adapter.flush.passthrough"), &n), 0);
    assert_int_equal(n, 2);
    assert_null(weir_chain_stats(c, WEIR_BATCH_ADAPTER));
    assert_int_equal(weir_chain_counts(c).raw_bytes, 2 * (sizeof data - 1));
    weir_chain_free(c);
}

/* Every counter that vectors may ask for has an answer, whichever stages are on. */
static void counters_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"chunk_count.raw",
                                        "chunk_count.adapter",
                                        "chunk_count.business",
                                        "adapter.flush.size",
                                        "business.flush.tool_complete",
                                        "adapter.would.chunks",
                                        "business.would.chunks",
                                        "adapter.would.flush.first",
                                        "business.would.flush.boundary",
                                        "adapter.absorbed_empty",
                                        "adapter.discarded_chars",
                                        "adapter.post_finish_deltas",
                                        "business.tool_abort_dropped",
                                        "business.tool_incomplete_attempts",
                                        "business.tool_incomplete_dropped",
                                        "business.tool_incomplete_released",
                                        "business.tool_post_close",
                                        "business.dedup_dropped.tool_id",
                                        "business.would.tool_incomplete_attempts",
                                        "ingress.dedup_candidates",
                                        "ingress.dup_text_seen",
                                        "ingress.dedup_dropped.sse_id",
                                        "ingress.dedup_dropped.progress",
                                        "ingress.dedup_dropped.text"};
    static const char *const wrong[] = {"",          "chunk_count",     "chunk_count.x",
                                        "adapter",   "adapter.",        "adapter.flush.x",
                                        "ingress.x", "other.flush.size"};
    for (int on = 0; on < 2; on++) {
        enum weir_batch_mode mode = on != 0 ? WEIR_BATCH_ON : WEIR_BATCH_OFF;
        struct weir_chain_options o = options(mode, mode);
        struct sink s = {0};
        struct weir_chain *c = weir_chain_new(&o, on_emit, &s);
        uint64_t n = 7;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            assert_int_equal(batching_counter(c, weir_slice_cstr(names[i]), &n), 0);
            assert_int_equal(n, 0);
        }
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            assert_int_equal(batching_counter(c, weir_slice_cstr(wrong[i]), &n), WEIR_ENOTFOUND);
        }
        weir_chain_free(c);
    }
}

static void one_timer_serves_both_stages(void **state)
{
    (void)state;
    struct weir_chain_options o = options(WEIR_BATCH_ON, WEIR_BATCH_ON);
    struct sink s = {0};
    uint64_t at;
    o.adapter.first_emit_immediate = o.business.first_emit_immediate = false;
    struct weir_chain *c = weir_chain_new(&o, on_emit, &s);
    push(c, 0, TEXT("a"));
    assert_true(weir_chain_next_deadline(c, &at));
    assert_int_equal(at, 250); /* the adapter's */
    weir_chain_tick(c, at);
    push(c, 300, TEXT("b"));
    assert_true(weir_chain_next_deadline(c, &at));
    assert_int_equal(at, 550);
    weir_chain_tick(c, at);
    assert_true(weir_chain_next_deadline(c, &at));
    assert_int_equal(at, 650); /* the business stage's, for what came there at 250 */
    weir_chain_tick(c, at);
    assert_int_equal(s.n_chunks, 1);
    assert_false(weir_chain_next_deadline(c, &at));
    weir_chain_free(c);
}

static void a_full_stage_fills_the_chain(void **state)
{
    (void)state;
    struct weir_chain_options o = options(WEIR_BATCH_ON, WEIR_BATCH_ON);
    struct sink s = {0};
    o.business.max_stream_buffer_bytes = 1000;
    struct weir_chain *c = weir_chain_new(&o, on_emit, &s);
    weir_chain_blocked(c, 0, true);
    struct weir_event e = {.data = weir_slice_cstr("{\"choices\":[],\"usage\":{}}")};
    for (int i = 0; i < 100 && !weir_chain_is_full(c); i++) {
        weir_chain_push(c, 1, &e);
    }
    assert_true(weir_chain_is_full(c));
    weir_chain_blocked(c, 2, false);
    assert_false(weir_chain_is_full(c));
    assert_int_equal(weir_chain_buffered_bytes(c), 0);
    assert_true(s.n_chunks > 3);
    weir_chain_free(c);
}

static void the_report_says_what_happened(void **state)
{
    (void)state;
    struct weir_chain_options o = options(WEIR_BATCH_ON, WEIR_BATCH_OFF);
    struct weir_chain_report report;
    struct weir_buf flushes = {0};
    struct sink s = {0};
    struct weir_chain *c = weir_chain_new(&o, on_emit, &s);
    weir_chain_report(c, &report, &flushes);
    assert_int_equal(flushes.n, 0);
    assert_true(report.raw_per_chunk == 0.0);
    push(c, 0, TEXT("a"));
    push(c, 10, TEXT("bc"));
    push(c, 20, TEXT("d."));
    push(c, 30, TEXT("ef"));
    push(c, 31, "{\"choices\":[],\"usage\":{}}");
    weir_chain_report(c, &report, &flushes);
    assert_string_equal(weir_buf_cstr(&flushes), " adapter.first=1 adapter.sentence=1 "
                                                 "adapter.usage=1 adapter.passthrough=1");
    assert_int_equal(report.taps.business_chunks, 4);
    assert_true(report.raw_per_chunk == 1.25);
    assert_true(report.raw_per_adapter * report.adapter_per_business == 1.25);
    assert_true(report.avg_flush_chars * 3 == 7.0);
    assert_int_equal(report.hold_p50_ms, 5);
    assert_int_equal(report.hold_p99_ms, 10);
    weir_buf_dispose(&flushes);
    weir_chain_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_that_are_off_touch_nothing),
        cmocka_unit_test(counters_have_names),
        cmocka_unit_test(one_timer_serves_both_stages),
        cmocka_unit_test(a_full_stage_fills_the_chain),
        cmocka_unit_test(the_report_says_what_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
