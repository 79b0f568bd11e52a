#ifndef WEIR_SERVER_EXPORT_SEND_H
#define WEIR_SERVER_EXPORT_SEND_H

#include "base/buf.h"
#include "base/list.h"
#include "base/slice.h"
#include "client/call.h"
#include "client/client.h"
#include "client/grpc_call.h"
#include "io/loop.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * One signal's way to its collector. Batches of packed entries wait in a list; as many as fit are
 * put behind one envelope and sent, one request at a time.
 *
 *   offer (any thread) ─► waiting ─► request ─► 2xx, OK: gone
 *                            ▲          │ an error that stays: dropped
 *                            └──────────┘ an error that may pass: again later, a few times
 *
 * What waits and what is under way together never pass WEIR_EXPORT_MAX_HELD_BYTES: more is refused.
 * Runs on the main thread's loop with a client of its own, so that no worker waits for a collector
 * and no span is ever made of these calls.
 */
enum {
    WEIR_EXPORT_MAX_HELD_BYTES = 8 * 1024 * 1024,
    WEIR_EXPORT_MAX_BODY_BYTES = 1024 * 1024, /* of a request, unless one batch alone is more */
    WEIR_EXPORT_MAX_ATTEMPTS = 5,
};

struct weir_export_batch {
    struct weir_list link;
    struct weir_export_send *send;
    struct weir_buf entries;
    size_t n_entries;
};

struct weir_export_send {
    /* To be set before init. */
    struct weir_loop *loop;
    struct weir_client *client;
    struct weir_target target;
    const char *signal;               /* "traces" */
    struct weir_slice path;           /* of a POST */
    struct weir_call_context context; /* with the headers that go along */
    const char *grpc_path;            /* NULL: HTTP */
    struct weir_slice resource;       /* packed; borrowed */
    uint64_t delay_ms; /* how long a worker may gather entries before it offers them */
    bool is_repeated;  /* a failed request is tried again */
    bool is_gzip;      /* requests are compressed */
    struct weir_tls *const
        *tls; /* what a new request uses; it may change between two. NULL: plain */
    void (*on_entries)(void *ctx, bool is_sent, size_t n); /* any thread; may be NULL */
    void (*on_idle)(void *ctx); /* called once nothing waits any more; may be NULL */
    void *ctx;

    /* Its own. */
    atomic_size_t held_bytes;
    struct weir_list waiting;
    struct weir_buf body; /* under way, or to be sent again */
    size_t n_entries;     /* in it */
    size_t n_bytes;       /* of it that count as held */
    unsigned n_attempts;
    struct weir_call *call;
    struct weir_grpc_call *grpc;
    struct weir_timer again;
    uint64_t quiet_until_ms; /* a failure was logged: the next one not before this */
    bool is_failing;
    bool is_last; /* finish was called: every attempt is the last */
    bool is_closed;
};

void weir_export_send_init(struct weir_export_send *s);

/* From any thread; takes the entries over. More than may be held is refused: dropped, counted. */
void weir_export_send_offer(struct weir_export_send *s, struct weir_buf *entries, size_t n_entries);

/* On the loop's thread: the same, but it is not sent before weir_export_send_go. */
void weir_export_send_add(struct weir_export_send *s, struct weir_buf *entries, size_t n_entries);
void weir_export_send_go(struct weir_export_send *s);

bool weir_export_send_is_idle(const struct weir_export_send *s);

/* From here on nothing is tried again. */
void weir_export_send_finish(struct weir_export_send *s);

/* Drops everything; batches that still come are dropped, too. The client is the owner's. */
void weir_export_send_close(struct weir_export_send *s);

#endif
