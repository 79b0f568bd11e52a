/*
 * Logprobs of a batch: the entries of the events that end in it, in order. Chat completions have
 * `content` and `refusal`, text completions four arrays side by side.
 */
#include "task/event.h"

static void add_elements(struct weir_buf *out, const struct weir_json *json, uint32_t object,
                         const char *name)
{
    uint32_t array = weir_json_get_set(json, object, weir_slice_cstr(name));
    if (array == WEIR_JSON_NONE || weir_json_type(json, array) != WEIR_JSON_ARRAY) {
        return;
    }
    uint32_t at = weir_json_first(json, array);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, array, at)) {
        if (out->n != 0) {
            weir_buf_append_byte(out, ',');
        }
        weir_buf_append(out, weir_json_raw(json, at));
    }
}

void weir_event_logprobs_add(struct weir_event_logprobs *l, const struct weir_json *json,
                             const struct weir_event_choice *choice)
{
    uint32_t at = weir_json_get_set(json, choice->node, WEIR_SLICE("logprobs"));
    if (at == WEIR_JSON_NONE || weir_json_type(json, at) != WEIR_JSON_OBJECT) {
        return;
    }
    l->has_any = true;
    l->has_refusal =
        l->has_refusal || weir_json_get(json, at, WEIR_SLICE("refusal")) != WEIR_JSON_NONE;
    add_elements(&l->content, json, at, "content");
    add_elements(&l->refusal, json, at, "refusal");
    add_elements(&l->tokens, json, at, "tokens");
    add_elements(&l->token_logprobs, json, at, "token_logprobs");
    add_elements(&l->top_logprobs, json, at, "top_logprobs");
    add_elements(&l->text_offset, json, at, "text_offset");
}

static void write_array(struct weir_buf *out, const char *name, const struct weir_buf *elements)
{
    char before = out->n != 0 ? out->p[out->n - 1] : '{';
    weir_buf_printf(out, "%s\"%s\":[", before == '{' ? "" : ",", name);
    weir_buf_append(out, weir_buf_slice(elements));
    weir_buf_append_byte(out, ']');
}

void weir_event_logprobs_write(const struct weir_event_logprobs *l, bool is_chat,
                               struct weir_buf *out)
{
    weir_buf_append_byte(out, '{');
    if (is_chat) {
        write_array(out, "content", &l->content);
        if (l->refusal.n != 0) {
            write_array(out, "refusal", &l->refusal);
        } else if (l->has_refusal) {
            weir_buf_append(out, WEIR_SLICE(",\"refusal\":null"));
        }
    } else {
        write_array(out, "tokens", &l->tokens);
        write_array(out, "token_logprobs", &l->token_logprobs);
        write_array(out, "top_logprobs", &l->top_logprobs);
        write_array(out, "text_offset", &l->text_offset);
    }
    weir_buf_append_byte(out, '}');
}

void weir_event_logprobs_dispose(struct weir_event_logprobs *l)
{
    weir_buf_dispose(&l->content);
    weir_buf_dispose(&l->refusal);
    weir_buf_dispose(&l->tokens);
    weir_buf_dispose(&l->token_logprobs);
    weir_buf_dispose(&l->top_logprobs);
    weir_buf_dispose(&l->text_offset);
    *l = (struct weir_event_logprobs){0};
}
