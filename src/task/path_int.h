#ifndef WEIR_TASK_PATH_INT_H
#define WEIR_TASK_PATH_INT_H

#include "base/list.h"
#include "detect/reading.h"
#include "detect/streamed.h"
#include "io/loop.h"
#include "task/open.h"
#include "task/path.h"

/* Inside path: segments (path.c), chunks to calls to verdicts (path_lane.c), chunkers that are
 * believed (path_told.c). */

/* What detectors may look at before others have their turn, counted once for each of them: texts
 * made for it cost up to 60 µs a KiB. */
enum { WEIR_PATH__STEP_BYTES = 16 * 1024 };

/* Detectors that may answer for text that has left (path_late.c). */
struct weir_path_late {
    struct weir_path *path; /* theirs: the same text, and nothing leaves through it */
    size_t max_cp;          /* so much of the text may leave without their answer */
    size_t verified_cp;     /* all of them have answered for it up to there */
    bool has_failed;
};

struct weir_path {
    struct weir_task_ctx *task;
    const struct weir_plan *plan;
    const struct weir_gather_strategy *strategy;
    size_t max_held_bytes;
    uint64_t choice;
    enum weir_channel channel;
    size_t left_cp;                          /* that was released */
    uint64_t held_since_ms;                  /* something is held since then … */
    const struct weir_task_detector *holder; /* … for this one; NULL: for nobody, so far */
    void (*on_progress)(void *ctx);
    void *ctx;
    struct weir_textlog log;
    struct weir_list segments;      /* oldest first; only the last one may be open */
    const struct weir_fault *fault; /* NULL: none */
    struct weir_arena rare;         /* faults, open findings and what they point to */
    bool is_told;
    bool tells_open;
    size_t left_bytes;             /* that detectors may still look at in this turn … */
    uint64_t turn;                 /* … which is this one */
    struct weir_post step;         /* goes on with what was left for another turn */
    struct weir_path_row *leaving; /* told paths: the chunk popped last */
    struct weir_path_late *late;   /* NULL: all hold */
    bool leaves_nothing;           /* see weir_path_options; so it is with the path of those */
};

struct weir_path_segment;
struct weir_path_text;

/* One distinct chunker. */
struct weir_path_cutter {
    struct weir_path_segment *segment;
    const struct weir_chunker *chunker;
    struct weir_chunk_stream *stream;
    size_t last_end_cp;
    struct weir_path_text *last; /* remote: the last chunk's, which the next may overlap; or NULL */
    size_t last_seen_cp;         /* where that begins */
    struct weir_buf before; /* windows: the end of the text that the chunks so far answered for */
    const struct weir_fault *fault; /* NULL, or why it has ended: lanes fail with it after their
                                       last chunk */
    bool has_ended;                 /* no more chunks: done or failed */
    bool is_held_back;              /* it may have more chunks ready than were taken */
    bool is_full;                   /* it takes no more for now, and the task counts it */
    unsigned n_lanes;
};

/* A chunk's text for calls that outlast the turn: the log moves. Shared by a chunker's detectors.
 */
struct weir_path_text {
    unsigned refs;
    size_t n_before;        /* bytes that stand before the text, for context */
    struct weir_slice text; /* in the same block */
};

/* Told paths: a chunk that waits for its verdicts. */
struct weir_path_row {
    struct weir_list link;
    size_t start_cp;
    size_t end_cp;
    struct weir_path_told told;
    struct weir_path_text *text;
};

/* One detector. */
struct weir_path_lane {
    struct weir_path_segment *segment;
    struct weir_path_cutter *cutter; /* NULL: it reads along */
    const struct weir_plan_use *use;
    size_t index;  /* in the aggregator */
    size_t reader; /* without a cutter: it reads along, and this is its number there … */
    struct weir_streamed *streamed; /* … unless it is a service that reads along */
    size_t streamed_cp;             /* which was given the text up to there */
    bool has_streamed_end;          /* and that there is no more */
    bool is_full;                   /* it takes no more for now, and the task counts it */
    bool is_skipped;                /* it has failed, and is passed over from now on */
    size_t told_cp;                 /* reads along: the mark that the aggregator knows */
    size_t open_cp;   /* the open finding that was told begins here; SIZE_MAX: there is none */
    size_t opened_cp; /* and was told up to there */
    size_t judged_cp; /* it has answered for all text up to there, white space aside; read it by
                         weir_path__judged_cp */
    struct weir_list slots; /* chunks without a verdict yet, in order */
    size_t n_slots;
    struct weir_path_slot *waiting; /* the first of them without a call; NULL: none */
    unsigned n_running;
    struct weir_open *open;         /* NULL as long as nothing was found */
    bool has_ended;                 /* and the aggregator knows */
    const struct weir_fault *fault; /* NULL: none */
};

