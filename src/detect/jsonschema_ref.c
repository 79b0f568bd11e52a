#include "detect/jsonschema_ref.h"

static int hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static void decode_percents(struct weir_slice token, struct weir_buf *out)
{
    weir_buf_clear(out);
    for (size_t i = 0; i < token.n; i++) {
        char c = token.p[i];
        bool is_escape =
            c == '%' && i + 2 < token.n && hex(token.p[i + 1]) >= 0 && hex(token.p[i + 2]) >= 0;
        if (is_escape) {
            c = (char)(hex(token.p[i + 1]) * 16 + hex(token.p[i + 2]));
            i += 2;
        }
        weir_buf_append_byte(out, c);
    }
}

/* %41 to A, then ~1 to / and ~0 to ~. What is no escape stands for itself. */
static void decode(struct weir_slice token, struct weir_buf *out)
{
    decode_percents(token, out);
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++) {
        char next = i + 1 < out->n ? out->p[i + 1] : '\0';
        bool is_escape = out->p[i] == '~' && (next == '0' || next == '1');
        out->p[n++] = !is_escape ? out->p[i] : next == '0' ? '~' : '/';
        i += is_escape;
    }
    out->n = n;
}

static uint32_t find_item(const struct weir_json *j, uint32_t array, struct weir_slice index)
{
    uint64_t n;
    if (weir_slice_u64(index, &n) != 0 || n >= j->nodes[array].n) {
        return WEIR_JSON_NONE;
    }
    uint32_t at = weir_json_first(j, array);
    while (n-- != 0) {
        at = weir_json_after(j, array, at);
    }
    return at;
}

uint32_t weir_jsonschema__find(const struct weir_json *j, struct weir_slice pointer)
{
    struct weir_buf token = {0};
    uint32_t at = 0;
    weir_slice_cut(&pointer, '/'); /* the empty one before the first slash */
    while (pointer.p != NULL && at != WEIR_JSON_NONE) {
        decode(weir_slice_cut(&pointer, '/'), &token);
        at = weir_json_type(j, at) == WEIR_JSON_ARRAY
                 ? find_item(j, at, weir_buf_slice(&token))
                 : weir_json_get(j, at, weir_buf_slice(&token));
    }
    weir_buf_dispose(&token);
    return at;
}

void weir_jsonschema__path(const struct weir_json *j, uint32_t at, struct weir_buf *out)
{
    uint32_t in = 0;
    weir_buf_append_byte(out, '#');
    while (in != at) {
        bool is_object = weir_json_type(j, in) == WEIR_JSON_OBJECT;
        size_t index = 0;
        uint32_t child = weir_json_first(j, in);
        while (j->nodes[child + is_object].next <= at) {
            child = weir_json_after(j, in, child);
            index++;
        }
        if (is_object) {
            weir_buf_append_byte(out, '/');
            weir_json_string_append(j, child, out);
        } else {
            weir_buf_printf(out, "/%zu", index);
        }
        if (child == at) {
            return; /* a name */
        }
        in = child + is_object;
    }
}
