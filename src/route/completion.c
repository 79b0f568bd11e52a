#include "route/completion.h"

#include "base/err.h"
#include "obs/metric.h"
#include "route/adjust.h"
#include "route/aggregation.h"
#include "route/batching.h"
#include "route/env.h"
#include "route/masks.h"
#include "route/reply.h"
#include "route/stream_out.h"
#include "route/stream_trace.h"
#include "route/unary.h"
#include "task/completion.h"
#include "task/completion_stream.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Everything read from a request so far. */
struct reading {
    struct weir_http_stream *s;
    struct weir_fields f;
    struct weir_task_completion request;
    uint32_t input;  /* {id: params}, or NONE */
    uint32_t output; /* likewise */
    const struct weir_gather_strategy *strategy;
    struct weir_input_text question;
    bool is_stream;
    bool is_fms;
};

static struct reading *new_reading(struct weir_http_stream *s, const struct weir_json *body)
{
    struct reading *r = weir_arena_zalloc(&s->arena, sizeof *r);
    r->s = s;
    r->f = (struct weir_fields){.json = body, .arena = &s->arena};
    r->request.json = body;
    r->is_fms = weir_request_of(s)->env->tasks.compat.is_fms;
    r->strategy = weir_request_of(s)->env->tasks.strategy;
    return r;
}

static bool is_asked_for(const struct reading *r, uint32_t side)
{
    return side != WEIR_JSON_NONE && r->f.json->nodes[side].n != 0;
}

/* `detectors: {input?, output?, aggregation?}`; at least one detector, unless compat fms. */
static int read_detectors(struct reading *r, uint32_t detectors)
{
    enum { INPUT, OUTPUT, AGGREGATION };
    static const struct weir_fields_spec specs[] = {
        [INPUT] = {"input", WEIR_FIELDS_OBJECT, false},
        [OUTPUT] = {"output", WEIR_FIELDS_OBJECT, false},
        [AGGREGATION] = {"aggregation", WEIR_FIELDS_STRING, false},
    };
    uint32_t at[COUNT(specs)] = {WEIR_JSON_NONE, WEIR_JSON_NONE, WEIR_JSON_NONE};
    if (detectors != WEIR_JSON_NONE &&
        weir_fields_read(&r->f, detectors, "detectors", specs, COUNT(specs), at) != 0) {
        return WEIR_EINVAL;
    }
    if (weir_aggregation_read(&r->f, at[AGGREGATION], "detectors.aggregation", &r->strategy) != 0) {
        return WEIR_EINVAL;
    }
    r->input = at[INPUT];
    r->output = at[OUTPUT];
    if (weir_fields_check_objects(&r->f, r->input, "detectors.input") != 0 ||
        weir_fields_check_objects(&r->f, r->output, "detectors.output") != 0) {
        return WEIR_EINVAL;
    }
    if (!is_asked_for(r, r->input) && !is_asked_for(r, r->output) && !r->is_fms) {
        return weir_fields_fail(
            &r->f, "",
            "`detectors` is required: name at least one detector in `input` or `output`");
    }
    return 0;
}

static int read_plans(struct reading *r, unsigned output_types, struct weir_plan_error *error)
{
    struct weir_task_ctx *task = &weir_request_of(r->s)->task;
    int rc = weir_plan_read(&r->request.input, task, r->f.json, r->input,
                            WEIR_PLAN_TYPE(WEIR_DETECT_CONTENTS), error);
    if (rc == 0) {
        rc = weir_plan_read(&r->request.output, task, r->f.json, r->output, output_types, error);
    }
    return rc;
}

struct weir_stream_out *weir_completion_open_stream(struct weir_http_stream *s,
                                                    const struct weir_batching_request *request)
{
    const struct weir_env *env = weir_request_of(s)->env;
    struct weir_batching *batching = weir_arena_zalloc(&s->arena, sizeof *batching);
    struct weir_buf why = {0};
    struct weir_stream_out *out = NULL;
    if (weir_batching_resolve(s, request, batching, &why) != 0) {
        weir_reply_error(s, 400, weir_buf_slice(&why));
    } else {
        struct weir_stream_out_options options = {.has_done = request->dialect == NULL,
                                                  .dialect = request->dialect,
                                                  .is_route = request->route != NULL,
                                                  .is_fms = env->tasks.compat.is_fms &&
                                                            request->route == NULL,
                                                  .joins_findings = !env->tasks.compat.is_fms,
                                                  .heartbeat_ms = env->conf->streaming.heartbeat_ms,
                                                  .batching = batching};
        out = weir_stream_out_new(s, &options);
        weir_request_of(s)->task.trace = weir_stream_trace_open(s, out);
    }
    weir_buf_dispose(&why);
    return out;
}

