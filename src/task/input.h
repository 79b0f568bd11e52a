#ifndef WEIR_TASK_INPUT_H
#define WEIR_TASK_INPUT_H

#include "task/plan.h"
#include "task/scan.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The question of a completion as input detectors see it: one text on H and I, on a route every
 * text of the messages that the route checks.
 */
#define WEIR_INPUT_NO_PART SIZE_MAX

struct weir_input_text {
    struct weir_slice text;
    size_t message_index;
    size_t part_index; /* of array content; else WEIR_INPUT_NO_PART */
    uint32_t node;     /* the string in the request's JSON */
    const struct weir_scan_mask *masks;
    size_t n_masks;
};

/* One check, in the request's arena. */
struct weir_input {
    const struct weir_input_text *texts;
    size_t n;
    enum weir_results_shape shape; /* of the findings as JSON */
    struct weir_scan *scan;
    struct weir_scan_group **groups; /* as the texts */
};

/* on_done comes later, once; then look at weir_scan_fault(in->scan). */
void weir_input_start(struct weir_input *in, struct weir_task_ctx *task,
                      const struct weir_plan *plan, weir_scan_done_fn on_done, void *ctx);

/* How many findings there are. */
size_t weir_input_n_found(const struct weir_input *in);

/* The array `detections.input`: texts with findings. */
void weir_input_write(struct weir_json_write *w, const struct weir_input *in);

/* Has every finding a span that can be replaced? */
bool weir_input_can_redact(const struct weir_input *in);

/* Replaces findings in the request, if all can be. The new texts live in the task's arena. */
void weir_input_redact(const struct weir_input *in, struct weir_task_ctx *task,
                       struct weir_slice redact_with, struct weir_json_edit *e);

#endif
