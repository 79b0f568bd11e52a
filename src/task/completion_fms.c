/*
 * What `compat: fms` does differently with the events of a choice.
 *
 * Events that only say who speaks are absorbed, and no content leaves before the choice's first
 * batch.
 * Where the chunker is believed (path.h, told) a batch names the events it was made of by number:
 * their logprobs are joined and the highest of them lends its envelope. The one used last may be
 * named again and is kept, and so is event 0, which a chunker that names none names every time.
 *
 * A finish_reason that came with text rides on the choice's last batch. Which one is the last shows
 * only behind it, so from the finish_reason on the latest event is held until the next one comes or
 * the path is done.
 */
#include "base/err.h"
#include "task/completion_stream_int.h"
#include "wire/json_edit.h"

static bool is_told(const struct weir_cs_choice *choice)
{
    return choice->path != NULL && weir_path_is_told(choice->path);
}

enum { KEPT = 2 }; /* places: event 0's, and the latest one's */

static void keep(struct weir_cs_choice *choice, struct weir_cs_item *item)
{
    struct weir_cs_item **place = &choice->kept[item->frame == 0 ? 0 : 1];
    if (*place != NULL) {
        weir_cs__item_free(choice->cs, *place);
    }
    weir_list_init(&item->link);
    *place = item;
}

/* ---- arriving ---- */

bool weir_cs__absorbs(struct weir_cs_choice *choice, const struct weir_json *json,
                      const struct weir_event_choice *c, struct weir_slice event)
{
    struct weir_cs *cs = choice->cs;
    if (!cs->stream.task->env->compat.absorbs_first || choice->path == NULL ||
        !weir_event_is_silent(json, c)) {
        return false;
    }
    if (is_told(choice) && !choice->has_sent) {
        keep(choice, weir_cs__item_new(cs, event));
    }
    return true;
}

bool weir_cs__holds_finish(const struct weir_cs_choice *choice, const struct weir_event_choice *c)
{
    return c->has_text && c->has_finish && !c->has_rest && is_told(choice);
}

void weir_cs__hold_finish(struct weir_cs_choice *choice, const struct weir_json *json,
                          const struct weir_event_choice *c)
{
    if (weir_cs__holds_finish(choice, c)) {
        struct weir_event_cut cut = {
            .part = WEIR_EVENT_TEXT, .with_finish = true, .role = WEIR_ROLE_SET};
        weir_buf_clear(&choice->ending);
        weir_event_write_part(json, c, choice->cs->request.is_chat, &cut, &choice->ending);
    }
}

/* ---- leaving ---- */

static bool is_done(const struct weir_cs_choice *choice)
{
    return choice->has_ended && weir_path_is_done(choice->path);
}

/* Events that say something which is not content (reasoning, tool calls) leave in place. The number
 * of batches to come shows only at the end of the path, so a finish_reason waits for that. */
bool weir_cs__may_lead(const struct weir_cs_choice *choice, const struct weir_cs_item *item)
{
    if (!choice->cs->stream.task->env->compat.absorbs_first || is_done(choice)) {
        return true;
    }
    bool says_something = !item->is_hollow && !item->is_ending;
    return says_something || (choice->has_sent && !(item->is_ending && is_told(choice)));
}

static void add_logprobs(struct weir_cs *cs, const struct weir_cs_item *item,
                         struct weir_event_logprobs *logprobs)
{
    struct weir_json json;
    struct weir_event_choice c;
    if (item->has_logprobs &&
        weir_cs__read_single(cs, weir_cs__item_json(cs, item), &json, &c) == 0) {
        weir_event_logprobs_add(logprobs, &json, &c);
    }
}

static bool is_named(const struct weir_cs_item *item, const struct weir_path_told *told)
{
    return item->frame >= told->first_frame && item->frame <= told->last_frame;
}

/* The highest event with text that the batch names; logprobs of all of them are joined. */
static struct weir_cs_item *touch(struct weir_cs_choice *choice, const struct weir_path_told *told,
                                  struct weir_event_logprobs *logprobs)
{
    struct weir_cs_item *last = NULL;
    for (size_t i = 0; i < KEPT; i++) {
        if (choice->kept[i] != NULL && is_named(choice->kept[i], told)) {
            last = choice->kept[i];
            add_logprobs(choice->cs, last, logprobs);
        }
    }
    for (struct weir_list *at = choice->items.next; at != &choice->items; at = at->next) {
        struct weir_cs_item *item = WEIR_LIST_ENTRY(at, struct weir_cs_item, link);
        if (item->frame > told->last_frame) {
            break;
        }
        if (item->has_text && is_named(item, told)) {
            last = item;
            add_logprobs(choice->cs, item, logprobs);
        }
    }
    return last;
}

/* The text up to there has left; the event that lent its envelope may be named again. */
static void forget(struct weir_cs_choice *choice, size_t until_cp, struct weir_cs_item *last)
{
    struct weir_list *at = choice->items.next;
    while (at != &choice->items) {
        struct weir_cs_item *item = WEIR_LIST_ENTRY(at, struct weir_cs_item, link);
        at = at->next;
        if (item->has_text && item->end_cp > until_cp) {
            return;
        }
        if (item == last || (item->has_text && item->frame == 0)) {
            weir_list_remove(&item->link);
            keep(choice, item);
        } else if (item->has_text) {
            weir_cs__item_free(choice->cs, item);
        }
    }
}

