#include "route/openai.h"

#include "base/assert.h"
#include "base/err.h"
#include "route/adjust.h"
#include "route/beside.h"
#include "route/canary.h"
#include "route/completion.h"
#include "route/env.h"
#include "route/history.h"
#include "route/models.h"
#include "route/reply.h"
#include "route/response_state.h"
#include "route/shadow_note.h"
#include "route/unary.h"
#include "talk/form.h"
#include "talk/pointer.h"
#include "task/completion_stream.h"
#include "task/seal.h"
#include "task/seen.h"

#include <openssl/rand.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- what is counted ---- */

static struct weir_metric_family *outcomes;
static struct weir_metric_family *dropped;
static struct weir_metric_family *foreign;

void weir_openai_declare(void)
{
    static const struct weir_metric_def outcomes_def = {
        .name = "weir_policy_total",
        .help = "What became of a side of a request on a route.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"route", "action", "side"},
    };
    static const struct weir_metric_def dropped_def = {
        .name = "weir_unknown_members_total",
        .help = "Members of model answers that nobody here knows and that were not sent on.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"route"},
    };
    static const struct weir_metric_def foreign_def = {
        .name = "weir_mask_foreign_tokens_total",
        .help = "Tokens of ours that stand for nothing in their request, in it or in its answer.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"route"},
    };
    weir_seen_declare();
    foreign = weir_metric_declare(&foreign_def);
    outcomes = weir_metric_declare(&outcomes_def);
    dropped = weir_metric_declare(&dropped_def);
}

void weir_openai_count_for(struct weir_policy *policy, struct weir_slice route)
{
    static const char *const sides[WEIR_POLICY_SIDES] = {"input", "output"};
    if (outcomes == NULL) {
        return; /* nobody serves: a configuration is only looked at */
    }
    for (size_t i = 0; i < WEIR_POLICY_SIDES; i++) {
        for (size_t k = 0; k < WEIR_POLICY_OUTCOMES; k++) {
            policy->outcomes[i][k] = weir_metric_counter(
                outcomes,
                WEIR_METRIC_LABELS(
                    route, weir_slice_cstr(weir_policy_outcome_name((enum weir_policy_outcome)k)),
                    weir_slice_cstr(sides[i])));
        }
    }
    policy->dropped = weir_metric_counter(dropped, WEIR_METRIC_LABELS(route));
}

struct weir_metric_counter weir_openai_count_foreign(struct weir_slice route)
{
    return foreign != NULL ? weir_metric_counter(foreign, WEIR_METRIC_LABELS(route))
                           : (struct weir_metric_counter){0};
}

/* ---- reading a request ---- */

struct reading {
    struct weir_http_stream *s;
    const struct weir_guarded *guarded;
    struct weir_fields f;
    struct weir_task_completion request;
    bool is_stream;
};

/* Whose values have the same tokens, as bytes that no other scope has. */
static struct weir_slice mask_scope(const struct weir_request *request, struct weir_arena *arena)
{
    const struct weir_conf_route *route = request->guarded->conf;
    const struct weir_conf_caller *key = request->key;
    unsigned char fresh[16];
    switch (request->guarded->policy.mask->scope) {
    case WEIR_POLICY_SCOPE_KEY:
        if (key != NULL) {
            return weir_slice_cstr(
                weir_arena_printf(arena, "key:%.*s", (int)key->name.s.n, key->name.s.p));
        }
        break; /* nobody comes in without one; then a scope of its own */
    case WEIR_POLICY_SCOPE_ROUTE:
        return weir_slice_cstr(
            weir_arena_printf(arena, "route:%.*s", (int)route->name.s.n, route->name.s.p));
    case WEIR_POLICY_SCOPE_REQUEST:
        break;
    }
    int rc = RAND_bytes(fresh, sizeof fresh);
    WEIR_ASSERT(rc == 1);
    struct weir_buf scope = {0};
    weir_buf_append(&scope, WEIR_SLICE("request:"));
    weir_buf_append(&scope, weir_slice_make((const char *)fresh, sizeof fresh));
    return weir_arena_take_buf(arena, &scope);
}

