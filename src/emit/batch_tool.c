/*
 * Tool calls put together from fragments: id, type and name are the first that are not empty,
 * arguments are joined, members nobody knows are kept as they came last. Used by packs where tool
 * fragments are batched and by the gate.
 */
#include "base/map.h"
#include "base/mem.h"
#include "emit/batch_int.h"
#include "emit/jsonhash.h"

#include <stdlib.h>

struct weir_batch__tool *weir_batch__tool_new(struct weir_batch *b, struct weir_batch__tools *t,
                                              uint32_t index)
{
    struct weir_batch__tool *tool = weir_mem_zalloc(sizeof *tool);
    tool->index = tool->up_index = index;
    tool->t_first = b->now;
    tool->seq_new = b->seq;
    tool->more.is_shadow = tool->function_more.is_shadow = b->is_shadow;
    weir_list_append(&t->list, &tool->link);
    t->n++;
    return tool;
}

size_t weir_batch__tool_bytes(const struct weir_batch__tool *tool)
{
    return tool->id.n + tool->type.n + tool->name.n + tool->args.n + tool->more.n_bytes +
           tool->function_more.n_bytes;
}

void weir_batch__tool_free(struct weir_batch__tools *t, struct weir_batch__tool *tool)
{
    weir_list_remove(&tool->link);
    t->n--;
    t->n_bytes -= weir_batch__tool_bytes(tool);
    weir_buf_dispose(&tool->id);
    weir_buf_dispose(&tool->type);
    weir_buf_dispose(&tool->name);
    weir_buf_dispose(&tool->args);
    weir_members_dispose(&tool->more);
    weir_members_dispose(&tool->function_more);
    free(tool);
}

void weir_batch__tools_clear(struct weir_batch__tools *t)
{
    struct weir_list *link;
    while ((link = weir_list_first(&t->list)) != NULL) {
        weir_batch__tool_free(t, WEIR_LIST_ENTRY(link, struct weir_batch__tool, link));
    }
}

struct weir_batch__tool *weir_batch__tool_find(const struct weir_batch__tools *t, uint32_t up_index)
{
    if (weir_list_is_empty(&t->list)) {
        return NULL;
    }
    for (struct weir_list *link = t->list.prev; link != &t->list; link = link->prev) {
        struct weir_batch__tool *tool = WEIR_LIST_ENTRY(link, struct weir_batch__tool, link);
        if (tool->up_index == up_index) {
            return tool;
        }
    }
    return NULL;
}

uint32_t weir_batch__frag_index(const struct weir_batch__frag *frag, uint32_t *last)
{
    *last = frag->index != WEIR_JSON_NONE ? frag->index : *last;
    return *last;
}

static uint64_t string_hash(struct weir_batch *b, const struct weir_json *j, uint32_t at)
{
    return weir_map_hash(weir_batch__text(b, j, at));
}

/* One text spelled in two ways? Equal keyed hashes of the unescaped texts say so unless both are
 * spelled plainly, and then the bytes do. */
static bool is_same_spelling(struct weir_slice x, struct weir_slice y)
{
    return weir_slice_eq(x, y) || (x.n != 0 && memchr(x.p, '\\', x.n) != NULL) ||
           (y.n != 0 && memchr(y.p, '\\', y.n) != NULL);
}

/* Is a string of the chunk what was kept (or hashed) of an earlier one? */
static bool is_string(struct weir_batch *b, const struct weir_buf *kept, uint64_t hash,
                      const struct weir_json *j, uint32_t at)
{
    return string_hash(b, j, at) == hash &&
           (b->is_shadow || is_same_spelling(weir_buf_slice(kept), weir_batch__inner(j, at)));
}

bool weir_batch__tool_differs(struct weir_batch *b, const struct weir_batch__tool *tool,
                              const struct weir_batch__input *in,
                              const struct weir_batch__frag *frag)
{
    bool is_other_id = frag->id != WEIR_JSON_NONE && tool->has_id &&
                       !is_string(b, &tool->id, tool->id_hash, in->j, frag->id);
    bool is_other_name = frag->name != WEIR_JSON_NONE && tool->has_name &&
                         !is_string(b, &tool->name, tool->name_hash, in->j, frag->name);
    return is_other_id || is_other_name;
}

bool weir_batch__tool_is_id(struct weir_batch *b, const struct weir_batch__tool *tool,
                            const struct weir_batch__tool *other)
{
    return tool->has_id && other->has_id && tool->id_hash == other->id_hash &&
           (b->is_shadow ||
            is_same_spelling(weir_buf_slice(&tool->id), weir_buf_slice(&other->id)));
}

