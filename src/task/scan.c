#include "task/scan.h"

#include "base/assert.h"
#include "base/err.h"
#include "task/order.h"
#include "task/scan_int.h"

#include <stdlib.h>

/* ---- lanes ---- */

struct weir_scan_lane *weir_scan__lane(struct weir_scan *scan, const void *key)
{
    for (size_t i = 0; i < scan->n_lanes; i++) {
        if (scan->lanes[i].key == key) {
            return &scan->lanes[i];
        }
    }
    if (scan->n_lanes == scan->cap_lanes) {
        size_t cap = scan->cap_lanes != 0 ? scan->cap_lanes * 2 : 8;
        struct weir_scan_lane *grown = weir_arena_array(scan->task->arena, cap, sizeof *grown);
        if (scan->n_lanes != 0) {
            memcpy(grown, scan->lanes, scan->n_lanes * sizeof *grown);
        }
        scan->lanes = grown;
        scan->cap_lanes = cap;
    }
    struct weir_scan_lane *lane = &scan->lanes[scan->n_lanes++];
    lane->key = key;
    return lane;
}

/* ---- making ---- */

static void cancel_all(struct weir_scan *scan)
{
    for (struct weir_scan_text *t = scan->texts; t != NULL; t = t->next) {
        for (struct weir_scan_cutting *c = t->cuttings; c != NULL; c = c->next) {
            weir_scan__cut_cancel(c);
        }
    }
    for (struct weir_scan_job *job = scan->jobs; job != NULL; job = job->next) {
        weir_detect_free(job->call);
        job->call = NULL;
    }
}

static void undo(void *ctx)
{
    weir_scan_cancel(ctx);
}

struct weir_scan *weir_scan_new(struct weir_task_ctx *task, weir_scan_done_fn on_done, void *ctx)
{
    struct weir_scan *scan = weir_arena_zalloc(task->arena, sizeof *scan);
    scan->task = task;
    scan->on_done = on_done;
    scan->ctx = ctx;
    scan->jobs_tail = &scan->jobs;
    weir_arena_defer(task->arena, undo, scan);
    return scan;
}

struct weir_scan_group *weir_scan_add_group(struct weir_scan *scan)
{
    struct weir_scan_group *group = weir_arena_zalloc(scan->task->arena, sizeof *group);
    group->scan = scan;
    return group;
}

static struct weir_scan_job *add_job(struct weir_scan_group *group, const struct weir_plan_use *use)
{
    struct weir_scan *scan = group->scan;
    struct weir_scan_job *job = weir_arena_zalloc(scan->task->arena, sizeof *job);
    job->group = group;
    job->use = use;
    *scan->jobs_tail = job;
    scan->jobs_tail = &job->next;
    scan->n_jobs_left++;
    return job;
}

void weir_scan_add_masked(struct weir_scan_group *group, const struct weir_plan *plan,
                          struct weir_slice text, const struct weir_scan_mask *masks,
                          size_t n_masks)
{
    struct weir_scan *scan = group->scan;
    struct weir_scan_text *t = weir_arena_zalloc(scan->task->arena, sizeof *t);
    *t = (struct weir_scan_text){
        .next = scan->texts, .text = text, .masks = masks, .n_masks = n_masks};
    scan->texts = t;
    for (size_t i = 0; i < plan->n; i++) {
        const struct weir_plan_use *use = &plan->uses[i];
        if (use->d->detector->type == WEIR_DETECT_CONTENTS) {
            struct weir_scan_job *job = add_job(group, use);
            job->cutting = weir_scan__cutting(scan, t, use->d->chunker);
        }
    }
}

void weir_scan_add_text(struct weir_scan_group *group, const struct weir_plan *plan,
                        struct weir_slice text)
{
    weir_scan_add_masked(group, plan, text, NULL, 0);
}

void weir_scan_add_whole(struct weir_scan_group *group, const struct weir_plan_use *use,
                         const struct weir_detect_input *input)
{
    struct weir_scan_job *job = add_job(group, use);
    job->input = *input;
}

/* ---- running ---- */

static void on_detected(void *ctx, struct weir_detect_call *call);

/* The chunks' texts as one list; the same for every detector on this cutting. */
static void use_contents(struct weir_scan_job *job)
{
    struct weir_scan_cutting *c = job->cutting;
    if (c->contents == NULL) {
        c->contents = weir_arena_array(c->scan->task->arena, c->n_chunks, sizeof *c->contents);
        for (size_t i = 0; i < c->n_chunks; i++) {
            c->contents[i] = c->chunks[i].text;
        }
    }
    job->input.contents = c->contents;
    job->input.n_contents = c->n_chunks;
}

static void finish_job(struct weir_scan *scan, struct weir_scan_job *job)
{
    job->is_done = true;
    scan->n_jobs_left--;
    weir_scan__lane(scan, job->use->d)->n_running--;
    if (job->call != NULL && job->call->fault.origin != WEIR_FAULT_NONE) {
        weir_scan__fail(scan, &job->call->fault);
    }
}

static void start_job(struct weir_scan *scan, struct weir_scan_job *job)
{
    const struct weir_task_ctx *task = scan->task;
    const struct weir_detector *detector = job->use->d->detector;
    weir_scan__lane(scan, job->use->d)->n_running++;
    job->is_queued = true;
    if (job->cutting != NULL) {
        use_contents(job);
        if (job->input.n_contents == 0) { /* nothing but white space: nothing to look at */
            finish_job(scan, job);
            return;
        }
    }
    job->input.type = detector->type;
    job->input.params = job->use->params;
    job->input.threshold = job->use->threshold;
    job->input.is_lenient = task->env->is_fms;
    struct weir_detect_env env = {.loop = task->loop,
                                  .client = task->client,
                                  .context = &task->call,
                                  .max_body_bytes = task->env->max_service_body_bytes};
    job->call = weir_detect_start(detector, &env, &job->input, on_detected, job);
    if (job->call->is_done) {
        finish_job(scan, job);
    }
}

