#ifndef WEIR_TASK_STORED_H
#define WEIR_TASK_STORED_H

#include "model/model.h"
#include "talk/response_id.h"
#include "task/completion.h"
#include "task/task.h"

/*
 * What a model server keeps of OpenAI's Responses: asked for on a route, and looked at like an
 * answer that is said just now.
 *
 *   model ─┬─ a response ──► as a whole answer is (task/response.h)
 *          ├─ its input ───► every item as JSON: replaced, or refused
 *          └─ deleted ─────► said in our words
 *
 * Where the route annotates, lists and what is said of a deletion leave as they came. A response as
 * a stream is task/response.h's, with the ask in its request.
 */
enum weir_stored_kind {
    WEIR_STORED_RESPONSE, /* GET, or POST …/cancel */
    WEIR_STORED_DELETED,
    WEIR_STORED_INPUT,
};

/* Everything lives in the request's arena. */
struct weir_stored_ask {
    enum weir_stored_kind kind;
    struct weir_slice method;
    struct weir_slice tail;      /* behind /v1/responses, with its query */
    struct weir_slice provider;  /* that has it; p NULL: there is only one */
    struct weir_slice id;        /* as the caller says it */
    struct weir_response_id ids; /* under which ids leave, where the route enforces */
};

/* What the model server is asked. */
static inline struct weir_model_request weir_stored_request(const struct weir_stored_ask *ask)
{
    return (struct weir_model_request){.op = WEIR_MODEL_STORED,
                                       .provider = ask->provider,
                                       .method = ask->method,
                                       .tail = ask->tail};
}

/* Of `request` output and policy are used. Copied. */
void weir_task_stored_start(struct weir_task_ctx *task, const struct weir_task_completion *request,
                            const struct weir_stored_ask *ask, weir_task_done_fn done, void *ctx);

#endif
