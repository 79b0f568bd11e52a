#include "task/event.h"

#include "base/err.h"
#include "task/results.h"
#include "wire/json_write.h"

enum weir_event_class weir_event_class_of(const struct weir_json *json, uint32_t *choices)
{
    *choices = weir_json_get(json, 0, WEIR_SLICE("choices"));
    if (*choices == WEIR_JSON_NONE || weir_json_type(json, *choices) != WEIR_JSON_ARRAY) {
        return WEIR_EVENT_CLASS_BAD;
    }
    if (json->nodes[*choices].n != 0) {
        return WEIR_EVENT_CLASS_CHOICES;
    }
    bool has_usage = weir_json_get_set(json, 0, WEIR_SLICE("usage")) != WEIR_JSON_NONE;
    return has_usage ? WEIR_EVENT_CLASS_USAGE : WEIR_EVENT_CLASS_STREAM;
}

/* ---- reading ---- */

/* null, "" and [] say nothing. */
static bool says_something(const struct weir_json *json, uint32_t at)
{
    switch (weir_json_type(json, at)) {
    case WEIR_JSON_NULL:
        return false;
    case WEIR_JSON_STRING:
    case WEIR_JSON_ARRAY:
        return json->nodes[at].n != 0;
    default:
        return true;
    }
}

static bool is_key(const struct weir_json *json, uint32_t key, const char *name)
{
    return weir_json_string_eq(json, key, weir_slice_cstr(name));
}

static bool is_reasoning(const struct weir_json *json, uint32_t key)
{
    return is_key(json, key, "reasoning") || is_key(json, key, "reasoning_content");
}

/* What else a delta carries besides its role and text. */
static void look_for_payload(const struct weir_json *json, struct weir_event_choice *c)
{
    uint32_t key = weir_json_first(json, c->body);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, c->body, key)) {
        if (is_key(json, key, "role") || is_key(json, key, "content") ||
            !says_something(json, key + 1)) {
            continue;
        }
        if (is_reasoning(json, key)) {
            c->has_reasoning = true;
        } else {
            c->has_rest = true;
        }
    }
}

int weir_event_read(const struct weir_json *json, uint32_t node, bool is_chat,
                    struct weir_event_choice *out, const char **why)
{
    *out = (struct weir_event_choice){.node = node, .body = WEIR_JSON_NONE, .text = WEIR_JSON_NONE};
    if (weir_json_type(json, node) != WEIR_JSON_OBJECT) {
        *why = "a choice is not an object";
        return WEIR_EPEER;
    }
    uint32_t index = weir_json_get_set(json, node, WEIR_SLICE("index"));
    if (index != WEIR_JSON_NONE && weir_json_u64(json, index, &out->index) != 0) {
        *why = "a choice's index is not a whole number";
        return WEIR_EPEER;
    }
    uint32_t finish = weir_json_get(json, node, WEIR_SLICE("finish_reason"));
    out->has_finish = finish != WEIR_JSON_NONE && says_something(json, finish);
    out->body = is_chat ? weir_json_get_set(json, node, WEIR_SLICE("delta")) : node;
    if (out->body == WEIR_JSON_NONE || weir_json_type(json, out->body) != WEIR_JSON_OBJECT) {
        out->body = WEIR_JSON_NONE;
        return 0;
    }
    out->text =
        weir_json_get_set(json, out->body, is_chat ? WEIR_SLICE("content") : WEIR_SLICE("text"));
    if (out->text != WEIR_JSON_NONE && weir_json_type(json, out->text) != WEIR_JSON_STRING) {
        *why = "a choice's text is not a string and cannot be checked";
        return WEIR_EPEER;
    }
    out->has_text = out->text != WEIR_JSON_NONE && json->nodes[out->text].n != 0;
    if (is_chat) {
        look_for_payload(json, out);
    }
    return 0;
}

/* ---- writing ---- */

