#include "chunk/abbrev.h"
#include "unit/cmocka_all.h"

static struct weir_abbrev english;

static int set_up(void **state)
{
    (void)state;
    return weir_abbrev_init(&english, "en");
}

static int tear_down(void **state)
{
    (void)state;
    weir_abbrev_dispose(&english);
    weir_abbrev_dispose(&english); /* safe twice */
    return 0;
}

static bool has(const char *word)
{
    return weir_abbrev_has(&english, weir_slice_cstr(word));
}

static void test_rows(void **state)
{
    (void)state;
    assert_true(has("J."));
    assert_true(has("e.g."));
    assert_true(has("U.S.A."));
    assert_true(has("\u0442.\u0435.")); /* т.е. */
    assert_true(has("\u00c9."));        /* É. */
    assert_false(has("\u4f60."));       /* no case */
    assert_false(has("5."));
    assert_false(has("."));
    assert_false(has("..."));
    assert_false(has("J.."));
    assert_false(has("ab.c."));
}

static void test_lists(void **state)
{
    (void)state;
    assert_true(has("Mrs.")); /* ICU's */
    assert_true(has("Sept."));
    assert_true(has("Dr.")); /* ours */
    assert_true(has("bzw."));
    assert_true(has("Sra."));
    assert_true(has("\u0443\u043b.")); /* ул. */
    assert_true(has("Ph.D."));
    assert_false(has("Hello."));
    assert_false(has(""));
}

static void test_whole_words_only(void **state)
{
    (void)state;
    assert_true(has("In."));
    assert_false(has("in."));
    assert_false(has("begIn."));
    assert_false(has("xDr."));
    assert_true(has("(Dr."));
    assert_true(has("\u201cDr."));
    assert_true(has("**Mr."));
    assert_true(has("Mr./Mrs."));
    assert_true(has("Austria-Lt."));
    assert_false(has("don't."));
    assert_false(has("don\u2019t."));
    assert_true(has("'J."));
    assert_false(has("cafe\u0301s.")); /* a letter with its mark apart */
    assert_false(has("f(x)."));
    assert_false(has("C++."));
}

static void test_other_language(void **state)
{
    (void)state;
    struct weir_abbrev german;
    assert_int_equal(weir_abbrev_init(&german, "de"), 0);
    assert_true(weir_abbrev_has(&german, WEIR_SLICE("einschl.")));
    assert_true(weir_abbrev_has(&german, WEIR_SLICE("Chr."))); /* of "n. Chr." */
    assert_false(weir_abbrev_has(&german, WEIR_SLICE("Sgt.x.")));
    weir_abbrev_dispose(&german);
    assert_false(has("einschl."));
    assert_int_equal(weir_abbrev_init(&german, "root"), 0);
    assert_true(weir_abbrev_has(&german, WEIR_SLICE("Dr.")));
    assert_false(weir_abbrev_has(&german, WEIR_SLICE("einschl.")));
    weir_abbrev_dispose(&german);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_lists),
    cmocka_unit_test(test_whole_words_only),
    cmocka_unit_test(test_other_language),
};

int main(void)
{
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
