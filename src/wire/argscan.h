#ifndef WEIR_WIRE_ARGSCAN_H
#define WEIR_WIRE_ARGSCAN_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Watches the arguments of a tool call grow: is the object closed, and is the whole valid JSON so
 * far? Two machines run over each byte once, and no byte is kept:
 *
 * - the bracket counter, which only knows strings, escapes and depth, says `closed`;
 * - the grammar (RFC 8259, strict but for duplicate names) says `valid`.
 *
 * All-zero is the empty text, which is not valid. Fragments are valid UTF-8 and may end anywhere
 * between two code points.
 */
enum { WEIR_ARGSCAN_DEPTH = 512 }; /* deeper is not valid */

struct weir_argscan {
    uint64_t n_bytes;
    uint64_t n_open; /* brackets */
    uint8_t first;   /* first byte that is not white space, 0: none yet */
    uint8_t state;   /* of the grammar */
    uint8_t literal; /* which of true, false, null, and how much of it */
    bool is_key;     /* of the string that is being read */
    bool in_string;  /* these two are the bracket counter's */
    bool in_escape;
    bool is_bad;
    uint16_t depth;
    uint64_t is_object[WEIR_ARGSCAN_DEPTH / 64]; /* a bit per open container */
};

void weir_argscan_feed(struct weir_argscan *s, struct weir_slice text);

static inline bool weir_argscan_is_container(const struct weir_argscan *s)
{
    return s->first == '{' || s->first == '[';
}

/* An object or array that has come to its last bracket, valid or not. */
static inline bool weir_argscan_is_closed(const struct weir_argscan *s)
{
    return weir_argscan_is_container(s) && s->n_open == 0;
}

/* Would the text be valid JSON if it ended here? */
bool weir_argscan_is_valid(const struct weir_argscan *s);

/* Exactly "{}", which some servers send before the real arguments. */
static inline bool weir_argscan_is_placeholder(const struct weir_argscan *s)
{
    return s->n_bytes == 2 && s->first == '{' && s->n_open == 0;
}

#endif
