/* The engine's interface: flow, bounds, verbatim bytes, re-entry. What it does with chunks is in
 * the vectors, what it promises in batch_property_test.c. */
#include "base/err.h"
#include "emit/batch.h"
#include "unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT(word) "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" word "\"}}]}"

enum { KEPT = 64 };

struct sink {
    struct weir_batch *batch;
    char *data[KEPT];
    const char *given[KEPT]; /* where the bytes were */
    enum weir_batch_reason why[KEPT];
    uint64_t at_ms[KEPT];
    char sse_id[KEPT][8];
    size_t n;
    size_t block_at; /* says blocked when that many have come */
};

static void on_emit(void *ctx, enum weir_batch_reason why, const struct weir_event *e)
{
    struct sink *s = ctx;
    assert_true(s->n < KEPT);
    s->data[s->n] = strndup(e->data.p != NULL ? e->data.p : "", e->data.n);
    s->given[s->n] = e->data.p;
    s->why[s->n] = why;
    s->at_ms[s->n] = e->at_ms;
    snprintf(s->sse_id[s->n], sizeof s->sse_id[0], "%.*s", (int)e->sse_id.n,
             e->sse_id.p != NULL ? e->sse_id.p : "");
    s->n++;
    if (s->n == s->block_at) {
        weir_batch_blocked(s->batch, e->at_ms, true);
    }
}

static struct weir_batch_options options(enum weir_batch_stage stage)
{
    struct weir_batch_options o = weir_batch_defaults(stage);
    o.mode = WEIR_BATCH_ON;
    o.role_policy = WEIR_BATCH_ROLE_FIRST;
    o.first_emit_immediate = false;
    return o;
}

static struct weir_batch *open_batch(struct sink *s, const struct weir_batch_options *o)
{
    *s = (struct sink){.batch = weir_batch_new(o, on_emit, s)};
    return s->batch;
}

static void close_batch(struct sink *s)
{
    weir_batch_free(s->batch);
    for (size_t i = 0; i < s->n; i++) {
        free(s->data[i]);
    }
}

static enum weir_flow push(struct weir_batch *b, uint64_t now_ms, const char *data)
{
    struct weir_event e = {.data = weir_slice_cstr(data)};
    return weir_batch_push(b, now_ms, &e);
}

static void one_chunk_alone_leaves_as_the_bytes_it_came_in(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_ADAPTER);
    struct sink s;
    o.max_latency_ms = 0;
    struct weir_batch *b = open_batch(&s, &o);
    static const char odd[] =
        " {\"choices\" : [ {\"delta\":{\"content\":\"\\u0061\"}, \"x\":1e0} ]}";
    (void)push(b, 0, odd);
    (void)push(b, 1, "{\"choices\":[],\"usage\":{}}");
    assert_ptr_equal(s.given[0], odd);
    assert_int_equal(s.n, 2);
    close_batch(&s);
}

static void one_held_chunk_leaves_with_its_spelling(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_ADAPTER);
    struct sink s;
    struct weir_batch *b = open_batch(&s, &o);
    static const char odd[] =
        " {\"choices\" : [ {\"delta\":{\"content\":\"\\u0061\"}, \"x\":1e0} ]}";
    (void)push(b, 0, odd);
    assert_int_equal(s.n, 0);
    assert_true(weir_batch_buffered_bytes(b) >= sizeof odd - 1);
    weir_batch_end(b, 5, WEIR_EVENT_DONE);
    assert_string_equal(s.data[0], odd);
    assert_int_equal(weir_batch_buffered_bytes(b), 0);
    close_batch(&s);
}

static void deadlines_are_told_and_kept(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_ADAPTER);
    struct sink s;
    uint64_t at;
    o.idle_flush_ms = 30;
    struct weir_batch *b = open_batch(&s, &o);
    assert_false(weir_batch_next_deadline(b, &at));
    (void)push(b, 100, TEXT("a"));
    assert_true(weir_batch_next_deadline(b, &at));
    assert_int_equal(at, 130);
    (void)push(b, 120, TEXT("b"));
    assert_true(weir_batch_next_deadline(b, &at));
    assert_int_equal(at, 150);
    weir_batch_tick(b, 149);
    assert_int_equal(s.n, 0);
    weir_batch_tick(b, 170); /* late, but stamped with the deadline */
    assert_int_equal(s.n, 1);
    assert_int_equal(s.at_ms[0], 150);
    assert_int_equal(s.why[0], WEIR_BATCH_IDLE);
    assert_false(weir_batch_next_deadline(b, &at));
    close_batch(&s);
}

