#include "task/path.h"

#include "base/err.h"
#include "base/mem.h"
#include "io/loop.h"
#include "task/path_int.h"

#include <stdlib.h>
#include <string.h>

/* After it was paused a source still gives at most one frame and what was read with it. */
enum { BURST_BYTES = WEIR_LOOP_READ_BYTES };

bool weir_path_is_whole(const struct weir_plan_use *use)
{
    return use->d->detector->type != WEIR_DETECT_CONTENTS ||
           (use->d->chunker->is_whole_doc && !use->d->reads_along);
}

bool weir_path_is_needed(const struct weir_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        if (!weir_path_is_whole(&plan->uses[i])) {
            return true;
        }
    }
    return false;
}

bool weir_path_has_whole(const struct weir_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        if (weir_path_is_whole(&plan->uses[i])) {
            return true;
        }
    }
    return false;
}

const struct weir_plan *weir_path_whole_plan(const struct weir_plan *plan, struct weir_arena *arena)
{
    struct weir_plan *whole = weir_arena_zalloc(arena, sizeof *whole);
    struct weir_plan_use *uses = weir_arena_array(arena, plan->n, sizeof *uses);
    whole->uses = uses;
    for (size_t i = 0; i < plan->n; i++) {
        if (weir_path_is_whole(&plan->uses[i])) {
            uses[whole->n++] = plan->uses[i];
        }
    }
    return whole;
}

/* ---- segments: from one end to the next ---- */

static struct weir_path_cutter *cutter_for(struct weir_path_segment *seg,
                                           const struct weir_chunker *chunker)
{
    for (size_t i = 0; i < seg->n_cutters; i++) {
        if (seg->cutters[i].chunker == chunker) {
            return &seg->cutters[i];
        }
    }
    struct weir_path_cutter *c = &seg->cutters[seg->n_cutters++];
    *c = (struct weir_path_cutter){.segment = seg, .chunker = chunker};
    return c;
}

/* The source is not read while a chunker is behind: see weir_source. */
static void count_full(struct weir_path_cutter *c, bool is_full)
{
    unsigned *n_full = &c->segment->path->task->n_full_chunkers;
    if (is_full != c->is_full) {
        *n_full = is_full ? *n_full + 1 : *n_full - 1;
        c->is_full = is_full;
    }
}

static void on_chunks(void *ctx, struct weir_chunk_stream *stream)
{
    struct weir_path_cutter *c = ctx;
    struct weir_path *path = c->segment->path;
    count_full(c, stream->is_full);
    weir_path__pull(c);
    path->on_progress(path->ctx);
}

static void open_cutters(struct weir_path_segment *seg)
{
    const struct weir_task_ctx *task = seg->path->task;
    struct weir_chunk_env env = {.loop = task->loop,
                                 .client = task->client,
                                 .context = &task->call,
                                 .max_body_bytes = task->env->max_service_body_bytes};
    struct weir_chunk_options options = {.start_cp = seg->start_cp,
                                         .is_lenient = seg->path->is_told};
    for (size_t i = 0; i < seg->n_cutters; i++) {
        struct weir_path_cutter *c = &seg->cutters[i];
        c->last_end_cp = seg->start_cp;
        c->stream = weir_chunk_open(c->chunker, &env, &options, on_chunks, c);
    }
}

static bool has_lane(const struct weir_path *path, const struct weir_plan_use *use)
{
    return !weir_path_is_whole(use) && !(use->is_late && path->late != NULL);
}

/* For as many lanes, and cutters at most, as the plan asks for: a stream has this in memory for as
 * long as it lasts. */
static void make_room(struct weir_path_segment *seg)
{
    const struct weir_plan *plan = seg->path->plan;
    size_t n_lanes = 0;
    size_t n_cutters = 0;
    const struct weir_chunker *last = NULL;
    for (size_t i = 0; i < plan->n; i++) {
        const struct weir_task_detector *d = plan->uses[i].d;
        if (has_lane(seg->path, &plan->uses[i])) {
            n_lanes++;
            n_cutters += !d->reads_along && d->chunker != last;
            last = d->reads_along ? last : d->chunker;
        }
    }
    seg->lanes = weir_mem_array(n_lanes, sizeof *seg->lanes);
    seg->cutters = weir_mem_array(n_cutters, sizeof *seg->cutters);
}

