#include "base/err.h"
#include "talk/form.h"
#include "talk/known.h"
#include "talk/messages.h"

#include <string.h>

enum { SEALED_MOST = 1024 * 1024 };

struct word {
    const char *name;
    int value;
    const char *text; /* of blocks and deltas: the member that says something */
};

static const struct word EVENTS[] = {
    {"message_start", WEIR_MESSAGES_START, NULL},
    {"content_block_start", WEIR_MESSAGES_BLOCK, NULL},
    {"content_block_delta", WEIR_MESSAGES_DELTA, NULL},
    {"content_block_stop", WEIR_MESSAGES_STOP, NULL},
    {"message_delta", WEIR_MESSAGES_ENDING, NULL},
    {"message_stop", WEIR_MESSAGES_END, NULL},
    {"ping", WEIR_MESSAGES_PING, NULL},
    {NULL, WEIR_MESSAGES_OTHER, NULL},
};

static const struct word BLOCKS[] = {
    {"text", WEIR_MESSAGES_TEXT, "text"},
    {"thinking", WEIR_MESSAGES_THINKING, "thinking"},
    {"redacted_thinking", WEIR_MESSAGES_SEALED, "data"},
    {"tool_use", WEIR_MESSAGES_TOOL, NULL},
    {"server_tool_use", WEIR_MESSAGES_TOOL, NULL},
    {"mcp_tool_use", WEIR_MESSAGES_TOOL, NULL},
    {NULL, WEIR_MESSAGES_ANY, NULL},
};

static const struct word DELTAS[] = {
    {"text_delta", WEIR_MESSAGES_TEXT, "text"},
    {"thinking_delta", WEIR_MESSAGES_THINKING, "thinking"},
    {"input_json_delta", WEIR_MESSAGES_TOOL, "partial_json"},
    {"signature_delta", WEIR_MESSAGES_SEALED, "signature"},
    {"citations_delta", WEIR_MESSAGES_CITATION, "citation"},
    {NULL, WEIR_MESSAGES_ANY, NULL},
};

/* The word that the object's `type` is; the last where it is none of them. */
static const struct word *word_of(const struct weir_json *json, uint32_t object,
                                  const struct word *words)
{
    uint32_t type = weir_json_get_set(json, object, WEIR_SLICE("type"));
    bool is_text = type != WEIR_JSON_NONE && weir_json_type(json, type) == WEIR_JSON_STRING;
    while (words->name != NULL &&
           !(is_text && weir_json_string_eq(json, type, weir_slice_cstr(words->name)))) {
        words++;
    }
    return words;
}

static uint32_t object_at(const struct weir_json *json, uint32_t object, const char *name)
{
    uint32_t at = weir_json_get_set(json, object, weir_slice_cstr(name));
    bool is_object = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_OBJECT;
    return is_object ? at : WEIR_JSON_NONE;
}

/* What the member says, a string or (a citation) an object; `*is_odd` where it is something else:
 * nobody can look at that as text. */
static uint32_t text_at(const struct weir_json *json, uint32_t object, const struct word *word,
                        bool *is_odd)
{
    enum weir_json_type type =
        word->value == WEIR_MESSAGES_CITATION ? WEIR_JSON_OBJECT : WEIR_JSON_STRING;
    uint32_t at = word->text != NULL ? weir_json_get_set(json, object, weir_slice_cstr(word->text))
                                     : WEIR_JSON_NONE;
    *is_odd = at != WEIR_JSON_NONE && weir_json_type(json, at) != type;
    return at;
}

enum weir_messages_kind weir_messages_kind_of(const struct weir_json *json, uint32_t block,
                                              uint32_t *text)
{
    const struct word *word = word_of(json, block, BLOCKS);
    bool is_odd;
    *text = text_at(json, block, word, &is_odd);
    bool is_sealed =
        word->value != WEIR_MESSAGES_SEALED || weir_form_is_base64_at(json, *text, SEALED_MOST);
    if (is_odd || !is_sealed) {
        *text = WEIR_JSON_NONE;
        return WEIR_MESSAGES_ANY;
    }
    return (enum weir_messages_kind)word->value;
}

