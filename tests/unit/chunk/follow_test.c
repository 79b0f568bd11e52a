#include "base/utf8.h"
#include "chunk/follow.h"
#include "unit/cmocka_all.h"

static struct weir_follow_words words;

static int set_up(void **state)
{
    (void)state;
    weir_follow_words_init(&words);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weir_follow_words_dispose(&words);
    weir_follow_words_dispose(&words); /* safe twice */
    return 0;
}

/* Feeds `text` until there is a verdict, at its end too; `*used` is how many code points it took.
 */
static enum weir_follow_verdict ask(enum weir_follow_mode mode, const char *text, size_t *used)
{
    struct weir_follow f = {.mode = (uint8_t)mode};
    struct weir_slice rest = weir_slice_cstr(text);
    for (*used = 0; rest.n != 0;) {
        size_t n_bytes;
        uint32_t cp = weir_utf8_decode(rest, &n_bytes);
        bool is_letter = cp > 0xFF ? cp != 0xFF1A && cp != 0x3002 && cp != 0x2019
                                   : cp >= 0xC0 || (cp | 0x20) - 'a' < 26;
        enum weir_follow_verdict verdict = weir_follow_step(&f, &words, cp, is_letter);
        ++*used;
        if (verdict != WEIR_FOLLOW_WAIT) {
            assert_false(weir_follow_is_waiting(&f));
            return verdict;
        }
        assert_true(weir_follow_is_waiting(&f));
        rest = weir_slice_sub(rest, n_bytes, rest.n);
    }
    enum weir_follow_verdict verdict = weir_follow_end(&f, &words);
    assert_false(weir_follow_is_waiting(&f));
    return verdict;
}

static bool ends(enum weir_follow_mode mode, const char *text)
{
    size_t used;
    enum weir_follow_verdict verdict = ask(mode, text, &used);
    assert_int_not_equal(verdict, WEIR_FOLLOW_WAIT);
    return verdict == WEIR_FOLLOW_ENDS;
}

static void test_starters(void **state)
{
    (void)state;
    assert_true(ends(WEIR_FOLLOW_ANY, "He "));
    assert_true(ends(WEIR_FOLLOW_ANY, "He"));
    assert_false(ends(WEIR_FOLLOW_ANY, "Henry "));
    assert_false(ends(WEIR_FOLLOW_ANY, "he "));
    assert_true(ends(WEIR_FOLLOW_ANY, "Le "));
    assert_false(ends(WEIR_FOLLOW_STRONG, "Le "));
    assert_true(ends(WEIR_FOLLOW_STRONG, "Она "));
    assert_true(ends(WEIR_FOLLOW_ANY, "В "));
    assert_false(ends(WEIR_FOLLOW_ANY, "В.")); /* an initial */
    assert_true(ends(WEIR_FOLLOW_ANY, "It."));
}

static void test_apostrophes(void **state)
{
    (void)state;
    size_t used;
    assert_int_equal(ask(WEIR_FOLLOW_STRONG, "C'est", &used), WEIR_FOLLOW_ENDS);
    assert_int_equal(used, 2);
    assert_int_equal(ask(WEIR_FOLLOW_STRONG, "C\u2019est", &used), WEIR_FOLLOW_ENDS);
    assert_true(ends(WEIR_FOLLOW_STRONG, "It's so"));
    assert_false(ends(WEIR_FOLLOW_STRONG, "L'Oréal"));
    assert_false(ends(WEIR_FOLLOW_STRONG, "O'Neil went"));
}

static void test_counted(void **state)
{
    (void)state;
    size_t used;
    assert_false(ends(WEIR_FOLLOW_COUNTED, "Oktober "));
    assert_false(ends(WEIR_FOLLOW_COUNTED, "Weltkrieges "));
    assert_true(ends(WEIR_FOLLOW_COUNTED, "Okto"));
    assert_int_equal(ask(WEIR_FOLLOW_COUNTED, "Then", &used), WEIR_FOLLOW_ENDS);
    assert_int_equal(used, 1);
    assert_int_equal(ask(WEIR_FOLLOW_COUNTED, "Otto", &used), WEIR_FOLLOW_ENDS);
    assert_int_equal(used, 2);
}

static void test_quotes(void **state)
{
    (void)state;
    assert_false(ends(WEIR_FOLLOW_QUOTE, "と言う"));
    assert_false(ends(WEIR_FOLLOW_QUOTE, "と"));
    assert_true(ends(WEIR_FOLLOW_QUOTE, "とても"));
    assert_false(ends(WEIR_FOLLOW_QUOTE, "とある"));
    assert_true(ends(WEIR_FOLLOW_QUOTE, "彼は"));
    assert_false(ends(WEIR_FOLLOW_QUOTE, "他说。"));
    assert_true(ends(WEIR_FOLLOW_QUOTE, "他说："));
    assert_true(ends(WEIR_FOLLOW_QUOTE, "他们"));
    assert_false(ends(WEIR_FOLLOW_QUOTE, "라고 "));
}

/* A word that never ends is not waited for. */
static void test_long_word(void **state)
{
    (void)state;
    size_t used;
    const char *word = "Abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
    assert_int_equal(ask(WEIR_FOLLOW_ANY, word, &used), WEIR_FOLLOW_GOES_ON);
    assert_int_equal(used, WEIR_FOLLOW_MAX_BYTES + 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_starters),  cmocka_unit_test(test_apostrophes),
    cmocka_unit_test(test_counted),   cmocka_unit_test(test_quotes),
    cmocka_unit_test(test_long_word),
};

int main(void)
{
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
