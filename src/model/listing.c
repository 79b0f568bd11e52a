#include "model/listing.h"

#include "base/mem.h"

#include <stdlib.h>

void weir_listing_init(struct weir_listing *l)
{
    *l = (struct weir_listing){0};
    pthread_mutex_init(&l->lock, NULL);
}

void weir_listing_dispose(struct weir_listing *l)
{
    free(l->body);
    l->body = NULL;
    pthread_mutex_destroy(&l->lock);
}

enum weir_listing_claim weir_listing_claim(struct weir_listing *l, uint64_t now_ms)
{
    enum weir_listing_claim claim = WEIR_LISTING_CLAIMED;
    pthread_mutex_lock(&l->lock);
    if (l->is_asked) {
        claim = WEIR_LISTING_TAKEN;
    } else if (l->was_asked && now_ms < l->asked_ms + WEIR_LISTING_KEEP_MS) {
        claim = WEIR_LISTING_FRESH;
    }
    l->is_asked = claim != WEIR_LISTING_FRESH;
    pthread_mutex_unlock(&l->lock);
    return claim;
}

void weir_listing_put(struct weir_listing *l, struct weir_slice body, uint64_t now_ms)
{
    char *copy = body.n != 0 ? weir_mem_dup(body.p, body.n) : NULL;
    pthread_mutex_lock(&l->lock);
    if (copy != NULL) {
        free(l->body);
        l->body = copy;
        l->n = body.n;
    }
    l->is_asked = false;
    l->was_asked = true;
    l->asked_ms = now_ms;
    pthread_mutex_unlock(&l->lock);
}

void weir_listing_release(struct weir_listing *l)
{
    pthread_mutex_lock(&l->lock);
    l->is_asked = false;
    pthread_mutex_unlock(&l->lock);
}

struct weir_slice weir_listing_copy(struct weir_listing *l, struct weir_arena *arena)
{
    struct weir_slice copy = {0};
    pthread_mutex_lock(&l->lock);
    if (l->body != NULL) {
        copy = weir_arena_dup(arena, weir_slice_make(l->body, l->n));
    }
    pthread_mutex_unlock(&l->lock);
    return copy;
}
