/*
 * Events of one choice, from the model server to the caller.
 *
 *   items   [text 0..4) [text 4..9) [tool call] [text 9..12) [finish]
 *
 * Text items wait for the batch that covers them; what leaves is the last event the batch touches,
 * with the batch's text in it. The others wait until all text before them has left. One with
 * nothing in it does not end a sentence; a batch that goes on behind it takes it along.
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "talk/half.h"
#include "task/completion_stream_int.h"
#include "task/seen.h"
#include "wire/json_edit.h"

#include <stdlib.h>

/* ---- items ---- */

struct weir_cs_item *weir_cs__item_new(struct weir_cs *cs, struct weir_slice json)
{
    struct weir_cs_item *item = weir_mem_alloc(sizeof *item + json.n);
    *item = (struct weir_cs_item){
        .seq = cs->seq++, .frame = cs->n_frames, .n_held = json.n, .n = json.n};
    if (json.n != 0) {
        memcpy(item->json, json.p, json.n);
    }
    cs->held_bytes += item->n_held;
    return item;
}

void weir_cs__item_free(struct weir_cs *cs, struct weir_cs_item *item)
{
    weir_list_remove(&item->link);
    cs->held_bytes -= item->n_held;
    weir_envelope_unref(item->envelope);
    if (item->shape != NULL) {
        weir_cs__item_spare(cs, item);
    } else {
        free(item);
    }
}

/* An event that is kept for later, in place of the one kept before. */
void weir_cs__keep_event(struct weir_cs *cs, struct weir_buf *place, struct weir_slice event)
{
    cs->held_bytes += event.n;
    cs->held_bytes -= place->n;
    weir_buf_clear(place);
    weir_buf_append(place, event);
}

void weir_cs__drop_event(struct weir_cs *cs, struct weir_buf *place)
{
    cs->held_bytes -= place->n;
    weir_buf_dispose(place);
}

int weir_cs__read_single(struct weir_cs *cs, struct weir_slice event, struct weir_json *json,
                         struct weir_event_choice *c)
{
    const char *why;
    int rc = weir_json_parse_reuse(json, event, NULL, &cs->scratch->envelope, NULL);
    uint32_t choices = rc == 0 ? weir_json_get(json, 0, WEIR_SLICE("choices")) : WEIR_JSON_NONE;
    return choices != WEIR_JSON_NONE
               ? weir_event_read(json, weir_json_first(json, choices), cs->request.is_chat, c, &why)
               : WEIR_EPEER;
}

/* ---- choices ---- */

void weir_cs__on_progress(void *ctx)
{
    struct weir_cs_choice *choice = ctx;
    struct weir_cs *cs = choice->cs;
    if (!cs->stream.is_over) {
        weir_cs__drain(choice);
        weir_cs__advance(cs);
    }
}

struct weir_cs_choice *weir_cs__choice(struct weir_cs *cs, uint64_t index)
{
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        struct weir_cs_choice *choice = WEIR_LIST_ENTRY(at, struct weir_cs_choice, link);
        if (choice->index == index) {
            return choice;
        }
    }
    if (cs->n_choices == cs->stream.task->env->max_choices) {
        weir_cs__fail_limit(cs, "choices in one stream", cs->n_choices, "max_choices");
        return NULL;
    }
    struct weir_cs_choice *choice = weir_mem_zalloc(sizeof *choice);
    choice->cs = cs;
    choice->index = index;
    weir_list_init(&choice->items);
    weir_buf_init(&choice->whole, cs->stream.task->env->max_held_bytes);
    choice->whole.account = cs->stream.task->arena->account;
    if (cs->enforces) {
        weir_cs__enforce_init(choice);
    }
    if (cs->has_chunked) {
        choice->path = weir_path_new(&(struct weir_path_options){
            .task = cs->stream.task,
            .plan = weir_plan_on(&cs->request.output, WEIR_CHANNEL_CONTENT),
            .strategy = cs->strategy,
            .max_held_bytes = cs->stream.task->env->max_held_bytes,
            .choice = index,
            .on_progress = weir_cs__on_progress,
            .ctx = choice});
    }
    weir_list_append(&cs->choices, &choice->link);
    cs->n_choices++;
    return choice;
}

void weir_cs__free_choice(struct weir_cs_choice *choice)
{
    struct weir_list *link;
    while ((link = weir_list_first(&choice->items)) != NULL) {
        weir_cs__item_free(choice->cs, WEIR_LIST_ENTRY(link, struct weir_cs_item, link));
    }
    weir_cs__enforce_free(choice);
    weir_cs__aside_free(choice);
    weir_cs__free_told(choice);
    weir_path_free(choice->path);
    weir_buf_dispose(&choice->whole);
    weir_buf_dispose(&choice->high_json);
    weir_cs__forget_tools(choice);
    weir_cs__drop_event(choice->cs, &choice->finish);
    weir_list_remove(&choice->link);
    free(choice);
}

