/* Calls over HTTP/2: what works. */
#include "unit/client/h2_peer.h"

static void a_request_is_complete(void **state)
{
    struct stage *s = *state;
    s->target.api_token = WEIR_SLICE("secret");
    s->target.path_prefix = WEIR_SLICE("/x");
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    struct h2_frame f;
    h2_await(s, peer, H2_HEADERS, &f);
    assert_int_equal(f.id, 1);
    assert_int_equal(f.flags, H2_END_HEADERS);
    nghttp2_hd_inflater *inflater;
    assert_int_equal(nghttp2_hd_inflate_new(&inflater), 0);
    struct weir_buf text = {0};
    h2_inflate(inflater, &f, &text);
    nghttp2_hd_inflate_del(inflater);
    char want[512];
    int n = snprintf(want, sizeof want,
                     ":method: POST\n:scheme: http\n:authority: 127.0.0.1:%u\n"
                     ":path: /x/api/v1/text/contents\nauthorization: Bearer secret\n"
                     "content-type: application/json\nte: trailers\nuser-agent: weir/%s\n"
                     "traceparent: 00-",
                     (unsigned)s->target.port, WEIR_VERSION);
    assert_memory_equal(text.p, want, (size_t)n);
    assert_non_null(strstr(weir_buf_cstr(&text), "\ncontent-length: 18\n"));
    weir_buf_dispose(&text);
    h2_await(s, peer, H2_DATA, &f);
    assert_int_equal(f.flags, H2_END_STREAM);
    assert_int_equal(f.n, 18);
    assert_memory_equal(f.payload, "{\"contents\":[\"a\"]}", 18);
    h2_say_answer(peer, 1, "[[]]");
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_int_equal(p.status, 200);
    assert_true(asker_has(&p.body, "[[]]"));
    asker_dispose(&p);
}

static void many_calls_share_one_connection(void **state)
{
    struct stage *s = *state;
    enum { N = 8 };
    struct asker p[N] = {0};
    for (int i = 0; i < N; i++) {
        asker_start(&p[i], s);
    }
    struct peer *peer = h2_greet(s, 0, 0, 0);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(h2_await_request(s, peer), 1 + 2 * i);
    }
    for (uint32_t i = N; i-- > 0;) { /* in the other order */
        h2_say_answer(peer, 1 + 2 * i, "[]");
        stage_run(s, p[i].n_done == 1);
        assert_int_equal(p[i].err, 0);
        asker_dispose(&p[i]);
    }
    stage_spin(s);
    assert_int_equal(s->n_peers, 1);
    assert_int_equal(stage_pool(s)->n_idle, 1);
}

static void a_full_connection_leads_to_another(void **state)
{
    struct stage *s = *state;
    struct asker p[3] = {0};
    for (int i = 0; i < 3; i++) {
        asker_start(&p[i], s);
    }
    for (size_t i = 0; i < 3; i++) {
        struct peer *peer = h2_greet(s, i, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1);
        assert_int_equal(h2_await_request(s, peer), 1);
    }
    for (size_t i = 0; i < 3; i++) {
        h2_say_answer(&s->peers[i], 1, "[]");
        stage_run(s, p[i].n_done == 1);
        assert_int_equal(p[i].err, 0);
        asker_dispose(&p[i]);
    }
    assert_int_equal(s->n_peers, 3);
}

/* With no way to open another connection, calls wait for a stream. */
static void a_call_waits_for_a_stream(void **state)
{
    struct stage *s = *state;
    struct asker p[3] = {0};
    asker_start(&p[0], s);
    struct peer *peer = h2_greet(s, 0, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1);
    h2_await_request(s, peer);
    stage_stop_listening(s);
    asker_start(&p[1], s);
    asker_start(&p[2], s);
    stage_run(s, stage_pool(s)->no_dial_until_ms != 0);
    stage_spin(s);
    assert_int_equal(p[1].n_done + p[2].n_done, 0);
    h2_say_answer(peer, 1, "[]");
    assert_int_equal(h2_await_request(s, peer), 3);
    h2_say_settings(peer, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 2);
    assert_int_equal(h2_await_request(s, peer), 5);
    h2_say_answer(peer, 3, "[]");
    h2_say_answer(peer, 5, "[]");
    stage_run(s, p[0].n_done + p[1].n_done + p[2].n_done == 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p[i].err, 0);
        asker_dispose(&p[i]);
    }
}

