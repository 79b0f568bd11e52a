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

static struct weir_slice write_answer(const struct detection *d)
{
    struct weir_buf out = {0};
    struct weir_json_write w;
    bool has_spans = d->request.type == WEIR_DETECT_CONTENTS;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("detections"));
    weir_results_write(&w, has_spans ? WEIR_RESULTS_CONTENT : WEIR_RESULTS_WHOLE, d->group->found,
                       d->group->n_found);
    weir_json_write_end_object(&w);
    struct weir_slice body = weir_arena_dup(d->task->arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return body;
}

static void on_scanned(void *ctx, struct weir_scan *scan)
{
    struct detection *d = ctx;
    struct weir_task_answer answer = {.fault = weir_scan_fault(scan)};
    if (answer.fault == NULL) {
        answer.body = write_answer(d);
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
    d->group = weir_scan_add_group(scan);
    if (request->type == WEIR_DETECT_CONTENTS) {
        weir_scan_add_text(d->group, &d->request.plan, request->content);
    } else {
        for (size_t i = 0; i < d->request.plan.n; i++) {
            weir_scan_add_whole(d->group, &d->request.plan.uses[i], &request->whole);
        }
    }
    weir_scan_start(scan);
}
