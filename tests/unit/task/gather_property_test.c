/*
 * Thousands of random streams: texts with every kind of white space and characters of every length,
 * chunkers that cover, skip white space or cut windows, any order of arrival. Each is run through
 * the aggregator and the reference at once (gather_pair.h) and must keep the promises of
 * docs/internals/path.md.
 */
#include "unit/cmocka_all.h"

#define PAIR_CHECK assert_true
#include "unit/task/gather_pair.h"

#include <stdlib.h>

enum { N_SCENES = 2000, MAX_EVENTS = REF_DETECTORS * (REF_VERDICTS + 2) + REF_TEXT + 1 };

static const char *const strategies[] = {"max_processed_index", "aligned", "min_processed_index"};
static const char *const ids[REF_DETECTORS] = {"m", "hap", "Z", "pii", "a", "\xc3\xa9"};

static uint64_t seed;

static size_t pick(size_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(((seed >> 32) * n) >> 32);
}

/* What happens, but not when. Sequence i < n_detectors is detector i's, the last one the source's;
 * events of one sequence stay in order. */
struct scene {
    uint32_t cps[REF_TEXT];
    size_t n_cp;
    size_t n_detectors;
    struct ref_event events[REF_DETECTORS + 1][REF_TEXT + 2];
    size_t n_events[REF_DETECTORS + 1];
    size_t n_findings;
};

static void make_text(struct scene *s)
{
    static const uint32_t letters[] = {'a', 'Z', '.', 0xDF, 0x200B, 0x20AC, 0x4E2D, 0x1F680};
    static const uint32_t spaces[] = {' ', '\n', '\t', '\r', 0x85, 0xA0, 0x2003, 0x2029, 0x3000};
    size_t percent_white = pick(3) * 20;
    s->n_cp = pick(5) == 0 ? pick(4) : pick(70);
    for (size_t i = 0; i < s->n_cp; i++) {
        bool is_white = pick(100) < percent_white;
        s->cps[i] = is_white ? spaces[pick(sizeof spaces / sizeof spaces[0])]
                             : letters[pick(sizeof letters / sizeof letters[0])];
    }
}

static struct ref_event *add(struct scene *s, size_t sequence, struct ref_event e)
{
    struct ref_event *slot = &s->events[sequence][s->n_events[sequence]++];
    *slot = e;
    return slot;
}

/* Every verdict has a finding that can be told apart, so that it is seen to leave once. */
static void add_findings(struct scene *s, struct ref_event *e)
{
    e->n_findings = 1 + pick(REF_FINDINGS);
    for (size_t i = 0; i < e->n_findings; i++) {
        size_t start_cp = e->start_cp + pick(e->end_cp - e->start_cp);
        e->findings[i] = (struct ref_finding){
            .serial = s->n_findings++, .detector = e->detector, .has_span = pick(4) != 0};
        if (e->findings[i].has_span) {
            e->findings[i].start_cp = start_cp;
            e->findings[i].end_cp = start_cp + pick(9); /* windows see past their end */
        }
    }
}

static bool is_white_at(const struct scene *s, size_t at_cp)
{
    return weir_utf8_is_space(s->cps[at_cp]);
}

/* One detector's chunks of at most `largest` code points, or of exactly that many. */
static void make_chunks(struct scene *s, size_t detector)
{
    bool skips_white = pick(2) == 0;
    bool is_window = pick(3) == 0;
    size_t largest = 1 + pick(pick(2) == 0 ? 4 : 30);
    size_t at_cp = 0;
    while (at_cp < s->n_cp) {
        while (skips_white && at_cp < s->n_cp && is_white_at(s, at_cp)) {
            at_cp++;
        }
        size_t end_cp = at_cp + (is_window ? largest : 1 + pick(largest));
        end_cp = end_cp < s->n_cp ? end_cp : s->n_cp;
        size_t next_cp = end_cp;
        while (skips_white && end_cp > at_cp && is_white_at(s, end_cp - 1)) {
            end_cp--;
        }
        if (end_cp > at_cp) {
            struct ref_event e = {
                .kind = REF_VERDICT, .detector = detector, .start_cp = at_cp, .end_cp = end_cp};
            add_findings(s, add(s, detector, e));
        }
        at_cp = next_cp;
    }
    add(s, detector, (struct ref_event){.kind = REF_END, .detector = detector});
}

