#include "unit/flow_watch.h"
#include "unit/io/pair.h"

#include "base/mem.h"

#include <netinet/tcp.h>

static void a_line_comes_back(void **state)
{
    struct pair *p = *state;
    p->up.at_data = side_echo;
    pair_open(p);
    assert_int_equal(side_say(&p->down, "hello"), WEIR_FLOW_OK);
    assert_int_equal(weir_sock_pending(&p->down.sock), 5);
    pair_run(p, p->down.n_got == 5);
    assert_true(side_got(&p->down, "hello"));
    assert_int_equal(weir_sock_pending(&p->down.sock), 0);
    assert_int_equal(p->down.n_eof + p->up.n_eof + p->down.n_error + p->up.n_error, 0);
    assert_int_equal(weir_sock_alpn(&p->up.sock).n, 0);
}

static void writes_before_open_are_sent(void **state)
{
    struct pair *p = *state;
    pair_connect(p);
    side_say(&p->down, "ear");
    side_say(&p->down, "ly");
    pair_run(p, p->up.n_got == 5);
    assert_true(side_got(&p->up, "early"));
}

/* All of a turn's writes leave in one piece. */
static void writes_of_a_turn_are_gathered(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    for (int i = 0; i < 100; i++) {
        side_say(&p->down, "0123456789");
    }
    assert_int_equal(p->down.sock.out.n, 1000);
    pair_run(p, p->up.n_got > 0);
    assert_int_equal(p->up.n_got, 1000);
}

static void building_in_place_answers_like_write(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    p->down.sock.out_max = 8;
    weir_bufq_append(weir_sock_out(&p->down.sock), WEIR_SLICE("1234"));
    assert_int_equal(weir_sock_mark_dirty(&p->down.sock), WEIR_FLOW_OK);
    weir_bufq_append(weir_sock_out(&p->down.sock), WEIR_SLICE("5678"));
    assert_int_equal(weir_sock_mark_dirty(&p->down.sock), WEIR_FLOW_FULL);
    pair_run(p, p->down.n_drain == 1 && p->up.n_got == 8);
    assert_true(side_got(&p->up, "12345678"));
}

static void append_more(struct side *side)
{
    weir_bufq_append(weir_sock_out(&side->sock), WEIR_SLICE(" and more"));
}

/* What on_flush adds leaves with what was queued; without anything queued it is not asked. */
static void on_flush_adds_to_what_is_sent(void **state)
{
    struct pair *p = *state;
    p->down.at_flush = append_more;
    pair_open(p);
    pair_spin(p);
    assert_int_equal(p->down.n_flush, 0);
    side_say(&p->down, "some");
    pair_run(p, p->up.n_got > 0);
    assert_true(side_got(&p->up, "some and more"));
    assert_int_equal(p->down.n_flush, 1);
    assert_int_equal(p->down.sock.sent_bytes, 13);
}

/* What on_flush brings to FULL is followed by on_drain as if it had been written. */
static void on_flush_can_fill(void **state)
{
    struct pair *p = *state;
    p->down.at_flush = append_more;
    pair_open(p);
    p->down.sock.out_max = 8;
    assert_int_equal(side_say(&p->down, "x"), WEIR_FLOW_OK);
    pair_run(p, p->down.n_drain == 1);
}

static void the_end_is_told_when_it_has_left(void **state)
{
    struct pair *p = *state;
    p->up.drop = true;
    pair_open(p);
    weir_sock_pause(&p->up.sock);
    p->down.to_send = 4 * PAIR_BIG;
    p->down.at_drain = side_send_on;
    side_send_on(&p->down);
    pair_poll(p, p->down.sock.is_writing);
    pair_spin(p);
    assert_int_equal(p->down.n_sent_end, 0);
    weir_sock_resume(&p->up.sock);
    p->down.at_sent_end = side_close; /* nothing is lost by that */
    pair_run(p, p->up.n_eof == 1 && p->down.n_closed == 1);
    assert_int_equal(p->down.n_sent_end, 1);
    assert_int_equal(p->up.n_got, 4 * PAIR_BIG);
}

static void megabytes_cross_in_both_directions(void **state)
{
    struct pair *p = *state;
    struct side *sides[] = {&p->down, &p->up};
    for (int i = 0; i < 2; i++) {
        *sides[i] = (struct side){.pair = p, .drop = true, .to_send = PAIR_BIG};
        sides[i]->at_data = side_check_bytes;
        sides[i]->at_open = side_send_on;
        sides[i]->at_drain = side_send_on;
    }
    pair_connect(p);
    pair_run(p, p->down.n_eof == 1 && p->up.n_eof == 1);
    assert_int_equal(p->down.n_got, PAIR_BIG);
    assert_int_equal(p->up.n_got, PAIR_BIG);
    assert_true(p->down.n_drain > 10 && p->up.n_drain > 10);
    assert_int_equal(p->down.n_error + p->up.n_error, 0);
}

