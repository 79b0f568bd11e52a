/*
 * Members that nobody knows may be texts that come in pieces, as the content does: a string of one
 * event goes on in the next one's string of the same path. So these are looked at joined, too.
 *
 *   [{"delta":{"mood":"so"}},{"delta":{"mood":" so"}}]      /delta/mood: "so so"
 */
#include "base/map.h"
#include "base/utf8.h"
#include "talk/pointer.h"
#include "task/asked_int.h"
#include "task/called.h"

struct pieces {
    struct weir_buf text;
    struct weir_asked_piece *items;
    size_t n;
    size_t cap;
    size_t end_cp;
};

static void add_piece(struct weir_asked *a, struct pieces *p, uint32_t item, uint32_t node)
{
    struct weir_slice text = weir_json_string(a->o.walk->items[item].document, node, a->o.arena);
    size_t n_cp = weir_utf8_count(text);
    if (p->n == p->cap) {
        p->cap = p->cap != 0 ? p->cap * 2 : 4;
        struct weir_asked_piece *more = weir_arena_alloc(a->o.arena, p->cap * sizeof *more);
        if (p->n != 0) {
            memcpy(more, p->items, p->n * sizeof *more);
        }
        p->items = more;
    }
    p->items[p->n++] = (struct weir_asked_piece){
        .item = item, .node = node, .start_cp = p->end_cp, .end_cp = p->end_cp + n_cp};
    p->end_cp += n_cp;
    weir_buf_append(&p->text, text);
}

/* The path without its first step, which is the event's number. */
static struct weir_slice inner_path(struct weir_slice path)
{
    struct weir_slice rest = weir_slice_sub(path, 1, path.n);
    return weir_slice_sub(rest, weir_slice_find(rest, '/'), rest.n);
}

static void add_leaf(struct weir_asked *a, struct weir_map *by_path, struct weir_slice path,
                     const struct weir_asked_piece *leaf)
{
    struct weir_slice key = inner_path(path);
    struct pieces *p = weir_map_get(by_path, key);
    if (p == NULL) {
        p = weir_arena_zalloc(a->o.arena, sizeof *p);
        weir_map_put(by_path, weir_arena_dup(a->o.arena, key), p);
    }
    add_piece(a, p, leaf->item, leaf->node);
}

static const struct weir_tree *tree_of(const struct weir_asked *a, uint32_t item)
{
    for (size_t i = 0; i < a->n_views; i++) {
        if (a->views[i].item == item && a->views[i].kind == WEIR_ASKED_LINES) {
            return a->views[i].tree;
        }
    }
    return NULL;
}

void weir_called__join(struct weir_asked *a, uint32_t item)
{
    const struct weir_tree *tree = tree_of(a, item);
    struct weir_map by_path = {0};
    struct weir_map_entry *e;
    struct weir_buf path = {0};
    struct weir_pointer pointer = {.arena = a->o.arena};
    for (size_t i = 0; tree != NULL && i < tree->n; i++) {
        uint32_t node = tree->places[i].node;
        if (tree->places[i].is_key || weir_json_type(tree->json, node) != WEIR_JSON_STRING) {
            continue;
        }
        pointer.json = tree->json;
        weir_buf_clear(&path);
        weir_pointer_append(&pointer, node, &path);
        add_leaf(a, &by_path, weir_buf_slice(&path),
                 &(struct weir_asked_piece){.item = item, .node = node});
    }
    for (size_t i = 0; (e = weir_map_next(&by_path, &i)) != NULL;) {
        struct pieces *p = e->value;
        if (p->n > 1) {
            struct weir_slice text = weir_arena_dup(a->o.arena, weir_buf_slice(&p->text));
            weir_asked__add_joined(a, text, p->items, p->n);
        }
        weir_buf_dispose(&p->text);
    }
    weir_buf_dispose(&path);
    weir_map_dispose(&by_path);
}
