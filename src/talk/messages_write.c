/*
 * Events and messages as they leave. Members that stand on one line here stand in that order on the
 * wire; `type` is the first of each event, which is how whoever frames it finds its name.
 */
#include "base/err.h"
#include "talk/form.h"
#include "talk/known.h"
#include "talk/messages.h"
#include "wire/json_write.h"

#include <stdlib.h>

static void put(struct weir_buf *out, const char *s)
{
    weir_buf_append(out, weir_slice_cstr(s));
}

static void put_json(struct weir_buf *out, const char *before, struct weir_slice json)
{
    if (json.n != 0) {
        put(out, before);
        weir_buf_append(out, json);
    }
}

static void put_string(struct weir_buf *out, const char *before, struct weir_slice text)
{
    put(out, before);
    weir_json_write_quoted(out, text);
}

static void put_found(struct weir_buf *out, struct weir_slice detections,
                      struct weir_slice warnings)
{
    put_json(out, ",\"detections\":", detections);
    put_json(out, ",\"warnings\":", warnings);
    put(out, "}");
}

/* ---- of a server's own ---- */

static const char *const KNOWN_MESSAGE[] = {"id",           "type",        "role",  "model",
                                            "content",      "stop_reason", "usage", "stop_sequence",
                                            "stop_details", NULL};
static const char *const KNOWN_TEXT[] = {"type", "text", "citations", NULL};
static const char *const KNOWN_THINKING[] = {"type", "thinking", "signature", NULL};
static const char *const KNOWN_SEALED[] = {"type", "data", NULL};
static const char *const KNOWN_TOOL[] = {"type", "id", "name", "input", "server_name", NULL};

