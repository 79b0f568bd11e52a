/*
 * One walk over the nodes, with a stack of the containers that are open: documents may be as deep
 * as they like.
 */
#include "talk/tree.h"

#include "base/utf8.h"

/* What stands in a container, or behind a name. */
enum rule {
    ANY,         /* text; names are the caller's */
    ARGUMENTS,   /* text; names count for the call */
    SCHEMA,      /* a schema, or several in an array */
    SCHEMAS,     /* names that are identifiers, with a schema each */
    IDENTIFIERS, /* identifiers, names too */
    CONSTANTS,   /* constants; names are identifiers */
    TYPE,        /* the words of `type` */
    NUMBER,      /* numbers and booleans that bound something */
};

const struct weir_tree_keyword weir_tree_keywords[] = {
    {"type", "control", TYPE},
    {"description", "text", ANY},
    {"title", "text", ANY},
    {"$comment", "text", ANY},
    {"default", "text", ANY},
    {"examples", "text", ANY},
    {"properties", "schema", SCHEMAS},
    {"patternProperties", "schema", SCHEMAS},
    {"$defs", "schema", SCHEMAS},
    {"definitions", "schema", SCHEMAS},
    {"dependentSchemas", "schema", SCHEMAS},
    {"required", "identifier", IDENTIFIERS},
    {"enum", "identifier", CONSTANTS},
    {"const", "identifier", CONSTANTS},
    {"pattern", "identifier", IDENTIFIERS},
    {"format", "identifier", IDENTIFIERS},
    {"$ref", "identifier", IDENTIFIERS},
    {"$dynamicRef", "identifier", IDENTIFIERS},
    {"$id", "identifier", IDENTIFIERS},
    {"$schema", "identifier", IDENTIFIERS},
    {"$anchor", "identifier", IDENTIFIERS},
    {"$dynamicAnchor", "identifier", IDENTIFIERS},
    {"dependentRequired", "identifier", IDENTIFIERS},
    {"contentMediaType", "identifier", IDENTIFIERS},
    {"contentEncoding", "identifier", IDENTIFIERS},
    {"items", "schema", SCHEMA},
    {"prefixItems", "schema", SCHEMA},
    {"additionalItems", "schema", SCHEMA},
    {"additionalProperties", "schema", SCHEMA},
    {"unevaluatedItems", "schema", SCHEMA},
    {"unevaluatedProperties", "schema", SCHEMA},
    {"contains", "schema", SCHEMA},
    {"propertyNames", "schema", SCHEMA},
    {"contentSchema", "schema", SCHEMA},
    {"not", "schema", SCHEMA},
    {"if", "schema", SCHEMA},
    {"then", "schema", SCHEMA},
    {"else", "schema", SCHEMA},
    {"allOf", "schema", SCHEMA},
    {"anyOf", "schema", SCHEMA},
    {"oneOf", "schema", SCHEMA},
    {"minimum", "control", NUMBER},
    {"maximum", "control", NUMBER},
    {"exclusiveMinimum", "control", NUMBER},
    {"exclusiveMaximum", "control", NUMBER},
    {"multipleOf", "control", NUMBER},
    {"minLength", "control", NUMBER},
    {"maxLength", "control", NUMBER},
    {"minItems", "control", NUMBER},
    {"maxItems", "control", NUMBER},
    {"uniqueItems", "control", NUMBER},
    {"minContains", "control", NUMBER},
    {"maxContains", "control", NUMBER},
    {"minProperties", "control", NUMBER},
    {"maxProperties", "control", NUMBER},
    {"deprecated", "control", NUMBER},
    {"readOnly", "control", NUMBER},
    {"writeOnly", "control", NUMBER},
    {"nullable", "control", NUMBER},
    {NULL, NULL, ANY},
};

struct frame {
    uint32_t end; /* the node behind the container */
    enum rule rule;
    bool is_object;
    struct weir_slice name; /* that leads to it; what an array's leaves are called */
};

struct reading {
    struct weir_tree *t;
    struct weir_arena *arena;
    struct weir_buf lines;
    size_t at_cp;
    size_t cap_places;
    struct frame *frames;
    size_t n_frames;
    size_t cap_frames;
};

/* Names are repeated before each leaf of an array, but not long ones: the lines must not become
 * much longer than the document. */
enum { MAX_REPEATED_BYTES = 64 };

static void *grow(struct weir_arena *arena, const void *items, size_t n, size_t *cap, size_t size)
{
    *cap = *cap != 0 ? *cap * 2 : 16;
    void *more = weir_arena_alloc(arena, *cap * size);
    if (n != 0) {
        memcpy(more, items, n * size);
    }
    return more;
}

