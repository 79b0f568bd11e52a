#include "task/rowed.h"

#include "base/err.h"
#include "base/utf8.h"
#include "task/beside.h"
#include "task/scratch.h"
#include "task/seen.h"
#include "task/shadow.h"
#include "task/stored.h"

#include <stdlib.h>

void weir_rowed_stop_model(struct weir_rowed *r)
{
    weir_model_free(r->run);
    r->run = NULL;
}

/* Who failed may be in the middle of telling, so what runs is stopped later. */
static void on_cleanup(struct weir_post *post)
{
    struct weir_rowed *r = WEIR_LIST_ENTRY(post, struct weir_rowed, cleanup);
    weir_rowed_stop_model(r);
    weir_row_free(r->row);
    r->row = NULL;
}

void weir_rowed_fail(struct weir_rowed *r, const struct weir_fault *fault)
{
    if (r->is_over) {
        return;
    }
    const struct weir_fault *kept = weir_fault_keep(r->task->arena, fault);
    r->is_over = true;
    weir_loop_post(r->task->loop, &r->cleanup);
    if (r->is_stream) {
        weir_source_end(&r->source);
        r->out->ops->fail(r->out, kept);
    } else {
        struct weir_task_answer answer = {.fault = kept};
        r->done(r->ctx, &answer);
    }
}

void weir_rowed_fail_model(struct weir_rowed *r, const char *why)
{
    weir_rowed_fail(r, &(struct weir_fault){.origin = WEIR_FAULT_CHAT_COMPLETION,
                                            .id = r->request.model_id,
                                            .err = WEIR_EPEER,
                                            .why = weir_slice_cstr(why)});
}

void weir_rowed_note_outcome(struct weir_rowed *r, enum weir_policy_outcome outcome)
{
    if (r->outcome != WEIR_POLICY_BLOCKED && outcome != WEIR_POLICY_PASSED) {
        r->outcome = outcome;
    }
}

void weir_rowed_check_held(struct weir_rowed *r, int rc)
{
    if (rc != 0) {
        struct weir_fault fault =
            weir_source_limit_fault(r->task->arena, r->task->env->max_held_bytes);
        weir_rowed_fail(r, &fault);
    }
}

void weir_rowed_drop(struct weir_rowed *r, size_t n)
{
    if (n != 0) {
        weir_metric_add(r->request.policy->dropped, n);
    }
}

void weir_rowed_count(struct weir_rowed *r)
{
    if (r->has_output) {
        weir_policy_count(r->request.policy, WEIR_POLICY_OUTPUT, r->outcome);
    }
}

/* ---- reading on or not ---- */

static void control_source(struct weir_rowed *r)
{
    size_t held = r->row != NULL ? weir_row_held(r->row) + r->dialect->held(r) : 0;
    bool is_heavy = held >= r->source.max_held_bytes;
    enum weir_path_wait waits = is_heavy ? weir_row_waits(r->row) : WEIR_PATH_IDLE;
    if (!weir_source_decide(&r->source, held, waits)) {
        struct weir_fault fault = weir_source_limit_fault(r->task->arena, r->source.max_held_bytes);
        weir_rowed_fail(r, &fault);
    }
}

static void on_stuck(void *ctx)
{
    struct weir_rowed *r = ctx;
    struct weir_fault fault = weir_source_limit_fault(r->task->arena, r->source.max_held_bytes);
    weir_rowed_fail(r, &fault);
}

static void set_paused(void *ctx, bool is_paused)
{
    struct weir_rowed *r = ctx;
    if (r->run != NULL && is_paused) {
        weir_model_pause(r->run);
    } else if (r->run != NULL) {
        weir_model_resume(r->run);
    }
}

static void on_resume(void *ctx)
{
    struct weir_rowed *r = ctx;
    weir_source_set_full(&r->source, false);
    if (!r->is_over) {
        control_source(r);
    }
}

void weir_rowed_advance(struct weir_rowed *r)
{
    if (!r->is_over) {
        weir_row_drain(r->row);
    }
    if (!r->is_over && r->is_stream) {
        control_source(r);
    }
}

/* ---- the model ---- */

