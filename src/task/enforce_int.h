#ifndef WEIR_TASK_ENFORCE_INT_H
#define WEIR_TASK_ENFORCE_INT_H

#include "io/loop.h"
#include "task/enforce.h"

/* Inside: a unary answer on its way through the guards (enforce_unary.c), and how it is written
 * (enforce_unary_write.c). */

struct weir_enforce_run;

/* A choice and what may leave of it. */
struct weir_enforce_said {
    struct weir_enforce_run *run;
    struct weir_known known;
    struct weir_guard *guard;
    struct weir_buf said[WEIR_CHANNEL_TEXTS];      /* what may leave */
    struct weir_buf found[WEIR_CHANNEL_WHOLE + 1]; /* results, commas between them */
    size_t channel;                                /* whose text is given to the guard … */
    struct weir_slice rest;                        /* … and what is left of it */
    struct weir_post step;                         /* gives more */
    bool has_rest;
    bool is_fed; /* the guard has all */
    bool is_changed;
    bool is_blocked;
    bool is_done;
};

struct weir_enforce_run {
    struct weir_enforce_options o;
    struct weir_slice body_name;
    struct weir_enforce_said *choices;
    size_t n_choices;
    size_t n_done;
    size_t n_text_found; /* findings of text_contents detectors */
    size_t n_found;      /* findings at all */
    bool is_over;
    bool has_detections;
    struct weir_buf detections; /* of the answer */
    struct weir_post step;      /* composes it */
};

static inline bool weir_enforce__is_chat(const struct weir_enforce_run *r)
{
    return r->o.request->is_chat;
}

/* When every guard is done: first r->detections, then the answer, in the request's arena. */
void weir_enforce__write_detections(struct weir_enforce_run *r);
struct weir_slice weir_enforce__compose(const struct weir_enforce_run *r);

#endif
