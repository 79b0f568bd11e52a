#ifndef WEIR_CLIENT_CALL_H
#define WEIR_CLIENT_CALL_H

#include "base/account.h"
#include "base/flow.h"
#include "base/slice.h"
#include "client/target.h"
#include "http/msg.h"
#include "obs/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One outgoing HTTP exchange on a worker's client.
 *
 *   start ─► (wait for a slot, look up, connect or take from the pool, send) ─► on_head ─► on_body*
 * ─► on_done
 *
 * on_done comes exactly once, unless cancel came first, and is the last event; the call is gone
 * when it returns. No event comes from inside a call of the owner's. cancel is allowed at any time,
 * also from inside events, and frees everything at once: after it nothing is called back.
 *
 * Time-outs, retries (before any byte of the answer), limits, tracing and the fixed headers are
 * done here; what a status means is the owner's business. Two failures are repeated whatever
 * may_retry says, and not counted as retries: a call lost unanswered on a pooled connection, once,
 * on a fresh one; a call that the service says it has not processed (HTTP/2: GOAWAY,
 * REFUSED_STREAM), a few times.
 *
 * Sent with every call: host, content-length, the target's token, what is passed through,
 * x-request-id, traceparent (a span of its own), user-agent; HTTP/2: te. No field twice: the
 * target's token wins over all, `fields` over what is passed through. A name, value or path that
 * HTTP does not allow is WEIR_EINVAL.
 */
struct weir_client;
struct weir_call;

/* When a model was asked and when pieces of its answer came, loop time; 0: not yet. */
struct weir_call_times {
    uint64_t asked_ms; /* the first time, if it was asked again */
    uint64_t first_ms;
    uint64_t last_ms;
    bool is_stream;
    int err;    /* how the last attempt failed; 0: it did not */
    int status; /* with err: the server's status; 0: none */
};

/* What goes out with every call of one guarded request. Borrowed for the life of the call. */
struct weir_call_context {
    const struct weir_log_ctx *log;            /* ids; traceparent is made from its trace */
    const struct weir_http_field *passthrough; /* headers of the caller's to be copied */
    size_t n_passthrough;
    uint64_t deadline_ms;         /* of the whole request, loop time; 0: none */
    struct weir_account *account; /* what a call holds counts there; may be NULL */
    /* A model server's 502, 503 or 504 is its answer, not a reason to ask it again: the caller is
     * told. */
    bool keeps_model_status;
    struct weir_slice model;             /* what the caller asks for, for spans; empty: not known */
    struct weir_call_times *model_times; /* filled in by model adapters; may be NULL */
    /* The caller's own credential, for the one server it may be meant for (model/provider.h);
     * empty: there is none, or it is ours. Secret. */
    struct weir_slice caller_key;
    struct weir_slice caller;            /* the name of its key; empty: it needed none */
    struct weir_slice anthropic_version; /* the caller's headers of these names; or empty */
    struct weir_slice anthropic_beta;
    struct weir_model_report *model_report; /* what a model's run tells (model/model.h); or NULL */
};

static inline struct weir_account *weir_call_account(const struct weir_call_context *context)
{
    return context != NULL ? context->account : NULL;
}

enum weir_call_answer {
    /* The body is gathered, up to max_body_bytes, and given in on_done. WEIR_EFULL when the
     * context's account has no room for it. */
    WEIR_CALL_WHOLE,
    WEIR_CALL_STREAM, /* on_head and on_body as they come */
};

struct weir_call_request {
    const struct weir_target *target;
    const struct weir_call_context *context; /* may be NULL */
    struct weir_slice method;                /* "GET", "POST" */
    struct weir_slice path;                  /* the target's prefix goes before it */
    /* Lower case; not host, content-length, connection, … What they point to is borrowed until
     * on_done or cancel, the fields themselves until weir_call_start returns. */
    const struct weir_http_field *fields;
    size_t n_fields;
    struct weir_slice body; /* whole body; borrowed until on_done or cancel */
    bool has_stream_body;   /* instead: weir_call_write … weir_call_end_body (HTTP/2 only) */
    enum weir_call_answer answer;
    size_t max_body_bytes; /* WHOLE: WEIR_ELIMIT beyond */
    /* Up to target->max_retries times again after a failed connect, 502, 503 or 504, 50 ms × 2^k
     * later, never past the deadline. The last answer is the answer. */
    bool may_retry;
    bool keeps_status; /* with may_retry: only a failed connect is tried again */
    /* What is passed through of the caller's leaves out credentials: they were not meant for this
     * service. */
    bool keeps_credentials_back;
    uint64_t first_byte_timeout_ms; /* instead of the target's; 0: the target's */
};

struct weir_call_result {
    int err;           /* 0: there is an answer, complete. Otherwise why there is none */
    bool is_unreached; /* with an error: no connection could be made */
    const char *why;   /* a phrase for the log, never for callers; valid during on_done */
    bool has_head;     /* the answer had begun */
    int status;        /* when has_head */
    const struct weir_http_field *fields; /* when has_head: the answer's; valid during on_done */
    size_t n_fields;
    /* HTTP/2, both kinds; valid during on_done. An answer that is only a head has none: what gRPC
     * calls trailers-only came as its fields. */
    const struct weir_http_field *trailers;
    size_t n_trailers;
    struct weir_slice body; /* WHOLE; valid during on_done */
};

struct weir_call_events {
    /* STREAM only; NULL otherwise. The fields live until on_done, the bytes during the call. */
    void (*on_head)(void *ctx, int status, const struct weir_http_field *fields, size_t n_fields);
    void (*on_body)(void *ctx, struct weir_slice bytes);
    /* Room again after a write that answered FULL. May be NULL. */
    void (*on_room)(void *ctx);
    void (*on_done)(void *ctx, const struct weir_call_result *result);
};

/* Never NULL: what fails at once fails through on_done, later. The request struct is copied; what
 * it points to is borrowed until the end of the call. */
struct weir_call *weir_call_start(struct weir_client *client,
                                  const struct weir_call_request *request,
                                  const struct weir_call_events *events, void *ctx);

/* The streamed request body, from the start on. */
enum weir_flow weir_call_write(struct weir_call *call, struct weir_slice bytes);
void weir_call_end_body(struct weir_call *call);

/* Back-pressure: no on_body and no on_done without an error until resumed; HTTP/1 stops reading,
 * HTTP/2 keeps the stream's window. A paused answer is not late. */
void weir_call_pause(struct weir_call *call);
void weir_call_resume(struct weir_call *call);

/* HTTP/1: the connection is closed; HTTP/2: RST_STREAM(CANCEL). Inside its on_done: nothing. */
void weir_call_cancel(struct weir_call *call);

#endif
