/* What goes wrong with a service, and what a call makes of it. */
#include "unit/client/asker.h"
#include "unit/client/full_queue.h"

static const char OK[] = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n[[]]";

static struct peer *next_request(struct stage *s, size_t i)
{
    stage_run(s, s->n_peers > i && peer_has_request(&s->peers[i]));
    return &s->peers[i];
}

static void expect_failure(struct stage *s, struct asker *p, int err, const char *why)
{
    stage_run(s, p->n_done == 1);
    assert_int_equal(p->err, err);
    if (strstr(p->why, why) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", why, p->why);
    }
    asker_dispose(p);
}

static void nobody_listens(void **state)
{
    struct stage *s = *state;
    stage_stop_listening(s);
    struct asker p = {0};
    asker_start(&p, s);
    expect_failure(s, &p, WEIR_EREFUSED, "connect to hap-en failed: connection refused");
    assert_false(p.has_head);
}

static void the_service_does_not_take_the_connection(void **state)
{
    struct stage *s = *state;
    s->target.connect_timeout_ms = 60;
    struct full_queue queue;
    s->target.port = full_queue_open(&queue, INADDR_LOOPBACK, 0);
    struct asker p = {0};
    asker_start(&p, s);
    expect_failure(s, &p, WEIR_ETIMEOUT, "connect to hap-en timed out after 0.06 s");
    full_queue_close(&queue);
}

static void a_reset_before_the_answer(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    peer_reset(next_request(s, 0));
    expect_failure(s, &p, WEIR_ERESET, "hap-en: connection reset");
    stage_spin(s);
    assert_int_equal(s->n_peers, 1); /* a fresh connection: not repeated */
}

static void an_end_before_the_answer(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    peer_close(next_request(s, 0));
    expect_failure(s, &p, WEIR_ECLOSED, "closed the connection without an answer");
    assert_int_equal(s->n_peers, 1);
}

