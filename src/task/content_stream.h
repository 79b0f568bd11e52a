#ifndef WEIR_TASK_CONTENT_STREAM_H
#define WEIR_TASK_CONTENT_STREAM_H

#include "task/gather.h"
#include "task/out.h"
#include "task/plan.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Endpoint D (docs/api/endpoints.md): the caller sends text line by line and gets findings while it
 * is still sending.
 *
 *   push* ─► end                        out: {"detections":[…],"start_index":n,"processed_index":m}
 *
 * Ends with out->ops->end or fail, or with the request's arena.
 */
struct weir_content_stream;

struct weir_content_stream_options {
    const struct weir_plan *plan; /* text_contents detectors; lives in the arena, as `out` does */
    const struct weir_gather_strategy *strategy;
    struct weir_out *out;
    /* Push no more for now, or go on. What is pushed all the same is taken. */
    void (*set_paused)(void *ctx, bool is_paused);
    void *ctx;
};

/* In the request's arena. */
struct weir_content_stream *
weir_content_stream_new(struct weir_task_ctx *task,
                        const struct weir_content_stream_options *options);

/* One line: its text (UTF-8) and how many bytes it took. */
void weir_content_stream_push(struct weir_content_stream *cs, struct weir_slice text,
                              size_t line_bytes);

/* No more lines. */
void weir_content_stream_end(struct weir_content_stream *cs);

/* Ends it without calling `out`: results that were complete have left, and the owner of `out` ends
 * that. */
void weir_content_stream_stop(struct weir_content_stream *cs);

#endif
