#include "task/content_stream.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "task/path.h"
#include "task/results.h"
#include "task/scan.h"
#include "task/source.h"

struct weir_content_stream {
    struct weir_task_ctx *task;
    struct weir_content_stream_options options;
    struct weir_path *path; /* NULL: no detector works on chunks */
    struct weir_source source;
    struct weir_post cleanup; /* after a failure: what still runs is stopped */
    uint64_t n_lines;
    size_t held_bytes;
    struct weir_buf whole; /* the text, for detectors that look at all of it */
    size_t whole_cp;
    struct weir_scan *whole_scan;
    struct weir_scan_group *whole_found;
    struct weir_buf scratch;
    bool has_whole;
    bool source_done;
    bool whole_done;
    bool is_over; /* end or fail was said */
};

static void stop(struct weir_content_stream *cs)
{
    weir_scan_cancel(cs->whole_scan);
    weir_path_free(cs->path);
    cs->path = NULL;
}

/* Who failed may still be in the middle of telling. */
static void on_cleanup(struct weir_post *post)
{
    stop(WEIR_LIST_ENTRY(post, struct weir_content_stream, cleanup));
}

void weir_content_stream_stop(struct weir_content_stream *cs)
{
    if (!cs->is_over) {
        cs->is_over = true;
        weir_source_end(&cs->source);
        weir_loop_post(cs->task->loop, &cs->cleanup);
    }
}

static void fail(struct weir_content_stream *cs, const struct weir_fault *fault)
{
    if (!cs->is_over) {
        struct weir_out *out = cs->options.out;
        weir_content_stream_stop(cs);
        out->ops->fail(out, weir_fault_keep(cs->task->arena, fault));
    }
}

static void fail_held(void *ctx)
{
    struct weir_content_stream *cs = ctx;
    struct weir_fault fault = weir_source_limit_fault(cs->task->arena, cs->source.max_held_bytes);
    fail(cs, &fault);
}

/* ---- answers ---- */

static void begin_answer(struct weir_json_write *w, struct weir_buf *out)
{
    weir_buf_clear(out);
    weir_json_write_init(w, out);
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("detections"));
}

static void send_answer(struct weir_content_stream *cs, struct weir_json_write *w, size_t start_cp,
                        size_t end_cp)
{
    struct weir_out *out = cs->options.out;
    weir_json_write_key(w, WEIR_SLICE("start_index"));
    weir_json_write_u64(w, start_cp);
    weir_json_write_key(w, WEIR_SLICE("processed_index"));
    weir_json_write_u64(w, end_cp);
    weir_json_write_end_object(w);
    if (out->ops->event(out, weir_buf_slice(&cs->scratch)) == WEIR_FLOW_FULL) {
        weir_source_set_full(&cs->source, true);
    }
}

static void send_batch(struct weir_content_stream *cs, const struct weir_gather_batch *batch)
{
    struct weir_json_write w;
    begin_answer(&w, &cs->scratch);
    weir_json_write_begin_array(&w);
    for (size_t i = 0; i < batch->n_findings; i++) {
        weir_results_write_one(&w, WEIR_RESULTS_CONTENT, batch->findings[i]);
    }
    weir_json_write_end_array(&w);
    send_answer(cs, &w, batch->start_cp, batch->end_cp);
}

/* What detectors that look at the whole have found: behind the text that has left, or, where no
 * other detector let any leave, for all of it. */
static void send_whole(struct weir_content_stream *cs)
{
    const struct weir_scan_group *found = cs->whole_found;
    struct weir_json_write w;
    begin_answer(&w, &cs->scratch);
    if (found != NULL) {
        weir_scan_write_results(&w, found);
    } else {
        weir_json_write_raw(&w, WEIR_SLICE("[]"));
    }
    send_answer(cs, &w, cs->path != NULL ? cs->whole_cp : 0, cs->whole_cp);
}

/* ---- what happens next ---- */

static void finish(struct weir_content_stream *cs)
{
    struct weir_out *out = cs->options.out;
    if (cs->has_whole) {
        send_whole(cs);
    }
    cs->is_over = true;
    weir_source_end(&cs->source);
    out->ops->end(out);
}

static void advance(struct weir_content_stream *cs)
{
    if (cs->is_over) {
        return;
    }
    bool has_left = cs->path == NULL || weir_path_is_done(cs->path);
    if (cs->source_done && cs->whole_done && has_left) {
        finish(cs);
        return;
    }
    enum weir_path_wait waits = cs->path != NULL ? weir_path_waits(cs->path) : WEIR_PATH_IDLE;
    if (!weir_source_decide(&cs->source, cs->held_bytes, waits)) {
        fail_held(cs);
    }
}

/* The lines that end in a batch are held no longer; their tags are their sizes. */
static void let_go(struct weir_content_stream *cs, const struct weir_gather_batch *batch)
{
    const struct weir_textlog *log = weir_path_log(cs->path);
    size_t n_ended = weir_path_n_ended(cs->path, batch);
    for (size_t i = 0; i < n_ended; i++) {
        cs->held_bytes -= (uintptr_t)weir_textlog_frame(log, i).tag;
    }
    weir_path_leave(cs->path, batch);
}

