/*
 * The choices of a stream on a route that blocks or redacts.
 *
 *   event ─► delta ─► checked choice ─┬─ TEXT     an event with the envelope of the last one it
 * touches ├─ CLEAR    the tool calls, whole, then what ended the choice └─ BLOCKED  the route's
 * words and content_filter
 *
 * Events are not passed on but written anew from what is known of them.
 */
#include "base/err.h"
#include "base/mem.h"
#include "talk/form.h"
#include "talk/half.h"
#include "talk/known.h"
#include "talk/unknown.h"
#include "task/completion_stream_int.h"
#include "task/unmask.h"

#include <stdlib.h>

static bool keeps_unknown(const struct weir_cs *cs)
{
    return cs->request.policy->keeps_unknown;
}

/* Where JSON was asked for, half of it is of no use: it leaves when all of it is known to be clean.
 */
static bool holds_text(const struct weir_cs *cs)
{
    return cs->request.asks_json && weir_policy_on_output(cs->request.policy)->holds_json;
}

/* ---- making ---- */

void weir_cs__enforce_init(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    struct weir_cs_enforced *e = weir_mem_zalloc(sizeof *e);
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        weir_list_init(&e->held[i]);
    }
    weir_list_init(&e->waiting);
    weir_checked_init(&e->checked, &(struct weir_checked_options){
                                       .task = cs->stream.task,
                                       .request = &cs->request,
                                       .dialect = weir_completion_dialect(&cs->request),
                                       .place = choice->index,
                                       .max_held_bytes = cs->stream.task->env->max_held_bytes,
                                       .on_progress = weir_cs__on_progress,
                                       .ctx = choice});
    choice->enforced = e;
}

static void drop_list(struct weir_cs *cs, struct weir_list *items)
{
    struct weir_list *link;
    while ((link = weir_list_first(items)) != NULL) {
        weir_cs__item_free(cs, WEIR_LIST_ENTRY(link, struct weir_cs_item, link));
    }
}

/* Events whose text waits in the guard are of no use any more. */
static void drop_held(struct weir_cs_choice *choice)
{
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        drop_list(choice->cs, &choice->enforced->held[i]);
    }
    drop_list(choice->cs, &choice->enforced->waiting);
}

/* What the checked choice holds besides text counts as held. */
static void account(struct weir_cs_choice *choice)
{
    struct weir_cs_enforced *e = choice->enforced;
    size_t now = weir_checked_held(&e->checked);
    choice->cs->held_bytes += now;
    choice->cs->held_bytes -= e->held_bytes;
    e->held_bytes = now;
}

void weir_cs__enforce_free(struct weir_cs_choice *choice)
{
    struct weir_cs_enforced *e = choice->enforced;
    if (e == NULL) {
        return;
    }
    drop_held(choice);
    choice->cs->held_bytes -= e->held_bytes;
    weir_checked_dispose(&e->checked);
    weir_envelope_unref(e->envelope);
    weir_buf_dispose(&e->usage);
    free(e);
    choice->enforced = NULL;
}

bool weir_cs__enforce_is_done(const struct weir_cs_choice *choice)
{
    return weir_guard_is_done(choice->enforced->checked.guard) &&
           (choice->enforced->checked.is_blocked || choice->enforced->has_finished);
}

static void fail(struct weir_cs_choice *choice)
{
    weir_stream_fail(&choice->cs->stream, weir_checked_fault(&choice->enforced->checked));
}

/* ---- writing ---- */

static bool says_role(struct weir_cs_choice *choice)
{
    bool is_first = choice->cs->request.is_chat && choice->role == WEIR_CS_ROLE_UNSAID;
    choice->role = WEIR_CS_ROLE_SAID;
    return is_first;
}

