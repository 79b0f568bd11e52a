/* Texts of different callers in one call: who leaves with whom, what each gets, what a bad text
 * does to its neighbours, and that nothing is left. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "base/mem.h"
#include "detect/desk.h"
#include "io/loop.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_CALLS = 64, MAX_TEXTS = 16 };

/* ---- the service: answered by hand ---- */

struct sent {
    struct weir_detect_call base;
    struct weir_detect_input input;
    const struct weir_call_context *context;
    struct weir_detect_waiter waiter;
    size_t slot;
    struct weir_detection findings[MAX_TEXTS];
    struct weir_detect_list lists[MAX_TEXTS];
};

static struct sent *calls[MAX_CALLS]; /* NULL: freed */
static size_t n_calls;
static size_t n_open;

static struct weir_detect_call *send_it(const struct weir_detector *d,
                                        const struct weir_detect_env *env,
                                        const struct weir_detect_input *input,
                                        weir_detect_done_fn on_done, void *ctx)
{
    struct sent *s = weir_mem_zalloc(sizeof *s);
    assert_true(n_calls < MAX_CALLS && input->n_contents <= MAX_TEXTS);
    s->base.detector = d;
    s->input = *input;
    s->context = env->context;
    s->waiter = (struct weir_detect_waiter){on_done, ctx};
    s->slot = n_calls;
    calls[n_calls++] = s;
    n_open++;
    return &s->base;
}

static void sent_free(struct weir_detect_call *call)
{
    struct sent *s = (struct sent *)call;
    calls[s->slot] = NULL;
    n_open--;
    free(s);
}

static const struct weir_detect_ops OPS = {.start = send_it, .free = sent_free};

static void end(struct sent *s)
{
    s->base.is_done = true;
    s->waiter.on_done(s->waiter.ctx, &s->base);
}

/* A finding over the first code point of every text with a 'b'. */
static void answer(size_t i)
{
    struct sent *s = calls[i];
    assert_non_null(s);
    for (size_t k = 0; k < s->input.n_contents; k++) {
        struct weir_slice text = s->input.contents[k];
        if (memchr(text.p, 'b', text.n) != NULL) {
            s->findings[k] = (struct weir_detection){.has_span = true,
                                                     .end_cp = 1,
                                                     .text = weir_slice_sub(text, 0, 1),
                                                     .detection = WEIR_SLICE("bad"),
                                                     .score = 1};
            s->lists[k] = (struct weir_detect_list){&s->findings[k], 1};
        }
    }
    s->base.lists = s->lists;
    s->base.n_lists = s->input.n_contents;
    end(s);
}

static void refuse(size_t i, int status)
{
    struct sent *s = calls[i];
    assert_non_null(s);
    s->base.fault = (struct weir_fault){.origin = WEIR_FAULT_DETECTOR,
                                        .err = WEIR_EPEER,
                                        .status = status,
                                        .why = WEIR_SLICE("no")};
    end(s);
}

/* ---- callers ---- */

struct asker {
    struct weir_slice texts[MAX_TEXTS];
    struct weir_detect_input input;
    struct weir_call_context context;
    struct weir_detect_call *call;
    struct asker *frees;
    unsigned n_done;
};

static struct weir_loop loop;
static struct weir_desks desks;
static struct weir_detector detector = {.ops = &OPS, .id = WEIR_SLICE("det"), .takes_many = true};
static struct weir_desk_options options;

static int setup(void **state)
{
    (void)state;
    assert_int_equal(weir_loop_init(&loop), 0);
    weir_desks_init(&desks, &loop);
    options = (struct weir_desk_options){
        .send = send_it, .in_flight = 1, .max_items = 4, .max_bytes = 1000};
    weir_desk_count(&options, detector.id);
    n_calls = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(n_open, 0);
    assert_int_equal(desks.desks.n, 0);
    weir_desks_dispose(&desks);
    weir_loop_dispose(&loop);
    return 0;
}

static void on_done(void *ctx, struct weir_detect_call *call)
{
    struct asker *a = ctx;
    assert_ptr_equal(call, a->call);
    assert_true(call->is_done);
    a->n_done++;
    if (a->frees != NULL) {
        weir_detect_free(a->frees->call);
        a->frees->call = NULL;
    }
}

static void prepare(struct asker *a, const char *const *texts)
{
    *a = (struct asker){.input = {.type = WEIR_DETECT_CONTENTS, .threshold = 0.5}};
    for (; texts[a->input.n_contents] != NULL; a->input.n_contents++) {
        a->texts[a->input.n_contents] = weir_slice_cstr(texts[a->input.n_contents]);
    }
}

static void start(struct asker *a)
{
    struct weir_detect_env env = {.context = &a->context, .desks = &desks, .loop = &loop};
    a->input.contents = a->texts;
    a->call = weir_desk_start(&detector, &options, &env, &a->input,
                              (struct weir_detect_waiter){on_done, a});
    assert_false(a->call->is_done);
}

