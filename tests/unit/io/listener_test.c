#include "io/listener.h"

#include "io/fds.h"
#include "unit/io/pair.h"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void no_connection(void *ctx, int fd)
{
    (void)ctx;
    (void)fd;
}

static void on_closed(void *ctx)
{
    *(bool *)ctx = true;
}

static void bad_hosts_are_refused(void **state)
{
    struct pair *p = *state;
    struct weir_listener l;
    const char *bad[] = {"", "nowhere", "1.2.3", "[127.0.0.1]", "[::1", "::1]", "[]", "1.2.3.4.5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(weir_listener_open(&l, &p->loop, bad[i], 0, false), WEIR_EINVAL);
    }
    char endless[4096];
    memset(endless, '1', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_int_equal(weir_listener_open(&l, &p->loop, endless, 0, false), WEIR_EINVAL);
}

static void an_address_of_somebody_else_is_refused(void **state)
{
    struct pair *p = *state;
    struct weir_listener l;
    assert_int_equal(weir_listener_open(&l, &p->loop, "192.0.2.1", 0, false), WEIR_EINVAL);
}

static void a_port_in_use_is_told(void **state)
{
    struct pair *p = *state;
    struct weir_listener l;
    assert_true(p->listener.port != 0);
    assert_int_equal(weir_listener_open(&l, &p->loop, "127.0.0.1", p->listener.port, false),
                     WEIR_EINUSE);
    assert_int_equal(weir_listener_open(&l, &p->loop, "127.0.0.1", p->listener.port, true),
                     WEIR_EINUSE);
}

/* A shared port is taken all the same. */
static void a_probe_sees_who_listens(void **state)
{
    struct pair *p = *state;
    struct weir_listener l;
    assert_int_equal(weir_listener_open(&l, &p->loop, "127.0.0.1", 0, true), 0);
    l.on_connection = no_connection;
    assert_int_equal(weir_listener_start(&l), 0);
    assert_int_equal(weir_listener_probe("127.0.0.1", l.port), WEIR_EINUSE);
    assert_int_equal(weir_listener_probe("nowhere", l.port), WEIR_EINVAL);
    bool is_closed = false;
    weir_listener_close(&l, on_closed, &is_closed);
    pair_run(p, is_closed);
    assert_int_equal(weir_listener_probe("127.0.0.1", l.port), 0);
    assert_int_equal(weir_listener_probe("127.0.0.1", l.port), 0);
}

static void workers_share_a_port(void **state)
{
    struct pair *p = *state;
    struct weir_listener a;
    struct weir_listener b;
    assert_int_equal(weir_listener_open(&a, &p->loop, "127.0.0.1", 0, true), 0);
    assert_int_equal(weir_listener_open(&b, &p->loop, "127.0.0.1", a.port, true), 0);
    assert_int_equal(a.port, b.port);
    a.on_connection = b.on_connection = no_connection;
    assert_int_equal(weir_listener_start(&a), 0);
    assert_int_equal(weir_listener_start(&b), 0);
    bool a_closed = false;
    bool b_closed = false;
    weir_listener_close(&a, on_closed, &a_closed);
    weir_listener_close(&b, on_closed, &b_closed);
    assert_false(a_closed);
    pair_run(p, a_closed && b_closed);
}

/* "::" takes IPv4 callers too, and their address reads as IPv4. */
static void the_ipv6_wildcard_takes_ipv4(void **state)
{
    struct pair *p = *state;
    struct weir_listener l;
    int err = weir_listener_open(&l, &p->loop, "[::]", 0, false);
    if (err == WEIR_EIO || err == WEIR_EINVAL) {
        skip_because("this machine has no IPv6");
    }
    assert_int_equal(err, 0);
    l.on_connection = pair_on_connection;
    l.ctx = p;
    assert_int_equal(weir_listener_start(&l), 0);
    struct sockaddr_in addr = pair_addr(l.port);
    weir_sock_connect(&p->down.sock, &p->loop, (struct sockaddr *)&addr, NULL, NULL);
    weir_sock_listen_to(&p->down.sock, &SIDE_EVENTS, &p->down);
    pair_run(p, p->up.n_open == 1 && p->down.n_open == 1);
    weir_listener_close(&l, NULL, NULL);
    pair_spin(p);
}

static void ipv6_is_listened_on(void **state)
{
    struct pair *p = *state;
    struct weir_listener l;
    if (weir_listener_open(&l, &p->loop, "::1", 0, false) != 0) {
        skip_because("this machine has no IPv6");
    }
    l.on_connection = pair_on_connection;
    l.ctx = p;
    assert_int_equal(weir_listener_start(&l), 0);
    struct sockaddr_in6 addr;
    uv_ip6_addr("::1", l.port, &addr);
    weir_sock_connect(&p->down.sock, &p->loop, (struct sockaddr *)&addr, NULL, NULL);
    weir_sock_listen_to(&p->down.sock, &SIDE_EVENTS, &p->down);
    pair_run(p, p->up.n_open == 1 && p->down.n_open == 1);
    weir_listener_close(&l, NULL, NULL);
    pair_spin(p);
}

/* A caller who has connected, as far as the kernel is concerned. */
static int call(uint16_t port)
{
    struct sockaddr_in addr = pair_addr(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    return fd;
}

/* From now on the process gets no new descriptor; returns the limit there was. */
static struct rlimit use_up_descriptors(void)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int lowest = dup(STDERR_FILENO);
    assert_true(lowest > STDERR_FILENO);
    close(lowest);
    struct rlimit none = {.rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    return before;
}

/* It does not try again and again: that would hold up the loop, which has descriptors to close. */
static void out_of_descriptors_it_rests_and_comes_back(void **state)
{
    struct pair *p = *state;
    int caller = call(p->listener.port);
    struct rlimit before = use_up_descriptors();
    pair_run(p, weir_timer_is_armed(&p->listener.rest));
    assert_false(uv_is_active((uv_handle_t *)&p->listener.poll));
    assert_int_equal(p->up.n_open, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    pair_run(p, p->up.n_open == 1);
    close(caller);
}

static void with_a_spare_who_waits_is_turned_away(void **state)
{
    struct pair *p = *state;
    struct weir_fds_room room;
    assert_int_equal(weir_fds_init(1, &room), 0);
    int caller = call(p->listener.port);
    struct rlimit before = use_up_descriptors();
    pair_run(p, weir_timer_is_armed(&p->listener.rest));
    char byte;
    assert_int_equal(recv(caller, &byte, 1, 0), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    int next = call(p->listener.port);
    pair_run(p, p->up.n_open == 1);
    close(next);
    close(caller);
    weir_fds_set_room(NULL);
}

static void it_closes_while_it_rests(void **state)
{
    struct pair *p = *state;
    int caller = call(p->listener.port);
    struct rlimit before = use_up_descriptors();
    pair_run(p, weir_timer_is_armed(&p->listener.rest));
    bool is_closed = false;
    weir_listener_close(&p->listener, on_closed, &is_closed);
    p->is_listening = false;
    pair_run(p, is_closed);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    close(caller);
}

static void a_connection_without_descriptor_is_an_error(void **state)
{
    struct pair *p = *state;
    struct rlimit before = use_up_descriptors();
    pair_connect(p);
    pair_run(p, p->down.n_error == 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(p->down.err, WEIR_ELIMIT);
    assert_string_equal(p->down.why, "out of file descriptors");
}

static void a_connection_without_room_is_an_error(void **state)
{
    struct pair *p = *state;
    weir_fds_set_room(&(struct weir_fds_room){.connections = 1, .callers = 1});
    assert_true(weir_fds_take(WEIR_FDS_CALLER));
    pair_connect(p);
    pair_run(p, p->down.n_error == 1);
    assert_int_equal(p->down.err, WEIR_ELIMIT);
    assert_string_equal(p->down.why, "out of file descriptors");
    weir_fds_set_room(NULL);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, pair_setup, pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(out_of_descriptors_it_rests_and_comes_back),
        TEST(with_a_spare_who_waits_is_turned_away),
        TEST(it_closes_while_it_rests),
        TEST(a_connection_without_descriptor_is_an_error),
        TEST(a_connection_without_room_is_an_error),
        TEST(bad_hosts_are_refused),
        TEST(an_address_of_somebody_else_is_refused),
        TEST(a_port_in_use_is_told),
        TEST(a_probe_sees_who_listens),
        TEST(workers_share_a_port),
        TEST(the_ipv6_wildcard_takes_ipv4),
        TEST(ipv6_is_listened_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
