/*
 * libyaml's events to nodes. One recursive function, its depth bounded; children wait on one shared
 * stack until their container ends, then move into the arena together.
 *
 *   pending: [ k1 v1 k2 | a b c      <- inner list collects above the outer mapping's members
 *
 * What stops reading: broken YAML, a limit, an alias to nothing. Everything else is noted and
 * reading goes on, so that one run reports all there is.
 */
#include "conf/conf_node.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <yaml.h>

struct builder {
    struct weir_conf_yaml *y;
    yaml_parser_t parser;
    struct weir_map anchors; /* name to node */
    struct weir_conf_node **pending;
    size_t n_pending;
    size_t cap_pending;
    uint32_t n_nodes; /* aliases written out */
    size_t n_bytes;   /* likewise */
};

static struct weir_conf_node *build(struct builder *b, yaml_event_t *event, uint32_t depth,
                                    bool is_key);

static void complain(struct weir_conf_yaml *y, int line, const char *text)
{
    struct weir_conf_pos at = {y->file, line};
    weir_conf_problems_add(y->problems, WEIR_CONF_ERROR, at, "%s", text);
}

static int line_of(const yaml_event_t *event)
{
    return (int)event->start_mark.line + 1;
}

/* The reader stage knows a byte offset only. */
static int error_line(const struct builder *b)
{
    if (b->parser.error != YAML_READER_ERROR) {
        return (int)b->parser.problem_mark.line + 1;
    }
    int line = 1;
    for (size_t i = 0; i < b->parser.problem_offset && i < b->y->text.n; i++) {
        line += b->y->text.p[i] == '\n';
    }
    return line;
}

/* Whether a TAB stands in the indentation of what could not be read, or where it begins: to an eye
 * it looks like the spaces it is not. */
static bool is_at_tab(const struct builder *b)
{
    const yaml_mark_t *mark = &b->parser.problem_mark;
    struct weir_slice rest = b->y->text;
    struct weir_slice line = weir_slice_cut(&rest, '\n');
    for (size_t i = 0; i < mark->line && rest.p != NULL; i++) {
        line = weir_slice_cut(&rest, '\n');
    }
    size_t at = 0;
    while (at < line.n && (line.p[at] == ' ' || line.p[at] == '-')) {
        at++;
    }
    return b->parser.error != YAML_READER_ERROR && at < line.n && line.p[at] == '\t';
}

/* An unclosed bracket is noticed at the end of the file: say where it was opened. */
static void complain_yaml(struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    struct weir_conf_pos at = {b->y->file, error_line(b)};
    const char *problem = p->problem != NULL ? p->problem : "cannot be read";
    const char *context = "";
    if (is_at_tab(b)) {
        problem = "a TAB character indents this line; YAML takes spaces only";
    } else if (p->context != NULL) {
        int line = (int)p->context_mark.line + 1;
        context = line == at.line
                      ? weir_arena_printf(b->y->arena, "%s, ", p->context)
                      : weir_arena_printf(b->y->arena, "%s from line %d, ", p->context, line);
    }
    weir_conf_problems_add(b->y->problems, WEIR_CONF_ERROR, at, "not valid YAML: %s%s", context,
                           problem);
}

static bool next_event(struct builder *b, yaml_event_t *event)
{
    if (yaml_parser_parse(&b->parser, event)) {
        return true;
    }
    complain_yaml(b);
    return false;
}

/* Adds to the document's cost, which is what it would be with all aliases written out. */
static bool count(struct builder *b, uint32_t n_nodes, size_t n_bytes, int line)
{
    struct weir_conf_pos at = {b->y->file, line};
    if (n_nodes > WEIR_CONF_MAX_NODES - b->n_nodes) {
        weir_conf_problems_add(b->y->problems, WEIR_CONF_ERROR, at,
                               "more than %d values once aliases are written out",
                               WEIR_CONF_MAX_NODES);
        return false;
    }
    if (n_bytes > WEIR_CONF_MAX_TEXT_BYTES - b->n_bytes) {
        weir_conf_problems_add(b->y->problems, WEIR_CONF_ERROR, at,
                               "more than %d bytes of text once aliases are written out",
                               WEIR_CONF_MAX_TEXT_BYTES);
        return false;
    }
    b->n_nodes += n_nodes;
    b->n_bytes += n_bytes;
    return true;
}

static bool check_depth(struct builder *b, uint32_t depth, int line)
{
    if (depth <= WEIR_CONF_MAX_DEPTH) {
        return true;
    }
    struct weir_conf_pos at = {b->y->file, line};
    weir_conf_problems_add(b->y->problems, WEIR_CONF_ERROR, at, "nested deeper than %d levels",
                           WEIR_CONF_MAX_DEPTH);
    return false;
}

static void push(struct builder *b, struct weir_conf_node *n)
{
    if (b->n_pending == b->cap_pending) {
        b->cap_pending = b->cap_pending == 0 ? 64 : b->cap_pending * 2;
        b->pending = weir_mem_realloc(b->pending, b->cap_pending * sizeof(void *));
    }
    b->pending[b->n_pending++] = n;
}

