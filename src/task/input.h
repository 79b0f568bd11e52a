#ifndef WEIR_TASK_INPUT_H
#define WEIR_TASK_INPUT_H

#include "task/asked.h"
#include "task/plan.h"
#include "task/scan.h"
#include "wire/json_write.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The question of a completion as input detectors see it: one text on H and I, everything that is
 * asked on a route (task/asked.h).
 */
struct weir_input_text {
    struct weir_slice text;
    size_t message_index;
    const struct weir_scan_mask *masks;
    size_t n_masks;
};

/* One check, in the request's arena. */
struct weir_input {
    const struct weir_input_text *texts;
    size_t n;
    struct weir_scan *scan;
    struct weir_scan_group **groups; /* as the texts */
    struct weir_asked *asked;        /* of a route; NULL: H and I, or a route without detectors */
};

/* on_done comes later, once; then look at weir_scan_fault(in->scan). */
void weir_input_start(struct weir_input *in, struct weir_task_ctx *task,
                      const struct weir_plan *plan, weir_scan_done_fn on_done, void *ctx);

/* How many findings there are. */
size_t weir_input_n_found(const struct weir_input *in);

/* The array `detections.input`: texts with findings. */
void weir_input_write(struct weir_json_write *w, const struct weir_input *in);

/* Changes the request as the route says. */
void weir_input_edit(const struct weir_input *in, struct weir_json_edit *e);

#endif