/* ---- who speaks ---- */

/* Of an event that leaves in its place. */
static enum weir_event_role role_in_place(struct weir_cs_choice *choice)
{
    bool is_first = choice->role == WEIR_CS_ROLE_UNSAID;
    if (choice->cs->request.policy == NULL) {
        return WEIR_ROLE_SET;
    }
    choice->role = is_first ? WEIR_CS_ROLE_SAID : choice->role;
    return is_first ? WEIR_ROLE_SET : WEIR_ROLE_REMOVED;
}

/* Of an event whose text waits: the batch will say it. */
static enum weir_event_role role_of_text(struct weir_cs_choice *choice)
{
    if (choice->cs->request.policy == NULL || choice->path == NULL) {
        return role_in_place(choice);
    }
    if (choice->role == WEIR_CS_ROLE_UNSAID) {
        choice->role = WEIR_CS_ROLE_WITH_TEXT;
    }
    return WEIR_ROLE_AS_IS;
}

static enum weir_event_role role_of_batch(struct weir_cs_choice *choice)
{
    bool is_first = choice->role == WEIR_CS_ROLE_WITH_TEXT;
    if (choice->cs->request.policy == NULL) {
        return WEIR_ROLE_SET;
    }
    choice->role = is_first ? WEIR_CS_ROLE_SAID : choice->role;
    return is_first ? WEIR_ROLE_SET : WEIR_ROLE_REMOVED;
}

/* H and I: an event that leaves without text says all the same that its choice is looked at. Where
 * nothing works on chunks events pass as they come. */
static bool notes_choice(const struct weir_cs_choice *choice)
{
    const struct weir_cs *cs = choice->cs;
    return !weir_cs__is_route(cs) && !cs->stream.task->env->compat.passes_bare &&
           choice->path != NULL;
}

/* ---- arriving ---- */

/* An event without text keeps its place. NULL: it has left. */
static struct weir_cs_item *add_silent(struct weir_cs_choice *choice, struct weir_slice json)
{
    struct weir_cs *cs = choice->cs;
    if (choice->path == NULL) {
        weir_cs__emit(cs, json); /* nothing holds it back */
        return NULL;
    }
    struct weir_cs_item *item = weir_cs__item_new(cs, json);
    item->start_cp = weir_path_length_cp(choice->path);
    item->end_cp = item->start_cp;
    weir_list_append(&choice->items, &item->link);
    return item;
}

/* No sentence goes on behind it. */
static void add_plain(struct weir_cs_choice *choice, struct weir_slice json)
{
    add_silent(choice, json);
    if (choice->path != NULL) {
        weir_path_cut(choice->path);
    }
}

/* There is nothing in it that could come between two texts. */
static void add_hollow(struct weir_cs_choice *choice, struct weir_slice json, bool has_logprobs)
{
    struct weir_cs_item *item = add_silent(choice, json);
    if (item != NULL) {
        item->is_hollow = true;
        item->has_logprobs = has_logprobs;
    }
}

/* For detectors that look at all of it. */
void weir_cs__keep_whole(struct weir_cs_choice *choice, struct weir_slice text)
{
    struct weir_cs *cs = choice->cs;
    choice->has_content = choice->has_content || text.n != 0;
    if (cs->has_whole && weir_buf_append(&choice->whole, text) != 0) {
        weir_cs__fail_limit(cs, "bytes of text in one choice", choice->whole.max,
                            "max_held_bytes_per_stream");
    }
}

/* The item's text goes to the path. */
static void push_text(struct weir_cs_choice *choice, struct weir_cs_item *item,
                      struct weir_slice text)
{
    struct weir_cs *cs = choice->cs;
    weir_cs__keep_whole(choice, text);
    item->has_text = true;
    item->start_cp = weir_path_length_cp(choice->path);
    weir_list_append(&choice->items, &item->link);
    int rc = weir_path_push(choice->path, cs->n_frames, text, NULL);
    item->end_cp = weir_path_length_cp(choice->path);
    if (rc == WEIR_ELIMIT) {
        weir_stream_fail_held(&cs->stream);
    } else if (rc != 0) {
        weir_cs__fail_model(cs, "an event's text is not UTF-8");
    }
}

static void add_text(struct weir_cs_choice *choice, struct weir_slice json, struct weir_slice text,
                     bool has_logprobs)
{
    struct weir_cs_item *item = weir_cs__item_new(choice->cs, json);
    item->has_logprobs = has_logprobs;
    push_text(choice, item, text);
}

