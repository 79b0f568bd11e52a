#ifndef WEIR_BASE_GLOB_H
#define WEIR_BASE_GLOB_H

#include "base/slice.h"

#include <stdbool.h>

/*
 * Patterns for names, as the configuration has them for models: `*` stands for any bytes, also
 * none, `?` for one byte, everything else for itself. Upper and lower case differ.
 */
bool weir_glob_match(struct weir_slice glob, struct weir_slice text);

/* Has it a `*` or `?`? Otherwise it is a name. */
bool weir_glob_has_wildcard(struct weir_slice glob);

/* Is there a text that both match? The time grows with the product of their lengths. */
bool weir_glob_overlaps(struct weir_slice a, struct weir_slice b);

#endif
