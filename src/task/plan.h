#ifndef WEIR_TASK_PLAN_H
#define WEIR_TASK_PLAN_H

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
    bool is_remote; /* of a route: it is a service */
    bool is_late;   /* of a route's answer: it may answer for text that has left (`late` below) */
};

struct weir_plan {
    const struct weir_plan_use *uses; /* in the order asked for */
    size_t n;
    /* `output_check: after`: those that are late, as a plan of their own; NULL: none are. */
    const struct weir_plan *late;
    size_t max_exposed_cp; /* of the plan of late ones: so much of a text may leave unverified */
};

/* Gives the plan its `late`, if it has uses that are. */
void weir_plan_set_late(struct weir_plan *plan, size_t max_exposed_cp, struct weir_arena *arena);

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
