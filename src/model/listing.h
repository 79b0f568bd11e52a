#ifndef WEIR_MODEL_LISTING_H
#define WEIR_MODEL_LISTING_H

#include "base/arena.h"
#include "base/slice.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What a provider said last when it was asked for its models. Shared by all workers, so that it is
 * asked at most once a minute, however many callers want to know:
 *
 *   weir_listing_claim ─► FRESH     use weir_listing_copy
 *                         TAKEN     somebody asks just now: come again in a moment
 *                         CLAIMED   ask, then weir_listing_put or weir_listing_release
 */
enum { WEIR_LISTING_KEEP_MS = 60000 };

enum weir_listing_claim { WEIR_LISTING_FRESH, WEIR_LISTING_TAKEN, WEIR_LISTING_CLAIMED };

struct weir_listing {
    pthread_mutex_t lock;
    bool is_asked; /* somebody has claimed it */
    bool was_asked;
    uint64_t asked_ms; /* loop time */
    char *body;        /* of the last good answer; NULL: none yet */
    size_t n;
};

void weir_listing_init(struct weir_listing *l);
void weir_listing_dispose(struct weir_listing *l);

enum weir_listing_claim weir_listing_claim(struct weir_listing *l, uint64_t now_ms);

/* The answer; all-zero: there was none, and what was said before stays. */
void weir_listing_put(struct weir_listing *l, struct weir_slice body, uint64_t now_ms);

/* Nobody was asked after all. */
void weir_listing_release(struct weir_listing *l);

/* What was said last, or an empty slice. */
struct weir_slice weir_listing_copy(struct weir_listing *l, struct weir_arena *arena);

#endif
