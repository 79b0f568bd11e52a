#ifndef WEIR_OFFLINE_DETECT_POOL_H
#define WEIR_OFFLINE_DETECT_POOL_H

#include "offline/detect_file.h"

#include <pthread.h>

/*
 * Threads that look at files, and what they found in the order in which the files were given.
 *
 *   add(job) ─► ring of jobs ─► a lane per thread ─► out, in order ─► standard output
 *                                                 └► complaints    ─► standard error
 *
 * The job whose turn it is writes as it goes; others keep their output, up to
 * WEIR_DETECT_HELD_BYTES each, and then wait for their turn. The one who adds waits while the ring
 * is full.
 */
enum { WEIR_DETECT_RING = 64, WEIR_DETECT_HELD_BYTES = 1024 * 1024, WEIR_DETECT_MAX_JOBS = 256 };

struct weir_detect_totals {
    size_t n_files;
    size_t n_files_found;
    size_t n_found;
    size_t n_errors;
};

struct weir_detect_slot {
    struct weir_detect_job job;
    bool is_done;
};

struct weir_detect_worker {
    struct weir_detect_pool *pool;
    struct weir_detect_lane lane;
    pthread_t thread;
};

struct weir_detect_pool {
    const struct weir_detect_shared *shared;
    struct weir_detect_worker *workers;
    unsigned n_workers;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct weir_detect_slot ring[WEIR_DETECT_RING];
    size_t n_added;
    size_t n_taken;
    size_t n_out;      /* the job whose turn it is */
    bool is_ended;     /* no more is added */
    bool has_output;   /* of documents: a comma is due */
    bool has_progress; /* a line on the terminal tells how far it is */
    size_t n_drawn_cp; /* of it stand there now; 0: none does */
    int64_t drawn_at_ms;
    struct weir_detect_totals totals;
};

/* 0, or a code: no thread could be started. `shared` is borrowed. */
int weir_detect_pool_init(struct weir_detect_pool *p, const struct weir_detect_shared *shared,
                          unsigned n_workers);

/* Takes the job. False: nobody reads what is written, give up. */
bool weir_detect_pool_add(struct weir_detect_pool *p, struct weir_detect_job *job);

/* Waits until all is written. */
void weir_detect_pool_finish(struct weir_detect_pool *p);

#endif
