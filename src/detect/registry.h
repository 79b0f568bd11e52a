#ifndef WEIR_DETECT_REGISTRY_H
#define WEIR_DETECT_REGISTRY_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/builtin.h"

#include <stddef.h>

/* The built-in detectors by name: what `builtin: NAME` of the configuration means. A new kind is
 * one file and one line in the table. */

/* For tests and benches: the i-th name, NULL after the last. */
const char *weir_detect_builtin_name(size_t i);

/* NULL: there is none of this name. */
const struct weir_builtin_kind *weir_detect_builtin_find(struct weir_slice name);

/*
 * `id` and `params` are borrowed for the detector's life. 0, WEIR_ENOTFOUND (no such kind) or
 * WEIR_EINVAL with the reason in `why`. The detector is &b->base; weir_builtin_dispose ends it.
 */
int weir_detect_builtin_init(struct weir_builtin *b, struct weir_slice kind, struct weir_slice id,
                             struct weir_slice params, struct weir_buf *why);

#endif
