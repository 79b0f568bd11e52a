/* HTTP/2, serving side: the same exchanges as on HTTP/1, many on one connection. */
#include "unit/http/h2_caller.h"

enum { SOCK_BYTES = 64 * 1024 };

/* Both directions at once */

static void each_piece_is_answered_while_the_body_is_open(void **state)
{
    struct served *sv = *state;
    serve_echo(sv);
    struct h2_reply *r = caller_post_open(0);
    serve_run(sv, r->status == 200);
    for (size_t i = 1; i <= 5; i++) {
        caller_send(r, 1);
        serve_run(sv, r->n_body == i);
    }
    assert_int_equal(sv->x[0].n_body_end, 0);
    caller_send_end(r);
    serve_run(sv, r->is_closed && sv->n_done == 1);
    assert_true(r->is_ended);
    assert_int_equal(r->code, NGHTTP2_NO_ERROR);
}

/* Handed in, but not yet with the caller: bounded by the stream's queue and the caller's window. */
static size_t under_way(const struct served *sv, const struct h2_reply *r)
{
    return sv->x[0].s != NULL ? sv->x[0].s->sent_bytes - r->n_body : 0;
}

static void ten_megabytes_are_echoed_in_bounded_memory(void **state)
{
    struct served *sv = *state;
    serve_echo(sv);
    const struct h2_reply *r = caller_post(SERVE_BIG);
    while (!r->is_closed) {
        assert_false(sv->pair->timed_out);
        serve_turn(sv);
        assert_true(under_way(sv, r) <= SERVE_OUT_BYTES + 2 * CALLER_WINDOW);
    }
    assert_int_equal(r->n_body, SERVE_BIG);
    assert_int_equal(sv->x[0].n_got, SERVE_BIG);
    assert_true(sv->most_pending < SOCK_BYTES + 2 * NGHTTP2_INITIAL_WINDOW_SIZE);
}

static void a_slow_stream_does_not_hold_up_another(void **state)
{
    struct served *sv = *state;
    serve_echo(sv);
    struct h2_reply *slow =
        caller_ask("POST", &(struct h2_reply){.to_send = 30000, .is_held = true}, NULL);
    serve_run(sv, slow->n_body == 30000);
    struct h2_reply *fast = caller_post(1000 * 1000);
    serve_run(sv, fast->is_closed);
    assert_int_equal(fast->n_body, 1000 * 1000);
    caller_read_on(slow);
    serve_run(sv, slow->is_closed);
}

/* Bytes `from`… in one write. */
static void write_piece(struct exchange *x, size_t from, size_t n)
{
    char piece[20000];
    assert_true(n <= sizeof piece);
    for (size_t i = 0; i < n; i++) {
        piece[i] = pair_byte(from + i);
    }
    exchange_write(x, weir_slice_make(piece, n));
}

static void respond_in_pieces(struct exchange *x)
{
    struct weir_http_response r = {
        .status = 200, .body = WEIR_HTTP_BODY_STREAM, .keeps_writes = true};
    weir_http_stream_respond(x->s, &r);
    write_piece(x, 0, 5);
    write_piece(x, 5, 20000);
    write_piece(x, 20005, 1);
}

static void a_write_has_frames_of_its_own(void **state)
{
    static const size_t want[] = {5, 16384, 3616, 1, 7, 8};
    struct served *sv = *state;
    sv->at_request = respond_in_pieces;
    const struct h2_reply *r = caller_get();
    serve_run(sv, r->n_body == 20006);
    write_piece(&sv->x[0], 20006, 7);
    write_piece(&sv->x[0], 20013, 8);
    exchange_end(&sv->x[0]);
    serve_run(sv, r->is_closed);
    assert_int_equal(r->n_frames, sizeof want / sizeof want[0]);
    assert_memory_equal(r->frames, want, sizeof want);
}

/* Many of them, against a window that closes in the middle of some. */
static void many_writes_keep_their_frames(void **state)
{
    enum { N = 3000, BYTES = 100 };
    struct served *sv = *state;
    sv->at_request = respond_in_pieces;
    struct h2_reply *r = caller_get();
    r->is_held = true;
    serve_run(sv, r->n_body == 20006);
    for (size_t i = 0; i < N; i++) {
        write_piece(&sv->x[0], 20006 + i * BYTES, BYTES);
    }
    exchange_end(&sv->x[0]);
    serve_run(sv, r->n_body == CALLER_WINDOW);
    caller_read_on(r);
    serve_run(sv, r->is_closed);
    assert_int_equal(r->n_body, 20006 + N * BYTES);
    assert_in_range(r->n_frames, N, N + 100);
}

