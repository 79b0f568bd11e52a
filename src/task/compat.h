#ifndef WEIR_TASK_COMPAT_H
#define WEIR_TASK_COMPAT_H

#include <stdbool.h>

/*
 * What `compat: fms` changes for tasks, all of it: as the public orchestrator does it, where that
 * differs from what is right here. All false without it, and on routes always. Members are asked
 * where they matter; this is the list.
 */
struct weir_compat {
    bool
        is_fms; /* what src/route says differently: statuses, error data, members that are needed */

    /* Services are taken at their word. */
    bool is_lenient;       /* findings and chunks are not held against the text they are about */
    bool spans_in_chunks;  /* findings count from their chunk on, and are told so */
    bool believes_chunker; /* where all detectors share one, its chunks are the batches, as told */
    bool asks_of_pieces;   /* a chunk is a text of its own to detectors: no context around it */
    bool needs_count;      /* a question that is refused fails where its tokens cannot be counted */

    /* Requests. */
    bool has_order;     /* the model server gets the members in that program's order */
    bool refuses_whole; /* streams: detectors of whole documents are refused */

    /* Events. */
    bool absorbs_first; /* what only says who speaks is absorbed; a batch of text comes first */
    bool passes_bare;   /* an event without text does not say that its choice is looked at */
    bool repeats_usage; /* without chunks usage leaves as it comes, and again at the end */
    bool has_final;     /* an event at the end tells of whole texts though nobody looked at them */
    bool fills_arrays;  /* generation: lists without entries are written */
};

extern const struct weir_compat weir_compat_fms;

#endif
