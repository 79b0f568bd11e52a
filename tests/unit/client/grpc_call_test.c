/* gRPC calls over a scripted HTTP call: what is sent, what each kind of answer becomes, pausing,
 * cancelling and retrying. Transcripts of the events are compared as text. */
#include "base/err.h"
#include "client/grpc_call.h"
#include "unit/client/fake_call.h"
#include "unit/cmocka_all.h"
#include "wire/grpc_paths.h"

#include <proto/chunkers.pb-c.h>

#define GRPC_HEAD "content-type: application/grpc"

enum at_event { NEVER, AT_MESSAGE, AT_ROOM, AT_DONE };

struct owner {
    struct weir_loop loop;
    struct weir_target target;
    struct weir_call_context context;
    struct weir_grpc_request request;
    struct weir_grpc_call *call; /* NULL after done or cancel */
    struct weir_buf trace;
    enum at_event cancel_at;
    bool pause_at_message;
    struct weir_fault fault;
    struct weir_arena arena;
};

static void cancel_if(struct owner *o, enum at_event at)
{
    if (o->cancel_at == at) {
        weir_grpc_call_cancel(o->call);
        o->call = NULL;
    }
}

static void on_message(void *ctx, struct weir_slice bytes)
{
    struct owner *o = ctx;
    weir_buf_printf(&o->trace, "<%.*s>", (int)bytes.n, bytes.p);
    if (o->pause_at_message) {
        weir_grpc_call_pause(o->call);
    }
    cancel_if(o, AT_MESSAGE);
}

static void on_room(void *ctx)
{
    struct owner *o = ctx;
    weir_buf_printf(&o->trace, "room ");
    cancel_if(o, AT_ROOM);
}

static void on_done(void *ctx, const struct weir_grpc_result *r)
{
    struct owner *o = ctx;
    weir_buf_printf(&o->trace, "%s %s%s", weir_grpc_status_name(r->status),
                    r->err == 0 ? "ok" : weir_err_name(r->err), r->is_from_peer ? " told" : "");
    weir_buf_printf(&o->trace, "%s%.*s", r->text.n != 0 ? " '" : "", (int)r->text.n, r->text.p);
    weir_buf_printf(&o->trace, "%s%.*s", r->bytes.n != 0 ? " =" : "", (int)r->bytes.n, r->bytes.p);
    weir_grpc_result_fault(r, &o->arena, &o->fault);
    cancel_if(o, AT_DONE);
    o->call = NULL;
}

static const struct weir_grpc_call_events events = {on_message, on_room, on_done};

static int set_up(void **state)
{
    struct owner *o = weir_mem_zalloc(sizeof *o);
    assert_int_equal(weir_loop_init(&o->loop), 0);
    o->target = (struct weir_target){.request_timeout_ms = 600000, .max_retries = 2};
    o->request = (struct weir_grpc_request){.loop = &o->loop,
                                            .target = &o->target,
                                            .context = &o->context,
                                            .path = WEIR_GRPC_CHUNK,
                                            .model_id = WEIR_SLICE("en"),
                                            .max_message_bytes = 16};
    *state = o;
    return 0;
}

static int tear_down(void **state)
{
    struct owner *o = *state;
    if (o->call != NULL) {
        weir_grpc_call_cancel(o->call);
    }
    fake_forget();
    weir_loop_dispose(&o->loop);
    weir_buf_dispose(&o->trace);
    weir_arena_dispose(&o->arena);
    free(o);
    return 0;
}

static const ProtobufCMessage *hello(void)
{
    static Caikit__Runtime__Chunkers__ChunkerTokenizationTaskRequest m =
        CAIKIT__RUNTIME__CHUNKERS__CHUNKER_TOKENIZATION_TASK_REQUEST__INIT;
    WEIR_PROTO_SET_TEXT(&m, text, WEIR_SLICE("hello"));
    return &m.base;
}

static void start(struct owner *o)
{
    o->call = weir_grpc_call_start(NULL, &o->request, &events, o);
}

static void start_unary(struct owner *o)
{
    o->request.message = hello();
    start(o);
}

static void start_stream(struct owner *o)
{
    o->request.has_stream_answer = true;
    start_unary(o);
}

#define assert_trace(o, want)                                                                      \
    do {                                                                                           \
        assert_string_equal(weir_buf_cstr(&(o)->trace), want);                                     \
        weir_buf_clear(&(o)->trace);                                                               \
    } while (0)