static void make_frames(struct scene *s)
{
    size_t largest = 1 + pick(20);
    for (size_t at_cp = 0; at_cp < s->n_cp;) {
        size_t n_cp = pick(largest + 1);
        n_cp = n_cp < s->n_cp - at_cp ? n_cp : s->n_cp - at_cp;
        if (n_cp != 0) {
            add(s, s->n_detectors, (struct ref_event){.kind = REF_FRAME, .n_cp = n_cp});
        }
        at_cp += n_cp;
    }
    add(s, s->n_detectors, (struct ref_event){.kind = REF_SOURCE_END, .n_cp = s->n_cp});
}

static void make_scene(struct scene *s, uint64_t number)
{
    seed = number * 2654435761u + 1;
    memset(s, 0, sizeof *s);
    make_text(s);
    s->n_detectors = 1 + pick(REF_DETECTORS);
    for (size_t d = 0; d < s->n_detectors; d++) {
        make_chunks(s, d);
    }
    make_frames(s);
}

/* Which sequence makes the next step. */
struct order {
    uint8_t steps[MAX_EVENTS];
    size_t n;
};

/* The sequence that is next, or SIZE_MAX. Unless `wild`, no verdict comes before its text. */
static size_t pick_step(const struct scene *s, const size_t *done, const size_t *weights, bool wild)
{
    size_t arrived_cp = 0;
    for (size_t i = 0; i < done[s->n_detectors]; i++) {
        const struct ref_event *e = &s->events[s->n_detectors][i];
        arrived_cp += e->kind == REF_FRAME ? e->n_cp : 0;
    }
    size_t best = SIZE_MAX;
    size_t best_score = 0;
    for (size_t i = 0; i <= s->n_detectors; i++) {
        if (done[i] == s->n_events[i]) {
            continue;
        }
        const struct ref_event *e = &s->events[i][done[i]];
        bool is_early = e->kind == REF_VERDICT && e->end_cp > arrived_cp;
        size_t score = is_early && !wild ? 0 : 1 + pick(weights[i] * 100);
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

static void make_order(const struct scene *s, struct order *o, bool wild)
{
    size_t done[REF_DETECTORS + 1] = {0};
    size_t weights[REF_DETECTORS + 1];
    for (size_t i = 0; i <= s->n_detectors; i++) {
        weights[i] = 1 + pick(12); /* some are slow */
    }
    o->n = 0;
    size_t step;
    while ((step = pick_step(s, done, weights, wild)) != SIZE_MAX) {
        o->steps[o->n++] = (uint8_t)step;
        done[step]++;
    }
}

/* Plays the scene in that order until an error; a sequence may be shorter than the order knows. */
static void play_in(const struct scene *s, const struct order *o, struct pair *p,
                    const char *strategy)
{
    size_t done[REF_DETECTORS + 1] = {0};
    pair_set_text(p, s->cps, s->n_cp);
    pair_open(p, strategy, ids, s->n_detectors);
    for (size_t i = 0; i < o->n && p->error == NULL; i++) {
        size_t step = o->steps[i];
        if (done[step] < s->n_events[step]) {
            pair_feed(p, &s->events[step][done[step]++]);
        }
    }
}

static void play(const struct scene *s, struct pair *p, const char *strategy, bool wild)
{
    struct order o;
    make_order(s, &o, wild);
    play_in(s, &o, p, strategy);
}

static void assert_all_left(const struct scene *s, const struct pair *p)
{
    assert_null(p->error);
    assert_true(weir_gather_is_done(p->gather));
    assert_int_equal(weir_gather_left_cp(p->gather), s->n_cp);
    bool *has_left = calloc(s->n_findings + 1, sizeof *has_left);
    assert_non_null(has_left);
    size_t n = 0;
    for (size_t i = 0; i < p->n_batches; i++) {
        for (size_t k = 0; k < p->batches[i].n_findings; k++) {
            size_t serial = p->batches[i].serials[k];
            assert_false(has_left[serial]);
            has_left[serial] = true;
            n++;
        }
    }
    assert_int_equal(n, s->n_findings);
    free(has_left);
}

static void assert_same_batches(const struct pair *a, const struct pair *b)
{
    assert_int_equal(a->n_batches, b->n_batches);
    for (size_t i = 0; i < a->n_batches; i++) {
        assert_int_equal(a->batches[i].end_cp, b->batches[i].end_cp);
        assert_int_equal(a->batches[i].n_findings, b->batches[i].n_findings);
        assert_memory_equal(a->batches[i].serials, b->batches[i].serials,
                            a->batches[i].n_findings * sizeof a->batches[i].serials[0]);
    }
}

/* Of `aligned`: no verdict has a batch's end inside it. */
static void assert_no_straddler(const struct scene *s, const struct pair *p)
{
    for (size_t i = 0; i < p->n_batches; i++) {
        size_t end_cp = p->batches[i].end_cp;
        for (size_t d = 0; d < s->n_detectors; d++) {
            for (size_t k = 0; k + 1 < s->n_events[d]; k++) {
                const struct ref_event *e = &s->events[d][k];
                assert_false(e->start_cp < end_cp && end_cp < e->end_cp);
            }
        }
    }
}

struct fixture {
    struct scene scene;
    struct pair a;
    struct pair b;
};

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct fixture));
    return *state == NULL;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void test_every_stream_leaves_whole_and_once(void **state)
{
    struct fixture *f = *state;
    for (uint64_t number = 0; number < N_SCENES; number++) {
        make_scene(&f->scene, number);
        for (size_t i = 0; i < 3; i++) {
            play(&f->scene, &f->a, strategies[i], false);
            assert_all_left(&f->scene, &f->a);
            if (strcmp(strategies[i], "aligned") == 0) {
                assert_no_straddler(&f->scene, &f->a);
            }
            pair_close(&f->a);
        }
    }
}