static void join(struct weir_buf *members, struct weir_slice *more)
{
    weir_buf_append(members, more->n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
    weir_buf_append(members, *more);
    *more = weir_buf_slice(members);
}

/* With what filters have said and what has waited for an event to leave with. */
static void write_event(struct weir_cs_choice *choice, const struct weir_talk_out *event,
                        struct weir_buf *out)
{
    struct weir_cs *cs = choice->cs;
    struct weir_buf *filters = &choice->enforced->checked.filters;
    struct weir_talk_out e = *event;
    e.place = choice->index;
    e.says_role = says_role(choice);
    if (filters->n != 0) {
        join(filters, &e.extras);
    }
    if (cs->filters.n != 0) {
        join(&cs->filters, &e.top_extras);
    }
    weir_completion_dialect(&cs->request)->write_event(&e, out);
    weir_buf_clear(filters);
    weir_buf_clear(&cs->filters);
}

/* Events that say one text, of which nothing else is to be told, are the same but for it. */
static bool is_plain(const struct weir_cs_choice *choice, const struct weir_checked_piece *p)
{
    const struct weir_cs *cs = choice->cs;
    return p->piece.n_findings == 0 && !p->piece.has_foreign && p->logprobs.n == 0 &&
           p->piece.channel != WEIR_CHANNEL_TRANSCRIPT &&
           (choice->role == WEIR_CS_ROLE_SAID || !cs->request.is_chat) &&
           choice->enforced->checked.filters.n == 0 && cs->filters.n == 0;
}

static void learn_shape(struct weir_cs_choice *choice, struct weir_shape *shape,
                        const struct weir_talk_out *event)
{
    struct weir_buf written[2] = {{0}, {0}};
    struct weir_talk_out e = *event;
    for (size_t i = 0; i < 2; i++) {
        e.text = i == 0 ? WEIR_SLICE("a") : WEIR_SLICE("b");
        write_event(choice, &e, &written[i]);
    }
    shape->was_written = true;
    weir_cs__keep_written(shape, weir_buf_slice(&written[0]), weir_buf_slice(&written[1]));
    weir_buf_dispose(&written[0]);
    weir_buf_dispose(&written[1]);
}

/* Must its events wait until it is known to be clean? */
static bool waits(const struct weir_cs_choice *choice)
{
    return holds_text(choice->cs) && !choice->enforced->is_clean;
}

static void keep_waiting(struct weir_cs_choice *choice, struct weir_slice json)
{
    struct weir_cs_item *item = weir_cs__item_new(choice->cs, json);
    weir_list_append(&choice->enforced->waiting, &item->link);
}

static void send_out(struct weir_cs_choice *choice, const struct weir_talk_out *event)
{
    struct weir_buf *out = &choice->cs->scratch->out;
    weir_buf_clear(out);
    write_event(choice, event, out);
    if (waits(choice)) {
        keep_waiting(choice, weir_buf_slice(out));
    } else {
        weir_cs__emit(choice->cs, weir_buf_slice(out));
    }
}

/* {"output":[{"choice_index":0,"channel":"reasoning","results":[…]}]}, straight to the buffer:
 * every event of text has it. */
static struct weir_slice write_found(const struct weir_cs_choice *choice,
                                     const struct weir_guard_piece *piece, struct weir_buf *out)
{
    bool is_content =
        piece->channel == WEIR_CHANNEL_CONTENT || piece->channel == WEIR_CHANNEL_WHOLE;
    weir_buf_clear(out);
    if (piece->channel == WEIR_CHANNEL_TOOLS) {
        weir_buf_append(out, WEIR_SLICE("{\"output\":["));
        weir_buf_append(out, piece->entries);
        weir_buf_append(out, WEIR_SLICE("]}"));
        return weir_buf_slice(out);
    }
    weir_buf_append(out, WEIR_SLICE("{\"output\":[{\"choice_index\":"));
    weir_buf_append_u64(out, choice->index);
    if (!is_content) {
        weir_buf_append(out, WEIR_SLICE(",\"channel\":\""));
        weir_buf_append(out, weir_slice_cstr(weir_channel_name(piece->channel)));
        weir_buf_append_byte(out, '"');
    }
    weir_buf_append(out, WEIR_SLICE(",\"results\":["));
    for (size_t i = 0; i < piece->n_findings; i++) {
        weir_results_append(out, WEIR_RESULTS_TERSE, piece->findings[i], i != 0);
    }
    weir_buf_append(out, WEIR_SLICE("]}]}"));
    return weir_buf_slice(out);
}

static struct weir_slice warnings_of(const struct weir_checked_piece *p)
{
    bool is_told = p->piece.n_findings != 0 && p->piece.channel != WEIR_CHANNEL_WHOLE;
    if (p->piece.has_foreign) {
        return is_told ? WEIR_SLICE("[" WEIR_EVENT_UNSUITABLE_OUTPUT "," WEIR_UNMASK_WARNING "]")
                       : WEIR_SLICE("[" WEIR_UNMASK_WARNING "]");
    }
    return is_told ? weir_event_unsuitable_output() : WEIR_SLICE("");
}

/* ---- usage ---- */

/* What the answer has cost leaves last, in an event without choices, as the server's own does. */
static void keep_usage(struct weir_cs *cs, const struct weir_envelope *envelope,
                       struct weir_slice usage, struct weir_slice extras)
{
    weir_buf_clear(&cs->usage);
    weir_completion_dialect(&cs->request)
        ->write_usage(
            &(struct weir_talk_out){.envelope = envelope, .usage = usage, .top_extras = extras},
            &cs->usage);
}

void weir_cs__enforce_usage(struct weir_cs *cs, const struct weir_json *json)
{
    struct weir_buf usage = {0};
    struct weir_buf extras = {0};
    struct weir_envelope *envelope = weir_envelope_of(json, cs->request.model_id, NULL);
    size_t n_odd = weir_form_write_usage(json, weir_json_get(json, 0, WEIR_SLICE("usage")), &usage);
    if (keeps_unknown(cs)) {
        weir_known_write_others(json, 0, weir_known_top, &extras);
    } else {
        n_odd += weir_known_count(json, 0, weir_known_top);
    }
    weir_metric_add(cs->request.policy->dropped, n_odd);
    cs->is_usage_borrowed = false;
    cs->usage_frame = cs->n_frames;
    keep_usage(cs, envelope, weir_buf_slice(&usage), weir_buf_slice(&extras));
    weir_envelope_unref(envelope);
    weir_buf_dispose(&usage);
    weir_buf_dispose(&extras);
}

/* Usage that came with a choice, in this frame, and has no event of that to leave with: it leaves
 * last, unless a later one does. */
static void borrow_usage(struct weir_cs_choice *choice, struct weir_slice usage, uint64_t frame)
{
    struct weir_cs *cs = choice->cs;
    if (usage.n != 0 && frame >= cs->usage_frame) {
        keep_usage(cs, choice->enforced->envelope, usage, WEIR_SLICE(""));
        cs->is_usage_borrowed = true;
        cs->usage_frame = frame;
    }
}

/* What filters say of the question leaves with the next event of a choice. */
static void take_prompt_filters(struct weir_cs *cs, const struct weir_json *json)
{
    struct weir_buf now = {0};
    size_t n_odd = weir_form_write_filters(json, 0, weir_known_prompt_filters, &now);
    weir_metric_add(cs->request.policy->dropped, n_odd);
    if (now.n != 0) {
        weir_buf_clear(&cs->filters);
        weir_buf_append(&cs->filters, weir_buf_slice(&now));
    }
    weir_buf_dispose(&now);
}

/* An event without choices says something of the question's filters, or only what nobody here
 * knows. */
void weir_cs__enforce_misc(struct weir_cs *cs, const struct weir_json *json)
{
    if (keeps_unknown(cs)) {
        weir_cs__emit(cs, json->src);
    } else {
        take_prompt_filters(cs, json);
        weir_metric_add(cs->request.policy->dropped, weir_known_count(json, 0, weir_known_top));
    }
}

/* ---- arriving ---- */

static void push_item(struct weir_cs_choice *choice, enum weir_channel channel,
                      struct weir_cs_item *item, struct weir_slice text)
{
    struct weir_cs_enforced *e = choice->enforced;
    item->has_text = true;
    item->start_cp = weir_guard_length_cp(e->checked.guard, channel);
    weir_list_append(&e->held[channel], &item->link);
    if (weir_checked_push(&e->checked, channel, choice->cs->n_frames, text) != 0) {
        fail(choice);
        return;
    }
    item->end_cp = weir_guard_length_cp(e->checked.guard, channel);
}

static void push(struct weir_cs_choice *choice, enum weir_channel channel, struct weir_slice usage,
                 struct weir_slice text)
{
    if (text.n != 0) {
        struct weir_cs_item *item = weir_cs__item_new(choice->cs, usage);
        item->envelope = weir_envelope_ref(choice->enforced->envelope);
        push_item(choice, channel, item, text);
    } else {
        borrow_usage(choice, usage, choice->cs->n_frames);
    }
}

void weir_cs__enforce_take_shaped(struct weir_cs_choice *choice, struct weir_shape *shape,
                                  struct weir_slice text)
{
    struct weir_cs *cs = choice->cs;
    struct weir_cs_enforced *e = choice->enforced;
    if (e->checked.is_blocked) {
        return;
    }
    cs->has_spoken = true;
    if (e->envelope != shape->envelope) {
        weir_envelope_unref(e->envelope);
        e->envelope = weir_envelope_ref(shape->envelope);
    }
    struct weir_cs_item *item = weir_cs__item_of_shape(cs, shape, text.n);
    push_item(choice, (enum weir_channel)shape->channel, item, text);
    if (!cs->stream.is_over) {
        weir_cs__enforce_drain(choice);
    }
}

static bool says_filters(const struct weir_delta *d)
{
    const char *const *name = weir_known_prompt_filters;
    while (*name != NULL &&
           weir_json_get_set(d->json, 0, weir_slice_cstr(*name)) == WEIR_JSON_NONE) {
        name++;
    }
    return *name != NULL || weir_checked_says_filters(d);
}

/* Is one string all it says, with nothing else in it that leaves or is counted? */
static bool says_one_text(const struct weir_delta *d, enum weir_channel *channel)
{
    const struct weir_json *json = d->json;
    size_t n = 0;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        if (d->texts[i] != WEIR_JSON_NONE) {
            *channel = (enum weir_channel)i;
            n++;
        }
    }
    bool says_more = d->tool_calls != WEIR_JSON_NONE || d->function_call != WEIR_JSON_NONE ||
                     d->audio != WEIR_JSON_NONE || d->finish != WEIR_JSON_NONE ||
                     d->stop_reason != WEIR_JSON_NONE || d->logprobs != WEIR_JSON_NONE ||
                     d->n_unknown != 0;
    return n == 1 && !says_more && !json->nodes[d->texts[*channel]].has_lone_surrogate &&
           json->nodes[weir_json_get(json, 0, WEIR_SLICE("choices"))].n == 1 &&
           weir_known_count(json, 0, weir_known_top) == 0 && !says_filters(d) &&
           weir_json_get_set(json, 0, WEIR_SLICE("usage")) == WEIR_JSON_NONE;
}

