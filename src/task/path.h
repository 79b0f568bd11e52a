#ifndef WEIR_TASK_PATH_H
#define WEIR_TASK_PATH_H

#include "task/gather.h"
#include "task/plan.h"
#include "task/textlog.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One (choice, channel) path of a guarded stream: text in, batches of checked text out.
 *
 *   push ─► text log ─┬─► chunker a ─┬─► detector 1 ─┐
 *                     │              └─► detector 2 ─┼─► aggregator ─► pop
 *                     └─► chunker b ───► detector 3 ─┘
 *
 * A chunk goes to its detectors the moment it is complete, to all of them at once; so many calls of
 * one detector run at once, and answers are put back into chunk order before the aggregator sees
 * them. Text that comes after `end` opens the chunkers anew at the present offset.
 *
 * With `compat: fms` spans are relative to their chunk, and where all detectors share a chunker,
 * that chunker is believed: a batch is one of its chunks, with the text, offsets and frames the
 * chunker told us, right or wrong, and text it leaves out never leaves. Such batches are called
 * told. Detectors on different chunkers need offsets that can be compared, so there everything is
 * checked as always.
 */
struct weir_path;

/* A told batch. Valid as long as the batch's findings. */
struct weir_path_told {
    struct weir_slice text;
    uint64_t first_frame; /* those it was made of, inclusive */
    uint64_t last_frame;
};

struct weir_path_options {
    struct weir_task_ctx *task;
    const struct weir_plan *plan; /* its text_contents detectors on chunks are used, no others */
    const struct weir_gather_strategy *strategy;
    /* When that much is held back, the owner stops pushing: findings that wait for their batch are
     * bounded by it, text by a little more, for what was under way already. */
    size_t max_held_bytes;
    bool leaves_nothing;  /* what is popped does not leave: nobody watches it, and nothing waits */
    bool exposes_nothing; /* nothing leaves before all have answered, whatever the plan allows
                             (`late`) */
    bool tells_open;      /* long findings are told in parts, before their end: the first has its
                             name, what follows has `edge` WEIR_EDGE_REST. Else only their text
                             leaves before it, and they are told whole */
    uint64_t choice;      /* with `channel`: which path it is, for the watcher (task/trace.h) */
    enum weir_channel channel;
    /* Something changed: pop. Never called from inside a call of the owner's. */
    void (*on_progress)(void *ctx);
    void *ctx;
};

/* Does the plan have detectors that work on chunks? Without any, no path is needed. */
bool weir_path_is_needed(const struct weir_plan *plan);

/* Does this detector look at the whole text, or at more than it, once a choice has ended? */
bool weir_path_is_whole(const struct weir_plan_use *use);
bool weir_path_has_whole(const struct weir_plan *plan);

/* Those of a plan that do, as a plan of their own. */
const struct weir_plan *weir_path_whole_plan(const struct weir_plan *plan,
                                             struct weir_arena *arena);

struct weir_path *weir_path_new(const struct weir_path_options *options);
void weir_path_free(struct weir_path *path); /* cancels what runs; NULL is fine */

/* One frame's text. 0, WEIR_EBAD (not UTF-8) or WEIR_ELIMIT (too much is held). Then pop: of large
 * texts only pop takes the chunks that push left. */
int weir_path_push(struct weir_path *path, uint64_t frame, struct weir_slice text, void *tag);

/* What follows is not text. */
void weir_path_cut(struct weir_path *path);

/* No more text, for now: finish_reason, or the end of the stream. */
void weir_path_end(struct weir_path *path);

/* 0 and the next batch, WEIR_EAGAIN, or an error: see weir_path_fault. The batch's findings are
 * valid until the next call. */
int weir_path_pop(struct weir_path *path, struct weir_gather_batch *batch);

/* Are the path's batches told (see above)? All of them are, or none. */
bool weir_path_is_told(const struct weir_path *path);

/* The batch's text, until the next push or release. */
struct weir_slice weir_path_text(const struct weir_path *path,
                                 const struct weir_gather_batch *batch);

/* The frames that have text here still, with their tags: which of them a batch touches. */
const struct weir_textlog *weir_path_log(const struct weir_path *path);

/* How far the text has left with a batch: its end. The end of a told batch may be anywhere; then
 * the place nearest to it in the last frame that the batch was made of. */
size_t weir_path_leaves_cp(const struct weir_path *path, const struct weir_gather_batch *batch);

/* How many of the frames held leave with it: those that end there, none behind the last it was made
 * of. */
size_t weir_path_n_ended(const struct weir_path *path, const struct weir_gather_batch *batch);

/* The batch has left: its text is forgotten, and those frames. */
void weir_path_leave(struct weir_path *path, const struct weir_gather_batch *batch);

/* The text up to there has left: it is forgotten, and the frames that end in it. */
void weir_path_release(struct weir_path *path, size_t end_cp);

/* The promise, computed without the aggregator: has every detector answered for the text of the
 * batch popped last, up to there, white space aside? Always so where chunkers are believed. */
bool weir_path_has_judged(struct weir_path *path, size_t end_cp);

const struct weir_fault *weir_path_fault(const struct weir_path *path);

/* The text so far, in code points. */
size_t weir_path_length_cp(const struct weir_path *path);

/* Everything that came has left (and the path was ended). */
bool weir_path_is_done(const struct weir_path *path);

/* What is at work that can release something? If nothing is, only more text or an end can. */
enum weir_path_wait {
    WEIR_PATH_IDLE,
    WEIR_PATH_ON_CHUNKER,
    WEIR_PATH_ON_DETECTOR,
};
enum weir_path_wait weir_path_waits(const struct weir_path *path);

#endif
