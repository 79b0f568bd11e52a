#ifndef WEIR_SERVER_DESCRIBE_H
#define WEIR_SERVER_DESCRIBE_H

#include "route/env.h"

/*
 * What a route looks at and what it does not, as every answer of it says:
 *
 *   x-weir-guarded: input=user,tool; output=content,reasoning; unguarded=history,images
 *
 * `input` are the roles whose messages input detectors look at, `output` the channels of an answer
 * that output detectors look at; `none` where there are no such detectors. `unguarded` names the
 * holes of a side that has detectors: what passes it without being looked at, and detectors that
 * are passed over when they cannot answer, as `pii(skip)`.
 */
struct weir_slice weir_describe_guarded(const struct weir_guarded *g, struct weir_arena *arena);

/* The same of endpoints whose answers nobody looks at: vectors, scores, counts. */
struct weir_slice weir_describe_question(const struct weir_guarded *g, struct weir_arena *arena);

#endif
