#ifndef WEIR_EMIT_EVENT_H
#define WEIR_EMIT_EVENT_H

#include "base/slice.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One message of a stream on its way to the caller. A chunk is the payload of an SSE `data:` field.
 * Everything is borrowed for the length of the call it is given to.
 */
enum weir_event_kind {
    WEIR_EVENT_CHUNK,
    WEIR_EVENT_COMMENT, /* data: the comment's text; passes, flushes nothing */
    WEIR_EVENT_BLOCK, /* the guard ends a choice: what waits of it leaves; never reaches a caller */
    WEIR_EVENT_DONE,  /* [DONE] */
    WEIR_EVENT_EOF,   /* closed without it */
    WEIR_EVENT_ERROR, /* transport, or `event: error`; data: the error object, may be empty */
    WEIR_EVENT_DISCARD, /* a guardrail blocked: what is buffered must not be shown */
};

struct weir_event {
    enum weir_event_kind kind;
    bool is_opaque;  /* a chunk to be forwarded without looking into it */
    bool is_guarded; /* a chunk whose findings and warnings the guard attached: they are joined with
                        others (emit/findings.h); an upstream's own are not */
    uint32_t choice; /* BLOCK: whose */
    struct weir_slice data;
    struct weir_slice sse_id;     /* empty: none */
    const struct weir_json *json; /* `data` read already (its src is `data`), or NULL */
    uint64_t n_said;  /* what the model has said so far, in deltas of one choice; 0: unknown.
                         Where it is known, no more chunks leave if that can be avoided */
    uint64_t at_ms;   /* on the way out: when it left; a timer's own deadline */
    uint64_t held_ms; /* how long the oldest text in it has waited in the stage before */
};

static inline bool weir_event_is_end(const struct weir_event *e)
{
    return e->kind >= WEIR_EVENT_DONE;
}

#endif
