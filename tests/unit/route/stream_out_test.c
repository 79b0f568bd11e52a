#include "route/stream_trace.h"
#include "unit/route/outlet.h"

/* ---- without batching ---- */

static void events_leave_as_they_come(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, NULL);
    assert_int_equal(t.f->stream.status, 0);
    assert_int_equal(outlet_event(&t, TEXT("a")), WEIR_FLOW_OK);
    fake_expect(t.f, SSE(TEXT("a")));
    assert_int_equal(t.f->stream.status, 200);
    assert_int_equal(outlet_raw(&t, "data:x\r\n\r\n", "x", ""), WEIR_FLOW_OK);
    fake_expect(t.f, "data:x\r\n\r\n");
    outlet_end(&t);
    fake_expect(t.f, DONE);
    assert_true(t.f->has_ended);
    outlet_close(&t);
}

/* Nothing is done to it: the bytes are sent. */
static void what_is_framed_leaves_as_it_is(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, NULL);
    assert_int_equal(outlet_framed(&t, OUTLET_FRAMED(TEXT("a")), TEXT("a")), WEIR_FLOW_OK);
    fake_expect(t.f, OUTLET_FRAMED(TEXT("a")));
    assert_int_equal(t.f->stream.status, 200);
    t.f->answers_full = true;
    assert_int_equal(outlet_framed(&t, OUTLET_FRAMED(TEXT("b")), TEXT("b")), WEIR_FLOW_FULL);
    fake_expect(t.f, OUTLET_FRAMED(TEXT("b")));
    outlet_close(&t);
}

/* Where events are joined, are lines or have names, its framing is not what is sent. */
static void what_is_framed_is_framed_anew_where_it_must(void **state)
{
    (void)state;
    struct outlet t;
    outlet_open(&t, NULL, (struct weir_stream_out_options){.is_ndjson = true});
    outlet_framed(&t, OUTLET_FRAMED("{}"), "{}");
    fake_expect(t.f, "{}\n");
    outlet_close(&t);
    outlet_open(&t, NULL, (struct weir_stream_out_options){.dialect = &weir_stream_messages});
    outlet_framed(&t, OUTLET_FRAMED("{\"type\":\"ping\"}"), "{\"type\":\"ping\"}");
    fake_expect(t.f, "event: ping\ndata: {\"type\":\"ping\"}\n\n");
    outlet_close(&t);
    outlet_sse(&t, "{batching: {mode: on}}");
    outlet_framed(&t, OUTLET_FRAMED(TEXT("a")), TEXT("a"));
    outlet_framed(&t, OUTLET_FRAMED(TEXT("b")), TEXT("b"));
    outlet_framed(&t, OUTLET_FRAMED(TEXT("c")), TEXT("c"));
    outlet_end(&t);
    fake_expect(t.f, SSE(TEXT("a")) SSE(JOINED("bc")) DONE);
    outlet_close(&t);
}

static void lines_have_no_done(void **state)
{
    (void)state;
    struct outlet t;
    outlet_open(&t, NULL, (struct weir_stream_out_options){.is_ndjson = true});
    outlet_event(&t, "{}");
    outlet_end(&t);
    fake_expect(t.f, "{}\n");
    assert_true(t.f->has_ended);
    outlet_close(&t);
}

/* A stream without a single event is still a stream. */
static void nothing_is_an_answer(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on}}");
    outlet_end(&t);
    fake_expect(t.f, DONE);
    assert_int_equal(t.f->stream.status, 200);
    outlet_close(&t);
}

