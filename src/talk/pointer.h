#ifndef WEIR_TALK_POINTER_H
#define WEIR_TALK_POINTER_H

#include "base/arena.h"
#include "base/buf.h"
#include "wire/json.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Where a value stands in a document, as a JSON pointer (RFC 6901): /messages/2/content/0/text.
 *
 * A pointer goes forward only: nodes must be asked for in their order, each at most once or again.
 * So the pointers of all nodes of a document together cost one walk over it. All-zero but for
 * `json` and `arena` is its beginning.
 */
struct weir_pointer_step {
    uint32_t container;
    uint32_t at; /* the element, or the key of the member, that leads to the node asked for last */
    uint32_t index; /* of the element */
};

struct weir_pointer {
    const struct weir_json *json;
    struct weir_arena *arena;
    struct weir_pointer_step *steps;
    size_t n;
    size_t cap;
};

/* Appends the pointer of `node`: a value, or a member's key, which has that of its value. */
void weir_pointer_append(struct weir_pointer *p, uint32_t node, struct weir_buf *out);

/* The same for one node, from the beginning; in the arena. */
struct weir_slice weir_pointer_of(const struct weir_json *json, uint32_t node,
                                  struct weir_arena *arena);

#endif
