/*
 * What is known only when a stream has ended: detectors that look at a whole choice, warnings about
 * choices that said nothing. It rides on the usage event if there is one, else on an event of its
 * own.
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "task/completion_stream_int.h"
#include "task/results.h"
#include "wire/json_write.h"

#include <stdlib.h>

/* ---- the generated message ---- */

static struct weir_cs_tool *tool_at(struct weir_cs_choice *choice, uint64_t index)
{
    for (size_t i = 0; i < choice->n_tools; i++) {
        if (choice->tools[i].index == index) {
            return &choice->tools[i];
        }
    }
    struct weir_cs *cs = choice->cs;
    if (choice->n_tools == cs->task->env->max_tool_calls) {
        weir_cs__fail_limit(cs, "tool calls in one choice", choice->n_tools, "max_tool_calls");
        return NULL;
    }
    size_t bytes = (choice->n_tools + 1) * sizeof *choice->tools;
    choice->tools = weir_mem_realloc(choice->tools, bytes);
    struct weir_cs_tool *tool = &choice->tools[choice->n_tools++];
    size_t max = cs->task->env->max_held_bytes;
    *tool = (struct weir_cs_tool){.index = index};
    weir_buf_init(&tool->id, max);
    weir_buf_init(&tool->type, max);
    weir_buf_init(&tool->name, max);
    weir_buf_init(&tool->arguments, max);
    weir_buf_init(&tool->extras, max);
    weir_buf_init(&tool->word_extras, max);
    return tool;
}

static int take_string(const struct weir_json *json, uint32_t object, const char *name,
                       struct weir_buf *out)
{
    uint32_t at = weir_json_get_set(json, object, weir_slice_cstr(name));
    bool is_string = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_STRING;
    return is_string ? weir_json_string_append(json, at, out) : 0;
}

static size_t tool_size(const struct weir_cs_tool *tool)
{
    return tool->id.n + tool->type.n + tool->name.n + tool->arguments.n + tool->extras.n +
           tool->word_extras.n;
}

/* unknown_members: pass. Members nobody knows, as they stand in the first piece of a call that has
 * any: a name must not stand twice. */
static int take_extras(const struct weir_cs_choice *choice, const struct weir_json *json,
                       uint32_t object, const char *const *known, struct weir_buf *out)
{
    static const char *const words[] = {"function", "custom", NULL};
    bool is_kept = choice->enforced != NULL && choice->cs->request.policy->keeps_unknown;
    int rc = 0;
    uint32_t key = is_kept && out->n == 0 ? weir_json_first(json, object) : WEIR_JSON_NONE;
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, object, key)) {
        if (!weir_known_is_among(json, key, known) && !weir_known_is_among(json, key, words)) {
            rc |= out->n != 0 ? weir_buf_append_byte(out, ',') : 0;
            rc |= weir_buf_append(out, weir_json_raw(json, key));
            rc |= weir_buf_append_byte(out, ':');
            rc |= weir_buf_append(out, weir_json_raw(json, key + 1));
        }
    }
    return rc;
}

/* What it is called, once, and what it is given, piece by piece. */
static int take_words(const struct weir_json *json, uint32_t at, const char *arguments,
                      struct weir_cs_tool *tool)
{
    int rc = tool->name.n == 0 ? take_string(json, at, "name", &tool->name) : 0;
    return rc | take_string(json, at, arguments, &tool->arguments);
}

/* It is held until the choice ends. */
static void hold_tool(struct weir_cs_choice *choice, size_t n_bytes, int rc)
{
    choice->tool_bytes += n_bytes;
    choice->cs->held_bytes += n_bytes;
    if (rc != 0) {
        weir_cs__fail_limit(choice->cs, "bytes in a tool call",
                            choice->cs->task->env->max_held_bytes, "max_held_bytes_per_stream");
    }
}

