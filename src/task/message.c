/*
 * The life of a message:
 *
 *   input detectors ──blocked──► the route's words
 *          └─► model ─► events, or a whole answer ─► row ─► what may leave
 */
#include "task/message.h"

#include "base/err.h"
#include "task/message_int.h"
#include "task/scratch.h"
#include "task/seen.h"
#include "task/shadow.h"

#include <stdlib.h>

void weir_msg__stop_model(struct weir_msg *m)
{
    weir_model_free(m->run);
    m->run = NULL;
}

/* Who failed may be in the middle of telling, so what runs is stopped later. */
static void on_cleanup(struct weir_post *post)
{
    struct weir_msg *m = WEIR_LIST_ENTRY(post, struct weir_msg, cleanup);
    weir_msg__stop_model(m);
    weir_row_free(m->row);
    m->row = NULL;
}

void weir_msg__fail(struct weir_msg *m, const struct weir_fault *fault)
{
    if (m->is_over) {
        return;
    }
    const struct weir_fault *kept = weir_fault_keep(m->task->arena, fault);
    m->is_over = true;
    weir_loop_post(m->task->loop, &m->cleanup);
    if (m->is_stream) {
        weir_source_end(&m->source);
        m->out->ops->fail(m->out, kept);
    } else {
        struct weir_task_answer answer = {.fault = kept};
        m->done(m->ctx, &answer);
    }
}

void weir_msg__fail_model(struct weir_msg *m, const char *why)
{
    weir_msg__fail(m, &(struct weir_fault){.origin = WEIR_FAULT_CHAT_COMPLETION,
                                           .id = m->request.model_id,
                                           .err = WEIR_EPEER,
                                           .why = weir_slice_cstr(why)});
}

void weir_msg__note_outcome(struct weir_msg *m, enum weir_policy_outcome outcome)
{
    if (m->outcome != WEIR_POLICY_BLOCKED && outcome != WEIR_POLICY_PASSED) {
        m->outcome = outcome;
    }
}

void weir_msg__count(struct weir_msg *m)
{
    if (m->has_output) {
        weir_policy_count(m->request.policy, WEIR_POLICY_OUTPUT, m->outcome);
    }
}

/* ---- reading on or not ---- */

static void control_source(struct weir_msg *m)
{
    size_t held =
        m->row != NULL ? weir_row_held(m->row) + m->args.n + m->block.n + m->thought.n : 0;
    bool is_heavy = held >= m->source.max_held_bytes;
    enum weir_path_wait waits = is_heavy ? weir_row_waits(m->row) : WEIR_PATH_IDLE;
    if (!weir_source_decide(&m->source, held, waits)) {
        struct weir_fault fault = weir_source_limit_fault(m->task->arena, m->source.max_held_bytes);
        weir_msg__fail(m, &fault);
    }
}

static void on_stuck(void *ctx)
{
    struct weir_msg *m = ctx;
    struct weir_fault fault = weir_source_limit_fault(m->task->arena, m->source.max_held_bytes);
    weir_msg__fail(m, &fault);
}

static void set_paused(void *ctx, bool is_paused)
{
    struct weir_msg *m = ctx;
    if (m->run != NULL && is_paused) {
        weir_model_pause(m->run);
    } else if (m->run != NULL) {
        weir_model_resume(m->run);
    }
}

static void on_resume(void *ctx)
{
    struct weir_msg *m = ctx;
    weir_source_set_full(&m->source, false);
    if (!m->is_over) {
        control_source(m);
    }
}

void weir_msg__advance(struct weir_msg *m)
{
    if (!m->is_over) {
        weir_row_drain(m->row);
    }
    if (!m->is_over && m->is_stream) {
        control_source(m);
    }
}

/* ---- the model ---- */

/* Nobody looks at the answer: byte for byte, but for what the first event takes along. */
static void pass(struct weir_msg *m, const struct weir_model_frame *frame)
{
    weir_msg__send(m, frame->json, frame->raw);
    control_source(m);
}

