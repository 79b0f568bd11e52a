/* Which target is asked: names, rest, balance. */
#include "model/fleet.h"
#include "unit/cmocka_all.h"

#include <stdlib.h>

enum { N = 4, MAX_RUNNING = 400 };

struct world {
    atomic_uint n_running[N];
    struct weir_provider providers[N];
    struct weir_breaker health[N];
    struct weir_fleet_target targets[N];
    struct weir_fleet_entry entry;
    uint64_t now_ms;
};

static void make(struct world *w, size_t n_targets, size_t n_replicas)
{
    static const char *const names[N] = {"a", "b", "c", "d"};
    *w = (struct world){.now_ms = 1000};
    for (size_t i = 0; i < n_targets; i++) {
        w->providers[i] = (struct weir_provider){.name = weir_slice_cstr(names[i]),
                                                 .ops = UINT32_C(1) << WEIR_MODEL_CHAT,
                                                 .n_running = &w->n_running[i]};
        w->targets[i] =
            (struct weir_fleet_target){.provider = &w->providers[i], .health = &w->health[i]};
    }
    w->entry = (struct weir_fleet_entry){.glob = WEIR_SLICE("*"),
                                         .targets = w->targets,
                                         .n_targets = n_targets,
                                         .n_replicas = n_replicas};
}

static struct weir_fleet_choice choice_of(const struct world *w)
{
    return (struct weir_fleet_choice){
        .entry = &w->entry, .op = WEIR_MODEL_CHAT, .now_ms = w->now_ms};
}

static int pick(struct world *w, uint64_t conversation)
{
    struct weir_fleet_choice c = choice_of(w);
    c.has_conversation = conversation != 0;
    c.conversation = conversation;
    return weir_fleet_pick(&c);
}

static void end(struct world *w, int i, enum weir_breaker_outcome outcome)
{
    weir_breaker_settle(w->targets[i].health, outcome, w->now_ms);
    weir_fleet_leave(&w->targets[i]);
}

static void test_names(void **state)
{
    (void)state;
    static const struct weir_fleet_entry entries[] = {
        {.glob = {"gpt-*", 5}}, {.glob = {"gpt-4o", 6}}, {.glob = {"*-mini", 6}}};
    static const struct weir_fleet_entry rest = {.glob = {"*", 1}};
    struct weir_fleet f = {.entries = entries, .n_entries = 3};
    assert_ptr_equal(weir_fleet_find(&f, WEIR_SLICE("gpt-4o")), &entries[1]);
    assert_ptr_equal(weir_fleet_find(&f, WEIR_SLICE("gpt-4")), &entries[0]);
    assert_ptr_equal(weir_fleet_find(&f, WEIR_SLICE("gpt-4-mini")), &entries[2]);
    assert_null(weir_fleet_find(&f, WEIR_SLICE("llama")));
    f.otherwise = &rest;
    assert_ptr_equal(weir_fleet_find(&f, WEIR_SLICE("llama")), &rest);
    struct weir_slice globs[] = {WEIR_SLICE("a*"), WEIR_SLICE("b")};
    struct weir_fleet_scope scope = {.globs = globs, .n = 2};
    assert_true(weir_fleet_scope_has(&scope, WEIR_SLICE("ab")));
    assert_true(weir_fleet_scope_has(&scope, WEIR_SLICE("b")));
    assert_false(weir_fleet_scope_has(&scope, WEIR_SLICE("c")));
    assert_true(weir_fleet_scope_has(&(struct weir_fleet_scope){0}, WEIR_SLICE("c")));
}

/* In their order, each once; who does not serve the operation is passed over. */
static void test_fallbacks_come_in_their_order(void **state)
{
    (void)state;
    struct world w;
    make(&w, 4, 1);
    w.providers[1].ops = 0;
    struct weir_fleet_choice c = choice_of(&w);
    static const int expected[] = {0, 2, 3, -1};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(weir_fleet_has_more(&c), expected[i] >= 0);
        assert_int_equal(weir_fleet_pick(&c), expected[i]);
        c.tried |= expected[i] >= 0 ? UINT64_C(1) << expected[i] : 0;
    }
}

static void test_five_failures_and_a_rest(void **state)
{
    (void)state;
    struct world w;
    make(&w, 2, 1);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(pick(&w, 0), 0);
        end(&w, 0, WEIR_BREAKER_FAILED);
    }
    w.now_ms += WEIR_BREAKER_REST_MS - 1;
    assert_int_equal(pick(&w, 0), 1);
    w.now_ms += 1;
    assert_int_equal(pick(&w, 0), 0); /* one tries it */
    assert_int_equal(pick(&w, 0), 1); /* and no other */
    end(&w, 0, WEIR_BREAKER_STOPPED);
    assert_int_equal(pick(&w, 0), 0); /* nobody learned how it went: the next one tries */
    end(&w, 0, WEIR_BREAKER_FAILED);
    assert_int_equal(pick(&w, 0), 1); /* it rests again */
    w.now_ms += WEIR_BREAKER_REST_MS;
    assert_int_equal(pick(&w, 0), 0);
    end(&w, 0, WEIR_BREAKER_WORKED);
    assert_int_equal(pick(&w, 0), 0); /* and is well */
    assert_int_equal(pick(&w, 0), 0);
}

