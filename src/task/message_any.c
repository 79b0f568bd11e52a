/* Blocks of kinds that nobody here knows: JSON. */
#include "task/message_int.h"

enum { MAX_NAMES = 64 }; /* of strings in such a block */

/* Such a block's events, read again: each is looked at by itself, and what a client might put
 * together of them as one text: strings of the same name, at any depth, behind each other, and all
 * strings. */
struct any {
    struct weir_arena arena; /* until the row has them */
    struct weir_slice *texts;
    size_t n_texts;
    struct {
        struct weir_slice name;
        struct weir_buf text;
    } joined[MAX_NAMES];
    size_t n_joined;
    struct weir_buf all;
};

/* False: there are too many names. */
static bool add_string(struct any *a, const struct weir_json *json, uint32_t key, uint32_t at)
{
    size_t k = 0;
    if (weir_json_string_eq(json, key, WEIR_SLICE("type"))) {
        return true;
    }
    while (k < a->n_joined && !weir_json_string_eq(json, key, a->joined[k].name)) {
        k++;
    }
    if (k == MAX_NAMES) {
        return false;
    }
    if (k == a->n_joined) {
        a->joined[a->n_joined++].name = weir_json_string(json, key, &a->arena);
    }
    weir_json_string_append(json, at, &a->joined[k].text);
    weir_json_string_append(json, at, &a->all);
    return true;
}

/* The strings below `at`, which stands in the member `key`. As deep as JSON that was read may be.
 */
static bool add_strings(struct any *a, const struct weir_json *json, uint32_t key, uint32_t at)
{
    enum weir_json_type type = weir_json_type(json, at);
    bool is_good = true;
    if (type == WEIR_JSON_STRING) {
        return add_string(a, json, key, at);
    }
    if (type != WEIR_JSON_OBJECT && type != WEIR_JSON_ARRAY) {
        return true;
    }
    uint32_t next = weir_json_first(json, at);
    for (; is_good && next != WEIR_JSON_NONE; next = weir_json_after(json, at, next)) {
        is_good = type == WEIR_JSON_OBJECT ? add_strings(a, json, next, next + 1)
                                           : add_strings(a, json, key, next);
    }
    return is_good;
}

/* False: as above, or one of them cannot be read again. */
static bool read_any(struct any *a, struct weir_slice lines)
{
    struct weir_arena *arena = &a->arena;
    size_t n_lines = 1;
    bool is_good = true;
    for (size_t i = 0; i < lines.n; i++) {
        n_lines += lines.p[i] == '\n';
    }
    a->texts = weir_arena_array(arena, 2 * n_lines + MAX_NAMES + 1, sizeof *a->texts);
    lines = weir_arena_dup(arena, lines);
    while (is_good && lines.n != 0) {
        struct weir_json json;
        is_good = weir_json_parse(&json, weir_slice_cut(&lines, '\n'), NULL, arena, NULL) == 0 &&
                  weir_json_type(&json, 0) == WEIR_JSON_OBJECT;
        if (is_good) {
            a->n_texts += weir_rowed_texts(arena, &json, 0, &a->texts[a->n_texts]);
            is_good = add_strings(a, &json, 0, 0);
        }
    }
    for (size_t i = 0; i < a->n_joined; i++) {
        a->texts[a->n_texts++] = weir_arena_take_buf(arena, &a->joined[i].text);
    }
    a->texts[a->n_texts++] = weir_arena_take_buf(arena, &a->all);
    return is_good;
}

void weir_msg__close_any(struct weir_msg *m)
{
    struct any a = {.arena = {.account = m->base.stream.task->arena->account}};
    if (read_any(&a, weir_buf_slice(&m->block))) {
        weir_row_judge(m->base.row,
                       &(struct weir_row_judge){.line = {.tag = WEIR_MSG_WHOLE,
                                                         .number = m->index,
                                                         .json = weir_buf_slice(&m->block)},
                                                .texts = a.texts,
                                                .n_texts = a.n_texts,
                                                .rule = WEIR_ROW_BLOCKS});
    } else {
        weir_rowed_fail_model(&m->base, "a block of an unknown kind has too many members");
    }
    weir_arena_dispose(&a.arena);
}