static void a_full_connection_holds_the_task(void **state)
{
    (void)state;
    /* Without a chain, and with one in which nothing can be held back. */
    static const char *const streaming[] = {NULL, "{}", "{batching: {mode: metrics}}",
                                            "{coalescer: {mode: metrics}}",
                                            "{dedup: {mode: safe}}"};
    for (size_t i = 0; i < 5; i++) {
        struct outlet t;
        outlet_sse(&t, streaming[i]);
        assert_int_equal(outlet_event(&t, TEXT("a")), WEIR_FLOW_OK);
        t.f->answers_full = true;
        assert_int_equal(outlet_event(&t, TEXT("b")), WEIR_FLOW_FULL);
        assert_int_equal(outlet_event(&t, TEXT("c")), WEIR_FLOW_FULL);
        fake_expect(t.f, SSE(TEXT("a")) SSE(TEXT("b")) SSE(TEXT("c")));
        assert_int_equal(t.n_resumed, 0);
        fake_drain(t.f);
        assert_int_equal(t.n_resumed, 1);
        assert_int_equal(outlet_event(&t, TEXT("d")), WEIR_FLOW_OK);
        outlet_end(&t);
        fake_expect(t.f, SSE(TEXT("d")) DONE);
        outlet_close(&t);
    }
}

/* ---- beside the answer ---- */

static void asides_pass_everything(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on}}");
    outlet_event(&t, TEXT("a"));
    outlet_event(&t, TEXT("b"));
    weir_stream_out_aside(t.o, WEIR_SLICE("note"), WEIR_SLICE("1"));
    fake_expect(t.f, SSE(TEXT("a")) "event: note\n" SSE("1"));
    t.f->answers_full = true;
    weir_stream_out_aside(t.o, WEIR_SLICE("note"), WEIR_SLICE("2"));
    weir_stream_out_aside(t.o, WEIR_SLICE("note"), WEIR_SLICE("3")); /* nobody takes it */
    fake_expect(t.f, "event: note\n" SSE("2"));
    fake_drain(t.f);
    outlet_end(&t);
    weir_stream_out_aside(t.o, WEIR_SLICE("note"), WEIR_SLICE("4"));
    fake_expect(t.f, SSE(TEXT("b")) DONE);
    outlet_close(&t);
}

static void steps_have_times_and_places(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, NULL);
    const struct weir_http_field ask = {WEIR_SLICE("x-weir-trace"), WEIR_SLICE("1")};
    t.f->fields[0] = ask;
    t.f->stream.req.n_fields = 1;
    assert_null(weir_stream_trace_open(&t.f->stream, t.o)); /* playground: false */
    t.f->conf.conf->playground = true;
    t.f->fields[0].value = WEIR_SLICE("0");
    assert_null(weir_stream_trace_open(&t.f->stream, t.o));
    t.f->fields[0] = ask;
    t.f->stream.started_ms = UINT64_MAX / 1000; /* later than now: no time has passed */
    const struct weir_task_trace *trace = weir_stream_trace_open(&t.f->stream, t.o);
    trace->note(trace, &(struct weir_task_step){.kind = WEIR_TASK_STEP_VERDICT,
                                                .choice = 2,
                                                .channel = WEIR_CHANNEL_REASONING,
                                                .start_cp = 3,
                                                .end_cp = 9,
                                                .detector = WEIR_SLICE("a\"b"),
                                                .took_us = 1250});
    trace->note(trace, &(struct weir_task_step){.kind = WEIR_TASK_STEP_RAW, .end_cp = 1});
    fake_expect(
        t.f, "event: weir-trace\n" SSE(
                 "{\"t_ms\":0.0,\"kind\":\"verdict\",\"choice\":2,"
                 "\"channel\":\"reasoning\",\"detector\":\"a\\\"b\","
                 "\"start\":3,\"end\":9,\"ms\":1.25}") "event: weir-trace\n" SSE("{\"t_ms\":0.0,"
                                                                                 "\"kind\":\"raw\","
                                                                                 "\"choice\":0,"
                                                                                 "\"start\":0,"
                                                                                 "\"end\":1}"));
    outlet_end(&t);
    outlet_close(&t);
}

/* ---- what batching leaves alone ---- */

#define ODD_BYTES "id: 7\r\n: hm\r\ndata:" TEXT("a") "\r\n\r\n"