static void set_role(struct weir_json_edit *e, const struct weir_json *json,
                     const struct weir_event_choice *c, enum weir_event_role role)
{
    if (c->body == WEIR_JSON_NONE || role == WEIR_ROLE_AS_IS) {
        return;
    }
    uint32_t at = weir_json_get(json, c->body, WEIR_SLICE("role"));
    bool is_set = at != WEIR_JSON_NONE && weir_json_type(json, at) != WEIR_JSON_NULL;
    if (role == WEIR_ROLE_REMOVED && at != WEIR_JSON_NONE) {
        weir_json_edit_remove(e, at);
    } else if (role == WEIR_ROLE_SET && !is_set) {
        weir_json_edit_set(e, c->body, WEIR_SLICE("role"), WEIR_SLICE("\"assistant\""));
    }
}

/* Of an array of one the node before the item is the array itself. */
static bool is_only_choice(const struct weir_json *json, const struct weir_event_choice *c)
{
    const struct weir_json_node *before = &json->nodes[c->node - 1];
    return before->type == WEIR_JSON_ARRAY && before->n == 1;
}

static void remove_other_choices(struct weir_json_edit *e, const struct weir_json *json,
                                 const struct weir_event_choice *c)
{
    if (is_only_choice(json, c)) {
        return;
    }
    uint32_t choices = weir_json_get(json, 0, WEIR_SLICE("choices"));
    uint32_t at = weir_json_first(json, choices);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, choices, at)) {
        if (at != c->node) {
            weir_json_edit_remove(e, at);
        }
    }
}

static void remove_member(struct weir_json_edit *e, const struct weir_json *json, uint32_t object,
                          const char *name)
{
    uint32_t at = weir_json_get(json, object, weir_slice_cstr(name));
    if (at != WEIR_JSON_NONE) {
        weir_json_edit_remove(e, at);
    }
}

static void set_null(struct weir_json_edit *e, const struct weir_json *json, uint32_t object,
                     const char *name)
{
    uint32_t at = weir_json_get(json, object, weir_slice_cstr(name));
    if (at != WEIR_JSON_NONE && weir_json_type(json, at) != WEIR_JSON_NULL) {
        weir_json_edit_replace(e, at, WEIR_SLICE("null"));
    }
}

/* Belongs a member of the delta to this part? */
static bool is_of_part(const struct weir_json *json, uint32_t key, enum weir_event_part part)
{
    if (is_key(json, key, "role")) {
        return true;
    }
    if (is_key(json, key, "content")) {
        return part == WEIR_EVENT_TEXT;
    }
    if (is_reasoning(json, key)) {
        return part == WEIR_EVENT_REASONING;
    }
    return part == WEIR_EVENT_REST;
}

static void keep_part(struct weir_json_edit *e, const struct weir_json *json,
                      const struct weir_event_choice *c, enum weir_event_part part)
{
    if (part == WEIR_EVENT_ALL || c->body == WEIR_JSON_NONE) {
        return;
    }
    uint32_t key = weir_json_first(json, c->body);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, c->body, key)) {
        if (!is_of_part(json, key, part)) {
            weir_json_edit_remove(e, key);
        }
    }
}

/* What ends an event's choice: it waits for the part that comes last. */
static void hold_ending(struct weir_json_edit *e, const struct weir_json *json, uint32_t node)
{
    set_null(e, json, node, "finish_reason");
    set_null(e, json, node, "stop_reason");
}

/* Members of a choice that every choice has; others are extras. */
static bool is_common(const struct weir_json *json, uint32_t key)
{
    static const char *const names[] = {"index",         "delta",       "text",
                                        "finish_reason", "stop_reason", "logprobs"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (is_key(json, key, names[i])) {
            return true;
        }
    }
    return false;
}

static void remove_extras(struct weir_json_edit *e, const struct weir_json *json, uint32_t node)
{
    uint32_t key = weir_json_first(json, node);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, node, key)) {
        if (!is_common(json, key)) {
            weir_json_edit_remove(e, key);
        }
    }
}

static void write_detections(struct weir_buf *out, uint64_t index,
                             const struct weir_event_batch *batch)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("output"));
    weir_json_write_begin_array(&w);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("choice_index"));
    weir_json_write_u64(&w, index);
    weir_json_write_key(&w, WEIR_SLICE("results"));
    weir_json_write_begin_array(&w);
    for (size_t i = 0; i < batch->n_findings; i++) {
        weir_results_write_one(&w, WEIR_RESULTS_COMPLETION, batch->findings[i]);
    }
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
}

