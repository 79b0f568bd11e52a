/* Calls over HTTP/1.1 against a peer that follows the script to the byte. */
#include "unit/client/asker.h"

static const char OK[] = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n[[]]";

static struct peer *answer_next(struct stage *s, const char *answer)
{
    size_t i = s->n_peers;
    stage_run(s, s->n_peers > i && peer_has_request(&s->peers[i]));
    peer_say(&s->peers[i], answer);
    return &s->peers[i];
}

static void a_call_gets_its_answer(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    answer_next(s, OK);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_true(p.has_head);
    assert_int_equal(p.status, 200);
    assert_true(asker_has(&p.body, "[[]]"));
    assert_true(asker_has(&p.fields, "content-length: 4\n"));
    asker_dispose(&p);
}

static void the_request_is_complete_and_nothing_is_in_it_twice(void **state)
{
    struct stage *s = *state;
    struct weir_log_ctx log = {0};
    weir_trace_start(&log.trace, true);
    const struct weir_http_field passed[] = {
        {WEIR_SLICE("X-Tenant"), WEIR_SLICE("blue")},
        {WEIR_SLICE("x-tenant"), WEIR_SLICE("red")},
        {WEIR_SLICE("Authorization"), WEIR_SLICE("Bearer theirs")},
        {WEIR_SLICE("detector-id"), WEIR_SLICE("theirs")},
        {WEIR_SLICE("Content-Length"), WEIR_SLICE("5")},
        {WEIR_SLICE("Transfer-Encoding"), WEIR_SLICE("chunked")},
        {WEIR_SLICE("accept-encoding"), WEIR_SLICE("gzip")},
        {WEIR_SLICE("traceparent"), WEIR_SLICE("theirs")},
    };
    const struct weir_http_field fields[] = {
        {WEIR_SLICE("content-type"), WEIR_SLICE("application/json")},
        {WEIR_SLICE("detector-id"), WEIR_SLICE("hap-en")},
    };
    struct weir_call_context context = {.log = &log, .passthrough = passed, .n_passthrough = 8};
    struct weir_call_request r = stage_request(s);
    s->target.api_token = WEIR_SLICE("secret");
    s->target.path_prefix = WEIR_SLICE("/x");
    r.context = &context;
    r.fields = fields;
    r.n_fields = 2;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = answer_next(s, OK);
    stage_run(s, p.n_done == 1);

    char trace_id[WEIR_TRACE_ID_BYTES + 1];
    weir_trace_id_hex(&log.trace, trace_id);
    char want[1024];
    int n = snprintf(want, sizeof want,
                     "POST /x/api/v1/text/contents HTTP/1.1\r\nhost: 127.0.0.1:%u\r\n"
                     "authorization: Bearer secret\r\ncontent-type: application/json\r\n"
                     "detector-id: hap-en\r\nx-tenant: blue\r\nuser-agent: weir/%s\r\n"
                     "traceparent: 00-%s-",
                     (unsigned)s->listener.port, WEIR_VERSION, trace_id);
    const char *got = weir_buf_cstr(&peer->got);
    assert_memory_equal(got, want, (size_t)n);
    struct weir_trace sent; /* got + n stands behind 00-, the trace's id and a dash */
    const size_t before_span = 3 + WEIR_TRACE_ID_BYTES + 1;
    struct weir_slice header = weir_slice_make(got + n - before_span, WEIR_TRACE_PARENT_BYTES);
    assert_int_equal(weir_trace_parse(header, &sent), 0);
    assert_memory_not_equal(sent.span_id, log.trace.span_id, sizeof sent.span_id);
    assert_string_equal(got + n + WEIR_TRACE_SPAN_ID_BYTES,
                        "-01\r\ncontent-length: 18\r\n\r\n{\"contents\":[\"a\"]}");
    asker_dispose(&p);
}

static void without_a_context_there_is_a_trace_all_the_same(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.method = WEIR_SLICE("GET");
    r.path = WEIR_SLICE("/health");
    r.body = WEIR_SLICE("");
    r.n_fields = 0;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = answer_next(s, OK);
    stage_run(s, p.n_done == 1);
    assert_true(peer_heard(peer, "\r\ntraceparent: 00-"));
    assert_false(peer_heard(peer, "content-length"));
    assert_false(peer_heard(peer, "authorization"));
    asker_dispose(&p);
}

