/*
 * A type is a row: its name, what reads it, what is said of a text that it does not take. Reading
 * costs, so all but small texts are read off the loop.
 */
#include "detect/file_type.h"

#include "base/err.h"
#include "base/mem.h"
#include "detect/xmldoc.h"
#include "detect/yamldoc.h"

#include <stdlib.h>

enum {
    MAX_TYPES = 8,
    LIGHT_BYTES = 8192, /* YAML, the slowest, takes half a millisecond for as much */
    MAX_JSON_DEPTH = 256,
    MAX_JSON_NODES = 2000000,
};

struct type {
    const char *name;
    const char *invalid;
    /* 0, WEIR_EBAD (not of the type), WEIR_ELIMIT with run->why. */
    int (*read)(struct weir_slice text, struct weir_builtin_run *run);
};

struct settings {
    const struct type *types[MAX_TYPES];
    size_t n_types;
};

static int read_json(struct weir_slice text, struct weir_builtin_run *run)
{
    struct weir_json_limits limits = {.max_depth = MAX_JSON_DEPTH, .max_nodes = MAX_JSON_NODES};
    struct weir_json_tape tape = {0};
    struct weir_json json;
    int rc = weir_json_parse_reuse(&json, text, &limits, &tape, NULL);
    weir_json_tape_dispose(&tape);
    run->why = "the JSON document is nested too deeply or has too many values";
    return rc;
}

static int read_yaml(struct weir_slice text, struct weir_builtin_run *run)
{
    struct weir_arena arena = {0};
    const struct weir_yamldoc_node *root;
    int rc = weir_yamldoc_read(text, &arena, &root);
    weir_arena_dispose(&arena);
    run->why = "the YAML document is nested too deeply or has too many values";
    return rc;
}

static int read_xml(struct weir_slice text, struct weir_builtin_run *run)
{
    return weir_xmldoc_check(text, NULL, run);
}

static const struct type types[] = {
    {"json", "invalid_json", read_json},
    {"yaml", "invalid_yaml", read_yaml},
    {"xml", "invalid_xml", read_xml},
};

enum { N_TYPES = sizeof types / sizeof types[0] };

static const struct type *find_type(struct weir_slice entry)
{
    for (size_t i = 0; i < N_TYPES; i++) {
        if (weir_slice_eq_cstr(entry, types[i].name)) {
            return &types[i];
        }
    }
    return NULL;
}

static bool add_entry(struct settings *s, struct weir_slice entry, struct weir_buf *why)
{
    const struct type *type = find_type(entry);
    if (type == NULL) {
        int n = entry.n < 64 ? (int)entry.n : 64;
        weir_buf_printf(why, "`file_type` has no type `%.*s`: use `json`, `yaml` or `xml`", n,
                        entry.p);
        return false;
    }
    s->types[s->n_types++] = type;
    return true;
}

static void free_settings(void *p)
{
    free(p);
}

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    struct weir_slice *entries;
    size_t n;
    if (weir_builtin_strings(params, "file_type", MAX_TYPES, why, &entries, &n) != 0) {
        return NULL;
    }
    weir_xmldoc_prepare();
    struct settings *s = weir_mem_zalloc(sizeof *s);
    for (size_t i = 0; i < n; i++) {
        if (!add_entry(s, entries[i], why)) {
            free_settings(s);
            return NULL;
        }
    }
    return s;
}

static int add(struct weir_found *found, struct weir_slice text, const char *detection)
{
    struct weir_found_span span = {.start_byte = 0,
                                   .end_byte = text.n,
                                   .detection = weir_slice_cstr(detection),
                                   .detection_type = WEIR_SLICE("file_type"),
                                   .score = 1.0};
    return weir_found_add(found, &span);
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    const struct settings *s = settings;
    for (size_t i = 0; i < s->n_types; i++) {
        int rc = s->types[i]->read(text, run);
        if (rc == WEIR_EBAD) {
            rc = add(found, text, s->types[i]->invalid);
        }
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static bool is_heavy(const void *settings, size_t n_bytes)
{
    const struct settings *s = settings;
    return n_bytes * s->n_types > LIGHT_BYTES;
}

static const char *const members[] = {"file_type", NULL};

const struct weir_builtin_kind weir_detect_file_type = {.name = "file_type",
                                                        .members = members,
                                                        .make = make,
                                                        .free = free_settings,
                                                        .scan = scan,
                                                        .is_heavy = is_heavy};
