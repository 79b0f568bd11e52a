/*
 * On routes that annotate: what a choice says besides its content. It leaves in its place and waits
 * for no judgement; what is found in it rides on the event that ends the choice, which waits for
 * that, and for the detectors that look at the whole.
 */
#include "base/err.h"
#include "base/mem.h"
#include "talk/half.h"
#include "task/completion_stream_int.h"
#include "wire/json_write.h"

#include <stdlib.h>

struct weir_cs_aside {
    struct weir_checked checked;
    struct weir_buf found[WEIR_CHANNEL_WHOLE]; /* results by channel, of tool calls entries, with
                                                  commas between them */
};

static void on_progress(void *ctx)
{
    weir_cs__on_progress(ctx);
}

/* Those detectors that look at texts: the others see the message as a whole. */
static const struct weir_task_completion *request_of(struct weir_cs *cs)
{
    if (cs->aside_request != NULL) {
        return cs->aside_request;
    }
    struct weir_task_completion *request =
        weir_arena_zalloc(cs->stream.task->arena, sizeof *request);
    const struct weir_plan *all = &cs->request.output;
    struct weir_plan_use *uses = weir_arena_array(cs->stream.task->arena, all->n, sizeof *uses);
    *request = cs->request;
    request->output = (struct weir_plan){.uses = uses};
    for (size_t i = 0; i < all->n; i++) {
        if (all->uses[i].d->detector->type == WEIR_DETECT_CONTENTS) {
            uses[request->output.n++] = all->uses[i];
        }
    }
    weir_plan_split(&request->output, cs->stream.task->arena);
    cs->aside_request = request;
    return request;
}

static struct weir_cs_aside *aside_of(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    if (choice->aside == NULL) {
        choice->aside = weir_mem_zalloc(sizeof *choice->aside);
        weir_checked_init(
            &choice->aside->checked,
            &(struct weir_checked_options){.task = cs->stream.task,
                                           .request = request_of(cs),
                                           .dialect = &weir_openai_chat,
                                           .place = choice->index,
                                           .max_held_bytes = cs->stream.task->env->max_held_bytes,
                                           .on_progress = on_progress,
                                           .ctx = choice});
    }
    return choice->aside;
}

void weir_cs__aside_free(struct weir_cs_choice *choice)
{
    struct weir_cs_aside *a = choice->aside;
    if (a == NULL) {
        return;
    }
    weir_checked_dispose(&a->checked);
    for (size_t i = 0; i < WEIR_CHANNEL_WHOLE; i++) {
        weir_buf_dispose(&a->found[i]);
    }
    free(a);
    choice->aside = NULL;
}

static void fail(struct weir_cs_choice *choice)
{
    weir_stream_fail(&choice->cs->stream, weir_checked_fault(&choice->aside->checked));
}

/* ---- arriving ---- */

/* The string of a channel, or nothing: what is not a string is passed on and not looked at here. */
static uint32_t text_of(const struct weir_json *json, uint32_t body, enum weir_channel channel)
{
    uint32_t at = body;
    struct weir_slice name = weir_slice_cstr(weir_channel_name(channel));
    if (channel == WEIR_CHANNEL_TRANSCRIPT) {
        at = weir_json_get_set(json, body, WEIR_SLICE("audio"));
        name = WEIR_SLICE("transcript");
    }
    at = at != WEIR_JSON_NONE ? weir_json_get_set(json, at, name) : at;
    bool is_text = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_STRING &&
                   json->nodes[at].n != 0;
    return is_text ? at : WEIR_JSON_NONE;
}

static uint32_t calls_of(const struct weir_json *json, uint32_t body, const char *name,
                         enum weir_json_type type)
{
    uint32_t at = weir_json_get_set(json, body, weir_slice_cstr(name));
    bool is_good = at != WEIR_JSON_NONE && weir_json_type(json, at) == type;
    return is_good && json->nodes[at].n != 0 ? at : WEIR_JSON_NONE;
}

static void push(struct weir_cs_choice *choice, const struct weir_delta *d,
                 enum weir_channel channel)
{
    struct weir_cs *cs = choice->cs;
    struct weir_buf text = {0};
    weir_checked_text(&aside_of(choice)->checked, d, channel, &text);
    if (weir_checked_push(&choice->aside->checked, channel, cs->n_frames, weir_buf_slice(&text)) !=
        0) {
        fail(choice);
    }
    weir_buf_dispose(&text);
}

