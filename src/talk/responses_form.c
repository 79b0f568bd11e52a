/* What leaves of a model server's own responses and items where nobody looks at it as text: known
 * members in their forms, and what repeats the request from the request. */
#include "base/err.h"
#include "base/mem.h"
#include "talk/form.h"
#include "talk/known.h"
#include "talk/responses.h"
#include "wire/json_write.h"

#include <string.h>

enum { SEALED_MOST = 8 * 1024 * 1024, MOST_TEXTS = 16 };

static void put_key(struct weir_buf *out, const char *name)
{
    weir_buf_printf(out, "%s\"%s\":", out->n != 0 ? "," : "", name);
}

static void put_node(struct weir_buf *out, const struct weir_json *json, uint32_t at)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_node(&w, json, at);
    (void)weir_json_write_finish(&w); /* has no limit of its own */
}

/* ---- the response ---- */

#define REPEATED "instructions", "tools", "metadata"
/* What the request says, as it says it; else what the server has made of its silence. */
#define ASKED                                                                                      \
    "tool_choice", "text", "reasoning", "user", "prompt", "prompt_cache_key", "safety_identifier", \
        "conversation", "previous_response_id", "truncation"
#define TYPED                                                                                      \
    "created_at", "completed_at", "background", "parallel_tool_calls", "temperature", "top_p",     \
        "top_logprobs", "max_output_tokens", "max_tool_calls", "service_tier", "store",            \
        "prompt_cache_retention", "presence_penalty", "frequency_penalty"

const char *const weir_responses_repeated[] = {REPEATED, NULL};
static const char *const asked_names[] = {ASKED, NULL};
static const char *const typed_names[] = {TYPED, NULL};
static const char *const KNOWN_RESPONSE[] = {
    "id",    "object", "model", "output", "status", "error", "incomplete_details",
    "usage", REPEATED, ASKED,   TYPED,    NULL};

static uint32_t said(const struct weir_responses_head *h, const char *name)
{
    return h->json != NULL ? weir_json_get(h->json, h->response, weir_slice_cstr(name))
                           : WEIR_JSON_NONE;
}

static void write_repeated(const struct weir_responses_head *h, struct weir_buf *out)
{
    static const char *const blank[] = {"null", "[]", "{}"};
    for (size_t i = 0; weir_responses_repeated[i] != NULL; i++) {
        const char *name = weir_responses_repeated[i];
        uint32_t at = h->asked != NULL ? weir_json_get_set(h->asked, 0, weir_slice_cstr(name))
                                       : WEIR_JSON_NONE;
        put_key(out, name);
        if (at == WEIR_JSON_NONE) {
            weir_buf_append(out, weir_slice_cstr(blank[i]));
        } else {
            put_node(out, h->asked, at);
        }
    }
}

static size_t write_typed(const struct weir_responses_head *h, const char *name,
                          struct weir_buf *out)
{
    uint32_t at = said(h, name);
    if (at == WEIR_JSON_NONE) {
        return 0;
    }
    put_key(out, name);
    return weir_form_write_usage(h->json, at, out);
}

static size_t write_asked(const struct weir_responses_head *h, struct weir_buf *out)
{
    size_t n_odd = 0;
    for (size_t i = 0; asked_names[i] != NULL; i++) {
        uint32_t at = h->asked != NULL
                          ? weir_json_get_set(h->asked, 0, weir_slice_cstr(asked_names[i]))
                          : WEIR_JSON_NONE;
        if (at != WEIR_JSON_NONE) {
            put_key(out, asked_names[i]);
            put_node(out, h->asked, at);
        } else {
            n_odd += write_typed(h, asked_names[i], out);
        }
    }
    return n_odd;
}

/* An id or a name that a server has said, if it is one. False: it is none. */
static bool put_id(const struct weir_json *json, uint32_t at, size_t most, struct weir_buf *out)
{
    bool is_id = at != WEIR_JSON_NONE && weir_form_is_id_at(json, at, most);
    if (is_id) {
        weir_buf_append(out, weir_json_raw(json, at));
    }
    return is_id;
}

size_t weir_responses_write_head(const struct weir_responses_head *h, struct weir_buf *out)
{
    struct weir_buf head = {0};
    size_t n_odd = h->json != NULL ? weir_known_count(h->json, h->response, KNOWN_RESPONSE) : 0;
    put_key(&head, "id");
    if (h->id.n != 0 || !put_id(h->json, said(h, "id"), WEIR_FORM_ID_MOST, &head)) {
        weir_json_write_quoted(&head, h->id.n != 0 ? h->id : WEIR_SLICE("resp_0"));
    }
    weir_buf_append(&head, WEIR_SLICE(",\"object\":\"response\",\"model\":"));
    if (!put_id(h->json, said(h, "model"), WEIR_FORM_ID_MOST, &head)) {
        weir_json_write_quoted(&head, h->model_id);
    }
    for (size_t i = 0; typed_names[i] != NULL; i++) {
        n_odd += write_typed(h, typed_names[i], &head);
    }
    n_odd += write_asked(h, &head);
    write_repeated(h, &head);
    weir_buf_append(out, weir_buf_slice(&head));
    weir_buf_dispose(&head);
    return n_odd;
}

