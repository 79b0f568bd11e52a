#ifndef WEIR_TASK_MODELS_H
#define WEIR_TASK_MODELS_H

#include "task/env.h"
#include "task/task.h"

/* GET /v1/models: the model server's own list, as it is. */
void weir_task_models_start(struct weir_task_ctx *task, weir_task_done_fn done, void *ctx);

#endif
