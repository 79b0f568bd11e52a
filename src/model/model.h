#ifndef WEIR_MODEL_MODEL_H
#define WEIR_MODEL_MODEL_H

#include "base/slice.h"
#include "client/call.h"
#include "client/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Generators: OpenAI-compatible servers, TGIS, caikit-nlp, the demonstration model. One run is one
 * request; all of them yield frames, in order, then one end.
 *
 *   run = weir_model_start(model, env, request, events, ctx)
 *   on_frame*, then on_done once (fault NULL: complete)          never from inside start
 *   weir_model_free(run)        any time, also from inside events: that cancels
 */
enum weir_model_op {
    WEIR_MODEL_CHAT,       /* OpenAI: `body` is the request for /v1/chat/completions */
    WEIR_MODEL_COMPLETION, /* OpenAI: /v1/completions */
    WEIR_MODEL_EMBEDDINGS, /* OpenAI: /v1/embeddings, never a stream */
    WEIR_MODEL_RERANK,     /* Cohere's and vLLM's /v1/rerank, likewise */
    WEIR_MODEL_SCORE,      /* vLLM's /v1/score, likewise */
    WEIR_MODEL_MESSAGES,   /* Anthropic's /v1/messages */
    WEIR_MODEL_COUNT,      /* Anthropic's /v1/messages/count_tokens, never a stream */
    WEIR_MODEL_RESPONSES,  /* OpenAI's /v1/responses */
    WEIR_MODEL_ITEM_COUNT, /* OpenAI's /v1/responses/input_tokens, never a stream */
    WEIR_MODEL_STORED,     /* OpenAI's /v1/responses/…: what a server keeps of them */
    WEIR_MODEL_MODELS,     /* OpenAI: GET /v1/models */
    WEIR_MODEL_FORWARD,    /* any path below /v1, with bytes of any kind both ways */
    WEIR_MODEL_GENERATE,   /* TGIS, nlp */
    WEIR_MODEL_TOKENIZE,   /* all: counts the tokens of `text` */
};

/* Does the model say something in answer, which may be streamed? */
static inline bool weir_model_op_talks(enum weir_model_op op)
{
    return op == WEIR_MODEL_CHAT || op == WEIR_MODEL_COMPLETION || op == WEIR_MODEL_MESSAGES ||
           op == WEIR_MODEL_RESPONSES || op == WEIR_MODEL_STORED;
}

/* text_gen_parameters. A member counts when its bit is set; 0: none were given. */
enum weir_model_param {
    WEIR_PARAM_GIVEN = 1 << 0, /* the object was there, perhaps empty */
    WEIR_PARAM_MAX_NEW_TOKENS = 1 << 1,
    WEIR_PARAM_MIN_NEW_TOKENS = 1 << 2,
    WEIR_PARAM_TRUNCATE_INPUT_TOKENS = 1 << 3,
    WEIR_PARAM_DECODING_METHOD = 1 << 4,
    WEIR_PARAM_TOP_K = 1 << 5,
    WEIR_PARAM_TOP_P = 1 << 6,
    WEIR_PARAM_TYPICAL_P = 1 << 7,
    WEIR_PARAM_TEMPERATURE = 1 << 8,
    WEIR_PARAM_REPETITION_PENALTY = 1 << 9,
    WEIR_PARAM_MAX_TIME = 1 << 10,
    WEIR_PARAM_LENGTH_PENALTY = 1 << 11,
    WEIR_PARAM_STOP_SEQUENCES = 1 << 12,
    WEIR_PARAM_SEED = 1 << 13,
    WEIR_PARAM_PRESERVE_INPUT_TEXT = 1 << 14,
    WEIR_PARAM_INPUT_TOKENS = 1 << 15,
    WEIR_PARAM_GENERATED_TOKENS = 1 << 16,
    WEIR_PARAM_TOKEN_LOGPROBS = 1 << 17,
    WEIR_PARAM_TOKEN_RANKS = 1 << 18,
    WEIR_PARAM_INCLUDE_STOP_SEQUENCE = 1 << 19,
};

struct weir_model_params {
    uint32_t given; /* bits of weir_model_param */
    int64_t max_new_tokens;
    int64_t min_new_tokens;
    int64_t truncate_input_tokens;
    struct weir_slice decoding_method;
    int64_t top_k;
    double top_p;
    double typical_p;
    double temperature;
    double repetition_penalty;
    double max_time;
    int64_t length_penalty_start_index;
    double length_penalty_decay_factor;
    const struct weir_slice *stop_sequences;
    size_t n_stop_sequences;
    uint64_t seed;
    bool preserve_input_text;
    bool input_tokens;
    bool generated_tokens;
    bool token_logprobs;
    bool token_ranks;
    bool include_stop_sequence;
};

/* How one of several servers is asked (model/fleet.h). */
struct weir_model_way {
    struct weir_slice path; /* behind the target's prefix, with the query; p NULL: the usual one */
    const struct weir_http_field *fields; /* go with the request */
    size_t n_fields;
    bool keeps_credentials_back;    /* as weir_call_request has it */
    bool has_callers_key;           /* it is among the fields all the same: it was meant for it */
    bool is_asked_once;             /* others are asked instead of it again */
    uint64_t first_byte_timeout_ms; /* 0: the target's */
};

