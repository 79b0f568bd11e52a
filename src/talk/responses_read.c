#include "base/err.h"
#include "talk/form.h"
#include "talk/responses.h"

#include <string.h>

enum { SEALED_MOST = 8 * 1024 * 1024 };

enum flag { VLLM = 1, PART_INDEX = 2, ITEM_INDEX = 4, SUMMARY_INDEX = 8 };

struct word {
    const char *name;
    enum weir_responses_what what;
    enum weir_responses_kind kind;
    const char *body; /* the object it is about */
    const char *text; /* the string that is said */
    int flags;
};

#define BODY(name, what, kind, body, flags)                                                        \
    {                                                                                              \
        name, WEIR_RESPONSES_##what, kind, body, NULL, flags                                       \
    }
#define SAYS(name, what, kind, text, flags)                                                        \
    {                                                                                              \
        name, WEIR_RESPONSES_##what, WEIR_RESPONSES_##kind, NULL, text, flags                      \
    }
#define STATUS(name)                                                                               \
    {                                                                                              \
        name, WEIR_RESPONSES_STATUS, 0, NULL, NULL, ITEM_INDEX                                     \
    }
#define PIECE(name)                                                                                \
    {                                                                                              \
        name, WEIR_RESPONSES_PIECE, WEIR_RESPONSES_CALL, NULL, NULL, ITEM_INDEX                    \
    }
#define MEDIA(name)                                                                                \
    {                                                                                              \
        name, WEIR_RESPONSES_MEDIA, 0, NULL, NULL, 0                                               \
    }
#define IN_PART (PART_INDEX | ITEM_INDEX)
#define IN_SUMMARY (SUMMARY_INDEX | ITEM_INDEX)

/* Without "response." before them; the most frequent first. */
static const struct word EVENTS[] = {
    SAYS("output_text.delta", DELTA, TEXT, "delta", IN_PART),
    SAYS("reasoning_text.delta", DELTA, REASONING, "delta", IN_PART),
    SAYS("reasoning_summary_text.delta", DELTA, SUMMARY, "delta", IN_SUMMARY),
    SAYS("function_call_arguments.delta", DELTA, CALL, "delta", ITEM_INDEX),
    SAYS("custom_tool_call_input.delta", DELTA, CALL, "delta", ITEM_INDEX),
    SAYS("mcp_call_arguments.delta", DELTA, CALL, "delta", ITEM_INDEX),
    SAYS("code_interpreter_call_code.delta", DELTA, CALL, "delta", ITEM_INDEX),
    SAYS("refusal.delta", DELTA, REFUSAL, "delta", IN_PART),
    BODY("output_item.added", ITEM, 0, "item", ITEM_INDEX),
    BODY("output_item.done", ITEM_DONE, 0, "item", ITEM_INDEX),
    BODY("content_part.added", PART, WEIR_RESPONSES_TEXT, "part", IN_PART),
    BODY("content_part.done", PART_DONE, WEIR_RESPONSES_TEXT, "part", IN_PART),
    SAYS("output_text.done", DONE, TEXT, "text", IN_PART),
    SAYS("refusal.done", DONE, REFUSAL, "refusal", IN_PART),
    SAYS("reasoning_text.done", DONE, REASONING, "text", IN_PART),
    SAYS("reasoning_summary_text.done", DONE, SUMMARY, "text", IN_SUMMARY),
    BODY("reasoning_summary_part.added", PART, WEIR_RESPONSES_SUMMARY, "part", IN_SUMMARY),
    BODY("reasoning_summary_part.done", PART_DONE, WEIR_RESPONSES_SUMMARY, "part", IN_SUMMARY),
    BODY("reasoning_part.added", PART, WEIR_RESPONSES_REASONING, "part", IN_PART | VLLM),
    BODY("reasoning_part.done", PART_DONE, WEIR_RESPONSES_REASONING, "part", IN_PART | VLLM),
    SAYS("function_call_arguments.done", DONE, CALL, "arguments", ITEM_INDEX),
    SAYS("custom_tool_call_input.done", DONE, CALL, "input", ITEM_INDEX),
    SAYS("mcp_call_arguments.done", DONE, CALL, "arguments", ITEM_INDEX),
    SAYS("code_interpreter_call_code.done", DONE, CALL, "code", ITEM_INDEX),
    BODY("output_text.annotation.added", ANNOTATION, WEIR_RESPONSES_TEXT, "annotation", IN_PART),
    BODY("created", HEAD, 0, "response", 0),
    BODY("in_progress", HEAD, 0, "response", 0),
    BODY("queued", HEAD, 0, "response", 0),
    BODY("completed", END, 0, "response", 0),
    BODY("incomplete", END, 0, "response", 0),
    BODY("failed", END, 0, "response", 0),
    PIECE("shell_call_command.added"),
    PIECE("shell_call_command.delta"),
    PIECE("shell_call_command.done"),
    PIECE("shell_call_output_content.delta"),
    PIECE("shell_call_output_content.done"),
    SAYS("audio.transcript.delta", DELTA, TRANSCRIPT, "delta", 0),
    SAYS("audio.transcript.done", DONE, TRANSCRIPT, "transcript", 0),
    MEDIA("audio.delta"),
    MEDIA("audio.done"),
    MEDIA("image_generation_call.partial_image"),
    STATUS("image_generation_call.in_progress"),
    STATUS("image_generation_call.generating"),
    STATUS("image_generation_call.completed"),
    STATUS("web_search_call.in_progress"),
    STATUS("web_search_call.searching"),
    STATUS("web_search_call.completed"),
    STATUS("file_search_call.in_progress"),
    STATUS("file_search_call.searching"),
    STATUS("file_search_call.completed"),
    STATUS("code_interpreter_call.in_progress"),
    STATUS("code_interpreter_call.interpreting"),
    STATUS("code_interpreter_call.completed"),
    STATUS("mcp_call.in_progress"),
    STATUS("mcp_call.completed"),
    STATUS("mcp_call.failed"),
    STATUS("mcp_list_tools.in_progress"),
    STATUS("mcp_list_tools.completed"),
    STATUS("mcp_list_tools.failed"),
    {NULL, WEIR_RESPONSES_OTHER, 0, NULL, NULL, 0},
};

