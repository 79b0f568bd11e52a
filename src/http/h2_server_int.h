#ifndef WEIR_HTTP_H2_SERVER_INT_H
#define WEIR_HTTP_H2_SERVER_INT_H

#include "http/h2_session.h"
#include "http/http_int.h"

#include <nghttp2/nghttp2.h>

/* What the serving side of HTTP/2 keeps for a connection and for each of its streams. */
struct weir_h2 {
    nghttp2_session *session;
    struct weir_list streams; /* h2_stream.link */
    size_t n_streams;
    struct weir_h2_calm calm;
    uint64_t goaway_at_ms; /* draining: when the final GOAWAY is due; 0: not draining */
    bool has_goaway;       /* it was sent */
};

/* Where the writes of a queued body end, for those that are framed one by one. */
struct weir_h2_writes {
    size_t *bytes; /* of each that is not framed yet */
    size_t head;
    size_t n; /* from head on */
    size_t cap;
};

struct weir_h2_stream {
    struct weir_http_stream base;
    struct weir_http_conn *conn;
    struct weir_list link;
    int32_t id;
    struct weir_bufq out;             /* response body, not yet framed */
    struct weir_h2_writes writes;     /* with keeps_writes */
    struct weir_bufq in;              /* request body that came while paused */
    struct weir_http_field *trailers; /* behind the body, with response_ended */
    size_t n_trailers;
    size_t cap_fields;
    size_t head_bytes;
    bool head_done;
    bool head_too_large;
    bool is_deferred;  /* nghttp2 waits for resume_data */
    bool is_body_due;  /* the body was resumed: what came meanwhile is to be delivered */
    bool end_received; /* the body ended while paused */
    bool no_body_out;
    bool keeps_writes;
    bool is_left; /* answered and disposed: only what is left of the request body still comes */
    struct weir_http_rest left; /* is_left */
};

static inline struct weir_h2_stream *weir_h2__of(struct weir_http_stream *s)
{
    return WEIR_LIST_ENTRY(s, struct weir_h2_stream, base);
}

static inline nghttp2_session *weir_h2__session_of(const struct weir_h2_stream *hs)
{
    return hs->conn->h2->session;
}

/* h2_response.c: respond, write, end, abort and pause of a stream. */
extern const struct weir_http_stream_ops weir_h2__stream_ops;

#endif
