/* Text generation as TGIS offers it. */
#include "base/err.h"
#include "base/utf8.h"
#include "mock/mock_generation.h"
#include "wire/grpc_paths.h"
#include "wire/proto.h"

#include <proto/fmaas.pb-c.h>

enum { MAX_SEQUENCE = 8192, MAX_NEW_TOKENS = 4096, MAX_BATCH = 128 };

/* ---- answers ---- */

static Fmaas__TokenInfo *new_token(struct weir_arena *arena, const struct weir_mock_generation *g,
                                   struct weir_slice text, size_t at)
{
    Fmaas__TokenInfo *token = weir_arena_alloc(arena, sizeof *token);
    fmaas__token_info__init(token);
    WEIR_PROTO_SET_TEXT(token, text, text);
    if (g->wants_logprobs) {
        WEIR_PROTO_SET(token, logprob, (float)weir_mock_generation_logprob(at));
    }
    if (g->wants_ranks) {
        WEIR_PROTO_SET(token, rank, weir_mock_generation_rank(at));
    }
    return token;
}

static void add_tokens(Fmaas__GenerationResponse *m, struct weir_arena *arena,
                       const struct weir_mock_generation *g, const struct weir_mock_frame *frame)
{
    m->n_tokens = frame->n_tokens;
    m->tokens = weir_arena_array(arena, m->n_tokens, sizeof *m->tokens);
    for (size_t i = 0; i < m->n_tokens; i++) {
        m->tokens[i] = new_token(arena, g, frame->tokens[i].token.plain, frame->tokens[i].at);
    }
    if (!frame->has_input_tokens) {
        return;
    }
    struct weir_slice rest = g->prompt;
    m->n_input_tokens = g->n_input_tokens;
    m->input_tokens = weir_arena_array(arena, m->n_input_tokens, sizeof *m->input_tokens);
    for (size_t i = 0; i < m->n_input_tokens; i++) {
        m->input_tokens[i] = new_token(arena, g, weir_mock_text_next(&rest), i);
    }
}

static void fill(Fmaas__GenerationResponse *m, struct weir_arena *arena,
                 const struct weir_mock_generation *g, const struct weir_mock_frame *frame)
{
    fmaas__generation_response__init(m);
    WEIR_PROTO_SET(m, generated_token_count, (uint32_t)frame->n_generated);
    WEIR_PROTO_SET_TEXT(m, text, frame->text);
    WEIR_PROTO_SET(m, input_token_count, frame->is_first ? (uint32_t)g->n_input_tokens : 0);
    WEIR_PROTO_SET(m, stop_reason, frame->finish);
    WEIR_PROTO_SET(m, seed, g->seed);
    add_tokens(m, arena, g, frame);
}

static void pack_stream(const struct weir_mock_generation *g, const struct weir_mock_frame *frame,
                        struct weir_buf *out)
{
    struct weir_arena arena = {0};
    Fmaas__GenerationResponse m;
    fill(&m, &arena, g, frame);
    weir_proto_append_framed(out, &m.base);
    weir_arena_dispose(&arena);
}

/* ---- requests ---- */

static void refuse(struct weir_mock_call *call)
{
    weir_mock_grpc_end(call, WEIR_GRPC_INVALID_ARGUMENT, "not the request of this method");
}

static struct weir_mock_generation *new_generation(struct weir_mock_call *call,
                                                   const Fmaas__GenerationRequest *request,
                                                   const Fmaas__Parameters *params)
{
    struct weir_slice prompt = request != NULL ? weir_proto_slice(request->text) : WEIR_SLICE("");
    if (!weir_utf8_is_valid(prompt)) {
        refuse(call);
        return NULL;
    }
    struct weir_mock_generation *g = weir_arena_zalloc(&call->s->arena, sizeof *g);
    g->prompt = prompt;
    g->max_tokens = WEIR_MOCK_UNSET;
    g->pack = pack_stream;
    if (params != NULL && params->stopping != NULL && params->stopping->max_new_tokens != 0) {
        g->max_tokens = params->stopping->max_new_tokens;
    }
    if (params != NULL && params->sampling != NULL) {
        g->seed = params->sampling->seed;
    }
    if (params != NULL && params->response != NULL) {
        const Fmaas__ResponseOptions *asked = params->response;
        g->wants_tokens = asked->generated_tokens;
        g->wants_input_tokens = asked->input_tokens;
        g->wants_logprobs = asked->token_logprobs;
        g->wants_ranks = asked->token_ranks;
        g->wants_input_text = asked->input_text;
    }
    return weir_mock_generation_init(g, call) ? g : NULL;
}

static void on_batch(struct weir_mock_call *call, struct weir_slice message)
{
    struct weir_arena *arena = &call->s->arena;
    Fmaas__BatchedGenerationRequest *m =
        weir_proto_unpack(arena, &fmaas__batched_generation_request__descriptor, message);
    if (m == NULL || m->n_requests > MAX_BATCH) {
        refuse(call);
        return;
    }
    Fmaas__BatchedGenerationResponse *answer = weir_arena_alloc(arena, sizeof *answer);
    fmaas__batched_generation_response__init(answer);
    answer->n_responses = m->n_requests;
    answer->responses = weir_arena_array(arena, m->n_requests, sizeof *answer->responses);
    for (size_t i = 0; i < m->n_requests; i++) {
        struct weir_mock_generation *g = new_generation(call, m->requests[i], m->params);
        struct weir_mock_frame frame;
        if (g == NULL) {
            return;
        }
        if (weir_mock_generation_whole(g, &frame) != 0) {
            weir_mock_grpc_end(call, WEIR_GRPC_RESOURCE_EXHAUSTED, "ask for fewer tokens");
            return;
        }
        answer->responses[i] = weir_arena_alloc(arena, sizeof *answer->responses[i]);
        fill(answer->responses[i], arena, g, &frame);
    }
    call->ctx = &answer->base;
}

