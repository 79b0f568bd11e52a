/*
 * The gate alone, and the contract on random schedules: a taker of the simplest kind (a number of
 * bytes, a post, two levels) keeps it by nothing but the gate.
 */
#include "base/flow.h"
#include "unit/cmocka_all.h"
#include "unit/flow_watch.h"

#include <stdlib.h>

static void it_answers_ok_while_there_is_room(void **state)
{
    (void)state;
    struct weir_flow_gate g = {0};
    assert_int_equal(weir_flow_gate_answer(&g, false), WEIR_FLOW_OK);
    assert_false(weir_flow_gate_is_owed(&g));
    assert_false(weir_flow_gate_has_room(&g));
    assert_false(weir_flow_gate_resume(&g));
}

static void full_is_answered_until_the_resume(void **state)
{
    (void)state;
    struct weir_flow_gate g = {0};
    assert_int_equal(weir_flow_gate_answer(&g, true), WEIR_FLOW_FULL);
    assert_int_equal(weir_flow_gate_answer(&g, false), WEIR_FLOW_FULL);
    assert_true(weir_flow_gate_has_room(&g));
    assert_int_equal(weir_flow_gate_answer(&g, false), WEIR_FLOW_FULL);
    assert_true(weir_flow_gate_is_owed(&g));
    assert_true(weir_flow_gate_resume(&g));
    assert_int_equal(weir_flow_gate_answer(&g, false), WEIR_FLOW_OK);
}

static void one_resume_answers_all_fulls(void **state)
{
    (void)state;
    struct weir_flow_gate g = {0};
    weir_flow_gate_answer(&g, true);
    weir_flow_gate_answer(&g, true);
    assert_true(weir_flow_gate_has_room(&g));
    assert_false(weir_flow_gate_has_room(&g)); /* posted already */
    assert_true(weir_flow_gate_resume(&g));
    assert_false(weir_flow_gate_resume(&g));
}

/* Between the post and the posted function the producer has filled the room: it is resumed when
 * there is room again, not before. */
static void room_that_is_gone_again_does_not_resume(void **state)
{
    (void)state;
    struct weir_flow_gate g = {0};
    weir_flow_gate_answer(&g, true);
    assert_true(weir_flow_gate_has_room(&g));
    assert_int_equal(weir_flow_gate_answer(&g, true), WEIR_FLOW_FULL);
    assert_false(weir_flow_gate_resume(&g));
    assert_true(weir_flow_gate_has_room(&g));
    assert_true(weir_flow_gate_resume(&g));
}

static void a_closed_gate_resumes_nobody(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct weir_flow_gate g = {0};
        if (i > 0) {
            weir_flow_gate_answer(&g, true);
        }
        if (i > 1) {
            weir_flow_gate_has_room(&g);
        }
        weir_flow_gate_close(&g);
        assert_int_equal(weir_flow_gate_answer(&g, true), WEIR_FLOW_OK);
        assert_false(weir_flow_gate_has_room(&g));
        assert_false(weir_flow_gate_resume(&g));
        assert_false(weir_flow_gate_is_owed(&g));
    }
}

/* The random schedules */

enum { RUNS = 3000, STEPS = 200, CEILING = 64 };

struct taker {
    struct weir_flow_gate gate;
    size_t held;
    bool is_posted;
    struct flow_watch watch;
    bool refills; /* the producer writes from inside its resume */
    unsigned seed;
};

static unsigned roll(struct taker *t, unsigned n)
{
    return (unsigned)rand_r(&t->seed) / 7 % n;
}

static void made_room(struct taker *t)
{
    if (t->held <= CEILING / 2 && weir_flow_gate_has_room(&t->gate)) {
        t->is_posted = true; /* perhaps it was already: a post is queued once */
    }
}

static enum weir_flow take(struct taker *t, size_t n)
{
    t->held += n;
    if (roll(t, 4) == 0) { /* some leaves at once: room may come up inside the producer's call */
        t->held -= roll(t, (unsigned)t->held + 1);
        made_room(t);
    }
    return weir_flow_gate_answer(&t->gate, t->held >= CEILING);
}

static void produce(struct taker *t)
{
    FLOW_WATCH_WRITE(&t->watch, take(t, roll(t, CEILING)));
}

static void run_posted(struct taker *t)
{
    if (!t->is_posted) {
        return;
    }
    t->is_posted = false;
    if (weir_flow_gate_resume(&t->gate)) {
        assert_true(t->held <= CEILING);
        flow_watch_resumed(&t->watch);
        if (t->refills) {
            produce(t);
        }
    }
}

static void leave(struct taker *t, size_t n)
{
    t->held -= n < t->held ? n : t->held;
    made_room(t);
}

static void step(struct taker *t)
{
    switch (roll(t, 5)) {
    case 0:
    case 1:
        produce(t);
        break;
    case 2:
    case 3:
        leave(t, roll(t, CEILING));
        break;
    default:
        run_posted(t);
        break;
    }
}

static void nobody_is_forgotten_nor_called_twice(void **state)
{
    (void)state;
    unsigned n_fulls = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        struct taker t = {.seed = run + 1, .refills = run % 2 == 0};
        unsigned n_steps = roll(&t, STEPS);
        for (unsigned i = 0; i < n_steps; i++) {
            step(&t);
        }
        if (run % 3 == 0) { /* it ends in the middle of things */
            weir_flow_gate_close(&t.gate);
            flow_watch_ended(&t.watch);
        }
        t.refills = false;
        while (t.held != 0 || t.is_posted) {
            leave(&t, CEILING);
            run_posted(&t);
        }
        flow_watch_settled(&t.watch);
        n_fulls += t.watch.n_fulls;
    }
    assert_true(n_fulls > RUNS); /* the schedules do run into the ceiling */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_answers_ok_while_there_is_room),
        cmocka_unit_test(full_is_answered_until_the_resume),
        cmocka_unit_test(one_resume_answers_all_fulls),
        cmocka_unit_test(room_that_is_gone_again_does_not_resume),
        cmocka_unit_test(a_closed_gate_resumes_nobody),
        cmocka_unit_test(nobody_is_forgotten_nor_called_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