static void unary(void **state)
{
    struct owner *o = *state;
    start_unary(o);
    const struct weir_call *c = fake_last();
    assert_string_equal(weir_buf_cstr(&fake_last()->head),
                        "POST /caikit.runtime.Chunkers.ChunkersService/"
                        "ChunkerTokenizationTaskPredict\n"
                        "content-type: application/grpc\nte: trailers\ngrpc-timeout: 600000m\n"
                        "mm-model-id: en\n");
    assert_true(weir_slice_eq(weir_buf_slice(&c->body), WEIR_SLICE("\0\0\0\0\7\x0a\5hello")));
    assert_true(c->has_body_end && !c->request.may_retry);
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\0"));
    fake_body(WEIR_SLICE("\0\5wor"));
    fake_body(WEIR_SLICE("ld"));
    assert_trace(o, "");
    fake_done(0, "grpc-status: 0");
    assert_trace(o, "OK ok told =world");
}

static void an_empty_message_is_one(void **state)
{
    struct owner *o = *state;
    start_unary(o);
    fake_head(200, "Content-Type: application/grpc+proto");
    fake_body(WEIR_SLICE("\0\0\0\0\0"));
    fake_done(0, "grpc-status: 0\ngrpc-message: ");
    assert_trace(o, "OK ok told");
}

static void a_stream_of_answers(void **state)
{
    struct owner *o = *state;
    start_stream(o);
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\0\0\1a\0\0\0\0\2bc\0\0"));
    assert_trace(o, "<a><bc>");
    fake_body(WEIR_SLICE("\0\0\1d"));
    assert_trace(o, "<d>");
    fake_done(0, "grpc-status: 0");
    assert_trace(o, "OK ok told");
}

static void a_stream_both_ways(void **state)
{
    struct owner *o = *state;
    o->request.has_stream_answer = true;
    o->request.path = WEIR_GRPC_CHUNK_STREAM;
    start(o);
    struct weir_call *c = fake_last();
    assert_false(c->has_body_end);
    assert_int_equal(weir_grpc_call_send(o->call, hello()), WEIR_FLOW_OK);
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\0\0\1a"));
    c->is_full = true;
    assert_int_equal(weir_grpc_call_send(o->call, hello()), WEIR_FLOW_FULL);
    assert_int_equal(c->body.n, 24);
    assert_trace(o, "<a>");
    fake_room();
    assert_trace(o, "room ");
    weir_grpc_call_end(o->call);
    assert_true(c->has_body_end);
    fake_done(0, "grpc-status: 0");
    assert_trace(o, "OK ok told");
}

/* The service may end before we do. */
static void sending_after_the_end_goes_nowhere(void **state)
{
    struct owner *o = *state;
    o->request.has_stream_answer = true;
    o->pause_at_message = true;
    start(o);
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\0\0\1a"));
    fake_done(0, "grpc-status: 3");
    assert_int_equal(weir_grpc_call_send(o->call, hello()), WEIR_FLOW_OK);
    weir_grpc_call_end(o->call);
    weir_grpc_call_resume(o->call);
    fake_turn(&o->loop);
    assert_trace(o, "<a>InvalidArgument EPEER told");
}

struct answer {
    int status;
    const char *head;
    struct weir_slice body;
    int err; /* of the HTTP call */
    const char *trailers;
    const char *want;
};

#define EMPTY                                                                                      \
    {                                                                                              \
        "", 0                                                                                      \
    }
#define BYTES(literal)                                                                             \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

