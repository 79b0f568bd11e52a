/*
 * Rules for arrays and numbers. Items are told apart by hashes with the process's secret; where two
 * are the same the values themselves are compared, and paid for, so that numbers that round to one
 * double cannot make it quadratic for free.
 */
#include "base/err.h"
#include "base/mem.h"
#include "detect/jsonschema_int.h"

#include <math.h>
#include <stdlib.h>

static int answer(bool is_good)
{
    return is_good ? 0 : WEIR_EINVAL;
}

static bool is_type(const struct weir_jsonschema__judge *j, uint32_t at, enum weir_json_type type)
{
    return weir_json_type(j->doc, at) == type;
}

/* ---- items */

int weir_jsonschema__items(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                           uint32_t at)
{
    int rc = 0;
    size_t i = 0;
    uint32_t item = is_type(j, at, WEIR_JSON_ARRAY) ? weir_json_first(j->doc, at) : WEIR_JSON_NONE;
    for (; item != WEIR_JSON_NONE && rc == 0; item = weir_json_after(j->doc, at, item)) {
        const struct weir_jsonschema__schema *s = i < r->n_many ? r->many[i] : r->schema;
        if (s == NULL) {
            return 0;
        }
        rc = weir_jsonschema__judge(j, s, item);
        i++;
    }
    return rc;
}

int weir_jsonschema__contains(struct weir_jsonschema__judge *j,
                              const struct weir_jsonschema__rule *r, uint32_t at)
{
    if (!is_type(j, at, WEIR_JSON_ARRAY)) {
        return 0;
    }
    uint64_t n_good = 0;
    uint32_t item = weir_json_first(j->doc, at);
    for (; item != WEIR_JSON_NONE && n_good <= r->max; item = weir_json_after(j->doc, at, item)) {
        int rc = weir_jsonschema__judge(j, r->schema, item);
        if (rc != 0 && rc != WEIR_EINVAL) {
            return rc;
        }
        n_good += rc == 0;
    }
    return answer(n_good >= r->min && n_good <= r->max);
}

/* ---- unique items */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t both[2] = {a, b};
    return weir_map_hash(weir_slice_make((const char *)both, sizeof both));
}

static uint64_t hash_number(const struct weir_json *doc, uint32_t at)
{
    double value = 0;
    weir_json_f64(doc, at, &value); /* beyond a double: all the same, and compared */
    value = value == 0 ? 0 : value; /* no negative zero */
    return mix(WEIR_JSON_NUMBER,
               weir_map_hash(weir_slice_make((const char *)&value, sizeof value)));
}

/* Equal values have equal hashes, whatever the order of members. */
static uint64_t hash_value(struct weir_jsonschema__judge *j, uint32_t at)
{
    const struct weir_json_node *n = &j->doc->nodes[at];
    uint64_t hash = n->n;
    switch ((enum weir_json_type)n->type) {
    case WEIR_JSON_NUMBER:
        return hash_number(j->doc, at);
    case WEIR_JSON_STRING:
        return mix(n->type, weir_map_hash(weir_jsonschema__text(j, at)));
    case WEIR_JSON_ARRAY:
    case WEIR_JSON_OBJECT:
        break;
    default:
        return mix(n->type, 0);
    }
    bool is_object = n->type == WEIR_JSON_OBJECT;
    for (uint32_t i = weir_json_first(j->doc, at); i != WEIR_JSON_NONE;
         i = weir_json_after(j->doc, at, i)) {
        uint64_t item = hash_value(j, i + is_object);
        hash = is_object ? hash + mix(weir_map_hash(weir_jsonschema__text(j, i)), item)
                         : mix(hash, item);
    }
    return mix(n->type, hash);
}

struct slot {
    uint64_t hash;
    uint32_t at; /* + 1, 0: free */
};

/* The price of going through a value: its nodes and its bytes. */
static uint64_t price(const struct weir_json *doc, uint32_t at)
{
    const struct weir_json_node *n = &doc->nodes[at];
    return n->next - at + (n->end - n->start) / 64;
}

/* 0 and it is in the table, WEIR_EINVAL: an equal one is, or WEIR_ELIMIT. */
static int insert(struct weir_jsonschema__judge *j, struct slot *slots, size_t mask, uint32_t at)
{
    uint64_t hash = hash_value(j, at);
    size_t i = hash & mask;
    for (; slots[i].at != 0; i = (i + 1) & mask) {
        if (slots[i].hash != hash) {
            continue;
        }
        int rc = weir_jsonschema__spend(j, 1 + price(j->doc, at));
        if (rc != 0 || weir_json_equal(j->doc, slots[i].at - 1, j->doc, at)) {
            return rc != 0 ? rc : WEIR_EINVAL;
        }
    }
    slots[i] = (struct slot){.hash = hash, .at = at + 1};
    return 0;
}

