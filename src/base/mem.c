#include "base/mem.h"

#include "base/assert.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the reserve ---- */

static size_t n_reserve; /* 0: there is none */
static _Atomic(void *) reserve;
static atomic_bool is_short;

/* NULL when there is no room for it. */
static void *map_reserve(void)
{
    void *p = mmap(NULL, n_reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED ? p : NULL;
}

void weir_mem_keep_reserve(size_t bytes)
{
    WEIR_ASSERT(n_reserve == 0 && bytes != 0);
    n_reserve = bytes;
    atomic_store(&reserve, map_reserve());
}

bool weir_mem_is_short(void)
{
    return atomic_load_explicit(&is_short, memory_order_relaxed);
}

/* Several threads may try: one keeps its reserve. */
bool weir_mem_recover(void)
{
    if (!weir_mem_is_short()) {
        return true;
    }
    void *mine = map_reserve();
    if (mine == NULL) {
        return false;
    }
    void *none = NULL;
    if (!atomic_compare_exchange_strong(&reserve, &none, mine)) {
        munmap(mine, n_reserve);
    }
    atomic_store(&is_short, false);
    return true;
}

/* Another thread may have given the reserve back just now: in any case it is worth another try. */
void weir_mem_make_room(void)
{
    atomic_store(&is_short, n_reserve != 0);
    void *p = atomic_exchange(&reserve, NULL);
    if (p != NULL) {
        munmap(p, n_reserve);
    }
}

/* ---- allocations ---- */

static void *alloc_again(size_t n)
{
    weir_mem_make_room();
    void *p = malloc(n);
    WEIR_ASSERT(p != NULL);
    return p;
}

void *weir_mem_alloc(size_t n)
{
    void *p = malloc(n != 0 ? n : 1);
    return p != NULL ? p : alloc_again(n != 0 ? n : 1);
}

void *weir_mem_zalloc(size_t n)
{
    size_t whole = n != 0 ? n : 1;
    void *p = calloc(1, whole);
    return p != NULL ? p : memset(alloc_again(whole), 0, whole);
}

void *weir_mem_zalloc_lines(size_t n)
{
    enum { LINE_BYTES = 64 };
    WEIR_ASSERT(n <= SIZE_MAX / 2);
    size_t whole = n != 0 ? (n + (LINE_BYTES - 1)) & ~(size_t)(LINE_BYTES - 1) : LINE_BYTES;
    void *p = aligned_alloc(LINE_BYTES, whole);
    if (p == NULL) {
        weir_mem_make_room();
        p = aligned_alloc(LINE_BYTES, whole);
        WEIR_ASSERT(p != NULL);
    }
    return memset(p, 0, whole);
}

void *weir_mem_realloc(void *p, size_t n)
{
    WEIR_ASSERT(n != 0);
    void *q = realloc(p, n);
    if (q == NULL) {
        weir_mem_make_room();
        q = realloc(p, n);
        WEIR_ASSERT(q != NULL);
    }
    return q;
}

void *weir_mem_array(size_t count, size_t size)
{
    size_t total;
    WEIR_ASSERT(!__builtin_mul_overflow(count, size, &total));
    return weir_mem_zalloc(total);
}

char *weir_mem_strdup(const char *s)
{
    return weir_mem_dup(s, strlen(s));
}

char *weir_mem_dup(const void *p, size_t n)
{
    char *copy = weir_mem_alloc(n + 1);
    if (n != 0) {
        memcpy(copy, p, n);
    }
    copy[n] = '\0';
    return copy;
}