/* Borrowed until the run is freed. */
struct weir_model_request {
    enum weir_model_op op;
    bool is_stream;
    struct weir_slice model_id; /* for faults; GENERATE, TOKENIZE: also sent */
    struct weir_slice body;     /* OpenAI: JSON, sent as it stands */
    struct weir_slice text;     /* GENERATE, TOKENIZE */
    struct weir_model_params params;
    const struct weir_model_way *way; /* NULL: the model's only one */
    /* What a server keeps, another one does not have: only the provider of this name is asked. p
     * NULL: whoever serves the model. */
    struct weir_slice provider;
    struct weir_slice method; /* STORED, FORWARD: GET, POST or DELETE; STORED: without a body */
    /* What stands behind /v1/responses (STORED) or /v1 (FORWARD), with its query. */
    struct weir_slice tail;
    struct weir_slice content_type; /* FORWARD: the body's; or empty */
};

/* Which server was asked, told as a run goes on: for headers, log lines and spans. */
struct weir_model_report {
    struct weir_slice provider; /* "": none yet */
    struct weir_slice model;    /* its name there */
    const char *system;         /* whose API that is, as OpenTelemetry names it; NULL: none yet */
    unsigned n_attempts;
};

/* What a fault of such a request is a fault of. */
enum weir_fault_origin weir_model_origin(enum weir_model_op op);

struct weir_model_token {
    struct weir_slice text;
    double logprob;
    int64_t rank;
    bool has_logprob;
    bool has_rank;
};

enum weir_model_finish {
    WEIR_FINISH_NOT_FINISHED,
    WEIR_FINISH_MAX_TOKENS,
    WEIR_FINISH_EOS_TOKEN,
    WEIR_FINISH_CANCELLED,
    WEIR_FINISH_TIME_LIMIT,
    WEIR_FINISH_STOP_SEQUENCE,
    WEIR_FINISH_TOKEN_LIMIT,
    WEIR_FINISH_ERROR,
};

/* A message of TGIS or nlp, with the names that endpoint A answers with. */
struct weir_model_generated {
    struct weir_slice text;
    bool has_details; /* finish_reason, generated_token_count and seed were sent */
    enum weir_model_finish finish_reason;
    uint64_t generated_token_count;
    uint64_t seed;
    int64_t input_token_count; /* 0: unknown */
    const struct weir_model_token *tokens;
    size_t n_tokens;
    const struct weir_model_token *input_tokens;
    size_t n_input_tokens;
};

/* An answer as it came, whatever its status. */
struct weir_model_forwarded {
    int status;
    struct weir_slice content_type; /* or empty */
    struct weir_slice body;
};

/* One message of a model server. Everything in it lives during on_frame only. */
struct weir_model_frame {
    /* OpenAI: a whole answer, or the data of one event, as the server wrote it. A TOKENIZE frame
     * has only `n_tokens`. */
    struct weir_slice json;
    struct weir_slice raw;    /* streams: the event with its framing, byte for byte */
    struct weir_slice sse_id; /* the event's id line, if any */
    bool is_error; /* an error object in the stream: it is the last frame, a fault follows */
    const struct weir_model_generated *generated; /* TGIS, nlp; else NULL */
    const struct weir_model_forwarded *forwarded; /* FORWARD, its only member; else NULL */
    uint64_t n_tokens;                            /* TOKENIZE */
};

struct weir_model_events {
    void (*on_frame)(void *ctx, const struct weir_model_frame *frame);
    /* NULL: complete ([DONE], or a proper end without it). */
    void (*on_done)(void *ctx, const struct weir_fault *fault);
};

struct weir_model_env {
    struct weir_loop *loop;
    struct weir_client *client;
    const struct weir_call_context *context;
    size_t max_body_bytes;  /* of a whole answer */
    size_t max_event_bytes; /* of one event of a stream */
};

struct weir_model;
struct weir_model_run;

struct weir_model_ops {
    struct weir_model_run *(*start)(const struct weir_model *m, const struct weir_model_env *env,
                                    const struct weir_model_request *request,
                                    const struct weir_model_events *events, void *ctx);
    void (*set_paused)(struct weir_model_run *run, bool paused); /* back-pressure to the server */
    void (*free)(struct weir_model_run *run);
};

/* Embedded first in a kind's own struct. Const after it was made, shared by all workers. */
struct weir_model {
    const struct weir_model_ops *ops;
};

/* Embedded first in a kind's own struct. */
struct weir_model_run {
    const struct weir_model *model;
};

static inline struct weir_model_run *weir_model_start(const struct weir_model *m,
                                                      const struct weir_model_env *env,
                                                      const struct weir_model_request *request,
                                                      const struct weir_model_events *events,
                                                      void *ctx)
{
    return m->ops->start(m, env, request, events, ctx);
}

static inline void weir_model_pause(struct weir_model_run *run)
{
    run->model->ops->set_paused(run, true);
}

static inline void weir_model_resume(struct weir_model_run *run)
{
    run->model->ops->set_paused(run, false);
}

/* NULL is fine. */
static inline void weir_model_free(struct weir_model_run *run)
{
    if (run != NULL) {
        run->model->ops->free(run);
    }
}

/* For adapters: tells the request's report, if there is one, that the only server was asked. */
void weir_model_tell(const struct weir_model_env *env, const struct weir_model_request *request);

/* The name of a finish reason: "EOS_TOKEN". */
const char *weir_model_finish_name(enum weir_model_finish reason);

#endif
