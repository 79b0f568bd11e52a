/*
 * Chunks to detector calls to verdicts, one lane per detector.
 *
 *   slots   [done] [running] [running] [waiting] …     the head's verdict goes first
 */
#include "base/err.h"
#include "base/mem.h"
#include "task/blank.h"
#include "task/path_int.h"

#include <stdlib.h>

/* ---- a chunk's text ---- */

static struct weir_path_text *text_new(struct weir_slice s)
{
    struct weir_path_text *t = weir_mem_alloc(sizeof *t + s.n + 1);
    char *copy = (char *)(t + 1);
    memcpy(copy, s.p, s.n);
    *t = (struct weir_path_text){.refs = 1, .text = weir_slice_make(copy, s.n)};
    return t;
}

static void text_unref(struct weir_path_text *t)
{
    if (t != NULL && --t->refs == 0) {
        free(t);
    }
}

/* ---- slots ---- */

static void free_slot(struct weir_path_slot *slot)
{
    weir_list_remove(&slot->link);
    weir_detect_free(slot->call);
    text_unref(slot->text);
    free(slot);
}

void weir_path__drop_lane(struct weir_path_lane *lane)
{
    struct weir_list *link;
    while ((link = weir_list_first(&lane->slots)) != NULL) {
        free_slot(WEIR_LIST_ENTRY(link, struct weir_path_slot, link));
    }
}

/* ---- verdicts ---- */

/* Findings with offsets of the stream; those that belong to the next chunk are left out. */
static struct weir_gather_verdict verdict_of(const struct weir_path_slot *slot,
                                             struct weir_detection **moved)
{
    struct weir_gather_verdict v = {.start_cp = slot->start_cp, .end_cp = slot->end_cp};
    const struct weir_detect_call *call = slot->call;
    size_t n = call->n_lists != 0 ? call->lists[0].n : 0;
    *moved = NULL;
    if (n == 0) {
        return v;
    }
    *moved = weir_mem_array(n, sizeof **moved);
    for (size_t i = 0; i < n; i++) {
        struct weir_detection d = call->lists[0].items[i];
        if (d.start_cp < slot->answers_cp) {
            d.start_cp += slot->start_cp;
            d.end_cp += slot->start_cp;
            (*moved)[v.n_findings++] = d;
        }
    }
    v.findings = *moved;
    return v;
}

static void fail_lane(struct weir_path_lane *lane, const struct weir_fault *fault, size_t at_cp)
{
    struct weir_path_segment *seg = lane->segment;
    if (lane->fault.origin == WEIR_FAULT_NONE) {
        lane->fault = weir_fault_dup(&seg->path->faults, fault);
        weir_gather_fail(seg->gather, lane->index, at_cp, fault->err != 0 ? fault->err : WEIR_EIO);
    }
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
        if (slot->call->fault.origin != WEIR_FAULT_NONE) {
            fail_lane(lane, &slot->call->fault, slot->start_cp);
        } else {
            struct weir_detection *moved;
            struct weir_gather_verdict v = verdict_of(slot, &moved);
            weir_gather_push(lane->segment->gather, lane->index, &v);
            free(moved);
        }
        free_slot(slot);
    }
    if (lane->cutter->has_ended && !lane->has_ended) {
        lane->has_ended = true;
        weir_gather_end(lane->segment->gather, lane->index);
    }
}

/* ---- calls ---- */

static void start_slots(struct weir_path_lane *lane);

static void on_detected(void *ctx, struct weir_detect_call *call)
{
    struct weir_path_slot *slot = ctx;
    struct weir_path_lane *lane = slot->lane;
    struct weir_path *path = lane->segment->path;
    (void)call;
    slot->is_done = true;
    lane->n_running--;
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
                                             .n_contents = 1,
                                             .params = lane->use->params,
                                             .threshold = lane->use->threshold,
                                             .is_lenient = task->env->is_fms};
    struct weir_detect_env env = {.loop = task->loop,
                                  .client = task->client,
                                  .context = &task->call,
                                  .max_body_bytes = task->env->max_service_body_bytes};
    slot->call = weir_detect_start(lane->use->d->detector, &env, &slot->input, on_detected, slot);
    slot->is_done = slot->call->is_done;
    lane->n_running += !slot->is_done;
}