/* Nobody looks at the answer: byte for byte, but for what the first event takes along. */
static void pass(struct weir_rowed *r, const struct weir_model_frame *frame)
{
    struct weir_buf changed = {0};
    if (r->dialect->change != NULL && r->dialect->change(r, frame->json, &changed)) {
        weir_rowed_send(r, weir_buf_slice(&changed), WEIR_SLICE(""));
    } else {
        weir_rowed_send(r, frame->json, frame->raw);
    }
    weir_buf_dispose(&changed);
    control_source(r);
}

static void on_event(struct weir_rowed *r, const struct weir_model_frame *frame)
{
    struct weir_json json;
    if (weir_json_parse_reuse(&json, frame->json, NULL, &r->task->scratch->event, NULL) != 0) {
        weir_rowed_fail_model(r, "an event is not JSON");
        return;
    }
    r->dialect->take_event(r, &json, frame->raw);
    weir_rowed_advance(r);
}

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct weir_rowed *r = ctx;
    if (r->is_over || frame->is_error) {
        return; /* the fault that follows tells */
    }
    weir_shadow_add_row(r->task->shadow, r->dialect->op,
                        r->is_stream ? WEIR_TALK_EVENT : WEIR_TALK_ANSWER, frame->json);
    if (!r->is_stream) {
        struct weir_slice copy = weir_arena_dup(r->task->arena, frame->json);
        /* The adapter has read it already: it is JSON. */
        weir_json_parse(&r->answer, copy, NULL, r->task->arena, NULL);
        return;
    }
    r->out->n_said++;
    if (r->has_output) {
        on_event(r, frame);
    } else {
        pass(r, frame);
    }
}

static void finish_whole(struct weir_rowed *r)
{
    if (r->answer.n_nodes == 0 || weir_json_type(&r->answer, 0) != WEIR_JSON_OBJECT) {
        weir_rowed_fail_model(r, "the answer is not an object");
        return;
    }
    uint32_t usage = weir_json_get_set(&r->answer, 0, WEIR_SLICE("usage"));
    if (usage != WEIR_JSON_NONE) {
        weir_seen_usage_at(r->request.policy, &r->answer, usage);
    }
    if (r->has_output) {
        r->dialect->take_whole(r);
    } else {
        r->dialect->answer(r, false);
    }
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct weir_rowed *r = ctx;
    if (r->is_over) {
        return;
    }
    weir_source_end(&r->source);
    if (fault != NULL) {
        weir_rowed_fail(r, fault);
    } else if (!r->is_stream) {
        finish_whole(r);
    } else if (!r->has_output) {
        r->is_over = true;
        r->out->ops->end(r->out);
    } else if (!r->has_ended) {
        weir_rowed_fail_model(r, r->dialect->no_end);
    }
}

static const struct weir_model_events MODEL_EVENTS = {
    .on_frame = on_frame,
    .on_done = on_done,
};

static void make_model_request(struct weir_rowed *r)
{
    if (r->request.stored != NULL) {
        r->model_request = weir_stored_request(r->request.stored);
    } else {
        r->model_request = (struct weir_model_request){
            .op = r->dialect->op,
            .model_id = r->request.model_id,
            .provider = r->request.provider,
            .body = weir_completion_model_body(r->task, &r->request, &r->input)};
    }
    r->model_request.is_stream = r->is_stream;
}

/* Services still look at the question. */
static void ask_beside(void *ctx)
{
    struct weir_rowed *r = ctx;
    make_model_request(r);
    r->run = weir_beside_start(r->task, &r->model_request, &MODEL_EVENTS, r);
}

static void start_model(struct weir_rowed *r)
{
    const struct weir_task_env *limits = r->task->env;
    struct weir_model_env env = {.loop = r->task->loop,
                                 .client = r->task->client,
                                 .context = &r->task->call,
                                 .max_body_bytes = limits->max_service_body_bytes,
                                 .max_event_bytes = limits->max_event_bytes};
    make_model_request(r);
    r->run = weir_model_start(limits->openai, &env, &r->model_request, &MODEL_EVENTS, r);
}

static void call_model(struct weir_rowed *r)
{
    if (r->is_stream) { /* what the first event takes along */
        weir_completion_write_input(&r->input, &r->lead_detections);
        weir_completion_write_input_warnings(&r->request, &r->input, &r->lead_warnings);
        r->has_lead = r->lead_detections.n != 0 || r->lead_warnings.n != 0;
    }
    if (r->run != NULL) { /* it was asked beside */
        weir_beside_release(r->run);
    } else {
        start_model(r);
    }
}

/* ---- the question ---- */

