#ifndef WEIR_CLIENT_GRPC_CALL_H
#define WEIR_CLIENT_GRPC_CALL_H

#include "base/arena.h"
#include "base/flow.h"
#include "base/slice.h"
#include "client/call.h"
#include "client/fault.h"
#include "io/loop.h"
#include "wire/grpc.h"
#include "wire/proto.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * One gRPC method call on a worker's client: unary, one request with a stream of answers, or a
 * stream both ways.
 *
 *   start ─► (send* ─► end) ─► on_message* ─► on_done
 *
 * on_done comes exactly once, unless cancel came first, and is the last event; the call is gone
 * when it returns. No event comes from inside a call of the owner's. Everything below may be called
 * from inside events, cancel too: after it nothing is called back.
 *
 * An answer that is not proper gRPC (another content type, a message cut off or compressed, no
 * status at its end, none or two messages where one is due) is an error like any other.
 */
struct weir_grpc_call;

struct weir_grpc_request {
    struct weir_loop *loop;                  /* the client's */
    const struct weir_target *target;        /* HTTP/2; borrowed until the end of the call */
    const struct weir_call_context *context; /* may be NULL; what it points to is borrowed */
    const char *path;                        /* a literal, see wire/grpc_paths.h */
    struct weir_slice model_id;              /* metadata mm-model-id; empty: none. Borrowed */
    const ProtobufCMessage *message;         /* the one request, copied; NULL: a stream of them */
    struct weir_slice packed;                /* or the one request as bytes, copied */
    bool is_gzip;                            /* `packed` went through wire/gzip.h */
    bool has_stream_answer;                  /* on_message for each; else result.message */
    size_t max_message_bytes;                /* of an answer */
    /*
     * Up to target->max_retries times again on Unavailable while nothing of the answer has come,
     * never past the deadline. Not with a stream of requests.
     */
    bool may_retry;
};

struct weir_grpc_result {
    enum weir_grpc_status status;
    bool is_from_peer;       /* the service sent this status; otherwise we made it */
    int err;                 /* 0 with OK; else a code: WEIR_ETIMEOUT, WEIR_EPEER, … */
    bool is_unreached;       /* no connection could be made */
    struct weir_slice text;  /* the service's grpc-message, decoded; UTF-8, otherwise unchecked */
    struct weir_slice why;   /* for the log: what went wrong, in our words; empty with OK */
    struct weir_slice bytes; /* the one answer, with OK and without has_stream_answer */
};

struct weir_grpc_call_events {
    /* One message of a streamed answer. The bytes live during the call. May be NULL if
     * has_stream_answer is not set. */
    void (*on_message)(void *ctx, struct weir_slice bytes);
    /* Room again after a send that answered FULL. May be NULL without a stream of requests. */
    void (*on_room)(void *ctx);
    /* The result lives during the call. */
    void (*on_done)(void *ctx, const struct weir_grpc_result *result);
};

/* Never NULL: what fails at once fails through on_done, later. */
struct weir_grpc_call *weir_grpc_call_start(struct weir_client *client,
                                            const struct weir_grpc_request *request,
                                            const struct weir_grpc_call_events *events, void *ctx);

/* A message of a stream of requests, and their end. All is accepted; FULL: wait for on_room. */
enum weir_flow weir_grpc_call_send(struct weir_grpc_call *call, const ProtobufCMessage *m);
void weir_grpc_call_end(struct weir_grpc_call *call);

/* Back-pressure: no on_message and no on_done until resumed. */
void weir_grpc_call_pause(struct weir_grpc_call *call);
void weir_grpc_call_resume(struct weir_grpc_call *call);

/* Breaks off and frees. */
void weir_grpc_call_cancel(struct weir_grpc_call *call);

/* What a failed call means to a task; the slices live in the arena. Origin and id are the
 * caller's. */
void weir_grpc_result_fault(const struct weir_grpc_result *result, struct weir_arena *arena,
                            struct weir_fault *fault);

#endif