#define PREFIX "response."

static const struct word *word_of(const struct weir_json *json)
{
    const struct word *word = EVENTS;
    uint32_t type = weir_json_get_set(json, 0, WEIR_SLICE("type"));
    bool is_plain = type != WEIR_JSON_NONE && weir_json_type(json, type) == WEIR_JSON_STRING &&
                    !json->nodes[type].is_escaped;
    struct weir_slice raw = is_plain ? weir_json_raw(json, type) : WEIR_SLICE("");
    bool is_ours = weir_slice_starts_with(raw, WEIR_SLICE("\"" PREFIX));
    struct weir_slice name =
        is_ours ? weir_slice_sub(raw, sizeof PREFIX, raw.n - 1) : WEIR_SLICE("");
    while (word->name != NULL && !weir_slice_eq_cstr(name, word->name)) {
        word++;
    }
    return word;
}

static uint32_t of_type(const struct weir_json *json, uint32_t object, const char *name,
                        enum weir_json_type type)
{
    uint32_t at = weir_json_get_set(json, object, weir_slice_cstr(name));
    return at != WEIR_JSON_NONE && weir_json_type(json, at) == type ? at : WEIR_JSON_NONE;
}

/* False: it must say where it belongs, and does not. */
static bool read_index(const struct weir_json *json, const char *name, uint64_t *out)
{
    uint32_t at = weir_json_get_set(json, 0, weir_slice_cstr(name));
    return at != WEIR_JSON_NONE && weir_json_u64(json, at, out) == 0 && *out <= UINT32_MAX;
}

static bool read_place(const struct weir_json *json, const struct word *word,
                       struct weir_responses_event *e)
{
    bool is_good = (word->flags & ITEM_INDEX) == 0 || read_index(json, "output_index", &e->item);
    if ((word->flags & PART_INDEX) != 0) {
        is_good = is_good && read_index(json, "content_index", &e->part);
    } else if ((word->flags & SUMMARY_INDEX) != 0) {
        is_good = is_good && read_index(json, "summary_index", &e->part);
    }
    return is_good;
}

