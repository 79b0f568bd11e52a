#ifndef WEIR_TASK_STREAM_H
#define WEIR_TASK_STREAM_H

#include "model/model.h"
#include "task/env.h"
#include "task/out.h"
#include "task/source.h"
#include "task/task.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * What the life of every answer has in common, whatever it says and in which dialect:
 *
 *   model server (or the caller's body) ─► its owner ─► sent, sent, … ─► ended, or failed: once
 *
 * An answer that is streamed has a way out, and its source is read while that has room and not too
 * much is held back (task/source.h). A whole answer is told once, to `done`.
 *
 * What happens between the source and the way out is the owner's business: choices, a row of
 * places, one text. It embeds this as its first member, all-zero, in the request's arena.
 */
struct weir_stream;

struct weir_stream_ops {
    /* What can release the text that is held back. */
    enum weir_path_wait (*waits)(const struct weir_stream *s);
    /* There is room again: weir_stream_read_on, or more. Not called when it is over. */
    void (*resume)(struct weir_stream *s);
    /* It fails: what is ready leaves before. May be NULL. */
    void (*flush)(struct weir_stream *s);
    /* Nobody waits for the answer any more: stops the owner's detectors. May be called twice, and
     * may be NULL. */
    void (*stop)(struct weir_stream *s);
    /* Reads on or not, where the source is not a model server. */
    void (*set_paused)(struct weir_stream *s, bool is_paused);
};

struct weir_stream {
    const struct weir_stream_ops *ops;
    struct weir_task_ctx *task;
    struct weir_out *out;   /* NULL: a whole answer … */
    weir_task_done_fn done; /* … which is told here */
    void *ctx;
    struct weir_source source;
    struct weir_model_run *run;              /* NULL: none */
    struct weir_model_request model_request; /* what it is asked */
    struct weir_post cleanup;                /* after the end: what still runs is stopped */
    struct weir_timer patience;              /* see weir_stream_end_with_source */
    bool is_over;                            /* the last call was made */
};

void weir_stream_init(struct weir_stream *s, struct weir_task_ctx *task,
                      const struct weir_stream_ops *ops, struct weir_out *out);
/* The same for a whole answer. */
void weir_stream_init_whole(struct weir_stream *s, struct weir_task_ctx *task,
                            const struct weir_stream_ops *ops, weir_task_done_fn done, void *ctx);
/* The request's arena goes. */
void weir_stream_dispose(struct weir_stream *s);

/* ---- the model server ---- */

/* Asks `model` for s->model_request. A request before it is given up. */
void weir_stream_ask(struct weir_stream *s, const struct weir_model *model,
                     const struct weir_model_events *events, void *ctx);
void weir_stream_stop_model(struct weir_stream *s);

/* ---- what leaves ---- */

void weir_stream_send(struct weir_stream *s, struct weir_slice json);
void weir_stream_send_raw(struct weir_stream *s, const struct weir_out_raw *event);
void weir_stream_send_framed(struct weir_stream *s, const struct weir_out_raw *event);

/* Decides whether the source is read on, with so much held back; fails a stream that is stuck. */
void weir_stream_read_on(struct weir_stream *s, size_t held_bytes);
/* Nothing more comes from there. */
void weir_stream_stop_reading(struct weir_stream *s);

/* ---- the last calls; whoever comes first is heard ---- */

void weir_stream_end(struct weir_stream *s);
/* The model server has said its last event, and everything has left: ends with the server's answer,
 * or without it if that goes on. */
void weir_stream_end_with_source(struct weir_stream *s);
bool weir_stream_awaits_source(const struct weir_stream *s);
void weir_stream_finish(struct weir_stream *s, struct weir_slice body);       /* a whole answer */
void weir_stream_fail(struct weir_stream *s, const struct weir_fault *fault); /* copied */
/* Neither: somebody else ends what was begun. */
void weir_stream_abandon(struct weir_stream *s);
/* More is held back than limits.max_held_bytes_per_stream. */
void weir_stream_fail_held(struct weir_stream *s);

#endif
