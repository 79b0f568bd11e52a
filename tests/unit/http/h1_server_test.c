/* HTTP/1, serving side, where streams matter: both directions at once, flow, and every end. */
#include "unit/http/serve_tls.h"
#include "wire/http1.h"

/* The caller of the test that runs; the hooks of a side have no context of their own. */
static struct caller {
    struct served *sv;
    struct weir_http1_limits limits;
    struct weir_http1_reader reader;
    int n_heads, n_ends, status;
    size_t n_body; /* whose content follows pair_byte */
    bool is_last;  /* the head said that the connection ends */
    bool is_chunked;
    size_t to_send, sent; /* of a chunked request body */
} caller;

static void read_answer(struct side *side)
{
    struct weir_slice in = side->now;
    for (;;) {
        size_t used;
        enum weir_http1_event event;
        int rc = weir_http1_feed(&caller.reader, in, &used, &event);
        in = weir_slice_sub(in, used, in.n);
        if (rc == WEIR_EAGAIN) {
            return;
        }
        assert_int_equal(rc, 0);
        if (event == WEIR_HTTP1_HEAD) {
            caller.n_heads++;
            caller.status = caller.reader.head.status;
            caller.is_last = !caller.reader.head.keep_alive;
            caller.is_chunked = caller.reader.head.is_chunked;
        } else if (event == WEIR_HTTP1_DATA) {
            serve_check_bytes(caller.reader.data, caller.n_body);
            caller.n_body += caller.reader.data.n;
        } else {
            caller.n_ends++;
        }
    }
}

static int setup(void **state)
{
    serve_setup(state);
    caller = (struct caller){.sv = *state, .limits = {64 * 1024, 64, 0}};
    weir_http1_init(&caller.reader, WEIR_HTTP1_RESPONSES, &caller.limits);
    return 0;
}

static int setup_tls(void **state)
{
    setup(state);
    serve_use_tls(*state, false);
    return 0;
}

static int teardown(void **state)
{
    weir_http1_dispose(&caller.reader);
    return serve_teardown(state);
}

/* Answers are parsed instead of kept. */
static void parse_answers(struct served *sv)
{
    sv->pair->down.drop = true;
    sv->pair->down.at_data = read_answer;
}

static struct side *ask(struct served *sv, const char *request)
{
    pair_connect(sv->pair);
    side_say(&sv->pair->down, request);
    return &sv->pair->down;
}

/* Chunks of odd sizes, as fast as the socket takes them; then the end of the body. */
static void send_chunks(struct side *side)
{
    enum weir_flow flow = WEIR_FLOW_OK;
    while (caller.sent < caller.to_send && flow == WEIR_FLOW_OK) {
        char bytes[5000];
        char head[18];
        size_t n = 1 + caller.sent % sizeof bytes;
        n = n < caller.to_send - caller.sent ? n : caller.to_send - caller.sent;
        for (size_t i = 0; i < n; i++) {
            bytes[i] = pair_byte(caller.sent + i);
        }
        weir_sock_write(&side->sock, weir_slice_make(head, weir_http1_chunk_head(head, n)));
        weir_sock_write(&side->sock, weir_slice_make(bytes, n));
        flow = side_say(side, "\r\n");
        caller.sent += n;
        if (caller.sent == caller.to_send) {
            side_say(side, "0\r\n\r\n");
        }
    }
}

