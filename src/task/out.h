#ifndef WEIR_TASK_OUT_H
#define WEIR_TASK_OUT_H

#include "base/flow.h"
#include "base/slice.h"
#include "client/fault.h"

#include <stdint.h>

/*
 * Where a streaming task's events go: the flow contract, in events instead of bytes. Nothing has
 * been sent before the first one, so a failure before it can still be an ordinary error.
 */
struct weir_out;

struct weir_out_raw {
    struct weir_slice bytes;  /* with its framing */
    struct weir_slice json;   /* its data */
    struct weir_slice sse_id; /* its id line, or empty */
};

struct weir_out_ops {
    /* One event: its JSON. */
    enum weir_flow (*event)(struct weir_out *o, struct weir_slice json);
    /* An event exactly as the model server wrote it. */
    enum weir_flow (*raw)(struct weir_out *o, const struct weir_out_raw *event);
    /* One event of ours, as `event` has it, whose JSON is one line: `bytes` is that between
     * WEIR_SSE_DATA and WEIR_SSE_END (wire/sse.h). NULL: `event` is told. */
    enum weir_flow (*framed)(struct weir_out *o, const struct weir_out_raw *event);
    /* The guard ends this choice with other words: what was sent of it is not joined with the next
     * event. May be NULL. */
    void (*blocked)(struct weir_out *o, uint64_t choice);
    /* The last calls; one of them, once. */
    void (*end)(struct weir_out *o);
    void (*fail)(struct weir_out *o, const struct weir_fault *fault);
};

/* First member of whatever implements it. */
struct weir_out {
    const struct weir_out_ops *ops;
    void (*on_resume)(void *ctx); /* room again after FULL; never from inside a call */
    void *ctx;
    /* Set by a task that cuts or joins what a model says: how much came, in deltas of one choice.
     * No more events should leave. */
    uint64_t n_said;
};

#endif
