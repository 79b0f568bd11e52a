#ifndef WEIR_ROUTE_ADJUST_H
#define WEIR_ROUTE_ADJUST_H

#include "base/arena.h"
#include "base/buf.h"
#include "conf/conf.h"
#include "wire/json.h"

#include <stdbool.h>

/*
 * What is changed in a request before anybody else looks at it, the model server included: what a
 * chat's history repeats is left out, how much the model may write is limited, and a system text
 * gets the route's canary word. Pure.
 */
struct weir_adjust_options {
    bool is_chat;
    bool merges_history;
    const char *member; /* that a request without a limit gets; NULL: as `is_chat` has it */
    struct weir_conf_max_tokens max_tokens;
    struct weir_slice canary;       /* route/canary.h: a word for the system text; empty: none */
    struct weir_json_limits limits; /* for reading the changed request */
};

struct weir_adjust {
    const struct weir_json *json; /* the request as it goes on, in the arena where it was changed */
    struct weir_slice warnings; /* JSON objects, commas between them, of what was changed; or "" */
    const char *conflict;       /* the history contradicts itself: 400 with this. Or NULL */
};

/*
 * `max_completion_tokens`, `max_tokens`, `max_output_tokens` and `n_predict` (llama.cpp), as many
 * as the request has: what is above the cap, or is no number from 0 to it, becomes the cap, with a
 * warning of the type MAX_TOKENS. A request that has none gets the default, or else the cap.
 */
struct weir_adjust weir_adjust(const struct weir_json *request,
                               const struct weir_adjust_options *options, struct weir_arena *arena);

#endif
