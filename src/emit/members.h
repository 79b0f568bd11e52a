#ifndef WEIR_EMIT_MEMBERS_H
#define WEIR_EMIT_MEMBERS_H

#include "base/buf.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Members of a JSON object that are carried along without being understood: names and the values'
 * own bytes, in the order they first came. A list that only counts (`is_shadow`) keeps hashes
 * instead of values and writes nothing. Memory is reused after clear. All-zero is empty.
 */
enum { WEIR_MEMBERS_MOST = 64 }; /* names; a list that has as many takes no new ones */

enum weir_member_rule {
    WEIR_MEMBER_EQUAL,  /* two chunks merge only if it is the same in both */
    WEIR_MEMBER_LATEST, /* the last value is kept */
    WEIR_MEMBER_APPEND, /* arrays are joined */
};

struct weir_member {
    struct weir_buf name;  /* as spelled, without quotes, never escaped */
    struct weir_buf value; /* as spelled; APPEND: the elements without the brackets */
    uint64_t hash;
    enum weir_member_rule rule;
};

struct weir_members {
    struct weir_member *items;
    size_t n;
    size_t cap;
    size_t n_equal; /* items whose rule is EQUAL */
    size_t n_bytes; /* of all names and values */
    bool is_shadow;
};

void weir_members_dispose(struct weir_members *m);
void weir_members_clear(struct weir_members *m);

/* NULL when absent. */
struct weir_member *weir_members_find(const struct weir_members *m, struct weir_slice name);

/* Where a member's value stands, for the calls below. `scratch` is any buffer. */
struct weir_member_source {
    const struct weir_json *j;
    uint32_t at;
    struct weir_buf *scratch;
    struct weir_json_tape *tape; /* for reading a kept value again */
};

/* Sets or replaces. An array with rule APPEND is joined to what is there. */
void weir_members_put(struct weir_members *m, struct weir_slice name, enum weir_member_rule rule,
                      const struct weir_member_source *from);

/* Is it there with an equal value? */
bool weir_members_has(const struct weir_members *m, struct weir_slice name,
                      const struct weir_member_source *from);

/* Is the kept text the same JSON value as the one at `from`? */
bool weir_members_same(struct weir_slice kept, const struct weir_member_source *from);

/* Appends `"name":value` for each, a comma before each but the first when `*n_written` is 0. */
void weir_members_write(const struct weir_members *m, struct weir_buf *out, size_t *n_written);

#endif