/* A delta in whose place something else stands is JSON; a signature that is none is no signature.
 */
static void read_delta(const struct weir_json *json, struct weir_messages_event *e)
{
    const struct word *word = word_of(json, e->body, DELTAS);
    bool is_odd;
    e->text = text_at(json, e->body, word, &is_odd);
    e->kind = is_odd ? WEIR_MESSAGES_ANY : (enum weir_messages_kind)word->value;
    bool is_empty = e->text == WEIR_JSON_NONE || json->nodes[e->text].n == 0;
    if (e->kind == WEIR_MESSAGES_SEALED && !is_empty &&
        !weir_form_is_base64_at(json, e->text, SEALED_MOST)) {
        e->kind = WEIR_MESSAGES_ANY;
    }
    e->text = e->kind != WEIR_MESSAGES_ANY && !is_empty ? e->text : WEIR_JSON_NONE;
}

static int read_body(const struct weir_json *json, struct weir_messages_event *e, const char **why)
{
    static const char *const names[] = {[WEIR_MESSAGES_START] = "message",
                                        [WEIR_MESSAGES_BLOCK] = "content_block",
                                        [WEIR_MESSAGES_DELTA] = "delta",
                                        [WEIR_MESSAGES_ENDING] = "delta",
                                        [WEIR_MESSAGES_OTHER] = NULL};
    const char *name = names[e->what];
    if (name == NULL) {
        return 0;
    }
    e->body = object_at(json, 0, name);
    if (e->body == WEIR_JSON_NONE) {
        *why = "an event lacks the object it is about";
        return WEIR_EPEER;
    }
    if (e->what == WEIR_MESSAGES_BLOCK) {
        e->kind = weir_messages_kind_of(json, e->body, &e->text);
    } else if (e->what == WEIR_MESSAGES_DELTA) {
        read_delta(json, e);
    }
    return 0;
}

int weir_messages_read(const struct weir_json *json, struct weir_messages_event *e,
                       const char **why)
{
    *e = (struct weir_messages_event){
        .body = WEIR_JSON_NONE, .text = WEIR_JSON_NONE, .usage = WEIR_JSON_NONE};
    if (weir_json_type(json, 0) != WEIR_JSON_OBJECT) {
        *why = "an event is not an object";
        return WEIR_EPEER;
    }
    e->what = (enum weir_messages_what)word_of(json, 0, EVENTS)->value;
    bool has_index = e->what == WEIR_MESSAGES_BLOCK || e->what == WEIR_MESSAGES_DELTA ||
                     e->what == WEIR_MESSAGES_STOP;
    uint32_t index = weir_json_get_set(json, 0, WEIR_SLICE("index"));
    if (has_index && (index == WEIR_JSON_NONE || weir_json_u64(json, index, &e->index) != 0)) {
        *why = "an event does not say which block it is about";
        return WEIR_EPEER;
    }
    int rc = read_body(json, e, why);
    if (rc == 0 && e->what == WEIR_MESSAGES_ENDING) {
        e->usage = object_at(json, 0, "usage");
    } else if (rc == 0 && e->what == WEIR_MESSAGES_START) {
        e->usage = object_at(json, e->body, "usage");
    }
    return rc;
}

bool weir_messages_shape_of(const struct weir_json *json, const struct weir_messages_event *e,
                            struct weir_shape_of *of)
{
    bool is_text = e->kind == WEIR_MESSAGES_TEXT || e->kind == WEIR_MESSAGES_THINKING;
    if (e->what != WEIR_MESSAGES_DELTA || !is_text || e->text == WEIR_JSON_NONE) {
        return false;
    }
    const struct weir_json_node *text = &json->nodes[e->text];
    *of =
        (struct weir_shape_of){.event = json->src, .channel = (uint32_t)e->kind, .place = e->index};
    weir_shape_of_add(of, WEIR_SHAPE_TEXT, text->start + 1, text->end - text->start - 2);
    return true;
}
