#ifndef WEIR_HTTP_UP_H
#define WEIR_HTTP_UP_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/bufq.h"
#include "base/flow.h"
#include "base/list.h"
#include "http/msg.h"
#include "io/sock.h"
#include "wire/http1.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * A connection to a service and the exchanges on it, HTTP/1.1 and HTTP/2 alike: the calling side.
 *
 *   open ─► CONNECTING ─► [SETTLING] ─► READY ─► CLOSING ─► on_freed
 *                            HTTP/2: until the peer's SETTINGS are known
 *
 *   begin ─► on_answer ─► on_head ─► on_body* ─► on_end          or, at any point, on_failed
 *
 * Embedded in its owner, who keeps it in a pool. Whether and where a failed exchange is tried again
 * is the owner's business; the exchange says whether the peer can have seen it. Time is the owner's
 * business too, but for HTTP/2's pings.
 *
 * No event comes from inside a call made here. Any call may be made from inside any event.
 */
struct weir_http_up;
struct weir_http_exchange;

struct weir_http_up_options {
    const struct sockaddr *addr;
    struct weir_tls *tls;      /* NULL: plain */
    const char *server_name;   /* with TLS */
    bool is_h2;                /* HTTP/2 or nothing; otherwise HTTP/1.1 unless ALPN says h2 */
    uint64_t ping_interval_ms; /* HTTP/2, while exchanges run and nothing is heard; 0: never */
    uint64_t ping_timeout_ms;
};

struct weir_http_up_events {
    /* Exchanges may begin. */
    void (*on_ready)(struct weir_http_up *up);
    /* More exchanges may begin than before, or the last one has left. */
    void (*on_room)(struct weir_http_up *up);
    /* Broken, refused, or ended by the peer: takes no exchanges any more. Comes before its
     * exchanges fail. Not after weir_http_up_close. */
    void (*on_gone)(struct weir_http_up *up, int err, const char *why);
    /* The memory is the owner's again. Always the last. */
    void (*on_freed)(struct weir_http_up *up);
};

enum weir_http_up_state {
    WEIR_HTTP_UP_CONNECTING, /* TCP and TLS */
    WEIR_HTTP_UP_SETTLING,   /* HTTP/2: our preface is sent, the peer's SETTINGS are awaited */
    WEIR_HTTP_UP_READY,
    WEIR_HTTP_UP_CLOSING,
};

struct weir_http_up_proto; /* up_int.h */
struct weir_h2_up;         /* h2_client.c */

struct weir_http_up {
    struct weir_sock sock;
    struct weir_loop *loop;
    const struct weir_http_up_events *events;
    enum weir_http_up_state state;
    const struct weir_http_up_proto *proto; /* NULL while connecting */
    struct weir_list exchanges;             /* weir_http_exchange.link */
    size_t n_exchanges;
    uint64_t n_begun; /* exchanges so far */
    bool is_draining; /* HTTP/2: the peer said GOAWAY; what runs goes on */
    /* the rest is the connection's own */
    bool insists_on_h2;
    uint64_t ping_interval_ms;
    uint64_t ping_timeout_ms;
    struct weir_timer timer;
    struct weir_post post;
    struct weir_http1_reader reader;
    struct weir_buf stash; /* HTTP/1: read while paused, not yet parsed */
    unsigned n_interim;    /* HTTP/1: 1xx of the answer being read */
    bool has_eof;          /* HTTP/1: the peer has ended */
    struct weir_h2_up *h2;
};

/* What is asked. Slices and fields are borrowed until begin returns, `body` until the exchange has
 * ended. */
struct weir_http_up_request {
    struct weir_slice method;
    struct weir_slice authority;
    struct weir_slice path;
    const struct weir_http_field *fields; /* lower case; without host and content-length */
    size_t n_fields;
    struct weir_slice body;
    bool has_stream_body; /* instead of `body`: write … end_body. HTTP/2 only */
};

