/* Streams of an OpenAI-compatible server over the real client: what openai_test.c plays by hand,
 * with sockets, pools and retries in between. */
#include "model/openai.h"
#include "unit/client/stage.h"

#define HEAD "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"

struct run {
    struct weir_model_openai model;
    struct weir_model_run *run;
    struct weir_buf trace;
    bool pauses;
    bool is_done;
};

static void on_frame(void *ctx, const struct weir_model_frame *f)
{
    struct run *r = ctx;
    weir_buf_printf(&r->trace, "%.*s ", (int)f->json.n, f->json.p);
    if (r->pauses) {
        weir_model_pause(r->run);
    }
}

static void on_done(void *ctx, const struct weir_fault *f)
{
    struct run *r = ctx;
    r->is_done = true;
    weir_buf_printf(&r->trace, "%s", f == NULL ? "done" : weir_err_name(f->err));
}

static void start(struct run *r, struct stage *s)
{
    static const struct weir_model_events events = {.on_frame = on_frame, .on_done = on_done};
    struct weir_model_env env = {.loop = &s->loop,
                                 .client = s->client,
                                 .max_body_bytes = 1 << 20,
                                 .max_event_bytes = 1 << 20};
    struct weir_model_request request = {.op = WEIR_MODEL_CHAT,
                                         .is_stream = true,
                                         .model_id = WEIR_SLICE("m"),
                                         .body = WEIR_SLICE("{\"stream\":true}")};
    weir_model_openai_init(&r->model, &s->target);
    r->run = weir_model_start(&r->model.base, &env, &request, &events, r);
}

static bool has(const struct run *r, const char *trace)
{
    return weir_slice_eq_cstr(weir_buf_slice(&r->trace), trace);
}

static void end(struct run *r)
{
    weir_model_free(r->run);
    weir_buf_dispose(&r->trace);
    *r = (struct run){.pauses = false};
}

/* The peer that got the `nth` connection, once it has a request. */
static struct peer *asked(struct stage *s, size_t nth)
{
    stage_run(s, s->n_peers > nth && peer_has_request(&s->peers[nth]));
    struct peer *peer = &s->peers[nth];
    assert_true(peer_heard(peer, "POST /v1/chat/completions HTTP/1.1\r\n"));
    assert_true(peer_heard(peer, "\r\n\r\n{\"stream\":true}"));
    peer_forget(peer);
    return peer;
}

static void frames_come_as_they_come_and_the_connection_stays(void **state)
{
    struct stage *s = *state;
    struct run r = {.pauses = false};
    for (int i = 0; i < 2; i++) {
        start(&r, s);
        struct peer *peer = asked(s, 0);
        peer_say(peer, HEAD "9\r\ndata: 1\n\n\r\n");
        stage_run(s, has(&r, "1 "));
        peer_say(peer, "5\r\ndata:\r\n");
        stage_spin(s);
        peer_say(peer, "4\r\n 2\n\n\r\n");
        stage_run(s, has(&r, "1 2 "));
        /* The last chunk comes a moment after [DONE], as servers write it. */
        peer_say(peer, "e\r\ndata: [DONE]\n\n\r\n");
        stage_spin(s);
        assert_false(r.is_done);
        peer_say(peer, "0\r\n\r\n");
        stage_run(s, has(&r, "1 2 done"));
        end(&r);
    }
    assert_int_equal(s->n_peers, 1);
}

static void a_cut_connection_is_no_end(void **state)
{
    struct stage *s = *state;
    struct run r = {.pauses = false};
    start(&r, s);
    struct peer *peer = asked(s, 0);
    peer_say(peer, HEAD "9\r\ndata: 1\n\n\r\n");
    stage_run(s, has(&r, "1 "));
    peer_close(peer);
    stage_run(s, r.is_done);
    assert_false(has(&r, "1 done"));
    end(&r);
}

static void the_opening_is_tried_again(void **state)
{
    struct stage *s = *state;
    struct run r = {.pauses = false};
    start(&r, s);
    peer_say(asked(s, 0), "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n");
    peer_say(asked(s, 0), HEAD "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
    stage_run(s, has(&r, "done"));
    end(&r);
}

static void pausing_reaches_the_socket(void **state)
{
    struct stage *s = *state;
    struct run r = {.pauses = true};
    start(&r, s);
    struct peer *peer = asked(s, 0);
    peer_say(peer, HEAD "12\r\ndata: 1\n\ndata: 2\n\n\r\n");
    peer_say(peer, "9\r\ndata: 3\n\n\r\n0\r\n\r\n");
    stage_run(s, has(&r, "1 "));
    stage_spin(s);
    assert_true(has(&r, "1 "));
    weir_model_resume(r.run);
    stage_run(s, has(&r, "1 2 "));
    weir_model_resume(r.run);
    stage_run(s, has(&r, "1 2 3 "));
    stage_spin(s);
    assert_false(r.is_done);
    weir_model_resume(r.run);
    stage_run(s, has(&r, "1 2 3 done"));
    end(&r);
}

static void freeing_closes_the_connection(void **state)
{
    struct stage *s = *state;
    struct run r = {.pauses = false};
    start(&r, s);
    struct peer *peer = asked(s, 0);
    peer_say(peer, HEAD "9\r\ndata: 1\n\n\r\n");
    stage_run(s, has(&r, "1 "));
    end(&r);
    stage_run(s, peer->n_eof + peer->n_error != 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, stage_setup, stage_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(frames_come_as_they_come_and_the_connection_stays),
        TEST(a_cut_connection_is_no_end),
        TEST(the_opening_is_tried_again),
        TEST(pausing_reaches_the_socket),
        TEST(freeing_closes_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
