#ifndef WEIR_HTTP_UP_INT_H
#define WEIR_HTTP_UP_INT_H

#include "http/up.h"

/*
 * Inside the room, calling side: a connection and the two protocols that can run on it.
 *
 *   sock events ─► up ─► proto->input / eof / drained / flush / tick
 *   proto ─► weir_http_up__ready / _room / _detach / _fail
 */
struct weir_http_up_proto {
    /* The socket is open. */
    void (*start)(struct weir_http_up *up);
    /* Takes all of the bytes. */
    void (*input)(struct weir_http_up *up, struct weir_slice bytes);
    /* The peer will send no more. */
    void (*eof)(struct weir_http_up *up);
    /* The socket has room again after FULL. */
    void (*drained)(struct weir_http_up *up);
    /* The socket is about to send. May be NULL. */
    void (*flush)(struct weir_http_up *up);
    /* The timer; may be NULL. */
    void (*tick)(struct weir_http_up *up);
    /* Posted work. */
    void (*posted)(struct weir_http_up *up);
    size_t (*room)(const struct weir_http_up *up);
    void (*begin)(struct weir_http_up *up, struct weir_http_exchange *ex,
                  const struct weir_http_up_request *request);
    /* There is more of a streamed body, or its end. */
    void (*wake)(struct weir_http_exchange *ex);
    void (*set_paused)(struct weir_http_exchange *ex);
    void (*cancel)(struct weir_http_exchange *ex); /* off the connection already */
    /* Frees what the protocol holds; exchanges are off already. */
    void (*dispose)(struct weir_http_up *up);
};

extern const struct weir_http_up_proto weir_h1__up;
extern const struct weir_http_up_proto weir_h2__up;

enum {
    WEIR_HTTP_UP__HEAD_BYTES = 64 * 1024, /* of an answer, and of its trailers */
    WEIR_HTTP_UP__MAX_FIELDS = 256,
    WEIR_HTTP_UP__MAX_INTERIM = 16,      /* 1xx before one answer */
    WEIR_HTTP_UP__OUT_BYTES = 64 * 1024, /* of a streamed body before write answers FULL */
};

/* Takes the exchange off its connection. */
void weir_http_up__detach(struct weir_http_exchange *ex);

/* Frees what the exchange holds, then calls its last event. */
void weir_http_up__end(struct weir_http_exchange *ex);
void weir_http_up__give_up(struct weir_http_exchange *ex, int err, const char *why);

/* The connection cannot be used any more: closes it, calls on_gone of its owner, then on_failed of
 * its exchanges. `why` must outlive the call. */
void weir_http_up__fail(struct weir_http_up *up, int err, const char *why);

/* The answer's first byte. */
void weir_http_up__answered(struct weir_http_exchange *ex);

#endif
