/* Patterns and rules of gitignore(5). git itself is the oracle in test_detect_sources.py. */
#include "offline/detect_ignore.h"

#include "unit/cmocka_all.h"

static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *path;
        bool is_match;
    } cases[] = {
        {"a", "a", true},
        {"a", "b", false},
        {"a", "ab", false},
        {"*", "a", true},
        {"*", "", true},
        {"*", "a/b", false},
        {"*.o", "x.o", true},
        {"*.o", "x.o.c", false},
        {"a*b*c", "aXbYbZc", true},
        {"?", "/", false},
        {"a?c", "abc", true},
        {"[a-c]x", "bx", true},
        {"[!a-c]x", "bx", false},
        {"[!a]", "/", false},
        {"[]]", "]", true},
        {"[a", "[a", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "a/xb", false},
        {"**/a", "a", true},
        {"**/a", "x/y/a", true},
        {"**/a", "xa", false},
        {"a/**", "a/x/y", true},
        {"a/**", "a", false},
        {"a/**", "a/", false},
        {"**", "a/b", true},
        {"a**b", "axxb", true},
        {"a**b", "a/b", false},
        {"**/x/*.c", "x/y/x/z.c", true},
        {"*/b", "a/b", true},
        {"*/b", "a/c/b", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool got = weir_detect_ignore_match(weir_slice_cstr(cases[i].pattern),
                                            weir_slice_cstr(cases[i].path));
        if (got != cases[i].is_match) {
            fail_msg("%s against %s", cases[i].pattern, cases[i].path);
        }
    }
}

/* What would take for ever by trying everything takes no time. */
static void test_many_stars(void **state)
{
    (void)state;
    char pattern[200] = {0};
    char path[4000];
    for (size_t i = 0; i + 1 < sizeof pattern; i++) {
        pattern[i] = i % 2 == 0 ? '*' : 'a';
    }
    pattern[sizeof pattern - 2] = 'b';
    memset(path, 'a', sizeof path);
    assert_false(
        weir_detect_ignore_match(weir_slice_cstr(pattern), weir_slice_make(path, sizeof path)));
}

static void test_rules(void **state)
{
    (void)state;
    static struct weir_detect_ignore g;
    weir_detect_ignore_push(&g, WEIR_SLICE("*.log\r\n# x\n\n/top\nsub/\n!keep.log  \nsp\\ \n/\n"),
                            3);
    assert_true(weir_detect_ignore_is(&g, WEIR_SLICE("/r/a.log"), false));
    assert_true(weir_detect_ignore_is(&g, WEIR_SLICE("/r/x/a.log"), false));
    assert_false(weir_detect_ignore_is(&g, WEIR_SLICE("/r/x/keep.log"), false));
    assert_true(weir_detect_ignore_is(&g, WEIR_SLICE("/r/top"), false));
    assert_false(weir_detect_ignore_is(&g, WEIR_SLICE("/r/x/top"), false));
    assert_true(weir_detect_ignore_is(&g, WEIR_SLICE("/r/x/sub"), true));
    assert_false(weir_detect_ignore_is(&g, WEIR_SLICE("/r/x/sub"), false));
    assert_true(weir_detect_ignore_is(&g, WEIR_SLICE("/r/sp "), false));
    weir_detect_ignore_push(&g, WEIR_SLICE("!a.log\n"), 5);
    assert_false(weir_detect_ignore_is(&g, WEIR_SLICE("/r/x/a.log"), false));
    assert_true(weir_detect_ignore_is(&g, WEIR_SLICE("/r/x/b.log"), false));
    weir_detect_ignore_pop(&g);
    assert_true(weir_detect_ignore_is(&g, WEIR_SLICE("/r/x/a.log"), false));
    weir_detect_ignore_push(&g, WEIR_SLICE(""), 3);
    weir_detect_ignore_dispose(&g);
    assert_false(weir_detect_ignore_is(&g, WEIR_SLICE("/r/a.log"), false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_many_stars),
        cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
