#include "io/fds.h"

#include "unit/cmocka_all.h"

static void the_table_is_divided(void **state)
{
    (void)state;
    struct weir_fds_room room = weir_fds_divide(1024, 3, 5);
    assert_int_equal(room.limit, 1024);
    assert_in_range(room.connections, 800, 1000);
    assert_int_equal(room.callers, room.connections / 2);
    assert_in_range(room.needed, 64, 200);
}

static void more_loops_leave_less_room(void **state)
{
    (void)state;
    struct weir_fds_room few = weir_fds_divide(1024, 3, 2);
    struct weir_fds_room many = weir_fds_divide(1024, 3, 20);
    assert_true(many.connections < few.connections);
    assert_true(many.needed > few.needed);
    assert_int_equal(few.connections - many.connections, many.needed - few.needed);
}

static void what_is_open_already_counts(void **state)
{
    (void)state;
    assert_int_equal(weir_fds_divide(1024, 3, 2).connections,
                     weir_fds_divide(1024, 103, 2).connections + 100);
}

static void below_what_is_needed_there_is_no_room(void **state)
{
    (void)state;
    size_t needed = weir_fds_divide(1024, 3, 2).needed;
    assert_int_equal(weir_fds_divide(needed - 1, 3, 2).connections, 0);
    assert_int_equal(weir_fds_divide(needed - 1, 3, 2).needed, needed);
    assert_int_not_equal(weir_fds_divide(needed, 3, 2).connections, 0);
}

static size_t take_all(enum weir_fds_use use)
{
    size_t n = 0;
    while (n < 1000 && weir_fds_take(use)) {
        n++;
    }
    return n;
}

static int no_room(void **state)
{
    (void)state;
    weir_fds_set_room(NULL);
    return 0;
}

static void without_a_room_there_is_no_limit(void **state)
{
    (void)state;
    assert_int_equal(take_all(WEIR_FDS_CALLER), 1000);
    assert_int_equal(take_all(WEIR_FDS_SERVICE), 1000);
    assert_int_equal(take_all(WEIR_FDS_REFUSED), 1000);
}

static void callers_have_half_and_services_the_rest(void **state)
{
    (void)state;
    weir_fds_set_room(&(struct weir_fds_room){.connections = 20, .callers = 10});
    assert_int_equal(take_all(WEIR_FDS_CALLER), 10);
    assert_int_equal(take_all(WEIR_FDS_SERVICE), 10);
    assert_false(weir_fds_take(WEIR_FDS_CALLER));
    weir_fds_give(WEIR_FDS_CALLER);
    assert_true(weir_fds_take(WEIR_FDS_SERVICE));
    assert_false(weir_fds_take(WEIR_FDS_CALLER)); /* the services have it all */
    weir_fds_give(WEIR_FDS_SERVICE);
    assert_true(weir_fds_take(WEIR_FDS_CALLER));
}

static void the_health_port_has_room_of_its_own(void **state)
{
    (void)state;
    weir_fds_set_room(&(struct weir_fds_room){.connections = 20, .callers = 10});
    assert_int_equal(take_all(WEIR_FDS_SERVICE), 20);
    assert_in_range(take_all(WEIR_FDS_HEALTH), 4, 64);
    assert_false(weir_fds_take(WEIR_FDS_SERVICE));
}

static void few_are_told_that_they_are_refused(void **state)
{
    (void)state;
    weir_fds_set_room(&(struct weir_fds_room){.connections = 20, .callers = 10});
    assert_in_range(take_all(WEIR_FDS_REFUSED), 4, 64);
    weir_fds_give(WEIR_FDS_REFUSED);
    assert_int_equal(take_all(WEIR_FDS_REFUSED), 1);
    assert_int_equal(take_all(WEIR_FDS_SERVICE), 20);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, no_room, no_room)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_table_is_divided),
        TEST(more_loops_leave_less_room),
        TEST(what_is_open_already_counts),
        TEST(below_what_is_needed_there_is_no_room),
        TEST(without_a_room_there_is_no_limit),
        TEST(callers_have_half_and_services_the_rest),
        TEST(the_health_port_has_room_of_its_own),
        TEST(few_are_told_that_they_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