static void test_one_success_forgets_failures(void **state)
{
    (void)state;
    struct world w;
    make(&w, 2, 1);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(pick(&w, 0), 0);
        end(&w, 0, i % 5 == 4 ? WEIR_BREAKER_WORKED : WEIR_BREAKER_FAILED);
    }
    assert_int_equal(pick(&w, 0), 0);
}

static void test_where_all_rest_the_first_to_wake_is_asked(void **state)
{
    (void)state;
    struct world w;
    make(&w, 2, 1);
    for (int i = 1; i >= 0; i--) {
        for (int k = 0; k < 5; k++) {
            atomic_fetch_add(&w.n_running[i], 1);
            end(&w, i, WEIR_BREAKER_FAILED);
        }
        w.now_ms += 10;
    }
    assert_int_equal(pick(&w, 0), 1);
}

static void test_a_conversation_stays(void **state)
{
    (void)state;
    struct world w;
    make(&w, 3, 3);
    size_t n_at[3] = {0};
    for (uint64_t talk = 1; talk <= 300; talk++) {
        int first = pick(&w, talk);
        end(&w, first, WEIR_BREAKER_WORKED);
        for (int turn = 0; turn < 3; turn++) {
            int i = pick(&w, talk);
            assert_int_equal(i, first);
            end(&w, i, WEIR_BREAKER_WORKED);
        }
        n_at[first]++;
    }
    for (size_t i = 0; i < 3; i++) {
        assert_in_range(n_at[i], 70, 130);
    }
}

/* Taking one replica away moves only what was there. */
static void test_others_stay_when_one_rests(void **state)
{
    (void)state;
    struct world w;
    make(&w, 3, 3);
    int before[200];
    for (uint64_t talk = 0; talk < 200; talk++) {
        before[talk] = pick(&w, talk + 1);
        end(&w, before[talk], WEIR_BREAKER_WORKED);
    }
    for (int k = 0; k < 5; k++) {
        atomic_fetch_add(&w.n_running[1], 1);
        end(&w, 1, WEIR_BREAKER_FAILED);
    }
    for (uint64_t talk = 0; talk < 200; talk++) {
        int i = pick(&w, talk + 1);
        end(&w, i, WEIR_BREAKER_WORKED);
        assert_int_not_equal(i, 1);
        if (before[talk] != 1) {
            assert_int_equal(i, before[talk]);
        }
    }
}

/* Whatever comes and goes, in whatever order: nobody has more than a tenth above the others' share
 * and two, also when one of them fails, and all of one conversation. */
static void test_balance(void **state)
{
    (void)state;
    struct world w;
    srand(7);
    for (int mode = 0; mode < 6; mode++) {
        make(&w, 3, 3);
        bool is_one_talk = mode % 3 == 1;
        bool has_talks = mode % 3 != 2;
        bool one_fails = mode >= 3;
        int running[MAX_RUNNING];
        size_t n = 0;
        for (int step = 0; step < 20000; step++) {
            bool comes = n < 60 || (n < MAX_RUNNING && rand() % 2 == 0);
            if (comes) {
                uint64_t talk = is_one_talk ? 5 : (uint64_t)rand() + 1;
                int i = pick(&w, has_talks ? talk : 0);
                if (one_fails && i == 2) {
                    end(&w, i, WEIR_BREAKER_FAILED);
                    continue;
                }
                running[n++] = i;
            } else {
                size_t at = (size_t)rand() % n;
                end(&w, running[at], WEIR_BREAKER_WORKED);
                running[at] = running[--n];
            }
            unsigned n_replicas = one_fails ? 2 : 3;
            unsigned share = (unsigned)n / n_replicas;
            for (unsigned i = 0; comes && i < n_replicas; i++) {
                bool is_newest = running[n - 1] == (int)i;
                assert_true(!is_newest || w.n_running[i] <= share + share / 10 + 3);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_fallbacks_come_in_their_order),
        cmocka_unit_test(test_five_failures_and_a_rest),
        cmocka_unit_test(test_one_success_forgets_failures),
        cmocka_unit_test(test_where_all_rest_the_first_to_wake_is_asked),
        cmocka_unit_test(test_a_conversation_stays),
        cmocka_unit_test(test_others_stay_when_one_rests),
        cmocka_unit_test(test_balance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