static void test_batches_do_not_depend_on_the_order_of_arrival(void **state)
{
    struct fixture *f = *state;
    for (uint64_t number = 0; number < N_SCENES; number++) {
        make_scene(&f->scene, number);
        for (size_t i = 0; i < 2; i++) { /* max_processed_index and aligned */
            play(&f->scene, &f->a, strategies[i], false);
            for (int again = 0; again < 3; again++) {
                play(&f->scene, &f->b, strategies[i], false);
                assert_same_batches(&f->a, &f->b);
                pair_close(&f->b);
            }
            pair_close(&f->a);
        }
    }
}

/* The same events in the same order, batches asked for only now and then. */
static void play_lazily(const struct scene *s, const struct order *o, struct pair *p,
                        const char *strategy)
{
    size_t done[REF_DETECTORS + 1] = {0};
    pair_set_text(p, s->cps, s->n_cp);
    pair_open(p, strategy, ids, s->n_detectors);
    p->has_failed = true; /* the reference is asked after every event, it cannot follow */
    for (size_t i = 0; i < o->n; i++) {
        size_t step = o->steps[i];
        assert_int_equal(pair_feed_gather(p, &s->events[step][done[step]++]), 0);
        if (pick(6) == 0) {
            pair_drain(p, 0, NULL);
        }
    }
    pair_drain(p, 0, NULL);
}

static void test_batches_do_not_depend_on_when_they_are_asked_for(void **state)
{
    struct fixture *f = *state;
    for (uint64_t number = 0; number < N_SCENES; number++) {
        make_scene(&f->scene, number);
        for (size_t i = 0; i < 3; i++) {
            struct order o;
            make_order(&f->scene, &o, false);
            play_in(&f->scene, &o, &f->a, strategies[i]);
            play_lazily(&f->scene, &o, &f->b, strategies[i]);
            assert_all_left(&f->scene, &f->b);
            assert_same_batches(&f->a, &f->b);
            pair_close(&f->a);
            pair_close(&f->b);
        }
    }
}

