/*
 * Getting one connection to a service that has several addresses.
 *
 *   attempt 1 ──────────────── ready ─► won         the rest is closed
 *   attempt 2    ──── refused                       the next one begins at once
 *   attempt 3    └─────── …                         or after a moment of silence
 *   deadline or all failed ───────────► lost        with the first failure
 *
 * An address that does not answer at all must not cost the whole time: after a moment the next one
 * is tried as well.
 */
#include "client/client_int.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

enum { STAGGER_MS = 250 };

static void release(struct weir_dial *dial)
{
    struct weir_pool *pool = dial->pool;
    weir_loop_cancel(pool->client->loop, &dial->timer);
    weir_list_remove(&dial->link);
    pool->n_dials -= !dial->end.is_extra;
    for (size_t i = 0; i < dial->n_order; i++) {
        weir_pool__addr_unref(dial->order[i]);
    }
    free(dial->order);
    free(dial);
}

/* Closes the attempts that are still under way. An address that has not answered for STAGGER_MS
 * counts as failed: others are preferred for a while. */
static void close_attempts(struct weir_dial *dial)
{
    uint64_t now_ms = weir_loop_now_ms(dial->pool->client->loop);
    struct weir_list *link;
    while ((link = weir_list_pop(&dial->attempts)) != NULL) {
        struct weir_pool_conn *conn = WEIR_LIST_ENTRY(link, struct weir_pool_conn, link);
        bool is_silent = conn->up.sock.state == WEIR_SOCK_CONNECTING;
        if (is_silent && now_ms >= conn->began_ms + STAGGER_MS) {
            weir_pool__addr_blame(conn->addr, now_ms);
        }
        conn->dial = NULL;
        weir_http_up_close(&conn->up);
    }
}

void weir_dial__cancel(struct weir_dial *dial)
{
    struct weir_list *link;
    while ((link = weir_list_pop(&dial->attempts)) != NULL) {
        struct weir_pool_conn *conn = WEIR_LIST_ENTRY(link, struct weir_pool_conn, link);
        conn->dial = NULL;
        weir_http_up_close(&conn->up);
    }
    release(dial);
}

static void lose(struct weir_dial *dial)
{
    struct weir_pool *pool = dial->pool;
    struct weir_dial_end end = dial->end;
    close_attempts(dial);
    release(dial);
    weir_pool__dial_lost(pool, &end);
}

static void attempt(struct weir_dial *dial)
{
    struct weir_loop *loop = dial->pool->client->loop;
    uint64_t now_ms = weir_loop_now_ms(loop);
    struct weir_pool_conn *conn = weir_pool__open(dial->pool, dial->order[dial->next++]);
    conn->dial = dial;
    conn->began_ms = now_ms;
    weir_list_append(&dial->attempts, &conn->link);
    uint64_t at_ms = dial->deadline_ms;
    if (dial->next < dial->n_order && now_ms + STAGGER_MS < at_ms) {
        at_ms = now_ms + STAGGER_MS;
    }
    weir_timers_set(&loop->timers, &dial->timer, at_ms);
}

static void note(struct weir_dial *dial, int err, const char *why)
{
    if (dial->end.err == 0) {
        dial->end.err = err;
        snprintf(dial->end.why, sizeof dial->end.why, "%s", why);
    }
}

static void on_timer(struct weir_timer *t, void *ctx)
{
    struct weir_dial *dial = ctx;
    (void)t;
    if (weir_loop_now_ms(dial->pool->client->loop) >= dial->deadline_ms) {
        note(dial, WEIR_ETIMEOUT, weir_err_text(WEIR_ETIMEOUT));
        lose(dial);
    } else {
        attempt(dial);
    }
}

void weir_dial__on_gone(struct weir_pool_conn *conn, int err, const char *why)
{
    struct weir_dial *dial = conn->dial;
    conn->dial = NULL;
    weir_list_remove(&conn->link);
    weir_pool__addr_blame(conn->addr, weir_loop_now_ms(dial->pool->client->loop));
    note(dial, err, why);
    if (dial->next < dial->n_order) {
        attempt(dial);
    } else if (weir_list_is_empty(&dial->attempts)) {
        lose(dial);
    }
}

void weir_dial__on_ready(struct weir_pool_conn *conn)
{
    struct weir_dial *dial = conn->dial;
    struct weir_pool *pool = dial->pool;
    conn->dial = NULL;
    weir_list_remove(&conn->link);
    conn->addr->n_bad = 0;
    conn->addr->bad_until_ms = 0;
    close_attempts(dial);
    release(dial);
    weir_pool__dial_won(pool, conn);
}

void weir_dial__start(struct weir_pool *pool, struct weir_pool_addr **order, size_t n,
                      bool is_extra)
{
    uint64_t now_ms = weir_loop_now_ms(pool->client->loop);
    uint64_t limit_ms = pool->target.connect_timeout_ms;
    struct weir_dial *dial = weir_mem_zalloc(sizeof *dial);
    dial->pool = pool;
    dial->order = order;
    dial->n_order = n;
    dial->end.is_extra = is_extra;
    dial->timer.fn = on_timer;
    dial->timer.ctx = dial;
    dial->deadline_ms = limit_ms != 0 ? now_ms + limit_ms : UINT64_MAX;
    weir_list_init(&dial->attempts);
    weir_list_append(&pool->dials, &dial->link);
    pool->n_dials += !is_extra;
    attempt(dial);
}
