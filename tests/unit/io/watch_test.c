#include "io/watch.h"

#include "unit/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
    struct weir_loop loop;
    struct weir_timer watchdog;
    bool timed_out;
    struct weir_watch watch;
    bool is_watching;
    int n_changes;
    bool closes; /* from inside on_change */
    bool is_closed;
    char dir[64];
    char paths[8][128];
};

static void on_watchdog(struct weir_timer *t, void *ctx)
{
    (void)t;
    struct world *w = ctx;
    w->timed_out = true;
    weir_loop_stop(&w->loop);
}

static void on_closed(void *ctx)
{
    struct world *w = ctx;
    w->is_closed = true;
    weir_loop_stop(&w->loop);
}

static void on_change(void *ctx)
{
    struct world *w = ctx;
    w->n_changes++;
    weir_loop_stop(&w->loop);
    if (w->closes) {
        w->is_watching = false;
        weir_watch_close(&w->watch, on_closed, w);
    }
}

/* The n-th path below the directory. */
static const char *path(struct world *w, int n, const char *name)
{
    snprintf(w->paths[n], sizeof w->paths[n], "%s/%s", w->dir, name);
    return w->paths[n];
}

static void put(const char *at, const char *text)
{
    FILE *f = fopen(at, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    const char *tmp = getenv("TMPDIR");
    snprintf(w->dir, sizeof w->dir, "%.40s/weir-watch-XXXXXX", tmp != NULL ? tmp : P_tmpdir);
    assert_non_null(mkdtemp(w->dir));
    assert_int_equal(weir_loop_init(&w->loop), 0);
    w->watchdog = (struct weir_timer){.fn = on_watchdog, .ctx = w};
    weir_loop_after(&w->loop, &w->watchdog, 100000);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    assert_false(w->timed_out);
    if (w->is_watching) {
        weir_watch_close(&w->watch, NULL, NULL);
    }
    weir_loop_dispose(&w->loop);
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", w->dir);
    assert_int_equal(system(command), 0);
    free(w);
    return 0;
}

/* `poll` off leaves only the directory's events, and the other way round. */
static void watch(struct world *w, const char *file, bool by_poll)
{
    weir_watch_open(&w->watch, &w->loop, file, on_change, w);
    w->is_watching = true;
    w->watch.quiet_ms = 5;
    if (by_poll) {
        uv_fs_event_stop(&w->watch.event);
        w->watch.poll_ms = 5;
        weir_loop_after(&w->loop, &w->watch.poll, 5);
    } else {
        weir_loop_cancel(&w->loop, &w->watch.poll);
    }
}

/* Turns until the pending wait for quiet is over. */
static void settle(struct world *w)
{
    do {
        uv_run(&w->loop.uv, UV_RUN_NOWAIT);
    } while (weir_timer_is_armed(&w->watch.quiet) && !w->timed_out);
}

static void poll_thrice(struct world *w)
{
    for (int i = 0; i < 3; i++) {
        uint64_t due = w->watch.poll.due_ms;
        while (w->watch.poll.due_ms == due && !w->timed_out) {
            uv_run(&w->loop.uv, UV_RUN_ONCE);
        }
    }
}

static void expect_change(struct world *w)
{
    int before = w->n_changes;
    weir_loop_run(&w->loop);
    assert_false(w->timed_out);
    assert_int_equal(w->n_changes, before + 1);
}

static void a_file_written_in_place(void **state)
{
    struct world *w = *state;
    put(path(w, 0, "f"), "one");
    watch(w, w->paths[0], false);
    put(w->paths[0], "other");
    expect_change(w);
}

static void a_file_renamed_over(void **state)
{
    struct world *w = *state;
    put(path(w, 0, "f"), "one");
    watch(w, w->paths[0], false);
    put(path(w, 1, "new"), "two");
    assert_int_equal(rename(w->paths[1], w->paths[0]), 0);
    expect_change(w);
    put(w->paths[1], "three");
    assert_int_equal(rename(w->paths[1], w->paths[0]), 0);
    expect_change(w);
}

/* As a mounted ConfigMap: f -> ..data/f, ..data -> ..1, then ..data is swapped by a rename. */
static void a_link_on_the_way_is_swapped(void **state)
{
    struct world *w = *state;
    assert_int_equal(mkdir(path(w, 0, "..1"), 0700), 0);
    assert_int_equal(mkdir(path(w, 0, "..2"), 0700), 0);
    put(path(w, 0, "..1/f"), "same");
    put(path(w, 0, "..2/f"), "same");
    assert_int_equal(symlink("..1", path(w, 1, "..data")), 0);
    assert_int_equal(symlink("..data/f", path(w, 2, "f")), 0);
    watch(w, w->paths[2], false);
    assert_int_equal(symlink("..2", path(w, 3, "..tmp")), 0);
    assert_int_equal(rename(w->paths[3], w->paths[1]), 0);
    expect_change(w);
}

static void other_files_are_not_told(void **state)
{
    struct world *w = *state;
    put(path(w, 0, "f"), "one");
    watch(w, w->paths[0], false);
    put(path(w, 1, "g"), "two");
    while (!weir_timer_is_armed(&w->watch.quiet) && !w->timed_out) {
        uv_run(&w->loop.uv, UV_RUN_NOWAIT); /* the event has come */
    }
    settle(w);
    assert_int_equal(w->n_changes, 0);
    put(w->paths[0], "a longer text");
    expect_change(w);
}

static void many_events_are_one_change(void **state)
{
    struct world *w = *state;
    put(path(w, 0, "f"), "one");
    watch(w, w->paths[0], false);
    for (int i = 0; i < 50; i++) {
        put(w->paths[0], "a longer text");
        uv_run(&w->loop.uv, UV_RUN_NOWAIT);
    }
    int before = w->n_changes; /* a slow machine may have been quiet for long enough in between */
    settle(w);
    assert_true(w->n_changes <= before + 1 && w->n_changes >= 1);
    put(w->paths[0], "the last one");
    expect_change(w);
}

static void away_and_back_is_no_change(void **state)
{
    struct world *w = *state;
    put(path(w, 0, "f"), "one");
    path(w, 1, "aside");
    watch(w, w->paths[0], true);
    assert_int_equal(rename(w->paths[0], w->paths[1]), 0);
    poll_thrice(w);
    assert_int_equal(rename(w->paths[1], w->paths[0]), 0);
    poll_thrice(w);
    assert_int_equal(w->n_changes, 0);
    put(w->paths[1], "replaced at last");
    assert_int_equal(rename(w->paths[1], w->paths[0]), 0);
    expect_change(w);
}

static void the_poll_sees_what_the_directory_does_not(void **state)
{
    struct world *w = *state;
    assert_int_equal(mkdir(path(w, 0, "elsewhere"), 0700), 0);
    put(path(w, 0, "elsewhere/f"), "one");
    assert_int_equal(symlink("elsewhere/f", path(w, 1, "f")), 0);
    watch(w, w->paths[1], true);
    put(w->paths[0], "a change in place, in another directory");
    expect_change(w);
}

/* Neither the file nor its directory is there yet. */
static void a_file_to_come(void **state)
{
    struct world *w = *state;
    watch(w, path(w, 0, "later/f"), true);
    uv_run(&w->loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(mkdir(path(w, 1, "later"), 0700), 0);
    put(w->paths[0], "here");
    expect_change(w);
    while (!uv_is_active((uv_handle_t *)&w->watch.event) && !w->timed_out) {
        uv_run(&w->loop.uv, UV_RUN_ONCE); /* by now the directory is watched */
    }
}

static void close_from_inside(void **state)
{
    struct world *w = *state;
    put(path(w, 0, "f"), "one");
    watch(w, w->paths[0], false);
    w->closes = true;
    put(w->paths[0], "other");
    expect_change(w);
    if (!w->is_closed) {
        weir_loop_run(&w->loop);
    }
    assert_true(w->is_closed);
    put(w->paths[0], "unseen");
    uv_run(&w->loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(w->n_changes, 1);
}

/* No slash at all: the working directory is the one to watch. */
static void a_name_in_the_working_directory(void **state)
{
    struct world *w = *state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(w->dir), 0);
    put("f", "one");
    watch(w, "f", false);
    put("f", "other");
    expect_change(w);
    assert_int_equal(chdir(before), 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_written_in_place),
        TEST(a_file_renamed_over),
        TEST(a_link_on_the_way_is_swapped),
        TEST(other_files_are_not_told),
        TEST(many_events_are_one_change),
        TEST(away_and_back_is_no_change),
        TEST(the_poll_sees_what_the_directory_does_not),
        TEST(a_file_to_come),
        TEST(close_from_inside),
        TEST(a_name_in_the_working_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
