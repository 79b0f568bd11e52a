/*
 * Each change is a span of the source and what stands there instead. They are sorted, and the
 * source is copied around them.
 *
 * Only removal needs thought, for the comma. Neighbours removed together are one run:
 *
 *   [a, B, C, d]     something follows: to the beginning of what follows     [a, d]
 *       ^^^^^^
 *   [a, B, C]        nothing follows: from the end of what precedes          [a]
 *     ^^^^^^
 *   [ A, B ]         nothing is left: just the run                           [  ]
 *     ^^^^
 *
 * Neighbours are found in the bytes: between two items are only white space and one comma.
 */
#include "wire/json_edit.h"

#include "base/assert.h"
#include "base/mem.h"
#include "wire/json_write.h"

#include <stdlib.h>

enum kind { REPLACE, REMOVE, ADD };

struct weir_json_edit_op {
    uint32_t start; /* of the span in the source; of ADD where the last member ends, empty */
    uint32_t end;
    size_t order; /* in which they came */
    enum kind kind;
    bool is_text;  /* the value is to be quoted */
    bool is_first; /* ADD: the object has no members */
    struct weir_slice name;
    struct weir_slice value;
};

void weir_json_edit_begin(struct weir_json_edit *e, const struct weir_json *doc)
{
    e->doc = doc;
    e->n = 0;
}

void weir_json_edit_dispose(struct weir_json_edit *e)
{
    free(e->ops);
    *e = (struct weir_json_edit){0};
}

