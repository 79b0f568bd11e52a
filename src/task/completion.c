/*
 * One unary completion:
 *
 *   input detectors ──findings──► tokenize ─► answer without a completion
 *          └─none─► model ─► output detectors on every choice ─► the model's own answer, added to
 */
#include "task/completion.h"

#include "base/err.h"
#include "io/loop.h"
#include "talk/channel.h"
#include "task/called.h"
#include "task/enforce_unary.h"
#include "task/event.h"
#include "task/question.h"
#include "task/results.h"
#include "task/seen.h"
#include "task/shadow.h"
#include "wire/json_edit.h"

struct choice {
    uint64_t index;
    struct weir_slice text; /* p NULL: none */
    struct weir_scan_group *group;
    /* Routes: what it says besides its content, by channel; NULL: nothing. */
    struct weir_scan_group *others[WEIR_CHANNEL_TEXTS];
    struct weir_called *called; /* routes: its tool calls; NULL: none */
};

struct completion {
    struct weir_stream stream;
    struct weir_question question;
    struct weir_task_completion request;
    struct weir_input input;
    struct weir_json answer; /* of the model server */
    struct choice *choices;
    size_t n_choices;
    bool has_detections;
    struct weir_buf detections; /* of the answer */
    struct weir_post step;      /* composes it */
};

enum { LARGE_BYTES = 256 * 1024 };

static void fail_model(struct completion *c, const char *why)
{
    struct weir_fault fault = {.origin = c->request.is_chat ? WEIR_FAULT_CHAT_COMPLETION
                                                            : WEIR_FAULT_COMPLETION,
                               .id = c->request.model_id,
                               .err = WEIR_EPEER,
                               .why = weir_slice_cstr(why)};
    weir_stream_fail(&c->stream, &fault);
}

/* ---- the answer ---- */

static size_t n_others_found(const struct choice *choice)
{
    size_t n = choice->called != NULL ? weir_called_found(choice->called)->n : 0;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        n += choice->others[i] != NULL ? choice->others[i]->n_found : 0;
    }
    return n;
}

/* Ours, as an array; false: there are none. */
static bool write_warnings(const struct completion *c, struct weir_buf *out)
{
    struct weir_buf input = {0};
    struct weir_json_write w;
    size_t n_text_found = 0;
    weir_json_write_init(&w, out);
    weir_json_write_begin_array(&w);
    size_t before = out->n;
    if (weir_completion_write_input_warnings(&c->request, &c->input, &input)) {
        weir_json_write_raw(&w, weir_slice_sub(weir_buf_slice(&input), 1, input.n - 1));
    }
    for (size_t i = 0; i < c->n_choices; i++) {
        n_text_found += c->choices[i].group->n_text_found + n_others_found(&c->choices[i]);
        if (c->choices[i].text.n == 0 && c->request.policy == NULL) {
            weir_results_write_empty_output(&w, c->choices[i].index, c->request.is_chat);
        }
    }
    if (n_text_found != 0) {
        weir_results_write_warning(&w, WEIR_SLICE("type"), WEIR_WARN_UNSUITABLE_OUTPUT);
    }
    bool has_any = out->n != before;
    weir_json_write_end_array(&w);
    weir_buf_dispose(&input);
    return has_any;
}

static size_t n_output_found(const struct completion *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_choices; i++) {
        n += c->choices[i].group->n_found + n_others_found(&c->choices[i]);
    }
    return n;
}

/* One entry of a choice; `channel` NULL: the content's. */
static void write_entry(struct weir_json_write *w, const struct choice *choice, const char *channel,
                        const struct weir_scan_group *group)
{
    if (group == NULL || group->n_found == 0) {
        return;
    }
    weir_results_begin_entry(w, choice->index, channel);
    weir_scan_write_results(w, group);
    weir_results_end_entry(w);
}

