/* Connections kept, addresses chosen, pools that come and go. */
#include "unit/client/asker.h"
#include "unit/client/full_queue.h"
#include "unit/io/dns_peer.h"

static const char OK[] = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n[[]]";

/* A second address of the same service, 127.0.0.2, and a name for both. */
struct town {
    struct stage *stage;
    struct dns_peer dns;
    struct weir_listener second;
    bool has_second;
    bool is_second[STAGE_PEERS];
};

static struct town town;

static void on_second_connection(void *ctx, int fd)
{
    struct stage *s = ctx;
    town.is_second[s->n_peers] = true;
    stage_on_connection(s, fd);
}

static void open_second(struct stage *s)
{
    assert_int_equal(weir_listener_open(&town.second, &s->loop, "127.0.0.2", s->target.port, false),
                     0);
    town.second.on_connection = on_second_connection;
    town.second.ctx = s;
    town.has_second = true;
    assert_int_equal(weir_listener_start(&town.second), 0);
}

static int town_setup(void **state)
{
    stage_setup(state);
    struct stage *s = *state;
    town = (struct town){.stage = s};
    dns_peer_open(&town.dns, &s->loop);
    town.dns.v4[0] = "127.0.0.1";
    town.dns.v4[1] = "127.0.0.2";
    assert_int_equal(weir_client_set_dns_servers(s->client, town.dns.servers), 0);
    s->target.hostname = "service.test.";
    return 0;
}

static int town_teardown(void **state)
{
    dns_peer_close(&town.dns);
    if (town.has_second) {
        weir_listener_close(&town.second, NULL, NULL);
    }
    return stage_teardown(state);
}

static void answer(struct peer *peer)
{
    if (peer_has_request(peer)) {
        peer_forget(peer);
        peer_say(peer, OK);
    }
}

/* One call after the other. */
static void call_once(struct stage *s)
{
    struct asker p = {0};
    asker_start(&p, s);
    stage_run(s, p.n_done == 1);
    if (p.err != 0) {
        fail_msg("%s", p.why);
    }
    asker_dispose(&p);
}

static size_t count_second(const struct stage *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_peers; i++) {
        n += town.is_second[i];
    }
    return n;
}

static void all_addresses_get_their_share(void **state)
{
    struct stage *s = *state;
    s->at_data = answer;
    open_second(s);
    for (int i = 0; i < 4; i++) {
        call_once(s);
    }
    stage_run(s, s->n_peers == 2);
    assert_int_equal(count_second(s), 1);
    size_t before[2] = {s->peers[0].n_got, s->peers[1].n_got};
    for (int i = 0; i < 10; i++) {
        call_once(s);
    }
    size_t first = s->peers[0].n_got - before[0];
    size_t second = s->peers[1].n_got - before[1];
    assert_int_equal(first, second);
    assert_int_equal(s->n_peers, 2);
    assert_int_equal(town.dns.n_asked, 1);
}

static void a_dead_address_costs_nobody_an_answer(void **state)
{
    struct stage *s = *state;
    s->at_data = answer;
    for (int i = 0; i < 10; i++) {
        call_once(s);
    }
    assert_int_equal(count_second(s), 0);
    const struct weir_pool *pool = stage_pool(s);
    assert_int_equal(pool->n_addrs, 2);
    unsigned n_bad = 0;
    for (size_t i = 0; i < 2; i++) {
        n_bad += pool->addrs[i]->bad_until_ms != 0;
    }
    assert_int_equal(n_bad, 1);
}

static void an_address_that_comes_back_is_used_again(void **state)
{
    struct stage *s = *state;
    s->at_data = answer;
    call_once(s);
    call_once(s);
    open_second(s);
    struct weir_pool *pool = stage_pool(s);
    for (size_t i = 0; i < pool->n_addrs; i++) {
        pool->addrs[i]->bad_until_ms = 1; /* the time has passed */
    }
    call_once(s);
    stage_run(s, count_second(s) == 1);
}

