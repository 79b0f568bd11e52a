/*
 * A schema on the first line, a document behind it: hostile both. What is accepted gives the same
 * answer twice, `not` turns it around, and a schema that cannot be told from `true` or `false` by
 * its look (allOf of itself) changes nothing.
 */
#include "base/assert.h"
#include "base/err.h"
#include "detect/jsonschema.h"
#include "detect/yamldoc.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_with(const char *head, struct weir_slice schema, const char *tail,
                      const struct weir_json *doc)
{
    struct weir_buf text = {0};
    struct weir_buf why = {0};
    weir_buf_append(&text, weir_slice_cstr(head));
    weir_buf_append(&text, schema);
    weir_buf_append(&text, weir_slice_cstr(tail));
    struct weir_jsonschema *s = weir_jsonschema_new(weir_buf_slice(&text), &why);
    WEIR_ASSERT((s == NULL) == (why.n != 0));
    struct weir_builtin_run run = {.budget_us = 50000};
    int rc = s != NULL ? weir_jsonschema_check(s, doc, &run) : WEIR_EBAD;
    WEIR_ASSERT(rc == 0 || rc == WEIR_EINVAL || rc == WEIR_EBAD ||
                (rc == WEIR_ELIMIT && run.why != NULL));
    weir_jsonschema_free(s);
    weir_buf_dispose(&text);
    weir_buf_dispose(&why);
    return rc;
}

/* References and an $id mean something else one level down: then the wrapped schema says nothing.
 */
static bool is_movable(struct weir_slice schema)
{
    return weir_slice_find(schema, '$') == schema.n && weir_slice_find(schema, '\\') == schema.n;
}

static void check_schema(struct weir_slice schema, const struct weir_json *doc)
{
    int rc = check_with("", schema, "", doc);
    if (rc == WEIR_ELIMIT || rc == WEIR_EBAD) {
        return;
    }
    WEIR_ASSERT(check_with("", schema, "", doc) == rc);
    int not_rc = check_with("{\"not\":", schema, "}", doc);
    int all_rc = check_with("{\"allOf\":[", schema, "]}", doc);
    if (is_movable(schema) && not_rc != WEIR_ELIMIT && not_rc != WEIR_EBAD) {
        WEIR_ASSERT((not_rc == 0) != (rc == 0));
        WEIR_ASSERT(all_rc == rc);
    }
}

/* What YAML makes of the document must be JSON, or a limit. */
static void check_yaml(struct weir_slice text)
{
    struct weir_arena arena = {0};
    const struct weir_yamldoc_node *root;
    int rc = weir_yamldoc_read(text, &arena, &root);
    WEIR_ASSERT(rc == 0 || rc == WEIR_EBAD || rc == WEIR_ELIMIT);
    struct weir_buf out;
    weir_buf_init(&out, 65536);
    struct weir_json_limits limits = {.max_depth = WEIR_YAMLDOC_MAX_DEPTH};
    struct weir_json_error error;
    struct weir_json json;
    if (rc == 0 && weir_yamldoc_json(root, &out) == 0 &&
        weir_json_parse(&json, weir_buf_slice(&out), &limits, &arena, &error) != 0) {
        WEIR_ASSERT(strcmp(error.what, "duplicate key") == 0);
    }
    weir_buf_dispose(&out);
    weir_arena_dispose(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice text = weir_slice_make((const char *)data, size);
    struct weir_slice schema = weir_slice_cut(&text, '\n');
    struct weir_arena arena = {0};
    struct weir_json_limits limits = {.max_depth = 256};
    struct weir_json doc;
    if (weir_json_parse(&doc, text, &limits, &arena, NULL) == 0) {
        check_schema(schema, &doc);
    }
    check_yaml(text);
    weir_arena_dispose(&arena);
    return 0;
}
