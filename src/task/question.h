#ifndef WEIR_TASK_QUESTION_H
#define WEIR_TASK_QUESTION_H

#include "task/completion.h"
#include "task/stream.h"

/*
 * The question of a completion, in every dialect, streamed or not: it is looked at, and then the
 * model server is asked, or not.
 *
 *   start ─┬─ nobody looks at it ─────────► good ─► the model is asked
 *          └─ looked at ─┬─ nothing wrong ► good ─► the model is asked
 *                        ├─ blocked ──────► refuse, or the error that the route wants
 *                        ├─ found (H, I) ─► its tokens are counted ─► tell
 *                        └─ failed ───────► the answer fails
 *
 * Where the route asks beside the check (task/beside.h), the model has been asked by then, and what
 * it said is told once the question is known to be good.
 */
struct weir_question_ops {
    void (*good)(struct weir_stream *s);                    /* may be NULL */
    void (*refuse)(struct weir_stream *s);                  /* the model is not asked */
    void (*tell)(struct weir_stream *s, uint64_t n_tokens); /* H, I: what was found is the answer */
    const struct weir_model_events *answer; /* what the model says; their ctx is the stream */
};

/* Part of its owner. What it points to is the owner's, too. */
struct weir_question {
    const struct weir_question_ops *ops;
    struct weir_stream *stream;
    struct weir_task_completion *request;
    struct weir_input *input; /* is filled */
    enum weir_model_op op;
    uint64_t n_tokens;
};

/* The members above are set. */
void weir_question_start(struct weir_question *q);

#endif