static void a_reset_after_the_head_and_in_the_body(void **state)
{
    struct stage *s = *state;
    static const char *const PARTS[] = {
        "HTTP/1.1 20", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[[",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n"};
    for (size_t i = 0; i < 4; i++) {
        for (int is_reset = 0; is_reset < 2; is_reset++) {
            struct asker p = {0};
            size_t at = s->n_peers;
            asker_start(&p, s);
            struct peer *peer = next_request(s, at);
            peer_say(peer, PARTS[i]);
            stage_run(s, weir_sock_pending(&peer->sock) == 0);
            stage_spin(s);
            is_reset ? peer_reset(peer) : peer_close(peer);
            stage_run(s, p.n_done == 1);
            assert_int_equal(p.err, is_reset ? WEIR_ERESET : WEIR_ECLOSED);
            assert_int_equal(p.has_head, i > 0);
            assert_int_equal(p.body.n, 0);
            asker_dispose(&p);
        }
    }
}

static void an_answer_that_is_no_http(void **state)
{
    struct stage *s = *state;
    static const char *const NONSENSE[] = {
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    };
    for (size_t i = 0; i < 4; i++) {
        struct asker p = {0};
        size_t at = s->n_peers;
        asker_start(&p, s);
        peer_say(next_request(s, at), NONSENSE[i]);
        expect_failure(s, &p, WEIR_EPROTO, "hap-en: ");
    }
}

static void interim_answers_without_end(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = next_request(s, 0);
    for (int i = 0; i < 20; i++) {
        peer_say(peer, "HTTP/1.1 103 Early Hints\r\n\r\n");
    }
    expect_failure(s, &p, WEIR_EPROTO, "too many interim answers");
}

/* Limits */

static void an_answer_that_is_too_large(void **state)
{
    struct stage *s = *state;
    static const char *const ANSWERS[] = {
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n4\r\nfghi\r\n",
        "HTTP/1.1 200 OK\r\n\r\nabcdefghi",
        "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\n",
    };
    for (size_t i = 0; i < 4; i++) {
        struct weir_call_request r = stage_request(s);
        r.max_body_bytes = 8;
        struct asker p = {0};
        size_t at = s->n_peers;
        asker_ask(&p, s, &r);
        struct peer *peer = next_request(s, at);
        peer_say(peer, ANSWERS[i]);
        stage_run(s, p.n_done == 1);
        assert_int_equal(p.err, WEIR_ELIMIT);
        assert_string_equal(p.why, "the answer of hap-en is larger than 8 bytes");
        assert_int_equal(p.body.n, 0);
        stage_run(s, peer->n_eof + peer->n_error == 1);
        asker_dispose(&p);
    }
}

static void an_answer_that_is_just_small_enough(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.max_body_bytes = 4;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    peer_say(next_request(s, 0), OK);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_int_equal(p.body.n, 4);
    asker_dispose(&p);
}

static void a_head_that_is_too_large(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = next_request(s, 0);
    peer_say(peer, "HTTP/1.1 200 OK\r\nx: ");
    char *big = malloc(64 * 1024);
    memset(big, 'x', 64 * 1024);
    peer_say_bytes(peer, big, 64 * 1024);
    free(big);
    expect_failure(s, &p, WEIR_ELIMIT, "hap-en: ");
}

/* Time */

static void silence_before_the_answer(void **state)
{
    struct stage *s = *state;
    s->target.first_byte_timeout_ms = 30;
    stage_hold_time(s);
    struct asker p = {0};
    asker_start(&p, s);
    next_request(s, 0);
    stage_run_passing(s, p.n_done == 1);
    expect_failure(s, &p, WEIR_ETIMEOUT, "hap-en did not begin to answer within 0.03 s");
    stage_run(s, s->n_peers == 1 && s->peers[0].n_eof + s->peers[0].n_error == 1);
}

static void silence_in_the_answer(void **state)
{
    struct stage *s = *state;
    s->target.idle_timeout_ms = 30;
    stage_hold_time(s);
    static const char *const BEGINNINGS[] = {"HTTP/1.1 2", "HTTP/1.1 200 OK\r\n\r\n[["};
    for (size_t i = 0; i < 2; i++) {
        struct asker p = {0};
        asker_start(&p, s);
        peer_say(next_request(s, i), BEGINNINGS[i]);
        stage_run_passing(s, p.n_done == 1);
        expect_failure(s, &p, WEIR_ETIMEOUT, "hap-en sent no more of its answer for 0.03 s");
    }
}

/* As long as something comes in time, an answer may take longer than the idle time. */
static void a_slow_answer_is_not_an_idle_one(void **state)
{
    struct stage *s = *state;
    s->target.idle_timeout_ms = 1000;
    s->target.first_byte_timeout_ms = 1000;
    stage_hold_time(s);
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = next_request(s, 0);
    peer_say(peer, "HTTP/1.1 200 OK\r\n\r\n");
    for (size_t i = 1; i <= 5; i++) {
        peer_say(peer, ".");
        stage_run(s, p.body.n == i);
        stage_pass_ms(s, 999);
        stage_spin(s);
        assert_int_equal(p.n_done, 0);
    }
    peer_close(peer);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    asker_dispose(&p);
}

/* Whoever pauses cannot complain about silence. */
static void a_paused_answer_is_not_an_idle_one(void **state)
{
    struct stage *s = *state;
    s->target.idle_timeout_ms = 20;
    stage_hold_time(s);
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = next_request(s, 0);
    weir_call_pause(p.call);
    peer_say(peer, OK);
    uint64_t begin_ms = weir_loop_now_ms(&s->loop);
    stage_run_passing(s, weir_loop_now_ms(&s->loop) > begin_ms + 100);
    assert_int_equal(p.n_done, 0);
    weir_call_resume(p.call);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    asker_dispose(&p);
}

static void begin_answer(struct peer *peer)
{
    peer_say(peer, "HTTP/1.1 200 OK\r\n\r\n[[");
}

static void all_of_it_takes_too_long(void **state)
{
    struct stage *s = *state;
    s->target.request_timeout_ms = 30;
    s->at_data = begin_answer;
    stage_hold_time(s);
    struct asker p = {0};
    asker_start(&p, s);
    next_request(s, 0);
    stage_run_passing(s, p.n_done == 1);
    expect_failure(s, &p, WEIR_ETIMEOUT, "time was up before hap-en had answered");
}

static void the_deadline_of_the_request_counts_too(void **state)
{
    struct stage *s = *state;
    stage_hold_time(s);
    struct weir_call_context context = {.deadline_ms = weir_loop_now_ms(&s->loop) + 30};
    struct weir_call_request r = stage_request(s);
    r.context = &context;
    s->target.max_concurrent = 1;
    struct asker p[2] = {0};
    asker_ask(&p[0], s, &r);
    asker_ask(&p[1], s, &r); /* in the queue */
    next_request(s, 0);
    stage_run_passing(s, p[0].n_done + p[1].n_done == 2);
    expect_failure(s, &p[0], WEIR_ETIMEOUT, "time was up");
    expect_failure(s, &p[1], WEIR_ETIMEOUT, "time was up");
}

static void a_service_that_takes_no_request(void **state)
{
    struct stage *s = *state;
    enum { N = 16 * 1024 * 1024 };
    char *big = malloc(N);
    memset(big, 'x', N);
    s->target.idle_timeout_ms = 60;
    struct weir_call_request r = stage_request(s);
    r.body = weir_slice_make(big, N);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    stage_run(s, s->n_peers == 1);
    weir_sock_pause(&s->peers[0].sock);
    expect_failure(s, &p, WEIR_ETIMEOUT, "hap-en took nothing more of the request for 0.06 s");
    free(big);
}

/* Stale connections */

static void a_connection_that_closes_idle_is_dropped(void **state)
{
    struct stage *s = *state;
    struct peer *peer = stage_warm_up(s);
    assert_int_equal(stage_pool(s)->n_idle, 1);
    peer_close(peer);
    stage_run(s, stage_pool(s)->n_conns == 0);
    assert_int_equal(stage_pool(s)->n_idle, 0);
}

static void a_connection_that_speaks_idle_is_dropped(void **state)
{
    struct stage *s = *state;
    struct peer *peer = stage_warm_up(s);
    peer_say(peer, "HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n");
    stage_run(s, stage_pool(s)->n_conns == 0);
}

/* The service closes each idle connection just as it is used again. */
static void a_stale_connection_costs_a_quiet_repetition(void **state)
{
    struct stage *s = *state;
    for (int is_reset = 0; is_reset < 2; is_reset++) {
        struct peer *stale = stage_warm_up(s);
        struct asker p = {0};
        size_t at = s->n_peers;
        asker_start(&p, s);
        stage_run(s, peer_has_request(stale));
        is_reset ? peer_reset(stale) : peer_close(stale);
        peer_say(next_request(s, at), OK);
        stage_run(s, p.n_done == 1);
        assert_int_equal(p.err, 0);
        assert_true(asker_has(&p.body, "[[]]"));
        assert_int_equal(s->n_peers, at + 1);
        asker_dispose(&p);
        stage_run(s, stage_pool(s)->n_idle == 1);
        weir_client_forget(s->client, &s->target);
        stage_run(s, stage_pool(s)->n_conns == 0);
    }
}

/* The repetition does not take another connection of the same age. */
static void a_repetition_is_on_a_fresh_connection(void **state)
{
    struct stage *s = *state;
    struct asker warm[2] = {0};
    asker_start(&warm[0], s);
    asker_start(&warm[1], s);
    next_request(s, 0);
    next_request(s, 1);
    for (int i = 0; i < 2; i++) {
        peer_say(&s->peers[i], OK);
        peer_forget(&s->peers[i]);
    }
    stage_run(s, stage_pool(s)->n_idle == 2);
    struct asker p = {0};
    asker_start(&p, s);
    stage_run(s, peer_has_request(&s->peers[0]) || peer_has_request(&s->peers[1]));
    size_t used = peer_has_request(&s->peers[0]) ? 0 : 1;
    peer_close(&s->peers[used]);
    peer_say(next_request(s, 2), OK);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_int_equal(s->peers[1 - used].got.n, 0);
    for (int i = 0; i < 2; i++) {
        asker_dispose(&warm[i]);
    }
    asker_dispose(&p);
}

static void only_one_quiet_repetition(void **state)
{
    struct stage *s = *state;
    struct peer *stale = stage_warm_up(s);
    struct asker p = {0};
    asker_start(&p, s);
    stage_run(s, peer_has_request(stale));
    peer_close(stale);
    peer_close(next_request(s, 1));
    expect_failure(s, &p, WEIR_ECLOSED, "without an answer");
    assert_int_equal(s->n_peers, 2);
}

static void an_answer_that_had_begun_is_not_repeated(void **state)
{
    struct stage *s = *state;
    struct peer *stale = stage_warm_up(s);
    struct asker p = {0};
    asker_start(&p, s);
    stage_run(s, peer_has_request(stale));
    peer_say(stale, "HTTP/1.1 2");
    weir_sock_shutdown(&stale->sock);
    expect_failure(s, &p, WEIR_ECLOSED, "in the middle of its answer");
    stage_spin(s);
    assert_int_equal(s->n_peers, 1);
}

/* Retries */

static struct weir_call_request retried_request(struct stage *s)
{
    struct weir_call_request r = stage_request(s);
    r.may_retry = true;
    return r;
}

static void a_503_is_asked_again(void **state)
{
    struct stage *s = *state;
    for (int is_stream = 0; is_stream < 2; is_stream++) {
        struct weir_call_request r = retried_request(s);
        r.answer = is_stream ? WEIR_CALL_STREAM : WEIR_CALL_WHOLE;
        struct asker p = {0};
        asker_ask(&p, s, &r);
        static const char *const ANSWERS[] = {
            "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 5\r\n\r\nlater",
            "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 504 Gateway Timeout\r\ntransfer-encoding: "
            "chunked\r\n\r\n2\r\nhm\r\n0\r\n\r\n",
            OK,
        };
        struct peer *peer = next_request(s, 0);
        for (int i = 0; i < 4; i++) {
            stage_run(s, peer_has_request(peer));
            assert_int_equal(p.n_head + p.n_done, 0);
            peer_forget(peer);
            peer_say(peer, ANSWERS[i]);
        }
        stage_run(s, p.n_done == 1);
        assert_int_equal(p.err, 0);
        assert_int_equal(p.status, 200);
        assert_true(asker_has(&p.body, "[[]]"));
        assert_int_equal(s->n_peers, 1);
        asker_dispose(&p);
    }
}

static void the_last_503_is_the_answer(void **state)
{
    struct stage *s = *state;
    s->target.max_retries = 1;
    struct weir_call_request r = retried_request(s);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = next_request(s, 0);
    for (int i = 0; i < 2; i++) {
        stage_run(s, peer_has_request(peer));
        peer_forget(peer);
        peer_say(peer, "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 5\r\n\r\nlater");
    }
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_int_equal(p.status, 503);
    assert_true(asker_has(&p.body, "later"));
    asker_dispose(&p);
}

static void a_retry_must_be_wanted(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    peer_say(next_request(s, 0), "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n");
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.status, 503);
    asker_dispose(&p);
}

static void no_retry_past_the_deadline(void **state)
{
    struct stage *s = *state;
    s->target.max_retries = 20;
    struct weir_call_request r = retried_request(s);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    p.call->n_retries = 10; /* the next back-off is longer than what is left */
    peer_say(next_request(s, 0), "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 1\r\n\r\nx");
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.status, 503);
    assert_true(asker_has(&p.body, "x"));
    asker_dispose(&p);
}

