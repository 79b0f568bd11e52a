#ifndef WEIR_BASE_HASH_H
#define WEIR_BASE_HASH_H

#include "base/slice.h"

#include <stdint.h>

/*
 * A keyed hash of 128 bits over several parts (SipHash-1-3 with the longer result). The key is made
 * once per process and never leaves it, so nobody outside can make two questions meet. Every part
 * goes in with its length: {"ab","c"} and {"a","bc"} differ.
 */
struct weir_hash {
    uint64_t v[4];
};

struct weir_hash_value {
    uint64_t words[2];
};

void weir_hash_begin(struct weir_hash *h);
void weir_hash_add(struct weir_hash *h, struct weir_slice part);
void weir_hash_add_u64(struct weir_hash *h, uint64_t number);
struct weir_hash_value weir_hash_end(struct weir_hash *h);

#endif
