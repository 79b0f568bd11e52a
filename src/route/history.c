#include "route/history.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/utf8.h"
#include "wire/json_write.h"

#include <stdbool.h>

enum { MAX_ID_BYTES = 64 }; /* of an id as a warning shows it */

struct call {
    size_t message;
    bool is_answered;
};

struct reading {
    struct weir_history *h;
    const struct weir_json *json;
    struct weir_arena *arena;
    struct weir_map calls; /* by id, of struct call */
};

static void tell(struct reading *r, size_t message, const char *what, struct weir_slice id)
{
    if (r->h->n < WEIR_HISTORY_MAX_PROBLEMS) {
        size_t n = weir_utf8_floor(id, MAX_ID_BYTES);
        r->h->problems[r->h->n++] =
            weir_arena_printf(r->arena, "messages[%zu]: %s: `%.*s`", message, what, (int)n, id.p);
    }
}

/* The string member of that name; p NULL: there is none. */
static struct weir_slice string_of(const struct reading *r, uint32_t object, const char *name)
{
    if (weir_json_type(r->json, object) != WEIR_JSON_OBJECT) {
        return (struct weir_slice){0};
    }
    uint32_t at = weir_json_get_set(r->json, object, weir_slice_cstr(name));
    if (at == WEIR_JSON_NONE || weir_json_type(r->json, at) != WEIR_JSON_STRING) {
        return (struct weir_slice){0};
    }
    return weir_json_string(r->json, at, r->arena);
}

static void add_call(struct reading *r, size_t message, struct weir_slice id)
{
    if (id.p == NULL) {
        return;
    }
    if (weir_map_has(&r->calls, id)) {
        tell(r, message, "the id of this tool call is used twice", id);
        return;
    }
    struct call *call = weir_arena_zalloc(r->arena, sizeof *call);
    call->message = message;
    weir_map_put(&r->calls, id, call);
}

static void read_calls(struct reading *r, size_t message, uint32_t at)
{
    uint32_t calls = weir_json_get_set(r->json, at, WEIR_SLICE("tool_calls"));
    if (calls == WEIR_JSON_NONE || weir_json_type(r->json, calls) != WEIR_JSON_ARRAY) {
        return;
    }
    uint32_t call = weir_json_first(r->json, calls);
    for (; call != WEIR_JSON_NONE; call = weir_json_after(r->json, calls, call)) {
        add_call(r, message, string_of(r, call, "id"));
    }
}

static void read_result(struct reading *r, size_t message, uint32_t at)
{
    struct weir_slice id = string_of(r, at, "tool_call_id");
    struct call *call = id.p != NULL ? weir_map_get(&r->calls, id) : NULL;
    if (call == NULL) {
        tell(r, message, "no earlier tool call has this id",
             id.p != NULL ? id : WEIR_SLICE("(none)"));
    } else if (call->is_answered) {
        tell(r, message, "this tool call has a result already", id);
    } else {
        call->is_answered = true;
    }
}

void weir_history_check(struct weir_history *h, const struct weir_json *json, uint32_t messages,
                        struct weir_arena *arena)
{
    struct reading r = {.h = h, .json = json, .arena = arena};
    size_t i = 0;
    h->n = 0;
    uint32_t at = weir_json_first(json, messages);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, messages, at), i++) {
        struct weir_slice role = string_of(&r, at, "role");
        if (weir_slice_eq(role, WEIR_SLICE("assistant"))) {
            read_calls(&r, i, at);
        } else if (weir_slice_eq(role, WEIR_SLICE("tool"))) {
            read_result(&r, i, at);
        }
    }
    const struct weir_map_entry *e;
    for (size_t k = 0; (e = weir_map_next(&r.calls, &k)) != NULL;) {
        const struct call *call = e->value;
        if (!call->is_answered) {
            tell(&r, call->message, "this tool call has no result", e->key);
        }
    }
    weir_map_dispose(&r.calls);
}

struct weir_slice weir_history_warnings(const struct weir_history *h, struct weir_arena *arena)
{
    struct weir_buf out = {0};
    for (size_t i = 0; i < h->n; i++) {
        struct weir_json_write w;
        if (i != 0) {
            weir_buf_append_byte(&out, ',');
        }
        weir_json_write_init(&w, &out);
        weir_json_write_begin_object(&w);
        weir_json_write_key(&w, WEIR_SLICE("type"));
        weir_json_write_string(&w, WEIR_SLICE("HISTORY"));
        weir_json_write_key(&w, WEIR_SLICE("message"));
        weir_json_write_string(&w, weir_slice_cstr(h->problems[i]));
        weir_json_write_end_object(&w);
    }
    struct weir_slice text = weir_arena_take_buf(arena, &out);
    return text;
}
