#ifndef WEIR_TASK_CONTENTS_H
#define WEIR_TASK_CONTENTS_H

#include "task/env.h"
#include "task/plan.h"
#include "task/task.h"

/*
 * Runs detectors on texts as they are, for callers that use this server as a detector. They have
 * cut the texts already, so no chunker is called. The answer is the detector API's: one list per
 * content, with the findings of the plan's detectors one after the other.
 */
struct weir_task_contents {
    struct weir_plan plan; /* of text_contents detectors */
    const struct weir_slice *contents;
    size_t n_contents;
    struct weir_slice within; /* what most of them are slices of; or "" */
};

/* What the request points at must live as long as the task's arena. */
void weir_task_contents_start(struct weir_task_ctx *task, const struct weir_task_contents *request,
                              weir_task_done_fn done, void *ctx);

#endif
