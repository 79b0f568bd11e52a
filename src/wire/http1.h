#ifndef WEIR_WIRE_HTTP1_H
#define WEIR_WIRE_HTTP1_H

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
 * answer is WEIR_EAGAIN, also when nothing is left to feed: END needs no bytes of its own. Refused,
 * because the next hop might read it differently: bare LF or CR, obs-fold, white space before a
 * colon, control characters, Content-Length that is signed, doubled, a list or beside
 * Transfer-Encoding, any transfer coding but one final `chunked`, a request target that is not
 * origin-form (absolute-form, and `*` for OPTIONS, excepted), HTTP/1.1 without exactly one Host.
 *
 * A head that lies whole in the slice that was fed is read in place, and the slices of `head` then
 * point into that slice; only a head that comes in pieces is copied. Either way they, and the array
 * of headers, are gone with the next call of feed, release or dispose. Between two messages a
 * reader holds no memory beside itself. It must not be moved while `head` is in use.
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
    struct weir_slice target; /* request; of an absolute-form its path and query */
    struct weir_slice host;   /* request: host[:port] of an absolute-form, else of Host; 1.0: or
                                 empty */
    int status;               /* response */
    int minor;                /* HTTP/1.minor: 0 or 1 */
    bool keep_alive;          /* by version, Connection, and a body that needs no close to end */
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
    uint64_t max_body_bytes; /* 0: no limit; counted after decoding */
};

enum weir_http1_role {
    WEIR_HTTP1_REQUESTS,  /* reads what callers send */
    WEIR_HTTP1_RESPONSES, /* reads what services answer */
};

struct weir_http1_reader {
    enum weir_http1_role role;
    int bad_status; /* after WEIR_EBAD or WEIR_ELIMIT: 400, 413, 414, 417, 431, 501, 505 */
    const struct weir_http1_limits *limits; /* borrowed */
    struct weir_slice data;                 /* of the last DATA */

    /* The reader's own; first what is needed for a body. */
    unsigned char state;      /* enum weir_http1__state */
    bool has_head_out;        /* the last event was HEAD: release with the next feed */
    bool is_no_body_expected; /* until the next final response has ended */
    bool is_first_line_read;  /* of the head being gathered */
    char last;                /* the byte before the next one of that head */
    uint64_t left;            /* of the body or the chunk */
    uint64_t body_bytes;      /* chunked: announced so far */
    uint32_t chunk_digits;
    uint32_t ext_bytes;     /* of this chunk's extensions */
    uint32_t all_ext_bytes; /* of all chunks' extensions */
    int bad_err;
    size_t trailer_bytes;
    size_t line_bytes; /* how much of its current line was seen */

    const char *bad_what; /* why the message was refused, a static phrase */
    struct weir_buf held; /* a head that came in pieces; empty and without memory otherwise */
    struct weir_http1_head head;
    /* Its own, too. */
    size_t cap_headers;
    struct weir_http1_header *headers; /* the memory of head.headers: nothing between two heads */
};

void weir_http1_init(struct weir_http1_reader *r, enum weir_http1_role role,
                     const struct weir_http1_limits *limits);
void weir_http1_dispose(struct weir_http1_reader *r);

/* Gives back the memory of the last head before the next feed does; its slices become empty, its
 * numbers stay. In the middle of a head it does nothing. */
void weir_http1_release(struct weir_http1_reader *r);

/*
 * Reads on. 0: `*event` happened; WEIR_EAGAIN: all used up, feed more; WEIR_EBAD or WEIR_ELIMIT:
 * see bad_status, the connection cannot be used any more. `*used` is always set; bytes behind it
 * belong to the next call.
 */
int weir_http1_feed(struct weir_http1_reader *r, struct weir_slice in, size_t *used,
                    enum weir_http1_event *event);

/* Between two messages, nothing read of the next one? (then the peer may close, and we may too) */
bool weir_http1_is_idle(const struct weir_http1_reader *r);

/* Responses: the final answer that comes belongs to a HEAD request, so no body follows its head. An
 * interim answer (1xx) before it is HEAD and END of its own. After 101 and its END nothing more can
 * be read. */
void weir_http1_expect_no_body(struct weir_http1_reader *r);

/* The peer closed. 0 when that ends the message properly (a response's body until close): feeding
 * an empty slice then gives END. WEIR_ECLOSED when between messages, WEIR_EBAD when one is cut. */
int weir_http1_eof(struct weir_http1_reader *r);

/* Writing. A chunk's size line; the body bytes and "\r\n" follow it. */
enum { WEIR_HTTP1_CHUNK_HEAD_BYTES = 18 /* at most */ };
size_t weir_http1_chunk_head(char out[WEIR_HTTP1_CHUNK_HEAD_BYTES], size_t n);

/* Is `s` a valid field name (token) / field value (no control characters but tab; not trimmed)? */
bool weir_http1_is_token(struct weir_slice s);
bool weir_http1_is_field_value(struct weir_slice s);

#endif