void weir_cs__take_shaped_text(struct weir_cs_choice *choice, struct weir_shape *shape,
                               struct weir_slice text)
{
    choice->cs->has_spoken = true;
    push_text(choice, weir_cs__item_of_shape(choice->cs, shape, text.n), text);
    if (!choice->cs->stream.is_over) {
        weir_cs__drain(choice);
    }
}

/* Appends the event with this text for its own. False: there is no text to replace. */
static bool write_with_text(struct weir_cs *cs, struct weir_slice event, struct weir_slice text,
                            struct weir_buf *out)
{
    struct weir_json json;
    struct weir_event_choice c;
    struct weir_json_edit e = {0};
    if (weir_cs__read_single(cs, event, &json, &c) != 0 || c.text == WEIR_JSON_NONE) {
        return false;
    }
    weir_json_edit_begin(&e, &json);
    weir_json_edit_replace_string(&e, c.text, text);
    weir_json_edit_write(&e, out);
    weir_json_edit_dispose(&e);
    return out->n != 0;
}

/* No detector works on chunks: text leaves as it comes. */
static void note_passed(struct weir_cs_choice *choice, struct weir_slice text)
{
    const struct weir_task_trace *trace = choice->cs->stream.task->trace;
    if (trace != NULL) {
        struct weir_task_step step = {.kind = WEIR_TASK_STEP_RAW,
                                      .choice = choice->index,
                                      .start_cp = choice->n_passed_cp,
                                      .end_cp = choice->n_passed_cp + weir_utf8_count(text)};
        trace->note(trace, &step);
        step.kind = WEIR_TASK_STEP_BATCH;
        trace->note(trace, &step);
        choice->n_passed_cp = step.end_cp;
    }
}

/* The event's own text is `text` but for halves of characters, if `has_halves`. */
static void pass_text(struct weir_cs_choice *choice, struct weir_slice event,
                      struct weir_slice text, bool has_halves)
{
    struct weir_buf out = {0};
    weir_cs__keep_whole(choice, text);
    note_passed(choice, text);
    if (has_halves && write_with_text(choice->cs, event, text, &out)) {
        event = weir_buf_slice(&out);
    }
    weir_cs__emit(choice->cs, event);
    weir_buf_dispose(&out);
}

/* A half that stays alone becomes U+FFFD, in an event like the one it came in. */
static void flush_high(struct weir_cs_choice *choice)
{
    struct weir_slice lone = WEIR_HALF_ALONE;
    if (choice->high == 0) {
        return;
    }
    choice->high = 0;
    if (choice->path != NULL) {
        add_text(choice, weir_buf_slice(&choice->high_json), lone, false);
    } else {
        pass_text(choice, weir_buf_slice(&choice->high_json), lone, true);
    }
    weir_buf_dispose(&choice->high_json);
}

/*
 * Keeps the first half of a pair at the end of the text back, with an event to send it in should it
 * stay alone; what stands once in an event leaves with the event itself.
 */
static void hold_half(struct weir_cs_choice *choice, const struct weir_json *json,
                      const struct weir_event_choice *c, struct weir_buf *text)
{
    bool goes_on = (!c->has_finish || weir_cs__is_route(choice->cs)) && !c->has_rest;
    if (!goes_on || !weir_half_cut(json, c->text, &choice->high, text)) {
        return;
    }
    struct weir_event_cut cut = {
        .part = WEIR_EVENT_TEXT, .without_extras = true, .role = role_of_text(choice)};
    weir_buf_clear(&choice->high_json);
    weir_event_write_part(json, c, choice->cs->request.is_chat, &cut, &choice->high_json);
}

static bool has_logprobs(const struct weir_json *json, const struct weir_event_choice *c)
{
    return weir_json_get_set(json, c->node, WEIR_SLICE("logprobs")) != WEIR_JSON_NONE;
}

static void write_part(struct weir_cs *cs, const struct weir_json *json,
                       const struct weir_event_choice *c, const struct weir_event_cut *cut)
{
    weir_buf_clear(&cs->scratch->out);
    weir_event_write_part(json, c, cs->request.is_chat, cut, &cs->scratch->out);
}

/* An event whose whole text was half a character keeps its place, without it. */
static void add_emptied(struct weir_cs_choice *choice, struct weir_slice event, bool has_logprobs)
{
    struct weir_buf emptied = {0};
    struct weir_json json;
    struct weir_event_choice c;
    if (write_with_text(choice->cs, event, WEIR_SLICE(""), &emptied) &&
        weir_cs__read_single(choice->cs, weir_buf_slice(&emptied), &json, &c) == 0) {
        struct weir_event_cut cut = {.with_usage = true,
                                     .with_finish = true,
                                     .with_logprobs = true,
                                     .notes_choice = notes_choice(choice)};
        write_part(choice->cs, &json, &c, &cut);
        add_hollow(choice, weir_buf_slice(&choice->cs->scratch->out), has_logprobs);
    }
    weir_buf_dispose(&emptied);
}