/* With the reader paused the writer runs into FULL, stays there, and finishes after resume. */
static void pause_pushes_back_to_the_writer(void **state)
{
    struct pair *p = *state;
    p->up.drop = true;
    p->up.at_data = side_check_bytes;
    pair_open(p);
    weir_sock_pause(&p->up.sock);
    weir_sock_pause(&p->up.sock);
    p->down.to_send = 4 * PAIR_BIG;
    p->down.at_drain = side_send_on;
    side_send_on(&p->down);
    pair_poll(p, p->down.sock.is_writing);
    pair_settle(p, p->down.n_drain);
    assert_int_equal(p->up.n_got, 0);
    assert_true(weir_sock_pending(&p->down.sock) >= p->down.sock.out_max / 2);
    assert_true(p->down.sent < p->down.to_send);
    weir_sock_resume(&p->up.sock);
    weir_sock_resume(&p->up.sock);
    pair_run(p, p->up.n_eof == 1);
    assert_int_equal(p->up.n_got, 4 * PAIR_BIG);
}

static struct flow_watch watch;

static void watch_drain(struct side *side)
{
    (void)side;
    flow_watch_resumed(&watch);
}

/* Whatever is written and read when: who was answered FULL is told of the room, once. */
static void the_flow_contract_holds_on_random_readers(void **state)
{
    struct pair *p = *state;
    static const char piece[96 * 1024];
    unsigned seed = 5;
    watch = (struct flow_watch){0};
    p->up.drop = true;
    p->down.at_drain = watch_drain;
    pair_open(p);
    for (int i = 0; i < 2000; i++) {
        unsigned roll = (unsigned)rand_r(&seed) / 7;
        if (roll % 5 == 0) {
            (i / 100 % 2 == 0 ? weir_sock_pause : weir_sock_resume)(&p->up.sock);
        } else if (!watch.is_waiting || roll % 5 == 1) {
            struct weir_slice bytes = weir_slice_make(piece, roll % sizeof piece);
            FLOW_WATCH_WRITE(&watch, weir_sock_write(&p->down.sock, bytes));
        }
        pair_turn(p, UV_RUN_NOWAIT);
    }
    assert_true(watch.n_fulls > 20);
    weir_sock_resume(&p->up.sock);
    pair_run(p, !watch.is_waiting);
    flow_watch_settled(&watch);
}

static void pause_from_inside_on_data_holds(void **state)
{
    struct pair *p = *state;
    p->up.at_data = side_pause;
    pair_open(p);
    side_say(&p->down, "one");
    pair_run(p, p->up.n_got == 3);
    side_say(&p->down, "two");
    pair_spin(p);
    assert_int_equal(p->up.n_got, 3);
    weir_sock_resume(&p->up.sock);
    pair_run(p, p->up.n_got == 6);
    assert_true(side_got(&p->up, "onetwo"));
}

static void pause_before_open_holds(void **state)
{
    struct pair *p = *state;
    p->up.at_open = side_pause;
    pair_connect(p);
    weir_sock_pause(&p->down.sock);
    side_say(&p->down, "x");
    pair_run(p, p->up.n_open == 1 && p->down.n_open == 1);
    side_say(&p->up, "y");
    pair_spin(p);
    assert_int_equal(p->up.n_got + p->down.n_got, 0);
    weir_sock_resume(&p->up.sock);
    weir_sock_resume(&p->down.sock);
    pair_run(p, p->up.n_got == 1 && p->down.n_got == 1);
}

static void half_close_keeps_the_other_half(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    side_say(&p->down, "question");
    weir_sock_shutdown(&p->down.sock);
    weir_sock_shutdown(&p->down.sock);
    assert_int_equal(side_say(&p->down, "too late"), WEIR_FLOW_OK);
    pair_run(p, p->up.n_eof == 1);
    assert_true(side_got(&p->up, "question"));
    assert_false(p->up.sock.tls_truncated);
    side_say(&p->up, "answer");
    weir_sock_shutdown(&p->up.sock);
    pair_run(p, p->down.n_eof == 1);
    assert_true(side_got(&p->down, "answer"));
    pair_spin(p);
    assert_int_equal(p->up.n_error + p->down.n_error, 0);
}