#define ASK(asker, ...)                                                                            \
    do {                                                                                           \
        prepare((asker), (const char *const[]){__VA_ARGS__, NULL});                                \
        start(asker);                                                                              \
    } while (0)

static void leave(struct asker *a)
{
    weir_detect_free(a->call);
    a->call = NULL;
}

/* What a call has in it: "a,b". */
static void assert_sent(size_t i, const char *expected)
{
    struct weir_buf out = {0};
    assert_true(i < n_calls && calls[i] != NULL);
    for (size_t k = 0; k < calls[i]->input.n_contents; k++) {
        weir_buf_printf(&out, "%s%.*s", k == 0 ? "" : ",", (int)calls[i]->input.contents[k].n,
                        calls[i]->input.contents[k].p);
    }
    assert_string_equal(weir_buf_cstr(&out), expected);
    weir_buf_dispose(&out);
}

static void assert_found(const struct asker *a, const char *marks)
{
    assert_int_equal(a->n_done, 1);
    assert_int_equal(a->call->fault.origin, WEIR_FAULT_NONE);
    assert_int_equal(a->call->n_lists, strlen(marks));
    for (size_t i = 0; marks[i] != '\0'; i++) {
        assert_int_equal(a->call->lists[i].n, marks[i] == 'x');
        if (marks[i] == 'x') {
            assert_ptr_equal(a->call->lists[i].items[0].text.p, a->texts[i].p);
        }
    }
}

static void assert_failed(const struct asker *a)
{
    assert_int_equal(a->n_done, 1);
    assert_int_equal(a->call->fault.err, WEIR_EPEER);
    assert_int_equal(a->call->n_lists, 0);
}

static void test_at_once_when_quiet_together_when_busy(void **state)
{
    struct asker a;
    struct asker b;
    struct asker c;
    struct asker d;
    (void)state;
    ASK(&a, "a");
    assert_sent(0, "a");
    ASK(&b, "b1", "b2");
    ASK(&c, "c");
    ASK(&d, "d1", "bd2");
    assert_int_equal(n_calls, 1);
    answer(0);
    assert_found(&a, "-");
    assert_sent(1, "b1,b2,c,d1"); /* max_items */
    answer(1);
    assert_found(&b, "xx");
    assert_found(&c, "-");
    assert_int_equal(d.n_done, 0);
    assert_sent(2, "bd2");
    answer(2);
    assert_found(&d, "-x");
    assert_int_equal(n_calls, 3);
    leave(&a);
    leave(&b);
    leave(&c);
    leave(&d);
}

static void test_several_in_flight(void **state)
{
    struct asker a;
    struct asker b;
    struct asker c;
    (void)state;
    options.in_flight = 2;
    ASK(&a, "a");
    ASK(&b, "b");
    ASK(&c, "c");
    assert_int_equal(n_calls, 2);
    answer(1);
    assert_found(&b, "x");
    assert_sent(2, "c");
    answer(2);
    answer(0);
    leave(&a);
    leave(&b);
    leave(&c);
}

static void test_bytes_are_limited(void **state)
{
    struct asker a;
    struct asker b;
    (void)state;
    options.max_bytes = 5;
    ASK(&a, "a");
    ASK(&b, "longer than five", "xx", "yy", "zz");
    answer(0);
    assert_sent(1, "longer than five"); /* the first goes whatever its length */
    answer(1);
    assert_sent(2, "xx,yy");
    answer(2);
    assert_sent(3, "zz");
    answer(3);
    assert_found(&b, "----");
    leave(&a);
    leave(&b);
}

static void test_only_equal_questions_share(void **state)
{
    static const struct weir_http_field tenant = {WEIR_SLICE("x-tenant"), WEIR_SLICE("t")};
    struct asker a;
    struct asker b;
    struct asker c;
    struct asker d;
    (void)state;
    ASK(&a, "a");
    ASK(&b, "b");
    prepare(&c, (const char *const[]){"c", NULL});
    c.input.params = WEIR_SLICE("{\"x\":1}");
    start(&c);
    prepare(&d, (const char *const[]){"d", NULL});
    d.context.passthrough = &tenant;
    d.context.n_passthrough = 1;
    start(&d);
    struct asker e;
    ASK(&e, "e");
    answer(0);
    assert_sent(1, "b,e"); /* over the heads of the others */
    answer(1);
    assert_sent(2, "c");
    assert_true(weir_slice_eq_cstr(calls[2]->input.params, "{\"x\":1}"));
    answer(2);
    assert_sent(3, "d");
    assert_int_equal(calls[3]->context->n_passthrough, 1);
    answer(3);
    leave(&a);
    leave(&b);
    leave(&c);
    leave(&d);
    leave(&e);
}

static void test_who_leaves_takes_its_text_out(void **state)
{
    struct asker a;
    struct asker b;
    struct asker c;
    (void)state;
    ASK(&a, "a");
    ASK(&b, "b1", "b2");
    ASK(&c, "c");
    leave(&b);
    answer(0);
    assert_sent(1, "c");
    leave(&c); /* nobody waits for it any more */
    assert_int_equal(n_open, 0);
    leave(&a);
}

