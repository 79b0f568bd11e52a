/*
 * A schema's text to rules. Nothing here recurses: every schema that is met gets its place at once
 * and waits in a list for its rules, so that references may go anywhere and in circles.
 *
 *   root ─► [waiting] ─► compile: one function per family of keywords ─► rules, more waiting
 *
 * References to anchors wait for the end, when all anchors have been seen.
 */
#include "base/err.h"
#include "base/mem.h"
#include "detect/jsonschema_int.h"
#include "detect/jsonschema_ref.h"

#include <math.h>
#include <stdlib.h>

/* A $ref to an anchor. */
struct pending {
    struct pending *next;
    struct weir_jsonschema__rule *rule;
    struct weir_slice anchor;
};

struct compiler {
    struct weir_jsonschema *all;
    const struct weir_json *json;
    struct weir_arena *arena;
    struct weir_buf *why;
    struct weir_jsonschema__schema **by_node;
    struct weir_jsonschema__schema *waiting;
    struct weir_map anchors; /* to schemas */
    struct pending *pending;
    bool has_failed;
};

static void refuse(struct compiler *c, uint32_t at, const char *what)
{
    if (!c->has_failed) {
        weir_buf_printf(c->why, "the schema is no good at ");
        weir_jsonschema__path(c->json, at, c->why);
        weir_buf_printf(c->why, ": %s", what);
    }
    c->has_failed = true;
}

static uint32_t get(const struct compiler *c, const struct weir_jsonschema__schema *s,
                    const char *keyword)
{
    return weir_json_get(c->json, s->at, weir_slice_cstr(keyword));
}

static bool is_a(const struct compiler *c, uint32_t at, enum weir_json_type type)
{
    return weir_json_type(c->json, at) == type;
}

static bool want(struct compiler *c, uint32_t at, enum weir_json_type type, const char *what)
{
    bool is_good = is_a(c, at, type);
    if (!is_good) {
        refuse(c, at, what);
    }
    return is_good;
}

static struct weir_jsonschema__rule *add_rule(struct compiler *c, struct weir_jsonschema__schema *s,
                                              weir_jsonschema_rule_fn *check, uint32_t at)
{
    struct weir_jsonschema__rule *r = weir_arena_zalloc(c->arena, sizeof *r);
    r->check = check;
    r->at = at;
    r->max = UINT64_MAX;
    struct weir_jsonschema__rule **end = &s->rules;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = r;
    s->n_rules++;
    return r;
}

static struct weir_jsonschema__schema *schema_at(struct compiler *c, uint32_t at)
{
    struct weir_jsonschema__schema *s = c->by_node[at];
    if (s == NULL) {
        s = weir_arena_zalloc(c->arena, sizeof *s);
        s->at = at;
        s->next = c->waiting;
        c->waiting = s;
        c->by_node[at] = s;
    }
    return s;
}

/* NULL: the keyword is not there. */
static struct weir_jsonschema__schema *
schema_of(struct compiler *c, const struct weir_jsonschema__schema *s, const char *keyword)
{
    uint32_t at = get(c, s, keyword);
    return at != WEIR_JSON_NONE ? schema_at(c, at) : NULL;
}

/* ---- one value */

static uint32_t type_bit(const struct compiler *c, uint32_t at)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } types[] = {
        {"null", 1u << WEIR_JSON_NULL},
        {"boolean", 1u << WEIR_JSON_FALSE | 1u << WEIR_JSON_TRUE},
        {"number", 1u << WEIR_JSON_NUMBER},
        {"integer", WEIR_JSONSCHEMA__WHOLE},
        {"string", 1u << WEIR_JSON_STRING},
        {"array", 1u << WEIR_JSON_ARRAY},
        {"object", 1u << WEIR_JSON_OBJECT},
    };
    for (size_t i = 0; is_a(c, at, WEIR_JSON_STRING) && i < sizeof types / sizeof *types; i++) {
        if (weir_json_string_eq(c->json, at, weir_slice_cstr(types[i].name))) {
            return types[i].bits;
        }
    }
    return 0;
}