static void a_field_that_breaks_out_of_its_line_is_not_sent(void **state)
{
    struct stage *s = *state;
    const struct weir_http_field evil = {WEIR_SLICE("x-id"), WEIR_SLICE("a\r\nx-admin: 1")};
    struct weir_call_request r = stage_request(s);
    r.fields = &evil;
    r.n_fields = 1;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, WEIR_EINVAL);
    stage_spin(s);
    assert_int_equal(s->n_peers, 0);
    asker_dispose(&p);
}

static void a_path_with_a_space_is_not_sent(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.path = WEIR_SLICE("/a HTTP/1.1");
    struct asker p = {0};
    asker_ask(&p, s, &r);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, WEIR_EINVAL);
    asker_dispose(&p);
}

static void calls_share_a_connection_one_after_the_other(void **state)
{
    struct stage *s = *state;
    struct peer *peer = stage_warm_up(s);
    for (int i = 0; i < 3; i++) {
        struct asker p = {0};
        asker_start(&p, s);
        stage_run(s, peer_has_request(peer));
        peer_forget(peer);
        peer_say(peer, OK);
        stage_run(s, p.n_done == 1);
        assert_int_equal(p.err, 0);
        asker_dispose(&p);
    }
    assert_int_equal(s->n_peers, 1);
}

static void start_another(struct asker *p)
{
    struct asker *second = p + 1;
    asker_start(second, p->stage);
}

/* What on_done sets off finds the connection free. */
static void a_call_from_inside_on_done_takes_the_same_connection(void **state)
{
    struct stage *s = *state;
    struct asker p[2] = {{.at_done = start_another}};
    struct peer *peer = stage_warm_up(s);
    asker_start(&p[0], s);
    stage_run(s, peer_has_request(peer));
    peer_forget(peer);
    peer_say(peer, OK);
    stage_run(s, p[0].n_done == 1 && peer_has_request(peer));
    peer_say(peer, OK);
    stage_run(s, p[1].n_done == 1);
    assert_int_equal(s->n_peers, 1);
    assert_int_equal(p[1].err, 0);
    asker_dispose(&p[0]);
    asker_dispose(&p[1]);
}

static void calls_at_once_have_connections_of_their_own(void **state)
{
    struct stage *s = *state;
    struct asker p[4] = {0};
    for (int i = 0; i < 4; i++) {
        asker_start(&p[i], s);
    }
    stage_run(s, s->n_peers == 4);
    for (int i = 0; i < 4; i++) {
        stage_run(s, peer_has_request(&s->peers[i]));
        peer_say(&s->peers[i], OK);
    }
    stage_run(s, p[0].n_done + p[1].n_done + p[2].n_done + p[3].n_done == 4);
    assert_int_equal(stage_pool(s)->n_idle, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(p[i].err, 0);
        asker_dispose(&p[i]);
    }
}

static void a_stream_comes_as_it_comes(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = answer_next(s, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n"
                                       "content-type: text/event-stream\r\n\r\n");
    stage_run(s, p.n_head == 1);
    assert_int_equal(p.status, 200);
    peer_say(peer, "3\r\none\r\n");
    stage_run(s, p.body.n == 3);
    peer_say(peer, "5\r\n two.\r\n0\r\n\r\n");
    stage_run(s, p.n_done == 1);
    assert_true(asker_has(&p.body, "one two."));
    assert_int_equal(p.err, 0);
    assert_int_equal(stage_pool(s)->n_idle, 1);
    asker_dispose(&p);
}

/* Byte by byte, in every mode of framing. */
static void an_answer_may_come_in_drops(void **state)
{
    struct stage *s = *state;
    static const char *const ANSWERS[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n[[]]",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n2;x=y\r\n[]\r\n1\r\n]\r\n"
        "0\r\nx-sum: 1\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
        "HTTP/1.1 200\r\ncontent-length: 4\r\n\r\n[[]]",
    };
    struct peer *peer = stage_warm_up(s);
    for (size_t k = 0; k < sizeof ANSWERS / sizeof ANSWERS[0]; k++) {
        struct asker p = {0};
        asker_start(&p, s);
        stage_run(s, peer_has_request(peer));
        peer_forget(peer);
        for (const char *c = ANSWERS[k]; *c != '\0'; c++) {
            assert_int_equal(p.n_done, 0);
            peer_say_bytes(peer, c, 1);
            stage_turn(s, UV_RUN_NOWAIT);
        }
        stage_run(s, p.n_done == 1);
        assert_int_equal(p.err, 0);
        assert_true(asker_has(&p.body, "[[]]"));
        asker_dispose(&p);
    }
    assert_int_equal(s->n_peers, 1);
}

