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

static enum weir_abbrev_kind kind(const char *before)
{
    return weir_abbrev_kind(&english, weir_slice_cstr(before));
}

static bool has(const char *before)
{
    return kind(before) >= WEIR_ABBREV_OFTEN;
}

static bool has_german(const struct weir_abbrev *german, const char *before)
{
    return weir_abbrev_kind(german, weir_slice_cstr(before)) >= WEIR_ABBREV_OFTEN;
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
    assert_true(has_german(&german, "einschl."));
    assert_true(has_german(&german, "Chr.")); /* of "n. Chr." */
    assert_false(has_german(&german, "Sgt.x."));
    weir_abbrev_dispose(&german);
    assert_false(has("einschl."));
    assert_int_equal(weir_abbrev_init(&german, "root"), 0);
    assert_true(has_german(&german, "Dr."));
    assert_false(has_german(&german, "einschl."));
    weir_abbrev_dispose(&german);
}

static void test_kinds(void **state)
{
    (void)state;
    assert_int_equal(kind("J."), WEIR_ABBREV_INITIAL);
    assert_int_equal(kind("\u0433."), WEIR_ABBREV_OFTEN); /* г. */
    assert_int_equal(kind("U.S."), WEIR_ABBREV_OFTEN);
    assert_int_equal(kind("p.m."), WEIR_ABBREV_OFTEN);
    assert_int_equal(kind("e.g."), WEIR_ABBREV_NEVER);
    assert_int_equal(kind("Dr."), WEIR_ABBREV_NEVER);
    assert_int_equal(kind("No."), WEIR_ABBREV_NUMBER);
    assert_int_equal(kind("Sept."), WEIR_ABBREV_OFTEN);
    assert_int_equal(kind("Joe."), WEIR_ABBREV_OFTEN);          /* ICU's */
    assert_int_equal(kind("\u0442.\u0434."), WEIR_ABBREV_NONE); /* т.д. */
}

static void test_two_words(void **state)
{
    (void)state;
    assert_int_equal(kind("das ist z. B."), WEIR_ABBREV_NEVER);
    assert_int_equal(kind("J. B."), WEIR_ABBREV_INITIAL);
    assert_int_equal(kind("5 p. m."), WEIR_ABBREV_OFTEN);
    assert_int_equal(kind("ad es."), WEIR_ABBREV_NEVER);
    assert_int_equal(kind("(ad es."), WEIR_ABBREV_NEVER);
    assert_int_equal(kind("ist es."), WEIR_ABBREV_NONE);
    assert_int_equal(kind("bad es."), WEIR_ABBREV_NONE);
    assert_int_equal(kind("\u0438 \u0442. \u0434."), WEIR_ABBREV_NONE);
    assert_int_equal(kind("z.\nB."), WEIR_ABBREV_INITIAL); /* not on one line */
    /* Words that may have begun before the text are not looked at. */
    assert_int_equal(kind("xxxxxxxxxxxxxxxxxxxxxxxxxx-Dr. J."), WEIR_ABBREV_INITIAL);
    assert_int_equal(kind("xxxxxxxxxxxxxxxxxxxxxxxxxxxxx-J."), WEIR_ABBREV_NONE);
}

static void test_elided(void **state)
{
    (void)state;
    assert_int_equal(kind("l'avv."), WEIR_ABBREV_NEVER);
    assert_int_equal(kind("dell\u2019art."), WEIR_ABBREV_NUMBER);
    assert_int_equal(kind("rock'n'roll."), WEIR_ABBREV_NONE);
    assert_int_equal(kind("don't."), WEIR_ABBREV_NONE);
}

static void test_numbers(void **state)
{
    (void)state;
    assert_int_equal(kind("am 3."), WEIR_ABBREV_OFTEN);
    assert_int_equal(kind("Im 19."), WEIR_ABBREV_OFTEN);
    assert_int_equal(kind("im II."), WEIR_ABBREV_OFTEN);
    assert_int_equal(kind("am 3. 10."), WEIR_ABBREV_OFTEN);
    assert_int_equal(kind("Montag, 3."), WEIR_ABBREV_COUNT);
    assert_int_equal(kind("I am 30."), WEIR_ABBREV_COUNT);
    assert_int_equal(kind("Hauptstr."), WEIR_ABBREV_NUMBER);
    assert_int_equal(kind("Karl XII."), WEIR_ABBREV_COUNT);
    assert_int_equal(kind("steps: 1."), WEIR_ABBREV_NEVER);
    assert_int_equal(kind("im 1990."), WEIR_ABBREV_YEAR);
    assert_int_equal(kind("2024. 3."), WEIR_ABBREV_OFTEN);
    assert_int_equal(kind("II."), WEIR_ABBREV_NEVER);
    assert_int_equal(kind("oldu. II."), WEIR_ABBREV_NEVER);
    assert_int_equal(kind("im 19901."), WEIR_ABBREV_NONE);
    assert_int_equal(kind("im 3.5."), WEIR_ABBREV_NONE);
    assert_int_equal(kind("im $5."), WEIR_ABBREV_NONE);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_lists),
    cmocka_unit_test(test_whole_words_only),
    cmocka_unit_test(test_other_language),
    cmocka_unit_test(test_kinds),
    cmocka_unit_test(test_two_words),
    cmocka_unit_test(test_elided),
    cmocka_unit_test(test_numbers),
};

int main(void)
{
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
