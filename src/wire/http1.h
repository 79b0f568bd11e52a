#ifndef WEIR_WIRE_HTTP1_H
#define WEIR_WIRE_HTTP1_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * HTTP/1.x messages, strictly (RFC 9112): bytes in, events out, for both roles. No socket, no
 * clock.
 *
 *   feed(bytes) ─► HEAD ─► DATA* ─► END          then the next message begins
 *
 * One feed call returns at most one event and how many bytes it used; the caller loops until the
 * answer is WEIR_EAGAIN. Refused, because the next hop might read it differently: bare LF,
 * obs-fold, white space before a colon, control characters, Content-Length that is signed, doubled
 * with another value or beside Transfer-Encoding, any transfer coding but one final `chunked`, a
 * request target that is not origin-form (absolute-form and `*` excepted), HTTP/1.1 without exactly
 * one Host.
 */
struct weir_http1_header {
    struct weir_slice name; /* as written; compare with weir_slice_eq_nocase */
    struct weir_slice value;
};

enum weir_http1_event {
    WEIR_HTTP1_HEAD, /* `head` is filled; its slices live until the reader is fed again */
    WEIR_HTTP1_DATA, /* `data`: a run of body bytes, inside the slice that was fed */
    WEIR_HTTP1_END,  /* the message is complete; trailers, if any, were checked and dropped */
};

struct weir_http1_head {
    struct weir_slice method; /* request */
    struct weir_slice target; /* request */
    int status;               /* response */
    int minor;                /* HTTP/1.minor: 0 or 1 */
    bool keep_alive;          /* by version and Connection */
    bool expect_continue;     /* Expect: 100-continue, 1.1 only */
    bool has_length;          /* Content-Length was given */
    bool is_chunked;
    bool is_upgrade; /* Connection: upgrade; ignored by the server, as RFC 9110 allows */
    uint64_t length; /* when has_length */
    size_t n_headers;
    struct weir_http1_header *headers;
};

struct weir_http1_limits {
    size_t max_head_bytes;   /* request line, headers and the end of them */
    size_t max_headers;      /* number of fields */
    uint64_t max_body_bytes; /* 0: none; counted after decoding */
};

enum weir_http1_role {
    WEIR_HTTP1_REQUESTS,  /* reads what callers send */
    WEIR_HTTP1_RESPONSES, /* reads what services answer */
};

struct weir_http1_reader {
    enum weir_http1_role role;
    const struct weir_http1_limits *limits; /* borrowed */
    struct weir_buf held; /* a head that came in pieces; empty and without memory otherwise */
    struct weir_http1_head head;
    struct weir_slice data; /* of the last DATA */
    int bad_status;         /* after WEIR_EBAD or WEIR_ELIMIT: 400, 413, 414, 431, 501, 505 */
    const char *bad_what;   /* and why, a static phrase */
    /* … the rest is the reader's own … */
};

void weir_http1_init(struct weir_http1_reader *r, enum weir_http1_role role,
                     const struct weir_http1_limits *limits);
void weir_http1_dispose(struct weir_http1_reader *r);

/*
 * Reads on. 0: `*event` happened; WEIR_EAGAIN: all used up, feed more; WEIR_EBAD or WEIR_ELIMIT:
 * see bad_status, the connection cannot be used any more. `*used` is always set; bytes behind it
 * belong to the next call.
 */
int weir_http1_feed(struct weir_http1_reader *r, struct weir_slice in, size_t *used,
                    enum weir_http1_event *event);

/* Between two messages, nothing read of the next one? (then the peer may close, and we may too) */
bool weir_http1_is_idle(const struct weir_http1_reader *r);

/* Responses: the answer that comes belongs to a HEAD request or a 1xx/204/304, so no body follows.
 */
void weir_http1_expect_no_body(struct weir_http1_reader *r);

/* Responses: the peer closed. 0 when that ends the message properly (body until close, event END is
 * due), WEIR_ECLOSED when between messages, WEIR_EBAD when the message is cut. */
int weir_http1_eof(struct weir_http1_reader *r);

/* Writing. A chunk's size line; the body bytes and "\r\n" follow it. At most 18 bytes. */
size_t weir_http1_chunk_head(char out[18], size_t n);

/* Is `s` a valid field name (token) / field value (no control characters but tab)? */
bool weir_http1_is_token(struct weir_slice s);
bool weir_http1_is_field_value(struct weir_slice s);

#endif
