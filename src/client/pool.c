/*
 * What a worker knows of one service.
 *
 *   enter ─► queued ─(a slot)─► waiting ─(a connection)─► run … leave
 *                                  │
 *                                  └─► look-up ─► dial ─► connections ─► ready / idle
 *
 * advance is the one place that moves calls on, asks for names and opens connections; everything
 * else records and calls it.
 */
#include "client/client_int.h"

#include "base/err.h"
#include "base/mem.h"
#include "obs/log.h"

#include <stdlib.h>

enum {
    MAX_DIALS = 32,       /* connections being opened at a time */
    H2_ROOM_GUESS = 100,  /* streams of a connection not opened yet */
    DIAL_PAUSE_MS = 1000, /* after a failure while other connections go on */
};

static struct weir_pool_conn *conn_of(struct weir_http_up *up)
{
    return WEIR_LIST_ENTRY(up, struct weir_pool_conn, up);
}

static uint64_t now_of(const struct weir_pool *pool)
{
    return weir_loop_now_ms(pool->client->loop);
}

/* Connections */

static void leave_idle(struct weir_pool_conn *conn)
{
    if (weir_list_is_linked(&conn->idle_link)) {
        weir_list_remove(&conn->idle_link);
        conn->pool->n_idle--;
    }
}

static void unlist(struct weir_pool_conn *conn)
{
    weir_list_remove(&conn->link);
    leave_idle(conn);
}

static void close_conn(struct weir_pool_conn *conn)
{
    unlist(conn);
    weir_http_up_close(&conn->up);
}

static struct weir_pool_conn *longest_idle(const struct weir_pool *pool)
{
    struct weir_list *link = weir_list_first(&pool->idle);
    return link != NULL ? WEIR_LIST_ENTRY(link, struct weir_pool_conn, idle_link) : NULL;
}

static void arm_timer(struct weir_pool *pool)
{
    if (!weir_timer_is_armed(&pool->timer) && !pool->is_dead) {
        weir_loop_after(pool->client->loop, &pool->timer, pool->client->keep_ms);
    }
}

static void become_idle(struct weir_pool_conn *conn)
{
    struct weir_pool *pool = conn->pool;
    conn->idle_since_ms = now_of(pool);
    weir_list_append(&pool->idle, &conn->idle_link);
    pool->n_idle++;
    if (pool->n_idle > pool->client->max_idle) {
        close_conn(longest_idle(pool));
    }
    arm_timer(pool);
}

void weir_pool__returned(struct weir_pool_conn *conn)
{
    bool is_idle = conn->up.n_exchanges == 0;
    if (conn->up.state != WEIR_HTTP_UP_READY) {
        return;
    }
    if (is_idle && conn->addr->is_gone) {
        close_conn(conn);
        return;
    }
    if (weir_http_up_room(&conn->up) != 0 && !weir_list_is_linked(&conn->link)) {
        weir_list_prepend(&conn->addr->ready, &conn->link);
    }
    if (is_idle && !weir_list_is_linked(&conn->idle_link)) {
        become_idle(conn);
    }
}

static void on_ready(struct weir_http_up *up)
{
    weir_dial__on_ready(conn_of(up));
}

static void on_room(struct weir_http_up *up)
{
    struct weir_pool_conn *conn = conn_of(up);
    weir_pool__returned(conn);
    weir_pool__advance(conn->pool);
}

static void on_gone(struct weir_http_up *up, int err, const char *why)
{
    struct weir_pool_conn *conn = conn_of(up);
    if (conn->dial != NULL) {
        weir_dial__on_gone(conn, err, why);
        return;
    }
    unlist(conn);
    weir_pool__advance(conn->pool);
}

static void free_pool(struct weir_pool *pool)
{
    struct weir_client *client = pool->client;
    for (size_t i = 0; i < pool->n_addrs; i++) {
        weir_pool__addr_unref(pool->addrs[i]);
    }
    free(pool->addrs);
    weir_list_remove(&pool->link);
    weir_tls_unref(pool->target.tls);
    weir_arena_dispose(&pool->arena);
    free(pool);
    weir_client__settle(client);
}

static void on_freeing(struct weir_post *post)
{
    free_pool(WEIR_LIST_ENTRY(post, struct weir_pool, freeing));
}

static void on_freed(struct weir_http_up *up)
{
    struct weir_pool_conn *conn = conn_of(up);
    struct weir_pool *pool = conn->pool;
    unlist(conn);
    weir_list_remove(&conn->all_link);
    weir_metric_gauge_add(pool->stats.connections, conn->seq != 0 ? -1 : 0);
    conn->addr->n_conns--;
    weir_pool__addr_unref(conn->addr);
    free(conn);
    pool->n_conns--;
    if (pool->is_dead && pool->n_conns == 0) {
        free_pool(pool);
    } else {
        weir_pool__advance(pool);
    }
}

