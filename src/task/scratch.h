#ifndef WEIR_TASK_SCRATCH_H
#define WEIR_TASK_SCRATCH_H

#include "base/buf.h"
#include "wire/json.h"

/*
 * What the work on one streamed event needs and nothing keeps. One for all streams of a worker: a
 * stream that waits for its next token holds none of it, and the memory is warm when it goes on.
 * Nothing in it outlives the callback it was filled in. All-zero is valid.
 */
struct weir_task_scratch {
    struct weir_json_tape event;    /* of the event that arrives */
    struct weir_json_tape envelope; /* of an event that was kept */
    struct weir_buf text;           /* the arriving event's */
    struct weir_buf out;            /* an event as it leaves */
    struct weir_buf kept;           /* a kept event put together again */
};

/* Gives back what one large event has made large. */
void weir_task_scratch_trim(struct weir_task_scratch *s);
void weir_task_scratch_dispose(struct weir_task_scratch *s);

#endif
