#ifndef WEIR_ROUTE_STREAM_MESSAGES_H
#define WEIR_ROUTE_STREAM_MESSAGES_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The texts of a message as chunks of OpenAI's, which is what batching joins (emit/batch.h), and
 * back: a block is a choice, thinking is reasoning.
 *
 *   {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hi"}}
 *   {"choices":[{"index":2,"delta":{"content":"Hi"}}]}
 */

/* False: the event is not a text's delta and nothing else, and nothing was appended. */
bool weir_stream_messages_pack(struct weir_slice event, struct weir_buf *chunk);

/* The event that such a chunk, perhaps of several joined, is. */
void weir_stream_messages_unpack(struct weir_slice chunk, struct weir_buf *event);

/*
 * The gate of tool calls (docs/streaming.md): what opens a call and the pieces of its input are
 * kept until the block ends, and leave then, the input in one piece. All-zero is open.
 */
struct weir_stream_messages {
    bool is_on;
    size_t max_bytes; /* of an input; a longer one leaves in pieces */
    bool holds;       /* a call is kept: */
    uint64_t index;
    struct weir_buf start;
    struct weir_buf input;
};

void weir_stream_messages_dispose(struct weir_stream_messages *g);

enum weir_stream_messages_next {
    WEIR_STREAM_MESSAGES_PASS,
    WEIR_STREAM_MESSAGES_HELD,    /* the event is kept */
    WEIR_STREAM_MESSAGES_RELEASE, /* first weir_stream_messages_release, then the event */
};
enum weir_stream_messages_next weir_stream_messages_look(struct weir_stream_messages *g,
                                                         struct weir_slice event);

/* The events that were kept: `start`, then, unless empty, `delta`. Valid until the next call;
 * nothing is kept afterwards. */
void weir_stream_messages_release(struct weir_stream_messages *g, struct weir_slice *start,
                                  struct weir_buf *delta);

/* What an event says that it is; empty: nothing that can be a name. */
struct weir_slice weir_stream_messages_type(struct weir_slice event);

#endif
