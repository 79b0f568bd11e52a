#ifndef WEIR_SERVER_WORKER_H
#define WEIR_SERVER_WORKER_H

#include "detect/desk.h"
#include "detect/verdicts.h"
#include "http/endpoint.h"
#include "io/listener.h"
#include "io/loop.h"
#include "route/env.h"
#include "server/export_worker.h"
#include "task/scratch.h"
#include "task/shadow.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * A worker: a thread with its own loop, its own listening socket and the connections the kernel
 * gave it. A request never leaves it. Others talk to it through weir_loop_call.
 */
struct weir_worker {
    struct weir_loop loop;
    struct weir_listener listener;
    struct weir_http_endpoint endpoint;
    struct weir_client *client; /* the outgoing side */
    struct weir_task_scratch scratch;
    struct weir_verdicts verdicts;
    struct weir_desks desks;
    struct weir_shadows shadows;
    struct weir_export_send *traces;   /* where spans go; NULL: none are kept. Set before init */
    struct weir_export_worker *export; /* NULL with it */
    struct weir_env *env; /* the current one; a reference, changed on this thread only */
    pthread_t thread;
    atomic_uint *n_connections; /* of all workers together */
    void (*on_drained)(void *ctx);
    void *ctx;
    struct weir_timer last_words; /* time for the error events of ended streams to be sent */
    bool is_running;
    bool is_draining;
};

/* Binds, but does not run yet. `port` 0 picks a free one: see w->listener.port. 0, WEIR_ELIMIT when
 * out of descriptors, or as weir_listener_open; dispose it in any case. */
int weir_worker_init(struct weir_worker *w, struct weir_env *env, const char *host, uint16_t port);
int weir_worker_start(struct weir_worker *w);

/* From the main thread. set_env takes a reference of its own. */
void weir_worker_set_env(struct weir_worker *w, struct weir_env *env);
void weir_worker_drain(struct weir_worker *w); /* then on_drained, on the worker's thread */
void weir_worker_abort(struct weir_worker *w); /* drained or not, everything ends: streams get an
                                                  error event, other requests 503, and after a
                                                  moment the rest is broken off */

/* Stops the loop, waits for the thread, frees. Also for a worker that was never started. */
void weir_worker_dispose(struct weir_worker *w);

#endif
