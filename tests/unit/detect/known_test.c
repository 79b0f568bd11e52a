/* Verdicts that are known: what is asked, what is not, who waits for whom, and what is given back.
 */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "base/mem.h"
#include "detect/verdicts.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- a detector that is answered by hand ---- */

enum { MAX_CALLS = 64 };

struct fake_call {
    struct weir_detect_call base;
    struct weir_detect_input input;
    const struct weir_call_context *context;
    weir_detect_done_fn on_done;
    void *ctx;
    size_t slot;
    struct weir_detection findings[8];
    struct weir_detect_list lists[8];
};

static struct fake_call *calls[MAX_CALLS]; /* NULL: freed */
static size_t n_calls;
static size_t n_open;
static bool answers_at_once;

/* A finding over every text that has a 'b' in it. */
static void judge(struct fake_call *c)
{
    c->base.n_lists = c->input.type == WEIR_DETECT_CONTENTS ? c->input.n_contents : 1;
    for (size_t i = 0; i < c->base.n_lists; i++) {
        struct weir_slice text =
            c->input.type == WEIR_DETECT_CONTENTS ? c->input.contents[i] : c->input.messages;
        if (memchr(text.p, 'b', text.n) != NULL) {
            c->findings[i] = (struct weir_detection){.has_span = true,
                                                     .end_cp = 1,
                                                     .text = weir_slice_sub(text, 0, 1),
                                                     .detection = WEIR_SLICE("bad"),
                                                     .detection_type = WEIR_SLICE("test"),
                                                     .detector_id = c->base.detector->id,
                                                     .evidence = WEIR_SLICE("[1]"),
                                                     .score = 0.5,
                                                     .score_raw = WEIR_SLICE("0.50")};
            c->lists[i] = (struct weir_detect_list){&c->findings[i], 1};
        }
    }
    c->base.lists = c->lists;
}

static struct weir_detect_call *fake_start(const struct weir_detector *d,
                                           const struct weir_detect_env *env,
                                           const struct weir_detect_input *input,
                                           weir_detect_done_fn on_done, void *ctx)
{
    struct fake_call *c = weir_mem_zalloc(sizeof *c);
    assert_true(n_calls < MAX_CALLS && input->n_contents <= 8);
    c->base.detector = d;
    c->input = *input;
    c->context = env->context;
    c->on_done = on_done;
    c->ctx = ctx;
    c->slot = n_calls;
    calls[n_calls++] = c;
    n_open++;
    if (answers_at_once) {
        judge(c);
        c->base.is_done = true;
    }
    return &c->base;
}

static void fake_free(struct weir_detect_call *call)
{
    struct fake_call *c = (struct fake_call *)call;
    calls[c->slot] = NULL;
    n_open--;
    free(c);
}

static const struct weir_detect_ops OPS = {.start = fake_start, .free = fake_free};

static void answer(size_t i)
{
    struct fake_call *c = calls[i];
    assert_non_null(c);
    judge(c);
    c->base.is_done = true;
    c->on_done(c->ctx, &c->base);
}

static void fail_call(size_t i)
{
    struct fake_call *c = calls[i];
    assert_non_null(c);
    c->base.fault = (struct weir_fault){.origin = WEIR_FAULT_DETECTOR,
                                        .id = c->base.detector->id,
                                        .err = WEIR_EPEER,
                                        .why = WEIR_SLICE("no")};
    c->base.is_done = true;
    c->on_done(c->ctx, &c->base);
}

/* ---- those who ask ---- */

struct asker {
    struct weir_slice texts[8];
    struct weir_detect_input input;
    struct weir_call_context context;
    struct weir_detect_call *call;
    struct asker *frees; /* when it is told */
    unsigned n_done;
};

static struct weir_verdicts verdicts;
static struct weir_detector detector;

