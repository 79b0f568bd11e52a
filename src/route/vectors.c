#include "route/vectors.h"

#include "base/err.h"
#include "route/env.h"
#include "route/models.h"
#include "route/openai.h"
#include "route/response_state.h"
#include "route/unary.h"
#include "talk/walk.h"
#include "task/vectors.h"

struct reading {
    struct weir_http_stream *s;
    const struct weir_guarded *guarded;
    struct weir_fields f;
    struct weir_task_completion request;
};

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
    return 0;
}

static void decode_as(struct weir_http_stream *s, const struct weir_json *body,
                      enum weir_model_op op, const struct weir_walk_dialect *dialect)
{
    struct weir_request *request = weir_request_of(s);
    struct reading *r = weir_arena_zalloc(&s->arena, sizeof *r);
    r->s = s;
    r->guarded = request->guarded;
    r->f = (struct weir_fields){.json = body, .arena = &s->arena};
    r->request = (struct weir_task_completion){.json = body,
                                               .input = weir_openai_input(request, body),
                                               .policy = weir_openai_policy(request)};
    if (read_request(r) != 0) {
        weir_unary_refuse(s, &r->f);
        return;
    }
    if (weir_models_may_use(s, op, body, r->request.model_id) &&
        weir_openai_read_question(s, body, dialect, &r->request.asked)) {
        if (op == WEIR_MODEL_ITEM_COUNT) {
            weir_response_state_bind(s, body, &r->request);
            r->request.stores_nothing = false; /* nothing is, and servers refuse the member */
        }
        weir_task_vectors_start(&request->task, op, &r->request, weir_unary_answer, s);
    }
}

static void decode(struct weir_http_stream *s, const struct weir_json *body, enum weir_model_op op)
{
    decode_as(s, body, op, &weir_walk_vectors);
}

static void decode_count_tokens(struct weir_http_stream *s, const struct weir_json *body)
{
    decode_as(s, body, WEIR_MODEL_COUNT, &weir_walk_messages);
}

static void decode_input_tokens(struct weir_http_stream *s, const struct weir_json *body)
{
    decode_as(s, body, WEIR_MODEL_ITEM_COUNT, &weir_walk_responses);
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

void weir_vectors_begin_count_tokens(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_count_tokens);
}

void weir_vectors_begin_input_tokens(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_input_tokens);
}
