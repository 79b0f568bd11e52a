#include "emit/members.h"

#include "base/mem.h"
#include "emit/jsonhash.h"

#include <stdlib.h>

void weir_members_dispose(struct weir_members *m)
{
    for (size_t i = 0; i < m->cap; i++) {
        weir_buf_dispose(&m->items[i].name);
        weir_buf_dispose(&m->items[i].value);
    }
    free(m->items);
    *m = (struct weir_members){.is_shadow = m->is_shadow};
}

void weir_members_clear(struct weir_members *m)
{
    m->n = 0;
    m->n_equal = 0;
    m->n_bytes = 0;
}

struct weir_member *weir_members_find(const struct weir_members *m, struct weir_slice name)
{
    for (size_t i = 0; i < m->n; i++) {
        if (weir_slice_eq(weir_buf_slice(&m->items[i].name), name)) {
            return &m->items[i];
        }
    }
    return NULL;
}

static struct weir_member *add(struct weir_members *m, struct weir_slice name)
{
    if (m->n == m->cap) {
        size_t cap = m->cap == 0 ? 2 : m->cap * 2;
        m->items = weir_mem_realloc(m->items, cap * sizeof *m->items);
        memset(m->items + m->cap, 0, (cap - m->cap) * sizeof *m->items);
        m->cap = cap;
    }
    struct weir_member *item = &m->items[m->n++];
    weir_buf_clear(&item->name);
    weir_buf_clear(&item->value);
    (void)weir_buf_append(&item->name, name);
    m->n_bytes += name.n;
    return item;
}

/* The elements of an array as they stand, without brackets and outer white space. */
static struct weir_slice elements(const struct weir_json *j, uint32_t at)
{
    uint32_t first = weir_json_first(j, at);
    if (first == WEIR_JSON_NONE) {
        return (struct weir_slice){0};
    }
    uint32_t last = first;
    for (uint32_t e = first; e != WEIR_JSON_NONE; e = weir_json_after(j, at, e)) {
        last = e;
    }
    return weir_slice_sub(j->src, j->nodes[first].start, j->nodes[last].end);
}

static void set_value(struct weir_member *item, const struct weir_member_source *from)
{
    if (item->rule != WEIR_MEMBER_APPEND) {
        weir_buf_clear(&item->value);
        (void)weir_buf_append(&item->value, weir_json_raw(from->j, from->at));
        return;
    }
    struct weir_slice more = elements(from->j, from->at);
    if (item->value.n != 0 && more.n != 0) {
        (void)weir_buf_append_byte(&item->value, ',');
    }
    (void)weir_buf_append(&item->value, more);
}

void weir_members_put(struct weir_members *m, struct weir_slice name, enum weir_member_rule rule,
                      const struct weir_member_source *from)
{
    struct weir_member *item = weir_members_find(m, name);
    if (item == NULL && m->n == WEIR_MEMBERS_MOST) {
        return;
    }
    if (item == NULL) {
        item = add(m, name);
        item->rule = rule;
        m->n_equal += rule == WEIR_MEMBER_EQUAL;
    } else if (item->rule != rule) {
        m->n_equal += (size_t)(rule == WEIR_MEMBER_EQUAL) - (item->rule == WEIR_MEMBER_EQUAL);
        m->n_bytes -= item->value.n;
        weir_buf_clear(&item->value);
        item->rule = rule;
    }
    if (m->is_shadow) {
        item->hash = weir_jsonhash(from->j, from->at, from->scratch);
        return;
    }
    m->n_bytes -= item->value.n;
    set_value(item, from);
    m->n_bytes += item->value.n;
}

bool weir_members_same(struct weir_slice kept, const struct weir_member_source *from)
{
    if (weir_slice_eq(kept, weir_json_raw(from->j, from->at))) {
        return true;
    }
    struct weir_json again;
    return weir_json_parse_reuse(&again, kept, NULL, from->tape, NULL) == 0 &&
           weir_json_equal(&again, 0, from->j, from->at);
}

bool weir_members_has(const struct weir_members *m, struct weir_slice name,
                      const struct weir_member_source *from)
{
    const struct weir_member *item = weir_members_find(m, name);
    if (item == NULL) {
        return false;
    }
    if (m->is_shadow) {
        return item->hash == weir_jsonhash(from->j, from->at, from->scratch);
    }
    return weir_members_same(weir_buf_slice(&item->value), from);
}

void weir_members_write(const struct weir_members *m, struct weir_buf *out, size_t *n_written)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct weir_member *item = &m->items[i];
        bool is_array = item->rule == WEIR_MEMBER_APPEND;
        (void)weir_buf_append(out, *n_written == 0 ? WEIR_SLICE("\"") : WEIR_SLICE(",\""));
        (void)weir_buf_append(out, weir_buf_slice(&item->name));
        (void)weir_buf_append(out, is_array ? WEIR_SLICE("\":[") : WEIR_SLICE("\":"));
        (void)weir_buf_append(out, weir_buf_slice(&item->value));
        (void)weir_buf_append(out, is_array ? WEIR_SLICE("]") : WEIR_SLICE(""));
        ++*n_written;
    }
}
