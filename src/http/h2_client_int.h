#ifndef WEIR_HTTP_H2_CLIENT_INT_H
#define WEIR_HTTP_H2_CLIENT_INT_H

#include "http/h2_session.h"
#include "http/up_int.h"

/* Between h2_client.c, which runs a connection, and h2_exchange.c, which runs what is on it. */
struct weir_h2_up {
    nghttp2_session *session;
    struct weir_h2_calm calm;
    uint64_t heard_ms; /* when bytes last came, or the first exchange began */
    uint64_t ping_ms;  /* when a ping was sent that is not answered; 0: none */
    bool is_receiving; /* inside mem_recv */
    bool is_doomed;    /* to be deleted after it */
    bool is_flooded;
};

/* The callbacks that are about one stream. They refuse once the connection is closing. */
void weir_h2__set_stream_callbacks(nghttp2_session_callbacks *cb);

/* A block of fields is complete; the stream has ended on the peer's side. */
void weir_h2__on_headers(nghttp2_session *session, struct weir_http_exchange *ex, bool is_end);
void weir_h2__on_end(struct weir_http_exchange *ex);

/* See weir_http_up_proto. */
void weir_h2__begin(struct weir_http_up *up, struct weir_http_exchange *ex,
                    const struct weir_http_up_request *request);
void weir_h2__wake(struct weir_http_exchange *ex);
void weir_h2__set_paused(struct weir_http_exchange *ex);
void weir_h2__cancel(struct weir_http_exchange *ex);

#endif
