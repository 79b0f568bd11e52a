#ifndef WEIR_MODEL_RENAME_H
#define WEIR_MODEL_RENAME_H

#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

#include <stdbool.h>

/*
 * The name of the model in what a server says, replaced by the one its caller knows: the member
 * `model` of an answer or event, or of the `message` or `response` in it, nothing else. The events
 * of a stream begin alike up to that member; those that do are not read again. All-zero is ready
 * for use.
 */
struct weir_rename {
    struct weir_buf theirs; /* how the last event began, up to the end of its `model` … */
    struct weir_buf ours;   /* … and with the other name */
    struct weir_json_tape tape;
    struct weir_buf out;
    struct weir_buf raw;
};

void weir_rename_dispose(struct weir_rename *r);

/* The document with the other name; itself where it has none, or is no JSON. Lives until the next
 * call. */
struct weir_slice weir_rename_json(struct weir_rename *r, struct weir_slice json,
                                   struct weir_slice name);

/* The same as an event, with its id line if there is one, and with the name of the event that came,
 * `theirs`. */
struct weir_slice weir_rename_event(struct weir_rename *r, struct weir_slice json,
                                    struct weir_slice theirs, struct weir_slice sse_id);

#endif
