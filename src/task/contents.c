#include "task/contents.h"

#include "io/loop.h"
#include "task/results.h"

struct contents;

/* One detector on all contents. */
struct job {
    struct contents *all;
    struct weir_detect_input input;
    struct weir_detect_call *call;
};

struct contents {
    struct weir_task_ctx *task;
    struct weir_task_contents request;
    weir_task_done_fn done;
    void *ctx;
    struct job *jobs; /* as the plan's uses */
    size_t n_started;
    size_t n_left;
    struct weir_post post;  /* to answer outside of start, in steps */
    struct weir_post start; /* the next detector: it may have to copy all contents */
    const struct weir_fault *fault;
    struct weir_buf out;
    struct weir_json_write w;
    size_t at_content; /* what is written next: of this content … */
    size_t at_job;     /* … by this detector … */
    size_t at_item;    /* … the finding */
};

/* Findings and lists written before others have their turn. */
enum { STEP = 512 };

static void begin_answer(struct contents *c)
{
    weir_json_write_init(&c->w, &c->out);
    weir_json_write_begin_array(&c->w);
    weir_json_write_begin_array(&c->w);
}

/* The next finding; where a list has none left, the next list. */
static void write_next(struct contents *c)
{
    const struct weir_detect_list *list = &c->jobs[c->at_job].call->lists[c->at_content];
    if (c->at_item < list->n) {
        weir_results_write_one(&c->w, WEIR_RESULTS_CONTENT, &list->items[c->at_item++]);
        return;
    }
    c->at_item = 0;
    if (++c->at_job < c->request.plan.n) {
        return;
    }
    c->at_job = 0;
    weir_json_write_end_array(&c->w);
    if (++c->at_content < c->request.n_contents) {
        weir_json_write_begin_array(&c->w);
    }
}

static void answer(struct contents *c)
{
    struct weir_task_answer answer = {.fault = c->fault};
    if (answer.fault == NULL) {
        weir_json_write_end_array(&c->w);
        weir_json_write_finish(&c->w);
        answer.body = weir_arena_take_buf(c->task->arena, &c->out);
    }
    c->done(c->ctx, &answer);
}

static void on_step(struct weir_post *post)
{
    struct contents *c = WEIR_LIST_ENTRY(post, struct contents, post);
    for (size_t i = 0; i < STEP && c->fault == NULL && c->at_content < c->request.n_contents; i++) {
        write_next(c);
    }
    if (c->fault == NULL && c->at_content < c->request.n_contents) {
        weir_loop_step(c->task->loop, &c->post);
    } else {
        answer(c);
    }
}

/* A detector has answered; the last one, or the first that failed, ends it all. */
static void take(struct contents *c, const struct weir_detect_call *call)
{
    c->n_left--;
    if (c->fault != NULL) {
        return;
    }
    if (call->fault.origin != WEIR_FAULT_NONE) {
        c->fault = weir_fault_keep(c->task->arena, &call->fault);
    }
    if (c->fault == NULL && c->n_left == 0) {
        begin_answer(c);
    }
    if (c->fault != NULL || c->n_left == 0) {
        weir_loop_step(c->task->loop, &c->post);
    }
}

static void on_detected(void *ctx, struct weir_detect_call *call)
{
    struct job *job = ctx;
    take(job->all, call);
}

static void free_call(void *ctx)
{
    weir_detect_free(ctx);
}

static void undo(void *ctx)
{
    struct contents *c = ctx;
    weir_loop_unpost(&c->post);
    weir_loop_unpost(&c->start);
    weir_buf_dispose(&c->out);
}

static void start_job(struct contents *c, struct job *job, const struct weir_plan_use *use)
{
    struct weir_detect_env env = weir_task_detect_env(c->task);
    job->all = c;
    job->input = (struct weir_detect_input){.type = WEIR_DETECT_CONTENTS,
                                            .contents = c->request.contents,
                                            .n_contents = c->request.n_contents,
                                            .within = c->request.within,
                                            .params = use->params,
                                            .threshold = use->threshold,
                                            .is_lenient = c->task->env->compat.is_lenient};
    job->call = weir_detect_start(use->d->detector, &env, &job->input, on_detected, job);
    weir_arena_defer(c->task->arena, free_call, job->call);
    if (job->call->is_done) {
        take(c, job->call);
    }
}

static void on_start(struct weir_post *start)
{
    struct contents *c = WEIR_LIST_ENTRY(start, struct contents, start);
    size_t i = c->n_started++;
    start_job(c, &c->jobs[i], &c->request.plan.uses[i]);
    if (c->n_started < c->request.plan.n && c->fault == NULL) {
        weir_loop_step(c->task->loop, &c->start);
    }
}

void weir_task_contents_start(struct weir_task_ctx *task, const struct weir_task_contents *request,
                              weir_task_done_fn done, void *ctx)
{
    struct contents *c = weir_arena_zalloc(task->arena, sizeof *c);
    *c = (struct contents){.task = task, .request = *request, .done = done, .ctx = ctx};
    c->n_left = request->plan.n;
    c->jobs = weir_arena_array(task->arena, request->plan.n, sizeof *c->jobs);
    c->post.fn = on_step;
    c->start.fn = on_start;
    weir_arena_defer(task->arena, undo, c);
    on_start(&c->start);
}
