/* A detector that reads along from outside, against a scripted call: what is sent, what each line
 * of its answer becomes, and that nothing is left behind wherever it ends. */
#include "unit/client/fake_call.h"
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "detect/streamed.h"
#include "io/loop.h"

#include <stdio.h>

static const struct weir_target target = {.hostname = "detector"};
static struct weir_loop loop;
static struct weir_detect_streamed detector;
static struct weir_streamed *subject;
static char said[512];
static unsigned n_progress;

static void on_found(void *ctx, size_t mark_cp, const struct weir_detect_list *found)
{
    (void)ctx;
    size_t n = strlen(said);
    n += (size_t)snprintf(said + n, sizeof said - n, "%zu", mark_cp);
    for (size_t i = 0; i < found->n; i++) {
        const struct weir_detection *d = &found->items[i];
        n += (size_t)snprintf(said + n, sizeof said - n, " [%zu,%zu)%.*s", d->start_cp, d->end_cp,
                              (int)d->text.n, d->text.p);
    }
    snprintf(said + n, sizeof said - n, ";");
}

static void on_progress(void *ctx)
{
    (void)ctx;
    n_progress++;
}

static const struct weir_streamed_events EVENTS = {.on_found = on_found,
                                                   .on_progress = on_progress};

static int begin(void **state)
{
    (void)state;
    assert_int_equal(weir_loop_init(&loop), 0);
    loop.held_ms = 1000;
    weir_detect_streamed_init(&detector, WEIR_SLICE("hap"), &target);
    detector.idle_ms = 500;
    subject = weir_streamed_open(&(struct weir_streamed_options){.detector = &detector.base,
                                                                 .env = {.loop = &loop},
                                                                 .params = WEIR_SLICE("{\"x\":1}"),
                                                                 .threshold = 0.25,
                                                                 .events = &EVENTS});
    said[0] = 0;
    n_progress = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    uint64_t at_ms;
    weir_streamed_free(subject);
    fake_forget();
    assert_false(weir_timers_next(&loop.timers, &at_ms));
    weir_loop_dispose(&loop);
    return 0;
}

static void push(const char *text)
{
    assert_int_equal(weir_streamed_push(subject, weir_slice_cstr(text)), WEIR_FLOW_OK);
}

static void line(const char *text)
{
    fake_body(weir_slice_cstr(text));
}

#define FOUND(start, end)                                                                          \
    "{\"start\":" #start ",\"end\":" #end                                                          \
    ",\"detection\":\"d\",\"detection_type\":\"t\",\"score\":0.5}"
#define LINE(found, mark) "{\"detections\":[" found "],\"processed_index\":" #mark "}\n"

static void expect_fault(int err, const char *why)
{
    const struct weir_fault *fault = weir_streamed_fault(subject);
    assert_non_null(fault);
    assert_int_equal(fault->err, err);
    if (!weir_slice_eq_cstr(fault->why, why)) {
        fail_msg("\"%.*s\", not \"%s\"", (int)fault->why.n, fault->why.p, why);
    }
    assert_false(weir_streamed_is_done(subject));
}

static void test_lines(void **state)
{
    (void)state;
    detector.name = WEIR_SLICE("far");
    detector.params = WEIR_SLICE("{\"x\":0,\"y\":\"z\"}");
    push("");
    assert_int_equal(fake_n_calls, 0); /* nobody is asked about nothing */
    push("w\u00f6lf \"");
    push(" is bad");
    weir_streamed_end(subject);
    assert_true(fake_last()->has_body_end);
    assert_string_equal(weir_buf_cstr(&fake_last()->body),
                        "{\"detectors\":{\"far\":{\"threshold\":0.25,\"y\":\"z\",\"x\":1}},"
                        "\"aggregation\":\"aligned\",\"content\":\"w\u00f6lf \\\"\"}\n"
                        "{\"content\":\" is bad\"}\n");
    fake_head(200, NULL);
    line(LINE(FOUND(0, 4), 5) LINE("", 5));
    assert_string_equal(said, "5 [0,4)w\u00f6lf;5;");
    line(LINE(FOUND(10, 13) "," FOUND(7, 9), 13));
    assert_string_equal(said, "5 [0,4)w\u00f6lf;5;13 [7,9)is [10,13)bad;");
    assert_false(weir_streamed_is_done(subject));
    fake_done(0, NULL);
    assert_true(weir_streamed_is_done(subject));
}

/* However its bytes are cut: the same. */
static void test_cuts(void **state)
{
    (void)state;
    const char *all = LINE(FOUND(0, 3), 4) "\r\n" LINE("", 8) LINE(FOUND(8, 9), 9);
    push("bad day, you");
    fake_head(200, NULL);
    for (size_t i = 0; i < strlen(all); i++) {
        fake_body(weir_slice_make(all + i, 1));
    }
    assert_string_equal(said, "4 [0,3)bad;8;9 [8,9) ;");
}

