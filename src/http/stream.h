#ifndef WEIR_HTTP_STREAM_H
#define WEIR_HTTP_STREAM_H

#include "base/arena.h"
#include "base/flow.h"
#include "base/slice.h"
#include "http/msg.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One exchange on the serving side, the same for HTTP/1 and HTTP/2: a request that is still being
 * read and a response that is already being written.
 *
 *   on_request ─► on_body* ─► on_body_end          what the caller sends; pause_body holds it back
 *   respond ─► write* ─► end                       what the handler answers, whenever it likes
 *   on_resume after a FULL write, on_late when no more of the body came in time, on_gone when the
 *   caller went away
 *
 * The stream belongs to its connection. It ends, and its arena with it, when both directions have
 * ended, or right after on_gone, or after abort. What the handler has open elsewhere registers its
 * undoing in the arena. Handlers may call any of the functions below from any up-call.
 */
struct weir_http_stream;

struct weir_http_handler {
    /* The bytes live during the call only. */
    void (*on_body)(struct weir_http_stream *s, struct weir_slice bytes);
    void (*on_body_end)(struct weir_http_stream *s);
    /* A write answered FULL; there is room again. */
    void (*on_resume)(struct weir_http_stream *s);
    /* No more of the body came for limits.idle_timeout; the handler says so in its answer, and ends
     * it. NULL: HTTP itself answers 408, or breaks off an answer that has begun. */
    void (*on_late)(struct weir_http_stream *s);
    /* The caller went away or broke the protocol before the response was complete. Last call. */
    void (*on_gone)(struct weir_http_stream *s, int err);
};

/* How a protocol does it. */
struct weir_http_stream_ops {
    void (*respond)(struct weir_http_stream *s, const struct weir_http_response *response);
    enum weir_flow (*write)(struct weir_http_stream *s, struct weir_slice bytes);
    void (*end)(struct weir_http_stream *s, const struct weir_http_field *trailers, size_t n);
    void (*abort)(struct weir_http_stream *s);
    void (*set_paused)(struct weir_http_stream *s, bool paused);
};

struct weir_http_stream {
    const struct weir_http_stream_ops *ops;
    struct weir_loop *loop;
    uint64_t sent_bytes; /* of the response's body, as handed in */
    int status;          /* 0 until respond */
    bool body_ended;
    bool body_paused;
    bool response_ended;
    bool is_gone;
    struct weir_flow_gate gate; /* to the handler: FULL, then on_resume */
    struct weir_arena arena;
    struct weir_http_request req;
    const struct weir_http_handler *handler; /* set in on_request; NULL: the body is discarded */
    void *ctx;                               /* the handler's own */
    void *service_ctx;                       /* the service's own: the request, for the log */
    const struct weir_http_field *extra;     /* go with whatever response there will be; borrowed */
    size_t n_extra;
    const char *peer; /* the caller's address, without a port; "" where it has none */
    uint64_t started_ms;
    uint64_t head_ms;     /* when the response began */
    uint64_t end_ms;      /* when its last byte was handed in */
    uint64_t last_in_ms;  /* when body bytes last came */
    uint64_t last_out_ms; /* when response bytes last left, or were first queued */
    uint64_t body_bytes;  /* of the request, so far */
    uint64_t
        body_timeout_ms; /* for all of it; on_request may set 0: it takes as long as it likes */
};

/* Sends the head. Once per stream, before write and end. */
void weir_http_stream_respond(struct weir_http_stream *s, const struct weir_http_response *r);

/* Queues body bytes; all are accepted. FULL: wait for on_resume before writing much more. */
enum weir_flow weir_http_stream_write(struct weir_http_stream *s, struct weir_slice bytes);

/* The response is complete. */
void weir_http_stream_end(struct weir_http_stream *s);

/*
 * The same with fields behind the body, which are copied: on HTTP/2 a last HEADERS frame, on HTTP/1
 * the trailer of a chunked body. A response that has no place for them (no body, a length on
 * HTTP/1, HTTP/1.0) ends without.
 */
void weir_http_stream_end_with(struct weir_http_stream *s, const struct weir_http_field *trailers,
                               size_t n);

/* Breaks off (HTTP/1: reset, HTTP/2: RST_STREAM). The stream is gone afterwards; no up-call. */
void weir_http_stream_abort(struct weir_http_stream *s);

/* No on_body until resumed; what the caller sends is held back by flow control. */
void weir_http_stream_pause_body(struct weir_http_stream *s);
void weir_http_stream_resume_body(struct weir_http_stream *s);

/* A whole response in one call: head, body, end. */
void weir_http_stream_reply(struct weir_http_stream *s, int status,
                            const struct weir_http_field *fields, size_t n_fields,
                            struct weir_slice body);

#endif