static void a_blocked_engine_asks_for_no_timer(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_ADAPTER);
    struct sink s;
    uint64_t at;
    struct weir_batch *b = open_batch(&s, &o);
    (void)push(b, 0, TEXT("a"));
    weir_batch_blocked(b, 10, true);
    assert_false(weir_batch_next_deadline(b, &at));
    weir_batch_blocked(b, 20, false);
    assert_true(weir_batch_next_deadline(b, &at));
    assert_int_equal(at, 250);
    assert_int_equal(weir_batch_stats(b)->blocked_ms.sum, 10);
    close_batch(&s);
}

static void a_full_engine_says_so_until_half_is_gone(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_ADAPTER);
    struct sink s;
    o.max_stream_buffer_bytes = 2000;
    struct weir_batch *b = open_batch(&s, &o);
    weir_batch_blocked(b, 0, true);
    size_t n = 0;
    while (push(b, 1, "{\"choices\":[{\"index\":0,\"delta\":{\"audio\":{}}}]}") == WEIR_FLOW_OK) {
        assert_true(++n < 100);
    }
    assert_true(n > 5 && weir_batch_is_full(b));
    assert_in_range(weir_batch_buffered_bytes(b), 2000, 2400);
    s.block_at = s.n + 1;
    weir_batch_blocked(b, 2, false); /* takes one, then is blocked again */
    assert_int_equal(s.n, 1);
    assert_true(weir_batch_is_full(b)); /* more than half is left */
    s.block_at = 0;
    weir_batch_blocked(b, 3, false);
    assert_int_equal(s.n, n + 1);
    assert_false(weir_batch_is_full(b));
    close_batch(&s);
}

static void text_of_a_slow_client_is_bounded_by_the_same_ceiling(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_ADAPTER);
    struct sink s;
    o.max_stream_buffer_bytes = 4000;
    struct weir_batch *b = open_batch(&s, &o);
    weir_batch_blocked(b, 0, true);
    size_t n = 0;
    while (push(b, n, TEXT("0123456789")) == WEIR_FLOW_OK) {
        n++;
    }
    assert_in_range(n, 350, 400); /* only the text is kept, not the chunks */
    weir_batch_blocked(b, n, false);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.why[0], WEIR_BATCH_BACKPRESSURE);
    close_batch(&s);
}

static void blocking_from_inside_keeps_the_rest(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_ADAPTER);
    struct sink s;
    struct weir_batch *b = open_batch(&s, &o);
    s.block_at = 1;
    (void)push(b, 0,
               "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}},"
               "{\"index\":1,\"delta\":{\"content\":\"b\"}}]}");
    weir_batch_end(b, 5, WEIR_EVENT_DONE);
    assert_int_equal(s.n, 1);
    weir_batch_blocked(b, 9, false);
    assert_int_equal(s.n, 3);
    assert_non_null(strstr(s.data[1], "\"b\""));
    assert_int_equal(s.at_ms[1], 9);
    close_batch(&s);
}

static void choices_beyond_the_limit_pass(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_ADAPTER);
    struct sink s;
    o.max_choices = 2;
    struct weir_batch *b = open_batch(&s, &o);
    (void)push(b, 0, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}");
    (void)push(b, 0, "{\"choices\":[{\"index\":5,\"delta\":{\"content\":\"b\"}}]}");
    static const char third[] = "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"c\"}}]}";
    (void)push(b, 0, third);
    assert_int_equal(s.n, 3); /* both before it, then itself */
    assert_ptr_equal(s.given[2], third);
    close_batch(&s);
}

static void push_call(struct weir_batch *b, unsigned index, unsigned id, const char *args)
{
    char data[256];
    char head[64] = "";
    if (id != 0) {
        snprintf(head, sizeof head, "\"id\":\"c%u\",", id);
    }
    snprintf(data, sizeof data,
             "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":%u,%s\"function\":{"
             "\"name\":\"f\",\"arguments\":\"%s\"}}]}}]}",
             index, head, args);
    (void)push(b, 0, data);
}

