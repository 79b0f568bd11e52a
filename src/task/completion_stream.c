/*
 * A streamed completion:
 *
 *   input detectors ──findings──► tokenize ─► one event ─► end
 *          └─none─► model ─► frames ─► choices ─► events …  ─► what is known at the end ─► end
 *
 * Callbacks record and drain; advance decides about the end and about reading on.
 */
#include "base/err.h"
#include "task/completion_stream_int.h"
#include "task/promise.h"
#include "task/seen.h"
#include "task/shadow.h"

#include <stdlib.h>

/*
 * The server is silent and has probably said everything: its stream counts as ended. Choices that
 * were not asked for begin with the others, if they begin at all.
 */
enum { SILENCE_MS = 2000 };

static void stop_reading(struct weir_cs *cs)
{
    weir_stream_stop_reading(&cs->stream);
    weir_loop_cancel(cs->stream.task->loop, &cs->silence);
}

static void free_choices(struct weir_cs *cs)
{
    struct weir_list *link;
    while ((link = weir_list_first(&cs->choices)) != NULL) {
        weir_cs__free_choice(WEIR_LIST_ENTRY(link, struct weir_cs_choice, link));
    }
}

static void stop(struct weir_stream *s)
{
    struct weir_cs *cs = WEIR_LIST_ENTRY(s, struct weir_cs, stream);
    weir_loop_cancel(cs->stream.task->loop, &cs->silence);
    weir_scan_cancel(cs->whole_scan);
    free_choices(cs);
}

static void flush(struct weir_stream *s)
{
    weir_cs__flush_told(WEIR_LIST_ENTRY(s, struct weir_cs, stream));
}

void weir_cs__fail_model(struct weir_cs *cs, const char *why)
{
    struct weir_fault fault = {.origin = cs->request.is_chat ? WEIR_FAULT_CHAT_COMPLETION
                                                             : WEIR_FAULT_COMPLETION,
                               .id = cs->request.model_id,
                               .err = WEIR_EPEER,
                               .why = weir_slice_cstr(why)};
    weir_stream_fail(&cs->stream, &fault);
}

void weir_cs__fail_limit(struct weir_cs *cs, const char *what, size_t limit, const char *name)
{
    struct weir_fault fault = {.origin = WEIR_FAULT_LIMIT, .err = WEIR_ELIMIT, .status = 500};
    fault.message = weir_slice_cstr(weir_arena_printf(
        cs->stream.task->arena, "more than %zu %s: limits.%s", limit, what, name));
    weir_stream_fail(&cs->stream, &fault);
}

void weir_cs__fail_promise(struct weir_cs_choice *choice, const char *what)
{
    struct weir_fault fault = weir_promise_broken(&(struct weir_promise){
        .task = choice->cs->stream.task, .what = what, .choice = choice->index});
    weir_stream_fail(&choice->cs->stream, &fault);
}

static void send_event(struct weir_cs *cs, struct weir_slice json)
{
    if (weir_skips_are_due(&cs->stream.task->skips)) {
        struct weir_buf told = {0};
        weir_stream_send(&cs->stream, weir_skips_tell(&cs->stream.task->skips, json, &told));
        weir_buf_dispose(&told);
    } else {
        weir_stream_send(&cs->stream, json);
    }
}

/* The first event takes along what was found in the input. */
static void send_leading(struct weir_cs *cs, struct weir_slice event)
{
    struct weir_json json;
    struct weir_buf out = {0};
    int rc = weir_json_parse_reuse(&json, event, NULL, &cs->scratch->envelope, NULL);
    if (rc != 0 || weir_json_type(&json, 0) != WEIR_JSON_OBJECT) {
        weir_cs__fail_model(cs, "an event is not an object");
    } else {
        struct weir_event_lead lead = {.detections = weir_buf_slice(&cs->lead_detections),
                                       .warnings = weir_buf_slice(&cs->lead_warnings)};
        weir_event_write_lead(&json, &lead, &out);
        weir_buf_dispose(&cs->lead_detections);
        weir_buf_dispose(&cs->lead_warnings);
        cs->has_lead = false;
        send_event(cs, weir_buf_slice(&out));
    }
    weir_buf_dispose(&out);
}

