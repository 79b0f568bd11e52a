/*
 * One choice of a stream on a route that blocks or redacts.
 *
 *   event ─┬─ texts ──────► guard ─► TEXT     an event like the last one touched, with what may
 * leave ├─ tool calls ─► held  ─► CLEAR    the calls, whole, then what ended the choice └─ finish
 * ─────► held  ─► BLOCKED  the route's words and content_filter
 *
 * Events are not passed on but written anew from what is known of them.
 */
#include "base/err.h"
#include "base/mem.h"
#include "task/completion_stream_int.h"
#include "task/results.h"

#include <stdlib.h>

static const char REPLACEMENT[] = "\xEF\xBF\xBD"; /* U+FFFD */

static bool keeps_unknown(const struct weir_cs *cs)
{
    return cs->request.policy->keeps_unknown;
}

static struct weir_slice body_name(const struct weir_cs *cs)
{
    return cs->request.is_chat ? WEIR_SLICE("delta") : WEIR_SLICE("text");
}

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

static void drop_held(struct weir_cs_choice *choice)
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
    drop_held(choice);
    weir_guard_free(e->guard);
    weir_buf_dispose(&e->last);
    weir_buf_dispose(&e->finish);
    weir_buf_dispose(&e->audio_id);
    weir_buf_dispose(&e->audio_expires);
    free(e);
    choice->enforced = NULL;
}

bool weir_cs__enforce_is_done(const struct weir_cs_choice *choice)
{
    return weir_guard_is_done(choice->enforced->guard);
}

/* ---- writing events ---- */

/* An event made from one of the server's. */
struct event {
    struct weir_slice envelope; /* an event with one choice, of our own writing */
    struct weir_slice body;     /* JSON of what it says */
    enum weir_enforce_finish finish;
    bool with_usage;
    bool is_tainted;
    struct weir_slice logprobs;
    struct weir_slice detections;
    bool is_found; /* warn */
};

static void write_event(struct weir_cs *cs, const struct weir_json *json, uint32_t choice,
                        const struct event *e, struct weir_buf *out)
{
    struct weir_buf choices = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &choices);
    weir_json_write_begin_array(&w);
    weir_enforce_write_choice(&w,
                              &(struct weir_enforce_choice){.json = json,
                                                            .choice = choice,
                                                            .body_name = body_name(cs),
                                                            .body = e->body,
                                                            .logprobs = e->logprobs,
                                                            .finish = e->finish,
                                                            .is_tainted = e->is_tainted,
                                                            .keeps_unknown = keeps_unknown(cs)});
    weir_json_write_end_array(&w);
    struct weir_enforce_answer answer = {.json = json,
                                         .choices = weir_buf_slice(&choices),
                                         .with_usage = e->with_usage,
                                         .is_tainted = e->is_tainted,
                                         .keeps_unknown = keeps_unknown(cs),
                                         .detections = e->detections};
    if (e->is_found) {
        answer.warnings = weir_event_unsuitable_output();
    }
    weir_enforce_write_answer(out, &answer);
    weir_buf_dispose(&choices);
}

static void emit(struct weir_cs_choice *choice, const struct event *e)
{
    struct weir_cs *cs = choice->cs;
    struct weir_json json;
    struct weir_buf out = {0};
    if (weir_json_parse_reuse(&json, e->envelope, NULL, &cs->scratch->envelope, NULL) == 0) {
        uint32_t choices = weir_json_get(&json, 0, WEIR_SLICE("choices"));
        write_event(cs, &json, weir_json_first(&json, choices), e, &out);
        weir_cs__emit(cs, weir_buf_slice(&out));
    }
    weir_buf_dispose(&out);
}

/* Begins a delta: who speaks, where nobody was named yet. */
static void begin_delta(struct weir_json_write *w, struct weir_cs_choice *choice,
                        struct weir_buf *out)
{
    weir_json_write_init(w, out);
    weir_json_write_begin_object(w);
    if (choice->role == WEIR_CS_ROLE_UNSAID) {
        choice->role = WEIR_CS_ROLE_SAID;
        weir_json_write_key(w, WEIR_SLICE("role"));
        weir_json_write_string(w, WEIR_SLICE("assistant"));
    }
}

