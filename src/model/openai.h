#ifndef WEIR_MODEL_OPENAI_H
#define WEIR_MODEL_OPENAI_H

#include "client/target.h"
#include "model/model.h"

/*
 * A server that speaks OpenAI's API: POST /v1/chat/completions and /v1/completions, whole or as a
 * stream, GET /v1/models, and POST /tokenize as vLLM has it.
 *
 * - A whole answer is one frame, JSON that can be read; the status 200 or a fault.
 * - A 200 answer to a request with is_stream is read as events whatever its content type; a frame
 *   each. `[DONE]`, or the proper end of the body without it, is the end; a connection that was cut
 *   is a fault. Events behind `[DONE]` are not read.
 * - An event that is an error (openai_answer.h) is the last frame, with is_error, and a fault with
 *   its message follows.
 * - TOKENIZE: statuses 404, 405 and 501 are a fault with status 404: this server has no tokenizer.
 * - FORWARD: a whole answer of any kind and status is one frame; only a 401 for a key that is not
 *   the caller's own, and a compressed body, are faults.
 * - Paused, a stream gives neither frames nor its end until it is resumed; a whole answer comes all
 *   the same.
 *
 * Faults carry the request's model_id; those of MODELS count as chat completion's.
 */
struct weir_model_openai {
    struct weir_model base;
    const struct weir_target *target;
};

/* `target` is borrowed. */
void weir_model_openai_init(struct weir_model_openai *m, const struct weir_target *target);

#endif