/* Flow */

static void a_paused_body_closes_the_window(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_pause;
    sv->at_body_end = exchange_respond;
    struct h2_reply *r = caller_post(SERVE_BIG);
    serve_run(sv, r->sent == CALLER_WINDOW);
    serve_spin(sv);
    assert_int_equal(r->sent, CALLER_WINDOW);
    assert_int_equal(sv->x[0].n_got, 0);
    exchange_resume(&sv->x[0]);
    serve_run(sv, r->status == 200);
    assert_int_equal(sv->x[0].n_got, SERVE_BIG);
    exchange_end(&sv->x[0]);
    serve_run(sv, r->is_closed);
}

static void pausing_at_every_piece_loses_nothing(void **state)
{
    struct served *sv = *state;
    sv->at_body = exchange_pause;
    sv->at_body_end = exchange_reply_empty;
    const struct h2_reply *r = caller_post(300 * 1000);
    while (sv->n_done == 0) {
        serve_run(sv, sv->n_done == 1 || (sv->n_x == 1 && sv->x[0].s->body_paused));
        if (sv->n_done == 0) {
            exchange_resume(&sv->x[0]);
        }
    }
    assert_int_equal(sv->x[0].n_got, 300 * 1000);
    serve_run(sv, r->is_closed);
    assert_int_equal(r->status, 200);
}

static void a_full_response_waits_for_the_window(void **state)
{
    struct served *sv = *state;
    serve_big(sv);
    struct h2_reply *r = caller_ask("GET", NULL, NULL);
    r->is_held = true;
    serve_run(sv, r->n_body == CALLER_WINDOW);
    serve_spin(sv);
    const struct exchange *x = &sv->x[0];
    assert_int_equal(x->n_full, x->n_resume + 1);
    assert_true(x->sent <= SERVE_OUT_BYTES + CALLER_WINDOW + SERVE_PIECE);
    assert_int_equal(r->n_body, CALLER_WINDOW);
    caller_read_on(r);
    serve_run(sv, r->is_closed);
    assert_int_equal(r->n_body, SERVE_BIG);
    assert_true(x->n_resume > 10);
}

static void a_write_after_full_does_not_lose_the_resume(void **state)
{
    struct served *sv = *state;
    struct h2_reply *r = caller_get();
    r->is_held = true;
    serve_run(sv, sv->n_x == 1);
    struct exchange *x = &sv->x[0];
    sv->at_resume = exchange_send_on;
    exchange_send_big(x);
    serve_run(sv, r->n_body == CALLER_WINDOW);
    serve_spin(sv);
    assert_int_equal(x->n_full, x->n_resume + 1);
    unsigned resumes = x->n_resume;
    sv->at_resume = NULL;
    /* Some room, but not yet half. */
    caller_grant(r, CALLER_WINDOW / 2 + 1);
    serve_run(sv, r->n_body > CALLER_WINDOW);
    serve_spin(sv);
    char piece = pair_byte(x->sent);
    assert_int_equal(exchange_write(x, weir_slice_make(&piece, 1)), WEIR_FLOW_FULL);
    caller_read_on(r);
    serve_run(sv, x->n_resume == resumes + 1);
    exchange_end(x);
    serve_run(sv, r->is_closed);
}

/* A caller that goes away */

static void gone_before_the_answer(struct served *sv)
{
    caller_get();
    serve_run(sv, sv->x[0].n_body_end == 1);
}

static void gone_in_the_body(struct served *sv)
{
    caller_post_open(4);
    serve_run(sv, sv->x[0].n_got == 4);
}

static void gone_while_paused(struct served *sv)
{
    sv->at_body = exchange_pause;
    struct h2_reply *r = caller_post_open(4);
    serve_run(sv, sv->x[0].n_got == 4);
    caller_send(r, 4);
    serve_spin(sv);
}

static void gone_in_the_answer(struct served *sv)
{
    sv->at_request = exchange_respond;
    const struct h2_reply *r = caller_get();
    serve_run(sv, r->status == 200);
}