int weir_jsonschema__unique(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                            uint32_t at)
{
    (void)r;
    if (!is_type(j, at, WEIR_JSON_ARRAY) || j->doc->nodes[at].n < 2) {
        return 0;
    }
    int rc = weir_jsonschema__spend(j, 2 * price(j->doc, at));
    if (rc != 0) {
        return rc;
    }
    size_t n_slots = 4;
    while (n_slots < (size_t)j->doc->nodes[at].n * 2) {
        n_slots *= 2;
    }
    struct slot *slots = weir_mem_array(n_slots, sizeof *slots);
    uint32_t item = weir_json_first(j->doc, at);
    for (; item != WEIR_JSON_NONE && rc == 0; item = weir_json_after(j->doc, at, item)) {
        rc = insert(j, slots, n_slots - 1, item);
    }
    free(slots);
    return rc;
}

/* ---- numbers */

static int bound(const struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                 uint32_t at)
{
    return weir_json_compare_numbers(j->doc, at, &j->schema->json, r->at);
}

int weir_jsonschema__minimum(struct weir_jsonschema__judge *j,
                             const struct weir_jsonschema__rule *r, uint32_t at)
{
    return answer(!is_type(j, at, WEIR_JSON_NUMBER) || bound(j, r, at) >= 0);
}

int weir_jsonschema__maximum(struct weir_jsonschema__judge *j,
                             const struct weir_jsonschema__rule *r, uint32_t at)
{
    return answer(!is_type(j, at, WEIR_JSON_NUMBER) || bound(j, r, at) <= 0);
}

int weir_jsonschema__above(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                           uint32_t at)
{
    return answer(!is_type(j, at, WEIR_JSON_NUMBER) || bound(j, r, at) > 0);
}

int weir_jsonschema__below(struct weir_jsonschema__judge *j, const struct weir_jsonschema__rule *r,
                           uint32_t at)
{
    return answer(!is_type(j, at, WEIR_JSON_NUMBER) || bound(j, r, at) < 0);
}

/* A number as amount × 10^exponent, where the amount has at most 18 digits. */
struct scaled {
    uint64_t amount;
    int64_t exponent;
};

static bool read_exponent(struct weir_slice s, int64_t *exponent)
{
    bool is_negative = s.n != 0 && s.p[0] == '-';
    uint64_t value;
    size_t n_sign = s.n != 0 && (s.p[0] == '-' || s.p[0] == '+');
    if (weir_slice_u64(weir_slice_sub(s, n_sign, s.n), &value) != 0 || value > 1000) {
        return false;
    }
    *exponent += is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool read_scaled(struct weir_slice raw, struct scaled *out)
{
    size_t n_digits = 0;
    bool in_fraction = false;
    *out = (struct scaled){0};
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == 'e' || c == 'E') {
            return read_exponent(weir_slice_sub(raw, i + 1, raw.n), &out->exponent);
        }
        in_fraction = in_fraction || c == '.';
        if (c < '0' || c > '9') {
            continue;
        }
        out->amount = out->amount * 10 + (uint64_t)(c - '0');
        out->exponent -= in_fraction;
        n_digits += out->amount != 0;
        if (n_digits > 18) {
            return false;
        }
    }
    return true;
}

/* The remainder, step by step: 10^k is never written down. */
static bool is_scaled_multiple(struct scaled x, struct scaled of)
{
    while (of.exponent > x.exponent && of.amount <= UINT64_MAX / 10) {
        of.amount *= 10;
        of.exponent--;
    }
    if (of.exponent > x.exponent) {
        return x.amount == 0; /* larger than any amount */
    }
    unsigned __int128 rest = x.amount % of.amount;
    for (int64_t e = x.exponent; e > of.exponent && rest != 0; e--) {
        rest = rest * 10 % of.amount;
    }
    return rest == 0;
}

/* Exact for all numbers that people write; beyond that as exact as doubles are. */
int weir_jsonschema__multiple(struct weir_jsonschema__judge *j,
                              const struct weir_jsonschema__rule *r, uint32_t at)
{
    struct scaled x;
    struct scaled of;
    double value;
    double divisor;
    if (!is_type(j, at, WEIR_JSON_NUMBER)) {
        return 0;
    }
    if (read_scaled(weir_json_raw(j->doc, at), &x) &&
        read_scaled(weir_json_raw(&j->schema->json, r->at), &of) && of.amount != 0) {
        return answer(is_scaled_multiple(x, of));
    }
    bool is_there = weir_json_f64(j->doc, at, &value) == 0 &&
                    weir_json_f64(&j->schema->json, r->at, &divisor) == 0;
    return answer(is_there && fmod(value, divisor) == 0);
}
