#include "route/generation.h"

#include "base/err.h"
#include "route/aggregation.h"
#include "route/env.h"
#include "route/masks.h"
#include "route/params.h"
#include "route/reply.h"
#include "route/stream_out.h"
#include "route/unary.h"
#include "task/gather.h"
#include "task/generation.h"
#include "task/generation_stream.h"
#include "wire/json.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* What a request of A asks for, unary or streamed. */
struct reading {
    struct weir_task_generation request;
    const struct weir_gather_strategy *strategy;
    /* What is wrong with it, where reading fails. */
    int status;
    const char *details;
    bool is_late; /* the members have the right types, but a value is wrong */
};

/* The nested objects of A are strict unless the public program's leniency is asked for. */
static struct weir_fields fields_of(struct weir_http_stream *s, const struct weir_json *body)
{
    return (struct weir_fields){.json = body, .arena = &s->arena};
}

struct guardrails {
    uint32_t input; /* {id: params}, or NONE */
    uint32_t masks;
    uint32_t output;
    const struct weir_gather_strategy *strategy; /* named by the request, or NULL */
};

/* guardrail_config: {input?: {models, masks?}, output?: {models}, aggregation?} */
static int read_guardrails(struct weir_fields *f, uint32_t config, struct guardrails *g)
{
    static const struct weir_fields_spec sides[] = {
        {"input", WEIR_FIELDS_OBJECT, false},
        {"output", WEIR_FIELDS_OBJECT, false},
        {"aggregation", WEIR_FIELDS_STRING, false},
    };
    static const struct weir_fields_spec input[] = {
        {"models", WEIR_FIELDS_OBJECT, true},
        {"masks", WEIR_FIELDS_ARRAY, false},
    };
    uint32_t at[COUNT(sides)];
    uint32_t members[COUNT(input)];
    *g = (struct guardrails){WEIR_JSON_NONE, WEIR_JSON_NONE, WEIR_JSON_NONE, NULL};
    if (config == WEIR_JSON_NONE) {
        return 0;
    }
    if (weir_fields_read(f, config, "guardrail_config", sides, COUNT(sides), at) != 0 ||
        weir_aggregation_read(f, at[2], "guardrail_config.aggregation", &g->strategy) != 0) {
        return WEIR_EINVAL;
    }
    if (at[0] != WEIR_JSON_NONE) {
        if (weir_fields_read(f, at[0], "guardrail_config.input", input, COUNT(input), members) !=
            0) {
            return WEIR_EINVAL;
        }
        g->input = members[0];
        g->masks = members[1];
    }
    if (at[1] != WEIR_JSON_NONE) {
        if (weir_fields_read(f, at[1], "guardrail_config.output", input, 1, members) != 0) {
            return WEIR_EINVAL;
        }
        g->output = members[0];
    }
    int rc = weir_fields_check_objects(f, g->input, "guardrail_config.input.models");
    return rc != 0 ? rc : weir_fields_check_objects(f, g->output, "guardrail_config.output.models");
}

static int plan_both(struct weir_task_ctx *task, struct weir_task_generation *request,
                     const struct weir_json *body, const struct guardrails *g,
                     struct weir_plan_error *error)
{
    unsigned types = WEIR_PLAN_TYPE(WEIR_DETECT_CONTENTS);
    int rc = weir_plan_read(&request->input, task, body, g->input, types, error);
    return rc != 0 ? rc : weir_plan_read(&request->output, task, body, g->output, types, error);
}

static int refuse(struct reading *r, int status, const char *details, bool is_late)
{
    r->status = status;
    r->details = details;
    r->is_late = is_late;
    return WEIR_EINVAL;
}

/* Required and not empty, masks inside the text, detectors that exist. */
static int check(struct reading *r, struct weir_fields *f, const struct guardrails *g,
                 struct weir_task_ctx *task)
{
    struct weir_task_generation *request = &r->request;
    if (request->model_id.n == 0) {
        return refuse(r, 422, "`model_id` is required", true);
    }
    if (request->inputs.n == 0) {
        return refuse(r, 422, "`inputs` is required", true);
    }
    int rc = weir_masks_read(f, g->masks, "guardrail_config.input.masks", request->inputs,
                             &request->masks, &request->n_masks);
    if (rc != 0) {
        return refuse(r, 422, f->error, rc == WEIR_EBAD);
    }
    struct weir_plan_error error;
    if (plan_both(task, request, f->json, g, &error) != 0) {
        return refuse(r, error.status, error.details, true);
    }
    return 0;
}