static void drain(struct weir_content_stream *cs)
{
    struct weir_gather_batch batch;
    int rc = WEIR_EAGAIN;
    while (cs->path != NULL && !cs->is_over && (rc = weir_path_pop(cs->path, &batch)) == 0) {
        send_batch(cs, &batch);
        let_go(cs, &batch);
    }
    if (rc != 0 && rc != WEIR_EAGAIN) {
        fail(cs, weir_path_fault(cs->path));
    }
}

static void on_progress(void *ctx)
{
    struct weir_content_stream *cs = ctx;
    if (!cs->is_over) {
        drain(cs);
        advance(cs);
    }
}

static void on_resume(void *ctx)
{
    struct weir_content_stream *cs = ctx;
    weir_source_set_full(&cs->source, false);
    advance(cs);
}

/* ---- lines ---- */

void weir_content_stream_push(struct weir_content_stream *cs, struct weir_slice text,
                              size_t line_bytes)
{
    if (cs->is_over) {
        return;
    }
    int rc = 0;
    if (cs->has_whole) {
        rc = weir_buf_append(&cs->whole, text);
        cs->whole_cp += weir_utf8_count(text);
    }
    if (rc == 0 && cs->path != NULL) {
        cs->held_bytes += line_bytes;
        rc = weir_path_push(cs->path, cs->n_lines, text, (void *)(uintptr_t)line_bytes);
    }
    cs->n_lines++;
    if (rc != 0) {
        fail_held(cs);
        return;
    }
    drain(cs);
    advance(cs);
}

static void on_whole_done(void *ctx, struct weir_scan *scan)
{
    struct weir_content_stream *cs = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    cs->whole_done = true;
    if (fault != NULL) {
        fail(cs, fault);
    } else {
        advance(cs);
    }
}

static void start_whole(struct weir_content_stream *cs)
{
    const struct weir_plan *plan = cs->options.plan;
    if (!cs->has_whole || cs->whole.n == 0) {
        cs->whole_done = true;
        return;
    }
    cs->whole_scan = weir_scan_new(cs->task, on_whole_done, cs);
    cs->whole_found = weir_scan_add_group(cs->whole_scan, WEIR_RESULTS_CONTENT);
    weir_scan_add_text(cs->whole_found, weir_path_whole_plan(plan, cs->task->arena),
                       weir_buf_slice(&cs->whole));
    weir_scan_start(cs->whole_scan);
}

void weir_content_stream_end(struct weir_content_stream *cs)
{
    if (cs->is_over) {
        return;
    }
    cs->source_done = true;
    weir_source_end(&cs->source);
    if (cs->path != NULL) {
        weir_path_end(cs->path);
        drain(cs);
    }
    if (!cs->is_over) {
        start_whole(cs);
        advance(cs);
    }
}

/* ---- making ---- */

static void undo(void *ctx)
{
    struct weir_content_stream *cs = ctx;
    cs->is_over = true;
    weir_source_end(&cs->source);
    weir_loop_unpost(&cs->cleanup);
    stop(cs);
    weir_buf_dispose(&cs->whole);
    weir_buf_dispose(&cs->scratch);
}

static void set_paused(void *ctx, bool is_paused)
{
    struct weir_content_stream *cs = ctx;
    cs->options.set_paused(cs->options.ctx, is_paused);
}

static void open_path(struct weir_content_stream *cs)
{
    const struct weir_plan *plan = cs->options.plan;
    if (weir_path_is_needed(plan)) {
        cs->path =
            weir_path_new(&(struct weir_path_options){.task = cs->task,
                                                      .plan = plan,
                                                      .strategy = cs->options.strategy,
                                                      .max_held_bytes = cs->source.max_held_bytes,
                                                      .on_progress = on_progress,
                                                      .ctx = cs});
    }
    cs->has_whole = weir_path_has_whole(plan);
    weir_buf_init(&cs->whole, cs->source.max_held_bytes);
    cs->whole.account = cs->source.account;
}

struct weir_content_stream *
weir_content_stream_new(struct weir_task_ctx *task,
                        const struct weir_content_stream_options *options)
{
    struct weir_content_stream *cs = weir_arena_zalloc(task->arena, sizeof *cs);
    cs->task = task;
    cs->options = *options;
    options->out->on_resume = on_resume;
    options->out->ctx = cs;
    cs->cleanup.fn = on_cleanup;
    cs->source = (struct weir_source){.loop = task->loop,
                                      .account = task->arena->account,
                                      .max_held_bytes = task->env->max_held_bytes,
                                      .set_paused = set_paused,
                                      .on_stuck = fail_held,
                                      .ctx = cs,
                                      .n_full_chunkers = &task->n_full_chunkers};
    weir_source_init(&cs->source);
    weir_arena_defer(task->arena, undo, cs);
    open_path(cs);
    return cs;
}