static int setup(void **state)
{
    (void)state;
    weir_verdicts_declare();
    weir_verdicts_init(&verdicts, NULL);
    weir_verdicts_set(&verdicts, 1 << 20, 1000);
    detector = (struct weir_detector){
        .ops = &OPS, .id = WEIR_SLICE("hap"), .takes_many = true, .serial = weir_verdicts_serial()};
    n_calls = 0;
    answers_at_once = false;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(n_open, 0);
    weir_verdicts_dispose(&verdicts);
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
    struct weir_detect_env env = {.context = &a->context, .verdicts = &verdicts};
    a->input.contents = a->texts;
    a->call = weir_detect_start(&detector, &env, &a->input, on_done, a);
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

static void assert_slice(struct weir_slice got, const char *expected)
{
    if (!weir_slice_eq_cstr(got, expected)) {
        fail_msg("\"%.*s\", not \"%s\"", (int)got.n, got.p, expected);
    }
}

/* As many findings as the call's texts have, with everything they were answered with. */
static void assert_findings(const struct asker *a, const char *marks)
{
    assert_true(a->call->is_done);
    assert_int_equal(a->call->fault.origin, WEIR_FAULT_NONE);
    assert_int_equal(a->call->n_lists, strlen(marks));
    for (size_t i = 0; marks[i] != '\0'; i++) {
        const struct weir_detect_list *list = &a->call->lists[i];
        assert_int_equal(list->n, marks[i] == 'x');
        if (list->n != 0) {
            assert_ptr_equal(list->items[0].text.p, a->texts[i].p); /* its own text's */
            assert_int_equal(list->items[0].text.n, 1);
            assert_slice(list->items[0].detection, "bad");
            assert_slice(list->items[0].detection_type, "test");
            assert_slice(list->items[0].evidence, "[1]");
            assert_slice(list->items[0].score_raw, "0.50");
            assert_slice(list->items[0].detector_id, "hap");
        }
    }
}

static void test_known_texts_are_not_asked_again(void **state)
{
    struct asker a;
    (void)state;
    ASK(&a, "one", "bee");
    assert_false(a.call->is_done);
    answer(0);
    assert_int_equal(a.n_done, 1);
    assert_findings(&a, "-x");
    leave(&a);
    char copy[] = "bee";
    ASK(&a, copy, "one");
    assert_findings(&a, "x-");
    assert_int_equal(a.n_done, 0); /* it was answered inside start */
    leave(&a);
    assert_int_equal(n_calls, 1);
    ASK(&a, "one", "new", "bee", "neb");
    assert_int_equal(calls[1]->input.n_contents, 2);
    assert_slice(calls[1]->input.contents[0], "new");
    assert_slice(calls[1]->input.contents[1], "neb");
    answer(1);
    assert_findings(&a, "--xx");
    leave(&a);
}

static void test_equal_texts_of_one_call_are_one_question(void **state)
{
    struct asker a;
    (void)state;
    ASK(&a, "bee", "x", "bee");
    assert_int_equal(calls[0]->input.n_contents, 2);
    answer(0);
    assert_findings(&a, "x-x");
    leave(&a);
}

static void test_what_is_under_way_is_waited_for(void **state)
{
    struct asker a;
    struct asker b;
    (void)state;
    ASK(&a, "one", "bee");
    ASK(&b, "bee");
    assert_int_equal(n_calls, 1);
    leave(&a); /* the question goes on for the other */
    assert_non_null(calls[0]);
    answer(0);
    assert_int_equal(b.n_done, 1);
    assert_findings(&b, "x");
    leave(&b);
    ASK(&a, "one"); /* kept, though its asker had left */
    assert_findings(&a, "-");
    leave(&a);
}

static void test_the_last_who_leaves_ends_the_question(void **state)
{
    struct asker a;
    struct asker b;
    (void)state;
    ASK(&a, "one", "bee");
    ASK(&b, "bee", "two");
    assert_int_equal(n_calls, 2);
    leave(&a);
    assert_non_null(calls[0]);
    leave(&b);
    assert_null(calls[0]);
    assert_null(calls[1]);
    ASK(&a, "one");
    assert_int_equal(n_calls, 3);
    leave(&a);
}

static void test_errors_are_not_kept(void **state)
{
    struct asker a;
    (void)state;
    ASK(&a, "one");
    fail_call(0);
    assert_int_equal(a.n_done, 1);
    assert_int_equal(a.call->fault.err, WEIR_EPEER);
    assert_slice(a.call->fault.why, "no");
    assert_int_equal(a.call->n_lists, 0);
    leave(&a);
    ASK(&a, "one");
    assert_int_equal(n_calls, 2);
    answer(1);
    assert_findings(&a, "-");
    leave(&a);
}

/* The fault may lie in another's text: one bad text fails one request. */
static void test_who_waited_for_one_of_several_asks_again(void **state)
{
    struct asker a;
    struct asker b;
    struct asker c;
    (void)state;
    ASK(&a, "poison", "bee");
    ASK(&b, "bee", "mine");
    ASK(&c, "bee");
    assert_int_equal(n_calls, 2);
    fail_call(0);
    assert_int_equal(a.n_done, 1);
    assert_int_equal(a.call->fault.err, WEIR_EPEER);
    assert_int_equal(b.n_done, 0);
    assert_int_equal(c.n_done, 0);
    assert_int_equal(n_calls, 3);
    assert_slice(calls[2]->input.contents[0], "bee");
    assert_int_equal(calls[2]->input.n_contents, 1);
    answer(2);
    assert_int_equal(c.n_done, 1);
    assert_findings(&c, "x");
    assert_int_equal(b.n_done, 0);
    answer(1);
    assert_findings(&b, "x-");
    leave(&a);
    leave(&b);
    leave(&c);
}

static void test_asking_again_ends(void **state)
{
    struct asker a;
    struct asker b;
    (void)state;
    ASK(&a, "one", "bee");
    ASK(&b, "bee");
    fail_call(0);
    fail_call(1);
    assert_int_equal(b.n_done, 1);
    assert_int_equal(b.call->fault.err, WEIR_EPEER);
    assert_int_equal(n_calls, 2);
    leave(&a);
    leave(&b);
}

/* A call that fails leaves its other questions, and those end if nobody else waits. */
static void test_a_failed_call_leaves_its_other_questions(void **state)
{
    struct asker a;
    struct asker b;
    (void)state;
    ASK(&a, "one");
    ASK(&b, "one", "two");
    fail_call(0); /* about one text: everybody who waits for it fails */
    assert_int_equal(a.n_done, 1);
    assert_int_equal(b.n_done, 1);
    assert_null(calls[1]);
    leave(&a);
    leave(&b);
}

static void test_whoever_is_told_may_free_the_others(void **state)
{
    struct asker a;
    struct asker b;
    (void)state;
    ASK(&a, "bee");
    ASK(&b, "bee");
    a.frees = &b;
    b.frees = &a;
    answer(0);
    assert_int_equal(a.n_done + b.n_done, 1);
    leave(&a);
    leave(&b);
}

static void test_a_detector_that_answers_at_once(void **state)
{
    struct asker a;
    (void)state;
    answers_at_once = true;
    ASK(&a, "bee", "x");
    assert_findings(&a, "x-");
    leave(&a);
    ASK(&a, "x");
    assert_int_equal(n_calls, 1);
    leave(&a);
}

/* Everything that makes an answer another one, or whose it is, makes the question another one. */
static void test_what_makes_questions_differ(void **state)
{
    static const struct weir_http_field tenant = {WEIR_SLICE("x-tenant"), WEIR_SLICE("a")};
    static const struct weir_http_field other = {WEIR_SLICE("x-tenant"), WEIR_SLICE("b")};
    enum { N = 8 };
    (void)state;
    answers_at_once = true;
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < N; i++) {
            struct asker a;
            prepare(&a, (const char *const[]){"bee", NULL});
            a.input.params = i == 1 ? WEIR_SLICE("{\"a\":1}") : WEIR_SLICE("");
            a.input.threshold = i == 2 ? 0.25 : 0.5;
            a.input.is_piece = i == 3;
            a.context.caller = i == 4 ? WEIR_SLICE("team-a") : WEIR_SLICE("");
            a.context.passthrough = i == 5 ? &tenant : &other;
            a.context.n_passthrough = i == 5 || i == 6;
            if (i == 7) {
                a.input.type = WEIR_DETECT_CHAT;
                a.input.messages = a.texts[0];
            }
            start(&a);
            assert_true(a.call->is_done);
            leave(&a);
            assert_int_equal(n_calls, round == 0 ? i + 1 : N);
        }
    }
    struct asker a;
    detector.serial = weir_verdicts_serial(); /* another detector, or another configuration */
    ASK(&a, "bee");
    leave(&a);
    assert_int_equal(n_calls, N + 1);
}

