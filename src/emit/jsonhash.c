#include "emit/jsonhash.h"

#include "base/map.h"

/* Spreads a sum or a small number over all bits (the finaliser of a well-known mixer family). */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    return x ^ (x >> 32);
}

static uint64_t hash_string(const struct weir_json *j, uint32_t at, struct weir_buf *scratch)
{
    const struct weir_json_node *node = &j->nodes[at];
    if (!node->is_escaped) {
        return weir_map_hash(weir_slice_sub(j->src, node->start + 1, node->end - 1));
    }
    weir_buf_clear(scratch);
    (void)weir_json_string_append(j, at, scratch);
    return weir_map_hash(weir_buf_slice(scratch));
}

static uint64_t hash_number(const struct weir_json *j, uint32_t at)
{
    double value;
    if (weir_json_f64(j, at, &value) != 0) {
        return weir_map_hash(weir_json_raw(j, at));
    }
    value += 0.0; /* -0 becomes 0 */
    return weir_map_hash(weir_slice_make((const char *)&value, sizeof value));
}

static uint64_t hash_array(const struct weir_json *j, uint32_t at, struct weir_buf *scratch)
{
    uint64_t sum = UINT64_C(0x9E3779B97F4A7C15);
    for (uint32_t e = weir_json_first(j, at); e != WEIR_JSON_NONE; e = weir_json_after(j, at, e)) {
        sum = mix(sum + weir_jsonhash(j, e, scratch));
    }
    return sum;
}

static uint64_t hash_object(const struct weir_json *j, uint32_t at, struct weir_buf *scratch)
{
    uint64_t sum = UINT64_C(0xC2B2AE3D27D4EB4F);
    for (uint32_t k = weir_json_first(j, at); k != WEIR_JSON_NONE; k = weir_json_after(j, at, k)) {
        uint64_t name = hash_string(j, k, scratch);
        sum += mix(name + mix(weir_jsonhash(j, k + 1, scratch)));
    }
    return mix(sum);
}

uint64_t weir_jsonhash(const struct weir_json *j, uint32_t at, struct weir_buf *scratch)
{
    switch (weir_json_type(j, at)) {
    case WEIR_JSON_STRING:
        return hash_string(j, at, scratch);
    case WEIR_JSON_NUMBER:
        return mix(3 + hash_number(j, at));
    case WEIR_JSON_ARRAY:
        return hash_array(j, at, scratch);
    case WEIR_JSON_OBJECT:
        return hash_object(j, at, scratch);
    default:
        return mix(10 + (uint64_t)weir_json_type(j, at));
    }
}

uint64_t weir_jsonhash_extend(uint64_t hash, struct weir_slice text)
{
    for (size_t i = 0; i < text.n; i++) {
        hash = (hash ^ (unsigned char)text.p[i]) * UINT64_C(0x100000001B3) + 1;
    }
    return hash;
}