/* Events like this one need no reading any more. */
static void keep_shape(struct weir_cs_choice *choice, const struct weir_delta *d)
{
    enum weir_channel channel = WEIR_CHANNEL_CONTENT;
    struct weir_envelope *envelope = choice->enforced->envelope;
    if (envelope->n_odd == 0 && says_one_text(d, &channel)) {
        struct weir_shape *shape =
            weir_cs__keep_shape(choice, d->json, d->texts[channel], channel, false);
        if (shape != NULL && shape->envelope == NULL) {
            shape->envelope = weir_envelope_ref(envelope);
        }
    }
}

/* Usage stands once in an event and leaves once: with the last text of it. */
static bool take_texts(struct weir_cs_choice *choice, const struct weir_delta *d,
                       struct weir_slice usage)
{
    struct weir_cs *cs = choice->cs;
    size_t n_left = 0;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        n_left += d->texts[i] != WEIR_JSON_NONE;
    }
    bool has_any = n_left != 0;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS && !cs->stream.is_over; i++) {
        if (d->texts[i] != WEIR_JSON_NONE) {
            n_left--;
            weir_checked_text(&choice->enforced->checked, d, (enum weir_channel)i,
                              &cs->scratch->text);
            push(choice, (enum weir_channel)i, n_left == 0 ? usage : WEIR_SLICE(""),
                 weir_buf_slice(&cs->scratch->text));
        }
    }
    return has_any;
}