static void untouched_events_keep_their_bytes(void **state)
{
    (void)state;
    static const char *const streaming[] = {
        "{}", "{batching: {mode: metrics}, coalescer: {mode: metrics}, dedup: {mode: metrics}}",
        "{dedup: {mode: safe}}", "{batching: {mode: on}, coalescer: {mode: on}}"};
    for (size_t i = 0; i < 4; i++) {
        struct outlet t;
        outlet_sse(&t, streaming[i]);
        outlet_raw(&t, ODD_BYTES, TEXT("a"), "7");
        fake_expect(t.f, ODD_BYTES);
        outlet_close(&t);
    }
}

static void merged_events_keep_the_last_id(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on}}");
    outlet_raw(&t, "id: 1\n" SSE(TEXT("a")), TEXT("a"), "1");
    outlet_raw(&t, "id: 2\n" SSE(TEXT("b")), TEXT("b"), "2");
    outlet_raw(&t, "id: 3\n" SSE(TEXT("c")), TEXT("c"), "3");
    outlet_end(&t);
    fake_expect(t.f, "id: 1\n" SSE(TEXT("a")) "id: 3\n" SSE(JOINED("bc")) DONE);
    outlet_close(&t);
}

/* ---- the timer ---- */

static void text_leaves_at_its_deadline(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on, max_latency_ms: 250}}");
    outlet_event(&t, TEXT("first"));
    fake_expect(t.f, SSE(TEXT("first")));
    fake_pass(t.f, 100);
    outlet_event(&t, TEXT("a"));
    fake_pass(t.f, 100);
    outlet_event(&t, TEXT("b"));
    fake_pass(t.f, 149);
    fake_expect(t.f, "");
    assert_int_equal(t.f->loop.timers.n, 1);
    fake_pass(t.f, 1);
    fake_expect(t.f, SSE(JOINED("ab")));
    assert_int_equal(t.f->loop.timers.n, 0);
    outlet_end(&t);
    fake_expect(t.f, DONE);
    outlet_close(&t);
}

static void both_stages_share_the_timer(void **state)
{
    (void)state;
    struct outlet t;
    outlet_open(&t,
                "{batching: {mode: on, max_latency_ms: 100},"
                " coalescer: {mode: on, max_hold_ms: 300, first_emit_immediate: false}}",
                (struct weir_stream_out_options){.has_done = true, .heartbeat_ms = 15000});
    outlet_event(&t, TEXT("a")); /* leaves the adapter at once, waits 300 ms in the second stage */
    outlet_event(&t, TEXT("b")); /* leaves the adapter after 100 ms */
    fake_pass(t.f, 299);
    assert_int_equal(t.f->loop.timers.n, 1);
    fake_expect(t.f, "");
    fake_pass(t.f, 1);
    fake_expect(t.f, SSE(JOINED("ab")));
    outlet_close(&t);
}

static void silence_is_broken_by_a_comment(void **state)
{
    (void)state;
    static const char *const streaming[] = {NULL, "{batching: {mode: on, max_latency_ms: 250}}"};
    for (size_t i = 0; i < 2; i++) {
        struct outlet t;
        outlet_open(&t, streaming[i],
                    (struct weir_stream_out_options){.has_done = true, .heartbeat_ms = 15000});
        fake_pass(t.f, 14999);
        assert_int_equal(t.f->stream.status, 0);
        fake_pass(t.f, 1);
        assert_int_equal(t.f->stream.status, 200);
        fake_expect(t.f, ": keep-alive\n\n");
        fake_pass(t.f, 10000);
        outlet_event(&t, TEXT("a")); /* counts as a sign of life */
        fake_pass(t.f, 14999);
        fake_expect(t.f, SSE(TEXT("a")));
        fake_pass(t.f, 1 + 15000);
        fake_expect(t.f, ": keep-alive\n\n: keep-alive\n\n");
        assert_int_equal(t.f->loop.timers.n, 1);
        outlet_end(&t);
        fake_expect(t.f, DONE);
        assert_int_equal(t.f->loop.timers.n, 0);
        outlet_close(&t);
    }
}

/* Lines have no comments: the head alone tells that somebody is there. */
static void silence_in_lines_sends_the_head(void **state)
{
    (void)state;
    struct outlet t;
    outlet_open(&t, NULL,
                (struct weir_stream_out_options){.is_ndjson = true, .heartbeat_ms = 15000});
    fake_pass(t.f, 15000);
    assert_int_equal(t.f->stream.status, 200);
    fake_pass(t.f, 60000);
    fake_expect(t.f, "");
    outlet_close(&t);
}