static void add_lanes(struct weir_path_segment *seg, struct weir_slice *ids, bool *are_readers)
{
    struct weir_path *path = seg->path;
    size_t n = 0;
    for (size_t i = 0; i < path->plan->n; i++) {
        const struct weir_plan_use *use = &path->plan->uses[i];
        if (!has_lane(path, use)) {
            continue;
        }
        struct weir_path_lane *lane = &seg->lanes[n];
        *lane = (struct weir_path_lane){
            .segment = seg, .use = use, .index = n, .judged_cp = seg->start_cp};
        weir_list_init(&lane->slots);
        if (!use->d->reads_along) {
            lane->cutter = cutter_for(seg, use->d->chunker);
            lane->cutter->n_lanes++;
        }
        lane->told_cp = seg->start_cp;
        are_readers[n] = use->d->reads_along;
        ids[n++] = use->d->id;
    }
    seg->n_lanes = n;
}

static struct weir_path_segment *new_segment(struct weir_path *path)
{
    size_t max = path->plan->n + 1; /* and one for those that are late */
    struct weir_path_segment *seg = weir_mem_zalloc(sizeof *seg);
    seg->path = path;
    seg->start_cp = path->log.end_cp;
    weir_list_init(&seg->rows);
    make_room(seg);
    struct weir_slice *ids = weir_mem_array(max, sizeof *ids);
    bool *are_readers = weir_mem_array(max, sizeof *are_readers);
    bool *are_late = weir_mem_array(max, sizeof *are_late);
    add_lanes(seg, ids, are_readers);
    memset(are_late, 0, max * sizeof *are_late);
    ids[seg->n_lanes] = WEIR_SLICE("");
    are_readers[seg->n_lanes] = are_late[seg->n_lanes] = true;
    bool has_more = path->late != NULL || seg->n_lanes == 0; /* see weir_path__late_read */
    struct weir_gather_options options = {.strategy = path->strategy,
                                          .detector_ids = ids,
                                          .are_readers = are_readers,
                                          .are_late = are_late,
                                          .n_detectors = seg->n_lanes + has_more,
                                          .text = weir_gather_text_of(&path->log),
                                          .start_cp = seg->start_cp,
                                          .max_bytes = path->max_held_bytes,
                                          .spans_are_foreign =
                                              path->task->env->compat.spans_in_chunks};
    if (path->is_told) {
        options.strategy = weir_gather_strategy_at(0);
        options.text = weir_path__told_text(seg);
        options.start_cp = 0;
    }
    seg->gather = weir_gather_new(&options);
    free(ids);
    free(are_readers);
    free(are_late);
    weir_list_append(&path->segments, &seg->link);
    open_cutters(seg);
    weir_path__open_reading(seg);
    return seg;
}

static void free_segment(struct weir_path_segment *seg)
{
    weir_list_remove(&seg->link);
    for (size_t i = 0; i < seg->n_lanes; i++) {
        weir_path__drop_lane(&seg->lanes[i]);
    }
    for (size_t i = 0; i < seg->n_cutters; i++) {
        count_full(&seg->cutters[i], false);
        weir_chunk_close(seg->cutters[i].stream);
        weir_path__text_unref(seg->cutters[i].last);
        weir_buf_dispose(&seg->cutters[i].before);
    }
    weir_path__drop_rows(seg);
    weir_reading_free(seg->reading);
    weir_gather_free(seg->gather);
    free(seg->cutters);
    free(seg->lanes);
    free(seg);
}

static struct weir_path_segment *first(const struct weir_path *path)
{
    struct weir_list *link = weir_list_first(&path->segments);
    return link != NULL ? WEIR_LIST_ENTRY(link, struct weir_path_segment, link) : NULL;
}

static struct weir_path_segment *last(const struct weir_path *path)
{
    bool is_empty = weir_list_is_empty(&path->segments);
    return is_empty ? NULL : WEIR_LIST_ENTRY(path->segments.prev, struct weir_path_segment, link);
}

/* ---- the path ---- */

static bool has_one_chunker(const struct weir_plan *plan)
{
    const struct weir_chunker *one = NULL;
    for (size_t i = 0; i < plan->n; i++) {
        const struct weir_chunker *chunker = plan->uses[i].d->chunker;
        if (weir_path_is_whole(&plan->uses[i])) {
            continue;
        }
        if (one != NULL && chunker != one) {
            return false;
        }
        one = chunker;
    }
    return one != NULL;
}

static void on_step(struct weir_post *step)
{
    struct weir_path *path = WEIR_LIST_ENTRY(step, struct weir_path, step);
    path->left_bytes = WEIR_PATH__STEP_BYTES;
    path->on_progress(path->ctx);
}