/* `unguarded: unknown_members`. What nobody checks leaves at once, in an event of its own. */
static void pass_unknown(struct weir_cs_choice *choice, const struct weir_delta *d)
{
    struct weir_buf members = {0};
    struct weir_buf audio = {0};
    struct weir_buf extras = {0};
    struct weir_buf top = {0};
    bool is_chat = choice->cs->request.is_chat;
    if (is_chat && d->body != WEIR_JSON_NONE) {
        weir_known_write_others(d->json, d->body, weir_known_body, &members);
    }
    if (d->audio != WEIR_JSON_NONE) {
        weir_known_write_others(d->json, d->audio, weir_known_audio, &audio);
    }
    weir_known_write_others(d->json, d->choice, weir_known_choice_of(is_chat), &extras);
    weir_known_write_others(d->json, 0, weir_known_top, &top);
    send_out(choice, &(struct weir_talk_out){.envelope = choice->enforced->envelope,
                                             .members = weir_buf_slice(&members),
                                             .audio = weir_buf_slice(&audio),
                                             .extras = weir_buf_slice(&extras),
                                             .top_extras = weir_buf_slice(&top)});
    weir_buf_dispose(&members);
    weir_buf_dispose(&audio);
    weir_buf_dispose(&extras);
    weir_buf_dispose(&top);
}

