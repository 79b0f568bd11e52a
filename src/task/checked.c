#include "task/checked.h"

#include "base/err.h"
#include "talk/form.h"
#include "talk/half.h"
#include "talk/known.h"
#include "talk/unknown.h"
#include "task/promise.h"
#include "task/results.h"
#include "task/source.h"
#include "wire/json_write.h"

void weir_checked_init(struct weir_checked *g, const struct weir_checked_options *o)
{
    const struct weir_task_env *env = o->task->env;
    /* Where JSON was asked for all of it waits for the end; and what rides beside an annotated
     * answer holds nothing at all. */
    bool exposes_nothing =
        o->request->asks_json || o->request->policy->action == WEIR_POLICY_ANNOTATE;
    *g = (struct weir_checked){.o = *o, .keeps_whole = weir_path_has_whole(&o->request->output)};
    g->tools.max_calls = env->max_tool_calls;
    g->tools.max_bytes = o->max_held_bytes;
    g->tools.keeps_unknown = o->request->policy->keeps_unknown;
    weir_buf_init(&g->whole, o->max_held_bytes);
    weir_buf_init(&g->unknown, o->max_held_bytes);
    g->whole.account = o->task->arena->account;
    g->guard = weir_guard_new(&(struct weir_guard_options){.task = o->task,
                                                           .plan = &o->request->output,
                                                           .policy = o->request->policy,
                                                           .max_held_bytes = o->max_held_bytes,
                                                           .choice = o->place,
                                                           .keeps_json = o->request->asks_json,
                                                           .is_unary = o->is_unary,
                                                           .exposes_nothing = exposes_nothing,
                                                           .on_progress = o->on_progress,
                                                           .ctx = o->ctx});
}

void weir_checked_dispose(struct weir_checked *g)
{
    weir_guard_free(g->guard);
    g->guard = NULL;
    weir_tools_dispose(&g->tools);
    weir_logprobs_dispose(&g->content_logprobs);
    weir_logprobs_dispose(&g->refusal_logprobs);
    weir_buf_dispose(&g->audio_id);
    weir_buf_dispose(&g->audio_expires);
    weir_buf_dispose(&g->audio);
    weir_buf_dispose(&g->finish);
    weir_buf_dispose(&g->stop_reason);
    weir_buf_dispose(&g->whole);
    weir_buf_dispose(&g->unknown);
    weir_buf_dispose(&g->filters);
    weir_buf_dispose(&g->logprobs_out);
}

const struct weir_fault *weir_checked_fault(const struct weir_checked *g)
{
    return g->fault != NULL ? g->fault : weir_guard_fault(g->guard);
}

size_t weir_checked_held(const struct weir_checked *g)
{
    return g->tools.n_bytes + g->unknown.n + weir_logprobs_bytes(&g->content_logprobs) +
           weir_logprobs_bytes(&g->refusal_logprobs) + weir_guard_told_bytes(g->guard);
}

/* ---- failing ---- */

static int fail(struct weir_checked *g, const struct weir_fault *fault)
{
    g->fault = weir_fault_keep(g->o.task->arena, fault);
    return fault->err;
}

static int fail_model(struct weir_checked *g, const char *why)
{
    bool is_chat = g->o.request->is_chat;
    return fail(g, &(struct weir_fault){.origin = is_chat ? WEIR_FAULT_CHAT_COMPLETION
                                                          : WEIR_FAULT_COMPLETION,
                                        .id = g->o.request->model_id,
                                        .err = WEIR_EPEER,
                                        .why = weir_slice_cstr(why)});
}

static int fail_limit(struct weir_checked *g, const char *what, size_t limit, const char *name)
{
    const char *message =
        weir_arena_printf(g->o.task->arena, "more than %zu %s: limits.%s", limit, what, name);
    return fail(g, &(struct weir_fault){.origin = WEIR_FAULT_LIMIT,
                                        .err = WEIR_ELIMIT,
                                        .status = 500,
                                        .message = weir_slice_cstr(message)});
}