struct weir_path *weir_path_new(const struct weir_path_options *options)
{
    struct weir_path *path = weir_mem_zalloc(sizeof *path);
    path->task = options->task;
    path->plan = options->plan;
    path->strategy = options->strategy;
    path->max_held_bytes = options->max_held_bytes;
    path->tells_open = options->tells_open;
    path->choice = options->choice;
    path->channel = options->channel;
    path->on_progress = options->on_progress;
    path->ctx = options->ctx;
    path->leaves_nothing = options->leaves_nothing;
    path->is_told = path->task->env->compat.believes_chunker && has_one_chunker(path->plan);
    path->left_bytes = WEIR_PATH__STEP_BYTES;
    path->step.fn = on_step;
    weir_list_init(&path->segments);
    size_t max_bytes = options->max_held_bytes + path->task->env->max_event_bytes + BURST_BYTES;
    weir_textlog_init(&path->log, &(struct weir_textlog_limits){.max_bytes = max_bytes});
    weir_path__late_open(path, options);
    return path;
}

void weir_path_free(struct weir_path *path)
{
    if (path == NULL) {
        return;
    }
    weir_loop_unpost(&path->step);
    while (!weir_list_is_empty(&path->segments)) {
        free_segment(first(path));
    }
    weir_path__drop_leaving(path);
    weir_path__late_free(path);
    weir_textlog_dispose(&path->log);
    weir_arena_dispose(&path->rare);
    free(path);
}

void weir_path__note(const struct weir_path *path, const struct weir_task_step *step)
{
    struct weir_task_step ours = *step;
    ours.choice = path->choice;
    ours.channel = path->channel;
    path->task->trace->note(path->task->trace, &ours);
}

/* Who has come least far, with text that is held? */
static void note_holder(struct weir_path *path, const struct weir_path_segment *seg)
{
    const struct weir_path_lane *least = NULL;
    size_t least_cp = path->log.end_cp;
    for (size_t i = 0; i < seg->n_lanes && !path->leaves_nothing && least_cp > seg->even_cp; i++) {
        size_t judged_cp = weir_path__judged_cp(&seg->lanes[i]);
        least = judged_cp < least_cp ? &seg->lanes[i] : least;
        least_cp = judged_cp < least_cp ? judged_cp : least_cp;
    }
    if (least != NULL) {
        path->held_since_ms =
            path->holder != NULL ? path->held_since_ms : weir_loop_now_ms(path->task->loop);
        path->holder = least->use->d;
    }
}

static void count_held(struct weir_path *path, size_t end_cp)
{
    enum { US_PER_MS = 1000 };
    if (path->holder == NULL) {
        return;
    }
    uint64_t now_ms = weir_loop_now_ms(path->task->loop);
    weir_metric_observe(path->holder->held, (now_ms - path->held_since_ms) * US_PER_MS);
    path->held_since_ms = now_ms;
    path->holder = end_cp < path->log.end_cp ? path->holder : NULL;
}

int weir_path_push(struct weir_path *path, uint64_t frame, struct weir_slice text, void *tag)
{
    size_t start_cp = path->log.end_cp;
    struct weir_path_segment *seg = last(path);
    if (seg == NULL || seg->has_ended) {
        seg = new_segment(path);
    }
    int rc = weir_textlog_append(&path->log, frame, text, tag);
    if (rc != 0) {
        return rc;
    }
    if (path->late != NULL) {
        rc = weir_path_push(path->late->path, frame, text, NULL);
    }
    if (path->task->trace != NULL && !path->leaves_nothing) {
        weir_path__note(path, &(struct weir_task_step){.kind = WEIR_TASK_STEP_RAW,
                                                       .start_cp = start_cp,
                                                       .end_cp = path->log.end_cp});
    }
    for (size_t i = 0; i < seg->n_cutters; i++) {
        struct weir_path_cutter *c = &seg->cutters[i];
        count_full(c, weir_chunk_push(c->stream, frame, text) == WEIR_FLOW_FULL);
        weir_path__pull(c);
    }
    weir_path__read(seg);
    note_holder(path, seg);
    return rc;
}

void weir_path_cut(struct weir_path *path)
{
    struct weir_path_segment *seg = last(path);
    for (size_t i = 0; seg != NULL && !seg->has_ended && i < seg->n_cutters; i++) {
        weir_chunk_cut(seg->cutters[i].stream);
        weir_path__pull(&seg->cutters[i]);
    }
    if (seg != NULL) {
        weir_path__cut_readers(seg);
    }
    if (path->late != NULL) {
        weir_path_cut(path->late->path);
    }
}

