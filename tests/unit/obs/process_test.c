#include "unit/cmocka_all.h"

#include "obs/metric.h"
#include "obs/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* The value of a series as the text shows it. */
static double shown(const char *name)
{
    struct weir_buf out = {0};
    assert_int_equal(weir_metric_render(&out), 0);
    char line[100];
    snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(weir_buf_cstr(&out), line);
    assert_non_null(at);
    double value = strtod(at + strlen(line), NULL);
    weir_buf_dispose(&out);
    return value;
}

static int setup(void **state)
{
    (void)state;
    weir_process_declare_metrics();
    weir_process_declare_metrics(); /* twice is once */
    return 0;
}

static void test_cpu_grows(void **state)
{
    (void)state;
    double before = shown("process_cpu_seconds_total");
    assert_true(before > 0);
    clock_t from = clock();
    while (clock() - from < CLOCKS_PER_SEC / 500) {
    }
    assert_true(shown("process_cpu_seconds_total") > before);
}

static void test_memory(void **state)
{
    (void)state;
    double resident = shown("process_resident_memory_bytes");
    assert_true(resident > 100e3);
    assert_true(shown("process_virtual_memory_bytes") > resident);
}

static void test_descriptors(void **state)
{
    (void)state;
    double before = shown("process_open_fds");
    assert_true(before >= 1);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_true(shown("process_open_fds") == before + 2);
    close(fds[0]);
    close(fds[1]);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    assert_true(shown("process_max_fds") == (double)limit.rlim_cur);
}

static void *wait_for_end(void *arg)
{
    char c;
    ssize_t n = read(*(int *)arg, &c, 1);
    assert_int_equal(n, 0);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    int fds[2];
    pthread_t threads[2];
    assert_int_equal(pipe(fds), 0);
    /* A first one, with which a sanitizer may start helpers of its own. */
    assert_int_equal(pthread_create(&threads[0], NULL, wait_for_end, &fds[0]), 0);
    double before = shown("process_threads");
    assert_true(before >= 2);
    assert_int_equal(pthread_create(&threads[1], NULL, wait_for_end, &fds[0]), 0);
    assert_true(shown("process_threads") == before + 1);
    close(fds[1]);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    close(fds[0]);
}

static void test_start_time(void **state)
{
    (void)state;
    double now = (double)time(NULL);
    double start = shown("process_start_time_seconds");
    assert_true(start <= now + 1 && start > now - 3600);
    assert_true(shown("process_start_time_seconds") == start);
}

static void test_build_info(void **state)
{
    (void)state;
    assert_true(shown("weir_build_info{version=\"" WEIR_VERSION "\"}") == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_grows),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_descriptors), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_start_time),  cmocka_unit_test(test_build_info),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