/* The last line needs no end, white space at the end of the text no answer. */
static void test_the_end(void **state)
{
    (void)state;
    push("day \n ");
    weir_streamed_end(subject);
    fake_head(200, NULL);
    line("{\"detections\":[],\"processed_index\":3}");
    fake_done(0, NULL);
    assert_true(weir_streamed_is_done(subject));
    assert_string_equal(said, "3;6;");
}

static void test_nothing(void **state)
{
    (void)state;
    weir_streamed_end(subject);
    assert_true(weir_streamed_is_done(subject));
    assert_int_equal(fake_n_calls, 0);
}

static const struct {
    const char *lines;
    const char *why;
} wrong[] = {
    {LINE("", 4) LINE("", 3), "`processed_index` is 3, not from 4 to 8"},
    {LINE("", 9), "`processed_index` is 9, not from 0 to 8"},
    {LINE("", 4) LINE(FOUND(3, 5), 5), "list 0, finding 0: `start` is 3, `processed_index` was 4"},
    {LINE(FOUND(0, 9), 5), "list 0, finding 0: `end` is 9, the text has 8 code points"},
    {LINE(FOUND(5, 4), 5), "list 0, finding 0: `start` 5 is behind `end` 4"},
    {LINE("7", 5), "list 0, finding 0: is a number, not an object"},
    {"{\"detections\":[]}\n", "`processed_index` is missing, or no whole number from 0"},
    {"{\"detections\":{},\"processed_index\":1}\n", "`detections` is missing, or no list"},
    {"{\"processed_index\":1}\n", "`detections` is missing, or no list"},
    {"[]\n", "a line is no JSON object"},
    {"{\n", "a line is no JSON object"},
    {"{\"code\":503,\"details\":\"no\"}\n", "said that it has failed with 503"},
};

static void test_nonsense(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        end(NULL);
        begin(NULL);
        push("bad day.");
        fake_head(200, NULL);
        line(wrong[i].lines);
        expect_fault(WEIR_EPEER, wrong[i].why);
        assert_true(fake_last()->is_cancelled);
        assert_int_equal(n_progress, 1);
        push("more"); /* leads nowhere, and does no harm */
        weir_streamed_end(subject);
    }
}

static void test_ends_that_are_none(void **state)
{
    (void)state;
    push("bad day.");
    fake_head(200, NULL);
    fake_done(0, NULL);
    expect_fault(WEIR_EPEER, "ended its answer before the text had ended");
    end(NULL);
    begin(NULL);
    push("bad day.");
    weir_streamed_end(subject);
    fake_head(200, NULL);
    line(LINE("", 4));
    fake_done(0, NULL);
    expect_fault(WEIR_EPEER, "ended its answer without having looked at all of the text");
    end(NULL);
    begin(NULL);
    push("bad day.");
    fake_head(503, NULL);
    line("{\"code\":503,\"message\":\"busy\"}");
    fake_done(0, NULL);
    expect_fault(WEIR_EPEER, "answered status 503");
    assert_int_equal(weir_streamed_fault(subject)->status, 503);
    end(NULL);
    begin(NULL);
    push("bad day.");
    fake_done(WEIR_EREFUSED, NULL);
    expect_fault(WEIR_EREFUSED, "the fake says so");
}

/* Silence while an answer is owed; none is owed for what is judged. */
static void test_silence(void **state)
{
    (void)state;
    uint64_t at_ms;
    push("bad day.");
    assert_true(weir_timers_next(&loop.timers, &at_ms));
    assert_int_equal(at_ms, 1500);
    fake_head(200, NULL);
    loop.held_ms = 1400;
    push(" More.");
    line(LINE("", 4));
    loop.held_ms = 1899;
    weir_timers_run(&loop.timers, loop.held_ms);
    assert_null(weir_streamed_fault(subject));
    line(LINE("", 14));
    assert_false(weir_timers_next(&loop.timers, &at_ms));
    loop.held_ms = 9000;
    push(" End.");
    n_progress = 0;
    loop.held_ms = 9500;
    weir_timers_run(&loop.timers, loop.held_ms);
    expect_fault(WEIR_ETIMEOUT, "it owes an answer and is silent");
    assert_int_equal(n_progress, 1);
    assert_true(fake_last()->is_cancelled);
}