static int fail_promise(struct weir_checked *g, const char *what)
{
    struct weir_fault fault = weir_promise_broken(
        &(struct weir_promise){.task = g->o.task, .what = what, .choice = g->o.place});
    return fail(g, &fault);
}

/* ---- taking ---- */

/* A reason is a word; whatever else stands there may be text, such as the stop string. */
static void take_reason(struct weir_checked *g, const struct weir_json *json, uint32_t at,
                        struct weir_buf *out)
{
    bool is_number = weir_json_type(json, at) == WEIR_JSON_NUMBER;
    bool is_good = is_number || weir_form_is_word_at(json, at);
    g->n_odd += !is_good;
    weir_buf_clear(out);
    weir_buf_append(out, is_good ? weir_json_raw(json, at) : WEIR_SLICE("\"stop\""));
}

/* The last finish_reason counts, with the stop_reason it came with. */
static void take_finish(struct weir_checked *g, const struct weir_delta *d)
{
    if (d->finish == WEIR_JSON_NONE) {
        return;
    }
    take_reason(g, d->json, d->finish, &g->finish);
    weir_buf_clear(&g->stop_reason);
    if (d->stop_reason != WEIR_JSON_NONE) {
        take_reason(g, d->json, d->stop_reason, &g->stop_reason);
    }
}

static void take_audio(struct weir_checked *g, const struct weir_delta *d)
{
    if (d->audio == WEIR_JSON_NONE) {
        return;
    }
    uint32_t id = weir_json_get_set(d->json, d->audio, WEIR_SLICE("id"));
    uint32_t expires = weir_json_get_set(d->json, d->audio, WEIR_SLICE("expires_at"));
    bool has_id = weir_form_is_id_at(d->json, id, WEIR_FORM_ID_MOST);
    bool has_expires =
        expires != WEIR_JSON_NONE && weir_json_type(d->json, expires) == WEIR_JSON_NUMBER;
    g->n_odd += id != WEIR_JSON_NONE && !has_id;
    g->n_odd += expires != WEIR_JSON_NONE && !has_expires;
    if (has_id) {
        weir_buf_clear(&g->audio_id);
        weir_buf_append(&g->audio_id, weir_json_raw(d->json, id));
    }
    if (has_expires) {
        weir_buf_clear(&g->audio_expires);
        weir_buf_append(&g->audio_expires, weir_json_raw(d->json, expires));
    }
}

