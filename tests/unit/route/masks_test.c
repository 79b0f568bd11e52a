#include "unit/cmocka_all.h"

#include "base/buf.h"
#include "base/err.h"
#include "route/masks.h"
#include "unit/route/reading.h"

#include <stdlib.h>

/* Four code points in eight bytes. */
static const struct weir_slice TEXT = WEIR_SLICE("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9");

static void check(const char *text, size_t n_expected, const char *error)
{
    struct reading r;
    const struct weir_scan_mask *masks;
    size_t n;
    int rc = weir_masks_read(&read_json(&r, text)->f, 0, "m", TEXT, &masks, &n);
    bool is_typed = error == NULL ||
                    weir_slice_starts_with(weir_slice_cstr(error), WEIR_SLICE("invalid masks"));
    assert_int_equal(rc, error == NULL ? 0 : is_typed ? WEIR_EBAD : WEIR_EINVAL);
    if (error == NULL) {
        assert_int_equal(n, n_expected);
    }
    assert_told(&r, error);
}

static void test_pairs(void **state)
{
    (void)state;
    struct reading r;
    const struct weir_scan_mask *masks;
    size_t n;
    read_json(&r, "[[2,4],[0,1],[0,4]]");
    assert_int_equal(weir_masks_read(&r.f, 0, "m", TEXT, &masks, &n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(masks[0].start_cp, 2);
    assert_int_equal(masks[0].end_cp, 4);
    assert_int_equal(masks[1].end_cp, 1);
    assert_int_equal(weir_masks_read(&r.f, WEIR_JSON_NONE, "m", TEXT, &masks, &n), 0);
    assert_int_equal(n, 0);
    weir_arena_dispose(&r.arena);
}

static void test_what_is_none(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "[[0,5]]",       "[[1,1]]",   "[[2,1]]",  "[[]]",
        "[[1]]",         "[[0,1,2]]", "[[-1,2]]", "[[0,18446744073709551616]]",
        "[[0,1],[4,5]]",
    };
    check("[]", 0, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check(bad[i], 0, "invalid masks");
    }
    check("[[0,1],7]", 0, "m[1]: invalid type: number `7`, expected an array");
    check("[[0,1.0]]", 0, "m[0]: invalid type: number `1.0`, expected an integer");
    check("[[0,null]]", 0, "m[0]: invalid type: null, expected an integer");
}

/* So many times the pair, as JSON. */
static void check_many(size_t n, const char *pair, const char *error)
{
    struct weir_buf text = {0};
    for (size_t i = 0; i < n; i++) {
        weir_buf_append_byte(&text, i == 0 ? '[' : ',');
        weir_buf_append(&text, weir_slice_cstr(pair));
    }
    weir_buf_append_byte(&text, ']');
    check(weir_buf_cstr(&text), n, error);
    weir_buf_dispose(&text);
}

static void test_limits(void **state)
{
    (void)state;
    check_many(65536, "[0,4]", NULL);
    check_many(65537, "[0,1]", "invalid masks: more than 65536");
}

static void test_overlaps_are_limited(void **state)
{
    (void)state;
    enum { LENGTH = 2 * 1024 * 1024 };
    char *long_text = malloc(LENGTH);
    memset(long_text, 'x', LENGTH);
    struct weir_slice whole = weir_slice_make(long_text, LENGTH);
    struct reading r;
    const struct weir_scan_mask *masks;
    size_t n;
    read_json(&r, "[[0,2097152]]");
    assert_int_equal(weir_masks_read(&r.f, 0, "m", whole, &masks, &n), 0);
    assert_told(&r, NULL);
    read_json(&r, "[[0,2097152],[5,6]]");
    assert_int_equal(weir_masks_read(&r.f, 0, "m", whole, &masks, &n), WEIR_EBAD);
    assert_told(&r, "invalid masks: together more than 2097152");
    free(long_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_overlaps_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
