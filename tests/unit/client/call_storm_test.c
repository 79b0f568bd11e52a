/*
 * Everything at once, by a fixed sequence of dice: calls are started, cancelled, paused and resumed
 * while their peers answer whole or in part, lie, refuse, reset and go. Whatever happens, a call
 * ends exactly once or was cancelled, nothing leaks and every descriptor is closed.
 */
#include "unit/client/h2_peer.h"

enum { N_ASKERS = 24, N_STEPS = 1500 };

static uint32_t dice_state;

static unsigned dice(unsigned n)
{
    dice_state = dice_state * 1664525 + 1013904223;
    return (dice_state >> 16) % n;
}

static struct asker askers[N_ASKERS];

static void maybe_meddle(struct asker *p)
{
    struct asker *other = &askers[dice(N_ASKERS)];
    if (dice(8) == 0 && other->call != NULL && p->n_done == 0) {
        asker_cancel(other);
    } else if (dice(4) == 0 && p->call != NULL) {
        weir_call_pause(p->call);
    }
}

static void start_one(struct stage *s, struct asker *p, bool is_h2)
{
    asker_dispose(p);
    *p = (struct asker){.at_head = maybe_meddle, .at_body = maybe_meddle, .at_done = maybe_meddle};
    struct weir_call_request r = stage_request(s);
    r.answer = dice(2) == 0 ? WEIR_CALL_WHOLE : WEIR_CALL_STREAM;
    r.may_retry = dice(3) == 0;
    r.max_body_bytes = dice(4) == 0 ? 3 : 1000;
    r.has_stream_body = is_h2 && dice(3) == 0;
    if (r.has_stream_body) {
        r.body = WEIR_SLICE("");
    }
    asker_ask(p, s, &r);
    if (r.has_stream_body) {
        asker_write(p, WEIR_SLICE("some"));
        if (dice(2) == 0) {
            weir_call_end_body(p->call);
        }
    }
}

static void step(struct stage *s, bool is_h2)
{
    struct asker *p = &askers[dice(N_ASKERS)];
    if (p->call == NULL) {
        start_one(s, p, is_h2);
        return;
    }
    switch (dice(6)) {
    case 0:
        asker_cancel(p);
        break;
    case 1:
        weir_call_pause(p->call);
        break;
    default:
        weir_call_resume(p->call);
        break;
    }
}

static void end_storm(struct stage *s)
{
    for (int i = 0; i < N_ASKERS; i++) {
        if (askers[i].call != NULL) {
            asker_cancel(&askers[i]);
        }
        asker_dispose(&askers[i]);
        askers[i] = (struct asker){0};
    }
    struct weir_pool *pool = stage_pool(s);
    assert_int_equal(pool->n_calls + pool->n_active + pool->n_waiting + pool->n_queued, 0);
}

static void storm(struct stage *s, uint32_t seed, bool is_h2)
{
    dice_state = seed;
    s->target.first_byte_timeout_ms = 20;
    s->target.idle_timeout_ms = 20;
    for (int i = 0; i < N_STEPS && s->n_peers < STAGE_PEERS - 40; i++) {
        step(s, is_h2);
        stage_turn(s, UV_RUN_NOWAIT);
    }
    end_storm(s);
    stage_spin(s);
}

/* HTTP/1.1 */

static void answer_h1(struct peer *peer)
{
    static const char *const ANSWERS[] = {
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n[[]]",
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n[[]]",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[[\r\n2\r\n]]\r\n0\r\n\r\n",
        "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\n\r\nno",
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\n[[]]",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n[[]]surplus",
        "HTTP/1.1 200 OK\r\n\r\n[[",
        "HTTP/1.1 200 OK\r\ncontent-le",
        "nonsense\r\n\r\n",
    };
    if (!peer_has_request(peer)) {
        return;
    }
    peer_forget(peer);
    unsigned what = dice(24);
    if (what < 20) {
        peer_say(peer, ANSWERS[what % 10]);
    }
    if (what >= 7 && what < 10) {
        weir_sock_shutdown(&peer->sock);
    } else if (what == 20) {
        peer_reset(peer);
    } else if (what == 21) {
        peer_close(peer);
    }
}

static void a_storm_over_http1(void **state)
{
    struct stage *s = *state;
    s->at_data = answer_h1;
    storm(s, 1, false);
}

static void another_storm_over_http1(void **state)
{
    struct stage *s = *state;
    s->at_data = answer_h1;
    s->target.max_concurrent = 3;
    s->target.max_waiting = 30;
    storm(s, 77, false);
}

/* HTTP/2 */

