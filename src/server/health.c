#include "server/health.h"

#include "base/mem.h"

#include <stdlib.h>

/* What a service last said, with its own copy of everything. */
struct known {
    char *id;
    char *reason;
    size_t n_reason;
    enum weir_probe_health health;
    int code;
};

struct round;

struct question {
    struct round *round;
    const struct weir_probe_service *service;
    struct weir_probe *probe; /* NULL: answered */
};

struct round {
    struct weir_health *health;
    struct weir_env *env; /* a reference */
    struct weir_list link;
    struct weir_list waiters;
    struct question *questions;
    size_t n_left;
    struct weir_post done;
};

static void free_round(struct round *r)
{
    weir_list_remove(&r->link);
    weir_loop_unpost(&r->done);
    for (size_t i = 0; i < r->env->n_services; i++) {
        if (r->questions[i].probe != NULL) {
            weir_probe_cancel(r->questions[i].probe);
        }
    }
    weir_env_unref(r->env);
    free(r->questions);
    free(r);
}

/* All have answered. A waiter may ask again, or leave others behind. */
static void on_round_done(struct weir_post *post)
{
    struct round *r = WEIR_LIST_ENTRY(post, struct round, done);
    struct weir_list *link;
    weir_list_remove(&r->link);
    while ((link = weir_list_pop(&r->waiters)) != NULL) {
        struct weir_health_waiter *waiter = WEIR_LIST_ENTRY(link, struct weir_health_waiter, link);
        waiter->fn(waiter->ctx);
    }
    free_round(r);
}

static void keep(struct weir_health *h, struct weir_slice id, const struct weir_probe_state *state)
{
    struct known *k = weir_map_get(&h->states, id);
    if (k == NULL) {
        k = weir_mem_zalloc(sizeof *k);
        k->id = weir_mem_dup(id.p, id.n);
        weir_map_put(&h->states, weir_slice_make(k->id, id.n), k);
    }
    free(k->reason);
    k->reason = weir_mem_dup(state->reason.n != 0 ? state->reason.p : "", state->reason.n);
    k->n_reason = state->reason.n;
    k->health = state->health;
    k->code = state->code;
}

static void on_answer(void *ctx, const struct weir_probe_state *state)
{
    struct question *q = ctx;
    struct round *r = q->round;
    q->probe = NULL;
    keep(r->health, q->service->id, state);
    r->n_left--;
    if (r->n_left == 0) {
        weir_loop_post(r->health->loop, &r->done);
    }
}

static struct round *begin_round(struct weir_health *h, struct weir_env *env)
{
    struct round *r = weir_mem_zalloc(sizeof *r);
    r->health = h;
    r->env = weir_env_ref(env);
    r->done.fn = on_round_done;
    r->n_left = env->n_services;
    r->questions = weir_mem_array(env->n_services, sizeof *r->questions);
    weir_list_init(&r->waiters);
    weir_list_append(&h->rounds, &r->link);
    for (size_t i = 0; i < env->n_services; i++) {
        struct question *q = &r->questions[i];
        *q = (struct question){.round = r, .service = &env->services[i]};
        q->probe = weir_probe_start(h->loop, h->client, q->service, on_answer, q);
    }
    if (r->n_left == 0) {
        weir_loop_post(h->loop, &r->done);
    }
    return r;
}

static struct round *find_round(const struct weir_health *h, const struct weir_env *env)
{
    for (struct weir_list *at = weir_list_first(&h->rounds); at != NULL && at != &h->rounds;
         at = at->next) {
        struct round *r = WEIR_LIST_ENTRY(at, struct round, link);
        if (r->env == env) {
            return r;
        }
    }
    return NULL;
}

void weir_health_ask(struct weir_health *h, struct weir_env *env, struct weir_health_waiter *waiter)
{
    struct round *r = find_round(h, env);
    if (r == NULL) {
        r = begin_round(h, env);
    }
    weir_list_append(&r->waiters, &waiter->link);
}

void weir_health_leave(struct weir_health_waiter *waiter)
{
    weir_list_remove(&waiter->link);
}

void weir_health_open(struct weir_health *h, struct weir_loop *loop)
{
    h->loop = loop;
    h->client = weir_client_new(loop);
    weir_list_init(&h->rounds);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

void weir_health_close(struct weir_health *h)
{
    if (h->client == NULL) {
        return;
    }
    struct weir_list *link;
    while ((link = weir_list_first(&h->rounds)) != NULL) {
        struct round *r = WEIR_LIST_ENTRY(link, struct round, link);
        struct weir_list *waiter;
        do {
            waiter = weir_list_pop(&r->waiters);
        } while (waiter != NULL);
        free_round(r);
    }
    weir_client_close(h->client, nothing, NULL);
    h->client = NULL;
}

static void forget(struct weir_health *h, struct known *k)
{
    weir_map_remove(&h->states, weir_slice_cstr(k->id));
    free(k->id);
    free(k->reason);
    free(k);
}

static bool has_service(const struct weir_env *env, const char *id)
{
    for (size_t i = 0; i < env->n_services; i++) {
        if (weir_slice_eq_cstr(env->services[i].id, id)) {
            return true;
        }
    }
    return false;
}

void weir_health_keep_only(struct weir_health *h, const struct weir_env *env)
{
    const struct weir_map_entry *e;
    for (size_t i = 0; (e = weir_map_next(&h->states, &i)) != NULL;) {
        struct known *k = e->value;
        if (!has_service(env, k->id)) {
            forget(h, k);
        }
    }
}

void weir_health_dispose(struct weir_health *h)
{
    const struct weir_map_entry *e;
    for (size_t i = 0; (e = weir_map_next(&h->states, &i)) != NULL;) {
        forget(h, e->value);
    }
    weir_map_dispose(&h->states);
}

struct weir_probe_state weir_health_state(const struct weir_health *h, struct weir_slice id)
{
    const struct known *k = weir_map_get(&h->states, id);
    if (k == NULL) {
        return (struct weir_probe_state){.health = WEIR_PROBE_UNKNOWN};
    }
    return (struct weir_probe_state){
        .health = k->health, .code = k->code, .reason = weir_slice_make(k->reason, k->n_reason)};
}

static void write_state(struct weir_json_write *w, const struct weir_probe_state *state)
{
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("status"));
    weir_json_write_string(w, weir_slice_cstr(weir_probe_health_name(state->health)));
    if (state->code != 0) {
        weir_json_write_key(w, WEIR_SLICE("code"));
        weir_json_write_i64(w, state->code);
    }
    if (state->reason.n != 0) {
        weir_json_write_key(w, WEIR_SLICE("reason"));
        weir_json_write_string(w, state->reason);
    }
    weir_json_write_end_object(w);
}

/* The demonstration model is in process, so it is not asked; it is listed so that an operator
 * who looks for a model server sees what is used instead. */
static const struct weir_probe_state DEMO_STATE = {
    .health = WEIR_PROBE_HEALTHY, .reason = {"the built-in demonstration model, a script", 42}};

void weir_health_write(const struct weir_health *h, const struct weir_env *env,
                       struct weir_json_write *w)
{
    weir_json_write_begin_object(w);
    if (env->has_demo_model) {
        weir_json_write_key(w, WEIR_SLICE("openai"));
        write_state(w, &DEMO_STATE);
    }
    for (size_t i = 0; i < env->n_services; i++) {
        struct weir_probe_state state = weir_health_state(h, env->services[i].id);
        weir_json_write_key(w, env->services[i].id);
        write_state(w, &state);
    }
    weir_json_write_end_object(w);
}
