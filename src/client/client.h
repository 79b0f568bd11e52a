#ifndef WEIR_CLIENT_CLIENT_H
#define WEIR_CLIENT_CLIENT_H

#include "client/target.h"
#include "io/loop.h"
#include "obs/trace.h"

/*
 * A worker's outgoing side: name look-ups and pools of connections, one per target. Belongs to one
 * loop; no locks.
 *
 * Pools are known by what a target says, not by its address, and keep a copy of it: a target must
 * live until its last call has ended and may go then. After a reload targets that say the same (a
 * TLS context is the same only as the same object) go on with the same connections; a pool that
 * nobody calls any more goes by itself after a minute.
 */
struct weir_client;

struct weir_client *weir_client_new(struct weir_loop *loop);

/* For tests: other name servers than the system's, "127.0.0.1:5353,…". 0 or WEIR_EINVAL, WEIR_EIO.
 */
int weir_client_set_dns_servers(struct weir_client *client, const char *servers);

/* A call that has ended, as a span of its trace. Borrowed for the call of weir_client_span_fn. */
struct weir_client_span {
    const struct weir_target *target;
    const struct weir_trace *trace; /* with the span id that went out in traceparent */
    const uint8_t *parent_id;       /* eight bytes: the request's span */
    struct weir_slice method;
    struct weir_slice path;  /* with the target's prefix */
    struct weir_slice model; /* of the request that the call is part of; may be empty */
    uint64_t started_ns;     /* uv_hrtime */
    int err;         /* 0: there is a complete answer; WEIR_ECANCELED: given up by its owner */
    const char *why; /* with err, or NULL: a phrase */
    int status;      /* 0: no answer */
    int grpc_status; /* -1: none was given */
    uint32_t n_retries;
};
typedef void (*weir_client_span_fn)(void *ctx, const struct weir_client_span *span);

/* From now on `fn` is called for every call when it ends, of a sampled trace or not, on the loop's
 * thread. It must not call the client. */
void weir_client_watch(struct weir_client *client, weir_client_span_fn fn, void *ctx);

/* For tests: closes the idle connections to a target now; they would go after a minute. Calls,
 * running and new ones, are not touched. */
void weir_client_forget(struct weir_client *client, const struct weir_target *target);

/* Cancels every call without calling its on_done, closes every connection; `fn` when all memory is
 * free. */
void weir_client_close(struct weir_client *client, void (*fn)(void *ctx), void *ctx);

#endif
