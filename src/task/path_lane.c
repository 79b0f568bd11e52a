/*
 * Chunks to detector calls to verdicts, one lane per detector.
 *
 *   slots   [done] [running] [running] [waiting] …     the head's verdict goes first
 *
 * A text may have as many chunks as characters. So they are taken from the chunker a few at a time,
 * with batches leaving in between, and no further than LANE_SLOTS ahead of the slowest detector.
 * Built-in detectors look at once: after so much text the others of the loop have their turn.
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "task/blank.h"
#include "task/path_int.h"
#include "task/source.h"

#include <stdlib.h>

enum {
    PULL_CHUNKS = 64,  /* taken before batches are given a chance to leave */
    LANE_SLOTS = 1024, /* chunks one detector may be behind */
};

/* ---- a chunk's text ---- */

static struct weir_path_text *text_new(struct weir_slice before, struct weir_slice s)
{
    struct weir_path_text *t = weir_mem_alloc(sizeof *t + before.n + s.n + 1);
    char *copy = (char *)(t + 1);
    if (before.n != 0) {
        memcpy(copy, before.p, before.n);
    }
    memcpy(copy + before.n, s.p, s.n);
    *t = (struct weir_path_text){
        .refs = 1, .n_before = before.n, .text = weir_slice_make(copy + before.n, s.n)};
    return t;
}

/* The log lets text go that has left; a window's detectors still need the end of it, or a finding
 * that depends on what stands before it (`password = …`) would be seen by no window whole. */
static void keep_before(struct weir_path_cutter *c, const struct weir_chunk *chunk,
                        struct weir_slice s)
{
    if (c->chunker->before_cp == 0 || c->segment->path->is_told) {
        return;
    }
    size_t n = weir_utf8_byte_at(s, chunk->end_cp - chunk->start_cp);
    weir_buf_append(&c->before, weir_slice_sub(s, 0, n));
    struct weir_slice all = weir_buf_slice(&c->before);
    weir_buf_consume(&c->before, weir_utf8_back(all, all.n, c->chunker->before_cp));
}

void weir_path__text_unref(struct weir_path_text *t)
{
    if (t != NULL && --t->refs == 0) {
        free(t);
    }
}

/* ---- slots ---- */

static void free_slot(struct weir_path_slot *slot)
{
    weir_list_remove(&slot->link);
    slot->lane->n_slots--;
    weir_detect_free(slot->call);
    weir_path__text_unref(slot->text);
    free(slot);
}

void weir_path__drop_lane(struct weir_path_lane *lane)
{
    struct weir_list *link;
    while ((link = weir_list_first(&lane->slots)) != NULL) {
        free_slot(WEIR_LIST_ENTRY(link, struct weir_path_slot, link));
    }
    weir_path__count_full(lane, false);
    weir_streamed_free(lane->streamed);
}

/* ---- verdicts ---- */

static const struct weir_detect_list NOTHING = {0};

/* Findings with the offsets that leave; those that belong to the next chunk are left out. */
static struct weir_gather_verdict verdict_of(const struct weir_path_slot *slot,
                                             struct weir_detection **moved)
{
    struct weir_gather_verdict v = {.start_cp = slot->start_cp, .end_cp = slot->end_cp};
    const struct weir_detect_call *call = slot->call;
    struct weir_path_lane *lane = slot->lane;
    struct weir_open_chunk chunk = {.text = slot->content,
                                    .start_cp = slot->shift_cp,
                                    .from_cp = slot->from_cp,
                                    .answers_cp = slot->answers_cp,
                                    .list = call->n_lists != 0 ? call->lists : &NOTHING};
    *moved = NULL;
    if (chunk.list->n == 0 && (lane->open == NULL || weir_open_is_quiet(lane->open))) {
        return v;
    }
    if (lane->open == NULL) {
        lane->open = weir_open_new(&lane->segment->path->rare);
    }
    *moved = weir_mem_array(chunk.list->n + 1, sizeof **moved);
    v.n_findings = weir_open_take(lane->open, &chunk, *moved);
    v.findings = *moved;
    return v;
}