static void comments_do_not_pile_up_on_a_blocked_caller(void **state)
{
    (void)state;
    static const char *const streaming[] = {NULL, "{batching: {mode: on}}"};
    for (size_t i = 0; i < 2; i++) {
        struct outlet t;
        outlet_open(&t, streaming[i],
                    (struct weir_stream_out_options){.has_done = true, .heartbeat_ms = 15000});
        t.f->answers_full = true;
        outlet_event(&t, TEXT("a"));
        fake_expect(t.f, SSE(TEXT("a")));
        fake_pass(t.f, 200000);
        fake_expect(t.f, "");
        fake_drain(t.f);
        fake_pass(t.f, 15000);
        fake_expect(t.f, ": keep-alive\n\n");
        outlet_close(&t);
    }
}

/* ---- errors ---- */

static void an_error_before_the_first_event_has_a_status(void **state)
{
    (void)state;
    static const char *const streaming[] = {
        NULL, "{batching: {mode: metrics}}",
        "{batching: {mode: on, first_emit_immediate: false}, coalescer: {mode: on}}"};
    for (size_t i = 0; i < 3; i++) {
        struct outlet t;
        outlet_open(&t, streaming[i],
                    (struct weir_stream_out_options){.has_done = true, .heartbeat_ms = 15000});
        outlet_fail(&t, 404);
        assert_int_equal(t.f->stream.status, 404);
        fake_expect(t.f, "{\"code\":404,\"details\":\"chat completion request failed for `m`: "
                         "no luck\"}");
        assert_true(t.f->has_ended);
        assert_int_equal(t.f->loop.timers.n, 0);
        outlet_close(&t);
    }
}

static void an_error_after_it_is_an_event(void **state)
{
    (void)state;
    static const char *const streaming[] = {NULL, "{batching: {mode: metrics}}",
                                            "{batching: {mode: on}}"};
    for (size_t i = 0; i < 3; i++) {
        struct outlet t;
        outlet_sse(&t, streaming[i]);
        outlet_event(&t, TEXT("a"));
        outlet_fail(&t, 0);
        fake_expect(t.f, SSE(TEXT("a")) ERROR_EVENT DONE);
        assert_true(t.f->has_ended);
        outlet_close(&t);
    }
}

static void a_heartbeat_is_a_beginning(void **state)
{
    (void)state;
    struct outlet t;
    outlet_open(&t, NULL,
                (struct weir_stream_out_options){.has_done = true, .heartbeat_ms = 15000});
    fake_pass(t.f, 15000);
    outlet_fail(&t, 0);
    fake_expect(t.f, ": keep-alive\n\n" ERROR_EVENT DONE);
    outlet_close(&t);
}

static void the_public_programs_errors_are_events(void **state)
{
    (void)state;
    struct outlet t;
    outlet_open(&t, NULL, (struct weir_stream_out_options){.has_done = true, .is_fms = true});
    outlet_fail(&t, 0);
    assert_int_equal(t.f->stream.status, 200);
    fake_expect(t.f,
                "event: error\ndata: {\"code\":500,\"details\":\"" SILENT_ERROR "\"}\n\n" DONE);
    outlet_close(&t);
}

/* Text that waits is shown before the error, so there is a stream, and the error is in it. */
static void waiting_text_leaves_before_the_error(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on, first_emit_immediate: false}}");
    outlet_event(&t, TEXT("a"));
    fake_expect(t.f, "");
    outlet_fail(&t, 404);
    assert_int_equal(t.f->stream.status, 200);
    assert_memory_equal(t.f->sent.p, SSE(TEXT("a")) "event: error\n",
                        sizeof(SSE(TEXT("a")) "event: error\n") - 1);
    outlet_close(&t);
}

