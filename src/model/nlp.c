/* How requests to caikit-nlp are written: every parameter that was given is sent as it was
 * given, and no other. */
#include "model/nlp.h"

#include "base/err.h"
#include "base/utf8.h"
#include "wire/grpc_paths.h"
#include "wire/proto.h"

#include <proto/caikit_data_model.pb-c.h>
#include <proto/nlp.pb-c.h>

/* Sets `field` of the message from the parameter of the same name, if it was given. */
#define GIVE(bit, field)                                                                           \
    do {                                                                                           \
        if ((p->given & WEIR_PARAM_##bit) != 0) {                                                  \
            WEIR_PROTO_GIVE(m, field, p->field);                                                   \
        }                                                                                          \
    } while (0)

static void pack_numbers(const struct weir_model_params *p,
                         Caikit__Runtime__Nlp__TextGenerationTaskRequest *m)
{
    GIVE(MAX_NEW_TOKENS, max_new_tokens);
    GIVE(MIN_NEW_TOKENS, min_new_tokens);
    GIVE(TRUNCATE_INPUT_TOKENS, truncate_input_tokens);
    GIVE(TOP_K, top_k);
    GIVE(TOP_P, top_p);
    GIVE(TYPICAL_P, typical_p);
    GIVE(TEMPERATURE, temperature);
    GIVE(REPETITION_PENALTY, repetition_penalty);
    GIVE(MAX_TIME, max_time);
    GIVE(SEED, seed);
}

static void pack_flags(const struct weir_model_params *p,
                       Caikit__Runtime__Nlp__TextGenerationTaskRequest *m)
{
    GIVE(PRESERVE_INPUT_TEXT, preserve_input_text);
    GIVE(INPUT_TOKENS, input_tokens);
    GIVE(GENERATED_TOKENS, generated_tokens);
    GIVE(TOKEN_LOGPROBS, token_logprobs);
    GIVE(TOKEN_RANKS, token_ranks);
    GIVE(INCLUDE_STOP_SEQUENCE, include_stop_sequence);
}

static void pack_penalty(const struct weir_model_params *p, struct weir_arena *arena,
                         Caikit__Runtime__Nlp__TextGenerationTaskRequest *m)
{
    Caikit__Runtime__Nlp__ExponentialDecayLengthPenalty *penalty =
        weir_arena_alloc(arena, sizeof *penalty);
    caikit__runtime__nlp__exponential_decay_length_penalty__init(penalty);
    WEIR_PROTO_SET(penalty, start_index, p->length_penalty_start_index);
    WEIR_PROTO_SET(penalty, decay_factor, p->length_penalty_decay_factor);
    m->exponential_decay_length_penalty = penalty;
}

static const ProtobufCMessage *pack_generate(const struct weir_model_request *request,
                                             struct weir_arena *arena)
{
    const struct weir_model_params *p = &request->params;
    Caikit__Runtime__Nlp__TextGenerationTaskRequest *m = weir_arena_alloc(arena, sizeof *m);
    caikit__runtime__nlp__text_generation_task_request__init(m);
    WEIR_PROTO_SET_TEXT(m, text, request->text);
    pack_numbers(p, m);
    pack_flags(p, m);
    if ((p->given & WEIR_PARAM_DECODING_METHOD) != 0) {
        WEIR_PROTO_GIVE(m, decoding_method, weir_proto_bytes(p->decoding_method));
    }
    if ((p->given & WEIR_PARAM_LENGTH_PENALTY) != 0) {
        pack_penalty(p, arena, m);
    }
    if ((p->given & WEIR_PARAM_STOP_SEQUENCES) != 0) {
        m->stop_sequences = weir_proto_texts(arena, p->stop_sequences, p->n_stop_sequences);
        m->n_stop_sequences = p->n_stop_sequences;
    }
    return &m->base;
}

static const ProtobufCMessage *nlp_pack(const struct weir_model_request *request,
                                        struct weir_arena *arena)
{
    if (request->op == WEIR_MODEL_GENERATE) {
        return pack_generate(request, arena);
    }
    Caikit__Runtime__Nlp__TokenizationTaskRequest *m = weir_arena_alloc(arena, sizeof *m);
    caikit__runtime__nlp__tokenization_task_request__init(m);
    WEIR_PROTO_SET_TEXT(m, text, request->text);
    return &m->base;
}

static uint64_t count_of(int64_t n)
{
    return n > 0 ? (uint64_t)n : 0;
}

static enum weir_model_finish finish_of(int reason)
{
    bool is_known = reason >= WEIR_FINISH_NOT_FINISHED && reason <= WEIR_FINISH_ERROR;
    return is_known ? (enum weir_model_finish)reason : WEIR_FINISH_NOT_FINISHED;
}

/* The tokens as ours; NULL when a text is not UTF-8. */
static const struct weir_model_token *read_tokens(CaikitDataModel__Nlp__GeneratedToken **from,
                                                  size_t n, struct weir_arena *arena)
{
    struct weir_model_token *tokens = weir_arena_array(arena, n, sizeof *tokens);
    for (size_t i = 0; i < n; i++) {
        tokens[i] = (struct weir_model_token){
            .text = weir_proto_slice(from[i]->text),
            .logprob = from[i]->logprob,
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

static int read_whole(struct weir_slice bytes, struct weir_arena *arena,
                      struct weir_model_generated *out)
{
    const CaikitDataModel__Nlp__GeneratedTextResult *m =
        weir_proto_unpack(arena, &caikit_data_model__nlp__generated_text_result__descriptor, bytes);
    if (m == NULL) {
        return WEIR_EPEER;
    }
    *out = (struct weir_model_generated){
        .text = weir_proto_slice(m->generated_text),
        .has_details = true,
        .finish_reason = finish_of((int)m->finish_reason),
        .generated_token_count = count_of(m->generated_tokens),
        .seed = m->seed,
        .input_token_count = (int64_t)count_of(m->input_token_count),
        .tokens = read_tokens(m->tokens, m->n_tokens, arena),
        .n_tokens = m->n_tokens,
        .input_tokens = read_tokens(m->input_tokens, m->n_input_tokens, arena),
        .n_input_tokens = m->n_input_tokens,
    };
    return 0;
}

static int read_part(struct weir_slice bytes, struct weir_arena *arena,
                     struct weir_model_generated *out)
{
    const CaikitDataModel__Nlp__GeneratedTextStreamResult *m = weir_proto_unpack(
        arena, &caikit_data_model__nlp__generated_text_stream_result__descriptor, bytes);
    if (m == NULL) {
        return WEIR_EPEER;
    }
    *out = (struct weir_model_generated){
        .text = weir_proto_slice(m->generated_text),
        .tokens = read_tokens(m->tokens, m->n_tokens, arena),
        .n_tokens = m->n_tokens,
        .input_tokens = read_tokens(m->input_tokens, m->n_input_tokens, arena),
        .n_input_tokens = m->n_input_tokens,
    };
    if (m->details != NULL) {
        out->has_details = true;
        out->finish_reason = finish_of((int)m->details->finish_reason);
        out->generated_token_count = m->details->generated_tokens;
        out->seed = m->details->seed;
        out->input_token_count = (int64_t)count_of(m->details->input_token_count);
    }
    return 0;
}

static int read_count(struct weir_slice bytes, struct weir_arena *arena, uint64_t *n_tokens)
{
    const CaikitDataModel__Nlp__TokenizationResults *m =
        weir_proto_unpack(arena, &caikit_data_model__nlp__tokenization_results__descriptor, bytes);
    if (m == NULL || m->token_count < 0) {
        return WEIR_EPEER;
    }
    *n_tokens = (uint64_t)m->token_count;
    return 0;
}

static int nlp_read(const struct weir_model_request *request, struct weir_slice bytes,
                    struct weir_arena *arena, struct weir_model_frame *frame)
{
    if (request->op == WEIR_MODEL_TOKENIZE) {
        return read_count(bytes, arena, &frame->n_tokens);
    }
    struct weir_model_generated *g = weir_arena_zalloc(arena, sizeof *g);
    int rc = request->is_stream ? read_part(bytes, arena, g) : read_whole(bytes, arena, g);
    frame->generated = g;
    bool is_text = weir_utf8_is_valid(g->text) && g->tokens != NULL && g->input_tokens != NULL;
    return rc == 0 && !is_text ? WEIR_EPEER : rc;
}

void weir_model_nlp_init(struct weir_model_grpc *m, const struct weir_target *target)
{
    static const struct weir_model_dialect dialect = {
        .generate_path = WEIR_GRPC_NLP_GENERATE,
        .stream_path = WEIR_GRPC_NLP_STREAM,
        .tokenize_path = WEIR_GRPC_NLP_TOKENIZE,
        .has_model_header = true,
        .pack = nlp_pack,
        .read = nlp_read,
    };
    weir_model_grpc_init(m, target, &dialect);
}
