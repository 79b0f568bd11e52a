#ifndef WEIR_TASK_TRACE_H
#define WEIR_TASK_TRACE_H

#include "base/slice.h"
#include "talk/channel.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The watcher of a guarded stream. It learns when and where something happens to the text, never
 * what the text is. A stream without one (NULL in weir_task_ctx) pays a branch.
 *
 *   TOKEN, RAW ─► CHUNK ─► VERDICT, one per detector ─► BATCH
 *
 * `note` is called in the middle of the task's work and must not call the task.
 */
enum weir_task_step_kind {
    WEIR_TASK_STEP_RAW,     /* text came from the model */
    WEIR_TASK_STEP_CHUNK,   /* a chunk is complete and goes to its detectors */
    WEIR_TASK_STEP_VERDICT, /* a detector has answered */
    WEIR_TASK_STEP_BATCH,   /* text has left */
    WEIR_TASK_STEP_TOKEN,   /* of the question: a stretch of a message has become a token */
};

struct weir_task_step {
    enum weir_task_step_kind kind;
    uint64_t choice;
    enum weir_channel channel;
    size_t start_cp; /* in the channel's text */
    size_t end_cp;
    struct weir_slice detector; /* VERDICT: whose … */
    uint64_t took_us;           /* … and how long it took */
    uint32_t message;           /* TOKEN: whose text start and end count in … */
    struct weir_slice token;    /* … and what stands there instead */
};

struct weir_task_trace {
    uint64_t (*now_us)(void); /* monotonic, and moving within a turn */
    void (*note)(const struct weir_task_trace *trace, const struct weir_task_step *step);
};

#endif
