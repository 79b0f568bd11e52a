#ifndef WEIR_IO_OFFLOAD_H
#define WEIR_IO_OFFLOAD_H

#include "io/loop.h"

#include <stdbool.h>
#include <uv.h>

/*
 * Slow work (compiling patterns, reading files) on a thread of the process's pool; when it has
 * ended, a callback runs on the loop:
 *
 *   weir_offload ─► work (another thread) ─► done          on the loop
 *                └─ weir_offload_cancel ──► dropped        on the loop, instead of done
 *
 * Exactly one of done and dropped is called, never from inside a call of the owner. Until then the
 * job and what `work` looks at must stay; from then on the memory is the owner's, also in the
 * callback itself. A request's own state never goes to another thread.
 */
struct weir_offload {
    void (*work)(void *ctx);
    void (*done)(void *ctx);
    void (*dropped)(void *ctx); /* after cancel; may be NULL */
    void *ctx;
    /* the rest is the job's own */
    uv_work_t req;
    bool is_cancelled; /* atomic */
};

/* Starts the job; fn pointers and ctx are set by the caller. */
void weir_offload(struct weir_loop *loop, struct weir_offload *job);

/* From now on done is not called. Work that has not begun is skipped, work under way ends first.
 * Safe twice; not after done or dropped. */
void weir_offload_cancel(struct weir_offload *job);

/* From inside long `work`: whether it may give up. */
bool weir_offload_is_cancelled(const struct weir_offload *job);

#endif
