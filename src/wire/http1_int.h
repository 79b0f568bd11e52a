#ifndef WEIR_WIRE_HTTP1_INT_H
#define WEIR_WIRE_HTTP1_INT_H

#include "base/err.h"
#include "wire/http1.h"

/* Shared by the files of the HTTP/1 reader: http1.c (the machine), http1_head.c (lines and their
 * syntax), http1_fields.c (what the fields mean), http1_body.c (framing). */

enum weir_http1__state {
    WEIR_HTTP1__START,      /* between messages */
    WEIR_HTTP1__START_CR,   /* a CR stood where a request line should begin */
    WEIR_HTTP1__START_LAST, /* one CRLF was skipped there; the request line must come now */
    WEIR_HTTP1__HEAD,       /* in the middle of a head, which is gathered in `held` */
    WEIR_HTTP1__LENGTH,     /* `left` bytes of body to come */
    WEIR_HTTP1__CLOSE,      /* body until the peer closes */
    WEIR_HTTP1__SIZE,       /* in a chunk's size */
    WEIR_HTTP1__EXT_SPACE,  /* white space behind it: only an extension may follow */
    WEIR_HTTP1__EXT,        /* in its extensions */
    WEIR_HTTP1__SIZE_LF,    /* at the LF that ends the size line */
    WEIR_HTTP1__CHUNK,      /* `left` bytes of the chunk to come */
    WEIR_HTTP1__CHUNK_CR,   /* at the CR behind a chunk's bytes */
    WEIR_HTTP1__CHUNK_LF,   /* at the LF behind it */
    WEIR_HTTP1__TRAILER,    /* where a trailer or the last, empty line begins */
    WEIR_HTTP1__TRAILER_NAME,
    WEIR_HTTP1__TRAILER_VALUE,
    WEIR_HTTP1__TRAILER_LF, /* at the LF that ends a trailer */
    WEIR_HTTP1__LAST_LF,    /* at the LF that ends the message */
    WEIR_HTTP1__END,        /* the message is complete, END is due */
    WEIR_HTTP1__SWITCHED,   /* after 101 and its END: what follows is not HTTP/1 */
    WEIR_HTTP1__BAD,        /* refused; see bad_err */
};

/* Classes of bytes, bits of weir_http1__class. */
enum {
    WEIR_HTTP1__TOKEN_CHAR = 1,  /* methods and field names */
    WEIR_HTTP1__VALUE_CHAR = 2,  /* field values: all but control characters, tab allowed */
    WEIR_HTTP1__TARGET_CHAR = 4, /* request targets: visible ASCII but '#' */
};

extern const unsigned char weir_http1__class[256];

static inline bool weir_http1__is(char c, unsigned class_bit)
{
    return (weir_http1__class[(unsigned char)c] & class_bit) != 0;
}

/* What the fields of one head said, until they are judged together. */
struct weir_http1__facts {
    bool has_host; /* whatever the target says */
    bool has_close;
    bool has_keep_alive;
};

/* Refuses the message for good; returns `err`. `what` must be static. */
int weir_http1__refuse(struct weir_http1_reader *r, int err, int status, const char *what);

static inline int weir_http1__bad(struct weir_http1_reader *r, const char *what)
{
    return weir_http1__refuse(r, WEIR_EBAD, 400, what);
}

/* The event END goes out: what comes next. */
void weir_http1__end_message(struct weir_http1_reader *r);

/* Up to and with the end of the head: 0, `r->head` is filled and the body's state entered. */
int weir_http1__feed_head(struct weir_http1_reader *r, struct weir_slice in, size_t *used);

/* One field of the head: notes it when it concerns the message itself. */
int weir_http1__note_field(struct weir_http1_reader *r, struct weir_http1__facts *facts,
                           const struct weir_http1_header *field);

/* All fields noted: judges them together, completes `r->head` and enters the body's state. */
int weir_http1__judge_fields(struct weir_http1_reader *r, const struct weir_http1__facts *facts);

/* In one of the states of a body. */
int weir_http1__feed_body(struct weir_http1_reader *r, struct weir_slice in, size_t *used,
                          enum weir_http1_event *event);

#endif
