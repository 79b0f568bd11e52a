#include "model/demo_schema.h"

#include "wire/json_write.h"

/* A schema is the caller's. A node is visited once except through `$ref`, of which so many are
 * followed; and each visit writes something, so the output's ceiling ends it, too. */
enum { MAX_DEPTH = 8, MAX_REFS = 32 };

struct filler {
    const struct weir_json *j;
    struct weir_json_write w;
    uint32_t root;
    unsigned n_refs;
};

static void fill(struct filler *f, uint32_t schema, struct weir_slice name, unsigned depth);

static bool is_object(const struct weir_json *j, uint32_t at)
{
    return at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_OBJECT;
}

/* The schema a reference means; itself when it has none or none that can be followed. */
static uint32_t follow(struct filler *f, uint32_t schema)
{
    static const char *const homes[] = {"$defs", "definitions"};
    uint32_t ref = weir_json_get(f->j, schema, WEIR_SLICE("$ref"));
    if (ref == WEIR_JSON_NONE || weir_json_type(f->j, ref) != WEIR_JSON_STRING ||
        f->n_refs == MAX_REFS) {
        return schema;
    }
    f->n_refs++;
    struct weir_slice path = weir_json_raw(f->j, ref);
    path = weir_slice_sub(path, 1, path.n - 1);
    for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++) {
        struct weir_slice home = weir_slice_cstr(homes[i]);
        bool is_here = path.n > home.n + 3 && weir_slice_starts_with(path, WEIR_SLICE("#/")) &&
                       weir_slice_eq(weir_slice_sub(path, 2, home.n + 2), home) &&
                       path.p[home.n + 2] == '/';
        uint32_t all = is_here ? weir_json_get(f->j, f->root, home) : WEIR_JSON_NONE;
        uint32_t found = all != WEIR_JSON_NONE
                             ? weir_json_get(f->j, all, weir_slice_sub(path, home.n + 3, path.n))
                             : WEIR_JSON_NONE;
        if (is_object(f->j, found)) {
            return found;
        }
    }
    return schema;
}

/* A value the schema itself names: written, true. */
static bool fill_named(struct filler *f, uint32_t schema)
{
    uint32_t at = weir_json_get(f->j, schema, WEIR_SLICE("const"));
    uint32_t list = weir_json_get(f->j, schema, WEIR_SLICE("enum"));
    if (at == WEIR_JSON_NONE && list != WEIR_JSON_NONE &&
        weir_json_type(f->j, list) == WEIR_JSON_ARRAY) {
        at = weir_json_first(f->j, list);
    }
    if (at == WEIR_JSON_NONE) {
        at = weir_json_get(f->j, schema, WEIR_SLICE("default"));
    }
    if (at != WEIR_JSON_NONE) {
        weir_json_write_node(&f->w, f->j, at);
    }
    return at != WEIR_JSON_NONE;
}

/* The first of several schemas; NONE: there are none. */
static uint32_t first_of(const struct filler *f, uint32_t schema)
{
    static const char *const names[] = {"anyOf", "oneOf", "allOf"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint32_t list = weir_json_get(f->j, schema, weir_slice_cstr(names[i]));
        bool is_list = list != WEIR_JSON_NONE && weir_json_type(f->j, list) == WEIR_JSON_ARRAY;
        uint32_t at = is_list ? weir_json_first(f->j, list) : WEIR_JSON_NONE;
        if (is_object(f->j, at)) {
            return at;
        }
    }
    return WEIR_JSON_NONE;
}

static bool contains(struct weir_slice s, struct weir_slice part)
{
    for (size_t i = 0; i + part.n <= s.n; i++) {
        if (weir_slice_eq_nocase(weir_slice_sub(s, i, i + part.n), part)) {
            return true;
        }
    }
    return false;
}

static bool has_format(const struct filler *f, uint32_t schema, const char *format)
{
    uint32_t at = weir_json_get(f->j, schema, WEIR_SLICE("format"));
    return at != WEIR_JSON_NONE && weir_json_type(f->j, at) == WEIR_JSON_STRING &&
           weir_json_string_eq(f->j, at, weir_slice_cstr(format));
}

static void fill_string(struct filler *f, uint32_t schema, struct weir_slice name)
{
    static const struct {
        const char *format;
        const char *value;
    } formats[] = {{"email", "demo@example.com"},
                   {"uri", "https://example.com/"},
                   {"date", "2024-02-29"},
                   {"date-time", "2024-02-29T12:00:00Z"},
                   {"time", "12:00:00Z"},
                   {"ipv4", "192.0.2.1"},
                   {"uuid", "00000000-0000-4000-8000-000000000000"}};
    const char *value = contains(name, WEIR_SLICE("mail")) ? "demo@example.com" : "demonstration";
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        value = has_format(f, schema, formats[i].format) ? formats[i].value : value;
    }
    weir_json_write_string(&f->w, weir_slice_cstr(value));
}

