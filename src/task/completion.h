#ifndef WEIR_TASK_COMPLETION_H
#define WEIR_TASK_COMPLETION_H

#include "task/plan.h"
#include "task/scan.h"
#include "task/task.h"
#include "wire/json.h"

/*
 * H and I of api.md: a chat or text completion with detectors on its input and its output.
 */
struct weir_task_completion {
    bool is_chat;                 /* H; otherwise I */
    const struct weir_json *json; /* the caller's request, checked */
    struct weir_slice model_id;
    struct weir_plan input;
    struct weir_plan output;
    struct weir_slice input_text; /* what input detectors look at: the last message, the prompt */
    size_t message_index;
    const struct weir_scan_mask *masks; /* I: of the prompt */
    size_t n_masks;
};

/* `request` is copied; what it points to lives in the request's arena. */
void weir_task_completion_start(struct weir_task_ctx *task,
                                const struct weir_task_completion *request, weir_task_done_fn done,
                                void *ctx);

/* What the model server is sent: the caller's own JSON without what is ours (`detectors`,
 * `stream_options.batching`, `_prompt_masks`); in the public program's order under compat fms. */
struct weir_slice weir_completion_model_body(struct weir_task_ctx *task,
                                             const struct weir_task_completion *request);

/* The answer that replaces a completion when the input has findings (also as a stream's event). */
struct weir_slice weir_completion_unsuitable_input(struct weir_task_ctx *task,
                                                   const struct weir_task_completion *request,
                                                   const struct weir_scan_group *found,
                                                   uint64_t prompt_tokens, bool is_stream);

#endif