static void trailers_are_told_at_the_end(void **state)
{
    struct stage *s = *state;
    struct asker p[2] = {0};
    asker_start(&p[0], s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_say_head(peer, 1, 0, "200", (const char *const[]){"content-type", "application/grpc", NULL});
    h2_say_data(peer, 1, 0, "abc");
    h2_say_head(peer, 1, H2_END_STREAM, NULL,
                (const char *const[]){"grpc-status", "5", "grpc-message", "no", NULL});
    stage_run(s, p[0].n_done == 1);
    assert_int_equal(p[0].err, 0);
    assert_true(asker_has(&p[0].fields, "content-type: application/grpc\n"));
    assert_true(asker_has(&p[0].body, "abc"));
    assert_true(asker_has(&p[0].trailers, "grpc-status: 5\ngrpc-message: no\n"));

    asker_start(&p[1], s); /* only a head, after interim ones */
    h2_await_request(s, peer);
    h2_say_head(peer, 3, 0, "103", (const char *const[]){"link", "x", NULL});
    h2_say_head(peer, 3, 0, "100", NULL);
    h2_say_head(peer, 3, H2_END_STREAM, "200", (const char *const[]){"grpc-status", "14", NULL});
    stage_run(s, p[1].n_done == 1);
    assert_int_equal(p[1].err, 0);
    assert_true(asker_has(&p[1].fields, "grpc-status: 14\n"));
    assert_int_equal(p[1].trailers.n, 0);
    asker_dispose(&p[0]);
    asker_dispose(&p[1]);
}

static struct weir_call_request streamed(struct stage *s)
{
    struct weir_call_request r = stage_request(s);
    r.body = WEIR_SLICE("");
    r.has_stream_body = true;
    r.answer = WEIR_CALL_STREAM;
    return r;
}

static void a_body_may_be_streamed_while_the_answer_comes(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = streamed(s);
    struct asker p = {0};
    struct h2_frame f;
    asker_ask(&p, s, &r);
    assert_int_equal(asker_write(&p, WEIR_SLICE("before")), WEIR_FLOW_OK);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await(s, peer, H2_DATA, &f);
    assert_memory_equal(f.payload, "before", 6);
    assert_int_equal(f.flags, 0);
    h2_say_head(peer, 1, 0, "200", NULL);
    h2_say_data(peer, 1, 0, "one");
    stage_run(s, p.body.n == 3);
    asker_write(&p, WEIR_SLICE("aft"));
    asker_write(&p, WEIR_SLICE("er"));
    h2_await(s, peer, H2_DATA, &f);
    assert_int_equal(f.n, 5); /* of one turn: one frame */
    weir_call_end_body(p.call);
    h2_await(s, peer, H2_DATA, &f);
    assert_int_equal(f.n, 0);
    assert_int_equal(f.flags, H2_END_STREAM);
    h2_say_data(peer, 1, H2_END_STREAM, "two");
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_true(asker_has(&p.body, "onetwo"));
    asker_dispose(&p);
}

static void writing_stops_where_the_window_ends(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = streamed(s);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = h2_greet(s, 0, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1000);
    h2_await_request(s, peer);
    char piece[1000];
    memset(piece, 'x', sizeof piece);
    size_t n = 0;
    while (asker_write(&p, weir_slice_make(piece, sizeof piece)) == WEIR_FLOW_OK) {
        n += sizeof piece;
    }
    assert_int_equal(n + sizeof piece, 66000);
    stage_spin(s);
    assert_int_equal(p.n_room, 0);
    struct h2_frame f;
    h2_await(s, peer, H2_DATA, &f);
    assert_int_equal(f.n, 1000);
    assert_false(h2_hear_type(peer, H2_DATA, &f));
    h2_say_u32(peer, H2_WINDOW, 0, 40000);
    h2_say_u32(peer, H2_WINDOW, 1, 40000);
    stage_run(s, p.n_room == 1);
    h2_say_u32(peer, H2_WINDOW, 1, 40000);
    weir_call_end_body(p.call);
    size_t got = 1000;
    while (got < 66000 || (f.flags & H2_END_STREAM) == 0) {
        h2_await(s, peer, H2_DATA, &f);
        got += f.n;
    }
    assert_int_equal(got, 66000);
    h2_say_answer(peer, 1, "ok");
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.n_room, 1);
    asker_dispose(&p);
}

/* After FULL some of it leaves, too little to be told of; the owner finishes what it is in the
 * middle of. It still waits, and hears of the room when there is enough. */
