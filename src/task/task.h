#ifndef WEIR_TASK_TASK_H
#define WEIR_TASK_TASK_H

#include "base/slice.h"
#include "client/fault.h"

/*
 * How a unary task ends: with a JSON body or with the fault that stopped it. `done` is called once,
 * never from inside the call that started the task.
 */
struct weir_task_answer {
    const struct weir_fault *fault; /* NULL: it worked */
    struct weir_slice body;         /* lives in the request's arena */
};

typedef void (*weir_task_done_fn)(void *ctx, const struct weir_task_answer *answer);

#endif
