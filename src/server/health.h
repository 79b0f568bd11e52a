#ifndef WEIR_SERVER_HEALTH_H
#define WEIR_SERVER_HEALTH_H

#include "base/list.h"
#include "base/map.h"
#include "client/client.h"
#include "io/loop.h"
#include "route/env.h"
#include "wire/json_write.h"

#include <stdbool.h>

/*
 * What is known of the services' health. Asked on the main thread's loop with a client of its own;
 * the latest answer of every service is kept by its id, across reloads.
 *
 *   ask ─► a round: every service of an environment is asked at once ─► fn when all have answered
 *
 * A question that comes while a round of the same environment is under way joins it: the health
 * port cannot be used to flood the services.
 */
struct weir_health {
    struct weir_loop *loop;
    struct weir_client *client;
    struct weir_map states; /* id to what is known */
    struct weir_list rounds;
};

/* Waits for a round. Embedded in the object that asks, which sets the first two members. */
struct weir_health_waiter {
    void (*fn)(void *ctx);
    void *ctx;
    struct weir_list link;
};

void weir_health_open(struct weir_health *h, struct weir_loop *loop);

/* Breaks off every round, without calling those who wait, and closes the client; the loop must
 * still run to finish it. Then dispose. Both may be called without open. */
void weir_health_close(struct weir_health *h);
void weir_health_dispose(struct weir_health *h);

/* Calls waiter->fn once, never from inside this call. The round holds a reference to the
 * environment. */
void weir_health_ask(struct weir_health *h, struct weir_env *env,
                     struct weir_health_waiter *waiter);

/* Cancels the wait: fn is not called any more. Allowed after fn, too. */
void weir_health_leave(struct weir_health_waiter *waiter);

/* Forgets services that the environment does not have. */
void weir_health_keep_only(struct weir_health *h, const struct weir_env *env);

/* The latest known state; UNKNOWN when it was never asked. The reason lives until it is asked
 * again. */
struct weir_probe_state weir_health_state(const struct weir_health *h, struct weir_slice id);

/* {"<id>":{"status":…,"code"?:…,"reason"?:…},…} for all services of the environment. */
void weir_health_write(const struct weir_health *h, const struct weir_env *env,
                       struct weir_json_write *w);

#endif