/* A call that waits is dropped: nothing was shown, so the error has its status. */
static void a_dropped_call_is_no_beginning(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{coalescer: {mode: on}}");
    outlet_event(&t, DELTA(CALL("1", "{")));
    assert_int_not_equal(weir_chain_buffered_bytes(t.o->chain), 0);
    outlet_fail(&t, 503);
    assert_int_equal(t.f->stream.status, 503);
    outlet_close(&t);
    outlet_sse(&t, "{coalescer: {mode: on, tool_gate_on_abort: release}}");
    outlet_event(&t, DELTA(CALL("1", "{")));
    outlet_fail(&t, 0);
    assert_int_equal(t.f->stream.status, 200);
    fake_expect(t.f, SSE(MERGED(CALL("1", "{"))) ERROR_EVENT DONE);
    outlet_close(&t);
}

/* ---- a slow caller ---- */

static void text_merges_while_blocked(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on, max_latency_ms: 250}}");
    t.f->answers_full = true;
    outlet_event(&t, TEXT("first"));
    fake_expect(t.f, SSE(TEXT("first")));
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(outlet_event(&t, TEXT("a.")), WEIR_FLOW_OK);
        fake_pass(t.f, 100);
    }
    fake_expect(t.f, "");
    fake_drain(t.f);
    fake_expect(t.f, SSE(JOINED("a.a.a.a.a.a.a.a.a.a.")));
    assert_int_equal(t.n_resumed, 0); /* it was never held back */
    outlet_end(&t);
    fake_expect(t.f, DONE);
    outlet_close(&t);
}

static void the_end_waits_for_the_caller(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on}}");
    t.f->answers_full = true;
    outlet_event(&t, TEXT("first"));
    outlet_event(&t, TEXT("a"));
    outlet_event(&t, TEXT("b"));
    outlet_end(&t);
    fake_expect(t.f, SSE(TEXT("first")));
    assert_false(t.f->has_ended);
    fake_drain(t.f);
    fake_expect(t.f, SSE(JOINED("ab")) DONE);
    assert_true(t.f->has_ended);
    assert_int_equal(t.n_resumed, 0);
    outlet_close(&t);
}

static void the_error_waits_for_the_caller(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on}}");
    t.f->answers_full = true;
    outlet_event(&t, TEXT("first"));
    outlet_event(&t, TEXT("a"));
    outlet_fail(&t, 0);
    fake_expect(t.f, SSE(TEXT("first")));
    fake_drain(t.f);
    fake_expect(t.f, SSE(TEXT("a")) ERROR_EVENT DONE);
    assert_true(t.f->has_ended);
    outlet_close(&t);
}

/* Events that cannot be merged: each takes its place in the queue. */
#define BARRIER(n) "{\"id\":\"x\",\"detections\":{\"n\":" #n "},\"choices\":[]}"

static void a_connection_may_fill_up_again_while_draining(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{batching: {mode: on}}");
    t.f->answers_full = true;
    outlet_event(&t, BARRIER(0));
    outlet_event(&t, BARRIER(1));
    outlet_event(&t, BARRIER(2));
    outlet_end(&t);
    fake_expect(t.f, SSE(BARRIER(0)));
    t.f->answers_full = true;
    weir_http__stream_has_room(&t.f->stream); /* for one */
    fake_expect(t.f, SSE(BARRIER(1)));
    weir_http__stream_has_room(&t.f->stream);
    fake_expect(t.f, SSE(BARRIER(2)));
    assert_false(t.f->has_ended);
    weir_http__stream_has_room(&t.f->stream);
    fake_expect(t.f, DONE);
    assert_true(t.f->has_ended);
    outlet_close(&t);
}

