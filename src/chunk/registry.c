#include "chunk/registry.h"

#include "base/err.h"
#include "chunk/paragraph.h"
#include "chunk/sentence.h"
#include "chunk/whole.h"
#include "chunk/window.h"

static const struct weir_chunk_kind *const kinds[] = {
    &weir_chunk_sentence_kind,
    &weir_chunk_paragraph_kind,
    &weir_chunk_window_kind,
    &weir_chunk_whole_kind,
};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

const char *weir_chunk_builtin_name(size_t i)
{
    return i < N_KINDS ? kinds[i]->name : NULL;
}

static const struct weir_chunk_kind *find(struct weir_slice name)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        if (weir_slice_eq_cstr(name, kinds[i]->name)) {
            return kinds[i];
        }
    }
    return NULL;
}

int weir_chunk_read_number(const struct weir_json *params, const struct weir_chunk_number *number,
                           size_t *value, struct weir_buf *why)
{
    uint32_t at = weir_json_get_set(params, 0, weir_slice_cstr(number->name));
    uint64_t given = 0;
    if (at == WEIR_JSON_NONE) {
        return 0;
    }
    bool is_number =
        weir_json_type(params, at) == WEIR_JSON_NUMBER && weir_json_u64(params, at, &given) == 0;
    if (!is_number || given < number->least || given > number->most) {
        weir_buf_printf(why, "`%s` must be an integer from %zu to %zu", number->name, number->least,
                        number->most);
        return WEIR_EINVAL;
    }
    *value = (size_t)given;
    return 0;
}

static bool is_member(const struct weir_chunk_kind *kind, const struct weir_json *j, uint32_t key)
{
    for (const char *const *m = kind->members; *m != NULL; m++) {
        if (weir_json_string_eq(j, key, weir_slice_cstr(*m))) {
            return true;
        }
    }
    return false;
}

static int check_members(const struct weir_chunk_kind *kind, const struct weir_json *j,
                         struct weir_buf *why)
{
    if (weir_json_type(j, 0) != WEIR_JSON_OBJECT) {
        weir_buf_printf(why, "its parameters are not an object");
        return WEIR_EINVAL;
    }
    for (uint32_t key = weir_json_first(j, 0); key != WEIR_JSON_NONE;
         key = weir_json_after(j, 0, key)) {
        if (!is_member(kind, j, key)) {
            struct weir_slice name = weir_json_raw(j, key);
            weir_buf_printf(why, "`%.*s` is not a parameter of `%s`", (int)name.n - 2, name.p + 1,
                            kind->name);
            return WEIR_EINVAL;
        }
    }
    return 0;
}

struct made {
    const struct weir_chunk_kind *kind;
    struct weir_chunker *chunker;
};

static void dispose(void *ctx)
{
    const struct made *made = ctx;
    made->kind->dispose(made->chunker);
}

static struct weir_chunker *make(struct weir_arena *arena, const struct weir_chunk_kind *kind,
                                 struct weir_slice id, const struct weir_json *params,
                                 struct weir_buf *why)
{
    struct made *made = weir_arena_alloc(arena, sizeof *made);
    *made = (struct made){kind, weir_arena_zalloc(arena, kind->n_bytes)};
    if (kind->dispose != NULL) {
        weir_arena_defer(arena, dispose, made);
    }
    return kind->init(made->chunker, id, params, why) == 0 ? made->chunker : NULL;
}

const struct weir_chunker *weir_chunk_builtin_new(struct weir_arena *arena,
                                                  const struct weir_chunk_builtin_options *options,
                                                  struct weir_buf *why)
{
    const struct weir_chunk_kind *kind = find(options->kind);
    struct weir_slice text = options->params.n != 0 ? options->params : WEIR_SLICE("{}");
    struct weir_json params;
    if (kind == NULL) {
        weir_buf_printf(why, "there is no built-in chunker `%.*s`", (int)options->kind.n,
                        options->kind.p);
        return NULL;
    }
    if (weir_json_parse(&params, text, NULL, arena, NULL) != 0) {
        weir_buf_printf(why, "its parameters are not JSON");
        return NULL;
    }
    return check_members(kind, &params, why) == 0 ? make(arena, kind, options->id, &params, why)
                                                  : NULL;
}