static bool is_ready(const struct weir_scan *scan, const struct weir_scan_job *job)
{
    struct weir_scan_lane *lane = weir_scan__lane((struct weir_scan *)scan, job->use->d);
    bool has_chunks = job->cutting == NULL || job->cutting->n_open == 0;
    return !job->is_queued && has_chunks && lane->n_running < scan->task->env->max_detector_calls;
}

static void start_what_can(struct weir_scan *scan)
{
    for (struct weir_scan_text *t = scan->texts; t != NULL; t = t->next) {
        for (struct weir_scan_cutting *c = t->cuttings; c != NULL; c = c->next) {
            if (c->n_open != 0 && scan->fault.origin == WEIR_FAULT_NONE) {
                weir_scan__cut_start(c);
            }
        }
    }
    for (struct weir_scan_job *job = scan->jobs; job != NULL; job = job->next) {
        if (scan->fault.origin == WEIR_FAULT_NONE && is_ready(scan, job)) {
            start_job(scan, job);
        }
    }
}

void weir_scan__fail(struct weir_scan *scan, const struct weir_fault *fault)
{
    if (scan->fault.origin == WEIR_FAULT_NONE) {
        scan->fault = weir_fault_dup(scan->task->arena, fault);
    }
}

/* ---- findings ---- */

static void take_list(struct weir_scan_group *group, const struct weir_detect_list *list,
                      const struct weir_scan_chunk *chunk)
{
    for (size_t i = 0; i < list->n; i++) {
        struct weir_detection d = list->items[i];
        if (chunk != NULL && d.start_cp >= chunk->answers_cp) {
            continue;
        }
        if (chunk != NULL) {
            d.start_cp += chunk->start_cp;
            d.end_cp += chunk->start_cp;
            group->n_text_found++;
        }
        group->found[group->n_found++] = d;
    }
}

static size_t count_found(const struct weir_scan_job *job)
{
    size_t n = 0;
    for (size_t i = 0; job->call != NULL && i < job->call->n_lists; i++) {
        n += job->call->lists[i].n;
    }
    return n;
}

static int compare(const void *left, const void *right)
{
    return weir_order_compare(left, right);
}

static void collect_group(struct weir_scan *scan, struct weir_scan_group *group)
{
    size_t n = 0;
    for (struct weir_scan_job *job = scan->jobs; job != NULL; job = job->next) {
        n += job->group == group ? count_found(job) : 0;
    }
    group->found = weir_arena_array(scan->task->arena, n, sizeof *group->found);
    for (struct weir_scan_job *job = scan->jobs; job != NULL; job = job->next) {
        if (job->group != group || job->call == NULL) {
            continue;
        }
        for (size_t i = 0; i < job->call->n_lists; i++) {
            const struct weir_scan_chunk *chunk =
                job->cutting != NULL ? &job->cutting->chunks[i] : NULL;
            take_list(group, &job->call->lists[i], chunk);
        }
    }
    qsort(group->found, group->n_found, sizeof *group->found, compare);
}

static void collect(struct weir_scan *scan)
{
    for (struct weir_scan_job *job = scan->jobs; job != NULL; job = job->next) {
        if (job->group->found == NULL) {
            collect_group(scan, job->group);
        }
    }
}

/* ---- what happens next ---- */

void weir_scan__advance(struct weir_scan *scan)
{
    if (scan->is_busy || scan->is_done) {
        return;
    }
    scan->is_busy = true;
    size_t before;
    do { /* what answers at once makes room for what waits */
        before = scan->n_jobs_left;
        start_what_can(scan);
    } while (scan->n_jobs_left != before && scan->fault.origin == WEIR_FAULT_NONE);
    scan->is_busy = false;
    if (scan->fault.origin != WEIR_FAULT_NONE) {
        cancel_all(scan);
        scan->is_done = true;
    } else if (scan->n_jobs_left == 0) {
        collect(scan);
        scan->is_done = true;
    }
    if (scan->is_done) {
        scan->on_done(scan->ctx, scan);
    }
}

static void on_detected(void *ctx, struct weir_detect_call *call)
{
    struct weir_scan_job *job = ctx;
    struct weir_scan *scan = job->group->scan;
    (void)call;
    finish_job(scan, job);
    weir_scan__advance(scan);
}

static void on_post(struct weir_post *post)
{
    struct weir_scan *scan = WEIR_LIST_ENTRY(post, struct weir_scan, post);
    weir_scan__advance(scan);
}

/* Built-in detectors answer at once: the first step is posted, so that the owner is never called
 * back from inside its own call. */
void weir_scan_start(struct weir_scan *scan)
{
    scan->post.fn = on_post;
    weir_loop_post(scan->task->loop, &scan->post);
}

void weir_scan_cancel(struct weir_scan *scan)
{
    if (scan != NULL) {
        scan->is_done = true;
        weir_loop_unpost(&scan->post);
        cancel_all(scan);
    }
}

const struct weir_fault *weir_scan_fault(const struct weir_scan *scan)
{
    return scan->fault.origin != WEIR_FAULT_NONE ? &scan->fault : NULL;
}
