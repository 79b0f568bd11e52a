#ifndef WEIR_TASK_MODERATIONS_H
#define WEIR_TASK_MODERATIONS_H

#include "task/asked.h"

/*
 * The answer of /v1/moderations, in OpenAI's shape, from what a route's input detectors have found:
 *
 *   {"id":"modr-…","model":"…","results":[{"flagged":true,
 *    "categories":{"hate":false,…,"pii":true,"pii/email_address":true},
 *    "category_scores":{"hate":0,…,"pii":0.8,"pii/email_address":0.8},
 *    "category_applied_input_types":{"hate":[],…,"pii":["text"],"pii/email_address":["text"]},
 *    "detections":[{"start":5,"end":21,…}]}]}
 *
 * A category is a `detection_type`, or `detection_type/detection`; its score is the highest found.
 * OpenAI's own names are there always, since its clients expect them; types are empty where no
 * detector has answered for one.
 */
struct weir_moderations {
    struct weir_slice id;
    struct weir_slice model;
    const struct weir_asked *asked;   /* done */
    const struct weir_policy *policy; /* of the route */
    size_t n_results;                 /* 1 for parts, which are one text together */
    bool has_parts;
};

/* The body, in the arena. */
struct weir_slice weir_moderations_write(const struct weir_moderations *m,
                                         struct weir_arena *arena);

#endif