static void on_single(struct weir_mock_call *call, struct weir_slice message)
{
    Fmaas__SingleGenerationRequest *m =
        weir_proto_unpack(&call->s->arena, &fmaas__single_generation_request__descriptor, message);
    if (m == NULL) {
        refuse(call);
        return;
    }
    call->ctx = new_generation(call, m->request, m->params);
}

/* What was made of the request, sent when the caller has said all of it. */
static void on_answer_due(struct weir_mock_call *call)
{
    const ProtobufCMessage *answer = call->ctx;
    if (answer == NULL) {
        weir_mock_grpc_end(call, WEIR_GRPC_INVALID_ARGUMENT, "no request came");
        return;
    }
    weir_mock_grpc_answer(call, answer);
}

static void on_stream_due(struct weir_mock_call *call)
{
    if (call->ctx == NULL) {
        weir_mock_grpc_end(call, WEIR_GRPC_INVALID_ARGUMENT, "no request came");
        return;
    }
    weir_mock_generation_play(call->ctx);
}

const struct weir_mock_method weir_mock_tgis_unary = {
    .path = WEIR_GRPC_TGIS_GENERATE, .on_message = on_batch, .on_end = on_answer_due};
const struct weir_mock_method weir_mock_tgis_stream = {
    .path = WEIR_GRPC_TGIS_STREAM, .on_message = on_single, .on_end = on_stream_due};

/* ---- the tokenizer, the model ---- */

static Fmaas__TokenizeResponse *tokenize(struct weir_arena *arena, struct weir_slice text,
                                         const Fmaas__BatchedTokenizeRequest *asked)
{
    Fmaas__TokenizeResponse *r = weir_arena_alloc(arena, sizeof *r);
    size_t n = weir_mock_text_count(text);
    fmaas__tokenize_response__init(r);
    WEIR_PROTO_SET(r, token_count, (uint32_t)n);
    r->n_tokens = asked->return_tokens ? n : 0;
    r->tokens = weir_arena_array(arena, r->n_tokens, sizeof *r->tokens);
    r->n_offsets = asked->return_offsets ? n : 0;
    r->offsets = weir_arena_array(arena, r->n_offsets, sizeof *r->offsets);
    size_t at_cp = 0;
    for (size_t i = 0; i < r->n_tokens || i < r->n_offsets; i++) {
        struct weir_slice token = weir_mock_text_next(&text);
        size_t end_cp = at_cp + weir_utf8_count(token);
        if (i < r->n_tokens) {
            r->tokens[i] = weir_proto_bytes(token);
        }
        if (i < r->n_offsets) {
            r->offsets[i] = weir_arena_alloc(arena, sizeof *r->offsets[i]);
            fmaas__token_offset__init(r->offsets[i]);
            WEIR_PROTO_SET(r->offsets[i], start, (uint32_t)at_cp);
            WEIR_PROTO_SET(r->offsets[i], end, (uint32_t)end_cp);
        }
        at_cp = end_cp;
    }
    return r;
}

static void on_tokenize(struct weir_mock_call *call, struct weir_slice message)
{
    struct weir_arena *arena = &call->s->arena;
    Fmaas__BatchedTokenizeRequest *m =
        weir_proto_unpack(arena, &fmaas__batched_tokenize_request__descriptor, message);
    if (m == NULL) {
        refuse(call);
        return;
    }
    Fmaas__BatchedTokenizeResponse *answer = weir_arena_alloc(arena, sizeof *answer);
    fmaas__batched_tokenize_response__init(answer);
    answer->n_responses = m->n_requests;
    answer->responses = weir_arena_array(arena, m->n_requests, sizeof *answer->responses);
    for (size_t i = 0; i < m->n_requests; i++) {
        struct weir_slice text = weir_proto_slice(m->requests[i]->text);
        if (!weir_utf8_is_valid(text)) {
            refuse(call);
            return;
        }
        answer->responses[i] = tokenize(arena, text, m);
    }
    call->ctx = &answer->base;
}

/* TGIS has no health service of its own: whoever knows its model is healthy. */
static void on_info_due(struct weir_mock_call *call)
{
    Fmaas__ModelInfoResponse answer = FMAAS__MODEL_INFO_RESPONSE__INIT;
    if (call->set->health == WEIR_MOCK_HEALTH_ABSENT) {
        weir_mock_grpc_end(call, WEIR_GRPC_NOT_FOUND, "unknown model");
        return;
    }
    if (call->set->health == WEIR_MOCK_HEALTH_BAD || call->set->health == WEIR_MOCK_HEALTH_ERROR) {
        weir_mock_grpc_end(call, WEIR_GRPC_UNAVAILABLE, "not now");
        return;
    }
    WEIR_PROTO_SET(&answer, max_sequence_length, MAX_SEQUENCE);
    WEIR_PROTO_SET(&answer, max_new_tokens, MAX_NEW_TOKENS);
    weir_mock_grpc_answer(call, &answer.base);
}

const struct weir_mock_method weir_mock_tgis_tokenize = {
    .path = WEIR_GRPC_TGIS_TOKENIZE, .on_message = on_tokenize, .on_end = on_answer_due};
const struct weir_mock_method weir_mock_tgis_info = {.path = WEIR_GRPC_TGIS_INFO,
                                                     .on_end = on_info_due};
