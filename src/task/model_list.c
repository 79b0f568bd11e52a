#include "task/model_list.h"

#include "base/glob.h"
#include "io/loop.h"
#include "model/listing.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

enum {
    MAX_LIST_BYTES = 1024 * 1024,
    PATIENCE_MS = 5000, /* for a list */
    AGAIN_MS = 50,      /* while another request asks */
    MAX_AGAIN = 200,
};

struct list;

/* One provider that is asked. */
struct asked {
    struct list *list;
    const struct weir_provider *provider;
    struct weir_model_request request;
    struct weir_model_way way;
    struct weir_model_run *run;
    struct weir_slice body; /* what it says, or said the last time */
    bool is_claimed;
    bool is_done;
};

struct list {
    struct weir_task_ctx *task;
    const struct weir_fleet_scope *scope;
    weir_task_done_fn done;
    void *ctx;
    struct asked *asked;
    size_t n_asked;
    struct weir_timer timer;
    unsigned n_again;
    struct weir_post post;
    struct weir_map seen; /* ids that are in the list */
};

/* ---- writing the list ---- */

static bool add_once(struct list *l, struct weir_slice id)
{
    bool is_new = weir_fleet_scope_has(l->scope, id) && !weir_map_has(&l->seen, id);
    if (is_new) {
        weir_map_put(&l->seen, id, l);
    }
    return is_new;
}

static void write_name(struct list *l, struct weir_json_write *w, struct weir_slice id,
                       struct weir_slice owner)
{
    if (!add_once(l, id)) {
        return;
    }
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("id"));
    weir_json_write_string(w, id);
    weir_json_write_key(w, WEIR_SLICE("object"));
    weir_json_write_string(w, WEIR_SLICE("model"));
    weir_json_write_key(w, WEIR_SLICE("created"));
    weir_json_write_u64(w, 0);
    weir_json_write_key(w, WEIR_SLICE("owned_by"));
    weir_json_write_string(w, owner);
    weir_json_write_end_object(w);
}

/* Is a model that the provider lists asked of it here, by a pattern? */
static bool is_routed(const struct list *l, struct weir_slice id, const struct weir_provider *p)
{
    const struct weir_fleet_entry *e = weir_fleet_find(l->task->env->fleet, id);
    for (size_t i = 0; e != NULL && i < e->n_targets; i++) {
        if (e->targets[i].provider == p) {
            return true;
        }
    }
    return false;
}

/* The provider's own object, but for `owned_by`. */
static void write_listed(struct list *l, struct weir_json_write *w, const struct asked *a,
                         const struct weir_json *json, uint32_t model)
{
    struct weir_arena *arena = l->task->arena;
    uint32_t id = weir_json_get_set(json, model, WEIR_SLICE("id"));
    if (id == WEIR_JSON_NONE || weir_json_type(json, id) != WEIR_JSON_STRING) {
        return;
    }
    struct weir_slice name = weir_arena_dup(arena, weir_json_string(json, id, arena));
    if (!is_routed(l, name, a->provider) || !add_once(l, name)) {
        return;
    }
    struct weir_json one;
    struct weir_json_edit e = {0};
    struct weir_buf owner = {0};
    struct weir_buf out = {0};
    weir_json_parse(&one, weir_json_raw(json, model), NULL, arena, NULL);
    weir_json_write_quoted(&owner, a->provider->name);
    weir_json_edit_begin(&e, &one);
    weir_json_edit_set(&e, 0, WEIR_SLICE("owned_by"), weir_buf_slice(&owner));
    weir_json_edit_write(&e, &out);
    weir_json_write_raw(w, weir_buf_slice(&out));
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&owner);
    weir_buf_dispose(&out);
}

static void write_asked(struct list *l, struct weir_json_write *w, const struct asked *a)
{
    struct weir_json json;
    if (a->body.n == 0 || weir_json_parse(&json, a->body, NULL, l->task->arena, NULL) != 0) {
        return;
    }
    uint32_t data = weir_json_get_set(&json, 0, WEIR_SLICE("data"));
    if (data == WEIR_JSON_NONE || weir_json_type(&json, data) != WEIR_JSON_ARRAY) {
        return;
    }
    uint32_t at = weir_json_first(&json, data);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(&json, data, at)) {
        write_listed(l, w, a, &json, at);
    }
}

static struct weir_slice compose(struct list *l)
{
    const struct weir_fleet *fleet = l->task->env->fleet;
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("object"));
    weir_json_write_string(&w, WEIR_SLICE("list"));
    weir_json_write_key(&w, WEIR_SLICE("data"));
    weir_json_write_begin_array(&w);
    for (size_t i = 0; i < fleet->n_entries; i++) {
        const struct weir_fleet_entry *e = &fleet->entries[i];
        if (!weir_glob_has_wildcard(e->glob)) {
            write_name(l, &w, e->glob, e->targets[0].provider->name);
        }
    }
    for (size_t i = 0; i < l->n_asked; i++) {
        write_asked(l, &w, &l->asked[i]);
    }
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
    return weir_arena_take_buf(l->task->arena, &out);
}

/* ---- asking ---- */

static void finish(struct list *l)
{
    struct weir_task_answer answer = {.body = compose(l)};
    weir_map_dispose(&l->seen);
    l->done(l->ctx, &answer);
}