static void a_write_after_full_does_not_lose_the_room(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = streamed(s);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = h2_greet(s, 0, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0);
    h2_await_request(s, peer);
    static const char piece[8 * 1024];
    while (asker_write(&p, weir_slice_make(piece, sizeof piece)) == WEIR_FLOW_OK) {
    }
    h2_say_u32(peer, H2_WINDOW, 1, sizeof piece);
    struct h2_frame f;
    h2_await(s, peer, H2_DATA, &f);
    stage_spin(s);
    assert_int_equal(asker_write(&p, WEIR_SLICE("the rest")), WEIR_FLOW_FULL);
    stage_spin(s);
    assert_int_equal(p.n_room, 0);
    h2_say_u32(peer, H2_WINDOW, 1, 7 * sizeof piece);
    h2_say_u32(peer, H2_WINDOW, 0, 7 * sizeof piece);
    stage_run(s, p.n_room == 1);
    assert_int_equal(asker_write(&p, WEIR_SLICE("more")), WEIR_FLOW_OK);
    asker_cancel(&p);
    asker_dispose(&p);
}

/* Whatever the window lets through and when, an owner that waits is told, once. */
static void the_flow_contract_holds_on_random_windows(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = streamed(s);
    struct asker p = {0};
    unsigned seed = 11;
    static const char piece[20 * 1024];
    asker_ask(&p, s, &r);
    struct peer *peer = h2_greet(s, 0, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0);
    h2_await_request(s, peer);
    h2_say_u32(peer, H2_WINDOW, 0, 1 << 30);
    for (int i = 0; i < 2000; i++) {
        unsigned roll = (unsigned)rand_r(&seed) / 7;
        if (roll % 3 == 0) {
            h2_say_u32(peer, H2_WINDOW, 1, 1 + roll % sizeof piece);
        } else if (!p.flow.is_waiting || roll % 4 == 0) {
            asker_write(&p, weir_slice_make(piece, roll % sizeof piece));
        }
        stage_turn(s, UV_RUN_NOWAIT);
    }
    assert_true(p.flow.n_fulls > 20);
    h2_say_u32(peer, H2_WINDOW, 1, 1 << 28);
    stage_run(s, !p.flow.is_waiting);
    flow_watch_settled(&p.flow);
    asker_cancel(&p);
    asker_dispose(&p);
}

/* FULL before there is a connection: room is told when there is one. */
static void writing_ahead_of_the_connection_is_bounded(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = streamed(s);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    static const char piece[8 * 1024];
    int n = 1;
    while (asker_write(&p, weir_slice_make(piece, sizeof piece)) == WEIR_FLOW_OK) {
        n++;
    }
    assert_int_equal(n, 8);
    struct peer *peer = h2_greet(s, 0, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 65535);
    stage_run(s, p.n_room == 1);
    weir_call_end_body(p.call);
    h2_await_request(s, peer);
    h2_say_u32(peer, H2_WINDOW, 1, 100);
    h2_say_u32(peer, H2_WINDOW, 0, 100);
    size_t got = 0;
    struct h2_frame f = {0};
    while ((f.flags & H2_END_STREAM) == 0) {
        h2_await(s, peer, H2_DATA, &f);
        got += f.n;
    }
    assert_int_equal(got, 8 * sizeof piece);
    h2_say_answer(peer, 1, "");
    stage_run(s, p.n_done == 1);
    asker_dispose(&p);
}

static void a_large_request_respects_the_window(void **state)
{
    struct stage *s = *state;
    enum { N = 300 * 1000 };
    char *big = malloc(N);
    memset(big, 'b', N);
    struct weir_call_request r = stage_request(s);
    r.body = weir_slice_make(big, N);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    struct h2_frame f = {0};
    size_t got = 0;
    while (got < N) {
        h2_await(s, peer, H2_DATA, &f);
        got += f.n;
        h2_say_u32(peer, H2_WINDOW, 0, (uint32_t)f.n);
        h2_say_u32(peer, H2_WINDOW, 1, (uint32_t)f.n);
    }
    assert_int_equal(f.flags, H2_END_STREAM);
    h2_say_answer(peer, 1, "[]");
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    asker_dispose(&p);
    free(big);
}

static void count_windows(struct peer *peer, size_t *of_stream, size_t *of_connection)
{
    struct h2_frame f;
    while (h2_hear_type(peer, H2_WINDOW, &f)) {
        *(f.id != 0 ? of_stream : of_connection) += h2_u32(f.payload);
    }
}

