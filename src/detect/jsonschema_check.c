/*
 * A document against rules. Every schema that is applied, every member and every comparison costs a
 * step, long texts more: a small schema can ask for a great deal of work (anyOf in anyOf,
 * references in circles). No steps left is an error, never an answer.
 */
#include "base/err.h"
#include "detect/jsonschema_int.h"

enum { MAX_STEPS = 10000000, MAX_DEPTH = 1500, LONG_BYTES = 64, LOOK_EVERY = 65536 };

static int stop(struct weir_jsonschema__judge *j, const char *why)
{
    j->run->why = why;
    return WEIR_ELIMIT;
}

int weir_jsonschema__spend(struct weir_jsonschema__judge *j, uint64_t n)
{
    if (n > j->n_left) {
        return stop(j, "the schema needs too many steps for this text");
    }
    bool is_time_to_look = j->n_left / LOOK_EVERY != (j->n_left - n) / LOOK_EVERY;
    j->n_left -= n;
    if (is_time_to_look && j->run->job != NULL && weir_offload_is_cancelled(j->run->job)) {
        return stop(j, "cancelled");
    }
    return 0;
}

static bool is_type(const struct weir_jsonschema__judge *j, uint32_t at, enum weir_json_type type)
{
    return weir_json_type(j->doc, at) == type;
}

static bool is_container(const struct weir_jsonschema__judge *j, uint32_t at)
{
    return is_type(j, at, WEIR_JSON_ARRAY) || is_type(j, at, WEIR_JSON_OBJECT);
}

/* What looking at a scalar, or a name, costs. */
static uint64_t length_cost(const struct weir_jsonschema__judge *j, uint32_t at)
{
    const struct weir_json_node *n = &j->doc->nodes[at];
    return is_container(j, at) ? 0 : (n->end - n->start) / LONG_BYTES;
}

struct weir_slice weir_jsonschema__text(struct weir_jsonschema__judge *j, uint32_t at)
{
    if (!j->doc->nodes[at].is_escaped) {
        struct weir_slice raw = weir_json_raw(j->doc, at);
        return weir_slice_sub(raw, 1, raw.n - 1);
    }
    weir_buf_clear(&j->name);
    weir_json_string_append(j->doc, at, &j->name);
    return weir_buf_slice(&j->name);
}

int weir_jsonschema__judge(struct weir_jsonschema__judge *j,
                           const struct weir_jsonschema__schema *s, uint32_t at)
{
    if (s->is_impossible) {
        return WEIR_EINVAL;
    }
    int rc = weir_jsonschema__spend(j, 1 + s->n_rules * (1 + length_cost(j, at)));
    if (rc == 0 && ++j->depth > MAX_DEPTH) {
        rc = stop(j, "the schema refers to itself without end, or text and schema are too deep");
    }
    for (const struct weir_jsonschema__rule *r = s->rules; r != NULL && rc == 0; r = r->next) {
        rc = r->check(j, r, at);
    }
    j->depth--;
    return rc;
}

/* ---- one value */

static int answer(bool is_good)
{
    return is_good ? 0 : WEIR_EINVAL;
}

int weir_jsonschema__type(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                          uint32_t at)
{
    uint32_t bit = 1u << weir_json_type(j->doc, at);
    bool is_whole = is_type(j, at, WEIR_JSON_NUMBER) && (r->types & WEIR_JSONSCHEMA__WHOLE) != 0 &&
                    weir_json_is_whole(j->doc, at);
    return answer((r->types & bit) != 0 || is_whole);
}

static int compare(struct weir_jsonschema__judge *j, uint32_t at, uint32_t wanted)
{
    const struct weir_json_node *a = &j->doc->nodes[at];
    const struct weir_json_node *b = &j->schema->json.nodes[wanted];
    if (a->type != b->type || (a->type != WEIR_JSON_NUMBER && a->n != b->n)) {
        return WEIR_EINVAL;
    }
    uint64_t cost = is_container(j, at) ? b->next - wanted : length_cost(j, at);
    int rc = weir_jsonschema__spend(j, cost);
    return rc != 0 ? rc : answer(weir_json_equal(j->doc, at, &j->schema->json, wanted));
}

