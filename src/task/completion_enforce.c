/*
 * One choice of a stream on a route that blocks or redacts.
 *
 *   event ─┬─ texts ──────► guard ─► what may leave (completion_enforce_leave.c)
 *          ├─ tool calls ─► held
 *          └─ finish ─────► held
 *
 * Events are not passed on but written anew from what is known of them.
 */
#include "base/err.h"
#include "base/mem.h"
#include "task/completion_enforce_int.h"

#include <stdlib.h>

static const char REPLACEMENT[] = "\xEF\xBF\xBD"; /* U+FFFD */

void weir_cs__enforce_init(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    struct weir_cs_enforced *e = weir_mem_zalloc(sizeof *e);
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        weir_list_init(&e->held[i]);
    }
    e->guard =
        weir_guard_new(&(struct weir_guard_options){.task = cs->task,
                                                    .plan = &cs->request.output,
                                                    .policy = cs->request.policy,
                                                    .max_held_bytes = cs->task->env->max_held_bytes,
                                                    .choice = choice->index,
                                                    .on_progress = weir_cs__on_progress,
                                                    .ctx = choice});
    choice->enforced = e;
}

void weir_cs__drop_held(struct weir_cs_choice *choice)
{
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        struct weir_list *link;
        while ((link = weir_list_first(&choice->enforced->held[i])) != NULL) {
            weir_cs__item_free(choice->cs, WEIR_LIST_ENTRY(link, struct weir_cs_item, link));
        }
    }
}

void weir_cs__enforce_free(struct weir_cs_choice *choice)
{
    struct weir_cs_enforced *e = choice->enforced;
    if (e == NULL) {
        return;
    }
    weir_cs__drop_held(choice);
    weir_guard_free(e->guard);
    weir_shape_unref(e->last_shape);
    weir_cs__drop_event(choice->cs, &e->last);
    weir_cs__drop_event(choice->cs, &e->finish);
    weir_buf_dispose(&e->audio_id);
    weir_buf_dispose(&e->audio_expires);
    free(e);
    choice->enforced = NULL;
}

bool weir_cs__enforce_is_done(const struct weir_cs_choice *choice)
{
    return weir_guard_is_done(choice->enforced->guard);
}

/* ---- arriving ---- */

/* Keeps the event without what it says, its choice alone. */
static void reduce(struct weir_cs *cs, const struct weir_known *k, const struct weir_cs_event *how,
                   struct weir_buf *place)
{
    struct weir_cs_event e = *how;
    e.body = cs->request.is_chat ? WEIR_SLICE("{}") : WEIR_SLICE("\"\"");
    cs->held_bytes -= place->n;
    weir_buf_clear(place);
    weir_cs__write_event(cs, k->json, k->choice, &e, place);
    cs->held_bytes += place->n;
}

static void push_item(struct weir_cs_choice *choice, enum weir_channel channel,
                      struct weir_cs_item *item, struct weir_slice text)
{
    struct weir_cs *cs = choice->cs;
    struct weir_cs_enforced *e = choice->enforced;
    item->has_text = true;
    item->start_cp = weir_guard_length_cp(e->guard, channel);
    weir_list_append(&e->held[channel], &item->link);
    int rc = weir_guard_push(e->guard, channel, cs->n_frames, text);
    item->end_cp = weir_guard_length_cp(e->guard, channel);
    if (rc == WEIR_ELIMIT) {
        weir_cs__fail_held(cs);
    } else if (rc != 0) {
        weir_cs__fail_model(cs, "an event's text is not UTF-8");
    }
}

static void push(struct weir_cs_choice *choice, enum weir_channel channel, struct weir_slice event,
                 struct weir_slice text)
{
    if (text.n != 0) {
        struct weir_cs_item *item = weir_cs__item_new(choice->cs, event);
        item->has_logprobs = true; /* joined if it has any */
        push_item(choice, channel, item, text);
    }
}

