#ifndef WEIR_MODEL_DEMO_H
#define WEIR_MODEL_DEMO_H

#include "model/model.h"

/*
 * The demonstration model, `openai: {builtin: demo}`: an OpenAI-compatible server in process, with
 * scripted answers (model/demo_answer.h) instead of a model, so that a machine with nothing else on
 * it has something to guard. It answers what model/openai.h answers, with the same events:
 *
 * - Streams come at a steady pace, one token of every choice each WEIR_DEMO_TOKEN_MS; whole answers
 *   and the others come at once.
 * - The same prompt gets the same text. `model` and `system_fingerprint` are "weir-demo".
 * - A request it cannot read is a fault with status 400 and a message.
 * - Paused, a stream gives neither frames nor its end until it is resumed.
 */
enum { WEIR_DEMO_TOKEN_MS = 25 };

struct weir_model_demo {
    struct weir_model base;
};

void weir_model_demo_init(struct weir_model_demo *m);

#endif
