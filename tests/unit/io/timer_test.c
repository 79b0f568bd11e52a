#include "io/timer.h"

#include "unit/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 64 };

struct world {
    struct weir_timers timers;
    struct weir_timer t[MANY];
    size_t fired[4 * MANY];
    size_t n_fired;
    size_t victim;       /* for on_fire_cancel */
    uint64_t set_due_ms; /* for on_fire_set */
};

static size_t index_of(const struct world *w, const struct weir_timer *t)
{
    return (size_t)(t - w->t);
}

static void on_fire(struct weir_timer *t, void *ctx)
{
    struct world *w = ctx;
    assert_false(weir_timer_is_armed(t));
    w->fired[w->n_fired++] = index_of(w, t);
}

static void on_fire_cancel(struct weir_timer *t, void *ctx)
{
    struct world *w = ctx;
    on_fire(t, ctx);
    weir_timers_cancel(&w->timers, &w->t[w->victim]);
}

static void on_fire_set(struct weir_timer *t, void *ctx)
{
    struct world *w = ctx;
    on_fire(t, ctx);
    weir_timers_set(&w->timers, t, w->set_due_ms);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    for (size_t i = 0; i < MANY; i++) {
        w->t[i].fn = on_fire;
        w->t[i].ctx = w;
    }
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    weir_timers_dispose(&w->timers);
    free(w);
    return 0;
}

static void fires_in_order_of_due_time(void **state)
{
    struct world *w = *state;
    weir_timers_set(&w->timers, &w->t[0], 30);
    weir_timers_set(&w->timers, &w->t[1], 10);
    weir_timers_set(&w->timers, &w->t[2], 20);
    uint64_t at;
    assert_true(weir_timers_next(&w->timers, &at));
    assert_int_equal(at, 10);
    weir_timers_run(&w->timers, 9);
    assert_int_equal(w->n_fired, 0);
    weir_timers_run(&w->timers, 25);
    assert_int_equal(w->n_fired, 2);
    assert_int_equal(w->fired[0], 1);
    assert_int_equal(w->fired[1], 2);
    weir_timers_run(&w->timers, 30);
    assert_int_equal(w->n_fired, 3);
    assert_false(weir_timers_next(&w->timers, &at));
}

static void pushing_back_leaves_the_heap_alone(void **state)
{
    struct world *w = *state;
    weir_timers_set(&w->timers, &w->t[0], 10);
    weir_timers_set(&w->timers, &w->t[0], 50);
    assert_int_equal(w->t[0].heap_ms, 10);
    weir_timers_run(&w->timers, 10);
    assert_int_equal(w->n_fired, 0);
    uint64_t at;
    assert_true(weir_timers_next(&w->timers, &at));
    assert_int_equal(at, 50);
    weir_timers_run(&w->timers, 50);
    assert_int_equal(w->n_fired, 1);
}

static void an_earlier_time_is_known_at_once(void **state)
{
    struct world *w = *state;
    weir_timers_set(&w->timers, &w->t[0], 5);
    weir_timers_set(&w->timers, &w->t[1], 100);
    weir_timers_set(&w->timers, &w->t[1], 3);
    uint64_t at;
    assert_true(weir_timers_next(&w->timers, &at));
    assert_int_equal(at, 3);
    weir_timers_run(&w->timers, 4);
    assert_int_equal(w->n_fired, 1);
    assert_int_equal(w->fired[0], 1);
}

/* Back to a time between what the heap knows and what was wanted last. */
static void a_time_between_counts(void **state)
{
    struct world *w = *state;
    weir_timers_set(&w->timers, &w->t[0], 10);
    weir_timers_set(&w->timers, &w->t[0], 90);
    weir_timers_set(&w->timers, &w->t[0], 40);
    weir_timers_run(&w->timers, 39);
    assert_int_equal(w->n_fired, 0);
    weir_timers_run(&w->timers, 40);
    assert_int_equal(w->n_fired, 1);
}

