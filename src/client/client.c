/*
 * The books of a worker's outgoing side: which pool belongs to a target, and the way out.
 */
#include "client/client_int.h"

#include "base/mem.h"

#include <stdlib.h>

enum { KEEP_MS = 60 * 1000, MAX_IDLE = 128 };

static void on_closed(struct weir_post *post);

struct weir_client *weir_client_new(struct weir_loop *loop)
{
    struct weir_client *client = weir_mem_zalloc(sizeof *client);
    client->loop = loop;
    client->dns = weir_dns_new(loop);
    client->has_dns = true;
    client->keep_ms = KEEP_MS;
    client->max_idle = MAX_IDLE;
    client->closed.fn = on_closed;
    weir_list_init(&client->all_pools);
    weir_list_init(&client->calls);
    return client;
}

int weir_client_set_dns_servers(struct weir_client *client, const char *servers)
{
    return weir_dns_set_servers(client->dns, servers);
}

void weir_client_watch(struct weir_client *client, weir_client_span_fn fn, void *ctx)
{
    client->on_span = fn;
    client->span_ctx = ctx;
}

static struct weir_pool *find(const struct weir_client *client, const struct weir_target *target)
{
    struct weir_pool *pool = weir_map_get(&client->pools, target->id);
    while (pool != NULL && !weir_target__eq(&pool->target, target)) {
        pool = pool->next;
    }
    return pool;
}

struct weir_pool *weir_client__pool(struct weir_client *client, const struct weir_target *target)
{
    struct weir_pool *pool = find(client, target);
    if (pool != NULL) {
        return pool;
    }
    pool = weir_pool__new(client, target);
    /* The key is the pool's own, so the first of a chain must be the one that lends it. */
    struct weir_pool *first = weir_map_get(&client->pools, target->id);
    if (first != NULL) {
        pool->next = first->next;
        first->next = pool;
    } else {
        weir_map_put(&client->pools, pool->target.id, pool);
    }
    weir_list_append(&client->all_pools, &pool->link);
    return pool;
}

void weir_client__drop(struct weir_client *client, struct weir_pool *pool)
{
    struct weir_pool *first = weir_map_get(&client->pools, pool->target.id);
    if (first == pool) {
        weir_map_remove(&client->pools, pool->target.id);
        if (pool->next != NULL) {
            weir_map_put(&client->pools, pool->next->target.id, pool->next);
        }
        return;
    }
    while (first->next != pool) {
        first = first->next;
    }
    first->next = pool->next;
}

void weir_client_forget(struct weir_client *client, const struct weir_target *target)
{
    struct weir_pool *pool = find(client, target);
    if (pool != NULL) {
        weir_pool__close_idle(pool);
    }
}

static void on_closed(struct weir_post *post)
{
    struct weir_client *client = WEIR_LIST_ENTRY(post, struct weir_client, closed);
    void (*fn)(void *ctx) = client->close_fn;
    void *ctx = client->close_ctx;
    weir_map_dispose(&client->pools);
    free(client);
    fn(ctx);
}

void weir_client__settle(struct weir_client *client)
{
    if (client->is_closing && !client->has_dns && weir_list_is_empty(&client->all_pools)) {
        weir_loop_post(client->loop, &client->closed);
    }
}

static void on_dns_closed(void *ctx)
{
    struct weir_client *client = ctx;
    client->has_dns = false;
    weir_client__settle(client);
}

void weir_client_close(struct weir_client *client, void (*fn)(void *ctx), void *ctx)
{
    client->is_closing = true;
    client->close_fn = fn;
    client->close_ctx = ctx;
    struct weir_list *link;
    while ((link = weir_list_first(&client->calls)) != NULL) {
        weir_call_cancel(WEIR_LIST_ENTRY(link, struct weir_call, link));
    }
    for (link = client->all_pools.next; link != &client->all_pools;) {
        struct weir_pool *pool = WEIR_LIST_ENTRY(link, struct weir_pool, link);
        link = link->next;
        weir_pool__kill(pool);
    }
    weir_dns_close(client->dns, on_dns_closed, client);
}
