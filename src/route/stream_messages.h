#ifndef WEIR_ROUTE_STREAM_MESSAGES_H
#define WEIR_ROUTE_STREAM_MESSAGES_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>

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

/* What an event says that it is; empty: nothing that can be a name. */
struct weir_slice weir_stream_messages_type(struct weir_slice event);

#endif