static void a_body_may_end_with_the_connection(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = answer_next(s, "HTTP/1.1 200 OK\r\n\r\n[[");
    stage_spin(s);
    assert_int_equal(p.n_done, 0);
    peer_say(peer, "]]");
    weir_sock_shutdown(&peer->sock);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_true(asker_has(&p.body, "[[]]"));
    assert_int_equal(stage_pool(s)->n_idle, 0);
    asker_dispose(&p);
}

static void answers_without_a_body(void **state)
{
    struct stage *s = *state;
    struct peer *peer = stage_warm_up(s);
    const struct {
        const char *method;
        const char *answer;
        int status;
    } cases[] = {
        {"HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 400\r\n\r\n", 200},
        {"POST", "HTTP/1.1 204 No Content\r\n\r\n", 204},
        {"GET", "HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", 304},
        {"POST", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_call_request r = stage_request(s);
        r.method = weir_slice_cstr(cases[i].method);
        r.body = WEIR_SLICE("");
        struct asker p = {0};
        asker_ask(&p, s, &r);
        stage_run(s, peer_has_request(peer));
        peer_forget(peer);
        peer_say(peer, cases[i].answer);
        stage_run(s, p.n_done == 1);
        assert_int_equal(p.err, 0);
        assert_int_equal(p.status, cases[i].status);
        assert_int_equal(p.body.n, 0);
        asker_dispose(&p);
    }
    assert_int_equal(s->n_peers, 1);
}

static void a_large_request_goes_out_bit_by_bit(void **state)
{
    struct stage *s = *state;
    enum { N = 4 * 1024 * 1024 };
    char *big = malloc(N);
    memset(big, 'x', N);
    struct weir_call_request r = stage_request(s);
    r.body = weir_slice_make(big, N);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    stage_run(s, s->n_peers == 1);
    s->peers[0].drop = true;
    stage_run(s, s->peers[0].n_got > N);
    peer_say(&s->peers[0], OK);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_int_equal(stage_pool(s)->n_idle, 1);
    asker_dispose(&p);
    free(big);
}

/* An answer to a request that was not read to its end is an answer, but the connection is done. */
static void an_early_answer_is_taken_and_the_connection_is_not(void **state)
{
    struct stage *s = *state;
    enum { N = 8 * 1024 * 1024 };
    char *big = malloc(N);
    memset(big, 'x', N);
    struct weir_call_request r = stage_request(s);
    r.body = weir_slice_make(big, N);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    stage_run(s, s->n_peers == 1 && s->peers[0].n_got > 0);
    weir_sock_pause(&s->peers[0].sock);
    peer_say(&s->peers[0], "HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\n{}");
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_int_equal(p.status, 413);
    assert_int_equal(stage_pool(s)->n_idle, 0);
    asker_dispose(&p);
    free(big);
}

static void a_connection_that_is_to_close_is_not_kept(void **state)
{
    struct stage *s = *state;
    static const char *const ANSWERS[] = {
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n[]",
        "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n[]",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]HTTP/1.1 200 OK\r\n",
    };
    for (size_t i = 0; i < 3; i++) {
        struct asker p = {0};
        asker_start(&p, s);
        answer_next(s, ANSWERS[i]);
        stage_run(s, p.n_done == 1);
        assert_int_equal(p.err, 0);
        assert_true(asker_has(&p.body, "[]"));
        assert_int_equal(stage_pool(s)->n_idle, 0);
        asker_dispose(&p);
    }
    assert_int_equal(s->n_peers, 3);
}

/* Pausing */

static void pause_in_body(struct asker *p)
{
    weir_call_pause(p->call);
}

