#include "io/loop.h"

#include "base/buf.h"
#include "unit/cmocka_all.h"

#include <signal.h>
#include <stdlib.h>

struct step {
    struct weir_post post;
    struct world *world;
    char name;
    struct step *then;   /* posted from inside */
    struct step *cancel; /* taken back from inside */
    unsigned n_more;     /* steps it asks for from inside */
    bool stops;
};

struct world {
    struct weir_loop loop;
    struct weir_timer watchdog;
    bool timed_out;
    struct weir_buf log;
    uint64_t turns[8];
    struct step a, b, c;
};

static void on_watchdog(struct weir_timer *t, void *ctx)
{
    (void)t;
    struct world *w = ctx;
    w->timed_out = true;
    weir_loop_stop(&w->loop);
}

static void on_step(struct weir_post *post)
{
    struct step *s = WEIR_LIST_ENTRY(post, struct step, post);
    struct world *w = s->world;
    w->turns[w->log.n] = w->loop.turn;
    weir_buf_append_byte(&w->log, s->name);
    if (s->then != NULL) {
        weir_loop_post(&w->loop, &s->then->post);
        s->then = NULL;
    }
    if (s->n_more != 0) {
        s->n_more--;
        weir_loop_step(&w->loop, &s->post);
    }
    if (s->cancel != NULL) {
        weir_loop_unpost(&s->cancel->post);
    }
    if (s->stops) {
        weir_loop_stop(&w->loop);
    }
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_int_equal(weir_loop_init(&w->loop), 0);
    w->watchdog.fn = on_watchdog;
    w->watchdog.ctx = w;
    weir_loop_after(&w->loop, &w->watchdog, 100000);
    w->a = (struct step){.post.fn = on_step, .world = w, .name = 'a'};
    w->b = (struct step){.post.fn = on_step, .world = w, .name = 'b'};
    w->c = (struct step){.post.fn = on_step, .world = w, .name = 'c'};
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    assert_false(w->timed_out);
    weir_loop_dispose(&w->loop);
    weir_loop_dispose(&w->loop);
    weir_buf_dispose(&w->log);
    free(w);
    return 0;
}

static void assert_log(struct world *w, const char *want)
{
    assert_string_equal(weir_buf_cstr(&w->log), want);
}

static void posts_run_in_order_and_once(void **state)
{
    struct world *w = *state;
    weir_loop_post(&w->loop, &w->b.post);
    weir_loop_post(&w->loop, &w->a.post);
    weir_loop_post(&w->loop, &w->b.post);
    weir_loop_post(&w->loop, &w->c.post);
    weir_loop_unpost(&w->a.post);
    weir_loop_unpost(&w->a.post);
    w->c.stops = true;
    weir_loop_run(&w->loop);
    assert_log(w, "bc");
}

static void posts_from_posts_run_in_the_next_turn(void **state)
{
    struct world *w = *state;
    w->a.then = &w->a; /* itself */
    w->b.then = &w->c;
    w->c.stops = true;
    weir_loop_post(&w->loop, &w->a.post);
    weir_loop_post(&w->loop, &w->b.post);
    weir_loop_run(&w->loop);
    assert_log(w, "abac");
    assert_int_equal(w->turns[1], w->turns[0]);
    assert_int_equal(w->turns[2], w->turns[0] + 1);
    assert_int_equal(w->turns[3], w->turns[0] + 1);
}

static void a_post_can_take_back_another(void **state)
{
    struct world *w = *state;
    w->a.cancel = &w->b;
    w->c.stops = true;
    weir_loop_post(&w->loop, &w->a.post);
    weir_loop_post(&w->loop, &w->b.post);
    weir_loop_post(&w->loop, &w->c.post);
    weir_loop_run(&w->loop);
    assert_log(w, "ac");
}

/* Steps of long work take turns, and what is posted comes first. */
static void steps_take_turns(void **state)
{
    struct world *w = *state;
    w->a.n_more = 2;
    w->c.stops = true;
    weir_loop_step(&w->loop, &w->a.post);
    weir_loop_step(&w->loop, &w->c.post);
    weir_loop_post(&w->loop, &w->b.post);
    weir_loop_run(&w->loop);
    weir_loop_dispose(&w->loop);
    assert_log(w, "bacaa");
}

static void a_step_can_be_taken_back(void **state)
{
    struct world *w = *state;
    w->a.cancel = &w->b;
    w->c.stops = true;
    weir_loop_step(&w->loop, &w->a.post);
    weir_loop_step(&w->loop, &w->b.post);
    weir_loop_step(&w->loop, &w->b.post);
    weir_loop_step(&w->loop, &w->c.post);
    weir_loop_run(&w->loop);
    assert_log(w, "ac");
}