static int read_body(const struct weir_json *json, const struct word *word,
                     struct weir_responses_event *e, const char **why)
{
    if (word->body != NULL) {
        e->body = of_type(json, 0, word->body, WEIR_JSON_OBJECT);
        if (e->body == WEIR_JSON_NONE) {
            *why = "an event lacks the object it is about";
            return WEIR_EPEER;
        }
    }
    if (e->what == WEIR_RESPONSES_PART || e->what == WEIR_RESPONSES_PART_DONE) {
        /* What the part says that it is decides: `content_part` is of all kinds. */
        bool is_summary = word->kind == WEIR_RESPONSES_SUMMARY;
        e->kind = weir_responses_part_of(json, e->body, is_summary, &e->text);
    }
    if (word->text != NULL) {
        uint32_t at = weir_json_get_set(json, 0, weir_slice_cstr(word->text));
        if (at != WEIR_JSON_NONE && weir_json_type(json, at) != WEIR_JSON_STRING) {
            *why = "what an event says is not a text";
            return WEIR_EPEER;
        }
        e->text = at;
    }
    return 0;
}

int weir_responses_read(const struct weir_json *json, struct weir_responses_event *e,
                        const char **why)
{
    *e = (struct weir_responses_event){.item = WEIR_RESPONSES_NO_INDEX,
                                       .part = WEIR_RESPONSES_NO_INDEX,
                                       .body = WEIR_JSON_NONE,
                                       .text = WEIR_JSON_NONE,
                                       .item_id = WEIR_JSON_NONE,
                                       .logprobs = WEIR_JSON_NONE};
    if (weir_json_type(json, 0) != WEIR_JSON_OBJECT) {
        *why = "an event is not an object";
        return WEIR_EPEER;
    }
    const struct word *word = word_of(json);
    e->what = word->what;
    e->kind = word->kind;
    e->type = word->name;
    e->is_vllm = (word->flags & VLLM) != 0;
    if (!read_place(json, word, e)) {
        *why = "an event does not say which item it is about";
        return WEIR_EPEER;
    }
    e->item_id = of_type(json, 0, "item_id", WEIR_JSON_STRING);
    if (e->kind == WEIR_RESPONSES_TEXT && e->what == WEIR_RESPONSES_DELTA) {
        e->logprobs = of_type(json, 0, "logprobs", WEIR_JSON_ARRAY);
    }
    return read_body(json, word, e, why);
}

/* ---- shapes ---- */

static void add_slot(const struct weir_json *json, uint32_t at, enum weir_shape_slot what,
                     struct weir_shape_of *of)
{
    const struct weir_json_node *node = &json->nodes[at];
    size_t quote = what == WEIR_SHAPE_NUMBER ? 0 : 1;
    weir_shape_of_add(of, what, node->start + quote, node->end - node->start - 2 * quote);
}

bool weir_responses_shape_of(const struct weir_json *json, const struct weir_responses_event *e,
                             struct weir_shape_of *of)
{
    bool is_text = e->what == WEIR_RESPONSES_DELTA && e->kind < WEIR_RESPONSES_TRANSCRIPT;
    uint32_t number = of_type(json, 0, "sequence_number", WEIR_JSON_NUMBER);
    uint32_t noise = of_type(json, 0, "obfuscation", WEIR_JSON_STRING);
    uint64_t count;
    if (!is_text || e->text == WEIR_JSON_NONE ||
        (e->logprobs != WEIR_JSON_NONE && json->nodes[e->logprobs].n != 0)) {
        return false;
    }
    *of = (struct weir_shape_of){.event = json->src,
                                 .channel = (uint32_t)e->kind,
                                 .place = weir_responses_shape_place(e->item, e->part)};
    add_slot(json, e->text, WEIR_SHAPE_TEXT, of);
    if (number != WEIR_JSON_NONE && weir_json_u64(json, number, &count) == 0) {
        add_slot(json, number, WEIR_SHAPE_NUMBER, of);
    }
    if (noise != WEIR_JSON_NONE) {
        add_slot(json, noise, WEIR_SHAPE_STRING, of);
    }
    return true;
}

