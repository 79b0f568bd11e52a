#ifndef WEIR_HTTP_ENDPOINT_H
#define WEIR_HTTP_ENDPOINT_H

#include "base/buf.h"
#include "base/list.h"
#include "http/stream.h"
#include "io/loop.h"
#include "io/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/*
 * The connections of one listener on one worker, HTTP/1 and HTTP/2 alike (by ALPN on TLS, by the
 * first bytes otherwise), and whom their requests go to.
 */
struct weir_http_limits {
    size_t max_header_bytes; /* request line and fields */
    size_t max_headers;
    size_t max_out_bytes;  /* response bytes waiting for the socket; FULL at this */
    uint32_t max_streams;  /* HTTP/2: open at once on one connection */
    size_t max_held_bytes; /* HTTP/2: memory that one connection makes us hold; 0: no limit */
    uint64_t header_timeout_ms;
    uint64_t body_timeout_ms; /* of a whole request body; 0: none */
    uint64_t idle_timeout_ms;
    uint64_t write_timeout_ms;
};

struct weir_http_service {
    /* Sets s->handler (and s->ctx), or replies at once, or both. */
    void (*on_request)(void *ctx, struct weir_http_stream *s);
    /* HTTP itself answers a request that never came to on_request, in a moment: what its answer and
     * the log need of the service. May be NULL. */
    void (*on_refused)(void *ctx, struct weir_http_stream *s);
    /* The exchange is over and about to be freed: for counting and the access log. Also for what
     * was refused before there was an on_request. */
    void (*on_done)(void *ctx, const struct weir_http_stream *s);
    /* The body of an error that HTTP itself answers (malformed, too slow…); JSON. `req` is what is
     * known of the request, its path perhaps; NULL: there is none. */
    void (*render_error)(void *ctx, const struct weir_http_request *req, int status,
                         const char *what, struct weir_buf *body);
    /* May one more connection be held? False: it is answered 503 and closed. */
    bool (*may_open)(void *ctx);
    void (*on_close)(void *ctx); /* called once for each may_open that answered true */
};

struct weir_http_endpoint {
    struct weir_loop *loop;
    struct weir_tls *tls;                  /* NULL: no TLS. Borrowed, and so is `limits`. */
    const struct weir_http_limits *limits; /* A reload sets others: open connections keep theirs. */
    const struct weir_http_service *service;
    void *ctx;
    struct weir_list conns;
    size_t n_conns;
    size_t n_rejected; /* of them, being answered 503 */
    bool is_draining;
    void (*on_empty)(void *ctx); /* draining, and the last connection has closed; may be NULL */
    char date[32];               /* "Sun, 06 Nov 1994 08:49:37 GMT" of date_s */
    int64_t date_s;
};

void weir_http_endpoint_init(struct weir_http_endpoint *ep, struct weir_loop *loop);

/* Takes the descriptor of a connection that the listener accepted. */
void weir_http_endpoint_accept(struct weir_http_endpoint *ep, int fd);

/* No new requests: idle connections close, HTTP/2 says GOAWAY, running exchanges go on. */
void weir_http_endpoint_drain(struct weir_http_endpoint *ep);

/* Time is nearly up: requests whose answer has not begun are answered with this status (handlers
 * get on_gone); what has begun goes on. */
void weir_http_endpoint_refuse(struct weir_http_endpoint *ep, int status, const char *what);

/* Time is up: everything that still runs is broken off (handlers get on_gone). */
void weir_http_endpoint_abort(struct weir_http_endpoint *ep);

/* The Date field's value for now. */
struct weir_slice weir_http_endpoint_date(struct weir_http_endpoint *ep);

#endif
