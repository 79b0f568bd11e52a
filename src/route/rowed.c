#include "route/rowed.h"

#include "base/err.h"
#include "route/adjust.h"
#include "route/models.h"
#include "route/openai.h"
#include "route/reply.h"
#include "route/unary.h"
#include "task/seen.h"

/* Detectors of other types want what only completions have: a prompt. */
static int check_plan(struct weir_rowed_ask *r)
{
    for (size_t i = 0; i < r->request.output.n; i++) {
        const struct weir_task_detector *d = r->request.output.uses[i].d;
        if (d->detector->type != WEIR_DETECT_CONTENTS && d->detector->type != WEIR_DETECT_CHAT) {
            return weir_fields_fail(&r->f, "",
                                    "detector `%.*s` is not supported by this endpoint: output "
                                    "detectors here are of the type `text_contents` or "
                                    "`text_chat`",
                                    (int)d->id.n, d->id.p);
        }
    }
    return 0;
}

static bool is_empty(const struct weir_json *json, uint32_t at)
{
    return at != WEIR_JSON_NONE && json->nodes[at].n == 0;
}

static int read_request(struct weir_rowed_ask *r, const struct weir_rowed_kind *kind)
{
    enum { MODEL, ASKED, STREAM, SPECS };
    const struct weir_fields_spec specs[SPECS] = {
        [MODEL] = {"model", WEIR_FIELDS_STRING, true},
        [ASKED] = kind->asked,
        [STREAM] = {"stream", WEIR_FIELDS_BOOL, false},
    };
    uint32_t at[SPECS];
    const struct weir_json *json = r->f.json;
    if (weir_fields_read_some(&r->f, 0, "", specs, SPECS, at) != 0) {
        return WEIR_EINVAL;
    }
    r->request.model_id = weir_fields_string(&r->f, at[MODEL]);
    r->request.asks_json = kind->asks_json(json);
    r->request.n_choices = 1;
    r->is_stream =
        at[STREAM] != WEIR_JSON_NONE && weir_json_type(json, at[STREAM]) == WEIR_JSON_TRUE;
    weir_request_of(r->s)->model = r->request.model_id;
    if (weir_seen_is_model_name(r->request.model_id)) {
        weir_request_of(r->s)->task.call.model = r->request.model_id;
    }
    if (r->request.model_id.n == 0) {
        return weir_fields_fail(&r->f, "", "`model` must not be empty");
    }
    if (is_empty(json, at[ASKED])) {
        return weir_fields_fail(&r->f, "", "`%s` must not be empty", kind->asked.name);
    }
    if (weir_json_get_set(json, 0, WEIR_SLICE("detectors")) != WEIR_JSON_NONE) {
        return weir_fields_fail(&r->f, "detectors",
                                "`detectors` cannot be chosen here: the route `%.*s` decides",
                                (int)r->guarded->conf->name.s.n, r->guarded->conf->name.s.p);
    }
    return check_plan(r);
}

/* How much the model may write. NULL: refused. */
static const struct weir_json *limit_tokens(struct weir_http_stream *s,
                                            const struct weir_json *body, const char *member,
                                            struct weir_slice *warnings)
{
    const struct weir_conf *conf = weir_request_of(s)->env->conf;
    const struct weir_conf_route *route = weir_request_of(s)->guarded->conf;
    uint32_t model = weir_json_get_set(body, 0, WEIR_SLICE("model"));
    bool has_model = model != WEIR_JSON_NONE && weir_json_type(body, model) == WEIR_JSON_STRING;
    struct weir_slice name =
        has_model ? weir_json_string(body, model, &s->arena) : (struct weir_slice){0};
    struct weir_adjust_options options = {
        .member = member,
        .max_tokens = weir_conf_stream_max_tokens(&conf->streaming, &route->max_tokens, name),
        .canary = weir_openai_canary(weir_request_of(s)),
        .limits = {.max_depth = conf->limits.max_json_depth}};
    struct weir_adjust adjusted = weir_adjust(body, &options, &s->arena);
    if (adjusted.conflict != NULL) {
        weir_reply_error(s, 400, weir_slice_cstr(adjusted.conflict));
        return NULL;
    }
    *warnings = adjusted.warnings;
    return adjusted.json;
}

struct weir_rowed_ask *weir_rowed_ask_read(struct weir_http_stream *s, const struct weir_json *sent,
                                           const struct weir_rowed_kind *kind)
{
    struct weir_request *request = weir_request_of(s);
    struct weir_slice warnings;
    const struct weir_json *body = limit_tokens(s, sent, kind->max_tokens, &warnings);
    if (body == NULL) {
        return NULL;
    }
    struct weir_rowed_ask *r = weir_arena_zalloc(&s->arena, sizeof *r);
    r->s = s;
    r->guarded = request->guarded;
    r->f = (struct weir_fields){.json = body, .arena = &s->arena};
    r->request = (struct weir_task_completion){.is_chat = true,
                                               .json = body,
                                               .input = weir_openai_input(request, body),
                                               .output = weir_openai_output(request, body),
                                               .policy = weir_openai_policy(request),
                                               .warnings = warnings};
    if (!weir_openai_read_question(s, body, kind->walk, &r->request.asked)) {
        return NULL;
    }
    if (read_request(r, kind) != 0) {
        weir_unary_refuse(s, &r->f);
        return NULL;
    }
    if (!weir_models_may_use(s, kind->op, body, r->request.model_id)) {
        return NULL;
    }
    r->batching = (struct weir_batching_request){.body = body,
                                                 .model = r->request.model_id,
                                                 .route = r->guarded->conf,
                                                 .dialect = kind->stream};
    return r;
}
