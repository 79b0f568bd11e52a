#ifndef WEIR_ROUTE_STREAM_OUT_H
#define WEIR_ROUTE_STREAM_OUT_H

#include "base/buf.h"
#include "base/list.h"
#include "http/stream.h"
#include "io/loop.h"
#include "route/batching.h"
#include "route/reply.h"
#include "route/stream_dialect.h"
#include "task/out.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A streaming answer over HTTP: events as server-sent events or as JSON lines, batched on their way
 * where that is configured.
 *
 *   task ─► event ─► [emit/chain] ─► SSE or NDJSON ─► http stream
 *
 * Nothing is sent before the first event, so that what fails before it is an ordinary error with
 * its status; but after `heartbeat_ms` of silence a comment must go out, and the head with it. One
 * timer serves both the chain and the silence. An event that passes the chain untouched leaves as
 * the bytes it came in, framing included.
 *
 * The task is told FULL when the chain is full; where no stage of the chain can hold anything, or
 * there is no chain, when the caller's connection is full.
 */
struct weir_stream_out_options {
    bool is_ndjson; /* lines instead of events; no comments */
    bool has_done;  /* `data: [DONE]` ends it, errors included unless it is a route's */
    bool is_route;  /* errors are OpenAI's, and the last thing said */
    const struct weir_stream_dialect *dialect; /* whose events these are; NULL: OpenAI's chunks */
    bool is_fms; /* errors before the first event are events, too; plainer error data */
    /* Events that the task writes carry findings of this gateway, with spans that count from the
     * beginning of the stream: batches join them. */
    bool joins_findings;
    bool is_duplex; /* the request's body is still being read: see weir_stream_out_resumed */
    uint64_t heartbeat_ms;
    const struct weir_batching *batching; /* NULL: none; borrowed */
};

enum weir_stream_out_end {
    WEIR_STREAM_OUT_DONE,
    WEIR_STREAM_OUT_FAILED, /* with an error event */
    WEIR_STREAM_OUT_GONE,   /* the caller went away */
};

struct weir_stream_out {
    struct weir_out base;
    struct weir_list link; /* of this thread's, until it is over */
    struct weir_http_stream *stream;
    struct weir_chain *chain; /* NULL: events leave as they come */
    bool is_started;
    bool is_blocked; /* the caller takes no more for now; the chain knows */
    bool is_over;
    struct weir_flow_gate gate; /* to the task: FULL, then on_resume */
    uint64_t last_sent_ms;
    uint64_t n_events; /* without a chain: events and bytes of their data */
    uint64_t n_bytes;
    uint64_t first_event_ms; /* without a chain: when the first of them left */
    struct weir_stream_out_options options;
    struct weir_timer timer;
    struct weir_post room;              /* resumes the task from outside of its calls */
    struct weir_account_share buffered; /* what the chain holds */
    struct weir_stream_gate calls;      /* of a dialect: tool calls, where they are gated … */
    struct weir_stream_lanes lanes;     /* … and texts that are batched */
    uint64_t n_numbered;                /* events that have left, where they are counted */
    struct weir_buf scratch;            /* an event on its way to the stream */
    const struct weir_out_raw *raw;     /* pushed into the chain just now, if it has own bytes */
    struct weir_problem problem;        /* while an error passes the chain */
};

/* Made in the stream's arena; sets the stream's handler, unless it is duplex. */
struct weir_stream_out *weir_stream_out_new(struct weir_http_stream *s,
                                            const struct weir_stream_out_options *options);

/* Ends it for a fault of the request: with that status if nothing has been sent, otherwise with an
 * error event. */
void weir_stream_out_refuse(struct weir_stream_out *o, int status, struct weir_slice details);

/* Sends an event beside the answer: at once, past the chain, not counted. It is dropped while the
 * caller takes no bytes. */
void weir_stream_out_aside(struct weir_stream_out *o, struct weir_slice name,
                           struct weir_slice json);

/* Refuses all running streams of this thread with 503: the time they had to finish is over. */
void weir_stream_out_end_all(void);

/* A duplex answer shares the HTTP stream with the reader of the request's body, whose handler must
 * pass on_resume and on_gone on to these. */
void weir_stream_out_resumed(struct weir_stream_out *o);
void weir_stream_out_gone(struct weir_stream_out *o);

#endif