static void gone_in_both(struct served *sv)
{
    serve_echo(sv);
    const struct h2_reply *r = caller_post_open(4);
    serve_run(sv, r->n_body == 4);
}

static void gone_while_full(struct served *sv)
{
    serve_big(sv);
    struct h2_reply *r = caller_get();
    r->is_held = true;
    serve_run(sv, r->n_body == CALLER_WINDOW);
    assert_int_equal(sv->x[0].n_full, sv->x[0].n_resume + 1);
}

static void (*const WAYS_TO_GO[])(struct served *sv) = {
    gone_before_the_answer, gone_in_the_body, gone_while_paused,
    gone_in_the_answer,     gone_in_both,     gone_while_full,
};

enum { BY_RST_STREAM, BY_CLOSE, BY_TCP_RESET, N_WAYS };

static void leave(struct served *sv, int how)
{
    if (how == BY_RST_STREAM) {
        caller_reset(&caller.replies[0]);
    } else if (how == BY_CLOSE) {
        side_close(&sv->pair->down);
    } else {
        side_reset(&sv->pair->down);
    }
}

static void whoever_leaves_is_told_of_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_WAYS * (sizeof WAYS_TO_GO / sizeof *WAYS_TO_GO); i++) {
        void *one;
        caller_setup(&one);
        struct served *sv = one;
        WAYS_TO_GO[i / N_WAYS](sv);
        leave(sv, (int)(i % N_WAYS));
        serve_run(sv, sv->x[0].n_done == 1);
        assert_int_equal(sv->x[0].n_gone, 1);
        serve_spin(sv);
        assert_int_equal(sv->endpoint.n_conns, i % N_WAYS == BY_RST_STREAM);
        caller_teardown(&one);
    }
}

/* What a paused body had received counts against the window of the whole connection. */
static void a_reset_stream_gives_its_window_back(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_pause;
    for (size_t i = 0; i < 40; i++) {
        struct h2_reply *r = caller_post_open(60 * 1000);
        serve_run(sv, r->sent == r->to_send && sv->n_x == i + 1);
        caller_reset(r);
        serve_run(sv, sv->n_done == i + 1);
    }
    sv->at_request = NULL;
    sv->at_body_end = exchange_reply_empty;
    const struct h2_reply *r = caller_post(200 * 1000);
    serve_run(sv, r->is_closed);
    assert_int_equal(r->status, 200);
}

/* Breaking off */

static void expect_aborted(struct served *sv, const struct h2_reply *r)
{
    serve_run(sv, r->is_closed && sv->n_done == 1);
    assert_int_equal(r->code, NGHTTP2_INTERNAL_ERROR);
    assert_int_equal(sv->x[0].n_gone, 0);
    /* The connection is none the worse for it. */
    sv->at_request = exchange_reply_empty;
    const struct h2_reply *next = caller_get();
    serve_run(sv, next->is_closed);
    assert_int_equal(next->code, NGHTTP2_NO_ERROR);
}

static void abort_in_the_request(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_abort;
    expect_aborted(sv, caller_get());
}

static void abort_in_the_body(void **state)
{
    struct served *sv = *state;
    sv->at_body = exchange_abort;
    expect_aborted(sv, caller_post_open(4));
}

static void abort_in_the_answer(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_respond;
    const struct h2_reply *r = caller_get();
    serve_run(sv, r->status == 200);
    exchange_abort(&sv->x[0]);
    expect_aborted(sv, r);
}

static void abort_right_after_a_write(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_respond_and_abort;
    expect_aborted(sv, caller_get());
}

/* Answers that do not wait */

/* Clients that are told to stop at once forget the answer. The request is over all the same. */
static void an_early_answer_lets_the_caller_finish(void **state)
{
    struct served *sv = *state;
    sv->at_body = exchange_reply_empty;
    const struct h2_reply *r = caller_post(SERVE_BIG);
    serve_run(sv, r->is_ended);
    assert_int_equal(r->status, 200);
    assert_int_equal(sv->n_done, 1);
    assert_true(r->sent < SERVE_BIG);
    serve_run(sv, r->is_closed);
    assert_int_equal(r->code, NGHTTP2_NO_ERROR);
    assert_int_equal(r->sent, SERVE_BIG);
    assert_int_equal(sv->n_done, 1);
    sv->at_body = NULL;
    sv->at_body_end = exchange_reply_empty;
    const struct h2_reply *next = caller_post(1000 * 1000);
    serve_run(sv, next->is_closed);
    assert_int_equal(next->status, 200);
}