bool weir_cs__adds_to_next(const struct weir_cs *cs)
{
    return cs->has_lead || weir_skips_are_due(&cs->stream.task->skips);
}

void weir_cs__emit(struct weir_cs *cs, struct weir_slice json)
{
    if (cs->stream.is_over) {
        return;
    }
    if (cs->has_lead) {
        send_leading(cs, json);
    } else {
        send_event(cs, json);
    }
}

void weir_cs__note_outcome(struct weir_cs *cs, enum weir_policy_outcome outcome)
{
    cs->outcome = weir_policy_stronger(cs->outcome, outcome);
}

/* ---- reading on or not ---- */

static enum weir_path_wait choice_waits(const struct weir_cs_choice *choice)
{
    if (choice->enforced != NULL) {
        return weir_guard_waits(choice->enforced->checked.guard);
    }
    enum weir_path_wait aside = weir_cs__aside_waits(choice);
    enum weir_path_wait path =
        choice->path != NULL ? weir_path_waits(choice->path) : WEIR_PATH_IDLE;
    return path > aside ? path : aside;
}

static enum weir_path_wait waits(const struct weir_stream *s)
{
    const struct weir_cs *cs = WEIR_LIST_ENTRY(s, const struct weir_cs, stream);
    enum weir_path_wait most = WEIR_PATH_IDLE;
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        const struct weir_cs_choice *choice = WEIR_LIST_ENTRY(at, struct weir_cs_choice, link);
        enum weir_path_wait one = choice_waits(choice);
        most = one > most ? one : most;
    }
    return most;
}

static void resume(struct weir_stream *s)
{
    weir_stream_read_on(s, WEIR_LIST_ENTRY(s, struct weir_cs, stream)->held_bytes);
}

static const struct weir_stream_ops STREAM_OPS = {
    .waits = waits,
    .resume = resume,
    .flush = flush,
    .stop = stop,
};

/* ---- events without choices ---- */

static uint64_t oldest_held(const struct weir_cs *cs)
{
    uint64_t oldest = UINT64_MAX;
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        const struct weir_cs_choice *choice = WEIR_LIST_ENTRY(at, struct weir_cs_choice, link);
        const struct weir_list *link = weir_list_first(&choice->items);
        if (link != NULL) {
            uint64_t seq = WEIR_LIST_ENTRY(link, struct weir_cs_item, link)->seq;
            oldest = seq < oldest ? seq : oldest;
        }
    }
    return oldest;
}

void weir_cs__drain_misc(struct weir_cs *cs)
{
    struct weir_list *link;
    while ((link = weir_list_first(&cs->misc)) != NULL) {
        struct weir_cs_item *item = WEIR_LIST_ENTRY(link, struct weir_cs_item, link);
        if (item->seq > oldest_held(cs)) {
            return;
        }
        weir_cs__emit(cs, weir_slice_make(item->json, item->n));
        weir_cs__item_free(cs, item);
    }
}

static void add_misc(struct weir_cs *cs, struct weir_slice json)
{
    struct weir_cs_item *item = weir_cs__item_new(cs, json);
    weir_list_append(&cs->misc, &item->link);
}

/* ---- the end ---- */

static bool is_done(const struct weir_cs_choice *choice)
{
    if (choice->enforced != NULL) {
        return weir_cs__enforce_is_done(choice);
    }
    bool is_path_done = choice->path == NULL || weir_path_is_done(choice->path);
    bool is_finished = !weir_cs__is_route(choice->cs) || choice->is_finished;
    return is_path_done && weir_list_is_empty(&choice->items) && is_finished;
}

static bool has_left(const struct weir_cs *cs)
{
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        if (!is_done(WEIR_LIST_ENTRY(at, struct weir_cs_choice, link))) {
            return false;
        }
    }
    return true;
}

