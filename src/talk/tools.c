#include "talk/tools.h"

#include "base/err.h"
#include "base/mem.h"
#include "talk/form.h"
#include "talk/half.h"
#include "talk/known.h"

#include <stdlib.h>

static void init_tool(const struct weir_tools *t, struct weir_tool *tool, uint64_t index)
{
    *tool = (struct weir_tool){.index = index};
    weir_buf_init(&tool->id, WEIR_FORM_CALL_ID_MOST + 1); /* longer ones have not the form anyway */
    weir_buf_init(&tool->type, t->max_bytes);
    weir_buf_init(&tool->name, t->max_bytes);
    weir_buf_init(&tool->arguments, t->max_bytes);
    weir_buf_init(&tool->extras, t->max_bytes);
    weir_buf_init(&tool->word_extras, t->max_bytes);
}

/* NULL: there are too many. */
static struct weir_tool *tool_at(struct weir_tools *t, uint64_t index)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->items[i].index == index) {
            return &t->items[i];
        }
    }
    if (weir_tools_is_full(t)) {
        return NULL;
    }
    t->items = weir_mem_realloc(t->items, (t->n + 1) * sizeof *t->items);
    struct weir_tool *tool = &t->items[t->n++];
    init_tool(t, tool, index);
    return tool;
}

static size_t size_of(const struct weir_tool *tool)
{
    return tool->id.n + tool->type.n + tool->name.n + tool->arguments.n + tool->extras.n +
           tool->word_extras.n;
}

void weir_tools_dispose(struct weir_tools *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct weir_tool *tool = &t->items[i];
        weir_buf_dispose(&tool->id);
        weir_buf_dispose(&tool->type);
        weir_buf_dispose(&tool->name);
        weir_buf_dispose(&tool->arguments);
        weir_buf_dispose(&tool->extras);
        weir_buf_dispose(&tool->word_extras);
    }
    free(t->items);
    t->items = NULL;
    t->n = 0;
    t->n_bytes = 0;
}

/* ---- taking ---- */

static int take_string(const struct weir_json *json, uint32_t object, const char *name,
                       struct weir_buf *out)
{
    uint32_t at = weir_json_get_set(json, object, weir_slice_cstr(name));
    bool is_string = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_STRING;
    return is_string ? weir_json_string_append(json, at, out) : 0;
}

/* Members nobody knows, as they stand in the first piece of a call that has any: a name must not
 * stand twice. */
static int take_extras(const struct weir_tools *t, const struct weir_json *json, uint32_t object,
                       const char *const *known, struct weir_buf *out)
{
    struct weir_buf others = {0};
    if (t->keeps_unknown && out->n == 0) {
        weir_known_write_others(json, object, known, &others);
    }
    int rc = weir_buf_append(out, weir_buf_slice(&others));
    weir_buf_dispose(&others);
    return rc;
}

/* A piece of the arguments; characters may be cut in two. */
static int take_arguments(const struct weir_json *json, uint32_t object, const char *name,
                          struct weir_tool *tool)
{
    uint32_t at = weir_json_get_set(json, object, weir_slice_cstr(name));
    if (at == WEIR_JSON_NONE || weir_json_type(json, at) != WEIR_JSON_STRING ||
        json->nodes[at].n == 0) {
        return 0;
    }
    if (tool->half == 0 && !json->nodes[at].has_lone_surrogate) {
        return weir_json_string_append(json, at, &tool->arguments);
    }
    struct weir_buf text = {0};
    weir_json_string_append(json, at, &text);
    if (tool->half != 0) {
        weir_half_join(json, at, &tool->half, &text);
    }
    weir_half_cut(json, at, &tool->half, &text);
    int rc = weir_buf_append(&tool->arguments, weir_buf_slice(&text));
    weir_buf_dispose(&text);
    return rc;
}

/* What it is called, once, and what it is given, piece by piece. */
static int take_words(const struct weir_json *json, uint32_t at, const char *arguments,
                      struct weir_tool *tool)
{
    int rc = tool->name.n == 0 ? take_string(json, at, "name", &tool->name) : 0;
    return rc | take_arguments(json, at, arguments, tool);
}

static int take_piece(const struct weir_tools *t, struct weir_tool *tool,
                      const struct weir_json *json, uint32_t at)
{
    static const char *const known[] = {"index", "id", "type", "function", "custom", NULL};
    int rc = tool->id.n == 0 ? take_string(json, at, "id", &tool->id) : 0;
    rc |= tool->type.n == 0 ? take_string(json, at, "type", &tool->type) : 0;
    rc |= take_extras(t, json, at, known, &tool->extras);
    uint32_t function = weir_json_get_set(json, at, WEIR_SLICE("function"));
    uint32_t custom = weir_json_get_set(json, at, WEIR_SLICE("custom"));
    if (function != WEIR_JSON_NONE) {
        rc |= take_words(json, function, "arguments", tool);
        rc |= take_extras(t, json, function, weir_known_function, &tool->word_extras);
    } else if (custom != WEIR_JSON_NONE) {
        tool->is_custom = true;
        rc |= take_words(json, custom, "input", tool);
        rc |= take_extras(t, json, custom, weir_known_custom, &tool->word_extras);
    }
    return rc != 0 ? WEIR_ELIMIT : 0;
}