struct weir_slice weir_checked_take_audio(struct weir_checked *g)
{
    weir_buf_clear(&g->audio);
    if (g->audio_id.n != 0) {
        weir_buf_append(&g->audio, WEIR_SLICE("\"id\":"));
        weir_buf_append(&g->audio, weir_buf_slice(&g->audio_id));
    }
    if (g->audio_expires.n != 0) {
        weir_buf_append(&g->audio, g->audio.n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        weir_buf_append(&g->audio, WEIR_SLICE("\"expires_at\":"));
        weir_buf_append(&g->audio, weir_buf_slice(&g->audio_expires));
    }
    weir_buf_clear(&g->audio_id);
    weir_buf_clear(&g->audio_expires);
    return weir_buf_slice(&g->audio);
}

/* Of completions they name tokens and offsets of a text that may have changed: they do not leave.
 */
static void take_logprobs(struct weir_checked *g, const struct weir_delta *d)
{
    if (d->logprobs != WEIR_JSON_NONE && g->o.dialect->has_messages) {
        weir_logprobs_take(&g->content_logprobs, d->json,
                           weir_json_get_set(d->json, d->logprobs, WEIR_SLICE("content")));
        weir_logprobs_take(&g->refusal_logprobs, d->json,
                           weir_json_get_set(d->json, d->logprobs, WEIR_SLICE("refusal")));
    }
}

/* The last that was said counts: who can send it on in between does (weir_checked_says_filters). */
static void take_filters(struct weir_checked *g, const struct weir_delta *d)
{
    if (weir_checked_says_filters(d)) {
        weir_buf_clear(&g->filters);
        g->n_odd += weir_form_write_filters(d->json, d->choice, weir_known_filters, &g->filters);
    }
}

bool weir_checked_says_filters(const struct weir_delta *d)
{
    for (const char *const *name = weir_known_filters; *name != NULL; name++) {
        if (weir_json_get_set(d->json, d->choice, weir_slice_cstr(*name)) != WEIR_JSON_NONE) {
            return true;
        }
    }
    return false;
}

static int take_calls(struct weir_checked *g, const struct weir_delta *d)
{
    const char *why = NULL;
    int rc = 0;
    if (d->tool_calls != WEIR_JSON_NONE) {
        rc = weir_tools_take(&g->tools, d->json, d->tool_calls, &why);
    }
    if (rc == 0 && d->function_call != WEIR_JSON_NONE) {
        rc = weir_tools_take_function_call(&g->tools, d->json, d->function_call, &why);
    }
    if (rc == WEIR_EPEER) {
        return fail_model(g, why);
    }
    if (rc != 0 && weir_tools_is_full(&g->tools)) {
        return fail_limit(g, "tool calls in one choice", g->tools.n, "max_tool_calls");
    }
    return rc != 0 ? fail_limit(g, "bytes in a tool call", g->o.max_held_bytes,
                                "max_held_bytes_per_stream")
                   : 0;
}

int weir_checked_take(struct weir_checked *g, const struct weir_delta *d)
{
    take_finish(g, d);
    take_audio(g, d);
    take_logprobs(g, d);
    take_filters(g, d);
    return take_calls(g, d);
}

int weir_checked_take_unknown(struct weir_checked *g, const struct weir_delta *d, bool with_top)
{
    struct weir_buf object = {0};
    g->n_odd += weir_unknown_append(d, g->o.dialect, with_top, &object) + d->n_unknown_in_calls;
    int rc = 0;
    if (object.n != 0) {
        rc = weir_buf_append(&g->unknown, g->unknown.n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        rc |= weir_buf_append(&g->unknown, weir_buf_slice(&object));
    }
    weir_buf_dispose(&object);
    return rc != 0 ? fail_limit(g, "bytes of unknown members in one choice", g->o.max_held_bytes,
                                "max_held_bytes_per_stream")
                   : 0;
}

void weir_checked_text(struct weir_checked *g, const struct weir_delta *d,
                       enum weir_channel channel, struct weir_buf *text)
{
    uint32_t at = d->texts[channel];
    weir_buf_clear(text);
    weir_json_string_append(d->json, at, text);
    if (g->halves[channel] != 0) {
        weir_half_join(d->json, at, &g->halves[channel], text);
    }
    weir_half_cut(d->json, at, &g->halves[channel], text);
}

/* For detectors that look at all of it. */
static int keep_whole(struct weir_checked *g, struct weir_slice text)
{
    g->has_content = g->has_content || text.n != 0;
    if (g->keeps_whole && weir_buf_append(&g->whole, text) != 0) {
        return fail_limit(g, "bytes of text in one choice", g->whole.max,
                          "max_held_bytes_per_stream");
    }
    return 0;
}

int weir_checked_push(struct weir_checked *g, enum weir_channel channel, uint64_t frame,
                      struct weir_slice text)
{
    int rc = channel == WEIR_CHANNEL_CONTENT ? keep_whole(g, text) : 0;
    if (rc != 0) {
        return rc;
    }
    rc = weir_guard_push(g->guard, channel, frame, text);
    if (rc == WEIR_ELIMIT) {
        struct weir_fault fault = weir_source_limit_fault(g->o.task->arena, g->o.max_held_bytes);
        fail(g, &fault);
    } else if (rc != 0) {
        fail_model(g, "an event's text is not UTF-8");
    }
    return rc;
}

enum weir_channel weir_checked_take_half(struct weir_checked *g)
{
    size_t i = 0;
    while (i < WEIR_CHANNEL_TEXTS && g->halves[i] == 0) {
        i++;
    }
    if (i < WEIR_CHANNEL_TEXTS) {
        g->halves[i] = 0;
    }
    return (enum weir_channel)i;
}

/* ---- the end of a choice ---- */

static void write_member(struct weir_json_write *w, const char *name, struct weir_slice text)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_string(w, text);
}

/* What the choice said besides its content: the detector that sees the message decides about all of
 * it. */
static void write_channels(struct weir_json_write *w, const struct weir_checked *g)
{
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        struct weir_slice text = weir_guard_whole(g->guard, (enum weir_channel)i);
        if (text.n == 0 || i == WEIR_CHANNEL_CONTENT) {
            continue;
        }
        if (i == WEIR_CHANNEL_TRANSCRIPT) {
            weir_json_write_key(w, WEIR_SLICE("audio"));
            weir_json_write_begin_object(w);
            write_member(w, "transcript", text);
            weir_json_write_end_object(w);
        } else {
            write_member(w, weir_channel_name((enum weir_channel)i), text);
        }
    }
}

