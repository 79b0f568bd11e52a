/* How requests to TGIS are written. A request without parameters has none in the message. One
 * with some has every group of parameters; those that were not given are zero, which protobuf
 * leaves out. */
#include "model/tgis.h"

#include "base/err.h"
#include "base/utf8.h"
#include "wire/grpc_paths.h"
#include "wire/proto.h"

#include <proto/fmaas.pb-c.h>

/* Numbers here are narrower than the caller's: the nearest one that fits. */
static uint32_t u32_of(int64_t n)
{
    if (n < 0) {
        return 0;
    }
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static uint32_t u32_of_double(double x)
{
    if (!(x > 0)) {
        return 0;
    }
    return x < UINT32_MAX ? (uint32_t)x : UINT32_MAX;
}

/* All groups of parameters in one piece: they are sent together or not at all. */
struct params {
    Fmaas__Parameters all;
    Fmaas__SamplingParameters sampling;
    Fmaas__StoppingCriteria stopping;
    Fmaas__ResponseOptions response;
    Fmaas__DecodingParameters decoding;
    Fmaas__LengthPenalty penalty;
};

/* The parameter, or zero when it was not given. */
#define GIVEN(bit, member) ((p->given & WEIR_PARAM_##bit) != 0 ? p->member : 0)

static void pack_sampling(const struct weir_model_params *p, Fmaas__SamplingParameters *m)
{
    WEIR_PROTO_SET(m, temperature, (float)GIVEN(TEMPERATURE, temperature));
    WEIR_PROTO_SET(m, top_k, u32_of(GIVEN(TOP_K, top_k)));
    WEIR_PROTO_SET(m, top_p, (float)GIVEN(TOP_P, top_p));
    WEIR_PROTO_SET(m, typical_p, (float)GIVEN(TYPICAL_P, typical_p));
    if ((p->given & WEIR_PARAM_SEED) != 0) {
        WEIR_PROTO_GIVE(m, seed, p->seed);
    }
}

static void pack_stopping(const struct weir_model_params *p, struct weir_arena *arena,
                          Fmaas__StoppingCriteria *m)
{
    WEIR_PROTO_SET(m, max_new_tokens, u32_of(GIVEN(MAX_NEW_TOKENS, max_new_tokens)));
    WEIR_PROTO_SET(m, min_new_tokens, u32_of(GIVEN(MIN_NEW_TOKENS, min_new_tokens)));
    WEIR_PROTO_SET(m, time_limit_millis, u32_of_double(GIVEN(MAX_TIME, max_time)));
    m->n_stop_sequences = GIVEN(STOP_SEQUENCES, n_stop_sequences);
    m->stop_sequences = weir_proto_texts(arena, p->stop_sequences, m->n_stop_sequences);
    if ((p->given & WEIR_PARAM_INCLUDE_STOP_SEQUENCE) != 0) {
        WEIR_PROTO_GIVE(m, include_stop_sequence, p->include_stop_sequence);
    }
}

static void pack_response(const struct weir_model_params *p, Fmaas__ResponseOptions *m)
{
    WEIR_PROTO_SET(m, input_text, GIVEN(PRESERVE_INPUT_TEXT, preserve_input_text));
    WEIR_PROTO_SET(m, generated_tokens, GIVEN(GENERATED_TOKENS, generated_tokens));
    WEIR_PROTO_SET(m, input_tokens, GIVEN(INPUT_TOKENS, input_tokens));
    WEIR_PROTO_SET(m, token_logprobs, GIVEN(TOKEN_LOGPROBS, token_logprobs));
    WEIR_PROTO_SET(m, token_ranks, GIVEN(TOKEN_RANKS, token_ranks));
}

static void pack_decoding(const struct weir_model_params *p, struct params *m)
{
    WEIR_PROTO_SET(&m->decoding, repetition_penalty,
                   (float)GIVEN(REPETITION_PENALTY, repetition_penalty));
    if ((p->given & WEIR_PARAM_LENGTH_PENALTY) != 0) {
        WEIR_PROTO_SET(&m->penalty, start_index, u32_of(p->length_penalty_start_index));
        WEIR_PROTO_SET(&m->penalty, decay_factor, (float)p->length_penalty_decay_factor);
        m->decoding.length_penalty = &m->penalty;
    }
}

static Fmaas__Parameters *pack_params(const struct weir_model_params *p, struct weir_arena *arena)
{
    if (p->given == 0) {
        return NULL;
    }
    struct params *m = weir_arena_alloc(arena, sizeof *m);
    fmaas__parameters__init(&m->all);
    fmaas__sampling_parameters__init(&m->sampling);
    fmaas__stopping_criteria__init(&m->stopping);
    fmaas__response_options__init(&m->response);
    fmaas__decoding_parameters__init(&m->decoding);
    fmaas__length_penalty__init(&m->penalty);
    m->all.sampling = &m->sampling;
    m->all.stopping = &m->stopping;
    m->all.response = &m->response;
    m->all.decoding = &m->decoding;
    pack_sampling(p, &m->sampling);
    pack_stopping(p, arena, &m->stopping);
    pack_response(p, &m->response);
    pack_decoding(p, m);
    bool is_sample = (p->given & WEIR_PARAM_DECODING_METHOD) != 0 &&
                     weir_slice_eq_cstr(p->decoding_method, "SAMPLE");
    WEIR_PROTO_SET(&m->all, method,
                   is_sample ? FMAAS__DECODING_METHOD__SAMPLE : FMAAS__DECODING_METHOD__GREEDY);
    WEIR_PROTO_SET(&m->all, truncate_input_tokens,
                   u32_of(GIVEN(TRUNCATE_INPUT_TOKENS, truncate_input_tokens)));
    return &m->all;
}

static const ProtobufCMessage *pack_generate(const struct weir_model_request *request,
                                             struct weir_arena *arena)
{
    Fmaas__GenerationRequest *text = weir_arena_alloc(arena, sizeof *text);
    fmaas__generation_request__init(text);
    WEIR_PROTO_SET_TEXT(text, text, request->text);
    Fmaas__Parameters *params = pack_params(&request->params, arena);
    if (request->is_stream) {
        Fmaas__SingleGenerationRequest *m = weir_arena_alloc(arena, sizeof *m);
        fmaas__single_generation_request__init(m);
        WEIR_PROTO_SET_TEXT(m, model_id, request->model_id);
        m->request = text;
        m->params = params;
        return &m->base;
    }
    Fmaas__BatchedGenerationRequest *m = weir_arena_alloc(arena, sizeof *m);
    fmaas__batched_generation_request__init(m);
    WEIR_PROTO_SET_TEXT(m, model_id, request->model_id);
    m->requests = weir_arena_alloc(arena, sizeof *m->requests);
    m->requests[0] = text;
    m->n_requests = 1;
    m->params = params;
    return &m->base;
}

static const ProtobufCMessage *tgis_pack(const struct weir_model_request *request,
                                         struct weir_arena *arena)
{
    if (request->op == WEIR_MODEL_GENERATE) {
        return pack_generate(request, arena);
    }
    Fmaas__TokenizeRequest *text = weir_arena_alloc(arena, sizeof *text);
    fmaas__tokenize_request__init(text);
    WEIR_PROTO_SET_TEXT(text, text, request->text);
    Fmaas__BatchedTokenizeRequest *m = weir_arena_alloc(arena, sizeof *m);
    fmaas__batched_tokenize_request__init(m);
    WEIR_PROTO_SET_TEXT(m, model_id, request->model_id);
    m->requests = weir_arena_alloc(arena, sizeof *m->requests);
    m->requests[0] = text;
    m->n_requests = 1;
    return &m->base;
}

/* The tokens as ours; NULL when a text is not UTF-8. */
static const struct weir_model_token *read_tokens(Fmaas__TokenInfo **from, size_t n,
                                                  struct weir_arena *arena)
{
    struct weir_model_token *tokens = weir_arena_array(arena, n, sizeof *tokens);
    for (size_t i = 0; i < n; i++) {
        tokens[i] = (struct weir_model_token){
            .text = weir_proto_slice(from[i]->text),
            .logprob = (double)from[i]->logprob,
            .rank = from[i]->rank,
            .has_logprob = true,
            .has_rank = true,
        };
        if (!weir_utf8_is_valid(tokens[i].text)) {
            return NULL;
        }
    }
    return tokens;
}

static int read_generated(const Fmaas__GenerationResponse *m, struct weir_arena *arena,
                          struct weir_model_frame *frame)
{
    int reason = (int)m->stop_reason;
    bool is_known = reason >= WEIR_FINISH_NOT_FINISHED && reason <= WEIR_FINISH_ERROR;
    struct weir_model_generated *g = weir_arena_zalloc(arena, sizeof *g);
    *g = (struct weir_model_generated){
        .text = weir_proto_slice(m->text),
        .has_details = true,
        .finish_reason = is_known ? (enum weir_model_finish)reason : WEIR_FINISH_NOT_FINISHED,
        .generated_token_count = m->generated_token_count,
        .seed = m->seed,
        .input_token_count = m->input_token_count,
        .tokens = read_tokens(m->tokens, m->n_tokens, arena),
        .n_tokens = m->n_tokens,
        .input_tokens = read_tokens(m->input_tokens, m->n_input_tokens, arena),
        .n_input_tokens = m->n_input_tokens,
    };
    frame->generated = g;
    bool is_text = weir_utf8_is_valid(g->text) && g->tokens != NULL && g->input_tokens != NULL;
    return is_text ? 0 : WEIR_EPEER;
}

static int read_count(struct weir_slice bytes, struct weir_arena *arena,
                      struct weir_model_frame *frame)
{
    const Fmaas__BatchedTokenizeResponse *m =
        weir_proto_unpack(arena, &fmaas__batched_tokenize_response__descriptor, bytes);
    if (m == NULL || m->n_responses != 1) {
        return WEIR_EPEER;
    }
    frame->n_tokens = m->responses[0]->token_count;
    return 0;
}

static int tgis_read(const struct weir_model_request *request, struct weir_slice bytes,
                     struct weir_arena *arena, struct weir_model_frame *frame)
{
    if (request->op == WEIR_MODEL_TOKENIZE) {
        return read_count(bytes, arena, frame);
    }
    if (request->is_stream) {
        const Fmaas__GenerationResponse *m =
            weir_proto_unpack(arena, &fmaas__generation_response__descriptor, bytes);
        return m != NULL ? read_generated(m, arena, frame) : WEIR_EPEER;
    }
    const Fmaas__BatchedGenerationResponse *m =
        weir_proto_unpack(arena, &fmaas__batched_generation_response__descriptor, bytes);
    if (m == NULL || m->n_responses != 1) {
        return WEIR_EPEER;
    }
    return read_generated(m->responses[0], arena, frame);
}

void weir_model_tgis_init(struct weir_model_grpc *m, const struct weir_target *target)
{
    static const struct weir_model_dialect dialect = {
        .generate_path = WEIR_GRPC_TGIS_GENERATE,
        .stream_path = WEIR_GRPC_TGIS_STREAM,
        .tokenize_path = WEIR_GRPC_TGIS_TOKENIZE,
        .pack = tgis_pack,
        .read = tgis_read,
    };
    weir_model_grpc_init(m, target, &dialect);
}
