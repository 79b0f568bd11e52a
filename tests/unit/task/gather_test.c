/* The aggregator by example: what the vectors cannot say. Whole texts and timings are in the
 * vectors and in gather_property_test.c. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "task/gather.h"
#include "task/textlog.h"

#include <stdlib.h>
#include <string.h>

/* A text that has all arrived, with white space where `*` is not. */
struct text {
    const char *stars;
    size_t n_asked;
};

static size_t arrived_cp(void *ctx)
{
    return strlen(((struct text *)ctx)->stars);
}

static bool is_white(void *ctx, size_t start_cp, size_t end_cp)
{
    struct text *t = ctx;
    t->n_asked++;
    for (size_t i = start_cp; i < end_cp; i++) {
        if (t->stars[i] == '*') {
            return false;
        }
    }
    return true;
}

static struct weir_gather *open_on(struct text *t, const char *strategy, size_t n_detectors)
{
    static const struct weir_slice ids[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    return weir_gather_new(&(struct weir_gather_options){
        .strategy = weir_gather_strategy_find(weir_slice_cstr(strategy)),
        .detector_ids = ids,
        .n_detectors = n_detectors,
        .text = {t, arrived_cp, is_white},
    });
}

static int push(struct weir_gather *g, size_t detector, size_t start_cp, size_t end_cp)
{
    return weir_gather_push(g, detector, &(struct weir_gather_verdict){start_cp, end_cp, NULL, 0});
}

static void assert_batch(struct weir_gather *g, size_t start_cp, size_t end_cp)
{
    struct weir_gather_batch b;
    assert_int_equal(weir_gather_pop(g, &b), 0);
    assert_int_equal(b.start_cp, start_cp);
    assert_int_equal(b.end_cp, end_cp);
}

static void assert_nothing(struct weir_gather *g)
{
    struct weir_gather_batch b;
    assert_int_equal(weir_gather_pop(g, &b), WEIR_EAGAIN);
}

static void assert_fails(struct weir_gather *g, int err, size_t detector, size_t at_cp)
{
    struct weir_gather_batch b;
    assert_int_equal(weir_gather_pop(g, &b), err);
    assert_int_equal(weir_gather_failure(g)->err, err);
    assert_int_equal(weir_gather_failure(g)->detector, detector);
    assert_int_equal(weir_gather_failure(g)->at_cp, at_cp);
    assert_int_equal(push(g, 0, 0, 1), err); /* the first failure is final */
    assert_int_equal(weir_gather_end(g, 0), err);
    assert_int_equal(weir_gather_source_end(g, 1), err);
    assert_false(weir_gather_is_done(g));
}

static void test_strategies_by_name(void **state)
{
    (void)state;
    assert_string_equal(weir_gather_strategy_name(weir_gather_strategy_at(0)),
                        "max_processed_index"); /* the default */
    size_t n = 0;
    for (const struct weir_gather_strategy *s; (s = weir_gather_strategy_at(n)) != NULL; n++) {
        const char *name = weir_gather_strategy_name(s);
        assert_ptr_equal(weir_gather_strategy_find(weir_slice_cstr(name)), s);
    }
    assert_int_equal(n, 3);
    assert_null(weir_gather_strategy_find(WEIR_SLICE("max")));
    assert_null(weir_gather_strategy_find(WEIR_SLICE("")));
}

static void test_findings_are_copied_and_named(void **state)
{
    (void)state;
    struct text t = {"**********", 0};
    struct weir_gather *g = open_on(&t, "max_processed_index", 1);
    char word[] = "secret";
    struct weir_detection d = {
        .has_span = true,
        .start_cp = 2,
        .end_cp = 8,
        .text = {word, 6},
        .detection = {word, 3},
        .detection_type = {word + 1, 2},
        .detector_id = WEIR_SLICE("somebody else"),
        .evidence = WEIR_SLICE("[{\"name\":1}]"),
        .score = 0.75,
        .score_raw = {word + 3, 3},
    };
    assert_int_equal(weir_gather_push(g, 0, &(struct weir_gather_verdict){0, 10, &d, 1}), 0);
    memset(word, 'x', sizeof word);
    struct weir_gather_batch b;
    assert_int_equal(weir_gather_pop(g, &b), 0);
    assert_int_equal(b.n_findings, 1);
    const struct weir_detection *got = b.findings[0];
    assert_true(weir_slice_eq_cstr(got->text, "secret"));
    assert_true(weir_slice_eq_cstr(got->detection, "sec"));
    assert_true(weir_slice_eq_cstr(got->detection_type, "ec"));
    assert_true(weir_slice_eq_cstr(got->score_raw, "ret"));
    assert_true(weir_slice_eq_cstr(got->detector_id, "a"));
    assert_true(weir_slice_eq_cstr(got->evidence, "[{\"name\":1}]"));
    assert_int_equal(got->metadata.n, 0);
    assert_true(got->has_span && got->start_cp == 2 && got->end_cp == 8);
    assert_true(got->score > 0.74 && got->score < 0.76);
    weir_gather_free(g);
}

static void test_without_detectors_the_text_waits_for_its_end(void **state)
{
    (void)state;
    for (size_t i = 0; weir_gather_strategy_at(i) != NULL; i++) {
        struct text t = {"***", 0};
        struct weir_gather *g =
            open_on(&t, weir_gather_strategy_name(weir_gather_strategy_at(i)), 0);
        assert_nothing(g);
        assert_int_equal(weir_gather_source_end(g, 3), 0);
        assert_false(weir_gather_is_done(g));
        assert_batch(g, 0, 3);
        assert_nothing(g);
        assert_true(weir_gather_is_done(g));
        weir_gather_free(g);
    }
}

/* Text after a finish_reason: a second aggregator goes on where the first one ended. */
static void test_a_path_can_go_on_at_an_offset(void **state)
{
    (void)state;
    struct text t = {"***** ***", 0};
    static const struct weir_slice ids[] = {{"a", 1}};
    struct weir_gather_options options = {
        .strategy = weir_gather_strategy_at(0),
        .detector_ids = ids,
        .n_detectors = 1,
        .text = {&t, arrived_cp, is_white},
        .start_cp = 5,
    };
    struct weir_gather *g = weir_gather_new(&options);
    assert_nothing(g);
    assert_int_equal(push(g, 0, 6, 9), 0);
    assert_batch(g, 5, 9);
    assert_int_equal(weir_gather_source_end(g, 9), 0);
    assert_int_equal(weir_gather_end(g, 0), 0);
    assert_int_equal(weir_gather_end(g, 0), 0); /* twice is fine */
    assert_nothing(g);
    assert_true(weir_gather_is_done(g));
    weir_gather_free(g);

    g = weir_gather_new(&options);
    assert_int_equal(push(g, 0, 4, 9), WEIR_EPEER); /* before it began */
    assert_int_equal(weir_gather_failure(g)->fault, WEIR_GATHER_OVERLAP);
    weir_gather_free(g);
}

static void test_uncovered_tells_who_and_where(void **state)
{
    (void)state;
    struct text t = {"*****  ***", 0};
    struct weir_gather *g = open_on(&t, "max_processed_index", 2);
    assert_int_equal(push(g, 0, 0, 10), 0);
    assert_int_equal(push(g, 1, 0, 5), 0);
    assert_nothing(g);
    assert_int_equal(push(g, 1, 8, 10), 0);
    assert_fails(g, WEIR_EPEER, 1, 5);
    assert_string_equal(weir_gather_fault_text(weir_gather_failure(g)->fault), "uncovered");
    weir_gather_free(g);
}

static void test_beyond_is_measured_by_what_has_arrived(void **state)
{
    (void)state;
    struct weir_textlog log = {0};
    static const struct weir_slice ids[] = {{"a", 1}};
    struct weir_gather *g = weir_gather_new(&(struct weir_gather_options){
        .strategy = weir_gather_strategy_at(0),
        .detector_ids = ids,
        .n_detectors = 1,
        .text = weir_gather_text_of(&log),
    });
    assert_int_equal(weir_textlog_append(&log, 0, WEIR_SLICE("\xc3\xa4\xc3\xb6 "), NULL), 0);
    assert_int_equal(push(g, 0, 0, 2), 0);
    assert_batch(g, 0, 2);
    weir_textlog_trim(&log, 2);
    assert_int_equal(weir_textlog_append(&log, 1, WEIR_SLICE("x"), NULL), 0);
    assert_int_equal(push(g, 0, 3, 5), WEIR_EPEER);
    assert_int_equal(weir_gather_failure(g)->fault, WEIR_GATHER_BEYOND);
    assert_fails(g, WEIR_EPEER, 0, 5);
    weir_gather_free(g);
    weir_textlog_dispose(&log);
}

static void test_what_waits_is_limited(void **state)
{
    (void)state;
    struct text t = {"**********", 0};
    static const struct weir_slice ids[] = {{"a", 1}, {"b", 1}};
    struct weir_gather *g = weir_gather_new(&(struct weir_gather_options){
        .strategy = weir_gather_strategy_at(0),
        .detector_ids = ids,
        .n_detectors = 2,
        .text = {&t, arrived_cp, is_white},
        .max_bytes = 600,
    });
    static const char evidence[1000] = "[]";
    struct weir_detection large = {.evidence = {evidence, sizeof evidence}};
    struct weir_detection small = {.evidence = {evidence, 2}};
    for (size_t i = 0; i < 5; i++) { /* what has left does not count */
        assert_int_equal(weir_gather_push(g, 0, &(struct weir_gather_verdict){i, i + 1, &small, 1}),
                         0);
        assert_int_equal(push(g, 1, i, i + 1), 0);
        assert_batch(g, i, i + 1);
        assert_nothing(g);
    }
    assert_int_equal(weir_gather_push(g, 0, &(struct weir_gather_verdict){5, 6, &large, 1}),
                     WEIR_ELIMIT);
    assert_fails(g, WEIR_ELIMIT, 0, 5);
    weir_gather_free(g);
}

static void test_a_failed_call_takes_its_place(void **state)
{
    (void)state;
    struct text t = {"********************", 0};
    struct weir_gather *g = open_on(&t, "max_processed_index", 2);
    assert_int_equal(push(g, 0, 0, 5), 0);
    assert_int_equal(weir_gather_fail(g, 0, 5, WEIR_ETIMEOUT), 0);
    assert_int_equal(push(g, 0, 10, 15), 0); /* ignored: a later call of the same detector */
    assert_int_equal(weir_gather_end(g, 0), 0);
    assert_nothing(g); /* the first chunk may still leave */
    assert_int_equal(push(g, 1, 0, 5), 0);
    assert_batch(g, 0, 5);
    assert_fails(g, WEIR_ETIMEOUT, 0, 5); /* without waiting for the other detector */
    weir_gather_free(g);
}

/* What it had answered for leaves with what the others say later. */
static void test_a_failed_call_of_the_fastest_strategy(void **state)
{
    (void)state;
    struct text t = {"***** **************", 0};
    struct weir_gather *g = open_on(&t, "min_processed_index", 2);
    assert_int_equal(push(g, 0, 0, 3), 0);
    assert_int_equal(push(g, 0, 3, 5), 0);
    assert_int_equal(weir_gather_fail(g, 0, 6, WEIR_ETIMEOUT), 0);
    assert_nothing(g);
    assert_int_equal(push(g, 1, 0, 4), 0);
    assert_batch(g, 0, 4);
    assert_nothing(g);
    assert_int_equal(push(g, 1, 4, 12), 0);
    assert_batch(g, 4, 5);
    assert_fails(g, WEIR_ETIMEOUT, 0, 6);
    weir_gather_free(g);
}

static void test_of_several_failures_the_first_in_the_text_is_told(void **state)
{
    (void)state;
    struct text t = {"********************", 0};
    struct weir_gather *g = open_on(&t, "aligned", 3);
    assert_int_equal(push(g, 0, 0, 10), 0);
    assert_int_equal(weir_gather_fail(g, 0, 10, WEIR_ETIMEOUT), 0);
    assert_int_equal(push(g, 1, 0, 5), 0);
    assert_int_equal(weir_gather_fail(g, 1, 5, WEIR_ERESET), 0);
    /* The batch would go to 10 at least, past the failure at 5: no need to wait for `c`'s end. */
    assert_nothing(g);
    assert_int_equal(push(g, 2, 0, 2), 0);
    assert_fails(g, WEIR_ERESET, 1, 5);
    weir_gather_free(g);
}

static void test_a_failure_at_the_very_end_is_not_lost(void **state)
{
    (void)state;
    for (size_t i = 0; weir_gather_strategy_at(i) != NULL; i++) {
        struct text t = {"*****", 0};
        struct weir_gather *g =
            open_on(&t, weir_gather_strategy_name(weir_gather_strategy_at(i)), 1);
        assert_int_equal(push(g, 0, 0, 5), 0);
        assert_batch(g, 0, 5);
        assert_int_equal(weir_gather_source_end(g, 5), 0);
        assert_nothing(g);
        assert_int_equal(weir_gather_fail(g, 0, 5, WEIR_ECLOSED), 0);
        assert_fails(g, WEIR_ECLOSED, 0, 5);
        weir_gather_free(g);
    }
}

/* Two detectors with chunks of two code points, one step apart, never line up before the end: every
 * verdict is queued, and the run takes for ever if any of them is looked at again and again. */
static void test_long_queues_stay_cheap(void **state)
{
    (void)state;
    enum { LENGTH = 600001 };
    char *stars = malloc(LENGTH + 1);
    assert_non_null(stars);
    memset(stars, '*', LENGTH);
    stars[LENGTH] = '\0';
    struct weir_textlog log = {0};
    assert_int_equal(weir_textlog_append(&log, 0, weir_slice_make(stars, LENGTH), NULL), 0);
    struct weir_gather *g = weir_gather_new(&(struct weir_gather_options){
        .strategy = weir_gather_strategy_find(WEIR_SLICE("aligned")),
        .detector_ids = (struct weir_slice[]){{"even", 4}, {"odd", 3}},
        .n_detectors = 2,
        .text = weir_gather_text_of(&log),
    });
    for (size_t at_cp = 0; at_cp + 2 <= LENGTH; at_cp += 2) {
        assert_int_equal(push(g, 0, at_cp, at_cp + 2), 0);
        assert_nothing(g);
        assert_int_equal(push(g, 1, at_cp == 0 ? 0 : at_cp - 1, at_cp + 1), 0);
        assert_nothing(g);
    }
    assert_true(weir_gather_footprint(g) > 600000 * 3 * sizeof(size_t));
    assert_int_equal(push(g, 0, LENGTH - 1, LENGTH), 0);
    assert_int_equal(push(g, 1, LENGTH - 2, LENGTH), 0);
    assert_batch(g, 0, LENGTH);
    assert_true(weir_gather_footprint(g) < 4096);
    weir_gather_free(g);
    weir_textlog_dispose(&log);
    free(stars);
}

static void test_full_coverage_asks_nothing_of_the_text(void **state)
{
    (void)state;
    struct text t = {"**********", 0};
    struct weir_gather *g = open_on(&t, "min_processed_index", 3);
    for (size_t i = 0; i < 10; i++) {
        for (size_t d = 0; d < 3; d++) {
            assert_int_equal(push(g, d, i, i + 1), 0);
        }
        assert_batch(g, i, i + 1);
        assert_nothing(g);
    }
    assert_int_equal(t.n_asked, 0);
    weir_gather_free(g);
    weir_gather_free(NULL);
}

/* One mark for all that read along: those that are further stay there, those that have ended are
 * left out, and more than has come is a fault. */
static void test_a_mark_for_all(void **state)
{
    (void)state;
    static const struct weir_slice ids[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    static const bool are_readers[] = {true, true, true};
    struct text t = {.stars = "**********"};
    struct weir_gather *g = weir_gather_new(&(struct weir_gather_options){
        .strategy = weir_gather_strategy_find(WEIR_SLICE("aligned")),
        .detector_ids = ids,
        .n_detectors = 3,
        .are_readers = are_readers,
        .text = {&t, arrived_cp, is_white},
    });
    assert_int_equal(weir_gather_mark(g, 0, &(struct weir_gather_mark){.mark_cp = 6}), 0);
    assert_nothing(g);
    assert_int_equal(weir_gather_mark_all(g, 4), 0);
    assert_batch(g, 0, 4);
    assert_nothing(g);
    assert_int_equal(weir_gather_end(g, 2), 0);
    assert_int_equal(weir_gather_mark(g, 1, &(struct weir_gather_mark){.mark_cp = 9}), 0);
    assert_batch(g, 4, 6); /* the first had come so far */
    assert_int_equal(weir_gather_mark_all(g, 8), 0);
    assert_batch(g, 6, 8);
    assert_int_equal(weir_gather_mark_all(g, 11), WEIR_EPEER);
    weir_gather_free(g);
}

/* Those that may be late have not come as far as those that read along. */
static void test_a_mark_for_all_but_the_late(void **state)
{
    (void)state;
    static const struct weir_slice ids[] = {{"a", 1}, {"late", 4}};
    static const bool are_readers[] = {true, true};
    static const bool are_late[] = {false, true};
    struct text t = {.stars = "**********"};
    struct weir_gather *g = weir_gather_new(&(struct weir_gather_options){
        .strategy = weir_gather_strategy_find(WEIR_SLICE("aligned")),
        .detector_ids = ids,
        .n_detectors = 2,
        .are_readers = are_readers,
        .are_late = are_late,
        .text = {&t, arrived_cp, is_white},
    });
    assert_int_equal(weir_gather_mark_all(g, 6), 0);
    assert_nothing(g);
    assert_int_equal(weir_gather_mark(g, 1, &(struct weir_gather_mark){.mark_cp = 2}), 0);
    assert_batch(g, 0, 2);
    assert_nothing(g);
    assert_int_equal(weir_gather_mark(g, 1, &(struct weir_gather_mark){.mark_cp = 9}), 0);
    assert_batch(g, 2, 6);
    assert_nothing(g);
    weir_gather_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mark_for_all),
        cmocka_unit_test(test_a_mark_for_all_but_the_late),
        cmocka_unit_test(test_strategies_by_name),
        cmocka_unit_test(test_findings_are_copied_and_named),
        cmocka_unit_test(test_without_detectors_the_text_waits_for_its_end),
        cmocka_unit_test(test_a_path_can_go_on_at_an_offset),
        cmocka_unit_test(test_uncovered_tells_who_and_where),
        cmocka_unit_test(test_beyond_is_measured_by_what_has_arrived),
        cmocka_unit_test(test_what_waits_is_limited),
        cmocka_unit_test(test_a_failed_call_takes_its_place),
        cmocka_unit_test(test_a_failed_call_of_the_fastest_strategy),
        cmocka_unit_test(test_of_several_failures_the_first_in_the_text_is_told),
        cmocka_unit_test(test_a_failure_at_the_very_end_is_not_lost),
        cmocka_unit_test(test_long_queues_stay_cheap),
        cmocka_unit_test(test_full_coverage_asks_nothing_of_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