void weir_path__fail_lane(struct weir_path_lane *lane, const struct weir_fault *fault, size_t at_cp)
{
    struct weir_path_segment *seg = lane->segment;
    if (lane->fault == NULL) {
        lane->fault = weir_fault_keep(&seg->path->rare, fault);
        weir_gather_fail(seg->gather, lane->index, at_cp, fault->err != 0 ? fault->err : WEIR_EIO);
    }
}

/* All chunks have their verdicts. A chunker's failure comes after what it gave before. */
static void end_lane(struct weir_path_lane *lane)
{
    const struct weir_path_cutter *c = lane->cutter;
    if (c->fault != NULL) {
        const struct weir_path_segment *seg = lane->segment;
        weir_path__fail_lane(lane, c->fault, seg->path->is_told ? seg->n_told : c->last_end_cp);
    } else {
        weir_gather_end(lane->segment->gather, lane->index);
    }
}

/* The part of this text that has left already counts as white: nothing can be said of it. */
bool weir_path__is_white(struct weir_path *path, size_t start_cp, size_t end_cp)
{
    size_t from_cp = start_cp > path->log.from_cp ? start_cp : path->log.from_cp;
    return from_cp >= end_cp || weir_textlog_is_white(&path->log, from_cp, end_cp);
}

/* How far the detector has looked; a gap that is not white is never crossed. */
static void note_judged(struct weir_path_lane *lane, const struct weir_gather_verdict *v)
{
    struct weir_path *path = lane->segment->path;
    if (path->is_told || v->end_cp <= lane->judged_cp) {
        return;
    }
    if (v->start_cp <= lane->judged_cp || weir_path__is_white(path, lane->judged_cp, v->start_cp)) {
        lane->judged_cp = v->end_cp;
    }
}

/* One that is skipped has found nothing in this chunk: it counts as looked at. */
static bool has_failed(const struct weir_path_slot *slot)
{
    const struct weir_fault *fault = &slot->call->fault;
    return fault->origin != WEIR_FAULT_NONE &&
           !weir_skips_take(slot->lane->segment->path->task, slot->lane->use->d, fault);
}

/* Gives the aggregator what is answered, in chunk order. */
static void commit(struct weir_path_lane *lane)
{
    struct weir_list *link;
    while ((link = weir_list_first(&lane->slots)) != NULL) {
        struct weir_path_slot *slot = WEIR_LIST_ENTRY(link, struct weir_path_slot, link);
        if (!slot->is_done) {
            return;
        }
        if (has_failed(slot)) {
            weir_path__fail_lane(lane, &slot->call->fault, slot->start_cp);
        } else {
            struct weir_detection *moved;
            struct weir_gather_verdict v = verdict_of(slot, &moved);
            note_judged(lane, &v);
            weir_gather_push(lane->segment->gather, lane->index, &v);
            free(moved);
        }
        free_slot(slot);
    }
    if (lane->cutter->has_ended && !lane->has_ended) {
        lane->has_ended = true;
        end_lane(lane);
    }
}

/* ---- calls ---- */

static void start_slots(struct weir_path_lane *lane);

static void note_verdict(const struct weir_path_slot *slot)
{
    const struct weir_path *path = slot->lane->segment->path;
    const struct weir_task_trace *trace = path->task->trace;
    if (trace != NULL && slot->call->fault.origin == WEIR_FAULT_NONE) {
        weir_path__note(path, &(struct weir_task_step){.kind = WEIR_TASK_STEP_VERDICT,
                                                       .start_cp = slot->start_cp,
                                                       .end_cp = slot->end_cp,
                                                       .detector = slot->lane->use->d->id,
                                                       .took_us = trace->now_us() - slot->sent_us});
    }
}