static void keep_more(struct weir_batch *b, struct weir_members *m, const struct weir_json *j,
                      uint32_t object, const struct weir_slice known[4])
{
    for (uint32_t k = object + 1; k < j->nodes[object].next; k = j->nodes[k + 1].next) {
        struct weir_slice name = weir_batch__key(b, j, k);
        bool is_known = weir_slice_eq(name, known[0]) || weir_slice_eq(name, known[1]) ||
                        weir_slice_eq(name, known[2]) || weir_slice_eq(name, known[3]);
        if (!is_known && weir_json_type(j, k + 1) != WEIR_JSON_NULL) {
            struct weir_member_source from = {j, k + 1, &b->scratch, &b->tape_again};
            weir_members_put(m, name, WEIR_MEMBER_LATEST, &from);
        }
    }
}

static void append_args(struct weir_batch *b, struct weir_batch__tool *tool,
                        const struct weir_json *j, uint32_t at)
{
    struct weir_slice text = weir_batch__text(b, j, at);
    weir_argscan_feed(&tool->scan, text);
    tool->args_hash = weir_jsonhash_extend(tool->args_hash, text);
    tool->n_args += text.n;
    if (!b->is_shadow) {
        weir_batch__put(&tool->args, weir_batch__inner(j, at));
    }
}

static void keep_names(struct weir_batch *b, struct weir_batch__tool *tool,
                       const struct weir_json *j, const struct weir_batch__frag *frag)
{
    if (frag->id != WEIR_JSON_NONE && !tool->has_id) {
        tool->has_id = true;
        tool->id_hash = string_hash(b, j, frag->id);
        if (!b->is_shadow) {
            weir_batch__put(&tool->id, weir_batch__inner(j, frag->id));
        }
    }
    if (frag->name != WEIR_JSON_NONE && !tool->has_name) {
        tool->has_name = true;
        tool->name_hash = string_hash(b, j, frag->name);
        if (!b->is_shadow) {
            weir_batch__put(&tool->name, weir_batch__inner(j, frag->name));
        }
    }
    if (frag->type != WEIR_JSON_NONE && !tool->has_type) {
        tool->has_type = true;
        if (!b->is_shadow) {
            weir_batch__put(&tool->type, weir_batch__inner(j, frag->type));
        }
    }
}

void weir_batch__tool_append(struct weir_batch *b, struct weir_batch__tools *t,
                             struct weir_batch__tool *tool, const struct weir_batch__input *in,
                             const struct weir_batch__frag *frag)
{
    static const struct weir_slice entry_names[4] = {
        {"index", 5}, {"id", 2}, {"type", 4}, {"function", 8}};
    static const struct weir_slice function_names[4] = {
        {"name", 4}, {"arguments", 9}, {"name", 4}, {"name", 4}};
    const struct weir_json *j = in->j;
    size_t before = weir_batch__tool_bytes(tool);
    tool->seq = b->seq;
    keep_names(b, tool, j, frag);
    keep_more(b, &tool->more, j, frag->entry, entry_names);
    if (frag->function != WEIR_JSON_NONE) {
        keep_more(b, &tool->function_more, j, frag->function, function_names);
    }
    if (frag->args != WEIR_JSON_NONE) {
        append_args(b, tool, j, frag->args);
    }
    t->n_bytes += weir_batch__tool_bytes(tool) - before;
}

/* Reads back what was kept raw. */
static struct weir_slice unescape(struct weir_batch *b, const struct weir_buf *raw,
                                  struct weir_buf *out)
{
    struct weir_json j;
    struct weir_buf quoted = {0};
    weir_batch__put(&quoted, WEIR_SLICE("\""));
    weir_batch__put(&quoted, weir_buf_slice(raw));
    weir_batch__put(&quoted, WEIR_SLICE("\""));
    if (weir_json_parse_reuse(&j, weir_buf_slice(&quoted), NULL, &b->tape_again, NULL) == 0) {
        (void)weir_json_string_append(&j, 0, out);
    }
    weir_buf_dispose(&quoted);
    return weir_buf_slice(out);
}

bool weir_batch__tool_same_args(struct weir_batch *b, const struct weir_batch__tool *x,
                                const struct weir_batch__tool *y)
{
    if (x->n_args != y->n_args || x->args_hash != y->args_hash) {
        return false;
    }
    if (b->is_shadow || weir_slice_eq(weir_buf_slice(&x->args), weir_buf_slice(&y->args))) {
        return true;
    }
    struct weir_buf text_x = {0};
    struct weir_buf text_y = {0};
    bool is_same = weir_slice_eq(unescape(b, &x->args, &text_x), unescape(b, &y->args, &text_y));
    weir_buf_dispose(&text_x);
    weir_buf_dispose(&text_y);
    return is_same;
}
