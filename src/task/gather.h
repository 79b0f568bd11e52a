#ifndef WEIR_TASK_GATHER_H
#define WEIR_TASK_GATHER_H

#include "base/slice.h"
#include "detect/detection.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The aggregator of one path: one queue of verdicts per detector and a strategy that decides what
 * may leave. Nothing leaves that a detector has not covered, white space excepted.
 *
 *   verdicts  a ─► [0,9) [9,22)         push, end: a detector
 *             b ─► [0,15)               source_end: the text
 *                                       pop: the next batch, or EAGAIN
 *   batches   ◄── [0,15) + findings
 *
 * Calls return 0 or a negative code. The first fault is final: every later call returns its code
 * and weir_gather_failure has the details. After every other call, pop until it returns something
 * else than 0. There is no clock here; what leaves depends on the calls alone. Detectors are named
 * by their index in `detector_ids`, anything else asserts.
 *
 * Costs: a call is O(1) amortised when it cannot free a batch, O(detectors) when it may, and a
 * batch sorts its findings. A verdict without findings allocates nothing once its queue has grown.
 */
struct weir_gather;
struct weir_gather_strategy;
struct weir_textlog;
struct weir_path_told;

/* How the aggregator asks about the text. Offsets never lie before the end of the last batch. */
struct weir_gather_text {
    void *ctx;
    size_t (*arrived_cp)(void *ctx); /* length of what has arrived so far */
    bool (*is_white)(void *ctx, size_t start_cp, size_t end_cp);
};

/* The text of a log, which must not be trimmed beyond the last batch. */
struct weir_gather_text weir_gather_text_of(struct weir_textlog *log);

struct weir_gather_options {
    const struct weir_gather_strategy *strategy;
    const struct weir_slice *detector_ids; /* the slices' bytes are borrowed, the array is not */
    size_t n_detectors;
    const bool *are_readers; /* by detector: it has marks, no chunks; NULL: all have chunks */
    const bool *are_late;    /* by detector: a reader whose findings may come late; NULL: none is */
    struct weir_gather_text text;
    size_t start_cp;        /* where the first batch starts: a path that goes on after an end */
    size_t max_bytes;       /* of queued verdicts and findings; 0: none */
    bool spans_are_foreign; /* findings' offsets are not of this text: none is compared with a chunk
                             */
};

/* `findings` are copied with everything they point to, detector_id is filled in. Those that start
 * at end_cp or later are left out: the next chunk has them. */
struct weir_gather_verdict {
    size_t start_cp;
    size_t end_cp;
    const struct weir_detection *findings;
    size_t n_findings;
};

/*
 * Findings with spans by start, end, detector id; then those without by detector id; what is equal
 * in all of these as the detector gave it. Valid until the next pop.
 */
struct weir_gather_batch {
    size_t start_cp;
    size_t end_cp;
    const struct weir_detection *const *findings;
    size_t n_findings;
    const struct weir_path_told *told; /* never set here: see path.h */
};

/* fault, the words for it, the code calls return */
#define WEIR_GATHER_FAULT_MAP(X)                                                                   \
    X(NONE, "", WEIR_OK)                                                                           \
    X(OVERLAP, "overlap", WEIR_EPEER)                                                              \
    X(BEYOND, "beyond the text", WEIR_EPEER)                                                       \
    X(UNCOVERED, "uncovered", WEIR_EPEER)                                                          \
    X(AFTER_END, "after the end", WEIR_EPEER)                                                      \
    X(LIMIT, "too much is waiting", WEIR_ELIMIT)                                                   \
    X(DETECTOR, "the detector failed", WEIR_EIO)

enum weir_gather_fault {
#define WEIR_GATHER_FAULT_ENUM(name, text, code) WEIR_GATHER_##name,
    WEIR_GATHER_FAULT_MAP(WEIR_GATHER_FAULT_ENUM)
#undef WEIR_GATHER_FAULT_ENUM
};

const char *weir_gather_fault_text(enum weir_gather_fault fault);

struct weir_gather_failure {
    enum weir_gather_fault fault;
    int err;         /* of the table above; for DETECTOR the one given to weir_gather_fail */
    size_t detector; /* who */
    size_t at_cp;    /* where it was noticed */
};

/* By its name in the configuration and the API, or NULL; by index, NULL past the last one. */
const struct weir_gather_strategy *weir_gather_strategy_find(struct weir_slice name);
const struct weir_gather_strategy *weir_gather_strategy_at(size_t index);
const char *weir_gather_strategy_name(const struct weir_gather_strategy *strategy);

struct weir_gather *weir_gather_new(const struct weir_gather_options *options);
void weir_gather_free(struct weir_gather *g);

/* A detector's next answer, in chunk order. One on an empty chunk changes nothing. */
int weir_gather_push(struct weir_gather *g, size_t detector, const struct weir_gather_verdict *v);

/*
 * A detector that reads along: a mark and a list of findings, in order of their starts. Whatever
 * text still comes, nothing more will be found that touches a code point before the mark, which
 * never goes back.
 *
 * It has reached R when its mark has. While a detector with chunks is in the plan, only these say
 * where R is; with readers alone it is the smallest mark, whatever the strategy. `aligned` moves R,
 * where a detector with chunks put it, to the end of a reader's finding that would be cut in two.
 * Findings leave with the batch in which they begin.
 */
struct weir_gather_mark {
    size_t mark_cp;
    const struct weir_detection *findings;
    size_t n_findings;
    size_t from_cp; /* late ones: where findings without a span begin */
};

/*
 * A late reader (task/path_late.c) may find something in text before its mark, also in text that
 * has left: then the next batch is empty, [left, left), and has what was found there, with
 * `exposed_cp` set. What begins in text that has not left waits for the batch in which it begins.
 * It names its detectors itself (detector_id of the findings), and no batch is moved for it.
 */

int weir_gather_mark(struct weir_gather *g, size_t detector, const struct weir_gather_mark *m);

/* All detectors read along, none has found anything, and they have come as far: the same for those
 * that have not ended. A late reader is none of them: it has its own mark. */
int weir_gather_mark_all(struct weir_gather *g, size_t mark_cp);

/*
 * The detector has no answer for the chunk that starts at start_cp and gives no more. Batches that
 * end at or before it still leave, then pop returns `err` (negative); of several failures the one
 * that starts first. Later verdicts and the end of this detector are ignored; for
 * min_processed_index it has come as far as its last verdict.
 */
int weir_gather_fail(struct weir_gather *g, size_t detector, size_t start_cp, int err);

/* No more verdicts of this detector. Saying it twice is fine. */
int weir_gather_end(struct weir_gather *g, size_t detector);

/* The whole text has length_cp code points. Once. */
int weir_gather_source_end(struct weir_gather *g, size_t length_cp);

/* 0 and the next batch, WEIR_EAGAIN when none may leave yet, or the failure. */
int weir_gather_pop(struct weir_gather *g, struct weir_gather_batch *batch);

/* For tests: the end of the last batch. */
size_t weir_gather_left_cp(const struct weir_gather *g);

/* Source and detectors have ended and everything has left. */
bool weir_gather_is_done(const struct weir_gather *g);

const struct weir_gather_failure *weir_gather_failure(const struct weir_gather *g);

/* For tests: memory behind it, in bytes. */
size_t weir_gather_footprint(const struct weir_gather *g);

#endif
