#ifndef WEIR_WIRE_JSON_H
#define WEIR_WIRE_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The JSON reader: a tape of spans over the original bytes. Nothing is converted and nothing is
 * lost: 64-bit integers, number spelling, \u0000, member order and unknown members are all still
 * there in the source, and one value can be replaced in place (wire/json_edit.h).
 *
 *   {"a":[1,"x"],"b":null}
 *    0    object, next = 7          a container is followed by its children,
 *    1    key "a"                   a key by its value;
 *    2      array, next = 5         `next` is the node after the whole value
 *    3        number 1
 *    4        string "x"
 *    5    key "b"
 *    6      null
 *
 * Strict RFC 8259: UTF-8 only, no byte order mark, nothing after the value but white space. A name
 * may stand only once in an object, names compared as weir_json_string gives them: what a later
 * reader could take for the same member is refused here. A node is named by its index; 0 is the
 * root.
 */
enum weir_json_type {
    WEIR_JSON_NULL,
    WEIR_JSON_FALSE,
    WEIR_JSON_TRUE,
    WEIR_JSON_NUMBER,
    WEIR_JSON_STRING,
    WEIR_JSON_ARRAY,
    WEIR_JSON_OBJECT,
};

struct weir_json_node {
    uint32_t start; /* byte offset of the value's first byte: quote, bracket, digit… */
    uint32_t end;   /* one past its last byte */
    uint32_t
        next;   /* index of the node after this value and everything in it; a key's is its value */
    uint32_t n; /* array: elements; object: members; string: code points after unescaping (a
                   surrogate pair is one, a lone half too) */
    uint8_t type;
    bool is_escaped;         /* string: contains a backslash */
    bool is_integer;         /* number: no fraction, no exponent */
    bool has_lone_surrogate; /* string: \\ud800 to \\udfff without its other half */
};

struct weir_json {
    struct weir_slice src;
    const struct weir_json_node *nodes;
    uint32_t n_nodes;
};

struct weir_json_limits {
    uint32_t max_depth; /* containers within each other; 0: 64. Depth costs no stack */
    uint32_t max_nodes; /* keys count too; 0: no limit but the source's size */
};

/* Which of its limits a source is over, with WEIR_ELIMIT. */
enum weir_json_limit {
    WEIR_JSON_NO_LIMIT,
    WEIR_JSON_DEPTH,
    WEIR_JSON_NODES,
    WEIR_JSON_BYTES, /* 4 GiB */
};

/* Where and why reading stopped. `what` is a static phrase: "expected a value". What ends too early
 * stopped at its end, at_byte == src.n. */
struct weir_json_error {
    enum weir_json_limit limit;
    size_t at_byte;
    size_t line;   /* from 1 */
    size_t column; /* from 1, in bytes */
    const char *what;
};

#define WEIR_JSON_NONE UINT32_MAX /* "no such node" */

/*
 * Reads the whole of `src`, which the result borrows, as its nodes borrow `arena`. Returns 0,
 * WEIR_EBAD (malformed) or WEIR_ELIMIT (too deep, too many nodes, 4 GiB); then `*j` is all-zero.
 * `limits` and `err` may be NULL; `*err` is written on failure only.
 */
int weir_json_parse(struct weir_json *j, struct weir_slice src,
                    const struct weir_json_limits *limits, struct weir_arena *arena,
                    struct weir_json_error *err);

/*
 * The same into node memory that is reused from call to call (a stream parses an event per token
 * and must not allocate). `tape` grows on the heap and starts all-zero; dispose with
 * weir_json_tape_dispose. The next parse into it ends the last one's nodes.
 */
struct weir_json_tape {
    struct weir_json_node *nodes;
    uint32_t cap;
};
int weir_json_parse_reuse(struct weir_json *j, struct weir_slice src,
                          const struct weir_json_limits *limits, struct weir_json_tape *tape,
                          struct weir_json_error *err);
