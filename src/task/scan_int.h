#ifndef WEIR_TASK_SCAN_INT_H
#define WEIR_TASK_SCAN_INT_H

#include "base/list.h"
#include "io/loop.h"
#include "task/open.h"
#include "task/order.h"
#include "task/scan.h"

/*
 * Inside scan: cutting (scan_cut.c), asking (scan.c) and what was found (scan_found.c).
 */

/*
 * Calls of one detector, or of one chunker: so many at once, the others wait in order. A lane that
 * may have room for one that waits is on the scan's list until advance has looked at it.
 */
struct weir_scan_lane {
    struct weir_scan_lane *next;
    struct weir_list link; /* in scan->lanes_to_run */
    const void *key;
    bool has_pieces; /* pieces wait for a chunker; otherwise jobs wait for a detector */
    unsigned max_running;
    unsigned n_running;
    struct weir_list waiting;
};

/* One stretch of a text on its way through a chunker. */
struct weir_scan_piece {
    struct weir_list link; /* in its lane while waiting */
    struct weir_scan_cutting *cutting;
    struct weir_slice text;
    size_t start_cp; /* in the whole text */
    size_t n_cp;
    struct weir_chunk_stream *stream;
    size_t n_pushed;       /* bytes */
    struct weir_post step; /* pushes more */
    size_t covered_cp;     /* where the last chunk ended … */
    size_t at_cp;          /* … and a place whose byte offset is known */
    size_t at_byte;
    struct weir_scan_chunk *chunks;
    size_t n_chunks;
    size_t cap_chunks;
};

/* One chunk as a detector sees it. */
struct weir_scan_chunk {
    struct weir_slice text;
    size_t start_cp;   /* in the whole text */
    size_t from_cp;    /* findings that end here or earlier belong to chunks before */
    size_t answers_cp; /* findings that start here or later belong to the next chunk */
    size_t n_before;   /* bytes of the text that stand before it, for context */
    bool is_first;     /* of its stretch of the text: nothing goes on from what was before */
};

/* One text cut by one chunker: all pieces, then the chunks of all of them together. */
struct weir_scan_cutting {
    struct weir_scan_cutting *next;
    struct weir_scan *scan;
    struct weir_scan_text *text;
    const struct weir_chunker *chunker;
    struct weir_scan_lane *lane;
    struct weir_scan_piece *pieces;
    size_t n_pieces;
    size_t n_open;              /* pieces not done */
    struct weir_scan_job *jobs; /* that wait for the chunks */
    struct weir_scan_job **jobs_tail;
    const struct weir_scan_chunk *chunks;
    size_t n_chunks;
    struct weir_slice *contents; /* the chunks' texts, once complete … */
    size_t *before;              /* … and their contexts */
};

struct weir_scan_text {
    struct weir_scan_text *next;
    struct weir_slice text;
    const struct weir_scan_mask *masks;
    size_t n_masks;
    struct weir_scan_cutting *cuttings;
};

/* One call of a detector about several texts: it is made when all of them are cut. */
struct weir_scan_share {
    struct weir_scan_share *next;
    const struct weir_plan_use *use;
    struct weir_scan_job *jobs; /* in order of adding; the first one makes the call */
    struct weir_scan_job **jobs_tail;
    size_t n_uncut;
    size_t n_bytes;
};

/* One detector looks at one text, or at the whole. */
struct weir_scan_job {
    struct weir_scan_job *next;         /* in its group */
    struct weir_scan_job *next_waiting; /* of its cutting */
    struct weir_list link;              /* in its lane while waiting */
    struct weir_scan_group *group;
    const struct weir_plan_use *use;
    struct weir_scan_lane *lane;
    struct weir_scan_cutting *cutting; /* NULL: looks at the whole */
    struct weir_detect_input input;
    struct weir_scan_share *share;        /* NULL: the call is its own */
    struct weir_scan_job *next_shared;    /* of the share */
    struct weir_detect_call *call;        /* of a share: only with its first job */
    const struct weir_detect_list *lists; /* of the call, when it is done: those for this text */
    size_t n_lists;
    size_t n_found;   /* in all of them */
    uint64_t sent_us; /* when the call began, if the request is watched */
};

/* How far putting together has come. */
struct weir_scan_finish {
    bool has_begun;
    struct weir_scan_group *group; /* NULL: all are done */
    const struct weir_scan_job *job;
    size_t n_taken;        /* of its lists */
    struct weir_open open; /* of its detector, from chunk to chunk */
    struct weir_order_sort sort;
    size_t n_written;
};

struct weir_scan {
    struct weir_task_ctx *task;
    weir_scan_done_fn on_done;
    void *ctx;
    struct weir_scan_text *texts; /* in order of adding, as the groups */
    struct weir_scan_text **texts_tail;
    struct weir_scan_group *groups;
    struct weir_scan_group **groups_tail;
    size_t n_jobs_left;
    size_t n_local_left;  /* of these: of detectors that are no services … */
    size_t n_local_found; /* … and what they found */
    weir_scan_local_fn on_local;
    void *local_ctx;
    bool has_shares;
    struct weir_scan_share *shares;
    struct weir_scan_lane *lanes;
    struct weir_list lanes_to_run;
    struct weir_fault fault;
    struct weir_post post; /* calls on_done for a scan that was done inside of start */
    struct weir_post step; /* goes on with work that was left for another turn */
    size_t left_bytes;     /* that may be given to detectors in this step */
    struct weir_scan_finish finish;
    bool is_busy; /* inside start or advance: transitions happen there */
    bool is_done;
};

/* The lane of a detector or of a chunker, which takes so many at once. */
struct weir_scan_lane *weir_scan__lane(struct weir_scan *scan, const void *key, unsigned max);
/* Puts a piece or a job behind the others. */
void weir_scan__wait(struct weir_scan *scan, struct weir_scan_lane *lane, struct weir_list *link);
/* One of the lane's is over. */
void weir_scan__leave(struct weir_scan *scan, struct weir_scan_lane *lane);

/* All chunks are there: its jobs may run. */
void weir_scan__cut_done(struct weir_scan_cutting *cutting);

/* Decides what happens next; called whenever something did. */
void weir_scan__advance(struct weir_scan *scan);
void weir_scan__fail(struct weir_scan *scan, const struct weir_fault *fault);

/* All have answered: puts some of the findings together. True: all. */
bool weir_scan__finish_some(struct weir_scan *scan);

/* scan_cut.c */
struct weir_scan_cutting *weir_scan__cutting(struct weir_scan *scan, struct weir_scan_text *text,
                                             const struct weir_chunker *chunker);
void weir_scan__cut_start(struct weir_scan_cutting *cutting);
void weir_scan__piece_start(struct weir_scan_piece *piece);
void weir_scan__cut_cancel(struct weir_scan_cutting *cutting);

#endif
