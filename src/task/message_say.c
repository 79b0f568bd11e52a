/* What is told of findings, and what is said in the place of an answer. */
#include "base/mem.h"
#include "detect/found.h"
#include "obs/trace.h"
#include "talk/restore.h"
#include "task/event.h"
#include "task/message_int.h"
#include "task/results.h"
#include "task/seal.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

#include <stdlib.h>

/* ---- findings ---- */

static const char *channel_of(const struct weir_row_found *found)
{
    if (found->channel == WEIR_CHANNEL_CONTENT) {
        return NULL;
    }
    if (found->channel == WEIR_CHANNEL_REASONING) {
        return "thinking";
    }
    switch ((enum weir_msg_tag)found->tag) {
    case WEIR_MSG_CALL:
        return "input_json";
    case WEIR_MSG_CITATION:
        return "citation";
    case WEIR_MSG_ENDING:
        return "stop_sequence";
    default:
        return "content_block";
    }
}

static enum weir_results_shape shape_of(const struct weir_msg *m)
{
    return m->enforces ? WEIR_RESULTS_TERSE : WEIR_RESULTS_COMPLETION;
}

static struct weir_msg_found *place_of(struct weir_msg *m, const struct weir_row_found *found)
{
    const char *channel = channel_of(found);
    struct weir_msg_found *last = m->n_places != 0 ? &m->found[m->n_places - 1] : NULL;
    if (last != NULL && last->number == found->number && last->channel == channel) {
        return last;
    }
    if (m->found == NULL || m->n_places == m->cap_places) {
        m->cap_places = 2 * m->cap_places + 4;
        m->found = weir_mem_realloc(m->found, m->cap_places * sizeof *m->found);
    }
    m->found[m->n_places] = (struct weir_msg_found){.number = found->number, .channel = channel};
    return &m->found[m->n_places++];
}

void weir_msg__keep_found(struct weir_msg *m, const struct weir_row_found *found)
{
    if (found->n_findings == 0 || m->n_found + found->n_findings > WEIR_FOUND_MAX) {
        return; /* more than that is told where it was found, and not once more at the end */
    }
    struct weir_msg_found *f = place_of(m, found);
    m->n_found += found->n_findings;
    for (size_t i = 0; i < found->n_findings; i++) {
        weir_results_append(&f->results, shape_of(m), found->findings[i], f->results.n != 0);
    }
}

/* {"index":0,"channel":"thinking","results":[ */
static void begin_entry(struct weir_buf *out, uint64_t number, const char *channel)
{
    weir_buf_append(out, WEIR_SLICE("{\"index\":"));
    weir_buf_append_u64(out, number);
    if (channel != NULL) {
        weir_buf_append(out, WEIR_SLICE(",\"channel\":\""));
        weir_buf_append(out, weir_slice_cstr(channel));
        weir_buf_append_byte(out, '"');
    }
    weir_buf_append(out, WEIR_SLICE(",\"results\":["));
}

void weir_msg__write_found(const struct weir_msg *m, const struct weir_row_found *found,
                           struct weir_buf *out)
{
    if (found->n_findings == 0) {
        return;
    }
    weir_buf_append(out, WEIR_SLICE("{\"output\":["));
    begin_entry(out, found->number, channel_of(found));
    for (size_t i = 0; i < found->n_findings; i++) {
        weir_results_append(out, shape_of(m), found->findings[i], i != 0);
    }
    weir_buf_append(out, WEIR_SLICE("]}]}"));
}