static struct weir_conf_node *new_node(struct builder *b, enum weir_conf_node_kind kind,
                                       const yaml_event_t *event)
{
    struct weir_conf_node *n = weir_arena_zalloc(b->y->arena, sizeof *n);
    n->kind = kind;
    n->line = line_of(event);
    n->height = 1;
    n->weight = 1;
    return n;
}

static void note_anchor(struct builder *b, const yaml_char_t *anchor, struct weir_conf_node *n)
{
    if (anchor != NULL) {
        struct weir_slice name = weir_slice_cstr((const char *)anchor);
        weir_map_put(&b->anchors, weir_arena_dup(b->y->arena, name), n);
    }
}

static struct weir_conf_node *build_alias(struct builder *b, const yaml_event_t *event,
                                          uint32_t depth)
{
    struct weir_slice name = weir_slice_cstr((const char *)event->data.alias.anchor);
    struct weir_conf_node *n = weir_map_get(&b->anchors, name);
    int line = line_of(event);
    if (n == NULL) {
        struct weir_conf_pos at = {b->y->file, line};
        weir_conf_problems_add(b->y->problems, WEIR_CONF_ERROR, at,
                               "alias *%.60s names no anchor that is complete before it", name.p);
        return NULL;
    }
    if (!count(b, n->weight, n->n_bytes, line) || !check_depth(b, depth + n->height - 1, line)) {
        return NULL;
    }
    return n;
}

/* `!!str` and `!` make a text; other tags are errors, because they would change what a value
 * means. */
static bool is_text_tag(const yaml_char_t *tag)
{
    return strcmp((const char *)tag, YAML_STR_TAG) == 0 || strcmp((const char *)tag, "!") == 0;
}

static void refuse_tag(struct builder *b, const yaml_char_t *tag, int line)
{
    if (tag != NULL) {
        complain(b->y, line, "YAML tags other than !!str are not supported");
    }
}

static struct weir_conf_node *build_scalar(struct builder *b, const yaml_event_t *event,
                                           bool is_key)
{
    struct weir_conf_node *n = new_node(b, WEIR_CONF_SCALAR, event);
    const yaml_char_t *tag = event->data.scalar.tag;
    bool is_forced_text = tag != NULL && is_text_tag(tag);
    n->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !is_forced_text;
    if (!is_forced_text) {
        refuse_tag(b, tag, n->line);
    }
    n->text = weir_slice_make((const char *)event->data.scalar.value, event->data.scalar.length);
    if (memchr(n->text.p, '\0', n->text.n) != NULL) {
        complain(b->y, n->line, "a NUL character is not allowed in a value");
        n->text.n = strlen(n->text.p);
    }
    if (!is_key) {
        n->is_broken = !weir_conf__expand(b->y, n->line, &n->text, &n->is_expanded);
    }
    n->n_bytes = n->text.n;
    if (!count(b, 0, n->n_bytes, n->line)) {
        return NULL;
    }
    n->text = weir_arena_dup(b->y->arena, n->text);
    note_anchor(b, event->data.scalar.anchor, n);
    return n;
}

static void finish_sequence(struct builder *b, struct weir_conf_node *n, size_t base)
{
    n->n = b->n_pending - base;
    n->items = weir_arena_array(b->y->arena, n->n, sizeof(void *));
    for (size_t i = 0; i < n->n; i++) {
        n->items[i] = b->pending[base + i];
    }
}

/* Keys are unique; of a key given twice the first is kept, so that its value is checked too. */
static void finish_mapping(struct builder *b, struct weir_conf_node *n, size_t base)
{
    size_t n_pairs = (b->n_pending - base) / 2;
    struct weir_conf_member *members = weir_arena_array(b->y->arena, n_pairs, sizeof *members);
    struct weir_map seen = {0};
    for (size_t i = 0; i < n_pairs; i++) {
        struct weir_conf_node *key = b->pending[base + 2 * i];
        const struct weir_conf_node *first = weir_map_get(&seen, key->text);
        if (first == NULL) {
            members[n->n++] = (struct weir_conf_member){key, b->pending[base + 2 * i + 1]};
            weir_map_put(&seen, key->text, key);
            continue;
        }
        struct weir_conf_pos at = {b->y->file, key->line};
        weir_conf_problems_add(b->y->problems, WEIR_CONF_ERROR, at,
                               "key %s is there twice, first on line %d",
                               weir_conf__quote(b->y->arena, key->text), first->line);
    }
    weir_map_dispose(&seen);
    n->members = members;
}

static bool check_key(struct builder *b, const struct weir_conf_node *key)
{
    if (key->kind != WEIR_CONF_SCALAR) {
        complain(b->y, key->line, "a key must be a plain word, not a list or a mapping");
        return false;
    }
    if (key->is_plain && weir_slice_eq_cstr(key->text, "<<")) {
        complain(b->y, key->line, "merge keys (<<) are not supported: repeat the keys");
    }
    return true;
}

