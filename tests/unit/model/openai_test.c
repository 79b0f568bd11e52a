/* The OpenAI client over a scripted call: what is sent, and what each way of answering becomes.
 * Transcripts of the owner's events are compared as text. */
#include "base/err.h"
#include "model/openai.h"
#include "unit/client/fake_call.h"
#include "unit/cmocka_all.h"

#include <stdio.h>

enum { MAX_EVENT_BYTES = 200 };

struct owner {
    struct weir_loop loop;
    struct weir_target target;
    struct weir_model_openai model;
    struct weir_model_run *run; /* NULL: freed */
    struct weir_buf trace;
    bool pauses_at_frame;
    bool frees_at_frame;
    bool frees_at_done;
};

static void let_go(struct owner *o)
{
    weir_model_free(o->run);
    o->run = NULL;
}

static void on_frame(void *ctx, const struct weir_model_frame *f)
{
    struct owner *o = ctx;
    if (f->json.n == 0 && f->raw.n == 0) {
        weir_buf_printf(&o->trace, "%zu tokens\n", (size_t)f->n_tokens);
    } else {
        weir_buf_printf(&o->trace, "%s%.*s", f->is_error ? "error " : "", (int)f->json.n,
                        f->json.p);
        weir_buf_printf(&o->trace, "%s%.*s (%zu)\n", f->sse_id.n != 0 ? " id " : "",
                        (int)f->sse_id.n, f->sse_id.p, f->raw.n);
    }
    if (o->pauses_at_frame) {
        weir_model_pause(o->run);
    }
    if (o->frees_at_frame) {
        let_go(o);
    }
}

static const char *origin_name(const struct weir_fault *f)
{
    return weir_fault_origin_name(f->origin);
}

static void on_done(void *ctx, const struct weir_fault *f)
{
    struct owner *o = ctx;
    if (f == NULL) {
        weir_buf_printf(&o->trace, "done\n");
    } else {
        weir_buf_printf(&o->trace, "%s `%.*s` failed: %s %d '%.*s': %.*s\n", origin_name(f),
                        (int)f->id.n, f->id.p, weir_err_name(f->err), f->status, (int)f->message.n,
                        f->message.p, (int)f->why.n, f->why.p);
    }
    if (o->frees_at_done) {
        let_go(o);
    }
}

static const struct weir_model_events EVENTS = {.on_frame = on_frame, .on_done = on_done};

static void start(struct owner *o, const struct weir_model_request *request)
{
    struct weir_model_env env = {
        .loop = &o->loop, .max_body_bytes = 5000, .max_event_bytes = MAX_EVENT_BYTES};
    weir_model_openai_init(&o->model, &o->target);
    o->run = weir_model_start(&o->model.base, &env, request, &EVENTS, o);
    assert_int_equal(o->trace.n, 0);
}

static void start_op(struct owner *o, enum weir_model_op op, bool is_stream)
{
    start(o, &(struct weir_model_request){.op = op,
                                          .is_stream = is_stream,
                                          .model_id = WEIR_SLICE("m1"),
                                          .body = WEIR_SLICE("{\"model\":\"m1\"}")});
}

static void start_stream(struct owner *o)
{
    start_op(o, WEIR_MODEL_CHAT, true);
    fake_head(200, NULL);
}

/* What has happened since the last time. */
static void expect(struct owner *o, const char *expected)
{
    if (!weir_slice_eq_cstr(weir_buf_slice(&o->trace), expected)) {
        fail_msg("got:\n%.*sexpected:\n%s", (int)o->trace.n, o->trace.p, expected);
    }
    weir_buf_clear(&o->trace);
}

static void end(struct owner *o)
{
    weir_model_free(o->run);
    o->run = NULL;
    o->pauses_at_frame = false;
    o->frees_at_frame = false;
    o->frees_at_done = false;
    weir_buf_clear(&o->trace);
    fake_forget();
}

static int set_up(void **state)
{
    struct owner *o = weir_mem_zalloc(sizeof *o);
    assert_int_equal(weir_loop_init(&o->loop), 0);
    *state = o;
    return 0;
}