static void calls_beyond_the_limit_open_the_gate(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_BUSINESS);
    struct sink s;
    o.max_tool_calls = 2;
    struct weir_batch *b = open_batch(&s, &o);
    push_call(b, 0, 1, "{");
    push_call(b, 1, 2, "{");
    assert_int_equal(s.n, 0);
    push_call(b, 2, 3, "{");
    assert_int_equal(s.n, 2);
    assert_int_equal(s.why[0], WEIR_BATCH_TOOL_LIMIT);
    assert_int_equal(s.why[1], WEIR_BATCH_PASSTHROUGH);
    push_call(b, 0, 0, "}");
    assert_int_equal(s.n, 3);
    assert_int_equal(weir_batch_buffered_bytes(b), 0);
    close_batch(&s);
}

static void what_calls_leave_behind_is_bounded(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_BUSINESS);
    struct sink s;
    o.max_tool_args_bytes = 20;
    struct weir_batch *b = open_batch(&s, &o);
    push_call(b, 0, 1, "{\\\"a\\\":11111}"); /* fits: a repetition is known */
    push_call(b, 0, 1, "{\\\"a\\\":11111}");
    push_call(b, 1, 2, "{\\\"a\\\":22222}"); /* does not any more: it is not */
    push_call(b, 1, 2, "{\\\"a\\\":22222}");
    assert_int_equal(s.n, 3);
    assert_int_equal(weir_batch_stats(b)->live.tool_dup_dropped, 1);
    close_batch(&s);
}

static void obfuscation_fills_up_to_a_multiple(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_ADAPTER);
    o.obfuscation = WEIR_BATCH_OBFUSCATION_REGENERATE;
    static const char *const words[] = {"a", "bb", "ccc", "dddd", "eeeee"};
    for (size_t i = 0; i < 5; i++) {
        struct sink s;
        struct weir_batch *b = open_batch(&s, &o);
        char data[128];
        snprintf(data, sizeof data,
                 "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}],\"obfuscation\":"
                 "\"q\"}",
                 words[i]);
        (void)push(b, 0, data);
        (void)push(b, 0, data);
        weir_batch_end(b, 1, WEIR_EVENT_DONE);
        assert_int_equal(strlen(s.data[0]) % 32, 0);
        assert_non_null(strstr(s.data[0], "\"obfuscation\":\""));
        struct weir_arena arena = {0};
        struct weir_json j;
        assert_int_equal(weir_json_parse(&j, weir_slice_cstr(s.data[0]), NULL, &arena, NULL), 0);
        weir_arena_dispose(&arena);
        close_batch(&s);
    }
}

static void the_sse_id_of_the_last_input_stays(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_ADAPTER);
    struct sink s;
    struct weir_batch *b = open_batch(&s, &o);
    struct weir_event e = {.data = weir_slice_cstr(TEXT("a")), .sse_id = WEIR_SLICE("1")};
    (void)weir_batch_push(b, 0, &e);
    e.sse_id = WEIR_SLICE("2");
    (void)weir_batch_push(b, 1, &e);
    weir_batch_end(b, 2, WEIR_EVENT_EOF);
    assert_string_equal(s.sse_id[0], "2");
    assert_int_equal(s.n, 2);
    close_batch(&s);
}

static void time_to_first_text_is_what_was_added(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_ADAPTER);
    struct sink s;
    struct weir_batch *b = open_batch(&s, &o);
    (void)push(b, 10, "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}");
    assert_false(weir_batch_stats(b)->has_ttft);
    (void)push(b, 100, TEXT("a"));
    weir_batch_tick(b, 1000);
    assert_true(weir_batch_stats(b)->has_ttft);
    assert_int_equal(weir_batch_stats(b)->added_ttft_ms, 250);
    assert_int_equal(weir_batch_stats(b)->live.hold_ms.sum, 250);
    close_batch(&s);
}

