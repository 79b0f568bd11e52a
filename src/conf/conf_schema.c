#include "conf/conf_schema.h"

#include "base/assert.h"
#include "base/buf.h"

#include <math.h>
#include <stdarg.h>

enum { MAX_LISTED_KEYS = 40 };

struct weir_conf_pos weir_conf__pos(const struct weir_conf_reader *r,
                                    const struct weir_conf_node *n)
{
    return (struct weir_conf_pos){r->file, n != NULL ? n->line : 0};
}

void weir_conf__error(struct weir_conf_reader *r, const struct weir_conf_node *at, const char *fmt,
                      ...)
{
    va_list args;
    va_start(args, fmt);
    weir_conf_problems_vadd(r->problems, WEIR_CONF_ERROR, weir_conf__pos(r, at), fmt, args);
    va_end(args);
}

void weir_conf__warn(struct weir_conf_reader *r, const struct weir_conf_node *at, const char *fmt,
                     ...)
{
    va_list args;
    va_start(args, fmt);
    weir_conf_problems_vadd(r->problems, WEIR_CONF_WARNING, weir_conf__pos(r, at), fmt, args);
    va_end(args);
}

const char *weir_conf__name(struct weir_conf_reader *r, struct weir_slice s)
{
    return weir_conf__quote(r->scratch, s);
}

struct weir_conf_text weir_conf__keep(struct weir_conf_reader *r, const struct weir_conf_node *n)
{
    return (struct weir_conf_text){weir_arena_dup(r->arena, n->text), weir_conf__pos(r, n)};
}

void weir_conf__near(struct weir_conf_reader *r, struct weir_conf_near *near,
                     struct weir_slice wanted)
{
    bool is_full = r->problems->n == WEIR_CONF_MAX_PROBLEMS;
    weir_conf_near_init(near, is_full ? (struct weir_slice){0} : wanted);
}

const char *weir_conf__hint(struct weir_conf_reader *r, const struct weir_conf_near *near)
{
    if (near->best.p == NULL) {
        return "";
    }
    return weir_arena_printf(r->scratch, "; did you mean %s?", weir_conf__name(r, near->best));
}

static void expected(struct weir_conf_reader *r, const struct weir_conf_node *n, const char *key,
                     const char *what)
{
    if (!n->is_broken) {
        weir_conf__error(r, n, "`%s` must be %s, not %s", key, what,
                         weir_conf__describe(r->scratch, n));
    }
}

bool weir_conf__want_mapping(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             const char *key)
{
    if (n->kind != WEIR_CONF_MAPPING) {
        expected(r, n, key, "a mapping");
        return false;
    }
    return true;
}

bool weir_conf__want_list(struct weir_conf_reader *r, const struct weir_conf_node *n,
                          const char *key)
{
    if (n->kind != WEIR_CONF_SEQUENCE) {
        expected(r, n, key, "a list");
        return false;
    }
    return true;
}

bool weir_conf__want_text(struct weir_conf_reader *r, const struct weir_conf_node *n,
                          const char *key)
{
    struct weir_slice text;
    if (!weir_conf__as_text(n, &text)) {
        expected(r, n, key, "a text");
        return false;
    }
    if (text.n == 0 && !n->is_broken) {
        weir_conf__error(r, n, "`%s` must not be empty", key);
    }
    return text.n > 0 && !n->is_broken;
}

struct weir_conf_list weir_conf__want_texts(struct weir_conf_reader *r,
                                            const struct weir_conf_node *n, const char *key,
                                            size_t max)
{
    struct weir_conf_list list = {0};
    if (!weir_conf__want_list(r, n, key)) {
        return list;
    }
    if (n->n > max) {
        weir_conf__error(r, n, "`%s` has %zu entries, more than %zu", key, n->n, max);
        return list;
    }
    struct weir_conf_text *items = weir_arena_array(r->arena, n->n, sizeof *items);
    for (size_t i = 0; i < n->n; i++) {
        if (weir_conf__want_text(r, n->items[i], key)) {
            items[list.n++] = weir_conf__keep(r, n->items[i]);
        }
    }
    list.items = items;
    return list;
}

static bool is_env_name(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || c < '0' || c > '9')) {
            return false;
        }
    }
    return s.n > 0;
}

/* A text that is not a variable's name may be the secret itself, written in the wrong place: it
 * is not shown. */
const char *weir_conf__want_env(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                const char *key, struct weir_conf_text *name)
{
    if (!weir_conf__want_text(r, n, key)) {
        return NULL;
    }
    if (!is_env_name(n->text)) {
        weir_conf__error(r, n,
                         "`%s` must be the name of an environment variable: letters, digits and "
                         "`_`, no digit first",
                         key);
        return NULL;
    }
    *name = weir_conf__keep(r, n);
    const char *value =
        r->options->env != NULL ? r->options->env(r->options->env_ctx, name->s.p) : NULL;
    if (value == NULL || value[0] == '\0') {
        weir_conf__error(r, n, "environment variable %s, named by `%s`, is not set",
                         weir_conf__name(r, name->s), key);
        return NULL;
    }
    return value;
}

