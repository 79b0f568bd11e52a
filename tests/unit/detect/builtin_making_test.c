/* New parameters are made on another thread: once for all who wait, and for nobody who left. The
 * kind is a fake whose make waits for the test. */
#include "detect/builtin.h"
#include "detect/keywords.h"
#include "unit/cmocka_all.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

static sem_t has_begun; /* make is under way … */
static sem_t may_go_on; /* … and waits for this */
static atomic_uint n_made;
static atomic_uint n_freed;
static atomic_bool was_on_loop;
static pthread_t loop_thread;

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    uint32_t at = weir_json_get(&params->json, 0, WEIR_SLICE("word"));
    if (at == WEIR_JSON_NONE) { /* as configured */
        return calloc(1, 1);
    }
    if (pthread_equal(pthread_self(), loop_thread)) {
        atomic_store(&was_on_loop, true);
        return NULL;
    }
    sem_post(&has_begun);
    sem_wait(&may_go_on);
    if (weir_json_string_eq(&params->json, at, WEIR_SLICE("wrong"))) {
        weir_buf_printf(why, "that is no word");
        return NULL;
    }
    atomic_fetch_add(&n_made, 1);
    return calloc(1, 1);
}

static void free_settings(void *settings)
{
    atomic_fetch_add(&n_freed, 1);
    free(settings);
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    (void)settings;
    (void)run;
    return weir_found_add(found, &(struct weir_found_span){.end_byte = text.n,
                                                           .detection = WEIR_SLICE("all"),
                                                           .detection_type = WEIR_SLICE("fake"),
                                                           .score = 1.0});
}

static const char *const MEMBERS[] = {"word", NULL};
static const struct weir_builtin_kind FAKE = {
    .name = "fake", .members = MEMBERS, .make = make, .free = free_settings, .scan = scan};

enum { N_CALLS = 3 };

struct fixture {
    struct weir_loop loop;
    struct weir_builtin detector;
    struct weir_detect_env env;
    struct weir_slice text;
    struct weir_detect_call *calls[N_CALLS];
    struct weir_detect_input inputs[N_CALLS];
    char *params[N_CALLS];
    unsigned n_done;
    unsigned n_expected;
    bool frees_all; /* the first that is told makes all go */
};

static void leave(struct fixture *f, size_t i)
{
    weir_detect_free(f->calls[i]);
    f->calls[i] = NULL;
    free(f->params[i]); /* with what it borrowed */
    f->params[i] = NULL;
}

static void on_done(void *ctx, struct weir_detect_call *call)
{
    struct fixture *f = ctx;
    assert_true(call->is_done);
    f->n_done++;
    for (size_t i = 0; f->frees_all && i < N_CALLS; i++) {
        leave(f, i);
    }
    if (f->n_done == f->n_expected) {
        weir_loop_stop(&f->loop);
    }
}

static struct fixture *open_with(const struct weir_builtin_kind *kind)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct weir_buf why = {0};
    assert_int_equal(weir_loop_init(&f->loop), 0);
    assert_int_equal(weir_builtin_init(&f->detector, kind, WEIR_SLICE("d"), WEIR_SLICE("{}"), &why),
                     0);
    f->env.loop = &f->loop;
    f->text = WEIR_SLICE("some text");
    sem_init(&has_begun, 0, 0);
    sem_init(&may_go_on, 0, 0);
    atomic_store(&n_made, 0);
    atomic_store(&n_freed, 0);
    atomic_store(&was_on_loop, false);
    loop_thread = pthread_self();
    return f;
}

static void ask(struct fixture *f, size_t i, const char *params)
{
    f->params[i] = strdup(params);
    f->inputs[i] = (struct weir_detect_input){.type = WEIR_DETECT_CONTENTS,
                                              .contents = &f->text,
                                              .n_contents = 1,
                                              .params = weir_slice_cstr(f->params[i]),
                                              .threshold = 0.5};
    f->calls[i] = weir_detect_start(&f->detector.base, &f->env, &f->inputs[i], on_done, f);
}

static void run_until(struct fixture *f, unsigned n_done)
{
    f->n_expected = n_done;
    weir_loop_run(&f->loop);
    assert_int_equal(f->n_done, n_done);
}

static void close_all(struct fixture *f)
{
    for (size_t i = 0; i < N_CALLS; i++) {
        leave(f, i);
    }
    weir_builtin_dispose(&f->detector);
    weir_loop_dispose(&f->loop); /* waits for what is under way */
    assert_false(atomic_load(&was_on_loop));
    free(f);
}