/* Lines that say nothing, and more text, do not put the limit off: the mark does. */
static void test_talk_without_end(void **state)
{
    (void)state;
    push("bad day.");
    fake_head(200, NULL);
    for (loop.held_ms = 1100; loop.held_ms < 1500; loop.held_ms += 100) {
        line(LINE("", 0));
        push(" More.");
        weir_timers_run(&loop.timers, loop.held_ms);
        assert_null(weir_streamed_fault(subject));
    }
    weir_timers_run(&loop.timers, loop.held_ms);
    expect_fault(WEIR_ETIMEOUT, "it owes an answer and is silent");
}

static void test_pressure(void **state)
{
    (void)state;
    push("one ");
    fake_last()->is_full = true;
    assert_int_equal(weir_streamed_push(subject, WEIR_SLICE("two")), WEIR_FLOW_FULL);
    assert_true(weir_streamed_is_full(subject));
    fake_room();
    assert_false(weir_streamed_is_full(subject));
    assert_int_equal(n_progress, 1);
}

static void test_it_rests(void **state)
{
    (void)state;
    struct weir_breaker breaker;
    weir_breaker_init(&breaker);
    for (int i = 0; i < WEIR_BREAKER_MAX_FAILURES; i++) {
        end(NULL);
        begin(NULL);
        detector.breaker = &breaker;
        push("x");
        fake_done(WEIR_ETIMEOUT, NULL);
    }
    end(NULL);
    begin(NULL);
    detector.breaker = &breaker;
    push("x");
    assert_int_equal(fake_n_calls, 0);
    assert_int_equal(n_progress, 0); /* not from inside */
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(n_progress, 1);
    expect_fault(WEIR_EUNREACHABLE, "it rests after failures");
}

/* ---- whole texts ---- */

static unsigned n_done;

static void on_done(void *ctx, struct weir_detect_call *call)
{
    (void)ctx;
    assert_true(call->is_done);
    n_done++;
}

static struct weir_detect_call *ask(const struct weir_slice *texts, size_t n)
{
    static struct weir_detect_input input;
    input = (struct weir_detect_input){.contents = texts, .n_contents = n, .threshold = 0.5};
    struct weir_detect_env env = {.loop = &loop, .max_body_bytes = 4096};
    n_done = 0;
    struct weir_detect_call *call = weir_detect_start(&detector.base, &env, &input, on_done, NULL);
    assert_false(call->is_done);
    return call;
}

static void test_whole_texts(void **state)
{
    (void)state;
    static const struct weir_slice texts[] = {WEIR_SLICE("bad."), WEIR_SLICE(""), WEIR_SLICE("x")};
    struct weir_detect_call *call = ask(texts, 3);
    fake_head(200, NULL);
    line(LINE(FOUND(0, 3), 4));
    fake_done(0, NULL);
    assert_int_equal(fake_n_calls, 2);
    fake_head(200, NULL);
    line(LINE("", 1));
    fake_done(0, NULL);
    assert_int_equal(n_done, 0);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(n_done, 1);
    assert_int_equal(call->n_lists, 3);
    assert_int_equal(call->lists[0].n, 1);
    assert_int_equal(call->lists[0].items[0].end_cp, 3);
    assert_int_equal(call->lists[1].n + call->lists[2].n, 0);
    weir_detect_free(call);
    static const struct weir_slice empty[] = {WEIR_SLICE("")};
    call = ask(empty, 1);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(n_done, 1);
    weir_detect_free(call);
    call = ask(texts, 3);
    fake_done(WEIR_ERESET, NULL);
    assert_int_equal(n_done, 1);
    assert_int_equal(call->fault.err, WEIR_ERESET);
    weir_detect_free(call);
    call = ask(texts, 3); /* freed at any time */
    weir_detect_free(call);
    assert_true(fake_last()->is_cancelled);
    call = ask(empty, 1);
    weir_detect_free(call);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(n_done, 0);
}

/* Findings without end about one letter. */
static void test_an_answer_too_long(void **state)
{
    (void)state;
    static const struct weir_slice texts[] = {WEIR_SLICE("x")};
    struct weir_detect_call *call = ask(texts, 1);
    fake_head(200, NULL);
    size_t n = 0;
    for (; n < 4096 && n_done == 0; n++) {
        line(LINE(FOUND(0, 1), 0));
    }
    assert_int_equal(n_done, 1);
    assert_in_range(n, 10, 4096 / 32);
    assert_int_equal(call->fault.err, WEIR_EPEER);
    assert_true(weir_slice_eq_cstr(call->fault.why, "its answer is too long"));
    weir_detect_free(call);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lines),
        TEST(test_cuts),
        TEST(test_the_end),
        TEST(test_nothing),
        TEST(test_nonsense),
        TEST(test_ends_that_are_none),
        TEST(test_silence),
        TEST(test_pressure),
        TEST(test_it_rests),
        TEST(test_whole_texts),
        TEST(test_talk_without_end),
        TEST(test_an_answer_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
