#include "route/models.h"

#include "route/env.h"
#include "route/reply.h"
#include "route/unary.h"
#include "task/model_list.h"
#include "task/models.h"
#include "wire/json_edit.h"
#include "wire/url.h"

/* ---- may it be used? ---- */

static void refuse(struct weir_http_stream *s, struct weir_slice words)
{
    weir_reply_problem(s, &(struct weir_problem){.status = 404,
                                                 .details = words,
                                                 .code = WEIR_SLICE("\"model_not_found\""),
                                                 .param = WEIR_SLICE("\"model\"")});
}

/* Might a model server take another model than the one that is seen here? There are some that do
 * not tell capitals from small letters in names. */
static bool is_hidden(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_slice member = WEIR_SLICE("model");
    if (weir_json_type(body, 0) != WEIR_JSON_OBJECT) {
        return true;
    }
    uint32_t at = weir_json_first(body, 0);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(body, 0, at)) {
        struct weir_slice name = weir_json_string(body, at, &s->arena);
        bool is_it = weir_slice_eq(name, member);
        bool is_like_it = weir_slice_eq_nocase(name, member) && !is_it;
        bool is_null = weir_json_type(body, at + 1) == WEIR_JSON_NULL;
        bool is_text = weir_json_type(body, at + 1) == WEIR_JSON_STRING;
        if (is_like_it || (is_it && !is_text && !is_null)) {
            return true;
        }
    }
    return false;
}

bool weir_models_are_seen(struct weir_http_stream *s, const struct weir_json *body)
{
    if (is_hidden(s, body)) {
        weir_reply_error(s, 400, WEIR_SLICE("a model must be named once, as `model`"));
        return false;
    }
    return true;
}

bool weir_models_may_use(struct weir_http_stream *s, enum weir_model_op op,
                         const struct weir_json *body, struct weir_slice model)
{
    if (body != NULL && !weir_models_are_seen(s, body)) {
        return false;
    }
    const struct weir_request *r = weir_request_of(s);
    const struct weir_fleet *fleet = r->task.env->fleet;
    const struct weir_fleet_scope *scope = &r->guarded->models;
    static const struct weir_fleet none = {0};
    const struct weir_fleet_entry *entry = fleet != NULL ? weir_fleet_find(fleet, model) : NULL;
    bool is_known = fleet == NULL || entry != NULL;
    if (!is_known || !weir_fleet_scope_has(scope, model)) {
        refuse(s, weir_fleet_unknown_words(fleet != NULL ? fleet : &none, scope, model, &s->arena));
        return false;
    }
    if (entry != NULL && !weir_fleet_serves(entry, op)) {
        refuse(s, weir_fleet_unserved_words(entry, op, &s->arena));
        return false;
    }
    return true;
}

/* ---- the list ---- */

/* The array `data` of a list; WEIR_JSON_NONE: there is none. */
static uint32_t list_of(const struct weir_json *json)
{
    uint32_t data = weir_json_get_set(json, 0, WEIR_SLICE("data"));
    bool is_list = data != WEIR_JSON_NONE && weir_json_type(json, data) == WEIR_JSON_ARRAY;
    return is_list ? data : WEIR_JSON_NONE;
}

/* A model's id, or "". */
static struct weir_slice id_of(const struct weir_json *json, uint32_t model,
                               struct weir_arena *arena)
{
    uint32_t id = weir_json_get_set(json, model, WEIR_SLICE("id"));
    bool is_text = id != WEIR_JSON_NONE && weir_json_type(json, id) == WEIR_JSON_STRING;
    return is_text ? weir_json_string(json, id, arena) : WEIR_SLICE("");
}

static void start(struct weir_http_stream *s, weir_task_done_fn done, void *ctx)
{
    struct weir_request *r = weir_request_of(s);
    if (r->task.env->fleet != NULL) {
        weir_task_model_list_start(&r->task, &r->guarded->models, done, ctx);
    } else {
        weir_task_models_start(&r->task, done, ctx);
    }
}