static void finish(struct weir_cs *cs)
{
    weir_buf_clear(&cs->scratch->out);
    if (cs->has_output || cs->has_lead) {
        weir_cs__write_final(cs, &cs->scratch->out);
    }
    if (cs->has_output) {
        weir_policy_count(cs->request.policy, WEIR_POLICY_OUTPUT, cs->outcome);
    }
    if (cs->scratch->out.n != 0) {
        weir_cs__emit(cs, weir_buf_slice(&cs->scratch->out));
    }
    weir_stream_end(&cs->stream);
}

/* ---- has the server said everything? ---- */

void weir_cs__note_finish(struct weir_cs_choice *choice, bool has_finish)
{
    choice->said_finish_before = choice->said_finish_before || choice->said_finish_last;
    choice->said_finish_last = has_finish;
}

static bool is_blocked(const struct weir_cs_choice *choice)
{
    return choice->enforced != NULL && choice->enforced->checked.is_blocked;
}

static bool has_all_choices(const struct weir_cs *cs)
{
    return cs->n_choices >= (cs->request.n_choices != 0 ? cs->request.n_choices : 1);
}

static bool is_probably_over(const struct weir_cs *cs)
{
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        const struct weir_cs_choice *choice = WEIR_LIST_ENTRY(at, struct weir_cs_choice, link);
        bool has_finished = choice->said_finish_last && !choice->said_finish_before;
        if (!has_finished && !is_blocked(choice)) {
            return false;
        }
    }
    return has_all_choices(cs);
}

/* What blocked choices go on saying does not count. */
static void watch_silence(struct weir_cs *cs)
{
    if (!weir_cs__is_route(cs) || cs->source_done || !is_probably_over(cs)) {
        weir_loop_cancel(cs->stream.task->loop, &cs->silence);
    } else if (cs->has_spoken || !weir_timer_is_armed(&cs->silence)) {
        weir_loop_after(cs->stream.task->loop, &cs->silence, SILENCE_MS);
    }
    cs->has_spoken = false;
}

/* A choice was blocked: if every choice that came or was asked for is, nobody needs more of the
 * model's words. A request that does not say how many may be given more than one. */
static void stop_if_all_blocked(struct weir_cs *cs)
{
    bool is_all = has_all_choices(cs) && !cs->request.may_be_given_more;
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        is_all = is_all && is_blocked(WEIR_LIST_ENTRY(at, struct weir_cs_choice, link));
    }
    if (is_all && !cs->source_done) {
        weir_stream_stop_model(&cs->stream);
        cs->source_done = true;
        cs->whole_done = true;
        stop_reading(cs);
    }
    cs->may_stop = false;
}

void weir_cs__advance(struct weir_cs *cs)
{
    if (cs->stream.is_over) {
        return;
    }
    weir_cs__drain_misc(cs);
    if (cs->may_stop) {
        stop_if_all_blocked(cs);
    }
    watch_silence(cs);
    if (cs->source_done && cs->whole_done && !cs->enforces) {
        weir_cs__emit_finishes(cs);
    }
    if (cs->stream.is_over) {
        return;
    }
    if (cs->source_done && cs->whole_done && has_left(cs)) {
        finish(cs);
    } else {
        weir_stream_read_on(&cs->stream, cs->held_bytes);
    }
}

/* ---- the model ---- */

static void take_choices(struct weir_cs *cs, const struct weir_json *json, uint32_t choices)
{
    uint32_t at = weir_json_first(json, choices);
    while (at != WEIR_JSON_NONE && !cs->stream.is_over) {
        uint32_t next = weir_json_after(json, choices, at);
        struct weir_event_choice c;
        const char *why;
        if (cs->enforces) {
            weir_cs__enforce_take(cs, json, at, next == WEIR_JSON_NONE);
        } else if (weir_event_read(json, at, cs->request.is_chat, &c, &why) != 0) {
            weir_cs__fail_model(cs, why);
        } else {
            weir_cs__take_choice(cs, json, &c, next == WEIR_JSON_NONE);
        }
        cs->stream.out->n_said += next != WEIR_JSON_NONE;
        at = next;
    }
}