static void take_tool(struct weir_cs_choice *choice, const struct weir_json *json, uint32_t at,
                      uint64_t position)
{
    uint64_t index = position;
    uint32_t given = weir_json_get_set(json, at, WEIR_SLICE("index"));
    if (given != WEIR_JSON_NONE && weir_json_u64(json, given, &index) != 0) {
        weir_cs__fail_model(choice->cs, "a tool call's index is not a whole number");
        return;
    }
    struct weir_cs_tool *tool = tool_at(choice, index);
    if (tool == NULL) {
        return;
    }
    size_t before = tool_size(tool);
    int rc = tool->id.n == 0 ? take_string(json, at, "id", &tool->id) : 0;
    rc |= tool->type.n == 0 ? take_string(json, at, "type", &tool->type) : 0;
    uint32_t function = weir_json_get_set(json, at, WEIR_SLICE("function"));
    uint32_t custom = weir_json_get_set(json, at, WEIR_SLICE("custom"));
    rc |= take_extras(choice, json, at, weir_known_call, &tool->extras);
    if (function != WEIR_JSON_NONE) {
        rc |= take_words(json, function, "arguments", tool);
        rc |= take_extras(choice, json, function, weir_known_function, &tool->word_extras);
    } else if (custom != WEIR_JSON_NONE) {
        tool->is_custom = true;
        rc |= take_words(json, custom, "input", tool);
        rc |= take_extras(choice, json, custom, weir_known_custom, &tool->word_extras);
    }
    hold_tool(choice, tool_size(tool) - before, rc);
}

void weir_cs__take_function_call(struct weir_cs_choice *choice, const struct weir_json *json,
                                 uint32_t call)
{
    struct weir_cs_tool *tool = tool_at(choice, WEIR_CS_FUNCTION_CALL);
    if (tool != NULL) {
        size_t before = tool_size(tool);
        int rc = take_words(json, call, "arguments", tool);
        rc |= take_extras(choice, json, call, weir_known_function, &tool->word_extras);
        hold_tool(choice, tool_size(tool) - before, rc);
    }
}

bool weir_cs__wants_message(const struct weir_cs *cs)
{
    return weir_plan_has_type(&cs->request.output, WEIR_DETECT_CHAT);
}

void weir_cs__collect_tools(struct weir_cs_choice *choice, const struct weir_json *json,
                            const struct weir_event_choice *c)
{
    if (!c->has_rest || !weir_cs__wants_message(choice->cs)) {
        return;
    }
    uint32_t calls = weir_json_get_set(json, c->body, WEIR_SLICE("tool_calls"));
    if (calls != WEIR_JSON_NONE && weir_json_type(json, calls) == WEIR_JSON_ARRAY) {
        weir_cs__take_tools(choice, json, calls);
    }
}

void weir_cs__take_tools(struct weir_cs_choice *choice, const struct weir_json *json,
                         uint32_t calls)
{
    uint64_t position = 0;
    uint32_t at = weir_json_first(json, calls);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, calls, at)) {
        take_tool(choice, json, at, position++);
    }
}

void weir_cs__forget_tools(struct weir_cs_choice *choice)
{
    for (size_t i = 0; i < choice->n_tools; i++) {
        weir_buf_dispose(&choice->tools[i].id);
        weir_buf_dispose(&choice->tools[i].type);
        weir_buf_dispose(&choice->tools[i].name);
        weir_buf_dispose(&choice->tools[i].arguments);
        weir_buf_dispose(&choice->tools[i].extras);
        weir_buf_dispose(&choice->tools[i].word_extras);
    }
    free(choice->tools);
    choice->tools = NULL;
    choice->n_tools = 0;
    choice->cs->held_bytes -= choice->tool_bytes;
    choice->tool_bytes = 0;
}

static void write_member(struct weir_json_write *w, const char *name, struct weir_slice text)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_string(w, text);
}

/* Members with commas between them, as take_extras kept them. */
static void write_extras(struct weir_json_write *w, const struct weir_buf *extras)
{
    if (extras->n != 0) {
        weir_json_write_raw_members(w, weir_buf_slice(extras));
    }
}

static void write_words(struct weir_json_write *w, const struct weir_cs_tool *tool)
{
    weir_json_write_begin_object(w);
    write_member(w, "name", weir_buf_slice(&tool->name));
    write_member(w, tool->is_custom ? "input" : "arguments", weir_buf_slice(&tool->arguments));
    write_extras(w, &tool->word_extras);
    weir_json_write_end_object(w);
}

static void write_tool(struct weir_json_write *w, const struct weir_cs_tool *tool)
{
    struct weir_slice kind = tool->is_custom ? WEIR_SLICE("custom") : WEIR_SLICE("function");
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("index"));
    weir_json_write_u64(w, tool->index);
    write_member(w, "id", weir_buf_slice(&tool->id));
    write_member(w, "type", tool->type.n != 0 ? weir_buf_slice(&tool->type) : kind);
    weir_json_write_key(w, kind);
    write_words(w, tool);
    write_extras(w, &tool->extras);
    weir_json_write_end_object(w);
}

