#include "detect/pcre_heap.h"

#include "base/assert.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>

static pcre2_general_context *shared;

static void *take(size_t n, void *ctx)
{
    (void)ctx;
    return weir_mem_alloc(n);
}

static void give_back(void *p, void *ctx)
{
    (void)ctx;
    free(p);
}

static void make(void)
{
    shared = pcre2_general_context_create(take, give_back, NULL);
    WEIR_ASSERT(shared != NULL);
}

pcre2_general_context *weir_pcre_heap_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
    return shared;
}
