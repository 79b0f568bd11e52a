/* Calls over HTTP/2: what goes wrong. */
#include "unit/client/h2_peer.h"

static void expect_failure(struct stage *s, struct asker *p, int err, const char *why)
{
    stage_run(s, p->n_done == 1);
    if (p->err != err || strstr(p->why, why) == NULL) {
        fail_msg("%s: %s", weir_err_name(p->err), p->why);
    }
    asker_dispose(p);
}

static void goaway_lets_what_runs_finish_and_repeats_the_rest(void **state)
{
    struct stage *s = *state;
    struct asker p[3] = {0};
    asker_start(&p[0], s);
    asker_start(&p[1], s);
    struct peer *old = h2_greet(s, 0, 0, 0);
    h2_await_request(s, old);
    h2_await_request(s, old);
    h2_say_goaway(old, 1, NGHTTP2_NO_ERROR);
    struct peer *new = h2_greet(s, 1, 0, 0);
    assert_int_equal(h2_await_request(s, new), 1);
    asker_start(&p[2], s);
    assert_int_equal(h2_await_request(s, new), 3);
    h2_say_answer(new, 1, "second");
    h2_say_answer(new, 3, "third");
    stage_run(s, p[1].n_done == 1 && p[2].n_done == 1);
    assert_int_equal(p[0].n_done, 0);
    assert_int_equal(old->n_eof, 0);
    h2_say_answer(old, 1, "first");
    stage_run(s, p[0].n_done == 1 && old->n_eof == 1);
    assert_true(asker_has(&p[0].body, "first"));
    assert_true(asker_has(&p[1].body, "second"));
    assert_true(asker_has(&p[2].body, "third"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p[i].err, 0);
        asker_dispose(&p[i]);
    }
}

static void goaway_to_an_idle_connection_ends_it(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_say_answer(peer, 1, "[]");
    stage_run(s, p.n_done == 1);
    h2_say_goaway(peer, 1, NGHTTP2_NO_ERROR);
    stage_run(s, peer->n_eof + peer->n_error == 1);
    stage_run(s, stage_pool(s)->n_conns == 0);
    asker_dispose(&p);
}

