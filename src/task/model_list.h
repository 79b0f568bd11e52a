#ifndef WEIR_TASK_MODEL_LIST_H
#define WEIR_TASK_MODEL_LIST_H

#include "task/env.h"
#include "task/task.h"

/*
 * GET /v1/models of a fleet: the names of `models` that are no patterns, and for those that are,
 * what their providers list. `owned_by` is the provider. A provider that cannot be asked is left
 * out, with a warning in the log; each is asked at most once a minute (model/listing.h).
 */

/* `scope` is borrowed until done. The answer is never a fault. */
void weir_task_model_list_start(struct weir_task_ctx *task, const struct weir_fleet_scope *scope,
                                weir_task_done_fn done, void *ctx);

#endif