/* Only an escape can stand for half a character; a whole pair counts too, which does no harm. */
static bool may_have_halves(const struct weir_json *json, uint32_t string)
{
    struct weir_slice raw = weir_json_raw(json, string);
    for (size_t at = 0; at + 2 < raw.n; at++) {
        if (raw.p[at] == '\\' && raw.p[at + 1] == 'u' && (raw.p[at + 2] | 0x20) == 'd') {
            return true;
        }
    }
    return false;
}

/* The text part of an event: `event` is that part alone. */
static void take_text(struct weir_cs_choice *choice, const struct weir_json *json,
                      const struct weir_event_choice *c, struct weir_slice event)
{
    struct weir_buf *text = &choice->cs->scratch->text;
    weir_buf_clear(text);
    weir_json_string_append(json, c->text, text);
    bool is_joined = choice->high != 0;
    if (is_joined) {
        weir_half_join(json, c->text, &choice->high, text);
    }
    hold_half(choice, json, c, text);
    if (choice->path == NULL) {
        pass_text(choice, event, weir_buf_slice(text), is_joined || may_have_halves(json, c->text));
    } else if (text->n != 0) {
        add_text(choice, event, weir_buf_slice(text), has_logprobs(json, c));
    } else {
        add_emptied(choice, event, has_logprobs(json, c));
    }
}

/* Does a finish_reason wait? On routes always, for the end of the stream. */
static bool holds_finish(const struct weir_cs_choice *choice, const struct weir_event_choice *c)
{
    return weir_cs__is_route(choice->cs) || weir_cs__holds_finish(choice, c);
}

/* Reasoning leaves before its text, the rest after it; what ends the event goes with the last. */
static void take_parts(struct weir_cs_choice *choice, const struct weir_json *json,
                       const struct weir_event_choice *c, bool with_usage)
{
    struct weir_cs *cs = choice->cs;
    struct weir_event_cut cut = {.part = WEIR_EVENT_REASONING,
                                 .notes_choice = notes_choice(choice)};
    if (c->has_reasoning) {
        flush_high(choice);
        cut.role = role_in_place(choice);
        cut.without_extras = true;
        write_part(cs, json, c, &cut);
        add_plain(choice, weir_buf_slice(&cs->scratch->out));
    }
    cut = (struct weir_event_cut){.part = WEIR_EVENT_TEXT,
                                  .with_usage = with_usage && !c->has_rest,
                                  .with_finish = !c->has_rest && !holds_finish(choice, c),
                                  .with_logprobs = true,
                                  .without_extras = c->has_rest,
                                  .role = role_of_text(choice)};
    write_part(cs, json, c, &cut);
    take_text(choice, json, c, weir_buf_slice(&cs->scratch->out));
    if (c->has_rest) {
        cut = (struct weir_event_cut){.part = WEIR_EVENT_REST,
                                      .with_usage = with_usage,
                                      .with_finish = !weir_cs__is_route(cs),
                                      .notes_choice = notes_choice(choice),
                                      .role = role_in_place(choice)};
        write_part(cs, json, c, &cut);
        add_plain(choice, weir_buf_slice(&cs->scratch->out));
    }
}

/* An event without text, written to the scratch buffer. */
static void take_silent(struct weir_cs_choice *choice, const struct weir_json *json,
                        const struct weir_event_choice *c)
{
    struct weir_cs *cs = choice->cs;
    if (weir_event_is_hollow(json, c)) {
        add_hollow(choice, weir_buf_slice(&cs->scratch->out), has_logprobs(json, c));
        return;
    }
    flush_high(choice);
    add_plain(choice, weir_buf_slice(&cs->scratch->out));
}

static void mark_ending(struct weir_cs_choice *choice)
{
    if (!weir_list_is_empty(&choice->items)) {
        WEIR_LIST_ENTRY(choice->items.prev, struct weir_cs_item, link)->is_ending = true;
    }
}

/* ---- finish reasons on routes ---- */

/* The finish_reason of one event that is held, as an event of its own. False: there is none. */
static bool write_held_finish(struct weir_cs_choice *choice, bool with_finish)
{
    struct weir_cs *cs = choice->cs;
    struct weir_json json;
    struct weir_event_choice c;
    if (choice->finish.n == 0 ||
        weir_cs__read_single(cs, weir_buf_slice(&choice->finish), &json, &c) != 0) {
        return false;
    }
    struct weir_event_cut cut = {.with_usage = true,
                                 .with_finish = with_finish,
                                 .with_logprobs = true,
                                 .role = role_in_place(choice)};
    write_part(cs, &json, &c, &cut);
    return true;
}

