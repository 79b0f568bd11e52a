#ifndef WEIR_TASK_FORWARD_H
#define WEIR_TASK_FORWARD_H

#include "model/model.h"
#include "task/env.h"

/*
 * A request that is passed to the model server without a look, and its answer as it came. Both are
 * held whole.
 */

/* Exactly one is set. Both live in the request's arena. */
struct weir_task_forwarded {
    const struct weir_fault *fault;
    const struct weir_model_forwarded *answer;
};

/* Called once, never from inside the call that started the task. */
typedef void (*weir_task_forward_fn)(void *ctx, const struct weir_task_forwarded *forwarded);

/* `request` is a WEIR_MODEL_FORWARD; what it points to is borrowed until done. */
void weir_task_forward_start(struct weir_task_ctx *task, const struct weir_model_request *request,
                             weir_task_forward_fn done, void *ctx);

#endif