/* The list of the only server there is, without what the route may not use. */
static void on_usual_list(void *ctx, const struct weir_task_answer *answer)
{
    struct weir_http_stream *s = ctx;
    const struct weir_fleet_scope *scope = &weir_request_of(s)->guarded->models;
    struct weir_json json;
    struct weir_json_edit e = {0};
    struct weir_buf out = {0};
    struct weir_task_answer narrowed = *answer;
    if (answer->fault == NULL && weir_json_parse(&json, answer->body, NULL, &s->arena, NULL) == 0) {
        uint32_t data = list_of(&json);
        uint32_t at = data != WEIR_JSON_NONE ? weir_json_first(&json, data) : WEIR_JSON_NONE;
        weir_json_edit_begin(&e, &json);
        for (; at != WEIR_JSON_NONE; at = weir_json_after(&json, data, at)) {
            if (!weir_fleet_scope_has(scope, id_of(&json, at, &s->arena))) {
                weir_json_edit_remove(&e, at);
            }
        }
        weir_json_edit_write(&e, &out);
        narrowed.body = weir_arena_take_buf(&s->arena, &out);
        weir_json_edit_dispose(&e);
    }
    weir_unary_answer(s, &narrowed);
}

void weir_models_begin_list(void *env, struct weir_http_stream *s)
{
    const struct weir_request *r = weir_request_of(s);
    bool is_narrow = r->task.env->fleet == NULL && r->guarded->models.n != 0;
    (void)env;
    start(s, is_narrow ? on_usual_list : weir_unary_answer, s);
}

/* ---- one of them ---- */

struct one {
    struct weir_http_stream *s;
    struct weir_slice id;
};

/* The object in the list whose id it is; WEIR_JSON_NONE: there is none. */
static uint32_t find(const struct weir_json *json, struct weir_slice id, struct weir_arena *arena)
{
    uint32_t data = list_of(json);
    uint32_t at = data != WEIR_JSON_NONE ? weir_json_first(json, data) : WEIR_JSON_NONE;
    while (at != WEIR_JSON_NONE && !weir_slice_eq(id_of(json, at, arena), id)) {
        at = weir_json_after(json, data, at);
    }
    return at;
}

static void append_names(struct weir_buf *out, const struct weir_json *json,
                         struct weir_arena *arena)
{
    enum { MAX_NAMES = 20 };
    uint32_t data = list_of(json);
    uint32_t at = data != WEIR_JSON_NONE ? weir_json_first(json, data) : WEIR_JSON_NONE;
    for (size_t i = 0; at != WEIR_JSON_NONE && i < MAX_NAMES; i++) {
        struct weir_slice id = id_of(json, at, arena);
        weir_buf_printf(out, "%s`%.*s`", i == 0 ? "" : ", ", (int)id.n, id.p);
        at = weir_json_after(json, data, at);
    }
}

static void on_list(void *ctx, const struct weir_task_answer *answer)
{
    struct one *one = ctx;
    struct weir_http_stream *s = one->s;
    struct weir_json json;
    if (answer->fault != NULL) {
        weir_unary_answer(s, answer);
        return;
    }
    uint32_t at = WEIR_JSON_NONE;
    bool is_json = weir_json_parse(&json, answer->body, NULL, &s->arena, NULL) == 0;
    if (is_json) {
        at = find(&json, one->id, &s->arena);
    }
    if (at != WEIR_JSON_NONE) {
        weir_reply_json(s, weir_json_raw(&json, at));
        return;
    }
    struct weir_buf words = {0};
    weir_buf_printf(&words, "the model `%.*s` does not exist; there are ", (int)one->id.n,
                    one->id.p);
    if (is_json) {
        append_names(&words, &json, &s->arena);
    }
    refuse(s, weir_fault_message(&s->arena, weir_buf_slice(&words)));
    weir_buf_dispose(&words);
}

void weir_models_begin_one(void *env, struct weir_http_stream *s)
{
    (void)env;
    struct one *one = weir_arena_alloc(&s->arena, sizeof *one);
    struct weir_slice prefix = WEIR_SLICE("/v1/models/");
    const char *found = memmem(s->req.path.p, s->req.path.n, prefix.p, prefix.n);
    struct weir_slice id =
        weir_slice_sub(s->req.path, (size_t)(found - s->req.path.p) + prefix.n, s->req.path.n);
    one->s = s;
    if (!weir_url_unescape(id, &s->arena, &one->id)) {
        weir_reply_error(s, 400, WEIR_SLICE("the path has a broken escape (%)"));
    } else if (weir_fleet_scope_has(&weir_request_of(s)->guarded->models, one->id)) {
        start(s, on_list, one);
    } else {
        weir_models_may_use(s, WEIR_MODEL_MODELS, NULL, one->id); /* says what there is */
    }
}
