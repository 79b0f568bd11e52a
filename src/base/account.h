#ifndef WEIR_BASE_ACCOUNT_H
#define WEIR_BASE_ACCOUNT_H

#include "base/assert.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * How much memory others make us hold: one sum for the process, and one for each account (a
 * caller's connection). Arenas, bufs and bufqs that have an account count what they take from the
 * heap on it; other holders (text held back, batches) have a share and set how much they hold. See
 * docs/internals/memory.md.
 *
 *   arena, buf, bufq, share ─► account ─┐
 *   arena, buf, bufq, share ─► account ─┼─► this thread's rest ─(every 16 KiB)─► the process's sum
 *
 * Counting never fails. Whoever is about to hold more because a peer says so asks has_room first
 * and refuses the peer. An account is used by one thread; the process's sum and ceiling are of all.
 * All-zero is a valid account. Where an account may be given, NULL counts nowhere.
 */
struct weir_account {
    size_t bytes; /* held now */
    size_t max;   /* 0: no ceiling of its own */
};

/* In the header because they run for every token. A thread adds its rest to the process's sum when
 * it is this far off: if every token did, all workers would fight for one cache line. */
enum { WEIR_ACCOUNT__SETTLE_BYTES = 16 * 1024 };
extern _Thread_local ptrdiff_t weir_account__unsettled;
void weir_account__settle(void);

static inline void weir_account__count(struct weir_account *a, ptrdiff_t n)
{
    a->bytes += (size_t)n;
    weir_account__unsettled += n;
    if (weir_account__unsettled >= WEIR_ACCOUNT__SETTLE_BYTES ||
        weir_account__unsettled <= -WEIR_ACCOUNT__SETTLE_BYTES) {
        weir_account__settle();
    }
}

static inline void weir_account_add(struct weir_account *a, size_t n)
{
    if (a != NULL) {
        weir_account__count(a, (ptrdiff_t)n);
    }
}

static inline void weir_account_sub(struct weir_account *a, size_t n)
{
    if (a != NULL) {
        WEIR_ASSERT(n <= a->bytes);
        weir_account__count(a, -(ptrdiff_t)n);
    }
}

/* What one holder has on an account. All-zero is valid. */
struct weir_account_share {
    struct weir_account *account;
    size_t bytes;
};

/* The holder holds `bytes` now. Set 0 before the account goes. */
static inline void weir_account_set(struct weir_account_share *share, size_t bytes)
{
    if (share->account != NULL && bytes != share->bytes) {
        weir_account__count(share->account, (ptrdiff_t)bytes - (ptrdiff_t)share->bytes);
    }
    share->bytes = bytes;
}

/* How much more may be held: the smaller of what the account's and the process's ceilings leave.
 * NULL: only the process's. */
size_t weir_account_room(const struct weir_account *a);

/* As below, once what is kept only for speed was given back. */
bool weir_account__make_room(const struct weir_account *a, size_t n);

/* May be slow when there is none: see weir_account_set_relief. */
static inline bool weir_account_has_room(const struct weir_account *a, size_t n)
{
    return n <= weir_account_room(a) || weir_account__make_room(a, n);
}

/*
 * This thread keeps something that it can do without: when the process has no room for a caller,
 * `fn` gives it back before the caller is refused. fn NULL: nothing.
 */
void weir_account_set_relief(void (*fn)(void *ctx), void *ctx);

/* An error's text for a peer for whom there is no room; it names the limit. */
const char *weir_account_full_words(const struct weir_account *a);

/* The process's sum, to within 16 KiB a thread, and its ceiling; 0: none. */
size_t weir_account_total(void);
void weir_account_set_limit(size_t max_bytes);

#endif