/* ---- items and parts ---- */

static bool is_a(const struct weir_json *json, uint32_t object, const char *type)
{
    uint32_t at = of_type(json, object, "type", WEIR_JSON_STRING);
    return at != WEIR_JSON_NONE && weir_json_string_eq(json, at, weir_slice_cstr(type));
}

enum weir_responses_item weir_responses_item_of(const struct weir_json *json, uint32_t item)
{
    uint32_t sealed = weir_json_get_set(json, item, WEIR_SLICE("encrypted_content"));
    if (is_a(json, item, "message")) {
        return WEIR_RESPONSES_MESSAGE;
    }
    if (is_a(json, item, "reasoning")) {
        return WEIR_RESPONSES_THOUGHT;
    }
    bool is_sealed =
        is_a(json, item, "compaction") && weir_form_is_base64_at(json, sealed, SEALED_MOST);
    return is_sealed ? WEIR_RESPONSES_SEALED : WEIR_RESPONSES_HELD;
}

enum weir_responses_kind weir_responses_part_of(const struct weir_json *json, uint32_t part,
                                                bool is_summary, uint32_t *text)
{
    static const struct {
        const char *type;
        const char *member;
        enum weir_responses_kind kind;
    } parts[] = {{"output_text", "text", WEIR_RESPONSES_TEXT},
                 {"refusal", "refusal", WEIR_RESPONSES_REFUSAL},
                 {"reasoning_text", "text", WEIR_RESPONSES_REASONING},
                 {"summary_text", "text", WEIR_RESPONSES_SUMMARY}};
    *text = WEIR_JSON_NONE;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        bool is_here = is_summary == (parts[i].kind == WEIR_RESPONSES_SUMMARY);
        if (is_here && is_a(json, part, parts[i].type)) {
            uint32_t at = weir_json_get_set(json, part, weir_slice_cstr(parts[i].member));
            bool is_text = at == WEIR_JSON_NONE || weir_json_type(json, at) == WEIR_JSON_STRING;
            *text = is_text ? at : WEIR_JSON_NONE;
            return is_text ? parts[i].kind : WEIR_RESPONSES_KINDS;
        }
    }
    return WEIR_RESPONSES_KINDS;
}

uint32_t weir_responses_first_part(const struct weir_json *json, uint32_t item, const char *name)
{
    uint32_t at = weir_json_get_set(json, item, weir_slice_cstr(name));
    bool is_list = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_ARRAY;
    bool is_part = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_STRING;
    return is_list ? weir_json_first(json, at) : is_part ? at : WEIR_JSON_NONE;
}

uint32_t weir_responses_part_after(const struct weir_json *json, uint32_t item, const char *name,
                                   uint32_t part)
{
    uint32_t list = of_type(json, item, name, WEIR_JSON_ARRAY);
    return list != WEIR_JSON_NONE ? weir_json_after(json, list, part) : WEIR_JSON_NONE;
}

enum weir_responses_kind weir_responses_part_in(const struct weir_json *json,
                                                enum weir_responses_item item, uint32_t part,
                                                bool is_summary, uint32_t *text)
{
    enum weir_json_type type = weir_json_type(json, part);
    *text = type == WEIR_JSON_STRING ? part : WEIR_JSON_NONE;
    if (type == WEIR_JSON_OBJECT) {
        return weir_responses_part_of(json, part, is_summary, text);
    }
    if (type != WEIR_JSON_STRING) {
        return WEIR_RESPONSES_KINDS;
    }
    return is_summary                       ? WEIR_RESPONSES_SUMMARY
           : item == WEIR_RESPONSES_THOUGHT ? WEIR_RESPONSES_REASONING
                                            : WEIR_RESPONSES_TEXT;
}

bool weir_responses_asked_json(const struct weir_json *json, uint32_t response)
{
    uint32_t text = of_type(json, response, "text", WEIR_JSON_OBJECT);
    return text != WEIR_JSON_NONE &&
           weir_form_is_json_format(json, weir_json_get_set(json, text, WEIR_SLICE("format")));
}