void weir_event_write_part(const struct weir_json *json, const struct weir_event_choice *c,
                           bool is_chat, const struct weir_event_cut *cut, struct weir_buf *out)
{
    struct weir_json_edit e = {0};
    struct weir_buf detections = {0};
    weir_json_edit_begin(&e, json);
    remove_other_choices(&e, json, c);
    keep_part(&e, json, c, is_chat ? cut->part : WEIR_EVENT_ALL);
    if (!is_chat && cut->part == WEIR_EVENT_ENDING && c->text != WEIR_JSON_NONE) {
        weir_json_edit_replace_string(&e, c->text, WEIR_SLICE(""));
    }
    if (!cut->with_usage) {
        remove_member(&e, json, 0, "usage");
    }
    if (!cut->with_finish) {
        hold_ending(&e, json, c->node);
    }
    if (!cut->with_logprobs) {
        set_null(&e, json, c->node, "logprobs");
    }
    if (cut->without_extras) {
        remove_extras(&e, json, c->node);
    }
    if (is_chat) {
        set_role(&e, json, c, cut->role);
    }
    if (cut->notes_choice) {
        write_detections(&detections, c->index, &(struct weir_event_batch){.n_findings = 0});
        weir_json_edit_set(&e, 0, WEIR_SLICE("detections"), weir_buf_slice(&detections));
    }
    weir_json_edit_write(&e, out);
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&detections);
}

bool weir_event_is_hollow(const struct weir_json *json, const struct weir_event_choice *c)
{
    if (c->has_text || c->has_finish || c->has_reasoning || c->has_rest ||
        c->body == WEIR_JSON_NONE) {
        return false;
    }
    uint32_t key = weir_json_first(json, c->node);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, c->node, key)) {
        if (!is_common(json, key) && says_something(json, key + 1)) {
            return false;
        }
    }
    return true;
}

bool weir_event_is_silent(const struct weir_json *json, const struct weir_event_choice *c)
{
    return weir_event_is_hollow(json, c) &&
           weir_json_get_set(json, c->node, WEIR_SLICE("logprobs")) == WEIR_JSON_NONE;
}

bool weir_event_has_ending(const struct weir_json *json, const struct weir_event_choice *c)
{
    bool has_extras = false;
    uint32_t key = weir_json_first(json, c->node);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, c->node, key)) {
        has_extras = has_extras || !is_common(json, key);
    }
    return has_extras || weir_json_get(json, 0, WEIR_SLICE("usage")) != WEIR_JSON_NONE;
}

/* The envelope goes on behind the batch: only what is about this text leaves now. */
static void hold_rest(struct weir_json_edit *e, const struct weir_json *json, uint32_t node)
{
    hold_ending(e, json, node);
    remove_member(e, json, 0, "usage");
    remove_extras(e, json, node);
}

static void set_logprobs(struct weir_json_edit *e, const struct weir_json *json, uint32_t node,
                         const struct weir_event_batch *batch)
{
    if (batch->logprobs.n != 0) {
        weir_json_edit_set(e, node, WEIR_SLICE("logprobs"), batch->logprobs);
    } else if (batch->is_partial) {
        set_null(e, json, node, "logprobs");
    }
}

void weir_event_add_warnings(struct weir_json_edit *e, const struct weir_json *json,
                             struct weir_slice ours, struct weir_buf *scratch)
{
    uint32_t theirs = weir_json_get(json, 0, WEIR_SLICE("warnings"));
    bool has_theirs = theirs != WEIR_JSON_NONE && weir_json_type(json, theirs) == WEIR_JSON_ARRAY &&
                      json->nodes[theirs].n != 0;
    if (!has_theirs) {
        weir_json_edit_set(e, 0, WEIR_SLICE("warnings"), ours);
        return;
    }
    struct weir_slice raw = weir_json_raw(json, theirs);
    weir_buf_append(scratch, weir_slice_sub(raw, 0, raw.n - 1));
    weir_buf_append_byte(scratch, ',');
    weir_buf_append(scratch, weir_slice_sub(ours, 1, ours.n));
    weir_json_edit_set(e, 0, WEIR_SLICE("warnings"), weir_buf_slice(scratch));
}

struct weir_slice weir_event_unsuitable_output(void)
{
    return WEIR_SLICE("[" WEIR_EVENT_UNSUITABLE_OUTPUT "]");
}

