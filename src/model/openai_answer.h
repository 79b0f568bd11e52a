#ifndef WEIR_MODEL_OPENAI_ANSWER_H
#define WEIR_MODEL_OPENAI_ANSWER_H

#include "base/arena.h"
#include "base/slice.h"
#include "client/fault.h"
#include "wire/sse.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What OpenAI-compatible servers say when they do not answer with a completion. Pure. Shapes seen
 * in the wild, each tried in this order for a message:
 *
 *   {"error":{"message":"…","code":400}}      OpenAI, vLLM today
 *   {"error":"…"}                             TGI, Ollama
 *   {"object":"error","message":"…","code"}   vLLM formerly: "flat"
 *   {"detail":"…"}, {"detail":[{"msg":"…"}]}  FastAPI
 */

/*
 * Is the event an error? Its `error` member is not null, or it is the flat form without `choices`,
 * or its name is "error". Costs next to nothing for events that do not speak of errors.
 */
bool weir_openai_answer_is_error(const struct weir_sse_event *event);

/* Sets the message of the fault, clean; empty where the body has none that can be read. */
void weir_openai_answer_message(struct weir_fault *fault, struct weir_slice body,
                                struct weir_arena *arena);

/* The same for an error event; also sets the fault's status: the one in the event, or 0. */
void weir_openai_answer_event(struct weir_fault *fault, struct weir_slice data,
                              struct weir_arena *arena);

/* NULL when the body is JSON that can be read; otherwise what is wrong, in the arena. */
const char *weir_openai_answer_check(struct weir_slice body, struct weir_arena *arena);

/* `count` of a tokenizer's answer: NULL and *count, or what is wrong, in the arena. */
const char *weir_openai_answer_count(struct weir_slice body, struct weir_arena *arena,
                                     uint64_t *count);

#endif
