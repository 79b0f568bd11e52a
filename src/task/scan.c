#include "task/scan.h"

#include "base/assert.h"
#include "base/err.h"
#include "task/scan_int.h"

/* Before others have their turn so much text is given to detectors, counted once for each; a call
 * costs something by itself. */
enum { STEP_BYTES = 16 * 1024, CALL_BYTES = 64 };

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
    struct weir_scan *scan = ctx;
    weir_scan_cancel(scan);
    for (struct weir_scan_group *g = scan->groups; g != NULL; g = g->next) {
        weir_buf_dispose(&g->results);
    }
}

static void on_step(struct weir_post *step);

struct weir_scan *weir_scan_new(struct weir_task_ctx *task, weir_scan_done_fn on_done, void *ctx)
{
    struct weir_scan *scan = weir_arena_zalloc(task->arena, sizeof *scan);
    scan->task = task;
    scan->on_done = on_done;
    scan->ctx = ctx;
    scan->texts_tail = &scan->texts;
    scan->groups_tail = &scan->groups;
    scan->left_bytes = STEP_BYTES;
    scan->step.fn = on_step;
    weir_arena_defer(task->arena, undo, scan);
    return scan;
}

struct weir_scan_group *weir_scan_add_group(struct weir_scan *scan, enum weir_results_shape shape)
{
    struct weir_scan_group *group = weir_arena_zalloc(scan->task->arena, sizeof *group);
    group->scan = scan;
    group->shape = shape;
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
    scan->n_local_left += !use->is_remote;
    return job;
}

void weir_scan_share(struct weir_scan *scan)
{
    scan->has_shares = true;
}

/* The job joins the others of the same use, if they are asked together. */
static void join_share(struct weir_scan *scan, struct weir_scan_job *job)
{
    if (!scan->has_shares || !job->use->d->detector->takes_many) {
        return;
    }
    struct weir_scan_share **at = &scan->shares;
    while (*at != NULL && (*at)->use->d != job->use->d) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = weir_arena_zalloc(scan->task->arena, sizeof **at);
        (*at)->use = job->use;
        (*at)->jobs_tail = &(*at)->jobs;
    }
    job->share = *at;
    *job->share->jobs_tail = job;
    job->share->jobs_tail = &job->next_shared;
    job->share->n_uncut++;
    job->share->n_bytes += job->cutting->text->text.n;
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
            join_share(scan, job);
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
    job->input.within = c->text->text;
}

