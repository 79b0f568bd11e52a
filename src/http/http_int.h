#ifndef WEIR_HTTP_HTTP_INT_H
#define WEIR_HTTP_HTTP_INT_H

#include "base/account.h"
#include "base/buf.h"
#include "base/list.h"
#include "http/endpoint.h"
#include "io/sock.h"
#include "wire/http1.h"

/*
 * Inside the room: a connection and the two protocols that can run on it.
 *
 *   sock events ─► conn ─► proto->input / eof / drained / tick
 *   proto ─► weir_http__conn_linger / _close
 */
struct weir_http_conn;
struct weir_h2;

struct weir_http_proto {
    /* Takes all of the bytes. */
    void (*input)(struct weir_http_conn *c, struct weir_slice bytes);
    /* The peer will send no more. */
    void (*eof)(struct weir_http_conn *c);
    /* The socket has room again after FULL. */
    void (*drained)(struct weir_http_conn *c);
    /* The socket is about to send: what else is ready may be appended now. May be NULL. */
    void (*flush)(struct weir_http_conn *c);
    /* Acts on what is overdue; returns when to look again, UINT64_MAX for never. */
    uint64_t (*tick)(struct weir_http_conn *c, uint64_t now_ms);
    /* The endpoint drains: finish what runs, take nothing new. */
    void (*drain)(struct weir_http_conn *c);
    /* Answers the requests whose answer has not begun; the handlers are done with them. */
    void (*refuse)(struct weir_http_conn *c, int status, const char *what);
    /* The connection is lost or closed: streams are gone, memory is freed. */
    void (*dispose)(struct weir_http_conn *c, int err);
    /* Posted work (see weir_http__conn_post). */
    void (*posted)(struct weir_http_conn *c);
};

extern const struct weir_http_proto weir_h1__proto;
extern const struct weir_http_proto weir_h2__proto;

enum weir_http_conn_state {
    WEIR_HTTP_CONN_OPENING, /* TLS handshake, or waiting for the first bytes, which show the
                               protocol */
    WEIR_HTTP_CONN_OPEN,    /* `proto` runs it */
    WEIR_HTTP_CONN_LINGER,  /* our last byte is on its way; what still comes is discarded */
    WEIR_HTTP_CONN_CLOSING, /* the socket is closing; the memory goes with it */
};

/*
 * Behind our last byte, or a complete answer, a peer may still send what it is in the middle of, a
 * refused upload perhaps: closing on it would be a reset, and it would never see the answer. So it
 * is read and dropped: so long without a byte, so long in all, so much.
 */
enum {
    WEIR_HTTP__REST_QUIET_MS = 2000,
    WEIR_HTTP__REST_MS = 30 * 1000,
    WEIR_HTTP__REST_BYTES = 64 * 1024 * 1024,
};

struct weir_http_rest {
    uint64_t since_ms;
    uint64_t last_ms; /* when the latest bytes of it came */
    size_t bytes;
};

void weir_http__rest_begin(struct weir_http_rest *rest, uint64_t now_ms);

/* `n` more bytes came. False: enough is enough. */
bool weir_http__rest_drop(struct weir_http_rest *rest, uint64_t now_ms, size_t n);

/* When waiting for more of it ends. */
uint64_t weir_http__rest_deadline(const struct weir_http_rest *rest);

/* How the body of the present response is sent. */
enum weir_h1_out {
    WEIR_H1_OUT_NOTHING, /* HEAD, 204: body bytes are dropped */
    WEIR_H1_OUT_LENGTH,  /* out_left bytes are still to come */
    WEIR_H1_OUT_CHUNKED,
    WEIR_H1_OUT_UNTIL_CLOSE, /* HTTP/1.0 */
};