/* What nobody knows leaves or is counted, each once. */
static void take_unknown(struct weir_cs_choice *choice, const struct weir_delta *d, bool is_last)
{
    struct weir_cs *cs = choice->cs;
    size_t n = d->n_unknown + (is_last ? weir_known_count(d->json, 0, weir_known_top) : 0);
    if (cs->request.policy->checks_unknown && !keeps_unknown(cs)) {
        if (weir_checked_take_unknown(&choice->enforced->checked, d, is_last) != 0) {
            fail(choice);
        }
    } else if (!keeps_unknown(cs)) {
        weir_metric_add(cs->request.policy->dropped, n + d->n_unknown_in_calls);
    } else if (n != 0) {
        pass_unknown(choice, d);
    }
}

/* The first thing a choice does may be to say who speaks. */
static void greet(struct weir_cs_choice *choice)
{
    if (choice->role == WEIR_CS_ROLE_UNSAID && choice->cs->request.is_chat) {
        send_out(choice, &(struct weir_talk_out){.envelope = choice->enforced->envelope,
                                                 .channel = WEIR_CHANNEL_CONTENT,
                                                 .text = WEIR_SLICE("")});
    }
}

static void take_envelope(struct weir_cs_choice *choice, const struct weir_json *json)
{
    struct weir_cs_enforced *e = choice->enforced;
    struct weir_envelope *last = e->envelope;
    e->envelope = weir_envelope_of(json, choice->cs->request.model_id, last);
    if (e->envelope != last) {
        weir_metric_add(choice->cs->request.policy->dropped, e->envelope->n_odd);
    }
    weir_envelope_unref(last);
}

/* What the event says it has cost, to the scratch buffer; empty: nothing. */
static struct weir_slice read_usage(struct weir_cs *cs, const struct weir_json *json, bool is_last)
{
    uint32_t at = is_last ? weir_json_get_set(json, 0, WEIR_SLICE("usage")) : WEIR_JSON_NONE;
    weir_buf_clear(&cs->scratch->kept);
    if (at != WEIR_JSON_NONE) {
        weir_metric_add(cs->request.policy->dropped,
                        weir_form_write_usage(json, at, &cs->scratch->kept));
    }
    return weir_buf_slice(&cs->scratch->kept);
}

/* The finish_reason leaves when the stream has ended, and with it what the answer had cost then. */
static void take_finish(struct weir_cs_choice *choice, struct weir_slice usage)
{
    struct weir_buf *kept = &choice->enforced->usage;
    if (usage.n == 0) {
        borrow_usage(choice, weir_buf_slice(kept), choice->enforced->usage_frame);
    }
    choice->enforced->usage_frame = choice->cs->n_frames;
    weir_buf_clear(kept);
    weir_buf_append(kept, usage);
}

/* Everything of a choice that is not blocked. */
static void take_delta(struct weir_cs_choice *choice, const struct weir_delta *d,
                       struct weir_slice usage, bool is_last)
{
    struct weir_cs *cs = choice->cs;
    struct weir_cs_enforced *e = choice->enforced;
    bool has_finish = d->finish != WEIR_JSON_NONE;
    keep_shape(choice, d);
    if (is_last) {
        take_prompt_filters(cs, d->json);
    }
    if (e->checked.filters.n != 0 && weir_checked_says_filters(d)) {
        send_out(choice, &(struct weir_talk_out){.envelope = e->envelope}); /* none is lost */
    }
    take_unknown(choice, d, is_last);
    if (cs->stream.is_over) {
        return;
    }
    if (weir_checked_take(&e->checked, d) != 0) {
        fail(choice);
        return;
    }
    weir_metric_add(cs->request.policy->dropped, e->checked.n_odd);
    e->checked.n_odd = 0;
    bool has_texts = take_texts(choice, d, has_finish ? WEIR_SLICE("") : usage);
    if (has_finish) {
        take_finish(choice, usage);
    } else if (!has_texts) {
        borrow_usage(choice, usage, cs->n_frames);
    }
    if (!has_texts && !has_finish && e->checked.tools.n == 0 && !cs->stream.is_over) {
        greet(choice);
    }
    account(choice);
}

