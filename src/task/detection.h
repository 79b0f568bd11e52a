#ifndef WEIR_TASK_DETECTION_H
#define WEIR_TASK_DETECTION_H

#include "task/plan.h"
#include "task/task.h"

/*
 * Detection alone, without a model: endpoints C (content), E (chat), F (context), G (generated).
 */
struct weir_task_detection {
    struct weir_plan plan;
    enum weir_detect_type type;     /* of all its detectors */
    struct weir_slice content;      /* C, F */
    struct weir_detect_input whole; /* E, F, G: what the detectors look at */
};

/* `request` is copied; what it points to lives in the request's arena. */
void weir_task_detection_start(struct weir_task_ctx *task,
                               const struct weir_task_detection *request, weir_task_done_fn done,
                               void *ctx);

#endif