static void refuse_input(struct weir_rowed *r)
{
    if (r->request.policy->block_as == WEIR_POLICY_BLOCK_AS_ERROR) {
        struct weir_fault refused = weir_completion_block_fault(&r->request);
        weir_rowed_fail(r, &refused);
    } else if (r->is_stream) {
        r->dialect->refuse_stream(r);
    } else {
        r->dialect->answer(r, true);
    }
}

static void on_input_scanned(void *ctx, struct weir_scan *scan)
{
    struct weir_rowed *r = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    if (fault != NULL) {
        weir_rowed_fail(r, fault);
        return;
    }
    switch (weir_completion_judge_input(&r->request, &r->input)) {
    case WEIR_COMPLETION_REFUSE:
        weir_rowed_stop_model(r);
        refuse_input(r);
        break;
    case WEIR_COMPLETION_FAIL:
        weir_rowed_fail(r, weir_asked_fault(r->input.asked));
        break;
    case WEIR_COMPLETION_ASK:
    case WEIR_COMPLETION_TELL: /* has no meaning on routes */
        call_model(r);
        break;
    }
}

/* ---- starting ---- */

static void undo(void *ctx)
{
    struct weir_rowed *r = ctx;
    r->is_over = true;
    weir_source_end(&r->source);
    weir_loop_unpost(&r->cleanup);
    weir_loop_unpost(&r->step);
    weir_rowed_stop_model(r);
    weir_row_free(r->row);
    for (size_t i = 0; i < r->n_places; i++) {
        weir_buf_dispose(&r->found[i].place);
        weir_buf_dispose(&r->found[i].results);
    }
    free(r->found);
    weir_buf_dispose(&r->waiting);
    weir_buf_dispose(&r->lead_detections);
    weir_buf_dispose(&r->lead_warnings);
    r->dialect->undo(r);
}

static void on_step(struct weir_post *step)
{
    struct weir_rowed *r = WEIR_LIST_ENTRY(step, struct weir_rowed, step);
    if (!r->is_over) {
        weir_rowed_feed(r);
    }
}

static void init(struct weir_rowed *r, struct weir_task_ctx *task,
                 const struct weir_task_completion *request)
{
    r->task = task;
    task->skips.may_skip = true;
    r->request = *request;
    r->has_output = request->output.n != 0;
    r->enforces = weir_policy_enforces(request->policy) && r->has_output;
    r->cleanup.fn = on_cleanup;
    r->step.fn = on_step;
    weir_buf_init(&r->waiting, task->env->max_held_bytes);
    r->source = (struct weir_source){.loop = task->loop,
                                     .account = task->arena->account,
                                     .max_held_bytes = task->env->max_held_bytes,
                                     .set_paused = set_paused,
                                     .on_stuck = on_stuck,
                                     .ctx = r};
    weir_source_init(&r->source);
    weir_arena_defer(task->arena, undo, r);
    r->input = weir_completion_input(request);
}

static void make_row(struct weir_rowed *r)
{
    const struct weir_task_env *env = r->task->env;
    if (r->has_output) {
        r->row = weir_row_new(&(struct weir_row_options){
            .task = r->task,
            .plan = &r->request.output,
            .policy = r->request.policy,
            .model_id = r->request.model_id,
            .max_held_bytes = r->is_stream ? env->max_held_bytes : env->max_service_body_bytes,
            .is_unary = !r->is_stream,
            .ops = r->is_stream ? r->dialect->stream_ops : r->dialect->unary_ops,
            .ctx = r});
    }
}

static void start(struct weir_rowed *r)
{
    make_row(r);
    if (r->request.input.n != 0 && r->input.n != 0) {
        weir_completion_start_input(
            &r->request, &r->input, r->task,
            &(struct weir_completion_check){.done = on_input_scanned, .ask = ask_beside, .ctx = r});
        return;
    }
    if (r->request.input.n != 0) {
        weir_completion_judge_input(&r->request, &r->input); /* counted: nothing was said */
    }
    call_model(r);
}

void weir_rowed_start_unary(struct weir_rowed *r, struct weir_task_ctx *task,
                            const struct weir_task_completion *request, weir_task_done_fn done,
                            void *ctx)
{
    init(r, task, request);
    r->done = done;
    r->ctx = ctx;
    start(r);
}

