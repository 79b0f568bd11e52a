/* What leaves of an answer that went through a row: events on their way, findings, and what is said
 * in the place of an answer. */
#include "base/assert.h"
#include "base/mem.h"
#include "detect/found.h"
#include "talk/restore.h"
#include "talk/tree.h"
#include "task/event.h"
#include "task/results.h"
#include "task/rowed.h"
#include "task/scratch.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

/* ---- sending ---- */

bool weir_rowed_holds_text(const struct weir_rowed *r)
{
    bool holds_json = r->request.asks_json && weir_policy_on_output(r->request.policy)->holds_json;
    return r->enforces && (holds_json || weir_plan_judging(&r->conversation)->n != 0);
}

/* Somebody was skipped, and nobody was told yet. */
static void transmit_told(struct weir_rowed *r, struct weir_slice json)
{
    struct weir_buf told = {0};
    weir_stream_send(&r->stream, weir_skips_tell(&r->stream.task->skips, json, &told));
    weir_buf_dispose(&told);
}

static void transmit(struct weir_rowed *r, struct weir_slice json, struct weir_slice raw)
{
    if (weir_skips_are_due(&r->stream.task->skips)) {
        transmit_told(r, json);
    } else if (raw.n != 0) {
        struct weir_out_raw event = {.bytes = raw, .json = json};
        weir_stream_send_raw(&r->stream, &event);
    } else {
        weir_stream_send(&r->stream, json);
    }
}

/* The first event takes along what was found in the question. */
static void send_leading(struct weir_rowed *r, struct weir_slice json)
{
    struct weir_buf out = {0};
    struct weir_buf detections = {0};
    if (r->lead_detections.n != 0) {
        weir_buf_append(&detections, WEIR_SLICE("{\"input\":"));
        weir_buf_append(&detections, weir_buf_slice(&r->lead_detections));
        weir_buf_append_byte(&detections, '}');
    }
    r->has_lead = false;
    weir_rowed_patch(json, weir_buf_slice(&detections), weir_buf_slice(&r->lead_warnings), &out);
    transmit(r, weir_buf_slice(&out), WEIR_SLICE(""));
    weir_buf_dispose(&out);
    weir_buf_dispose(&detections);
}

void weir_rowed_send(struct weir_rowed *r, struct weir_slice json, struct weir_slice raw)
{
    if (r->stream.is_over) {
        return;
    }
    if (r->has_lead) {
        send_leading(r, json);
    } else {
        transmit(r, json, raw);
    }
}

/* An event as one line: a line break in JSON is white space between its parts. */
static int keep_line(struct weir_buf *lines, struct weir_slice json)
{
    size_t start = lines->n;
    int rc = weir_buf_append(lines, json);
    for (size_t i = start; rc == 0 && i < lines->n; i++) {
        lines->p[i] = lines->p[i] == '\n' ? ' ' : lines->p[i];
    }
    return rc == 0 ? weir_buf_append_byte(lines, '\n') : rc;
}

void weir_rowed_send_written(struct weir_rowed *r)
{
    struct weir_slice json = weir_buf_slice(&r->stream.task->scratch->out);
    bool waits = weir_rowed_holds_text(r) && r->has_start;
    r->has_start = true;
    if (!waits) {
        weir_rowed_send(r, json, WEIR_SLICE(""));
        return;
    }
    weir_rowed_check_held(r, keep_line(&r->waiting, json));
}

struct weir_buf *weir_rowed_scratch(struct weir_rowed *r)
{
    weir_buf_clear(&r->stream.task->scratch->out);
    return &r->stream.task->scratch->out;
}

void weir_rowed_send_waiting(struct weir_rowed *r)
{
    struct weir_slice rest = weir_buf_slice(&r->waiting);
    while (rest.n != 0 && !r->stream.is_over) {
        weir_rowed_send(r, weir_slice_cut(&rest, '\n'), WEIR_SLICE(""));
    }
    weir_buf_dispose(&r->waiting);
}

/* ---- findings ---- */

