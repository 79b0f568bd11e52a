#ifndef WEIR_BASE_MAP_H
#define WEIR_BASE_MAP_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Hash map from byte strings to pointers, open addressing, in insertion order when iterated.
 * Hashing is keyed with a secret made once per process, so that keys a peer chooses cannot be made
 * to collide. Keys are borrowed: they must outlive their entry. All-zero is a valid empty map.
 */
struct weir_map_entry {
    struct weir_slice key;
    void *value;
    uint64_t hash;
    bool live;
};

struct weir_map {
    struct weir_map_entry *entries; /* in order of insertion, holes where removed */
    uint32_t *table;                /* index + 1 into entries, 0 = free */
    size_t n;                       /* live entries */
    size_t n_entries;               /* with holes */
    size_t cap_table;               /* power of two, or 0 */
};

void weir_map_dispose(struct weir_map *m);

/* NULL when absent. */
void *weir_map_get(const struct weir_map *m, struct weir_slice key);
bool weir_map_has(const struct weir_map *m, struct weir_slice key);

/* Returns the value that was replaced, or NULL. A replaced entry keeps its place and its key. */
void *weir_map_put(struct weir_map *m, struct weir_slice key, void *value);

/* Returns the removed value, or NULL. */
void *weir_map_remove(struct weir_map *m, struct weir_slice key);

/*
 * for (size_t i = 0; (e = weir_map_next(m, &i)) != NULL;)
 * The loop may remove entries; after a new key was put, `i` and `e` must not be used.
 */
struct weir_map_entry *weir_map_next(const struct weir_map *m, size_t *iter);

/* The keyed hash itself (SipHash-1-3), for tables of other shapes. */
uint64_t weir_map_hash(struct weir_slice key);

#endif
