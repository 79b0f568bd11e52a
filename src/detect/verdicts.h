#ifndef WEIR_DETECT_VERDICTS_H
#define WEIR_DETECT_VERDICTS_H

#include "base/account.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "base/slice.h"
#include "detect/detect.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A worker's memory of what detectors have answered: a hash of the question to its findings.
 * Asking goes through detect/known.h; this is the store.
 *
 *   kept    key ─► verdict     by use: the one not used for longest goes first
 *                              by age: those that are too old
 *   asked   key ─► a question that is under way (detect/known.c)
 *
 * Its memory counts in the process's total (base/account.h) and has a ceiling; it gives way when
 * callers need the room. What goes is overwritten first: findings may have text in them.
 */
struct weir_verdict;

struct weir_verdicts {
    const struct weir_loop *loop; /* whose time it is; NULL in tests: `now_ms` */
    uint64_t now_ms;
    size_t max_bytes; /* 0: nothing is kept, and nobody waits for another's question */
    uint64_t ttl_ms;
    size_t bytes; /* of what is kept */
    struct weir_account account;
    struct weir_map kept;
    struct weir_map asked;
    struct weir_list by_use; /* least recently first */
    struct weir_list by_age;
};

void weir_verdicts_init(struct weir_verdicts *v, const struct weir_loop *loop);
/* No question may be under way. Safe twice. */
void weir_verdicts_dispose(struct weir_verdicts *v);

/* Other limits, or another configuration: what was kept goes. */
void weir_verdicts_set(struct weir_verdicts *v, size_t max_bytes, uint64_t ttl_ms);
/* Everything that is kept goes. */
void weir_verdicts_clear(struct weir_verdicts *v);

/* One list of findings packed into one block; `content` is the text they are about. */
struct weir_verdict *weir_verdict_new(const struct weir_detect_list *list,
                                      struct weir_slice content);
void weir_verdict_free(struct weir_verdict *verdict); /* overwrites it */
/* The findings again, in `arena`, about an equal text. */
struct weir_detect_list weir_verdict_list(const struct weir_verdict *verdict,
                                          struct weir_slice content, struct weir_slice detector_id,
                                          struct weir_arena *arena);

/* NULL: not known, or too old. Valid until the next call of these functions. */
const struct weir_verdict *weir_verdicts_get(struct weir_verdicts *v,
                                             const struct weir_hash_value *key);
/* Keeps it, where there is room. */
void weir_verdicts_take(struct weir_verdicts *v, const struct weir_hash_value *key,
                        struct weir_verdict *verdict);

/* The gauge weir_detector_cache_bytes, and the counters that detectors get. */
void weir_verdicts_declare(void);
struct weir_detect_counts weir_verdicts_counts(struct weir_slice detector_id);

/* A number that no other detector of this process has or had: part of every key. */
uint64_t weir_verdicts_serial(void);

#endif