/* One chunk on its way through one detector. */
struct weir_path_slot {
    struct weir_list link;
    struct weir_path_lane *lane;
    size_t start_cp; /* as the aggregator counts */
    size_t end_cp;
    size_t shift_cp;   /* from the chunk's offsets to those that leave */
    size_t from_cp;    /* findings that end here or earlier belong to chunks before */
    size_t answers_cp; /* findings that start here or later belong to the next chunk */
    struct weir_path_text *text;
    struct weir_slice content; /* what the input points to */
    struct weir_detect_input input;
    struct weir_detect_call *call;
    uint64_t sent_us; /* when the call began, if the stream is watched */
    bool is_done;
};

struct weir_path_segment {
    struct weir_list link;
    struct weir_path *path;
    size_t start_cp;
    struct weir_gather *gather;
    struct weir_path_lane *lanes;
    size_t n_lanes;
    struct weir_path_cutter *cutters;
    size_t n_cutters;
    bool has_ended;
    struct weir_reading *reading; /* of those that read along; NULL: none does */
    size_t n_readers;
    size_t n_streamed; /* services that read along, each for itself */
    size_t fed_cp;     /* they were given the text up to there */
    size_t even_cp;    /* all lanes have answered up to there, and … */
    size_t
        even_told_cp; /* … the aggregator knows up to there: not noted in each of them; 0: it is */
    bool has_faulty;  /* one of them has failed */
    size_t end_cp;    /* where it ended */
    bool has_read;    /* to the end */
    struct weir_list rows; /* told paths: chunks that have not left */
    size_t row_bytes;
    size_t n_told; /* ever */
    bool is_counted;
    bool is_late_over; /* the late ones have answered for all of it */
};

/* path_read.c: detectors that read along. Opens what they share; can they go on now; goes on as far
 * as there is text and time; lets go of what they hold. */
void weir_path__open_reading(struct weir_path_segment *seg);
bool weir_path__can_read(const struct weir_path_segment *seg);
void weir_path__read(struct weir_path_segment *seg);
void weir_path__cut_readers(struct weir_path_segment *seg);
/* The service takes no more for now, or again. */
void weir_path__count_full(struct weir_path_lane *lane, bool is_full);

/* path_late.c. Takes what the late detectors have said, and lets text go on that nobody looks at;
 * may text up to there leave without more of it? */
void weir_path__late_open(struct weir_path *path, const struct weir_path_options *options);
void weir_path__late_free(struct weir_path *path);
void weir_path__late_read(struct weir_path_segment *seg);
bool weir_path__late_allows(const struct weir_path *path, size_t end_cp);

/* Where its text ends, so far. */
static inline size_t weir_path__segment_end(const struct weir_path_segment *seg)
{
    return seg->has_ended ? seg->end_cp : seg->path->log.end_cp;
}

/* How far the lane has answered for the text. */
static inline size_t weir_path__judged_cp(const struct weir_path_lane *lane)
{
    size_t even_cp = lane->segment->even_cp;
    return lane->judged_cp > even_cp ? lane->judged_cp : even_cp;
}

/* May detectors look at more in this turn? If not, a step goes on with it. */
bool weir_path__has_time(struct weir_path *path);

/* The lane gives no more: for the text from there on it has no answer. */
void weir_path__fail_lane(struct weir_path_lane *lane, const struct weir_fault *fault,
                          size_t at_cp);

/* Takes some of what the chunker has ready and moves everything on that can move. */
void weir_path__pull(struct weir_path_cutter *c);

/* Takes more where there is more to take and room for it: false, there was none. */
bool weir_path__pull_more(struct weir_path_segment *seg);

void weir_path__drop_lane(struct weir_path_lane *lane);
void weir_path__text_unref(struct weir_path_text *t);

/* path_told.c: the aggregator counts chunks instead of code points. Adds a chunk that came, takes
 * the one that leaves, drops it when it has left, counts them at their end, drops them all. */
struct weir_gather_text weir_path__told_text(struct weir_path_segment *seg);
void weir_path__add_row(struct weir_path_segment *seg, const struct weir_chunk *chunk,
                        struct weir_path_text *text);
void weir_path__take_row(struct weir_path_segment *seg, struct weir_gather_batch *batch);
void weir_path__drop_leaving(struct weir_path *path);
void weir_path__count_rows(struct weir_path_segment *seg);
void weir_path__drop_rows(struct weir_path_segment *seg);

/* Reports a step to the stream's watcher, which there must be; `took_us` and `detector` are set for
 * verdicts only. */
void weir_path__note(const struct weir_path *path, const struct weir_task_step *step);

/* Is the text between white space, as far as it has not left? */
bool weir_path__is_white(struct weir_path *path, size_t start_cp, size_t end_cp);

/* The aggregator has failed: path->fault says who and why. */
void weir_path__blame(struct weir_path_segment *seg);

#endif
