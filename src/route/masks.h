#ifndef WEIR_ROUTE_MASKS_H
#define WEIR_ROUTE_MASKS_H

#include "route/fields.h"
#include "task/scan.h"

/*
 * Reads `[[start, end], …]` in code points of `text`: 0 <= start < end <= length, otherwise
 * "invalid masks", as are too many of them. With WEIR_JSON_NONE or an empty list there are no
 * masks. 0, or with f->error WEIR_EINVAL (not a list of pairs of numbers) or WEIR_EBAD (invalid
 * masks).
 */
int weir_masks_read(struct weir_fields *f, uint32_t at, const char *path, struct weir_slice text,
                    const struct weir_scan_mask **masks, size_t *n);

#endif