static void bad_options_are_named(void **state)
{
    (void)state;
    const char *why;
    struct weir_batch_options o = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    assert_int_equal(weir_batch_check(&o, &why), 0);
    o.min_chars_per_emit = 0;
    assert_int_equal(weir_batch_check(&o, &why), WEIR_EINVAL);
    assert_string_equal(why, "min_chars_per_emit must be from 1 to 65536");
    o = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    o.idle_flush_ms = 251;
    assert_int_equal(weir_batch_check(&o, &why), WEIR_EINVAL);
    o = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    o.ramp_factor = 1;
    assert_int_equal(weir_batch_check(&o, &why), WEIR_EINVAL);
    o = weir_batch_defaults(WEIR_BATCH_BUSINESS);
    assert_int_equal(weir_batch_check(&o, &why), 0);
    o.max_latency_ms = 10001;
    assert_int_equal(weir_batch_check(&o, &why), WEIR_EINVAL);
    assert_string_equal(why, "max_hold_ms must be from 0 to 10000");
}

/* Calls that the gate holds fill the engine: nothing would come that could let them go, because
 * nothing is read any more. They leave as they are, and reading goes on. */
static void a_gate_does_not_stall_its_stream(void **state)
{
    (void)state;
    struct weir_batch_options o = options(WEIR_BATCH_BUSINESS);
    struct sink s;
    o.tool_call_gate = WEIR_BATCH_GATE_FINISH;
    o.max_stream_buffer_bytes = 4096;
    struct weir_batch *b = open_batch(&s, &o);
    char chunk[512];
    size_t n_sent = 0;
    for (unsigned i = 0; i < 60; i++) {
        snprintf(
            chunk, sizeof chunk,
            "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":%u,\"id\":\"i%u\","
            "\"function\":{\"name\":\"f\",\"arguments\":\"[%0200u]\"}}]}}]}",
            i / 20, i / 20, i);
        assert_int_equal(push(b, i, chunk), WEIR_FLOW_OK);
        n_sent += 202;
    }
    assert_true(s.n > 0 && weir_batch_buffered_bytes(b) < 4096);
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.why[i], WEIR_BATCH_TOOL_LIMIT);
    }
    weir_batch_end(b, 99, WEIR_EVENT_DONE);
    size_t n_left = 0;
    for (size_t i = 0; i < s.n; i++) {
        for (const char *c = s.data[i]; (c = strchr(c, '[')) != NULL; c++) {
            n_left += c[1] >= '0' && c[1] <= '9';
        }
    }
    assert_int_equal(n_left * 202, n_sent); /* every fragment once */
    close_batch(&s);

    /* A caller who does not read is another matter: then the stream waits for the caller. */
    b = open_batch(&s, &o);
    weir_batch_blocked(b, 0, true);
    enum weir_flow flow = WEIR_FLOW_OK;
    for (unsigned i = 0; i < 60 && flow == WEIR_FLOW_OK; i++) {
        flow = push(b, i, chunk);
    }
    assert_int_equal(flow, WEIR_FLOW_FULL);
    assert_int_equal(s.n, 0);
    weir_batch_blocked(b, 99, false);
    assert_false(weir_batch_is_full(b));
    close_batch(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_chunk_alone_leaves_as_the_bytes_it_came_in),
        cmocka_unit_test(one_held_chunk_leaves_with_its_spelling),
        cmocka_unit_test(deadlines_are_told_and_kept),
        cmocka_unit_test(a_blocked_engine_asks_for_no_timer),
        cmocka_unit_test(a_full_engine_says_so_until_half_is_gone),
        cmocka_unit_test(text_of_a_slow_client_is_bounded_by_the_same_ceiling),
        cmocka_unit_test(blocking_from_inside_keeps_the_rest),
        cmocka_unit_test(choices_beyond_the_limit_pass),
        cmocka_unit_test(calls_beyond_the_limit_open_the_gate),
        cmocka_unit_test(what_calls_leave_behind_is_bounded),
        cmocka_unit_test(obfuscation_fills_up_to_a_multiple),
        cmocka_unit_test(the_sse_id_of_the_last_input_stays),
        cmocka_unit_test(time_to_first_text_is_what_was_added),
        cmocka_unit_test(bad_options_are_named),
        cmocka_unit_test(a_gate_does_not_stall_its_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
