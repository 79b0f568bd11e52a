#ifndef WEIR_ROUTE_FIELDS_H
#define WEIR_ROUTE_FIELDS_H

#include "base/arena.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads the members of a request object by a table of known fields, strictly: a misspelt `ouput`
 * must not mean unguarded. The first mistake becomes the error's text, in the words of
 * docs/api/endpoints.md (Errors), with the path of the offending member.
 */
enum weir_fields_kind {
    WEIR_FIELDS_STRING,
    WEIR_FIELDS_OBJECT,
    WEIR_FIELDS_ARRAY,
    WEIR_FIELDS_BOOL,
    WEIR_FIELDS_NUMBER,
    WEIR_FIELDS_INTEGER,
    WEIR_FIELDS_ANY,
};

struct weir_fields_spec {
    const char *name;
    enum weir_fields_kind kind;
    bool is_required;
};

struct weir_fields {
    const struct weir_json *json;
    struct weir_arena *arena;
    const char *error;    /* NULL until something is wrong; in the arena */
    bool ignores_unknown; /* compat fms, nested objects only */
    bool has_no_paths;    /* messages stand alone: a line of D */
};

/*
 * Reads `object`, whose path is `path` ("" for the top), into `nodes[i]` for `specs[i]`:
 * WEIR_JSON_NONE where absent or null. 0, or WEIR_EINVAL with f->error.
 */
int weir_fields_read(struct weir_fields *f, uint32_t object, const char *path,
                     const struct weir_fields_spec *specs, size_t n, uint32_t *nodes);

/* The same for an object some of whose members are others' business: only `specs` are looked at. */
int weir_fields_read_some(struct weir_fields *f, uint32_t object, const char *path,
                          const struct weir_fields_spec *specs, size_t n, uint32_t *nodes);

/* f->error = "PATH: text", or "text" without a path. Returns WEIR_EINVAL. */
int weir_fields_fail(struct weir_fields *f, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Checks one node against a kind. 0 or WEIR_EINVAL with f->error. */
int weir_fields_check(struct weir_fields *f, uint32_t at, const char *path,
                      enum weir_fields_kind kind);

/* Are all members of `object` (or WEIR_JSON_NONE) objects, as each detector's parameters are?
 * `null` is refused, too: it must not mean that the detector was not asked for. 0, or WEIR_EINVAL
 * with f->error. */
int weir_fields_check_objects(struct weir_fields *f, uint32_t object, const char *path);

/* Is the string at `at` (or WEIR_JSON_NONE) one of `names`? 0, or WEIR_EINVAL with f->error. */
int weir_fields_variant(struct weir_fields *f, uint32_t at, const char *path,
                        const char *const *names, size_t n);

/* A string's value, "" where the node is WEIR_JSON_NONE. */
struct weir_slice weir_fields_string(const struct weir_fields *f, uint32_t at);

#endif