int weir_jsonschema__const(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                           uint32_t at)
{
    return compare(j, at, r->at);
}

int weir_jsonschema__enum(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                          uint32_t at)
{
    const struct weir_json *json = &j->schema->json;
    int rc = weir_jsonschema__spend(j, json->nodes[r->at].n);
    uint32_t item = weir_json_first(json, r->at);
    for (; item != WEIR_JSON_NONE && rc == 0; item = weir_json_after(json, r->at, item)) {
        int same = compare(j, at, item);
        if (same != WEIR_EINVAL) {
            return same;
        }
    }
    return rc != 0 ? rc : WEIR_EINVAL;
}

/* ---- schemas together */

int weir_jsonschema__ref(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                         uint32_t at)
{
    return weir_jsonschema__judge(j, r->schema, at);
}

int weir_jsonschema__all_of(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                            uint32_t at)
{
    int rc = 0;
    for (size_t i = 0; i < r->n_many && rc == 0; i++) {
        rc = weir_jsonschema__judge(j, r->many[i], at);
    }
    return rc;
}

int weir_jsonschema__any_of(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                            uint32_t at)
{
    int rc = WEIR_EINVAL;
    for (size_t i = 0; i < r->n_many && rc == WEIR_EINVAL; i++) {
        rc = weir_jsonschema__judge(j, r->many[i], at);
    }
    return rc;
}

int weir_jsonschema__one_of(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                            uint32_t at)
{
    size_t n_good = 0;
    for (size_t i = 0; i < r->n_many && n_good < 2; i++) {
        int rc = weir_jsonschema__judge(j, r->many[i], at);
        if (rc != 0 && rc != WEIR_EINVAL) {
            return rc;
        }
        n_good += rc == 0;
    }
    return answer(n_good == 1);
}

int weir_jsonschema__not(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                         uint32_t at)
{
    int rc = weir_jsonschema__judge(j, r->schema, at);
    return rc == 0 || rc == WEIR_EINVAL ? answer(rc != 0) : rc;
}

int weir_jsonschema__if(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                        uint32_t at)
{
    int rc = weir_jsonschema__judge(j, r->schema, at);
    if (rc != 0 && rc != WEIR_EINVAL) {
        return rc;
    }
    const struct weir_jsonschema__schema *next = rc == 0 ? r->then : r->otherwise;
    return next != NULL ? weir_jsonschema__judge(j, next, at) : 0;
}

/* ---- texts and counts */

int weir_jsonschema__count(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                           uint32_t at)
{
    uint32_t n = j->doc->nodes[at].n;
    bool is_meant = (r->types & 1u << weir_json_type(j->doc, at)) != 0;
    return answer(!is_meant || (n >= r->min && n <= r->max));
}

static int test(struct weir_jsonschema__judge *j, const struct weir_custom *pattern, uint32_t at)
{
    struct weir_slice text = weir_jsonschema__text(j, at);
    if (j->tester == NULL) {
        j->tester = weir_custom_tester_new(j->run->budget_us);
    }
    int rc = weir_custom_test(j->tester, pattern, text, &j->run->why);
    return rc < 0 ? rc : answer(rc == 1);
}

int weir_jsonschema__pattern(struct weir_jsonschema__judge *j,
                             const struct weir_jsonschema__rule *r, uint32_t at)
{
    return is_type(j, at, WEIR_JSON_STRING) ? test(j, r->pattern, at) : 0;
}

/* ---- objects */

/* Patterns that fit a name, each with its schema. */
static int check_patterns(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                          uint32_t key, bool *is_known)
{
    int rc = weir_jsonschema__spend(j, r->n_named * (1 + length_cost(j, key)));
    for (size_t i = 0; i < r->n_named && rc == 0; i++) {
        rc = test(j, r->named[i].pattern, key);
        if (rc == 0) {
            *is_known = true;
            rc = weir_jsonschema__judge(j, r->named[i].schema, key + 1);
        } else if (rc == WEIR_EINVAL) {
            rc = 0;
        }
    }
    return rc;
}

