#include "route/messages.h"

#include "base/err.h"

static int check_part(struct weir_fields *f, uint32_t part, const char *path)
{
    static const struct weir_fields_spec specs[] = {{"type", WEIR_FIELDS_STRING, true}};
    static const struct weir_fields_spec text_specs[] = {{"text", WEIR_FIELDS_STRING, true}};
    uint32_t type;
    uint32_t text;
    if (weir_fields_read_some(f, part, path, specs, 1, &type) != 0) {
        return WEIR_EINVAL;
    }
    if (!weir_json_string_eq(f->json, type, WEIR_SLICE("text"))) {
        return weir_fields_fail(f, "", "Only content of type text is allowed");
    }
    return weir_fields_read_some(f, part, path, text_specs, 1, &text);
}

static int check_parts(struct weir_fields *f, uint32_t parts, const char *path)
{
    size_t i = 0;
    uint32_t at = weir_json_first(f->json, parts);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(f->json, parts, at)) {
        if (check_part(f, at, weir_arena_printf(f->arena, "%s[%zu]", path, i++)) != 0) {
            return WEIR_EINVAL;
        }
    }
    return 0;
}

static int check_message(struct weir_fields *f, uint32_t message, const char *path)
{
    static const struct weir_fields_spec specs[] = {{"role", WEIR_FIELDS_STRING, true}};
    uint32_t role;
    if (weir_fields_read_some(f, message, path, specs, 1, &role) != 0) {
        return WEIR_EINVAL;
    }
    uint32_t content = weir_json_get_set(f->json, message, WEIR_SLICE("content"));
    if (content == WEIR_JSON_NONE) {
        uint32_t calls = weir_json_get_set(f->json, message, WEIR_SLICE("tool_calls"));
        return calls != WEIR_JSON_NONE ? 0
                                       : weir_fields_fail(f, "", "Message content cannot be empty");
    }
    const char *where = weir_arena_printf(f->arena, "%s.content", path);
    if (weir_json_type(f->json, content) == WEIR_JSON_ARRAY) {
        return check_parts(f, content, where);
    }
    return weir_fields_check(f, content, where, WEIR_FIELDS_STRING);
}

int weir_messages_check_history(struct weir_fields *f, uint32_t messages)
{
    size_t i = 0;
    uint32_t at = weir_json_first(f->json, messages);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(f->json, messages, at)) {
        if (check_message(f, at, weir_arena_printf(f->arena, "messages[%zu]", i++)) != 0) {
            return WEIR_EINVAL;
        }
    }
    return 0;
}
