#include "route/forward.h"

#include "route/completion.h"
#include "route/decode.h"
#include "route/env.h"
#include "route/headers.h"
#include "route/models.h"
#include "route/reply.h"
#include "task/forward.h"

#define V1 WEIR_SLICE("/v1")

struct weir_slice weir_forward_find(const struct weir_conf_route *route, struct weir_slice below)
{
    for (size_t i = 0; i < route->unguarded_paths.n; i++) {
        if (weir_slice_eq(route->unguarded_paths.items[i].s, below)) {
            return route->unguarded_paths.items[i].s;
        }
    }
    return (struct weir_slice){0};
}

struct weir_slice weir_forward_describe(struct weir_slice path, struct weir_arena *arena)
{
    return weir_slice_cstr(
        weir_arena_printf(arena, "input=none; output=none; unguarded=%.*s", (int)path.n, path.p));
}

static void answer(void *ctx, const struct weir_task_forwarded *forwarded)
{
    struct weir_http_stream *s = ctx;
    weir_headers_set_model(s);
    if (forwarded->fault != NULL) {
        weir_reply_fault(s, forwarded->fault);
    } else {
        weir_reply_bytes(s, forwarded->answer->status, forwarded->answer->content_type,
                         forwarded->answer->body);
    }
}

/* The path as the model server has it, behind /v1, with the caller's query. */
static struct weir_slice tail_of(struct weir_http_stream *s)
{
    const struct weir_http_request *req = &s->req;
    struct weir_slice name = weir_request_of(s)->guarded->conf->name.s;
    bool has_name = !weir_slice_starts_with(req->path, WEIR_SLICE("/v1/"));
    size_t at = (has_name ? 1 + name.n : 0) + V1.n;
    struct weir_buf out = {0};
    weir_buf_append(&out, weir_slice_sub(req->path, at, req->path.n));
    if (req->query.n != 0) {
        weir_buf_append_byte(&out, '?');
        weir_buf_append(&out, req->query);
    }
    return weir_arena_take_buf(&s->arena, &out);
}

static struct weir_slice method_of(const struct weir_http_stream *s)
{
    bool is_head = s->req.method == WEIR_HTTP_HEAD; /* HTTP itself leaves the body out */
    return is_head ? WEIR_SLICE("GET") : s->req.method_name;
}

/* Of several servers, who is asked when no model is named. False: nobody can be; answered. */
static bool choose_server(struct weir_http_stream *s, struct weir_model_request *ask)
{
    const struct weir_request *r = weir_request_of(s);
    const struct weir_fleet *fleet = r->task.env->fleet;
    if (fleet == NULL || ask->model_id.n != 0) {
        return true;
    }
    const struct weir_provider *first = weir_fleet_first(fleet, &r->guarded->models);
    if (first == NULL) {
        weir_reply_error(s, 404, WEIR_SLICE("no model server is there for this path"));
        return false;
    }
    ask->provider = first->name;
    return true;
}

static void start(struct weir_http_stream *s, struct weir_slice body, struct weir_slice model)
{
    struct weir_request *r = weir_request_of(s);
    struct weir_model_request ask = {
        .op = WEIR_MODEL_FORWARD,
        .model_id = model,
        .body = body,
        .method = method_of(s),
        .tail = tail_of(s),
        .content_type = weir_http_request_get(&s->req, WEIR_SLICE("content-type"))};
    if (choose_server(s, &ask)) {
        weir_completion_count_unguarded();
        weir_task_forward_start(&r->task, &ask, answer, s);
    }
}

/* The model that it names decides who is asked, and must be one of the route's. */
static void on_json(void *ctx, struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_request *r = weir_request_of(s);
    uint32_t at = weir_json_get_set(body, 0, WEIR_SLICE("model"));
    bool is_named = at != WEIR_JSON_NONE && weir_json_type(body, at) == WEIR_JSON_STRING;
    (void)ctx;
    if (is_named) {
        r->model = weir_json_string(body, at, &s->arena);
    }
    bool is_limited = r->guarded->models.n != 0;
    bool is_seen = !is_limited || weir_models_are_seen(s, body);
    if (is_seen && (!is_named || weir_models_may_use(s, WEIR_MODEL_FORWARD, NULL, r->model))) {
        start(s, body->src, r->model);
    }
}

static void on_bytes(void *ctx, struct weir_http_stream *s, struct weir_slice body)
{
    (void)ctx;
    start(s, body, WEIR_SLICE(""));
}

void weir_forward_begin(void *env, struct weir_http_stream *s)
{
    const struct weir_conf_limits *conf = &((const struct weir_env *)env)->conf->limits;
    struct weir_decode_limits limits = {.max_body_bytes = conf->max_body_bytes,
                                        .max_json_depth = conf->max_json_depth,
                                        .max_json_nodes = conf->max_json_nodes};
    bool is_limited = weir_request_of(s)->guarded->models.n != 0;
    bool is_empty = !s->req.has_body || (s->req.has_length && s->req.length == 0);
    if (is_empty) {
        start(s, WEIR_SLICE(""), WEIR_SLICE(""));
    } else if (is_limited || weir_decode_has_type(s, WEIR_SLICE("application/json"))) {
        weir_decode_json_body(s, &limits, on_json, NULL);
    } else {
        weir_decode_bytes(s, &limits, on_bytes, NULL);
    }
}