/* "`a`, `b` or `c`" */
static const char *join_words(struct weir_conf_reader *r, const char *const *words)
{
    struct weir_buf out = {0};
    for (size_t i = 0; words[i] != NULL; i++) {
        const char *glue = i == 0 ? "" : words[i + 1] != NULL ? ", " : " or ";
        weir_buf_printf(&out, "%s`%s`", glue, words[i]);
    }
    const char *text = weir_arena_dup(r->scratch, weir_buf_slice(&out)).p;
    weir_buf_dispose(&out);
    return text;
}

/* Tools that speak YAML 1.1 (Helm among them) rewrite off and on as false and true. */
static struct weir_slice undo_yaml11(const struct weir_conf_node *n)
{
    bool value;
    if (!weir_conf__as_bool(n, &value)) {
        return n->text;
    }
    return value ? WEIR_SLICE("on") : WEIR_SLICE("off");
}

int weir_conf__want_word(struct weir_conf_reader *r, const struct weir_conf_node *n,
                         const char *key, const char *const *words)
{
    if (n->kind != WEIR_CONF_SCALAR) {
        expected(r, n, key, join_words(r, words));
        return -1;
    }
    if (n->is_broken) {
        return -1;
    }
    struct weir_slice text = undo_yaml11(n);
    struct weir_conf_near near;
    weir_conf__near(r, &near, text);
    for (int i = 0; words[i] != NULL; i++) {
        if (weir_slice_eq_cstr(text, words[i])) {
            return i;
        }
        weir_conf_near_offer(&near, weir_slice_cstr(words[i]));
    }
    weir_conf__error(r, n, "`%s` must be %s, not %s%s", key, join_words(r, words),
                     weir_conf__name(r, n->text), weir_conf__hint(r, &near));
    return -1;
}

static void decode_bool(struct weir_conf_reader *r, const struct weir_conf_key *key,
                        const struct weir_conf_node *n, char *at)
{
    bool value;
    if (!weir_conf__as_bool(n, &value)) {
        expected(r, n, key->name, "true or false");
        return;
    }
    memcpy(at, &value, sizeof value);
}

static void decode_int(struct weir_conf_reader *r, const struct weir_conf_key *key,
                       const struct weir_conf_node *n, char *at)
{
    int64_t value;
    if (key->word != NULL && n->kind == WEIR_CONF_SCALAR &&
        weir_slice_eq_cstr(n->text, key->word)) {
        value = UINT32_MAX;
    } else if (!weir_conf__as_int(n, &value) || (double)value < key->min ||
               (double)value > key->max) {
        const char *or_word =
            key->word != NULL ? weir_arena_printf(r->scratch, " or `%s`", key->word) : "";
        expected(r, n, key->name,
                 weir_arena_printf(r->scratch, "an integer from %.0f to %.0f%s", key->min, key->max,
                                   or_word));
        return;
    }
    if (key->kind == WEIR_CONF_KIND_U32) {
        uint32_t narrow = (uint32_t)value;
        memcpy(at, &narrow, sizeof narrow);
    } else {
        uint64_t wide = (uint64_t)value;
        memcpy(at, &wide, sizeof wide);
    }
}

static void decode_number(struct weir_conf_reader *r, const struct weir_conf_key *key,
                          const struct weir_conf_node *n, char *at)
{
    double value;
    bool is_seconds = key->kind == WEIR_CONF_KIND_SECONDS;
    if (!weir_conf__as_number(n, &value) || value < key->min || value > key->max) {
        expected(r, n, key->name,
                 weir_arena_printf(r->scratch, "%s from %g to %.9g",
                                   is_seconds ? "a number of seconds" : "a number", key->min,
                                   key->max));
        return;
    }
    if (is_seconds) {
        uint32_t ms = (uint32_t)llround(value * 1000);
        memcpy(at, &ms, sizeof ms);
    } else {
        memcpy(at, &value, sizeof value);
    }
}

static void decode_text(struct weir_conf_reader *r, const struct weir_conf_key *key,
                        const struct weir_conf_node *n, char *at)
{
    if (weir_conf__want_text(r, n, key->name)) {
        struct weir_conf_text text = weir_conf__keep(r, n);
        memcpy(at, &text, sizeof text);
    }
}

static void decode_enum(struct weir_conf_reader *r, const struct weir_conf_key *key,
                        const struct weir_conf_node *n, char *at)
{
    int value = weir_conf__want_word(r, n, key->name, key->words);
    if (value >= 0) {
        WEIR_ASSERT(key->size == sizeof value);
        memcpy(at, &value, sizeof value);
    }
}