static int tear_down(void **state)
{
    struct owner *o = *state;
    weir_loop_dispose(&o->loop);
    weir_buf_dispose(&o->trace);
    free(o);
    return 0;
}

static void expect_sent(const char *head, const char *body, enum weir_call_answer answer)
{
    const struct weir_call *c = fake_last();
    assert_true(weir_slice_eq_cstr(weir_buf_slice(&c->head), head));
    assert_true(weir_slice_eq_cstr(weir_buf_slice(&c->body), body));
    assert_int_equal(c->request.answer, answer);
    assert_true(c->request.may_retry);
    assert_int_equal(c->request.max_body_bytes, 5000);
}

static void test_requests(void **state)
{
    struct owner *o = *state;
    start_op(o, WEIR_MODEL_CHAT, false);
    expect_sent("POST /v1/chat/completions\ncontent-type: application/json\n", "{\"model\":\"m1\"}",
                WEIR_CALL_WHOLE);
    end(o);
    start_op(o, WEIR_MODEL_CHAT, true);
    expect_sent("POST /v1/chat/completions\ncontent-type: application/json\n", "{\"model\":\"m1\"}",
                WEIR_CALL_STREAM);
    end(o);
    start_op(o, WEIR_MODEL_COMPLETION, true);
    expect_sent("POST /v1/completions\ncontent-type: application/json\n", "{\"model\":\"m1\"}",
                WEIR_CALL_STREAM);
    end(o);
    start(o, &(struct weir_model_request){.op = WEIR_MODEL_MODELS});
    expect_sent("GET /v1/models\n", "", WEIR_CALL_WHOLE);
    end(o);
    start(o, &(struct weir_model_request){.op = WEIR_MODEL_TOKENIZE,
                                          .model_id = WEIR_SLICE("m\"1"),
                                          .text = WEIR_SLICE("two\nlines")});
    expect_sent("POST /tokenize\ncontent-type: application/json\n",
                "{\"model\":\"m\\\"1\",\"prompt\":\"two\\nlines\"}", WEIR_CALL_WHOLE);
    end(o);
}

static void test_requests_for_what_is_kept(void **state)
{
    struct owner *o = *state;
    struct weir_model_way way = {.path = WEIR_SLICE("/openai/v1/responses?a=b")};
    struct weir_model_request request = {
        .op = WEIR_MODEL_STORED, .method = WEIR_SLICE("DELETE"), .tail = WEIR_SLICE("/resp_1")};
    start(o, &request);
    expect_sent("DELETE /v1/responses/resp_1\n", "", WEIR_CALL_WHOLE);
    end(o);
    request.method = WEIR_SLICE("POST");
    request.tail = WEIR_SLICE("/resp_1/cancel");
    start(o, &request);
    expect_sent("POST /v1/responses/resp_1/cancel\n", "", WEIR_CALL_WHOLE);
    end(o);
    request.method = WEIR_SLICE("GET");
    request.tail = WEIR_SLICE("/resp_1?stream=true");
    request.is_stream = true;
    request.way = &way;
    start(o, &request);
    expect_sent("GET /openai/v1/responses/resp_1?a=b&stream=true\n", "", WEIR_CALL_STREAM);
    end(o);
}

static void test_requests_that_are_forwarded(void **state)
{
    struct owner *o = *state;
    struct weir_model_way way = {.path = WEIR_SLICE("/openai?a=b")};
    struct weir_model_request request = {.op = WEIR_MODEL_FORWARD,
                                         .method = WEIR_SLICE("POST"),
                                         .tail = WEIR_SLICE("/files?c=d"),
                                         .content_type = WEIR_SLICE("a/b"),
                                         .body = WEIR_SLICE("bytes")};
    start(o, &request);
    expect_sent("POST /v1/files?c=d\ncontent-type: a/b\n", "bytes", WEIR_CALL_WHOLE);
    end(o);
    request = (struct weir_model_request){.op = WEIR_MODEL_FORWARD,
                                          .method = WEIR_SLICE("GET"),
                                          .tail = WEIR_SLICE("/files?c=d"),
                                          .way = &way};
    start(o, &request);
    expect_sent("GET /openai/files?a=b&c=d\n", "", WEIR_CALL_WHOLE);
    end(o);
}

