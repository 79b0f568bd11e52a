#ifndef WEIR_SERVER_REBUILD_H
#define WEIR_SERVER_REBUILD_H

#include "io/offload.h"
#include "server/server.h"

#include <stdbool.h>

/*
 * A new environment, made on another thread: reading files and compiling patterns may take seconds
 * in which the main thread has probes and signals to answer.
 *
 *   start ─► weir_server_load (another thread) ─► on_built      on the loop
 *   start ─┘ meanwhile: once more when this one is done, since the file may have changed after it
 *            was read
 */
struct weir_rebuild {
    struct weir_loop *loop;
    const struct weir_server_options *options; /* read by the other thread, never written */
    /* `env` is the caller's to keep, NULL: refused. The problems are borrowed. `why` as in start.
     */
    void (*on_built)(void *ctx, struct weir_env *env, struct weir_conf_problems *problems,
                     const char *why);
    void *ctx;
    bool is_running;
    /* the rest is its own */
    struct weir_offload job;
    const char *why;
    const char *why_again; /* not NULL: asked for meanwhile */
    struct weir_env *env;
    struct weir_conf_problems problems;
};

/* `why` must live as long as the process. */
void weir_rebuild_start(struct weir_rebuild *r, const char *why);

/* No on_built any more. What is being made is finished and thrown away; until then (is_running) `r`
 * must stay, and weir_loop_dispose waits for it. */
void weir_rebuild_cancel(struct weir_rebuild *r);

#endif
