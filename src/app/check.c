#include "app/check.h"

#include "app/serve.h"
#include "client/client.h"
#include "client/probe.h"
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

struct check;

/* One line of the table. */
struct row {
    struct check *check;
    struct weir_probe_service service;
    struct weir_probe_state state;
    struct weir_slice why; /* in the arena */
    uint64_t started_ns;
    uint64_t took_ms;
};

struct check {
    struct weir_loop loop;
    struct weir_client *client;
    struct weir_env *env;
    struct row *rows;
    size_t n_left;
    struct weir_arena arena;
};

enum { NS_PER_MS = 1000 * 1000 };

/* ---- asking ---- */

static void on_closed(void *ctx)
{
    weir_loop_stop(ctx);
}

static void on_answer(void *ctx, const struct weir_probe_state *state)
{
    struct row *row = ctx;
    struct check *c = row->check;
    struct weir_slice words = state->why != NULL ? weir_slice_cstr(state->why) : state->reason;
    row->took_ms = (uv_hrtime() - row->started_ns) / NS_PER_MS;
    row->state = *state;
    row->why = weir_arena_dup(&c->arena, words);
    c->n_left--;
    if (c->n_left == 0) {
        weir_client_close(c->client, on_closed, &c->loop);
    }
}

/* A model server is asked for its models, not only whether it is well. */
static void start(struct check *c, size_t i)
{
    struct row *row = &c->rows[i];
    row->check = c;
    row->service = c->env->services[i];
    if (row->service.path.n != 0) {
        row->service.kind = &weir_probe_models;
    }
    row->started_ns = uv_hrtime();
    weir_probe_start(&c->loop, c->client, &row->service, on_answer, row);
}

static void ask(struct check *c)
{
    c->client = weir_client_new(&c->loop);
    c->n_left = c->env->n_services;
    for (size_t i = 0; i < c->env->n_services; i++) {
        start(c, i);
    }
    if (c->n_left == 0) {
        weir_client_close(c->client, on_closed, &c->loop);
    }
    weir_loop_run(&c->loop);
}

/* ---- the table ---- */

static const char *status_of(const struct row *row)
{
    switch (row->state.health) {
    case WEIR_PROBE_HEALTHY:
        return "ok";
    case WEIR_PROBE_UNHEALTHY:
        return "failed";
    case WEIR_PROBE_UNKNOWN:
    default:
        return "unknown";
    }
}

static const char *address_of(struct check *c, const struct row *row)
{
    const struct weir_target *t = row->service.target;
    const char *scheme = t->tls != NULL ? "https" : "http";
    bool is_v6 = strchr(t->hostname, ':') != NULL;
    return weir_arena_printf(&c->arena, is_v6 ? "%s://[%s]:%u" : "%s://%s:%u", scheme, t->hostname,
                             t->port);
}

static const char *words_of(struct check *c, const struct row *row)
{
    if (row->why.n == 0 && row->state.code == 0) {
        return "";
    }
    if (row->state.code == 0) {
        return row->why.p;
    }
    return weir_arena_printf(&c->arena, "status %d%s%s", row->state.code,
                             row->why.n != 0 ? ": " : "", row->why.p != NULL ? row->why.p : "");
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void print(struct check *c)
{
    size_t wide_id = sizeof "service" - 1;
    size_t wide_address = sizeof "address" - 1;
    size_t n_failed = 0;
    for (size_t i = 0; i < c->env->n_services; i++) {
        const struct row *row = &c->rows[i];
        wide_id = max_size(wide_id, row->service.id.n);
        wide_address = max_size(wide_address, strlen(address_of(c, row)));
        n_failed += row->state.health == WEIR_PROBE_UNHEALTHY;
    }
    printf("%-*s  %-8s  %-*s  %-7s  %8s\n", (int)wide_id, "service", "kind", (int)wide_address,
           "address", "status", "time");
    for (size_t i = 0; i < c->env->n_services; i++) {
        const struct row *row = &c->rows[i];
        const char *words = words_of(c, row);
        printf("%-*.*s  %-8s  %-*s  %-7s  %5llu ms%s%s\n", (int)wide_id, (int)row->service.id.n,
               row->service.id.p, row->service.target->kind, (int)wide_address, address_of(c, row),
               status_of(row), (unsigned long long)row->took_ms, words[0] != '\0' ? "  " : "",
               words);
    }
    printf("%zu service%s, %zu failed\n", c->env->n_services, c->env->n_services == 1 ? "" : "s",
           n_failed);
}

static bool has_failed(const struct check *c)
{
    for (size_t i = 0; i < c->env->n_services; i++) {
        if (c->rows[i].state.health == WEIR_PROBE_UNHEALTHY) {
            return true;
        }
    }
    return false;
}

/* ---- the command ---- */

static void report(struct weir_conf_problems *problems, const char *path)
{
    struct weir_buf text = {0};
    weir_conf_problems_report(problems, path != NULL ? path : "embedded configuration", &text);
    fputs(weir_buf_cstr(&text), stderr);
    weir_buf_dispose(&text);
}

int weir_check_services(const struct weir_args *args)
{
    struct weir_server_options options = weir_serve_options(args);
    struct weir_conf_problems problems = {0};
    struct check c = {.env = weir_server_load(&options, &problems)};
    if (problems.n != 0) {
        report(&problems, args->config_path);
    }
    weir_conf_problems_dispose(&problems);
    if (c.env == NULL) {
        return 1;
    }
    if (weir_loop_init(&c.loop) != 0) {
        fputs("weir: no loop: out of descriptors?\n", stderr);
        weir_env_unref(c.env);
        return 1;
    }
    c.rows = weir_arena_array(&c.arena, c.env->n_services, sizeof *c.rows);
    ask(&c);
    print(&c);
    int status = has_failed(&c) ? 1 : 0;
    weir_loop_dispose(&c.loop);
    weir_env_unref(c.env);
    weir_arena_dispose(&c.arena);
    return status;
}
