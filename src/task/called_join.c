/*
 * Members that nobody knows may be texts that come in pieces, as the content does: a string of one
 * event goes on in the next one's string of the same path. So these are looked at joined, too.
 *
 *   [{"delta":{"mood":"so"}},{"delta":{"mood":" so"}}]      /delta/mood: "so so"
 *
 * Clients put the entries of lists together by their `index`, where they have one; so does this.
 */
#include "base/map.h"
#include "base/utf8.h"
#include "talk/unknown.h"
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

struct joining {
    struct weir_asked *a;
    const struct weir_json *json;
    uint32_t item;
    struct weir_map by_path;
    struct weir_buf path;
};

static void add_leaf(struct joining *j, uint32_t node)
{
    struct weir_slice key = weir_buf_slice(&j->path);
    struct pieces *p = weir_map_get(&j->by_path, key);
    if (p == NULL) {
        p = weir_arena_zalloc(j->a->o.arena, sizeof *p);
        weir_map_put(&j->by_path, weir_arena_dup(j->a->o.arena, key), p);
    }
    add_piece(j->a, p, j->item, node);
}

static uint64_t place_of(const struct joining *j, uint32_t entry, uint64_t position)
{
    uint64_t index;
    uint32_t at = weir_json_type(j->json, entry) == WEIR_JSON_OBJECT
                      ? weir_json_get_set(j->json, entry, WEIR_SLICE("index"))
                      : WEIR_JSON_NONE;
    return at != WEIR_JSON_NONE && weir_json_u64(j->json, at, &index) == 0 ? index : position;
}

/* As deep as JSON that was read may be. */
static void add_all(struct joining *j, uint32_t node)
{
    const struct weir_json *json = j->json;
    enum weir_json_type type = weir_json_type(json, node);
    size_t n_path = j->path.n;
    uint64_t position = 0;
    if (type == WEIR_JSON_STRING) {
        add_leaf(j, node);
    }
    if (type != WEIR_JSON_OBJECT && type != WEIR_JSON_ARRAY) {
        return;
    }
    uint32_t at = weir_json_first(json, node);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, node, at), position++) {
        if (type == WEIR_JSON_OBJECT) {
            weir_json_string_append(json, at, &j->path);
            weir_buf_append_byte(&j->path, '\0');
            add_all(j, at + 1);
        } else {
            weir_buf_printf(&j->path, "%llu", (unsigned long long)place_of(j, at, position));
            weir_buf_append_byte(&j->path, '\0');
            add_all(j, at);
        }
        j->path.n = n_path;
    }
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

bool weir_called__join(struct weir_asked *a, uint32_t item)
{
    const struct weir_tree *tree = tree_of(a, item);
    struct joining j = {.a = a, .item = item};
    struct weir_map_entry *e;
    bool has_media = false;
    if (tree == NULL) {
        return false;
    }
    j.json = tree->json;
    uint32_t event = weir_json_first(j.json, 0);
    for (; event != WEIR_JSON_NONE; event = weir_json_after(j.json, 0, event)) {
        add_all(&j, event);
    }
    for (size_t i = 0; (e = weir_map_next(&j.by_path, &i)) != NULL;) {
        struct pieces *p = e->value;
        has_media = has_media || weir_unknown_is_data_url(weir_buf_slice(&p->text));
        if (p->n > 1) {
            struct weir_slice text = weir_arena_dup(a->o.arena, weir_buf_slice(&p->text));
            weir_asked__add_joined(a, text, p->items, p->n);
        }
        weir_buf_dispose(&p->text);
    }
    weir_buf_dispose(&j.path);
    weir_map_dispose(&j.by_path);
    return has_media;
}
