#include "task/scan.h"

#include "base/assert.h"
#include "base/err.h"
#include "task/open.h"
#include "task/order.h"
#include "task/scan_int.h"

#include <stdlib.h>

/* ---- lanes ---- */

struct weir_scan_lane *weir_scan__lane(struct weir_scan *scan, const void *key, unsigned max)
{
    struct weir_scan_lane **at = &scan->lanes;
    while (*at != NULL && (*at)->key != key) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = weir_arena_zalloc(scan->task->arena, sizeof **at);
        (*at)->key = key;
        (*at)->max_running = max;
    }
    return *at;
}

static void look_at_lane(struct weir_scan *scan, struct weir_scan_lane *lane)
{
    if (!weir_list_is_linked(&lane->link)) {
        weir_list_append(&scan->lanes_to_run, &lane->link);
    }
}

void weir_scan__wait(struct weir_scan *scan, struct weir_scan_lane *lane, struct weir_list *link)
{
    weir_list_append(&lane->waiting, link);
    look_at_lane(scan, lane);
}

void weir_scan__leave(struct weir_scan *scan, struct weir_scan_lane *lane)
{
    lane->n_running--;
    look_at_lane(scan, lane);
}

/* ---- making ---- */

static void cancel_all(struct weir_scan *scan)
{
    for (struct weir_scan_text *t = scan->texts; t != NULL; t = t->next) {
        for (struct weir_scan_cutting *c = t->cuttings; c != NULL; c = c->next) {
            weir_scan__cut_cancel(c);
        }
    }
    for (struct weir_scan_group *g = scan->groups; g != NULL; g = g->next) {
        for (struct weir_scan_job *job = g->jobs; job != NULL; job = job->next) {
            weir_detect_free(job->call);
            job->call = NULL;
        }
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
    scan->texts_tail = &scan->texts;
    scan->groups_tail = &scan->groups;
    weir_arena_defer(task->arena, undo, scan);
    return scan;
}

struct weir_scan_group *weir_scan_add_group(struct weir_scan *scan)
{
    struct weir_scan_group *group = weir_arena_zalloc(scan->task->arena, sizeof *group);
    group->scan = scan;
    group->jobs_tail = &group->jobs;
    *scan->groups_tail = group;
    scan->groups_tail = &group->next;
    return group;
}

static struct weir_scan_job *add_job(struct weir_scan_group *group, const struct weir_plan_use *use)
{
    struct weir_scan *scan = group->scan;
    struct weir_scan_job *job = weir_arena_zalloc(scan->task->arena, sizeof *job);
    job->group = group;
    job->use = use;
    job->lane = weir_scan__lane(scan, use->d, scan->task->env->max_detector_calls);
    *group->jobs_tail = job;
    group->jobs_tail = &job->next;
    scan->n_jobs_left++;
    return job;
}

void weir_scan_add_masked(struct weir_scan_group *group, const struct weir_plan *plan,
                          struct weir_slice text, const struct weir_scan_mask *masks,
                          size_t n_masks)
{
    struct weir_scan *scan = group->scan;
    struct weir_scan_text *t = weir_arena_zalloc(scan->task->arena, sizeof *t);
    *t = (struct weir_scan_text){.text = text, .masks = masks, .n_masks = n_masks};
    *scan->texts_tail = t;
    scan->texts_tail = &t->next;
    for (size_t i = 0; i < plan->n; i++) {
        const struct weir_plan_use *use = &plan->uses[i];
        if (use->d->detector->type == WEIR_DETECT_CONTENTS) {
            struct weir_scan_job *job = add_job(group, use);
            job->cutting = weir_scan__cutting(scan, t, use->d->chunker);
            *job->cutting->jobs_tail = job;
            job->cutting->jobs_tail = &job->next_waiting;
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
        c->before = weir_arena_array(c->scan->task->arena, c->n_chunks, sizeof *c->before);
        for (size_t i = 0; i < c->n_chunks; i++) {
            c->contents[i] = c->chunks[i].text;
            c->before[i] = c->chunks[i].n_before;
        }
    }
    job->input.contents = c->contents;
    job->input.before = c->before;
    job->input.n_contents = c->n_chunks;
}

static void note_verdict(const struct weir_scan *scan, const struct weir_scan_job *job)
{
    const struct weir_task_trace *trace = scan->task->trace;
    bool has_answer = job->call != NULL && job->call->fault.origin == WEIR_FAULT_NONE;
    if (trace != NULL && has_answer && job->group->watched.kind == WEIR_TASK_STEP_VERDICT) {
        struct weir_task_step step = job->group->watched;
        step.detector = job->use->d->id;
        step.took_us = trace->now_us() - job->sent_us;
        trace->note(trace, &step);
    }
}

static void finish_job(struct weir_scan *scan, struct weir_scan_job *job)
{
    scan->n_jobs_left--;
    note_verdict(scan, job);
    weir_scan__leave(scan, job->lane);
    if (job->call != NULL && job->call->fault.origin != WEIR_FAULT_NONE) {
        weir_scan__fail(scan, &job->call->fault);
    }
}

static void start_job(struct weir_scan *scan, struct weir_scan_job *job)
{
    const struct weir_task_ctx *task = scan->task;
    const struct weir_detector *detector = job->use->d->detector;
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
    job->input.is_piece = job->cutting != NULL && !task->env->is_fms;
    job->input.is_lenient = task->env->is_fms;
    struct weir_detect_env env = {.loop = task->loop,
                                  .client = task->client,
                                  .context = &task->call,
                                  .max_body_bytes = task->env->max_service_body_bytes};
    job->sent_us = task->trace != NULL ? task->trace->now_us() : 0;
    job->call = weir_detect_start(detector, &env, &job->input, on_detected, job);
    if (job->call->is_done) {
        finish_job(scan, job);
    }
}

void weir_scan__cut_done(struct weir_scan_cutting *c)
{
    for (struct weir_scan_job *job = c->jobs; job != NULL; job = job->next_waiting) {
        weir_scan__wait(c->scan, job->lane, &job->link);
    }
}

static void run_lane(struct weir_scan *scan, struct weir_scan_lane *lane)
{
    while (lane->n_running < lane->max_running && !weir_list_is_empty(&lane->waiting) &&
           scan->fault.origin == WEIR_FAULT_NONE) {
        struct weir_list *first = lane->waiting.next;
        weir_list_remove(first);
        lane->n_running++;
        if (lane->has_pieces) {
            weir_scan__piece_start(WEIR_LIST_ENTRY(first, struct weir_scan_piece, link));
        } else {
            start_job(scan, WEIR_LIST_ENTRY(first, struct weir_scan_job, link));
        }
    }
}

/* Until nothing more can start: what is done at once makes room for what waits. */
static void run_lanes(struct weir_scan *scan)
{
    while (!weir_list_is_empty(&scan->lanes_to_run) && scan->fault.origin == WEIR_FAULT_NONE) {
        struct weir_list *first = scan->lanes_to_run.next;
        weir_list_remove(first);
        run_lane(scan, WEIR_LIST_ENTRY(first, struct weir_scan_lane, link));
    }
}

/* The first step: all texts to their chunkers, all wholes to their detectors. */
static void queue_all(struct weir_scan *scan)
{
    for (struct weir_scan_text *t = scan->texts; t != NULL; t = t->next) {
        for (struct weir_scan_cutting *c = t->cuttings; c != NULL; c = c->next) {
            weir_scan__cut_start(c);
        }
    }
    for (struct weir_scan_group *g = scan->groups; g != NULL; g = g->next) {
        for (struct weir_scan_job *job = g->jobs; job != NULL; job = job->next) {
            if (job->cutting == NULL) {
                weir_scan__wait(scan, job->lane, &job->link);
            }
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

/* Of a detector that looks at the whole. */
static void take_list(struct weir_scan_group *group, const struct weir_detect_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        group->found[group->n_found++] = list->items[i];
    }
}

/* Of one that looks at chunks: what is longer than one goes on in the next. */
static void take_chunks(struct weir_scan_group *group, const struct weir_scan_job *job)
{
    struct weir_arena *arena = group->scan->task->arena;
    struct weir_open open;
    for (size_t i = 0; i < job->call->n_lists; i++) {
        const struct weir_scan_chunk *c = &job->cutting->chunks[i];
        if (c->is_first) {
            weir_open_init(&open, arena);
        }
        struct weir_open_chunk chunk = {.text = c->text,
                                        .start_cp = c->start_cp,
                                        .answers_cp = c->answers_cp,
                                        .list = &job->call->lists[i]};
        size_t n = weir_open_take(&open, &chunk, group->found + group->n_found);
        group->n_found += n;
        group->n_text_found += n;
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

/* How many that can become: one more per chunk may go on from the last. */
static size_t room_for(const struct weir_scan_job *job)
{
    size_t n = count_found(job);
    return n != 0 && job->cutting != NULL ? n + job->call->n_lists : n;
}

/* Findings that rank the same stay as their detector gave them: the order never depends on how the
 * sorting goes. */
static int compare(const void *left, const void *right)
{
    const struct weir_detection *a = *(const struct weir_detection *const *)left;
    const struct weir_detection *b = *(const struct weir_detection *const *)right;
    int c = weir_order_compare(a, b);
    return c != 0 ? c : (a > b) - (a < b);
}

static void sort_group(struct weir_scan_group *group)
{
    struct weir_arena *arena = group->scan->task->arena;
    size_t n = group->n_found;
    const struct weir_detection **order = weir_arena_array(arena, n, sizeof *order);
    struct weir_detection *sorted = weir_arena_array(arena, n, sizeof *sorted);
    for (size_t i = 0; i < n; i++) {
        order[i] = &group->found[i];
    }
    qsort(order, n, sizeof *order, compare);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = *order[i];
    }
    group->found = sorted;
}

static void collect_group(struct weir_scan *scan, struct weir_scan_group *group)
{
    size_t n = 0;
    for (struct weir_scan_job *job = group->jobs; job != NULL; job = job->next) {
        n += room_for(job);
    }
    if (n == 0) {
        return;
    }
    group->found = weir_arena_array(scan->task->arena, n, sizeof *group->found);
    for (struct weir_scan_job *job = group->jobs; job != NULL; job = job->next) {
        if (count_found(job) != 0 && job->cutting != NULL) {
            take_chunks(group, job);
        } else if (count_found(job) != 0) {
            take_list(group, &job->call->lists[0]);
        }
    }
    if (group->n_found > 1) {
        sort_group(group);
    }
}

static void collect(struct weir_scan *scan)
{
    for (struct weir_scan_group *g = scan->groups; g != NULL; g = g->next) {
        collect_group(scan, g);
    }
}

/* ---- what happens next ---- */

void weir_scan__advance(struct weir_scan *scan)
{
    if (scan->is_busy || scan->is_done) {
        return;
    }
    scan->is_busy = true;
    run_lanes(scan);
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
    queue_all(scan);
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
