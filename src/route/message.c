#include "route/message.h"

#include "base/err.h"
#include "route/adjust.h"
#include "route/completion.h"
#include "route/env.h"
#include "route/models.h"
#include "route/openai.h"
#include "route/reply.h"
#include "route/unary.h"
#include "talk/walk.h"
#include "task/message.h"
#include "task/seen.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct reading {
    struct weir_http_stream *s;
    const struct weir_guarded *guarded;
    struct weir_fields f;
    struct weir_task_completion request;
    bool is_stream;
};

/* `output_config: {format: {type: json_schema}}` */
static bool asks_json(const struct weir_json *json)
{
    uint32_t config = weir_json_get_set(json, 0, WEIR_SLICE("output_config"));
    uint32_t format = config != WEIR_JSON_NONE
                          ? weir_json_get_set(json, config, WEIR_SLICE("format"))
                          : WEIR_JSON_NONE;
    uint32_t type = format != WEIR_JSON_NONE ? weir_json_get_set(json, format, WEIR_SLICE("type"))
                                             : WEIR_JSON_NONE;
    bool is_text = type != WEIR_JSON_NONE && weir_json_type(json, type) == WEIR_JSON_STRING;
    return is_text && weir_slice_starts_with(weir_json_raw(json, type), WEIR_SLICE("\"json"));
}

/* Detectors of the whole conversation are told of it in OpenAI's shape, and this has another. */
static int check_plan(struct reading *r)
{
    for (size_t i = 0; i < r->request.output.n; i++) {
        const struct weir_task_detector *d = r->request.output.uses[i].d;
        if (d->detector->type != WEIR_DETECT_CONTENTS) {
            return weir_fields_fail(&r->f, "", "detector `%.*s` is not supported by this endpoint",
                                    (int)d->id.n, d->id.p);
        }
    }
    return 0;
}

static int read_request(struct reading *r)
{
    enum { MODEL, MESSAGES, STREAM };
    static const struct weir_fields_spec specs[] = {
        [MODEL] = {"model", WEIR_FIELDS_STRING, true},
        [MESSAGES] = {"messages", WEIR_FIELDS_ARRAY, true},
        [STREAM] = {"stream", WEIR_FIELDS_BOOL, false},
    };
    uint32_t at[COUNT(specs)];
    const struct weir_json *json = r->f.json;
    if (weir_fields_read_some(&r->f, 0, "", specs, COUNT(specs), at) != 0) {
        return WEIR_EINVAL;
    }
    r->request.model_id = weir_fields_string(&r->f, at[MODEL]);
    r->request.asks_json = asks_json(json);
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
    if (json->nodes[at[MESSAGES]].n == 0) {
        return weir_fields_fail(&r->f, "", "`messages` must not be empty");
    }
    if (weir_json_get_set(json, 0, WEIR_SLICE("detectors")) != WEIR_JSON_NONE) {
        return weir_fields_fail(&r->f, "detectors",
                                "`detectors` cannot be chosen here: the route `%.*s` decides",
                                (int)r->guarded->conf->name.s.n, r->guarded->conf->name.s.p);
    }
    return check_plan(r);
}

/* How much the model may write. NULL: refused. */
static const struct weir_json *
limit_tokens(struct weir_http_stream *s, const struct weir_json *body, struct weir_slice *warnings)
{
    const struct weir_conf *conf = weir_request_of(s)->env->conf;
    const struct weir_conf_route *route = weir_request_of(s)->guarded->conf;
    uint32_t model = weir_json_get_set(body, 0, WEIR_SLICE("model"));
    bool has_model = model != WEIR_JSON_NONE && weir_json_type(body, model) == WEIR_JSON_STRING;
    struct weir_slice name =
        has_model ? weir_json_string(body, model, &s->arena) : (struct weir_slice){0};
    struct weir_adjust_options options = {
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

static void start(struct reading *r)
{
    struct weir_task_ctx *task = &weir_request_of(r->s)->task;
    if (!weir_models_may_use(r->s, WEIR_MODEL_MESSAGES, r->request.model_id)) {
        return;
    }
    struct weir_batching_request batching = {.body = r->f.json,
                                             .model = r->request.model_id,
                                             .route = r->guarded->conf,
                                             .is_messages = true};
    if (!r->is_stream) {
        if (weir_completion_check_unary(r->s, &batching)) {
            weir_task_message_start(task, &r->request, weir_unary_answer, r->s);
        }
        return;
    }
    struct weir_stream_out *out = weir_completion_open_stream(r->s, &batching);
    if (out != NULL) {
        weir_message_stream_start(task, &r->request, &out->base);
    }
}

static void decode(struct weir_http_stream *s, const struct weir_json *sent)
{
    struct weir_request *request = weir_request_of(s);
    struct weir_slice warnings;
    const struct weir_json *body = limit_tokens(s, sent, &warnings);
    if (body == NULL) {
        return;
    }
    struct reading *r = weir_arena_zalloc(&s->arena, sizeof *r);
    r->s = s;
    r->guarded = request->guarded;
    r->f = (struct weir_fields){.json = body, .arena = &s->arena};
    r->request = (struct weir_task_completion){.is_chat = true,
                                               .json = body,
                                               .input = r->guarded->input,
                                               .output = weir_openai_output(request),
                                               .policy = weir_openai_policy(request),
                                               .warnings = warnings};
    if (!weir_openai_read_question(s, body, &weir_walk_messages, &r->request.asked)) {
        return;
    }
    if (read_request(r) != 0) {
        weir_unary_refuse(s, &r->f);
    } else {
        start(r);
    }
}

void weir_message_begin(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode);
}