static void write_output(struct weir_json_write *w, const struct completion *c)
{
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < c->n_choices; i++) {
        const struct choice *choice = &c->choices[i];
        write_entry(w, choice, NULL, choice->group);
        for (size_t k = 0; k < WEIR_CHANNEL_TEXTS; k++) {
            write_entry(w, choice, weir_channel_name((enum weir_channel)k), choice->others[k]);
        }
        if (choice->called != NULL && weir_called_found(choice->called)->n != 0) {
            weir_json_write_raw(w, weir_called_found(choice->called)->entries);
        }
    }
    weir_json_write_end_array(w);
}

/* Only sides, messages and choices with findings are listed; without any there is nothing to add.
 */
static bool write_detections(const struct completion *c, struct weir_buf *out)
{
    struct weir_json_write w;
    bool has_input = weir_input_n_found(&c->input) != 0;
    bool has_output = n_output_found(c) != 0;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    if (has_input) {
        weir_json_write_key(&w, WEIR_SLICE("input"));
        weir_input_write(&w, &c->input);
    }
    if (has_output) {
        weir_json_write_key(&w, WEIR_SLICE("output"));
        write_output(&w, c);
    }
    weir_json_write_end_object(&w);
    return has_input || has_output;
}

static struct weir_slice compose(struct completion *c)
{
    struct weir_buf warnings = {0};
    struct weir_buf joined = {0};
    struct weir_buf out = {0};
    struct weir_json_edit e = {0};
    weir_json_edit_begin(&e, &c->answer);
    uint32_t theirs = weir_json_get(&c->answer, 0, WEIR_SLICE("detections"));
    if (c->has_detections) {
        weir_json_edit_set(&e, 0, WEIR_SLICE("detections"), weir_buf_slice(&c->detections));
    } else if (theirs != WEIR_JSON_NONE) {
        weir_json_edit_remove(&e, theirs);
    }
    if (write_warnings(c, &warnings)) {
        weir_event_add_warnings(&e, &c->answer, weir_buf_slice(&warnings), &joined);
    }
    weir_json_edit_write(&e, &out);
    struct weir_slice body = weir_arena_take_buf(c->stream.task->arena, &out);
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&joined);
    weir_buf_dispose(&warnings);
    return body;
}

static void on_step(struct weir_post *step)
{
    struct completion *c = WEIR_LIST_ENTRY(step, struct completion, step);
    weir_stream_finish(&c->stream, compose(c));
}

/* Findings may be many megabytes: they are written in one step, the answer with them in another. */
static void start_answer(struct completion *c)
{
    c->has_detections = write_detections(c, &c->detections);
    if (c->detections.n > LARGE_BYTES) {
        weir_loop_step(c->stream.task->loop, &c->step);
    } else {
        weir_stream_finish(&c->stream, compose(c));
    }
}

/* ---- output detection ---- */

static void note_seen(const struct completion *c, const char *channel,
                      const struct weir_scan_group *group)
{
    struct weir_seen_where where = {WEIR_POLICY_OUTPUT, channel, WEIR_POLICY_ANNOTATED};
    if (group != NULL) {
        weir_seen_findings(c->request.policy, &where, group->found, group->n_found);
    }
}

static void note_choice(const struct completion *c, const struct choice *choice)
{
    struct weir_seen_where where = {WEIR_POLICY_OUTPUT, weir_channel_name(WEIR_CHANNEL_TOOLS),
                                    WEIR_POLICY_ANNOTATED};
    note_seen(c, "content", choice->group);
    for (size_t k = 0; k < WEIR_CHANNEL_TEXTS; k++) {
        note_seen(c, weir_channel_name((enum weir_channel)k), choice->others[k]);
    }
    if (choice->called != NULL) {
        const struct weir_called_found *found = weir_called_found(choice->called);
        weir_seen_findings(c->request.policy, &where, found->items, found->n);
    }
}

