/*
 * libyaml's events to nodes. One recursive function, its depth bounded; children wait on one shared
 * stack until their container ends, then move into the arena together. The first thing that is
 * wrong ends the reading.
 */
#include "detect/yamldoc.h"

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    struct weir_arena *arena;
    struct weir_map anchors; /* name to a node that is complete */
    struct weir_yamldoc_node **pending;
    size_t n_pending;
    size_t cap_pending;
    size_t n_nodes;
    int rc;
};

enum { FEW_MEMBERS = 8 };

static struct weir_yamldoc_node *read_node(struct reader *r, const yaml_event_t *event, int depth);

static void *stop(struct reader *r, int rc)
{
    r->rc = r->rc != 0 ? r->rc : rc;
    return NULL;
}

static bool next_event(struct reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event)) {
        return true;
    }
    r->rc = WEIR_EBAD;
    return false;
}

static void push(struct reader *r, struct weir_yamldoc_node *n)
{
    if (r->n_pending == r->cap_pending) {
        r->cap_pending = r->cap_pending == 0 ? 64 : r->cap_pending * 2;
        r->pending = weir_mem_realloc(r->pending, r->cap_pending * sizeof(void *));
    }
    r->pending[r->n_pending++] = n;
}

static void note_anchor(struct reader *r, const yaml_char_t *anchor, struct weir_yamldoc_node *n)
{
    if (anchor != NULL) {
        struct weir_slice name = weir_slice_cstr((const char *)anchor);
        weir_map_put(&r->anchors, weir_arena_dup(r->arena, name), n);
    }
}

/* ---- tags */

struct tag {
    const char *name; /* behind "tag:yaml.org,2002:" */
    enum weir_yamldoc_kind kind;
};

static const struct tag tags[] = {
    {"str", WEIR_YAMLDOC_TEXT},      {"timestamp", WEIR_YAMLDOC_TEXT},
    {"binary", WEIR_YAMLDOC_TEXT},   {"int", WEIR_YAMLDOC_INT},
    {"float", WEIR_YAMLDOC_FLOAT},   {"bool", WEIR_YAMLDOC_TRUE},
    {"null", WEIR_YAMLDOC_NULL},     {"seq", WEIR_YAMLDOC_SEQUENCE},
    {"omap", WEIR_YAMLDOC_SEQUENCE}, {"pairs", WEIR_YAMLDOC_SEQUENCE},
    {"map", WEIR_YAMLDOC_MAPPING},   {"set", WEIR_YAMLDOC_MAPPING},
};

static const struct tag *find_tag(const char *tag)
{
    static const char ours[] = "tag:yaml.org,2002:";
    size_t n_ours = sizeof ours - 1;
    for (size_t i = 0; strncmp(tag, ours, n_ours) == 0 && i < sizeof tags / sizeof *tags; i++) {
        if (strcmp(tag + n_ours, tags[i].name) == 0) {
            return &tags[i];
        }
    }
    return NULL;
}

static bool is_container_tag(const yaml_char_t *tag, enum weir_yamldoc_kind kind)
{
    if (tag == NULL || strcmp((const char *)tag, "!") == 0) {
        return true;
    }
    const struct tag *t = find_tag((const char *)tag);
    return t != NULL && t->kind == kind;
}

/* A tag must agree with the spelling: !!int "12" is a number, !!int x is nothing. */
static bool apply_tag(struct weir_yamldoc_node *n, const yaml_char_t *tag)
{
    if (strcmp((const char *)tag, "!") == 0) {
        n->kind = WEIR_YAMLDOC_TEXT;
        return true;
    }
    const struct tag *t = find_tag((const char *)tag);
    if (t == NULL || t->kind >= WEIR_YAMLDOC_SEQUENCE) {
        return false;
    }
    enum weir_yamldoc_kind spelled = weir_yamldoc__resolve(n->text);
    switch (t->kind) {
    case WEIR_YAMLDOC_TRUE:
        n->kind = spelled;
        return spelled == WEIR_YAMLDOC_TRUE || spelled == WEIR_YAMLDOC_FALSE;
    case WEIR_YAMLDOC_FLOAT:
        n->kind = WEIR_YAMLDOC_FLOAT;
        return spelled == WEIR_YAMLDOC_FLOAT || spelled == WEIR_YAMLDOC_INT;
    case WEIR_YAMLDOC_TEXT:
        n->kind = WEIR_YAMLDOC_TEXT;
        return true;
    default:
        n->kind = t->kind;
        return spelled == t->kind;
    }
}

/* ---- nodes */

static struct weir_yamldoc_node *read_scalar(struct reader *r, const yaml_event_t *event)
{
    struct weir_yamldoc_node *n = weir_arena_zalloc(r->arena, sizeof *n);
    const yaml_char_t *tag = event->data.scalar.tag;
    bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    n->text = weir_arena_dup(r->arena, weir_slice_make((const char *)event->data.scalar.value,
                                                       event->data.scalar.length));
    n->kind = is_plain ? weir_yamldoc__resolve(n->text) : WEIR_YAMLDOC_TEXT;
    n->is_merge = is_plain && tag == NULL && weir_slice_eq_cstr(n->text, "<<");
    if (tag != NULL && !apply_tag(n, tag)) {
        return stop(r, WEIR_EBAD);
    }
    note_anchor(r, event->data.scalar.anchor, n);
    return n;
}

static bool is_same_name(const struct weir_yamldoc_node *a, const struct weir_yamldoc_node *b)
{
    return a->kind == b->kind && weir_slice_eq(a->text, b->text);
}

/* A name's kind belongs to it: 1 and "1" are two. */
static struct weir_slice map_key(struct reader *r, const struct weir_yamldoc_node *name)
{
    char *p = weir_arena_alloc(r->arena, name->text.n + 1);
    p[0] = (char)('0' + (int)name->kind);
    memcpy(p + 1, name->text.p, name->text.n);
    return weir_slice_make(p, name->text.n + 1);
}