static void forget_last_shape(struct weir_cs_enforced *e)
{
    weir_shape_unref(e->last_shape);
    e->last_shape = NULL;
}

void weir_cs__enforce_take_shaped(struct weir_cs_choice *choice, struct weir_shape *shape,
                                  struct weir_slice text)
{
    struct weir_cs *cs = choice->cs;
    struct weir_cs_enforced *e = choice->enforced;
    if (e->is_blocked) {
        return;
    }
    cs->has_spoken = true;
    struct weir_cs_item *item = weir_cs__item_of_shape(cs, shape, text.n);
    if (e->last_shape != shape) {
        forget_last_shape(e);
        e->last_shape = weir_shape_ref(shape);
        weir_cs__keep_event(cs, &e->last, weir_cs__item_json(cs, item));
    }
    if (shape->channel == WEIR_CHANNEL_CONTENT) {
        weir_cs__keep_whole(choice, text);
    }
    push_item(choice, (enum weir_channel)shape->channel, item, text);
    if (!cs->is_over) {
        weir_cs__enforce_drain(choice);
    }
}

/* Is one string all it says, with nothing else in it that leaves or is counted? */
static bool says_one_text(const struct weir_known *k, enum weir_channel *channel)
{
    static const char *const others[] = {"usage", "prompt_logprobs", "prompt_token_ids"};
    static const char *const of_choice[] = {"logprobs", "token_ids", "prompt_logprobs",
                                            "prompt_token_ids", "stop_reason"};
    const struct weir_json *json = k->json;
    size_t n = 0;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        if (k->texts[i] != WEIR_JSON_NONE) {
            *channel = (enum weir_channel)i;
            n++;
        }
    }
    bool says_more = k->tool_calls != WEIR_JSON_NONE || k->function_call != WEIR_JSON_NONE ||
                     k->audio != WEIR_JSON_NONE || k->has_finish || k->n_unknown != 0;
    if (n != 1 || says_more || json->nodes[k->texts[*channel]].has_lone_surrogate ||
        json->nodes[weir_json_get(json, 0, WEIR_SLICE("choices"))].n != 1 ||
        weir_known_count_top(json) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        n += weir_json_get_set(json, 0, weir_slice_cstr(others[i])) != WEIR_JSON_NONE;
    }
    for (size_t i = 0; i < sizeof of_choice / sizeof of_choice[0]; i++) {
        n += weir_json_get_set(json, k->choice, weir_slice_cstr(of_choice[i])) != WEIR_JSON_NONE;
    }
    return n == 1;
}

static void take_text(struct weir_cs_choice *choice, const struct weir_known *k,
                      enum weir_channel channel)
{
    struct weir_cs_enforced *e = choice->enforced;
    struct weir_buf text = {0};
    uint32_t at = k->texts[channel];
    weir_json_string_append(k->json, at, &text);
    if (e->halves[channel] != 0) {
        weir_cs__join_half(k->json, at, &e->halves[channel], &text);
    }
    weir_cs__cut_half(k->json, at, &e->halves[channel], &text);
    if (channel == WEIR_CHANNEL_CONTENT) {
        weir_cs__keep_whole(choice, weir_buf_slice(&text));
    }
    push(choice, channel, weir_buf_slice(&e->last), weir_buf_slice(&text));
    weir_buf_dispose(&text);
}

/* Usage and logprobs stand once in an event and leave once: with the last that leaves of it, and
 * with its first text. */
static bool take_texts(struct weir_cs_choice *choice, const struct weir_known *k, bool with_usage)
{
    struct weir_cs *cs = choice->cs;
    size_t n_left = 0;
    bool is_first = true;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        n_left += k->texts[i] != WEIR_JSON_NONE;
    }
    bool has_any = n_left != 0;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS && !cs->is_over; i++) {
        if (k->texts[i] == WEIR_JSON_NONE) {
            continue;
        }
        n_left--;
        struct weir_cs_event how = {.finish = WEIR_ENFORCE_WAITS,
                                    .with_usage = with_usage && n_left == 0 && !k->has_finish,
                                    .is_tainted = !is_first};
        reduce(cs, k, &how, &choice->enforced->last);
        take_text(choice, k, (enum weir_channel)i);
        is_first = false;
    }
    return has_any;
}

