#ifndef WEIR_TASK_SCAN_H
#define WEIR_TASK_SCAN_H

#include "task/env.h"
#include "task/plan.h"
#include "task/results.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Detectors over complete texts, all at once.
 *
 *   group ─┬─ text ─┬─ chunker a ─┬─ detector 1      each distinct chunker cuts a text once,
 *          │        │             └─ detector 2      each detector gets all chunks in one call
 *          │        └─ chunker b ─── detector 3
 *          └─ whole (chat, context, generation) ─── detector 4
 *
 * A group is what findings are asked for: a message, a choice. The first fault ends the scan and
 * cancels the rest. Everything is undone with the request's arena. Large texts and many findings
 * are worked on in steps (io/loop.h).
 */
struct weir_scan;
struct weir_scan_job;

struct weir_scan_mask {
    size_t start_cp;
    size_t end_cp;
};

struct weir_scan_group {
    struct weir_scan *scan;
    const struct weir_detection **found; /* when done: in the order of task/order.h */
    size_t n_found;
    size_t n_text_found; /* of them, by text_contents detectors */
    enum weir_results_shape shape;
    struct weir_buf results; /* when done: as JSON in that shape, commas between them, behind what
                                the owner put there before the start */
    struct weir_scan_group *next;
    struct weir_scan_job *jobs; /* in order of adding */
    struct weir_scan_job **jobs_tail;
    /* Reported to the request's watcher (task/trace.h) for each detector's answer: kind VERDICT,
     * choice and range. All-zero: nothing is reported. */
    struct weir_task_step watched;
};

typedef void (*weir_scan_done_fn)(void *ctx, struct weir_scan *scan);

/* In the request's arena. */
struct weir_scan *weir_scan_new(struct weir_task_ctx *task, weir_scan_done_fn on_done, void *ctx);
/* From now on the texts that are added go to a service in one request, as far as its protocol
 * takes many (detector->takes_many). */
void weir_scan_share(struct weir_scan *scan);
/* WEIR_RESULTS_NONE: nobody needs the findings as JSON. */
struct weir_scan_group *weir_scan_add_group(struct weir_scan *scan, enum weir_results_shape shape);

/* The text_contents detectors of `plan` look at `text`, or at its masked parts only. The text and
 * the plan must live as long as the scan. */
void weir_scan_add_text(struct weir_scan_group *group, const struct weir_plan *plan,
                        struct weir_slice text);
void weir_scan_add_masked(struct weir_scan_group *group, const struct weir_plan *plan,
                          struct weir_slice text, const struct weir_scan_mask *masks,
                          size_t n_masks);

/* One detector looks at the whole; type, params and threshold are filled in from `use`. */
void weir_scan_add_whole(struct weir_scan_group *group, const struct weir_plan_use *use,
                         const struct weir_detect_input *input);

/* Before it is started: who is told, once at most, that all detectors that are no services have
 * answered while services have not. `n_found` is what they found. */
typedef void (*weir_scan_local_fn)(void *ctx, size_t n_found);
void weir_scan_on_local(struct weir_scan *scan, weir_scan_local_fn fn, void *ctx);

/* on_done comes later, once, never from inside this call. */
void weir_scan_start(struct weir_scan *scan);

/* Stops everything; on_done will not come. NULL is fine, so is a scan that is done. */
void weir_scan_cancel(struct weir_scan *scan);

/* After it is done: a group's findings as one array. */
void weir_scan_write_results(struct weir_json_write *w, const struct weir_scan_group *group);

/* After it is done: why it failed, or NULL. */
const struct weir_fault *weir_scan_fault(const struct weir_scan *scan);

#endif
