/* Request bodies: what a protocol writes itself, then the members that operators and callers add.
 */
#include "base/assert.h"
#include "detect/protocol_int.h"

void weir_protocol__begin(struct weir_protocol_body *b, const struct weir_protocol_ask *ask,
                          struct weir_buf *out)
{
    *b = (struct weir_protocol_body){.ask = ask};
    weir_json_write_init(&b->w, out);
    weir_json_write_begin_object(&b->w);
}

void weir_protocol__key(struct weir_protocol_body *b, const char *name)
{
    WEIR_ASSERT(b->n_written < sizeof b->written / sizeof b->written[0]);
    b->written[b->n_written++] = weir_slice_cstr(name);
    weir_json_write_key(&b->w, weir_slice_cstr(name));
}

void weir_protocol__string(struct weir_protocol_body *b, const char *name, struct weir_slice value)
{
    if (value.n != 0) {
        weir_protocol__key(b, name);
        weir_json_write_string(&b->w, value);
    }
}

void weir_protocol__texts(struct weir_protocol_body *b, const char *name)
{
    const struct weir_detect_input *input = b->ask->input;
    weir_protocol__key(b, name);
    weir_json_write_begin_array(&b->w);
    for (size_t i = 0; i < input->n_contents; i++) {
        weir_json_write_string(&b->w, input->contents[i]);
    }
    weir_json_write_end_array(&b->w);
}

static bool is_written(const struct weir_protocol_body *b, struct weir_slice name)
{
    for (size_t i = 0; i < b->n_written; i++) {
        if (weir_slice_eq(b->written[i], name)) {
            return true;
        }
    }
    return false;
}

/* Members of `params` that the body does not have and `over` does not say otherwise. */
static void add_members(struct weir_protocol_body *b, const struct weir_json *params,
                        const struct weir_json *over)
{
    uint32_t key = weir_json_first(params, 0);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(params, 0, key)) {
        struct weir_slice name = weir_json_string(params, key, b->ask->arena);
        bool is_over = over != NULL && weir_json_get(over, 0, name) != WEIR_JSON_NONE;
        if (!is_over && !is_written(b, name)) {
            weir_json_write_key(&b->w, name);
            weir_json_write_node(&b->w, params, key + 1);
        }
    }
}

static bool parse(struct weir_json *j, struct weir_slice params, struct weir_arena *arena)
{
    return params.n > 2 && weir_json_parse(j, params, NULL, arena, NULL) == 0 &&
           weir_json_type(j, 0) == WEIR_JSON_OBJECT;
}

void weir_protocol__end(struct weir_protocol_body *b)
{
    struct weir_json configured;
    struct weir_json own;
    bool has_own = parse(&own, b->ask->input->params, b->ask->arena);
    if (parse(&configured, b->ask->options->params, b->ask->arena)) {
        add_members(b, &configured, has_own ? &own : NULL);
    }
    if (has_own) {
        add_members(b, &own, NULL);
    }
    weir_json_write_end_object(&b->w);
    weir_json_write_finish(&b->w);
}