/* Said once. */
static void write_once(struct weir_json_write *w, const char *name, struct weir_buf *json)
{
    if (json->n != 0) {
        weir_json_write_key(w, weir_slice_cstr(name));
        weir_json_write_raw(w, weir_buf_slice(json));
        weir_buf_dispose(json);
    }
}

/* `text.p` NULL: no transcript, only what is to be said about it. */
static void write_audio(struct weir_json_write *w, struct weir_cs_enforced *e,
                        struct weir_slice text)
{
    weir_json_write_key(w, WEIR_SLICE("audio"));
    weir_json_write_begin_object(w);
    write_once(w, "id", &e->audio_id);
    if (text.p != NULL) {
        weir_json_write_key(w, WEIR_SLICE("transcript"));
        weir_json_write_string(w, text);
    }
    write_once(w, "expires_at", &e->audio_expires);
    weir_json_write_end_object(w);
}

/* What an event says: text in a channel. */
static void write_said(struct weir_cs_choice *choice, enum weir_channel channel,
                       struct weir_slice text, struct weir_buf *out)
{
    struct weir_json_write w;
    if (!choice->cs->request.is_chat) {
        weir_json_write_quoted(out, text);
        return;
    }
    begin_delta(&w, choice, out);
    if (channel == WEIR_CHANNEL_TRANSCRIPT) {
        write_audio(&w, choice->enforced, text);
    } else {
        weir_json_write_key(&w, weir_slice_cstr(weir_channel_name(channel)));
        weir_json_write_string(&w, text);
    }
    weir_json_write_end_object(&w);
}

/* Says nothing but, the first time, who speaks. */
static void write_silence(struct weir_cs_choice *choice, struct weir_buf *out)
{
    struct weir_json_write w;
    if (!choice->cs->request.is_chat) {
        weir_buf_append(out, WEIR_SLICE("\"\""));
        return;
    }
    begin_delta(&w, choice, out);
    weir_json_write_end_object(&w);
}

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