/* The chunks of all texts that are asked about together, one after the other. */
static void use_shared_contents(struct weir_scan_job *first)
{
    struct weir_arena *arena = first->group->scan->task->arena;
    size_t n = 0;
    for (struct weir_scan_job *job = first; job != NULL; job = job->next_shared) {
        n += job->cutting->n_chunks;
    }
    struct weir_slice *contents = weir_arena_array(arena, n, sizeof *contents);
    size_t *before = weir_arena_array(arena, n, sizeof *before);
    size_t at = 0;
    for (struct weir_scan_job *job = first; job != NULL; job = job->next_shared) {
        const struct weir_scan_cutting *c = job->cutting;
        for (size_t i = 0; i < c->n_chunks; i++, at++) {
            contents[at] = c->chunks[i].text;
            before[at] = c->chunks[i].n_before;
        }
    }
    first->input.contents = contents;
    first->input.before = before;
    first->input.n_contents = n;
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

/* Takes its part of the lists. */
static void take_lists(struct weir_scan *scan, struct weir_scan_job *job,
                       const struct weir_detect_list *lists, size_t n)
{
    scan->n_jobs_left--;
    job->lists = lists;
    job->n_lists = n;
    for (size_t i = 0; i < n; i++) {
        job->n_found += lists[i].n;
    }
    if (!job->use->is_remote) {
        scan->n_local_left--;
        scan->n_local_found += job->n_found;
    }
}

/* Deals the lists out to those who asked. A failed call has none: the scan is over, or the detector
 * is skipped. */
static void take_shared(struct weir_scan *scan, struct weir_scan_job *first)
{
    const struct weir_detect_call *call = first->call;
    bool has_lists = call != NULL && call->fault.origin == WEIR_FAULT_NONE;
    size_t at = 0;
    for (struct weir_scan_job *job = first; job != NULL; job = job->next_shared) {
        size_t n = has_lists ? job->cutting->n_chunks : 0;
        WEIR_ASSERT(!has_lists || at + n <= call->n_lists);
        take_lists(scan, job, has_lists ? call->lists + at : NULL, n);
        at += n;
    }
}

static void finish_job(struct weir_scan *scan, struct weir_scan_job *job)
{
    const struct weir_fault *fault = job->call != NULL ? &job->call->fault : NULL;
    if (job->share != NULL) {
        take_shared(scan, job);
    } else {
        bool has_lists = job->call != NULL;
        take_lists(scan, job, has_lists ? job->call->lists : NULL,
                   has_lists ? job->call->n_lists : 0);
    }
    note_verdict(scan, job);
    weir_scan__leave(scan, job->lane);
    if (fault != NULL && fault->origin != WEIR_FAULT_NONE &&
        !weir_skips_take(scan->task, job->use->d, fault)) {
        weir_scan__fail(scan, fault);
    }
}

static void start_job(struct weir_scan *scan, struct weir_scan_job *job)
{
    const struct weir_task_ctx *task = scan->task;
    const struct weir_detector *detector = job->use->d->detector;
    if (job->cutting != NULL) {
        if (job->share != NULL) {
            use_shared_contents(job);
        } else {
            use_contents(job);
        }
        if (job->input.n_contents == 0) { /* nothing but white space: nothing to look at */
            finish_job(scan, job);
            return;
        }
    }
    job->input.type = detector->type;
    job->input.params = job->use->params;
    job->input.threshold = job->use->threshold;
    job->input.is_piece =
        job->cutting != NULL && !task->env->compat.asks_of_pieces && !job->use->d->reads_along;
    job->input.is_lenient = task->env->compat.is_lenient;
    struct weir_detect_env env = weir_task_detect_env(task);
    job->sent_us = task->trace != NULL ? task->trace->now_us() : 0;
    job->call = weir_detect_start(detector, &env, &job->input, on_detected, job);
    if (job->call->is_done) {
        finish_job(scan, job);
    }
}

void weir_scan__cut_done(struct weir_scan_cutting *c)
{
    for (struct weir_scan_job *job = c->jobs; job != NULL; job = job->next_waiting) {
        if (job->share == NULL) {
            weir_scan__wait(c->scan, job->lane, &job->link);
        } else if (--job->share->n_uncut == 0) {
            weir_scan__wait(c->scan, job->lane, &job->share->jobs->link);
        }
    }
}

static bool can_start(const struct weir_scan *scan, const struct weir_scan_lane *lane)
{
    return lane->n_running < lane->max_running && !weir_list_is_empty(&lane->waiting) &&
           scan->fault.origin == WEIR_FAULT_NONE;
}

/* Starting a call is work on all of its text: it is looked at here, copied or written down. */
static void charge(struct weir_scan *scan, size_t n_bytes)
{
    size_t cost = n_bytes + CALL_BYTES;
    scan->left_bytes -= cost < scan->left_bytes ? cost : scan->left_bytes;
}

static void run_lane(struct weir_scan *scan, struct weir_scan_lane *lane)
{
    while (scan->left_bytes != 0 && can_start(scan, lane)) {
        struct weir_list *first = lane->waiting.next;
        weir_list_remove(first);
        lane->n_running++;
        if (lane->has_pieces) {
            charge(scan, 0);
            weir_scan__piece_start(WEIR_LIST_ENTRY(first, struct weir_scan_piece, link));
        } else {
            struct weir_scan_job *job = WEIR_LIST_ENTRY(first, struct weir_scan_job, link);
            charge(scan, job->share != NULL     ? job->share->n_bytes
                         : job->cutting != NULL ? job->cutting->text->text.n
                                                : 0);
            start_job(scan, job);
        }
    }
    if (can_start(scan, lane)) {
        look_at_lane(scan, lane);
    }
}

/* Until nothing more can start in this step: what is done at once makes room for what waits. */
static void run_lanes(struct weir_scan *scan)
{
    while (!weir_list_is_empty(&scan->lanes_to_run) && scan->left_bytes != 0 &&
           scan->fault.origin == WEIR_FAULT_NONE) {
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

/* ---- what happens next ---- */

void weir_scan_on_local(struct weir_scan *scan, weir_scan_local_fn fn, void *ctx)
{
    scan->on_local = fn;
    scan->local_ctx = ctx;
}

/* Services are still at work, and nobody else is. */
static void tell_local(struct weir_scan *scan)
{
    weir_scan_local_fn fn = scan->on_local;
    if (fn != NULL && scan->n_local_left == 0) {
        scan->on_local = NULL;
        fn(scan->local_ctx, scan->n_local_found);
    }
}

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
        scan->is_done = weir_scan__finish_some(scan);
    }
    if (scan->is_done) {
        scan->on_done(scan->ctx, scan);
        return;
    }
    if (scan->n_jobs_left == 0 || !weir_list_is_empty(&scan->lanes_to_run)) {
        weir_loop_step(scan->task->loop, &scan->step);
    }
    tell_local(scan);
}

static void on_step(struct weir_post *step)
{
    struct weir_scan *scan = WEIR_LIST_ENTRY(step, struct weir_scan, step);
    scan->left_bytes = STEP_BYTES;
    weir_scan__advance(scan);
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
        weir_loop_unpost(&scan->step);
        cancel_all(scan);
    }
}

const struct weir_fault *weir_scan_fault(const struct weir_scan *scan)
{
    return scan->fault.origin != WEIR_FAULT_NONE ? &scan->fault : NULL;
}

void weir_scan_write_results(struct weir_json_write *w, const struct weir_scan_group *group)
{
    weir_json_write_begin_array(w);
    if (group->results.n != 0) {
        weir_json_write_raw(w, weir_buf_slice(&group->results));
    }
    weir_json_write_end_array(w);
}