/* The loop's dispose runs what is still posted, including what that posts. */
static void dispose_runs_posted_work(void **state)
{
    struct world *w = *state;
    w->a.then = &w->b;
    weir_loop_post(&w->loop, &w->a.post);
    weir_loop_dispose(&w->loop);
    assert_log(w, "ab");
}

struct tick {
    struct weir_timer timer;
    struct world *world;
    int left;
    uint64_t gap_ms;
    uint64_t due_ms;
};

static void on_tick(struct weir_timer *t, void *ctx)
{
    struct tick *tick = ctx;
    struct world *w = tick->world;
    assert_true(weir_loop_now_ms(&w->loop) >= tick->due_ms);
    if (--tick->left == 0) {
        weir_loop_stop(&w->loop);
        return;
    }
    tick->due_ms = weir_loop_now_ms(&w->loop) + tick->gap_ms;
    weir_loop_after(&w->loop, t, tick->gap_ms);
}

static void timers_fire_through_the_loop(void **state)
{
    struct world *w = *state;
    struct tick tick = {.timer.fn = on_tick, .world = w, .left = 3, .gap_ms = 2};
    struct tick now = {.timer.fn = on_tick, .world = w, .left = 100, .gap_ms = 0};
    struct tick never = {.timer.fn = on_tick, .world = w, .left = 1};
    tick.timer.ctx = &tick;
    now.timer.ctx = &now;
    never.timer.ctx = &never;
    weir_loop_after(&w->loop, &never.timer, 1);
    weir_loop_after(&w->loop, &tick.timer, 1000);
    weir_loop_after(&w->loop, &tick.timer, 1); /* earlier */
    weir_loop_after(&w->loop, &now.timer, 0);
    weir_loop_cancel(&w->loop, &never.timer);
    weir_loop_run(&w->loop);
    assert_int_equal(tick.left, 0);
    assert_int_equal(never.left, 1);
    assert_true(now.left < 100);
    weir_loop_cancel(&w->loop, &now.timer);
}

/* A deadline pushed back far while the clock is armed for the old one must still be kept. */
static void a_pushed_back_timer_fires_at_its_new_time(void **state)
{
    struct world *w = *state;
    struct tick tick = {.timer.fn = on_tick, .world = w, .left = 1};
    tick.timer.ctx = &tick;
    weir_loop_after(&w->loop, &tick.timer, 1);
    uv_run(&w->loop.uv, UV_RUN_NOWAIT);
    if (tick.left == 0) {
        return; /* the machine was slow; nothing to push back any more */
    }
    tick.due_ms = weir_loop_now_ms(&w->loop) + 8;
    weir_loop_after(&w->loop, &tick.timer, 8);
    weir_loop_run(&w->loop);
    assert_int_equal(tick.left, 0);
}

enum { CALLS = 1000 };

struct caller {
    struct world *world;
    int next;
    pthread_t thread;
};

static struct caller caller;

static void on_call(void *arg)
{
    assert_true(pthread_equal(pthread_self(), caller.thread));
    assert_int_equal((int)(intptr_t)arg, caller.next);
    if (++caller.next == CALLS) {
        weir_loop_stop(&caller.world->loop);
    }
}

static void *call_many(void *arg)
{
    struct world *w = arg;
    for (int i = 0; i < CALLS; i++) {
        weir_loop_call(&w->loop, on_call, (void *)(intptr_t)i);
    }
    return NULL;
}

static void calls_from_another_thread_arrive_in_order(void **state)
{
    struct world *w = *state;
    caller = (struct caller){.world = w, .thread = pthread_self()};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_many, w), 0);
    weir_loop_run(&w->loop);
    pthread_join(thread, NULL);
    assert_int_equal(caller.next, CALLS);
}

static void dispose_runs_calls_that_are_left(void **state)
{
    struct world *w = *state;
    caller = (struct caller){.world = w, .thread = pthread_self()};
    weir_loop_call(&w->loop, on_call, (void *)(intptr_t)0);
    weir_loop_dispose(&w->loop);
    assert_int_equal(caller.next, 1);
}

static void sigpipe_is_ignored(void **state)
{
    (void)state;
    struct sigaction now;
    assert_int_equal(sigaction(SIGPIPE, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_IGN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(posts_run_in_order_and_once, setup, teardown),
        cmocka_unit_test_setup_teardown(posts_from_posts_run_in_the_next_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(a_post_can_take_back_another, setup, teardown),
        cmocka_unit_test_setup_teardown(steps_take_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(a_step_can_be_taken_back, setup, teardown),
        cmocka_unit_test_setup_teardown(dispose_runs_posted_work, setup, teardown),
        cmocka_unit_test_setup_teardown(timers_fire_through_the_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pushed_back_timer_fires_at_its_new_time, setup, teardown),
        cmocka_unit_test_setup_teardown(calls_from_another_thread_arrive_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(dispose_runs_calls_that_are_left, setup, teardown),
        cmocka_unit_test_setup_teardown(sigpipe_is_ignored, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