static void test_whole(void **state)
{
    struct owner *o = *state;
    start_op(o, WEIR_MODEL_CHAT, false);
    weir_model_pause(o->run);
    fake_answer(200, WEIR_SLICE("{\"choices\":[]}"));
    expect(o, "{\"choices\":[]} (0)\ndone\n");
    end(o);
    start_op(o, WEIR_MODEL_COMPLETION, false);
    fake_answer(200, WEIR_SLICE("data: {}"));
    expect(o, "completion `m1` failed: EPEER 0 '': not JSON that can be read: expected a value at "
              "byte 0 of 8\n");
    end(o);
}

static void test_whole_refused(void **state)
{
    struct owner *o = *state;
    start_op(o, WEIR_MODEL_CHAT, false);
    fake_answer(400, WEIR_SLICE("{\"error\":{\"message\":\"too long\",\"code\":404}}"));
    expect(o, "chat completion `m1` failed: EPEER 400 'too long': answered status 400\n");
    end(o);
    start_op(o, WEIR_MODEL_CHAT, false);
    fake_answer(201, WEIR_SLICE("{}"));
    expect(o, "chat completion `m1` failed: EPEER 201 '': answered status 201\n");
    end(o);
    start_op(o, WEIR_MODEL_COMPLETION, false);
    fake_done(WEIR_ETIMEOUT, NULL);
    expect(o, "completion `m1` failed: ETIMEOUT 0 '': the fake says so\n");
    end(o);
    start(o, &(struct weir_model_request){.op = WEIR_MODEL_MODELS});
    fake_answer(503, WEIR_SLICE("busy"));
    expect(o, "chat completion `` failed: EPEER 503 '': answered status 503\n");
    end(o);
}

static void test_tokenize(void **state)
{
    static const struct {
        int status;
        const char *body;
        const char *expected;
    } cases[] = {
        {200, "{\"count\":12,\"max_model_len\":1,\"tokens\":[]}", "12 tokens\ndone\n"},
        {200, "{}",
         "tokenize `m1` failed: EPEER 0 '': `count` is missing, or not a whole number "
         "from 0\n"},
        {404, "{\"detail\":\"Not Found\"}",
         "tokenize `m1` failed: EPEER 404 'Not Found': answered status 404\n"},
        {405, "", "tokenize `m1` failed: EPEER 404 '': answered status 405\n"},
        {501, "", "tokenize `m1` failed: EPEER 404 '': answered status 501\n"},
        {400, "{\"message\":\"m\"}", "tokenize `m1` failed: EPEER 400 'm': answered status 400\n"},
    };
    struct owner *o = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start_op(o, WEIR_MODEL_TOKENIZE, true);
        fake_answer(cases[i].status, weir_slice_cstr(cases[i].body));
        expect(o, cases[i].expected);
        end(o);
    }
}

static void test_whole_freed_inside(void **state)
{
    struct owner *o = *state;
    o->frees_at_frame = true;
    start_op(o, WEIR_MODEL_CHAT, false);
    fake_answer(200, WEIR_SLICE("{}"));
    expect(o, "{} (0)\n");
    end(o);
    o->frees_at_done = true;
    start_op(o, WEIR_MODEL_CHAT, false);
    fake_answer(200, WEIR_SLICE("{}"));
    expect(o, "{} (0)\ndone\n");
    end(o);
}

#define STREAM                                                                                     \
    "\xef\xbb\xbf: hello\n\ndata: {\"n\":1}\n\nid: 7\r\ndata: {\"n\":\r\ndata: 2}\r\n\r\n"         \
    "event: message\ndata:{\"n\":3}\n\n: ping\n\ndata: [DONE]\n\ndata: {\"n\":4}\n\n"

static const char stream_trace[] = "{\"n\":1} (15)\n{\"n\":\n2} id 7 (32)\n{\"n\":3} (29)\ndone\n";

