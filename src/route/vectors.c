#include "route/vectors.h"

#include "base/err.h"
#include "route/env.h"
#include "route/models.h"
#include "route/openai.h"
#include "route/unary.h"
#include "task/vectors.h"

struct reading {
    struct weir_http_stream *s;
    const struct weir_guarded *guarded;
    struct weir_fields f;
    struct weir_task_completion request;
    struct weir_input_text *texts;
    size_t n_texts;
};

/* Members of the top that steer and say nothing. */
static bool is_control(const struct weir_json *json, uint32_t key)
{
    static const char *const names[] = {"model", "encoding_format", "priority", "request_id"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (weir_json_string_eq(json, key, weir_slice_cstr(names[i]))) {
            return true;
        }
    }
    return false;
}

/* Every string in the value, names of members too: whatever reaches the server is looked at. */
static void add_strings(struct reading *r, uint32_t from, uint32_t to)
{
    const struct weir_json *json = r->f.json;
    for (uint32_t at = from; at < to; at++) {
        if (weir_json_type(json, at) == WEIR_JSON_STRING && json->nodes[at].n != 0) {
            r->texts[r->n_texts] =
                (struct weir_input_text){.text = weir_json_string(json, at, r->f.arena),
                                         .message_index = r->n_texts,
                                         .part_index = WEIR_INPUT_NO_PART,
                                         .node = at};
            r->n_texts++;
        }
    }
}

/* Text as numbers, which nobody here can read. */
static bool has_tokens(const struct weir_json *json)
{
    uint32_t input = weir_json_get_set(json, 0, WEIR_SLICE("input"));
    if (input == WEIR_JSON_NONE || weir_json_type(json, input) != WEIR_JSON_ARRAY) {
        return false;
    }
    for (uint32_t at = input; at < json->nodes[input].next; at++) {
        if (weir_json_type(json, at) == WEIR_JSON_NUMBER) {
            return true;
        }
    }
    return false;
}

static void read_texts(struct reading *r)
{
    const struct weir_json *json = r->f.json;
    r->texts = weir_arena_array(r->f.arena, json->n_nodes, sizeof *r->texts);
    uint32_t key = weir_json_first(json, 0);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, 0, key)) {
        if (!is_control(json, key)) {
            add_strings(r, key + 1, json->nodes[key + 1].next);
        }
    }
}

static int read_request(struct reading *r)
{
    static const struct weir_fields_spec specs[] = {{"model", WEIR_FIELDS_STRING, true}};
    uint32_t at[1];
    if (weir_fields_read_some(&r->f, 0, "", specs, 1, at) != 0) {
        return WEIR_EINVAL;
    }
    r->request.model_id = weir_fields_string(&r->f, at[0]);
    weir_request_of(r->s)->model = r->request.model_id;
    if (r->request.model_id.n == 0) {
        return weir_fields_fail(&r->f, "", "`model` must not be empty");
    }
    if (weir_json_get_set(r->f.json, 0, WEIR_SLICE("detectors")) != WEIR_JSON_NONE) {
        return weir_fields_fail(&r->f, "detectors",
                                "`detectors` cannot be chosen here: the route `%.*s` decides",
                                (int)r->guarded->conf->name.s.n, r->guarded->conf->name.s.p);
    }
    read_texts(r);
    if (r->request.input.n != 0 && has_tokens(r->f.json) &&
        r->guarded->policy.action != WEIR_POLICY_ANNOTATE) {
        return weir_fields_fail(&r->f, "input",
                                "tokens cannot be checked, and this route enforces what it finds");
    }
    return 0;
}

static void decode(struct weir_http_stream *s, const struct weir_json *body, enum weir_model_op op)
{
    struct weir_request *request = weir_request_of(s);
    struct reading *r = weir_arena_zalloc(&s->arena, sizeof *r);
    r->s = s;
    r->guarded = request->guarded;
    r->f = (struct weir_fields){.json = body, .arena = &s->arena};
    r->request = (struct weir_task_completion){
        .json = body, .input = r->guarded->input, .policy = weir_openai_policy(request)};
    if (read_request(r) != 0) {
        weir_unary_refuse(s, &r->f);
        return;
    }
    if (weir_models_may_use(s, op, r->request.model_id)) {
        r->request.inputs = r->texts;
        r->request.n_inputs = r->n_texts;
        weir_task_vectors_start(&request->task, op, &r->request, weir_unary_answer, s);
    }
}

static void decode_embeddings(struct weir_http_stream *s, const struct weir_json *body)
{
    decode(s, body, WEIR_MODEL_EMBEDDINGS);
}

static void decode_rerank(struct weir_http_stream *s, const struct weir_json *body)
{
    decode(s, body, WEIR_MODEL_RERANK);
}

static void decode_score(struct weir_http_stream *s, const struct weir_json *body)
{
    decode(s, body, WEIR_MODEL_SCORE);
}

void weir_vectors_begin_embeddings(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_embeddings);
}

void weir_vectors_begin_rerank(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_rerank);
}

void weir_vectors_begin_score(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_score);
}