static bool says_only_finish(const struct weir_json *json, const struct weir_event_choice *c)
{
    struct weir_event_choice without = *c;
    without.has_finish = false;
    return weir_event_is_silent(json, &without) &&
           weir_json_get_set(json, 0, WEIR_SLICE("usage")) == WEIR_JSON_NONE;
}

/*
 * Holds the finish_reason of an event. An event without text or the like waits whole; if an earlier
 * one waits, it was not the last: what else it says leaves now. True: nothing else is left of the
 * event.
 */
static bool hold_route_finish(struct weir_cs_choice *choice, const struct weir_json *json,
                              const struct weir_event_choice *c, bool with_usage)
{
    struct weir_cs *cs = choice->cs;
    bool is_whole = !c->has_text && !c->has_reasoning && !c->has_rest;
    if (!weir_cs__is_route(cs) || !c->has_finish) {
        return false;
    }
    if (choice->is_finish_whole && write_held_finish(choice, false)) {
        add_silent(choice, weir_buf_slice(&cs->scratch->out));
    }
    struct weir_event_cut cut = {.part = is_whole ? WEIR_EVENT_ALL : WEIR_EVENT_ENDING,
                                 .with_usage = with_usage && is_whole,
                                 .with_finish = true,
                                 .with_logprobs = is_whole,
                                 .without_extras = !is_whole};
    write_part(cs, json, c, &cut);
    weir_cs__keep_event(cs, &choice->finish, weir_buf_slice(&cs->scratch->out));
    choice->is_finish_whole = is_whole && !says_only_finish(json, c);
    return is_whole;
}

/* An event of the choice that says nothing, to the scratch buffer: the server has sent none that
 * ends it. */
static void write_silent(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    struct weir_json json;
    weir_buf_clear(&cs->scratch->out);
    if (weir_json_parse_reuse(&json, weir_buf_slice(&cs->first), NULL, &cs->scratch->envelope,
                              NULL) == 0) {
        struct weir_envelope *envelope = weir_envelope_of(&json, cs->request.model_id, NULL);
        weir_completion_dialect(&cs->request)
            ->write_event(&(struct weir_talk_out){.envelope = envelope, .place = choice->index},
                          &cs->scratch->out);
        weir_envelope_unref(envelope);
    }
}

/* Adds what was found to the event in the scratch buffer. */
static void add_found(struct weir_cs *cs, struct weir_slice detections, bool is_unsuitable)
{
    struct weir_json json;
    struct weir_buf event = {0};
    weir_buf_append(&event, weir_buf_slice(&cs->scratch->out));
    weir_buf_clear(&cs->scratch->out);
    if (weir_json_parse_reuse(&json, weir_buf_slice(&event), NULL, &cs->scratch->envelope, NULL) ==
        0) {
        struct weir_event_final final = {.detections = detections,
                                         .warnings = is_unsuitable ? weir_event_unsuitable_output()
                                                                   : WEIR_SLICE("")};
        weir_event_write_final(&json, &final, &cs->scratch->out);
    }
    weir_buf_dispose(&event);
}

/* The stream has ended, everything else of the choice has left, and all that is found is known. */
static void emit_held_finish(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    bool is_path_done = choice->path == NULL || weir_path_is_done(choice->path);
    if (!weir_cs__is_route(cs) || choice->is_finished || !cs->source_done || !cs->whole_done ||
        !is_path_done || !weir_list_is_empty(&choice->items) || !weir_cs__aside_is_done(choice)) {
        return;
    }
    struct weir_buf detections = {0};
    bool is_unsuitable = false;
    bool has_finish = write_held_finish(choice, true);
    bool has_found = weir_cs__aside_write(choice, &detections, &is_unsuitable);
    choice->is_finished = true;
    weir_cs__drop_event(cs, &choice->finish);
    if (has_found && !has_finish) {
        write_silent(choice);
    }
    if (has_found) {
        add_found(cs, weir_buf_slice(&detections), is_unsuitable);
    }
    if (has_finish || has_found) {
        weir_cs__emit(cs, weir_buf_slice(&cs->scratch->out));
    }
    weir_buf_dispose(&detections);
}

void weir_cs__emit_finishes(struct weir_cs *cs)
{
    for (struct weir_list *at = cs->choices.next; at != &cs->choices && !cs->stream.is_over;
         at = at->next) {
        emit_held_finish(WEIR_LIST_ENTRY(at, struct weir_cs_choice, link));
    }
}

/* ---- one event ---- */

