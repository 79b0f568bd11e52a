#include "offline/detect_pool.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { DRAW_EVERY_MS = 100, MAX_DRAWN_CP = 40 };

/* ---- the line that tells how far it is ---- */

static int64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void wipe(struct weir_detect_pool *p)
{
    if (p->n_drawn_cp != 0) {
        fprintf(stderr, "\r%*s\r", (int)p->n_drawn_cp, "");
        p->n_drawn_cp = 0;
    }
}

/* Under the lock, as everything that writes. */
static void draw(struct weir_detect_pool *p)
{
    int64_t now = now_ms();
    if (!p->has_progress || now - p->drawn_at_ms < DRAW_EVERY_MS) {
        return;
    }
    p->drawn_at_ms = now;
    const struct weir_detect_slot *slot = &p->ring[p->n_out % WEIR_DETECT_RING];
    struct weir_buf line = {0};
    weir_buf_printf(&line, "%zu files, %zu found  ", p->totals.n_files, p->totals.n_found);
    if (p->n_out < p->n_added) {
        weir_detect_show_text(weir_slice_cstr(slot->job.path), MAX_DRAWN_CP, &line);
    }
    wipe(p);
    fputs(weir_buf_cstr(&line), stderr);
    fflush(stderr);
    p->n_drawn_cp = weir_utf8_count(weir_buf_slice(&line));
    weir_buf_dispose(&line);
}

/* ---- output ---- */

static void write_out(struct weir_detect_pool *p, struct weir_detect_job *job)
{
    if (job->out.n != 0) {
        wipe(p);
        if (p->has_output) {
            fputs(weir_detect_show_comma(p->shared->show.format), stdout);
        }
        p->has_output = true;
        fwrite(job->out.p, 1, job->out.n, stdout);
        fflush(stdout);
        weir_buf_clear(&job->out);
    }
    if (job->err.n != 0) {
        wipe(p);
        fwrite(job->err.p, 1, job->err.n, stderr);
        weir_buf_clear(&job->err);
    }
}

static void count(struct weir_detect_totals *t, const struct weir_detect_job *job)
{
    t->n_files += job->is_file;
    t->n_files_found += job->n_found != 0;
    t->n_found += job->n_found;
    t->n_errors += job->n_errors;
}

/* Everything whose turn has come. */
static void write_ready(struct weir_detect_pool *p)
{
    while (p->n_out < p->n_added && p->ring[p->n_out % WEIR_DETECT_RING].is_done) {
        struct weir_detect_slot *slot = &p->ring[p->n_out % WEIR_DETECT_RING];
        write_out(p, &slot->job);
        count(&p->totals, &slot->job);
        weir_detect_job_dispose(&slot->job);
        slot->is_done = false;
        p->n_out++;
    }
    draw(p);
    pthread_cond_broadcast(&p->changed);
}

/* A job has come some way: its own turn, or too much to keep. */
static void on_part(void *ctx, struct weir_detect_job *job)
{
    struct weir_detect_pool *p = ctx;
    pthread_mutex_lock(&p->lock);
    bool is_first = &p->ring[p->n_out % WEIR_DETECT_RING].job == job;
    while (!is_first && job->out.n > WEIR_DETECT_HELD_BYTES) {
        pthread_cond_wait(&p->changed, &p->lock);
        is_first = &p->ring[p->n_out % WEIR_DETECT_RING].job == job;
    }
    if (is_first) {
        write_out(p, job);
        draw(p);
    }
    pthread_mutex_unlock(&p->lock);
}

/* ---- threads ---- */

static struct weir_detect_slot *take(struct weir_detect_pool *p)
{
    while (p->n_taken == p->n_added && !p->is_ended) {
        pthread_cond_wait(&p->changed, &p->lock);
    }
    return p->n_taken < p->n_added ? &p->ring[p->n_taken++ % WEIR_DETECT_RING] : NULL;
}

static void *work(void *arg)
{
    struct weir_detect_worker *w = arg;
    struct weir_detect_pool *p = w->pool;
    struct weir_detect_slot *slot;
    pthread_mutex_lock(&p->lock);
    while ((slot = take(p)) != NULL) {
        pthread_mutex_unlock(&p->lock);
        weir_detect_lane_run(&w->lane, &slot->job);
        if (slot->job.fd > STDIN_FILENO) {
            close(slot->job.fd);
        }
        pthread_mutex_lock(&p->lock);
        slot->is_done = true;
        write_ready(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

int weir_detect_pool_init(struct weir_detect_pool *p, const struct weir_detect_shared *shared,
                          unsigned n_workers)
{
    *p = (struct weir_detect_pool){.shared = shared, .drawn_at_ms = now_ms()};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    p->workers = weir_mem_array(n_workers, sizeof *p->workers);
    for (unsigned i = 0; i < n_workers; i++) {
        struct weir_detect_worker *w = &p->workers[i];
        w->pool = p;
        int rc = weir_detect_lane_init(&w->lane, shared);
        w->lane.on_part = on_part;
        w->lane.ctx = p;
        if (rc == 0 && pthread_create(&w->thread, NULL, work, w) != 0) {
            weir_detect_lane_dispose(&w->lane);
            rc = WEIR_ELIMIT;
        }
        if (rc != 0) {
            weir_detect_pool_finish(p);
            return rc;
        }
        p->n_workers++;
    }
    return 0;
}

bool weir_detect_pool_add(struct weir_detect_pool *p, struct weir_detect_job *job)
{
    pthread_mutex_lock(&p->lock);
    while (p->n_added - p->n_out == WEIR_DETECT_RING) {
        pthread_cond_wait(&p->changed, &p->lock);
    }
    p->ring[p->n_added++ % WEIR_DETECT_RING].job = *job;
    *job = (struct weir_detect_job){.fd = -1};
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return ferror(stdout) == 0;
}

void weir_detect_pool_finish(struct weir_detect_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->is_ended = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->n_workers; i++) {
        pthread_join(p->workers[i].thread, NULL);
        weir_detect_lane_dispose(&p->workers[i].lane);
    }
    wipe(p);
    free(p->workers);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
}
