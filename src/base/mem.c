#include "base/mem.h"

#include "base/assert.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *weir_mem_alloc(size_t n)
{
    void *p = malloc(n != 0 ? n : 1);
    WEIR_ASSERT(p != NULL);
    return p;
}

void *weir_mem_zalloc(size_t n)
{
    void *p = calloc(1, n != 0 ? n : 1);
    WEIR_ASSERT(p != NULL);
    return p;
}

void *weir_mem_zalloc_lines(size_t n)
{
    enum { LINE_BYTES = 64 };
    WEIR_ASSERT(n <= SIZE_MAX / 2);
    size_t whole = n != 0 ? (n + (LINE_BYTES - 1)) & ~(size_t)(LINE_BYTES - 1) : LINE_BYTES;
    void *p = aligned_alloc(LINE_BYTES, whole);
    WEIR_ASSERT(p != NULL);
    return memset(p, 0, whole);
}

void *weir_mem_realloc(void *p, size_t n)
{
    WEIR_ASSERT(n != 0);
    void *q = realloc(p, n);
    WEIR_ASSERT(q != NULL);
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