/* The request's map, made once; NULL: its route does not mask. */
static struct weir_mask *map_of(struct weir_request *request)
{
    const struct weir_policy_mask *mask = request->guarded->policy.mask;
    if (mask != NULL && request->map == NULL) {
        struct weir_arena *arena = request->task.arena;
        request->map = weir_mask_new(arena, mask->key, mask_scope(request, arena));
    }
    return request->map;
}

const struct weir_policy *weir_openai_policy(struct weir_request *request)
{
    struct weir_policy *policy = weir_arena_alloc(request->task.arena, sizeof *policy);
    *policy = request->guarded->policy;
    policy->seen = request->seen;
    policy->map = map_of(request);
    return policy;
}

static uint64_t today(void)
{
    enum { SECONDS_A_DAY = 86400 };
    return (uint64_t)time(NULL) / SECONDS_A_DAY;
}

struct weir_slice weir_openai_canary(const struct weir_request *request)
{
    const struct weir_conf_route *route = request->guarded->conf;
    return route->canary.key.n != 0
               ? weir_canary_word(route->canary.key, route->name.s, today(), request->task.arena)
               : WEIR_SLICE("");
}

/* As the caller writes it: what is no name is refused later, and matches nothing. */
static struct weir_slice model_of(const struct weir_request *request, const struct weir_json *json)
{
    bool is_object = weir_json_type(json, 0) == WEIR_JSON_OBJECT;
    uint32_t at = is_object ? weir_json_get_set(json, 0, WEIR_SLICE("model")) : WEIR_JSON_NONE;
    bool is_name = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_STRING;
    return is_name ? weir_json_string(json, at, request->task.arena) : WEIR_SLICE("");
}

struct weir_plan weir_openai_input(const struct weir_request *request, const struct weir_json *json)
{
    return weir_plan_for_model(&request->guarded->input, model_of(request, json),
                               request->task.arena);
}

struct weir_plan weir_openai_output(const struct weir_request *request,
                                    const struct weir_json *json)
{
    const struct weir_conf_route *route = request->guarded->conf;
    struct weir_arena *arena = request->task.arena;
    struct weir_plan plan = request->guarded->output;
    if (json != NULL) {
        plan = weir_plan_for_model(&plan, model_of(request, json), arena);
    }
    return route->canary.key.n != 0
               ? weir_canary_plan(&plan, route->canary.key, route->name.s, today(), arena)
               : plan;
}

