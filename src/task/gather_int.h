#ifndef WEIR_TASK_GATHER_INT_H
#define WEIR_TASK_GATHER_INT_H

#include "task/gather.h"

#include <stdint.h>

/*
 * What the strategies see of the aggregator. A strategy is one file with one function and one line
 * in the table of gather_strategy.c; queues, coverage, findings and faults are the core's.
 */

/* A copy of a verdict's findings and of all they point to, in one allocation. */
struct weir_gather_found {
    struct weir_detection detection; /* first: a batch shows it by its address */
    size_t place;                    /* in the batch before sorting */
};

struct weir_gather_block {
    struct weir_gather_block *next; /* of the batch that left last */
    size_t bytes;
    size_t n;
    struct weir_gather_found found[];
};

struct weir_gather_entry {
    size_t start_cp;
    size_t end_cp;
    struct weir_gather_block *block; /* NULL: nothing found */
};

/* One detector. Its verdicts are in order and never overlap. */
struct weir_gather_queue {
    struct weir_gather_entry *ring;
    size_t head;
    size_t n;
    size_t cap;      /* power of two, or 0 */
    size_t reach_cp; /* end of the last verdict received; a reader's mark */
    size_t taken_cp; /* end of the last verdict that left */
    size_t fail_cp;  /* start of the chunk without answer; SIZE_MAX: none */
    size_t cursor;   /* `aligned`: queued verdicts known to end at or before target_cp */
    struct weir_slice id;
    bool has_ended;
    bool is_reader; /* each entry is one of its findings, in order of start */
    bool is_late;   /* a reader; see weir_gather_mark */
};

/* Ends of batches that were decided when something came, for strategies that decide then. */
struct weir_gather_marks {
    size_t *cp; /* rising */
    size_t first;
    size_t n;
    size_t cap;
    size_t last_cp;  /* the last one made, also when its batch has left */
    size_t stuck_on; /* as waits_for: no new mark before this detector or the source makes a step */
};

struct weir_gather {
    const struct weir_gather_strategy *strategy;
    struct weir_gather_marks marks;
    struct weir_gather_text text;
    struct weir_gather_failure failure;
    size_t left_cp;
    size_t length_cp; /* of the source; SIZE_MAX until it has ended */
    size_t waits_for; /* see below */
    size_t target_cp; /* R so far, 0 while there is none; belongs to the strategy between batches */
    size_t far_cp;    /* the largest end received, */
    size_t far_by;    /* and whose */
    size_t fail_by;   /* the detector with the smallest fail_cp; SIZE_MAX: none */
    int fail_err;
    size_t n_ended;
    size_t n_readers;
    size_t n_late;
    size_t low_cp; /* the smallest mark of readers that have not ended; SIZE_MAX: all have … */
    size_t low_by; /* … and whose … */
    bool has_low;  /* … if these two are known */
    size_t held_bytes;
    size_t max_bytes;
    bool spans_are_foreign;
    struct weir_gather_block *leaving; /* findings of the batch that left last */
    struct weir_gather_block **leaving_tail;
    const struct weir_detection **sorted; /* the batch's findings */
    size_t cap_sorted;
    size_t n_queues;
    struct weir_gather_queue queues[];
};

/*
 * `waits_for` is the detector (or the source) without whose next step nothing can leave. Steps of
 * others then need no new decision, so the scan over all queues is made only when it may pay.
 */
#define WEIR_GATHER_NOBODY SIZE_MAX
#define WEIR_GATHER_SOURCE (SIZE_MAX - 1)

struct weir_gather_strategy {
    const char *name;
    /* A verdict that goes past the batch's end leaves with it; otherwise it stays queued. */
    bool takes_straddling;
    /*
     * The end of the next batch, beyond left_cp: true. Otherwise false; waits_for, where it is set,
     * promises the same answer until the one waited for has made a step.
     */
    bool (*next)(struct weir_gather *g, size_t *end_cp);
    /*
     * NULL, or called when a detector or the source has made a step. Batches must be those that
     * would leave if pop were called after every step; a strategy that would decide otherwise later
     * decides here.
     */
    void (*note)(struct weir_gather *g, size_t who);
};

extern const struct weir_gather_strategy weir_gather__max;
extern const struct weir_gather_strategy weir_gather__aligned;
extern const struct weir_gather_strategy weir_gather__min;

static inline struct weir_gather_entry *weir_gather__entry(const struct weir_gather_queue *q,
                                                           size_t i)
{
    return &q->ring[(q->head + i) & (q->cap - 1)];
}

static inline bool weir_gather__wait(struct weir_gather *g, size_t whom)
{
    g->waits_for = whom;
    return false;
}

/* Has the detector said all it will say about the text before end_cp? One that failed has; the core
 * lets no batch go past that. */
static inline bool weir_gather__has_reached(const struct weir_gather_queue *q, size_t end_cp)
{
    return q->has_ended || q->fail_cp != SIZE_MAX || q->reach_cp >= end_cp;
}

/* Have all readers come that far? If not, it waits for one of them. */
bool weir_gather__readers_reach(struct weir_gather *g, size_t end_cp);

/* Readers alone: the smallest mark, if it is beyond what has left. Otherwise it waits. */
bool weir_gather__smallest_mark(struct weir_gather *g, size_t *end_cp);

/* gather_found.c: the findings of a verdict as one block, the batch's in order, and their end. */
size_t weir_gather__block_bytes(const struct weir_gather_verdict *v);
struct weir_gather_block *weir_gather__block_new(const struct weir_gather *g, size_t detector,
                                                 const struct weir_gather_verdict *v, size_t bytes);
void weir_gather__sort_leaving(struct weir_gather *g, struct weir_gather_batch *batch);
void weir_gather__release(struct weir_gather *g);

/*
 * Steps 1 and 2 of max_processed_index: once every detector has a verdict queued or has ended,
 * target_cp is the largest end among the first verdicts; it stays 0 when all have ended and no
 * verdict is left. False: wait.
 */
bool weir_gather__find_target(struct weir_gather *g);

/* When all detectors have ended and every verdict has left: the rest of the text, if known. */
bool weir_gather__rest(struct weir_gather *g, size_t *end_cp);

#endif