static void a_reset_is_an_error_to_the_reader(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    side_reset(&p->down);
    pair_run(p, p->up.n_error == 1);
    assert_int_equal(p->up.err, WEIR_ERESET);
    assert_string_equal(p->up.why, "connection reset");
    assert_int_equal(p->up.sock.state, WEIR_SOCK_FAILED);
    assert_int_equal(side_say(&p->up, "anybody?"), WEIR_FLOW_OK);
    assert_int_equal(weir_sock_pending(&p->up.sock), 0);
}

/* uv_tcp_close_reset would refuse this one. */
static void a_reset_works_after_shutdown(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    weir_sock_shutdown(&p->down.sock);
    pair_run(p, p->up.n_eof == 1);
    side_reset(&p->down);
    p->up.to_send = PAIR_BIG;
    p->up.at_drain = side_send_on;
    side_send_on(&p->up);
    pair_run(p, p->up.n_error == 1);
    assert_int_equal(p->up.err, WEIR_ERESET);
}

static void writing_to_a_peer_that_reset_fails_once(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    weir_sock_pause(&p->up.sock); /* so that only the write can notice */
    side_reset(&p->down);
    pair_run(p, p->down.n_closed == 1);
    p->up.to_send = PAIR_BIG;
    p->up.at_drain = side_send_on;
    side_send_on(&p->up);
    assert_int_equal(p->up.n_error, 0);
    pair_run(p, p->up.n_error == 1);
    assert_int_equal(p->up.err, WEIR_ERESET);
    assert_int_equal(weir_sock_pending(&p->up.sock), 0);
    pair_spin(p);
}

/* A peer that answers early and closes on our unfinished request: the answer is not lost. */
static void answer_and_close(struct side *side)
{
    side_say(side, "413 enough");
    weir_sock_pause(&side->sock);
}

static void an_early_answer_survives_the_reset(void **state)
{
    struct pair *p = *state;
    p->up.at_data = answer_and_close;
    pair_open(p);
    weir_sock_pause(&p->down.sock);
    p->down.to_send = 2 * PAIR_BIG;
    p->down.at_drain = side_send_on;
    side_send_on(&p->down);
    pair_poll(p, p->up.n_got > 0 && weir_sock_pending(&p->up.sock) == 0 && p->down.sock.is_writing);
    weir_sock_resume(&p->down.sock);
    side_close(&p->up); /* with unread bytes: the kernel sends a reset */
    pair_run(p, p->down.n_error == 1);
    assert_true(side_got(&p->down, "413 enough"));
    assert_int_equal(p->down.err, WEIR_ERESET);
}

static void a_refused_connection_is_an_error(void **state)
{
    struct pair *p = *state;
    weir_listener_close(&p->listener, NULL, NULL);
    p->is_listening = false;
    pair_spin(p);
    pair_connect(p);
    assert_int_equal(p->down.n_error, 0);
    pair_run(p, p->down.n_error == 1);
    assert_int_equal(p->down.err, WEIR_EREFUSED);
    assert_int_equal(p->down.n_open, 0);
}

/* libuv refuses this family at once; the owner hears of it later like of any other failure. */
static void an_impossible_address_is_an_error_later(void **state)
{
    struct pair *p = *state;
    struct sockaddr addr = {.sa_family = AF_UNIX};
    assert_int_equal(weir_sock_connect(&p->down.sock, &p->loop, &addr, NULL, NULL), 0);
    weir_sock_listen_to(&p->down.sock, &SIDE_EVENTS, &p->down);
    assert_int_equal(p->down.n_error, 0);
    pair_run(p, p->down.n_error == 1);
    assert_int_equal(p->down.err, WEIR_EINVAL);
}

static void close_in_on_open(void **state)
{
    struct pair *p = *state;
    p->up.at_open = side_say_and_close;
    p->down.at_open = side_say_and_close;
    pair_connect(p);
    pair_assert_quiet(p, &p->up);
    pair_assert_quiet(p, &p->down);
}

static void close_in_on_data(void **state)
{
    struct pair *p = *state;
    p->up.at_data = side_say_and_close;
    pair_open(p);
    side_say(&p->down, "go");
    pair_assert_quiet(p, &p->up);
    assert_int_equal(p->up.n_eof, 0);
    pair_run(p, p->down.n_eof + p->down.n_error == 1);
    assert_int_equal(p->down.n_got, 0);
}

static void close_in_on_eof(void **state)
{
    struct pair *p = *state;
    p->up.at_eof = side_close;
    pair_open(p);
    weir_sock_shutdown(&p->down.sock);
    pair_assert_quiet(p, &p->up);
    pair_run(p, p->down.n_eof == 1);
}

