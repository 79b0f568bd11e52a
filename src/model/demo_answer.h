#ifndef WEIR_MODEL_DEMO_ANSWER_H
#define WEIR_MODEL_DEMO_ANSWER_H

#include "base/slice.h"

#include <stddef.h>

/*
 * What the demonstration model says, and its tokens. Every answer says that it is a script; most
 * have something in them that a built-in detector finds.
 */
struct weir_demo_answer {
    const char *name;
    const char *words; /* a prompt with one of these words gets this answer; a space around each */
    const char *reasoning; /* NULL: it just speaks */
    const char *text;
};

/* The answer whose word stands first in the prompt; the default if no answer has a word in it.
 * Only the prompt's beginning is read. */
const struct weir_demo_answer *weir_demo_answer_pick(struct weir_slice prompt);

/* Another choice of the same request says something else: the k-th answer after this one, round. */
const struct weir_demo_answer *weir_demo_answer_after(const struct weir_demo_answer *answer,
                                                      size_t k);

/* What is said after a tool has answered. */
extern const struct weir_demo_answer weir_demo_answer_tool_result;

/* For tests: the i-th answer, NULL after the last; the first is the default. */
const struct weir_demo_answer *weir_demo_answer_at(size_t i);

/*
 * Tokens: a word with the space before it, or a part of a long one. Takes valid UTF-8 that is not
 * empty; `*rest` moves behind the token.
 */
struct weir_slice weir_demo_answer_token(struct weir_slice *rest);

/* How many tokens there are in a text. */
size_t weir_demo_answer_count(struct weir_slice text);

#endif