/* `tool_calls` and, of old, `function_call`: members of a message or delta. */
void weir_cs__write_tools(struct weir_json_write *w, const struct weir_cs_choice *choice)
{
    const struct weir_cs_tool *old = NULL;
    for (size_t i = 0; i < choice->n_tools; i++) {
        old = choice->tools[i].index == WEIR_CS_FUNCTION_CALL ? &choice->tools[i] : old;
    }
    if (old != NULL) {
        weir_json_write_key(w, WEIR_SLICE("function_call"));
        write_words(w, old);
    }
    if (choice->n_tools == (old != NULL)) {
        return;
    }
    weir_json_write_key(w, WEIR_SLICE("tool_calls"));
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < choice->n_tools; i++) {
        if (&choice->tools[i] != old) {
            write_tool(w, &choice->tools[i]);
        }
    }
    weir_json_write_end_array(w);
}

/* What the choice said besides its content, on routes that block or redact: there the detector that
 * sees the message decides about all of it. */
static void write_channels(struct weir_json_write *w, const struct weir_cs_choice *choice)
{
    for (size_t i = 0; choice->enforced != NULL && i < WEIR_CHANNEL_TEXTS; i++) {
        struct weir_slice text = weir_guard_whole(choice->enforced->guard, (enum weir_channel)i);
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
struct weir_slice weir_cs__history(struct weir_cs *cs, const struct weir_cs_choice *choice)
{
    struct weir_buf out = {0};
    struct weir_json_write w;
    struct weir_json message;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    write_member(&w, "role", WEIR_SLICE("assistant"));
    if (choice->has_content) {
        write_member(&w, "content", weir_buf_slice(&choice->whole));
    }
    write_channels(&w, choice);
    weir_cs__write_tools(&w, choice);
    weir_json_write_end_object(&w);
    struct weir_slice text = WEIR_SLICE("[]");
    if (weir_json_parse_reuse(&message, weir_buf_slice(&out), NULL, &cs->scratch->envelope, NULL) ==
        0) {
        text = weir_completion_history(cs->task, cs->request.json, &message, 0);
    }
    weir_buf_dispose(&out);
    return text;
}

/* ---- detectors that look at the whole ---- */

static void add_use(struct weir_cs *cs, struct weir_cs_choice *choice,
                    const struct weir_plan_use *use)
{
    const struct weir_json *json = cs->request.json;
    struct weir_detect_input input = {0};
    switch (use->d->detector->type) {
    case WEIR_DETECT_CHAT: {
        uint32_t tools = weir_json_get_set(json, 0, WEIR_SLICE("tools"));
        input.messages = weir_cs__history(cs, choice);
        input.tools = tools != WEIR_JSON_NONE ? weir_json_raw(json, tools) : WEIR_SLICE("");
        weir_scan_add_whole(choice->group, use, &input);
        break;
    }
    case WEIR_DETECT_GENERATION:
        if (choice->has_content) {
            input.prompt = cs->request.prompt;
            input.generated_text = weir_buf_slice(&choice->whole);
            weir_scan_add_whole(choice->group, use, &input);
        }
        break;
    case WEIR_DETECT_CONTENTS:
    case WEIR_DETECT_CONTEXT_DOC:
        if (choice->has_content) {
            struct weir_plan *one = weir_arena_zalloc(cs->task->arena, sizeof *one);
            *one = (struct weir_plan){.uses = use, .n = 1};
            weir_scan_add_text(choice->group, one, weir_buf_slice(&choice->whole));
        }
        break;
    }
}

static void on_whole_done(void *ctx, struct weir_scan *scan)
{
    struct weir_cs *cs = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    cs->whole_done = true;
    if (cs->is_over) {
        return;
    }
    if (fault != NULL) {
        weir_cs__fail(cs, fault);
        return;
    }
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        if (WEIR_LIST_ENTRY(at, struct weir_cs_choice, link)->group->n_found != 0) {
            weir_cs__note_outcome(cs, WEIR_POLICY_ANNOTATED);
        }
    }
    weir_cs__advance(cs);
}

void weir_cs__start_whole(struct weir_cs *cs)
{
    if (!cs->has_whole || cs->enforces || weir_list_is_empty(&cs->choices)) {
        cs->whole_done = true;
        return;
    }
    cs->whole_scan = weir_scan_new(cs->task, on_whole_done, cs);
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        struct weir_cs_choice *choice = WEIR_LIST_ENTRY(at, struct weir_cs_choice, link);
        choice->group = weir_scan_add_group(cs->whole_scan, WEIR_RESULTS_COMPLETION);
        if (cs->task->trace != NULL) {
            choice->group->watched =
                (struct weir_task_step){.kind = WEIR_TASK_STEP_VERDICT,
                                        .choice = choice->index,
                                        .end_cp = weir_utf8_count(weir_buf_slice(&choice->whole))};
        }
        for (size_t i = 0; i < cs->request.output.n; i++) {
            if (weir_path_is_whole(&cs->request.output.uses[i])) {
                add_use(cs, choice, &cs->request.output.uses[i]);
            }
        }
    }
    weir_scan_start(cs->whole_scan);
}