static void push_frame(struct reading *r, const struct frame *frame)
{
    if (r->n_frames == r->cap_frames) {
        r->frames = grow(r->arena, r->frames, r->n_frames, &r->cap_frames, sizeof *frame);
    }
    r->frames[r->n_frames++] = *frame;
}

static void say(struct reading *r, struct weir_slice text)
{
    weir_buf_append(&r->lines, text);
    r->at_cp += weir_utf8_count(text);
}

/* The same, as a place of its own. */
static void say_place(struct reading *r, struct weir_tree_place place, struct weir_slice text)
{
    struct weir_tree *t = r->t;
    size_t start_cp = r->at_cp;
    say(r, text);
    if (t->n == r->cap_places) {
        t->places = grow(r->arena, t->places, t->n, &r->cap_places, sizeof *t->places);
    }
    place.start_cp = start_cp;
    place.end_cp = r->at_cp;
    t->places[t->n++] = place;
}

static void say_name(struct reading *r, uint32_t key, enum weir_tree_what what,
                     struct weir_slice name)
{
    say_place(r, (struct weir_tree_place){.node = key, .what = what, .is_key = true}, name);
}

static bool is_type_word(const struct weir_json *j, uint32_t at)
{
    static const char *const words[] = {"string", "number", "integer", "boolean",
                                        "object", "array",  "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (weir_json_string_eq(j, at, weir_slice_cstr(words[i]))) {
            return true;
        }
    }
    return false;
}

/* A string or a number; the others are words of JSON's own. */
static void say_leaf(struct reading *r, uint32_t at, enum rule rule)
{
    const struct weir_json *j = r->t->json;
    enum weir_json_type type = weir_json_type(j, at);
    if (type != WEIR_JSON_STRING && type != WEIR_JSON_NUMBER) {
        return;
    }
    struct weir_slice text =
        type == WEIR_JSON_STRING ? weir_json_string(j, at, r->arena) : weir_json_raw(j, at);
    bool is_control = (rule == NUMBER && type == WEIR_JSON_NUMBER) ||
                      (rule == TYPE && type == WEIR_JSON_STRING && is_type_word(j, at));
    if (is_control) {
        say(r, text);
    } else {
        enum weir_tree_what what = rule == IDENTIFIERS ? WEIR_TREE_IDENTIFIER
                                   : rule == CONSTANTS ? WEIR_TREE_CONSTANT
                                                       : WEIR_TREE_TEXT;
        say_place(r, (struct weir_tree_place){.node = at, .what = what}, text);
    }
}

/* Is it a word of JSON Schema? Then `*rule` is that of its value. */
static bool find_keyword(const struct weir_json *j, uint32_t key, enum rule *rule)
{
    for (const struct weir_tree_keyword *k = weir_tree_keywords; k->name != NULL; k++) {
        if (weir_json_string_eq(j, key, weir_slice_cstr(k->name))) {
            *rule = (enum rule)k->rule;
            return true;
        }
    }
    return false;
}

/* Says a name; the rule of its value. */
static enum rule say_key(struct reading *r, uint32_t key, enum rule rule, struct weir_slice name)
{
    enum rule next = ANY;
    switch (rule) {
    case SCHEMA:
        if (find_keyword(r->t->json, key, &next)) {
            say(r, name);
            return next;
        }
        break;
    case SCHEMAS:
        say_name(r, key, WEIR_TREE_IDENTIFIER, name);
        return SCHEMA;
    case IDENTIFIERS:
    case CONSTANTS:
        say_name(r, key, WEIR_TREE_IDENTIFIER, name);
        return rule;
    case ARGUMENTS:
        say_name(r, key, WEIR_TREE_CALL_KEY, name);
        return ARGUMENTS;
    case ANY:
    case TYPE:
    case NUMBER:
        break;
    }
    say_name(r, key, WEIR_TREE_KEY, name);
    return ANY;
}

static bool is_container(const struct weir_json *j, uint32_t at)
{
    return weir_json_type(j, at) >= WEIR_JSON_ARRAY;
}

static void open_container(struct reading *r, uint32_t at, enum rule rule, struct weir_slice name)
{
    const struct weir_json *j = r->t->json;
    push_frame(r, &(struct frame){.end = j->nodes[at].next,
                                  .rule = rule,
                                  .is_object = weir_json_type(j, at) == WEIR_JSON_OBJECT,
                                  .name = name});
}

/* A member; returns the node to go on with. */
static uint32_t read_member(struct reading *r, uint32_t key, enum rule rule)
{
    const struct weir_json *j = r->t->json;
    struct weir_slice name = weir_json_string(j, key, r->arena);
    enum rule next = say_key(r, key, rule, name);
    uint32_t value = key + 1;
    if (is_container(j, value)) {
        say(r, WEIR_SLICE(":\n"));
        open_container(r, value, next, name);
        return value + 1;
    }
    say(r, WEIR_SLICE(": "));
    say_leaf(r, value, next);
    say(r, WEIR_SLICE("\n"));
    return value + 1;
}

