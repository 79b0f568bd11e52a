#include "route/fields.h"

#include "base/buf.h"
#include "base/err.h"

#include <stdarg.h>

enum { MAX_SHOWN_BYTES = 64, MAX_PATH_BYTES = 256 };

int weir_fields_fail(struct weir_fields *f, const char *path, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = weir_arena_vprintf(f->arena, fmt, args);
    va_end(args);
    bool has_path = path[0] != '\0' && !f->has_no_paths;
    f->error = has_path ? weir_arena_printf(f->arena, "%s: %s", path, text) : text;
    return WEIR_EINVAL;
}

static const char *expected(enum weir_fields_kind kind)
{
    static const char *const names[] = {
        [WEIR_FIELDS_STRING] = "a string", [WEIR_FIELDS_OBJECT] = "an object",
        [WEIR_FIELDS_ARRAY] = "an array",  [WEIR_FIELDS_BOOL] = "a boolean",
        [WEIR_FIELDS_NUMBER] = "a number", [WEIR_FIELDS_INTEGER] = "an integer",
        [WEIR_FIELDS_ANY] = "a value",
    };
    return names[kind];
}

/* What came: short values as they are written, others by their kind. */
static const char *came(const struct weir_fields *f, uint32_t at)
{
    struct weir_slice raw = weir_json_raw(f->json, at);
    int shown = raw.n <= MAX_SHOWN_BYTES ? (int)raw.n : 0;
    switch (weir_json_type(f->json, at)) {
    case WEIR_JSON_NULL:
        return "null";
    case WEIR_JSON_TRUE:
    case WEIR_JSON_FALSE:
        return weir_arena_printf(f->arena, "boolean `%.*s`", shown, raw.p);
    case WEIR_JSON_NUMBER:
        return shown != 0 ? weir_arena_printf(f->arena, "number `%.*s`", shown, raw.p) : "number";
    case WEIR_JSON_STRING:
        return shown != 0 ? weir_arena_printf(f->arena, "string %.*s", shown, raw.p) : "string";
    case WEIR_JSON_ARRAY:
        return "array";
    case WEIR_JSON_OBJECT:
        return "object";
    }
    return "value";
}

static bool is_of_kind(const struct weir_fields *f, uint32_t at, enum weir_fields_kind kind)
{
    enum weir_json_type type = weir_json_type(f->json, at);
    switch (kind) {
    case WEIR_FIELDS_STRING:
        return type == WEIR_JSON_STRING;
    case WEIR_FIELDS_OBJECT:
        return type == WEIR_JSON_OBJECT;
    case WEIR_FIELDS_ARRAY:
        return type == WEIR_JSON_ARRAY;
    case WEIR_FIELDS_BOOL:
        return type == WEIR_JSON_TRUE || type == WEIR_JSON_FALSE;
    case WEIR_FIELDS_NUMBER:
        return type == WEIR_JSON_NUMBER;
    case WEIR_FIELDS_INTEGER:
        return type == WEIR_JSON_NUMBER && f->json->nodes[at].is_integer;
    case WEIR_FIELDS_ANY:
        return true;
    }
    return false;
}

int weir_fields_check(struct weir_fields *f, uint32_t at, const char *path,
                      enum weir_fields_kind kind)
{
    if (is_of_kind(f, at, kind)) {
        return 0;
    }
    return weir_fields_fail(f, path, "invalid type: %s, expected %s", came(f, at), expected(kind));
}

static const char *join(const struct weir_fields *f, const char *path, struct weir_slice name)
{
    int n = name.n < MAX_PATH_BYTES ? (int)name.n : MAX_PATH_BYTES;
    return weir_arena_printf(f->arena, "%s%s%.*s", path, path[0] != '\0' ? "." : "", n, name.p);
}

int weir_fields_check_objects(struct weir_fields *f, uint32_t object, const char *path)
{
    if (object == WEIR_JSON_NONE) {
        return 0;
    }
    uint32_t key = weir_json_first(f->json, object);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(f->json, object, key)) {
        if (weir_json_type(f->json, key + 1) != WEIR_JSON_OBJECT) {
            struct weir_slice name = weir_json_string(f->json, key, f->arena);
            return weir_fields_check(f, key + 1, join(f, path, name), WEIR_FIELDS_OBJECT);
        }
    }
    return 0;
}

