#include "task/detection.h"

#include "task/results.h"
#include "task/scan.h"

struct detection {
    struct weir_task_ctx *task;
    struct weir_task_detection request;
    struct weir_scan_group *group;
    weir_task_done_fn done;
    void *ctx;
};

/* The findings are written into the answer where they stand. */
static struct weir_slice end_answer(const struct detection *d)
{
    weir_buf_append(&d->group->results, WEIR_SLICE("]}"));
    return weir_arena_take_buf(d->task->arena, &d->group->results);
}

static void on_scanned(void *ctx, struct weir_scan *scan)
{
    struct detection *d = ctx;
    struct weir_task_answer answer = {.fault = weir_scan_fault(scan)};
    if (answer.fault == NULL) {
        answer.body = end_answer(d);
    }
    d->done(d->ctx, &answer);
}

void weir_task_detection_start(struct weir_task_ctx *task,
                               const struct weir_task_detection *request, weir_task_done_fn done,
                               void *ctx)
{
    struct detection *d = weir_arena_zalloc(task->arena, sizeof *d);
    *d = (struct detection){.task = task, .request = *request, .done = done, .ctx = ctx};
    struct weir_scan *scan = weir_scan_new(task, on_scanned, d);
    bool has_spans = request->type == WEIR_DETECT_CONTENTS;
    d->group = weir_scan_add_group(scan, has_spans ? WEIR_RESULTS_CONTENT : WEIR_RESULTS_WHOLE);
    weir_buf_append(&d->group->results, WEIR_SLICE("{\"detections\":["));
    if (has_spans) {
        weir_scan_add_text(d->group, &d->request.plan, request->content);
    } else {
        for (size_t i = 0; i < d->request.plan.n; i++) {
            weir_scan_add_whole(d->group, &d->request.plan.uses[i], &request->whole);
        }
    }
    weir_scan_start(scan);
}