static void a_paused_answer_keeps_its_window_and_no_other(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    weir_call_pause(p.call);
    h2_say_head(peer, 1, 0, "200", NULL);
    char piece[16001];
    memset(piece, 'p', 16000);
    piece[16000] = '\0';
    for (int i = 0; i < 4; i++) {
        h2_say_data(peer, 1, i == 3 ? H2_END_STREAM : 0, piece);
    }
    stage_spin(s);
    assert_int_equal(p.n_body + p.n_done, 0);
    size_t of_stream = 0;
    size_t of_connection = 0;
    count_windows(peer, &of_stream, &of_connection);
    assert_int_equal(of_stream, 0);
    weir_call_resume(p.call);
    assert_int_equal(p.n_body, 0);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.body.n, 64000);
    assert_int_equal(p.err, 0);
    asker_dispose(&p);
}

static void pause_again(struct asker *p)
{
    weir_call_pause(p->call);
}

/* Window comes back as the owner takes the bytes, run by run. */
static void resuming_gives_the_window_back(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p = {.at_body = pause_again};
    asker_ask(&p, s, &r);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_say_head(peer, 1, 0, "200", NULL);
    char piece[16001];
    memset(piece, 'p', 16000);
    piece[16000] = '\0';
    for (int i = 0; i < 4; i++) {
        h2_say_data(peer, 1, 0, piece);
    }
    size_t of_stream = 0;
    size_t of_connection = 0;
    while (p.body.n < 64000) {
        int n = p.n_body;
        stage_run(s, p.n_body > n);
        stage_spin(s);
        assert_int_equal(p.n_body, n + 1);
        weir_call_resume(p.call);
    }
    stage_spin(s);
    count_windows(peer, &of_stream, &of_connection);
    assert_true(of_stream >= 32000);
    h2_say_data(peer, 1, H2_END_STREAM, "!");
    stage_run(s, p.body.n == 64001);
    weir_call_resume(p.call);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    asker_dispose(&p);
}

/* More than the connection's window while one stream is paused: the other one goes on. */
static void a_paused_answer_does_not_stop_the_others(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p[2] = {0};
    asker_ask(&p[0], s, &r);
    asker_ask(&p[1], s, &r);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_await_request(s, peer);
    weir_call_pause(p[0].call);
    h2_say_head(peer, 1, 0, "200", NULL);
    h2_say_head(peer, 3, 0, "200", NULL);
    char piece[16001];
    memset(piece, 'p', 16000);
    piece[16000] = '\0';
    for (int i = 0; i < 4; i++) {
        h2_say_data(peer, 1, 0, piece);
    }
    size_t window = 65535;
    size_t sent = 0;
    while (sent < 2 * 1024 * 1024) {
        struct h2_frame f;
        for (; window >= 16000; window -= 16000, sent += 16000) {
            h2_say_data(peer, 3, 0, piece);
        }
        h2_await(s, peer, H2_WINDOW, &f);
        window += f.id == 3 ? h2_u32(f.payload) : 0;
    }
    h2_say_data(peer, 3, H2_END_STREAM, "");
    stage_run(s, p[1].n_done == 1);
    assert_int_equal(p[1].body.n, sent);
    assert_int_equal(p[0].n_body, 0);
    asker_cancel(&p[0]);
    asker_dispose(&p[0]);
    asker_dispose(&p[1]);
}