static void take_usage(struct weir_cs *cs, const struct weir_json *json)
{
    cs->has_spoken = true;
    if (cs->enforces) {
        weir_cs__enforce_usage(cs, json);
    } else {
        weir_buf_clear(&cs->usage);
        weir_buf_append(&cs->usage, json->src);
    }
    if (cs->stream.task->env->compat.repeats_usage && !cs->has_chunked) {
        weir_cs__emit(cs, json->src); /* and again with what is said at the end */
    }
}

static void take_misc(struct weir_cs *cs, const struct weir_json *json)
{
    cs->has_spoken = true;
    if (cs->enforces) {
        weir_cs__enforce_misc(cs, json);
    } else {
        add_misc(cs, json->src);
    }
}

static void take_event(struct weir_cs *cs, struct weir_slice event)
{
    struct weir_json json;
    cs->stream.out->n_said++;
    if (weir_cs__take_shaped(cs, event)) {
        cs->n_frames++;
        return;
    }
    if (weir_json_parse_reuse(&json, event, NULL, &cs->scratch->event, NULL) != 0) {
        weir_cs__fail_model(cs, "an event is not JSON");
        return;
    }
    if (cs->first.n == 0) {
        weir_buf_append(&cs->first, event);
    }
    weir_seen_usage(cs->request.policy, &json);
    uint32_t choices;
    switch (weir_event_class_of(&json, &choices)) {
    case WEIR_EVENT_CLASS_CHOICES:
        take_choices(cs, &json, choices);
        break;
    case WEIR_EVENT_CLASS_USAGE:
        take_usage(cs, &json);
        break;
    case WEIR_EVENT_CLASS_STREAM:
        take_misc(cs, &json);
        break;
    case WEIR_EVENT_CLASS_BAD:
        weir_cs__fail_model(cs, "an event has no choices");
        break;
    }
    cs->n_frames++;
}

/* Nobody looks at the output: byte for byte. Nothing is held and nothing waits, so that only a
 * caller who is full needs a decision. */
static void pass(struct weir_cs *cs, const struct weir_model_frame *frame)
{
    struct weir_out_raw event = {.bytes = frame->raw, .json = frame->json, .sse_id = frame->sse_id};
    weir_stream_send_raw(&cs->stream, &event);
    if (cs->stream.source.is_full) {
        weir_stream_read_on(&cs->stream, 0);
    }
}

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct weir_cs *cs = ctx;
    if (cs->stream.is_over || frame->is_error) {
        return; /* the fault that follows tells */
    }
    weir_shadow_add_answer(cs->stream.task->shadow, weir_completion_dialect(&cs->request),
                           WEIR_TALK_EVENT, frame->json);
    if (cs->has_output) {
        take_event(cs, frame->json);
    } else if (cs->has_lead || weir_skips_are_due(&cs->stream.task->skips)) {
        weir_cs__emit(cs, frame->json);
    } else {
        pass(cs, frame);
        return;
    }
    weir_cs__advance(cs);
}

static void end_choices(struct weir_cs *cs)
{
    struct weir_list *at = cs->choices.next;
    for (; at != &cs->choices && !cs->stream.is_over; at = at->next) {
        struct weir_cs_choice *choice = WEIR_LIST_ENTRY(at, struct weir_cs_choice, link);
        weir_cs__end_choice(choice);
        if (!cs->stream.is_over) {
            weir_cs__drain(choice);
        }
    }
    if (!cs->stream.is_over) {
        weir_cs__start_whole(cs);
        weir_cs__advance(cs);
    }
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct weir_cs *cs = ctx;
    cs->source_done = true;
    stop_reading(cs);
    if (fault != NULL) {
        weir_stream_fail(&cs->stream, fault);
    } else {
        end_choices(cs);
    }
}

/* While we do not read, the silence is ours. */
static void on_silence(struct weir_timer *t, void *ctx)
{
    struct weir_cs *cs = ctx;
    if (cs->stream.source.is_paused) {
        weir_loop_after(cs->stream.task->loop, t, SILENCE_MS);
        return;
    }
    weir_stream_stop_model(&cs->stream);
    on_done(cs, NULL);
}

static const struct weir_model_events MODEL_EVENTS = {
    .on_frame = on_frame,
    .on_done = on_done,
};

