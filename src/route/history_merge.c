/*
 * Merging is one walk over the messages, first to last. A call or a result is looked up by its id:
 *
 *   not seen yet                 kept
 *   the same as the one seen     taken out, and told
 *   another under the same id    a conflict, which ends the walk
 *
 * A message that says nothing any more goes with its last call, and so does one that says what the
 * message kept before it says. What is left has nothing more to merge.
 */
#include "base/map.h"
#include "base/utf8.h"
#include "route/history.h"

#include <stdbool.h>

enum { MAX_ID_BYTES = 64 }; /* of an id as a warning shows it */

struct walk {
    struct weir_history_merge *m;
    const struct weir_json *json;
    struct weir_json_edit *edit;
    struct weir_arena *arena;
    struct weir_map calls;   /* by id: the node of a call, boxed */
    struct weir_map results; /* by id: the node of a message, boxed */
    uint32_t last;           /* message kept before; NONE at first */
    bool last_has_calls;     /* of which some stay */
};

static const char *about(struct walk *w, size_t message, const char *what, struct weir_slice id)
{
    size_t n = weir_utf8_floor(id, MAX_ID_BYTES);
    return n == 0 ? weir_arena_printf(w->arena, "messages[%zu]: %s", message, what)
                  : weir_arena_printf(w->arena, "messages[%zu]: %s: `%.*s`", message, what, (int)n,
                                      id.p);
}

static void tell(struct walk *w, size_t message, const char *what, struct weir_slice id)
{
    struct weir_history *said = &w->m->said;
    if (said->n < WEIR_HISTORY_MAX_PROBLEMS) {
        said->problems[said->n++] = about(w, message, what, id);
    }
    w->m->n_merged++;
}

static bool is_string(const struct walk *w, uint32_t at)
{
    return at != WEIR_JSON_NONE && weir_json_type(w->json, at) == WEIR_JSON_STRING;
}

static uint32_t member(const struct walk *w, uint32_t object, const char *name)
{
    return weir_json_get_set(w->json, object, weir_slice_cstr(name));
}

static bool has_role(const struct walk *w, uint32_t message, const char *role)
{
    uint32_t at = member(w, message, "role");
    return is_string(w, at) && weir_json_string_eq(w->json, at, weir_slice_cstr(role));
}

static bool are_same(const struct walk *w, uint32_t a, uint32_t b)
{
    if (a == WEIR_JSON_NONE || b == WEIR_JSON_NONE) {
        return a == b;
    }
    return weir_json_equal(w->json, a, w->json, b);
}

/* Name and arguments decide; a call of another kind must be the same altogether. */
static bool are_same_calls(const struct walk *w, uint32_t a, uint32_t b)
{
    uint32_t fa = member(w, a, "function");
    uint32_t fb = member(w, b, "function");
    if (fa == WEIR_JSON_NONE || fb == WEIR_JSON_NONE) {
        return are_same(w, a, b);
    }
    return are_same(w, member(w, fa, "name"), member(w, fb, "name")) &&
           are_same(w, member(w, fa, "arguments"), member(w, fb, "arguments"));
}

enum seen { NEW, REPEATED, CONFLICTING };

typedef bool same_fn(const struct walk *w, uint32_t a, uint32_t b);

static enum seen look_up(struct walk *w, struct weir_map *map, uint32_t at, uint32_t id,
                         same_fn *are_equal)
{
    struct weir_slice key = weir_json_string(w->json, id, w->arena);
    const uint32_t *before = weir_map_get(map, key);
    if (before != NULL) {
        return are_equal(w, *before, at) ? REPEATED : CONFLICTING;
    }
    uint32_t *boxed = weir_arena_alloc(w->arena, sizeof *boxed);
    *boxed = at;
    weir_map_put(map, key, boxed);
    return NEW;
}

static void conflict(struct walk *w, size_t message, const char *what, uint32_t id)
{
    if (w->m->conflict == NULL) {
        w->m->conflict = about(w, message, what, weir_json_string(w->json, id, w->arena));
    }
}

/* The calls of a message and which of them are repeated. */
struct calls {
    uint32_t list; /* NONE: it has none */
    uint32_t *repeated;
    size_t n_repeated;
    size_t n;
};

static void read_calls(struct walk *w, size_t i, uint32_t message, struct calls *out)
{
    const struct weir_json *j = w->json;
    out->list = has_role(w, message, "assistant") ? member(w, message, "tool_calls")
                                                  : (uint32_t)WEIR_JSON_NONE;
    if (out->list == WEIR_JSON_NONE || weir_json_type(j, out->list) != WEIR_JSON_ARRAY) {
        out->list = WEIR_JSON_NONE;
        return;
    }
    out->n = j->nodes[out->list].n;
    out->repeated = weir_arena_array(w->arena, out->n, sizeof *out->repeated);
    uint32_t call = weir_json_first(j, out->list);
    for (; call != WEIR_JSON_NONE; call = weir_json_after(j, out->list, call)) {
        uint32_t id = member(w, call, "id");
        enum seen seen = is_string(w, id) ? look_up(w, &w->calls, call, id, are_same_calls) : NEW;
        if (seen == REPEATED) {
            out->repeated[out->n_repeated++] = call;
        } else if (seen == CONFLICTING) {
            conflict(w, i, "an earlier tool call with this id says something else", id);
        }
    }
}