/* Is the text all it says, in an event that may leave again with another one for it? */
static bool says_one_text(const struct weir_cs_choice *choice, const struct weir_json *json,
                          const struct weir_event_choice *c)
{
    static const char *const others[] = {"usage", "detections", "warnings"};
    bool is_told = choice->path == NULL || weir_path_is_told(choice->path);
    if (is_told || !c->has_text || c->has_finish || c->has_reasoning || c->has_rest ||
        json->nodes[weir_json_get(json, 0, WEIR_SLICE("choices"))].n != 1 ||
        json->nodes[c->text].has_lone_surrogate) {
        return false;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (weir_json_get_set(json, 0, weir_slice_cstr(others[i])) != WEIR_JSON_NONE) {
            return false;
        }
    }
    struct weir_event_choice without = *c;
    without.has_text = false;
    return weir_event_is_silent(json, &without);
}

void weir_cs__take_choice(struct weir_cs *cs, const struct weir_json *json,
                          const struct weir_event_choice *c, bool is_last)
{
    struct weir_cs_choice *choice = weir_cs__choice(cs, c->index);
    if (choice == NULL) {
        return;
    }
    cs->has_spoken = true;
    weir_cs__note_finish(choice, c->has_finish);
    weir_cs__collect_tools(choice, json, c);
    weir_cs__aside_take(choice, json, c);
    if (cs->stream.is_over) {
        return;
    }
    if (!weir_cs__is_route(cs)) {
        weir_cs__hold_finish(choice, json, c);
    }
    if (hold_route_finish(choice, json, c, is_last)) {
        weir_cs__drain(choice);
        return;
    }
    if (says_one_text(choice, json, c)) {
        bool has_ending = weir_event_has_ending(json, c);
        weir_cs__keep_shape(choice, json, c->text, WEIR_CHANNEL_CONTENT, has_ending);
    }
    if (c->has_text && (c->has_reasoning || c->has_rest)) {
        take_parts(choice, json, c, is_last);
    } else {
        struct weir_event_cut cut = {.with_usage = is_last,
                                     .with_finish = !holds_finish(choice, c),
                                     .with_logprobs = true,
                                     .notes_choice = !c->has_text && notes_choice(choice),
                                     .role = c->has_text ? role_of_text(choice)
                                                         : role_in_place(choice)};
        write_part(cs, json, c, &cut);
        if (c->has_text) {
            take_text(choice, json, c, weir_buf_slice(&cs->scratch->out));
        } else if (!weir_cs__absorbs(choice, json, c, weir_buf_slice(&cs->scratch->out))) {
            take_silent(choice, json, c);
        }
    }
    if (c->has_finish && !weir_cs__is_route(cs)) {
        mark_ending(choice);
        weir_cs__end_choice(choice);
    }
    if (!cs->stream.is_over) {
        weir_cs__drain(choice);
    }
}

void weir_cs__end_choice(struct weir_cs_choice *choice)
{
    if (choice->enforced != NULL) {
        weir_cs__enforce_end(choice);
        return;
    }
    flush_high(choice);
    weir_cs__aside_end(choice);
    choice->has_ended = true;
    if (choice->path != NULL && !choice->cs->stream.is_over) {
        weir_path_end(choice->path);
    }
}

/* ---- leaving ---- */

static void emit_leading(struct weir_cs_choice *choice)
{
    struct weir_list *link;
    while ((link = weir_list_first(&choice->items)) != NULL) {
        struct weir_cs_item *item = WEIR_LIST_ENTRY(link, struct weir_cs_item, link);
        if (item->has_text || !weir_cs__may_lead(choice, item)) {
            return;
        }
        weir_cs__drain_misc(choice->cs);
        weir_cs__emit(choice->cs, weir_cs__item_json(choice->cs, item));
        weir_cs__item_free(choice->cs, item);
    }
}

static struct weir_cs_item *touch(struct weir_cs *cs, const struct weir_list *items, size_t end_cp,
                                  struct weir_event_logprobs *logprobs)
{
    struct weir_cs_item *last = NULL;
    for (struct weir_list *at = items->next; at != items; at = at->next) {
        struct weir_cs_item *item = WEIR_LIST_ENTRY(at, struct weir_cs_item, link);
        if (!item->has_text && !item->is_hollow) {
            continue;
        }
        if (item->start_cp >= end_cp) {
            break;
        }
        last = item->has_text ? item : last;
        if (item->has_logprobs && item->end_cp <= end_cp) {
            struct weir_json json;
            struct weir_event_choice c;
            if (weir_cs__read_single(cs, weir_cs__item_json(cs, item), &json, &c) == 0) {
                weir_event_logprobs_add(logprobs, &json, &c);
            }
        }
    }
    return last;
}

