#ifndef WEIR_BASE_FLOW_H
#define WEIR_BASE_FLOW_H

#include "base/slice.h"

/*
 * The one contract between a producer of bytes and what takes them.
 *
 *   producer ── start(kind) ─► write* ─► end          write answers OK or FULL
 *            ◄─ resume ──────────────────             once, some time after a FULL
 *            ◄─ gone ────────────────────             the taker will take no more
 *            ── abort ───────────────►                any time instead of end
 *
 * - `write` always accepts all of it; FULL asks the producer to stop until `resume`. Bytes written
 *   after FULL are accepted too, so that a producer can finish what it is in the middle of.
 * - `end` and `abort` are the last calls; after either, and after `gone`, neither side calls again.
 * - `resume` and `gone` never come from inside a call the producer made.
 */
enum weir_flow {
    WEIR_FLOW_OK,
    WEIR_FLOW_FULL,
};

/* What kind of answer a sink is told to start. */
enum weir_flow_kind {
    WEIR_FLOW_JSON,   /* one JSON document */
    WEIR_FLOW_SSE,    /* text/event-stream */
    WEIR_FLOW_NDJSON, /* application/x-ndjson, a chunk or frame per write */
};

struct weir_sink;

/* The producer's side, called by the sink. */
struct weir_flow_events {
    void (*on_resume)(void *ctx);
    void (*on_gone)(void *ctx, int err);
};

struct weir_sink_ops {
    void (*start)(struct weir_sink *sink, enum weir_flow_kind kind);
    enum weir_flow (*write)(struct weir_sink *sink, struct weir_slice bytes);
    void (*end)(struct weir_sink *sink);
    void (*abort)(struct weir_sink *sink, int err);
};

/* First member of whatever implements it. */
struct weir_sink {
    const struct weir_sink_ops *ops;
    const struct weir_flow_events *events; /* set by the producer before start */
    void *events_ctx;
};

static inline void weir_sink_start(struct weir_sink *s, enum weir_flow_kind kind)
{
    s->ops->start(s, kind);
}

static inline enum weir_flow weir_sink_write(struct weir_sink *s, struct weir_slice bytes)
{
    return s->ops->write(s, bytes);
}

static inline void weir_sink_end(struct weir_sink *s)
{
    s->ops->end(s);
}

static inline void weir_sink_abort(struct weir_sink *s, int err)
{
    s->ops->abort(s, err);
}

#endif
