/*
 * What a guard lets go, as events:
 *
 *   TEXT      an event like the last one the text touches
 *   CLEAR     the tool calls, whole, then what ended the choice
 *   BLOCKED   the route's words and content_filter
 */
#include "base/err.h"
#include "task/completion_enforce_int.h"
#include "task/results.h"

static void write_detections(const struct weir_cs_choice *choice,
                             const struct weir_guard_piece *piece, struct weir_buf *out)
{
    bool is_content =
        piece->channel == WEIR_CHANNEL_CONTENT || piece->channel == WEIR_CHANNEL_WHOLE;
    struct weir_results_choice results = {
        .index = choice->index,
        .channel = is_content ? WEIR_SLICE("") : weir_slice_cstr(weir_channel_name(piece->channel)),
        .shape = WEIR_RESULTS_TERSE,
        .findings = piece->findings,
        .n_findings = piece->n_findings};
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("output"));
    weir_json_write_begin_array(&w);
    weir_results_write_choice(&w, &results);
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
}

/* An event for this text: to `out`. */
static void write_text(struct weir_cs_choice *choice, const struct weir_cs_item *last,
                       const struct weir_guard_piece *piece, struct weir_buf *out)
{
    struct weir_cs *cs = choice->cs;
    struct weir_buf body = {0};
    struct weir_buf detections = {0};
    struct weir_json json;
    weir_cs__write_said(choice, piece->channel, piece->text, &body);
    write_detections(choice, piece, &detections);
    if (weir_json_parse_reuse(&json, weir_cs__item_json(cs, last), NULL, &cs->scratch->envelope,
                              NULL) == 0) {
        uint32_t choices = weir_json_get(&json, 0, WEIR_SLICE("choices"));
        struct weir_cs_event event = {.body = weir_buf_slice(&body),
                                      .finish = WEIR_ENFORCE_WAITS,
                                      .with_usage = true,
                                      .detections = weir_buf_slice(&detections)};
        weir_cs__write_event(cs, &json, weir_json_first(&json, choices), &event, out);
    }
    weir_buf_dispose(&body);
    weir_buf_dispose(&detections);
}

/* How events of the shape leave is learned from the first of them, once the role has left. */
static void learn_shape(struct weir_cs_choice *choice, const struct weir_cs_item *last,
                        enum weir_channel channel)
{
    struct weir_guard_piece one = {.channel = channel, .text = WEIR_SLICE("a")};
    struct weir_guard_piece other = {.channel = channel, .text = WEIR_SLICE("b")};
    struct weir_buf written[2] = {{0}, {0}};
    write_text(choice, last, &one, &written[0]);
    write_text(choice, last, &other, &written[1]);
    weir_cs__keep_written(last->shape, weir_buf_slice(&written[0]), weir_buf_slice(&written[1]));
    weir_buf_dispose(&written[0]);
    weir_buf_dispose(&written[1]);
}

static bool says_nothing(const struct weir_guard_piece *piece)
{
    return piece->text.n == 0 && piece->n_findings == 0; /* swallowed */
}

/* The short way out, if the event that lends its envelope is one of those known by their shape. */
static bool emit_shaped(struct weir_cs_choice *choice, const struct weir_guard_piece *piece,
                        const struct weir_cs_item *last, bool has_logprobs)
{
    struct weir_cs *cs = choice->cs;
    bool has_role = cs->request.is_chat && choice->role == WEIR_CS_ROLE_UNSAID;
    bool is_partial = last->end_cp > piece->end_cp;
    if (last->shape == NULL || has_role || has_logprobs ||
        (is_partial && last->shape->has_ending)) {
        return false;
    }
    if (last->shape->out_head.n == 0) {
        learn_shape(choice, last, piece->channel);
    }
    struct weir_cs_written written = {.text = piece->text,
                                      .results = WEIR_RESULTS_TERSE,
                                      .findings = piece->findings,
                                      .n_findings = piece->n_findings};
    if (!weir_cs__write_shaped(cs, last->shape, &written)) {
        return false;
    }
    weir_cs__emit(cs, weir_buf_slice(&cs->scratch->out));
    return true;
}

static void emit_text(struct weir_cs_choice *choice, const struct weir_guard_piece *piece)
{
    struct weir_cs *cs = choice->cs;
    struct weir_list *items = &choice->enforced->held[piece->channel];
    struct weir_event_logprobs logprobs = {0};
    struct weir_buf joined = {0};
    struct weir_buf body = {0};
    struct weir_buf detections = {0};
    struct weir_cs_item *last =
        weir_cs__touch(cs, items, piece->end_cp, piece->is_changed, &logprobs);
    if (last == NULL) {
        weir_cs__fail_model(cs, "a batch has no event");
        return;
    }
    if (logprobs.has_any) {
        weir_event_logprobs_write(&logprobs, cs->request.is_chat, &joined);
    }
    bool is_partial = last->end_cp > piece->end_cp;
    if (!says_nothing(piece) && !emit_shaped(choice, piece, last, logprobs.has_any)) {
        weir_cs__write_said(choice, piece->channel, piece->text, &body);
        write_detections(choice, piece, &detections);
        weir_cs__emit_event(choice,
                            &(struct weir_cs_event){.envelope = weir_cs__item_json(cs, last),
                                                    .body = weir_buf_slice(&body),
                                                    .finish = WEIR_ENFORCE_WAITS,
                                                    .with_usage = !is_partial,
                                                    .is_tainted = is_partial || last->is_tainted,
                                                    .logprobs = weir_buf_slice(&joined),
                                                    .detections = weir_buf_slice(&detections),
                                                    .is_found = piece->n_findings != 0});
    }
    if (piece->is_changed) {
        weir_cs__note_outcome(cs, WEIR_POLICY_REDACTED);
    }
    weir_cs__forget_until(cs, items, piece->end_cp);
    weir_event_logprobs_dispose(&logprobs);
    weir_buf_dispose(&joined);
    weir_buf_dispose(&body);
    weir_buf_dispose(&detections);
}