static void test_old_verdicts_are_not_used(void **state)
{
    struct asker a;
    (void)state;
    answers_at_once = true;
    ASK(&a, "bee");
    leave(&a);
    verdicts.now_ms = 999;
    ASK(&a, "bee");
    leave(&a);
    assert_int_equal(n_calls, 1);
    verdicts.now_ms = 1000;
    ASK(&a, "bee");
    leave(&a);
    assert_int_equal(n_calls, 2);
    verdicts.now_ms = 5000;
    ASK(&a, "other"); /* any question sweeps */
    assert_int_equal(verdicts.kept.n, 1);
    leave(&a);
}

static void test_memory_is_bounded_and_counted(void **state)
{
    struct asker a;
    (void)state;
    answers_at_once = true;
    size_t before = weir_account_total();
    weir_verdicts_set(&verdicts, 4096, 1000);
    ASK(&a, "first");
    leave(&a);
    size_t one = verdicts.bytes;
    for (int i = 0; i < 40; i++) {
        char text[16];
        snprintf(text, sizeof text, "t%d", i);
        ASK(&a, text, "first"); /* used all the time: it stays */
        leave(&a);
        assert_true(verdicts.bytes <= 4096);
        assert_int_equal(verdicts.account.bytes, verdicts.bytes);
        assert_int_equal(weir_account_total(), before + verdicts.bytes);
        n_calls = 0;
    }
    assert_int_equal(verdicts.kept.n, 4096 / one);
    ASK(&a, "t39", "first");
    leave(&a);
    assert_int_equal(n_calls, 0);
    ASK(&a, "t0");
    leave(&a);
    assert_int_equal(n_calls, 1);
}