static void compile_type(struct compiler *c, struct weir_jsonschema__schema *s)
{
    uint32_t at = get(c, s, "type");
    if (at == WEIR_JSON_NONE) {
        return;
    }
    struct weir_jsonschema__rule *r = add_rule(c, s, weir_jsonschema__type, at);
    bool is_list = is_a(c, at, WEIR_JSON_ARRAY);
    uint32_t item = is_list ? weir_json_first(c->json, at) : at;
    while (item != WEIR_JSON_NONE) {
        uint32_t bits = type_bit(c, item);
        if (bits == 0) {
            refuse(c, item,
                   "a type is `null`, `boolean`, `number`, `integer`, `string`, `array` "
                   "or `object`");
        }
        r->types |= bits;
        item = is_list ? weir_json_after(c->json, at, item) : WEIR_JSON_NONE;
    }
}

static void compile_values(struct compiler *c, struct weir_jsonschema__schema *s)
{
    uint32_t at = get(c, s, "enum");
    if (at != WEIR_JSON_NONE && want(c, at, WEIR_JSON_ARRAY, "`enum` must be an array")) {
        add_rule(c, s, weir_jsonschema__enum, at);
    }
    at = get(c, s, "const");
    if (at != WEIR_JSON_NONE) {
        add_rule(c, s, weir_jsonschema__const, at);
    }
}

/* ---- numbers and counts */

/* Draft 4 says `exclusiveMinimum: true` beside `minimum`, later ones give it a number. */
static void compile_bound(struct compiler *c, struct weir_jsonschema__schema *s,
                          const char *const words[2], weir_jsonschema_rule_fn *const checks[2])
{
    uint32_t at = get(c, s, words[0]);
    uint32_t exclusive = get(c, s, words[1]);
    bool is_word = exclusive != WEIR_JSON_NONE && !is_a(c, exclusive, WEIR_JSON_NUMBER);
    bool is_true = is_word && is_a(c, exclusive, WEIR_JSON_TRUE);
    if (is_word && !is_true && !is_a(c, exclusive, WEIR_JSON_FALSE)) {
        refuse(c, exclusive, "a bound must be a number");
    }
    if (at != WEIR_JSON_NONE && want(c, at, WEIR_JSON_NUMBER, "a bound must be a number")) {
        add_rule(c, s, checks[is_true], at);
    }
    if (exclusive != WEIR_JSON_NONE && !is_word) {
        add_rule(c, s, checks[1], exclusive);
    }
}

static void compile_numbers(struct compiler *c, struct weir_jsonschema__schema *s)
{
    static const char *const lower[] = {"minimum", "exclusiveMinimum"};
    static const char *const upper[] = {"maximum", "exclusiveMaximum"};
    static weir_jsonschema_rule_fn *const at_least[] = {weir_jsonschema__minimum,
                                                        weir_jsonschema__above};
    static weir_jsonschema_rule_fn *const at_most[] = {weir_jsonschema__maximum,
                                                       weir_jsonschema__below};
    compile_bound(c, s, lower, at_least);
    compile_bound(c, s, upper, at_most);
    uint32_t at = get(c, s, "multipleOf");
    double value;
    if (at == WEIR_JSON_NONE) {
        return;
    }
    if (weir_json_f64(c->json, at, &value) != 0 || value <= 0) {
        refuse(c, at, "`multipleOf` must be a number greater than 0");
    } else {
        add_rule(c, s, weir_jsonschema__multiple, at);
    }
}

static uint64_t read_count(struct compiler *c, uint32_t at, uint64_t otherwise)
{
    uint64_t exact;
    double value;
    if (at == WEIR_JSON_NONE) {
        return otherwise;
    }
    if (weir_json_u64(c->json, at, &exact) == 0) {
        return exact;
    }
    bool is_number = weir_json_f64(c->json, at, &value) == 0;
    if (!is_number || value < 0 || value != floor(value)) {
        refuse(c, at, "a number of things must be a whole number from 0");
        return otherwise;
    }
    return value < 1e18 ? (uint64_t)value : UINT64_MAX;
}

static void compile_count(struct compiler *c, struct weir_jsonschema__schema *s,
                          const char *const words[2], enum weir_json_type type)
{
    uint32_t min = get(c, s, words[0]);
    uint32_t max = get(c, s, words[1]);
    if (min != WEIR_JSON_NONE || max != WEIR_JSON_NONE) {
        struct weir_jsonschema__rule *r = add_rule(c, s, weir_jsonschema__count, min);
        r->types = 1u << type;
        r->min = read_count(c, min, 0);
        r->max = read_count(c, max, UINT64_MAX);
    }
}