void weir_cs__enforce_take(struct weir_cs *cs, const struct weir_json *json, uint32_t at,
                           bool is_last)
{
    struct weir_delta d;
    const char *why;
    if (weir_completion_dialect(&cs->request)->read(json, at, WEIR_TALK_EVENT, &d, &why) != 0) {
        weir_cs__fail_model(cs, why);
        return;
    }
    struct weir_cs_choice *choice = weir_cs__choice(cs, d.place);
    if (choice == NULL) {
        return;
    }
    bool is_blocked = choice->enforced->checked.is_blocked;
    struct weir_slice usage = read_usage(cs, json, is_last);
    take_envelope(choice, json);
    weir_cs__note_finish(choice, d.finish != WEIR_JSON_NONE);
    cs->has_spoken = cs->has_spoken || usage.n != 0 || !is_blocked;
    if (usage.n != 0 && is_blocked) {
        borrow_usage(choice, usage, cs->n_frames);
    } else if (usage.n != 0 && cs->is_usage_borrowed) {
        weir_buf_clear(&cs->usage);
        cs->usage_frame = cs->n_frames;
    }
    if (is_blocked) {
        return;
    }
    take_delta(choice, &d, usage, is_last);
    if (!cs->stream.is_over) {
        weir_cs__enforce_drain(choice);
    }
}

void weir_cs__enforce_end(struct weir_cs_choice *choice)
{
    struct weir_cs_enforced *e = choice->enforced;
    enum weir_channel half;
    if (e->checked.is_blocked || choice->cs->stream.is_over) {
        return;
    }
    while ((half = weir_checked_take_half(&e->checked)) != WEIR_CHANNEL_TEXTS) {
        push(choice, half, WEIR_SLICE(""), WEIR_HALF_ALONE);
    }
    weir_checked_end(&e->checked);
}

/* ---- leaving ---- */

/* The last event that a text touches; those before it are of no use any more. */
static struct weir_cs_item *touch(const struct weir_list *items, size_t end_cp)
{
    struct weir_cs_item *last = NULL;
    for (struct weir_list *at = items->next; at != items; at = at->next) {
        struct weir_cs_item *item = WEIR_LIST_ENTRY(at, struct weir_cs_item, link);
        if (item->start_cp >= end_cp) {
            break;
        }
        last = item;
    }
    return last;
}

static const struct weir_envelope *envelope_of(const struct weir_cs_choice *choice,
                                               const struct weir_cs_item *item)
{
    if (item == NULL) {
        return choice->enforced->envelope; /* what was held back to the end has no event any more */
    }
    return item->shape != NULL ? item->shape->envelope : item->envelope;
}

/* The event of a piece as one like it was written before. False: it must be written. */
static bool send_shaped(struct weir_cs_choice *choice, const struct weir_checked_piece *p,
                        const struct weir_cs_item *last)
{
    struct weir_cs *cs = choice->cs;
    struct weir_cs_written written = {.text = p->piece.text};
    if (last == NULL || last->shape == NULL || !is_plain(choice, p) ||
        !weir_cs__write_shaped(cs, last->shape, &written)) {
        return false;
    }
    if (waits(choice)) {
        keep_waiting(choice, weir_cs__shaped_json(cs));
    } else {
        weir_cs__emit_shaped(cs, &written);
    }
    return true;
}

static void write_text(struct weir_cs_choice *choice, const struct weir_checked_piece *p,
                       struct weir_cs_item *last, struct weir_slice usage)
{
    const struct weir_guard_piece *piece = &p->piece;
    struct weir_talk_out e = {.envelope = envelope_of(choice, last),
                              .channel = piece->channel,
                              .text = piece->text,
                              .logprobs = p->logprobs,
                              .usage = usage,
                              .detections = write_found(choice, piece, &choice->cs->scratch->kept),
                              .warnings = warnings_of(p)};
    if (piece->channel == WEIR_CHANNEL_TRANSCRIPT) {
        e.audio = weir_checked_take_audio(&choice->enforced->checked);
    }
    if (last != NULL && last->shape != NULL && !last->shape->was_written && is_plain(choice, p)) {
        learn_shape(choice, last->shape, &e);
    }
    send_out(choice, &e);
}