static void take_about_audio(const struct weir_known *k, const char *name, struct weir_buf *out)
{
    uint32_t at = weir_json_get_set(k->json, k->audio, weir_slice_cstr(name));
    if (at != WEIR_JSON_NONE && weir_json_type(k->json, at) <= WEIR_JSON_STRING) {
        weir_buf_clear(out);
        weir_buf_append(out, weir_json_raw(k->json, at));
    }
}

static void take_calls(struct weir_cs_choice *choice, const struct weir_known *k)
{
    if (k->tool_calls != WEIR_JSON_NONE) {
        weir_cs__take_tools(choice, k->json, k->tool_calls);
    }
    if (k->function_call != WEIR_JSON_NONE) {
        weir_cs__take_function_call(choice, k->json, k->function_call);
    }
    if (k->audio != WEIR_JSON_NONE) {
        take_about_audio(k, "id", &choice->enforced->audio_id);
        take_about_audio(k, "expires_at", &choice->enforced->audio_expires);
    }
}

/* Members of `object` but for those named: nothing, or with braces around them. */
static void write_others(const struct weir_known *k, uint32_t object, const char *const *names,
                         struct weir_buf *out)
{
    enum { MAX_NAMES = 16 };
    struct weir_known_member changes[MAX_NAMES];
    struct weir_json_write w;
    size_t n = 0;
    for (; names[n] != NULL && n < MAX_NAMES; n++) {
        changes[n] = (struct weir_known_member){weir_slice_cstr(names[n]), WEIR_SLICE("")};
    }
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    size_t before = out->n;
    weir_known_write(
        &w, k->json, object,
        &(struct weir_known_rules){
            .names = names, .keeps_unknown = true, .changes = changes, .n_changes = n});
    bool has_any = out->n != before;
    weir_json_write_end_object(&w);
    if (!has_any) {
        weir_buf_clear(out);
    }
}

/* What nobody knows of a delta. */
static void write_unknown_delta(struct weir_cs_choice *choice, const struct weir_known *k,
                                struct weir_buf *out)
{
    struct weir_buf others = {0};
    struct weir_buf audio = {0};
    struct weir_json_write w;
    if (k->body != WEIR_JSON_NONE) {
        write_others(k, k->body, weir_known_body, &others);
    }
    if (k->audio != WEIR_JSON_NONE) {
        write_others(k, k->audio, weir_known_audio, &audio);
    }
    weir_cs__begin_delta(&w, choice, out);
    if (others.n != 0) {
        weir_json_write_raw_members(&w, weir_slice_sub(weir_buf_slice(&others), 1, others.n - 1));
    }
    if (audio.n != 0) {
        weir_json_write_key(&w, WEIR_SLICE("audio"));
        weir_json_write_raw(&w, weir_buf_slice(&audio));
    }
    weir_json_write_end_object(&w);
    weir_buf_dispose(&others);
    weir_buf_dispose(&audio);
}

/* unknown_members: pass. What nobody checks leaves at once, in an event of its own. */
static void pass_unknown(struct weir_cs_choice *choice, const struct weir_known *k)
{
    struct weir_cs *cs = choice->cs;
    struct weir_buf body = {0};
    struct weir_buf out = {0};
    if (cs->request.is_chat) {
        write_unknown_delta(choice, k, &body);
    } else {
        weir_buf_append(&body, WEIR_SLICE("\"\""));
    }
    struct weir_cs_event event = {.body = weir_buf_slice(&body),
                                  .finish = WEIR_ENFORCE_WAITS,
                                  .is_tainted = true,
                                  .keeps_unknown = true};
    weir_cs__write_event(cs, k->json, k->choice, &event, &out);
    weir_cs__emit(cs, weir_buf_slice(&out));
    weir_buf_dispose(&body);
    weir_buf_dispose(&out);
}

