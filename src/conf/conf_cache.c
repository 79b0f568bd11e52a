/* `cache`: how much of what detectors answered is kept, and how long. */
#include "conf/conf_sections.h"

#define KIBIBYTE 1024.0
#define DAY_SECONDS 86400
#define MAX_BYTES (KIBIBYTE * KIBIBYTE * KIBIBYTE * KIBIBYTE)

void weir_conf__cache_defaults(struct weir_conf_cache *cache)
{
    *cache = (struct weir_conf_cache){.max_bytes = 64 * 1024 * 1024, .ttl_ms = 300 * 1000};
}

/* "64MiB" */
static bool parse_size(struct weir_slice s, double *bytes)
{
    static const struct {
        struct weir_slice unit;
        double bytes;
    } units[] = {{WEIR_SLICE("KiB"), KIBIBYTE},
                 {WEIR_SLICE("MiB"), KIBIBYTE * KIBIBYTE},
                 {WEIR_SLICE("GiB"), KIBIBYTE * KIBIBYTE * KIBIBYTE}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!weir_slice_ends_with(s, units[i].unit)) {
            continue;
        }
        struct weir_conf_node number = {.kind = WEIR_CONF_SCALAR, .is_plain = true};
        char digits[16] = "";
        struct weir_slice front = weir_slice_trim(weir_slice_sub(s, 0, s.n - units[i].unit.n));
        if (front.n == 0 || front.n >= sizeof digits) {
            return false;
        }
        memcpy(digits, front.p, front.n);
        number.text = weir_slice_make(digits, front.n);
        int64_t n;
        bool is_good = weir_conf__as_int(&number, &n);
        *bytes = is_good ? (double)n * units[i].bytes : 0;
        return is_good;
    }
    return false;
}

static void on_max_bytes(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_cache *cache = target;
    int64_t number;
    double bytes = -1;
    if (weir_conf__as_int(n, &number)) {
        bytes = (double)number;
    } else if (n->kind == WEIR_CONF_SCALAR) {
        parse_size(n->text, &bytes);
    }
    if (bytes < KIBIBYTE || bytes > MAX_BYTES) {
        weir_conf__error(r, n,
                         "`max_bytes` must be a size such as `64MiB`, or a number of bytes, from "
                         "1KiB to 1024GiB, not %s",
                         weir_conf__describe(r->scratch, n));
        return;
    }
    cache->max_bytes = (uint64_t)bytes;
}

#define T struct weir_conf_cache
static const struct weir_conf_key cache_keys[] = {
    WEIR_CONF_KEY_CALL("max_bytes", on_max_bytes),
    WEIR_CONF_KEY_AS("ttl", T, ttl_ms, SECONDS, .min = 0.001, .max = DAY_SECONDS),
};
#undef T
static const struct weir_conf_object cache_object = {WEIR_CONF_OBJECT(cache_keys)};

void weir_conf__cache_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                              void *conf)
{
    (void)conf;
    bool is_on;
    if (weir_conf__as_bool(n, &is_on)) {
        r->conf->cache.max_bytes = is_on ? r->conf->cache.max_bytes : 0;
    } else if (weir_conf__want_mapping(r, n, "cache")) {
        weir_conf__decode(r, &cache_object, n, &r->conf->cache);
    }
}
