/* The table of built-in detectors: every name works with its defaults, others are told. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "detect/registry.h"

/* Would a detector of this kind with these parameters be made? */
static int check(struct weir_slice kind, struct weir_slice params, struct weir_buf *why)
{
    struct weir_builtin b;
    int rc = weir_detect_builtin_init(&b, kind, WEIR_SLICE("check"), params, why);
    if (rc == 0) {
        weir_builtin_dispose(&b);
    }
    return rc;
}

static void test_every_name(void **state)
{
    (void)state;
    size_t n = 0;
    for (; weir_detect_builtin_name(n) != NULL; n++) {
        struct weir_slice name = weir_slice_cstr(weir_detect_builtin_name(n));
        struct weir_buf why = {0};
        struct weir_builtin b;
        assert_int_equal(check(name, WEIR_SLICE("{}"), &why), 0);
        assert_int_equal(
            weir_detect_builtin_init(&b, name, WEIR_SLICE("my-id"), WEIR_SLICE(""), &why), 0);
        assert_true(weir_slice_eq_cstr(b.base.id, "my-id"));
        assert_int_equal(b.base.type, WEIR_DETECT_CONTENTS);
        weir_builtin_dispose(&b);
        weir_builtin_dispose(&b);
        weir_buf_dispose(&why);
    }
    assert_true(n >= 5);
}

static void test_problems(void **state)
{
    (void)state;
    struct weir_buf why = {0};
    assert_int_equal(check(WEIR_SLICE("nose"), WEIR_SLICE("{}"), &why), WEIR_ENOTFOUND);
    assert_non_null(strstr(weir_buf_cstr(&why), "nose"));
    weir_buf_clear(&why);
    assert_int_equal(check(WEIR_SLICE("regex"), WEIR_SLICE("{\"regex\":[\"[\"]}"), &why),
                     WEIR_EINVAL);
    assert_non_null(strstr(weir_buf_cstr(&why), "regular expression"));
    weir_buf_dispose(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_name),
        cmocka_unit_test(test_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