static void on_output_scanned(void *ctx, struct weir_scan *scan)
{
    struct completion *c = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    if (fault != NULL) {
        weir_stream_fail(&c->stream, fault);
        return;
    }
    for (size_t i = 0; i < c->n_choices; i++) {
        if (c->choices[i].called != NULL) {
            weir_called_collect(c->choices[i].called);
        }
        note_choice(c, &c->choices[i]);
    }
    weir_policy_count(c->request.policy, WEIR_POLICY_OUTPUT,
                      n_output_found(c) != 0 ? WEIR_POLICY_ANNOTATED : WEIR_POLICY_PASSED);
    start_answer(c);
}

/* Detectors that look at the whole exchange: text_chat on H, text_generation on I. */
static void add_whole(struct completion *c, struct choice *choice, uint32_t message)
{
    const struct weir_json *json = c->request.json;
    struct weir_detect_input input = {0};
    bool is_made = false;
    for (size_t i = 0; i < c->request.output.n; i++) {
        const struct weir_plan_use *use = &c->request.output.uses[i];
        enum weir_detect_type type = use->d->detector->type;
        if (type == WEIR_DETECT_CONTENTS ||
            (type == WEIR_DETECT_GENERATION && choice->text.n == 0)) {
            continue;
        }
        if (!is_made && c->request.is_chat) {
            uint32_t tools = weir_json_get_set(json, 0, WEIR_SLICE("tools"));
            input.messages = weir_completion_history(c->stream.task, json, &c->answer, message);
            input.tools = tools != WEIR_JSON_NONE ? weir_json_raw(json, tools) : WEIR_SLICE("");
        } else if (!is_made) {
            input.prompt = c->request.prompt;
            input.generated_text = choice->text;
        }
        is_made = true;
        weir_scan_add_whole(choice->group, use, &input);
    }
}

/* Strings only: what is not one is passed on and not looked at. */
static void add_other(struct completion *c, struct weir_scan *scan, struct choice *choice,
                      enum weir_channel channel, struct weir_slice text)
{
    struct weir_scan_group **group = &choice->others[channel];
    if (text.n != 0) {
        *group = *group != NULL ? *group : weir_scan_add_group(scan, WEIR_RESULTS_COMPLETION);
        weir_scan_add_text(*group, weir_plan_on(&c->request.output, channel), text);
    }
}

static struct weir_slice string_of(struct completion *c, uint32_t object, const char *name)
{
    uint32_t at = object != WEIR_JSON_NONE
                      ? weir_json_get_set(&c->answer, object, weir_slice_cstr(name))
                      : WEIR_JSON_NONE;
    bool is_text = at != WEIR_JSON_NONE && weir_json_type(&c->answer, at) == WEIR_JSON_STRING;
    return is_text ? weir_json_string(&c->answer, at, c->stream.task->arena) : WEIR_SLICE("");
}

/* NULL or what is wrong with them. */
static const char *add_calls(struct completion *c, struct weir_scan *scan, struct choice *choice,
                             uint32_t message)
{
    const struct weir_json *json = &c->answer;
    const char *why = NULL;
    struct weir_tools tools = {0};
    uint32_t calls = weir_json_get_set(json, message, WEIR_SLICE("tool_calls"));
    uint32_t old = weir_json_get_set(json, message, WEIR_SLICE("function_call"));
    if (calls != WEIR_JSON_NONE && weir_json_type(json, calls) == WEIR_JSON_ARRAY) {
        weir_tools_take(&tools, json, calls, &why);
    }
    if (old != WEIR_JSON_NONE && weir_json_type(json, old) == WEIR_JSON_OBJECT) {
        weir_tools_take_function_call(&tools, json, old, &why);
    }
    weir_tools_end(&tools);
    if (tools.n != 0) {
        choice->called = weir_called_new(&(struct weir_called_options){
            .arena = c->stream.task->arena,
            .plan = weir_plan_on(&c->request.output, WEIR_CHANNEL_TOOLS),
            .policy = c->request.policy,
            .choice = choice->index,
            .tools = &tools});
        weir_called_add(choice->called, scan);
    }
    weir_tools_dispose(&tools);
    return why;
}

