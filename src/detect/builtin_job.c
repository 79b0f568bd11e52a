/*
 * Heavy work on another thread. The job owns copies of all it looks at: a caller that goes away
 * frees its contents and even the configuration while the thread may still read.
 *
 *   start (copies) ─► work: scan ─► on_done: tell the call
 *                  └─ free ─► on_dropped: the job frees itself
 */
#include "base/err.h"
#include "base/mem.h"
#include "detect/builtin_int.h"

#include <stdint.h>
#include <stdlib.h>

struct weir_builtin_job {
    struct weir_offload offload;
    struct weir_builtin_made *made;
    struct weir_builtin_scan scan;
    struct weir_arena arena; /* of the copies and of what is found */
    int rc;
    struct weir_buf why;
    bool is_over;
    weir_builtin_job_fn fn;
    void *ctx;
};

static void destroy(void *ctx)
{
    struct weir_builtin_job *job = ctx;
    weir_builtin__unref(job->made);
    weir_buf_dispose(&job->why);
    weir_arena_dispose(&job->arena);
    free(job);
}

static void work(void *ctx)
{
    struct weir_builtin_job *job = ctx;
    const char *why = NULL;
    job->rc = weir_builtin__scan(&job->scan, &why);
    if (job->rc != 0) {
        weir_buf_append(&job->why, weir_slice_cstr(why));
    }
}

static void on_done(void *ctx)
{
    struct weir_builtin_job *job = ctx;
    job->is_over = true;
    job->fn(job->ctx, job);
}

static bool lies_in(struct weir_slice part, struct weir_slice whole)
{
    uintptr_t from = (uintptr_t)whole.p;
    uintptr_t at = (uintptr_t)part.p;
    return at >= from && at - from <= whole.n && part.n <= whole.n - (at - from);
}

/* Chunks may be many and overlap: what they are slices of is copied once instead. */
static const struct weir_slice *
copy_contents(struct weir_arena *arena, const struct weir_detect_input *input, const size_t *before)
{
    struct weir_slice *contents = weir_arena_alloc(arena, input->n_contents * sizeof *contents);
    struct weir_slice within = weir_arena_dup(arena, input->within);
    for (size_t i = 0; i < input->n_contents; i++) {
        struct weir_slice c = input->contents[i];
        c = weir_slice_make(c.p - before[i], c.n + before[i]);
        struct weir_slice copy = lies_in(c, input->within)
                                     ? weir_slice_make(within.p + (c.p - input->within.p), c.n)
                                     : weir_arena_dup(arena, c);
        contents[i] = weir_slice_sub(copy, before[i], copy.n);
    }
    return contents;
}

static void copy_input(struct weir_builtin_job *job, const struct weir_builtin *b,
                       const struct weir_detect_input *input)
{
    size_t *before = weir_arena_array(&job->arena, input->n_contents, sizeof *before);
    if (input->before != NULL && input->n_contents != 0) {
        memcpy(before, input->before, input->n_contents * sizeof *before);
    }
    const struct weir_slice *contents = copy_contents(&job->arena, input, before);
    job->scan = (struct weir_builtin_scan){
        .made = job->made,
        .detector_id = b->base.id, /* passed on, not looked at */
        .contents = contents,
        .before = before,
        .n_contents = input->n_contents,
        .is_piece = input->is_piece,
        .threshold = input->threshold,
        .job = &job->offload,
        .arena = &job->arena,
        .lists = weir_arena_array(&job->arena, input->n_contents, sizeof *job->scan.lists),
    };
}

struct weir_builtin_job *weir_builtin__job_start(const struct weir_builtin *b,
                                                 struct weir_builtin_made *made,
                                                 struct weir_loop *loop,
                                                 const struct weir_detect_input *input,
                                                 weir_builtin_job_fn fn, void *ctx)
{
    struct weir_builtin_job *job = weir_mem_zalloc(sizeof *job);
    job->made = weir_builtin__ref(made);
    job->fn = fn;
    job->ctx = ctx;
    copy_input(job, b, input);
    job->offload =
        (struct weir_offload){.work = work, .done = on_done, .dropped = destroy, .ctx = job};
    weir_offload(loop, &job->offload);
    return job;
}

int weir_builtin__job_result(const struct weir_builtin_job *job, struct weir_slice *why,
                             const struct weir_detect_list **lists)
{
    *why = weir_buf_slice(&job->why);
    *lists = job->scan.lists;
    return job->rc;
}

void weir_builtin__job_free(struct weir_builtin_job *job)
{
    if (job->is_over) {
        destroy(job);
    } else {
        weir_offload_cancel(&job->offload);
    }
}