bool weir_completion_check_unary(struct weir_http_stream *s,
                                 const struct weir_batching_request *request)
{
    struct weir_buf why = {0};
    bool is_sense = weir_batching_check(s, request, &why) == 0;
    if (!is_sense) {
        weir_reply_error(s, 400, weir_buf_slice(&why));
    }
    weir_buf_dispose(&why);
    return is_sense;
}

/* How much this model may write. The public program knows no such limit. False: refused. */
static bool limit_tokens(struct reading *r)
{
    const struct weir_conf *conf = weir_request_of(r->s)->env->conf;
    struct weir_adjust_options options = {
        .is_chat = r->request.is_chat,
        .max_tokens = weir_conf_stream_max_tokens(&conf->streaming, NULL, r->request.model_id),
        .limits = {.max_depth = conf->limits.max_json_depth}};
    if (r->is_fms) {
        return true;
    }
    struct weir_adjust adjusted = weir_adjust(r->request.json, &options, &r->s->arena);
    if (adjusted.conflict != NULL) {
        weir_reply_error(r->s, 400, weir_slice_cstr(adjusted.conflict));
        return false;
    }
    r->request.json = adjusted.json;
    r->request.warnings = adjusted.warnings;
    return true;
}

static void answer(struct reading *r)
{
    struct weir_task_ctx *task = &weir_request_of(r->s)->task;
    if (!limit_tokens(r)) {
        return;
    }
    struct weir_batching_request request = {
        .body = r->f.json,
        .model = r->request.model_id,
        .looks_at_tools = weir_plan_has_type(&r->request.output, WEIR_DETECT_CHAT)};
    if (!r->is_stream) {
        if (weir_completion_check_unary(r->s, &request)) {
            weir_task_completion_start(task, &r->request, weir_unary_answer, r->s);
        }
        return;
    }
    struct weir_stream_out *out = weir_completion_open_stream(r->s, &request);
    if (out != NULL) {
        weir_completion_stream_start(task, &r->request, r->strategy, &out->base);
    }
}

/* The public program answers what it checks late with a stream, where one was asked for. */
static void refuse_late(struct reading *r, int status, const char *details)
{
    if (r->is_stream && r->is_fms) {
        struct weir_stream_out_options options = {.has_done = true, .is_fms = true};
        weir_stream_out_refuse(weir_stream_out_new(r->s, &options), status,
                               weir_slice_cstr(details));
    } else {
        weir_reply_error(r->s, status, weir_slice_cstr(details));
    }
}

static struct weir_metric_counter unguarded;

void weir_completion_declare(void)
{
    static const struct weir_metric_def def = {
        .name = "weir_unguarded_requests_total",
        .help = "Requests that passed without a look: completions that named no detector "
                "(compat: fms), and paths that a route's `unguarded` names.",
        .type = WEIR_METRIC_COUNTER,
    };
    unguarded = weir_metric_counter(weir_metric_declare(&def), WEIR_METRIC_NO_LABELS);
}

void weir_completion_count_unguarded(void)
{
    weir_metric_add(unguarded, 1);
}

/* Plans, checks what a plan cannot know, starts. */
static void start(struct reading *r, unsigned output_types, const char *late_error)
{
    struct weir_plan_error error;
    if (read_plans(r, output_types, &error) != 0) {
        refuse_late(r, error.status, error.details);
        return;
    }
    if (late_error != NULL) {
        refuse_late(r, 422, late_error);
        return;
    }
    if (r->request.input.n == 0 && r->request.output.n == 0) {
        weir_completion_count_unguarded();
    }
    r->question.text = r->request.prompt;
    r->request.inputs = &r->question;
    r->request.n_inputs = 1;
    answer(r);
}