static void decode_value(struct weir_conf_reader *r, const struct weir_conf_key *key,
                         const struct weir_conf_node *n, void *target)
{
    char *at = (char *)target + key->offset;
    switch (key->kind) {
    case WEIR_CONF_KIND_BOOL:
        decode_bool(r, key, n, at);
        break;
    case WEIR_CONF_KIND_U32:
    case WEIR_CONF_KIND_U64:
        decode_int(r, key, n, at);
        break;
    case WEIR_CONF_KIND_NUMBER:
    case WEIR_CONF_KIND_SECONDS:
        decode_number(r, key, n, at);
        break;
    case WEIR_CONF_KIND_TEXT:
        decode_text(r, key, n, at);
        break;
    case WEIR_CONF_KIND_ENUM:
        decode_enum(r, key, n, at);
        break;
    case WEIR_CONF_KIND_OBJECT:
        if (weir_conf__want_mapping(r, n, key->name)) {
            weir_conf__decode(r, key->object, n, at);
        }
        break;
    case WEIR_CONF_KIND_CALL:
        key->call(r, n, target);
        break;
    case WEIR_CONF_KIND_IGNORED:
        weir_conf__warn(r, n, "`%s` has no effect here and is ignored", key->name);
        break;
    }
}

static const char *list_keys(struct weir_conf_reader *r, const struct weir_conf_object *o)
{
    struct weir_buf out = {0};
    weir_buf_append(&out, WEIR_SLICE("; known keys: "));
    const char *glue = "";
    for (size_t i = 0; i < o->n_keys && i < MAX_LISTED_KEYS; i++) {
        if (o->keys[i].kind != WEIR_CONF_KIND_IGNORED) {
            weir_buf_printf(&out, "%s`%s`", glue, o->keys[i].name);
            glue = ", ";
        }
    }
    const char *text = weir_arena_dup(r->scratch, weir_buf_slice(&out)).p;
    weir_buf_dispose(&out);
    return text;
}

static void refuse_key(struct weir_conf_reader *r, const struct weir_conf_object *o,
                       const struct weir_conf_node *key)
{
    struct weir_conf_near near;
    weir_conf__near(r, &near, key->text);
    for (size_t i = 0; i < o->n_keys; i++) {
        weir_conf_near_offer(&near, weir_slice_cstr(o->keys[i].name));
    }
    const char *hint = near.best.p != NULL ? weir_conf__hint(r, &near)
                       : near.wanted.n > 0 ? list_keys(r, o)
                                           : "";
    enum weir_conf_severity severity = r->is_lenient ? WEIR_CONF_WARNING : WEIR_CONF_ERROR;
    weir_conf_problems_add(r->problems, severity, weir_conf__pos(r, key), "unknown key %s%s",
                           weir_conf__name(r, key->text), hint);
}

static bool knows_key(const struct weir_conf_object *o, struct weir_slice name)
{
    for (size_t i = 0; i < o->n_keys; i++) {
        if (weir_slice_eq_cstr(name, o->keys[i].name)) {
            return true;
        }
    }
    return false;
}

/* The merge key was refused while reading. */
static void refuse_unknown_keys(struct weir_conf_reader *r, const struct weir_conf_object *o,
                                const struct weir_conf_node *n)
{
    for (size_t i = 0; i < n->n; i++) {
        const struct weir_conf_node *key = n->members[i].key;
        if (!knows_key(o, key->text) && !weir_slice_eq_cstr(key->text, "<<")) {
            refuse_key(r, o, key);
        }
    }
}

void weir_conf__decode(struct weir_conf_reader *r, const struct weir_conf_object *o,
                       const struct weir_conf_node *n, void *target)
{
    WEIR_ASSERT(o->n_keys <= 64);
    refuse_unknown_keys(r, o, n);
    for (size_t i = 0; i < o->n_keys; i++) {
        const struct weir_conf_key *key = &o->keys[i];
        const struct weir_conf_node *value = weir_conf__get(n, key->name);
        if (value == NULL || weir_conf__is_null(value)) {
            if (key->is_required) {
                weir_conf__error(r, n, "`%s` is missing", key->name);
            }
            continue;
        }
        if (o->has_set) {
            *(uint64_t *)target |= UINT64_C(1) << i;
        }
        if (!value->is_broken) {
            decode_value(r, key, value, target);
        }
    }
}

void weir_conf__overlay(const struct weir_conf_object *o, void *to, const void *from)
{
    uint64_t set = *(const uint64_t *)from;
    for (size_t i = 0; i < o->n_keys; i++) {
        const struct weir_conf_key *key = &o->keys[i];
        char *dst = (char *)to + key->offset;
        const char *src = (const char *)from + key->offset;
        if (key->kind == WEIR_CONF_KIND_OBJECT) {
            weir_conf__overlay(key->object, dst, src);
        } else if (set & (UINT64_C(1) << i)) {
            memcpy(dst, src, key->size);
        }
    }
    *(uint64_t *)to |= set;
}