static enum weir_results_shape shape_of(const struct weir_rowed *r)
{
    return r->enforces ? WEIR_RESULTS_TERSE : WEIR_RESULTS_COMPLETION;
}

static struct weir_rowed_found *place_of(struct weir_rowed *r, const struct weir_row_found *found)
{
    struct weir_rowed_found *last = r->n_places != 0 ? &r->found[r->n_places - 1] : NULL;
    if (last != NULL && last->number == found->number && last->channel == found->channel &&
        last->tag == found->tag) {
        return last;
    }
    if (r->found == NULL || r->n_places == r->cap_places) {
        r->cap_places = 2 * r->cap_places + 4;
        r->found = weir_mem_realloc(r->found, r->cap_places * sizeof *r->found);
    }
    struct weir_rowed_found *f = &r->found[r->n_places++];
    *f = (struct weir_rowed_found){
        .number = found->number, .channel = found->channel, .tag = found->tag};
    r->dialect->write_place(r, found, &f->place);
    return f;
}

void weir_rowed_keep_found(struct weir_rowed *r, const struct weir_row_found *found)
{
    if (found->n_findings == 0 || r->n_found + found->n_findings > WEIR_FOUND_MAX) {
        return; /* more than that is told where it was found, and not once more at the end */
    }
    struct weir_rowed_found *f = place_of(r, found);
    r->n_found += found->n_findings;
    for (size_t i = 0; i < found->n_findings; i++) {
        weir_results_append(&f->results, shape_of(r), found->findings[i], f->results.n != 0);
    }
}

void weir_rowed_write_found(const struct weir_rowed *r, const struct weir_row_found *found,
                            struct weir_buf *out)
{
    if (found->n_findings == 0) {
        return;
    }
    weir_buf_append(out, WEIR_SLICE("{\"output\":[{"));
    r->dialect->write_place(r, found, out);
    weir_buf_append(out, WEIR_SLICE(",\"results\":["));
    for (size_t i = 0; i < found->n_findings; i++) {
        weir_results_append(out, shape_of(r), found->findings[i], i != 0);
    }
    weir_buf_append(out, WEIR_SLICE("]}]}"));
}

static void write_output_found(const struct weir_rowed *r, struct weir_buf *out)
{
    for (size_t i = 0; i < r->n_places; i++) {
        const struct weir_rowed_found *f = &r->found[i];
        weir_buf_append(out, i != 0 ? WEIR_SLICE(",{") : WEIR_SLICE("{"));
        weir_buf_append(out, weir_buf_slice(&f->place));
        weir_buf_append(out, WEIR_SLICE(",\"results\":["));
        weir_buf_append(out, weir_buf_slice(&f->results));
        weir_buf_append(out, WEIR_SLICE("]}"));
    }
}

void weir_rowed_write_all_found(const struct weir_rowed *r, bool with_input, struct weir_buf *out)
{
    struct weir_buf input = {0};
    bool has_input = with_input && weir_completion_write_input(&r->input, &input);
    if (has_input || r->n_found != 0) {
        weir_buf_append_byte(out, '{');
        if (has_input) {
            weir_buf_append(out, WEIR_SLICE("\"input\":"));
            weir_buf_append(out, weir_buf_slice(&input));
        }
        if (r->n_found != 0) {
            weir_buf_append(out,
                            has_input ? WEIR_SLICE(",\"output\":[") : WEIR_SLICE("\"output\":["));
            write_output_found(r, out);
            weir_buf_append_byte(out, ']');
        }
        weir_buf_append_byte(out, '}');
    }
    weir_buf_dispose(&input);
}