static void test_stream_at_every_cut(void **state)
{
    struct owner *o = *state;
    struct weir_slice whole = WEIR_SLICE(STREAM);
    for (size_t step = 1; step <= whole.n; step++) {
        start_stream(o);
        for (size_t at = 0; at < whole.n; at += step) {
            size_t to = at + step < whole.n ? at + step : whole.n;
            fake_body(weir_slice_sub(whole, at, to));
        }
        fake_done(0, NULL);
        expect(o, stream_trace);
        end(o);
    }
}

static void test_stream_without_done(void **state)
{
    struct owner *o = *state;
    start_stream(o);
    fake_body(WEIR_SLICE("data: 1\n\n"));
    fake_done(0, NULL);
    expect(o, "1 (9)\ndone\n");
    end(o);
    /* Its empty line could have become CRLF. */
    start_stream(o);
    fake_body(WEIR_SLICE("data: 1\r\n\r"));
    expect(o, "");
    fake_done(0, NULL);
    expect(o, "1 (10)\ndone\n");
    end(o);
    start_stream(o);
    fake_body(WEIR_SLICE("data: [DONE]\n\r"));
    fake_done(0, NULL);
    expect(o, "done\n");
    end(o);
    /* The format drops an event without its empty line. */
    start_stream(o);
    fake_body(WEIR_SLICE("data: 1\n\ndata: 2\n"));
    fake_done(0, NULL);
    expect(o, "1 (9)\ndone\n");
    end(o);
    start_stream(o);
    fake_done(0, NULL);
    expect(o, "done\n");
    end(o);
}

/* A page, a whole answer, comments and nothing else: all of them would be an answer of nothing. */
static void test_no_stream_at_all(void **state)
{
    struct owner *o = *state;
    static const char *const bodies[] = {
        "<html>\n\n<p>Log in</p>\n\n</html>\n\n",
        "{\"choices\":[{\"message\":{\"content\":\"Hi\"}}]}",
        "\x1f\x8b\x08\n\n",
        ": wait\n\n",
        "data: 1\n",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        start_stream(o);
        fake_body(weir_slice_cstr(bodies[i]));
        expect(o, "");
        fake_done(0, NULL);
        expect(o,
               "chat completion `m1` failed: EPEER 0 '': the answer is not a stream of events\n");
        end(o);
    }
}

static void test_stream_cut_off(void **state)
{
    struct owner *o = *state;
    start_stream(o);
    fake_body(WEIR_SLICE("data: 1\n\ndata: 2\n"));
    fake_done(WEIR_ERESET, NULL);
    expect(o, "1 (9)\nchat completion `m1` failed: ERESET 0 '': the fake says so\n");
    end(o);
    /* Whatever happens behind [DONE]. */
    start_stream(o);
    fake_body(WEIR_SLICE("data: 1\n\ndata: [DONE]\n\n"));
    expect(o, "1 (9)\n");
    fake_done(WEIR_ERESET, NULL);
    expect(o, "done\n");
    end(o);
    start_op(o, WEIR_MODEL_COMPLETION, true);
    fake_done(WEIR_EREFUSED, NULL);
    expect(o, "completion `m1` failed: EREFUSED 0 '': the fake says so\n");
    end(o);
}

static void stop_loop(struct weir_timer *t, void *ctx)
{
    (void)t;
    weir_loop_stop(ctx);
}

/* A server that says [DONE] and keeps the answer open is not waited for. */
static void test_open_behind_done(void **state)
{
    struct owner *o = *state;
    struct weir_timer timer = {.fn = stop_loop, .ctx = &o->loop};
    start_stream(o);
    fake_body(WEIR_SLICE("data: [DONE]\n\n"));
    fake_body(WEIR_SLICE("data: 1\n\n"));
    expect(o, "");
    weir_loop_after(&o->loop, &timer, 300);
    weir_loop_run(&o->loop);
    expect(o, "done\n");
    assert_true(fake_last()->is_cancelled);
    end(o);
}

