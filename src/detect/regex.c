#include "detect/regex.h"

#include "base/mem.h"
#include "detect/custom.h"
#include "detect/pii.h"
#include "detect/rest.h"

#include <stdlib.h>

enum { MAX_ENTRIES = 32 };

struct settings {
    uint64_t mask; /* of detect/pii.h */
    struct weir_custom *customs[MAX_ENTRIES];
    size_t n_customs;
};

static void free_settings(void *p)
{
    struct settings *s = p;
    for (size_t i = 0; i < s->n_customs; i++) {
        weir_custom_free(s->customs[i]);
    }
    free(s);
}

static struct weir_custom *add_pattern(struct settings *s, struct weir_slice pattern,
                                       struct weir_buf *why)
{
    struct weir_custom *c = weir_custom_new(pattern, why);
    if (c != NULL) {
        s->customs[s->n_customs++] = c;
    }
    return c;
}

static bool add_word(struct settings *s, struct weir_slice entry, struct weir_buf *why)
{
    uint64_t bit = weir_pii_find(entry);
    s->mask |= bit;
    return bit != 0 || add_pattern(s, entry, why) != NULL;
}

/* {name, pattern} and nothing else. */
static bool add_named(struct settings *s, const struct weir_builtin_params *params, uint32_t at,
                      struct weir_buf *why)
{
    const struct weir_json *j = &params->json;
    uint32_t name = weir_json_get_set(j, at, WEIR_SLICE("name"));
    uint32_t pattern = weir_json_get_set(j, at, WEIR_SLICE("pattern"));
    bool is_good = j->nodes[at].n == 2 && name != WEIR_JSON_NONE && pattern != WEIR_JSON_NONE &&
                   weir_json_type(j, name) == WEIR_JSON_STRING &&
                   weir_json_type(j, pattern) == WEIR_JSON_STRING;
    if (!is_good) {
        weir_buf_printf(why, "an entry of `regex` that is an object has a `name` and a `pattern`, "
                             "which are strings");
        return false;
    }
    struct weir_custom *c = add_pattern(s, weir_json_string(j, pattern, params->arena), why);
    return c != NULL && weir_custom_set_name(c, weir_json_string(j, name, params->arena), why) == 0;
}

static bool add_entry(struct settings *s, const struct weir_builtin_params *params, uint32_t at,
                      struct weir_buf *why)
{
    switch (weir_json_type(&params->json, at)) {
    case WEIR_JSON_STRING:
        return add_word(s, weir_json_string(&params->json, at, params->arena), why);
    case WEIR_JSON_OBJECT:
        return add_named(s, params, at, why);
    default:
        weir_buf_printf(why, "`regex` must be an array of strings");
        return false;
    }
}

/* One entry, or an array of them. */
static bool add_entries(struct settings *s, const struct weir_builtin_params *params,
                        struct weir_buf *why)
{
    const struct weir_json *j = &params->json;
    uint32_t regex = weir_json_get_set(j, 0, WEIR_SLICE("regex"));
    if (regex == WEIR_JSON_NONE) {
        return true;
    }
    if (weir_json_type(j, regex) == WEIR_JSON_STRING) {
        return add_entry(s, params, regex, why);
    }
    if (weir_json_type(j, regex) != WEIR_JSON_ARRAY || j->nodes[regex].n > MAX_ENTRIES) {
        weir_buf_printf(why, "`regex` must be an array of at most %d strings", MAX_ENTRIES);
        return false;
    }
    uint32_t at = weir_json_first(j, regex);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, regex, at)) {
        if (!add_entry(s, params, at, why)) {
            return false;
        }
    }
    return true;
}

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    struct settings *s = weir_mem_zalloc(sizeof *s);
    if (!add_entries(s, params, why) || weir_pii_prepare(s->mask, why) != 0) {
        free_settings(s);
        return NULL;
    }
    return s;
}

/* Could somebody have meant a name? */
static bool looks_like_name(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alnum && c != '_' && c != '-') {
            return false;
        }
    }
    return s.n != 0;
}