static bool is_empty(const struct walk *w, uint32_t value)
{
    enum weir_json_type type = weir_json_type(w->json, value);
    bool is_sized = type == WEIR_JSON_STRING || type == WEIR_JSON_ARRAY;
    return type == WEIR_JSON_NULL || (is_sized && w->json->nodes[value].n == 0);
}

/* Does it say anything besides its calls? */
static bool is_silent(const struct walk *w, uint32_t message)
{
    const struct weir_json *j = w->json;
    uint32_t k = weir_json_first(j, message);
    for (; k != WEIR_JSON_NONE; k = weir_json_after(j, message, k)) {
        bool is_frame = weir_json_string_eq(j, k, WEIR_SLICE("role")) ||
                        weir_json_string_eq(j, k, WEIR_SLICE("tool_calls"));
        if (!is_frame && !is_empty(w, k + 1)) {
            return false;
        }
    }
    return true;
}

/* The same but for `tool_calls`? */
static bool are_same_words(const struct walk *w, uint32_t a, uint32_t b)
{
    const struct weir_json *j = w->json;
    struct weir_slice calls = WEIR_SLICE("tool_calls");
    uint32_t n_a = j->nodes[a].n - (weir_json_get(j, a, calls) != WEIR_JSON_NONE);
    uint32_t n_b = j->nodes[b].n - (weir_json_get(j, b, calls) != WEIR_JSON_NONE);
    bool is_same = n_a == n_b;
    uint32_t k = weir_json_first(j, a);
    for (; is_same && k != WEIR_JSON_NONE; k = weir_json_after(j, a, k)) {
        is_same = weir_json_string_eq(j, k, calls) ||
                  are_same(w, k + 1, weir_json_get(j, b, weir_json_string(j, k, w->arena)));
    }
    return is_same;
}

static bool repeats_last(const struct walk *w, uint32_t message, bool has_calls)
{
    const struct weir_json *j = w->json;
    if (w->last == WEIR_JSON_NONE || weir_json_type(j, w->last) != WEIR_JSON_OBJECT) {
        return false;
    }
    return are_same(w, w->last, message) ||
           (!has_calls && !w->last_has_calls && are_same_words(w, w->last, message));
}

/* True: the message is a result that was there already. */
static bool is_old_result(struct walk *w, size_t i, uint32_t message)
{
    uint32_t id = member(w, message, "tool_call_id");
    if (!has_role(w, message, "tool") || !is_string(w, id)) {
        return false;
    }
    uint32_t content = member(w, message, "content");
    if (content == WEIR_JSON_NONE) {
        return false; /* without content there is nothing to compare */
    }
    enum seen seen = look_up(w, &w->results, content, id, are_same);
    if (seen == CONFLICTING) {
        conflict(w, i, "an earlier result with this id says something else", id);
    } else if (seen == REPEATED) {
        tell(w, i, "this result was left out, it repeats an earlier one",
             weir_json_string(w->json, id, w->arena));
    }
    return seen == REPEATED;
}

static void drop_calls(struct walk *w, size_t i, const struct calls *calls)
{
    bool is_all = calls->n_repeated == calls->n;
    for (size_t k = 0; k < calls->n_repeated; k++) {
        uint32_t id = member(w, calls->repeated[k], "id");
        tell(w, i, "this tool call was left out, it repeats an earlier one",
             weir_json_string(w->json, id, w->arena));
        if (!is_all) {
            weir_json_edit_remove(w->edit, calls->repeated[k]);
        }
    }
    if (is_all) {
        weir_json_edit_remove(w->edit, calls->list);
    }
}

static void visit(struct walk *w, size_t i, uint32_t message)
{
    struct calls calls = {.list = WEIR_JSON_NONE};
    if (weir_json_type(w->json, message) != WEIR_JSON_OBJECT) {
        w->last = message;
        return;
    }
    read_calls(w, i, message, &calls);
    bool has_calls = calls.n > calls.n_repeated;
    bool is_gone = calls.n_repeated != 0 && !has_calls && is_silent(w, message);
    if (is_old_result(w, i, message)) {
        weir_json_edit_remove(w->edit, message);
    } else if (is_gone || repeats_last(w, message, has_calls)) {
        tell(w, i, "this message was left out, it repeats what came before",
             (struct weir_slice){0});
        weir_json_edit_remove(w->edit, message);
    } else {
        if (calls.n_repeated != 0) {
            drop_calls(w, i, &calls);
        }
        w->last = message;
        w->last_has_calls = has_calls;
    }
}

void weir_history_merge(struct weir_history_merge *m, uint32_t messages,
                        struct weir_json_edit *edit, struct weir_arena *arena)
{
    struct walk w = {.m = m, .json = edit->doc, .edit = edit, .arena = arena};
    size_t i = 0;
    *m = (struct weir_history_merge){0};
    w.last = WEIR_JSON_NONE;
    uint32_t at = weir_json_first(w.json, messages);
    for (; at != WEIR_JSON_NONE && m->conflict == NULL;
         at = weir_json_after(w.json, messages, at), i++) {
        visit(&w, i, at);
    }
    weir_map_dispose(&w.calls);
    weir_map_dispose(&w.results);
}