static void when_all_are_dead_the_first_error_is_told(void **state)
{
    struct stage *s = *state;
    stage_stop_listening(s);
    for (int i = 0; i < 2; i++) { /* the second time both are blamed, and tried all the same */
        struct asker p = {0};
        asker_start(&p, s);
        stage_run(s, p.n_done == 1);
        assert_int_equal(p.err, WEIR_EREFUSED);
        asker_dispose(&p);
    }
}

/* An address that does not answer at all: the next one is tried soon. */
static void a_silent_address_does_not_cost_the_whole_time(void **state)
{
    struct stage *s = *state;
    s->at_data = answer;
    struct full_queue queue;
    full_queue_open(&queue, INADDR_LOOPBACK + 1, s->target.port);
    town.dns.v4[0] = "127.0.0.2"; /* first in turn */
    town.dns.v4[1] = "127.0.0.1";
    stage_hold_time(s);
    uint64_t begin_ms = weir_loop_now_ms(&s->loop);
    for (int i = 0; i < 4; i++) {
        struct asker p = {0};
        asker_start(&p, s);
        stage_run_passing(s, p.n_done == 1);
        assert_int_equal(p.err, 0);
        asker_dispose(&p);
    }
    assert_true(weir_loop_now_ms(&s->loop) < begin_ms + s->target.connect_timeout_ms);
    assert_int_equal(count_second(s), 0);
    full_queue_close(&queue);
}

static void names_are_looked_up_again(void **state)
{
    struct stage *s = *state;
    s->at_data = answer;
    s->target.dns_interval_ms = 1;
    open_second(s);
    town.dns.v4[1] = NULL;
    call_once(s);
    assert_int_equal(count_second(s), 0);
    town.dns.v4[0] = "127.0.0.2";
    uint64_t begin_ms = weir_loop_now_ms(&s->loop);
    stage_run(s, weir_loop_now_ms(&s->loop) > begin_ms + 2);
    call_once(s); /* asks; perhaps still on the old connection */
    stage_run(s, stage_pool(s)->query == NULL);
    stage_run(s, s->peers[0].n_eof + s->peers[0].n_error == 1); /* no longer of this name */
    call_once(s);
    assert_true(count_second(s) >= 1);
    assert_true(town.dns.n_asked >= 2);
}

static void a_name_that_is_lost_keeps_its_addresses(void **state)
{
    struct stage *s = *state;
    s->at_data = answer;
    s->target.dns_interval_ms = 1;
    call_once(s);
    town.dns.has_no_such_name = true;
    for (int i = 0; i < 3; i++) {
        uint64_t begin_ms = weir_loop_now_ms(&s->loop);
        stage_run(s, weir_loop_now_ms(&s->loop) > begin_ms + 2);
        call_once(s);
    }
    stage_run(s, town.dns.n_asked >= 2);
    assert_int_equal(stage_pool(s)->n_addrs, 2);
}

static void a_name_that_is_not_known(void **state)
{
    struct stage *s = *state;
    town.dns.has_no_such_name = true;
    struct asker p[3] = {0};
    for (int i = 0; i < 3; i++) {
        asker_start(&p[i], s);
    }
    for (int i = 0; i < 3; i++) {
        stage_run(s, p[i].n_done == 1);
        assert_int_equal(p[i].err, WEIR_EUNREACHABLE);
        assert_string_equal(p[i].why, "connect to hap-en failed: Domain name not found");
        asker_dispose(&p[i]);
    }
    assert_int_equal(town.dns.n_asked, 1);
    town.dns.has_no_such_name = false; /* and is asked for again by the next call */
    s->at_data = answer;
    call_once(s);
}

