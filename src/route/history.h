#ifndef WEIR_ROUTE_HISTORY_H
#define WEIR_ROUTE_HISTORY_H

#include "base/arena.h"
#include "wire/json.h"
#include "wire/json_edit.h"

#include <stddef.h>

/*
 * Do tool calls and their results in a chat history belong together? A result without an earlier
 * call, a call without a result, one id used twice: each is a sentence. The check changes nothing;
 * merging takes out what is repeated word for word, so that an agent that was started again with
 * its own history does not loop.
 */
enum { WEIR_HISTORY_MAX_PROBLEMS = 16 }; /* more are left out */

struct weir_history {
    const char *problems[WEIR_HISTORY_MAX_PROBLEMS]; /* in the arena */
    size_t n;
};

/* `messages` is an array. */
void weir_history_check(struct weir_history *h, const struct weir_json *json, uint32_t messages,
                        struct weir_arena *arena);

struct weir_history_merge {
    struct weir_history said; /* what was left out, a sentence each */
    size_t n_merged;          /* how much; more than there are sentences, perhaps */
    const char *conflict;     /* one id, two meanings: the request is to be refused. Or NULL */
};

/*
 * Adds to `edit` what takes out of its document: a tool call with the id, name and arguments of an
 * earlier one; a result with the id and content of an earlier one; a message that is the same as
 * the one kept before it; a message that has nothing left. Merging the result again changes
 * nothing. With a conflict the edit is of no use.
 */
void weir_history_merge(struct weir_history_merge *m, uint32_t messages,
                        struct weir_json_edit *edit, struct weir_arena *arena);

/* The problems as warnings: JSON objects of type HISTORY, commas between them; "" when none. */
struct weir_slice weir_history_warnings(const struct weir_history *h, struct weir_arena *arena);

#endif
