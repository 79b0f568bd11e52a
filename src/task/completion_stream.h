#ifndef WEIR_TASK_COMPLETION_STREAM_H
#define WEIR_TASK_COMPLETION_STREAM_H

#include "task/completion.h"
#include "task/gather.h"
#include "task/out.h"

/*
 * Endpoints H and I, and routes, with `stream: true`: the model server's events, guarded. `out` and
 * what `request` points to live in the request's arena; the task ends with out->ops->end or fail,
 * or with the arena.
 */
void weir_completion_stream_start(struct weir_task_ctx *task,
                                  const struct weir_task_completion *request,
                                  const struct weir_gather_strategy *strategy,
                                  struct weir_out *out);

#endif
