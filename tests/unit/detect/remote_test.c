/* A remote detector against a scripted call: what is sent, and what each way of answering becomes.
 */
#include "unit/client/fake_call.h"
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "detect/remote.h"
#include "io/loop.h"

#include <stdio.h>

static const struct weir_target target = {.hostname = "detector"};
static const struct weir_slice texts[] = {WEIR_SLICE("one"), WEIR_SLICE("two")};
static const struct weir_detect_input input = {
    .type = WEIR_DETECT_CONTENTS, .contents = texts, .n_contents = 2, .threshold = 0.5};

struct seen {
    unsigned n_done;
    bool frees;
    struct weir_detect_call *call;
};

static void on_done(void *ctx, struct weir_detect_call *call)
{
    struct seen *seen = ctx;
    assert_ptr_equal(call, seen->call);
    assert_true(call->is_done);
    seen->n_done++;
    if (seen->frees) {
        weir_detect_free(call);
    }
}

static struct weir_detect_remote detector;

static void start(struct seen *seen, const struct weir_detect_input *in)
{
    struct weir_detect_env env = {.max_body_bytes = 1000};
    weir_detect_remote_init(&detector, WEIR_SLICE("hap"), in->type, &target);
    *seen = (struct seen){.frees = false};
    seen->call = weir_detect_start(&detector.base, &env, in, on_done, seen);
    assert_false(seen->call->is_done);
    assert_int_equal(seen->n_done, 0);
}

static void finish(struct seen *seen)
{
    weir_detect_free(seen->call);
    fake_forget();
}

static void assert_slice(struct weir_slice got, const char *expected)
{
    if (!weir_slice_eq_cstr(got, expected)) {
        fail_msg("\"%.*s\", not \"%s\"", (int)got.n, got.p, expected);
    }
}

static void assert_field(size_t i, const char *name, const char *value)
{
    assert_slice(fake_last()->request.fields[i].name, name);
    assert_slice(fake_last()->request.fields[i].value, value);
}

static void test_request(void **state)
{
    struct seen seen;
    (void)state;
    start(&seen, &input);
    const struct weir_call_request *r = &fake_last()->request;
    assert_ptr_equal(r->target, &target);
    assert_slice(r->method, "POST");
    assert_slice(r->path, "/api/v1/text/contents");
    assert_slice(r->body, "{\"contents\":[\"one\",\"two\"],\"detector_params\":{}}");
    assert_int_equal(r->answer, WEIR_CALL_WHOLE);
    assert_int_equal(r->max_body_bytes, 1000);
    assert_false(r->may_retry);
    assert_int_equal(r->n_fields, 3);
    assert_field(0, "content-type", "application/json");
    assert_field(1, "detector-id", "hap");
    assert_field(2, "x-model-name", "hap");
    finish(&seen);
}

static void test_findings(void **state)
{
    struct seen seen;
    (void)state;
    start(&seen, &input);
    fake_answer(200, WEIR_SLICE("[[],[{\"start\":0,\"end\":3,\"detection\":\"d\","
                                "\"detection_type\":\"t\",\"score\":0.75}]]"));
    assert_int_equal(seen.n_done, 1);
    assert_int_equal(seen.call->fault.origin, WEIR_FAULT_NONE);
    assert_int_equal(seen.call->n_lists, 2);
    assert_int_equal(seen.call->lists[0].n, 0);
    assert_int_equal(seen.call->lists[1].n, 1);
    assert_slice(seen.call->lists[1].items[0].text, "two");
    assert_slice(seen.call->lists[1].items[0].detector_id, "hap");
    finish(&seen);
}

static void expect_fault(const struct seen *seen, int err, int status, const char *why)
{
    const struct weir_fault *f = &seen->call->fault;
    assert_int_equal(seen->n_done, 1);
    assert_int_equal(f->origin, WEIR_FAULT_DETECTOR);
    assert_slice(f->id, "hap");
    assert_int_equal(f->err, err);
    assert_int_equal(f->status, status);
    assert_slice(f->why, why);
    assert_int_equal(seen->call->n_lists, 0);
}

