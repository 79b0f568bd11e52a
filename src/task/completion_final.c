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
#include "task/seen.h"
#include "wire/json_write.h"

#include <stdlib.h>

/* ---- the generated message ---- */

bool weir_cs__wants_message(const struct weir_cs *cs)
{
    return weir_plan_has_type(&cs->request.output, WEIR_DETECT_CHAT);
}

void weir_cs__collect_tools(struct weir_cs_choice *choice, const struct weir_json *json,
                            const struct weir_event_choice *c)
{
    struct weir_cs *cs = choice->cs;
    const struct weir_task_env *env = cs->stream.task->env;
    if (!c->has_rest || !weir_cs__wants_message(cs)) {
        return;
    }
    uint32_t calls = weir_json_get_set(json, c->body, WEIR_SLICE("tool_calls"));
    if (calls == WEIR_JSON_NONE || weir_json_type(json, calls) != WEIR_JSON_ARRAY) {
        return;
    }
    const char *why = NULL;
    choice->tools.max_calls = env->max_tool_calls;
    choice->tools.max_bytes = env->max_held_bytes;
    int rc = weir_tools_take(&choice->tools, json, calls, &why);
    cs->held_bytes += choice->tools.n_bytes - choice->tool_bytes;
    choice->tool_bytes = choice->tools.n_bytes;
    if (rc == WEIR_EPEER) {
        weir_cs__fail_model(cs, why);
    } else if (rc != 0 && weir_tools_is_full(&choice->tools)) {
        weir_cs__fail_limit(cs, "tool calls in one choice", choice->tools.n, "max_tool_calls");
    } else if (rc != 0) {
        weir_cs__fail_limit(cs, "bytes in a tool call", env->max_held_bytes,
                            "max_held_bytes_per_stream");
    }
}

void weir_cs__forget_tools(struct weir_cs_choice *choice)
{
    weir_tools_dispose(&choice->tools);
    choice->cs->held_bytes -= choice->tool_bytes;
    choice->tool_bytes = 0;
}

static void write_member(struct weir_json_write *w, const char *name, struct weir_slice text)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_string(w, text);
}

/* The caller's history and what was generated, as one array. */
static struct weir_slice history(struct weir_cs *cs, struct weir_cs_choice *choice)
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
    weir_tools_end(&choice->tools);
    weir_tools_write(&choice->tools, true, &w);
    weir_json_write_end_object(&w);
    struct weir_slice text = WEIR_SLICE("[]");
    if (weir_json_parse_reuse(&message, weir_buf_slice(&out), NULL, &cs->scratch->envelope, NULL) ==
        0) {
        text = weir_completion_history(cs->stream.task, cs->request.json, &message, 0);
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
        input.messages = history(cs, choice);
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
            struct weir_plan *one = weir_arena_zalloc(cs->stream.task->arena, sizeof *one);
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
    if (cs->stream.is_over) {
        return;
    }
    if (fault != NULL) {
        weir_stream_fail(&cs->stream, fault);
        return;
    }
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        const struct weir_scan_group *group =
            WEIR_LIST_ENTRY(at, struct weir_cs_choice, link)->group;
        if (group->n_found != 0) {
            struct weir_seen_where where = {WEIR_POLICY_OUTPUT, "content", WEIR_POLICY_ANNOTATED};
            weir_seen_findings(cs->request.policy, &where, group->found, group->n_found);
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
    cs->whole_scan = weir_scan_new(cs->stream.task, on_whole_done, cs);
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        struct weir_cs_choice *choice = WEIR_LIST_ENTRY(at, struct weir_cs_choice, link);
        choice->group = weir_scan_add_group(cs->whole_scan, WEIR_RESULTS_COMPLETION);
        if (cs->stream.task->trace != NULL) {
            choice->group->watched =
                (struct weir_task_step){.kind = WEIR_TASK_STEP_VERDICT,
                                        .choice = choice->index,
                                        .end_cp = weir_utf8_count(weir_buf_slice(&choice->whole))};
        }
        const struct weir_plan *plan = weir_plan_on(&cs->request.output, WEIR_CHANNEL_CONTENT);
        for (size_t i = 0; i < plan->n; i++) {
            if (weir_path_is_whole(&plan->uses[i])) {
                add_use(cs, choice, &plan->uses[i]);
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
        weir_results_begin_entry(&w, choice->index, NULL);
        weir_scan_write_results(&w, choice->group);
        weir_results_end_entry(&w);
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
        if (!choice->has_content) {
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
    bool is_route = weir_cs__is_route(cs); /* there the choices' last events have told it */
    bool has_detections = !is_route && cs->has_whole &&
                          (cs->whole_scan != NULL || cs->stream.task->env->compat.has_final);
    bool has_warnings = !is_route && write_warnings(cs, &warnings);
    if (has_detections) {
        write_detections(cs, &detections);
    }
    if (cs->usage.n != 0) {
        weir_buf_append(&envelope, weir_buf_slice(&cs->usage));
    } else if (has_detections || has_warnings || cs->has_lead ||
               weir_skips_are_due(&cs->stream.task->skips)) {
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
