#ifndef WEIR_BASE_ARENA_H
#define WEIR_BASE_ARENA_H

#include "base/account.h"
#include "base/buf.h"
#include "base/slice.h"

#include <stdarg.h>
#include <stddef.h>

/*
 * The memory of one request. Allocation bumps a pointer; everything goes at once in dispose.
 *
 *   block ──► block ──► …        each allocation lives in one block, larger ones get their own
 *   undo  ◄── undo  ◄── …        run newest first by dispose
 *
 * What is not memory (a timer, a call, a lease) registers its own undoing with weir_arena_defer
 * when it is made. With an account (set while empty) its memory counts there. All-zero is a valid
 * empty arena.
 */
struct weir_arena_block;

struct weir_arena_undo {
    struct weir_arena_undo *older;
    void (*fn)(void *ctx); /* NULL once cancelled */
    void *ctx;
};

struct weir_arena {
    struct weir_arena_block *blocks; /* newest first */
    char *cursor;
    char *limit;
    struct weir_arena_undo *undos;
    size_t n_blocks;    /* that were made to be shared by several pieces */
    size_t total_bytes; /* of all blocks, and of what was taken */
    struct weir_account *account;
};

typedef void (*weir_arena_undo_fn)(void *ctx);

/* Aligned for any type, uninitialised; n = 0 gives a unique pointer. */
void *weir_arena_alloc(struct weir_arena *a, size_t n);
void *weir_arena_zalloc(struct weir_arena *a, size_t n);
void *weir_arena_array(struct weir_arena *a, size_t count, size_t size); /* zeroed */

/* Makes the first block of an empty arena so large: for one that lives shortly and is known to need
 * about that much, where blocks that grow would be several. */
void weir_arena_expect(struct weir_arena *a, size_t n);

/* A copy inside the arena; a NUL follows it that is not counted. */
struct weir_slice weir_arena_dup(struct weir_arena *a, struct weir_slice s);

/* The contents of `b`, which is left empty. Large ones are not copied. A NUL follows too. */
struct weir_slice weir_arena_take_buf(struct weir_arena *a, struct weir_buf *b);

/* Takes `n` bytes of heap memory over and frees them in dispose. */
void weir_arena_take(struct weir_arena *a, void *p, size_t n);

/* printf into the arena, NUL-terminated. */
char *weir_arena_printf(struct weir_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *weir_arena_vprintf(struct weir_arena *a, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

/* `fn(ctx)` runs in dispose. */
void weir_arena_defer(struct weir_arena *a, weir_arena_undo_fn fn, void *ctx);

/* Runs what was deferred, newest first, and frees all memory. Safe twice; leaves all-zero but
 * for `account`. */
void weir_arena_dispose(struct weir_arena *a);

#endif