static void a_name_server_that_is_silent(void **state)
{
    struct stage *s = *state;
    town.dns.is_silent = true;
    s->target.connect_timeout_ms = 500;
    struct asker p[2] = {0};
    asker_start(&p[0], s);
    asker_start(&p[1], s);
    stage_run(s, town.dns.n_asked == 1);
    asker_cancel(&p[1]);
    stage_run(s, p[0].n_done == 1);
    assert_int_equal(p[0].err, WEIR_ETIMEOUT);
    assert_string_equal(p[0].why, "connect to hap-en timed out after 0.5 s");
    asker_dispose(&p[0]); /* and the question is still open when the client closes */
}

static void localhost_is_reached_over_ipv6_if_need_be(void **state)
{
    struct stage *s = *state;
    uint16_t port = s->listener.port;
    stage_stop_listening(s);
    if (weir_listener_open(&s->listener, &s->loop, "::1", port, false) != 0) {
        skip_because("this machine has no IPv6");
    }
    s->is_listening = true;
    s->listener.on_connection = stage_on_connection;
    s->listener.ctx = s;
    assert_int_equal(weir_listener_start(&s->listener), 0);
    s->target.hostname = "localhost";
    s->at_data = answer;
    call_once(s);
    call_once(s);
    assert_int_equal(s->n_peers, 1);
}

/* Keeping */

static void idle_connections_and_pools_go(void **state)
{
    struct stage *s = *state;
    s->client->keep_ms = 20;
    s->at_data = answer;
    stage_hold_time(s);
    call_once(s);
    assert_int_equal(stage_pool(s)->n_idle, 1);
    stage_run_passing(s, s->peers[0].n_eof == 1);
    stage_run_passing(s, weir_list_is_empty(&s->client->all_pools));
    assert_null(weir_map_get(&s->client->pools, s->target.id));
    call_once(s);
    assert_int_equal(s->n_peers, 2);
}

static void the_last_used_connection_is_used_next(void **state)
{
    struct stage *s = *state;
    struct asker p[2] = {0};
    asker_start(&p[0], s);
    asker_start(&p[1], s);
    stage_run(s, s->n_peers == 2 && peer_has_request(&s->peers[0]));
    stage_run(s, peer_has_request(&s->peers[1]));
    answer(&s->peers[1]);
    stage_run(s, p[0].n_done + p[1].n_done == 1);
    answer(&s->peers[0]);
    stage_run(s, p[0].n_done + p[1].n_done == 2);
    size_t before = s->peers[1].n_got;
    s->at_data = answer;
    for (int i = 0; i < 3; i++) {
        call_once(s);
    }
    assert_int_equal(s->peers[1].n_got, before);
    asker_dispose(&p[0]);
    asker_dispose(&p[1]);
}

static void only_so_many_idle_connections_are_kept(void **state)
{
    struct stage *s = *state;
    s->client->max_idle = 2;
    struct asker p[5] = {0};
    for (int i = 0; i < 5; i++) {
        asker_start(&p[i], s);
    }
    stage_run(s, s->n_peers == 5);
    for (int i = 0; i < 5; i++) {
        stage_run(s, peer_has_request(&s->peers[i]));
        answer(&s->peers[i]);
    }
    stage_run(s, stage_pool(s)->n_calls == 0);
    assert_int_equal(stage_pool(s)->n_idle, 2);
    for (int i = 0; i < 5; i++) {
        asker_dispose(&p[i]);
    }
}

static struct weir_target copy_target(const struct weir_target *t)
{
    struct weir_target copy = *t;
    copy.id = weir_slice_make(strndup(t->id.p, t->id.n), t->id.n);
    copy.hostname = strdup(t->hostname);
    return copy;
}

static void free_target(struct weir_target *t)
{
    free((char *)(uintptr_t)t->id.p);
    free((char *)(uintptr_t)t->hostname);
    *t = (struct weir_target){0};
}

