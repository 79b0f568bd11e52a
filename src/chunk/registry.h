#ifndef WEIR_CHUNK_REGISTRY_H
#define WEIR_CHUNK_REGISTRY_H

#include "base/arena.h"
#include "base/buf.h"
#include "chunk/chunk.h"
#include "wire/json.h"

/*
 * The built-in chunkers by name: what `chunkers: {ID: {builtin: NAME, params: {…}}}` of the
 * configuration means. A new kind is one file and one line in the table.
 */
struct weir_chunk_kind {
    const char *name;
    const char *const *members; /* the parameters there are, NULL at the end */
    size_t n_bytes;             /* of its struct, which begins with struct weir_chunker */
    /* Fills the zeroed struct. `params` is an object of known members. 0, or an error with the
     * reason in `why`, in words for the person who wrote the parameters. */
    int (*init)(struct weir_chunker *c, struct weir_slice id, const struct weir_json *params,
                struct weir_buf *why);
    void (*dispose)(struct weir_chunker *c); /* NULL: nothing to do. Safe after a failed init */
};

/* A number among a kind's parameters: `*value` stays as it is where it is not given. 0, or
 * WEIR_EINVAL with `why`. */
struct weir_chunk_number {
    const char *name;
    size_t least;
    size_t most;
};
int weir_chunk_read_number(const struct weir_json *params, const struct weir_chunk_number *number,
                           size_t *value, struct weir_buf *why);

/* For tests: the i-th name, NULL after the last. */
const char *weir_chunk_builtin_name(size_t i);

struct weir_chunk_builtin_options {
    struct weir_slice kind;
    struct weir_slice id;     /* borrowed */
    struct weir_slice params; /* a JSON object, or empty */
};

/* The chunker, which is the arena's and goes with it (all streams must be closed then), or NULL
 * with the reason in `why`. */
const struct weir_chunker *weir_chunk_builtin_new(struct weir_arena *arena,
                                                  const struct weir_chunk_builtin_options *options,
                                                  struct weir_buf *why);

#endif