struct weir_h1 {
    enum weir_h1_out out;
    bool is_pumping;
    bool close_after; /* this exchange is the connection's last */
    bool aborted;
    bool owes_continue; /* the caller waits for 100 before it sends the body, and has not got it */
    bool is_leaving;    /* answered: the rest of the request's body comes and is dropped */
    struct weir_http_rest left; /* is_leaving */
    uint64_t out_left;
    struct weir_http_stream *stream; /* the exchange under way, or NULL */
    uint64_t head_since_ms;          /* when the head being read began; 0: none */
    struct weir_buf stash;           /* read but not yet parsed: pipelined, or body paused */
    size_t stash_at;                 /* what of it has been parsed since */
    struct weir_http1_limits reader_limits;
    struct weir_http1_reader reader;
};

/* What every write looks at stands together. */
struct weir_http_conn {
    struct weir_sock sock;
    struct weir_list link;
    struct weir_post post;
    struct weir_http_limits limits; /* those of the configuration it began with */
    struct weir_account account;    /* all that this caller makes us hold */
    struct weir_timer timer;
    struct weir_http_endpoint *ep;
    const struct weir_http_proto *proto; /* NULL while opening */
    enum weir_http_conn_state state;
    bool is_rejected;
    bool is_told; /* rejected, and stays until the 503 has been sent */
    bool peer_ended;
    struct weir_h1 h1;
    struct weir_h2 *h2;
    uint64_t since_ms;              /* of the present state, or of the last exchange's end */
    struct weir_http_rest lingered; /* LINGER: what still came */
    uint64_t seen_sent;             /* bytes the kernel had taken when last looked at */
    uint64_t seen_sent_ms;          /* and when that number last changed */
    char peer[48];                  /* the caller's address */
    struct weir_buf sniffed;        /* first bytes while they could still be either protocol */
};

/* Sends what is queued and the end of stream, discards what still comes for a moment, closes. */
void weir_http__conn_linger(struct weir_http_conn *c);

/* Closes now. Streams get on_gone with `err`; 0 becomes WEIR_ECLOSED. */
void weir_http__conn_close(struct weir_http_conn *c, int err, bool reset);

/* proto->posted at the end of this loop turn. */
void weir_http__conn_post(struct weir_http_conn *c);

/* Makes sure that tick is called at `at_ms` at the latest. */
void weir_http__conn_tick_at(struct weir_http_conn *c, uint64_t at_ms);

/* When queued bytes that the peer does not read become an error; UINT64_MAX with nothing queued. */
uint64_t weir_http__conn_write_deadline(struct weir_http_conn *c, uint64_t now_ms);

/* stream.c: what all protocols do with a stream. */

/* A zeroed stream with the common members set. */
void weir_http__stream_init(struct weir_http_stream *s, struct weir_http_conn *c,
                            const struct weir_http_stream_ops *ops);

/* When more of the request's body must have come, or all of it, and in `why` the error's text if it
 * has not. UINT64_MAX, and `why` untouched: nobody waits for the body. */
uint64_t weir_http__stream_body_deadline(const struct weir_http_stream *s,
                                         const struct weir_http_limits *l, const char **why);

/* Up-calls, where the handler is there, wants them, and has not answered already. */
bool weir_http__stream_wants_body(const struct weir_http_stream *s);
void weir_http__stream_give(struct weir_http_stream *s, struct weir_slice bytes);
void weir_http__stream_give_end(struct weir_http_stream *s);

/* on_resume, if the handler waits for it and its gate is due (base/flow.h); or there is room now.
 * Not from inside a call of the handler's. */
void weir_http__stream_resume(struct weir_http_stream *s);
void weir_http__stream_has_room(struct weir_http_stream *s);

/* No more of the body came in time. False: the handler has no on_late, HTTP must answer. */
bool weir_http__stream_is_late(struct weir_http_stream *s);

/* Tells the handler, once, when the response was not complete. */
void weir_http__stream_gone(struct weir_http_stream *s, int err);

/* An answer that HTTP itself gives, instead of the handler's. */
void weir_http__stream_refuse(struct weir_http_stream *s, struct weir_http_conn *c, int status,
                              const char *what);

/* Counts the stream and disposes its arena. The memory of the stream itself is the protocol's. */
void weir_http__stream_dispose(struct weir_http_stream *s, struct weir_http_conn *c);

#endif