/* Routes look at everything a choice says. NULL or what is wrong with it. */
static const char *add_others(struct completion *c, struct weir_scan *scan, struct choice *choice,
                              uint32_t message)
{
    if (c->request.policy == NULL || !c->request.is_chat) {
        return NULL;
    }
    for (size_t i = WEIR_CHANNEL_CONTENT + 1; i < WEIR_CHANNEL_TRANSCRIPT; i++) {
        enum weir_channel channel = (enum weir_channel)i;
        add_other(c, scan, choice, channel, string_of(c, message, weir_channel_name(channel)));
    }
    uint32_t audio = weir_json_get_set(&c->answer, message, WEIR_SLICE("audio"));
    add_other(c, scan, choice, WEIR_CHANNEL_TRANSCRIPT, string_of(c, audio, "transcript"));
    return add_calls(c, scan, choice, message);
}

/* Reads one choice; NULL or what is wrong with it. */
static const char *read_choice(struct completion *c, struct weir_scan *scan, uint32_t at,
                               struct choice *choice)
{
    const struct weir_json *json = &c->answer;
    choice->group = weir_scan_add_group(scan, WEIR_RESULTS_COMPLETION);
    if (weir_json_type(json, at) != WEIR_JSON_OBJECT) {
        return "a choice is not an object";
    }
    uint32_t index = weir_json_get_set(json, at, WEIR_SLICE("index"));
    if (index != WEIR_JSON_NONE && weir_json_u64(json, index, &choice->index) != 0) {
        return "a choice's index is not a whole number";
    }
    uint32_t message = at;
    if (c->request.is_chat) {
        message = weir_json_get_set(json, at, WEIR_SLICE("message"));
        if (message == WEIR_JSON_NONE || weir_json_type(json, message) != WEIR_JSON_OBJECT) {
            return "a choice has no message";
        }
    }
    struct weir_slice name = c->request.is_chat ? WEIR_SLICE("content") : WEIR_SLICE("text");
    uint32_t content = weir_json_get_set(json, message, name);
    if (content != WEIR_JSON_NONE && weir_json_type(json, content) != WEIR_JSON_STRING) {
        return "a choice's content is not a string and cannot be checked";
    }
    if (content != WEIR_JSON_NONE) {
        choice->text = weir_json_string(json, content, c->stream.task->arena);
    }
    if (choice->text.n != 0) {
        weir_scan_add_text(choice->group, weir_plan_on(&c->request.output, WEIR_CHANNEL_CONTENT),
                           choice->text);
    }
    add_whole(c, choice, message);
    return add_others(c, scan, choice, message);
}

static void check_output(struct completion *c)
{
    const struct weir_json *json = &c->answer;
    uint32_t choices = weir_json_get_set(json, 0, WEIR_SLICE("choices"));
    if (choices == WEIR_JSON_NONE || weir_json_type(json, choices) != WEIR_JSON_ARRAY) {
        fail_model(c, "the answer has no choices");
        return;
    }
    if (json->nodes[choices].n > c->stream.task->env->max_choices) {
        fail_model(c, "more choices than limits.max_choices");
        return;
    }
    struct weir_scan *scan = weir_scan_new(c->stream.task, on_output_scanned, c);
    c->choices =
        weir_arena_array(c->stream.task->arena, json->nodes[choices].n, sizeof *c->choices);
    uint32_t at = weir_json_first(json, choices);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, choices, at)) {
        struct choice *choice = &c->choices[c->n_choices];
        choice->index = c->n_choices++;
        const char *why = read_choice(c, scan, at, choice);
        if (why != NULL) {
            fail_model(c, why);
            return;
        }
    }
    weir_scan_start(scan);
}

/* ---- the model ---- */

