#ifndef WEIR_TASK_ENFORCE_UNARY_H
#define WEIR_TASK_ENFORCE_UNARY_H

#include "task/completion.h"

/*
 * A whole answer on a route that blocks or redacts: every choice goes through its guard
 * (task/checked.h), then `done` gets the answer, as with weir_task_completion_start. What the
 * options point to lives in the request's arena.
 */
struct weir_enforce_options {
    struct weir_task_ctx *task;
    const struct weir_task_completion *request;
    const struct weir_input *input;
    const struct weir_json *answer; /* an object */
    weir_task_done_fn done;
    void *ctx;
};
void weir_enforce_start(const struct weir_enforce_options *options);

#endif