static void fail_unnamed(struct weir_cs_choice *choice)
{
    const struct weir_plan *plan = &choice->cs->request.output;
    struct weir_fault fault = {.origin = WEIR_FAULT_CHUNKER,
                               .err = WEIR_EPEER,
                               .why = WEIR_SLICE("chunker: a chunk of no event of its choice")};
    for (size_t i = 0; i < plan->n; i++) {
        if (!weir_path_is_whole(&plan->uses[i])) {
            fault.id = plan->uses[i].d->chunker->id;
        }
    }
    weir_stream_fail(&choice->cs->stream, &fault);
}

/* The event in the scratch buffer: it leaves, or is held to see whether it is the last. */
static void hand_out(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    if (choice->ending.n == 0) {
        weir_cs__emit(cs, weir_buf_slice(&cs->scratch->out));
        return;
    }
    if (choice->latest.n != 0) {
        weir_cs__emit(cs, weir_buf_slice(&choice->latest));
        weir_buf_clear(&choice->latest);
    }
    weir_buf_append(&choice->latest, weir_buf_slice(&cs->scratch->out));
}

void weir_cs__emit_told(struct weir_cs_choice *choice, const struct weir_gather_batch *batch)
{
    struct weir_cs *cs = choice->cs;
    struct weir_event_logprobs logprobs = {0};
    struct weir_buf joined = {0};
    struct weir_json json;
    struct weir_event_choice c;
    weir_cs__drain_misc(cs);
    struct weir_cs_item *last = touch(choice, batch->told, &logprobs);
    if (last == NULL || weir_cs__read_single(cs, weir_cs__item_json(cs, last), &json, &c) != 0) {
        weir_event_logprobs_dispose(&logprobs);
        fail_unnamed(choice);
        return;
    }
    if (logprobs.has_any) {
        weir_event_logprobs_write(&logprobs, cs->request.is_chat, &joined);
    }
    struct weir_event_batch out = {.text = batch->told->text,
                                   .findings = batch->findings,
                                   .n_findings = batch->n_findings,
                                   .logprobs = weir_buf_slice(&joined),
                                   .role = WEIR_ROLE_SET};
    weir_buf_clear(&cs->scratch->out);
    weir_event_write_batch(&json, &c, cs->request.is_chat, &out, &cs->scratch->out);
    weir_event_logprobs_dispose(&logprobs);
    weir_buf_dispose(&joined);
    forget(choice, weir_path_leaves_cp(choice->path, batch), last);
    weir_path_leave(choice->path, batch);
    hand_out(choice);
}

/* ---- the end of a choice ---- */

/* The finish_reason leaves with the last batch, or alone where no batch was left to carry it. */
static void send_ending(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    struct weir_arena arena = {0};
    struct weir_json ending;
    struct weir_json json;
    struct weir_event_choice c;
    const char *why;
    struct weir_slice event = weir_buf_slice(&choice->latest);
    int rc = weir_json_parse(&ending, weir_buf_slice(&choice->ending), NULL, &arena, NULL);
    uint32_t choices = rc == 0 ? weir_json_get(&ending, 0, WEIR_SLICE("choices")) : 0;
    uint32_t node = rc == 0 ? weir_json_first(&ending, choices) : WEIR_JSON_NONE;
    weir_buf_clear(&cs->scratch->out);
    if (rc == 0 && event.n != 0 && weir_cs__read_single(cs, event, &json, &c) == 0) {
        weir_event_write_ending(&json, &c, &ending, node, &cs->scratch->out);
    } else if (rc == 0 && weir_event_read(&ending, node, cs->request.is_chat, &c, &why) == 0) {
        struct weir_json_edit e = {0};
        weir_json_edit_begin(&e, &ending);
        weir_json_edit_replace_string(&e, c.text, WEIR_SLICE(""));
        weir_json_edit_write(&e, &cs->scratch->out);
        weir_json_edit_dispose(&e);
    }
    weir_arena_dispose(&arena);
    weir_buf_dispose(&choice->ending);
    weir_buf_dispose(&choice->latest);
    weir_cs__emit(cs, weir_buf_slice(&cs->scratch->out));
}

/* Text that no chunk has named never leaves. */
static void drop_texts(struct weir_cs_choice *choice)
{
    struct weir_list *at = choice->items.next;
    while (at != &choice->items) {
        struct weir_cs_item *item = WEIR_LIST_ENTRY(at, struct weir_cs_item, link);
        at = at->next;
        if (item->has_text) {
            weir_cs__item_free(choice->cs, item);
        }
    }
}

bool weir_cs__settle_told(struct weir_cs_choice *choice)
{
    if (choice->cs->stream.is_over || !is_told(choice) || !is_done(choice)) {
        return false;
    }
    drop_texts(choice);
    if (choice->ending.n != 0) {
        send_ending(choice);
    }
    return true;
}

void weir_cs__flush_told(struct weir_cs *cs)
{
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        struct weir_cs_choice *choice = WEIR_LIST_ENTRY(at, struct weir_cs_choice, link);
        if (choice->latest.n != 0) {
            weir_cs__emit(cs, weir_buf_slice(&choice->latest));
            weir_buf_clear(&choice->latest);
        }
    }
}

void weir_cs__free_told(struct weir_cs_choice *choice)
{
    for (size_t i = 0; i < KEPT; i++) {
        if (choice->kept[i] != NULL) {
            weir_cs__item_free(choice->cs, choice->kept[i]);
            choice->kept[i] = NULL;
        }
    }
    weir_buf_dispose(&choice->ending);
    weir_buf_dispose(&choice->latest);
}