static void test_one_of_several_leaves(void **state)
{
    struct asker a;
    struct asker b;
    struct asker c;
    (void)state;
    ASK(&a, "a");
    ASK(&b, "b");
    ASK(&c, "c");
    answer(0);
    assert_sent(1, "b,c");
    leave(&b);
    assert_non_null(calls[1]);
    answer(1);
    assert_found(&c, "-");
    leave(&a);
    leave(&c);
}

static void test_a_slot_goes_to_the_next_when_its_owner_leaves(void **state)
{
    struct asker a;
    struct asker b;
    (void)state;
    ASK(&a, "a");
    ASK(&b, "b");
    leave(&a);
    assert_null(calls[0]);
    assert_sent(1, "b");
    answer(1);
    assert_found(&b, "x");
    leave(&b);
}

/* One bad text fails one request. */
static void test_a_refused_batch_is_tried_text_by_text(void **state)
{
    struct asker a;
    struct asker b;
    struct asker c;
    struct asker late;
    (void)state;
    ASK(&a, "a");
    ASK(&b, "b");
    ASK(&c, "poison");
    answer(0);
    assert_sent(1, "b,poison");
    ASK(&late, "late");
    refuse(1, 422);
    assert_int_equal(b.n_done + c.n_done, 0);
    assert_sent(2, "b");
    answer(2);
    assert_found(&b, "x");
    assert_sent(3, "poison");
    refuse(3, 422);
    assert_failed(&c);
    assert_sent(4, "late");
    answer(4);
    assert_found(&late, "-");
    leave(&a);
    leave(&b);
    leave(&c);
    leave(&late);
}

static void test_other_failures_fail_all(void **state)
{
    static const int statuses[] = {0, 429, 500, 503};
    (void)state;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        struct asker a;
        struct asker b;
        struct asker c;
        n_calls = 0;
        ASK(&a, "a");
        ASK(&b, "b1", "b2");
        ASK(&c, "c1", "c2", "c3");
        answer(0);
        assert_sent(1, "b1,b2,c1,c2");
        refuse(1, statuses[i]);
        assert_failed(&b);
        assert_failed(&c);
        assert_int_equal(n_calls, 2); /* c3 was taken out with the rest of its call */
        leave(&a);
        leave(&b);
        leave(&c);
    }
}

static void test_whoever_is_told_may_free_the_others(void **state)
{
    struct asker a;
    struct asker b;
    struct asker c;
    (void)state;
    ASK(&a, "a");
    ASK(&b, "b");
    ASK(&c, "c");
    answer(0);
    b.frees = &c;
    c.frees = &b;
    answer(1);
    assert_int_equal(b.n_done + c.n_done, 1);
    leave(&a);
    leave(&b);
    leave(&c);
}

static void test_a_call_that_is_not_full_may_wait(void **state)
{
    struct asker a;
    struct asker b;
    (void)state;
    options.wait_ms = 3600 * 1000;
    ASK(&a, "a");
    assert_int_equal(n_calls, 0);
    ASK(&b, "b1", "b2", "b3");
    assert_sent(0, "a,b1,b2,b3"); /* full */
    answer(0);
    leave(&a);
    leave(&b);
    ASK(&a, "a");
    leave(&a); /* the timer goes with the last */
    assert_int_equal(n_calls, 1);
}

/* The wait is over when the loop's clock says so, by which the timer runs. */
static void test_a_wait_ends(void **state)
{
    struct asker a;
    (void)state;
    loop.held_ms = 1000;
    options.wait_ms = 3600 * 1000;
    ASK(&a, "a");
    loop.held_ms += options.wait_ms - 1;
    weir_timers_run(&loop.timers, loop.held_ms);
    assert_int_equal(n_calls, 0);
    loop.held_ms++;
    weir_timers_run(&loop.timers, loop.held_ms);
    assert_sent(0, "a");
    answer(0);
    leave(&a);
}

static void test_the_call_under_way_has_copies(void **state)
{
    struct asker *a = weir_mem_zalloc(sizeof *a);
    struct asker b;
    struct asker first;
    (void)state;
    ASK(&first, "first");
    char *text = weir_mem_strdup("gone");
    prepare(a, (const char *const[]){text, NULL});
    start(a);
    ASK(&b, "b");
    answer(0);
    assert_sent(1, "gone,b");
    leave(a);
    free(text);
    free(a);
    assert_sent(1, "gone,b");
    answer(1);
    assert_found(&b, "x");
    leave(&b);
    leave(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_at_once_when_quiet_together_when_busy, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_several_in_flight, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bytes_are_limited, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_equal_questions_share, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_leaves_takes_its_text_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_of_several_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_slot_goes_to_the_next_when_its_owner_leaves, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_refused_batch_is_tried_text_by_text, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_other_failures_fail_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_whoever_is_told_may_free_the_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_call_that_is_not_full_may_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_wait_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_call_under_way_has_copies, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
