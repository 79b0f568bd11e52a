#include "base/arena.h"

#include "base/assert.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The first blocks are small, so that a tiny request costs little and of a larger one only a small
 * part stays unused: with its header one is 256 bytes. Once there are eight of a size the next is
 * twice as large.
 */
enum { FIRST_BLOCK_BYTES = 256 - 16, LARGEST_BLOCK_BYTES = 64 * 1024, BLOCKS_OF_A_SIZE = 8 };

enum { TAKE_BYTES = 16 * 1024 }; /* a buffer that is worth keeping */

struct weir_arena_block {
    struct weir_arena_block *next;
    _Alignas(max_align_t) char data[];
};

#define ALIGNMENT _Alignof(max_align_t)

/*
 * Under the address sanitizer what has not been handed out is poisoned and a gap follows each
 * piece, so that running over its end is found as it is with malloc.
 */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_POISON 1
#endif
#endif

#ifdef HAS_POISON
#include <sanitizer/asan_interface.h>
enum { GAP_BYTES = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
enum { GAP_BYTES = 0 };
#endif

static size_t next_size(const struct weir_arena *a)
{
    size_t size = FIRST_BLOCK_BYTES;
    for (size_t n = a->n_blocks; n >= BLOCKS_OF_A_SIZE && size < LARGEST_BLOCK_BYTES;
         n -= BLOCKS_OF_A_SIZE) {
        size *= 2;
    }
    return size < LARGEST_BLOCK_BYTES ? size : LARGEST_BLOCK_BYTES;
}

static void count(struct weir_arena *a, size_t n)
{
    a->total_bytes += n;
    weir_account_add(a->account, n);
}

static struct weir_arena_block *add_block(struct weir_arena *a, size_t size)
{
    struct weir_arena_block *b = weir_mem_alloc(sizeof *b + size);
    b->next = a->blocks;
    a->blocks = b;
    count(a, sizeof *b + size);
    ASAN_POISON_MEMORY_REGION(b->data, size);
    return b;
}

/* In a new block: one that has room for others too, or one of its own. Of it and the one that was
 * filled so far the one with more room left is filled from now on. */
static char *alloc_in_new_block(struct weir_arena *a, size_t need)
{
    size_t size = next_size(a);
    if (size >= need) {
        a->n_blocks++;
    } else {
        size = need;
    }
    char *p = add_block(a, size)->data;
    if (size - need >= (size_t)(a->limit - a->cursor)) {
        a->cursor = p + need;
        a->limit = p + size;
    }
    return p;
}

void weir_arena_expect(struct weir_arena *a, size_t n)
{
    WEIR_ASSERT(a->blocks == NULL && n % ALIGNMENT == 0);
    a->cursor = add_block(a, n)->data;
    a->limit = a->cursor + n;
}

void *weir_arena_alloc(struct weir_arena *a, size_t n)
{
    WEIR_ASSERT(n <= SIZE_MAX / 2);
    /* Zero bytes are one byte, so that the pointer is valid and different from all others. */
    size_t need = ((n != 0 ? n : 1) + GAP_BYTES + (ALIGNMENT - 1)) & ~(ALIGNMENT - 1);
    char *p = a->cursor;
    if (need <= (size_t)(a->limit - p)) {
        a->cursor += need;
    } else {
        p = alloc_in_new_block(a, need);
    }
    ASAN_UNPOISON_MEMORY_REGION(p, n);
    return p;
}

void *weir_arena_zalloc(struct weir_arena *a, size_t n)
{
    return memset(weir_arena_alloc(a, n), 0, n);
}

void *weir_arena_array(struct weir_arena *a, size_t count, size_t size)
{
    size_t total;
    WEIR_ASSERT(!__builtin_mul_overflow(count, size, &total));
    return weir_arena_zalloc(a, total);
}

struct weir_slice weir_arena_dup(struct weir_arena *a, struct weir_slice s)
{
    char *copy = weir_arena_alloc(a, s.n + 1);
    if (s.n != 0) {
        memcpy(copy, s.p, s.n);
    }
    copy[s.n] = '\0';
    return weir_slice_make(copy, s.n);
}

char *weir_arena_vprintf(struct weir_arena *a, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    WEIR_ASSERT(n >= 0);
    char *s = weir_arena_alloc(a, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

struct weir_slice weir_arena_take_buf(struct weir_arena *a, struct weir_buf *b)
{
    struct weir_slice taken;
    if (b->n < TAKE_BYTES) {
        taken = weir_arena_dup(a, weir_buf_slice(b));
        weir_buf_dispose(b);
        return taken;
    }
    taken = weir_slice_make(weir_buf_cstr(b), b->n);
    weir_account_sub(b->account, b->cap);
    weir_arena_take(a, b->p, b->cap);
    *b = (struct weir_buf){.max = b->max, .account = b->account};
    return taken;
}

void weir_arena_take(struct weir_arena *a, void *p, size_t n)
{
    weir_arena_defer(a, free, p);
    count(a, n);
}

char *weir_arena_printf(struct weir_arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *s = weir_arena_vprintf(a, fmt, args);
    va_end(args);
    return s;
}

void weir_arena_defer(struct weir_arena *a, weir_arena_undo_fn fn, void *ctx)
{
    struct weir_arena_undo *u = weir_arena_alloc(a, sizeof *u);
    *u = (struct weir_arena_undo){.older = a->undos, .fn = fn, .ctx = ctx};
    a->undos = u;
}

void weir_arena_dispose(struct weir_arena *a)
{
    while (a->undos != NULL) {
        struct weir_arena_undo *u = a->undos;
        a->undos = u->older;
        u->fn(u->ctx);
    }
    struct weir_arena_block *b = a->blocks;
    while (b != NULL) {
        struct weir_arena_block *next = b->next;
        free(b);
        b = next;
    }
    weir_account_sub(a->account, a->total_bytes);
    *a = (struct weir_arena){.account = a->account};
}
