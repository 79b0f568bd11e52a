#include "io/listener.h"

#include "unit/io/pair.h"

#include <arpa/inet.h>

static void no_connection(void *ctx, uv_stream_t *server)
{
    (void)ctx;
    (void)server;
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
        skip(); /* a machine without IPv6 */
    }
    assert_int_equal(err, 0);
    l.on_connection = pair_on_connection;
    l.ctx = p;
    assert_int_equal(weir_listener_start(&l), 0);
    struct sockaddr_in addr = pair_addr(l.port);
    weir_sock_connect(&p->down.sock, &p->loop, (struct sockaddr *)&addr, NULL, NULL);
    weir_sock_listen_to(&p->down.sock, &SIDE_EVENTS, &p->down);
    pair_run(p, p->up.n_open == 1 && p->down.n_open == 1);
    char peer[64];
    weir_sock_peer(&p->up.sock, peer, sizeof peer);
    assert_memory_equal(peer, "127.0.0.1:", 10);
    weir_listener_close(&l, NULL, NULL);
    pair_spin(p);
}

static void ipv6_peers_are_written_in_brackets(void **state)
{
    struct pair *p = *state;
    struct weir_listener l;
    if (weir_listener_open(&l, &p->loop, "::1", 0, false) != 0) {
        skip();
    }
    l.on_connection = pair_on_connection;
    l.ctx = p;
    assert_int_equal(weir_listener_start(&l), 0);
    struct sockaddr_in6 addr;
    uv_ip6_addr("::1", l.port, &addr);
    weir_sock_connect(&p->down.sock, &p->loop, (struct sockaddr *)&addr, NULL, NULL);
    weir_sock_listen_to(&p->down.sock, &SIDE_EVENTS, &p->down);
    pair_run(p, p->up.n_open == 1 && p->down.n_open == 1);
    char want[64];
    char peer[64];
    snprintf(want, sizeof want, "[::1]:%u", (unsigned)l.port);
    weir_sock_peer(&p->down.sock, peer, sizeof peer);
    assert_string_equal(peer, want);
    weir_listener_close(&l, NULL, NULL);
    pair_spin(p);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, pair_setup, pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bad_hosts_are_refused),
        TEST(an_address_of_somebody_else_is_refused),
        TEST(a_port_in_use_is_told),
        TEST(a_probe_sees_who_listens),
        TEST(workers_share_a_port),
        TEST(the_ipv6_wildcard_takes_ipv4),
        TEST(ipv6_peers_are_written_in_brackets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