static int check_member(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                        uint32_t key)
{
    int rc = weir_jsonschema__spend(j, 1 + length_cost(j, key));
    if (rc != 0) {
        return rc;
    }
    const struct weir_jsonschema__schema *own =
        r->names.n != 0 ? weir_map_get(&r->names, weir_jsonschema__text(j, key)) : NULL;
    bool is_known = own != NULL;
    if (own != NULL) {
        rc = weir_jsonschema__judge(j, own, key + 1);
    }
    if (rc == 0 && r->n_named != 0) {
        rc = check_patterns(j, r, key, &is_known);
    }
    bool is_rest = rc == 0 && !is_known && r->schema != NULL;
    return is_rest ? weir_jsonschema__judge(j, r->schema, key + 1) : rc;
}

int weir_jsonschema__members(struct weir_jsonschema__judge *j,
                             const struct weir_jsonschema__rule *r, uint32_t at)
{
    int rc = 0;
    uint32_t key = is_type(j, at, WEIR_JSON_OBJECT) ? weir_json_first(j->doc, at) : WEIR_JSON_NONE;
    for (; key != WEIR_JSON_NONE && rc == 0; key = weir_json_after(j->doc, at, key)) {
        rc = check_member(j, r, key);
    }
    return rc;
}

/* Names are unique on both sides: it is enough to count those that are wanted. */
int weir_jsonschema__required(struct weir_jsonschema__judge *j,
                              const struct weir_jsonschema__rule *r, uint32_t at)
{
    size_t n_there = 0;
    int rc = 0;
    if (!is_type(j, at, WEIR_JSON_OBJECT)) {
        return 0;
    }
    uint32_t key = weir_json_first(j->doc, at);
    for (; key != WEIR_JSON_NONE && rc == 0 && n_there < r->names.n;
         key = weir_json_after(j->doc, at, key)) {
        rc = weir_jsonschema__spend(j, 1 + length_cost(j, key));
        n_there += weir_map_has(&r->names, weir_jsonschema__text(j, key));
    }
    return rc != 0 ? rc : answer(n_there == r->names.n);
}

int weir_jsonschema__names(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                           uint32_t at)
{
    int rc = 0;
    uint32_t key = is_type(j, at, WEIR_JSON_OBJECT) ? weir_json_first(j->doc, at) : WEIR_JSON_NONE;
    for (; key != WEIR_JSON_NONE && rc == 0; key = weir_json_after(j->doc, at, key)) {
        rc = weir_jsonschema__judge(j, r->schema, key);
    }
    return rc;
}

/* Looking a name up goes through the members. */
static int has_name(struct weir_jsonschema__judge *j, uint32_t at, struct weir_slice name)
{
    int rc = weir_jsonschema__spend(j, 1 + j->doc->nodes[at].n / 2);
    return rc != 0 ? rc : answer(weir_json_get(j->doc, at, name) != WEIR_JSON_NONE);
}

static int check_dependent(struct weir_jsonschema__judge *j, const struct weir_jsonschema__named *d,
                           uint32_t at)
{
    int rc = has_name(j, at, d->name);
    if (rc != 0) {
        return rc == WEIR_EINVAL ? 0 : rc;
    }
    for (size_t i = 0; i < d->n_names && rc == 0; i++) {
        rc = has_name(j, at, d->names[i]);
    }
    return rc == 0 && d->schema != NULL ? weir_jsonschema__judge(j, d->schema, at) : rc;
}

int weir_jsonschema__dependent(struct weir_jsonschema__judge *j,
                               const struct weir_jsonschema__rule *r, uint32_t at)
{
    int rc = 0;
    bool is_object = is_type(j, at, WEIR_JSON_OBJECT);
    for (size_t i = 0; is_object && i < r->n_named && rc == 0; i++) {
        rc = check_dependent(j, &r->named[i], at);
    }
    return rc;
}

/* ---- the check */

int weir_jsonschema_check(const struct weir_jsonschema *s, const struct weir_json *doc,
                          struct weir_builtin_run *run)
{
    struct weir_jsonschema__judge j = {.schema = s, .doc = doc, .run = run, .n_left = MAX_STEPS};
    int rc = weir_jsonschema__judge(&j, s->root, 0);
    weir_custom_tester_free(j.tester);
    weir_buf_dispose(&j.name);
    return rc;
}