static const struct answer answers[] = {
    /* the service's own word: in trailers, in the head alone, with a broken end */
    {200, GRPC_HEAD, EMPTY, 0, "grpc-status: 5\ngrpc-message: no%20such",
     "NotFound EPEER told 'no such"},
    {200, GRPC_HEAD "\ngrpc-status: 3\ngrpc-message: 100%25", EMPTY, 0, NULL,
     "InvalidArgument EPEER told '100%"},
    {200, GRPC_HEAD "\ngrpc-status: 14", EMPTY, 0, NULL, "Unavailable EPEER told"},
    {200, GRPC_HEAD, BYTES("\0\0\0\0\1a"), 0, "grpc-status: 8", "ResourceExhausted EPEER told"},
    {200, GRPC_HEAD, EMPTY, WEIR_ERESET, "grpc-status: 7", "PermissionDenied EPEER told"},
    {200, GRPC_HEAD, EMPTY, 0, "grpc-status: 99", "Unknown EPEER told"},
    {200, GRPC_HEAD, EMPTY, 0, "grpc-status: x", "Unknown EPEER told"},
    /* HTTP's, where there is no other */
    {503, "content-type: text/html", EMPTY, 0, NULL, "Unavailable EPEER told"},
    {404, "", EMPTY, 0, NULL, "Unimplemented EPEER told"},
    {500, "content-type: text/plain", EMPTY, 0, NULL, "Unknown EPEER told"},
    {400, GRPC_HEAD "\ngrpc-status: 16\ngrpc-message: key", EMPTY, 0, NULL,
     "Unauthenticated EPEER told 'key"},
    {500, GRPC_HEAD "\ngrpc-status: 0", EMPTY, 0, NULL, "Unknown EPEER told"},
    /* not gRPC */
    {200, "content-type: application/json", BYTES("{}"), 0, NULL, "Unknown EPEER"},
    {200, "content-type: application/grpc-web", EMPTY, 0, "grpc-status: 0", "Unknown EPEER"},
    {200, "", EMPTY, 0, "grpc-status: 0", "Unknown EPEER"},
    {200, GRPC_HEAD, BYTES("\0\0\0\0\1a"), 0, NULL, "Unknown EPEER"},
    {200, GRPC_HEAD, BYTES("\0\0\0\0\1a"), 0, "x: y", "Unknown EPEER"},
    {200, GRPC_HEAD, BYTES("\0\0\0\0\2a"), 0, "grpc-status: 0", "Internal EPEER"},
    {200, GRPC_HEAD, EMPTY, 0, "grpc-status: 0", "Internal EPEER"},
    {200, GRPC_HEAD "\ngrpc-status: 0", EMPTY, 0, NULL, "Internal EPEER"},
    {200, GRPC_HEAD, BYTES("\0\0\0\0\0\0\0\0\0\0"), 0, "grpc-status: 0", "Internal EPEER"},
    {200, GRPC_HEAD, BYTES("\1\0\0\0\1a"), 0, "grpc-status: 0", "Internal EPEER"},
    {200, GRPC_HEAD, BYTES("\7"), 0, "grpc-status: 0", "Internal EPEER"},
    {200, GRPC_HEAD, BYTES("\0\0\0\0\x11"), 0, "grpc-status: 0", "ResourceExhausted ELIMIT"},
    /* nothing came, or not all of it */
    {0, NULL, EMPTY, WEIR_EREFUSED, NULL, "Unavailable EREFUSED"},
    {0, NULL, EMPTY, WEIR_EUNREACHABLE, NULL, "Unavailable EUNREACHABLE"},
    {0, NULL, EMPTY, WEIR_ECLOSED, NULL, "Unavailable ECLOSED"},
    {0, NULL, EMPTY, WEIR_ETLS, NULL, "Unavailable ETLS"},
    {0, NULL, EMPTY, WEIR_EBUSY, NULL, "Unavailable EBUSY"},
    {0, NULL, EMPTY, WEIR_ETIMEOUT, NULL, "DeadlineExceeded ETIMEOUT"},
    {0, NULL, EMPTY, WEIR_EPROTO, NULL, "Internal EPROTO"},
    {0, NULL, EMPTY, WEIR_ECANCELED, NULL, "Cancelled ECANCELED"},
    {200, GRPC_HEAD, BYTES("\0\0\0\0\1a"), WEIR_ERESET, NULL, "Unavailable ERESET"},
    {200, GRPC_HEAD "\ngrpc-status: 0", EMPTY, WEIR_ETIMEOUT, NULL, "DeadlineExceeded ETIMEOUT"},
};

static void what_an_answer_becomes(void **state)
{
    struct owner *o = *state;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        const struct answer *a = &answers[i];
        start_unary(o);
        if (a->status != 0) {
            fake_head(a->status, a->head);
        }
        if (a->body.n != 0 && !fake_last()->is_over) {
            fake_body(a->body);
        }
        if (!fake_last()->is_over) {
            fake_done(a->err, a->trailers);
        }
        assert_null(o->call);
        assert_trace(o, a->want);
        fake_forget();
    }
}

static void what_came_before_the_break_is_handed_out(void **state)
{
    struct owner *o = *state;
    start_stream(o);
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\0\0\1a\0\0\0\0\1b\1\0\0\0\1c"));
    assert_true(fake_last()->is_cancelled);
    assert_trace(o, "<a><b>Internal EPEER");
}