/* An element, or the root. */
static uint32_t read_element(struct reading *r, uint32_t at, const struct frame *frame)
{
    if (is_container(r->t->json, at)) {
        open_container(r, at, frame->rule, frame->name);
        return at + 1;
    }
    if (frame->name.n != 0 && frame->name.n <= MAX_REPEATED_BYTES) {
        say(r, frame->name);
        say(r, WEIR_SLICE(": "));
    }
    say_leaf(r, at, frame->rule);
    say(r, WEIR_SLICE("\n"));
    return at + 1;
}

static enum rule rule_of(enum weir_tree_rule rule)
{
    switch (rule) {
    case WEIR_TREE_SCHEMA:
        return SCHEMA;
    case WEIR_TREE_ARGUMENTS:
        return ARGUMENTS;
    case WEIR_TREE_ANY:
        break;
    }
    return ANY;
}

void weir_tree_read(struct weir_tree *t, const struct weir_json *json, uint32_t key, uint32_t root,
                    enum weir_tree_rule rule, struct weir_arena *arena)
{
    struct reading r = {.t = t, .arena = arena};
    struct frame top = {.rule = rule_of(rule)};
    uint32_t end = json->nodes[root].next;
    *t =
        (struct weir_tree){.json = json, .first = key != WEIR_JSON_NONE ? key : root, .root = root};
    uint32_t at =
        key != WEIR_JSON_NONE ? read_member(&r, key, top.rule) : read_element(&r, root, &top);
    while (at < end) {
        while (r.frames[r.n_frames - 1].end <= at) {
            r.n_frames--;
        }
        struct frame frame = r.frames[r.n_frames - 1];
        at = frame.is_object ? read_member(&r, at, frame.rule) : read_element(&r, at, &frame);
    }
    t->lines = weir_arena_take_buf(arena, &r.lines);
}

struct weir_slice weir_tree_written(const struct weir_tree *t)
{
    const struct weir_json *j = t->json;
    return weir_slice_sub(j->src, j->nodes[t->first].start, j->nodes[t->root].end);
}

/* ---- escapes ---- */

static bool is_hex(struct weir_slice s, size_t from, uint32_t *value)
{
    *value = 0;
    for (size_t i = from; i < from + 4; i++) {
        char c = i < s.n ? s.p[i] : 'x';
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;
        if (digit > 15) {
            return false;
        }
        *value = *value * 16 + digit;
    }
    return true;
}

/* How many bytes the character at `at` takes as written inside of a string: valid JSON. */
static size_t written_bytes(struct weir_slice s, size_t at)
{
    uint32_t first;
    uint32_t second;
    if (s.p[at] != '\\') {
        size_t n = weir_utf8_sequence(weir_slice_sub(s, at, s.n));
        return n != 0 ? n : 1;
    }
    if (at + 1 >= s.n || s.p[at + 1] != 'u' || !is_hex(s, at + 2, &first)) {
        return 2;
    }
    bool is_pair = first >= 0xd800 && first < 0xdc00 && at + 7 < s.n && s.p[at + 6] == '\\' &&
                   s.p[at + 7] == 'u' && is_hex(s, at + 8, &second) && second >= 0xdc00 &&
                   second < 0xe000;
    return is_pair ? 12 : 6;
}

struct weir_tree_span weir_tree_span_of(struct weir_tree_cursor *cursor,
                                        const struct weir_json *json, uint32_t node, size_t from,
                                        size_t to)
{
    const struct weir_json_node *n = &json->nodes[node];
    if (n->type != WEIR_JSON_STRING) {
        return (struct weir_tree_span){.end_cp = weir_utf8_count(weir_json_raw(json, node))};
    }
    struct weir_slice inside = weir_slice_sub(json->src, n->start + 1, n->end - 1);
    size_t base = n->start + 1;
    if (cursor->node != node) {
        *cursor = (struct weir_tree_cursor){.node = node};
    }
    while (cursor->at < inside.n && base + cursor->at + written_bytes(inside, cursor->at) <= from) {
        cursor->at += written_bytes(inside, cursor->at);
        cursor->cp++;
    }
    size_t end_cp = cursor->cp;
    size_t end = cursor->at;
    for (; end < inside.n && base + end < to; end_cp++) {
        end += written_bytes(inside, end);
    }
    return (struct weir_tree_span){.start_cp = cursor->cp,
                                   .end_cp = end_cp,
                                   .cut_before =
                                       base + cursor->at<from, .cut_behind = base + end> to};
}
