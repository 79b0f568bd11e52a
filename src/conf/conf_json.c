/*
 * Parameters are written in YAML and read as JSON by those who own them. Texts are texts; a plain
 * scalar is what the YAML 1.2 core schema says, and a number keeps its spelling where JSON allows
 * it (0.50 stays 0.50).
 */
#include "base/buf.h"
#include "conf/conf_sections.h"
#include "wire/json_write.h"

static void write_node(struct weir_conf_reader *r, const struct weir_conf_node *n,
                       const char *const *without, struct weir_json_write *w);

/* JSON has no +, no leading zeros and no bare point. */
static void write_number(struct weir_conf_reader *r, const struct weir_conf_node *n,
                         struct weir_json_write *w)
{
    int64_t whole;
    double number;
    if (weir_conf__as_int(n, &whole)) {
        weir_json_write_i64(w, whole);
        return;
    }
    if (!weir_conf__as_number(n, &number) || weir_conf__scalar_type(n) == WEIR_CONF_IS_INT) {
        weir_conf__error(r, n, "the number %s does not fit", weir_conf__name(r, n->text));
        weir_json_write_null(w);
        return;
    }
    struct weir_json as_is;
    struct weir_arena nodes = {0};
    if (weir_json_parse(&as_is, n->text, NULL, &nodes, NULL) == 0) {
        weir_json_write_raw(w, n->text);
    } else {
        weir_json_write_f64(w, number);
    }
    weir_arena_dispose(&nodes);
}

static void write_scalar(struct weir_conf_reader *r, const struct weir_conf_node *n,
                         struct weir_json_write *w)
{
    bool value;
    switch (weir_conf__scalar_type(n)) {
    case WEIR_CONF_IS_NULL:
        weir_json_write_null(w);
        break;
    case WEIR_CONF_IS_BOOL:
        weir_json_write_bool(w, weir_conf__as_bool(n, &value) && value);
        break;
    case WEIR_CONF_IS_INT:
    case WEIR_CONF_IS_FLOAT:
        write_number(r, n, w);
        break;
    case WEIR_CONF_IS_TEXT:
        weir_json_write_string(w, n->text);
        break;
    }
}

static bool is_among(const char *const *names, struct weir_slice name)
{
    for (; names != NULL && *names != NULL; names++) {
        if (weir_slice_eq_cstr(name, *names)) {
            return true;
        }
    }
    return false;
}

static void write_mapping(struct weir_conf_reader *r, const struct weir_conf_node *n,
                          const char *const *without, struct weir_json_write *w)
{
    weir_json_write_begin_object(w);
    for (size_t i = 0; i < n->n; i++) {
        if (is_among(without, n->members[i].key->text)) {
            continue;
        }
        weir_json_write_key(w, n->members[i].key->text);
        write_node(r, n->members[i].value, NULL, w);
    }
    weir_json_write_end_object(w);
}

/* As deep as the document at most: WEIR_CONF_MAX_DEPTH. */
static void write_node(struct weir_conf_reader *r, const struct weir_conf_node *n,
                       const char *const *without, struct weir_json_write *w)
{
    switch (n->kind) {
    case WEIR_CONF_SCALAR:
        write_scalar(r, n, w);
        break;
    case WEIR_CONF_MAPPING:
        write_mapping(r, n, without, w);
        break;
    case WEIR_CONF_SEQUENCE:
        weir_json_write_begin_array(w);
        for (size_t i = 0; i < n->n; i++) {
            write_node(r, n->items[i], NULL, w);
        }
        weir_json_write_end_array(w);
        break;
    }
}

struct weir_slice weir_conf__json(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                  const char *const *without)
{
    struct weir_buf out = {0}; /* no ceiling: the document's text is bounded */
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    write_node(r, n, without, &w);
    weir_json_write_finish(&w);
    struct weir_slice json = weir_arena_dup(r->arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return json;
}
