#ifndef WEIR_CHUNK_CHUNK_H
#define WEIR_CHUNK_CHUNK_H

#include "base/flow.h"
#include "base/slice.h"
#include "client/call.h"
#include "client/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Chunkers: text in, ranges of it out. Built-in ones and remote services look the same from here.
 *
 *   s = weir_chunk_open(chunker, env, options, on_ready, ctx)
 *   weir_chunk_push(s, frame, text)*, weir_chunk_end(s)
 *   while (weir_chunk_next(s, &chunk) == 0) …      0: a chunk; WEIR_EAGAIN: none yet, on_ready
 *                                                  comes; WEIR_ECLOSED: that was all;
 *                                                  any other code: see weir_chunk_stream.fault
 *   weir_chunk_close(s)                            any time: that cancels
 *
 * Built-in chunkers have their chunks ready as soon as push or end returns. on_ready never comes
 * from inside a call; it comes when next or is_full would answer something new. Push accepts
 * everything; it answers FULL when the chunker is behind: push no more before an on_ready that
 * finds is_full false.
 *
 * Offsets are code points of the text that was pushed, counted from options.start_cp.
 */
struct weir_chunk {
    size_t start_cp;
    size_t end_cp;        /* answers for [start_cp, end_cp) */
    size_t seen_end_cp;   /* detectors see up to here; more than end_cp for windows only */
    size_t back_cp;       /* and from so far before start_cp, where a remote chunk begins inside the
                             chunk before it */
    uint64_t first_frame; /* frames it was made of, as numbered by push (inclusive) */
    uint64_t last_frame;
    struct weir_slice text; /* remote: the chunker's own text, until the next call; else p NULL */
};

struct weir_chunk_env {
    struct weir_loop *loop;
    struct weir_client *client;
    const struct weir_call_context *context;
    size_t max_body_bytes;
};

struct weir_chunk_options {
    bool is_whole;   /* one push, then end: the text is complete (unary call of remote chunkers) */
    size_t start_cp; /* of the first pushed text */
    bool is_lenient; /* compat fms: ranges and indexes as the chunker gave them, unchecked */
};

struct weir_chunker;
struct weir_chunk_stream;

typedef void (*weir_chunk_ready_fn)(void *ctx, struct weir_chunk_stream *s);

struct weir_chunk_ops {
    struct weir_chunk_stream *(*open)(const struct weir_chunker *c,
                                      const struct weir_chunk_env *env,
                                      const struct weir_chunk_options *options,
                                      weir_chunk_ready_fn on_ready, void *ctx);
    enum weir_flow (*push)(struct weir_chunk_stream *s, uint64_t frame, struct weir_slice text);
    /* What follows is not text: a built-in chunker ends its chunk here. May be NULL. */
    void (*cut)(struct weir_chunk_stream *s);
    void (*end)(struct weir_chunk_stream *s);
    int (*next)(struct weir_chunk_stream *s, struct weir_chunk *out);
    void (*close)(struct weir_chunk_stream *s);
};

/* Embedded first in a kind's own struct. Const after it was made, shared by all workers. */
struct weir_chunker {
    const struct weir_chunk_ops *ops;
    struct weir_slice id;
    bool is_whole_doc; /* one chunk, the whole text */
    bool is_immediate; /* built in: what push and end could give is there when they return */
    size_t before_cp;  /* windows: how far built-in detectors look back from a chunk's start */
};

/* Embedded first in a kind's own struct. */
struct weir_chunk_stream {
    const struct weir_chunker *chunker;
    const struct weir_fault *fault; /* the stream's, after next answered an error; NULL before */
    bool is_full;                   /* push answered FULL, and there is no room yet */
};

static inline struct weir_chunk_stream *weir_chunk_open(const struct weir_chunker *c,
                                                        const struct weir_chunk_env *env,
                                                        const struct weir_chunk_options *options,
                                                        weir_chunk_ready_fn on_ready, void *ctx)
{
    return c->ops->open(c, env, options, on_ready, ctx);
}

static inline enum weir_flow weir_chunk_push(struct weir_chunk_stream *s, uint64_t frame,
                                             struct weir_slice text)
{
    return s->chunker->ops->push(s, frame, text);
}

static inline void weir_chunk_cut(struct weir_chunk_stream *s)
{
    if (s->chunker->ops->cut != NULL) {
        s->chunker->ops->cut(s);
    }
}

static inline void weir_chunk_end(struct weir_chunk_stream *s)
{
    s->chunker->ops->end(s);
}

static inline int weir_chunk_next(struct weir_chunk_stream *s, struct weir_chunk *out)
{
    return s->chunker->ops->next(s, out);
}

/* NULL is fine. */
static inline void weir_chunk_close(struct weir_chunk_stream *s)
{
    if (s != NULL) {
        s->chunker->ops->close(s);
    }
}

#endif