static void a_pause_holds_messages_and_the_end(void **state)
{
    struct owner *o = *state;
    o->pause_at_message = true;
    start_stream(o);
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\0\0\1a\0\0\0\0\1b\0\0\0\0"));
    assert_trace(o, "<a>");
    assert_true(fake_last()->is_paused);
    weir_grpc_call_resume(o->call);
    assert_false(fake_last()->is_paused);
    assert_trace(o, ""); /* not from inside resume */
    fake_turn(&o->loop);
    assert_trace(o, "<b>");
    weir_grpc_call_resume(o->call);
    fake_body(WEIR_SLICE("\1c\0\0\0\0\1d"));
    assert_trace(o, ""); /* the turn has not come yet */
    fake_turn(&o->loop);
    assert_trace(o, "<c>");
    fake_done(WEIR_ERESET, NULL);
    fake_turn(&o->loop);
    assert_trace(o, "");
    weir_grpc_call_resume(o->call);
    fake_turn(&o->loop);
    assert_trace(o, "<d>");
    o->pause_at_message = false;
    weir_grpc_call_resume(o->call);
    fake_turn(&o->loop);
    assert_trace(o, "Unavailable ERESET");
}

static void cancelling(void **state)
{
    struct owner *o = *state;
    start_stream(o);
    weir_grpc_call_cancel(o->call);
    assert_true(fake_last()->is_cancelled);

    o->cancel_at = AT_MESSAGE;
    start_stream(o);
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\0\0\1a\0\0\0\0\1b"));
    assert_true(fake_last()->is_cancelled);
    assert_trace(o, "<a>");

    o->cancel_at = AT_DONE;
    start_unary(o);
    fake_done(WEIR_ERESET, NULL);
    assert_trace(o, "Unavailable ERESET");

    o->cancel_at = AT_ROOM;
    o->request.message = NULL;
    start(o);
    fake_room();
    assert_true(fake_last()->is_cancelled);
    assert_trace(o, "room ");

    /* with messages waiting to be handed out */
    o->cancel_at = NEVER;
    o->pause_at_message = true;
    start_stream(o);
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\0\0\1a\0\0\0\0\1b"));
    weir_grpc_call_resume(o->call);
    weir_grpc_call_cancel(o->call);
    o->call = NULL;
    fake_turn(&o->loop);
    assert_trace(o, "<a>");
}

static void pass_time(struct owner *o, uint64_t ms)
{
    weir_timers_run(&o->loop.timers, weir_loop_now_ms(&o->loop) + ms);
}

static void unavailable_is_tried_again(void **state)
{
    struct owner *o = *state;
    o->request.may_retry = true;
    start_unary(o);
    fake_done(WEIR_EREFUSED, NULL);
    assert_int_equal(fake_n_calls, 1);
    pass_time(o, 24);
    assert_int_equal(fake_n_calls, 1);
    pass_time(o, 50);
    assert_int_equal(fake_n_calls, 2);
    fake_head(200, GRPC_HEAD "\ngrpc-status: 14\ngrpc-message: starting");
    fake_done(0, NULL);
    pass_time(o, 49);
    assert_int_equal(fake_n_calls, 2);
    pass_time(o, 100);
    assert_int_equal(fake_n_calls, 3);
    assert_true(
        weir_slice_eq(weir_buf_slice(&fake_last()->body), weir_buf_slice(&fake_calls[0]->body)));
    fake_head(503, NULL);
    assert_trace(o, "Unavailable EPEER told");
}

static void a_retry_succeeds(void **state)
{
    struct owner *o = *state;
    o->request.may_retry = true;
    start_unary(o);
    fake_head(502, NULL);
    weir_grpc_call_pause(o->call);
    pass_time(o, 50);
    assert_true(fake_last()->is_paused);
    weir_grpc_call_resume(o->call);
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\0\0\1a"));
    fake_done(0, "grpc-status: 0");
    assert_trace(o, "OK ok told =a");
}

static void what_is_not_tried_again(void **state)
{
    struct owner *o = *state;
    o->request.may_retry = true;
    /* something of the answer has come */
    start_stream(o);
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0"));
    fake_done(WEIR_ERESET, NULL);
    assert_trace(o, "Unavailable ERESET");
    /* other statuses, and what is our own shortage */
    start_unary(o);
    fake_done(0, "grpc-status: 13");
    start_unary(o);
    fake_done(WEIR_EBUSY, NULL);
    start_unary(o);
    fake_done(WEIR_ETIMEOUT, NULL);
    weir_buf_clear(&o->trace);
    /* the time would be over */
    o->context.deadline_ms = weir_loop_now_ms(&o->loop) + 20;
    start_unary(o);
    fake_done(WEIR_EREFUSED, NULL);
    assert_trace(o, "Unavailable EREFUSED");
    assert_int_equal(fake_n_calls, 5);
    /* cancelled while waiting */
    o->context.deadline_ms = 0;
    start_unary(o);
    fake_done(WEIR_EREFUSED, NULL);
    weir_grpc_call_cancel(o->call);
    o->call = NULL;
    pass_time(o, 100);
    assert_int_equal(fake_n_calls, 6);
    assert_trace(o, "");
}

