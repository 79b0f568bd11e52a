#ifndef WEIR_ROUTE_STREAM_DIALECT_H
#define WEIR_ROUTE_STREAM_DIALECT_H

#include "base/buf.h"
#include "base/slice.h"
#include "route/problem.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Streams whose events are not OpenAI's chunks (Anthropic's Messages, OpenAI's Responses): events
 * have names, and what batching joins (emit/batch.h) are chunks, which texts of theirs become and
 * are made of again. A text's place is a choice there:
 *
 *   {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hi"}}
 *   {"choices":[{"index":2,"delta":{"content":"Hi"}}]}
 */
struct weir_stream_lanes;

/* What an event is to the gate. */
enum weir_stream_call {
    WEIR_STREAM_NO_CALL,
    WEIR_STREAM_BESIDE, /* it may pass a call that is kept */
    WEIR_STREAM_OPENS,  /* a tool call, */
    WEIR_STREAM_ADDS,   /* a piece of its input */
};

struct weir_stream_dialect {
    /* False: the event is not a text's delta and nothing else, and nothing was appended. */
    bool (*pack)(struct weir_stream_lanes *lanes, struct weir_slice event, struct weir_buf *chunk);
    /* The event that such a chunk, perhaps of several joined, is. */
    void (*unpack)(const struct weir_stream_lanes *lanes, struct weir_slice chunk,
                   struct weir_buf *event);
    /* `*index`: of which call; `*text`: the string of a piece, or WEIR_JSON_NONE. */
    enum weir_stream_call (*call)(const struct weir_json *json, uint64_t *index, uint32_t *text);
    const char *mark; /* stands in all events of calls and of nothing but few others */
    void (*write_error)(const struct weir_problem *problem, struct weir_buf *out);
    const char *ping;         /* the event that says that nothing happens; NULL: a comment does */
    struct weir_slice number; /* the member that counts events from 0, as it is written: "n":;
                                 empty: none does */
};

extern const struct weir_stream_dialect weir_stream_messages;
extern const struct weir_stream_dialect weir_stream_responses;

/* ---- texts as chunks ---- */

/* The places of texts that have a choice of their own, by their number. All-zero is empty. */
enum { WEIR_STREAM_MAX_LANES = 64 };
struct weir_stream_lane {
    int kind; /* the dialect's */
    uint64_t item;
    uint64_t part;
    struct weir_buf item_id;
};
struct weir_stream_lanes {
    struct weir_stream_lane *all;
    size_t n;
};
void weir_stream_lanes_dispose(struct weir_stream_lanes *lanes);

/* A text as a chunk and back. */
struct weir_stream_text {
    uint64_t choice;
    bool is_reasoning;
    struct weir_slice quoted;   /* the string, as it is written */
    struct weir_slice results;  /* JSON: what was found in it; or empty */
    struct weir_slice channel;  /* JSON: where; or empty */
    struct weir_slice warnings; /* JSON, or empty */
};
/* What was found, from an event or a chunk. */
void weir_stream_read_found(const struct weir_json *json, struct weir_stream_text *text);
void weir_stream_write_chunk(const struct weir_stream_text *text, struct weir_buf *chunk);
/* False: it is not one of ours. */
bool weir_stream_read_chunk(const struct weir_json *json, struct weir_stream_text *text);

/* What an event says that it is; empty: nothing that can be a name. */
struct weir_slice weir_stream_type(struct weir_slice event);

/* ---- the gate ---- */

/*
 * The gate of tool calls (docs/streaming.md): what opens a call and the pieces of its input are
 * kept until something else comes, and leave then, the input in one piece. All-zero is open.
 */
struct weir_stream_gate {
    const struct weir_stream_dialect *dialect; /* NULL: it is open */
    size_t max_bytes;                          /* of an input; a longer one leaves in pieces */
    bool holds;                                /* a call is kept: */
    uint64_t index;
    struct weir_buf start;
    struct weir_buf piece; /* the first of its input … */
    struct weir_buf input; /* … and all of it */
};

void weir_stream_gate_dispose(struct weir_stream_gate *g);

enum weir_stream_gate_next {
    WEIR_STREAM_GATE_PASS,
    WEIR_STREAM_GATE_HELD,    /* the event is kept */
    WEIR_STREAM_GATE_RELEASE, /* first weir_stream_gate_release, then the event */
};
enum weir_stream_gate_next weir_stream_gate_look(struct weir_stream_gate *g,
                                                 struct weir_slice event);

/* The events that were kept: `start`, then, unless empty, `delta`. Valid until the next call;
 * nothing is kept afterwards. */
void weir_stream_gate_release(struct weir_stream_gate *g, struct weir_slice *start,
                              struct weir_buf *delta);

/* ---- numbers ---- */

/* The number in an event's member, of which `key` is the name with its quotes and colon, where that
 * stands next to its `type`, in front or at the end; false: it may be anywhere. */
bool weir_stream_find_number(struct weir_slice event, struct weir_slice key,
                             struct weir_slice *digits);
bool weir_stream_is_number(struct weir_slice digits, uint64_t number);

/* Appends the event with that number in the member. False: it has it already, and nothing was
 * appended. */
bool weir_stream_set_number(struct weir_slice event, struct weir_slice key, uint64_t number,
                            struct weir_buf *out);

#endif
