#ifndef WEIR_TASK_PROMISE_H
#define WEIR_TASK_PROMISE_H

#include "client/fault.h"
#include "task/env.h"

#include <stdbool.h>

/*
 * The product's promise is checked where text and tool calls leave: on routes that block or redact
 * everything that leaves was judged, elsewhere the content was. The checks do not use the decisions
 * they check (weir_path_has_judged, weir_guard_has_judged).
 *
 * A broken promise is a fault of this program. Debug and fuzz builds abort. A release build fails
 * that one request with the fault below before anything leaves, counts it
 * (weir_promise_broken_total) and logs what was about to leave, never its text.
 */
struct weir_promise {
    const struct weir_task_ctx *task;
    const char *what; /* that was about to leave: "content", "tool calls" */
    uint64_t choice;
};

/* So that the counter is shown before anything is counted. */
void weir_promise_declare(void);

/* Counts and logs a broken promise; returns the fault that the request fails with. */
struct weir_fault weir_promise_broken(const struct weir_promise *promise);

/* For tests of what a release build does. */
void weir_promise_set_aborts(bool aborts);

#endif