static void pausing_holds_the_answer_back(void **state)
{
    struct stage *s = *state;
    enum { N = 16 * 1024 * 1024 };
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p = {.at_body = pause_in_body};
    asker_ask(&p, s, &r);
    struct peer *peer = answer_next(s, "HTTP/1.1 200 OK\r\ncontent-length: 16777216\r\n\r\n");
    char *big = malloc(N);
    memset(big, 'y', N);
    peer_say_bytes(peer, big, N);
    stage_run(s, p.n_body == 1);
    stage_spin(s);
    assert_int_equal(p.n_body, 1);
    assert_true(weir_sock_pending(&peer->sock) != 0);
    while (p.n_done == 0) {
        int n = p.n_body;
        weir_call_resume(p.call);
        assert_int_equal(p.n_body, n);
        stage_run(s, p.n_body > n || p.n_done == 1);
    }
    assert_int_equal(p.err, 0);
    assert_int_equal(p.body.n, N);
    assert_true(p.n_body > 10);
    assert_int_equal(stage_pool(s)->n_idle, 1);
    free(big);
    asker_dispose(&p);
}

static void a_pause_before_the_answer_holds_it_too(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    weir_call_pause(p.call);
    answer_next(s, OK);
    stage_spin(s);
    assert_int_equal(p.n_head + p.n_done, 0);
    weir_call_resume(p.call);
    stage_run(s, p.n_done == 1);
    assert_true(asker_has(&p.body, "[[]]"));
    asker_dispose(&p);
}

/* The end of the connection must not overtake what was read before it. */
static void paused_bytes_survive_the_end_of_the_connection(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p = {.at_body = pause_in_body};
    asker_ask(&p, s, &r);
    struct peer *peer = answer_next(
        s, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n");
    weir_sock_shutdown(&peer->sock);
    stage_run(s, p.n_body == 1);
    stage_spin(s);
    assert_int_equal(p.n_body, 1);
    weir_call_resume(p.call);
    stage_run(s, p.n_body == 2);
    weir_call_resume(p.call);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_true(asker_has(&p.body, "ab"));
    asker_dispose(&p);
}

/* Queue */

static void beyond_the_limit_calls_wait_and_beyond_that_they_fail(void **state)
{
    struct stage *s = *state;
    s->target.max_concurrent = 2;
    s->target.max_waiting = 2;
    struct asker p[5] = {0};
    for (int i = 0; i < 5; i++) {
        asker_start(&p[i], s);
    }
    stage_run(s, p[4].n_done == 1);
    assert_int_equal(p[4].err, WEIR_EBUSY);
    stage_run(s, s->n_peers == 2 && peer_has_request(&s->peers[0]));
    stage_spin(s);
    assert_int_equal(s->n_peers, 2);
    for (int i = 0; i < 4; i++) {
        struct peer *peer = &s->peers[i % 2];
        stage_run(s, peer_has_request(peer));
        peer_forget(peer);
        peer_say(peer, OK);
        stage_run(s, p[i].n_done == 1);
        assert_int_equal(p[i].err, 0);
    }
    assert_int_equal(s->n_peers, 2);
    assert_int_equal(stage_pool(s)->n_active + stage_pool(s)->n_calls, 0);
    for (int i = 0; i < 5; i++) {
        asker_dispose(&p[i]);
    }
}

static void cancelling_makes_room_in_the_queue(void **state)
{
    struct stage *s = *state;
    s->target.max_concurrent = 1;
    s->target.max_waiting = 1;
    struct asker p[3] = {0};
    asker_start(&p[0], s);
    asker_start(&p[1], s);
    asker_cancel(&p[1]);
    asker_start(&p[2], s);
    stage_run(s, s->n_peers == 1 && peer_has_request(&s->peers[0]));
    asker_cancel(&p[0]);
    struct peer *peer = answer_next(s, OK);
    stage_run(s, p[2].n_done == 1);
    assert_int_equal(p[2].err, 0);
    assert_ptr_equal(peer, &s->peers[1]);
    assert_int_equal(p[0].n_done + p[1].n_done, 0);
    asker_dispose(&p[2]);
}

/* Cancelling */

static void cancel_in_head(struct asker *p)
{
    asker_cancel(p);
}

static void cancelling_is_possible_in_every_state(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p = {0};
    asker_ask(&p, s, &r); /* connecting */
    asker_cancel(&p);
    struct peer *peer = stage_warm_up(s);
    asker_ask(&p, s, &r); /* not sent */
    asker_cancel(&p);
    stage_run(s, peer->n_eof + peer->n_error == 1);
    assert_int_equal(peer->got.n, 0);

    peer = stage_warm_up(s);
    asker_ask(&p, s, &r); /* sent */
    stage_run(s, peer_has_request(peer));
    asker_cancel(&p);
    stage_run(s, peer->n_eof + peer->n_error == 1);

    asker_hook_fn hooks[] = {cancel_in_head, NULL};
    for (int i = 0; i < 2; i++) {
        struct asker in_event = {.at_head = hooks[i], .at_body = cancel_in_head};
        asker_ask(&in_event, s, &r);
        peer = answer_next(s, OK);
        stage_run(s, peer->n_eof + peer->n_error == 1);
        assert_int_equal(in_event.n_done, 0);
        assert_int_equal(in_event.n_body, i);
        asker_dispose(&in_event);
    }
    assert_int_equal(p.n_head + p.n_done, 0);
    assert_int_equal(stage_pool(s)->n_calls, 0);
}

static void cancel_in_done(struct asker *p)
{
    weir_call_cancel(p->stage->peers[0].ctx); /* harmless: it is being told its end */
}

static void cancelling_inside_on_done_does_nothing(void **state)
{
    struct stage *s = *state;
    struct asker p = {.at_done = cancel_in_done};
    asker_start(&p, s);
    s->peers[0].ctx = p.call;
    answer_next(s, OK);
    stage_run(s, p.n_done == 1);
    stage_spin(s);
    asker_dispose(&p);
}

static void closing_the_client_ends_everything_without_a_word(void **state)
{
    struct stage *s = *state;
    s->target.max_concurrent = 3;
    stage_warm_up(s);
    struct asker p[5] = {0};
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    for (int i = 0; i < 5; i++) {
        asker_ask(&p[i], s, &r);
    }
    stage_run(s, s->n_peers == 3 && peer_has_request(&s->peers[0]));
    peer_say(&s->peers[0], "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc");
    stage_run(s, p[0].body.n == 3);
    stage_close_client(s);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(p[i].n_done, 0);
        asker_dispose(&p[i]);
    }
}