void weir_path_end(struct weir_path *path)
{
    struct weir_path_segment *seg = last(path);
    if (seg == NULL || seg->has_ended) {
        return;
    }
    seg->has_ended = true;
    seg->end_cp = path->log.end_cp;
    if (path->late != NULL) {
        weir_path_end(path->late->path);
    }
    if (!path->is_told) {
        weir_gather_source_end(seg->gather, path->log.end_cp);
    }
    for (size_t i = 0; i < seg->n_cutters; i++) {
        weir_chunk_end(seg->cutters[i].stream);
        weir_path__pull(&seg->cutters[i]);
    }
    weir_path__read(seg);
}

int weir_path_pop(struct weir_path *path, struct weir_gather_batch *batch)
{
    for (;;) {
        struct weir_path_segment *seg = first(path);
        if (seg == NULL) {
            return WEIR_EAGAIN;
        }
        weir_path__late_read(seg);
        int rc = weir_gather_pop(seg->gather, batch);
        if (rc != WEIR_EAGAIN) {
            if (rc != 0) {
                weir_path__blame(seg);
            } else if (path->is_told) {
                weir_path__take_row(seg, batch);
            }
            return rc;
        }
        if (seg->has_ended && weir_gather_is_done(seg->gather)) {
            free_segment(seg);
        } else if (!weir_path__pull_more(seg)) {
            return WEIR_EAGAIN;
        }
    }
}

struct weir_slice weir_path_text(const struct weir_path *path,
                                 const struct weir_gather_batch *batch)
{
    return batch->told != NULL ? batch->told->text
                               : weir_textlog_slice(&path->log, batch->start_cp, batch->end_cp);
}

void weir_path_release(struct weir_path *path, size_t end_cp)
{
    count_held(path, end_cp);
    weir_textlog_trim(&path->log, end_cp);
    if (path->task->trace != NULL && !path->leaves_nothing) {
        weir_path__note(path, &(struct weir_task_step){.kind = WEIR_TASK_STEP_BATCH,
                                                       .start_cp = path->left_cp,
                                                       .end_cp = end_cp});
    }
    path->left_cp = end_cp;
}

bool weir_path_has_judged(struct weir_path *path, size_t end_cp)
{
    const struct weir_path_segment *seg = first(path);
    if (path->is_told) {
        return true;
    }
    bool is_even = seg != NULL && seg->even_cp >= end_cp;
    for (size_t i = 0; seg != NULL && !is_even && i < seg->n_lanes; i++) {
        size_t judged_cp = weir_path__judged_cp(&seg->lanes[i]);
        if (judged_cp < end_cp && !weir_path__is_white(path, judged_cp, end_cp)) {
            return false;
        }
    }
    return seg != NULL && weir_path__late_allows(path, end_cp);
}

const struct weir_textlog *weir_path_log(const struct weir_path *path)
{
    return &path->log;
}

const struct weir_fault *weir_path_fault(const struct weir_path *path)
{
    return path->fault;
}

size_t weir_path_length_cp(const struct weir_path *path)
{
    return path->log.end_cp;
}

bool weir_path_is_done(const struct weir_path *path)
{
    return weir_list_is_empty(&path->segments);
}

static bool owes_answer(const struct weir_path_cutter *c)
{
    const struct weir_path_segment *seg = c->segment;
    bool is_behind = seg->has_ended || c->last_end_cp < seg->path->log.end_cp;
    return is_behind && !c->has_ended && !c->chunker->is_immediate;
}

/* Nothing leaves before the first segment has left. */
enum weir_path_wait weir_path_waits(const struct weir_path *path)
{
    const struct weir_path_segment *seg = first(path);
    enum weir_path_wait waits =
        path->late != NULL ? weir_path_waits(path->late->path) : WEIR_PATH_IDLE;
    if (weir_list_is_linked(&path->step.link)) {
        return WEIR_PATH_ON_DETECTOR;
    }
    for (size_t i = 0; seg != NULL && i < seg->n_lanes; i++) {
        if (seg->lanes[i].n_running != 0) {
            return WEIR_PATH_ON_DETECTOR;
        }
        const struct weir_path_cutter *c = seg->lanes[i].cutter;
        if (seg->lanes[i].streamed != NULL) { /* it may want more text before it answers */
            waits = weir_path__judged_cp(&seg->lanes[i]) < path->log.end_cp ? WEIR_PATH_ON_CHUNKER
                                                                            : waits;
            continue;
        }
        if (c == NULL && !weir_reading_is_ready(seg->reading)) {
            return WEIR_PATH_ON_DETECTOR; /* its parameters are being read */
        }
        if (c != NULL && owes_answer(c)) {
            waits = WEIR_PATH_ON_CHUNKER;
        }
    }
    return waits;
}
