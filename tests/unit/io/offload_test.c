#include "io/offload.h"

#include "unit/cmocka_all.h"

#include <semaphore.h>
#include <stdlib.h>

struct job {
    struct weir_offload offload;
    struct world *world;
    bool waits; /* for `go`, after it said `begun` */
    pthread_t worker;
    int n_work, n_done, n_dropped;
    bool saw_cancel;
};

struct world {
    struct weir_loop loop;
    struct weir_timer watchdog;
    bool timed_out;
    sem_t begun, go;
    struct job jobs[16];
    int n_ended, n_expected;
};

static void on_watchdog(struct weir_timer *t, void *ctx)
{
    (void)t;
    struct world *w = ctx;
    w->timed_out = true;
    weir_loop_stop(&w->loop);
}

static void work(void *ctx)
{
    struct job *job = ctx;
    job->worker = pthread_self();
    job->n_work++;
    if (job->waits) {
        sem_post(&job->world->begun);
        sem_wait(&job->world->go);
        job->saw_cancel = weir_offload_is_cancelled(&job->offload);
    }
}

static void ended(struct world *w)
{
    if (++w->n_ended == w->n_expected) {
        weir_loop_stop(&w->loop);
    }
}

static void on_done(void *ctx)
{
    struct job *job = ctx;
    job->n_done++;
    ended(job->world);
}

static void on_dropped(void *ctx)
{
    struct job *job = ctx;
    job->n_dropped++;
    ended(job->world);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_int_equal(weir_loop_init(&w->loop), 0);
    w->watchdog = (struct weir_timer){.fn = on_watchdog, .ctx = w};
    weir_loop_after(&w->loop, &w->watchdog, 100000);
    sem_init(&w->begun, 0, 0);
    sem_init(&w->go, 0, 0);
    for (size_t i = 0; i < sizeof w->jobs / sizeof *w->jobs; i++) {
        struct job *job = &w->jobs[i];
        job->world = w;
        job->offload =
            (struct weir_offload){.work = work, .done = on_done, .dropped = on_dropped, .ctx = job};
    }
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    assert_false(w->timed_out);
    weir_loop_dispose(&w->loop);
    sem_destroy(&w->begun);
    sem_destroy(&w->go);
    free(w);
    return 0;
}

static void work_runs_elsewhere_and_ends_here(void **state)
{
    struct world *w = *state;
    w->n_expected = 16;
    for (int i = 0; i < 16; i++) {
        weir_offload(&w->loop, &w->jobs[i].offload);
    }
    assert_int_equal(w->n_ended, 0);
    weir_loop_run(&w->loop);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(w->jobs[i].n_work, 1);
        assert_int_equal(w->jobs[i].n_done, 1);
        assert_int_equal(w->jobs[i].n_dropped, 0);
        assert_false(pthread_equal(w->jobs[i].worker, pthread_self()));
    }
}

static void cancelled_under_way_is_dropped_at_its_end(void **state)
{
    struct world *w = *state;
    struct job *job = &w->jobs[0];
    w->n_expected = 1;
    job->waits = true;
    weir_offload(&w->loop, &job->offload);
    sem_wait(&w->begun);
    weir_offload_cancel(&job->offload);
    weir_offload_cancel(&job->offload);
    assert_int_equal(job->n_dropped, 0);
    sem_post(&w->go);
    weir_loop_run(&w->loop);
    assert_int_equal(job->n_work, 1);
    assert_true(job->saw_cancel);
    assert_int_equal(job->n_done, 0);
    assert_int_equal(job->n_dropped, 1);
}

/* Finished, but the loop has not heard of it: done is still not called. */
static void cancelled_before_the_loop_heard(void **state)
{
    struct world *w = *state;
    struct job *job = &w->jobs[0];
    w->n_expected = 1;
    job->waits = true;
    sem_post(&w->go);
    weir_offload(&w->loop, &job->offload);
    sem_wait(&w->begun);
    weir_offload_cancel(&job->offload);
    weir_loop_run(&w->loop);
    assert_int_equal(job->n_done, 0);
    assert_int_equal(job->n_dropped, 1);
}

/* Four threads are kept busy, so the fifth job has not begun. */
static void cancelled_in_the_queue_never_works(void **state)
{
    struct world *w = *state;
    w->n_expected = 5;
    for (int i = 0; i < 5; i++) {
        w->jobs[i].waits = true;
        weir_offload(&w->loop, &w->jobs[i].offload);
    }
    for (int i = 0; i < 4; i++) {
        sem_wait(&w->begun);
    }
    weir_offload_cancel(&w->jobs[4].offload);
    for (int i = 0; i < 4; i++) {
        sem_post(&w->go);
    }
    weir_loop_run(&w->loop);
    assert_int_equal(w->jobs[4].n_work, 0);
    assert_int_equal(w->jobs[4].n_dropped, 1);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(w->jobs[i].n_done, 1);
    }
}

static void dispose_waits_for_jobs(void **state)
{
    struct world *w = *state;
    struct job *job = &w->jobs[0];
    w->n_expected = 2; /* never stops the loop */
    job->offload.dropped = NULL;
    weir_offload(&w->loop, &job->offload);
    weir_offload(&w->loop, &w->jobs[1].offload);
    weir_offload_cancel(&job->offload);
    weir_loop_dispose(&w->loop);
    assert_int_equal(w->jobs[1].n_done, 1);
    assert_int_equal(job->n_done, 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    setenv("UV_THREADPOOL_SIZE", "4", 1);
    const struct CMUnitTest tests[] = {
        TEST(work_runs_elsewhere_and_ends_here),
        TEST(cancelled_under_way_is_dropped_at_its_end),
        TEST(cancelled_before_the_loop_heard),
        TEST(cancelled_in_the_queue_never_works),
        TEST(dispose_waits_for_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
