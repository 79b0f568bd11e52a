/* Blocks of kinds that nobody here knows: JSON. */
#include "talk/tree.h"
#include "task/message_int.h"

size_t weir_msg__add_texts(struct weir_msg *m, const struct weir_json *json, uint32_t at,
                           struct weir_slice *texts)
{
    struct weir_tree tree;
    weir_tree_read(&tree, json, WEIR_JSON_NONE, at, WEIR_TREE_ANY, m->task->arena);
    texts[0] = weir_json_raw(json, at);
    texts[1] = tree.lines;
    return 2;
}

/* Such a block's events, read again: each is looked at by itself, and what a client would put
 * together of them as one text: strings of the same name, behind each other. */
struct any {
    struct weir_msg *m;
    struct weir_json *events;
    uint32_t *bodies; /* of each: the block, or the delta */
    size_t n;
    struct weir_slice *texts;
    size_t n_texts;
};

enum { MAX_NAMES = 16 }; /* of strings in such a block */

static uint32_t body_of(const struct weir_json *event)
{
    uint32_t block = weir_json_get_set(event, 0, WEIR_SLICE("content_block"));
    uint32_t delta = weir_json_get_set(event, 0, WEIR_SLICE("delta"));
    return block != WEIR_JSON_NONE ? block : delta != WEIR_JSON_NONE ? delta : 0;
}

static bool is_joined(const struct weir_json *json, uint32_t key)
{
    return weir_json_type(json, key + 1) == WEIR_JSON_STRING &&
           !weir_json_string_eq(json, key, WEIR_SLICE("type"));
}

/* The strings of that name in all events. */
static struct weir_slice join(const struct any *a, struct weir_slice name)
{
    struct weir_buf out = {0};
    for (size_t i = 0; i < a->n; i++) {
        uint32_t at = weir_json_get_set(&a->events[i], a->bodies[i], name);
        if (at != WEIR_JSON_NONE && weir_json_type(&a->events[i], at) == WEIR_JSON_STRING) {
            weir_json_string_append(&a->events[i], at, &out);
        }
    }
    return weir_arena_take_buf(a->m->task->arena, &out);
}

/* False: there are too many names. */
static bool join_all(struct any *a)
{
    struct weir_slice names[MAX_NAMES];
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct weir_json *json = &a->events[i];
        uint32_t key = weir_json_first(json, a->bodies[i]);
        for (; key != WEIR_JSON_NONE; key = weir_json_after(json, a->bodies[i], key)) {
            size_t k = 0;
            while (k < n && !weir_json_string_eq(json, key, names[k])) {
                k++;
            }
            if (k < n || !is_joined(json, key)) {
                continue;
            }
            if (n == MAX_NAMES) {
                return false;
            }
            names[n++] = weir_json_string(json, key, a->m->task->arena);
        }
    }
    for (size_t i = 0; i < n; i++) {
        a->texts[a->n_texts++] = join(a, names[i]);
    }
    return true;
}

static void read_any(struct any *a, struct weir_slice lines)
{
    struct weir_arena *arena = a->m->task->arena;
    size_t n_lines = 1;
    for (size_t i = 0; i < lines.n; i++) {
        n_lines += lines.p[i] == '\n';
    }
    a->events = weir_arena_array(arena, n_lines, sizeof *a->events);
    a->bodies = weir_arena_array(arena, n_lines, sizeof *a->bodies);
    a->texts = weir_arena_array(arena, 2 * n_lines + MAX_NAMES, sizeof *a->texts);
    lines = weir_arena_dup(arena, lines);
    while (lines.n != 0) {
        struct weir_json *json = &a->events[a->n];
        if (weir_json_parse(json, weir_slice_cut(&lines, '\n'), NULL, arena, NULL) == 0) {
            a->n_texts += weir_msg__add_texts(a->m, json, 0, &a->texts[a->n_texts]);
            a->bodies[a->n++] = body_of(json);
        }
    }
}

void weir_msg__close_any(struct weir_msg *m)
{
    struct any a = {.m = m};
    read_any(&a, weir_buf_slice(&m->block));
    if (!join_all(&a)) {
        weir_msg__fail_model(m, "a block of an unknown kind has too many members");
        return;
    }
    weir_row_judge(m->row, &(struct weir_row_judge){.line = {.tag = WEIR_MSG_WHOLE,
                                                             .number = m->index,
                                                             .json = weir_buf_slice(&m->block)},
                                                    .texts = a.texts,
                                                    .n_texts = a.n_texts,
                                                    .rule = WEIR_ROW_BLOCKS});
}