/* Said before the goodbye was read, and never sent. */
static void a_request_that_crosses_a_goaway_is_repeated(void **state)
{
    struct stage *s = *state;
    struct asker p[2] = {0};
    asker_start(&p[0], s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_say_goaway(peer, 1, NGHTTP2_NO_ERROR);
    stage_turn(s, UV_RUN_NOWAIT);
    asker_start(&p[1], s);
    struct peer *new = h2_greet(s, 1, 0, 0);
    uint32_t id = h2_await_request(s, new);
    h2_say_answer(new, id, "[]");
    stage_run(s, p[1].n_done == 1);
    assert_int_equal(p[1].err, 0);
    asker_cancel(&p[0]);
    asker_dispose(&p[1]);
}

static void a_refused_stream_is_repeated_a_few_times(void **state)
{
    struct stage *s = *state;
    struct asker p[2] = {0};
    asker_start(&p[0], s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    uint32_t id = h2_await_request(s, peer);
    h2_say_u32(peer, H2_RST, id, NGHTTP2_REFUSED_STREAM);
    id = h2_await_request(s, peer);
    h2_say_answer(peer, id, "[]");
    stage_run(s, p[0].n_done == 1);
    assert_int_equal(p[0].err, 0);
    asker_start(&p[1], s);
    int n = 0;
    while (p[1].n_done == 0) {
        struct h2_frame f = {0};
        stage_run(s, p[1].n_done == 1 || h2_hear_type(peer, H2_HEADERS, &f));
        if (p[1].n_done == 0) {
            n++;
            h2_say_u32(peer, H2_RST, f.id, NGHTTP2_REFUSED_STREAM);
        }
    }
    assert_int_equal(n, 6);
    assert_int_equal(s->n_peers, 1);
    asker_dispose(&p[0]);
    expect_failure(s, &p[1], WEIR_ERESET, "hap-en: the stream was reset: REFUSED_STREAM");
}

static void a_reset_stream_is_not_repeated(void **state)
{
    struct stage *s = *state;
    static const bool HAS_HEAD[] = {false, true, false};
    struct peer *peer = NULL;
    for (int i = 0; i < 3; i++) {
        struct asker p = {0};
        asker_start(&p, s);
        peer = i == 0 ? h2_greet(s, 0, 0, 0) : peer;
        uint32_t id = h2_await_request(s, peer);
        if (HAS_HEAD[i]) {
            h2_say_head(peer, id, 0, "200", NULL);
            h2_say_data(peer, id, 0, "[");
        }
        h2_say_u32(peer, H2_RST, id, NGHTTP2_INTERNAL_ERROR);
        stage_run(s, p.n_done == 1);
        assert_int_equal(p.has_head, HAS_HEAD[i]);
        expect_failure(s, &p, WEIR_ERESET, "hap-en: the stream was reset: INTERNAL_ERROR");
    }
    assert_int_equal(s->n_peers, 1);
}

static void streams_of_a_used_connection_that_dies_are_repeated_once(void **state)
{
    struct stage *s = *state;
    struct asker p[3] = {0};
    asker_start(&p[0], s);
    struct peer *old = h2_greet(s, 0, 0, 0);
    h2_await_request(s, old);
    h2_say_answer(old, 1, "[]");
    stage_run(s, p[0].n_done == 1);
    asker_start(&p[1], s);
    asker_start(&p[2], s);
    h2_await_request(s, old);
    h2_await_request(s, old);
    h2_say_head(old, 5, 0, "200", NULL); /* has begun: lost */
    stage_spin(s);
    peer_reset(old);
    struct peer *new = h2_greet(s, 1, 0, 0);
    h2_await_request(s, new);
    expect_failure(s, &p[2], WEIR_ERESET, "hap-en: connection reset");
    peer_reset(new);
    expect_failure(s, &p[1], WEIR_ERESET, "hap-en: connection reset");
    assert_int_equal(s->n_peers, 2);
    asker_dispose(&p[0]);
}

/* What was written goes out again, in full and in order. */
static void a_streamed_body_is_written_again_on_another_connection(void **state)
{
    struct stage *s = *state;
    struct asker warm = {0};
    asker_start(&warm, s);
    struct peer *old = h2_greet(s, 0, 0, 0);
    h2_await_request(s, old);
    h2_say_answer(old, 1, "[]");
    stage_run(s, warm.n_done == 1);
    struct weir_call_request r = stage_request(s);
    r.body = WEIR_SLICE("");
    r.has_stream_body = true;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    asker_write(&p, WEIR_SLICE("one"));
    struct h2_frame f = {0};
    h2_await(s, old, H2_DATA, &f);
    asker_write(&p, WEIR_SLICE("two"));
    peer_close(old);
    struct peer *new = h2_greet(s, 1, 0, 0);
    h2_await(s, new, H2_DATA, &f);
    assert_int_equal(f.n, 6);
    assert_memory_equal(f.payload, "onetwo", 6);
    weir_call_end_body(p.call);
    h2_say_answer(new, 1, "[]");
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    asker_dispose(&p);
    asker_dispose(&warm);
}

enum { KEPT_BYTES = 64 * 1024 }; /* as much as a call keeps to send it again */

/* A call whose body comes in pieces, on a connection that was used before: it is told FULL. */
static void fill(struct asker *p, struct stage *s, struct peer *peer)
{
    static const char all[KEPT_BYTES];
    struct weir_call_request r = stage_request(s);
    r.body = WEIR_SLICE("");
    r.has_stream_body = true;
    asker_ask(p, s, &r);
    h2_await_request(s, peer);
    assert_int_equal(asker_write(p, weir_slice_make(all, sizeof all)), WEIR_FLOW_FULL);
}

/* What was answered FULL on a connection that is lost is told of room by the next one. */
static void room_is_told_by_another_connection(void **state)
{
    struct stage *s = *state;
    struct asker warm = {0};
    asker_start(&warm, s);
    struct peer *old = h2_greet(s, 0, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0);
    h2_await_request(s, old);
    h2_say_answer(old, 1, "[]");
    stage_run(s, warm.n_done == 1);
    struct asker p = {0};
    fill(&p, s, old);
    peer_close(old);
    struct peer *new = h2_greet(s, 1, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20);
    h2_say_u32(new, H2_WINDOW, 0, 1 << 20);
    stage_run(s, p.n_room == 1);
    flow_watch_settled(&p.flow);
    asker_cancel(&p);
    asker_dispose(&p);
    asker_dispose(&warm);
}

/* Who was told of room on a connection that is lost waits for nothing: that what is sent again
 * fills the next one is not told, and neither is its room. */
static void room_is_told_to_nobody_who_does_not_wait(void **state)
{
    struct stage *s = *state;
    struct asker warm = {0};
    asker_start(&warm, s);
    struct peer *old = h2_greet(s, 0, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20);
    h2_await_request(s, old);
    h2_say_answer(old, 1, "[]");
    h2_say_u32(old, H2_WINDOW, 0, 1 << 20);
    stage_run(s, warm.n_done == 1);
    struct asker p = {0};
    fill(&p, s, old);
    stage_run(s, p.n_room == 1);
    peer_close(old);
    struct peer *new = h2_greet(s, 1, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0);
    uint32_t id = h2_await_request(s, new);
    h2_say_u32(new, H2_WINDOW, 0, 1 << 20);
    h2_say_u32(new, H2_WINDOW, id, 1 << 20);
    size_t n = 0;
    while (n < KEPT_BYTES) {
        struct h2_frame f = {0};
        h2_await(s, new, H2_DATA, &f);
        n += f.n;
    }
    stage_spin(s);
    assert_int_equal(p.n_room, 1);
    asker_cancel(&p);
    asker_dispose(&p);
    asker_dispose(&warm);
}

/* Keep-alive */

static void pings_that_are_answered_keep_a_silent_connection(void **state)
{
    struct stage *s = *state;
    s->target.keep_alive_interval_ms = 10;
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    for (int i = 0; i < 3; i++) {
        struct h2_frame f = {0};
        h2_await(s, peer, H2_PING, &f);
        if ((f.flags & H2_ACK) == 0) {
            h2_say(peer, H2_PING, H2_ACK, 0, weir_slice_make((const char *)f.payload, 8));
        }
    }
    assert_int_equal(p.n_done, 0);
    h2_say_answer(peer, 1, "[]");
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    asker_dispose(&p);
}

static void a_ping_that_is_not_answered_ends_the_connection(void **state)
{
    struct stage *s = *state;
    s->target.keep_alive_interval_ms = 10;
    s->target.keep_alive_timeout_ms = 10;
    stage_hold_time(s);
    struct asker p[2] = {0};
    asker_start(&p[0], s);
    asker_start(&p[1], s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    stage_run_passing(s, p[0].n_done == 1);
    expect_failure(s, &p[0], WEIR_ETIMEOUT, "hap-en: the service does not answer pings");
    expect_failure(s, &p[1], WEIR_ETIMEOUT, "hap-en: the service does not answer pings");
    stage_run(s, peer->n_eof + peer->n_error == 1);
}

static void an_idle_connection_is_not_pinged(void **state)
{
    struct stage *s = *state;
    s->target.keep_alive_interval_ms = 5;
    s->target.keep_alive_timeout_ms = 5;
    stage_hold_time(s);
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_say_answer(peer, 1, "[]");
    stage_run(s, p.n_done == 1);
    peer->at = peer->got.n;
    uint64_t begin_ms = weir_loop_now_ms(&s->loop);
    stage_run_passing(s, weir_loop_now_ms(&s->loop) > begin_ms + 60);
    stage_spin(s);
    struct h2_frame f = {0};
    assert_false(h2_hear_type(peer, H2_PING, &f));
    assert_int_equal(stage_pool(s)->n_idle, 1);
    asker_dispose(&p);
}

/* Peers that break the rules */

static void a_service_that_speaks_http1(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    stage_run(s, s->n_peers == 1 && s->peers[0].n_got > 0);
    peer_say(&s->peers[0], "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    expect_failure(s, &p, WEIR_EPROTO, "connect to hap-en failed: ");
}

static void a_service_that_allows_no_streams(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    h2_greet(s, 0, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0);
    expect_failure(s, &p, WEIR_EBUSY, "connect to hap-en failed: the service allows no streams");
    assert_int_equal(s->n_peers, 1);
}

/* A retry that is decided on while the owner holds back: nothing of it is the owner's. */
static void a_503_to_a_paused_call_is_asked_again(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.may_retry = true;
    r.answer = WEIR_CALL_STREAM;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    weir_call_pause(p.call);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    uint32_t id = h2_await_request(s, peer);
    h2_say_head(peer, id, 0, "503", NULL);
    h2_say_data(peer, id, H2_END_STREAM, "later");
    id = h2_await_request(s, peer);
    h2_say_answer(peer, id, "[]");
    stage_run(s, p.n_head == 1);
    stage_spin(s);
    assert_int_equal(p.status, 200);
    assert_int_equal(p.n_body, 0);
    weir_call_resume(p.call);
    stage_run(s, p.n_done == 1);
    assert_true(asker_has(&p.body, "[]"));
    asker_dispose(&p);
}

static void a_service_that_never_settles(void **state)
{
    struct stage *s = *state;
    s->target.connect_timeout_ms = 30;
    struct asker p = {0};
    asker_start(&p, s);
    expect_failure(s, &p, WEIR_ETIMEOUT, "connect to hap-en timed out after 0.03 s");
    stage_run(s, s->n_peers == 1 && s->peers[0].n_eof + s->peers[0].n_error == 1);
}

static void silence_before_the_answer(void **state)
{
    struct stage *s = *state;
    s->target.first_byte_timeout_ms = 30;
    stage_hold_time(s);
    struct asker p = {0};
    asker_start(&p, s);
    h2_await_request(s, h2_greet(s, 0, 0, 0));
    uint64_t begin_ms = weir_loop_now_ms(&s->loop);
    stage_run_passing(s, p.n_done == 1);
    assert_true(weir_loop_now_ms(&s->loop) < begin_ms + 100); /* and not after the idle time */
    expect_failure(s, &p, WEIR_ETIMEOUT, "did not begin to answer within 0.03 s");
    stage_spin(s);
    assert_int_equal(stage_pool(s)->n_idle, 1); /* the stream was late, not the connection */
}

static void silence_in_the_answer(void **state)
{
    struct stage *s = *state;
    s->target.idle_timeout_ms = 150;
    stage_hold_time(s);
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_say_head(peer, h2_await_request(s, peer), 0, "200", NULL);
    stage_run_passing(s, p.n_done == 1);
    expect_failure(s, &p, WEIR_ETIMEOUT, "sent no more of its answer for 0.15 s");
    stage_spin(s);
    assert_int_equal(stage_pool(s)->n_idle, 1);
}

/* One field of 4,000 bytes that is kept, then named again and again by one byte each. */
static void a_head_that_unpacks_to_too_much(void **state)
{
    struct stage *s = *state;
    struct asker p[2] = {0};
    asker_start(&p[0], s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    struct weir_buf block = {0};
    weir_buf_append(&block, WEIR_SLICE("\x88\x40\x01x\x7f\xa1\x1e")); /* 127 + 3873 */
    for (int i = 0; i < 4000; i++) {
        weir_buf_append_byte(&block, 'v');
    }
    for (int i = 0; i < 1000; i++) {
        weir_buf_append_byte(&block, (char)0xbe);
    }
    h2_say(peer, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 1, weir_buf_slice(&block));
    weir_buf_dispose(&block);
    expect_failure(s, &p[0], WEIR_ELIMIT, "hap-en: the head of the answer is too large");
    asker_start(&p[1], s);
    uint32_t id = h2_await_request(s, peer);
    h2_say_answer(peer, id, "[]");
    stage_run(s, p[1].n_done == 1);
    assert_int_equal(p[1].err, 0);
    assert_int_equal(s->n_peers, 1);
    asker_dispose(&p[1]);
}

static void an_answer_that_is_too_large(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.max_body_bytes = 3;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_say_answer(peer, 1, "[[]]");
    expect_failure(s, &p, WEIR_ELIMIT, "the answer of hap-en is larger than 3 bytes");
    struct h2_frame f = {0};
    h2_await(s, peer, H2_RST, &f);
    assert_int_equal(stage_pool(s)->n_idle, 1);
}

static void interim_answers_without_end(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    for (int i = 0; i < 20; i++) {
        h2_say_head(peer, 1, 0, "103", NULL);
    }
    expect_failure(s, &p, WEIR_EPROTO, "too many interim answers");
}

static void a_malformed_answer(void **state)
{
    struct stage *s = *state;
    struct asker p[3] = {0};
    asker_start(&p[0], s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_say_head(peer, 1, 0, "200", (const char *const[]){"Upper", "case", NULL});
    stage_run(s, p[0].n_done == 1);
    assert_true(p[0].err == WEIR_EPROTO || p[0].err == WEIR_ERESET);
    asker_start(&p[1], s); /* fewer bytes than announced */
    uint32_t id = h2_await_request(s, peer);
    h2_say_head(peer, id, 0, "200", (const char *const[]){"content-length", "9", NULL});
    h2_say_data(peer, id, H2_END_STREAM, "[]");
    stage_run(s, p[1].n_done == 1);
    assert_true(p[1].err == WEIR_EPROTO || p[1].err == WEIR_ERESET);
    asker_start(&p[2], s);
    id = h2_await_request(s, peer);
    h2_say_head(peer, id, 0, "999", NULL);
    expect_failure(s, &p[2], WEIR_EPROTO, "hap-en: malformed status");
    asker_dispose(&p[0]);
    asker_dispose(&p[1]);
}

static void a_flood_of_pings(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    for (int i = 0; i < 1100; i++) {
        h2_say(peer, H2_PING, 0, 0, WEIR_SLICE("12345678"));
    }
    expect_failure(s, &p, WEIR_EPROTO, "floods the connection");
}

static void garbage_in_the_middle(void **state)
{
    struct stage *s = *state;
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_say(peer, H2_SETTINGS, 0, 0, WEIR_SLICE("12345")); /* not a multiple of six */
    expect_failure(s, &p, WEIR_EPROTO, "hap-en: the service broke HTTP/2's rules");
}

/* Every prefix of a conversation may be its end. */
static void the_connection_may_end_at_any_byte(void **state)
{
    struct stage *s = *state;
    static const char SCRIPT[] = "\0\0\0\4\0\0\0\0\0"           /* SETTINGS */
                                 "\0\0\1\1\4\0\0\0\1\x88"       /* HEADERS, 200 */
                                 "\0\0\4\0\0\0\0\0\1abcd"       /* DATA */
                                 "\0\0\x4\3\0\0\0\0\1\0\0\0\2"; /* RST_STREAM */
    for (size_t n = 0; n < sizeof SCRIPT - 1; n++) {
        struct asker p = {0};
        size_t at = s->n_peers;
        asker_start(&p, s);
        stage_run(s, s->n_peers > at && s->peers[at].n_got >= 24);
        size_t first = n < 9 ? n : 9;
        peer_say_bytes(&s->peers[at], SCRIPT, first);
        if (n >= 9) {
            h2_await_request(s, &s->peers[at]);
        }
        peer_say_bytes(&s->peers[at], SCRIPT + first, n - first);
        weir_sock_shutdown(&s->peers[at].sock);
        stage_run(s, p.n_done == 1);
        if (p.err != WEIR_ECLOSED) {
            fail_msg("after %zu bytes: %s", n, p.why);
        }
        assert_int_equal(p.has_head, n >= 19);
        asker_dispose(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        h2_test(goaway_lets_what_runs_finish_and_repeats_the_rest),
        h2_test(goaway_to_an_idle_connection_ends_it),
        h2_test(a_request_that_crosses_a_goaway_is_repeated),
        h2_test(a_refused_stream_is_repeated_a_few_times),
        h2_test(a_reset_stream_is_not_repeated),
        h2_test(streams_of_a_used_connection_that_dies_are_repeated_once),
        h2_test(a_streamed_body_is_written_again_on_another_connection),
        h2_test(room_is_told_by_another_connection),
        h2_test(room_is_told_to_nobody_who_does_not_wait),
        h2_test(pings_that_are_answered_keep_a_silent_connection),
        h2_test(a_ping_that_is_not_answered_ends_the_connection),
        h2_test(an_idle_connection_is_not_pinged),
        h2_test(a_service_that_speaks_http1),
        h2_test(a_service_that_allows_no_streams),
        h2_test(a_503_to_a_paused_call_is_asked_again),
        h2_test(a_service_that_never_settles),
        h2_test(silence_before_the_answer),
        h2_test(silence_in_the_answer),
        h2_test(a_head_that_unpacks_to_too_much),
        h2_test(an_answer_that_is_too_large),
        h2_test(interim_answers_without_end),
        h2_test(a_malformed_answer),
        h2_test(a_flood_of_pings),
        h2_test(garbage_in_the_middle),
        h2_test(the_connection_may_end_at_any_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
