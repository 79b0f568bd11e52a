#ifndef WEIR_TASK_GENERATION_STREAM_H
#define WEIR_TASK_GENERATION_STREAM_H

#include "task/gather.h"
#include "task/generation.h"
#include "task/out.h"

/*
 * Endpoint A (docs/api/endpoints.md) as a stream: a generation server's messages, guarded. What
 * `request` points to, and `out`, live in the request's arena; the task ends with out->ops->end or
 * fail, or with the arena.
 */
void weir_generation_stream_start(struct weir_task_ctx *task,
                                  const struct weir_task_generation *request,
                                  const struct weir_gather_strategy *strategy,
                                  struct weir_out *out);

#endif