static void a_full_chain_holds_the_task(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{max_stream_buffer_bytes: 4096, batching: {mode: on}}");
    t.f->answers_full = true;
    unsigned n = 0;
    while (outlet_event(&t, BARRIER(0)) == WEIR_FLOW_OK) {
        n++;
        assert_true(n < 4096 / sizeof BARRIER(0));
    }
    assert_true(weir_chain_is_full(t.o->chain));
    assert_true(weir_chain_buffered_bytes(t.o->chain) < 4096 + 512);
    /* Room for one at a time: the task goes on when half of it has left. */
    unsigned n_left = 0;
    while (t.n_resumed == 0) {
        weir_http__stream_has_room(&t.f->stream);
        n_left++;
        assert_true(n_left <= n);
    }
    assert_true(weir_chain_buffered_bytes(t.o->chain) <= 2048);
    assert_true(weir_chain_buffered_bytes(t.o->chain) > 1024);
    fake_drain(t.f);
    assert_int_equal(t.n_resumed, 1);
    outlet_end(&t);
    assert_int_equal(t.f->n_writes, n + 2); /* all of it, and [DONE] */
    outlet_close(&t);
}

/* Text of one choice after the other waits, until the chain is full. */
static void fill_with_text(struct outlet *t)
{
    char text[1200];
    unsigned n = 0;
    do {
        n++;
        assert_true(n < 10);
        (void)snprintf(text, sizeof text,
                       "{\"choices\":[{\"index\":%u,\"delta\":{\"content\":\"%01000u\"}}]}", n, n);
    } while (outlet_event(t, text) == WEIR_FLOW_OK);
}