static const struct weir_http_up_events UP_EVENTS = {
    .on_ready = on_ready,
    .on_room = on_room,
    .on_gone = on_gone,
    .on_freed = on_freed,
};

struct weir_pool_conn *weir_pool__open(struct weir_pool *pool, struct weir_pool_addr *addr)
{
    const struct weir_target *t = &pool->target;
    struct weir_pool_conn *conn = weir_mem_zalloc(sizeof *conn);
    conn->pool = pool;
    conn->addr = weir_pool__addr_ref(addr);
    conn->up.events = &UP_EVENTS;
    addr->n_conns++;
    pool->n_conns++;
    weir_list_append(&pool->conns, &conn->all_link);
    struct weir_http_up_options options = {
        .addr = &addr->addr.u.any,
        .tls = t->tls,
        .server_name = t->hostname,
        .is_h2 = t->protocol == WEIR_TARGET_H2,
        .ping_interval_ms = t->keep_alive_interval_ms,
        .ping_timeout_ms = t->keep_alive_timeout_ms,
    };
    weir_http_up_open(&conn->up, pool->client->loop, &options);
    return conn;
}

/* Failing calls */

void weir_pool__stop_waiting(struct weir_pool *pool, struct weir_call *call)
{
    weir_list_remove(&call->pool_link);
    pool->n_waiting--;
    call->state = WEIR_CALL_UNCONNECTED;
}

/* Takes the first `n` waiting calls and tells them. Each of them may do anything meanwhile. */
static void fail_waiting(struct weir_pool *pool, size_t n, int err, const char *why)
{
    struct weir_list failed;
    weir_list_init(&failed);
    struct weir_list *link;
    for (; n != 0 && (link = weir_list_first(&pool->waiting)) != NULL; n--) {
        weir_pool__stop_waiting(pool, WEIR_LIST_ENTRY(link, struct weir_call, pool_link));
        weir_list_append(&failed, link);
    }
    while ((link = weir_list_pop(&failed)) != NULL) {
        weir_call__unconnected(WEIR_LIST_ENTRY(link, struct weir_call, pool_link), err, why);
    }
}

static size_t room_per_dial(const struct weir_pool *pool)
{
    if (pool->room_seen != 0) {
        return pool->room_seen;
    }
    return pool->target.protocol == WEIR_TARGET_H2 ? H2_ROOM_GUESS : 1;
}

/* Will running connections have room for those who wait? */
static bool has_shared_conns(const struct weir_pool *pool)
{
    for (struct weir_list *at = pool->conns.next; at != &pool->conns; at = at->next) {
        const struct weir_http_up *up = &WEIR_LIST_ENTRY(at, struct weir_pool_conn, all_link)->up;
        if (up->state == WEIR_HTTP_UP_READY && weir_http_up_is_h2(up) && !up->is_draining) {
            return true;
        }
    }
    return false;
}

/* No new connection is to be had for now: those that live are good enough for everybody. */
static void wait_for_shared(struct weir_pool *pool)
{
    pool->no_dial_until_ms = now_of(pool) + DIAL_PAUSE_MS;
    for (struct weir_list *at = pool->waiting.next; at != &pool->waiting; at = at->next) {
        WEIR_LIST_ENTRY(at, struct weir_call, pool_link)->min_seq = 0;
    }
}

void weir_pool__dial_lost(struct weir_pool *pool, const struct weir_dial_end *end)
{
    size_t hoped_for = pool->n_dials * room_per_dial(pool);
    if (end->is_extra) {
        WEIR_LOG_DEBUG("client", NULL, "address not reached",
                       weir_log_str("service", pool->target.id), weir_log_cstr("why", end->why));
    } else if (has_shared_conns(pool)) {
        wait_for_shared(pool);
    } else if (pool->n_waiting > hoped_for) {
        fail_waiting(pool, pool->n_waiting - hoped_for, end->err, end->why);
    }
    weir_pool__advance(pool);
}

void weir_pool__dial_won(struct weir_pool *pool, struct weir_pool_conn *conn)
{
    conn->seq = ++pool->client->seq;
    pool->room_seen = weir_http_up_room(&conn->up);
    pool->no_dial_until_ms = 0;
    weir_metric_gauge_add(pool->stats.connections, 1);
    weir_pool__returned(conn);
    weir_pool__advance(pool);
}

/* Names */

static void close_gone(struct weir_pool *pool)
{
    for (struct weir_list *at = pool->idle.next; at != &pool->idle;) {
        struct weir_pool_conn *conn = WEIR_LIST_ENTRY(at, struct weir_pool_conn, idle_link);
        at = at->next;
        if (conn->addr->is_gone) {
            close_conn(conn);
        }
    }
}

