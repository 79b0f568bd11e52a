#include "task/question.h"

#include "base/assert.h"
#include "task/beside.h"
#include "task/stored.h"

/* ---- the model ---- */

static void make_model_request(struct weir_question *q)
{
    struct weir_stream *s = q->stream;
    if (q->request->stored != NULL) {
        s->model_request = weir_stored_request(q->request->stored);
    } else {
        s->model_request = (struct weir_model_request){
            .op = q->op,
            .model_id = q->request->model_id,
            .provider = q->request->provider,
            .body = weir_completion_model_body(s->task, q->request, q->input)};
    }
    s->model_request.is_stream = s->out != NULL;
}

/* Services still look at the question. */
static void ask_beside(void *ctx)
{
    struct weir_question *q = ctx;
    struct weir_stream *s = q->stream;
    make_model_request(q);
    s->run = weir_beside_start(s->task, &s->model_request, q->ops->answer, s);
}

static void ask(struct weir_question *q)
{
    struct weir_stream *s = q->stream;
    if (q->ops->good != NULL) {
        q->ops->good(s);
    }
    if (s->run != NULL) { /* it was asked beside */
        weir_beside_release(s->run);
        return;
    }
    make_model_request(q);
    weir_stream_ask(s, s->task->env->openai, q->ops->answer, s);
}

/* ---- what was found is the answer ---- */

static void on_tokens(void *ctx, const struct weir_model_frame *frame)
{
    struct weir_question *q = ctx;
    q->n_tokens = frame->n_tokens;
}

/* The count is a courtesy: without it the usage is zero. */
static void on_tokenized(void *ctx, const struct weir_fault *fault)
{
    struct weir_question *q = ctx;
    if (fault != NULL && q->stream->task->env->compat.needs_count) {
        weir_stream_fail(q->stream, fault);
    } else {
        q->ops->tell(q->stream, q->n_tokens);
    }
}

static const struct weir_model_events TOKENIZE_EVENTS = {
    .on_frame = on_tokens,
    .on_done = on_tokenized,
};

static void count_tokens(struct weir_question *q)
{
    struct weir_stream *s = q->stream;
    WEIR_ASSERT(q->ops->tell != NULL);
    s->model_request = (struct weir_model_request){
        .op = WEIR_MODEL_TOKENIZE, .model_id = q->request->model_id, .text = q->request->prompt};
    weir_stream_ask(s, s->task->env->openai, &TOKENIZE_EVENTS, q);
}

/* ---- the check ---- */

static void refuse(struct weir_question *q)
{
    if (q->request->policy->block_as == WEIR_POLICY_BLOCK_AS_ERROR) {
        struct weir_fault refused = weir_completion_block_fault(q->request);
        weir_stream_fail(q->stream, &refused);
    } else {
        q->ops->refuse(q->stream);
    }
}

static void on_scanned(void *ctx, struct weir_scan *scan)
{
    struct weir_question *q = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    if (fault != NULL) {
        weir_stream_fail(q->stream, fault);
        return;
    }
    enum weir_completion_next next = weir_completion_judge_input(q->request, q->input);
    if (next != WEIR_COMPLETION_ASK) {
        weir_stream_stop_model(q->stream);
    }
    switch (next) {
    case WEIR_COMPLETION_ASK:
        ask(q);
        break;
    case WEIR_COMPLETION_TELL:
        count_tokens(q);
        break;
    case WEIR_COMPLETION_REFUSE:
        refuse(q);
        break;
    case WEIR_COMPLETION_FAIL:
        weir_stream_fail(q->stream, weir_asked_fault(q->input->asked));
        break;
    }
}

void weir_question_start(struct weir_question *q)
{
    *q->input = weir_completion_input(q->request);
    if (q->request->input.n != 0 && q->input->n != 0) {
        weir_completion_start_input(
            q->request, q->input, q->stream->task,
            &(struct weir_completion_check){.done = on_scanned, .ask = ask_beside, .ctx = q});
        return;
    }
    if (q->request->input.n != 0) {
        weir_completion_judge_input(q->request, q->input); /* counted: nothing was said */
    }
    ask(q);
}
