#ifndef WEIR_TASK_ENV_H
#define WEIR_TASK_ENV_H

#include "base/arena.h"
#include "base/map.h"
#include "base/slice.h"
#include "chunk/chunk.h"
#include "detect/detect.h"
#include "model/fleet.h"
#include "model/model.h"
#include "obs/metric.h"
#include "task/compat.h"
#include "task/skips.h"
#include "task/trace.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * What a task works with. weir_task_env is made from a configuration, const and shared;
 * weir_task_ctx belongs to one request.
 */
struct weir_task_detector {
    struct weir_slice id;
    const struct weir_detector *detector;
    const struct weir_chunker *chunker; /* NULL where the type looks at the whole; of one that reads
                                           along: for whole texts */
    double default_threshold;
    bool reads_along; /* in streams (detect/reading.h); whole texts it gets whole */
    struct weir_metric_histogram held;  /* task/held.h */
    bool is_shadow;                     /* only watches (task/shadow.h) */
    bool skips_errors;                  /* on_error: skip (task/skips.h) … */
    struct weir_metric_counter skipped; /* … counted here */
};

struct weir_gather_strategy;
struct weir_shadow;
struct weir_task_scratch;

struct weir_task_env {
    const struct weir_task_detector *detectors;
    size_t n_detectors;
    struct weir_map detectors_by_id;     /* of struct weir_task_detector */
    const struct weir_model *openai;     /* NULL: none */
    const struct weir_fleet *fleet;      /* the same, where it is several servers; else NULL */
    const struct weir_model *generation; /* NULL: none */
    struct weir_compat compat;
    unsigned max_detector_calls; /* of one detector under way at once, per request */
    unsigned max_chunker_calls;
    size_t max_service_body_bytes;
    size_t max_event_bytes;
    size_t max_held_bytes;       /* of raw events not yet released, per stream */
    size_t max_remembered_bytes; /* that have left, of a response: they are said again */
    size_t max_choices;
    size_t max_tool_calls;                       /* per choice */
    const struct weir_gather_strategy *strategy; /* unless a request names another */
};

struct weir_task_ctx {
    const struct weir_task_env *env;
    struct weir_loop *loop;
    struct weir_client *client;
    struct weir_call_context call;
    struct weir_arena *arena;            /* the request's: everything a task makes goes with it */
    struct weir_task_scratch *scratch;   /* the worker's */
    struct weir_verdicts *verdicts;      /* the worker's; NULL: none are kept */
    struct weir_desks *desks;            /* the worker's; NULL: nothing is batched */
    const struct weir_task_trace *trace; /* the stream's watcher; NULL: none */
    unsigned n_full_chunkers; /* chunkers of the task's paths that take no more for now */
    struct weir_skips skips;
    struct weir_task_ctx *whole; /* this is a copy with an arena of its own, for a part of the
                                    request: what counts for all of it is noted there; else NULL */
    struct weir_shadow *shadow;  /* is given what a model server says (task/shadow.h); NULL: none */
};

/* What a call of a detector gets of the request. */
static inline struct weir_detect_env weir_task_detect_env(const struct weir_task_ctx *task)
{
    return (struct weir_detect_env){.loop = task->loop,
                                    .client = task->client,
                                    .context = &task->call,
                                    .max_body_bytes = task->env->max_service_body_bytes,
                                    .verdicts = task->verdicts,
                                    .desks = task->desks};
}

/* What a call of a model server gets of it. */
static inline struct weir_model_env weir_task_model_env(const struct weir_task_ctx *task)
{
    return (struct weir_model_env){.loop = task->loop,
                                   .client = task->client,
                                   .context = &task->call,
                                   .max_body_bytes = task->env->max_service_body_bytes,
                                   .max_event_bytes = task->env->max_event_bytes};
}

#endif
