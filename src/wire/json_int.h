#ifndef WEIR_WIRE_JSON_INT_H
#define WEIR_WIRE_JSON_INT_H

#include "wire/json.h"

/* What the JSON files share and nobody else needs. */

/* The bytes between the quotes. */
static inline struct weir_slice weir_json__inside(const struct weir_json *j, uint32_t at)
{
    return weir_slice_sub(j->src, j->nodes[at].start + 1u, j->nodes[at].end - 1u);
}

/* The code unit of four hex digits, or -1. */
int32_t weir_json__hex4(const char *p);

/*
 * A string's value in pieces of UTF-8: runs of the source between escapes, and what each escape
 * stands for. A lone surrogate is U+FFFD, or with `keep_halves` its three bytes as if it were a
 * character: not valid UTF-8, but different halves stay different.
 */
struct weir_json__pieces {
    struct weir_slice rest; /* of the inside, not yet given out */
    bool keep_halves;
    char escape[4]; /* the current piece lives here when it was an escape */
};

/* False at the end. A piece is never empty and is valid until the next call. */
bool weir_json__next_piece(struct weir_json__pieces *it, struct weir_slice *piece);

/* Room for any double as weir_json_write_f64 spells it. */
enum { WEIR_JSON__F64_MAX = 32 };

/* Spells a finite double, returns how many bytes; not NUL-terminated. */
size_t weir_json__format_f64(double v, char out[WEIR_JSON__F64_MAX]);

/* Do two strings have the same value? */
bool weir_json__same_string(const struct weir_json *a, uint32_t at_a, const struct weir_json *b,
                            uint32_t at_b, bool keep_halves);

/*
 * Member names as a hash table, for objects too large to compare names pairwise. Names are hashed
 * with the process's secret, so nobody can make them collide.
 */
struct weir_json__slot {
    uint32_t tag; /* upper half of the name's hash */
    uint32_t key; /* node of the name + 1, 0: free */
};

struct weir_json__names {
    struct weir_json__slot *slots;
    uint32_t mask;
};

/* Up to here pairwise is cheaper. */
enum { WEIR_JSON__FEW_MEMBERS = 16 };

/* How many slots a table over an object of `n` members takes. */
size_t weir_json__names_slots(uint32_t n);

/*
 * Fills `names` over `object`, `slots` being uninitialised memory for weir_json__names_slots of
 * its n. Returns the first key that repeats an earlier one, or WEIR_JSON_NONE.
 */
uint32_t weir_json__names_fill(struct weir_json__names *names, const struct weir_json *j,
                               uint32_t object, struct weir_json__slot *slots);

/* The key in `names` (over `j`) with the name of `from`'s key `at`, exactly; or WEIR_JSON_NONE. */
uint32_t weir_json__names_find(const struct weir_json__names *names, const struct weir_json *j,
                               const struct weir_json *from, uint32_t at);

#endif
