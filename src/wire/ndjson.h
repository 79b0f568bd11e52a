#ifndef WEIR_WIRE_NDJSON_H
#define WEIR_WIRE_NDJSON_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * application/x-ndjson: one JSON document to a line, the line ended by LF or CRLF. Bytes in, cut
 * anyhow, one line out per call, without its end; empty lines are skipped. The reader does not look
 * whether a line is JSON. A line that lies whole in the slice that was fed is not copied.
 */
struct weir_ndjson_reader {
    size_t max_line_bytes;  /* before the LF, a CR counted */
    struct weir_slice line; /* the last one; lives until the next call */

    /* The rest is the reader's own. */
    struct weir_buf held; /* a line that came in pieces */
    bool has_line_out;
    bool is_too_large;
};

void weir_ndjson_init(struct weir_ndjson_reader *r, size_t max_line_bytes);
void weir_ndjson_dispose(struct weir_ndjson_reader *r);

/*
 * Reads on. 0: `r->line` is the next line; WEIR_EAGAIN: all used up, feed more; WEIR_ELIMIT: a line
 * is longer than allowed, and the reader cannot be used any more. `*used` is always set; bytes
 * behind it belong to the next call.
 */
int weir_ndjson_feed(struct weir_ndjson_reader *r, struct weir_slice in, size_t *used);

/* End of input. 0: there was one more line, without LF; WEIR_ECLOSED: nothing is left. */
int weir_ndjson_finish(struct weir_ndjson_reader *r);

#endif
