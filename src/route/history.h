#ifndef WEIR_ROUTE_HISTORY_H
#define WEIR_ROUTE_HISTORY_H

#include "base/arena.h"
#include "wire/json.h"

#include <stddef.h>

/*
 * Do tool calls and their results in a chat history belong together? A result without an earlier
 * call, a call without a result, one id used twice: each is a sentence. Nothing is changed.
 */
enum { WEIR_HISTORY_MAX_PROBLEMS = 16 }; /* more are left out */

struct weir_history {
    const char *problems[WEIR_HISTORY_MAX_PROBLEMS]; /* in the arena */
    size_t n;
};

/* `messages` is an array. */
void weir_history_check(struct weir_history *h, const struct weir_json *json, uint32_t messages,
                        struct weir_arena *arena);

/* The problems as warnings: JSON objects of type HISTORY, commas between them; "" when none. */
struct weir_slice weir_history_warnings(const struct weir_history *h, struct weir_arena *arena);

#endif