void weir_cs__aside_take(struct weir_cs_choice *choice, const struct weir_json *json,
                         const struct weir_event_choice *c)
{
    struct weir_cs *cs = choice->cs;
    if (!weir_cs__is_route(cs) || !cs->request.is_chat || c->body == WEIR_JSON_NONE ||
        (!c->has_reasoning && !c->has_rest)) {
        return;
    }
    struct weir_delta d = {.json = json,
                           .choice = c->node,
                           .body = c->body,
                           .audio = WEIR_JSON_NONE,
                           .finish = WEIR_JSON_NONE,
                           .stop_reason = WEIR_JSON_NONE,
                           .logprobs = WEIR_JSON_NONE};
    d.tool_calls = calls_of(json, c->body, "tool_calls", WEIR_JSON_ARRAY);
    d.function_call = calls_of(json, c->body, "function_call", WEIR_JSON_OBJECT);
    for (size_t i = WEIR_CHANNEL_CONTENT + 1; i < WEIR_CHANNEL_TEXTS && !cs->stream.is_over; i++) {
        d.texts[i] = text_of(json, c->body, (enum weir_channel)i);
        if (d.texts[i] != WEIR_JSON_NONE) {
            push(choice, &d, (enum weir_channel)i);
        }
    }
    bool has_calls = d.tool_calls != WEIR_JSON_NONE || d.function_call != WEIR_JSON_NONE;
    if (has_calls && !cs->stream.is_over &&
        weir_checked_take(&aside_of(choice)->checked, &d) != 0) {
        fail(choice);
    }
}

void weir_cs__aside_end(struct weir_cs_choice *choice)
{
    struct weir_cs_aside *a = choice->aside;
    enum weir_channel half;
    if (a == NULL || choice->cs->stream.is_over) {
        return;
    }
    while ((half = weir_checked_take_half(&a->checked)) != WEIR_CHANNEL_TEXTS) {
        if (weir_checked_push(&a->checked, half, choice->cs->n_frames, WEIR_HALF_ALONE) != 0) {
            fail(choice);
            return;
        }
    }
    weir_checked_end(&a->checked);
}

/* ---- what was found ---- */

static void keep_found(struct weir_cs_aside *a, const struct weir_guard_piece *piece)
{
    struct weir_buf *found = &a->found[piece->channel];
    weir_buf_append(found, piece->entries);
    for (size_t i = 0; i < piece->n_findings && piece->channel != WEIR_CHANNEL_TOOLS; i++) {
        weir_results_append(found, WEIR_RESULTS_COMPLETION, piece->findings[i], found->n != 0);
    }
}

void weir_cs__aside_drain(struct weir_cs_choice *choice)
{
    struct weir_cs_aside *a = choice->aside;
    struct weir_checked_piece p;
    int rc = a != NULL ? 0 : WEIR_EAGAIN;
    while (rc == 0 && !choice->cs->stream.is_over) {
        rc = weir_checked_pop(&a->checked, &p);
        if (rc == 0 && p.piece.n_findings != 0) {
            keep_found(a, &p.piece);
            weir_cs__note_outcome(choice->cs, WEIR_POLICY_ANNOTATED);
        }
    }
    if (rc != 0 && rc != WEIR_EAGAIN && !choice->cs->stream.is_over) {
        fail(choice);
    }
}

bool weir_cs__aside_is_done(const struct weir_cs_choice *choice)
{
    return choice->aside == NULL || weir_guard_is_done(choice->aside->checked.guard);
}

enum weir_path_wait weir_cs__aside_waits(const struct weir_cs_choice *choice)
{
    return choice->aside != NULL ? weir_guard_waits(choice->aside->checked.guard) : WEIR_PATH_IDLE;
}

/* What detectors of the whole say. */
static void write_whole(struct weir_json_write *w, const struct weir_cs_choice *choice)
{
    weir_results_begin_entry(w, choice->index, NULL);
    weir_scan_write_results(w, choice->group);
    weir_results_end_entry(w);
}

bool weir_cs__aside_write(const struct weir_cs_choice *choice, struct weir_buf *detections,
                          bool *has_text_found)
{
    struct weir_json_write w;
    bool has_whole = choice->group != NULL && choice->group->n_found != 0;
    *has_text_found = has_whole && choice->group->n_text_found != 0;
    weir_json_write_init(&w, detections);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("output"));
    weir_json_write_begin_array(&w);
    if (has_whole) {
        write_whole(&w, choice);
    }
    for (size_t i = 0; choice->aside != NULL && i < WEIR_CHANNEL_WHOLE; i++) {
        if (choice->aside->found[i].n != 0) {
            weir_checked_write_found(&w, &choice->aside->checked, (enum weir_channel)i,
                                     weir_buf_slice(&choice->aside->found[i]));
            has_whole = *has_text_found = true;
        }
    }
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
    return has_whole;
}
