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
    size_t n_left;
    struct weir_post post; /* to answer outside of start */
    const struct weir_fault *fault;
};

static struct weir_slice write_answer(const struct contents *c)
{
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_array(&w);
    for (size_t i = 0; i < c->request.n_contents; i++) {
        weir_json_write_begin_array(&w);
        for (size_t k = 0; k < c->request.plan.n; k++) {
            const struct weir_detect_list *list = &c->jobs[k].call->lists[i];
            for (size_t n = 0; n < list->n; n++) {
                weir_results_write_one(&w, WEIR_RESULTS_CONTENT, &list->items[n]);
            }
        }
        weir_json_write_end_array(&w);
    }
    weir_json_write_end_array(&w);
    weir_json_write_finish(&w);
    struct weir_slice body = weir_arena_dup(c->task->arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return body;
}

static void on_all_done(struct weir_post *post)
{
    struct contents *c = WEIR_LIST_ENTRY(post, struct contents, post);
    struct weir_task_answer answer = {.fault = c->fault};
    if (answer.fault == NULL) {
        answer.body = write_answer(c);
    }
    c->done(c->ctx, &answer);
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
    if (c->fault != NULL || c->n_left == 0) {
        weir_loop_post(c->task->loop, &c->post);
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

static void unpost(void *ctx)
{
    weir_loop_unpost(ctx);
}

static void start_job(struct contents *c, struct job *job, const struct weir_plan_use *use)
{
    struct weir_detect_env env = {.loop = c->task->loop,
                                  .client = c->task->client,
                                  .context = &c->task->call,
                                  .max_body_bytes = c->task->env->max_service_body_bytes};
    job->all = c;
    job->input = (struct weir_detect_input){.type = WEIR_DETECT_CONTENTS,
                                            .contents = c->request.contents,
                                            .n_contents = c->request.n_contents,
                                            .params = use->params,
                                            .threshold = use->threshold,
                                            .is_lenient = c->task->env->is_fms};
    job->call = weir_detect_start(use->d->detector, &env, &job->input, on_detected, job);
    weir_arena_defer(c->task->arena, free_call, job->call);
    if (job->call->is_done) {
        take(c, job->call);
    }
}

void weir_task_contents_start(struct weir_task_ctx *task, const struct weir_task_contents *request,
                              weir_task_done_fn done, void *ctx)
{
    struct contents *c = weir_arena_zalloc(task->arena, sizeof *c);
    *c = (struct contents){.task = task, .request = *request, .done = done, .ctx = ctx};
    c->n_left = request->plan.n;
    c->jobs = weir_arena_array(task->arena, request->plan.n, sizeof *c->jobs);
    c->post.fn = on_all_done;
    weir_arena_defer(task->arena, unpost, &c->post);
    for (size_t i = 0; i < request->plan.n && c->fault == NULL; i++) {
        start_job(c, &c->jobs[i], &request->plan.uses[i]);
    }
}