/* A block that begins on the line below its key is looked for at the key. */
static void place(struct weir_conf_node *value, const struct weir_conf_node *key)
{
    if (value->kind != WEIR_CONF_SCALAR) {
        value->line = key->line;
    }
}

/* Children up to the container's end event; false when reading must stop. */
static bool build_children(struct builder *b, struct weir_conf_node *n, uint32_t depth,
                           yaml_event_type_t end)
{
    size_t base = b->n_pending;
    for (;;) {
        yaml_event_t event;
        if (!next_event(b, &event)) {
            return false;
        }
        if (event.type == end) {
            yaml_event_delete(&event);
            return true;
        }
        bool is_key = n->kind == WEIR_CONF_MAPPING && (b->n_pending - base) % 2 == 0;
        struct weir_conf_node *child = build(b, &event, depth + 1, is_key);
        bool is_alias = event.type == YAML_ALIAS_EVENT;
        yaml_event_delete(&event);
        if (child == NULL || (is_key && !check_key(b, child))) {
            return false;
        }
        if (n->kind == WEIR_CONF_MAPPING && !is_key && !is_alias) {
            place(child, b->pending[b->n_pending - 1]);
        }
        push(b, child);
        n->weight += child->weight;
        n->n_bytes += child->n_bytes;
        n->height = child->height + 1 > n->height ? child->height + 1 : n->height;
    }
}

static struct weir_conf_node *build_container(struct builder *b, const yaml_event_t *event,
                                              uint32_t depth)
{
    bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
    struct weir_conf_node *n =
        new_node(b, is_mapping ? WEIR_CONF_MAPPING : WEIR_CONF_SEQUENCE, event);
    refuse_tag(b, is_mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag,
               n->line);
    size_t base = b->n_pending;
    if (!build_children(b, n, depth,
                        is_mapping ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT)) {
        return NULL;
    }
    if (is_mapping) {
        finish_mapping(b, n, base);
    } else {
        finish_sequence(b, n, base);
    }
    b->n_pending = base;
    note_anchor(
        b, is_mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor, n);
    return n;
}

static struct weir_conf_node *build(struct builder *b, yaml_event_t *event, uint32_t depth,
                                    bool is_key)
{
    if (event->type == YAML_ALIAS_EVENT) {
        return build_alias(b, event, depth);
    }
    if (!count(b, 1, 0, line_of(event)) || !check_depth(b, depth, line_of(event))) {
        return NULL;
    }
    if (event->type == YAML_SCALAR_EVENT) {
        return build_scalar(b, event, is_key);
    }
    return build_container(b, event, depth);
}

/* Skips to the next event of interest: the root's first, or a second document's start. */
static bool skip_to_document(struct builder *b, yaml_event_t *event)
{
    for (;;) {
        if (!next_event(b, event)) {
            return false;
        }
        if (event->type == YAML_DOCUMENT_START_EVENT) {
            return true;
        }
        bool is_over = event->type == YAML_STREAM_END_EVENT;
        yaml_event_delete(event);
        if (is_over) {
            return false;
        }
    }
}

static const struct weir_conf_node *build_document(struct builder *b)
{
    yaml_event_t event;
    size_t n_errors = b->y->problems->n_errors;
    if (!skip_to_document(b, &event)) {
        if (b->y->problems->n_errors == n_errors) {
            complain(b->y, 0, "the file is empty");
        }
        return NULL;
    }
    yaml_event_delete(&event);
    if (!next_event(b, &event)) {
        return NULL;
    }
    const struct weir_conf_node *root = build(b, &event, 1, false);
    yaml_event_delete(&event);
    if (root == NULL) {
        return NULL;
    }
    n_errors = b->y->problems->n_errors;
    if (skip_to_document(b, &event)) {
        complain(b->y, line_of(&event), "a second YAML document begins here; one is expected");
        yaml_event_delete(&event);
        return NULL;
    }
    return b->y->problems->n_errors == n_errors ? root : NULL;
}

const struct weir_conf_node *weir_conf__yaml_read(struct weir_conf_yaml *y)
{
    struct builder b = {.y = y};
    if (!yaml_parser_initialize(&b.parser)) {
        abort(); /* out of memory, nothing else */
    }
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(
        &b.parser, (const unsigned char *)(y->text.n != 0 ? y->text.p : ""), y->text.n);
    const struct weir_conf_node *root = build_document(&b);
    weir_map_dispose(&b.anchors);
    free(b.pending);
    yaml_parser_delete(&b.parser);
    return root;
}

const struct weir_conf_node *weir_conf__get(const struct weir_conf_node *mapping, const char *key)
{
    for (size_t i = 0; i < mapping->n && mapping->kind == WEIR_CONF_MAPPING; i++) {
        if (weir_slice_eq_cstr(mapping->members[i].key->text, key)) {
            return mapping->members[i].value;
        }
    }
    return NULL;
}