static void start_slots(struct weir_path_lane *lane)
{
    unsigned max = lane->segment->path->task->env->max_detector_calls;
    struct weir_list *link = lane->slots.next;
    for (; link != &lane->slots && lane->n_running < max; link = link->next) {
        struct weir_path_slot *slot = WEIR_LIST_ENTRY(link, struct weir_path_slot, link);
        if (slot->call == NULL) {
            start_slot(slot);
        }
    }
}

/* ---- chunks ---- */

static void add_slot(struct weir_path_lane *lane, const struct weir_chunk *chunk,
                     struct weir_path_text *text)
{
    struct weir_path_slot *slot = weir_mem_zalloc(sizeof *slot);
    bool is_window = chunk->seen_end_cp != chunk->end_cp;
    slot->lane = lane;
    slot->start_cp = chunk->start_cp;
    slot->end_cp = chunk->end_cp;
    slot->answers_cp = is_window ? chunk->end_cp - chunk->start_cp : SIZE_MAX;
    slot->text = text;
    text->refs++;
    weir_list_append(&lane->slots, &slot->link);
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
    return NULL;
}

static void fail_cutter(struct weir_path_cutter *c, const struct weir_fault *fault)
{
    struct weir_path_segment *seg = c->segment;
    c->has_ended = true;
    c->owes_answer = false;
    for (size_t i = 0; i < seg->n_lanes; i++) {
        if (seg->lanes[i].cutter == c) {
            fail_lane(&seg->lanes[i], fault, c->last_end_cp);
        }
    }
}

static void blame_cutter(struct weir_path_cutter *c, const char *why)
{
    struct weir_fault fault = {.origin = WEIR_FAULT_CHUNKER,
                               .id = c->chunker->id,
                               .err = WEIR_EPEER,
                               .why = weir_slice_cstr(why)};
    fail_cutter(c, &fault);
}

static void take_chunk(struct weir_path_cutter *c, const struct weir_chunk *chunk)
{
    struct weir_path_segment *seg = c->segment;
    const char *why = fault_of(c, chunk);
    if (why != NULL) {
        blame_cutter(c, why);
        return;
    }
    c->last_end_cp = chunk->end_cp;
    c->owes_answer = !c->chunker->is_immediate && chunk->end_cp < seg->path->log.end_cp;
    if (chunk->end_cp == chunk->start_cp) {
        return;
    }
    struct weir_slice s = weir_textlog_slice(&seg->path->log, chunk->start_cp, chunk->seen_end_cp);
    if (chunk->text.p != NULL && !weir_blank_same(chunk->text, s)) {
        blame_cutter(c, "a chunk's text is not the text that was sent");
        return;
    }
    struct weir_path_text *text = text_new(s);
    for (size_t i = 0; i < seg->n_lanes; i++) {
        if (seg->lanes[i].cutter == c) {
            add_slot(&seg->lanes[i], chunk, text);
        }
    }
    text_unref(text);
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

void weir_path__pull(struct weir_path_cutter *c)
{
    struct weir_chunk chunk;
    int rc = WEIR_EAGAIN;
    c->owes_answer = !c->has_ended && !c->chunker->is_immediate;
    while (!c->has_ended && (rc = weir_chunk_next(c->stream, &chunk)) == 0) {
        take_chunk(c, &chunk);
    }
    if (!c->has_ended && rc == WEIR_ECLOSED) {
        c->has_ended = true;
        c->owes_answer = false;
    } else if (!c->has_ended && rc != WEIR_EAGAIN) {
        fail_cutter(c, &c->stream->fault);
    }
    commit_all(c);
}

void weir_path__blame(struct weir_path_segment *seg)
{
    const struct weir_gather_failure *failure = weir_gather_failure(seg->gather);
    struct weir_path *path = seg->path;
    const struct weir_path_lane *lane = &seg->lanes[failure->detector];
    if (failure->fault == WEIR_GATHER_DETECTOR) {
        path->fault = lane->fault;
        return;
    }
    path->fault =
        (struct weir_fault){.origin = WEIR_FAULT_CHUNKER,
                            .id = lane->cutter->chunker->id,
                            .err = failure->err,
                            .why = weir_slice_cstr(weir_gather_fault_text(failure->fault))};
}
