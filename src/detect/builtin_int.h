#ifndef WEIR_DETECT_BUILTIN_INT_H
#define WEIR_DETECT_BUILTIN_INT_H

#include "detect/builtin.h"

#include <stdatomic.h>

/* What the files of the built-in detectors' frame share. */

/* Settings and who holds them: a detector, a thread's cache, a job on another thread. */
struct weir_builtin_made {
    const struct weir_builtin_kind *kind;
    void *settings;
    atomic_uint refs;
};

/* Reads a JSON object (or "") into settings. NULL with `why`. Any thread. */
struct weir_builtin_made *weir_builtin__make(const struct weir_builtin_kind *kind,
                                             struct weir_slice params, struct weir_buf *why);
struct weir_builtin_made *weir_builtin__ref(struct weir_builtin_made *made);
void weir_builtin__unref(struct weir_builtin_made *made); /* NULL is fine */

/* The request's members, and the configured ones (b->params) that it does not have; in the arena.
 * Any thread. */
struct weir_slice weir_builtin__merge(const struct weir_builtin *b, struct weir_slice params,
                                      struct weir_arena *arena);

/* What this thread has made of a request's parameters before, for the caller to unref; or NULL. */
struct weir_builtin_made *weir_builtin__find(const struct weir_builtin *b,
                                             struct weir_slice params);

/* Keeps it for this thread's next request with these parameters. `serial` is the detector's. */
void weir_builtin__keep(uint64_t serial, struct weir_slice params, struct weir_builtin_made *made);

/*
 * A call that waits for parameters to be made on another thread. `fn` comes once, on the loop and
 * never from inside await: with what was made (borrowed during the call), or NULL and the reason.
 */
struct weir_builtin_making;

struct weir_builtin_wait {
    struct weir_list link;
    struct weir_builtin_making *making; /* NULL: it does not wait */
    void (*fn)(void *ctx, struct weir_builtin_made *made, struct weir_slice why);
    void *ctx;
};

/* `fn` and `ctx` are set, the rest is zero. Parameters are copied. */
void weir_builtin__await(const struct weir_builtin *b, struct weir_slice params,
                         struct weir_loop *loop, struct weir_builtin_wait *wait);

/* Any time: `fn` will not come. */
void weir_builtin__leave(struct weir_builtin_wait *wait);

/* One call's work, on either thread. */
struct weir_builtin_scan {
    struct weir_builtin_made *made;
    struct weir_slice detector_id;
    const struct weir_slice *contents;
    const size_t *before; /* bytes of context before each; NULL: none */
    size_t n_contents;
    double threshold;
    bool is_piece;
    const struct weir_offload *job; /* NULL: on the loop */
    struct weir_arena *arena;       /* of what is found */
    struct weir_detect_list *lists; /* one per content */
};

/* 0, or WEIR_ELIMIT with a static `why`. */
int weir_builtin__scan(const struct weir_builtin_scan *scan, const char **why);

/*
 * The same on another thread. Contents are copied, so a cancelled job goes on alone until its
 * thread notices, and frees itself.
 */
struct weir_builtin_job;

typedef void (*weir_builtin_job_fn)(void *ctx, struct weir_builtin_job *job);

/* `fn` comes later, on the loop. */
struct weir_builtin_job *weir_builtin__job_start(const struct weir_builtin *b,
                                                 struct weir_builtin_made *made,
                                                 struct weir_loop *loop,
                                                 const struct weir_detect_input *input,
                                                 weir_builtin_job_fn fn, void *ctx);

/* In `fn` and after it: the error with its words, or the lists. All of it is the job's. */
int weir_builtin__job_result(const struct weir_builtin_job *job, struct weir_slice *why,
                             const struct weir_detect_list **lists);

/* Any time: cancels what is under way. */
void weir_builtin__job_free(struct weir_builtin_job *job);

#endif
