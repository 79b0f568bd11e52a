/* Looking into a document: members, items and numbers. */
#include "base/err.h"
#include "base/mem.h"
#include "wire/json_int.h"

#include <math.h>
#include <stdlib.h>

uint32_t weir_json_get(const struct weir_json *j, uint32_t object, struct weir_slice name)
{
    if (j->nodes[object].type != WEIR_JSON_OBJECT) {
        return WEIR_JSON_NONE;
    }
    uint32_t end = j->nodes[object].next;
    for (uint32_t key = object + 1; key != end; key = j->nodes[key + 1].next) {
        if (weir_json_string_eq(j, key, name)) {
            return key + 1;
        }
    }
    return WEIR_JSON_NONE;
}

uint32_t weir_json_get_set(const struct weir_json *j, uint32_t object, struct weir_slice name)
{
    uint32_t at = weir_json_get(j, object, name);
    return at != WEIR_JSON_NONE && j->nodes[at].type != WEIR_JSON_NULL ? at : WEIR_JSON_NONE;
}

uint32_t weir_json_first(const struct weir_json *j, uint32_t container)
{
    const struct weir_json_node *node = &j->nodes[container];
    bool is_container = node->type == WEIR_JSON_ARRAY || node->type == WEIR_JSON_OBJECT;
    return is_container && node->n != 0 ? container + 1 : WEIR_JSON_NONE;
}

uint32_t weir_json_after(const struct weir_json *j, uint32_t container, uint32_t at)
{
    const struct weir_json_node *node = &j->nodes[container];
    uint32_t after = j->nodes[node->type == WEIR_JSON_OBJECT ? at + 1 : at].next;
    return after != node->next ? after : WEIR_JSON_NONE;
}

/* The digits of an integer that is negative or not; WEIR_EINVAL when it is not an integer or too
 * large. */
static int read_integer(const struct weir_json *j, uint32_t at, bool *is_negative, uint64_t *amount)
{
    const struct weir_json_node *node = &j->nodes[at];
    if (node->type != WEIR_JSON_NUMBER || !node->is_integer) {
        return WEIR_EINVAL;
    }
    struct weir_slice s = weir_json_raw(j, at);
    *is_negative = s.p[0] == '-';
    return weir_slice_u64(weir_slice_sub(s, *is_negative, s.n), amount);
}

int weir_json_i64(const struct weir_json *j, uint32_t at, int64_t *out)
{
    bool is_negative;
    uint64_t amount;
    if (read_integer(j, at, &is_negative, &amount) != 0 ||
        amount > (uint64_t)INT64_MAX + is_negative) {
        return WEIR_EINVAL;
    }
    /* The smallest has no positive counterpart: negate as unsigned. */
    *out = (int64_t)(is_negative ? -amount : amount);
    return 0;
}

int weir_json_u64(const struct weir_json *j, uint32_t at, uint64_t *out)
{
    bool is_negative;
    uint64_t amount;
    if (read_integer(j, at, &is_negative, &amount) != 0 || (is_negative && amount != 0)) {
        return WEIR_EINVAL;
    }
    *out = amount;
    return 0;
}

/*
 * With at most 15 digits and a power of ten up to 22 both parts are exact doubles, so one division
 * or multiplication rounds correctly. Scores and temperatures are all of this kind.
 */
static bool read_short_f64(struct weir_slice s, double *out)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    bool is_negative = s.p[0] == '-';
    uint64_t digits = 0;
    size_t n_digits = 0;
    size_t n_fraction = 0;
    bool in_fraction = false;
    for (size_t i = is_negative; i < s.n; i++) {
        char c = s.p[i];
        if (c == '.') {
            in_fraction = true;
            continue;
        }
        if (c < '0' || c > '9' || n_digits == 15) {
            return false;
        }
        digits = digits * 10 + (uint64_t)(c - '0');
        n_digits++;
        n_fraction += in_fraction;
    }
    double v = (double)digits / powers[n_fraction];
    *out = is_negative ? -v : v;
    return true;
}

int weir_json_f64(const struct weir_json *j, uint32_t at, double *out)
{
    if (j->nodes[at].type != WEIR_JSON_NUMBER) {
        return WEIR_EINVAL;
    }
    struct weir_slice s = weir_json_raw(j, at);
    if (read_short_f64(s, out)) {
        return 0;
    }
    /* strtod wants a NUL. The program never sets a locale, so the point is a point. */
    char local[64];
    char *copy = s.n < sizeof local ? memcpy(local, s.p, s.n) : weir_mem_dup(s.p, s.n);
    copy[s.n] = '\0';
    double v = strtod(copy, NULL);
    if (copy != local) {
        free(copy);
    }
    if (isinf(v)) {
        return WEIR_EINVAL;
    }
    *out = v;
    return 0;
}