static void a_refused_connection_is_tried_again(void **state)
{
    struct stage *s = *state;
    stage_stop_listening(s);
    struct weir_call_request r = retried_request(s);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    stage_run(s, p.call->state == WEIR_CALL_BACKOFF);
    assert_int_equal(weir_listener_open(&s->listener, &s->loop, "127.0.0.1", s->target.port, false),
                     0);
    s->is_listening = true;
    s->listener.on_connection = stage_on_connection;
    s->listener.ctx = s;
    assert_int_equal(weir_listener_start(&s->listener), 0);
    peer_say(next_request(s, 0), OK);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    asker_dispose(&p);
}

static void retries_of_a_refused_connection_end(void **state)
{
    struct stage *s = *state;
    s->target.max_retries = 2;
    stage_stop_listening(s);
    struct weir_call_request r = retried_request(s);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    expect_failure(s, &p, WEIR_EREFUSED, "connect to hap-en failed");
}

static void cancelling_during_a_back_off(void **state)
{
    struct stage *s = *state;
    stage_stop_listening(s);
    struct weir_call_request r = retried_request(s);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    stage_run(s, p.call->state == WEIR_CALL_BACKOFF);
    asker_cancel(&p);
    stage_spin(s);
    assert_int_equal(p.n_done, 0);
}

