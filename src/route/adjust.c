#include "route/adjust.h"

#include "base/err.h"
#include "route/canary.h"
#include "route/history.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

enum { MAX_SHOWN_BYTES = 32 }; /* of a caller's own value in a warning */

static void warn(struct weir_buf *out, const char *type, const char *message)
{
    struct weir_json_write w;
    if (out->n != 0) {
        weir_buf_append_byte(out, ',');
    }
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("type"));
    weir_json_write_string(&w, weir_slice_cstr(type));
    weir_json_write_key(&w, WEIR_SLICE("message"));
    weir_json_write_string(&w, weir_slice_cstr(message));
    weir_json_write_end_object(&w);
}

/* ---- how much the model may write ---- */

static const char *const limit_names[] = {"max_completion_tokens", "max_tokens",
                                          "max_output_tokens", "n_predict"};

/* Servers differ in what they make of a text, of a fraction and of -1: only a plain number that is
 * within the cap is one. */
static bool is_within(const struct weir_json *j, uint32_t at, uint32_t cap)
{
    uint64_t n;
    return weir_json_type(j, at) == WEIR_JSON_NUMBER && weir_json_u64(j, at, &n) == 0 && n <= cap;
}

/* True: the request says something of that name. */
static bool limit_member(struct weir_json_edit *e, const struct weir_adjust_options *o,
                         const char *name, struct weir_buf *warnings, struct weir_arena *arena)
{
    const struct weir_json *j = e->doc;
    uint32_t at = weir_json_get_set(j, 0, weir_slice_cstr(name));
    uint32_t cap = o->max_tokens.cap;
    if (at == WEIR_JSON_NONE) {
        return false;
    }
    if (cap != 0 && !is_within(j, at, cap)) {
        struct weir_slice was = weir_json_raw(j, at);
        bool is_number = weir_json_type(j, at) == WEIR_JSON_NUMBER && was.n <= MAX_SHOWN_BYTES;
        weir_json_edit_replace(e, at, weir_slice_cstr(weir_arena_printf(arena, "%u", cap)));
        warn(warnings, "MAX_TOKENS",
             is_number ? weir_arena_printf(arena, "`%s` was %.*s, it is limited to %u", name,
                                           (int)was.n, was.p, cap)
                       : weir_arena_printf(arena, "`%s` is limited to %u", name, cap));
    }
    return true;
}

static void limit_tokens(struct weir_json_edit *edit, const struct weir_adjust_options *options,
                         struct weir_buf *warnings, struct weir_arena *arena)
{
    const struct weir_conf_max_tokens *limit = &options->max_tokens;
    uint32_t n = limit->fallback != 0 ? limit->fallback : limit->cap;
    bool has_any = false;
    if (n == 0) {
        return;
    }
    for (size_t i = 0; i < sizeof limit_names / sizeof limit_names[0]; i++) {
        has_any = limit_member(edit, options, limit_names[i], warnings, arena) || has_any;
    }
    if (!has_any) {
        const char *usual = options->is_chat ? "max_completion_tokens" : "max_tokens";
        struct weir_slice name = weir_slice_cstr(options->member != NULL ? options->member : usual);
        weir_json_edit_set(edit, 0, name, weir_slice_cstr(weir_arena_printf(arena, "%u", n)));
    }
}

/* ---- all of it ---- */

static const char *merge(struct weir_json_edit *e, struct weir_buf *warnings,
                         struct weir_arena *arena)
{
    struct weir_history_merge m;
    uint32_t messages = weir_json_get_set(e->doc, 0, WEIR_SLICE("messages"));
    if (messages == WEIR_JSON_NONE || weir_json_type(e->doc, messages) != WEIR_JSON_ARRAY) {
        return NULL;
    }
    weir_history_merge(&m, messages, e, arena);
    for (size_t i = 0; i < m.said.n; i++) {
        warn(warnings, "HISTORY", m.said.problems[i]);
    }
    return m.conflict;
}

/* The changed request; NULL, which cannot be: what was read once is read again. */
static const struct weir_json *read_again(struct weir_json_edit *e,
                                          const struct weir_json_limits *limits,
                                          struct weir_arena *arena)
{
    struct weir_buf text = {0};
    struct weir_json *json = weir_arena_zalloc(arena, sizeof *json);
    int rc = weir_json_edit_write(e, &text);
    if (rc == 0) {
        rc = weir_json_parse(json, weir_arena_take_buf(arena, &text), limits, arena, NULL);
    }
    weir_buf_dispose(&text);
    return rc == 0 ? json : NULL;
}

struct weir_adjust weir_adjust(const struct weir_json *request,
                               const struct weir_adjust_options *options, struct weir_arena *arena)
{
    struct weir_adjust out = {.json = request};
    struct weir_json_edit edit = {0};
    struct weir_buf warnings = {0};
    if (weir_json_type(request, 0) != WEIR_JSON_OBJECT) {
        return out;
    }
    weir_json_edit_begin(&edit, request);
    limit_tokens(&edit, options, &warnings, arena);
    if (options->merges_history) {
        out.conflict = merge(&edit, &warnings, arena);
    }
    if (options->canary.n != 0) {
        weir_canary_append(&edit, options->canary, arena);
    }
    if (edit.n != 0 && out.conflict == NULL) {
        out.json = read_again(&edit, &options->limits, arena);
        out.conflict = out.json == NULL ? "the request cannot be changed as configured" : NULL;
    }
    out.warnings = weir_arena_take_buf(arena, &warnings);
    weir_json_edit_dispose(&edit);
    return out;
}