static void test_stream_refused(void **state)
{
    struct owner *o = *state;
    start_op(o, WEIR_MODEL_CHAT, true);
    fake_head(422, "content-type: text/event-stream");
    fake_body(WEIR_SLICE("{\"error\":{\"mess"));
    fake_body(WEIR_SLICE("age\":\"no\"}}"));
    expect(o, "");
    fake_done(0, NULL);
    expect(o, "chat completion `m1` failed: EPEER 422 'no': answered status 422\n");
    end(o);
    start_op(o, WEIR_MODEL_CHAT, true);
    fake_head(503, NULL);
    fake_body(WEIR_SLICE("{\"message\":\"half"));
    fake_done(WEIR_ERESET, NULL);
    expect(o, "chat completion `m1` failed: ERESET 0 '': the fake says so\n");
    end(o);
}

static void test_endless_refusal(void **state)
{
    enum { N_BYTES = 1000 };
    struct owner *o = *state;
    char bytes[N_BYTES] = {0};
    start_op(o, WEIR_MODEL_CHAT, true);
    fake_head(400, NULL);
    size_t n = 0;
    for (; !fake_last()->is_over && n < (size_t)10 * 1024 * 1024; n += N_BYTES) {
        fake_body(weir_slice_make(bytes, N_BYTES));
    }
    assert_in_range(n, 64 * 1024, 66 * 1024);
    expect(o, "chat completion `m1` failed: EPEER 400 '': answered status 400\n");
    end(o);
}

static void test_error_events(void **state)
{
    struct owner *o = *state;
    start_stream(o);
    fake_body(
        WEIR_SLICE("data: {\"error\":null}\n\ndata: {\"error\":{\"message\":\"gone\",\"code\":"
                   "503}}\n\ndata: {}\n\n"));
    expect(o, "{\"error\":null} (22)\nerror {\"error\":{\"message\":\"gone\",\"code\":503}} (47)\n"
              "chat completion `m1` failed: EPEER 503 'gone': an error in the stream\n");
    assert_true(fake_last()->is_cancelled);
    end(o);
    start_stream(o);
    fake_body(WEIR_SLICE("data: {\"object\":\"error\",\"message\":\"flat\"}\n\n"));
    expect(o, "error {\"object\":\"error\",\"message\":\"flat\"} (43)\n"
              "chat completion `m1` failed: EPEER 0 'flat': an error in the stream\n");
    end(o);
    start_stream(o);
    fake_body(WEIR_SLICE("event: error\ndata: out of memory\n\n"));
    expect(o, "error out of memory (34)\n"
              "chat completion `m1` failed: EPEER 0 '': an error in the stream\n");
    end(o);
}

static void test_event_too_large(void **state)
{
    struct owner *o = *state;
    struct weir_buf event = {0};
    weir_buf_printf(&event, "data: 1\n\ndata: %0*d\n\ndata: 2\n\n", MAX_EVENT_BYTES, 0);
    start_stream(o);
    fake_body(weir_buf_slice(&event));
    expect(o, "1 (9)\nchat completion `m1` failed: ELIMIT 0 '': an event is larger than 200 "
              "bytes\n");
    assert_true(fake_last()->is_cancelled);
    end(o);
    weir_buf_dispose(&event);
}

static void test_paused_between_frames(void **state)
{
    struct owner *o = *state;
    start_stream(o);
    o->pauses_at_frame = true;
    fake_body(WEIR_SLICE("data: 1\n\ndata: 2\n\ndata: 3\n\ndata: [DONE]\n\n"));
    expect(o, "1 (9)\n");
    assert_true(fake_last()->is_paused);
    fake_turn(&o->loop);
    expect(o, "");
    weir_model_resume(o->run);
    expect(o, "");
    fake_turn(&o->loop);
    expect(o, "2 (9)\n");
    assert_true(fake_last()->is_paused);
    weir_model_resume(o->run);
    weir_model_pause(o->run);
    fake_turn(&o->loop);
    expect(o, "");
    weir_model_resume(o->run);
    fake_turn(&o->loop);
    expect(o, "3 (9)\n");
    o->pauses_at_frame = false;
    weir_model_resume(o->run);
    fake_turn(&o->loop);
    expect(o, "");
    assert_false(fake_last()->is_paused);
    fake_done(0, NULL);
    expect(o, "done\n");
    end(o);
}