static void on_event(struct weir_msg *m, const struct weir_model_frame *frame)
{
    struct weir_json json;
    if (weir_json_parse_reuse(&json, frame->json, NULL, &m->task->scratch->event, NULL) != 0) {
        weir_msg__fail_model(m, "an event is not JSON");
        return;
    }
    weir_msg__take_event(m, &json, frame->raw);
    weir_msg__advance(m);
}

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct weir_msg *m = ctx;
    if (m->is_over || frame->is_error) {
        return; /* the fault that follows tells */
    }
    weir_shadow_add_answer(m->task->shadow, NULL, m->is_stream ? WEIR_TALK_EVENT : WEIR_TALK_ANSWER,
                           frame->json);
    if (!m->is_stream) {
        struct weir_slice copy = weir_arena_dup(m->task->arena, frame->json);
        /* The adapter has read it already: it is JSON. */
        weir_json_parse(&m->answer, copy, NULL, m->task->arena, NULL);
        return;
    }
    m->out->n_said++;
    if (m->has_output) {
        on_event(m, frame);
    } else {
        pass(m, frame);
    }
}

static void finish_whole(struct weir_msg *m)
{
    if (m->answer.n_nodes == 0 || weir_json_type(&m->answer, 0) != WEIR_JSON_OBJECT) {
        weir_msg__fail_model(m, "the answer is not an object");
        return;
    }
    uint32_t usage = weir_json_get_set(&m->answer, 0, WEIR_SLICE("usage"));
    if (usage != WEIR_JSON_NONE) {
        weir_seen_usage_at(m->request.policy, &m->answer, usage);
    }
    if (m->has_output) {
        weir_msg__take_whole(m);
    } else {
        weir_msg__answer(m, false);
    }
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct weir_msg *m = ctx;
    if (m->is_over) {
        return;
    }
    weir_source_end(&m->source);
    if (fault != NULL) {
        weir_msg__fail(m, fault);
    } else if (!m->is_stream) {
        finish_whole(m);
    } else if (!m->has_output) {
        m->is_over = true;
        m->out->ops->end(m->out);
    } else if (!m->has_ended) {
        weir_msg__fail_model(m, "the stream has ended without message_stop");
    }
}

static const struct weir_model_events MODEL_EVENTS = {
    .on_frame = on_frame,
    .on_done = on_done,
};

static void call_model(struct weir_msg *m)
{
    const struct weir_task_env *limits = m->task->env;
    struct weir_model_env env = {.loop = m->task->loop,
                                 .client = m->task->client,
                                 .context = &m->task->call,
                                 .max_body_bytes = limits->max_service_body_bytes,
                                 .max_event_bytes = limits->max_event_bytes};
    m->model_request = (struct weir_model_request){
        .op = WEIR_MODEL_MESSAGES,
        .is_stream = m->is_stream,
        .model_id = m->request.model_id,
        .body = weir_completion_model_body(m->task, &m->request, &m->input)};
    if (m->is_stream) { /* what the first event takes along */
        weir_completion_write_input(&m->input, &m->lead_detections);
        weir_completion_write_input_warnings(&m->request, &m->input, &m->lead_warnings);
        m->has_lead = m->lead_detections.n != 0 || m->lead_warnings.n != 0;
    }
    m->run = weir_model_start(limits->openai, &env, &m->model_request, &MODEL_EVENTS, m);
}

/* ---- the question ---- */

static void refuse_input(struct weir_msg *m)
{
    if (m->request.policy->block_as == WEIR_POLICY_BLOCK_AS_ERROR) {
        struct weir_fault refused = weir_completion_block_fault(&m->request);
        weir_msg__fail(m, &refused);
    } else if (m->is_stream) {
        weir_msg__refuse_stream(m);
    } else {
        weir_msg__answer(m, true);
    }
}