/* A large answer before a retry is not read to its end. */
static void a_long_503_is_cut_off(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = retried_request(s);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = next_request(s, 0);
    peer_say(peer, "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 1000000\r\n\r\n");
    char *big = malloc(100000);
    memset(big, 'x', 100000);
    peer_say_bytes(peer, big, 100000);
    free(big);
    peer_say(next_request(s, 1), OK);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_int_equal(peer->n_eof + peer->n_error, 1);
    asker_dispose(&p);
}

static void a_503_that_breaks_off_is_asked_again_too(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = retried_request(s);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = next_request(s, 0);
    peer_say(peer, "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 10\r\n\r\nx");
    weir_sock_shutdown(&peer->sock);
    peer_say(next_request(s, 1), OK);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    asker_dispose(&p);
}

#define stage_test(fn) cmocka_unit_test_setup_teardown(fn, stage_setup, stage_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        stage_test(nobody_listens),
        stage_test(the_service_does_not_take_the_connection),
        stage_test(a_reset_before_the_answer),
        stage_test(an_end_before_the_answer),
        stage_test(a_reset_after_the_head_and_in_the_body),
        stage_test(an_answer_that_is_no_http),
        stage_test(interim_answers_without_end),
        stage_test(an_answer_that_is_too_large),
        stage_test(an_answer_that_is_just_small_enough),
        stage_test(a_head_that_is_too_large),
        stage_test(silence_before_the_answer),
        stage_test(silence_in_the_answer),
        stage_test(a_slow_answer_is_not_an_idle_one),
        stage_test(a_paused_answer_is_not_an_idle_one),
        stage_test(all_of_it_takes_too_long),
        stage_test(the_deadline_of_the_request_counts_too),
        stage_test(a_service_that_takes_no_request),
        stage_test(a_connection_that_closes_idle_is_dropped),
        stage_test(a_connection_that_speaks_idle_is_dropped),
        stage_test(a_stale_connection_costs_a_quiet_repetition),
        stage_test(a_repetition_is_on_a_fresh_connection),
        stage_test(only_one_quiet_repetition),
        stage_test(an_answer_that_had_begun_is_not_repeated),
        stage_test(a_503_is_asked_again),
        stage_test(the_last_503_is_the_answer),
        stage_test(a_retry_must_be_wanted),
        stage_test(no_retry_past_the_deadline),
        stage_test(a_refused_connection_is_tried_again),
        stage_test(retries_of_a_refused_connection_end),
        stage_test(cancelling_during_a_back_off),
        stage_test(a_long_503_is_cut_off),
        stage_test(a_503_that_breaks_off_is_asked_again_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