static struct side *ask_chunked(struct served *sv, size_t n_bytes)
{
    caller.to_send = n_bytes;
    struct side *down = ask(sv, "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    down->at_drain = send_chunks;
    send_chunks(down);
    return down;
}

static const char GET[] = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
static const char HALF_POST[] = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 8\r\n\r\nhalf";

static const char *text_of(struct served *sv)
{
    return weir_buf_cstr(&sv->pair->down.got);
}

static const char *body_of(struct served *sv)
{
    const char *end = strstr(text_of(sv), "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

/* Both directions at once */

static void each_piece_is_answered_while_the_body_is_open(void **state)
{
    struct served *sv = *state;
    parse_answers(sv);
    serve_echo(sv);
    struct side *down = ask(sv, "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    serve_run(sv, caller.n_heads == 1);
    assert_true(caller.is_chunked);
    for (size_t i = 0; i < 5; i++) {
        char piece[] = {'1', '\r', '\n', pair_byte(i), '\r', '\n'};
        weir_sock_write(&down->sock, weir_slice_make(piece, sizeof piece));
        serve_run(sv, caller.n_body == i + 1);
    }
    assert_int_equal(sv->x[0].n_body_end, 0);
    side_say(down, "0\r\n\r\n");
    serve_run(sv, caller.n_ends == 1 && sv->n_done == 1);
    assert_int_equal(sv->endpoint.n_conns, 1);
}

static void ten_megabytes_are_echoed_in_bounded_memory(void **state)
{
    struct served *sv = *state;
    parse_answers(sv);
    serve_echo(sv);
    ask_chunked(sv, SERVE_BIG);
    serve_run(sv, caller.n_ends == 1);
    assert_int_equal(caller.n_body, SERVE_BIG);
    assert_int_equal(sv->x[0].n_got, SERVE_BIG);
    /* One read's worth may come on top of what is full. */
    assert_true(sv->most_pending < SERVE_OUT_BYTES + 2 * WEIR_LOOP_READ_BYTES);
}

/* With a caller that does not read while it writes, the handler runs into FULL and holds it back.
 */
static void an_echo_waits_for_the_reader(void **state)
{
    struct served *sv = *state;
    parse_answers(sv);
    serve_echo(sv);
    struct side *down = ask_chunked(sv, SERVE_BIG);
    serve_run(sv, caller.n_heads == 1);
    weir_sock_pause(&down->sock);
    serve_run(sv, sv->x[0].n_full > sv->x[0].n_resume && down->sock.is_writing);
    serve_settle(sv, sv->x[0].n_got);
    assert_true(sv->x[0].n_got < SERVE_BIG);
    weir_sock_resume(&down->sock);
    serve_run(sv, caller.n_ends == 1);
    assert_int_equal(caller.n_body, SERVE_BIG);
    assert_true(sv->x[0].n_resume > 0);
    assert_true(sv->most_pending < SERVE_OUT_BYTES + 2 * WEIR_LOOP_READ_BYTES);
}

/* Flow */

static void a_paused_body_stops_the_caller(void **state)
{
    struct served *sv = *state;
    parse_answers(sv);
    sv->at_request = exchange_pause;
    sv->at_body_end = exchange_reply;
    struct side *down = ask_chunked(sv, SERVE_BIG);
    serve_run(sv, down->sock.is_writing);
    serve_settle(sv, caller.sent);
    assert_true(caller.sent < SERVE_BIG);
    assert_int_equal(sv->x[0].n_got, 0);
    assert_true(sv->most_stash < 3 * WEIR_LOOP_READ_BYTES);
    down->drop = false;
    down->at_data = NULL;
    exchange_resume(&sv->x[0]);
    serve_run(sv, sv->n_done == 1 && down->n_got != 0);
    assert_int_equal(sv->x[0].n_got, SERVE_BIG);
    assert_string_equal(body_of(sv), "done");
}

static void pausing_at_every_piece_loses_nothing(void **state)
{
    struct served *sv = *state;
    sv->at_body = exchange_pause;
    sv->at_body_end = exchange_reply;
    struct side *down = ask_chunked(sv, 100 * 1000);
    while (sv->n_done == 0) {
        serve_run(sv, sv->n_done == 1 || (sv->n_x == 1 && sv->x[0].s->body_paused));
        if (sv->n_done == 0) {
            exchange_resume(&sv->x[0]);
        }
    }
    assert_int_equal(sv->x[0].n_got, 100 * 1000);
    serve_run(sv, down->n_got != 0);
    assert_string_equal(body_of(sv), "done");
}

static void a_full_response_waits_for_the_reader(void **state)
{
    struct served *sv = *state;
    parse_answers(sv);
    serve_big(sv);
    struct side *down = ask(sv, GET);
    serve_run(sv, caller.n_heads == 1);
    weir_sock_pause(&down->sock);
    serve_run(sv, serve_conn(sv)->sock.is_writing);
    serve_settle(sv, sv->x[0].sent);
    assert_true(sv->x[0].sent < SERVE_BIG);
    weir_sock_resume(&down->sock);
    serve_run(sv, caller.n_ends == 1);
    assert_int_equal(caller.n_body, SERVE_BIG);
    assert_true(sv->x[0].n_resume > 10);
    assert_true(sv->most_pending < SERVE_OUT_BYTES + 2 * SERVE_PIECE);
}

/* Between FULL and on_resume a writer may still finish what it is in the middle of; that must not
 * cost it its on_resume. */
static void a_write_after_full_does_not_lose_the_resume(void **state)
{
    struct served *sv = *state;
    struct side *down = ask(sv, GET);
    serve_run(sv, sv->n_x == 1);
    struct exchange *x = &sv->x[0];
    struct weir_http_conn *c = serve_conn(sv);
    weir_sock_pause(&down->sock);
    sv->at_resume = exchange_send_on;
    exchange_send_big(x);
    serve_run(sv, c->sock.is_writing);
    serve_spin(sv);
    assert_int_equal(x->n_full, x->n_resume + 1);
    sv->at_resume = NULL;
    unsigned resumes = x->n_resume;
    /* Some room, but not yet half. */
    c->sock.out_max = weir_sock_pending(&c->sock) * 3 / 2;
    assert_int_equal(exchange_write(x, WEIR_SLICE("!")), WEIR_FLOW_FULL);
    weir_sock_resume(&down->sock);
    serve_run(sv, x->n_resume == resumes + 1);
    exchange_end(x);
}

/* A caller that goes away */

static void expect_gone(struct served *sv, bool is_told)
{
    serve_run(sv, sv->endpoint.n_conns == 0);
    assert_int_equal(sv->n_x, 1);
    assert_int_equal(sv->x[0].n_gone, is_told);
    assert_int_equal(sv->x[0].n_done, 1);
    assert_int_equal(sv->x[0].n_undone, 1);
}

static void leave(struct served *sv, bool by_reset)
{
    if (by_reset) {
        side_reset(&sv->pair->down);
    } else {
        side_close(&sv->pair->down);
    }
}

static void gone_before_the_answer(struct served *sv, bool by_reset)
{
    ask(sv, GET);
    serve_run(sv, sv->n_x == 1 && sv->x[0].n_body_end == 1);
    leave(sv, by_reset);
    expect_gone(sv, true);
    assert_int_equal(sv->x[0].status, 0);
}

static void gone_in_the_body(struct served *sv, bool by_reset)
{
    sv->any_body = true;
    ask(sv, HALF_POST);
    serve_run(sv, sv->x[0].n_got == 4);
    leave(sv, by_reset);
    expect_gone(sv, true);
    assert_int_equal(sv->x[0].n_body_end, 0);
}

/* Nothing is read while the body is paused, so its end shows when it is resumed. */
static void gone_while_paused(struct served *sv, bool by_reset)
{
    sv->any_body = true;
    sv->at_body = exchange_pause;
    ask(sv, HALF_POST);
    serve_run(sv, sv->x[0].n_got == 4);
    leave(sv, by_reset);
    serve_run(sv, sv->pair->down.n_closed == 1);
    serve_spin(sv);
    exchange_resume(&sv->x[0]);
    expect_gone(sv, true);
}

static void gone_in_the_answer(struct served *sv, bool by_reset)
{
    sv->at_request = exchange_respond;
    struct side *down = ask(sv, GET);
    serve_run(sv, down->n_got != 0);
    leave(sv, by_reset);
    expect_gone(sv, true);
    assert_int_equal(sv->x[0].status, 200);
}

static void gone_in_both(struct served *sv, bool by_reset)
{
    sv->any_body = true;
    serve_echo(sv);
    struct side *down = ask(sv, HALF_POST);
    serve_run(sv, sv->x[0].n_got == 4 && down->n_got != 0);
    leave(sv, by_reset);
    expect_gone(sv, true);
}

static void gone_while_full(struct served *sv, bool by_reset)
{
    serve_big(sv);
    struct side *down = ask(sv, GET);
    serve_run(sv, down->n_got != 0);
    weir_sock_pause(&down->sock);
    serve_run(sv, serve_conn(sv)->sock.is_writing);
    leave(sv, by_reset);
    expect_gone(sv, true);
}

/* The answer is complete, if not delivered: nobody needs to be told. */
static void gone_after_the_answer(struct served *sv, bool by_reset)
{
    sv->at_body_end = exchange_reply;
    struct side *down = ask(sv, GET);
    serve_run(sv, down->n_got != 0);
    leave(sv, by_reset);
    expect_gone(sv, false);
}

static void (*const WAYS_TO_GO[])(struct served *sv, bool by_reset) = {
    gone_before_the_answer, gone_in_the_body, gone_while_paused,     gone_in_the_answer,
    gone_in_both,           gone_while_full,  gone_after_the_answer,
};

static void whoever_leaves_is_told_of_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * (sizeof WAYS_TO_GO / sizeof *WAYS_TO_GO); i++) {
        void *one;
        setup(&one);
        WAYS_TO_GO[i / 2](one, i % 2 == 1);
        teardown(&one);
    }
}

/* Breaking off */

static void expect_aborted(struct served *sv)
{
    serve_run(sv, sv->pair->down.n_closed == 1 && sv->endpoint.n_conns == 0);
    assert_int_equal(sv->pair->down.err, WEIR_ERESET);
    assert_int_equal(sv->x[0].n_gone, 0);
    assert_int_equal(sv->x[0].n_done, 1);
}

static void abort_in_the_request(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_abort;
    ask(sv, GET);
    expect_aborted(sv);
}

static void abort_in_the_body(void **state)
{
    struct served *sv = *state;
    sv->any_body = true;
    sv->at_body = exchange_abort;
    ask(sv, HALF_POST);
    expect_aborted(sv);
    assert_int_equal(sv->x[0].n_got, 4);
}

static void abort_in_the_answer(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_respond;
    struct side *down = ask(sv, GET);
    serve_run(sv, down->n_got != 0);
    exchange_abort(&sv->x[0]);
    expect_aborted(sv);
}

static void abort_right_after_a_write(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_respond_and_abort;
    ask(sv, GET);
    expect_aborted(sv);
}

/* Answers that do not wait */

static void reply_early(struct exchange *x)
{
    weir_http_stream_reply(x->s, 413, NULL, 0, WEIR_SLICE("too much"));
}

/* The caller goes on sending for a while after the answer: it is not reset before it has read. */
static void an_early_answer_reaches_a_caller_that_still_sends(void **state)
{
    struct served *sv = *state;
    sv->at_body = reply_early;
    struct side *down = ask_chunked(sv, 800 * 1000);
    serve_run(sv, down->n_eof == 1 && caller.sent == caller.to_send);
    assert_non_null(strstr(text_of(sv), "HTTP/1.1 413 "));
    assert_non_null(strstr(text_of(sv), "\r\nconnection: close\r\n"));
    assert_string_equal(body_of(sv), "too much");
    assert_true(sv->x[0].n_got < 800 * 1000);
    assert_int_equal(sv->x[0].n_done, 1);
    side_close(down);
    serve_run(sv, sv->endpoint.n_conns == 0);
    assert_int_equal(down->n_error, 0);
}

/* The body has not been read to its end, so nobody can tell where the next request begins. */
static void nothing_behind_an_unread_body_is_a_request(void **state)
{
    struct served *sv = *state;
    sv->at_request = reply_early;
    struct side *down = ask(sv, "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 28\r\n\r\n"
                                "GET /a HTTP/1.1\r\nhost: x\r\n\r\n"
                                "GET /b HTTP/1.1\r\nhost: x\r\n\r\n");
    serve_run(sv, down->n_eof == 1);
    assert_int_equal(sv->n_x, 1);
}

static void reply_nothing(struct exchange *x)
{
    weir_http_stream_reply(x->s, 204, NULL, 0, WEIR_SLICE(""));
}

/* Whoever is answered before its body has come must be told that the connection ends. */
static void an_early_answer_without_body_says_so_too(void **state)
{
    struct served *sv = *state;
    sv->at_request = reply_nothing;
    struct side *down = ask(sv, HALF_POST);
    serve_run(sv, down->n_eof == 1);
    assert_non_null(strstr(text_of(sv), "connection: close\r\n"));
    assert_string_equal(body_of(sv), "");
}

static void http_1_0_streams_until_close(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_respond;
    struct side *down = ask(sv, "GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
    serve_run(sv, down->n_got != 0);
    exchange_write(&sv->x[0], WEIR_SLICE("one "));
    exchange_write(&sv->x[0], WEIR_SLICE("two"));
    serve_spin(sv);
    assert_int_equal(down->n_eof, 0);
    exchange_end(&sv->x[0]);
    serve_run(sv, down->n_eof == 1);
    assert_null(strstr(text_of(sv), "transfer-encoding"));
    assert_non_null(strstr(text_of(sv), "connection: close\r\n"));
    assert_string_equal(body_of(sv), "one two");
}

static void send_and_end(struct exchange *x)
{
    exchange_respond(x);
    assert_int_equal(exchange_write(x, WEIR_SLICE("not for HEAD")), WEIR_FLOW_OK);
    exchange_end(x);
}

static void head_has_no_body_and_the_connection_lives(void **state)
{
    struct served *sv = *state;
    sv->at_request = send_and_end;
    struct side *down = ask(sv, "HEAD / HTTP/1.1\r\nhost: x\r\n\r\n");
    serve_run(sv, sv->n_done == 1 && down->n_got != 0);
    assert_non_null(strstr(text_of(sv), "transfer-encoding: chunked\r\n"));
    assert_string_equal(body_of(sv), "");
    weir_buf_clear(&down->got);
    side_say(down, GET);
    serve_run(sv, sv->n_done == 2 && down->got.n != 0);
    assert_string_equal(body_of(sv), "c\r\nnot for HEAD\r\n0\r\n\r\n");
}

/* An answer that comes long after the request, from outside of any event of the connection. */
static void a_late_answer_is_sent_and_the_next_request_read(void **state)
{
    struct served *sv = *state;
    struct side *down = ask(sv, GET);
    side_say(down, GET);
    serve_run(sv, sv->n_x == 1);
    serve_spin(sv);
    assert_int_equal(sv->n_x, 1); /* one at a time */
    exchange_reply(&sv->x[0]);
    serve_run(sv, sv->n_x == 2);
    exchange_reply(&sv->x[1]);
    serve_run(sv, sv->n_done == 2);
    assert_int_equal(sv->endpoint.n_conns, 1);
}

/* What HTTP itself refuses */

static void expect_refused(const char *request, int status, const char *body, size_t n_requests)
{
    void *state;
    setup(&state);
    struct served *sv = state;
    sv->any_body = true;
    struct side *down = ask(sv, request);
    serve_run(sv, down->n_eof == 1);
    char line[32];
    snprintf(line, sizeof line, "HTTP/1.1 %d ", status);
    assert_memory_equal(text_of(sv), line, strlen(line));
    assert_non_null(strstr(text_of(sv), "connection: close\r\n"));
    assert_string_equal(body_of(sv), body);
    assert_int_equal(sv->n_done, 1); /* counted, whether or not there was a request */
    assert_int_equal(sv->n_x, n_requests);
    assert_int_equal(sv->x[0].n_gone, n_requests);
    teardown(&state);
}

static void what_is_refused_is_an_exchange_too(void **state)
{
    (void)state;
    expect_refused("\x16\x03\x01", 400, "[ ] 400 not an HTTP message", 0);
    expect_refused("GET /a?b HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n", 400,
                   "[GET /a] 400 more than one Host", 0);
    expect_refused("GET /a HTTP/1.1\r\nhost: x\n", 400, "[ ] 400 line ends without CR", 0);
    expect_refused("POST /v1/x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
                   "1\r\na\r\nno size\r\n",
                   400, "[POST /v1/x] 400 malformed chunk size", 1);
}

/* Once an answer has begun there is no other way to say it. */
static void a_broken_body_behind_a_begun_answer_is_a_reset(void **state)
{
    struct served *sv = *state;
    sv->any_body = true;
    sv->at_request = exchange_respond;
    struct side *down = ask(sv, "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    serve_run(sv, down->n_got != 0);
    side_say(down, "x");
    serve_run(sv, down->n_closed == 1 && sv->endpoint.n_conns == 0);
    assert_int_equal(down->err, WEIR_ERESET);
    assert_int_equal(sv->x[0].gone_err, WEIR_EPROTO);
}

enum { MANY = 3000, ANSWER_BYTES = 4000 };

static void reply_kilobytes(struct exchange *x)
{
    static const char zeros[ANSWER_BYTES];
    weir_http_stream_reply(x->s, 200, NULL, 0, weir_slice_make(zeros, sizeof zeros));
}

/* A caller may send as many requests ahead as it likes, but it must read to get them answered. */
static void pipelined_requests_wait_for_the_reader(void **state)
{
    struct served *sv = *state;
    sv->at_request = reply_kilobytes;
    pair_connect(sv->pair);
    struct side *down = &sv->pair->down;
    down->drop = true;
    serve_run(sv, down->n_open == 1);
    weir_sock_pause(&down->sock);
    for (int i = 0; i < MANY; i++) {
        side_say(down, GET);
    }
    serve_run(sv, sv->n_x != 0 && serve_conn(sv)->sock.is_writing);
    serve_settle(sv, sv->n_x);
    assert_true(sv->n_x < MANY);
    weir_sock_resume(&down->sock);
    serve_run(sv, sv->n_done == MANY && down->n_got > (size_t)MANY * ANSWER_BYTES);
    assert_true(sv->most_pending < SERVE_OUT_BYTES + 2 * ANSWER_BYTES);
    assert_true(sv->most_stash < 3 * WEIR_LOOP_READ_BYTES);
    assert_int_equal(sv->endpoint.n_conns, 1);
}

/* Draining */

static void a_running_exchange_ends_the_connection_when_draining(void **state)
{
    struct served *sv = *state;
    struct side *down = ask(sv, GET);
    serve_run(sv, sv->n_x == 1);
    weir_http_endpoint_drain(&sv->endpoint);
    serve_spin(sv);
    assert_int_equal(sv->n_empty, 0);
    exchange_reply(&sv->x[0]);
    serve_run(sv, down->n_eof == 1);
    assert_non_null(strstr(text_of(sv), "connection: close\r\n"));
    side_close(down);
    serve_run(sv, sv->n_empty == 1);
}

static void an_idle_connection_closes_when_draining(void **state)
{
    struct served *sv = *state;
    sv->at_request = exchange_reply;
    struct side *down = ask(sv, GET);
    serve_run(sv, sv->n_done == 1 && down->n_got != 0);
    weir_http_endpoint_drain(&sv->endpoint);
    serve_run(sv, down->n_eof == 1);
    side_close(down);
    serve_run(sv, sv->n_empty == 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define TLS_TEST(fn)                                                                               \
    {                                                                                              \
        "tls: " #fn, fn, setup_tls, teardown, NULL                                                 \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_piece_is_answered_while_the_body_is_open),
        TEST(ten_megabytes_are_echoed_in_bounded_memory),
        TEST(an_echo_waits_for_the_reader),
        TEST(a_paused_body_stops_the_caller),
        TEST(pausing_at_every_piece_loses_nothing),
        TEST(a_full_response_waits_for_the_reader),
        TEST(a_write_after_full_does_not_lose_the_resume),
        cmocka_unit_test(whoever_leaves_is_told_of_once),
        TEST(abort_in_the_request),
        TEST(abort_in_the_body),
        TEST(abort_in_the_answer),
        TEST(abort_right_after_a_write),
        TEST(an_early_answer_reaches_a_caller_that_still_sends),
        TEST(nothing_behind_an_unread_body_is_a_request),
        TEST(an_early_answer_without_body_says_so_too),
        TEST(http_1_0_streams_until_close),
        TEST(head_has_no_body_and_the_connection_lives),
        TEST(a_late_answer_is_sent_and_the_next_request_read),
        cmocka_unit_test(what_is_refused_is_an_exchange_too),
        TEST(a_broken_body_behind_a_begun_answer_is_a_reset),
        TEST(pipelined_requests_wait_for_the_reader),
        TEST(a_running_exchange_ends_the_connection_when_draining),
        TEST(an_idle_connection_closes_when_draining),
        TLS_TEST(ten_megabytes_are_echoed_in_bounded_memory),
        TLS_TEST(an_echo_waits_for_the_reader),
        TLS_TEST(a_paused_body_stops_the_caller),
        TLS_TEST(pausing_at_every_piece_loses_nothing),
        TLS_TEST(a_full_response_waits_for_the_reader),
        TLS_TEST(an_early_answer_reaches_a_caller_that_still_sends),
        TLS_TEST(pipelined_requests_wait_for_the_reader),
        TLS_TEST(a_running_exchange_ends_the_connection_when_draining),
        TLS_TEST(an_idle_connection_closes_when_draining),
    };
    return cmocka_run_group_tests(tests, certs_setup, certs_teardown);
}