/* What nobody knows leaves or is counted, each once. */
static void take_unknown(struct weir_cs_choice *choice, const struct weir_known *k, bool is_last)
{
    struct weir_cs *cs = choice->cs;
    size_t n = k->n_unknown + (is_last ? weir_known_count_top(k->json) : 0);
    if (!weir_cs__keeps_unknown(cs)) {
        weir_metric_add(cs->request.policy->dropped, n + k->n_unknown_in_calls);
    } else if (n != 0) {
        pass_unknown(choice, k);
    }
}

/* The first thing a choice does may be to say who speaks. */
static void greet(struct weir_cs_choice *choice)
{
    struct weir_buf body = {0};
    if (choice->role != WEIR_CS_ROLE_UNSAID || !choice->cs->request.is_chat) {
        return;
    }
    weir_cs__write_said(choice, WEIR_CHANNEL_CONTENT, WEIR_SLICE(""), &body);
    weir_cs__emit_event(choice,
                        &(struct weir_cs_event){.envelope = weir_buf_slice(&choice->enforced->last),
                                                .body = weir_buf_slice(&body),
                                                .finish = WEIR_ENFORCE_WAITS,
                                                .is_tainted = true});
    weir_buf_dispose(&body);
}

/* What the answer cost leaves last, should nobody say it later. */
static void save_usage(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    struct weir_json json;
    struct weir_slice event = weir_buf_slice(&choice->enforced->finish);
    if (weir_json_parse_reuse(&json, event, NULL, &cs->scratch->envelope, NULL) == 0) {
        weir_cs__enforce_usage(cs, &json);
        cs->is_usage_borrowed = true;
    }
}

/* It leaves when the stream has ended; the last one counts. */
static void take_finish(struct weir_cs_choice *choice, const struct weir_known *k, bool has_usage)
{
    struct weir_cs_enforced *e = choice->enforced;
    struct weir_cs_event how = {
        .finish = WEIR_ENFORCE_AS_IS, .with_usage = has_usage, .is_tainted = true};
    if (e->finish_has_usage && !has_usage) {
        save_usage(choice);
    }
    reduce(choice->cs, k, &how, &e->finish);
    e->finish_has_usage = has_usage;
}

/* Usage leaves with the event it came in; nobody but us will tell that of a blocked choice's, as
 * long as no later one leaves by itself. */
static void take_usage(struct weir_cs_choice *choice, const struct weir_json *json)
{
    struct weir_cs *cs = choice->cs;
    if (choice->enforced->is_blocked) {
        weir_cs__enforce_usage(cs, json);
        cs->is_usage_borrowed = true;
    } else if (cs->is_usage_borrowed) {
        weir_buf_clear(&cs->usage);
    }
}