static bool has_twins(struct reader *r, const struct weir_yamldoc_node *n)
{
    bool found = false;
    if (n->n <= FEW_MEMBERS) {
        for (size_t i = 0; i < n->n; i++) {
            for (size_t k = 0; k < i; k++) {
                found = found || is_same_name(n->items[2 * i], n->items[2 * k]);
            }
        }
        return found;
    }
    struct weir_map seen = {0};
    for (size_t i = 0; i < n->n && !found; i++) {
        struct weir_slice key = map_key(r, n->items[2 * i]);
        found = weir_map_has(&seen, key);
        weir_map_put(&seen, key, n->items[2 * i]);
    }
    weir_map_dispose(&seen);
    return found;
}

/* What `<<` takes: a mapping or a list of mappings. */
static bool is_mergeable(const struct weir_yamldoc_node *value)
{
    bool is_good = value->kind == WEIR_YAMLDOC_MAPPING || value->kind == WEIR_YAMLDOC_SEQUENCE;
    for (size_t i = 0; value->kind == WEIR_YAMLDOC_SEQUENCE && i < value->n && is_good; i++) {
        is_good = value->items[i]->kind == WEIR_YAMLDOC_MAPPING;
    }
    return is_good;
}

static bool is_good_mapping(struct reader *r, struct weir_yamldoc_node *n)
{
    for (size_t i = 0; i < n->n; i++) {
        const struct weir_yamldoc_node *name = n->items[2 * i];
        if (name->kind >= WEIR_YAMLDOC_SEQUENCE ||
            (name->is_merge && !is_mergeable(n->items[2 * i + 1]))) {
            return false;
        }
        n->has_merge = n->has_merge || name->is_merge;
    }
    return !has_twins(r, n);
}

/* Children up to the container's end event. */
static bool read_children(struct reader *r, int depth, yaml_event_type_t end)
{
    for (;;) {
        yaml_event_t event;
        if (!next_event(r, &event)) {
            return false;
        }
        if (event.type == end) {
            yaml_event_delete(&event);
            return true;
        }
        struct weir_yamldoc_node *child = read_node(r, &event, depth + 1);
        yaml_event_delete(&event);
        if (child == NULL) {
            return false;
        }
        push(r, child);
    }
}

static struct weir_yamldoc_node *read_container(struct reader *r, const yaml_event_t *event,
                                                int depth)
{
    bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *tag =
        is_mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    const yaml_char_t *anchor =
        is_mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    struct weir_yamldoc_node *n = weir_arena_zalloc(r->arena, sizeof *n);
    n->kind = is_mapping ? WEIR_YAMLDOC_MAPPING : WEIR_YAMLDOC_SEQUENCE;
    size_t base = r->n_pending;
    if (!is_container_tag(tag, n->kind) ||
        !read_children(r, depth, is_mapping ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT)) {
        return stop(r, WEIR_EBAD);
    }
    size_t n_items = r->n_pending - base;
    n->items = weir_arena_array(r->arena, n_items, sizeof(void *));
    for (size_t i = 0; i < n_items; i++) {
        n->items[i] = r->pending[base + i];
    }
    n->n = (uint32_t)(is_mapping ? n_items / 2 : n_items);
    r->n_pending = base;
    if (is_mapping && !is_good_mapping(r, n)) {
        return stop(r, WEIR_EBAD);
    }
    note_anchor(r, anchor, n);
    return n;
}

static struct weir_yamldoc_node *read_node(struct reader *r, const yaml_event_t *event, int depth)
{
    if (depth > WEIR_YAMLDOC_MAX_DEPTH || ++r->n_nodes > WEIR_YAMLDOC_MAX_NODES) {
        return stop(r, WEIR_ELIMIT);
    }
    if (event->type == YAML_ALIAS_EVENT) {
        struct weir_slice name = weir_slice_cstr((const char *)event->data.alias.anchor);
        struct weir_yamldoc_node *n = weir_map_get(&r->anchors, name);
        return n != NULL ? n : stop(r, WEIR_EBAD);
    }
    return event->type == YAML_SCALAR_EVENT ? read_scalar(r, event)
                                            : read_container(r, event, depth);
}

/* ---- the document */

/* On to the next document's start; false at the end, or when something is wrong. */
static bool find_document(struct reader *r)
{
    for (;;) {
        yaml_event_t event;
        if (!next_event(r, &event)) {
            return false;
        }
        yaml_event_type_t type = event.type;
        yaml_event_delete(&event);
        if (type == YAML_DOCUMENT_START_EVENT || type == YAML_STREAM_END_EVENT) {
            return type == YAML_DOCUMENT_START_EVENT;
        }
    }
}

static const struct weir_yamldoc_node *read_document(struct reader *r)
{
    yaml_event_t event;
    if (!find_document(r) || !next_event(r, &event)) {
        return NULL;
    }
    const struct weir_yamldoc_node *root = read_node(r, &event, 1);
    yaml_event_delete(&event);
    if (root != NULL && find_document(r)) {
        return stop(r, WEIR_EBAD); /* a second one */
    }
    return root;
}

int weir_yamldoc_read(struct weir_slice text, struct weir_arena *arena,
                      const struct weir_yamldoc_node **root)
{
    struct reader r = {.arena = arena};
    if (!yaml_parser_initialize(&r.parser)) {
        abort(); /* out of memory, nothing else */
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.n != 0 ? text.p : ""),
                                 text.n);
    *root = read_document(&r);
    weir_map_dispose(&r.anchors);
    free(r.pending);
    yaml_parser_delete(&r.parser);
    return r.rc;
}