static void on_detected(void *ctx, struct weir_detect_call *call)
{
    struct weir_path_slot *slot = ctx;
    struct weir_path_lane *lane = slot->lane;
    struct weir_path *path = lane->segment->path;
    (void)call;
    slot->is_done = true;
    lane->n_running--;
    note_verdict(slot);
    start_slots(lane);
    commit(lane);
    path->on_progress(path->ctx);
}

static void start_slot(struct weir_path_slot *slot)
{
    struct weir_path_lane *lane = slot->lane;
    const struct weir_task_ctx *task = lane->segment->path->task;
    slot->content = slot->text->text;
    slot->input = (struct weir_detect_input){.type = WEIR_DETECT_CONTENTS,
                                             .contents = &slot->content,
                                             .before = &slot->text->n_before,
                                             .n_contents = 1,
                                             .params = lane->use->params,
                                             .threshold = lane->use->threshold,
                                             .is_piece = !task->env->compat.asks_of_pieces,
                                             .is_lenient = task->env->compat.is_lenient};
    struct weir_detect_env env = weir_task_detect_env(task);
    slot->sent_us = task->trace != NULL ? task->trace->now_us() : 0;
    slot->call = weir_detect_start(lane->use->d->detector, &env, &slot->input, on_detected, slot);
    slot->is_done = slot->call->is_done;
    lane->n_running += !slot->is_done;
    if (slot->is_done) {
        note_verdict(slot);
    }
}

static struct weir_path_slot *slot_after(const struct weir_path_slot *slot)
{
    struct weir_list *next = slot->link.next;
    bool is_last = next == &slot->lane->slots;
    return is_last ? NULL : WEIR_LIST_ENTRY(next, struct weir_path_slot, link);
}

/* Once the lane has failed, what comes behind that is of no use. */
static void start_slots(struct weir_path_lane *lane)
{
    unsigned max = lane->segment->path->task->env->max_detector_calls;
    while (lane->waiting != NULL && lane->n_running < max && lane->fault == NULL) {
        struct weir_path_slot *slot = lane->waiting;
        lane->waiting = slot_after(slot);
        start_slot(slot);
    }
}

/* ---- chunks ---- */

static void add_slot(struct weir_path_lane *lane, const struct weir_chunk *chunk,
                     struct weir_path_text *text)
{
    struct weir_path_slot *slot = weir_mem_zalloc(sizeof *slot);
    const struct weir_path_segment *seg = lane->segment;
    bool is_window = chunk->seen_end_cp != chunk->end_cp;
    slot->lane = lane;
    slot->start_cp = seg->path->is_told ? seg->n_told : chunk->start_cp;
    slot->end_cp = seg->path->is_told ? seg->n_told + 1 : chunk->end_cp;
    size_t seen_cp = chunk->start_cp - chunk->back_cp;
    slot->shift_cp = seg->path->task->env->compat.spans_in_chunks ? 0 : seen_cp;
    slot->from_cp = chunk->back_cp;
    slot->answers_cp = is_window ? chunk->end_cp - seen_cp : SIZE_MAX;
    slot->text = text;
    text->refs++;
    weir_list_append(&lane->slots, &slot->link);
    lane->n_slots++;
    lane->waiting = lane->waiting != NULL ? lane->waiting : slot;
    start_slots(lane);
}

/* NULL, or what is wrong with a chunk before anyone is asked about it. */
static const char *fault_of(const struct weir_path_cutter *c, const struct weir_chunk *chunk)
{
    const struct weir_textlog *log = &c->segment->path->log;
    if (chunk->start_cp < c->last_end_cp || chunk->end_cp < chunk->start_cp ||
        chunk->seen_end_cp < chunk->end_cp) {
        return "overlap: a chunk begins before the last one ended";
    }
    if (chunk->seen_end_cp > log->end_cp) {
        return "a chunk ends beyond the text";
    }
    if (chunk->back_cp != 0 &&
        (c->last == NULL || chunk->start_cp - chunk->back_cp < c->last_seen_cp)) {
        return "a chunk begins before the last one began";
    }
    return NULL;
}

static void fail_cutter(struct weir_path_cutter *c, const struct weir_fault *fault)
{
    c->has_ended = true;
    c->fault = weir_fault_keep(&c->segment->path->rare, fault);
}