static void on_addrs(void *ctx, int err, const char *why, const struct weir_dns_addr *addrs,
                     size_t n_addrs)
{
    struct weir_pool *pool = ctx;
    pool->query = NULL;
    pool->looked_up_ms = now_of(pool);
    if (err == 0) {
        weir_pool__set_addrs(pool, addrs, n_addrs);
        close_gone(pool);
    } else if (pool->n_addrs == 0) {
        fail_waiting(pool, pool->n_waiting, err, why);
    } else {
        WEIR_LOG_WARN("client", NULL, "name not found, its last addresses are kept",
                      weir_log_str("service", pool->target.id),
                      weir_log_cstr("host", pool->target.hostname), weir_log_cstr("why", why));
    }
    weir_pool__advance(pool);
}

static void look_up(struct weir_pool *pool)
{
    uint64_t interval_ms = pool->target.dns_interval_ms;
    bool is_old = interval_ms != 0 && now_of(pool) >= pool->looked_up_ms + interval_ms;
    bool is_needed = pool->n_addrs == 0 ? pool->n_waiting != 0 : is_old && pool->n_calls != 0;
    if (is_needed && !pool->is_literal && pool->query == NULL) {
        pool->query = weir_dns_lookup(pool->client->dns, pool->target.hostname, pool->target.port,
                                      on_addrs, pool);
    }
}

/* Opening */

/* An address without any connection gets one while others do the work. */
static void spread(struct weir_pool *pool)
{
    uint64_t now_ms = now_of(pool);
    for (size_t i = 0; i < pool->n_addrs && pool->n_addrs > 1; i++) {
        struct weir_pool_addr *addr = pool->addrs[i];
        if (addr->n_conns == 0 && weir_pool__addr_is_good(addr, now_ms)) {
            struct weir_pool_addr **order = weir_mem_array(1, sizeof(struct weir_pool_addr *));
            order[0] = weir_pool__addr_ref(addr);
            weir_dial__start(pool, order, 1, true);
            return;
        }
    }
}

static void dial(struct weir_pool *pool)
{
    if (pool->n_addrs == 0 || now_of(pool) < pool->no_dial_until_ms) {
        return;
    }
    size_t room = room_per_dial(pool);
    while (pool->n_dials * room < pool->n_waiting && pool->n_dials < MAX_DIALS) {
        weir_dial__start(pool, weir_pool__order(pool), pool->n_addrs, false);
    }
}

/* Calls */

static bool has_slot(const struct weir_pool *pool)
{
    return pool->target.max_concurrent == 0 || pool->n_active < pool->target.max_concurrent;
}

static void activate(struct weir_pool *pool, struct weir_call *call)
{
    call->is_active = true;
    pool->n_active++;
}

bool weir_pool__enter(struct weir_pool *pool, struct weir_call *call, int *err)
{
    pool->n_calls++;
    *err = 0;
    if (has_slot(pool)) {
        activate(pool, call);
        return true;
    }
    if (pool->n_queued >= pool->target.max_waiting) {
        *err = WEIR_EBUSY;
    } else {
        weir_list_append(&pool->queued, &call->pool_link);
        pool->n_queued++;
    }
    return false;
}

/* First come, first served; one that has to be repeated takes the place it would have had. */
static void wait_for_conn(struct weir_pool *pool, struct weir_call *call)
{
    struct weir_list *before = &pool->waiting;
    if (call->n_quiet != 0) {
        before = before->next;
        while (before != &pool->waiting &&
               WEIR_LIST_ENTRY(before, struct weir_call, pool_link)->started_ns <
                   call->started_ns) {
            before = before->next;
        }
    }
    weir_list_append(before, &call->pool_link);
    pool->n_waiting++;
}

void weir_pool__want(struct weir_pool *pool, struct weir_call *call)
{
    wait_for_conn(pool, call);
    weir_pool__advance(pool);
}

void weir_pool__leave(struct weir_pool *pool, struct weir_call *call)
{
    if (weir_list_is_linked(&call->pool_link)) {
        weir_list_remove(&call->pool_link);
        pool->n_queued -= call->state == WEIR_CALL_QUEUED;
        pool->n_waiting -= call->state == WEIR_CALL_WAITING;
    }
    pool->n_active -= call->is_active;
    call->is_active = false;
    pool->n_calls--;
    pool->last_call_ms = now_of(pool);
    arm_timer(pool);
    weir_pool__advance(pool);
}

static void admit(struct weir_pool *pool)
{
    while (pool->n_queued != 0 && has_slot(pool)) {
        struct weir_list *link = weir_list_pop(&pool->queued);
        struct weir_call *call = WEIR_LIST_ENTRY(link, struct weir_call, pool_link);
        pool->n_queued--;
        activate(pool, call);
        weir_call__admitted(call);
        wait_for_conn(pool, call);
    }
}

