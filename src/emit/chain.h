#ifndef WEIR_EMIT_CHAIN_H
#define WEIR_EMIT_CHAIN_H

#include "emit/batch.h"
#include "emit/dedup.h"

/*
 * The stages of one stream in their order, as one thing with one timer:
 *
 *   raw ─► dedup ─► adapter ─► business ─► emit
 *
 * A stage that is off costs nothing but its count; a chunk is parsed once for all but the last.
 */
struct weir_chain_options {
    struct weir_dedup_options dedup;
    struct weir_batch_options adapter;
    struct weir_batch_options business;
};

struct weir_chain;

struct weir_chain *weir_chain_new(const struct weir_chain_options *o, weir_batch_emit_fn emit,
                                  void *ctx);
void weir_chain_free(struct weir_chain *c);

/* As weir_batch_push, for all stages; weir_chain_is_full says whether reading should stop. */
void weir_chain_push(struct weir_chain *c, uint64_t now_ms, const struct weir_event *e);

void weir_chain_tick(struct weir_chain *c, uint64_t now_ms);
bool weir_chain_next_deadline(const struct weir_chain *c, uint64_t *at_ms);
bool weir_chain_is_full(const struct weir_chain *c);
size_t weir_chain_buffered_bytes(const struct weir_chain *c);

/* From inside emit only with `is_blocked` true. */
void weir_chain_blocked(struct weir_chain *c, uint64_t now_ms, bool is_blocked);

/* NULL for a stage that is off. */
const struct weir_batch_stats *weir_chain_stats(const struct weir_chain *c,
                                                enum weir_batch_stage stage);
const struct weir_dedup_stats *weir_chain_dedup_stats(const struct weir_chain *c);

struct weir_chain_counts { /* chunks at the three taps, and their bytes */
    uint64_t raw_chunks;
    uint64_t raw_bytes;
    uint64_t adapter_chunks;
    uint64_t adapter_bytes;
    uint64_t business_chunks;
    uint64_t business_bytes;
};
struct weir_chain_counts weir_chain_counts(const struct weir_chain *c);

/* What the line at the end of a stream says; the settings are the options' own. */
struct weir_chain_report {
    struct weir_chain_counts taps;
    double raw_per_chunk; /* chunks that came for each that left; of these, by stage: */
    double raw_per_adapter;
    double adapter_per_business;
    double avg_flush_chars; /* these four of the last stage that is on or counts */
    double hold_mean_ms;
    uint64_t hold_p50_ms;
    uint64_t hold_p99_ms;
    bool has_first_text; /* some stage knows when the first text left, that is then: */
    uint64_t first_text_ms;
};
/* `flushes` gets the reasons that occurred, as weir_batch_counts_text writes them. */
void weir_chain_report(const struct weir_chain *c, struct weir_chain_report *out,
                       struct weir_buf *flushes);

#endif
