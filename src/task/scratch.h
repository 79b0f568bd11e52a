#ifndef WEIR_TASK_SCRATCH_H
#define WEIR_TASK_SCRATCH_H

#include "base/buf.h"
#include "base/list.h"
#include "wire/json.h"

/*
 * Pieces of memory of one size that live for a few tokens: the worker's streams pass them on to
 * each other. Each begins with a link. All-zero is empty.
 */
struct weir_task_spares {
    struct weir_list list;
    size_t n;
};
void *weir_task_spares_take(struct weir_task_spares *s, size_t size);
void weir_task_spares_give(struct weir_task_spares *s, void *piece);

/*
 * What the work on one streamed event needs and nothing keeps. One for all streams of a worker: a
 * stream that waits for its next token holds none of it, and the memory is warm when it goes on.
 * Nothing in it outlives the callback it was filled in. All-zero is valid.
 */
struct weir_task_scratch {
    struct weir_json_tape event;          /* of the event that arrives */
    struct weir_json_tape envelope;       /* of an event that was kept */
    struct weir_buf text;                 /* the arriving event's */
    struct weir_buf out;                  /* an event as it leaves */
    struct weir_buf kept;                 /* a kept event put together again */
    struct weir_task_spares cs_items;     /* of choices (task/completion_stream_int.h) … */
    struct weir_task_spares row_items;    /* … of rows (task/row.c) … */
    struct weir_task_spares framed_items; /* … and of rows, with room for an event */
};

/* So few where sanitizers look for memory that is used after it was given back. */
#ifdef WEIR_DEBUG
enum { WEIR_TASK_MOST_SPARES = 2 };
#else
enum { WEIR_TASK_MOST_SPARES = 1024 };
#endif

/* Gives back what one large event has made large. */
void weir_task_scratch_trim(struct weir_task_scratch *s);
void weir_task_scratch_dispose(struct weir_task_scratch *s);

#endif