struct weir_http_exchange_events {
    /* The first byte of an answer, an interim one perhaps: the peer has seen the request. */
    void (*on_answer)(void *ctx);
    /* The final answer's. The fields live in the exchange's arena. */
    void (*on_head)(void *ctx, int status, const struct weir_http_field *fields, size_t n_fields);
    void (*on_body)(void *ctx, struct weir_slice bytes);
    void (*on_room)(void *ctx); /* a write answered FULL; there is room again */
    /* One of these two is the last; the exchange is off its connection then. */
    void (*on_end)(void *ctx, const struct weir_http_field *trailers, size_t n_trailers);
    void (*on_failed)(void *ctx, int err, const char *why);
};

/* Embedded in its owner, who sets the first three and zeroes the rest. */
struct weir_http_exchange {
    const struct weir_http_exchange_events *events;
    void *ctx;
    struct weir_arena *arena; /* for the answer's fields and trailers */

    struct weir_http_up *up; /* NULL: not under way */
    uint64_t out_ms;         /* when request bytes last moved on; once is_sent: the last of them */
    uint64_t in_ms;          /* when answer bytes last came, or reading was resumed */
    bool is_sent;            /* the whole request has left */
    bool is_answered;        /* on_answer was given */
    bool is_refused;         /* with on_failed: the peer says that it did nothing */
    bool is_cut;             /* with on_failed: the connection was lost, not the exchange alone */
    bool is_paused;

    /* the rest is the exchange's own */
    struct weir_loop *loop;
    struct weir_list link;
    struct weir_post post;  /* HTTP/2: calls events that must not come from inside a call */
    struct weir_slice body; /* what is left of it */
    struct weir_bufq out;   /* streamed body, not yet framed */
    struct weir_bufq in;    /* HTTP/2: answer that came while paused */
    bool has_stream_body;
    bool has_body_end;          /* the streamed body is complete */
    struct weir_flow_gate gate; /* to its writer: FULL, then on_room */
    bool is_head_only;          /* HEAD: no body follows */
    int32_t id;                 /* HTTP/2 */
    bool is_deferred;           /* nghttp2 waits for resume_data */
    bool has_head;              /* the final one */
    bool has_end; /* all of the answer has come, what was not given to the owner is held: the
                     exchange does not need its connection any more */
    int status;   /* of the block being read */
    unsigned n_interim;
    size_t head_bytes;
    struct weir_http_field *fields; /* of the block being read; in the end the trailers */
    size_t n_fields;
    size_t cap_fields;
    int err; /* for on_failed, which is posted */
    const char *why;
    bool *is_alive; /* on the stack of the function that calls an event: cleared by cancel */
};

/* Connects. Set `events` in the (zeroed) object before. A failure comes as on_gone. */
void weir_http_up_open(struct weir_http_up *up, struct weir_loop *loop,
                       const struct weir_http_up_options *options);

/* How many exchanges may begin now. */
size_t weir_http_up_room(const struct weir_http_up *up);
bool weir_http_up_is_h2(const struct weir_http_up *up);

/* Closes now; exchanges on it are dropped without an event, on_freed follows. Safe twice. */
void weir_http_up_close(struct weir_http_up *up);

/* Begins an exchange on a connection that has room. */
void weir_http_up_begin(struct weir_http_up *up, struct weir_http_exchange *ex,
                        const struct weir_http_up_request *request);

/* The streamed request body. All is accepted; FULL: wait for on_room. */
enum weir_flow weir_http_exchange_write(struct weir_http_exchange *ex, struct weir_slice bytes);
void weir_http_exchange_end_body(struct weir_http_exchange *ex);

/* No on_body and no end until resumed; the peer is held back. Also before begin. */
void weir_http_exchange_pause(struct weir_http_exchange *ex);
void weir_http_exchange_resume(struct weir_http_exchange *ex);

/* Takes it off its connection (HTTP/1: which closes; HTTP/2: RST_STREAM) and frees what it holds;
 * no event comes any more. Fine when it is not under way. */
void weir_http_exchange_cancel(struct weir_http_exchange *ex);

#endif