static void give(struct weir_pool *pool, struct weir_call *call, struct weir_pool_conn *conn)
{
    weir_list_remove(&call->pool_link);
    pool->n_waiting--;
    leave_idle(conn);
    weir_call__run(call, conn);
    if (weir_http_up_room(&conn->up) == 0) {
        weir_list_remove(&conn->link);
    }
}

/* A call that needs a fresh connection does not hold up those behind it. When a call that may
 * use any connection finds none, those behind it will find none, too. */
static void serve(struct weir_pool *pool)
{
    for (struct weir_list *at = pool->waiting.next; at != &pool->waiting;) {
        struct weir_call *call = WEIR_LIST_ENTRY(at, struct weir_call, pool_link);
        at = at->next;
        struct weir_pool_conn *conn = weir_pool__take(pool, call->min_seq);
        if (conn != NULL) {
            give(pool, call, conn);
        } else if (call->min_seq == 0) {
            return;
        }
    }
}

void weir_pool__advance(struct weir_pool *pool)
{
    if (pool->is_dead) {
        return;
    }
    admit(pool);
    serve(pool);
    if (pool->n_calls != 0) {
        look_up(pool);
        dial(pool);
        spread(pool);
    }
}

/* Beginning and end */

static void on_timer(struct weir_timer *t, void *ctx)
{
    struct weir_pool *pool = ctx;
    uint64_t keep_ms = pool->client->keep_ms;
    uint64_t now_ms = now_of(pool);
    const struct weir_pool_conn *oldest;
    while ((oldest = longest_idle(pool)) != NULL && now_ms >= oldest->idle_since_ms + keep_ms) {
        close_conn(longest_idle(pool));
    }
    bool is_unused = pool->n_calls == 0 && weir_list_is_empty(&pool->dials);
    if (oldest != NULL) {
        weir_timers_set(&pool->client->loop->timers, t, oldest->idle_since_ms + keep_ms);
    } else if (is_unused && now_ms >= pool->last_call_ms + keep_ms) {
        weir_pool__kill(pool);
    } else if (pool->n_calls == 0) {
        weir_timers_set(&pool->client->loop->timers, t, now_ms + keep_ms);
    }
}

static struct weir_slice authority_of(struct weir_pool *pool)
{
    const struct weir_target *t = &pool->target;
    bool is_v6 = strchr(t->hostname, ':') != NULL;
    const char *open = is_v6 ? "[" : "";
    const char *close = is_v6 ? "]" : "";
    if (t->port == (t->tls != NULL ? 443 : 80)) {
        return weir_slice_cstr(weir_arena_printf(&pool->arena, "%s%s%s", open, t->hostname, close));
    }
    return weir_slice_cstr(
        weir_arena_printf(&pool->arena, "%s%s%s:%u", open, t->hostname, close, (unsigned)t->port));
}

struct weir_pool *weir_pool__new(struct weir_client *client, const struct weir_target *target)
{
    struct weir_pool *pool = weir_mem_zalloc(sizeof *pool);
    pool->client = client;
    weir_target__copy(&pool->target, target, &pool->arena);
    pool->authority = authority_of(pool);
    pool->timer.fn = on_timer;
    pool->timer.ctx = pool;
    pool->freeing.fn = on_freeing;
    weir_list_init(&pool->queued);
    weir_list_init(&pool->waiting);
    weir_list_init(&pool->conns);
    weir_list_init(&pool->idle);
    weir_list_init(&pool->dials);
    weir_service__stats_init(&pool->stats, pool->target.id);
    struct weir_dns_addr known[2];
    size_t n;
    pool->is_literal = weir_dns_literal(pool->target.hostname, pool->target.port, known, &n);
    if (pool->is_literal) {
        weir_pool__set_addrs(pool, known, n);
    }
    return pool;
}

void weir_pool__close_idle(struct weir_pool *pool)
{
    struct weir_pool_conn *conn;
    while ((conn = longest_idle(pool)) != NULL) {
        close_conn(conn);
    }
}

void weir_pool__kill(struct weir_pool *pool)
{
    pool->is_dead = true;
    weir_client__drop(pool->client, pool);
    weir_loop_cancel(pool->client->loop, &pool->timer);
    if (pool->query != NULL) {
        weir_dns_cancel(pool->query);
        pool->query = NULL;
    }
    struct weir_list *link;
    while ((link = weir_list_first(&pool->dials)) != NULL) {
        weir_dial__cancel(WEIR_LIST_ENTRY(link, struct weir_dial, link));
    }
    for (link = pool->conns.next; link != &pool->conns; link = link->next) {
        struct weir_pool_conn *conn = WEIR_LIST_ENTRY(link, struct weir_pool_conn, all_link);
        close_conn(conn);
    }
    if (pool->n_conns == 0) {
        weir_loop_post(pool->client->loop, &pool->freeing); /* somebody up the stack may use it */
    }
}