static void emit_no(struct weir_cs_choice *choice, const struct weir_guard_piece *piece)
{
    const struct weir_policy *policy = choice->cs->request.policy;
    struct weir_out *sink = choice->cs->out;
    bool has_fallback = policy->fallback.p != NULL;
    struct weir_buf body = {0};
    struct weir_buf detections = {0};
    weir_cs__write_said(choice, has_fallback ? WEIR_CHANNEL_CONTENT : WEIR_CHANNEL_REFUSAL,
                        has_fallback ? policy->fallback : WEIR_POLICY_REFUSAL, &body);
    write_detections(choice, piece, &detections);
    if (sink->ops->blocked != NULL) {
        sink->ops->blocked(sink, choice->index);
    }
    struct weir_cs_event event = {.envelope = weir_buf_slice(&choice->enforced->last),
                                  .body = weir_buf_slice(&body),
                                  .finish = WEIR_ENFORCE_WAITS,
                                  .is_tainted = true,
                                  .detections = weir_buf_slice(&detections),
                                  .is_found = piece->channel != WEIR_CHANNEL_WHOLE};
    weir_cs__emit_event(choice, &event);
    weir_buf_clear(&body);
    weir_cs__write_silence(choice, &body);
    bool has_finish = choice->enforced->finish.n != 0;
    weir_cs__emit_event(
        choice,
        &(struct weir_cs_event){.envelope = has_finish ? weir_buf_slice(&choice->enforced->finish)
                                                       : event.envelope,
                                .body = weir_buf_slice(&body),
                                .finish = WEIR_ENFORCE_FILTERED,
                                .with_usage = true,
                                .is_tainted = true});
    weir_buf_dispose(&body);
    weir_buf_dispose(&detections);
}

static void block(struct weir_cs_choice *choice, const struct weir_guard_piece *piece)
{
    struct weir_cs *cs = choice->cs;
    bool has_finished = choice->said_finish_last && !choice->said_finish_before;
    emit_no(choice, piece);
    choice->enforced->is_blocked = true;
    weir_cs__note_outcome(cs, WEIR_POLICY_BLOCKED);
    weir_cs__drop_held(choice);
    weir_cs__forget_tools(choice);
    /* Where it has said its finish_reason already, there is nothing to save, and usage may come. */
    cs->may_stop = cs->may_stop || !has_finished;
}

/* What is not text leaves whole, when all text has left: tool calls, what is said about audio. */
static void emit_rest(struct weir_cs_choice *choice)
{
    struct weir_cs_enforced *e = choice->enforced;
    bool has_audio = e->audio_id.n != 0 || e->audio_expires.n != 0;
    struct weir_buf body = {0};
    struct weir_json_write w;
    if (choice->n_tools == 0 && !has_audio) {
        return;
    }
    weir_cs__begin_delta(&w, choice, &body);
    if (has_audio) {
        weir_cs__write_audio(&w, e, (struct weir_slice){0});
    }
    weir_cs__write_tools(&w, choice);
    weir_json_write_end_object(&w);
    weir_cs__emit_event(choice,
                        &(struct weir_cs_event){.envelope = weir_buf_slice(&choice->enforced->last),
                                                .body = weir_buf_slice(&body),
                                                .finish = WEIR_ENFORCE_WAITS,
                                                .is_tainted = true});
    weir_cs__forget_tools(choice);
    weir_buf_dispose(&body);
}

static void emit_finish(struct weir_cs_choice *choice)
{
    struct weir_buf body = {0};
    weir_cs__write_silence(choice, &body);
    weir_cs__emit_event(
        choice, &(struct weir_cs_event){.envelope = weir_buf_slice(&choice->enforced->finish),
                                        .body = weir_buf_slice(&body),
                                        .finish = WEIR_ENFORCE_AS_IS,
                                        .with_usage = true});
    weir_cs__drop_event(choice->cs, &choice->enforced->finish);
    weir_buf_dispose(&body);
}

static bool has_judged_tools(const struct weir_cs_choice *choice)
{
    struct weir_guard_ending now = {0};
    weir_cs__collect_texts(choice, &now);
    return weir_guard_has_judged_tools(choice->enforced->guard, now.tool_texts, now.n_tool_texts);
}

static void clear(struct weir_cs_choice *choice)
{
    if (choice->n_tools != 0 && !has_judged_tools(choice)) {
        weir_cs__fail_promise(choice, "tool calls");
        return;
    }
    emit_rest(choice);
    if (choice->enforced->finish.n != 0) {
        emit_finish(choice);
    }
}

static void take_piece(struct weir_cs_choice *choice, const struct weir_guard_piece *piece)
{
    switch (piece->what) {
    case WEIR_GUARD_TEXT:
        if (weir_guard_has_judged(choice->enforced->guard, piece)) {
            emit_text(choice, piece);
        } else {
            weir_cs__fail_promise(choice, weir_channel_name(piece->channel));
        }
        break;
    case WEIR_GUARD_BLOCKED:
        block(choice, piece);
        break;
    case WEIR_GUARD_CLEAR:
        clear(choice);
        break;
    }
}

void weir_cs__enforce_drain(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    struct weir_guard_piece piece;
    int rc = 0;
    while (!cs->is_over && (rc = weir_guard_pop(choice->enforced->guard, &piece)) == 0) {
        take_piece(choice, &piece);
    }
    if (rc != 0 && rc != WEIR_EAGAIN && !cs->is_over) {
        weir_cs__fail(cs, weir_guard_fault(choice->enforced->guard));
    }
}