static void compile_counts(struct compiler *c, struct weir_jsonschema__schema *s)
{
    static const char *const texts[] = {"minLength", "maxLength"};
    static const char *const arrays[] = {"minItems", "maxItems"};
    static const char *const objects[] = {"minProperties", "maxProperties"};
    compile_count(c, s, texts, WEIR_JSON_STRING);
    compile_count(c, s, arrays, WEIR_JSON_ARRAY);
    compile_count(c, s, objects, WEIR_JSON_OBJECT);
}

/* ---- patterns */

static void free_pattern(void *pattern)
{
    weir_custom_free(pattern);
}

static struct weir_custom *new_pattern(struct compiler *c, uint32_t at)
{
    struct weir_slice text = weir_json_string(c->json, at, c->arena);
    struct weir_buf why = {0};
    struct weir_custom *pattern =
        weir_custom_new_ecma(text.n != 0 ? text : WEIR_SLICE("(?:)"), &why);
    if (pattern != NULL) {
        weir_arena_defer(c->arena, free_pattern, pattern);
    } else {
        refuse(c, at, weir_buf_cstr(&why));
    }
    weir_buf_dispose(&why);
    return pattern;
}

static void compile_pattern(struct compiler *c, struct weir_jsonschema__schema *s)
{
    uint32_t at = get(c, s, "pattern");
    if (at != WEIR_JSON_NONE && want(c, at, WEIR_JSON_STRING, "`pattern` must be a string")) {
        struct weir_jsonschema__rule *r = add_rule(c, s, weir_jsonschema__pattern, at);
        r->pattern = new_pattern(c, at);
    }
}

/* ---- schemas in schemas */

static void fill_many(struct compiler *c, struct weir_jsonschema__rule *r, uint32_t list)
{
    r->many = weir_arena_array(c->arena, c->json->nodes[list].n, sizeof *r->many);
    uint32_t item = weir_json_first(c->json, list);
    for (; item != WEIR_JSON_NONE; item = weir_json_after(c->json, list, item)) {
        r->many[r->n_many++] = schema_at(c, item);
    }
}

static void compile_many(struct compiler *c, struct weir_jsonschema__schema *s, const char *keyword,
                         weir_jsonschema_rule_fn *check)
{
    uint32_t at = get(c, s, keyword);
    if (at == WEIR_JSON_NONE) {
        return;
    }
    if (!is_a(c, at, WEIR_JSON_ARRAY) || c->json->nodes[at].n == 0) {
        refuse(c, at, "must be an array of schemas, at least one");
        return;
    }
    fill_many(c, add_rule(c, s, check, at), at);
}

static void compile_logic(struct compiler *c, struct weir_jsonschema__schema *s)
{
    compile_many(c, s, "allOf", weir_jsonschema__all_of);
    compile_many(c, s, "anyOf", weir_jsonschema__any_of);
    compile_many(c, s, "oneOf", weir_jsonschema__one_of);
    const struct weir_jsonschema__schema *inner = schema_of(c, s, "not");
    if (inner != NULL) {
        add_rule(c, s, weir_jsonschema__not, inner->at)->schema = inner;
    }
    inner = schema_of(c, s, "if");
    if (inner != NULL) {
        struct weir_jsonschema__rule *r = add_rule(c, s, weir_jsonschema__if, inner->at);
        r->schema = inner;
        r->then = schema_of(c, s, "then");
        r->otherwise = schema_of(c, s, "else");
    }
}

/* An array of schemas is `items` of old and `prefixItems` of today. */
static void compile_items(struct compiler *c, struct weir_jsonschema__schema *s)
{
    uint32_t items = get(c, s, "items");
    uint32_t prefix = get(c, s, "prefixItems");
    bool is_old = items != WEIR_JSON_NONE && is_a(c, items, WEIR_JSON_ARRAY);
    uint32_t list = is_old ? items : prefix;
    const struct weir_jsonschema__schema *rest =
        schema_of(c, s, is_old ? "additionalItems" : "items");
    if (is_old && prefix != WEIR_JSON_NONE) {
        refuse(c, items, "`items` beside `prefixItems` must be a schema");
        return;
    }
    if (list != WEIR_JSON_NONE && !want(c, list, WEIR_JSON_ARRAY, "must be an array of schemas")) {
        return;
    }
    if (list != WEIR_JSON_NONE || rest != NULL) {
        struct weir_jsonschema__rule *r = add_rule(c, s, weir_jsonschema__items, list);
        r->schema = rest;
        if (list != WEIR_JSON_NONE) {
            fill_many(c, r, list);
        }
    }
}

