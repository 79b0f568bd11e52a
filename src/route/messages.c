#include "route/messages.h"

#include "base/err.h"

static int check_parts(struct weir_fields *f, uint32_t parts, const char *path)
{
    if (f->json->nodes[parts].n == 0) {
        return weir_fields_fail(f, "", "Message content cannot be empty");
    }
    uint32_t at = weir_json_first(f->json, parts);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(f->json, parts, at)) {
        if (weir_fields_check(f, at, path, WEIR_FIELDS_OBJECT) != 0) {
            return WEIR_EINVAL;
        }
        uint32_t type = weir_json_get_set(f->json, at, WEIR_SLICE("type"));
        bool is_text = type != WEIR_JSON_NONE &&
                       weir_json_type(f->json, type) == WEIR_JSON_STRING &&
                       weir_json_string_eq(f->json, type, WEIR_SLICE("text"));
        if (!is_text) {
            return weir_fields_fail(f, "", "Only content of type text is allowed");
        }
    }
    return 0;
}

static int check_content(struct weir_fields *f, uint32_t content, const char *path)
{
    switch (weir_json_type(f->json, content)) {
    case WEIR_JSON_STRING:
        return f->json->nodes[content].n != 0
                   ? 0
                   : weir_fields_fail(f, "", "Message content cannot be empty");
    case WEIR_JSON_ARRAY:
        return check_parts(f, content, path);
    default:
        return weir_fields_check(f, content, path, WEIR_FIELDS_STRING);
    }
}

static int check_message(struct weir_fields *f, uint32_t message, size_t i)
{
    const char *path = weir_arena_printf(f->arena, "messages[%zu]", i);
    static const struct weir_fields_spec specs[] = {{"role", WEIR_FIELDS_STRING, true}};
    uint32_t role;
    if (weir_fields_read_some(f, message, path, specs, 1, &role) != 0) {
        return WEIR_EINVAL;
    }
    uint32_t content = weir_json_get_set(f->json, message, WEIR_SLICE("content"));
    if (content != WEIR_JSON_NONE) {
        return check_content(f, content, weir_arena_printf(f->arena, "%s.content", path));
    }
    uint32_t calls = weir_json_get_set(f->json, message, WEIR_SLICE("tool_calls"));
    bool has_calls = calls != WEIR_JSON_NONE && weir_json_type(f->json, calls) == WEIR_JSON_ARRAY &&
                     f->json->nodes[calls].n != 0;
    return has_calls ? 0 : weir_fields_fail(f, "", "Message content cannot be empty");
}

int weir_messages_check_history(struct weir_fields *f, uint32_t messages)
{
    size_t i = 0;
    uint32_t at = weir_json_first(f->json, messages);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(f->json, messages, at)) {
        if (check_message(f, at, i++) != 0) {
            return WEIR_EINVAL;
        }
    }
    return 0;
}