static int take_call(struct weir_tools *t, const struct weir_json *json, uint32_t at,
                     uint64_t position, const char **why)
{
    uint64_t index = position;
    uint32_t given = weir_json_get_set(json, at, WEIR_SLICE("index"));
    if (given != WEIR_JSON_NONE && weir_json_u64(json, given, &index) != 0) {
        *why = "a tool call's index is not a whole number";
        return WEIR_EPEER;
    }
    struct weir_tool *tool = tool_at(t, index);
    if (tool == NULL) {
        return WEIR_ELIMIT;
    }
    size_t before = size_of(tool);
    int rc = take_piece(t, tool, json, at);
    t->n_bytes += size_of(tool) - before;
    return rc;
}

int weir_tools_take(struct weir_tools *t, const struct weir_json *json, uint32_t calls,
                    const char **why)
{
    uint64_t position = 0;
    int rc = 0;
    uint32_t at = weir_json_first(json, calls);
    for (; at != WEIR_JSON_NONE && rc == 0; at = weir_json_after(json, calls, at)) {
        rc = take_call(t, json, at, position++, why);
    }
    return rc;
}

int weir_tools_take_function_call(struct weir_tools *t, const struct weir_json *json, uint32_t call,
                                  const char **why)
{
    (void)why;
    struct weir_tool *tool = tool_at(t, WEIR_TOOL_FUNCTION_CALL);
    if (tool == NULL) {
        return WEIR_ELIMIT;
    }
    size_t before = size_of(tool);
    int rc = take_words(json, call, "arguments", tool);
    rc |= take_extras(t, json, call, weir_known_function, &tool->word_extras);
    t->n_bytes += size_of(tool) - before;
    return rc != 0 ? WEIR_ELIMIT : 0;
}

void weir_tools_end(struct weir_tools *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct weir_tool *tool = &t->items[i];
        if (tool->half != 0) {
            tool->half = 0;
            tool->arguments.max += tool->arguments.max != 0 ? WEIR_HALF_ALONE.n : 0;
            weir_buf_append(&tool->arguments, WEIR_HALF_ALONE);
            t->n_bytes += WEIR_HALF_ALONE.n;
        }
    }
}

/* ---- writing ---- */

static void write_member(struct weir_json_write *w, const char *name, struct weir_slice text)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_string(w, text);
}

static void write_extras(struct weir_json_write *w, const struct weir_buf *extras)
{
    if (extras->n != 0) {
        weir_json_write_raw_members(w, weir_buf_slice(extras));
    }
}

static void write_words(struct weir_json_write *w, const struct weir_tool *tool)
{
    weir_json_write_begin_object(w);
    write_member(w, "name", weir_buf_slice(&tool->name));
    write_member(w, tool->is_custom ? "input" : "arguments", weir_buf_slice(&tool->arguments));
    write_extras(w, &tool->word_extras);
    weir_json_write_end_object(w);
}

static void write_tool(struct weir_json_write *w, const struct weir_tool *tool, bool with_index)
{
    struct weir_slice kind = tool->is_custom ? WEIR_SLICE("custom") : WEIR_SLICE("function");
    struct weir_slice type = weir_buf_slice(&tool->type);
    weir_json_write_begin_object(w);
    if (with_index) {
        weir_json_write_key(w, WEIR_SLICE("index"));
        weir_json_write_u64(w, tool->index);
    }
    write_member(w, "id", weir_buf_slice(&tool->id));
    write_member(w, "type", weir_form_is_word(type) ? type : kind);
    weir_json_write_key(w, kind);
    write_words(w, tool);
    write_extras(w, &tool->extras);
    weir_json_write_end_object(w);
}

void weir_tools_write(const struct weir_tools *t, bool with_index, struct weir_json_write *w)
{
    const struct weir_tool *old = NULL;
    for (size_t i = 0; i < t->n; i++) {
        old = t->items[i].index == WEIR_TOOL_FUNCTION_CALL ? &t->items[i] : old;
    }
    if (old != NULL) {
        weir_json_write_key(w, WEIR_SLICE("function_call"));
        write_words(w, old);
    }
    if (t->n == (old != NULL)) {
        return;
    }
    weir_json_write_key(w, WEIR_SLICE("tool_calls"));
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < t->n; i++) {
        if (&t->items[i] != old) {
            write_tool(w, &t->items[i], with_index);
        }
    }
    weir_json_write_end_array(w);
}