/* ---- items that are said bit by bit ---- */

static const char *const KNOWN_MESSAGE[] = {"type",  "id",      "role", "status",
                                            "phase", "content", NULL};
static const char *const KNOWN_THOUGHT[] = {
    "type", "id", "status", "summary", "content", "encrypted_content", NULL};
static const char *const KNOWN_SEALED[] = {"type", "id", "encrypted_content", NULL};

size_t weir_responses_write_open(const struct weir_json *json, uint32_t item,
                                 enum weir_responses_item kind, struct weir_slice id,
                                 struct weir_buf *out)
{
    static const char *const types[] = {[WEIR_RESPONSES_MESSAGE] = "\"type\":\"message\",\"id\":",
                                        [WEIR_RESPONSES_THOUGHT] = "\"type\":\"reasoning\",\"id\":",
                                        [WEIR_RESPONSES_SEALED] =
                                            "\"type\":\"compaction\",\"id\":"};
    static const char *const *const known[] = {[WEIR_RESPONSES_MESSAGE] = KNOWN_MESSAGE,
                                               [WEIR_RESPONSES_THOUGHT] = KNOWN_THOUGHT,
                                               [WEIR_RESPONSES_SEALED] = KNOWN_SEALED};
    weir_buf_append(out, weir_slice_cstr(types[kind]));
    weir_json_write_quoted(out, id);
    if (kind == WEIR_RESPONSES_MESSAGE) {
        weir_buf_append(out, WEIR_SLICE(",\"role\":\"assistant\""));
    }
    if (item == WEIR_JSON_NONE) {
        return 0;
    }
    uint32_t phase = weir_json_get_set(json, item, WEIR_SLICE("phase"));
    if (kind == WEIR_RESPONSES_MESSAGE && weir_form_is_word_at(json, phase)) {
        put_key(out, "phase");
        weir_buf_append(out, weir_json_raw(json, phase));
    }
    return weir_known_count(json, item, known[kind]);
}

void weir_responses_write_close(const struct weir_json *json, uint32_t item, struct weir_buf *out)
{
    uint32_t sealed = weir_json_get_set(json, item, WEIR_SLICE("encrypted_content"));
    uint32_t status = weir_json_get_set(json, item, WEIR_SLICE("status"));
    if (weir_form_is_word_at(json, status)) {
        weir_buf_append(out, WEIR_SLICE(",\"status\":"));
        weir_buf_append(out, weir_json_raw(json, status));
    }
    if (weir_form_is_base64_at(json, sealed, SEALED_MOST)) {
        weir_buf_append(out, WEIR_SLICE(",\"encrypted_content\":"));
        weir_buf_append(out, weir_json_raw(json, sealed));
    }
}

/* ---- items that are held ---- */

const char *weir_responses_said_member(struct weir_slice type, const char **events)
{
    static const struct {
        const char *type;
        const char *member;
        const char *events;
    } said[] = {{"function_call", "arguments", "function_call_arguments"},
                {"custom_tool_call", "input", "custom_tool_call_input"},
                {"mcp_call", "arguments", "mcp_call_arguments"},
                {"code_interpreter_call", "code", "code_interpreter_call_code"}};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        if (weir_slice_eq_cstr(type, said[i].type)) {
            *events = said[i].events;
            return said[i].member;
        }
    }
    return NULL;
}

struct apart {
    const struct weir_json *json;
    const char *member; /* that deltas say; NULL: none */
    bool is_image;
    bool keeps_images;
    struct weir_responses_parts *to;
    struct weir_buf rest; /* members, commas between them */
    const char *why;
};

static bool is_string(const struct weir_json *json, uint32_t at)
{
    return weir_json_type(json, at) == WEIR_JSON_STRING;
}

static bool is_named(const struct apart *a, uint32_t key, const char *const *names)
{
    return weir_known_is_among(a->json, key, names);
}

static struct weir_tool *add_tool(struct apart *a, uint32_t key)
{
    struct weir_tools *tools = &a->to->tools;
    struct weir_tool *tool = &tools->items[tools->n];
    tool->index = tools->n++;
    if (key != WEIR_JSON_NONE) {
        weir_json_string_append(a->json, key, &tool->id);
    }
    return tool;
}

static void put_typed(struct apart *a, uint32_t key)
{
    weir_buf_append_byte(&a->to->head, ',');
    weir_buf_append(&a->to->head, weir_json_raw(a->json, key));
    weir_buf_append_byte(&a->to->head, ':');
    weir_buf_append(&a->to->head, weir_json_raw(a->json, key + 1));
}

