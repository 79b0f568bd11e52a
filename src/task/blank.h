#ifndef WEIR_TASK_BLANK_H
#define WEIR_TASK_BLANK_H

#include "base/slice.h"

#include <stdbool.h>

/* Nothing but Unicode White_Space? True for nothing at all. */
bool weir_blank_is(struct weir_slice s);

/* The same code points, white space aside: what a chunker may make of our text. */
bool weir_blank_same(struct weir_slice a, struct weir_slice b);

#endif