/* An envelope may have had no text of its own: it gets the member then. */
static void set_text(struct weir_json_edit *e, const struct weir_event_choice *c, bool is_chat,
                     struct weir_slice text, struct weir_buf *scratch)
{
    if (c->text != WEIR_JSON_NONE) {
        weir_json_edit_replace_string(e, c->text, text);
        return;
    }
    struct weir_json_write w;
    weir_json_write_init(&w, scratch);
    weir_json_write_string(&w, text);
    weir_json_edit_set(e, c->body, is_chat ? WEIR_SLICE("content") : WEIR_SLICE("text"),
                       weir_buf_slice(scratch));
}

void weir_event_write_batch(const struct weir_json *envelope, const struct weir_event_choice *c,
                            bool is_chat, const struct weir_event_batch *batch,
                            struct weir_buf *out)
{
    struct weir_json_edit e = {0};
    struct weir_buf detections = {0};
    struct weir_buf warnings = {0};
    struct weir_buf text = {0};
    weir_json_edit_begin(&e, envelope);
    set_text(&e, c, is_chat, batch->text, &text);
    if (batch->is_partial) {
        hold_rest(&e, envelope, c->node);
    }
    set_logprobs(&e, envelope, c->node, batch);
    if (is_chat) {
        set_role(&e, envelope, c, batch->role);
    }
    write_detections(&detections, c->index, batch);
    weir_json_edit_set(&e, 0, WEIR_SLICE("detections"), weir_buf_slice(&detections));
    if (batch->n_findings != 0) {
        weir_event_add_warnings(&e, envelope, weir_event_unsuitable_output(), &warnings);
    }
    weir_json_edit_write(&e, out);
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&detections);
    weir_buf_dispose(&warnings);
    weir_buf_dispose(&text);
}

void weir_event_write_ending(const struct weir_json *json, const struct weir_event_choice *c,
                             const struct weir_json *ending, uint32_t ending_node,
                             struct weir_buf *out)
{
    static const char *const names[] = {"finish_reason", "stop_reason"};
    struct weir_json_edit e = {0};
    weir_json_edit_begin(&e, json);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct weir_slice name = weir_slice_cstr(names[i]);
        uint32_t at = weir_json_get(ending, ending_node, name);
        if (at != WEIR_JSON_NONE) {
            weir_json_edit_set(&e, c->node, name, weir_json_raw(ending, at));
        }
    }
    weir_json_edit_write(&e, out);
    weir_json_edit_dispose(&e);
}

void weir_event_write_final(const struct weir_json *json, const struct weir_event_final *final,
                            struct weir_buf *out)
{
    struct weir_json_edit e = {0};
    struct weir_buf warnings = {0};
    weir_json_edit_begin(&e, json);
    if (final->detections.n != 0) {
        weir_json_edit_set(&e, 0, WEIR_SLICE("detections"), final->detections);
    }
    if (final->warnings.n != 0) {
        weir_event_add_warnings(&e, json, final->warnings, &warnings);
    }
    weir_json_edit_write(&e, out);
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&warnings);
}

void weir_event_write_lead(const struct weir_json *json, const struct weir_event_lead *lead,
                           struct weir_buf *out)
{
    struct weir_json_edit e = {0};
    struct weir_buf detections = {0};
    struct weir_buf warnings = {0};
    uint32_t ours = weir_json_get(json, 0, WEIR_SLICE("detections"));
    bool has_ours = ours != WEIR_JSON_NONE && weir_json_type(json, ours) == WEIR_JSON_OBJECT;
    weir_json_edit_begin(&e, json);
    if (lead->detections.n != 0 && has_ours) {
        weir_json_edit_set(&e, ours, WEIR_SLICE("input"), lead->detections);
    } else if (lead->detections.n != 0) {
        weir_buf_append(&detections, WEIR_SLICE("{\"input\":"));
        weir_buf_append(&detections, lead->detections);
        weir_buf_append_byte(&detections, '}');
        weir_json_edit_set(&e, 0, WEIR_SLICE("detections"), weir_buf_slice(&detections));
    }
    if (lead->warnings.n != 0) {
        weir_event_add_warnings(&e, json, lead->warnings, &warnings);
    }
    weir_json_edit_write(&e, out);
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&detections);
    weir_buf_dispose(&warnings);
}
