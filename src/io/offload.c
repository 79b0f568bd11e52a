/*
 * libuv's pool does the work; here is only the promise about which callback ends a job. A cancel
 * that comes too late for uv_cancel is remembered and turns done into dropped.
 */
#include "io/offload.h"

#include "base/assert.h"

static void on_work(uv_work_t *req)
{
    struct weir_offload *job = req->data;
    if (!weir_offload_is_cancelled(job)) {
        job->work(job->ctx);
    }
}

static void on_end(uv_work_t *req, int status)
{
    (void)status; /* only ever says that uv_cancel came in time */
    struct weir_offload *job = req->data;
    void (*fn)(void *ctx) = weir_offload_is_cancelled(job) ? job->dropped : job->done;
    if (fn != NULL) {
        fn(job->ctx);
    }
}

void weir_offload(struct weir_loop *loop, struct weir_offload *job)
{
    job->req.data = job;
    __atomic_store_n(&job->is_cancelled, false, __ATOMIC_RELAXED);
    WEIR_ASSERT(uv_queue_work(&loop->uv, &job->req, on_work, on_end) == 0);
}

void weir_offload_cancel(struct weir_offload *job)
{
    __atomic_store_n(&job->is_cancelled, true, __ATOMIC_RELAXED);
    uv_cancel((uv_req_t *)&job->req);
}

bool weir_offload_is_cancelled(const struct weir_offload *job)
{
    return __atomic_load_n(&job->is_cancelled, __ATOMIC_RELAXED);
}
