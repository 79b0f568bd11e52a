/* Text generation as caikit's NLP runtime offers it. */
#include "base/err.h"
#include "base/utf8.h"
#include "mock/mock_generation.h"
#include "wire/grpc_paths.h"
#include "wire/proto.h"

#include <proto/caikit_data_model.pb-c.h>
#include <proto/nlp.pb-c.h>

/* ---- tokens ---- */

static CaikitDataModel__Nlp__GeneratedToken *new_token(struct weir_arena *arena,
                                                       const struct weir_mock_generation *g,
                                                       struct weir_slice text, size_t at)
{
    CaikitDataModel__Nlp__GeneratedToken *token = weir_arena_alloc(arena, sizeof *token);
    caikit_data_model__nlp__generated_token__init(token);
    WEIR_PROTO_SET_TEXT(token, text, text);
    if (g->wants_logprobs) {
        WEIR_PROTO_SET(token, logprob, weir_mock_generation_logprob(at));
    }
    if (g->wants_ranks) {
        WEIR_PROTO_SET(token, rank, weir_mock_generation_rank(at));
    }
    return token;
}

struct tokens {
    CaikitDataModel__Nlp__GeneratedToken **list;
    size_t n;
};

static struct tokens generated(struct weir_arena *arena, const struct weir_mock_generation *g,
                               const struct weir_mock_frame *frame)
{
    struct tokens ts = {.n = frame->n_tokens};
    ts.list = weir_arena_array(arena, ts.n, sizeof *ts.list);
    for (size_t i = 0; i < ts.n; i++) {
        ts.list[i] = new_token(arena, g, frame->tokens[i].token.plain, frame->tokens[i].at);
    }
    return ts;
}

static struct tokens of_input(struct weir_arena *arena, const struct weir_mock_generation *g)
{
    struct tokens ts = {.n = g->n_input_tokens};
    struct weir_slice rest = g->prompt;
    ts.list = weir_arena_array(arena, ts.n, sizeof *ts.list);
    for (size_t i = 0; i < ts.n; i++) {
        ts.list[i] = new_token(arena, g, weir_mock_text_next(&rest), i);
    }
    return ts;
}

/* ---- answers ---- */

static void pack_stream(const struct weir_mock_generation *g, const struct weir_mock_frame *frame,
                        struct weir_buf *out)
{
    CaikitDataModel__Nlp__GeneratedTextStreamResult m =
        CAIKIT_DATA_MODEL__NLP__GENERATED_TEXT_STREAM_RESULT__INIT;
    CaikitDataModel__Nlp__TokenStreamDetails details =
        CAIKIT_DATA_MODEL__NLP__TOKEN_STREAM_DETAILS__INIT;
    struct weir_arena arena = {0};
    struct tokens ts = generated(&arena, g, frame);
    WEIR_PROTO_SET_TEXT(&m, generated_text, frame->text);
    m.tokens = ts.list;
    m.n_tokens = ts.n;
    if (frame->has_input_tokens) {
        struct tokens input = of_input(&arena, g);
        m.input_tokens = input.list;
        m.n_input_tokens = input.n;
    }
    WEIR_PROTO_SET(&details, finish_reason, frame->finish);
    WEIR_PROTO_SET(&details, generated_tokens, (uint32_t)frame->n_generated);
    WEIR_PROTO_SET(&details, seed, g->seed);
    WEIR_PROTO_SET(&details, input_token_count, frame->is_first ? (int64_t)g->n_input_tokens : 0);
    m.details = &details;
    weir_proto_append_framed(out, &m.base);
    weir_arena_dispose(&arena);
}

static void answer_whole(struct weir_mock_generation *g)
{
    CaikitDataModel__Nlp__GeneratedTextResult m =
        CAIKIT_DATA_MODEL__NLP__GENERATED_TEXT_RESULT__INIT;
    struct weir_arena *arena = &g->call->s->arena;
    struct weir_mock_frame frame;
    if (weir_mock_generation_whole(g, &frame) != 0) {
        weir_mock_grpc_end(g->call, WEIR_GRPC_RESOURCE_EXHAUSTED, "ask for fewer tokens");
        return;
    }
    struct tokens ts = generated(arena, g, &frame);
    WEIR_PROTO_SET_TEXT(&m, generated_text, frame.text);
    WEIR_PROTO_SET(&m, generated_tokens, (int64_t)frame.n_generated);
    WEIR_PROTO_SET(&m, finish_reason, frame.finish);
    WEIR_PROTO_SET(&m, input_token_count, (int64_t)g->n_input_tokens);
    WEIR_PROTO_SET(&m, seed, g->seed);
    m.tokens = ts.list;
    m.n_tokens = ts.n;
    if (frame.has_input_tokens) {
        struct tokens input = of_input(arena, g);
        m.input_tokens = input.list;
        m.n_input_tokens = input.n;
    }
    weir_mock_grpc_answer(g->call, &m.base);
}