static void on_model_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct completion *c = ctx;
    struct weir_slice copy = weir_arena_dup(c->stream.task->arena, frame->json);
    /* The adapter has read it already: it is JSON. */
    weir_json_parse(&c->answer, copy, NULL, c->stream.task->arena, NULL);
}

/* The answer of a route that blocks or redacts. */
static void enforce(struct completion *c)
{
    weir_enforce_start(&(struct weir_enforce_options){.task = c->stream.task,
                                                      .request = &c->request,
                                                      .input = &c->input,
                                                      .answer = &c->answer,
                                                      .done = c->stream.done,
                                                      .ctx = c->stream.ctx});
}

static bool has_nothing_to_add(const struct completion *c)
{
    bool is_ours = c->request.policy != NULL || c->request.input.n == 0;
    return is_ours && c->request.warnings.n == 0 && weir_input_n_found(&c->input) == 0;
}

static void on_model_done(void *ctx, const struct weir_fault *fault)
{
    struct completion *c = ctx;
    if (fault == NULL && c->answer.n_nodes != 0) {
        weir_shadow_add_answer(c->stream.task->shadow, weir_completion_dialect(&c->request),
                               WEIR_TALK_ANSWER, c->answer.src);
        weir_seen_usage(c->request.policy, &c->answer);
    }
    if (fault != NULL) {
        weir_stream_fail(&c->stream, fault);
    } else if (c->answer.n_nodes == 0) {
        fail_model(c, "there is no answer");
    } else if (weir_json_type(&c->answer, 0) != WEIR_JSON_OBJECT) {
        fail_model(c, "the answer is not an object");
    } else if (c->request.output.n == 0) {
        if (has_nothing_to_add(c)) {
            weir_stream_finish(&c->stream, c->answer.src);
        } else {
            start_answer(c);
        }
    } else if (weir_policy_enforces(c->request.policy)) {
        enforce(c);
    } else {
        check_output(c);
    }
}

static const struct weir_model_events MODEL_EVENTS = {
    .on_frame = on_model_frame,
    .on_done = on_model_done,
};

/* ---- the question ---- */

static void refuse(struct weir_stream *s)
{
    struct completion *c = WEIR_LIST_ENTRY(s, struct completion, stream);
    weir_stream_finish(&c->stream,
                       weir_completion_refused_input(c->stream.task, &c->request, &c->input));
}

static void tell(struct weir_stream *s, uint64_t n_tokens)
{
    struct completion *c = WEIR_LIST_ENTRY(s, struct completion, stream);
    weir_stream_finish(&c->stream, weir_completion_unsuitable_input(c->stream.task, &c->request,
                                                                    &c->input, n_tokens, false));
}

static const struct weir_question_ops QUESTION_OPS = {
    .refuse = refuse,
    .tell = tell,
    .answer = &MODEL_EVENTS,
};

/* ---- its life ---- */

static const struct weir_stream_ops STREAM_OPS = {0}; /* the answer comes whole */

static void undo(void *ctx)
{
    struct completion *c = ctx;
    weir_stream_dispose(&c->stream);
    weir_loop_unpost(&c->step);
    weir_buf_dispose(&c->detections);
}

void weir_task_completion_start(struct weir_task_ctx *task,
                                const struct weir_task_completion *request, weir_task_done_fn done,
                                void *ctx)
{
    struct completion *c = weir_arena_zalloc(task->arena, sizeof *c);
    weir_stream_init_whole(&c->stream, task, &STREAM_OPS, done, ctx);
    task->skips.may_skip = true;
    c->request = *request;
    c->step.fn = on_step;
    weir_arena_defer(task->arena, undo, c);
    c->question =
        (struct weir_question){.ops = &QUESTION_OPS,
                               .stream = &c->stream,
                               .request = &c->request,
                               .input = &c->input,
                               .op = request->is_chat ? WEIR_MODEL_CHAT : WEIR_MODEL_COMPLETION};
    weir_question_start(&c->question);
}