static void emit_text(struct weir_cs_choice *choice, const struct weir_checked_piece *p)
{
    struct weir_cs *cs = choice->cs;
    const struct weir_guard_piece *piece = &p->piece;
    struct weir_list *items = &choice->enforced->held[piece->channel];
    struct weir_cs_item *last = touch(items, piece->end_cp);
    bool is_whole = last != NULL && last->end_cp <= piece->end_cp;
    struct weir_slice usage = is_whole ? weir_slice_make(last->json, last->n) : WEIR_SLICE("");
    if (piece->text.n == 0 && piece->n_findings == 0) {
        /* All of it belongs to a run that was replaced before. */
        borrow_usage(choice, usage, last != NULL ? last->frame : 0);
    } else if (!send_shaped(choice, p, last)) {
        write_text(choice, p, last, usage);
    }
    if (piece->is_changed) {
        weir_cs__note_outcome(cs, WEIR_POLICY_REDACTED);
    } else if (piece->n_findings != 0 && !weir_policy_on_output(cs->request.policy)->enforces) {
        weir_cs__note_outcome(cs, WEIR_POLICY_ANNOTATED);
    }
    bool has_left = piece->text.n != 0;
    bool *so_far = &choice->enforced->checked.has_left[piece->channel];
    *so_far = *so_far || has_left;
    weir_cs__forget_until(cs, items, piece->end_cp);
}

static void emit_no(struct weir_cs_choice *choice, const struct weir_checked_piece *p)
{
    const struct weir_guard_piece *piece = &p->piece;
    struct weir_cs *cs = choice->cs;
    struct weir_cs_enforced *e = choice->enforced;
    struct weir_out *sink = cs->stream.out;
    struct weir_checked_no no = weir_checked_no(&e->checked, holds_text(cs));
    e->is_clean = true; /* what is said from here on is ours */
    if (sink->ops->blocked != NULL) {
        sink->ops->blocked(sink, choice->index);
    }
    send_out(choice,
             &(struct weir_talk_out){.envelope = e->envelope,
                                     .channel = no.channel,
                                     .text = no.text,
                                     .detections = write_found(choice, piece, &cs->scratch->kept),
                                     .warnings = warnings_of(p)});
    send_out(choice, &(struct weir_talk_out){.envelope = e->envelope,
                                             .finish = no.finish,
                                             .usage = weir_buf_slice(&e->usage)});
}

/* What the answer had cost, as events that are not sent say. */
static void save_usage(struct weir_cs_choice *choice)
{
    const struct weir_cs_item *last = NULL;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        const struct weir_list *items = &choice->enforced->held[i];
        for (const struct weir_list *at = items->next; at != items; at = at->next) {
            const struct weir_cs_item *item = WEIR_LIST_ENTRY(at, struct weir_cs_item, link);
            bool is_later = last == NULL || item->seq > last->seq;
            last = item->shape == NULL && item->n != 0 && is_later ? item : last;
        }
    }
    if (last != NULL) {
        borrow_usage(choice, weir_slice_make(last->json, last->n), last->frame);
    }
}

static void block(struct weir_cs_choice *choice, const struct weir_checked_piece *p)
{
    struct weir_cs *cs = choice->cs;
    bool has_finished = choice->said_finish_last && !choice->said_finish_before;
    save_usage(choice);
    if (holds_text(cs)) {
        choice->role = WEIR_CS_ROLE_UNSAID; /* what has said it does not leave */
    }
    drop_held(choice);
    emit_no(choice, p);
    weir_cs__note_outcome(cs, WEIR_POLICY_BLOCKED);
    weir_tools_dispose(&choice->enforced->checked.tools);
    account(choice);
    /* Where it has said its finish_reason already, there is nothing to save, and usage may come. */
    cs->may_stop = cs->may_stop || !has_finished;
}

static void emit_waiting(struct weir_cs_choice *choice)
{
    struct weir_list *link;
    choice->enforced->is_clean = true;
    while ((link = weir_list_first(&choice->enforced->waiting)) != NULL &&
           !choice->cs->stream.is_over) {
        struct weir_cs_item *item = WEIR_LIST_ENTRY(link, struct weir_cs_item, link);
        weir_cs__emit(choice->cs, weir_slice_make(item->json, item->n));
        weir_cs__item_free(choice->cs, item);
    }
}

