#include "unit/cmocka_all.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/bufq.h"
#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_alloc(void **state)
{
    (void)state;
    char *a = weir_mem_alloc(0);
    char *b = weir_mem_zalloc(0);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    free(a);
    free(b);
    char *z = weir_mem_array(100, 7);
    for (size_t i = 0; i < 700; i++) {
        assert_int_equal(z[i], 0);
    }
    z = weir_mem_realloc(z, 7000);
    z[6999] = 1;
    free(z);
}

static void test_dup(void **state)
{
    (void)state;
    char *s = weir_mem_strdup("text");
    char *d = weir_mem_dup("a\0b", 3);
    char *e = weir_mem_dup(NULL, 0);
    assert_string_equal(s, "text");
    assert_memory_equal(d, "a\0b\0", 4);
    assert_string_equal(e, "");
    free(s);
    free(d);
    free(e);
}

static void test_lines(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 64, 65, 8192};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *p = weir_mem_zalloc_lines(sizes[i]);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t k = 0; k < (sizes[i] + 63) / 64 * 64; k++) {
            assert_int_equal(p[k], 0);
        }
        free(p);
    }
}

static void overflow_array(void)
{
    free(weir_mem_array(SIZE_MAX / 2, 3));
}

static void overflow_arena_array(void)
{
    struct weir_arena a = {0};
    weir_arena_array(&a, SIZE_MAX / 4, 5);
}

static void overflow_arena_alloc(void)
{
    struct weir_arena a = {0};
    weir_arena_alloc(&a, SIZE_MAX);
}

static void consume_too_much_buf(void)
{
    struct weir_buf b = {0};
    weir_buf_consume(&b, 1);
}

static void consume_too_much_bufq(void)
{
    struct weir_bufq q = {0};
    weir_bufq_consume(&q, 1);
}

static void commit_too_much(void)
{
    struct weir_bufq q = {0};
    size_t room;
    weir_bufq_reserve(&q, 1, &room);
    weir_bufq_commit(&q, room + 1);
}

static void plain_false(void)
{
    WEIR_ASSERT(1 + 1 == 3);
}

/* Our own mistakes stop the process at once, in every build. */
static void test_mistakes_abort(void **state)
{
    (void)state;
    static void (*const mistakes[])(void) = {
        overflow_array,        overflow_arena_array, overflow_arena_alloc, consume_too_much_buf,
        consume_too_much_bufq, commit_too_much,      plain_false,
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
            signal(SIGABRT, SIG_DFL);
            mistakes[i]();
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_dup),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_mistakes_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