struct weir_slice weir_regex_unknown_name(struct weir_slice params, struct weir_arena *arena)
{
    struct weir_json j;
    if (weir_json_parse(&j, params, NULL, arena, NULL) != 0) {
        return (struct weir_slice){0}; /* told elsewhere */
    }
    uint32_t regex = weir_json_get_set(&j, 0, WEIR_SLICE("regex"));
    bool is_list = regex != WEIR_JSON_NONE && weir_json_type(&j, regex) == WEIR_JSON_ARRAY;
    uint32_t at = is_list ? weir_json_first(&j, regex) : regex;
    while (at != WEIR_JSON_NONE) {
        if (weir_json_type(&j, at) == WEIR_JSON_STRING) {
            struct weir_slice entry = weir_json_string(&j, at, arena);
            if (looks_like_name(entry) && weir_pii_find(entry) == 0) {
                return entry;
            }
        }
        at = is_list ? weir_json_after(&j, regex, at) : WEIR_JSON_NONE;
    }
    return (struct weir_slice){0};
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    const struct settings *s = settings;
    int rc = weir_pii_scan(s->mask, text, found);
    for (size_t i = 0; i < s->n_customs && rc == 0; i++) {
        rc = weir_custom_scan(s->customs[i], text, &run->budget_us, found, &run->why);
    }
    return rc;
}

/* ---- reading along */

struct reader {
    struct weir_seek *kinds[2]; /* the usual ones and those of pii_ids.c; NULL: not asked for */
    size_t at_bytes[];          /* of the custom patterns: they have looked up to there */
};

static size_t reader_size(const void *settings)
{
    const struct settings *s = settings;
    return sizeof(struct reader) + s->n_customs * sizeof(size_t);
}

static void reader_init(void *state, const void *settings)
{
    const struct settings *s = settings;
    struct reader *r = state;
    for (int is_ids = 0; is_ids < 2; is_ids++) {
        struct weir_pii_seek seek = weir_pii_seek(s->mask, is_ids != 0);
        struct weir_seek_rules rules = weir_pii_rules(&seek);
        if (weir_pii_has(s->mask, is_ids != 0)) {
            r->kinds[is_ids] = weir_mem_zalloc(sizeof *r->kinds[is_ids]);
            weir_seek_init(r->kinds[is_ids], &rules);
        }
    }
}

static void reader_dispose(void *state)
{
    struct reader *r = state;
    for (int is_ids = 0; is_ids < 2; is_ids++) {
        if (r->kinds[is_ids] != NULL) {
            weir_seek_dispose(r->kinds[is_ids]);
            free(r->kinds[is_ids]);
        }
    }
}

static int read_kinds(struct reader *r, const struct settings *s, const struct weir_reader_text *t,
                      struct weir_reader_out *out)
{
    int rc = 0;
    for (int is_ids = 0; is_ids < 2 && rc == 0; is_ids++) {
        struct weir_pii_seek seek = weir_pii_seek(s->mask, is_ids != 0);
        struct weir_seek_rules rules = weir_pii_rules(&seek);
        if (r->kinds[is_ids] != NULL) {
            rc = weir_seek_read(r->kinds[is_ids], &rules, t, out->found);
            size_t low = weir_seek_low(r->kinds[is_ids]);
            out->low_byte = low < out->low_byte ? low : out->low_byte;
            out->quiet_byte = low < out->quiet_byte ? low : out->quiet_byte;
        }
    }
    return rc;
}

static int reader_read(void *state, const void *settings, const struct weir_reader_text *t,
                       struct weir_reader_out *out)
{
    struct reader *r = state;
    const struct settings *s = settings;
    size_t last_byte = out->low_byte;
    out->low_byte = t->from_byte + weir_pii_tail(s->mask, t->text);
    int rc = read_kinds(r, s, t, out);
    for (size_t i = 0; i < s->n_customs && rc == 0; i++) {
        rc = weir_custom_read(s->customs[i], t, &r->at_bytes[i], out);
    }
    out->low_byte = out->low_byte > last_byte ? out->low_byte : last_byte;
    return rc;
}

static bool can_read(const void *settings)
{
    const struct settings *s = settings;
    for (size_t i = 0; i < s->n_customs; i++) {
        if (!weir_custom_can_read(s->customs[i])) {
            return false;
        }
    }
    return true;
}

/* What is usual has a digit or an @ in it, and its words before it; the rest wants to see all. */
static bool can_rest(const void *state, const void *settings)
{
    const struct settings *s = settings;
    const struct reader *r = state;
    return s->n_customs == 0 && weir_pii_is_numeric(s->mask) &&
           (r->kinds[0] == NULL || r->kinds[0]->n == 0);
}

static const struct weir_reader_ops reader = {.size = reader_size,
                                              .init = reader_init,
                                              .dispose = reader_dispose,
                                              .read = reader_read,
                                              .can_read = can_read,
                                              .can_rest = can_rest,
                                              .rests_on = WEIR_REST_NUMBERLESS};

static const char *const members[] = {"regex", NULL};

const struct weir_builtin_kind weir_detect_regex = {.name = "regex",
                                                    .members = members,
                                                    .needs = "regex",
                                                    .has_views = true,
                                                    .make = make,
                                                    .free = free_settings,
                                                    .scan = scan,
                                                    .reader = &reader};
