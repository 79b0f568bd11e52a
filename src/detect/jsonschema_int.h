#ifndef WEIR_DETECT_JSONSCHEMA_INT_H
#define WEIR_DETECT_JSONSCHEMA_INT_H

#include "base/map.h"
#include "detect/custom.h"
#include "detect/jsonschema.h"

/*
 * What compiling makes and checking uses. A schema is a list of rules; a rule is a function and
 * what it needs. Keywords that only make sense together (properties and additionalProperties, if
 * and then) are one rule.
 */
struct weir_jsonschema__judge;
struct weir_jsonschema__rule;

/* 0, WEIR_EINVAL (does not fit) or WEIR_ELIMIT. `at` is the document's node. */
typedef int weir_jsonschema_rule_fn(struct weir_jsonschema__judge *j,
                                    const struct weir_jsonschema__rule *r, uint32_t at);

struct weir_jsonschema__schema {
    uint32_t at;        /* its node in the schema's text */
    bool is_impossible; /* the schema `false` */
    uint32_t n_rules;
    struct weir_jsonschema__rule *rules;  /* a list */
    struct weir_jsonschema__schema *next; /* to be compiled */
};

struct weir_jsonschema__named {
    struct weir_slice name;
    struct weir_custom *pattern;                  /* patternProperties: instead of the name */
    const struct weir_jsonschema__schema *schema; /* NULL: dependentRequired */
    const struct weir_slice *names;               /* dependentRequired */
    size_t n_names;
};

struct weir_jsonschema__rule {
    weir_jsonschema_rule_fn *check;
    struct weir_jsonschema__rule *next;
    uint32_t at;    /* the keyword's value in the schema's text */
    uint32_t types; /* bits of enum weir_json_type, and WEIR_JSONSCHEMA__WHOLE */
    uint64_t min;
    uint64_t max;
    const struct weir_jsonschema__schema *schema; /* $ref, not, if, items, contains, … */
    const struct weir_jsonschema__schema *then;
    const struct weir_jsonschema__schema *otherwise;
    const struct weir_jsonschema__schema **many; /* allOf, anyOf, oneOf, prefixItems */
    size_t n_many;
    struct weir_map names;                /* properties (to schemas), required (to anything) */
    struct weir_jsonschema__named *named; /* patternProperties, dependent… */
    size_t n_named;
    struct weir_custom *pattern;
};

enum { WEIR_JSONSCHEMA__WHOLE = 1 << 8 }; /* of types: numbers without a fraction */

struct weir_jsonschema {
    struct weir_json json; /* over a copy of the text */
    struct weir_arena arena;
    struct weir_jsonschema__schema *root;
};

/* One check. */
struct weir_jsonschema__judge {
    const struct weir_jsonschema *schema;
    const struct weir_json *doc;
    struct weir_builtin_run *run;
    struct weir_custom_tester *tester;
    struct weir_buf name; /* a name or text without its escapes */
    uint64_t n_left;      /* steps */
    int depth;
};

/* Takes steps away: 0 or WEIR_ELIMIT. */
int weir_jsonschema__spend(struct weir_jsonschema__judge *j, uint64_t n);

int weir_jsonschema__judge(struct weir_jsonschema__judge *j,
                           const struct weir_jsonschema__schema *s, uint32_t at);

/* A name or text, good until the next; the caller has paid for its length. */
struct weir_slice weir_jsonschema__text(struct weir_jsonschema__judge *j, uint32_t at);

/* The rules' functions. Each lets pass what its keyword is not about. */
weir_jsonschema_rule_fn weir_jsonschema__type, weir_jsonschema__enum, weir_jsonschema__const,
    weir_jsonschema__ref, weir_jsonschema__all_of, weir_jsonschema__any_of, weir_jsonschema__one_of,
    weir_jsonschema__not, weir_jsonschema__if;

/* Numbers against the schema's number at r->at. */
weir_jsonschema_rule_fn weir_jsonschema__minimum, weir_jsonschema__maximum, weir_jsonschema__above,
    weir_jsonschema__below, weir_jsonschema__multiple;

/* How many code points, items or members there are, for r->types. */
weir_jsonschema_rule_fn weir_jsonschema__count;

weir_jsonschema_rule_fn weir_jsonschema__pattern, weir_jsonschema__items, weir_jsonschema__contains,
    weir_jsonschema__unique, weir_jsonschema__members, weir_jsonschema__required,
    weir_jsonschema__names, weir_jsonschema__dependent;

#endif