static void test_with_one_chunker_all_strategies_agree(void **state)
{
    struct fixture *f = *state;
    struct scene *s = &f->scene;
    for (uint64_t number = 0; number < N_SCENES; number++) {
        make_scene(s, number);
        for (size_t d = 1; d < s->n_detectors; d++) {
            memcpy(s->events[d], s->events[0], sizeof s->events[0]);
            s->n_events[d] = s->n_events[0];
            for (size_t i = 0; i < s->n_events[d]; i++) {
                s->events[d][i].detector = d;
                s->events[d][i].n_findings = 0;
            }
        }
        play(s, &f->a, strategies[0], false);
        for (size_t i = 1; i < 3; i++) {
            play(s, &f->b, strategies[i], false);
            assert_same_batches(&f->a, &f->b);
            pair_close(&f->b);
        }
        pair_close(&f->a);
    }
}

/* Takes a verdict away, shortens one or delays its start: a hole if there is no white space. */
static void make_hole(struct scene *s)
{
    size_t d = pick(s->n_detectors);
    size_t n = s->n_events[d];
    if (n < 2) {
        return;
    }
    size_t i = pick(n - 1);
    struct ref_event *e = &s->events[d][i];
    if (e->start_cp == e->end_cp) {
        return; /* one hole is enough */
    }
    e->n_findings = 0;
    switch (pick(3)) {
    case 0:
        memmove(e, e + 1, (n - i - 1) * sizeof *e);
        s->n_events[d]--;
        break;
    case 1:
        e->end_cp--; /* perhaps to an empty chunk, which does not count */
        break;
    default:
        e->start_cp++;
        break;
    }
}

/* Straight from the scene: has every detector seen this code point, or is it white? */
static bool is_checked(const struct scene *s, size_t at_cp)
{
    for (size_t d = 0; d < s->n_detectors; d++) {
        bool is_seen = is_white_at(s, at_cp);
        for (size_t i = 0; i < s->n_events[d]; i++) {
            const struct ref_event *e = &s->events[d][i];
            is_seen = is_seen || (e->start_cp <= at_cp && at_cp < e->end_cp);
        }
        if (!is_seen) {
            return false;
        }
    }
    return true;
}

/* The reference says when; the scene says that it was right: all up to the hole, nothing past it.
 */
static void test_nothing_uncovered_leaves(void **state)
{
    struct fixture *f = *state;
    size_t n_refused = 0;
    for (uint64_t number = 0; number < N_SCENES; number++) {
        make_scene(&f->scene, number);
        for (size_t holes = 1 + pick(2); holes > 0; holes--) {
            make_hole(&f->scene);
        }
        size_t hole_cp = 0;
        while (hole_cp < f->scene.n_cp && is_checked(&f->scene, hole_cp)) {
            hole_cp++;
        }
        for (size_t i = 0; i < 3; i++) {
            play(&f->scene, &f->a, strategies[i], false);
            assert_true(weir_gather_left_cp(f->a.gather) <= hole_cp);
            if (hole_cp < f->scene.n_cp) {
                assert_non_null(f->a.error);
                assert_string_equal(f->a.error, "uncovered");
                n_refused++;
            } else {
                assert_true(weir_gather_is_done(f->a.gather));
            }
            pair_close(&f->a);
        }
    }
    assert_true(n_refused > N_SCENES);
}

/* Verdicts before their text, twice, out of order, after the end: always what the reference says.
 */
static void test_nonsense_is_refused_when_the_reference_refuses_it(void **state)
{
    struct fixture *f = *state;
    struct scene *s = &f->scene;
    size_t n_refused = 0;
    for (uint64_t number = 0; number < N_SCENES; number++) {
        make_scene(s, number);
        size_t d = pick(s->n_detectors);
        struct ref_event *some = &s->events[d][pick(s->n_events[d])];
        struct ref_event *other = &s->events[d][pick(s->n_events[d])];
        struct ref_event kept = *some;
        struct ref_event *source_end = &s->events[s->n_detectors][s->n_events[s->n_detectors] - 1];
        switch (pick(5)) {
        case 0:
            *some = *other;
            *other = kept;
            break;
        case 1:
            some->end_cp = pick(s->n_cp + 3);
            break;
        case 2:
            some->start_cp = pick(s->n_cp + 3);
            break;
        case 3:
            source_end->n_cp -= source_end->n_cp > 0;
            break;
        default: /* only early */
            break;
        }
        for (size_t i = 0; i < 3; i++) {
            play(s, &f->a, strategies[i], pick(2) == 0);
            n_refused += f->a.error != NULL;
            pair_close(&f->a);
        }
    }
    assert_true(n_refused > N_SCENES);
}

