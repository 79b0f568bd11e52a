#ifndef WEIR_TASK_COMPLETION_H
#define WEIR_TASK_COMPLETION_H

#include "talk/dialect.h"
#include "task/input.h"
#include "task/plan.h"
#include "task/policy.h"
#include "task/scan.h"
#include "task/task.h"
#include "wire/json.h"

/*
 * A chat or text completion with detectors on its input and its output: endpoints H and I
 * (docs/api/endpoints.md), and the same behind a route, whose policy says what findings lead to.
 *
 *             findings on the input            findings on the output
 *   H, I      are the answer, no completion    reported
 *   annotate  reported with the answer         reported
 *   block     refused, no model is asked       the choice ends there
 *   redact    replaced before the model sees   replaced
 */
struct weir_stored_ask; /* task/stored.h */

struct weir_task_completion {
    bool is_chat;                 /* H; otherwise I */
    const struct weir_json *json; /* the caller's request, checked */
    struct weir_slice model_id;
    struct weir_plan input;
    struct weir_plan output;
    const struct weir_input_text *inputs; /* H, I: what input detectors look at … */
    size_t n_inputs;
    struct weir_asked *asked; /* … on a route; NULL: nobody looks */
    struct weir_slice prompt; /* the question as one text: counted in tokens (H, I), and what
                                 text_generation detectors are given */
    const struct weir_policy *policy; /* NULL: H and I */
    struct weir_slice
        warnings;           /* JSON objects, commas between them, that ride on the answer; or "" */
    uint64_t n_choices;     /* that were asked for; 0: one */
    bool may_be_given_more; /* the request does not say how many */
    bool asks_json;         /* the caller wants the answer to be JSON */
    bool stores_nothing;    /* Responses, where enforced or asked beside the check of the question:
                               an absent `store` is sent as false */
    /* Responses: what it goes on from, or is, only this provider has. p NULL: nobody in particular
     */
    struct weir_slice provider;
    struct weir_slice
        previous; /* the server's own id of what it goes on from; p NULL: as it says */
    const struct weir_stored_ask *stored; /* a stream that is kept, in the place of a question */
};

/* How its answer is read and written. */
static inline const struct weir_dialect *
weir_completion_dialect(const struct weir_task_completion *request)
{
    return request->is_chat ? &weir_openai_chat : &weir_openai_completions;
}

/* `request` is copied; what it points to lives in the request's arena. */
void weir_task_completion_start(struct weir_task_ctx *task,
                                const struct weir_task_completion *request, weir_task_done_fn done,
                                void *ctx);

/* The check of its input, not yet started. */
struct weir_input weir_completion_input(const struct weir_task_completion *request);

/* Starts the check. Where the route asks beside it (task/beside.h), `ask` is called, once at most
 * and before `done`, when detectors that are no services have looked and nothing they found blocks.
 */
struct weir_completion_check {
    weir_scan_done_fn done;
    void (*ask)(void *ctx);
    void *ctx;
};
void weir_completion_start_input(const struct weir_task_completion *request,
                                 struct weir_input *input, struct weir_task_ctx *task,
                                 const struct weir_completion_check *check);

/* What findings on the input lead to; counted where there is a policy. */
enum weir_completion_next {
    WEIR_COMPLETION_ASK,    /* the model is asked */
    WEIR_COMPLETION_TELL,   /* H, I: the findings are the answer */
    WEIR_COMPLETION_REFUSE, /* block */
    WEIR_COMPLETION_FAIL,   /* what was found can only be refused: weir_asked_fault */
};
enum weir_completion_next weir_completion_judge_input(const struct weir_task_completion *request,
                                                      const struct weir_input *input);

/* `block_as: error`, where nothing has been said yet. */
struct weir_fault weir_completion_block_fault(const struct weir_task_completion *request);

/* What the model server is sent: the caller's own JSON without what is ours (`detectors`,
 * `stream_options.batching`, `_prompt_masks`), changed where the policy says so; in the public
 * program's order under compat fms. Where it was changed, it is the request from now on: detectors
 * of the whole exchange see what the model server sees. */
struct weir_slice weir_completion_model_body(struct weir_task_ctx *task,
                                             struct weir_task_completion *request,
                                             const struct weir_input *input);

/* The messages of `request` and the one at node `message` of `answer`, as one array. */
struct weir_slice weir_completion_history(struct weir_task_ctx *task,
                                          const struct weir_json *request,
                                          const struct weir_json *answer, uint32_t message);

/* The answer that replaces a completion when the input has findings (also as a stream's event). */
struct weir_slice weir_completion_unsuitable_input(struct weir_task_ctx *task,
                                                   const struct weir_task_completion *request,
                                                   const struct weir_input *input,
                                                   uint64_t prompt_tokens, bool is_stream);

/* The answer of a route that blocks the input; streams say it in two events. */
struct weir_slice weir_completion_refused_input(struct weir_task_ctx *task,
                                                const struct weir_task_completion *request,
                                                const struct weir_input *input);
void weir_completion_refused_events(struct weir_task_ctx *task,
                                    const struct weir_task_completion *request,
                                    const struct weir_input *input, struct weir_slice events[2]);

/* What of the input rides on an answer: the arrays `detections.input` and `warnings`. False:
 * nothing does, and nothing was appended. */
bool weir_completion_write_input(const struct weir_input *input, struct weir_buf *out);
bool weir_completion_write_input_warnings(const struct weir_task_completion *request,
                                          const struct weir_input *input, struct weir_buf *out);

#endif