static void blame_cutter(struct weir_path_cutter *c, const char *why)
{
    struct weir_fault fault = {.origin = WEIR_FAULT_CHUNKER,
                               .id = c->chunker->id,
                               .err = WEIR_EPEER,
                               .why = weir_slice_cstr(why)};
    fail_cutter(c, &fault);
}

/* The log may have let that text go: the next chunk of a service may begin in this one. */
static void keep_last(struct weir_path_cutter *c, const struct weir_chunk *chunk,
                      struct weir_path_text *text)
{
    if (c->chunker->is_immediate || c->segment->path->is_told) {
        return;
    }
    weir_path__text_unref(c->last);
    c->last = text;
    c->last_seen_cp = chunk->start_cp - chunk->back_cp;
    text->refs++;
}

/* The chunk goes to the chunker's detectors. */
static void ask(struct weir_path_cutter *c, const struct weir_chunk *chunk, struct weir_slice s)
{
    struct weir_path_segment *seg = c->segment;
    if (seg->path->task->trace != NULL) {
        weir_path__note(seg->path, &(struct weir_task_step){.kind = WEIR_TASK_STEP_CHUNK,
                                                            .start_cp = chunk->start_cp,
                                                            .end_cp = chunk->end_cp});
    }
    size_t cost = c->n_lanes * s.n;
    seg->path->left_bytes -= cost < seg->path->left_bytes ? cost : seg->path->left_bytes;
    struct weir_path_text *text = text_new(weir_buf_slice(&c->before), s);
    keep_before(c, chunk, s);
    for (size_t i = 0; i < seg->n_lanes; i++) {
        if (seg->lanes[i].cutter == c) {
            add_slot(&seg->lanes[i], chunk, text);
        }
    }
    if (seg->path->is_told) {
        weir_path__add_row(seg, chunk, text);
    }
    keep_last(c, chunk, text);
    weir_path__text_unref(text);
}

static struct weir_slice our_text(const struct weir_path_cutter *c, const struct weir_chunk *chunk)
{
    return weir_textlog_slice(&c->segment->path->log, chunk->start_cp, chunk->seen_end_cp);
}

/* What the chunk's detectors see: our text, and in front of it what it has of the chunk before. */
static struct weir_slice seen_text(const struct weir_path_cutter *c, const struct weir_chunk *chunk,
                                   struct weir_buf *joined)
{
    if (chunk->back_cp == 0) {
        return our_text(c, chunk);
    }
    size_t seen_cp = chunk->start_cp - chunk->back_cp;
    struct weir_slice last = c->last->text;
    size_t from = weir_utf8_byte_at(last, seen_cp - c->last_seen_cp);
    size_t to = weir_utf8_byte_at(last, chunk->start_cp - c->last_seen_cp);
    weir_buf_append(joined, weir_slice_sub(last, from, to));
    weir_buf_append(joined, our_text(c, chunk));
    return weir_buf_slice(joined);
}

static void take_checked(struct weir_path_cutter *c, const struct weir_chunk *chunk)
{
    const char *why = fault_of(c, chunk);
    if (why != NULL) {
        blame_cutter(c, why);
        return;
    }
    if (chunk->end_cp == chunk->start_cp) {
        return;
    }
    c->last_end_cp = chunk->end_cp;
    struct weir_buf joined = {0};
    struct weir_slice s = seen_text(c, chunk, &joined);
    if (chunk->text.p != NULL && !weir_blank_same(chunk->text, s)) {
        blame_cutter(c, "a chunk's text is not the text that was sent");
    } else {
        ask(c, chunk, s);
    }
    weir_buf_dispose(&joined);
}

/* Built-in chunkers tell ranges and no texts. */
static void take_told(struct weir_path_cutter *c, const struct weir_chunk *chunk)
{
    c->last_end_cp = chunk->end_cp;
    ask(c, chunk, chunk->text.p != NULL ? chunk->text : our_text(c, chunk));
}

