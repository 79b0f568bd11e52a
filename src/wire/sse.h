#ifndef WEIR_WIRE_SSE_H
#define WEIR_WIRE_SSE_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * text/event-stream, both ways. Reading: bytes in, cut anyhow, one event out per call.
 *
 *   event: delta⏎            ┐
 *   data: {"a":1}⏎           ├ one block: lines up to an empty one      raw
 *   ⏎                        ┘
 *
 * Lines end with LF, CRLF or CR. A byte order mark at the very start and empty lines between blocks
 * are skipped. A block that lies whole in the slice that was fed is read in place; only one that
 * comes in pieces, or whose data has several lines, is copied.
 */
struct weir_sse_event {
    struct weir_slice name; /* field `event`; empty: none, which means "message" */
    struct weir_slice data; /* lines joined by \n */
    struct weir_slice id;   /* with has_id; an id with NUL inside is ignored */
    uint64_t retry_ms;      /* with has_retry; digits only, else ignored */
    bool has_data;          /* false only in a reader with wants_all */
    bool has_id;
    bool has_retry;
    bool is_comment;       /* nothing but comment lines */
    struct weir_slice raw; /* from the first byte to behind the empty line, as it came */
};

struct weir_sse_reader {
    size_t max_event_bytes;      /* of one block, line ends included */
    bool wants_all;              /* also blocks without data: comments, retry or id alone */
    struct weir_sse_event event; /* the last one; its slices live until the next call */

    /* The rest is the reader's own. */
    struct weir_buf held;   /* a block that came in pieces */
    struct weir_buf joined; /* data of several lines */
    size_t line_at;         /* where the line begins that is looked at, in the block */
    size_t scan_at;         /* up to where it was searched for its end */
    size_t line_bytes[2];   /* of its first lines, without their ends … */
    size_t n_lines;         /* … so many of which are known */
    bool is_after_cr;       /* the line before it ended with a bare CR */
    bool has_event_out;
    bool is_past_start;   /* the place of a byte order mark was passed */
    unsigned char n_mark; /* bytes of it seen */
    bool is_too_large;
};

void weir_sse_init(struct weir_sse_reader *r, size_t max_event_bytes);
void weir_sse_dispose(struct weir_sse_reader *r);

/*
 * Reads on. 0: `r->event` is the next event; WEIR_EAGAIN: all used up, feed more; WEIR_ELIMIT: an
 * event is larger than allowed, and the reader cannot be used any more. `*used` is always set;
 * bytes behind it belong to the next call.
 */
int weir_sse_feed(struct weir_sse_reader *r, struct weir_slice in, size_t *used);

/*
 * End of input. 0: there was one more event (its empty line ended with a CR that could have become
 * CRLF), ask again; WEIR_ECLOSED: nothing is pending; WEIR_EBAD: an event without its empty line
 * was pending and is dropped, as the standard wants it.
 */
int weir_sse_finish(struct weir_sse_reader *r);

/* An event without a name, whose data is one line: these around it. */
#define WEIR_SSE_DATA "data: "
#define WEIR_SSE_END "\n\n"

/*
 * Writing. `name` may be empty, and must not contain a line end. Data or comments of several lines
 * become several fields; that CR and CRLF in them come out as \n on the other side lies in the
 * format. The buffer's ceiling is kept: WEIR_ELIMIT, and then nothing is written.
 */
int weir_sse_append_event(struct weir_buf *out, struct weir_slice name, struct weir_slice data);
/* The same to memory of that size: how many bytes it takes; 0: there is no room for it. */
size_t weir_sse_put_event(char *to, size_t room, struct weir_slice name, struct weir_slice data);
int weir_sse_append_comment(struct weir_buf *out, struct weir_slice text);

#endif
