#include "talk/conversation.h"

#include "wire/json_write.h"

static bool is_said(const struct weir_walk_item *item)
{
    switch (item->kind) {
    case WEIR_WALK_TEXT:
    case WEIR_WALK_DOCUMENT:
    case WEIR_WALK_TREE:
    case WEIR_WALK_ENCODED:
    case WEIR_WALK_IDENTIFIER:
    case WEIR_WALK_WRONG:
        return item->role != WEIR_WALK_NOBODY;
    case WEIR_WALK_CONTROL:
    case WEIR_WALK_SEALED:
    case WEIR_WALK_MEDIA:
    case WEIR_WALK_REFUSED:
        return false;
    }
    return false;
}

static struct weir_slice text_of(const struct weir_json *json, const struct weir_walk_item *item)
{
    bool is_value = item->kind == WEIR_WALK_TREE || item->kind == WEIR_WALK_WRONG;
    return is_value ? weir_json_raw(json, item->node) : item->text;
}

static bool is_of_one(const struct weir_walk_item *a, const struct weir_walk_item *b)
{
    return a->message == b->message && a->role == b->role && a->message != WEIR_WALK_NO_INDEX;
}

static void write_message(const struct weir_walk_item *item, struct weir_buf *content,
                          struct weir_buf *out)
{
    if (content->n == 0) {
        return;
    }
    weir_buf_printf(out, "%s{\"role\":\"%s\",\"content\":", out->n != 0 ? "," : "",
                    weir_walk_role_name(item->role));
    weir_json_write_quoted(out, weir_buf_slice(content));
    weir_buf_append_byte(out, '}');
    weir_buf_clear(content);
}

static void write_items(const struct weir_json *json, const struct weir_walk *walk,
                        struct weir_buf *out)
{
    struct weir_buf content = {0};
    const struct weir_walk_item *last = NULL;
    for (size_t i = 0; i < walk->n; i++) {
        const struct weir_walk_item *item = &walk->items[i];
        if (!is_said(item)) {
            continue;
        }
        if (last != NULL && !is_of_one(last, item)) {
            write_message(last, &content, out);
        }
        weir_buf_append(&content, content.n != 0 ? WEIR_SLICE("\n") : WEIR_SLICE(""));
        weir_buf_append(&content, text_of(json, item));
        last = item;
    }
    if (last != NULL) {
        write_message(last, &content, out);
    }
    weir_buf_dispose(&content);
}

void weir_conversation_write(const struct weir_json *json, const struct weir_walk *walk,
                             struct weir_buf *out)
{
    if (walk->dialect != &weir_walk_chat) {
        write_items(json, walk, out);
        return;
    }
    uint32_t messages = weir_json_get_set(json, 0, WEIR_SLICE("messages"));
    bool is_list = messages != WEIR_JSON_NONE && weir_json_type(json, messages) == WEIR_JSON_ARRAY;
    uint32_t at = is_list ? weir_json_first(json, messages) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, messages, at)) {
        weir_buf_append(out, out->n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        weir_buf_append(out, weir_json_raw(json, at));
    }
}

const char *weir_conversation_member(const struct weir_json *json)
{
    bool has_messages = weir_json_get_set(json, 0, WEIR_SLICE("messages")) != WEIR_JSON_NONE;
    bool has_prompt = weir_json_get_set(json, 0, WEIR_SLICE("prompt")) != WEIR_JSON_NONE;
    bool has_input = weir_json_get_set(json, 0, WEIR_SLICE("input")) != WEIR_JSON_NONE;
    return has_messages ? "messages" : has_prompt && !has_input ? "prompt" : "input";
}