static void compile_arrays(struct compiler *c, struct weir_jsonschema__schema *s)
{
    compile_items(c, s);
    const struct weir_jsonschema__schema *inner = schema_of(c, s, "contains");
    if (inner != NULL) {
        struct weir_jsonschema__rule *r = add_rule(c, s, weir_jsonschema__contains, inner->at);
        r->schema = inner;
        r->min = read_count(c, get(c, s, "minContains"), 1);
        r->max = read_count(c, get(c, s, "maxContains"), UINT64_MAX);
    }
    uint32_t unique = get(c, s, "uniqueItems");
    if (unique == WEIR_JSON_NONE || is_a(c, unique, WEIR_JSON_FALSE)) {
        return;
    }
    if (want(c, unique, WEIR_JSON_TRUE, "`uniqueItems` must be true or false")) {
        add_rule(c, s, weir_jsonschema__unique, unique);
    }
}

/* ---- objects */

static void dispose_map(void *map)
{
    weir_map_dispose(map);
}

static struct weir_map *own_map(struct compiler *c, struct weir_jsonschema__rule *r)
{
    weir_arena_defer(c->arena, dispose_map, &r->names);
    return &r->names;
}

static const char an_object[] = "must be an object";

static void fill_properties(struct compiler *c, struct weir_jsonschema__rule *r, uint32_t at)
{
    struct weir_map *names = own_map(c, r);
    uint32_t key = weir_json_first(c->json, at);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(c->json, at, key)) {
        struct weir_slice name = weir_json_string(c->json, key, c->arena);
        weir_map_put(names, name, schema_at(c, key + 1));
    }
}

static void fill_patterns(struct compiler *c, struct weir_jsonschema__rule *r, uint32_t at)
{
    r->named = weir_arena_array(c->arena, c->json->nodes[at].n, sizeof *r->named);
    uint32_t key = weir_json_first(c->json, at);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(c->json, at, key)) {
        r->named[r->n_named++] = (struct weir_jsonschema__named){.pattern = new_pattern(c, key),
                                                                 .schema = schema_at(c, key + 1)};
    }
}

static void compile_members(struct compiler *c, struct weir_jsonschema__schema *s)
{
    uint32_t properties = get(c, s, "properties");
    uint32_t patterns = get(c, s, "patternProperties");
    const struct weir_jsonschema__schema *rest = schema_of(c, s, "additionalProperties");
    if (properties == WEIR_JSON_NONE && patterns == WEIR_JSON_NONE && rest == NULL) {
        return;
    }
    struct weir_jsonschema__rule *r = add_rule(c, s, weir_jsonschema__members, properties);
    r->schema = rest;
    if (properties != WEIR_JSON_NONE && want(c, properties, WEIR_JSON_OBJECT, an_object)) {
        fill_properties(c, r, properties);
    }
    if (patterns != WEIR_JSON_NONE && want(c, patterns, WEIR_JSON_OBJECT, an_object)) {
        fill_patterns(c, r, patterns);
    }
}

static void compile_required(struct compiler *c, struct weir_jsonschema__schema *s)
{
    uint32_t at = get(c, s, "required");
    if (at == WEIR_JSON_NONE || !want(c, at, WEIR_JSON_ARRAY, "must be an array of names")) {
        return;
    }
    struct weir_jsonschema__rule *r = add_rule(c, s, weir_jsonschema__required, at);
    struct weir_map *names = own_map(c, r);
    uint32_t item = weir_json_first(c->json, at);
    for (; item != WEIR_JSON_NONE; item = weir_json_after(c->json, at, item)) {
        if (want(c, item, WEIR_JSON_STRING, "must be a name")) {
            weir_map_put(names, weir_json_string(c->json, item, c->arena), r);
        }
    }
}