/* ---- the question ---- */

static void tell(struct weir_stream *s, uint64_t n_tokens)
{
    struct weir_cs *cs = WEIR_LIST_ENTRY(s, struct weir_cs, stream);
    weir_cs__emit(cs, weir_completion_unsuitable_input(cs->stream.task, &cs->request, &cs->input,
                                                       n_tokens, true));
    weir_stream_end(s);
}

static void refuse(struct weir_stream *s)
{
    struct weir_cs *cs = WEIR_LIST_ENTRY(s, struct weir_cs, stream);
    struct weir_slice events[2];
    weir_completion_refused_events(cs->stream.task, &cs->request, &cs->input, events);
    weir_cs__emit(cs, events[0]);
    weir_cs__emit(cs, events[1]);
    weir_stream_end(s);
}

/* What the first event is to take along. */
static void prepare_lead(struct weir_cs *cs)
{
    if (cs->request.policy != NULL || cs->request.warnings.n != 0) {
        weir_completion_write_input(&cs->input, &cs->lead_detections);
        weir_completion_write_input_warnings(&cs->request, &cs->input, &cs->lead_warnings);
        cs->has_lead = cs->lead_detections.n != 0 || cs->lead_warnings.n != 0;
    }
}

static void on_good_question(struct weir_stream *s)
{
    struct weir_cs *cs = WEIR_LIST_ENTRY(s, struct weir_cs, stream);
    if (cs->stream.task->trace != NULL && cs->input.asked != NULL) {
        weir_asked_trace(cs->input.asked, cs->stream.task->trace);
    }
    prepare_lead(cs);
}

static const struct weir_question_ops QUESTION_OPS = {
    .good = on_good_question,
    .refuse = refuse,
    .tell = tell,
    .answer = &MODEL_EVENTS,
};

static void undo(void *ctx)
{
    struct weir_cs *cs = ctx;
    struct weir_list *link;
    weir_stream_dispose(&cs->stream);
    while ((link = weir_list_first(&cs->misc)) != NULL) {
        weir_cs__item_free(cs, WEIR_LIST_ENTRY(link, struct weir_cs_item, link));
    }
    weir_shapes_dispose(&cs->shapes);
    weir_task_scratch_trim(cs->scratch);
    weir_buf_dispose(&cs->usage);
    weir_buf_dispose(&cs->filters);
    weir_buf_dispose(&cs->first);
    weir_buf_dispose(&cs->lead_detections);
    weir_buf_dispose(&cs->lead_warnings);
}

static void look_at_plan(struct weir_cs *cs)
{
    cs->has_output = cs->request.output.n != 0;
    cs->enforces = weir_policy_enforces(cs->request.policy) && cs->has_output;
    cs->has_chunked =
        weir_path_is_needed(weir_plan_on(&cs->request.output, WEIR_CHANNEL_CONTENT)) &&
        !cs->enforces;
    cs->has_whole = weir_path_has_whole(&cs->request.output);
}

void weir_completion_stream_start(struct weir_task_ctx *task,
                                  const struct weir_task_completion *request,
                                  const struct weir_gather_strategy *strategy, struct weir_out *out)
{
    struct weir_cs *cs = weir_arena_zalloc(task->arena, sizeof *cs);
    weir_stream_init(&cs->stream, task, &STREAM_OPS, out);
    task->skips.may_skip = true;
    cs->scratch = task->scratch;
    cs->request = *request;
    cs->strategy = strategy;
    weir_list_init(&cs->choices);
    weir_list_init(&cs->misc);
    cs->silence = (struct weir_timer){.fn = on_silence, .ctx = cs};
    look_at_plan(cs);
    weir_arena_defer(task->arena, undo, cs);
    cs->question =
        (struct weir_question){.ops = &QUESTION_OPS,
                               .stream = &cs->stream,
                               .request = &cs->request,
                               .input = &cs->input,
                               .op = request->is_chat ? WEIR_MODEL_CHAT : WEIR_MODEL_COMPLETION};
    weir_question_start(&cs->question);
}