void weir_rowed_start_stream(struct weir_rowed *r, struct weir_task_ctx *task,
                             const struct weir_task_completion *request, struct weir_out *out)
{
    init(r, task, request);
    r->is_stream = true;
    r->out = out;
    out->on_resume = on_resume;
    out->ctx = r;
    start(r);
}

void weir_rowed_start_given(struct weir_rowed *r, struct weir_task_ctx *task,
                            const struct weir_task_completion *request, struct weir_slice answer,
                            weir_task_done_fn done, void *ctx)
{
    init(r, task, request);
    r->done = done;
    r->ctx = ctx;
    make_row(r);
    if (weir_json_parse(&r->answer, answer, NULL, task->arena, NULL) != 0) {
        weir_rowed_fail_model(r, "the answer is not JSON");
    } else {
        finish_whole(r);
    }
}

/* ---- a whole answer ---- */

enum { FEED_BYTES = 64 * 1024 }; /* given to the row before others have their turn */

void weir_rowed_feed(struct weir_rowed *r)
{
    size_t n_given = 0;
    while (!r->is_over && !r->has_ended && n_given < FEED_BYTES) {
        size_t n = weir_utf8_floor(r->rest, FEED_BYTES);
        if (n != 0) {
            r->dialect->say(r, weir_slice_sub(r->rest, 0, n));
            r->rest = weir_slice_sub(r->rest, n, r->rest.n);
            n_given += n;
        } else {
            r->dialect->go_on(r);
            n_given++;
        }
    }
    /* What was judged leaves at once: an answer of many parts does not hold all of their guards. */
    weir_rowed_advance(r);
    if (!r->has_ended && !r->is_over) {
        weir_loop_step(r->task->loop, &r->step);
    }
}

void weir_rowed_finish(struct weir_rowed *r, struct weir_buf *out)
{
    struct weir_task_answer answer = {.body = weir_arena_take_buf(r->task->arena, out)};
    r->is_over = true;
    weir_loop_post(r->task->loop, &r->cleanup);
    r->done(r->ctx, &answer);
}

void weir_rowed_end(struct weir_rowed *r)
{
    r->is_over = true;
    weir_source_end(&r->source);
    weir_loop_post(r->task->loop, &r->cleanup);
    r->out->ops->end(r->out);
}

/* ---- what the row says ---- */

void weir_rowed_on_found(void *ctx, const struct weir_row_found *found)
{
    struct weir_rowed *r = ctx;
    weir_rowed_keep_found(r, found);
    weir_rowed_note_outcome(r, r->enforces ? WEIR_POLICY_REDACTED : WEIR_POLICY_ANNOTATED);
}

void weir_rowed_on_failed(void *ctx, const struct weir_fault *fault)
{
    weir_rowed_fail(ctx, fault);
}

void weir_rowed_on_progress(void *ctx)
{
    weir_rowed_advance(ctx);
}

void weir_rowed_on_blocked(void *ctx, const struct weir_row_found *found)
{
    struct weir_rowed *r = ctx;
    weir_rowed_keep_found(r, found);
    weir_rowed_note_outcome(r, WEIR_POLICY_BLOCKED);
    weir_rowed_count(r);
    if (r->is_stream) {
        weir_buf_clear(&r->waiting); /* does not leave */
        r->dialect->stop_stream(r);
    } else if (r->request.policy->block_as == WEIR_POLICY_BLOCK_AS_ERROR) {
        struct weir_fault refused = weir_completion_block_fault(&r->request);
        weir_rowed_fail(r, &refused);
    } else {
        r->dialect->answer(r, true);
    }
}

void weir_rowed_on_left(void *ctx)
{
    struct weir_rowed *r = ctx;
    if (r->is_stream) {
        weir_rowed_send_waiting(r);
        weir_rowed_count(r);
        weir_rowed_end(r);
    } else {
        weir_rowed_count(r);
        r->dialect->answer(r, false);
    }
}

void weir_rowed_note_text(struct weir_rowed *r, const struct weir_row_text *text)
{
    weir_rowed_keep_found(r, &text->found);
    if (r->is_stream && text->found.n_findings != 0) {
        weir_rowed_note_outcome(r, r->enforces ? WEIR_POLICY_REDACTED : WEIR_POLICY_ANNOTATED);
    } else if (!r->is_stream && text->is_changed) {
        weir_rowed_note_outcome(r, WEIR_POLICY_REDACTED);
    }
}