/* ---- requests ---- */

static void refuse(struct weir_mock_call *call)
{
    weir_mock_grpc_end(call, WEIR_GRPC_INVALID_ARGUMENT, "not the request of this method");
}

static void on_request(struct weir_mock_call *call, struct weir_slice message)
{
    struct weir_arena *arena = &call->s->arena;
    Caikit__Runtime__Nlp__TextGenerationTaskRequest *m = weir_proto_unpack(
        arena, &caikit__runtime__nlp__text_generation_task_request__descriptor, message);
    if (m == NULL || !weir_utf8_is_valid(weir_proto_slice(m->text))) {
        refuse(call);
        return;
    }
    struct weir_mock_generation *g = weir_arena_zalloc(arena, sizeof *g);
    bool has_max =
        m->has_max_new_tokens && m->max_new_tokens >= 0 && m->max_new_tokens < WEIR_MOCK_UNSET;
    g->prompt = weir_proto_slice(m->text);
    g->max_tokens = has_max ? (uint32_t)m->max_new_tokens : WEIR_MOCK_UNSET;
    g->wants_tokens = m->generated_tokens;
    g->wants_input_tokens = m->input_tokens;
    g->wants_logprobs = m->token_logprobs;
    g->wants_ranks = m->token_ranks;
    g->wants_input_text = m->preserve_input_text;
    g->seed = m->seed;
    g->pack = pack_stream;
    if (weir_mock_generation_init(g, call)) {
        call->ctx = g;
    }
}

static void on_unary_end(struct weir_mock_call *call)
{
    if (call->ctx == NULL) {
        weir_mock_grpc_end(call, WEIR_GRPC_INVALID_ARGUMENT, "no request came");
        return;
    }
    answer_whole(call->ctx);
}

static void on_stream_end(struct weir_mock_call *call)
{
    if (call->ctx == NULL) {
        weir_mock_grpc_end(call, WEIR_GRPC_INVALID_ARGUMENT, "no request came");
        return;
    }
    weir_mock_generation_play(call->ctx);
}

const struct weir_mock_method weir_mock_nlp_unary = {
    .path = WEIR_GRPC_NLP_GENERATE, .on_message = on_request, .on_end = on_unary_end};
const struct weir_mock_method weir_mock_nlp_stream = {
    .path = WEIR_GRPC_NLP_STREAM, .on_message = on_request, .on_end = on_stream_end};

/* ---- the tokenizer ---- */

static void on_tokenize(struct weir_mock_call *call, struct weir_slice message)
{
    struct weir_arena *arena = &call->s->arena;
    Caikit__Runtime__Nlp__TokenizationTaskRequest *m = weir_proto_unpack(
        arena, &caikit__runtime__nlp__tokenization_task_request__descriptor, message);
    if (m == NULL || !weir_utf8_is_valid(weir_proto_slice(m->text))) {
        refuse(call);
        return;
    }
    struct weir_slice text = weir_proto_slice(m->text);
    CaikitDataModel__Nlp__TokenizationResults *answer = weir_arena_alloc(arena, sizeof *answer);
    caikit_data_model__nlp__tokenization_results__init(answer);
    answer->n_results = weir_mock_text_count(text);
    answer->results = weir_arena_array(arena, answer->n_results, sizeof *answer->results);
    size_t at_cp = 0;
    for (size_t i = 0; i < answer->n_results; i++) {
        struct weir_slice token = weir_mock_text_next(&text);
        CaikitDataModel__Nlp__Token *t = weir_arena_alloc(arena, sizeof *t);
        caikit_data_model__nlp__token__init(t);
        WEIR_PROTO_SET(t, start, (int64_t)at_cp);
        at_cp += weir_utf8_count(token);
        WEIR_PROTO_SET(t, end, (int64_t)at_cp);
        WEIR_PROTO_SET_TEXT(t, text, token);
        answer->results[i] = t;
    }
    WEIR_PROTO_SET(answer, token_count, (int64_t)answer->n_results);
    call->ctx = answer;
}

static void on_tokenize_end(struct weir_mock_call *call)
{
    const CaikitDataModel__Nlp__TokenizationResults *answer = call->ctx;
    if (answer == NULL) {
        weir_mock_grpc_end(call, WEIR_GRPC_INVALID_ARGUMENT, "no request came");
        return;
    }
    weir_mock_grpc_answer(call, &answer->base);
}

const struct weir_mock_method weir_mock_nlp_tokenize = {
    .path = WEIR_GRPC_NLP_TOKENIZE, .on_message = on_tokenize, .on_end = on_tokenize_end};