static bool has_line(struct weir_slice text, const char *line)
{
    while (text.n != 0) {
        if (weir_slice_eq_cstr(weir_slice_cut(&text, '\n'), line)) {
            return true;
        }
    }
    return false;
}

static void the_nearer_deadline_counts(void **state)
{
    struct owner *o = *state;
    o->context.deadline_ms = weir_loop_now_ms(&o->loop) + 1500;
    o->request.model_id = WEIR_SLICE("");
    start_unary(o);
    assert_true(has_line(weir_buf_slice(&fake_last()->head), "grpc-timeout: 1500m"));
    assert_int_equal(fake_last()->request.context->deadline_ms, o->context.deadline_ms);
    weir_grpc_call_cancel(o->call);

    o->target.request_timeout_ms = 700;
    start_unary(o);
    assert_true(has_line(weir_buf_slice(&fake_last()->head), "grpc-timeout: 700m"));
    weir_grpc_call_cancel(o->call);

    o->request.context = NULL;
    o->target.request_timeout_ms = 0;
    start_unary(o);
    assert_int_equal(fake_last()->request.n_fields, 2);
}

static void a_request_that_is_packed_already(void **state)
{
    struct owner *o = *state;
    o->request.packed = WEIR_SLICE("\x1f\x8b\x08");
    start(o);
    assert_false(has_line(weir_buf_slice(&fake_last()->head), "grpc-encoding: gzip"));
    struct weir_slice body = weir_buf_slice(&fake_last()->body);
    assert_true(weir_slice_eq(body, WEIR_SLICE("\0\0\0\0\3\x1f\x8b\x08")));
    weir_grpc_call_cancel(o->call);

    o->request.is_gzip = true;
    start(o);
    assert_true(has_line(weir_buf_slice(&fake_last()->head), "grpc-encoding: gzip"));
    body = weir_buf_slice(&fake_last()->body);
    assert_true(weir_slice_eq(body, WEIR_SLICE("\1\0\0\0\3\x1f\x8b\x08")));
}

static void a_model_id_must_be_a_header_value(void **state)
{
    struct owner *o = *state;
    static const char *const bad[] = {"a\nb", "a\x7f", "\xc3\xa4", " a", "a ", "a\tb"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        o->request.model_id = weir_slice_cstr(bad[i]);
        start_unary(o);
        assert_trace(o, "");
        fake_turn(&o->loop);
        assert_trace(o, "InvalidArgument EINVAL");
        assert_int_equal(o->fault.status, 400);
    }
    assert_int_equal(fake_n_calls, 0);
    start_unary(o);
    weir_grpc_call_cancel(o->call);
    o->call = NULL;
    fake_turn(&o->loop);
    assert_trace(o, "");
}

static void faults(void **state)
{
    struct owner *o = *state;
    start_unary(o);
    fake_head(200, GRPC_HEAD "\ngrpc-status: 5\ngrpc-message: no%0Amodel");
    fake_done(0, NULL);
    assert_int_equal(o->fault.err, WEIR_EPEER);
    assert_int_equal(o->fault.status, 404);
    assert_true(weir_slice_eq_cstr(o->fault.message, "no model"));
    assert_true(weir_slice_eq_cstr(o->fault.why, "gRPC status NotFound: no\nmodel"));
    start_unary(o);
    fake_head(503, "server: proxy");
    assert_int_equal(o->fault.status, 503);
    assert_true(weir_slice_eq_cstr(o->fault.why, "HTTP status 503"));
    /* a connection that is not there is nobody's answer */
    start_unary(o);
    fake_done(WEIR_EREFUSED, NULL);
    assert_int_equal(o->fault.err, WEIR_EREFUSED);
    assert_int_equal(o->fault.status, 0);
    assert_int_equal(o->fault.message.n, 0);
    assert_true(weir_slice_eq_cstr(o->fault.why, "the fake says so"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unary),
        TEST(an_empty_message_is_one),
        TEST(a_stream_of_answers),
        TEST(a_stream_both_ways),
        TEST(sending_after_the_end_goes_nowhere),
        TEST(what_an_answer_becomes),
        TEST(what_came_before_the_break_is_handed_out),
        TEST(a_pause_holds_messages_and_the_end),
        TEST(cancelling),
        TEST(unavailable_is_tried_again),
        TEST(a_retry_succeeds),
        TEST(what_is_not_tried_again),
        TEST(the_nearer_deadline_counts),
        TEST(a_request_that_is_packed_already),
        TEST(a_model_id_must_be_a_header_value),
        TEST(faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
