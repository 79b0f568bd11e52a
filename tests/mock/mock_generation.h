#ifndef WEIR_MOCK_GENERATION_H
#define WEIR_MOCK_GENERATION_H

#include "mock/mock_grpc.h"
#include "mock/mock_script.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Text generation over gRPC: what caikit and TGIS have in common. A dialect turns a frame into its
 * own message.
 *
 *   stream:  [input_token_count, seed] ─► [a token] … ─► [finish reason]
 *   unary:   one frame with all of it
 */
struct weir_mock_frame {
    struct weir_slice text;
    const struct weir_mock_part *tokens; /* those of the text; none where not asked for */
    size_t n_tokens;
    bool is_first;
    bool has_input_tokens;
    unsigned finish; /* of both dialects' enums, 0: not yet */
    size_t n_generated;
};

struct weir_mock_generation {
    /* Set by the dialect. */
    struct weir_slice prompt;
    uint32_t max_tokens; /* WEIR_MOCK_UNSET */
    bool wants_tokens;
    bool wants_logprobs;
    bool wants_ranks;
    bool wants_input_tokens;
    bool wants_input_text;
    uint64_t seed;
    void (*pack)(const struct weir_mock_generation *g, const struct weir_mock_frame *frame,
                 struct weir_buf *out); /* framed */
    /* The rest is its own. */
    struct weir_mock_call *call;
    struct weir_mock_ask ask;
    struct weir_mock_script script;
    size_t n_input_tokens;
    size_t n_generated;
    uint64_t n_frames;
};

/* False: it has failed, and the call with it. */
bool weir_mock_generation_init(struct weir_mock_generation *g, struct weir_mock_call *call);

/* The whole text as one frame; tokens and text live in the arena. WEIR_ELIMIT: too much. */
int weir_mock_generation_whole(struct weir_mock_generation *g, struct weir_mock_frame *out);

/* All of it as a stream. */
void weir_mock_generation_play(struct weir_mock_generation *g);

/* A token's numbers: nothing depends on them. */
double weir_mock_generation_logprob(size_t at);
unsigned weir_mock_generation_rank(size_t at);

#endif