static int check_model(struct reading *r, uint32_t model)
{
    r->request.model_id = weir_fields_string(&r->f, model);
    return r->request.model_id.n != 0 ? 0
                                      : weir_fields_fail(&r->f, "", "`model` must not be empty");
}

static bool is_true(const struct reading *r, uint32_t at)
{
    return at != WEIR_JSON_NONE && weir_json_type(r->f.json, at) == WEIR_JSON_TRUE;
}

/* ---- H ---- */

static uint32_t last_of(const struct weir_json *json, uint32_t array)
{
    uint32_t last = WEIR_JSON_NONE;
    uint32_t at = weir_json_first(json, array);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, array, at)) {
        last = at;
    }
    return last;
}

/* What input detectors are given: the last message's content, a string that is not empty. */
static int read_last_message(struct reading *r, uint32_t message, const char *path)
{
    struct weir_fields *f = &r->f;
    uint32_t content = weir_json_get_set(f->json, message, WEIR_SLICE("content"));
    if (content != WEIR_JSON_NONE && weir_json_type(f->json, content) == WEIR_JSON_ARRAY) {
        return weir_fields_fail(f, "", "Detection on array is not supported");
    }
    if (content != WEIR_JSON_NONE &&
        weir_fields_check(f, content, weir_arena_printf(f->arena, "%s.content", path),
                          WEIR_FIELDS_STRING) != 0) {
        return WEIR_EINVAL;
    }
    if (content == WEIR_JSON_NONE || f->json->nodes[content].n == 0) {
        return weir_fields_fail(f, "",
                                "if input detectors are provided, `content` must not be empty on "
                                "last message");
    }
    r->request.prompt = weir_fields_string(f, content);
    return 0;
}

/* NULL, or why the last message's role is not one that text detectors are given. */
static const char *role_error(const struct reading *r, uint32_t message)
{
    static const char *const roles[] = {"user", "assistant", "system", "developer"};
    size_t n_roles = r->is_fms ? 3 : 4;
    uint32_t role = weir_json_get_set(r->f.json, message, WEIR_SLICE("role"));
    bool is_string = role != WEIR_JSON_NONE && weir_json_type(r->f.json, role) == WEIR_JSON_STRING;
    for (size_t i = 0; is_string && i < n_roles; i++) {
        if (weir_json_string_eq(r->f.json, role, weir_slice_cstr(roles[i]))) {
            return NULL;
        }
    }
    return "Last message role must be user, assistant, or system";
}

static int read_chat(struct reading *r, uint32_t *last)
{
    enum { MODEL, MESSAGES, DETECTORS, STREAM, TOOLS };
    static const struct weir_fields_spec specs[] = {
        [MODEL] = {"model", WEIR_FIELDS_STRING, true},
        [MESSAGES] = {"messages", WEIR_FIELDS_ARRAY, true},
        [DETECTORS] = {"detectors", WEIR_FIELDS_OBJECT, false},
        [STREAM] = {"stream", WEIR_FIELDS_BOOL, false},
        [TOOLS] = {"tools", WEIR_FIELDS_ARRAY, false},
    };
    uint32_t at[COUNT(specs)];
    struct weir_fields *f = &r->f;
    if (weir_fields_read_some(f, 0, "", specs, COUNT(specs), at) != 0 ||
        check_model(r, at[MODEL]) != 0) {
        return WEIR_EINVAL;
    }
    if (f->json->nodes[at[MESSAGES]].n == 0) {
        return weir_fields_fail(f, "", "`messages` must not be empty");
    }
    r->is_stream = is_true(r, at[STREAM]);
    r->question.message_index = f->json->nodes[at[MESSAGES]].n - 1;
    *last = last_of(f->json, at[MESSAGES]);
    const char *path = weir_arena_printf(f->arena, "messages[%zu]", r->question.message_index);
    if (weir_fields_check(f, *last, path, WEIR_FIELDS_OBJECT) != 0 ||
        read_detectors(r, at[DETECTORS]) != 0) {
        return WEIR_EINVAL;
    }
    return is_asked_for(r, r->input) ? read_last_message(r, *last, path) : 0;
}