static void those_who_want_the_same_wait_together(void **state)
{
    (void)state;
    struct fixture *f = open_with(&FAKE);
    for (size_t i = 0; i < N_CALLS; i++) {
        ask(f, i, "{\"word\":\"a\"}");
        assert_false(f->calls[i]->is_done);
    }
    sem_wait(&has_begun);
    sem_post(&may_go_on);
    run_until(f, N_CALLS);
    assert_int_equal(atomic_load(&n_made), 1);
    for (size_t i = 0; i < N_CALLS; i++) {
        assert_int_equal(f->calls[i]->fault.origin, WEIR_FAULT_NONE);
        assert_int_equal(f->calls[i]->n_lists, 1);
        assert_int_equal(f->calls[i]->lists[0].n, 1);
    }
    leave(f, 0);
    ask(f, 0, "{\"word\":\"a\"}"); /* kept */
    assert_true(f->calls[0]->is_done);
    assert_int_equal(f->calls[0]->lists[0].n, 1);
    close_all(f);
}

static void a_fault_is_told_to_all(void **state)
{
    (void)state;
    struct fixture *f = open_with(&FAKE);
    ask(f, 0, "{\"word\":\"wrong\"}");
    ask(f, 1, "{\"word\":\"wrong\"}");
    sem_post(&may_go_on);
    run_until(f, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(f->calls[i]->fault.status, 422);
        assert_true(weir_slice_eq_cstr(f->calls[i]->fault.message, "that is no word"));
        assert_int_equal(f->calls[i]->n_lists, 0);
    }
    close_all(f);
}

/* With its parameters and even the configuration, while the work is under way. */
static void the_caller_may_leave(void **state)
{
    (void)state;
    struct fixture *f = open_with(&FAKE);
    ask(f, 0, "{\"word\":\"b\"}");
    sem_wait(&has_begun);
    leave(f, 0);
    sem_post(&may_go_on);
    close_all(f);
    assert_int_equal(atomic_load(&n_made), atomic_load(&n_freed) - 1); /* and the configured ones */
}

static void one_may_leave_and_the_other_stay(void **state)
{
    (void)state;
    struct fixture *f = open_with(&FAKE);
    ask(f, 0, "{\"word\":\"c\"}");
    ask(f, 1, "{\"word\":\"c\"}");
    sem_wait(&has_begun);
    leave(f, 0);
    sem_post(&may_go_on);
    run_until(f, 1);
    assert_int_equal(f->calls[1]->lists[0].n, 1);
    close_all(f);
}

/* After the last one left nobody joins the work that was given up. */
static void who_comes_later_starts_anew(void **state)
{
    (void)state;
    struct fixture *f = open_with(&FAKE);
    ask(f, 0, "{\"word\":\"d\"}");
    sem_wait(&has_begun);
    leave(f, 0);
    ask(f, 1, "{\"word\":\"d\"}");
    sem_post(&may_go_on);
    sem_post(&may_go_on);
    run_until(f, 1);
    assert_int_equal(f->calls[1]->lists[0].n, 1);
    close_all(f);
}

static void all_may_go_when_the_first_is_told(void **state)
{
    (void)state;
    struct fixture *f = open_with(&FAKE);
    for (size_t i = 0; i < N_CALLS; i++) {
        ask(f, i, "{\"word\":\"e\"}");
    }
    f->frees_all = true;
    sem_post(&may_go_on);
    run_until(f, 1);
    close_all(f);
}

static void a_large_list_is_not_read_on_the_loop(void **state)
{
    (void)state;
    struct fixture *f = open_with(&weir_detect_keywords);
    struct weir_buf params = {0};
    weir_buf_append(&params, WEIR_SLICE("{\"deny\":[\"text\""));
    for (unsigned i = 0; i < 19999; i++) {
        weir_buf_printf(&params, ",\"word%u\"", i);
    }
    weir_buf_append(&params, WEIR_SLICE("]}"));
    ask(f, 0, weir_buf_cstr(&params));
    assert_false(f->calls[0]->is_done);
    run_until(f, 1);
    assert_int_equal(f->calls[0]->lists[0].n, 1);
    weir_buf_dispose(&params);
    close_all(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_who_want_the_same_wait_together),
        cmocka_unit_test(a_fault_is_told_to_all),
        cmocka_unit_test(the_caller_may_leave),
        cmocka_unit_test(one_may_leave_and_the_other_stay),
        cmocka_unit_test(who_comes_later_starts_anew),
        cmocka_unit_test(all_may_go_when_the_first_is_told),
        cmocka_unit_test(a_large_list_is_not_read_on_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