void weir_cs__enforce_take(struct weir_cs *cs, const struct weir_json *json, uint32_t at,
                           bool is_last)
{
    struct weir_known k;
    const char *why;
    if (weir_known_read(json, at, weir_cs__body_name(cs), &k, &why) != 0) {
        weir_cs__fail_model(cs, why);
        return;
    }
    struct weir_cs_choice *choice = weir_cs__choice(cs, k.index);
    if (choice == NULL) {
        return;
    }
    bool has_usage = is_last && weir_json_get_set(json, 0, WEIR_SLICE("usage")) != WEIR_JSON_NONE;
    if (has_usage) {
        take_usage(choice, json);
    }
    weir_cs__note_finish(choice, k.has_finish);
    cs->has_spoken = cs->has_spoken || has_usage || !choice->enforced->is_blocked;
    if (choice->enforced->is_blocked) {
        return;
    }
    enum weir_channel channel = WEIR_CHANNEL_CONTENT;
    if (says_one_text(&k, &channel)) {
        bool has_ending = weir_json_get(json, 0, WEIR_SLICE("usage")) != WEIR_JSON_NONE;
        weir_cs__keep_shape(choice, json, k.texts[channel], channel, has_ending);
    }
    forget_last_shape(choice->enforced);
    take_unknown(choice, &k, is_last);
    struct weir_cs_event how = {
        .finish = WEIR_ENFORCE_WAITS, .with_usage = is_last, .is_tainted = true};
    reduce(cs, &k, &how, &choice->enforced->last);
    bool has_texts = take_texts(choice, &k, is_last);
    take_calls(choice, &k);
    if (k.has_finish && !cs->is_over) {
        take_finish(choice, &k, has_usage);
    } else if (!has_texts && choice->n_tools == 0 && !cs->is_over) {
        greet(choice);
    }
    if (!cs->is_over) {
        weir_cs__enforce_drain(choice);
    }
}

void weir_cs__enforce_usage(struct weir_cs *cs, const struct weir_json *json)
{
    cs->is_usage_borrowed = false;
    weir_buf_clear(&cs->usage);
    weir_enforce_write_answer(
        &cs->usage, &(struct weir_enforce_answer){.json = json,
                                                  .choices = WEIR_SLICE("[]"),
                                                  .with_usage = true,
                                                  .is_tainted = true,
                                                  .keeps_unknown = weir_cs__keeps_unknown(cs)});
    if (!weir_cs__keeps_unknown(cs)) {
        weir_metric_add(cs->request.policy->dropped, weir_known_count_top(json));
    }
}

/* An event without choices says only what nobody here knows. */
void weir_cs__enforce_misc(struct weir_cs *cs, const struct weir_json *json)
{
    if (weir_cs__keeps_unknown(cs)) {
        weir_cs__emit(cs, json->src);
    } else {
        weir_metric_add(cs->request.policy->dropped, weir_known_count_top(json));
    }
}

/* ---- the end of a choice ---- */

void weir_cs__collect_texts(const struct weir_cs_choice *choice, struct weir_guard_ending *ending)
{
    struct weir_slice *texts =
        weir_arena_array(choice->cs->task->arena, 2 * choice->n_tools, sizeof *texts);
    for (size_t i = 0; i < choice->n_tools; i++) {
        const struct weir_cs_tool *tool = &choice->tools[i];
        if (tool->name.n != 0) {
            texts[ending->n_tool_texts++] = weir_buf_slice(&tool->name);
        }
        if (tool->arguments.n != 0) {
            texts[ending->n_tool_texts++] = weir_buf_slice(&tool->arguments);
        }
    }
    ending->tool_texts = texts;
}

void weir_cs__enforce_end(struct weir_cs_choice *choice)
{
    struct weir_cs *cs = choice->cs;
    struct weir_cs_enforced *e = choice->enforced;
    struct weir_slice lone = weir_slice_make(REPLACEMENT, sizeof REPLACEMENT - 1);
    if (e->is_blocked || cs->is_over) {
        return;
    }
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        if (e->halves[i] != 0) {
            e->halves[i] = 0;
            push(choice, (enum weir_channel)i, weir_buf_slice(&e->last), lone);
        }
    }
    struct weir_guard_ending ending = {.prompt = cs->request.prompt};
    weir_cs__collect_texts(choice, &ending);
    if (weir_cs__wants_message(cs)) {
        const struct weir_json *json = cs->request.json;
        uint32_t tools = weir_json_get_set(json, 0, WEIR_SLICE("tools"));
        ending.messages = weir_cs__history(cs, choice);
        ending.tools = tools != WEIR_JSON_NONE ? weir_json_raw(json, tools) : WEIR_SLICE("");
    }
    weir_guard_end(e->guard, &ending);
}