static void decode_chat(struct weir_http_stream *s, const struct weir_json *body)
{
    struct reading *r = new_reading(s, body);
    uint32_t last = WEIR_JSON_NONE;
    r->request.is_chat = true;
    if (read_chat(r, &last) != 0) {
        weir_unary_refuse(s, &r->f);
        return;
    }
    const char *late = is_asked_for(r, r->input) ? role_error(r, last) : NULL;
    start(r, WEIR_PLAN_TYPE(WEIR_DETECT_CONTENTS) | WEIR_PLAN_TYPE(WEIR_DETECT_CHAT), late);
}

void weir_completion_begin_chat(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_chat);
}

/* ---- I ---- */

/* An array of texts or tokens is the model server's business, unless somebody is to look at it. */
static int read_prompt(struct reading *r, uint32_t prompt, uint32_t masks)
{
    struct weir_fields *f = &r->f;
    bool is_array = weir_json_type(f->json, prompt) == WEIR_JSON_ARRAY;
    bool has_input = is_asked_for(r, r->input);
    if (is_array && (has_input || masks != WEIR_JSON_NONE)) {
        return weir_fields_fail(f, "", "Detection on array is not supported");
    }
    if (!is_array && weir_fields_check(f, prompt, "prompt", WEIR_FIELDS_STRING) != 0) {
        return WEIR_EINVAL;
    }
    if (!is_array) {
        r->request.prompt = weir_fields_string(f, prompt);
    }
    if (has_input && r->request.prompt.n == 0) {
        return weir_fields_fail(f, "",
                                "`prompt` must not be empty when input detectors are provided");
    }
    return weir_masks_read(f, masks, "_prompt_masks", r->request.prompt, &r->question.masks,
                           &r->question.n_masks);
}

static int read_text(struct reading *r)
{
    enum { MODEL, PROMPT, DETECTORS, STREAM, MASKS };
    static const struct weir_fields_spec specs[] = {
        [MODEL] = {"model", WEIR_FIELDS_STRING, true},
        [PROMPT] = {"prompt", WEIR_FIELDS_ANY, true},
        [DETECTORS] = {"detectors", WEIR_FIELDS_OBJECT, false},
        [STREAM] = {"stream", WEIR_FIELDS_BOOL, false},
        [MASKS] = {"_prompt_masks", WEIR_FIELDS_ARRAY, false},
    };
    uint32_t at[COUNT(specs)];
    if (weir_fields_read_some(&r->f, 0, "", specs, COUNT(specs), at) != 0 ||
        check_model(r, at[MODEL]) != 0 || read_detectors(r, at[DETECTORS]) != 0) {
        return WEIR_EINVAL;
    }
    r->is_stream = is_true(r, at[STREAM]);
    return read_prompt(r, at[PROMPT], at[MASKS]);
}

/* A detector that is given the prompt needs one text. */
static const char *prompt_error(const struct reading *r)
{
    uint32_t prompt = weir_json_get(r->f.json, 0, WEIR_SLICE("prompt"));
    if (weir_json_type(r->f.json, prompt) == WEIR_JSON_STRING) {
        return NULL;
    }
    const struct weir_map *by_id = &weir_request_of(r->s)->env->tasks.detectors_by_id;
    uint32_t key =
        is_asked_for(r, r->output) ? weir_json_first(r->f.json, r->output) : WEIR_JSON_NONE;
    for (; key != WEIR_JSON_NONE; key = weir_json_after(r->f.json, r->output, key)) {
        const struct weir_task_detector *d =
            weir_map_get(by_id, weir_json_string(r->f.json, key, r->f.arena));
        if (d != NULL && d->detector->type == WEIR_DETECT_GENERATION) {
            return "Detection on array is not supported";
        }
    }
    return NULL;
}

static void decode_text(struct weir_http_stream *s, const struct weir_json *body)
{
    struct reading *r = new_reading(s, body);
    if (read_text(r) != 0) {
        weir_unary_refuse(s, &r->f);
        return;
    }
    const char *why = prompt_error(r);
    if (why != NULL) {
        weir_reply_error(s, 422, weir_slice_cstr(why));
        return;
    }
    start(r, WEIR_PLAN_TYPE(WEIR_DETECT_CONTENTS) | WEIR_PLAN_TYPE(WEIR_DETECT_GENERATION), NULL);
}

void weir_completion_begin_text(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_text);
}