/* A reload makes targets anew: those that say the same go on, and none is looked at afterwards. */
static void connections_survive_a_reload(void **state)
{
    struct stage *s = *state;
    s->at_data = answer;
    struct weir_target original = s->target;
    for (int i = 0; i < 3; i++) {
        s->target = copy_target(&original);
        call_once(s);
        if (i == 1) {
            weir_client_forget(s->client, &s->target);
        }
        free_target(&s->target);
    }
    s->target = original;
    stage_run(s, s->peers[0].n_eof == 1); /* forgotten */
    assert_int_equal(s->n_peers, 2);
}

static void targets_of_one_name_that_differ_do_not_share(void **state)
{
    struct stage *s = *state;
    s->client->keep_ms = 20;
    s->at_data = answer;
    stage_hold_time(s);
    struct weir_target first = s->target;
    struct weir_pool *pools[3];
    for (int i = 0; i < 3; i++) {
        s->target = first;
        s->target.max_retries = (uint32_t)i;
        call_once(s);
        pools[i] = stage_pool(s);
    }
    assert_int_equal(s->n_peers, 3);
    assert_true(pools[0] != pools[1] && pools[1] != pools[2] && pools[0] != pools[2]);
    stage_run_passing(s, weir_list_is_empty(&s->client->all_pools));
    assert_null(weir_map_get(&s->client->pools, s->target.id));
    call_once(s);
}

/* Counting */

static void calls_are_counted_by_what_became_of_them(void **state)
{
    struct stage *s = *state;
    s->target.id = WEIR_SLICE("counted");
    struct weir_service_stats *stats = &stage_pool(s)->stats;
    s->at_data = answer;
    call_once(s);
    call_once(s);
    assert_int_equal(weir_metric_counter_value(stats->results[WEIR_SERVICE_2XX]), 2);
    assert_int_equal(weir_metric_histogram_count(stats->seconds), 2);
    assert_int_equal(*stats->connections.value, 1);
    struct asker p = {0};
    asker_start(&p, s);
    asker_cancel(&p);
    assert_int_equal(weir_metric_counter_value(stats->results[WEIR_SERVICE_CANCELED]), 1);
    stage_run(s, stage_pool(s)->n_conns == 0);
    assert_int_equal(*stats->connections.value, 0);
    stage_stop_listening(s);
    struct weir_call_request r = stage_request(s);
    r.may_retry = true;
    asker_ask(&p, s, &r);
    stage_run(s, p.n_done == 1);
    assert_int_equal(weir_metric_counter_value(stats->results[WEIR_SERVICE_CONNECT]), 1);
    assert_int_equal(weir_metric_counter_value(stats->retries), 3);
    asker_dispose(&p);
    struct weir_buf text = {0};
    assert_int_equal(weir_metric_render(&text), 0);
    assert_non_null(strstr(weir_buf_cstr(&text),
                           "weir_service_requests_total{service=\"counted\",result=\"2xx\"} 2"));
    assert_non_null(strstr(weir_buf_cstr(&text), "weir_service_connections{service=\"counted\"}"));
    weir_buf_dispose(&text);
}

#define stage_test(fn) cmocka_unit_test_setup_teardown(fn, stage_setup, stage_teardown)
#define town_test(fn) cmocka_unit_test_setup_teardown(fn, town_setup, town_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        town_test(all_addresses_get_their_share),
        town_test(a_dead_address_costs_nobody_an_answer),
        town_test(an_address_that_comes_back_is_used_again),
        town_test(when_all_are_dead_the_first_error_is_told),
        town_test(a_silent_address_does_not_cost_the_whole_time),
        town_test(names_are_looked_up_again),
        town_test(a_name_that_is_lost_keeps_its_addresses),
        town_test(a_name_that_is_not_known),
        town_test(a_name_server_that_is_silent),
        stage_test(localhost_is_reached_over_ipv6_if_need_be),
        stage_test(idle_connections_and_pools_go),
        stage_test(the_last_used_connection_is_used_next),
        stage_test(only_so_many_idle_connections_are_kept),
        stage_test(connections_survive_a_reload),
        stage_test(targets_of_one_name_that_differ_do_not_share),
        stage_test(calls_are_counted_by_what_became_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
