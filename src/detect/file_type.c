/*
 * A type is a row: its name, what reads it, what is said of a text that it does not take. Reading
 * costs, so all but small texts are read off the loop.
 */
#include "detect/file_type.h"

#include "base/err.h"
#include "base/mem.h"
#include "detect/jsonschema.h"
#include "detect/xmldoc.h"
#include "detect/xsd.h"
#include "detect/yamldoc.h"

#include <stdlib.h>

enum {
    MAX_TYPES = 8,
    LIGHT_BYTES = 8192, /* YAML, the slowest, takes half a millisecond for as much */
    MAX_JSON_DEPTH = 256,
    MAX_JSON_NODES = 2000000,
    MAX_JSON_FACTOR = 4, /* YAML that becomes JSON may grow so far, by its aliases */
    SPARE_JSON_BYTES = 65536,
};

struct entry;

struct type {
    const char *name; /* with a colon at the end a schema follows it */
    const char *invalid;
    const char *mismatch;
    /* 0, WEIR_EBAD (not of the type), WEIR_EINVAL (not as the schema wants it), WEIR_ELIMIT with
     * run->why. */
    int (*read)(const struct entry *e, struct weir_slice text, struct weir_builtin_run *run);
};

/* What one string of the parameter asks for. */
struct entry {
    const struct type *type;
    struct weir_jsonschema *schema;
    struct weir_xsd *xsd;
};

struct settings {
    struct entry entries[MAX_TYPES];
    size_t n_entries;
    bool has_schema;
};

static int check_json(const struct entry *e, struct weir_slice text, struct weir_builtin_run *run)
{
    struct weir_json_limits limits = {.max_depth = MAX_JSON_DEPTH, .max_nodes = MAX_JSON_NODES};
    struct weir_json_tape tape = {0};
    struct weir_json json;
    run->why = "the JSON document is nested too deeply or has too many values";
    int rc = weir_json_parse_reuse(&json, text, &limits, &tape, NULL);
    if (rc == 0 && e->schema != NULL) {
        rc = weir_jsonschema_check(e->schema, &json, run);
    }
    weir_json_tape_dispose(&tape);
    return rc;
}

/* Names that only YAML can tell apart have no form in JSON: no schema describes that. */
static int check_yaml_schema(const struct entry *e, const struct weir_yamldoc_node *root,
                             struct weir_slice text, struct weir_builtin_run *run)
{
    struct weir_buf json;
    weir_buf_init(&json, SPARE_JSON_BYTES + MAX_JSON_FACTOR * text.n);
    run->why = "the YAML document is too large once its aliases are written out";
    int rc = weir_yamldoc_json(root, &json);
    if (rc == 0) {
        rc = check_json(e, weir_buf_slice(&json), run);
    }
    weir_buf_dispose(&json);
    return rc == WEIR_EBAD ? WEIR_EINVAL : rc;
}

static int check_yaml(const struct entry *e, struct weir_slice text, struct weir_builtin_run *run)
{
    struct weir_arena arena = {0};
    const struct weir_yamldoc_node *root;
    run->why = "the YAML document is nested too deeply or has too many values";
    int rc = weir_yamldoc_read(text, &arena, &root);
    if (rc == 0 && e->schema != NULL) {
        rc = check_yaml_schema(e, root, text, run);
    }
    weir_arena_dispose(&arena);
    return rc;
}

static int check_xml(const struct entry *e, struct weir_slice text, struct weir_builtin_run *run)
{
    return e->xsd != NULL ? weir_xsd_check(e->xsd, text, run) : weir_xmldoc_check(text, NULL, run);
}

static const struct type types[] = {
    {"json", "invalid_json", NULL, check_json},
    {"yaml", "invalid_yaml", NULL, check_yaml},
    {"xml", "invalid_xml", NULL, check_xml},
    {"json-with-schema:", "invalid_json", "json_schema_mismatch", check_json},
    {"yaml-with-schema:", "invalid_yaml", "yaml_schema_mismatch", check_yaml},
    {"xml-with-schema:", "invalid_xml", "xml_schema_mismatch", check_xml},
};

enum { N_TYPES = sizeof types / sizeof types[0] };

static const struct type *find_type(struct weir_slice entry)
{
    for (size_t i = 0; i < N_TYPES; i++) {
        struct weir_slice name = weir_slice_cstr(types[i].name);
        bool has_schema = types[i].mismatch != NULL;
        if (has_schema ? weir_slice_starts_with(entry, name) : weir_slice_eq(entry, name)) {
            return &types[i];
        }
    }
    return NULL;
}

static bool add_entry(struct settings *s, struct weir_slice text, struct weir_buf *why)
{
    struct entry *e = &s->entries[s->n_entries++];
    e->type = find_type(text);
    if (e->type == NULL) {
        int n = text.n < 64 ? (int)text.n : 64;
        weir_buf_printf(why,
                        "`file_type` has no type `%.*s`: use `json`, `yaml`, `xml`, "
                        "`json-with-schema:` or `yaml-with-schema:` and a JSON Schema, or "
                        "`xml-with-schema:` and an XML Schema",
                        n, text.p);
        return false;
    }
    if (e->type->mismatch == NULL) {
        return true;
    }
    s->has_schema = true;
    struct weir_slice schema = weir_slice_sub(text, strlen(e->type->name), text.n);
    if (e->type->read == check_xml) {
        e->xsd = weir_xsd_new(schema, why);
        return e->xsd != NULL;
    }
    e->schema = weir_jsonschema_new(schema, why);
    return e->schema != NULL;
}

static void free_settings(void *p)
{
    struct settings *s = p;
    for (size_t i = 0; i < s->n_entries; i++) {
        weir_jsonschema_free(s->entries[i].schema);
        weir_xsd_free(s->entries[i].xsd);
    }
    free(s);
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
    for (size_t i = 0; i < s->n_entries; i++) {
        const struct type *type = s->entries[i].type;
        int rc = type->read(&s->entries[i], text, run);
        if (rc == WEIR_EBAD || rc == WEIR_EINVAL) {
            rc = add(found, text, rc == WEIR_EBAD ? type->invalid : type->mismatch);
        }
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

/* A schema may ask for any amount of work, whatever the size of the text. */
static bool is_heavy(const void *settings, size_t n_bytes)
{
    const struct settings *s = settings;
    return s->has_schema || n_bytes * s->n_entries > LIGHT_BYTES;
}

static const char *const members[] = {"file_type", NULL};

const struct weir_builtin_kind weir_detect_file_type = {.name = "file_type",
                                                        .members = members,
                                                        .is_of_wholes = true,
                                                        .needs = "file_type",
                                                        .make = make,
                                                        .free = free_settings,
                                                        .scan = scan,
                                                        .is_heavy = is_heavy};