static void test_nonsense(void **state)
{
    struct seen seen;
    (void)state;
    start(&seen, &input);
    fake_answer(200, WEIR_SLICE("[[]]"));
    expect_fault(&seen, WEIR_EPEER, 0, "1 lists for 2 contents");
    assert_int_equal(seen.call->fault.message.n, 0);
    finish(&seen);
}

static void test_statuses(void **state)
{
    static const struct {
        int http;
        const char *body;
        int status;
        const char *message;
    } cases[] = {
        {400, "{\"code\":400,\"message\":\"no\"}", 400, "no"},
        {500, "{\"code\":422,\"message\":\"no\"}", 422, "no"},
        {404, "not here", 404, ""},
        {503, "", 503, ""},
        {201, "[[],[]]", 201, ""},
        {204, "", 204, ""},
        {302, "", 302, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen seen;
        char why[32];
        start(&seen, &input);
        fake_answer(cases[i].http, weir_slice_cstr(cases[i].body));
        snprintf(why, sizeof why, "answered status %d", cases[i].http);
        expect_fault(&seen, WEIR_EPEER, cases[i].status, why);
        assert_slice(seen.call->fault.message, cases[i].message);
        finish(&seen);
    }
}

static void test_no_answer(void **state)
{
    static const int errs[] = {WEIR_ETIMEOUT, WEIR_EREFUSED, WEIR_ERESET, WEIR_ELIMIT, WEIR_EBUSY};
    (void)state;
    for (size_t i = 0; i < sizeof errs / sizeof errs[0]; i++) {
        struct seen seen;
        start(&seen, &input);
        fake_done(errs[i], NULL);
        expect_fault(&seen, errs[i], 0, "the fake says so");
        assert_int_equal(seen.call->fault.message.n, 0);
        finish(&seen);
    }
}

static void test_freed_inside_done(void **state)
{
    struct seen seen;
    (void)state;
    start(&seen, &input);
    seen.frees = true;
    fake_answer(200, WEIR_SLICE("[[],[]]"));
    assert_int_equal(seen.n_done, 1);
    assert_false(fake_last()->is_cancelled);
    fake_forget();
}

static void test_freed_early(void **state)
{
    struct seen seen;
    (void)state;
    start(&seen, &input);
    weir_detect_free(seen.call);
    assert_true(fake_last()->is_cancelled);
    assert_int_equal(seen.n_done, 0);
    fake_forget();
}

static void test_a_list_for_the_others(void **state)
{
    struct weir_detect_input in = {.type = WEIR_DETECT_GENERATION,
                                   .prompt = WEIR_SLICE("p"),
                                   .generated_text = WEIR_SLICE("g")};
    struct seen seen;
    (void)state;
    start(&seen, &in);
    assert_slice(fake_last()->request.path, "/api/v1/text/generation");
    fake_answer(200, WEIR_SLICE("[{\"detection\":\"d\",\"detection_type\":\"t\",\"score\":1}]"));
    assert_int_equal(seen.call->n_lists, 1);
    assert_int_equal(seen.call->lists[0].n, 1);
    finish(&seen);
}

/* ---- the breaker ---- */

static struct weir_loop loop;
static struct weir_breaker breaker;

/* NULL: a request without an id. */
static void start_guarded_for(struct seen *seen, const char *request_id)
{
    struct weir_log_ctx log = {.request_id = request_id != NULL ? weir_slice_cstr(request_id)
                                                                : WEIR_SLICE("")};
    struct weir_call_context context = {.log = &log};
    struct weir_detect_env env = {.max_body_bytes = 1000, .loop = &loop, .context = &context};
    weir_detect_remote_init(&detector, WEIR_SLICE("hap"), WEIR_DETECT_CONTENTS, &target);
    detector.breaker = &breaker;
    *seen = (struct seen){.frees = false};
    seen->call = weir_detect_start(&detector.base, &env, &input, on_done, seen);
    assert_false(seen->call->is_done);
}

static void start_guarded(struct seen *seen)
{
    start_guarded_for(seen, NULL);
}

static void expect_asked(bool is_asked)
{
    struct seen seen;
    start_guarded(&seen);
    assert_int_equal(fake_n_calls, is_asked);
    if (is_asked) {
        fake_answer(200, WEIR_SLICE("[[],[]]"));
    } else {
        uv_run(&loop.uv, UV_RUN_NOWAIT);
        assert_int_equal(seen.call->fault.err, WEIR_EUNREACHABLE);
        assert_int_equal(seen.call->fault.origin, WEIR_FAULT_DETECTOR);
        assert_slice(seen.call->fault.why, "it rests after failures");
    }
    assert_int_equal(seen.n_done, 1);
    finish(&seen);
}

static void answer_often(int status, const char *body)
{
    for (int i = 0; i < WEIR_BREAKER_MAX_FAILURES; i++) {
        struct seen seen;
        start_guarded(&seen);
        assert_int_equal(fake_n_calls, 1);
        fake_answer(status, weir_slice_cstr(body));
        finish(&seen);
    }
}

static void begin_breaker(void)
{
    assert_int_equal(weir_loop_init(&loop), 0);
    loop.held_ms = 1000;
    weir_breaker_init(&breaker);
}

static void test_it_rests(void **state)
{
    (void)state;
    static const int statuses[] = {429, 500, 503};
    for (size_t i = 0; i < 3; i++) {
        begin_breaker();
        answer_often(statuses[i], "{}");
        expect_asked(false);
        loop.held_ms += WEIR_BREAKER_REST_MS;
        expect_asked(true);
        expect_asked(true);
        weir_loop_dispose(&loop);
    }
}

/* What a text can provoke by itself does not turn the detector off for others. */
static void test_texts_do_not_count(void **state)
{
    (void)state;
    begin_breaker();
    answer_often(422, "{\"code\":422,\"message\":\"no\"}");
    answer_often(413, "");
    answer_often(200, "nonsense");
    answer_often(200, "[[]]");
    expect_asked(true);
    weir_loop_dispose(&loop);
}

/* A trial that nobody waits for any more is given back; so is a refusal that was not told yet. */
static void test_who_leaves_gives_the_trial_back(void **state)
{
    (void)state;
    struct seen seen;
    begin_breaker();
    answer_often(500, "");
    start_guarded(&seen);
    weir_detect_free(seen.call);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(seen.n_done, 0);
    loop.held_ms += WEIR_BREAKER_REST_MS;
    start_guarded(&seen);
    assert_int_equal(fake_n_calls, 1);
    finish(&seen);
    expect_asked(true);
    weir_loop_dispose(&loop);
}

/* The second chunk of a stream that tries it is let in, too; another request is not. */
static void test_a_trial_is_all_of_a_request(void **state)
{
    (void)state;
    struct seen first;
    struct seen second;
    begin_breaker();
    answer_often(500, "");
    loop.held_ms += WEIR_BREAKER_REST_MS;
    start_guarded_for(&first, "a");
    assert_int_equal(fake_n_calls, 1);
    start_guarded_for(&second, "b");
    assert_int_equal(fake_n_calls, 1);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(second.call->fault.err, WEIR_EUNREACHABLE);
    weir_detect_free(second.call);
    start_guarded_for(&second, "a");
    assert_int_equal(fake_n_calls, 2);
    weir_detect_free(second.call);
    finish(&first);
    weir_loop_dispose(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_freed_inside_done),
        cmocka_unit_test(test_freed_early),
        cmocka_unit_test(test_a_list_for_the_others),
        cmocka_unit_test(test_it_rests),
        cmocka_unit_test(test_texts_do_not_count),
        cmocka_unit_test(test_who_leaves_gives_the_trial_back),
        cmocka_unit_test(test_a_trial_is_all_of_a_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
