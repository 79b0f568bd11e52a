#include "io/dns.h"

#include "base/err.h"
#include "unit/io/dns_peer.h"

struct asked {
    struct weir_loop loop;
    struct weir_dns *dns;
    struct dns_peer peer;
    struct weir_timer watchdog;
    bool timed_out;
    bool is_closed;
    bool in_call;
    int n_done;
    int err;
    char why[100];
    size_t n_addrs;
    struct weir_dns_addr addrs[WEIR_DNS_MAX_ADDRS];
};

static void on_watchdog(struct weir_timer *t, void *ctx)
{
    struct asked *a = ctx;
    (void)t;
    a->timed_out = true;
}

/* A hosts file of our own: what the machine has in its own, or that it has one, does not matter. */
static char hosts_path[] = "/tmp/weir-hosts-XXXXXX";

static int write_hosts(void **state)
{
    (void)state;
    static const char text[] = "127.0.0.1 localhost\n192.0.2.77 in-the-file.test\n";
    int fd = mkstemp(hosts_path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    return setenv("CARES_HOSTS", hosts_path, 1);
}

static int remove_hosts(void **state)
{
    (void)state;
    return unlink(hosts_path);
}

static int setup(void **state)
{
    struct asked *a = calloc(1, sizeof *a);
    assert_int_equal(weir_loop_init(&a->loop), 0);
    a->watchdog.fn = on_watchdog;
    a->watchdog.ctx = a;
    weir_loop_after(&a->loop, &a->watchdog, 100000);
    dns_peer_open(&a->peer, &a->loop);
    a->dns = weir_dns_new(&a->loop);
    assert_int_equal(weir_dns_set_servers(a->dns, a->peer.servers), 0);
    *state = a;
    return 0;
}

static void on_closed(void *ctx)
{
    struct asked *a = ctx;
    assert_false(a->in_call);
    a->is_closed = true;
}

#define turn_until(a, cond)                                                                        \
    do {                                                                                           \
        while (!(cond)) {                                                                          \
            if ((a)->timed_out) {                                                                  \
                fail_msg("waited in vain for: %s", #cond);                                         \
            }                                                                                      \
            uv_run(&(a)->loop.uv, UV_RUN_NOWAIT);                                                  \
        }                                                                                          \
    } while (0)

static void close_dns(struct asked *a)
{
    a->in_call = true;
    weir_dns_close(a->dns, on_closed, a);
    a->in_call = false;
    a->dns = NULL;
    turn_until(a, a->is_closed);
}

static int teardown(void **state)
{
    struct asked *a = *state;
    if (a->dns != NULL) {
        close_dns(a);
    }
    dns_peer_close(&a->peer);
    weir_loop_dispose(&a->loop);
    free(a);
    return 0;
}

static void on_done(void *ctx, int err, const char *why, const struct weir_dns_addr *addrs,
                    size_t n_addrs)
{
    struct asked *a = ctx;
    assert_false(a->in_call);
    a->n_done++;
    a->err = err;
    snprintf(a->why, sizeof a->why, "%s", why);
    a->n_addrs = n_addrs;
    if (n_addrs != 0) {
        memcpy(a->addrs, addrs, n_addrs * sizeof *addrs);
    }
}

static struct weir_dns_query *ask(struct asked *a, const char *host)
{
    a->in_call = true;
    struct weir_dns_query *q = weir_dns_lookup(a->dns, host, 8080, on_done, a);
    a->in_call = false;
    assert_non_null(q);
    return q;
}

static bool is_addr(const struct weir_dns_addr *a, const char *host)
{
    struct weir_dns_addr want[2];
    size_t n;
    assert_true(weir_dns_literal(host, 8080, want, &n));
    return weir_dns_addr_eq(a, &want[0]);
}

static bool has_addr(const struct asked *a, const char *host)
{
    for (size_t i = 0; i < a->n_addrs; i++) {
        if (is_addr(&a->addrs[i], host)) {
            return true;
        }
    }
    return false;
}

static void literals_need_no_server(void **state)
{
    (void)state;
    struct weir_dns_addr out[2];
    size_t n;
    assert_true(weir_dns_literal("10.1.2.3", 80, out, &n));
    assert_int_equal(n, 1);
    assert_int_equal(out[0].u.v4.sin_port, htons(80));
    assert_int_equal(ntohl(out[0].u.v4.sin_addr.s_addr), 0x0a010203);
    assert_true(weir_dns_literal("fe80::1", 80, out, &n));
    assert_int_equal(n, 1);
    assert_int_equal(out[0].u.any.sa_family, AF_INET6);
    assert_true(weir_dns_literal("LocalHost", 443, out, &n));
    assert_int_equal(n, 2);
    assert_int_equal(ntohl(out[0].u.v4.sin_addr.s_addr), INADDR_LOOPBACK);
    assert_false(out[0].is_fallback);
    assert_int_equal(out[1].u.any.sa_family, AF_INET6);
    assert_true(out[1].is_fallback);
    assert_false(weir_dns_literal("localhost.example", 80, out, &n));
    assert_false(weir_dns_literal("10.1.2", 80, out, &n));
    assert_false(weir_dns_literal("", 80, out, &n));
}

static void addresses_differ_by_family_port_and_host(void **state)
{
    (void)state;
    struct weir_dns_addr a[2];
    struct weir_dns_addr b[2];
    size_t n;
    weir_dns_literal("127.0.0.1", 80, a, &n);
    weir_dns_literal("127.0.0.1", 80, b, &n);
    assert_true(weir_dns_addr_eq(a, b));
    weir_dns_literal("127.0.0.1", 81, b, &n);
    assert_false(weir_dns_addr_eq(a, b));
    weir_dns_literal("127.0.0.2", 80, b, &n);
    assert_false(weir_dns_addr_eq(a, b));
    weir_dns_literal("::1", 80, b, &n);
    assert_false(weir_dns_addr_eq(a, b));
    weir_dns_literal("::1", 80, a, &n);
    assert_true(weir_dns_addr_eq(a, b));
}

static void all_addresses_of_a_name_are_told(void **state)
{
    struct asked *a = *state;
    a->peer.v4[0] = "192.0.2.1";
    a->peer.v4[1] = "192.0.2.2";
    a->peer.v6[0] = "2001:db8::1";
    ask(a, "service.test.");
    turn_until(a, a->n_done == 1);
    assert_int_equal(a->err, 0);
    assert_int_equal(a->n_addrs, 3);
    assert_true(has_addr(a, "192.0.2.1"));
    assert_true(has_addr(a, "192.0.2.2"));
    assert_true(has_addr(a, "2001:db8::1"));
}

static void each_question_is_asked_anew(void **state)
{
    struct asked *a = *state;
    a->peer.v4[0] = "192.0.2.1";
    ask(a, "service.test.");
    turn_until(a, a->n_done == 1);
    a->peer.v4[0] = "192.0.2.9";
    ask(a, "service.test.");
    turn_until(a, a->n_done == 2);
    assert_int_equal(a->peer.n_asked, 2);
    assert_true(has_addr(a, "192.0.2.9"));
    assert_int_equal(a->n_addrs, 1);
}

static void a_name_that_does_not_exist(void **state)
{
    struct asked *a = *state;
    a->peer.has_no_such_name = true;
    ask(a, "nowhere.test.");
    turn_until(a, a->n_done == 1);
    assert_int_equal(a->err, WEIR_EUNREACHABLE);
    assert_int_equal(a->n_addrs, 0);
    assert_string_equal(a->why, "Domain name not found");
}

static void a_name_without_addresses(void **state)
{
    struct asked *a = *state;
    ask(a, "empty.test.");
    turn_until(a, a->n_done == 1);
    assert_int_equal(a->err, WEIR_EUNREACHABLE);
}

static void the_hosts_file_is_read(void **state)
{
    struct asked *a = *state;
    a->peer.has_no_such_name = true;
    ask(a, "in-the-file.test");
    turn_until(a, a->n_done == 1);
    assert_int_equal(a->err, 0);
    assert_int_equal(a->n_addrs, 1);
    assert_true(has_addr(a, "192.0.2.77"));
    assert_int_equal(a->peer.n_asked, 0);
}

static void an_impossible_name_is_refused_later(void **state)
{
    struct asked *a = *state;
    char name[400];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ask(a, name);
    assert_int_equal(a->n_done, 0);
    turn_until(a, a->n_done == 1);
    assert_int_equal(a->err, WEIR_EUNREACHABLE);
}

static void cancelled_questions_are_not_told(void **state)
{
    struct asked *a = *state;
    a->peer.v4[0] = "192.0.2.1";
    weir_dns_cancel(ask(a, "service.test.")); /* asked */
    weir_dns_cancel(ask(a, "localhost"));     /* answered, not yet told */
    ask(a, "other.test.");
    turn_until(a, a->n_done == 1);
    for (int i = 0; i < 20; i++) {
        uv_run(&a->loop.uv, UV_RUN_NOWAIT);
    }
    assert_int_equal(a->n_done, 1);
}

static void closing_drops_what_is_asked(void **state)
{
    struct asked *a = *state;
    a->peer.is_silent = true;
    ask(a, "service.test.");
    ask(a, "other.test.");
    ask(a, "localhost");
    turn_until(a, a->peer.n_asked == 2 || a->n_done == 1);
    weir_dns_cancel(ask(a, "third.test."));
    close_dns(a);
    assert_true(a->n_done <= 1); /* the last one may have been told before */
}

static void closing_without_a_question(void **state)
{
    struct asked *a = *state;
    struct weir_dns *unused = weir_dns_new(&a->loop);
    weir_dns_close(unused, on_closed, a);
    assert_false(a->is_closed);
    turn_until(a, a->is_closed);
    a->is_closed = false;
}

static void servers_must_be_addresses(void **state)
{
    struct asked *a = *state;
    assert_int_equal(weir_dns_set_servers(a->dns, "not an address"), WEIR_EINVAL);
}

#define dns_test(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_need_no_server),
        cmocka_unit_test(addresses_differ_by_family_port_and_host),
        dns_test(all_addresses_of_a_name_are_told),
        dns_test(each_question_is_asked_anew),
        dns_test(a_name_that_does_not_exist),
        dns_test(a_name_without_addresses),
        dns_test(the_hosts_file_is_read),
        dns_test(an_impossible_name_is_refused_later),
        dns_test(cancelled_questions_are_not_told),
        dns_test(closing_drops_what_is_asked),
        dns_test(closing_without_a_question),
        dns_test(servers_must_be_addresses),
    };
    return cmocka_run_group_tests(tests, write_hosts, remove_hosts);
}
