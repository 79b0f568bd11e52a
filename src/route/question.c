#include "route/question.h"

#include "base/err.h"
#include "conf/conf.h"

struct reading {
    struct weir_question *q;
    struct weir_fields *f;
    size_t cap;
    bool is_strict;
};

static void add(struct reading *r, uint32_t at, size_t message, size_t part)
{
    struct weir_question *q = r->q;
    if (r->f->json->nodes[at].n == 0) {
        return;
    }
    if (q->n == r->cap) { /* doubled: the arena keeps what was outgrown, at most as much again */
        r->cap = r->cap != 0 ? 2 * r->cap : 4;
        struct weir_input_text *more = weir_arena_array(r->f->arena, r->cap, sizeof *more);
        for (size_t i = 0; i < q->n; i++) {
            more[i] = q->texts[i];
        }
        q->texts = more;
    }
    q->texts[q->n++] =
        (struct weir_input_text){.text = weir_json_string(r->f->json, at, r->f->arena),
                                 .message_index = message,
                                 .part_index = part,
                                 .node = at};
}

static int refuse(struct reading *r, const char *path, const char *what)
{
    if (!r->is_strict) {
        return 0;
    }
    return weir_fields_fail(r->f, path, "%s cannot be checked, and this route blocks what it finds",
                            what);
}

/* ---- chat ---- */

static int read_part(struct reading *r, uint32_t at, size_t message, size_t part)
{
    const struct weir_json *json = r->f->json;
    const char *path = weir_arena_printf(r->f->arena, "messages[%zu].content[%zu]", message, part);
    if (weir_fields_check(r->f, at, path, WEIR_FIELDS_OBJECT) != 0) {
        return WEIR_EINVAL;
    }
    uint32_t type = weir_json_get_set(json, at, WEIR_SLICE("type"));
    uint32_t text = weir_json_get_set(json, at, WEIR_SLICE("text"));
    bool is_text = type != WEIR_JSON_NONE && weir_json_type(json, type) == WEIR_JSON_STRING &&
                   weir_json_string_eq(json, type, WEIR_SLICE("text"));
    bool is_string = text != WEIR_JSON_NONE && weir_json_type(json, text) == WEIR_JSON_STRING;
    /* Servers read `input_text` and parts without a type as text too: it is looked at wherever it
     * is passed on. */
    if (is_string && (is_text || !r->is_strict)) {
        add(r, text, message, part);
        return 0;
    }
    return refuse(r, path, is_text ? "text that is not a string" : "content that is not text");
}

static int read_content(struct reading *r, uint32_t content, size_t message)
{
    const struct weir_json *json = r->f->json;
    if (weir_json_type(json, content) == WEIR_JSON_STRING) {
        add(r, content, message, WEIR_INPUT_NO_PART);
        return 0;
    }
    const char *path = weir_arena_printf(r->f->arena, "messages[%zu].content", message);
    if (weir_json_type(json, content) != WEIR_JSON_ARRAY) {
        return refuse(r, path, "content that is neither a string nor an array");
    }
    size_t part = 0;
    uint32_t at = weir_json_first(json, content);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, content, at)) {
        if (read_part(r, at, message, part++) != 0) {
            return WEIR_EINVAL;
        }
    }
    return 0;
}

/* The bit of a message's role. Chat templates take roles that nobody knows, `User` or none at all:
 * such messages count as the user's, or every check could be talked around. */
static uint32_t role_of(const struct weir_json *json, uint32_t message)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } roles[] = {{"user", WEIR_CONF_USER},
                 {"system", WEIR_CONF_SYSTEM},
                 {"developer", WEIR_CONF_DEVELOPER},
                 {"tool", WEIR_CONF_TOOL},
                 {"function", WEIR_CONF_FUNCTION}};
    uint32_t role = weir_json_get_set(json, message, WEIR_SLICE("role"));
    if (role == WEIR_JSON_NONE || weir_json_type(json, role) != WEIR_JSON_STRING) {
        return WEIR_CONF_USER;
    }
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (weir_json_string_eq(json, role, weir_slice_cstr(roles[i].name))) {
            return roles[i].bit;
        }
    }
    return WEIR_CONF_USER;
}

static bool is_assistant(const struct weir_json *json, uint32_t message)
{
    uint32_t role = weir_json_get_set(json, message, WEIR_SLICE("role"));
    return role != WEIR_JSON_NONE && weir_json_type(json, role) == WEIR_JSON_STRING &&
           weir_json_string_eq(json, role, WEIR_SLICE("assistant"));
}

int weir_question_of_chat(struct weir_question *q, struct weir_fields *f, uint32_t messages,
                          uint32_t roles, bool is_strict)
{
    struct reading r = {.q = q, .f = f, .is_strict = is_strict};
    const struct weir_json *json = f->json;
    size_t first = 0;
    size_t i = 0;
    uint32_t at = weir_json_first(json, messages);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, messages, at), i++) {
        const char *path = weir_arena_printf(f->arena, "messages[%zu]", i);
        if (weir_fields_check(f, at, path, WEIR_FIELDS_OBJECT) != 0) {
            return WEIR_EINVAL;
        }
        first = is_assistant(json, at) ? i + 1 : first;
    }
    i = 0;
    at = weir_json_first(json, messages);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, messages, at), i++) {
        uint32_t content = weir_json_get_set(json, at, WEIR_SLICE("content"));
        bool is_meant = i >= first && (role_of(json, at) & roles) != 0;
        if (is_meant && content != WEIR_JSON_NONE && read_content(&r, content, i) != 0) {
            return WEIR_EINVAL;
        }
    }
    return 0;
}

/* ---- completions ---- */

static int read_prompts(struct reading *r, uint32_t prompt)
{
    const struct weir_json *json = r->f->json;
    size_t i = 0;
    if (weir_json_type(json, prompt) == WEIR_JSON_STRING) {
        add(r, prompt, 0, WEIR_INPUT_NO_PART);
        return 0;
    }
    if (weir_json_type(json, prompt) != WEIR_JSON_ARRAY) {
        return refuse(r, "prompt", "a prompt that is neither a string nor an array");
    }
    uint32_t at = weir_json_first(json, prompt);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, prompt, at), i++) {
        if (weir_json_type(json, at) == WEIR_JSON_STRING) {
            add(r, at, i, WEIR_INPUT_NO_PART);
        } else if (refuse(r, "prompt", "a prompt of tokens") != 0) {
            return WEIR_EINVAL;
        }
    }
    return 0;
}

int weir_question_of_prompt(struct weir_question *q, struct weir_fields *f, bool is_strict)
{
    struct reading r = {.q = q, .f = f, .is_strict = is_strict};
    const struct weir_json *json = f->json;
    uint32_t prompt = weir_json_get_set(json, 0, WEIR_SLICE("prompt"));
    uint32_t suffix = weir_json_get_set(json, 0, WEIR_SLICE("suffix"));
    if (prompt != WEIR_JSON_NONE && read_prompts(&r, prompt) != 0) {
        return WEIR_EINVAL;
    }
    if (suffix == WEIR_JSON_NONE) {
        return 0;
    }
    if (weir_json_type(json, suffix) != WEIR_JSON_STRING) {
        return refuse(&r, "suffix", "a suffix that is not a string");
    }
    add(&r, suffix, 0, WEIR_INPUT_NO_PART);
    return 0;
}