static void commit_all(struct weir_path_cutter *c)
{
    struct weir_path_segment *seg = c->segment;
    for (size_t i = 0; i < seg->n_lanes; i++) {
        if (seg->lanes[i].cutter == c) {
            commit(&seg->lanes[i]);
        }
    }
}

static bool has_room(const struct weir_path_cutter *c)
{
    const struct weir_path_segment *seg = c->segment;
    for (size_t i = 0; i < seg->n_lanes; i++) {
        if (seg->lanes[i].cutter == c && seg->lanes[i].n_slots >= LANE_SLOTS) {
            return false;
        }
    }
    return seg->row_bytes < seg->path->max_held_bytes;
}

bool weir_path__has_time(struct weir_path *path)
{
    struct weir_loop *loop = path->task->loop;
    if (path->turn != loop->turn) {
        path->turn = loop->turn;
        path->left_bytes = WEIR_PATH__STEP_BYTES;
    }
    if (path->left_bytes == 0) {
        weir_loop_step(loop, &path->step);
    }
    return path->left_bytes != 0;
}

void weir_path__pull(struct weir_path_cutter *c)
{
    struct weir_chunk chunk;
    bool is_told = c->segment->path->is_told;
    int rc = 0;
    int n_left = PULL_CHUNKS;
    while (!c->has_ended && rc == 0 && n_left-- != 0 && has_room(c) &&
           weir_path__has_time(c->segment->path)) {
        rc = weir_chunk_next(c->stream, &chunk);
        if (rc == 0 && is_told) {
            take_told(c, &chunk);
        } else if (rc == 0) {
            take_checked(c, &chunk);
        }
    }
    c->is_held_back = !c->has_ended && rc == 0;
    if (rc == WEIR_ECLOSED) {
        c->has_ended = true;
    } else if (rc != 0 && rc != WEIR_EAGAIN) {
        fail_cutter(c, c->stream->fault);
    }
    if (is_told && c->has_ended) {
        weir_path__count_rows(c->segment);
    }
    commit_all(c);
}

bool weir_path__pull_more(struct weir_path_segment *seg)
{
    bool has_pulled = weir_path__can_read(seg) && weir_path__has_time(seg->path);
    if (has_pulled || seg->n_streamed != 0) {
        weir_path__read(seg);
    }
    for (size_t i = 0; i < seg->n_cutters; i++) {
        struct weir_path_cutter *c = &seg->cutters[i];
        if (c->is_held_back && has_room(c) && weir_path__has_time(seg->path)) {
            weir_path__pull(c);
            has_pulled = true;
        }
    }
    return has_pulled;
}

static struct weir_fault chunker_fault(const struct weir_path_lane *lane,
                                       const struct weir_gather_failure *failure)
{
    return (struct weir_fault){.origin = WEIR_FAULT_CHUNKER,
                               .id = lane->cutter != NULL ? lane->cutter->chunker->id
                                                          : lane->use->d->id,
                               .err = failure->err,
                               .why = weir_slice_cstr(weir_gather_fault_text(failure->fault))};
}

void weir_path__blame(struct weir_path_segment *seg)
{
    const struct weir_gather_failure *failure = weir_gather_failure(seg->gather);
    struct weir_path *path = seg->path;
    struct weir_fault fault;
    if (failure->detector == seg->n_lanes && weir_path_fault(path->late->path) != NULL) {
        path->fault = weir_path_fault(path->late->path);
        return;
    }
    if (failure->fault == WEIR_GATHER_DETECTOR) {
        path->fault = seg->lanes[failure->detector].fault;
        return;
    }
    if (failure->fault == WEIR_GATHER_LIMIT) {
        fault = weir_source_limit_fault(&path->rare, path->max_held_bytes);
    } else {
        WEIR_ASSERT(failure->detector < seg->n_lanes);
        fault = chunker_fault(&seg->lanes[failure->detector], failure);
    }
    path->fault = weir_fault_keep(&path->rare, &fault);
}