static void clear(void *ctx)
{
    weir_verdicts_clear(ctx);
}

static void test_it_gives_way_to_callers(void **state)
{
    struct asker a;
    struct weir_account caller = {0};
    (void)state;
    answers_at_once = true;
    ASK(&a, "bee");
    leave(&a);
    weir_account_set_limit(weir_account_total() + 100);
    assert_false(weir_account_has_room(&caller, 101));
    weir_account_set_relief(clear, &verdicts);
    assert_true(weir_account_has_room(&caller, 101));
    assert_int_equal(verdicts.bytes, 0);
    weir_account_set_limit(weir_account_total() + 5000);
    caller.max = 50; /* its own ceiling is not the verdicts' business */
    ASK(&a, "bee");
    leave(&a);
    assert_false(weir_account_has_room(&caller, 51));
    assert_true(verdicts.bytes != 0);
    weir_account_set_limit(weir_account_total());
    ASK(&a, "no room to be kept");
    leave(&a);
    assert_int_equal(verdicts.kept.n, 1);
    weir_account_set_relief(NULL, NULL);
    weir_account_set_limit(0);
}

static void test_the_call_under_way_has_copies(void **state)
{
    struct asker *a = weir_mem_zalloc(sizeof *a);
    struct asker b;
    struct weir_http_field *field = weir_mem_zalloc(sizeof *field);
    (void)state;
    *field = (struct weir_http_field){WEIR_SLICE("x-tenant"), WEIR_SLICE("t")};
    char *text = weir_mem_strdup("bee");
    prepare(a, (const char *const[]){text, NULL});
    a->context.passthrough = field;
    a->context.n_passthrough = 1;
    start(a);
    prepare(&b, (const char *const[]){"bee", NULL});
    struct weir_http_field same = *field;
    b.context.passthrough = &same;
    b.context.n_passthrough = 1;
    start(&b);
    leave(a);
    free(text);
    free(field);
    free(a);
    assert_slice(calls[0]->input.contents[0], "bee");
    assert_slice(calls[0]->context->passthrough[0].value, "t");
    answer(0);
    assert_findings(&b, "x");
    leave(&b);
}

static void test_built_in_ones_from_a_length_on(void **state)
{
    struct asker a;
    char text[101];
    (void)state;
    answers_at_once = true;
    detector.keep_from_bytes = 100;
    memset(text, 'b', sizeof text - 1);
    text[100] = '\0';
    ASK(&a, text);
    assert_findings(&a, "x");
    leave(&a);
    ASK(&a, text);
    assert_findings(&a, "x");
    leave(&a);
    assert_int_equal(n_calls, 1);
    ASK(&a, "bee");
    leave(&a);
    ASK(&a, "bee");
    leave(&a);
    assert_int_equal(n_calls, 3);
    size_t before = 1; /* they see what stands before the text */
    prepare(&a, (const char *const[]){text, NULL});
    a.texts[0] = weir_slice_make(text + 1, 99);
    detector.keep_from_bytes = 50;
    a.input.before = &before;
    start(&a);
    leave(&a);
    prepare(&a, (const char *const[]){text, NULL});
    a.texts[0] = weir_slice_make(text + 1, 99);
    start(&a);
    leave(&a);
    assert_int_equal(n_calls, 5);
}

static void test_a_built_in_that_answers_later(void **state)
{
    struct asker a;
    (void)state;
    detector.keep_from_bytes = 1;
    ASK(&a, "bee");
    assert_false(a.call->is_done);
    answer(0);
    assert_int_equal(a.n_done, 1);
    assert_findings(&a, "x");
    leave(&a);
    ASK(&a, "bee");
    assert_findings(&a, "x");
    leave(&a);
    ASK(&a, "bees");
    leave(&a);
    assert_int_equal(n_calls, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_known_texts_are_not_asked_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_equal_texts_of_one_call_are_one_question, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_is_under_way_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_last_who_leaves_ends_the_question, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_errors_are_not_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_waited_for_one_of_several_asks_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_asking_again_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_failed_call_leaves_its_other_questions, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_whoever_is_told_may_free_the_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_detector_that_answers_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_makes_questions_differ, setup, teardown),
        cmocka_unit_test_setup_teardown(test_old_verdicts_are_not_used, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_is_bounded_and_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_gives_way_to_callers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_call_under_way_has_copies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_built_in_ones_from_a_length_on, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_built_in_that_answers_later, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