static void what_is_left_of_a_body_has_an_end(void **state)
{
    struct served *sv = *state;
    sv->at_body = exchange_reply_empty;
    const struct h2_reply *r = caller_post((size_t)200 * 1024 * 1024);
    serve_run(sv, r->is_closed);
    assert_true(r->is_ended);
    assert_int_equal(r->code, NGHTTP2_NO_ERROR);
    assert_in_range(r->sent, 64 * 1024 * 1024, 66 * 1024 * 1024);
}

/* A caller that says nothing more is told to stop when the server goes. */
static void what_is_left_of_a_body_does_not_hold_a_drain(void **state)
{
    struct served *sv = *state;
    sv->at_body = exchange_reply_empty;
    const struct h2_reply *r = caller_post_open(10);
    serve_run(sv, r->is_ended);
    assert_false(r->is_closed);
    weir_http_endpoint_drain(&sv->endpoint);
    serve_run(sv, r->is_closed);
    assert_int_equal(r->code, NGHTTP2_NO_ERROR);
}

static void send_and_end(struct exchange *x)
{
    exchange_respond(x);
    assert_int_equal(exchange_write(x, WEIR_SLICE("not for HEAD")), WEIR_FLOW_OK);
    exchange_end(x);
}

static void head_has_no_body(void **state)
{
    struct served *sv = *state;
    sv->at_request = send_and_end;
    const struct h2_reply *r = caller_ask("HEAD", NULL, NULL);
    serve_run(sv, r->is_closed);
    assert_int_equal(r->n_body, 0);
    assert_true(r->is_ended);
}

static void a_caller_that_waits_for_leave_gets_it(void **state)
{
    struct served *sv = *state;
    sv->at_body_end = exchange_reply_empty;
    struct h2_reply waiting = {.is_open = true};
    struct h2_reply *r = caller_ask("POST", &waiting, "100-continue");
    serve_run(sv, r->n_interim == 1);
    assert_int_equal(r->status, 100);
    caller_send(r, 1000);
    caller_send_end(r);
    serve_run(sv, r->is_closed);
    assert_int_equal(r->status, 200);
    assert_int_equal(r->n_interim, 1);
    assert_int_equal(sv->x[0].n_got, 1000);
}

static void a_caller_refused_at_once_gets_no_leave(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_reply_empty;
    struct h2_reply waiting = {.is_open = true};
    const struct h2_reply *r = caller_ask("POST", &waiting, "100-continue");
    serve_run(sv, r->is_closed);
    assert_int_equal(r->status, 200);
    assert_int_equal(r->n_interim, 0);
}

/* Floods */

static void say_bytes(struct side *side, const void *bytes, size_t n)
{
    weir_sock_write(&side->sock, weir_slice_make(bytes, n));
}

/* More streams than allowed, from a caller that never acknowledges the limit: each is refused with
 * a frame of ours, which must not pile up when nobody reads them. */
