#ifndef WEIR_TASK_GENERATION_H
#define WEIR_TASK_GENERATION_H

#include "task/plan.h"
#include "task/scan.h"
#include "task/task.h"

/*
 * Endpoints A and B (docs/api/endpoints.md), on TGIS or caikit-nlp: generation with detectors on
 * input and output, and generation followed by detectors that see prompt and text.
 */
struct weir_task_generation {
    bool is_classification; /* A; otherwise B */
    struct weir_slice model_id;
    struct weir_slice inputs;
    struct weir_model_params params;
    struct weir_plan input; /* A */
    const struct weir_scan_mask *masks;
    size_t n_masks;
    struct weir_plan output; /* A: on the text; B: on prompt and text */
};

/* `request` is copied; what it points to lives in the request's arena. */
void weir_task_generation_start(struct weir_task_ctx *task,
                                const struct weir_task_generation *request, weir_task_done_fn done,
                                void *ctx);

#endif