static void cancel_is_safe_anywhere(void **state)
{
    struct world *w = *state;
    weir_timers_cancel(&w->timers, &w->t[0]);
    w->t[0].fn = on_fire_cancel;
    w->victim = 1;
    weir_timers_set(&w->timers, &w->t[0], 10);
    weir_timers_set(&w->timers, &w->t[1], 11);
    weir_timers_set(&w->timers, &w->t[2], 12);
    weir_timers_set(&w->timers, &w->t[3], 9);
    weir_timers_cancel(&w->timers, &w->t[3]);
    weir_timers_run(&w->timers, 12); /* 1 is due as well, but 0 comes first and takes it away */
    assert_int_equal(w->n_fired, 2);
    assert_int_equal(w->fired[0], 0);
    assert_int_equal(w->fired[1], 2);

    w->victim = 0; /* itself */
    weir_timers_set(&w->timers, &w->t[0], 20);
    weir_timers_run(&w->timers, 20);
    assert_int_equal(w->n_fired, 3);
    assert_false(weir_timer_is_armed(&w->t[0]));
}

static void rearming_from_inside_never_spins(void **state)
{
    struct world *w = *state;
    w->t[0].fn = on_fire_set;
    w->set_due_ms = 0; /* long past */
    weir_timers_set(&w->timers, &w->t[0], 10);
    weir_timers_run(&w->timers, 15);
    assert_int_equal(w->n_fired, 1);
    uint64_t at;
    assert_true(weir_timers_next(&w->timers, &at));
    assert_int_equal(at, 16);
    w->set_due_ms = 100;
    weir_timers_run(&w->timers, 16);
    assert_int_equal(w->n_fired, 2);
    weir_timers_run(&w->timers, 99);
    assert_int_equal(w->n_fired, 2);
    weir_timers_run(&w->timers, 100);
    assert_int_equal(w->n_fired, 3);
}

static void dispose_forgets_armed_timers(void **state)
{
    struct world *w = *state;
    weir_timers_set(&w->timers, &w->t[0], 10);
    weir_timers_dispose(&w->timers);
    assert_false(weir_timer_is_armed(&w->t[0]));
    weir_timers_dispose(&w->timers);
    weir_timers_set(&w->timers, &w->t[0], 10);
    weir_timers_run(&w->timers, 10);
    assert_int_equal(w->n_fired, 1);
}

/* The model: due times by index, UINT64_MAX when not armed. */
static void check_run(struct world *w, uint64_t due[MANY], uint64_t now)
{
    w->n_fired = 0;
    weir_timers_run(&w->timers, now);
    uint64_t before = 0;
    for (size_t i = 0; i < w->n_fired; i++) {
        uint64_t at = due[w->fired[i]];
        assert_true(at <= now);
        assert_true(at >= before);
        before = at;
        due[w->fired[i]] = UINT64_MAX;
    }
    uint64_t earliest = UINT64_MAX;
    for (size_t i = 0; i < MANY; i++) {
        assert_true(due[i] > now);
        assert_int_equal(weir_timer_is_armed(&w->t[i]), due[i] != UINT64_MAX);
        earliest = due[i] < earliest ? due[i] : earliest;
    }
    uint64_t at;
    if (weir_timers_next(&w->timers, &at)) {
        assert_true(at > now && at <= earliest);
    } else {
        assert_true(earliest == UINT64_MAX);
    }
}

static void agrees_with_a_plain_list(void **state)
{
    struct world *w = *state;
    uint64_t due[MANY];
    memset(due, 0xff, sizeof due);
    unsigned seed = 7;
    uint64_t now = 0;
    for (int step = 0; step < 20000; step++) {
        size_t i = (size_t)rand_r(&seed) % MANY;
        unsigned what = (unsigned)rand_r(&seed) % 8;
        if (what < 5) {
            due[i] = now + 1 + (uint64_t)rand_r(&seed) % 200;
            weir_timers_set(&w->timers, &w->t[i], due[i]);
        } else if (what < 7) {
            due[i] = UINT64_MAX;
            weir_timers_cancel(&w->timers, &w->t[i]);
        } else {
            now += (uint64_t)rand_r(&seed) % 40;
            check_run(w, due, now);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fires_in_order_of_due_time, setup, teardown),
        cmocka_unit_test_setup_teardown(pushing_back_leaves_the_heap_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(an_earlier_time_is_known_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_time_between_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(cancel_is_safe_anywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(rearming_from_inside_never_spins, setup, teardown),
        cmocka_unit_test_setup_teardown(dispose_forgets_armed_timers, setup, teardown),
        cmocka_unit_test_setup_teardown(agrees_with_a_plain_list, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