int weir_fields_variant(struct weir_fields *f, uint32_t at, const char *path,
                        const char *const *names, size_t n)
{
    struct weir_buf known = {0};
    for (size_t i = 0; at != WEIR_JSON_NONE && i < n; i++) {
        if (weir_json_string_eq(f->json, at, weir_slice_cstr(names[i]))) {
            at = WEIR_JSON_NONE;
        }
        weir_buf_printf(&known, "%s`%s`", i == 0 ? "" : n == 2 ? " or " : ", ", names[i]);
    }
    int rc = 0;
    if (at != WEIR_JSON_NONE) {
        struct weir_slice given = weir_json_string(f->json, at, f->arena);
        rc = weir_fields_fail(f, path, "unknown variant `%.*s`, expected %s%s",
                              given.n < MAX_SHOWN_BYTES ? (int)given.n : MAX_SHOWN_BYTES, given.p,
                              n > 2 ? "one of " : "", weir_buf_cstr(&known));
    }
    weir_buf_dispose(&known);
    return rc;
}

static int unknown(struct weir_fields *f, const char *path, struct weir_slice name,
                   const struct weir_fields_spec *specs, size_t n)
{
    struct weir_buf known = {0};
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(&known, "%s`%s`", i != 0 ? ", " : "", specs[i].name);
    }
    int shown = name.n < MAX_PATH_BYTES ? (int)name.n : MAX_PATH_BYTES;
    int rc = weir_fields_fail(f, join(f, path, name), "unknown field `%.*s`, expected %s%s", shown,
                              name.p, n > 1 ? "one of " : "", weir_buf_cstr(&known));
    weir_buf_dispose(&known);
    return rc;
}

static size_t find_spec(const struct weir_fields_spec *specs, size_t n, struct weir_slice name)
{
    for (size_t i = 0; i < n; i++) {
        if (weir_slice_eq_cstr(name, specs[i].name)) {
            return i;
        }
    }
    return n;
}

static int read_member(struct weir_fields *f, const char *path, struct weir_slice name,
                       const struct weir_fields_spec *spec, uint32_t value, uint32_t *node)
{
    bool is_null = weir_json_type(f->json, value) == WEIR_JSON_NULL;
    if (is_null && !spec->is_required) {
        return 0;
    }
    if (!is_of_kind(f, value, spec->kind)) {
        return weir_fields_check(f, value, join(f, path, name), spec->kind);
    }
    *node = value;
    return 0;
}

static int read_all(struct weir_fields *f, uint32_t object, const char *path,
                    const struct weir_fields_spec *specs, size_t n, uint32_t *nodes)
{
    for (size_t i = 0; i < n; i++) {
        nodes[i] = WEIR_JSON_NONE;
    }
    int rc = weir_fields_check(f, object, path, WEIR_FIELDS_OBJECT);
    uint32_t key = rc == 0 ? weir_json_first(f->json, object) : WEIR_JSON_NONE;
    for (; rc == 0 && key != WEIR_JSON_NONE; key = weir_json_after(f->json, object, key)) {
        struct weir_slice name = weir_json_string(f->json, key, f->arena);
        size_t i = find_spec(specs, n, name);
        if (i < n) {
            rc = read_member(f, path, name, &specs[i], key + 1, &nodes[i]);
        } else if (!f->ignores_unknown) {
            rc = unknown(f, path, name, specs, n);
        }
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (specs[i].is_required && nodes[i] == WEIR_JSON_NONE) {
            rc = weir_fields_fail(f, path, "missing field `%s`", specs[i].name);
        }
    }
    return rc;
}

int weir_fields_read(struct weir_fields *f, uint32_t object, const char *path,
                     const struct weir_fields_spec *specs, size_t n, uint32_t *nodes)
{
    return read_all(f, object, path, specs, n, nodes);
}

int weir_fields_read_some(struct weir_fields *f, uint32_t object, const char *path,
                          const struct weir_fields_spec *specs, size_t n, uint32_t *nodes)
{
    bool before = f->ignores_unknown;
    f->ignores_unknown = true;
    int rc = read_all(f, object, path, specs, n, nodes);
    f->ignores_unknown = before;
    return rc;
}

struct weir_slice weir_fields_string(const struct weir_fields *f, uint32_t at)
{
    return at != WEIR_JSON_NONE ? weir_json_string(f->json, at, f->arena) : WEIR_SLICE("");
}