static void fill_names(struct compiler *c, struct weir_jsonschema__named *out, uint32_t list)
{
    struct weir_slice *names =
        weir_arena_array(c->arena, c->json->nodes[list].n, sizeof(struct weir_slice));
    uint32_t item = weir_json_first(c->json, list);
    for (; item != WEIR_JSON_NONE; item = weir_json_after(c->json, list, item)) {
        if (want(c, item, WEIR_JSON_STRING, "must be a name")) {
            names[out->n_names++] = weir_json_string(c->json, item, c->arena);
        }
    }
    out->names = names;
}

/* `dependencies` of old is both: an array of names, or a schema. */
static void compile_dependent(struct compiler *c, struct weir_jsonschema__schema *s,
                              const char *keyword)
{
    uint32_t at = get(c, s, keyword);
    if (at == WEIR_JSON_NONE || !want(c, at, WEIR_JSON_OBJECT, an_object)) {
        return;
    }
    struct weir_jsonschema__rule *r = add_rule(c, s, weir_jsonschema__dependent, at);
    r->named = weir_arena_array(c->arena, c->json->nodes[at].n, sizeof *r->named);
    uint32_t key = weir_json_first(c->json, at);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(c->json, at, key)) {
        struct weir_jsonschema__named *n = &r->named[r->n_named++];
        n->name = weir_json_string(c->json, key, c->arena);
        if (is_a(c, key + 1, WEIR_JSON_ARRAY)) {
            fill_names(c, n, key + 1);
        } else {
            n->schema = schema_at(c, key + 1);
        }
    }
}

static void compile_objects(struct compiler *c, struct weir_jsonschema__schema *s)
{
    compile_required(c, s);
    compile_members(c, s);
    compile_dependent(c, s, "dependentRequired");
    compile_dependent(c, s, "dependentSchemas");
    compile_dependent(c, s, "dependencies");
    const struct weir_jsonschema__schema *inner = schema_of(c, s, "propertyNames");
    if (inner != NULL) {
        add_rule(c, s, weir_jsonschema__names, inner->at)->schema = inner;
    }
}

/* ---- references */

static void note_anchor(struct compiler *c, struct weir_jsonschema__schema *s, uint32_t at,
                        size_t n_skipped)
{
    struct weir_slice name = weir_json_string(c->json, at, c->arena);
    weir_map_put(&c->anchors, weir_slice_sub(name, n_skipped, name.n), s);
}

/* Of drafts 6 and 7 `$id: "#name"` is an anchor. Another $id inside would change what `#` means. */
static void compile_anchor(struct compiler *c, struct weir_jsonschema__schema *s)
{
    uint32_t at = get(c, s, "$anchor");
    if (at != WEIR_JSON_NONE && want(c, at, WEIR_JSON_STRING, "must be a string")) {
        note_anchor(c, s, at, 0);
    }
    at = get(c, s, "$id");
    if (at == WEIR_JSON_NONE || !want(c, at, WEIR_JSON_STRING, "must be a string")) {
        return;
    }
    struct weir_slice id = weir_json_string(c->json, at, c->arena);
    if (id.n > 1 && id.p[0] == '#') {
        note_anchor(c, s, at, 1);
    } else if (s->at != 0) {
        refuse(c, at, "an `$id` inside a schema is not supported");
    }
}

static void compile_ref(struct compiler *c, struct weir_jsonschema__schema *s)
{
    uint32_t at = get(c, s, "$ref");
    if (at == WEIR_JSON_NONE || !want(c, at, WEIR_JSON_STRING, "`$ref` must be a string")) {
        return;
    }
    struct weir_slice ref = weir_json_string(c->json, at, c->arena);
    struct weir_jsonschema__rule *r = add_rule(c, s, weir_jsonschema__ref, at);
    if (ref.n == 0 || ref.p[0] != '#') {
        refuse(c, at, "a `$ref` must begin with `#`: other documents are not loaded");
        return;
    }
    ref = weir_slice_sub(ref, 1, ref.n);
    if (ref.n != 0 && ref.p[0] != '/') {
        struct pending *p = weir_arena_alloc(c->arena, sizeof *p);
        *p = (struct pending){.next = c->pending, .rule = r, .anchor = ref};
        c->pending = p;
        return;
    }
    uint32_t target = weir_jsonschema__find(c->json, ref);
    if (target == WEIR_JSON_NONE) {
        refuse(c, at, "the `$ref` leads nowhere");
    } else {
        r->schema = schema_at(c, target);
    }
}