void weir_json_tape_dispose(struct weir_json_tape *tape);

static inline enum weir_json_type weir_json_type(const struct weir_json *j, uint32_t at)
{
    return (enum weir_json_type)j->nodes[at].type;
}

/* The value's bytes as they stand in the source: quotes, brackets, spelling. */
static inline struct weir_slice weir_json_raw(const struct weir_json *j, uint32_t at)
{
    return weir_slice_sub(j->src, j->nodes[at].start, j->nodes[at].end);
}

/* A member's value by its unescaped name, or WEIR_JSON_NONE (also when `object` is not one). */
uint32_t weir_json_get(const struct weir_json *j, uint32_t object, struct weir_slice name);

/* The same, but a null value counts as absent: what the API's optional members mean. */
uint32_t weir_json_get_set(const struct weir_json *j, uint32_t object, struct weir_slice name);

/*
 * Walking. Array: for (at = weir_json_first(j, arr); at != NONE; at = weir_json_after(j, arr, at)).
 * Object: the same gives keys; the value of key `k` is node k + 1, and after() skips it too.
 */
uint32_t weir_json_first(const struct weir_json *j, uint32_t container);
uint32_t weir_json_after(const struct weir_json *j, uint32_t container, uint32_t at);

/*
 * A string's value. Without escapes it borrows the source; with escapes it is unescaped into the
 * arena. A surrogate pair is joined, a lone half becomes U+FFFD (has_lone_surrogate tells).
 */
struct weir_slice weir_json_string(const struct weir_json *j, uint32_t at,
                                   struct weir_arena *arena);

/* Appends the unescaped value to `out`; WEIR_ELIMIT at its ceiling. */
int weir_json_string_append(const struct weir_json *j, uint32_t at, struct weir_buf *out);

/* Does the string equal `s` after unescaping? Never allocates. */
bool weir_json__string_is(const struct weir_json *j, uint32_t at, struct weir_slice s);
static inline bool weir_json_string_eq(const struct weir_json *j, uint32_t at, struct weir_slice s)
{
    /* Most names asked for are not the one at hand, and most of those differ in length. */
    const struct weir_json_node *node = &j->nodes[at];
    return (node->is_escaped || node->end - node->start == s.n + 2) &&
           weir_json__string_is(j, at, s);
}

/*
 * Streams may cut a surrogate pair between two deltas. Does the string end with a high half, or
 * begin with a low one, that has no partner in it? `*unit` is that UTF-16 code unit, set
 * only then; in the value it shows as one U+FFFD at that end.
 */
bool weir_json_string_ends_high(const struct weir_json *j, uint32_t at, uint16_t *unit);
bool weir_json_string_begins_low(const struct weir_json *j, uint32_t at, uint16_t *unit);

/* 0, or WEIR_EINVAL when the value is not a number of that kind or does not fit. */
int weir_json_i64(const struct weir_json *j, uint32_t at, int64_t *out);
int weir_json_u64(const struct weir_json *j, uint32_t at, uint64_t *out);
int weir_json_f64(const struct weir_json *j, uint32_t at, double *out); /* 1e400: WEIR_EINVAL */

/* <0, 0, >0: two numbers by their exact decimal value, whatever their size. */
int weir_json_compare_numbers(const struct weir_json *a, uint32_t at_a, const struct weir_json *b,
                              uint32_t at_b);

/* A number without a fraction: 7, 7.0, 70e-1. */
bool weir_json_is_whole(const struct weir_json *j, uint32_t at);

/*
 * Same JSON value: objects regardless of order, strings after unescaping (a lone half equals only
 * itself), numbers by exact decimal value: 1, 1.0 and 10e-1 are the same, 2^64 and 2^64 + 1 are
 * not. Linear, whatever the order of members.
 */
bool weir_json_equal(const struct weir_json *a, uint32_t at_a, const struct weir_json *b,
                     uint32_t at_b);

#endif