/* The caller's history and what was generated, as one array. */
static struct weir_slice history(const struct weir_checked *g)
{
    struct weir_task_ctx *task = g->o.task;
    struct weir_buf out = {0};
    struct weir_json_write w;
    struct weir_json message;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    write_member(&w, "role", WEIR_SLICE("assistant"));
    if (g->has_content) {
        write_member(&w, "content", weir_buf_slice(&g->whole));
    }
    write_channels(&w, g);
    weir_tools_write(&g->tools, false, &w);
    weir_json_write_end_object(&w);
    struct weir_slice text = WEIR_SLICE("[]");
    if (weir_json_parse(&message, weir_buf_slice(&out), NULL, task->arena, NULL) == 0) {
        text = weir_completion_history(task, g->o.request->json, &message, 0);
    }
    weir_buf_dispose(&out);
    return text;
}

void weir_checked_end(struct weir_checked *g)
{
    const struct weir_task_completion *request = g->o.request;
    struct weir_guard_ending ending = {
        .prompt = request->prompt, .calls = &g->tools, .unknown = weir_buf_slice(&g->unknown)};
    weir_tools_end(&g->tools);
    if (weir_plan_has_type(&request->output, WEIR_DETECT_CHAT)) {
        uint32_t tools = weir_json_get_set(request->json, 0, WEIR_SLICE("tools"));
        ending.messages = history(g);
        ending.tools =
            tools != WEIR_JSON_NONE ? weir_json_raw(request->json, tools) : WEIR_SLICE("");
    }
    weir_guard_end(g->guard, &ending);
}

/* ---- leaving ---- */

static struct weir_logprobs *logprobs_of(struct weir_checked *g, enum weir_channel channel)
{
    return channel == WEIR_CHANNEL_CONTENT   ? &g->content_logprobs
           : channel == WEIR_CHANNEL_REFUSAL ? &g->refusal_logprobs
                                             : NULL;
}

/* The member `logprobs` of a text that leaves. */
static void leave_logprobs(struct weir_checked *g, struct weir_checked_piece *p)
{
    const struct weir_guard_piece *piece = &p->piece;
    struct weir_logprobs *l = logprobs_of(g, piece->channel);
    struct weir_buf *out = &g->logprobs_out;
    struct weir_buf entries = {0};
    for (size_t i = 0; l != NULL && i < piece->n_stretches; i++) {
        weir_logprobs_leave(l, piece->stretches[i].text, piece->stretches[i].is_replaced, &entries);
    }
    if (entries.n != 0) {
        bool is_content = piece->channel == WEIR_CHANNEL_CONTENT;
        weir_buf_clear(out);
        weir_buf_append(out, is_content ? WEIR_SLICE("{\"content\":[")
                                        : WEIR_SLICE("{\"content\":null,\"refusal\":["));
        size_t from = out->n;
        weir_buf_append(out, weir_buf_slice(&entries));
        size_t to = out->n;
        weir_buf_append(out, is_content ? WEIR_SLICE("],\"refusal\":null}") : WEIR_SLICE("]}"));
        p->logprobs = weir_buf_slice(out);
        p->entries = weir_slice_sub(p->logprobs, from, to);
    }
    weir_buf_dispose(&entries);
}