void weir_msg__write_all_found(const struct weir_msg *m, bool with_input, struct weir_buf *out)
{
    struct weir_buf input = {0};
    bool has_input = with_input && weir_completion_write_input(&m->input, &input);
    if (has_input || m->n_found != 0) {
        weir_buf_append_byte(out, '{');
        if (has_input) {
            weir_buf_append(out, WEIR_SLICE("\"input\":"));
            weir_buf_append(out, weir_buf_slice(&input));
        }
        if (m->n_found != 0) {
            weir_buf_append(out,
                            has_input ? WEIR_SLICE(",\"output\":[") : WEIR_SLICE("\"output\":["));
            for (size_t i = 0; i < m->n_places; i++) {
                const struct weir_msg_found *f = &m->found[i];
                weir_buf_append(out, i != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
                begin_entry(out, f->number, f->channel);
                weir_buf_append(out, weir_buf_slice(&f->results));
                weir_buf_append(out, WEIR_SLICE("]}"));
            }
            weir_buf_append_byte(out, ']');
        }
        weir_buf_append_byte(out, '}');
    }
    weir_buf_dispose(&input);
}

void weir_msg__write_warnings(const struct weir_msg *m, bool with_input, struct weir_buf *out)
{
    struct weir_buf input = {0};
    bool has_input =
        with_input && weir_completion_write_input_warnings(&m->request, &m->input, &input);
    struct weir_slice ours = m->n_found != 0 ? weir_event_unsuitable_output() : WEIR_SLICE("");
    if (has_input && ours.n != 0) { /* two arrays, made one */
        weir_buf_append(out, weir_slice_sub(weir_buf_slice(&input), 0, input.n - 1));
        weir_buf_append_byte(out, ',');
        weir_buf_append(out, weir_slice_sub(ours, 1, ours.n));
    } else {
        weir_buf_append(out, has_input ? weir_buf_slice(&input) : ours);
    }
    weir_buf_dispose(&input);
}

void weir_msg__patch(struct weir_slice json, struct weir_slice detections,
                     struct weir_slice warnings, struct weir_buf *out)
{
    struct weir_json_tape tape = {0};
    struct weir_json doc;
    struct weir_json_edit e = {0};
    bool is_object = weir_json_parse_reuse(&doc, json, NULL, &tape, NULL) == 0 &&
                     weir_json_type(&doc, 0) == WEIR_JSON_OBJECT;
    if (is_object && (detections.n != 0 || warnings.n != 0)) {
        weir_json_edit_begin(&e, &doc);
        if (detections.n != 0) {
            weir_json_edit_set(&e, 0, WEIR_SLICE("detections"), detections);
        }
        if (warnings.n != 0) {
            weir_json_edit_set(&e, 0, WEIR_SLICE("warnings"), warnings);
        }
        weir_json_edit_write(&e, out);
        weir_json_edit_dispose(&e);
    } else {
        weir_buf_append(out, json);
    }
    weir_json_tape_dispose(&tape);
}

struct weir_slice weir_msg__arguments(const struct weir_msg *m, struct weir_slice json)
{
    const struct weir_policy *policy = m->request.policy;
    if (policy->map == NULL || json.n == 0) {
        return json;
    }
    struct weir_restore restore;
    struct weir_buf out = {0};
    weir_restore_init(&restore, policy->map, &policy->mask->hosts, true);
    weir_restore_feed(&restore, json, &out);
    weir_restore_end(&restore, &out);
    weir_restore_dispose(&restore);
    return weir_arena_take_buf(m->task->arena, &out);
}

/* ---- refusing ---- */

struct weir_slice weir_msg__signature(const struct weir_msg *m, struct weir_slice line)
{
    struct weir_slice quoted = weir_slice_cut(&line, '\n');
    if (!m->is_thought_changed || line.p == NULL) {
        return quoted;
    }
    struct weir_slice theirs = weir_slice_sub(quoted, 1, quoted.n - 1); /* has the form of an id */
    struct weir_slice sealed =
        weir_seal_close(m->request.policy->seal, line, theirs, m->task->arena);
    return weir_slice_cstr(weir_arena_printf(m->task->arena, "\"%.*s\"", (int)sealed.n, sealed.p));
}

struct weir_slice weir_msg__words(const struct weir_msg *m)
{
    const struct weir_policy *policy = m->request.policy;
    return policy->fallback.p != NULL ? policy->fallback : WEIR_POLICY_REFUSAL;
}

/* Otherwise the ending says them. */
bool weir_msg__says_words(const struct weir_msg *m)
{
    return m->request.policy->block_as != WEIR_POLICY_BLOCK_AS_REFUSAL && !m->request.asks_json;
}

void weir_msg__write_own_head(const struct weir_msg *m, struct weir_buf *out)
{
    char id[WEIR_TRACE_ID_BYTES + 1];
    weir_trace_request_id(id);
    weir_buf_printf(out,
                    "\"id\":\"msg_%s\",\"type\":\"message\",\"role\":\"assistant\",\"model\":", id);
    weir_json_write_quoted(out, m->request.model_id);
}