static void on_post(struct weir_post *post)
{
    struct list *l = WEIR_LIST_ENTRY(post, struct list, post);
    for (size_t i = 0; i < l->n_asked; i++) {
        if (!l->asked[i].is_done) {
            return;
        }
    }
    finish(l);
}

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct asked *a = ctx;
    a->body = weir_arena_dup(a->list->task->arena, frame->json);
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct asked *a = ctx;
    struct weir_task_ctx *task = a->list->task;
    struct weir_slice none = {0};
    if (fault != NULL) {
        WEIR_LOG_WARN(
            "model", task->call.log, "provider does not list its models",
            weir_log_str("provider", a->provider->name), weir_log_err("error", fault->err),
            weir_log_i64("service_status", fault->status), weir_log_str("why", fault->why));
    }
    weir_listing_put(a->provider->listing, fault == NULL ? a->body : none,
                     weir_loop_now_ms(task->loop));
    a->is_claimed = false;
    a->body = weir_listing_copy(a->provider->listing, task->arena);
    a->is_done = true;
    weir_loop_post(task->loop, &a->list->post);
}

static void start_asking(struct asked *a)
{
    static const struct weir_model_events events = {.on_frame = on_frame, .on_done = on_done};
    struct weir_task_ctx *task = a->list->task;
    struct weir_model_env env = weir_task_model_env(task);
    env.max_body_bytes = MAX_LIST_BYTES;
    a->is_claimed = true;
    a->way =
        weir_provider_way(a->provider, WEIR_MODEL_MODELS, WEIR_SLICE(""), &task->call, task->arena);
    a->way.first_byte_timeout_ms = PATIENCE_MS;
    a->way.is_asked_once = true;
    a->request = (struct weir_model_request){.op = WEIR_MODEL_MODELS, .way = &a->way};
    a->run = weir_model_start(a->provider->model, &env, &a->request, &events, a);
}

/* Asks whom nobody has asked in the last minute; waits for those that others ask just now. */
static void look(struct list *l)
{
    bool must_wait = false;
    for (size_t i = 0; i < l->n_asked; i++) {
        struct asked *a = &l->asked[i];
        if (a->is_done || a->is_claimed) {
            continue;
        }
        enum weir_listing_claim claim =
            weir_listing_claim(a->provider->listing, weir_loop_now_ms(l->task->loop));
        if (claim == WEIR_LISTING_CLAIMED) {
            start_asking(a);
        } else if (claim == WEIR_LISTING_TAKEN && l->n_again < MAX_AGAIN) {
            must_wait = true;
        } else {
            a->body = weir_listing_copy(a->provider->listing, l->task->arena);
            a->is_done = true;
        }
    }
    if (must_wait) {
        l->n_again++;
        weir_loop_after(l->task->loop, &l->timer, AGAIN_MS);
    }
    weir_loop_post(l->task->loop, &l->post);
}

static void on_timer(struct weir_timer *t, void *ctx)
{
    (void)t;
    look(ctx);
}

static void undo(void *ctx)
{
    struct list *l = ctx;
    weir_loop_cancel(l->task->loop, &l->timer);
    weir_loop_unpost(&l->post);
    weir_map_dispose(&l->seen);
    for (size_t i = 0; i < l->n_asked; i++) {
        weir_model_free(l->asked[i].run);
        if (l->asked[i].is_claimed) {
            weir_listing_release(l->asked[i].provider->listing);
        }
    }
}

static void add_provider(struct list *l, const struct weir_provider *p)
{
    for (size_t i = 0; i < l->n_asked; i++) {
        if (l->asked[i].provider == p) {
            return;
        }
    }
    if (p->listing != NULL) {
        l->asked[l->n_asked++] = (struct asked){.list = l, .provider = p};
    }
}

static void add_providers(struct list *l, const struct weir_fleet_entry *e)
{
    for (size_t i = 0; e != NULL && weir_glob_has_wildcard(e->glob) && i < e->n_targets; i++) {
        add_provider(l, e->targets[i].provider);
    }
}

static size_t count_targets(const struct weir_fleet *fleet)
{
    size_t n = fleet->otherwise != NULL ? 1 : 0;
    for (size_t i = 0; i < fleet->n_entries; i++) {
        n += fleet->entries[i].n_targets;
    }
    return n;
}

void weir_task_model_list_start(struct weir_task_ctx *task, const struct weir_fleet_scope *scope,
                                weir_task_done_fn done, void *ctx)
{
    const struct weir_fleet *fleet = task->env->fleet;
    struct list *l = weir_arena_zalloc(task->arena, sizeof *l);
    *l = (struct list){.task = task,
                       .scope = scope,
                       .done = done,
                       .ctx = ctx,
                       .timer = {.fn = on_timer, .ctx = l},
                       .post = {.fn = on_post}};
    l->asked = weir_arena_array(task->arena, count_targets(fleet), sizeof *l->asked);
    for (size_t i = 0; i < fleet->n_entries; i++) {
        add_providers(l, &fleet->entries[i]);
    }
    add_providers(l, fleet->otherwise);
    weir_arena_defer(task->arena, undo, l);
    look(l);
}
