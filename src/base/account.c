#include "base/account.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <stdint.h>

static atomic_ptrdiff_t total; /* below zero for a moment when one thread is ahead of another */
static atomic_size_t limit;

_Thread_local ptrdiff_t weir_account__unsettled;

static _Thread_local struct {
    void (*fn)(void *ctx);
    void *ctx;
} relief;

void weir_account__settle(void)
{
    atomic_fetch_add_explicit(&total, weir_account__unsettled, memory_order_relaxed);
    weir_account__unsettled = 0;
}

size_t weir_account_total(void)
{
    ptrdiff_t n = atomic_load_explicit(&total, memory_order_relaxed) + weir_account__unsettled;
    return n > 0 ? (size_t)n : 0;
}

static size_t left(size_t max, size_t used)
{
    if (max == 0) {
        return SIZE_MAX;
    }
    return used < max ? max - used : 0;
}

/* Nothing where the system itself has no more. */
static size_t left_of_process(void)
{
    if (weir_mem_is_short()) {
        return 0;
    }
    return left(atomic_load_explicit(&limit, memory_order_relaxed), weir_account_total());
}

size_t weir_account_room(const struct weir_account *a)
{
    size_t of_process = left_of_process();
    size_t own = a != NULL ? left(a->max, a->bytes) : SIZE_MAX;
    return own < of_process ? own : of_process;
}

bool weir_account__make_room(const struct weir_account *a, size_t n)
{
    size_t own = a != NULL ? left(a->max, a->bytes) : SIZE_MAX;
    if (n > own) {
        return false;
    }
    if (relief.fn != NULL) {
        relief.fn(relief.ctx);
    }
    return weir_mem_recover() && n <= weir_account_room(a);
}

void weir_account_set_relief(void (*fn)(void *ctx), void *ctx)
{
    relief.fn = fn;
    relief.ctx = ctx;
}

const char *weir_account_full_words(const struct weir_account *a)
{
    if (weir_mem_is_short()) {
        return "the server has no more memory: try again";
    }
    bool is_own = a != NULL && left(a->max, a->bytes) < left_of_process();
    return is_own ? "this connection makes the server hold too much: half of "
                    "limits.max_held_bytes_total"
                  : "the server holds too much for its callers: limits.max_held_bytes_total";
}

void weir_account_set_limit(size_t max_bytes)
{
    atomic_store_explicit(&limit, max_bytes, memory_order_relaxed);
}