/* The calls may leave, and are replaced now where something was found in them. A call's id may be
 * any text a server likes, and clients send it back: one that is none fails. */
static int check_calls(struct weir_checked *g)
{
    if (!weir_guard_let_go(g->guard, &g->tools, weir_buf_slice(&g->unknown), &g->unknown_left)) {
        return fail_promise(g, "tool calls");
    }
    for (size_t i = 0; i < g->tools.n; i++) {
        struct weir_slice id = weir_buf_slice(&g->tools.items[i].id);
        if (id.n != 0 && !weir_form_is_said_id(id, WEIR_FORM_CALL_ID_MOST)) {
            return fail_model(g, "a tool call's id has not the form of one");
        }
    }
    return 0;
}

int weir_checked_pop(struct weir_checked *g, struct weir_checked_piece *p)
{
    int rc = weir_guard_pop(g->guard, &p->piece);
    if (rc != 0) {
        return rc;
    }
    p->logprobs = (struct weir_slice){0};
    p->entries = (struct weir_slice){0};
    if (!weir_policy_enforces(g->o.request->policy)) {
        return 0;
    }
    switch (p->piece.what) {
    case WEIR_GUARD_TEXT:
        if (!weir_guard_has_judged(g->guard, &p->piece)) {
            return fail_promise(g, weir_channel_name(p->piece.channel));
        }
        leave_logprobs(g, p);
        return 0;
    case WEIR_GUARD_CLEAR:
        return check_calls(g);
    case WEIR_GUARD_BLOCKED:
    default:
        g->is_blocked = true;
        return 0;
    }
}

int weir_checked_pop_told(struct weir_checked *g, struct weir_checked_piece *p)
{
    *p = (struct weir_checked_piece){0};
    return weir_guard_pop_told(g->guard, &p->piece);
}

struct weir_checked_no weir_checked_no(const struct weir_checked *g, bool is_alone)
{
    const struct weir_policy *policy = g->o.request->policy;
    bool has_json = is_alone && g->o.request->asks_json;
    bool is_refusal = g->o.dialect->has_messages &&
                      (policy->block_as == WEIR_POLICY_BLOCK_AS_REFUSAL || has_json);
    bool goes_on = !is_alone && !is_refusal && g->has_left[WEIR_CHANNEL_CONTENT];
    struct weir_slice words = policy->fallback.p != NULL ? policy->fallback : WEIR_POLICY_REFUSAL;
    struct weir_checked_no no = {
        .channel = is_refusal ? WEIR_CHANNEL_REFUSAL : WEIR_CHANNEL_CONTENT,
        .text = words,
        .finish =
            policy->ends_completed ? WEIR_SLICE("\"stop\"") : WEIR_SLICE("\"content_filter\"")};
    if (goes_on) {
        no.text =
            weir_slice_cstr(weir_arena_printf(g->o.task->arena, "\n\n%.*s", (int)words.n, words.p));
    }
    return no;
}

void weir_checked_write_found(struct weir_json_write *w, const struct weir_checked *g,
                              enum weir_channel channel, struct weir_slice results)
{
    if (channel == WEIR_CHANNEL_TOOLS) {
        weir_json_write_raw(w, results);
        return;
    }
    bool is_content = channel == WEIR_CHANNEL_CONTENT || channel == WEIR_CHANNEL_WHOLE;
    weir_results_begin_entry(w, g->o.place, is_content ? NULL : weir_channel_name(channel));
    weir_json_write_begin_array(w);
    if (results.n != 0) {
        weir_json_write_raw(w, results);
    }
    weir_json_write_end_array(w);
    weir_results_end_entry(w);
}

void weir_checked_write_calls(const struct weir_checked *g, bool with_index, struct weir_buf *out)
{
    struct weir_buf object = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &object);
    weir_json_write_begin_object(&w);
    weir_tools_write(&g->tools, with_index, &w);
    weir_json_write_end_object(&w);
    weir_buf_append(out, weir_slice_sub(weir_buf_slice(&object), 1, object.n - 1));
    weir_buf_dispose(&object);
}
