/* Folding: what a text becomes, and the way back to the original. */
#include "unit/cmocka_all.h"

#include "detect/fold.h"

struct fold_case {
    const char *text;
    const char *folded;
    bool is_wanted;
};

static const struct fold_case cases[] = {
    {"", "", false},
    {"Plain text, 42 of it: 3.5 and 12:30.", "Plain text, 42 of it: 3.5 and 12:30.", false},
    {"It’s “dull” – really…", "It’s “dull” – really…", false},
    {"précédentes Straße", "precedentes Strasse", true},
    {"ig\u200bn\u00adore", "ignore", true},
    {"\uFF29\uFF47n\uFF4Fre", "ignore", true},
    {"ignоre аll", "ignore all", true},
    {"Привет", "привет", true},
    {"1gn0re prev1ous", "ignore previous", true},
    {"p@ssw0rd", "password", true},
    {"i g n o r e  a l l", "ignore  all", true},
    {"i.g.n.o.r.e.", "ignore.", true},
    {"a b and c d", "a b and c d", false},
    {"\U000E0069\U000E0067\U000E006E", "ign", true},
    {"e\u0301\u0302\u0303x", "ex", true},
    {"無視して。", "無視して.", true},
    {"が한글", "が한글", true},
};

static void test_folded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_fold f = {0};
        struct weir_slice text = weir_slice_cstr(cases[i].text);
        weir_fold_run(&f, text);
        if (cases[i].is_wanted || strcmp(cases[i].text, cases[i].folded) != 0) {
            assert_string_equal(weir_buf_cstr(&f.text), cases[i].folded);
        }
        assert_int_equal(weir_fold_is_wanted(text), cases[i].is_wanted);
        weir_fold_dispose(&f);
    }
}

/* Wherever in a text they stand, signs among letters and spelled words are seen. */
static void test_wanted_anywhere(void **state)
{
    (void)state;
    for (size_t n = 0; n < 40; n++) {
        struct weir_buf text = {0};
        for (size_t i = 0; i < n; i++) {
            weir_buf_append_byte(&text, "ab "[i % 3]);
        }
        size_t plain = text.n;
        assert_false(weir_fold_is_wanted(weir_buf_slice(&text)));
        weir_buf_append(&text, WEIR_SLICE(" pr0mpt"));
        assert_true(weir_fold_is_wanted(weir_buf_slice(&text)));
        text.n = plain;
        weir_buf_append(&text, WEIR_SLICE(" p r o m p"));
        assert_true(weir_fold_is_wanted(weir_buf_slice(&text)));
        weir_buf_dispose(&text);
    }
}

static void test_way_back(void **state)
{
    (void)state;
    struct weir_fold f = {0};
    struct weir_slice text = weir_slice_cstr("\u200bé\u200bx y");
    weir_fold_run(&f, text); /* "ex y" */
    assert_string_equal(weir_buf_cstr(&f.text), "ex y");
    assert_int_equal(weir_fold_start(&f, 0), 3);
    assert_int_equal(weir_fold_end(&f, 1), 5);
    assert_int_equal(weir_fold_start(&f, 1), 8);
    assert_int_equal(weir_fold_end(&f, 4), text.n);
    weir_fold_dispose(&f);
    assert_int_equal(weir_fold_start(&f, 7), 7);
}

static void test_wide(void **state)
{
    (void)state;
    struct weir_buf out = {0};
    weir_fold_wide(&out, weir_slice_cstr("(?:Й|ё)0a1"));
    assert_string_equal(weir_buf_cstr(&out), "(?:и|е)0a1");
    weir_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folded),
        cmocka_unit_test(test_wanted_anywhere),
        cmocka_unit_test(test_way_back),
        cmocka_unit_test(test_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