void weir_rowed_write_warnings(const struct weir_rowed *r, bool with_input, struct weir_buf *out)
{
    struct weir_buf input = {0};
    bool has_input =
        with_input && weir_completion_write_input_warnings(&r->request, &r->input, &input);
    struct weir_slice ours = r->n_found != 0 ? weir_event_unsuitable_output() : WEIR_SLICE("");
    if (has_input && ours.n != 0) { /* two arrays, made one */
        weir_buf_append(out, weir_slice_sub(weir_buf_slice(&input), 0, input.n - 1));
        weir_buf_append_byte(out, ',');
        weir_buf_append(out, weir_slice_sub(ours, 1, ours.n));
    } else {
        weir_buf_append(out, has_input ? weir_buf_slice(&input) : ours);
    }
    weir_buf_dispose(&input);
}

void weir_rowed_patch(struct weir_slice json, struct weir_slice detections,
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

/* The event with this text in the place of all that it says. */
static void write_rest(const struct weir_row_text *text, const char *const *path,
                       struct weir_buf *out)
{
    struct weir_json_tape tape = {0};
    struct weir_json doc;
    struct weir_json_edit e = {0};
    struct weir_buf quoted = {0};
    uint32_t at = 0;
    int rc = weir_json_parse_reuse(&doc, text->json, NULL, &tape, NULL);
    WEIR_ASSERT(rc == 0); /* it was read before */
    for (; *path != NULL; path++) {
        at = weir_json_get_set(&doc, at, weir_slice_cstr(*path));
        WEIR_ASSERT(at != WEIR_JSON_NONE);
    }
    weir_json_write_quoted(&quoted, text->text);
    weir_json_edit_begin(&e, &doc);
    weir_json_edit_replace(&e, at, weir_buf_slice(&quoted));
    weir_json_edit_write(&e, out);
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&quoted);
    weir_json_tape_dispose(&tape);
}

void weir_rowed_patch_text(const struct weir_row_text *text, const char *const *path,
                           struct weir_slice detections, struct weir_buf *out)
{
    struct weir_buf rest = {0};
    struct weir_slice warnings =
        detections.n != 0 ? weir_event_unsuitable_output() : WEIR_SLICE("");
    if (text->is_rest) {
        write_rest(text, path, &rest);
    }
    weir_rowed_patch(text->is_rest ? weir_buf_slice(&rest) : text->json, detections, warnings, out);
    weir_buf_dispose(&rest);
}

/* ---- words ---- */

size_t weir_rowed_texts(struct weir_arena *arena, const struct weir_json *json, uint32_t at,
                        struct weir_slice *texts)
{
    struct weir_tree tree;
    weir_tree_read(&tree, json, WEIR_JSON_NONE, at, WEIR_TREE_ANY, arena);
    texts[0] = weir_json_raw(json, at);
    texts[1] = tree.lines;
    return 2;
}

void weir_rowed_judge(struct weir_rowed *r, const struct weir_row_line *line,
                      const struct weir_rowed_value *value)
{
    struct weir_arena arena = {.account = r->stream.task->arena->account};
    struct weir_slice texts[2];
    size_t n = weir_rowed_texts(&arena, value->json, value->at, texts);
    weir_row_judge(r->row, &(struct weir_row_judge){
                               .line = *line, .texts = texts, .n_texts = n, .rule = value->rule});
    weir_arena_dispose(&arena);
}

void weir_rowed_restore(const struct weir_rowed *r, struct weir_slice text,
                        enum weir_restore_kind kind, struct weir_buf *out)
{
    const struct weir_policy *policy = r->request.policy;
    struct weir_restore restore;
    if (policy->map == NULL || text.n == 0) {
        weir_buf_append(out, text);
        return;
    }
    weir_restore_init(&restore, policy->map, &policy->mask->hosts, kind);
    weir_restore_feed(&restore, text, out);
    weir_restore_end(&restore, out);
    weir_restore_dispose(&restore);
}

struct weir_slice weir_rowed_words(const struct weir_rowed *r)
{
    const struct weir_policy *policy = r->request.policy;
    return policy->fallback.p != NULL ? policy->fallback : WEIR_POLICY_REFUSAL;
}

bool weir_rowed_says_words(const struct weir_rowed *r)
{
    return r->request.policy->block_as != WEIR_POLICY_BLOCK_AS_REFUSAL && !r->request.asks_json;
}
