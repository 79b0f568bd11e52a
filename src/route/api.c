#include "route/api.h"

#include "obs/audit.h"
#include "route/audit_note.h"
#include "route/auth.h"
#include "route/completion.h"
#include "route/content_stream.h"
#include "route/contents.h"
#include "route/cors.h"
#include "route/detection.h"
#include "route/env.h"
#include "route/forward.h"
#include "route/generation.h"
#include "route/headers.h"
#include "route/message.h"
#include "route/models.h"
#include "route/moderations.h"
#include "route/openai.h"
#include "route/openapi.h"
#include "route/page.h"
#include "route/passthrough.h"
#include "route/registry.h"
#include "route/render.h"
#include "route/reply.h"
#include "route/response.h"
#include "route/response_stored.h"
#include "route/table.h"
#include "route/vectors.h"

static bool has_generation(const void *env)
{
    const struct weir_env *e = env;
    return e->tasks.generation != NULL && e->conf->public_api;
}

static bool has_openai(const void *env)
{
    return ((const struct weir_env *)env)->tasks.openai != NULL;
}

static bool has_public_openai(const void *env)
{
    return has_openai(env) && ((const struct weir_env *)env)->conf->public_api;
}

static const struct weir_route_entry TABLE[] = {
    {"/api/v2/chat/completions-detection", WEIR_HTTP_POST, weir_completion_begin_chat,
     has_public_openai},
    {"/api/v2/text/completions-detection", WEIR_HTTP_POST, weir_completion_begin_text,
     has_public_openai},
    {"/api/v2/text/detection/content", WEIR_HTTP_POST, weir_detection_begin_content, NULL},
    {"/api/v2/text/detection/chat", WEIR_HTTP_POST, weir_detection_begin_chat, NULL},
    {"/api/v2/text/detection/context", WEIR_HTTP_POST, weir_detection_begin_context, NULL},
    {"/api/v2/text/detection/generated", WEIR_HTTP_POST, weir_detection_begin_generated, NULL},
    {"/api/v2/text/generation-detection", WEIR_HTTP_POST, weir_generation_begin_detection,
     has_generation},
    {"/api/v1/task/classification-with-text-generation", WEIR_HTTP_POST,
     weir_generation_begin_classification, has_generation},
    {"/api/v1/task/server-streaming-classification-with-text-generation", WEIR_HTTP_POST,
     weir_generation_begin_stream, has_generation},
    {"/api/v2/text/detection/stream-content", WEIR_HTTP_POST, weir_content_stream_begin, NULL},
    {"/api/v1/text/contents", WEIR_HTTP_POST, weir_contents_begin, NULL},
    {"/registry", WEIR_HTTP_GET, weir_registry_begin, NULL},
    {"/openapi.json", WEIR_HTTP_GET, weir_openapi_begin, NULL},
    {"/", WEIR_HTTP_GET, weir_page_begin, weir_page_exists},
    {"/playground/info", WEIR_HTTP_GET, weir_page_begin_info, weir_page_exists},
};

