#include "task/content_stream.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "task/path.h"
#include "task/results.h"
#include "task/scan.h"
#include "task/stream.h"

struct weir_content_stream {
    struct weir_stream stream;
    struct weir_content_stream_options options;
    struct weir_path *path; /* NULL: no detector works on chunks */
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
};

static struct weir_content_stream *of(struct weir_stream *s)
{
    return WEIR_LIST_ENTRY(s, struct weir_content_stream, stream);
}

static void stop(struct weir_stream *s)
{
    struct weir_content_stream *cs = of(s);
    weir_scan_cancel(cs->whole_scan);
    weir_path_free(cs->path);
    cs->path = NULL;
}

void weir_content_stream_stop(struct weir_content_stream *cs)
{
    weir_stream_abandon(&cs->stream);
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
    weir_json_write_key(w, WEIR_SLICE("start_index"));
    weir_json_write_u64(w, start_cp);
    weir_json_write_key(w, WEIR_SLICE("processed_index"));
    weir_json_write_u64(w, end_cp);
    weir_json_write_end_object(w);
    weir_stream_send(&cs->stream, weir_buf_slice(&cs->scratch));
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
    if (cs->has_whole) {
        send_whole(cs);
    }
    weir_stream_end(&cs->stream);
}

static void advance(struct weir_content_stream *cs)
{
    if (cs->stream.is_over) {
        return;
    }
    bool has_left = cs->path == NULL || weir_path_is_done(cs->path);
    if (cs->source_done && cs->whole_done && has_left) {
        finish(cs);
    } else {
        weir_stream_read_on(&cs->stream, cs->held_bytes);
    }
}

static enum weir_path_wait waits(const struct weir_stream *s)
{
    const struct weir_content_stream *cs =
        WEIR_LIST_ENTRY(s, const struct weir_content_stream, stream);
    return cs->path != NULL ? weir_path_waits(cs->path) : WEIR_PATH_IDLE;
}

static void resume(struct weir_stream *s)
{
    advance(of(s));
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
    while (cs->path != NULL && !cs->stream.is_over && (rc = weir_path_pop(cs->path, &batch)) == 0) {
        send_batch(cs, &batch);
        let_go(cs, &batch);
    }
    if (rc != 0 && rc != WEIR_EAGAIN) {
        weir_stream_fail(&cs->stream, weir_path_fault(cs->path));
    }
}

static void on_progress(void *ctx)
{
    struct weir_content_stream *cs = ctx;
    if (!cs->stream.is_over) {
        drain(cs);
        advance(cs);
    }
}

/* ---- lines ---- */

void weir_content_stream_push(struct weir_content_stream *cs, struct weir_slice text,
                              size_t line_bytes)
{
    if (cs->stream.is_over) {
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
        weir_stream_fail_held(&cs->stream);
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
        weir_stream_fail(&cs->stream, fault);
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
    cs->whole_scan = weir_scan_new(cs->stream.task, on_whole_done, cs);
    cs->whole_found = weir_scan_add_group(cs->whole_scan, WEIR_RESULTS_CONTENT);
    weir_scan_add_text(cs->whole_found, weir_path_whole_plan(plan, cs->stream.task->arena),
                       weir_buf_slice(&cs->whole));
    weir_scan_start(cs->whole_scan);
}

void weir_content_stream_end(struct weir_content_stream *cs)
{
    if (cs->stream.is_over) {
        return;
    }
    cs->source_done = true;
    weir_stream_stop_reading(&cs->stream);
    if (cs->path != NULL) {
        weir_path_end(cs->path);
        drain(cs);
    }
    if (!cs->stream.is_over) {
        start_whole(cs);
        advance(cs);
    }
}

/* ---- making ---- */

static void undo(void *ctx)
{
    struct weir_content_stream *cs = ctx;
    weir_stream_dispose(&cs->stream);
    weir_buf_dispose(&cs->whole);
    weir_buf_dispose(&cs->scratch);
}

/* The source is the caller's body. */
static void set_paused(struct weir_stream *s, bool is_paused)
{
    struct weir_content_stream *cs = of(s);
    cs->options.set_paused(cs->options.ctx, is_paused);
}

static const struct weir_stream_ops STREAM_OPS = {
    .waits = waits,
    .resume = resume,
    .stop = stop,
    .set_paused = set_paused,
};

static void open_path(struct weir_content_stream *cs)
{
    const struct weir_plan *plan = cs->options.plan;
    if (weir_path_is_needed(plan)) {
        cs->path = weir_path_new(
            &(struct weir_path_options){.task = cs->stream.task,
                                        .plan = plan,
                                        .strategy = cs->options.strategy,
                                        .max_held_bytes = cs->stream.source.max_held_bytes,
                                        .on_progress = on_progress,
                                        .ctx = cs});
    }
    cs->has_whole = weir_path_has_whole(plan);
    weir_buf_init(&cs->whole, cs->stream.source.max_held_bytes);
    cs->whole.account = cs->stream.source.account;
}

struct weir_content_stream *
weir_content_stream_new(struct weir_task_ctx *task,
                        const struct weir_content_stream_options *options)
{
    struct weir_content_stream *cs = weir_arena_zalloc(task->arena, sizeof *cs);
    cs->options = *options;
    weir_stream_init(&cs->stream, task, &STREAM_OPS, options->out);
    weir_arena_defer(task->arena, undo, cs);
    open_path(cs);
    return cs;
}