static void refusals_nobody_reads_do_not_pile_up(void **state)
{
    struct served *sv = *state;
    struct side *down = &sv->pair->down;
    static const char begin[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    /* :method GET, :scheme http, :path / by their numbers; :authority x in full */
    unsigned char head[] = {0, 0, 6, 1, 5, 0, 0, 0, 0, 0x82, 0x86, 0x84, 0x01, 0x01, 'x'};
    down->at_data = down->at_drain = NULL;
    serve_run(sv, down->n_open == 1 && sv->n_open == 1);
    weir_sock_pause(&down->sock);
    say_bytes(down, begin, sizeof begin - 1);
    for (unsigned id = 1; sv->n_open == 1; id += 2) {
        head[5] = (unsigned char)(id >> 24);
        head[6] = (unsigned char)(id >> 16);
        head[7] = (unsigned char)(id >> 8);
        head[8] = (unsigned char)id;
        say_bytes(down, head, sizeof head);
        while (weir_sock_pending(&down->sock) >= down->sock.out_max && sv->n_open == 1) {
            assert_false(sv->pair->timed_out);
            serve_turn(sv);
        }
    }
    assert_true(sv->most_pending < 2 * SOCK_BYTES);
    assert_int_equal(sv->n_x, sv->limits.max_streams);
}

/* Draining */

static void draining_lets_a_stream_finish(void **state)
{
    struct served *sv = *state;
    const struct h2_reply *r = caller_get();
    serve_run(sv, sv->n_x == 1);
    weir_http_endpoint_drain(&sv->endpoint);
    serve_run(sv, caller.n_goaway == 2);
    assert_int_equal(caller.last_id, r->id);
    assert_int_equal(caller.goaway_code, NGHTTP2_NO_ERROR);
    serve_spin(sv);
    assert_int_equal(sv->n_empty, 0);
    exchange_reply_empty(&sv->x[0]);
    serve_run(sv, sv->pair->down.n_eof == 1);
    assert_int_equal(r->status, 200);
    side_close(&sv->pair->down);
    serve_run(sv, sv->n_empty == 1);
}

/* The connection's one timer may be due for something else in between. */
static void a_tick_while_draining_does_not_put_off_the_goaway(void **state)
{
    struct served *sv = *state;
    caller_get();
    serve_run(sv, sv->n_x == 1);
    weir_http_endpoint_drain(&sv->endpoint);
    struct weir_timer *timer = &serve_conn(sv)->timer;
    uint64_t due_ms = timer->due_ms;
    weir_timers_set(&sv->pair->loop.timers, timer, weir_loop_now_ms(&sv->pair->loop));
    serve_run(sv, weir_timer_is_armed(timer) && timer->due_ms > weir_loop_now_ms(&sv->pair->loop));
    assert_true(caller.n_goaway == 2 || timer->due_ms == due_ms);
}

static void draining_closes_an_idle_connection(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_reply_empty;
    const struct h2_reply *r = caller_get();
    serve_run(sv, r->is_closed);
    weir_http_endpoint_drain(&sv->endpoint);
    serve_run(sv, sv->pair->down.n_eof == 1);
    assert_int_equal(caller.n_goaway, 1);
    side_close(&sv->pair->down);
    serve_run(sv, sv->n_empty == 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, caller_setup, caller_teardown)
#define TLS_TEST(fn)                                                                               \
    {                                                                                              \
        "tls: " #fn, fn, caller_setup_tls, caller_teardown, NULL                                   \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_piece_is_answered_while_the_body_is_open),
        TEST(ten_megabytes_are_echoed_in_bounded_memory),
        TEST(a_slow_stream_does_not_hold_up_another),
        TEST(a_write_has_frames_of_its_own),
        TEST(many_writes_keep_their_frames),
        TEST(a_paused_body_closes_the_window),
        TEST(pausing_at_every_piece_loses_nothing),
        TEST(a_full_response_waits_for_the_window),
        TEST(a_write_after_full_does_not_lose_the_resume),
        cmocka_unit_test(whoever_leaves_is_told_of_once),
        TEST(a_reset_stream_gives_its_window_back),
        TEST(abort_in_the_request),
        TEST(abort_in_the_body),
        TEST(abort_in_the_answer),
        TEST(abort_right_after_a_write),
        TEST(an_early_answer_lets_the_caller_finish),
        TEST(what_is_left_of_a_body_has_an_end),
        TEST(what_is_left_of_a_body_does_not_hold_a_drain),
        TEST(head_has_no_body),
        TEST(a_caller_that_waits_for_leave_gets_it),
        TEST(a_caller_refused_at_once_gets_no_leave),
        TEST(refusals_nobody_reads_do_not_pile_up),
        TEST(draining_lets_a_stream_finish),
        TEST(a_tick_while_draining_does_not_put_off_the_goaway),
        TEST(draining_closes_an_idle_connection),
        TLS_TEST(ten_megabytes_are_echoed_in_bounded_memory),
        TLS_TEST(a_slow_stream_does_not_hold_up_another),
        TLS_TEST(a_full_response_waits_for_the_window),
        TLS_TEST(an_early_answer_lets_the_caller_finish),
        TLS_TEST(draining_lets_a_stream_finish),
        TLS_TEST(draining_closes_an_idle_connection),
    };
    return cmocka_run_group_tests(tests, certs_setup, certs_teardown);
}
