#ifndef WEIR_TESTS_BATCHING_COUNTERS_H
#define WEIR_TESTS_BATCHING_COUNTERS_H

#include "base/err.h"
#include "emit/chain.h"

#include <string.h>

/*
 * Counters of a chain by name, as vectors ask for them: `chunk_count.raw`, `adapter.flush.size`,
 * `business.would.chunks`, `ingress.dup_text_seen`. Each returns 0 or WEIR_ENOTFOUND.
 */
static inline int counter_of_counts(const struct weir_batch_counts *c, struct weir_slice name,
                                    uint64_t *out)
{
    struct weir_slice flush = WEIR_SLICE("flush.");
    for (size_t i = 0; i < WEIR_BATCH_REASONS && weir_slice_starts_with(name, flush); i++) {
        const char *reason = weir_batch_reason_text((enum weir_batch_reason)i);
        if (weir_slice_eq_cstr(weir_slice_sub(name, flush.n, name.n), reason)) {
            *out = c->flush[i];
            return 0;
        }
    }
#define COUNT_OF(field, text)                                                                      \
    if (weir_slice_eq_cstr(name, text)) {                                                          \
        *out = c->field;                                                                           \
        return 0;                                                                                  \
    }
    WEIR_BATCH_COUNT_MAP(COUNT_OF)
#undef COUNT_OF
    return WEIR_ENOTFOUND;
}

static inline int counter_of_dedup(const struct weir_dedup_stats *c, struct weir_slice name,
                                   uint64_t *out)
{
#define COUNT_OF(field, text)                                                                      \
    if (weir_slice_eq_cstr(name, text)) {                                                          \
        *out = c->field;                                                                           \
        return 0;                                                                                  \
    }
    WEIR_DEDUP_COUNT_MAP(COUNT_OF)
#undef COUNT_OF
    return WEIR_ENOTFOUND;
}

/* A stage that is off passes everything. */
static inline int counter_of_stage(const struct weir_batch_stats *s, uint64_t n_chunks,
                                   struct weir_slice name, uint64_t *out)
{
    struct weir_batch_stats off = {.live.flush[WEIR_BATCH_PASSTHROUGH] = n_chunks};
    struct weir_slice would = WEIR_SLICE("would.");
    s = s != NULL ? s : &off;
    if (weir_slice_starts_with(name, would)) {
        return counter_of_counts(&s->would, weir_slice_sub(name, would.n, name.n), out);
    }
    return counter_of_counts(&s->live, name, out);
}

static inline int batching_counter(const struct weir_chain *c, struct weir_slice name,
                                   uint64_t *out)
{
    static const struct weir_dedup_stats none;
    struct weir_chain_counts n = weir_chain_counts(c);
    const struct weir_dedup_stats *dedup = weir_chain_dedup_stats(c);
    struct weir_slice rest = name;
    struct weir_slice tap = weir_slice_cut(&rest, '.');
    if (weir_slice_eq(tap, WEIR_SLICE("chunk_count"))) {
        *out = weir_slice_eq_cstr(rest, "raw")       ? n.raw_chunks
               : weir_slice_eq_cstr(rest, "adapter") ? n.adapter_chunks
                                                     : n.business_chunks;
        bool is_known = weir_slice_eq_cstr(rest, "raw") || weir_slice_eq_cstr(rest, "adapter") ||
                        weir_slice_eq_cstr(rest, "business");
        return is_known ? 0 : WEIR_ENOTFOUND;
    }
    if (weir_slice_eq(tap, WEIR_SLICE("adapter"))) {
        return counter_of_stage(weir_chain_stats(c, WEIR_BATCH_ADAPTER), n.adapter_chunks, rest,
                                out);
    }
    if (weir_slice_eq(tap, WEIR_SLICE("business"))) {
        return counter_of_stage(weir_chain_stats(c, WEIR_BATCH_BUSINESS), n.business_chunks, rest,
                                out);
    }
    return weir_slice_eq(tap, WEIR_SLICE("ingress"))
               ? counter_of_dedup(dedup != NULL ? dedup : &none, rest, out)
               : WEIR_ENOTFOUND;
}

#endif