static void on_input_scanned(void *ctx, struct weir_scan *scan)
{
    struct weir_msg *m = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    if (fault != NULL) {
        weir_msg__fail(m, fault);
        return;
    }
    switch (weir_completion_judge_input(&m->request, &m->input)) {
    case WEIR_COMPLETION_REFUSE:
        refuse_input(m);
        break;
    case WEIR_COMPLETION_FAIL:
        weir_msg__fail(m, weir_asked_fault(m->input.asked));
        break;
    case WEIR_COMPLETION_ASK:
    case WEIR_COMPLETION_TELL: /* has no meaning on routes */
        call_model(m);
        break;
    }
}

/* ---- starting ---- */

static void undo(void *ctx)
{
    struct weir_msg *m = ctx;
    m->is_over = true;
    weir_source_end(&m->source);
    weir_loop_unpost(&m->cleanup);
    weir_loop_unpost(&m->step);
    weir_msg__stop_model(m);
    weir_row_free(m->row);
    for (size_t i = 0; i < m->n_places; i++) {
        weir_buf_dispose(&m->found[i].results);
    }
    free(m->found);
    struct weir_buf *bufs[] = {&m->block,           &m->thought,      &m->args,      &m->texts,
                               &m->usage,           &m->head,         &m->waiting,   &m->shown,
                               &m->content,         &m->text,         &m->citations, &m->stop,
                               &m->lead_detections, &m->lead_warnings};
    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++) {
        weir_buf_dispose(bufs[i]);
    }
}

static struct weir_msg *new_message(struct weir_task_ctx *task,
                                    const struct weir_task_completion *request)
{
    struct weir_msg *m = weir_arena_zalloc(task->arena, sizeof *m);
    m->task = task;
    task->skips.may_skip = true;
    m->request = *request;
    m->has_output = request->output.n != 0;
    m->enforces = weir_policy_enforces(request->policy) && m->has_output;
    m->cleanup.fn = on_cleanup;
    weir_buf_init(&m->args, task->env->max_held_bytes);
    weir_buf_init(&m->thought, task->env->max_held_bytes);
    weir_buf_init(&m->block, task->env->max_held_bytes);
    weir_buf_init(&m->waiting, task->env->max_held_bytes);
    m->source = (struct weir_source){.loop = task->loop,
                                     .account = task->arena->account,
                                     .max_held_bytes = task->env->max_held_bytes,
                                     .set_paused = set_paused,
                                     .on_stuck = on_stuck,
                                     .ctx = m};
    weir_source_init(&m->source);
    weir_arena_defer(task->arena, undo, m);
    m->input = weir_completion_input(request);
    return m;
}

static void start(struct weir_msg *m)
{
    if (m->has_output) {
        m->row = weir_row_new(&(struct weir_row_options){
            .task = m->task,
            .plan = &m->request.output,
            .policy = m->request.policy,
            .model_id = m->request.model_id,
            .max_held_bytes =
                m->is_stream ? m->task->env->max_held_bytes : m->task->env->max_service_body_bytes,
            .is_unary = !m->is_stream,
            .ops = m->is_stream ? &weir_msg__stream_ops : &weir_msg__unary_ops,
            .ctx = m});
    }
    if (m->request.input.n != 0 && m->input.n != 0) {
        weir_input_start(&m->input, m->task, &m->request.input, on_input_scanned, m);
        return;
    }
    if (m->request.input.n != 0) {
        weir_completion_judge_input(&m->request, &m->input); /* counted: nothing was said */
    }
    call_model(m);
}

void weir_task_message_start(struct weir_task_ctx *task, const struct weir_task_completion *request,
                             weir_task_done_fn done, void *ctx)
{
    struct weir_msg *m = new_message(task, request);
    m->done = done;
    m->ctx = ctx;
    start(m);
}

void weir_message_stream_start(struct weir_task_ctx *task,
                               const struct weir_task_completion *request, struct weir_out *out)
{
    struct weir_msg *m = new_message(task, request);
    m->is_stream = true;
    m->out = out;
    out->on_resume = on_resume;
    out->ctx = m;
    start(m);
}
