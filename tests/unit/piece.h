#ifndef WEIR_TESTS_PIECE_H
#define WEIR_TESTS_PIECE_H

#include "base/mem.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define PIECE_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PIECE_HAS_ASAN 1
#endif
#endif

/*
 * A piece of input, lent to the code under test for one call: a copy of exactly its size that
 * nobody may read behind, or after it was taken back.
 *
 * A heap block of its own says so to any checker. With the address sanitizer that costs more than
 * most codecs need for a byte; there the copy lies on a ring that is poisoned but for the piece
 * that is lent, and a place comes round again after thousands of pieces.
 */
#ifdef PIECE_HAS_ASAN

#include <sanitizer/asan_interface.h>

enum { PIECE_RING_BYTES = 1 << 16, PIECE_GRANULE = 8 };

struct piece_ring {
    _Alignas(PIECE_GRANULE) char bytes[PIECE_RING_BYTES];
    size_t at;
    bool is_ready;
};

static inline struct piece_ring *piece_ring(void)
{
    static struct piece_ring ring;
    if (!ring.is_ready) {
        __asan_poison_memory_region(ring.bytes, sizeof ring.bytes);
        ring.at = PIECE_GRANULE; /* so that there is something poisoned before the first, too */
        ring.is_ready = true;
    }
    return &ring;
}

/* What it takes on the ring: whole granules, and one behind it that stays poisoned. */
static inline size_t piece_room(size_t n)
{
    return (n / PIECE_GRANULE + 2) * PIECE_GRANULE;
}

static inline struct weir_slice piece_lend(struct weir_slice from)
{
    struct piece_ring *ring = piece_ring();
    size_t room = piece_room(from.n);
    char *copy;
    if (from.n >= PIECE_RING_BYTES / 2) {
        copy = weir_mem_alloc(from.n);
    } else {
        ring->at = ring->at + room <= PIECE_RING_BYTES ? ring->at : PIECE_GRANULE;
        copy = ring->bytes + ring->at;
        ring->at += room;
        __asan_unpoison_memory_region(copy, from.n);
    }
    if (from.n != 0) {
        memcpy(copy, from.p, from.n);
    }
    return weir_slice_make(copy, from.n);
}

static inline void piece_take_back(struct weir_slice lent)
{
    if (lent.n >= PIECE_RING_BYTES / 2) {
        free((void *)(uintptr_t)lent.p);
    } else {
        __asan_poison_memory_region(lent.p, piece_room(lent.n));
    }
}

#else

static inline struct weir_slice piece_lend(struct weir_slice from)
{
    char *copy = weir_mem_alloc(from.n);
    if (from.n != 0) {
        memcpy(copy, from.p, from.n);
    }
    return weir_slice_make(copy, from.n);
}

static inline void piece_take_back(struct weir_slice lent)
{
    free((void *)(uintptr_t)lent.p);
}

#endif

#endif
