#ifndef WEIR_TASK_RESPONSE_H
#define WEIR_TASK_RESPONSE_H

#include "talk/response_id.h"
#include "task/completion.h"
#include "task/out.h"

/*
 * A response of OpenAI's Responses (talk/responses.h) on a route: the question is looked at as that
 * of a completion, the answer is a row of items and their parts (task/row.h). `request` is copied.
 *
 *             text                 reasoning, refusals  calls, other items     annotations
 *   annotate  leaves with findings  all leave, and findings are told at the end
 *   redact    leaves, replaced     leave, replaced      held, then replaced    finding: left out
 *   block     a finding ends the answer, wherever it is
 *
 * Where the route blocks or redacts, everything that is said twice is said as it left: deltas,
 * `done` events, items and the whole response agree, whatever the model server repeats.
 *
 * Ids of responses leave under `ids` (talk/response_id.h) where the route enforces; without a
 * secret they leave as they came.
 */
struct weir_task_response {
    struct weir_task_completion completion;
    /* The request as the caller sent it, without what the route adds: what repeats it leaves as it
     * stands there. NULL: not at hand, and that is looked at. */
    const struct weir_json *sent;
    struct weir_response_id ids;
    struct weir_slice server; /* that has it; empty: as task->call.model_report tells */
};

void weir_task_response_start(struct weir_task_ctx *task, const struct weir_task_response *request,
                              weir_task_done_fn done, void *ctx);
void weir_response_stream_start(struct weir_task_ctx *task,
                                const struct weir_task_response *request, struct weir_out *out);

/*
 * The same of a response that a model server has kept: `answer` is its JSON, in the arena, and no
 * model is asked. `completion` has the route's policy and output plan and no input; without `sent`
 * what repeats a request is looked at, and left out with a finding.
 */
void weir_task_response_guard(struct weir_task_ctx *task, const struct weir_task_response *request,
                              struct weir_slice answer, weir_task_done_fn done, void *ctx);

#endif
