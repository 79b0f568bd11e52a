#ifndef WEIR_EMIT_DEDUP_H
#define WEIR_EMIT_DEDUP_H

#include "base/slice.h"
#include "base/stream_options.h"
#include "emit/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Chunks that were delivered twice, told apart from text that is said twice. The safe rules key on
 * the identity of the delivery; text mode keys on the text itself and loses legitimate repetition
 * ("ha", "ha"), so it is only for upstreams that send snapshots.
 *
 *   D1  SSE id                                    in the window
 *   D2  top-level sequence_number                 in the window
 *   D3  the whole payload, where it has usage.completion_tokens and choices: the counter of an
 *       honest chunk advances                     in the window
 *   D6  choice, channel and exact text            in the window, text mode
 *
 * (D5, a tool call delivered twice, is the gate's.) Every mode but off counts; the window is found
 * by hash, and a chunk is only dropped after a full comparison. Keys too large to keep are never
 * grounds for dropping.
 */
struct weir_dedup_options {
    enum weir_dedup_mode mode;
    uint32_t window;    /* keys kept per rule; 0 counts as 1 */
    uint32_t min_chars; /* D6: shorter text is never dropped */
};

struct weir_dedup_options weir_dedup_defaults(void);

enum weir_dedup_verdict { WEIR_DEDUP_KEEP, WEIR_DEDUP_DROP };

#define WEIR_DEDUP_COUNT_MAP(X)                                                                    \
    X(candidates, "dedup_candidates") /* D1 to D3, dropped or not */                               \
    X(dup_text_seen, "dup_text_seen") /* D6 without the guard */                                   \
    X(dropped_sse_id, "dedup_dropped.sse_id")                                                      \
    X(dropped_sequence, "dedup_dropped.sequence")                                                  \
    X(dropped_progress, "dedup_dropped.progress")                                                  \
    X(dropped_text, "dedup_dropped.text")

struct weir_dedup_stats {
#define WEIR_DEDUP_COUNT_FIELD(field, name) uint64_t field;
    WEIR_DEDUP_COUNT_MAP(WEIR_DEDUP_COUNT_FIELD)
#undef WEIR_DEDUP_COUNT_FIELD
};

struct weir_dedup;

struct weir_dedup *weir_dedup_new(const struct weir_dedup_options *o);
void weir_dedup_free(struct weir_dedup *d);

/* What to do with a chunk; events of other kinds are always kept. */
enum weir_dedup_verdict weir_dedup_see(struct weir_dedup *d, const struct weir_event *e);

const struct weir_dedup_stats *weir_dedup_stats(const struct weir_dedup *d);

#endif