/* Members that are written in their forms, or not at all. False: it is no such member. */
static bool take_typed(struct apart *a, uint32_t key)
{
    static const char *const ids[] = {"id", "call_id", NULL};
    static const char *const seals[] = {"encrypted_content", NULL};
    static const char *const status[] = {"status", NULL};
    uint32_t at = key + 1;
    struct weir_slice raw = weir_json_raw(a->json, at);
    if (is_named(a, key, ids)) {
        if (!weir_form_is_id_at(a->json, at, WEIR_FORM_CALL_ID_MOST)) {
            a->why = "an item's id has not the form of one";
            return true;
        }
    } else if (is_named(a, key, seals) && is_string(a->json, at)) {
        if (!weir_form_is_base64_at(a->json, at, SEALED_MOST)) {
            return false;
        }
    } else if (is_named(a, key, status)) {
        bool is_word = weir_form_is_word_at(a->json, at);
        a->to->status = is_word ? raw : WEIR_SLICE("");
        a->to->n_odd += !is_word;
        return true;
    } else {
        return false;
    }
    put_typed(a, key);
    return true;
}

static void take_rest(struct apart *a, uint32_t key)
{
    if (a->rest.n != 0) {
        weir_buf_append_byte(&a->rest, ',');
    }
    weir_buf_append(&a->rest, weir_json_raw(a->json, key));
    weir_buf_append_byte(&a->rest, ':');
    put_node(&a->rest, a->json, key + 1);
}

/* Nobody can look at it: it leaves where that is allowed, in its form. */
static void take_image(struct apart *a, uint32_t key)
{
    if (a->keeps_images && weir_form_is_base64_at(a->json, key + 1, SIZE_MAX)) {
        put_typed(a, key);
    } else {
        a->to->n_odd += weir_json_type(a->json, key + 1) != WEIR_JSON_NULL;
    }
}

static void take_member(struct apart *a, uint32_t key)
{
    static const char *const type[] = {"type", NULL};
    static const char *const name[] = {"name", NULL};
    static const char *const names[] = {"namespace", "server_label", NULL};
    static const char *const texts[] = {"arguments", "input", "code", "output",
                                        "result",    "error", NULL};
    struct weir_tool *first = &a->to->tools.items[0];
    uint32_t at = key + 1;
    bool is_text = is_string(a->json, at);
    bool is_said =
        a->member != NULL && weir_json_string_eq(a->json, key, weir_slice_cstr(a->member));
    if (is_named(a, key, type)) {
        return;
    }
    if (a->is_image && weir_json_string_eq(a->json, key, WEIR_SLICE("result"))) {
        take_image(a, key);
    } else if (is_text && is_said) {
        if (a->json->nodes[at].n != 0) {
            weir_buf_clear(&first->arguments);
            weir_json_string_append(a->json, at, &first->arguments);
        }
    } else if (is_text && is_named(a, key, name)) {
        weir_json_string_append(a->json, at, &first->name);
    } else if (is_text && is_named(a, key, names)) {
        weir_json_string_append(a->json, at, &add_tool(a, key)->name);
    } else if (is_text && is_named(a, key, texts)) {
        weir_json_string_append(a->json, at, &add_tool(a, key)->arguments);
    } else if (!take_typed(a, key)) {
        take_rest(a, key);
    }
}

static void add_rest(struct apart *a)
{
    if (a->rest.n != 0) {
        struct weir_tool *tool = add_tool(a, WEIR_JSON_NONE);
        weir_buf_append_byte(&tool->arguments, '{');
        weir_buf_append(&tool->arguments, weir_buf_slice(&a->rest));
        weir_buf_append_byte(&tool->arguments, '}');
    }
    weir_buf_dispose(&a->rest);
}

int weir_responses_take_apart(const struct weir_json *json, uint32_t item, struct weir_slice said,
                              bool keeps_images, struct weir_responses_parts *parts,
                              const char **why)
{
    struct apart a = {.json = json, .to = parts};
    const char *events;
    uint32_t type = weir_json_get_set(json, item, WEIR_SLICE("type"));
    *parts = (struct weir_responses_parts){0};
    if (!weir_form_is_word_at(json, type)) {
        *why = "an item's type is not a word";
        return WEIR_EPEER;
    }
    struct weir_slice raw = weir_json_raw(json, type);
    struct weir_slice word = weir_slice_sub(raw, 1, raw.n - 1);
    a.member = weir_responses_said_member(word, &events);
    a.keeps_images = keeps_images;
    a.is_image = weir_slice_eq_cstr(word, "image_generation_call");
    weir_buf_append(&parts->head, WEIR_SLICE("\"type\":"));
    weir_buf_append(&parts->head, raw);
    parts->tools.items = weir_mem_zalloc(MOST_TEXTS * sizeof *parts->tools.items);
    struct weir_tool *first = add_tool(&a, WEIR_JSON_NONE);
    if (a.member != NULL) {
        weir_buf_append(&first->id, weir_slice_cstr(a.member));
        weir_buf_append(&first->arguments, said);
    }
    uint32_t key = weir_json_first(json, item);
    for (; key != WEIR_JSON_NONE && a.why == NULL; key = weir_json_after(json, item, key)) {
        take_member(&a, key);
    }
    add_rest(&a);
    *why = a.why;
    return a.why == NULL ? 0 : WEIR_EPEER;
}
