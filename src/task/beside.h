#ifndef WEIR_TASK_BESIDE_H
#define WEIR_TASK_BESIDE_H

#include "model/model.h"
#include "task/env.h"

/*
 * `input_check: beside`: the model is asked while services still look at the question. What it
 * answers, an error included, is held until the question is known to be good.
 *
 *   start ─► the model server is asked; frames and the end are kept, and it is not read any further
 *   release ─► they are told, in order, and then the run is like any other
 *   weir_model_free ─► the server's request is reset, and nothing is told
 *
 * It is a run like any other (model/model.h): paused, resumed and freed as one, in the request's
 * arena. `request` must live as long.
 */
struct weir_model_run *weir_beside_start(struct weir_task_ctx *task,
                                         const struct weir_model_request *request,
                                         const struct weir_model_events *events, void *ctx);

/* Once, of a run that was started here. Nothing is told from inside of it. */
void weir_beside_release(struct weir_model_run *run);

#endif
