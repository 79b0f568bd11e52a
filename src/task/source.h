#ifndef WEIR_TASK_SOURCE_H
#define WEIR_TASK_SOURCE_H

#include "base/account.h"
#include "client/fault.h"
#include "io/loop.h"
#include "task/path.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Decides whether the source of a guarded stream (the model server, the caller's body) is read. It
 * is read while the caller takes what leaves, the chunkers take what comes and less than
 * `max_held_bytes` is held back. At that ceiling reading pauses as long as a call is under way that
 * can release something. When none is, the stream is stuck: no text will ever leave without more
 * text coming in.
 *
 * Whether a remote chunker is at work or waits for more text cannot be seen from here. With nothing
 * but chunkers to wait for, five seconds without anything leaving count as stuck; not while a
 * chunker is full: it has text to work on, and its call has a deadline.
 */
struct weir_source {
    struct weir_loop *loop;
    struct weir_account *account; /* what is held back counts there */
    size_t max_held_bytes;
    void (*set_paused)(void *ctx, bool is_paused);
    void (*on_stuck)(void *ctx); /* never from inside a call of the owner's */
    void *ctx;
    const unsigned *n_full_chunkers; /* of the task (task/env.h); NULL: there are none */

    /* The rest is the source's own. */
    struct weir_timer grace;
    size_t held_bytes; /* when the timer was set */
    struct weir_account_share share;
    bool is_full;
    bool is_paused;
    bool has_ended;
};

/* Call with the members above set. The owner calls weir_source_end when the request's arena goes.
 */
void weir_source_init(struct weir_source *s);

/* The way out is full, or has room again; a decision follows. */
void weir_source_set_full(struct weir_source *s, bool is_full);

/* Something changed. False: the stream is stuck. */
bool weir_source_decide(struct weir_source *s, size_t held_bytes, enum weir_path_wait waits);

/* Nothing more will be read, or the stream is over. Safe twice. */
void weir_source_end(struct weir_source *s);

/* What a stuck stream fails with. The words are in the arena. */
struct weir_fault weir_source_limit_fault(struct weir_arena *arena, size_t max_held_bytes);

#endif