static void close_client(struct asker *p)
{
    struct stage *s = p->stage;
    weir_client_close(s->client, stage_on_client_closed, s);
    s->client = NULL;
}

static void the_client_may_be_closed_from_inside_an_event(void **state)
{
    struct stage *s = *state;
    struct asker p[3] = {{.at_done = close_client}};
    for (int i = 0; i < 3; i++) {
        asker_start(&p[i], s);
    }
    stage_stop_listening(s);
    for (size_t i = 0; i < s->n_peers; i++) {
        peer_reset(&s->peers[i]);
    }
    stage_run(s, s->is_client_closed);
    assert_int_equal(p[0].n_done + p[1].n_done + p[2].n_done, 1);
    for (int i = 0; i < 3; i++) {
        asker_dispose(&p[i]);
    }
}

#define stage_test(fn) cmocka_unit_test_setup_teardown(fn, stage_setup, stage_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        stage_test(a_call_gets_its_answer),
        stage_test(the_request_is_complete_and_nothing_is_in_it_twice),
        stage_test(without_a_context_there_is_a_trace_all_the_same),
        stage_test(a_field_that_breaks_out_of_its_line_is_not_sent),
        stage_test(a_path_with_a_space_is_not_sent),
        stage_test(calls_share_a_connection_one_after_the_other),
        stage_test(a_call_from_inside_on_done_takes_the_same_connection),
        stage_test(calls_at_once_have_connections_of_their_own),
        stage_test(a_stream_comes_as_it_comes),
        stage_test(an_answer_may_come_in_drops),
        stage_test(a_body_may_end_with_the_connection),
        stage_test(answers_without_a_body),
        stage_test(a_large_request_goes_out_bit_by_bit),
        stage_test(an_early_answer_is_taken_and_the_connection_is_not),
        stage_test(a_connection_that_is_to_close_is_not_kept),
        stage_test(pausing_holds_the_answer_back),
        stage_test(a_pause_before_the_answer_holds_it_too),
        stage_test(paused_bytes_survive_the_end_of_the_connection),
        stage_test(beyond_the_limit_calls_wait_and_beyond_that_they_fail),
        stage_test(cancelling_makes_room_in_the_queue),
        stage_test(cancelling_is_possible_in_every_state),
        stage_test(cancelling_inside_on_done_does_nothing),
        stage_test(closing_the_client_ends_everything_without_a_word),
        stage_test(the_client_may_be_closed_from_inside_an_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