static void answer_stream(struct peer *peer, uint32_t id)
{
    switch (dice(16)) {
    case 0:
        h2_say_u32(peer, H2_RST, id, NGHTTP2_REFUSED_STREAM);
        break;
    case 1:
        h2_say_u32(peer, H2_RST, id, NGHTTP2_INTERNAL_ERROR);
        break;
    case 2:
        h2_say_head(peer, id, 0, "200", NULL);
        break;
    case 3:
        h2_say_head(peer, id, H2_END_STREAM, "503", NULL);
        break;
    case 4:
        h2_say_goaway(peer, id, NGHTTP2_NO_ERROR);
        h2_say_answer(peer, id, "[[]]");
        break;
    case 5:
        h2_say_goaway(peer, id > 1 ? id - 2 : 0, NGHTTP2_NO_ERROR);
        break;
    case 6:
        h2_say_head(peer, id, 0, "200", NULL);
        h2_say_data(peer, id, 0, "[");
        h2_say_u32(peer, H2_RST, id, NGHTTP2_CANCEL);
        break;
    case 7:
        h2_say_data(peer, id, 0, "too early");
        break;
    default:
        h2_say_head(peer, id, 0, "200", NULL);
        h2_say_data(peer, id, 0, "[[");
        h2_say_data(peer, id, 0, "]]");
        h2_say_head(peer, id, H2_END_STREAM, NULL, (const char *const[]){"sum", "1", NULL});
        break;
    }
}

static void answer_h2(struct peer *peer)
{
    struct h2_frame f;
    while (peer_is_open(peer) && h2_hear(peer, &f)) {
        if (f.type == H2_SETTINGS && (f.flags & H2_ACK) == 0) {
            h2_say_settings(peer, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1 + dice(10));
        } else if (f.type == H2_HEADERS) {
            answer_stream(peer, f.id);
        }
    }
    if (peer_is_open(peer) && dice(40) == 0) {
        dice(2) == 0 ? peer_reset(peer) : peer_close(peer);
    }
}

static void a_storm_over_http2(void **state)
{
    struct stage *s = *state;
    s->at_data = answer_h2;
    storm(s, 3, true);
}

static void another_storm_over_http2(void **state)
{
    struct stage *s = *state;
    s->at_data = answer_h2;
    s->target.max_concurrent = 0;
    storm(s, 2024, true);
}

/* One or two wrong bytes anywhere in a good conversation. */

static void mutate(char *text, size_t n)
{
    for (unsigned i = 0; i <= dice(2); i++) {
        text[dice((unsigned)n)] = (char)dice(256);
    }
}

static void wrong_bytes_end_a_call_all_the_same(void **state)
{
    struct stage *s = *state;
    static const char H1[] = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx-a: b\r\n\r\n"
                             "2;e=f\r\n[[\r\n2\r\n]]\r\n0\r\nt: u\r\n\r\n";
    static const char H2[] = "\0\0\6\1\4\0\0\0\1\x88\0\1x\1y" /* HEADERS */
                             "\0\0\4\0\0\0\0\0\1abcd"         /* DATA */
                             "\0\0\5\1\5\0\0\0\1\0\1z\1y";    /* trailers */
    dice_state = 42;
    for (size_t i = 0; i < 400; i++) {
        bool is_h2 = i % 2 == 1;
        s->target.protocol = is_h2 ? WEIR_TARGET_H2 : WEIR_TARGET_HTTP;
        struct asker p = {0};
        size_t at = s->n_peers;
        asker_start(&p, s);
        if (is_h2) {
            h2_await_request(s, h2_greet(s, at, 0, 0));
        } else {
            stage_run(s, s->n_peers > at && peer_has_request(&s->peers[at]));
        }
        char text[sizeof H1 > sizeof H2 ? sizeof H1 : sizeof H2];
        size_t n = is_h2 ? sizeof H2 - 1 : sizeof H1 - 1;
        memcpy(text, is_h2 ? H2 : H1, n);
        mutate(text, n);
        peer_say_bytes(&s->peers[at], text, n);
        weir_sock_shutdown(&s->peers[at].sock);
        stage_run(s, p.n_done == 1);
        asker_dispose(&p);
        weir_client_forget(s->client, &s->target);
    }
}

#define stage_test(fn) cmocka_unit_test_setup_teardown(fn, stage_setup, stage_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        stage_test(a_storm_over_http1),
        stage_test(another_storm_over_http1),
        h2_test(a_storm_over_http2),
        h2_test(another_storm_over_http2),
        stage_test(wrong_bytes_end_a_call_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