/* ---- leaving ---- */

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
    bool says_nothing = piece->text.n == 0 && piece->n_findings == 0; /* swallowed */
    if (!says_nothing) {
        write_said(choice, piece->channel, piece->text, &body);
        write_detections(choice, piece, &detections);
        emit(choice, &(struct event){.envelope = weir_slice_make(last->json, last->n),
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

/* Is every choice that was asked for, or that came, at its end? */
static bool is_all_said(const struct weir_cs *cs)
{
    uint64_t n_asked = cs->request.n_choices != 0 ? cs->request.n_choices : 1;
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        if (!weir_cs__enforce_is_done(WEIR_LIST_ENTRY(at, struct weir_cs_choice, link))) {
            return false;
        }
    }
    return cs->n_choices >= n_asked;
}

static void emit_no(struct weir_cs_choice *choice, const struct weir_guard_piece *piece)
{
    const struct weir_policy *policy = choice->cs->request.policy;
    bool has_fallback = policy->fallback.p != NULL;
    struct weir_buf body = {0};
    struct weir_buf detections = {0};
    write_said(choice, has_fallback ? WEIR_CHANNEL_CONTENT : WEIR_CHANNEL_REFUSAL,
               has_fallback ? policy->fallback : WEIR_POLICY_REFUSAL, &body);
    write_detections(choice, piece, &detections);
    struct event event = {.envelope = weir_buf_slice(&choice->enforced->last),
                          .body = weir_buf_slice(&body),
                          .finish = WEIR_ENFORCE_WAITS,
                          .is_tainted = true,
                          .detections = weir_buf_slice(&detections),
                          .is_found = piece->channel != WEIR_CHANNEL_WHOLE};
    emit(choice, &event);
    weir_buf_clear(&body);
    write_silence(choice, &body);
    bool has_finish = choice->enforced->finish.n != 0;
    emit(choice, &(struct event){.envelope = has_finish ? weir_buf_slice(&choice->enforced->finish)
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
    bool has_finished = choice->enforced->finish.n != 0;
    emit_no(choice, piece);
    choice->enforced->is_blocked = true;
    weir_cs__note_outcome(cs, WEIR_POLICY_BLOCKED);
    drop_held(choice);
    /* Where it has said its finish_reason already, there is nothing to save, and usage may come. */
    if (!cs->source_done && !has_finished && is_all_said(cs)) {
        weir_cs__stop_source(cs);
    }
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
    begin_delta(&w, choice, &body);
    if (has_audio) {
        write_audio(&w, e, (struct weir_slice){0});
    }
    weir_cs__write_tools(&w, choice);
    weir_json_write_end_object(&w);
    emit(choice, &(struct event){.envelope = weir_buf_slice(&choice->enforced->last),
                                 .body = weir_buf_slice(&body),
                                 .finish = WEIR_ENFORCE_WAITS,
                                 .is_tainted = true});
    weir_cs__forget_tools(choice);
    weir_buf_dispose(&body);
}

static void emit_finish(struct weir_cs_choice *choice)
{
    struct weir_buf body = {0};
    write_silence(choice, &body);
    emit(choice, &(struct event){.envelope = weir_buf_slice(&choice->enforced->finish),
                                 .body = weir_buf_slice(&body),
                                 .finish = WEIR_ENFORCE_AS_IS,
                                 .with_usage = true});
    weir_buf_dispose(&choice->enforced->finish);
    weir_buf_dispose(&body);
}

static void take_piece(struct weir_cs_choice *choice, const struct weir_guard_piece *piece)
{
    switch (piece->what) {
    case WEIR_GUARD_TEXT:
        emit_text(choice, piece);
        break;
    case WEIR_GUARD_BLOCKED:
        block(choice, piece);
        break;
    case WEIR_GUARD_CLEAR:
        emit_rest(choice);
        if (choice->enforced->finish.n != 0) {
            emit_finish(choice);
        }
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

/* ---- arriving ---- */

/* The event without what it says, its choice alone. */
static void reduce(struct weir_cs *cs, const struct weir_known *k, const struct event *how,
                   struct weir_buf *out)
{
    struct event e = *how;
    e.body = cs->request.is_chat ? WEIR_SLICE("{}") : WEIR_SLICE("\"\"");
    weir_buf_clear(out);
    write_event(cs, k->json, k->choice, &e, out);
}

static void push(struct weir_cs_choice *choice, enum weir_channel channel, struct weir_slice event,
                 struct weir_slice text)
{
    struct weir_cs *cs = choice->cs;
    struct weir_cs_enforced *e = choice->enforced;
    if (text.n == 0) {
        return;
    }
    struct weir_cs_item *item = weir_cs__item_new(cs, event);
    item->has_text = true;
    item->has_logprobs = true; /* joined if it has any */
    item->start_cp = weir_guard_length_cp(e->guard, channel);
    weir_list_append(&e->held[channel], &item->link);
    int rc = weir_guard_push(e->guard, channel, cs->n_frames, text);
    item->end_cp = weir_guard_length_cp(e->guard, channel);
    if (rc == WEIR_ELIMIT) {
        weir_cs__fail_held(cs);
    } else if (rc == WEIR_EPEER) {
        weir_cs__fail_model(cs, "there is text behind a finish_reason");
    } else if (rc != 0) {
        weir_cs__fail_model(cs, "an event's text is not UTF-8");
    }
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
        struct event how = {.finish = WEIR_ENFORCE_WAITS,
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

/* unknown_members: pass. What nobody checks leaves at once, in an event of its own. */
static void pass_unknown(struct weir_cs_choice *choice, const struct weir_known *k)
{
    struct weir_buf others = {0};
    struct weir_buf audio = {0};
    struct weir_buf body = {0};
    struct weir_json_write w;
    if (!choice->cs->request.is_chat || k->body == WEIR_JSON_NONE) {
        return;
    }
    write_others(k, k->body, weir_known_body, &others);
    if (k->audio != WEIR_JSON_NONE) {
        write_others(k, k->audio, weir_known_audio, &audio);
    }
    if (others.n != 0 || audio.n != 0) {
        begin_delta(&w, choice, &body);
        if (others.n != 0) {
            weir_json_write_raw_members(&w,
                                        weir_slice_sub(weir_buf_slice(&others), 1, others.n - 1));
        }
        if (audio.n != 0) {
            weir_json_write_key(&w, WEIR_SLICE("audio"));
            weir_json_write_raw(&w, weir_buf_slice(&audio));
        }
        weir_json_write_end_object(&w);
        emit(choice, &(struct event){.envelope = weir_buf_slice(&choice->enforced->last),
                                     .body = weir_buf_slice(&body),
                                     .finish = WEIR_ENFORCE_WAITS,
                                     .is_tainted = true});
    }
    weir_buf_dispose(&others);
    weir_buf_dispose(&audio);
    weir_buf_dispose(&body);
}

/* The first thing a choice does may be to say who speaks. */
static void greet(struct weir_cs_choice *choice)
{
    struct weir_buf body = {0};
    if (choice->role != WEIR_CS_ROLE_UNSAID || !choice->cs->request.is_chat) {
        return;
    }
    write_said(choice, WEIR_CHANNEL_CONTENT, WEIR_SLICE(""), &body);
    emit(choice, &(struct event){.envelope = weir_buf_slice(&choice->enforced->last),
                                 .body = weir_buf_slice(&body),
                                 .finish = WEIR_ENFORCE_WAITS,
                                 .is_tainted = true});
    weir_buf_dispose(&body);
}

static void take_finish(struct weir_cs_choice *choice, const struct weir_known *k, bool with_usage)
{
    struct event how = {.finish = WEIR_ENFORCE_AS_IS, .with_usage = with_usage, .is_tainted = true};
    reduce(choice->cs, k, &how, &choice->enforced->finish);
    weir_cs__enforce_end(choice);
}

void weir_cs__enforce_take(struct weir_cs *cs, const struct weir_json *json, uint32_t at,
                           bool is_last)
{
    struct weir_known k;
    const char *why;
    if (weir_known_read(json, at, body_name(cs), &k, &why) != 0) {
        weir_cs__fail_model(cs, why);
        return;
    }
    struct weir_cs_choice *choice = weir_cs__choice(cs, k.index);
    if (choice == NULL) {
        return;
    }
    bool has_usage = is_last && weir_json_get_set(json, 0, WEIR_SLICE("usage")) != WEIR_JSON_NONE;
    if (choice->enforced->is_blocked) {
        if (has_usage) { /* nobody else will tell it */
            weir_cs__enforce_usage(cs, json);
            cs->is_usage_borrowed = true;
        }
        return;
    }
    if (has_usage && cs->is_usage_borrowed) { /* a later one that leaves by itself */
        weir_buf_clear(&cs->usage);
    }
    if (!keeps_unknown(cs)) {
        size_t n_top = is_last ? weir_known_count_top(json) : 0;
        weir_metric_add(cs->request.policy->dropped, k.n_unknown + n_top);
    }
    struct event how = {.finish = WEIR_ENFORCE_WAITS, .with_usage = is_last, .is_tainted = true};
    reduce(cs, &k, &how, &choice->enforced->last);
    if (keeps_unknown(cs) && k.n_unknown != 0) {
        pass_unknown(choice, &k);
    }
    bool has_texts = take_texts(choice, &k, is_last);
    take_calls(choice, &k);
    if (k.has_finish && !cs->is_over) {
        take_finish(choice, &k, is_last);
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
    weir_enforce_write_answer(&cs->usage,
                              &(struct weir_enforce_answer){.json = json,
                                                            .choices = WEIR_SLICE("[]"),
                                                            .with_usage = true,
                                                            .is_tainted = true,
                                                            .keeps_unknown = keeps_unknown(cs)});
    if (!keeps_unknown(cs)) {
        weir_metric_add(cs->request.policy->dropped, weir_known_count_top(json));
    }
}

/* An event without choices says only what nobody here knows. */
void weir_cs__enforce_misc(struct weir_cs *cs, const struct weir_json *json)
{
    if (keeps_unknown(cs)) {
        weir_cs__emit(cs, json->src);
    } else {
        weir_metric_add(cs->request.policy->dropped, weir_known_count_top(json));
    }
}

/* ---- the end of a choice ---- */

static void collect_texts(struct weir_cs_choice *choice, struct weir_guard_ending *ending)
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
    collect_texts(choice, &ending);
    if (weir_cs__wants_message(cs)) {
        const struct weir_json *json = cs->request.json;
        uint32_t tools = weir_json_get_set(json, 0, WEIR_SLICE("tools"));
        ending.messages = weir_cs__history(cs, choice);
        ending.tools = tools != WEIR_JSON_NONE ? weir_json_raw(json, tools) : WEIR_SLICE("");
    }
    weir_guard_end(e->guard, &ending);
}
