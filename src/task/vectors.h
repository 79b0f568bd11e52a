#ifndef WEIR_TASK_VECTORS_H
#define WEIR_TASK_VECTORS_H

#include "model/model.h"
#include "task/completion.h"
#include "task/task.h"

/*
 * Embeddings, rerank and score behind a route: the question is guarded, the answer (numbers) is
 * passed on. A blocked question is a fault with status 400: there is nothing to say instead.
 *
 * `request` is as for a completion: json, model_id, input, inputs and policy are used. It is
 * copied; what it points to lives in the request's arena.
 */
void weir_task_vectors_start(struct weir_task_ctx *task, enum weir_model_op op,
                             const struct weir_task_completion *request, weir_task_done_fn done,
                             void *ctx);

#endif