/* Members nobody knows that were looked at, each in the event it came with. */
static void emit_unknown(struct weir_cs_choice *choice)
{
    const struct weir_json *left = choice->enforced->checked.unknown_left;
    uint32_t at = left != NULL ? weir_json_first(left, 0) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(left, 0, at)) {
        struct weir_talk_out e = {.envelope = choice->enforced->envelope};
        weir_unknown_read(left, at, &e);
        send_out(choice, &e);
    }
}

/* What is not text leaves whole, when all text has left: tool calls, what is said about audio. */
static void clear(struct weir_cs_choice *choice, const struct weir_checked_piece *p)
{
    struct weir_cs *cs = choice->cs;
    struct weir_cs_enforced *e = choice->enforced;
    const struct weir_guard_piece *piece = &p->piece;
    struct weir_buf calls = {0};
    bool has_calls = e->checked.tools.n != 0 || weir_checked_has_audio(&e->checked);
    emit_waiting(choice);
    emit_unknown(choice);
    if (has_calls) {
        bool has_found = piece->n_findings != 0;
        weir_checked_write_calls(&e->checked, true, &calls);
        send_out(choice,
                 &(struct weir_talk_out){
                     .envelope = e->envelope,
                     .audio = weir_checked_take_audio(&e->checked),
                     .members = weir_buf_slice(&calls),
                     .detections = has_found ? write_found(choice, piece, &cs->scratch->kept)
                                             : WEIR_SLICE(""),
                     .warnings = warnings_of(p)});
    }
    if (piece->is_changed) {
        weir_cs__note_outcome(cs, WEIR_POLICY_REDACTED);
    }
    e->is_clear = true;
    e->warnings = has_calls ? WEIR_SLICE("") : warnings_of(p);
    weir_tools_dispose(&e->checked.tools);
    weir_buf_dispose(&calls);
    account(choice);
}

/* What ends the choice, when nothing more is told of it. */
static void end_clear(struct weir_cs_choice *choice)
{
    struct weir_cs_enforced *e = choice->enforced;
    e->has_finished = true;
    if (e->checked.finish.n != 0) {
        send_out(choice,
                 &(struct weir_talk_out){.envelope = e->envelope,
                                         .finish = weir_buf_slice(&e->checked.finish),
                                         .stop_reason = weir_buf_slice(&e->checked.stop_reason),
                                         .usage = weir_buf_slice(&e->usage),
                                         .warnings = e->warnings});
    }
    if (e->checked.filters.n != 0) {
        send_out(choice, &(struct weir_talk_out){.envelope = e->envelope});
    }
}

/* Findings that lead to nothing, in an event of their own: the text they are of has left. */
static void tell(struct weir_cs_choice *choice, const struct weir_checked_piece *p)
{
    send_out(choice, &(struct weir_talk_out){
                         .envelope = choice->enforced->envelope,
                         .detections = write_found(choice, &p->piece, &choice->cs->scratch->kept),
                         .warnings = warnings_of(p)});
    weir_cs__note_outcome(choice->cs, WEIR_POLICY_ANNOTATED);
}

static void take_piece(struct weir_cs_choice *choice, const struct weir_checked_piece *p)
{
    switch (p->piece.what) {
    case WEIR_GUARD_TEXT:
        emit_text(choice, p);
        break;
    case WEIR_GUARD_BLOCKED:
        block(choice, p);
        break;
    case WEIR_GUARD_CLEAR:
        clear(choice, p);
        break;
    }
}

void weir_cs__enforce_drain(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    struct weir_checked_piece p;
    struct weir_cs_enforced *e = choice->enforced;
    int rc = 0;
    while (!cs->stream.is_over && (rc = weir_checked_pop(&e->checked, &p)) == 0) {
        take_piece(choice, &p);
    }
    while (rc == WEIR_EAGAIN && !cs->stream.is_over &&
           (rc = weir_checked_pop_told(&e->checked, &p)) == 0) {
        tell(choice, &p);
        rc = WEIR_EAGAIN;
    }
    if (rc != 0 && rc != WEIR_EAGAIN && !cs->stream.is_over) {
        fail(choice);
        return;
    }
    if (e->is_clear && !e->has_finished && !cs->stream.is_over &&
        weir_guard_is_told(e->checked.guard)) {
        end_clear(choice);
    }
    if (cs->request.output.telling != NULL) {
        account(choice);
    }
}
