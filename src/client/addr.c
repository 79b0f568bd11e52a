/*
 * The addresses of a service: which there are, which are preferred, whose turn it is.
 *
 * An address that could not be connected is left out for a while, longer each time, as long as
 * another one is good; when none is, all are tried.
 */
#include "client/client_int.h"

#include "base/mem.h"

#include <stdlib.h>

enum { BLAME_MS = 1000, MAX_BLAME_DOUBLINGS = 5 };

struct weir_pool_addr *weir_pool__addr_ref(struct weir_pool_addr *addr)
{
    addr->refs++;
    return addr;
}

void weir_pool__addr_unref(struct weir_pool_addr *addr)
{
    if (--addr->refs == 0) {
        free(addr);
    }
}

bool weir_pool__addr_is_good(const struct weir_pool_addr *addr, uint64_t now_ms)
{
    return !addr->addr.is_fallback && now_ms >= addr->bad_until_ms;
}

void weir_pool__addr_blame(struct weir_pool_addr *addr, uint64_t now_ms)
{
    unsigned doublings = addr->n_bad < MAX_BLAME_DOUBLINGS ? addr->n_bad : MAX_BLAME_DOUBLINGS;
    addr->n_bad++;
    addr->bad_until_ms = now_ms + ((uint64_t)BLAME_MS << doublings);
}

static struct weir_pool_addr *find(struct weir_pool_addr *const *addrs, size_t n,
                                   const struct weir_dns_addr *addr)
{
    for (size_t i = 0; i < n; i++) {
        if (weir_dns_addr_eq(&addrs[i]->addr, addr)) {
            return addrs[i];
        }
    }
    return NULL;
}

static struct weir_pool_addr *known_or_new(struct weir_pool *pool, const struct weir_dns_addr *from)
{
    struct weir_pool_addr *addr = find(pool->addrs, pool->n_addrs, from);
    if (addr == NULL) {
        addr = weir_mem_zalloc(sizeof *addr);
        addr->addr = *from;
        weir_list_init(&addr->ready);
    }
    return weir_pool__addr_ref(addr);
}

void weir_pool__set_addrs(struct weir_pool *pool, const struct weir_dns_addr *addrs, size_t n)
{
    struct weir_pool_addr **now = weir_mem_array(n, sizeof *now);
    size_t n_now = 0;
    for (size_t i = 0; i < n; i++) {
        if (find(now, n_now, &addrs[i]) == NULL) {
            now[n_now++] = known_or_new(pool, &addrs[i]);
        }
    }
    for (size_t i = 0; i < pool->n_addrs; i++) {
        struct weir_pool_addr *old = pool->addrs[i];
        old->is_gone = find(now, n_now, &old->addr) == NULL;
        weir_pool__addr_unref(old);
    }
    free(pool->addrs);
    pool->addrs = now;
    pool->n_addrs = n_now;
}

static struct weir_pool_conn *ready_on(const struct weir_pool_addr *addr, uint64_t min_seq)
{
    for (struct weir_list *at = addr->ready.next; at != &addr->ready; at = at->next) {
        struct weir_pool_conn *conn = WEIR_LIST_ENTRY(at, struct weir_pool_conn, link);
        if (conn->seq > min_seq && weir_http_up_room(&conn->up) != 0) {
            return conn;
        }
    }
    return NULL;
}

struct weir_pool_conn *weir_pool__take(struct weir_pool *pool, uint64_t min_seq)
{
    uint64_t now_ms = weir_loop_now_ms(pool->client->loop);
    struct weir_pool_conn *second_best = NULL;
    for (size_t i = 0; i < pool->n_addrs; i++) {
        size_t at = (pool->next_addr + i) % pool->n_addrs;
        struct weir_pool_conn *conn = ready_on(pool->addrs[at], min_seq);
        if (conn != NULL && weir_pool__addr_is_good(pool->addrs[at], now_ms)) {
            pool->next_addr = at + 1;
            return conn;
        }
        second_best = second_best != NULL ? second_best : conn;
    }
    return second_best;
}

struct weir_pool_addr **weir_pool__order(struct weir_pool *pool)
{
    uint64_t now_ms = weir_loop_now_ms(pool->client->loop);
    struct weir_pool_addr **order = weir_mem_array(pool->n_addrs, sizeof(struct weir_pool_addr *));
    size_t n = 0;
    size_t first = pool->next_addr++;
    for (int want_good = 1; want_good >= 0; want_good--) {
        for (size_t i = 0; i < pool->n_addrs; i++) {
            struct weir_pool_addr *addr = pool->addrs[(first + i) % pool->n_addrs];
            if (weir_pool__addr_is_good(addr, now_ms) == (want_good != 0)) {
                order[n++] = weir_pool__addr_ref(addr);
            }
        }
    }
    return order;
}
