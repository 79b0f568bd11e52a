#include "emit/sentence.h"
#include "unit/cmocka_all.h"

/* Whether `text` ends a sentence, however it is cut into deltas. */
static void assert_end(const char *text, bool is_end, bool is_line)
{
    struct weir_slice whole = weir_slice_cstr(text);
    for (size_t cut = 0; cut <= whole.n; cut++) {
        if (cut < whole.n && ((unsigned char)whole.p[cut] & 0xC0) == 0x80) {
            continue; /* deltas are whole code points */
        }
        struct weir_sentence s = {0};
        weir_sentence_feed(&s, weir_slice_sub(whole, 0, cut));
        weir_sentence_feed(&s, weir_slice_sub(whole, cut, whole.n));
        assert_int_equal(weir_sentence_is_end(&s), is_end);
        assert_int_equal(weir_sentence_is_line(&s), is_line);
    }
}

static void terminators_end_a_sentence(void **state)
{
    (void)state;
    static const char *const ends[] = {"a.",  "a?",  "a!", "a…", "a。", "a！",
                                       "a？", "a．", "a؟", "a۔", "a।",  "a॥"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        assert_end(ends[i], true, false);
    }
    assert_end("a", false, false);
    assert_end("", false, false);
    assert_end("a,", false, false);
    assert_end("a;", false, false);
    assert_end("你好", false, false);
}

static void closers_and_spaces_may_follow(void **state)
{
    (void)state;
    static const char *const ends[] = {"a.\"",  "a.'",   "a.)",     "a.]",     "a.}",   "a.*",
                                       "a._",   "a.`",   "a.”",     "a.’",     "a.»",   "a。」",
                                       "a。』", "a。）", "a.\")]}", "a.**\t ", "a.    "};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        assert_end(ends[i], true, false);
    }
    assert_end("a. \"", false, false); /* closers come before spaces */
    assert_end("a.\"b", false, false);
    assert_end("\"", false, false);
    assert_end("a \"", false, false);
    assert_end("a.「", false, false);       /* an opening one */
    assert_end("a.\xC2\xA0", false, false); /* only space and tab */
}

static void a_full_stop_behind_a_digit_is_none(void **state)
{
    (void)state;
    assert_end("3.", false, false);
    assert_end("1.)", false, false);
    assert_end("v1.2.", false, false);
    assert_end("3 .", true, false);
    assert_end("3..", true, false);
    assert_end("3!", true, false);
    assert_end("3．", true, false);
    assert_end("٣.", true, false); /* not an ASCII digit */
}

static void only_the_end_counts(void **state)
{
    (void)state;
    assert_end("One. Two", false, false);
    assert_end("One.\nTwo", false, false);
    assert_end("One\n", true, true);
    assert_end("One\n\n", true, true);
    assert_end("\n", true, true);
    assert_end("One\n ", false, false);
    assert_end("One\n\"", false, false);
    assert_end("One\r\n", true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terminators_end_a_sentence),
        cmocka_unit_test(closers_and_spaces_may_follow),
        cmocka_unit_test(a_full_stop_behind_a_digit_is_none),
        cmocka_unit_test(only_the_end_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