static void cancelling_resets_the_stream_and_keeps_the_connection(void **state)
{
    struct stage *s = *state;
    struct asker p[3] = {0};
    asker_start(&p[0], s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    asker_cancel(&p[0]);
    struct h2_frame f;
    h2_await(s, peer, H2_RST, &f);
    assert_int_equal(f.id, 1);
    assert_int_equal(h2_u32(f.payload), NGHTTP2_CANCEL);
    h2_say_answer(peer, 1, "too late");
    asker_start(&p[1], s); /* not sent yet: the peer need not hear of it */
    asker_cancel(&p[1]);
    asker_start(&p[2], s);
    uint32_t id = h2_await_request(s, peer);
    h2_say_answer(peer, id, "[]");
    stage_run(s, p[2].n_done == 1);
    assert_int_equal(p[2].err, 0);
    assert_int_equal(p[0].n_done + p[1].n_done, 0);
    assert_int_equal(s->n_peers, 1);
    asker_dispose(&p[2]);
}

static void cancel_it(struct asker *p)
{
    asker_cancel(p);
}

static void cancelling_from_inside_events(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct peer *peer = NULL;
    for (int i = 0; i < 3; i++) {
        struct asker p = {.at_head = i == 0 ? cancel_it : NULL, .at_body = cancel_it};
        asker_ask(&p, s, &r);
        peer = i == 0 ? h2_greet(s, 0, 0, 0) : peer;
        uint32_t id = h2_await_request(s, peer);
        if (i == 2) {
            weir_call_pause(p.call);
        }
        h2_say_head(peer, id, 0, "200", NULL);
        h2_say_data(peer, id, 0, "one");
        h2_say_data(peer, id, H2_END_STREAM, "two");
        if (i == 2) {
            stage_spin(s);
            weir_call_resume(p.call);
        }
        stage_run(s, p.call == NULL);
        stage_spin(s);
        assert_int_equal(p.n_done, 0);
        assert_int_equal(p.n_body, i > 0);
        asker_dispose(&p);
    }
    assert_int_equal(s->n_peers, 1);
}

static void close_client(struct asker *p)
{
    struct stage *s = p->stage;
    weir_client_close(s->client, stage_on_client_closed, s);
    s->client = NULL;
}

/* While nghttp2 reads on, there is nobody left to tell. */
static void closing_the_client_from_inside_events(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p[2] = {{.at_body = close_client}};
    asker_ask(&p[0], s, &r);
    asker_ask(&p[1], s, &r);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_await_request(s, peer);
    h2_say_head(peer, 1, 0, "200", NULL);
    h2_say_head(peer, 3, 0, "200", NULL);
    h2_say_data(peer, 1, H2_END_STREAM, "one");
    h2_say_data(peer, 3, H2_END_STREAM, "two");
    stage_run(s, s->is_client_closed);
    assert_int_equal(p[0].n_done + p[1].n_done + p[1].n_body, 0);
    asker_dispose(&p[0]);
    asker_dispose(&p[1]);
}

/* The service has said everything and is gone; the owner just had not listened yet. */
static void a_complete_answer_survives_the_connection(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p[2] = {0};
    asker_ask(&p[0], s, &r);
    asker_ask(&p[1], s, &r);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_await_request(s, peer);
    for (int i = 0; i < 2; i++) {
        weir_call_pause(p[i].call);
        uint32_t id = 1 + 2 * (uint32_t)i;
        h2_say_head(peer, id, 0, "200", NULL);
        h2_say_data(peer, id, 0, "all of it");
        h2_say_head(peer, id, H2_END_STREAM, NULL, (const char *const[]){"x-sum", "1", NULL});
    }
    stage_run(s, p[0].n_head + p[1].n_head == 2);
    stage_spin(s);
    peer_reset(peer);
    stage_run(s, stage_pool(s)->n_conns == 0);
    assert_int_equal(p[0].n_body + p[0].n_done, 0);
    weir_call_resume(p[0].call);
    stage_run(s, p[0].n_done == 1);
    assert_int_equal(p[0].err, 0);
    assert_true(asker_has(&p[0].body, "all of it"));
    assert_true(asker_has(&p[0].trailers, "x-sum: 1\n"));
    asker_cancel(&p[1]);
    asker_dispose(&p[0]);
    asker_dispose(&p[1]);
}

static void an_early_answer_stops_the_request(void **state)
{
    struct stage *s = *state;
    struct weir_call_request r = streamed(s);
    struct asker p = {0};
    asker_ask(&p, s, &r);
    asker_write(&p, WEIR_SLICE("some"));
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_await_request(s, peer);
    h2_say_head(peer, 1, H2_END_STREAM, "200", (const char *const[]){"grpc-status", "8", NULL});
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    struct h2_frame f;
    h2_await(s, peer, H2_RST, &f);
    assert_int_equal(h2_u32(f.payload), NGHTTP2_CANCEL);
    asker_dispose(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        h2_test(a_request_is_complete),
        h2_test(many_calls_share_one_connection),
        h2_test(a_full_connection_leads_to_another),
        h2_test(a_call_waits_for_a_stream),
        h2_test(trailers_are_told_at_the_end),
        h2_test(a_body_may_be_streamed_while_the_answer_comes),
        h2_test(writing_stops_where_the_window_ends),
        h2_test(a_write_after_full_does_not_lose_the_room),
        h2_test(the_flow_contract_holds_on_random_windows),
        h2_test(writing_ahead_of_the_connection_is_bounded),
        h2_test(a_large_request_respects_the_window),
        h2_test(a_paused_answer_keeps_its_window_and_no_other),
        h2_test(resuming_gives_the_window_back),
        h2_test(a_paused_answer_does_not_stop_the_others),
        h2_test(cancelling_resets_the_stream_and_keeps_the_connection),
        h2_test(cancelling_from_inside_events),
        h2_test(closing_the_client_from_inside_events),
        h2_test(a_complete_answer_survives_the_connection),
        h2_test(an_early_answer_stops_the_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
