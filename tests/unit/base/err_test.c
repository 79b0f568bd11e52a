#include "unit/cmocka_all.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

static const struct {
    int code;
    const char *name;
    const char *text;
} table[] = {
#define ROW(name, code, text) {code, #name, text},
    WEIR_ERR_MAP(ROW)
#undef ROW
};
enum { N = sizeof table / sizeof table[0] };

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++) {
        assert_true(table[i].code < 0);
        assert_string_equal(weir_err_name(table[i].code), table[i].name);
        assert_string_equal(weir_err_text(table[i].code), table[i].text);
        assert_int_equal(table[i].name[0], 'E');
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(table[i].code, table[k].code);
            assert_string_not_equal(table[i].name, table[k].name);
            assert_string_not_equal(table[i].text, table[k].text);
        }
        assert_true(table[i].text[0] != '\0');
        assert_int_not_equal(table[i].text[strlen(table[i].text) - 1], '.');
    }
    assert_int_equal(WEIR_ELIMIT, -3); /* codes appear in logs: they do not move */
}

static void test_others(void **state)
{
    (void)state;
    assert_string_equal(weir_err_name(0), "OK");
    assert_string_equal(weir_err_text(0), "success");
    static const int unknown[] = {1, -1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(weir_err_name(unknown[i]), "EUNKNOWN");
        assert_string_equal(weir_err_text(unknown[i]), "unknown error");
    }
}

static void test_from_errno(void **state)
{
    (void)state;
    static const struct {
        int sys;
        int err;
    } cases[] = {
        {0, WEIR_OK},
        {EAGAIN, WEIR_EAGAIN},
        {EWOULDBLOCK, WEIR_EAGAIN},
        {ECONNRESET, WEIR_ERESET},
        {EPIPE, WEIR_ERESET},
        {ECONNREFUSED, WEIR_EREFUSED},
        {ETIMEDOUT, WEIR_ETIMEOUT},
        {EHOSTUNREACH, WEIR_EUNREACHABLE},
        {ENETUNREACH, WEIR_EUNREACHABLE},
        {EADDRINUSE, WEIR_EINUSE},
        {EACCES, WEIR_EDENIED},
        {EPERM, WEIR_EDENIED},
        {ENOENT, WEIR_ENOTFOUND},
        {ECANCELED, WEIR_ECANCELED},
        {EMFILE, WEIR_ELIMIT},
        {EINVAL, WEIR_EINVAL},
        {EIO, WEIR_EIO},
        {ENOSPC, WEIR_EIO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(weir_err_from_errno(cases[i].sys), cases[i].err);
    }
    for (int sys = 1; sys < 200; sys++) {
        assert_true(weir_err_from_errno(sys) < 0);
        assert_string_not_equal(weir_err_name(weir_err_from_errno(sys)), "EUNKNOWN");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_from_errno),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