/* ---- the last event ---- */

static void write_detections(const struct weir_cs *cs, struct weir_buf *out)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("output"));
    weir_json_write_begin_array(&w);
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        const struct weir_cs_choice *choice = WEIR_LIST_ENTRY(at, struct weir_cs_choice, link);
        weir_json_write_begin_object(&w);
        weir_json_write_key(&w, WEIR_SLICE("choice_index"));
        weir_json_write_u64(&w, choice->index);
        weir_json_write_key(&w, WEIR_SLICE("results"));
        weir_scan_write_results(&w, choice->group);
        weir_json_write_end_object(&w);
    }
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
}

/* False: there is nothing to warn of. */
static bool write_warnings(const struct weir_cs *cs, struct weir_buf *out)
{
    struct weir_json_write w;
    size_t n_text_found = 0;
    size_t n = 0;
    weir_json_write_init(&w, out);
    weir_json_write_begin_array(&w);
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        const struct weir_cs_choice *choice = WEIR_LIST_ENTRY(at, struct weir_cs_choice, link);
        n_text_found += choice->group != NULL ? choice->group->n_text_found : 0;
        bool is_blocked = choice->enforced != NULL && choice->enforced->is_blocked;
        if (!choice->has_content && !is_blocked) {
            weir_results_write_empty_output(&w, choice->index, cs->request.is_chat);
            n++;
        }
    }
    if (n_text_found != 0) {
        weir_results_write_warning(&w, WEIR_SLICE("type"), WEIR_WARN_UNSUITABLE_OUTPUT);
        n++;
    }
    weir_json_write_end_array(&w);
    return n != 0;
}

/* An event of ours that looks like the stream it ends: {id, object, created, model, choices: []}.
 */
static void write_envelope(struct weir_cs *cs, struct weir_buf *out)
{
    static const char *const names[] = {"id", "object", "created", "model"};
    struct weir_json first;
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    if (weir_json_parse_reuse(&first, weir_buf_slice(&cs->first), NULL, &cs->scratch->envelope,
                              NULL) == 0) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            uint32_t at = weir_json_get(&first, 0, weir_slice_cstr(names[i]));
            if (at != WEIR_JSON_NONE) {
                weir_json_write_key(&w, weir_slice_cstr(names[i]));
                weir_json_write_raw(&w, weir_json_raw(&first, at));
            }
        }
    }
    weir_json_write_key(&w, WEIR_SLICE("choices"));
    weir_json_write_begin_array(&w);
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
}

void weir_cs__write_final(struct weir_cs *cs, struct weir_buf *out)
{
    struct weir_buf detections = {0};
    struct weir_buf warnings = {0};
    struct weir_buf envelope = {0};
    struct weir_json json;
    bool has_detections = cs->has_whole && (cs->whole_scan != NULL || cs->task->env->is_fms);
    bool has_warnings = write_warnings(cs, &warnings);
    if (has_detections) {
        write_detections(cs, &detections);
    }
    if (cs->usage.n != 0) {
        weir_buf_append(&envelope, weir_buf_slice(&cs->usage));
    } else if (has_detections || has_warnings || cs->has_lead) {
        write_envelope(cs, &envelope);
    }
    if (envelope.n != 0 && weir_json_parse_reuse(&json, weir_buf_slice(&envelope), NULL,
                                                 &cs->scratch->envelope, NULL) == 0) {
        struct weir_event_final final = {.detections = weir_buf_slice(&detections),
                                         .warnings = has_warnings ? weir_buf_slice(&warnings)
                                                                  : WEIR_SLICE("")};
        weir_event_write_final(&json, &final, out);
    }
    weir_buf_dispose(&detections);
    weir_buf_dispose(&warnings);
    weir_buf_dispose(&envelope);
}