size_t weir_messages_write_head(const struct weir_json *json, uint32_t message,
                                struct weir_slice model_id, struct weir_buf *out)
{
    uint32_t id = weir_json_get_set(json, message, WEIR_SLICE("id"));
    uint32_t model = weir_json_get_set(json, message, WEIR_SLICE("model"));
    bool has_id = weir_form_is_id_at(json, id, WEIR_FORM_ID_MOST);
    bool has_model = weir_form_is_id_at(json, model, WEIR_FORM_ID_MOST);
    put(out, "\"id\":");
    weir_buf_append(out, has_id ? weir_json_raw(json, id) : WEIR_SLICE("\"msg_0\""));
    put(out, ",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
    if (has_model) {
        weir_buf_append(out, weir_json_raw(json, model));
    } else {
        weir_json_write_quoted(out, model_id);
    }
    return weir_known_count(json, message, KNOWN_MESSAGE) + !has_id + !has_model;
}

static int write_call(const struct weir_json *json, uint32_t block, struct weir_buf *out)
{
    static const char *const names[] = {"name", "server_name"};
    uint32_t id = weir_json_get_set(json, block, WEIR_SLICE("id"));
    if (id != WEIR_JSON_NONE && !weir_form_is_id_at(json, id, WEIR_FORM_CALL_ID_MOST)) {
        return WEIR_EPEER;
    }
    put_json(out, ",\"id\":", id != WEIR_JSON_NONE ? weir_json_raw(json, id) : WEIR_SLICE(""));
    for (size_t i = 0; i < 2; i++) {
        uint32_t at = weir_json_get_set(json, block, weir_slice_cstr(names[i]));
        if (at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_STRING) {
            weir_buf_printf(out, ",\"%s\":", names[i]);
            weir_buf_append(out, weir_json_raw(json, at));
        }
    }
    put(out, ",\"input\":{}");
    return 0;
}

int weir_messages_write_empty(const struct weir_json *json, uint32_t block,
                              enum weir_messages_kind kind, struct weir_buf *out, size_t *n_odd)
{
    uint32_t type = weir_json_get_set(json, block, WEIR_SLICE("type"));
    uint32_t data = weir_json_get_set(json, block, WEIR_SLICE("data"));
    uint32_t citations = weir_json_get_set(json, block, WEIR_SLICE("citations"));
    const char *const *known = KNOWN_TEXT;
    int rc = 0;
    put(out, "{\"type\":");
    weir_buf_append(out, weir_json_raw(json, type)); /* one of the words that are known */
    switch (kind) {
    case WEIR_MESSAGES_THINKING:
        known = KNOWN_THINKING;
        put(out, ",\"thinking\":\"\",\"signature\":\"\"");
        break;
    case WEIR_MESSAGES_SEALED:
        known = KNOWN_SEALED;
        put(out, ",\"data\":");
        weir_buf_append(out, weir_json_raw(json, data));
        break;
    case WEIR_MESSAGES_TOOL:
        known = KNOWN_TOOL;
        rc = write_call(json, block, out);
        break;
    default:
        put(out,
            citations != WEIR_JSON_NONE ? ",\"citations\":[],\"text\":\"\"" : ",\"text\":\"\"");
        break;
    }
    put(out, "}");
    *n_odd += weir_known_count(json, block, known);
    return rc;
}

static struct weir_slice word_at(const struct weir_json *json, uint32_t object, const char *name,
                                 const char *otherwise)
{
    uint32_t at = weir_json_get_set(json, object, weir_slice_cstr(name));
    if (at == WEIR_JSON_NONE) {
        return WEIR_SLICE("null");
    }
    return weir_form_is_word_at(json, at) ? weir_json_raw(json, at) : weir_slice_cstr(otherwise);
}

static struct weir_slice text_at(const struct weir_json *json, uint32_t object, const char *name,
                                 bool is_left_out)
{
    uint32_t at = weir_json_get_set(json, object, weir_slice_cstr(name));
    bool is_text = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_STRING;
    return is_text && !is_left_out ? weir_json_raw(json, at) : WEIR_SLICE("null");
}

void weir_messages_write_stop(const struct weir_json *json, uint32_t object, bool without_texts,
                              struct weir_buf *out)
{
    uint32_t details = weir_json_get_set(json, object, WEIR_SLICE("stop_details"));
    put_json(out, "\"stop_reason\":", word_at(json, object, "stop_reason", "\"end_turn\""));
    put_json(out, ",\"stop_sequence\":", text_at(json, object, "stop_sequence", without_texts));
    if (details != WEIR_JSON_NONE && weir_json_type(json, details) == WEIR_JSON_OBJECT) {
        put_json(out,
                 ",\"stop_details\":{\"type\":", word_at(json, details, "type", "\"refusal\""));
        put_json(out, ",\"category\":", word_at(json, details, "category", "null"));
        put_json(out, ",\"explanation\":", text_at(json, details, "explanation", without_texts));
        put(out, "}");
    }
}

/* ---- events ---- */

void weir_messages_write_start(struct weir_slice head, struct weir_slice usage,
                               struct weir_buf *out)
{
    put_json(out, "{\"type\":\"message_start\",\"message\":{", head);
    put(out, ",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null");
    put_json(out, ",\"usage\":", usage);
    put(out, "}}");
}

static void open_event(struct weir_buf *out, const char *type, uint64_t index)
{
    weir_buf_append(out, WEIR_SLICE("{\"type\":\"content_block_"));
    put(out, type);
    weir_buf_append(out, WEIR_SLICE("\",\"index\":"));
    weir_buf_append_u64(out, index);
}

void weir_messages_write_block(uint64_t index, struct weir_slice block, struct weir_buf *out)
{
    open_event(out, "start", index);
    put_json(out, ",\"content_block\":", block);
    put(out, "}");
}

void weir_messages_write_delta(const struct weir_messages_delta *d, struct weir_buf *out)
{
    static const char *const before[] = {
        [WEIR_MESSAGES_TEXT] = ",\"delta\":{\"type\":\"text_delta\",\"text\":",
        [WEIR_MESSAGES_THINKING] = ",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":",
        [WEIR_MESSAGES_TOOL] = ",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":",
        [WEIR_MESSAGES_SEALED] = ",\"delta\":{\"type\":\"signature_delta\",\"signature\":",
        [WEIR_MESSAGES_CITATION] = ",\"delta\":{\"type\":\"citations_delta\",\"citation\":",
    };
    open_event(out, "delta", d->index);
    if (d->kind == WEIR_MESSAGES_CITATION || d->quoted.n != 0) {
        put_json(out, before[d->kind], d->quoted.n != 0 ? d->quoted : d->text);
    } else {
        put_string(out, before[d->kind], d->text);
    }
    put(out, "}");
    put_found(out, d->detections, d->warnings);
}

void weir_messages_write_block_stop(uint64_t index, struct weir_buf *out)
{
    open_event(out, "stop", index);
    put(out, "}");
}

void weir_messages_write_ending(const struct weir_messages_ending *e, struct weir_buf *out)
{
    put(out, "{\"type\":\"message_delta\",\"delta\":{");
    weir_buf_append(out, e->stop);
    put(out, "}");
    put_json(out, ",\"usage\":", e->usage);
    put_found(out, e->detections, e->warnings);
}

/* ---- whole messages ---- */

void weir_messages_write_whole(struct weir_slice head, struct weir_slice content,
                               const struct weir_messages_ending *e, struct weir_buf *out)
{
    put_json(out, "{", head);
    put(out, ",\"content\":[");
    weir_buf_append(out, content);
    put_json(out, "],", e->stop);
    put_json(out, ",\"usage\":", e->usage);
    put_found(out, e->detections, e->warnings);
}

void weir_messages_write_refusal(struct weir_slice words, bool is_completed, struct weir_buf *out)
{
    put(out, is_completed ? "\"stop_reason\":\"end_turn\"" : "\"stop_reason\":\"refusal\"");
    put(out, ",\"stop_sequence\":null");
    if (!is_completed) {
        put_string(
            out,
            ",\"stop_details\":{\"type\":\"refusal\",\"category\":null,\"explanation\":", words);
        put(out, "}");
    }
}

void weir_messages_write_text_block(struct weir_slice text, struct weir_buf *out)
{
    put_string(out, "{\"type\":\"text\",\"text\":", text);
    put(out, "}");
}

void weir_messages_write_error(const char *type, struct weir_slice message, struct weir_buf *out)
{
    put_string(out, "{\"type\":\"error\",\"error\":{\"type\":", weir_slice_cstr(type));
    put_string(out, ",\"message\":", message);
    put(out, "}}");
}