/* Replaces the detector's event by a failure at the same place and cuts off what follows. */
static size_t make_failure(struct scene *s, size_t detector, size_t index)
{
    struct ref_event *e = &s->events[detector][index];
    size_t fail_cp = e->kind == REF_VERDICT ? e->start_cp : s->n_cp;
    *e = (struct ref_event){.kind = REF_FAIL, .detector = detector, .start_cp = fail_cp};
    s->n_events[detector] = index + 1;
    return fail_cp;
}

/*
 * Of min_processed_index, which may let out more than it would have without the failure: what is
 * checked before the failed chunk is not held back by a later verdict that never came. Closes both.
 */
static void assert_all_before_has_left(struct fixture *f, size_t fail_cp)
{
    size_t left_cp = weir_gather_left_cp(f->b.gather);
    assert_true(left_cp <= fail_cp);
    size_t n = f->a.n_batches;
    while (n > 0 && f->a.batches[n - 1].end_cp > fail_cp) {
        n--;
    }
    size_t would_cp = n > 0 ? f->a.batches[n - 1].end_cp : 0;
    for (size_t at_cp = left_cp; at_cp < would_cp; at_cp++) {
        assert_true(f->b.white[at_cp]);
    }
    pair_close(&f->a);
    pair_close(&f->b);
}

/*
 * A call fails: the batches that end before its chunk leave as if it had not, then its error comes.
 * The order of arrival is the same in both runs, for min_processed_index depends on it.
 */
static void test_a_failed_call_lets_out_what_was_before_it(void **state)
{
    struct fixture *f = *state;
    struct scene *s = &f->scene;
    for (uint64_t number = 0; number < N_SCENES; number++) {
        for (size_t i = 0; i < 3; i++) {
            struct order o;
            make_scene(s, number);
            make_order(s, &o, false);
            play_in(s, &o, &f->a, strategies[i]);
            size_t d = pick(s->n_detectors);
            size_t index = pick(s->n_events[d]);
            bool is_end = s->events[d][index].kind == REF_END;
            size_t fail_cp = make_failure(s, d, index);
            play_in(s, &o, &f->b, strategies[i]);

            const struct weir_gather_failure *failure = weir_gather_failure(f->b.gather);
            assert_int_equal(failure->fault, WEIR_GATHER_DETECTOR);
            assert_int_equal(failure->err, WEIR_ETIMEOUT);
            assert_int_equal(failure->detector, d);
            assert_int_equal(failure->at_cp, fail_cp);
            if (i == 2) {
                assert_all_before_has_left(f, fail_cp);
                continue;
            }
            while (!is_end && f->a.n_batches > 0 &&
                   f->a.batches[f->a.n_batches - 1].end_cp > fail_cp) {
                f->a.n_batches--;
            }
            if (is_end) { /* white space that only the end would have freed may stay */
                assert_true(f->b.n_batches <= f->a.n_batches);
                f->a.n_batches = f->b.n_batches;
            }
            assert_same_batches(&f->a, &f->b);
            pair_close(&f->a);
            pair_close(&f->b);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_stream_leaves_whole_and_once),
        cmocka_unit_test(test_batches_do_not_depend_on_the_order_of_arrival),
        cmocka_unit_test(test_batches_do_not_depend_on_when_they_are_asked_for),
        cmocka_unit_test(test_with_one_chunker_all_strategies_agree),
        cmocka_unit_test(test_nothing_uncovered_leaves),
        cmocka_unit_test(test_nonsense_is_refused_when_the_reference_refuses_it),
        cmocka_unit_test(test_a_failed_call_lets_out_what_was_before_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