/* What fills the chain need not be the caller: time empties it, and the task must hear of it. */
static void time_makes_room_for_the_task(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{max_stream_buffer_bytes: 4096, coalescer: {mode: on, max_hold_ms: 700,"
                   " max_partial_count: 0, first_emit_immediate: false}}");
    fill_with_text(&t);
    fake_pass(t.f, 699);
    assert_int_equal(t.n_resumed, 0);
    fake_expect(t.f, "");
    fake_pass(t.f, 1);
    assert_int_equal(t.n_resumed, 1);
    assert_int_not_equal(t.f->sent.n, 0);
    outlet_close(&t);
}

/* An event behind the FULL may empty the chain (here: what waits leaves before the usage). The
 * task still waits for its resume, and gets it, from outside of its own call. */
static void an_event_that_makes_room_owes_the_resume(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{max_stream_buffer_bytes: 4096, coalescer: {mode: on, max_partial_count: 0,"
                   " first_emit_immediate: false}}");
    fill_with_text(&t);
    assert_int_equal(outlet_event(&t, "{\"choices\":[],\"usage\":{}}"), WEIR_FLOW_FULL);
    assert_false(weir_chain_is_full(t.o->chain));
    assert_int_equal(t.n_resumed, 0); /* not from inside the call */
    fake_turn(t.f);
    assert_int_equal(t.n_resumed, 1);
    assert_int_equal(outlet_event(&t, TEXT("a")), WEIR_FLOW_OK);
    outlet_close(&t);
}

/* One step of a stream: the task sends, the caller reads or does not, time passes. */
static void go_on(struct outlet *t, unsigned roll, const char *call)
{
    switch (roll % 8) {
    case 0:
        t->f->answers_full = true;
        break;
    case 1:
        fake_drain(t->f);
        break;
    case 2:
        fake_pass(t->f, roll / 8 % 300);
        break;
    case 3:
        fake_turn(t->f);
        break;
    default:
        if (!t->flow.is_waiting || roll / 8 % 4 == 0) {
            const char *const events[] = {TEXT("some words. "), BARRIER(0), call, FINISH};
            outlet_event(t, events[roll / 32 % 4]);
        }
        break;
    }
}

/* Whatever fills and empties it: a task that was answered FULL is resumed, once. */
static void the_flow_contract_holds_on_random_streams(void **state)
{
    static const char *const settings[] = {
        NULL,
        "{max_stream_buffer_bytes: 4096, batching: {mode: on}}",
        "{max_stream_buffer_bytes: 4096, coalescer: {mode: on}}",
        "{max_stream_buffer_bytes: 4096, batching: {mode: on}, coalescer: {mode: on}}",
        "{max_stream_buffer_bytes: 4096, batching: {mode: metrics}}",
    };
    (void)state;
    char call[900];
    unsigned n_fulls[5] = {0};
    (void)snprintf(call, sizeof call, DELTA(CALL("1", "%0700d")), 1);
    for (unsigned run = 0; run < 300; run++) {
        struct outlet t;
        unsigned seed = run;
        unsigned heartbeat_ms = run % 2 * 100;
        outlet_open(&t, settings[run % 5],
                    (struct weir_stream_out_options){.heartbeat_ms = heartbeat_ms});
        for (unsigned i = 0; i < 150; i++) {
            go_on(&t, (unsigned)rand_r(&seed) / 7, call);
        }
        fake_drain(t.f);
        fake_pass(t.f, 60 * 1000);
        fake_turn(t.f);
        flow_watch_settled(&t.flow);
        n_fulls[run % 5] += t.flow.n_fulls;
        outlet_end(&t);
        outlet_close(&t);
    }
    for (unsigned i = 0; i < 5; i++) {
        assert_true(n_fulls[i] > 20);
    }
}

static void no_resume_after_the_end(void **state)
{
    (void)state;
    struct outlet t;
    outlet_sse(&t, "{max_stream_buffer_bytes: 4096, batching: {mode: on}}");
    t.f->answers_full = true;
    while (outlet_event(&t, BARRIER(0)) == WEIR_FLOW_OK) {
    }
    outlet_end(&t);
    fake_drain(t.f);
    assert_true(t.f->has_ended);
    assert_int_equal(t.n_resumed, 0);
    outlet_close(&t);
}

/* Whatever is under way, the caller may go. */
static void the_caller_may_go_at_any_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct outlet t;
        outlet_open(&t, "{batching: {mode: on}, coalescer: {mode: on}}",
                    (struct weir_stream_out_options){.has_done = true, .heartbeat_ms = 15000});
        t.f->answers_full = i == 3;
        if (i > 0) {
            outlet_event(&t, TEXT("a"));
        }
        if (i > 1) {
            outlet_event(&t, TEXT("b"));
            outlet_event(&t, DELTA(CALL("1", "{")));
        }
        weir_http__stream_gone(&t.f->stream, WEIR_ECLOSED);
        outlet_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_leave_as_they_come),
        cmocka_unit_test(what_is_framed_leaves_as_it_is),
        cmocka_unit_test(what_is_framed_is_framed_anew_where_it_must),
        cmocka_unit_test(lines_have_no_done),
        cmocka_unit_test(nothing_is_an_answer),
        cmocka_unit_test(a_full_connection_holds_the_task),
        cmocka_unit_test(asides_pass_everything),
        cmocka_unit_test(steps_have_times_and_places),
        cmocka_unit_test(untouched_events_keep_their_bytes),
        cmocka_unit_test(merged_events_keep_the_last_id),
        cmocka_unit_test(text_leaves_at_its_deadline),
        cmocka_unit_test(both_stages_share_the_timer),
        cmocka_unit_test(silence_is_broken_by_a_comment),
        cmocka_unit_test(silence_in_lines_sends_the_head),
        cmocka_unit_test(comments_do_not_pile_up_on_a_blocked_caller),
        cmocka_unit_test(an_error_before_the_first_event_has_a_status),
        cmocka_unit_test(an_error_after_it_is_an_event),
        cmocka_unit_test(a_heartbeat_is_a_beginning),
        cmocka_unit_test(the_public_programs_errors_are_events),
        cmocka_unit_test(waiting_text_leaves_before_the_error),
        cmocka_unit_test(a_dropped_call_is_no_beginning),
        cmocka_unit_test(text_merges_while_blocked),
        cmocka_unit_test(the_end_waits_for_the_caller),
        cmocka_unit_test(the_error_waits_for_the_caller),
        cmocka_unit_test(a_connection_may_fill_up_again_while_draining),
        cmocka_unit_test(a_full_chain_holds_the_task),
        cmocka_unit_test(time_makes_room_for_the_task),
        cmocka_unit_test(an_event_that_makes_room_owes_the_resume),
        cmocka_unit_test(the_flow_contract_holds_on_random_streams),
        cmocka_unit_test(no_resume_after_the_end),
        cmocka_unit_test(the_caller_may_go_at_any_time),
    };
    return cmocka_run_group_tests(tests, outlet_setup, NULL);
}
