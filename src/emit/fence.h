#ifndef WEIR_EMIT_FENCE_H
#define WEIR_EMIT_FENCE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Is the end of a growing Markdown text inside a fenced code block? A fence opens on a line with at
 * most 3 leading spaces and at least 3 backticks (none in the rest of the line) or tildes; it
 * closes on a line of at least as many of the same and nothing else. A line counts when its line
 * feed has come. No text is kept: lines may be of any length. All-zero is the empty text.
 */
struct weir_fence {
    uint8_t open_char; /* 0: outside */
    uint8_t line_state;
    uint8_t line_char;
    uint8_t n_spaces;
    bool has_rest;     /* something but white space follows the run */
    bool has_backtick; /* a backtick follows the run */
    uint32_t n_open;
    uint32_t n_run;
};

void weir_fence_feed(struct weir_fence *f, struct weir_slice text);

static inline bool weir_fence_is_open(const struct weir_fence *f)
{
    return f->open_char != 0;
}

#endif