static void fill_number(struct filler *f, uint32_t schema)
{
    uint32_t least = weir_json_get(f->j, schema, WEIR_SLICE("minimum"));
    if (least != WEIR_JSON_NONE && weir_json_type(f->j, least) == WEIR_JSON_NUMBER) {
        weir_json_write_raw(&f->w, weir_json_raw(f->j, least));
    } else {
        weir_json_write_u64(&f->w, 1);
    }
}

static void fill_array(struct filler *f, uint32_t schema, struct weir_slice name, unsigned depth)
{
    uint32_t items = weir_json_get(f->j, schema, WEIR_SLICE("items"));
    weir_json_write_begin_array(&f->w);
    if (is_object(f->j, items) && depth < MAX_DEPTH) {
        fill(f, items, name, depth + 1);
    }
    weir_json_write_end_array(&f->w);
}

static void fill_object(struct filler *f, uint32_t schema, unsigned depth)
{
    uint32_t all = weir_json_get(f->j, schema, WEIR_SLICE("properties"));
    weir_json_write_begin_object(&f->w);
    uint32_t key =
        is_object(f->j, all) && depth < MAX_DEPTH ? weir_json_first(f->j, all) : WEIR_JSON_NONE;
    for (; key != WEIR_JSON_NONE && f->w.rc == 0; key = weir_json_after(f->j, all, key)) {
        struct weir_buf name = {0};
        weir_json_string_append(f->j, key, &name);
        weir_json_write_key(&f->w, weir_buf_slice(&name));
        fill(f, key + 1, weir_buf_slice(&name), depth + 1);
        weir_buf_dispose(&name);
    }
    weir_json_write_end_object(&f->w);
}

/* `type` is a name or a list of names: is this one of them? */
static bool has_type(const struct filler *f, uint32_t type, const char *name)
{
    if (type == WEIR_JSON_NONE) {
        return false;
    }
    if (weir_json_type(f->j, type) == WEIR_JSON_STRING) {
        return weir_json_string_eq(f->j, type, weir_slice_cstr(name));
    }
    uint32_t at = weir_json_type(f->j, type) == WEIR_JSON_ARRAY ? weir_json_first(f->j, type)
                                                                : WEIR_JSON_NONE;
    return at != WEIR_JSON_NONE && weir_json_type(f->j, at) == WEIR_JSON_STRING &&
           weir_json_string_eq(f->j, at, weir_slice_cstr(name));
}

static void fill_type(struct filler *f, uint32_t schema, struct weir_slice name, unsigned depth)
{
    uint32_t type = weir_json_get(f->j, schema, WEIR_SLICE("type"));
    bool is_untyped_object =
        type == WEIR_JSON_NONE &&
        (depth == 0 || weir_json_get(f->j, schema, WEIR_SLICE("properties")) != WEIR_JSON_NONE);
    if (is_untyped_object || has_type(f, type, "object")) {
        fill_object(f, schema, depth);
    } else if (has_type(f, type, "array")) {
        fill_array(f, schema, name, depth);
    } else if (has_type(f, type, "integer") || has_type(f, type, "number")) {
        fill_number(f, schema);
    } else if (has_type(f, type, "boolean")) {
        weir_json_write_bool(&f->w, true);
    } else if (has_type(f, type, "null")) {
        weir_json_write_null(&f->w);
    } else {
        fill_string(f, schema, name);
    }
}

static void fill(struct filler *f, uint32_t schema, struct weir_slice name, unsigned depth)
{
    if (f->w.rc != 0) {
        return;
    }
    if (!is_object(f->j, schema)) { /* `true`: anything will do */
        weir_json_write_string(&f->w, WEIR_SLICE("demonstration"));
        return;
    }
    schema = follow(f, schema);
    if (fill_named(f, schema)) {
        return;
    }
    uint32_t first = first_of(f, schema);
    if (first != WEIR_JSON_NONE && depth < MAX_DEPTH) {
        fill(f, first, name, depth + 1);
    } else {
        fill_type(f, schema, name, depth);
    }
}

int weir_demo_schema_fill(const struct weir_json *j, uint32_t schema, struct weir_buf *out)
{
    struct filler f = {.j = j, .root = schema};
    weir_json_write_init(&f.w, out);
    if (is_object(j, schema)) {
        fill(&f, schema, WEIR_SLICE(""), 0);
    } else {
        weir_json_write_begin_object(&f.w);
        weir_json_write_end_object(&f.w);
    }
    return weir_json_write_finish(&f.w);
}