/* The request as the route lets it be; NULL: it was refused with a 400. */
static const struct weir_json *adjust(struct weir_http_stream *s, const struct weir_json *body,
                                      bool is_chat, struct weir_slice *warnings)
{
    const struct weir_conf *conf = weir_request_of(s)->env->conf;
    const struct weir_conf_route *route = weir_request_of(s)->guarded->conf;
    uint32_t model = weir_json_get_set(body, 0, WEIR_SLICE("model"));
    bool has_model = model != WEIR_JSON_NONE && weir_json_type(body, model) == WEIR_JSON_STRING;
    struct weir_slice name =
        has_model ? weir_json_string(body, model, &s->arena) : (struct weir_slice){0};
    struct weir_adjust_options options = {
        .is_chat = is_chat,
        .merges_history = is_chat && route->history == WEIR_CONF_HISTORY_MERGE,
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

static struct reading *new_reading(struct weir_http_stream *s, const struct weir_json *sent,
                                   bool is_chat)
{
    struct weir_request *request = weir_request_of(s);
    struct weir_slice warnings;
    const struct weir_json *body = adjust(s, sent, is_chat, &warnings);
    if (body == NULL) {
        return NULL;
    }
    struct reading *r = weir_arena_zalloc(&s->arena, sizeof *r);
    r->s = s;
    r->guarded = request->guarded;
    r->f = (struct weir_fields){.json = body, .arena = &s->arena};
    r->request = (struct weir_task_completion){.is_chat = is_chat,
                                               .json = body,
                                               .input = weir_openai_input(request, body),
                                               .output = weir_openai_output(request, body),
                                               .policy = weir_openai_policy(request),
                                               .warnings = warnings};
    return r;
}

/* False: a seal of the request is broken; answered. */
static bool check_seals(struct weir_http_stream *s, const struct weir_json *json)
{
    uint32_t broken;
    weir_seal_restore(weir_request_of(s)->guarded->policy.seal, json, &s->arena, &broken);
    if (broken != WEIR_JSON_NONE) {
        struct weir_slice path = weir_pointer_of(json, broken, &s->arena);
        weir_reply_errorf(s, 400,
                          "`%.*s`: this seal was broken, or made by another route or under another "
                          "key: send the block back as it came, or leave its message out",
                          (int)path.n, path.p);
    }
    return broken == WEIR_JSON_NONE;
}

/* False: the model is asked before the question is judged, and this would do more than answer. */
static bool check_beside(struct weir_http_stream *s, const struct weir_json *json)
{
    bool asks_beside = weir_request_of(s)->guarded->policy.asks_beside;
    const char *acts = asks_beside ? weir_beside_acts(json, &s->arena) : NULL;
    if (acts != NULL) {
        weir_reply_errorf(s, 422,
                          "`%s` acts before this route knows the question to be good: it asks the "
                          "model beside its detectors (`input_check: beside`)",
                          acts);
    }
    return acts == NULL;
}

bool weir_openai_read_question(struct weir_http_stream *s, const struct weir_json *json,
                               const struct weir_walk_dialect *dialect, struct weir_asked **out)
{
    const struct weir_guarded *guarded = weir_request_of(s)->guarded;
    const struct weir_policy *policy = &guarded->policy;
    struct weir_arena *arena = &s->arena;
    if ((dialect == &weir_walk_messages && !check_seals(s, json)) ||
        (dialect == &weir_walk_responses && !weir_response_state_check(s, json)) ||
        !check_beside(s, json)) {
        return false;
    }
    bool is_watched = guarded->shadow_input.n + guarded->shadow_output.n != 0;
    struct weir_plan *plan = weir_arena_alloc(arena, sizeof *plan);
    *plan = weir_openai_input(weir_request_of(s), json);
    if ((plan->n == 0 && !is_watched) || weir_json_type(json, 0) != WEIR_JSON_OBJECT) {
        return true;
    }
    struct weir_walk_options options = {
        .fallback = policy->fallback.p != NULL ? policy->fallback : WEIR_POLICY_REFUSAL,
        .max_document_nodes = weir_request_of(s)->env->conf->limits.max_json_nodes};
    struct weir_walk *walk = weir_arena_zalloc(arena, sizeof *walk);
    weir_walk_read(walk, dialect, json, &options, arena);
    struct weir_asked_options asked = {
        .arena = arena, .json = json, .walk = walk, .policy = policy, .plan = plan};
    asked.mask = map_of(weir_request_of(s));
    const char *why;
    int status = plan->n != 0 ? weir_asked_check(&asked, &why) : 0;
    if (status != 0) {
        weir_reply_error(s, status, weir_slice_cstr(why));
        return false;
    }
    enum { MANY_TEXTS = 16384 }; /* where nothing is refused, nobody who only watches costs much */
    struct weir_asked *made = plan->n != 0 || walk->n <= MANY_TEXTS ? weir_asked_new(&asked) : NULL;
    if (is_watched) {
        weir_shadow_note_begin(s, made);
    }
    if (plan->n != 0) {
        *out = made;
    }
    return true;
}

/* Who may choose detectors does so under /api. */
static int check_common(struct reading *r, uint32_t model, uint32_t stream)
{
    const struct weir_json *json = r->f.json;
    r->request.model_id = weir_fields_string(&r->f, model);
    weir_request_of(r->s)->model = r->request.model_id;
    if (weir_seen_is_model_name(r->request.model_id)) {
        weir_request_of(r->s)->task.call.model = r->request.model_id;
    }
    r->is_stream = stream != WEIR_JSON_NONE && weir_json_type(json, stream) == WEIR_JSON_TRUE;
    if (r->request.model_id.n == 0) {
        return weir_fields_fail(&r->f, "", "`model` must not be empty");
    }
    if (weir_json_get_set(json, 0, WEIR_SLICE("detectors")) != WEIR_JSON_NONE) {
        return weir_fields_fail(&r->f, "detectors",
                                "`detectors` cannot be chosen here: the route `%.*s` decides",
                                (int)r->guarded->conf->name.s.n, r->guarded->conf->name.s.p);
    }
    return 0;
}

/* How many choices the caller asks for; 1 per prompt where it is not said or not readable. */
static void read_choices(struct reading *r, size_t n_prompts)
{
    uint64_t n = 1;
    uint32_t at = weir_json_get_set(r->f.json, 0, WEIR_SLICE("n"));
    if (at == WEIR_JSON_NONE || weir_json_u64(r->f.json, at, &n) != 0 || n == 0) {
        n = 1;
        r->request.may_be_given_more = true;
    }
    /* The other number is more than anybody will be given. */
    r->request.n_choices = n < UINT32_MAX ? n * n_prompts : UINT64_MAX;
}

/* {"type": "json_object"} and the like. */
/* Does the caller want the answer to be JSON? OpenAI's way, vLLM's older and newer one. */
static void read_format(struct reading *r)
{
    const struct weir_json *json = r->f.json;
    uint32_t outputs = weir_json_get_set(json, 0, WEIR_SLICE("structured_outputs"));
    r->request.asks_json =
        weir_form_is_json_format(json, weir_json_get_set(json, 0, WEIR_SLICE("response_format"))) ||
        weir_json_get_set(json, 0, WEIR_SLICE("guided_json")) != WEIR_JSON_NONE ||
        (outputs != WEIR_JSON_NONE &&
         weir_json_get_set(json, outputs, WEIR_SLICE("json")) != WEIR_JSON_NONE);
}

static int check_plan(struct reading *r, enum weir_detect_type whole)
{
    for (size_t i = 0; i < r->request.output.n; i++) {
        const struct weir_task_detector *d = r->request.output.uses[i].d;
        if (d->detector->type != WEIR_DETECT_CONTENTS && d->detector->type != whole) {
            return weir_fields_fail(&r->f, "", "detector `%.*s` is not supported by this endpoint",
                                    (int)d->id.n, d->id.p);
        }
    }
    return 0;
}

/* ---- starting ---- */

/* Where findings stop or change an answer, tool calls are looked at like text. */
static bool looks_at_tools(const struct reading *r)
{
    const struct weir_plan *output = &r->request.output;
    bool is_enforced = weir_policy_enforces(&r->guarded->policy) && output->n != 0;
    return is_enforced || weir_plan_has_type(output, WEIR_DETECT_CHAT);
}

static void start(struct reading *r)
{
    struct weir_task_ctx *task = &weir_request_of(r->s)->task;
    enum weir_model_op op = r->request.is_chat ? WEIR_MODEL_CHAT : WEIR_MODEL_COMPLETION;
    if (!weir_models_may_use(r->s, op, r->request.json, r->request.model_id)) {
        return;
    }
    read_format(r);
    struct weir_batching_request batching = {.body = r->f.json,
                                             .model = r->request.model_id,
                                             .route = r->guarded->conf,
                                             .looks_at_tools = looks_at_tools(r)};
    if (!r->is_stream) {
        if (weir_completion_check_unary(r->s, &batching)) {
            weir_task_completion_start(task, &r->request, weir_unary_answer, r->s);
        }
        return;
    }
    struct weir_stream_out *out = weir_completion_open_stream(r->s, &batching);
    if (out != NULL) {
        weir_completion_stream_start(task, &r->request, task->env->strategy, &out->base);
    }
}

/* ---- chat ---- */

/* False: refused with a 400 already. */
static bool check_history(struct reading *r, uint32_t messages)
{
    struct weir_history history;
    if (r->guarded->conf->history == WEIR_CONF_HISTORY_OFF) {
        return true;
    }
    weir_history_check(&history, r->f.json, messages, &r->s->arena);
    if (history.n != 0 && r->guarded->conf->history == WEIR_CONF_HISTORY_REJECT) {
        weir_reply_error(r->s, 400, weir_slice_cstr(history.problems[0]));
        return false;
    }
    struct weir_slice before = r->request.warnings;
    struct weir_slice more = weir_history_warnings(&history, &r->s->arena);
    const char *comma = before.n != 0 && more.n != 0 ? "," : "";
    r->request.warnings = weir_slice_cstr(weir_arena_printf(
        &r->s->arena, "%.*s%s%.*s", (int)before.n, before.p, comma, (int)more.n, more.p));
    return true;
}

static int read_chat(struct reading *r, uint32_t *messages)
{
    enum { MODEL, MESSAGES, STREAM, TOOLS };
    static const struct weir_fields_spec specs[] = {
        [MODEL] = {"model", WEIR_FIELDS_STRING, true},
        [MESSAGES] = {"messages", WEIR_FIELDS_ARRAY, true},
        [STREAM] = {"stream", WEIR_FIELDS_BOOL, false},
        [TOOLS] = {"tools", WEIR_FIELDS_ARRAY, false},
    };
    uint32_t at[COUNT(specs)];
    if (weir_fields_read_some(&r->f, 0, "", specs, COUNT(specs), at) != 0 ||
        check_common(r, at[MODEL], at[STREAM]) != 0 || check_plan(r, WEIR_DETECT_CHAT) != 0) {
        return WEIR_EINVAL;
    }
    if (r->f.json->nodes[at[MESSAGES]].n == 0) {
        return weir_fields_fail(&r->f, "", "`messages` must not be empty");
    }
    *messages = at[MESSAGES];
    read_choices(r, 1);
    return 0;
}

static void decode_chat(struct weir_http_stream *s, const struct weir_json *body)
{
    struct reading *r = new_reading(s, body, true);
    uint32_t messages = WEIR_JSON_NONE;
    if (r == NULL ||
        !weir_openai_read_question(r->s, r->f.json, &weir_walk_chat, &r->request.asked)) {
        return;
    }
    if (read_chat(r, &messages) != 0) {
        weir_unary_refuse(s, &r->f);
    } else if (check_history(r, messages)) {
        start(r);
    }
}

void weir_openai_begin_chat(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_chat);
}

/* ---- completions ---- */

/* A detector that is given the prompt needs one text. */
static bool looks_at_prompt(const struct reading *r)
{
    for (size_t i = 0; i < r->request.output.n; i++) {
        if (r->request.output.uses[i].d->detector->type == WEIR_DETECT_GENERATION) {
            return true;
        }
    }
    return false;
}

/* How many prompts there are, and the text of the only one. */
static int read_prompt(struct reading *r, uint32_t prompt)
{
    const struct weir_json *json = r->f.json;
    size_t n = 1;
    bool is_there = prompt != WEIR_JSON_NONE;
    if (is_there && weir_json_type(json, prompt) == WEIR_JSON_STRING) {
        r->request.prompt = weir_json_string(json, prompt, &r->s->arena);
    } else if (looks_at_prompt(r)) {
        return weir_fields_fail(&r->f, "prompt", "Detection on array is not supported");
    }
    bool is_array = is_there && weir_json_type(json, prompt) == WEIR_JSON_ARRAY;
    if (is_array && json->nodes[prompt].n != 0) { /* numbers: one prompt, in tokens */
        bool is_tokens = weir_json_type(json, weir_json_first(json, prompt)) == WEIR_JSON_NUMBER;
        n = is_tokens ? 1 : json->nodes[prompt].n;
    }
    read_choices(r, n);
    return 0;
}

static int read_text(struct reading *r)
{
    enum { MODEL, PROMPT, STREAM };
    static const struct weir_fields_spec specs[] = {
        [MODEL] = {"model", WEIR_FIELDS_STRING, true},
        [PROMPT] = {"prompt", WEIR_FIELDS_ANY, false},
        [STREAM] = {"stream", WEIR_FIELDS_BOOL, false},
    };
    uint32_t at[COUNT(specs)];
    if (weir_fields_read_some(&r->f, 0, "", specs, COUNT(specs), at) != 0 ||
        check_common(r, at[MODEL], at[STREAM]) != 0 || check_plan(r, WEIR_DETECT_GENERATION) != 0 ||
        read_prompt(r, at[PROMPT]) != 0) {
        return WEIR_EINVAL;
    }
    return 0;
}

static void decode_text(struct weir_http_stream *s, const struct weir_json *body)
{
    struct reading *r = new_reading(s, body, false);
    if (r == NULL ||
        !weir_openai_read_question(r->s, r->f.json, &weir_walk_completions, &r->request.asked)) {
        return;
    }
    if (read_text(r) != 0) {
        weir_unary_refuse(s, &r->f);
    } else {
        start(r);
    }
}

void weir_openai_begin_text(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_text);
}
