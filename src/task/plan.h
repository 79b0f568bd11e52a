#ifndef WEIR_TASK_PLAN_H
#define WEIR_TASK_PLAN_H

#include "talk/channel.h"
#include "task/env.h"
#include "wire/json.h"

/*
 * Which detectors a request asks for, and how: made and checked before any service is called.
 */
struct weir_plan_use {
    const struct weir_task_detector *d;
    double threshold;         /* the request's, else the detector's default */
    struct weir_slice params; /* a JSON object without `threshold`, members sorted by name */
    uint32_t roles; /* of a route's question: whose text it looks at, bits by enum weir_walk_role;
                       0: everybody's */
    uint32_t
        channels; /* of a route's answer: at which it looks, bits by enum weir_channel; 0: all */
    const struct weir_slice *models; /* of a route: for which it is asked, globs; */
    size_t n_models;                 /* 0: for all */
    bool is_remote;                  /* of a route: it is a service */
    bool is_late;    /* of a route's answer: it may answer for text that has left (`late` below) */
    bool only_tells; /* of a route that enforces: its findings are told, and lead to nothing else */
};

struct weir_plan {
    const struct weir_plan_use *uses; /* in the order asked for */
    size_t n;
    /* `output_check: after`: those that are late, as a plan of their own; NULL: none are. */
    const struct weir_plan *late;
    size_t max_exposed_cp; /* … so much of a text may leave unverified; 0: nothing is late */
    /* Where uses look at some channels only: the plan of each, by enum weir_channel; else NULL. */
    const struct weir_plan *by_channel;
    /* Where some only tell: those, and the others, each as a plan of their own; NULL: none does. */
    const struct weir_plan *telling;
    const struct weir_plan *judging;
};

/* Gives a plan of a route its `late` (if max_exposed_cp is not 0), `by_channel`, `telling` and
 * `judging`, as its uses are. */
void weir_plan_split(struct weir_plan *plan, struct weir_arena *arena);

/* Those whose findings lead to what the route says. */
static inline const struct weir_plan *weir_plan_judging(const struct weir_plan *plan)
{
    return plan->judging != NULL ? plan->judging : plan;
}

/* The uses of a route's plan whose detectors are of that type, and the others, in the arena. */
void weir_plan_part(const struct weir_plan *plan, enum weir_detect_type type,
                    struct weir_arena *arena, struct weir_plan *of_type, struct weir_plan *others);

/* Those who look at a channel of an answer. */
static inline const struct weir_plan *weir_plan_on(const struct weir_plan *plan,
                                                   enum weir_channel channel)
{
    return plan->by_channel != NULL ? &plan->by_channel[channel] : plan;
}

/* Those who are asked where the caller names this model; in the arena where that is not all. */
struct weir_plan weir_plan_for_model(const struct weir_plan *plan, struct weir_slice model,
                                     struct weir_arena *arena);

/* What is wrong with a request, as its caller is answered (docs/api/endpoints.md, Errors). */
struct weir_plan_error {
    int status;
    const char *details; /* in the request's arena */
};

/* Bits of the detector types an endpoint takes. */
#define WEIR_PLAN_TYPE(type) (1u << (type))

/*
 * Reads `{id: params, …}` at node `object` of `json`, both of which must outlive the plan. 0, or
 * WEIR_EINVAL with `error` filled: an unknown detector, a type not among `types`, a threshold that
 * is not a number.
 */
int weir_plan_read(struct weir_plan *plan, struct weir_task_ctx *ctx, const struct weir_json *json,
                   uint32_t object, unsigned types, struct weir_plan_error *error);

/* Is one of its detectors of this type? */
bool weir_plan_has_type(const struct weir_plan *plan, enum weir_detect_type type);

/* What a detector is sent of its parameters: an object without `threshold`, members sorted by
 * name. */
struct weir_slice weir_plan_params(const struct weir_json *json, uint32_t params,
                                   struct weir_arena *arena);

/* compat fms: where only chunks work, detectors on whole documents are refused. Otherwise 0. */
int weir_plan_check_chunked(const struct weir_plan *plan, struct weir_task_ctx *ctx,
                            struct weir_plan_error *error);

#endif
