#ifndef WEIR_SERVER_ADMIN_H
#define WEIR_SERVER_ADMIN_H

#include "http/endpoint.h"
#include "io/listener.h"
#include "io/loop.h"
#include "route/env.h"
#include "server/health.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The health port: /health, /info, /healthz, /readyz, /metrics. It runs on the main thread's loop,
 * so it answers while workers are busy, and stays open while they drain.
 */
enum weir_admin_state {
    WEIR_ADMIN_STARTING, /* not ready yet */
    WEIR_ADMIN_READY,
    WEIR_ADMIN_DRAINING, /* not ready any more; running requests are being finished */
};

struct weir_admin {
    struct weir_loop *loop;
    struct weir_listener listener;
    struct weir_http_endpoint endpoint;
    struct weir_http_limits limits;
    struct weir_env *env; /* a reference */
    struct weir_health health;
    enum weir_admin_state state;
    unsigned n_connections;
};

/* Binds and listens. */
int weir_admin_open(struct weir_admin *a, struct weir_loop *loop, const char *host, uint16_t port);
void weir_admin_set_env(struct weir_admin *a, struct weir_env *env); /* takes a reference */

/* Stops listening and ends every connection; the loop must still run to finish it. */
void weir_admin_close(struct weir_admin *a);
void weir_admin_dispose(struct weir_admin *a);

#endif