static int read_classification(struct weir_http_stream *s, const struct weir_json *body,
                               struct reading *out)
{
    enum { MODEL, INPUTS, GUARDRAILS, PARAMS };
    static const struct weir_fields_spec specs[] = {
        [MODEL] = {"model_id", WEIR_FIELDS_STRING, true},
        [INPUTS] = {"inputs", WEIR_FIELDS_STRING, true},
        [GUARDRAILS] = {"guardrail_config", WEIR_FIELDS_OBJECT, false},
        [PARAMS] = {"text_gen_parameters", WEIR_FIELDS_OBJECT, false},
    };
    struct weir_task_ctx *task = &weir_request_of(s)->task;
    struct weir_fields f = fields_of(s, body);
    struct guardrails g;
    uint32_t at[COUNT(specs)];
    *out = (struct reading){.request.is_classification = true};
    int rc = weir_fields_read(&f, 0, "", specs, COUNT(specs), at);
    f.ignores_unknown = task->env->compat.is_fms;
    rc = rc != 0 ? rc : read_guardrails(&f, at[GUARDRAILS], &g);
    rc = rc != 0 ? rc : weir_params_read(&f, at[PARAMS], &out->request.params);
    if (rc != 0) {
        return refuse(out, 422, f.error, false);
    }
    out->strategy = g.strategy != NULL ? g.strategy : task->env->strategy;
    out->request.model_id = weir_fields_string(&f, at[MODEL]);
    out->request.inputs = weir_fields_string(&f, at[INPUTS]);
    return check(out, &f, &g, task);
}

static void decode_classification(struct weir_http_stream *s, const struct weir_json *body)
{
    struct reading reading;
    if (read_classification(s, body, &reading) != 0) {
        weir_reply_error(s, reading.status, weir_slice_cstr(reading.details));
        return;
    }
    weir_task_generation_start(&weir_request_of(s)->task, &reading.request, weir_unary_answer, s);
}

void weir_generation_begin_classification(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_classification);
}

static struct weir_stream_out *new_out(struct weir_http_stream *s)
{
    const struct weir_env *env = weir_request_of(s)->env;
    struct weir_stream_out_options options = {.is_fms = env->tasks.compat.is_fms,
                                              .heartbeat_ms = env->conf->streaming.heartbeat_ms};
    return weir_stream_out_new(s, &options);
}

/* The public program answers what it checks late with a stream. */
static void refuse_stream(struct weir_http_stream *s, const struct reading *reading)
{
    struct weir_slice details = weir_slice_cstr(reading->details);
    if (reading->is_late && weir_request_of(s)->env->tasks.compat.is_fms) {
        weir_stream_out_refuse(new_out(s), reading->status, details);
    } else {
        weir_reply_error(s, reading->status, details);
    }
}

static void decode_stream(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_task_ctx *task = &weir_request_of(s)->task;
    struct reading reading;
    struct weir_plan_error error;
    if (read_classification(s, body, &reading) != 0) {
        refuse_stream(s, &reading);
        return;
    }
    if (weir_plan_check_chunked(&reading.request.output, task, &error) != 0) {
        reading.status = error.status;
        reading.details = error.details;
        reading.is_late = true;
        refuse_stream(s, &reading);
        return;
    }
    weir_generation_stream_start(task, &reading.request, reading.strategy, &new_out(s)->base);
}

void weir_generation_begin_stream(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_stream);
}

static void decode_detection(struct weir_http_stream *s, const struct weir_json *body)
{
    enum { MODEL, PROMPT, DETECTORS, PARAMS };
    static const struct weir_fields_spec specs[] = {
        [MODEL] = {"model_id", WEIR_FIELDS_STRING, true},
        [PROMPT] = {"prompt", WEIR_FIELDS_STRING, true},
        [DETECTORS] = {"detectors", WEIR_FIELDS_OBJECT, true},
        [PARAMS] = {"text_gen_parameters", WEIR_FIELDS_OBJECT, false},
    };
    struct weir_task_ctx *task = &weir_request_of(s)->task;
    struct weir_task_generation request = {0};
    struct weir_fields f = fields_of(s, body);
    uint32_t at[COUNT(specs)];
    int rc = weir_fields_read(&f, 0, "", specs, COUNT(specs), at);
    rc = rc != 0 ? rc : weir_fields_check_objects(&f, at[DETECTORS], "detectors");
    f.ignores_unknown = task->env->compat.is_fms;
    rc = rc != 0 ? rc : weir_params_read(&f, at[PARAMS], &request.params);
    if (rc != 0) {
        weir_unary_refuse(s, &f);
        return;
    }
    for (size_t i = MODEL; i <= DETECTORS; i++) {
        if (body->nodes[at[i]].n == 0) {
            weir_unary_require(s, specs[i].name);
            return;
        }
    }
    request.model_id = weir_fields_string(&f, at[MODEL]);
    request.inputs = weir_fields_string(&f, at[PROMPT]);
    struct weir_plan_error error;
    if (weir_plan_read(&request.output, task, body, at[DETECTORS],
                       WEIR_PLAN_TYPE(WEIR_DETECT_GENERATION), &error) != 0) {
        weir_unary_refuse_plan(s, &error);
        return;
    }
    weir_task_generation_start(task, &request, weir_unary_answer, s);
}

void weir_generation_begin_detection(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_detection);
}
