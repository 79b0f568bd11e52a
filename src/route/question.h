#ifndef WEIR_ROUTE_QUESTION_H
#define WEIR_ROUTE_QUESTION_H

#include "route/fields.h"
#include "task/input.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What of an OpenAI request a route's input detectors look at: the messages of certain roles after
 * the last answer of the assistant, part by part; or the prompts of a completion.
 */
struct weir_question {
    struct weir_input_text *texts;
    size_t n;
};

/* `is_strict`: what cannot be checked is refused (422), otherwise it is passed on. 0, or
 * WEIR_EINVAL with f->error. `roles` are bits of enum weir_conf_message_role. */
int weir_question_of_chat(struct weir_question *q, struct weir_fields *f, uint32_t messages,
                          uint32_t roles, bool is_strict);
int weir_question_of_prompt(struct weir_question *q, struct weir_fields *f, bool is_strict);

#endif