/* The end waits its turn behind what is held back, a bad one too. */
static void test_end_while_paused(void **state)
{
    static const struct {
        int err;
        const char *expected;
    } cases[] = {
        {0, "2 (9)\ndone\n"},
        {WEIR_ERESET, "2 (9)\nchat completion `m1` failed: ERESET 0 '': the fake says so\n"},
    };
    struct owner *o = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start_stream(o);
        o->pauses_at_frame = true;
        fake_body(WEIR_SLICE("data: 1\n\ndata: 2\n\n"));
        fake_done(cases[i].err, NULL);
        expect(o, "1 (9)\n");
        o->pauses_at_frame = false;
        weir_model_resume(o->run);
        fake_turn(&o->loop);
        expect(o, cases[i].expected);
        end(o);
    }
}

static void test_paused_with_nothing_held(void **state)
{
    struct owner *o = *state;
    start_op(o, WEIR_MODEL_CHAT, true);
    weir_model_pause(o->run);
    assert_true(fake_last()->is_paused);
    fake_head(200, NULL);
    weir_model_resume(o->run);
    fake_turn(&o->loop);
    assert_false(fake_last()->is_paused);
    fake_body(WEIR_SLICE("data: 1\n\n"));
    weir_model_pause(o->run);
    fake_done(0, NULL);
    expect(o, "1 (9)\n");
    weir_model_resume(o->run);
    fake_turn(&o->loop);
    expect(o, "done\n");
    end(o);
}

static void test_freed(void **state)
{
    struct owner *o = *state;
    start_stream(o);
    let_go(o);
    assert_true(fake_last()->is_cancelled);
    end(o);
    /* Inside a frame, with more of them behind it. */
    start_stream(o);
    o->frees_at_frame = true;
    fake_body(WEIR_SLICE("data: 1\n\ndata: 2\n\n"));
    expect(o, "1 (9)\n");
    assert_true(fake_last()->is_cancelled);
    end(o);
    /* Inside a frame of what was held back, and with a resume on its way. */
    start_stream(o);
    o->pauses_at_frame = true;
    fake_body(WEIR_SLICE("data: 1\n\ndata: 2\n\ndata: 3\n\n"));
    o->frees_at_frame = true;
    weir_model_resume(o->run);
    fake_turn(&o->loop);
    expect(o, "1 (9)\n2 (9)\n");
    end(o);
    start_stream(o);
    o->pauses_at_frame = true;
    fake_body(WEIR_SLICE("data: 1\n\ndata: 2\n\n"));
    weir_model_resume(o->run);
    let_go(o);
    fake_turn(&o->loop);
    expect(o, "1 (9)\n");
    end(o);
    /* Inside an error's frame, and inside the end. */
    start_stream(o);
    o->frees_at_frame = true;
    fake_body(WEIR_SLICE("data: {\"error\":1}\n\n"));
    expect(o, "error {\"error\":1} (19)\n");
    end(o);
    start_stream(o);
    o->frees_at_done = true;
    fake_body(WEIR_SLICE("data: {\"error\":1}\n\ndata: 2\n\n"));
    expect(o, "error {\"error\":1} (19)\n"
              "chat completion `m1` failed: EPEER 0 '': an error in the stream\n");
    end(o);
    /* While waiting for the end behind [DONE]. */
    start_stream(o);
    fake_body(WEIR_SLICE("data: [DONE]\n\n"));
    let_go(o);
    fake_turn(&o->loop);
    expect(o, "");
    end(o);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_requests),
        TEST(test_requests_for_what_is_kept),
        TEST(test_requests_that_are_forwarded),
        TEST(test_whole),
        TEST(test_whole_refused),
        TEST(test_tokenize),
        TEST(test_whole_freed_inside),
        TEST(test_stream_at_every_cut),
        TEST(test_stream_without_done),
        TEST(test_no_stream_at_all),
        TEST(test_stream_cut_off),
        TEST(test_open_behind_done),
        TEST(test_stream_refused),
        TEST(test_endless_refusal),
        TEST(test_error_events),
        TEST(test_event_too_large),
        TEST(test_paused_between_frames),
        TEST(test_end_while_paused),
        TEST(test_paused_with_nothing_held),
        TEST(test_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