/* Definitions that nobody refers to are held to the same rules. */
static void compile_definitions(struct compiler *c, struct weir_jsonschema__schema *s,
                                const char *keyword)
{
    uint32_t at = get(c, s, keyword);
    if (at == WEIR_JSON_NONE || !want(c, at, WEIR_JSON_OBJECT, an_object)) {
        return;
    }
    uint32_t key = weir_json_first(c->json, at);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(c->json, at, key)) {
        schema_at(c, key + 1);
    }
}

/* ---- all of it */

static void refuse_unsupported(struct compiler *c, const struct weir_jsonschema__schema *s)
{
    static const char *const words[] = {"unevaluatedProperties", "unevaluatedItems", "$dynamicRef",
                                        "$recursiveRef"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint32_t at = get(c, s, words[i]);
        if (at != WEIR_JSON_NONE) {
            refuse(c, at, "this keyword is not supported");
        }
    }
}

static void compile(struct compiler *c, struct weir_jsonschema__schema *s)
{
    if (!is_a(c, s->at, WEIR_JSON_OBJECT)) {
        s->is_impossible = is_a(c, s->at, WEIR_JSON_FALSE);
        if (!s->is_impossible && !is_a(c, s->at, WEIR_JSON_TRUE)) {
            refuse(c, s->at, "a schema must be an object, true or false");
        }
        return;
    }
    refuse_unsupported(c, s);
    compile_anchor(c, s);
    compile_type(c, s);
    compile_values(c, s);
    compile_numbers(c, s);
    compile_counts(c, s);
    compile_pattern(c, s);
    compile_arrays(c, s);
    compile_objects(c, s);
    compile_ref(c, s);
    compile_logic(c, s);
    compile_definitions(c, s, "$defs");
    compile_definitions(c, s, "definitions");
}

static void compile_all(struct compiler *c)
{
    c->all->root = schema_at(c, 0);
    while (c->waiting != NULL && !c->has_failed) {
        struct weir_jsonschema__schema *s = c->waiting;
        c->waiting = s->next;
        compile(c, s);
    }
    for (struct pending *p = c->pending; p != NULL && !c->has_failed; p = p->next) {
        p->rule->schema = weir_map_get(&c->anchors, p->anchor);
        if (p->rule->schema == NULL) {
            refuse(c, p->rule->at, "the `$ref` leads nowhere");
        }
    }
}

static int read_text(struct weir_jsonschema *s, struct weir_slice text, struct weir_buf *why)
{
    struct weir_json_error error;
    if (text.n > WEIR_JSONSCHEMA_MAX_BYTES) {
        weir_buf_printf(why, "a schema has at most %d bytes", WEIR_JSONSCHEMA_MAX_BYTES);
        return WEIR_EINVAL;
    }
    text = weir_arena_dup(&s->arena, text);
    if (weir_json_parse(&s->json, text, NULL, &s->arena, &error) != 0) {
        weir_buf_printf(why, "the schema is not JSON: %s at line %zu, column %zu", error.what,
                        error.line, error.column);
        return WEIR_EINVAL;
    }
    return 0;
}

struct weir_jsonschema *weir_jsonschema_new(struct weir_slice text, struct weir_buf *why)
{
    struct weir_jsonschema *s = weir_mem_zalloc(sizeof *s);
    if (read_text(s, text, why) != 0) {
        weir_jsonschema_free(s);
        return NULL;
    }
    struct compiler c = {.all = s, .json = &s->json, .arena = &s->arena, .why = why};
    c.by_node = weir_mem_array(s->json.n_nodes, sizeof(void *));
    compile_all(&c);
    free(c.by_node);
    weir_map_dispose(&c.anchors);
    if (c.has_failed) {
        weir_jsonschema_free(s);
        return NULL;
    }
    return s;
}

void weir_jsonschema_free(struct weir_jsonschema *s)
{
    if (s != NULL) {
        weir_arena_dispose(&s->arena);
        free(s);
    }
}