void weir_cs__forget_until(struct weir_cs *cs, struct weir_list *items, size_t end_cp)
{
    struct weir_list *at = items->next;
    while (at != items) {
        struct weir_cs_item *item = WEIR_LIST_ENTRY(at, struct weir_cs_item, link);
        at = at->next;
        if (item->has_text && item->end_cp > end_cp) {
            return;
        }
        if (item->has_text || (item->is_hollow && item->start_cp < end_cp)) {
            weir_cs__item_free(cs, item);
        }
    }
}

/* Does something that is no text wait in front of it? */
static bool has_silent_before(const struct weir_cs_choice *choice, const struct weir_cs_item *item)
{
    for (struct weir_list *at = item->link.prev; at != &choice->items; at = at->prev) {
        const struct weir_cs_item *other = WEIR_LIST_ENTRY(at, struct weir_cs_item, link);
        if (!other->has_text && !other->is_hollow) {
            return true;
        }
    }
    return false;
}

/* What ends the choice gets an event of its own, behind the one that brought it. */
static void add_ending(struct weir_cs_choice *choice, struct weir_cs_item *last,
                       const struct weir_json *json, const struct weir_event_choice *c)
{
    struct weir_event_cut cut = {.part = WEIR_EVENT_REST,
                                 .with_usage = true,
                                 .with_finish = true,
                                 .notes_choice = notes_choice(choice),
                                 .role = role_in_place(choice)};
    struct weir_buf event = {0};
    weir_event_write_part(json, c, true, &cut, &event);
    struct weir_cs_item *item = weir_cs__item_new(choice->cs, weir_buf_slice(&event));
    item->start_cp = last->end_cp;
    item->end_cp = last->end_cp;
    weir_list_prepend(&last->link, &item->link);
    weir_buf_dispose(&event);
}

/* How events of the shape leave is learned from the first of them, once the role has left. */
static void learn_shape(struct weir_cs_choice *choice, struct weir_shape *shape,
                        const struct weir_json *json, const struct weir_event_choice *c)
{
    struct weir_buf written[2] = {{0}, {0}};
    struct weir_event_batch batch = {.role = role_of_batch(choice)};
    for (size_t i = 0; i < 2; i++) {
        batch.text = i == 0 ? WEIR_SLICE("a") : WEIR_SLICE("b");
        weir_event_write_batch(json, c, choice->cs->request.is_chat, &batch, &written[i]);
    }
    weir_cs__keep_written(shape, weir_buf_slice(&written[0]), weir_buf_slice(&written[1]));
    weir_buf_dispose(&written[0]);
    weir_buf_dispose(&written[1]);
}

static void note_findings(struct weir_cs *cs, const struct weir_gather_batch *batch)
{
    struct weir_seen_where where = {WEIR_POLICY_OUTPUT, "content", WEIR_POLICY_ANNOTATED};
    weir_seen_findings(cs->request.policy, &where, batch->findings, batch->n_findings);
    weir_cs__note_outcome(cs, WEIR_POLICY_ANNOTATED);
}

/* The short way out, if the event that lends its envelope is one of those known by their shape. */
static bool emit_shaped(struct weir_cs_choice *choice, const struct weir_gather_batch *batch,
                        const struct weir_cs_item *last, bool has_logprobs)
{
    struct weir_cs *cs = choice->cs;
    bool has_role = weir_cs__is_route(cs) && choice->role == WEIR_CS_ROLE_WITH_TEXT;
    if (last == NULL || last->shape == NULL || has_role || has_logprobs ||
        (last->end_cp > batch->end_cp && last->shape->has_ending)) {
        return false;
    }
    struct weir_cs_written written = {.text = weir_path_text(choice->path, batch),
                                      .results = WEIR_RESULTS_COMPLETION,
                                      .findings = batch->findings,
                                      .n_findings = batch->n_findings};
    if (!weir_cs__write_shaped(cs, last->shape, &written)) {
        return false;
    }
    if (batch->n_findings != 0) {
        note_findings(cs, batch);
    }
    weir_cs__forget_until(cs, &choice->items, batch->end_cp);
    weir_cs__emit_shaped(cs, &written);
    weir_path_release(choice->path, batch->end_cp);
    return true;
}

