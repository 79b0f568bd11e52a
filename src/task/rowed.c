#include "task/rowed.h"

#include "base/err.h"
#include "base/utf8.h"
#include "talk/conversation.h"
#include "task/scratch.h"
#include "task/seen.h"
#include "task/shadow.h"

#include <stdlib.h>

static void stop(struct weir_stream *s)
{
    struct weir_rowed *r = WEIR_LIST_ENTRY(s, struct weir_rowed, stream);
    weir_row_free(r->row);
    r->row = NULL;
}

void weir_rowed_fail_model(struct weir_rowed *r, const char *why)
{
    weir_stream_fail(&r->stream, &(struct weir_fault){.origin = WEIR_FAULT_CHAT_COMPLETION,
                                                      .id = r->request.model_id,
                                                      .err = WEIR_EPEER,
                                                      .why = weir_slice_cstr(why)});
}

void weir_rowed_note_outcome(struct weir_rowed *r, enum weir_policy_outcome outcome)
{
    r->outcome = weir_policy_stronger(r->outcome, outcome);
}

void weir_rowed_check_held(struct weir_rowed *r, int rc)
{
    if (rc != 0) {
        weir_stream_fail_held(&r->stream);
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

static void read_on(struct weir_rowed *r)
{
    weir_stream_read_on(&r->stream,
                        r->row != NULL ? weir_row_held(r->row) + r->dialect->held(r) : 0);
}

static enum weir_path_wait waits(const struct weir_stream *s)
{
    return weir_row_waits(WEIR_LIST_ENTRY(s, struct weir_rowed, stream)->row);
}

static void resume(struct weir_stream *s)
{
    read_on(WEIR_LIST_ENTRY(s, struct weir_rowed, stream));
}

static const struct weir_stream_ops STREAM_OPS = {
    .waits = waits,
    .resume = resume,
    .stop = stop,
};

void weir_rowed_advance(struct weir_rowed *r)
{
    if (!r->stream.is_over) {
        weir_row_drain(r->row);
    }
    if (!r->stream.is_over && r->is_stream) {
        read_on(r);
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
    read_on(r);
}

/* The short way of a token: an event that was seen before, but for its text, is not read. */
static bool take_shaped(struct weir_rowed *r, const struct weir_model_frame *frame)
{
    struct weir_slice escaped;
    struct weir_buf *text = &r->stream.task->scratch->text;
    struct weir_shape *shape = weir_shapes_find(&r->shapes, frame->json, &escaped);
    if (shape == NULL) {
        return false;
    }
    weir_buf_clear(text);
    weir_shape_unescape(escaped, text);
    return r->dialect->take_said(r, &(struct weir_rowed_said){.shape = shape,
                                                              .text = weir_buf_slice(text),
                                                              .json = frame->json,
                                                              .raw = frame->raw});
}

static void take_read(struct weir_rowed *r, const struct weir_model_frame *frame)
{
    struct weir_json json;
    if (weir_json_parse_reuse(&json, frame->json, NULL, &r->stream.task->scratch->event, NULL) !=
        0) {
        weir_rowed_fail_model(r, "an event is not JSON");
        return;
    }
    r->dialect->take_event(r, &json, frame->raw);
}

static void on_event(struct weir_rowed *r, const struct weir_model_frame *frame)
{
    if (!take_shaped(r, frame)) {
        take_read(r, frame);
    }
    weir_rowed_advance(r);
}

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct weir_rowed *r = ctx;
    if (r->stream.is_over || weir_stream_awaits_source(&r->stream) || frame->is_error) {
        return; /* nobody listens any more, or the fault that follows tells */
    }
    weir_shadow_add_row(r->stream.task->shadow, r->dialect->op,
                        r->is_stream ? WEIR_TALK_EVENT : WEIR_TALK_ANSWER, frame->json);
    if (!r->is_stream) {
        struct weir_slice copy = weir_arena_dup(r->stream.task->arena, frame->json);
        /* The adapter has read it already: it is JSON. */
        weir_json_parse(&r->answer, copy, NULL, r->stream.task->arena, NULL);
        return;
    }
    r->stream.out->n_said++;
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
    if (r->stream.is_over) {
        return;
    }
    weir_stream_stop_reading(&r->stream);
    if (weir_stream_awaits_source(&r->stream)) {
        weir_stream_end(&r->stream);
    } else if (fault != NULL && !(r->is_stream && r->has_ended)) { /* then all of it is here */
        weir_stream_fail(&r->stream, fault);
    } else if (!r->is_stream) {
        finish_whole(r);
    } else if (!r->has_output) {
        weir_stream_end(&r->stream);
    } else if (!r->has_ended) {
        weir_rowed_fail_model(r, r->dialect->no_end);
    }
}

static const struct weir_model_events MODEL_EVENTS = {
    .on_frame = on_frame,
    .on_done = on_done,
};

/* ---- the question ---- */

/* What the first event takes along. */
static void on_good_question(struct weir_stream *s)
{
    struct weir_rowed *r = WEIR_LIST_ENTRY(s, struct weir_rowed, stream);
    if (r->is_stream) {
        weir_completion_write_input(&r->input, &r->lead_detections);
        weir_completion_write_input_warnings(&r->request, &r->input, &r->lead_warnings);
        r->has_lead = r->lead_detections.n != 0 || r->lead_warnings.n != 0;
    }
}

static void refuse(struct weir_stream *s)
{
    struct weir_rowed *r = WEIR_LIST_ENTRY(s, struct weir_rowed, stream);
    if (r->is_stream) {
        r->dialect->refuse_stream(r);
    } else {
        r->dialect->answer(r, true);
    }
}

static const struct weir_question_ops QUESTION_OPS = {
    .good = on_good_question,
    .refuse = refuse,
    .answer = &MODEL_EVENTS,
};

/* ---- starting ---- */

static void undo(void *ctx)
{
    struct weir_rowed *r = ctx;
    weir_stream_dispose(&r->stream);
    weir_loop_unpost(&r->step);
    for (size_t i = 0; i < r->n_places; i++) {
        weir_buf_dispose(&r->found[i].place);
        weir_buf_dispose(&r->found[i].results);
    }
    free(r->found);
    weir_shapes_dispose(&r->shapes);
    weir_buf_dispose(&r->waiting);
    weir_buf_dispose(&r->lead_detections);
    weir_buf_dispose(&r->lead_warnings);
    r->dialect->undo(r);
}

static void on_step(struct weir_post *step)
{
    struct weir_rowed *r = WEIR_LIST_ENTRY(step, struct weir_rowed, step);
    if (!r->stream.is_over) {
        weir_rowed_feed(r);
    }
}

/* Behind weir_stream_init. */
static void init(struct weir_rowed *r, const struct weir_task_completion *request)
{
    struct weir_task_ctx *task = r->stream.task;
    task->skips.may_skip = true;
    r->request = *request;
    r->has_output = request->output.n != 0;
    r->enforces = weir_policy_enforces(request->policy) && r->has_output;
    if (weir_plan_has_type(&request->output, WEIR_DETECT_CHAT)) {
        weir_plan_part(&request->output, WEIR_DETECT_CHAT, task->arena, &r->conversation,
                       &r->request.output);
    }
    r->step.fn = on_step;
    weir_buf_init(&r->waiting, task->env->max_held_bytes);
    weir_arena_defer(task->arena, undo, r);
    r->input = weir_completion_input(request);
}

static void make_row(struct weir_rowed *r)
{
    const struct weir_task_env *env = r->stream.task->env;
    if (r->has_output) {
        r->row = weir_row_new(&(struct weir_row_options){
            .task = r->stream.task,
            .plan = &r->request.output,
            .conversation = r->conversation.n != 0 ? &r->conversation : NULL,
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
    r->question = (struct weir_question){.ops = &QUESTION_OPS,
                                         .stream = &r->stream,
                                         .request = &r->request,
                                         .input = &r->input,
                                         .op = r->dialect->op};
    weir_question_start(&r->question);
}

void weir_rowed_start_unary(struct weir_rowed *r, struct weir_task_ctx *task,
                            const struct weir_task_completion *request, weir_task_done_fn done,
                            void *ctx)
{
    weir_stream_init_whole(&r->stream, task, &STREAM_OPS, done, ctx);
    init(r, request);
    start(r);
}

void weir_rowed_start_stream(struct weir_rowed *r, struct weir_task_ctx *task,
                             const struct weir_task_completion *request, struct weir_out *out)
{
    weir_stream_init(&r->stream, task, &STREAM_OPS, out);
    r->is_stream = true;
    init(r, request);
    start(r);
}

void weir_rowed_start_given(struct weir_rowed *r, struct weir_task_ctx *task,
                            const struct weir_task_completion *request, struct weir_slice answer,
                            weir_task_done_fn done, void *ctx)
{
    weir_stream_init_whole(&r->stream, task, &STREAM_OPS, done, ctx);
    init(r, request);
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
    while (!r->stream.is_over && !r->has_ended && n_given < FEED_BYTES) {
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
    if (!r->has_ended && !r->stream.is_over) {
        weir_loop_step(r->stream.task->loop, &r->step);
    }
}

void weir_rowed_finish(struct weir_rowed *r, struct weir_buf *out)
{
    weir_stream_finish(&r->stream, weir_arena_take_buf(r->stream.task->arena, out));
}

/* ---- what the row says ---- */

void weir_rowed_on_found(void *ctx, const struct weir_row_found *found)
{
    struct weir_rowed *r = ctx;
    weir_rowed_keep_found(r, found);
    bool is_changed = r->enforces && !found->only_told;
    weir_rowed_note_outcome(r, is_changed ? WEIR_POLICY_REDACTED : WEIR_POLICY_ANNOTATED);
}

void weir_rowed_on_failed(void *ctx, const struct weir_fault *fault)
{
    struct weir_rowed *r = ctx;
    weir_stream_fail(&r->stream, fault);
}

void weir_rowed_on_progress(void *ctx)
{
    weir_rowed_advance(ctx);
}

/* As the model server got it. */
struct weir_slice weir_rowed_on_history(void *ctx, struct weir_buf *messages)
{
    struct weir_rowed *r = ctx;
    struct weir_json *json = weir_arena_zalloc(r->stream.task->arena, sizeof *json);
    struct weir_json_limits limits = {.max_depth = UINT32_MAX}; /* the request's own were checked */
    struct weir_walk_options options = {0};
    struct weir_walk walk;
    if (weir_json_parse(json, r->stream.model_request.body, &limits, r->stream.task->arena, NULL) !=
        0) {
        return WEIR_SLICE("");
    }
    weir_walk_read(&walk, r->dialect->walk, json, &options, r->stream.task->arena);
    weir_conversation_write(json, &walk, messages);
    uint32_t tools = weir_json_get_set(json, 0, WEIR_SLICE("tools"));
    return tools != WEIR_JSON_NONE ? weir_json_raw(json, tools) : WEIR_SLICE("");
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
        weir_stream_fail(&r->stream, &refused);
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
        weir_stream_end_with_source(&r->stream);
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