static void push(struct weir_json_edit *e, struct weir_json_edit_op op)
{
    if (e->n == e->cap) {
        e->cap = e->cap != 0 ? e->cap * 2 : 4;
        e->ops = weir_mem_realloc(e->ops, e->cap * sizeof *e->ops);
    }
    op.order = e->n;
    e->ops[e->n++] = op;
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The next byte that is not white space. Inside a container there always is one. */
static uint32_t skip_forth(const struct weir_json *j, uint32_t at)
{
    while (is_space(j->src.p[at])) {
        at++;
    }
    return at;
}

/* Back over white space before `at`: one past the last byte that is not white space. */
static uint32_t skip_back(const struct weir_json *j, uint32_t at)
{
    while (is_space(j->src.p[at - 1])) {
        at--;
    }
    return at;
}

static void replace(struct weir_json_edit *e, uint32_t at, struct weir_slice value, bool is_text)
{
    const struct weir_json_node *node = &e->doc->nodes[at];
    push(e, (struct weir_json_edit_op){.start = node->start,
                                       .end = node->end,
                                       .kind = REPLACE,
                                       .is_text = is_text,
                                       .value = value});
}

void weir_json_edit_replace(struct weir_json_edit *e, uint32_t at, struct weir_slice json)
{
    replace(e, at, json, false);
}

void weir_json_edit_replace_string(struct weir_json_edit *e, uint32_t at, struct weir_slice text)
{
    replace(e, at, text, true);
}

void weir_json_edit_remove(struct weir_json_edit *e, uint32_t at)
{
    const struct weir_json *j = e->doc;
    WEIR_ASSERT(at != 0 && at < j->n_nodes);
    uint32_t first = at;
    uint32_t last = at;
    if (j->src.p[skip_back(j, j->nodes[at].start) - 1] == ':') {
        first = at - 1; /* a member's value */
    } else if (j->src.p[skip_forth(j, j->nodes[at].end)] == ':') {
        last = at + 1; /* a member's key */
    }
    push(e, (struct weir_json_edit_op){
                .start = j->nodes[first].start, .end = j->nodes[last].end, .kind = REMOVE});
}

void weir_json_edit_add(struct weir_json_edit *e, uint32_t object, struct weir_slice name,
                        struct weir_slice json)
{
    const struct weir_json_node *node = &e->doc->nodes[object];
    WEIR_ASSERT(node->type == WEIR_JSON_OBJECT);
    uint32_t at = skip_back(e->doc, node->end - 1);
    push(e, (struct weir_json_edit_op){.kind = ADD,
                                       .start = at,
                                       .end = at,
                                       .is_first = node->n == 0,
                                       .name = name,
                                       .value = json});
}

void weir_json_edit_set(struct weir_json_edit *e, uint32_t object, struct weir_slice name,
                        struct weir_slice json)
{
    uint32_t at = weir_json_get(e->doc, object, name);
    if (at != WEIR_JSON_NONE) {
        weir_json_edit_replace(e, at, json);
    } else {
        weir_json_edit_add(e, object, name, json);
    }
}

/* By place; at the same place (members added to one object) as they came. */
static int compare(const void *a, const void *b)
{
    const struct weir_json_edit_op *x = a;
    const struct weir_json_edit_op *y = b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

/* Usually one change, or several in the order of the document. */
static void sort(struct weir_json_edit *e)
{
    for (size_t i = 1; i < e->n; i++) {
        if (compare(&e->ops[i - 1], &e->ops[i]) > 0) {
            qsort(e->ops, e->n, sizeof *e->ops, compare);
            return;
        }
    }
}

/* The writing of one result. */
struct output {
    const struct weir_json *j;
    struct weir_buf *out;
    int rc;
    uint32_t done;     /* of the source */
    uint32_t empty_at; /* here ended a container's last item, and all of them were removed */
    uint32_t added_at; /* here a member was just added */
};

static void put(struct output *o, struct weir_slice s)
{
    if (o->rc == 0) {
        o->rc = weir_buf_append(o->out, s);
    }
}

static void put_quoted(struct output *o, struct weir_slice s)
{
    if (o->rc == 0) {
        o->rc = weir_json_write_quoted(o->out, s);
    }
}

static void put_value(struct output *o, const struct weir_json_edit_op *op)
{
    if (op->is_text) {
        put_quoted(o, op->value);
    } else {
        put(o, op->value);
    }
}

/* Copies the source up to `from` and goes on behind `to`. */
static void skip(struct output *o, uint32_t from, uint32_t to)
{
    WEIR_ASSERT(o->done <= from && from <= to); /* otherwise two changes overlap */
    put(o, weir_slice_sub(o->j->src, o->done, from));
    o->done = to;
}

static void write_added(struct output *o, const struct weir_json_edit_op *op)
{
    skip(o, op->start, op->start);
    bool is_first = op->is_first || o->empty_at == op->start;
    if (!is_first || o->added_at == op->start) {
        put(o, WEIR_SLICE(","));
    }
    put_quoted(o, op->name);
    put(o, WEIR_SLICE(":"));
    put_value(o, op);
    o->added_at = op->start;
}

/* The item behind the one that ends at `end`, or 0. */
static uint32_t item_after(const struct weir_json *j, uint32_t end)
{
    uint32_t at = skip_forth(j, end);
    return j->src.p[at] == ',' ? skip_forth(j, at + 1) : 0;
}

/* The end of the item before the one that starts at `start`, or 0. */
static uint32_t end_before(const struct weir_json *j, uint32_t start)
{
    uint32_t at = skip_back(j, start);
    return j->src.p[at - 1] == ',' ? skip_back(j, at - 1) : 0;
}

/* Removes the run of neighbours that begins at ops[i], up to ops[n]; returns how many they are. */
static size_t write_removed(struct output *o, const struct weir_json_edit_op *ops, size_t n)
{
    size_t i = 1;
    uint32_t after = item_after(o->j, ops[0].end);
    while (i < n && after != 0 && ops[i].kind == REMOVE && ops[i].start == after) {
        after = item_after(o->j, ops[i++].end);
    }
    uint32_t end = ops[i - 1].end;
    uint32_t before = end_before(o->j, ops[0].start);
    if (after != 0) {
        skip(o, ops[0].start, after);
    } else if (before != 0) {
        skip(o, before, end);
    } else {
        skip(o, ops[0].start, end);
        o->empty_at = end;
    }
    return i;
}

int weir_json_edit_write(struct weir_json_edit *e, struct weir_buf *out)
{
    size_t n_before = out->n;
    struct output o = {
        .j = e->doc, .out = out, .empty_at = WEIR_JSON_NONE, .added_at = WEIR_JSON_NONE};
    sort(e);
    for (size_t i = 0; i < e->n;) {
        const struct weir_json_edit_op *op = &e->ops[i];
        if (op->kind == REMOVE) {
            i += write_removed(&o, op, e->n - i);
            continue;
        }
        if (op->kind == ADD) {
            write_added(&o, op);
        } else {
            skip(&o, op->start, op->end);
            put_value(&o, op);
        }
        i++;
    }
    put(&o, weir_slice_sub(e->doc->src, o.done, e->doc->src.n));
    if (o.rc != 0) {
        out->n = n_before;
    }
    return o.rc;
}
