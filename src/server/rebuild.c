#include "server/rebuild.h"

/* Runs on another thread. It writes r->env and r->problems only, and the loop's thread does not
 * touch these until it is done. */
static void build(void *ctx)
{
    struct weir_rebuild *r = ctx;
    r->env = weir_server_load(r->options, &r->problems);
}

static void on_done(void *ctx)
{
    struct weir_rebuild *r = ctx;
    struct weir_env *env = r->env;
    r->env = NULL;
    r->is_running = false;
    r->on_built(r->ctx, env, &r->problems, r->why);
    weir_conf_problems_dispose(&r->problems);
    if (r->why_again != NULL) {
        weir_rebuild_start(r, r->why_again);
    }
}

static void on_dropped(void *ctx)
{
    struct weir_rebuild *r = ctx;
    weir_env_unref(r->env);
    r->env = NULL;
    r->is_running = false;
    weir_conf_problems_dispose(&r->problems);
}

void weir_rebuild_start(struct weir_rebuild *r, const char *why)
{
    if (r->is_running) {
        r->why_again = why;
        return;
    }
    r->is_running = true;
    r->why = why;
    r->why_again = NULL;
    r->problems = (struct weir_conf_problems){0};
    r->job = (struct weir_offload){.work = build, .done = on_done, .dropped = on_dropped, .ctx = r};
    weir_offload(r->loop, &r->job);
}

void weir_rebuild_cancel(struct weir_rebuild *r)
{
    r->why_again = NULL;
    if (r->is_running) {
        weir_offload_cancel(&r->job);
    }
}