/* Below a route's name: /v1/… of the route `default`, /NAME/v1/… of the others. */
static const struct weir_route_entry OPENAI_TABLE[] = {
    {"/v1/chat/completions", WEIR_HTTP_POST, weir_openai_begin_chat, has_openai},
    {"/v1/completions", WEIR_HTTP_POST, weir_openai_begin_text, has_openai},
    {"/v1/messages", WEIR_HTTP_POST, weir_message_begin, has_openai},
    {"/v1/responses", WEIR_HTTP_POST, weir_response_begin, has_openai},
    {"/v1/embeddings", WEIR_HTTP_POST, weir_vectors_begin_embeddings, has_openai},
    {"/v1/rerank", WEIR_HTTP_POST, weir_vectors_begin_rerank, has_openai},
    {"/v1/score", WEIR_HTTP_POST, weir_vectors_begin_score, has_openai},
    {"/v1/messages/count_tokens", WEIR_HTTP_POST, weir_vectors_begin_count_tokens, has_openai},
    {"/v1/responses/input_tokens", WEIR_HTTP_POST, weir_vectors_begin_input_tokens, has_openai},
    {"/v1/responses/*/cancel", WEIR_HTTP_POST, weir_response_stored_begin_cancel, has_openai},
    {"/v1/responses/*/input_items", WEIR_HTTP_GET, weir_response_stored_begin_input, has_openai},
    {"/v1/responses/*", WEIR_HTTP_DELETE, weir_response_stored_begin, has_openai},
    {"/v1/moderations", WEIR_HTTP_POST, weir_moderations_begin, NULL},
    {"/v1/models", WEIR_HTTP_GET, weir_models_begin_list, has_openai},
    {"/v1/models/*", WEIR_HTTP_GET, weir_models_begin_one, has_openai},
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* The route whose policy guards this path, and the path below its name. NULL: no such route. */
static const struct weir_conf_route *guard_of(const struct weir_conf *conf, struct weir_slice path,
                                              struct weir_slice *below)
{
    *below = path;
    if (weir_slice_starts_with(path, WEIR_SLICE("/v1/"))) {
        return weir_conf_route(conf, WEIR_SLICE("default"));
    }
    if (path.n < 2 || path.p[0] != '/') {
        return NULL;
    }
    struct weir_slice rest = weir_slice_sub(path, 1, path.n);
    struct weir_slice name = weir_slice_cut(&rest, '/');
    if (rest.p == NULL) {
        return NULL;
    }
    *below = weir_slice_sub(path, 1 + name.n, path.n);
    return weir_conf_route(conf, name);
}

static const struct weir_route_entry RENDER = {WEIR_RENDER_PATTERN, WEIR_HTTP_POST,
                                               weir_render_begin, NULL};

/* Under /api, and what is ours besides. NULL: nothing. */
static const struct weir_route_entry *find_own(struct weir_slice path)
{
    return weir_render_is_path(path) ? &RENDER : weir_route_find(TABLE, COUNT(TABLE), path);
}

/* A path that the route's `unguarded` names. */
static const struct weir_route_entry FORWARD = {"/v1/*", WEIR_ROUTE_ANY, weir_forward_begin,
                                                has_openai};

/* Endpoints at which a route's detectors are shown less than the question and the answer. */
enum shown { SHOWN_BOTH, SHOWN_QUESTION, SHOWN_NOTHING };

static enum shown shown_at(const struct weir_route_entry *entry)
{
    static const struct {
        weir_route_begin_fn begin;
        enum shown shown;
    } less[] = {{weir_vectors_begin_embeddings, SHOWN_QUESTION},
                {weir_vectors_begin_rerank, SHOWN_QUESTION},
                {weir_vectors_begin_score, SHOWN_QUESTION},
                {weir_vectors_begin_count_tokens, SHOWN_QUESTION},
                {weir_vectors_begin_input_tokens, SHOWN_QUESTION},
                {weir_moderations_begin, SHOWN_QUESTION},
                {weir_models_begin_list, SHOWN_NOTHING},
                {weir_models_begin_one, SHOWN_NOTHING},
                {weir_forward_begin, SHOWN_NOTHING}};
    for (size_t i = 0; i < COUNT(less); i++) {
        if (less[i].begin == entry->begin) {
            return less[i].shown;
        }
    }
    return SHOWN_BOTH;
}

/* What the answer says of the route; where its detectors are shown less, of that path. */
static void set_route(struct weir_http_stream *s, const struct weir_guarded *guarded,
                      const struct weir_route_entry *entry, struct weir_slice path)
{
    struct weir_slice name = WEIR_SLICE("x-weir-guarded");
    weir_headers_set_route(s, guarded);
    enum shown shown = shown_at(entry);
    if (shown == SHOWN_NOTHING) {
        weir_headers_replace(s, name, weir_forward_describe(path, &s->arena));
    } else if (shown == SHOWN_QUESTION) {
        weir_headers_replace(s, name, guarded->guards_question);
    }
}

/* What stands below a route's name; the request is then that route's. NULL: nothing. */
static const struct weir_route_entry *find_guarded(struct weir_env *env, struct weir_http_stream *s)
{
    struct weir_slice below;
    struct weir_slice path = WEIR_SLICE("/v1/models"); /* of ours the only one without detectors */
    struct weir_request *request = weir_request_of(s);
    const struct weir_conf_route *route = guard_of(env->conf, s->req.path, &below);
    const struct weir_route_entry *entry =
        route != NULL ? weir_route_find(OPENAI_TABLE, COUNT(OPENAI_TABLE), below) : NULL;
    if (route != NULL && entry == NULL) {
        path = weir_forward_find(route, below);
        entry = path.p != NULL ? &FORWARD : NULL;
    }
    if (entry != NULL) {
        request->guarded = &env->guarded[route - env->conf->routes];
        request->task.env = &env->route_tasks;
        request->task.call.keeps_model_status = true;
        request->task.call.model_times = &request->model_times;
        request->seen = weir_arena_zalloc(&s->arena, sizeof *request->seen);
        request->seen->arena = &s->arena;
        request->seen->route = route->name.s;
        weir_audit_note_begin(request);
        set_route(s, request->guarded, entry, path);
    }
    return entry;
}

/* ---- 404 for those who came with an OpenAI client ---- */

static void append_paths(struct weir_buf *out, const struct weir_conf_route *conf)
{
    struct weir_slice route = conf->name.s;
    for (size_t i = 0; i < COUNT(OPENAI_TABLE); i++) {
        weir_buf_append(out, i == 0 ? WEIR_SLICE(" ") : WEIR_SLICE(", "));
        weir_buf_printf(out, "/%.*s%s", (int)route.n, route.p, OPENAI_TABLE[i].path);
    }
    for (size_t i = 0; i < conf->unguarded_paths.n; i++) {
        struct weir_slice path = conf->unguarded_paths.items[i].s;
        weir_buf_printf(out, ", /%.*s%.*s", (int)route.n, route.p, (int)path.n, path.p);
    }
}

/* A wrong base URL is the first mistake everybody makes: says what is served. */
static void refuse_unknown(const struct weir_env *env, struct weir_http_stream *s)
{
    struct weir_slice below;
    struct weir_buf words = {0};
    const struct weir_conf *conf = env->conf;
    const struct weir_conf_caller *key = weir_request_of(s)->key;
    const struct weir_conf_route *route = guard_of(conf, s->req.path, &below);
    if (!has_openai(env)) {
        weir_buf_append(&words, WEIR_SLICE("no model server is configured: `openai`"));
    } else if (conf->n_routes == 0) {
        weir_buf_append(&words, WEIR_SLICE("no route is configured: `routes`"));
    } else if (route != NULL && (key == NULL || weir_auth_is_for(key, route->name.s))) {
        weir_buf_append(&words, WEIR_SLICE("unknown path: this route serves"));
        append_paths(&words, route);
    } else {
        const char *before = "unknown path: the routes are";
        for (size_t i = 0; i < conf->n_routes; i++) {
            struct weir_slice name = conf->routes[i].name.s;
            if (key == NULL || weir_auth_is_for(key, name)) {
                weir_buf_printf(&words, "%s /%.*s/v1", before, (int)name.n, name.p);
                before = ",";
            }
        }
        weir_buf_append(&words, weir_slice_cstr(words.n == 0 ? "unknown path" : ""));
    }
    weir_reply_error(s, 404, weir_buf_slice(&words));
    weir_buf_dispose(&words);
}

/* ---- keys ---- */

/* False: it needs a key and has none; answered. */
static bool find_key(const struct weir_env *env, struct weir_http_stream *s)
{
    const struct weir_conf_auth *auth = &env->conf->auth;
    struct weir_request *request = weir_request_of(s);
    if (!auth->is_on || weir_page_is_open(env, &s->req)) {
        return true;
    }
    request->key = weir_auth_find(auth, &s->req);
    if (request->key != NULL) {
        request->task.call.caller = request->key->name.s;
    }
    if (request->key == NULL) {
        struct weir_http_field how = {WEIR_SLICE("www-authenticate"), WEIR_SLICE("Bearer")};
        weir_reply_error_with(s, 401, WEIR_SLICE("a valid API key is required as bearer token"),
                              how);
    }
    return request->key != NULL;
}

static void leave_key(void *ctx)
{
    weir_auth_leave(ctx);
}

/* False: the key has used up what it may; answered. */
static bool count_key(const struct weir_env *env, struct weir_http_stream *s,
                      const struct weir_conf_caller *key)
{
    struct weir_auth_state *state = env->key_states[key - env->conf->auth.keys];
    const char *what = NULL;
    uint64_t wait_s =
        state != NULL ? weir_auth_enter(state, key, weir_loop_now_ms(s->loop), &what) : 0;
    if (wait_s != 0) {
        const char *seconds = weir_arena_printf(&s->arena, "%llu", (unsigned long long)wait_s);
        const char *words = weir_arena_printf(&s->arena, "this key's limit is reached: `%s`", what);
        struct weir_http_field later = {WEIR_SLICE("retry-after"), weir_slice_cstr(seconds)};
        weir_reply_error_with(s, 429, weir_slice_cstr(words), later);
        return false;
    }
    if (state != NULL) {
        weir_arena_defer(&s->arena, leave_key, state);
    }
    return true;
}

/* Does it reach a model with detectors of the caller's choice? */
static bool is_public_api(const struct weir_route_entry *entry)
{
    return entry->exists == has_generation || entry->exists == has_public_openai;
}

/* False: the key is not for this; answered. */
static bool admit(const struct weir_env *env, struct weir_http_stream *s,
                  const struct weir_route_entry *entry)
{
    const struct weir_request *request = weir_request_of(s);
    const struct weir_conf_caller *key = request->key;
    if (key == NULL || s->req.method == WEIR_HTTP_OPTIONS) {
        return true;
    }
    if (is_public_api(entry) && !key->public_api) {
        weir_reply_error(s, 403, WEIR_SLICE("this key is not for this endpoint: `public_api`"));
        return false;
    }
    if (request->guarded != NULL && !weir_auth_is_for(key, request->guarded->conf->name.s)) {
        weir_reply_error(s, 403, WEIR_SLICE("this key is not for this route"));
        return false;
    }
    return count_key(env, s, key);
}

/* A page of somebody else's whose name leads to this machine (DNS rebinding) must not get in. */
#define LOCAL_ONLY                                                                                 \
    "without a configuration file only requests to localhost, 127.0.0.1 or [::1] are served: "     \
    "start "                                                                                       \
    "with --config FILE, or --host ADDRESS to serve others"

void weir_api_begin(struct weir_http_stream *s)
{
    struct weir_env *env = weir_request_of(s)->env;
    enum weir_reply_shape shape = weir_reply_shape_of(s->req.path);
    if (shape == WEIR_REPLY_MESSAGES) { /* Anthropic's name for it */
        weir_headers_add(s, WEIR_SLICE("request-id"), weir_headers_said_id(s));
    }
    if (env->is_local_only && !weir_auth_is_local(s->req.authority)) {
        weir_reply_error(s, 403, WEIR_SLICE(LOCAL_ONLY));
        return;
    }
    if (weir_cors_begin(s)) {
        return;
    }
    const char *twice = weir_auth_ambiguous(&s->req);
    if (twice != NULL) {
        weir_reply_errorf(s, 400, "more than one `%s` header", twice);
        return;
    }
    const char *odd = shape == WEIR_REPLY_MESSAGES ? weir_passthrough_odd(&s->req) : NULL;
    if (odd != NULL) {
        weir_reply_errorf(s, 400, "the header `%s` is not a list of names", odd);
        return;
    }
    if (!find_key(env, s)) {
        return;
    }
    if (!weir_account_has_room(s->arena.account, 1)) {
        weir_reply_full(s);
        return;
    }
    const struct weir_route_entry *entry = find_own(s->req.path);
    if (entry == NULL) {
        entry = find_guarded(env, s);
    }
    weir_request_of(s)->pattern = entry != NULL ? entry->path : NULL;
    bool is_there = entry != NULL && (entry->exists == NULL || entry->exists(env));
    if (!is_there && (shape == WEIR_REPLY_OPENAI || shape == WEIR_REPLY_MESSAGES)) {
        refuse_unknown(env, s);
        return;
    }
    if (is_there && !admit(env, s, entry)) {
        return;
    }
    if (weir_request_of(s)->guarded != NULL && weir_audit_is_failing()) {
        struct weir_http_field later = {WEIR_SLICE("retry-after"), WEIR_SLICE("1")};
        weir_reply_error_with(s, 503, WEIR_SLICE("the audit log cannot be written"), later);
        return;
    }
    weir_route_dispatch(entry, env, s);
}
