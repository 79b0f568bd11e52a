/*
 * `output_check: after`: detectors that may answer for text that has left, within a bound.
 *
 *   text       |·········································|
 *   verified   ───────────────► v                          every late detector has answered for it
 *   may leave  ───────────────────────────────► v + bound  as far as the holding ones let it
 *
 * They have a path of their own, which is given the same text and through which nothing leaves: its
 * batches say how far the text is verified and what was found. To the aggregator of the path they
 * are one reader, whose mark is the bound's distance ahead of what is verified, and whose findings
 * may lie in text that has left (weir_gather_mark). One that fails fails the path, as all do.
 */
#include "base/err.h"
#include "base/mem.h"
#include "task/path_int.h"

#include <stdlib.h>

enum { MOST_BYTES_PER_CP = 4 };

static void on_progress(void *ctx)
{
    struct weir_path *path = ctx;
    path->on_progress(path->ctx);
}

void weir_path__late_open(struct weir_path *path, const struct weir_path_options *options)
{
    const struct weir_plan *plan = options->plan->late;
    if (plan == NULL || options->exposes_nothing) {
        return;
    }
    struct weir_path_options o = *options;
    o.plan = plan;
    o.strategy = weir_gather_strategy_find(WEIR_SLICE("aligned"));
    o.exposes_nothing = true;
    o.leaves_nothing = true;
    o.max_held_bytes += plan->max_exposed_cp * MOST_BYTES_PER_CP;
    o.on_progress = on_progress;
    o.ctx = path;
    path->late = weir_mem_zalloc(sizeof *path->late);
    path->late->path = weir_path_new(&o);
    path->late->max_cp = plan->max_exposed_cp;
}

void weir_path__late_free(struct weir_path *path)
{
    if (path->late != NULL) {
        weir_path_free(path->late->path);
        free(path->late);
        path->late = NULL;
    }
}

/* The plan's copy of an id: findings' own borrow from this path's segments, which end earlier. */
static struct weir_slice id_of(const struct weir_plan *plan, struct weir_slice id)
{
    for (size_t i = 0; i < plan->n; i++) {
        if (weir_slice_eq(plan->uses[i].d->id, id)) {
            return plan->uses[i].d->id;
        }
    }
    return WEIR_SLICE("");
}

/* Those without a place first: they begin where the batch does. */
static size_t sort_found(const struct weir_path_late *late, const struct weir_gather_batch *batch,
                         struct weir_detection *out)
{
    size_t n = 0;
    for (int with_span = 0; with_span <= 1; with_span++) {
        for (size_t i = 0; i < batch->n_findings; i++) {
            if (batch->findings[i]->has_span == (with_span != 0)) {
                out[n] = *batch->findings[i];
                out[n].detector_id = id_of(late->path->plan, out[n].detector_id);
                n++;
            }
        }
    }
    return n;
}

/* How far text may leave for all that the late ones have said, in this segment. */
static size_t mark_of(const struct weir_path_segment *seg)
{
    const struct weir_path_late *late = seg->path->late;
    size_t end_cp = weir_path__segment_end(seg);
    bool is_far = late->verified_cp >= end_cp || end_cp - late->verified_cp <= late->max_cp;
    return is_far ? end_cp : late->verified_cp + late->max_cp;
}

static void tell(struct weir_path_segment *seg, const struct weir_gather_batch *batch)
{
    struct weir_path_late *late = seg->path->late;
    struct weir_gather_mark m = {.mark_cp = mark_of(seg)};
    struct weir_detection *found = NULL;
    if (batch != NULL && batch->n_findings != 0) {
        found = weir_mem_array(batch->n_findings, sizeof *found);
        m.n_findings = sort_found(late, batch, found);
        m.findings = found;
        m.from_cp = batch->start_cp;
    }
    weir_gather_mark(seg->gather, seg->n_lanes, &m);
    free(found);
}

static void fail(struct weir_path_segment *seg, int rc)
{
    seg->path->late->has_failed = true;
    weir_gather_fail(seg->gather, seg->n_lanes, seg->path->late->verified_cp, rc);
}

static bool is_verified(const struct weir_path_segment *seg)
{
    return seg->has_ended && seg->path->late->verified_cp >= seg->end_cp;
}

/* Nobody looks at this text: it leaves as it comes. */
static void pass(struct weir_path_segment *seg)
{
    weir_gather_mark(seg->gather, seg->n_lanes,
                     &(struct weir_gather_mark){.mark_cp = weir_path__segment_end(seg)});
    if (seg->has_ended) {
        seg->is_late_over = true;
        weir_gather_end(seg->gather, seg->n_lanes);
    }
}

void weir_path__late_read(struct weir_path_segment *seg)
{
    struct weir_path_late *late = seg->path->late;
    struct weir_gather_batch batch;
    int rc = 0;
    if (seg->is_late_over || (late != NULL && late->has_failed)) {
        return;
    }
    if (late == NULL) {
        if (seg->n_lanes == 0) {
            pass(seg);
        }
        return;
    }
    late->verified_cp = late->verified_cp > seg->start_cp ? late->verified_cp : seg->start_cp;
    while (!is_verified(seg) && (rc = weir_path_pop(late->path, &batch)) == 0) {
        late->verified_cp = batch.end_cp;
        tell(seg, &batch);
        weir_path_release(late->path, batch.end_cp);
    }
    if (rc != 0 && rc != WEIR_EAGAIN) {
        fail(seg, rc);
        return;
    }
    tell(seg, NULL);
    if (is_verified(seg)) {
        seg->is_late_over = true;
        weir_gather_end(seg->gather, seg->n_lanes);
    }
}

/* How far every lane of the path's first segment has answered. */
static size_t judged_cp(const struct weir_path *path)
{
    const struct weir_list *link = weir_list_first(&path->segments);
    if (link == NULL) {
        return path->log.end_cp;
    }
    const struct weir_path_segment *seg = WEIR_LIST_ENTRY(link, struct weir_path_segment, link);
    size_t least_cp = weir_path__segment_end(seg);
    for (size_t i = 0; i < seg->n_lanes; i++) {
        size_t own_cp = weir_path__judged_cp(&seg->lanes[i]);
        least_cp = own_cp < least_cp ? own_cp : least_cp;
    }
    return least_cp;
}

bool weir_path__late_allows(const struct weir_path *path, size_t end_cp)
{
    if (path->late == NULL) {
        return true;
    }
    size_t may_cp = judged_cp(path->late->path);
    may_cp = may_cp < SIZE_MAX - path->late->max_cp ? may_cp + path->late->max_cp : SIZE_MAX;
    /* White space behind the last chunk is answered for when the chunker has ended. */
    return end_cp <= may_cp || weir_path__is_white(path->late->path, may_cp, end_cp);
}