static void emit_batch(struct weir_cs_choice *choice, const struct weir_gather_batch *batch)
{
    struct weir_cs *cs = choice->cs;
    struct weir_event_logprobs logprobs = {0};
    struct weir_buf joined = {0};
    struct weir_json json;
    struct weir_event_choice c;
    if (!weir_path_has_judged(choice->path, batch->end_cp)) {
        weir_cs__fail_promise(choice, "content");
        return;
    }
    weir_cs__drain_misc(cs);
    struct weir_cs_item *last = touch(cs, &choice->items, batch->end_cp, &logprobs);
    if (emit_shaped(choice, batch, last, logprobs.has_any)) {
        return;
    }
    if (last == NULL || weir_cs__read_single(cs, weir_cs__item_json(cs, last), &json, &c) != 0) {
        weir_event_logprobs_dispose(&logprobs);
        weir_cs__fail_model(cs, "a batch has no event");
        return;
    }
    if (logprobs.has_any) {
        weir_event_logprobs_write(&logprobs, cs->request.is_chat, &joined);
    }
    bool is_partial = last->end_cp > batch->end_cp;
    bool overtakes =
        !is_partial && c.has_finish && cs->request.is_chat && has_silent_before(choice, last);
    struct weir_event_batch out = {.text = weir_path_text(choice->path, batch),
                                   .findings = batch->findings,
                                   .n_findings = batch->n_findings,
                                   .logprobs = weir_buf_slice(&joined),
                                   .is_partial = is_partial || overtakes,
                                   .role = role_of_batch(choice)};
    if (batch->n_findings != 0) {
        note_findings(cs, batch);
    }
    weir_buf_clear(&cs->scratch->out);
    weir_event_write_batch(&json, &c, cs->request.is_chat, &out, &cs->scratch->out);
    if (last->shape != NULL && last->shape->out_head.n == 0) {
        learn_shape(choice, last->shape, &json, &c);
    }
    if (overtakes) {
        add_ending(choice, last, &json, &c);
    }
    weir_event_logprobs_dispose(&logprobs);
    weir_buf_dispose(&joined);
    weir_cs__forget_until(cs, &choice->items, batch->end_cp);
    weir_cs__emit(cs, weir_buf_slice(&cs->scratch->out));
    weir_path_release(choice->path, batch->end_cp);
}

static void emit_part(struct weir_cs_choice *choice, const struct weir_gather_batch *batch)
{
    if (batch->told != NULL) {
        weir_cs__emit_told(choice, batch);
    } else {
        emit_batch(choice, batch);
    }
    choice->has_sent = true;
}

/* Found in text that has left. */
static void emit_late(struct weir_cs_choice *choice, const struct weir_gather_batch *batch)
{
    struct weir_cs *cs = choice->cs;
    struct weir_buf detections = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &detections);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("output"));
    weir_json_write_begin_array(&w);
    weir_results_begin_entry(&w, choice->index, NULL);
    weir_json_write_begin_array(&w);
    for (size_t i = 0; i < batch->n_findings; i++) {
        weir_results_write_one(&w, WEIR_RESULTS_COMPLETION, batch->findings[i]);
    }
    weir_json_write_end_array(&w);
    weir_results_end_entry(&w);
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
    note_findings(cs, batch);
    weir_cs__drain_misc(cs);
    write_silent(choice);
    add_found(cs, weir_buf_slice(&detections), true);
    weir_cs__emit(cs, weir_buf_slice(&cs->scratch->out));
    weir_buf_dispose(&detections);
}

/* What is no text and stands inside of the batch leaves in its place. */
static void emit_parts(struct weir_cs_choice *choice, struct weir_gather_batch batch)
{
    struct weir_cs *cs = choice->cs;
    struct weir_cs_part part = {.whole_start_cp = batch.start_cp};
    if (batch.start_cp == batch.end_cp && batch.told == NULL) {
        emit_late(choice, &batch);
        return;
    }
    while (!cs->stream.is_over && weir_cs__split(choice, &batch, &part)) {
        emit_part(choice, &part.batch);
        if (choice->latest.n != 0) { /* it is not the last one */
            weir_cs__emit(cs, weir_buf_slice(&choice->latest));
            weir_buf_clear(&choice->latest);
        }
        emit_leading(choice);
    }
    if (!cs->stream.is_over) {
        emit_part(choice, &batch);
    }
}

static void drain_path(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    struct weir_gather_batch batch;
    int rc = 0;
    while (rc == 0 && !cs->stream.is_over) {
        emit_leading(choice);
        rc = weir_path_pop(choice->path, &batch);
        if (rc == 0) {
            emit_parts(choice, batch);
        }
    }
    if (rc == WEIR_EAGAIN && weir_cs__settle_told(choice)) {
        emit_leading(choice);
    }
    if (rc != 0 && rc != WEIR_EAGAIN && !cs->stream.is_over) {
        weir_stream_fail(&cs->stream, weir_path_fault(choice->path));
    }
}

void weir_cs__drain(struct weir_cs_choice *choice)
{
    if (choice->enforced != NULL) {
        weir_cs__enforce_drain(choice);
        return;
    }
    if (choice->path != NULL) {
        drain_path(choice);
    }
    weir_cs__aside_drain(choice);
}
