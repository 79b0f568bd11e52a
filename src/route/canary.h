#ifndef WEIR_ROUTE_CANARY_H
#define WEIR_ROUTE_CANARY_H

#include "base/arena.h"
#include "task/plan.h"
#include "wire/json_edit.h"

#include <stdint.h>

/*
 * A route's canary word: one that is in the system text of its questions and that no answer should
 * have. It is made of the route's key, its name and the day, so that it is the same for a day (and
 * what servers keep of a prompt holds as long) and known to nobody else. Pure.
 */
enum { WEIR_CANARY_BYTES = 20 };

/* 20 small letters and digits, in the arena; days since 1970, UTC. */
struct weir_slice weir_canary_word(struct weir_slice key, struct weir_slice route, uint64_t day,
                                   struct weir_arena *arena);

/*
 * Makes it the last line of the request's first system text: `system` of Messages, `instructions`
 * of Responses, or the first message of a chat whose role is system or developer; of a text in
 * parts the last part. Where there is none none is added.
 */
void weir_canary_append(struct weir_json_edit *e, struct weir_slice word, struct weir_arena *arena);

/* The plan with that word, and the one of the day before, for its detector `canary` (the last one
 * of the plan), in the arena. */
struct weir_plan weir_canary_plan(const struct weir_plan *output, struct weir_slice key,
                                  struct weir_slice route, uint64_t day, struct weir_arena *arena);

#endif
