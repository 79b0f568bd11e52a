#include "io/heap.h"

#include "base/assert.h"
#include "base/mem.h"

#include <ares.h>
#include <hs.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <unicode/uclean.h>
#include <uv.h>

/* As realloc is asked: no pointer is a new allocation, no size frees. */
static void *resize(void *p, size_t n)
{
    if (n == 0 && p != NULL) {
        free(p);
        return NULL;
    }
    return p != NULL ? weir_mem_realloc(p, n) : weir_mem_alloc(n);
}

static void *crypto_alloc(size_t n, const char *file, int line)
{
    (void)file;
    (void)line;
    return weir_mem_alloc(n);
}

static void *crypto_resize(void *p, size_t n, const char *file, int line)
{
    (void)file;
    (void)line;
    return resize(p, n);
}

static void crypto_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    free(p);
}

static void *icu_alloc(const void *ctx, size_t n)
{
    (void)ctx;
    return weir_mem_alloc(n);
}

static void *icu_resize(const void *ctx, void *p, size_t n)
{
    (void)ctx;
    return resize(p, n);
}

static void icu_free(const void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

void weir_heap_share(void)
{
    /* It refuses where something that was loaded with us has used it already, and keeps its own. */
    (void)CRYPTO_set_mem_functions(crypto_alloc, crypto_resize, crypto_free);
    int rc = uv_replace_allocator(weir_mem_alloc, resize, weir_mem_array, free);
    WEIR_ASSERT(rc == 0);
    rc = ares_library_init_mem(ARES_LIB_INIT_ALL, weir_mem_alloc, free, resize);
    WEIR_ASSERT(rc == ARES_SUCCESS);
    WEIR_ASSERT(hs_set_allocator(weir_mem_alloc, free) == HS_SUCCESS);
    UErrorCode status = U_ZERO_ERROR;
    u_setMemoryFunctions(NULL, icu_alloc, icu_resize, icu_free, &status);
    WEIR_ASSERT(U_SUCCESS(status));
}
