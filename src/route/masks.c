#include "route/masks.h"

#include "base/err.h"
#include "base/utf8.h"

/*
 * What one request may ask for: a mask is a few bytes here and a text of its own to the detectors.
 * Masks that do not overlap never reach the second limit.
 */
enum { MAX_MASKS = 65536, MAX_MASKED_CP = 1024 * 1024 };

static int invalid(struct weir_fields *f)
{
    weir_fields_fail(f, "", "invalid masks");
    return WEIR_EBAD;
}

static int read_one(struct weir_fields *f, uint32_t pair, const char *path, size_t n_cp,
                    struct weir_scan_mask *mask)
{
    if (weir_fields_check(f, pair, path, WEIR_FIELDS_ARRAY) != 0) {
        return WEIR_EINVAL;
    }
    uint64_t bounds[2];
    size_t n = 0;
    uint32_t at = weir_json_first(f->json, pair);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(f->json, pair, at)) {
        if (weir_fields_check(f, at, path, WEIR_FIELDS_INTEGER) != 0) {
            return WEIR_EINVAL;
        }
        if (n == 2 || weir_json_u64(f->json, at, &bounds[n]) != 0) {
            return invalid(f);
        }
        n++;
    }
    if (n != 2 || bounds[0] >= bounds[1] || bounds[1] > n_cp) {
        return invalid(f);
    }
    *mask = (struct weir_scan_mask){.start_cp = bounds[0], .end_cp = bounds[1]};
    return 0;
}

static int check_sum(struct weir_fields *f, const struct weir_scan_mask *masks, size_t n,
                     size_t n_cp)
{
    size_t max = n_cp > MAX_MASKED_CP ? n_cp : MAX_MASKED_CP;
    size_t sum = 0;
    for (size_t i = 0; i < n && sum <= max; i++) {
        sum += masks[i].end_cp - masks[i].start_cp;
    }
    if (sum > max) {
        weir_fields_fail(f, "", "invalid masks: together more than %zu", max);
        return WEIR_EBAD;
    }
    return 0;
}

int weir_masks_read(struct weir_fields *f, uint32_t at, const char *path, struct weir_slice text,
                    const struct weir_scan_mask **masks, size_t *n)
{
    *masks = NULL;
    *n = 0;
    if (at == WEIR_JSON_NONE || f->json->nodes[at].n == 0) {
        return 0;
    }
    if (f->json->nodes[at].n > MAX_MASKS) {
        weir_fields_fail(f, "", "invalid masks: more than %d", MAX_MASKS);
        return WEIR_EBAD;
    }
    size_t n_cp = weir_utf8_count(text);
    struct weir_scan_mask *out = weir_arena_array(f->arena, f->json->nodes[at].n, sizeof *out);
    uint32_t pair = weir_json_first(f->json, at);
    for (; pair != WEIR_JSON_NONE; pair = weir_json_after(f->json, at, pair)) {
        const char *where = weir_arena_printf(f->arena, "%s[%zu]", path, *n);
        int rc = read_one(f, pair, where, n_cp, &out[*n]);
        if (rc != 0) {
            return rc;
        }
        (*n)++;
    }
    *masks = out;
    return check_sum(f, out, *n, n_cp);
}