static void close_in_on_drain(void **state)
{
    struct pair *p = *state;
    p->down.at_drain = side_close;
    p->up.drop = true;
    pair_open(p);
    p->down.to_send = PAIR_BIG;
    side_send_on(&p->down);
    pair_assert_quiet(p, &p->down);
    assert_int_equal(p->down.n_drain, 1);
}

static void close_in_on_error(void **state)
{
    struct pair *p = *state;
    p->up.at_error = side_close;
    pair_open(p);
    side_reset(&p->down);
    pair_assert_quiet(p, &p->up);
    assert_int_equal(p->up.n_error, 1);
}

static void close_with_a_write_under_way(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    weir_sock_pause(&p->up.sock);
    p->down.to_send = 4 * PAIR_BIG;
    p->down.at_drain = side_send_on;
    side_send_on(&p->down);
    pair_poll(p, p->down.sock.is_writing);
    side_close(&p->down);
    pair_assert_quiet(p, &p->down);
    assert_int_equal(p->down.n_error, 0);
}

static void close_while_connecting(void **state)
{
    struct pair *p = *state;
    pair_connect(p);
    side_say(&p->down, "never");
    side_close(&p->down);
    pair_assert_quiet(p, &p->down);
    assert_int_equal(p->down.n_open, 0);
}

static void close_with_an_error_posted(void **state)
{
    struct pair *p = *state;
    struct sockaddr addr = {.sa_family = AF_UNIX};
    weir_sock_connect(&p->down.sock, &p->loop, &addr, NULL, NULL);
    weir_sock_listen_to(&p->down.sock, &SIDE_EVENTS, &p->down);
    side_close(&p->down);
    pair_assert_quiet(p, &p->down);
    assert_int_equal(p->down.n_error, 0);
}

/* The memory may be used for the next connection as soon as the callback came. */
static void a_closed_socket_can_be_opened_again(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    for (int i = 0; i < 3; i++) {
        side_close(&p->down);
        side_close(&p->up);
        pair_run(p, p->down.n_closed == 1 && p->up.n_closed == 1);
        p->down.n_closed = p->up.n_closed = p->down.n_open = p->up.n_open = 0;
        pair_open(p);
    }
}

static int option(const struct weir_sock *s, int level, int name)
{
    uv_os_fd_t fd;
    int value = 0;
    socklen_t n = sizeof value;
    assert_int_equal(uv_fileno((const uv_handle_t *)&s->tcp, &fd), 0);
    assert_int_equal(getsockopt(fd, level, name, &value, &n), 0);
    return value;
}

static void options_are_set_on_both_ends(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    const struct weir_sock *socks[] = {&p->down.sock, &p->up.sock};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(option(socks[i], IPPROTO_TCP, TCP_NODELAY), 1);
        assert_int_equal(option(socks[i], SOL_SOCKET, SO_KEEPALIVE), 1);
        assert_int_equal(option(socks[i], IPPROTO_TCP, TCP_KEEPIDLE), 60);
    }
}

static void an_idle_socket_keeps_no_buffers(void **state)
{
    struct pair *p = *state;
    p->up.at_data = side_echo;
    pair_open(p);
    side_say(&p->down, "hello");
    pair_run(p, p->down.n_got == 5);
    assert_null(p->down.sock.out.head);
    assert_null(p->up.sock.out.head);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, pair_setup, pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_comes_back),
        TEST(writes_before_open_are_sent),
        TEST(writes_of_a_turn_are_gathered),
        TEST(building_in_place_answers_like_write),
        TEST(on_flush_adds_to_what_is_sent),
        TEST(on_flush_can_fill),
        TEST(the_end_is_told_when_it_has_left),
        TEST(megabytes_cross_in_both_directions),
        TEST(pause_pushes_back_to_the_writer),
        TEST(the_flow_contract_holds_on_random_readers),
        TEST(pause_from_inside_on_data_holds),
        TEST(pause_before_open_holds),
        TEST(half_close_keeps_the_other_half),
        TEST(a_reset_is_an_error_to_the_reader),
        TEST(a_reset_works_after_shutdown),
        TEST(writing_to_a_peer_that_reset_fails_once),
        TEST(an_early_answer_survives_the_reset),
        TEST(a_refused_connection_is_an_error),
        TEST(an_impossible_address_is_an_error_later),
        TEST(close_in_on_open),
        TEST(close_in_on_data),
        TEST(close_in_on_eof),
        TEST(close_in_on_drain),
        TEST(close_in_on_error),
        TEST(close_with_a_write_under_way),
        TEST(close_while_connecting),
        TEST(close_with_an_error_posted),
        TEST(a_closed_socket_can_be_opened_again),
        TEST(options_are_set_on_both_ends),
        TEST(an_idle_socket_keeps_no_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
