#include "unit/cmocka_all.h"

#include "base/glob.h"

static void test_match(void **state)
{
    (void)state;
    static const struct {
        const char *glob;
        const char *text;
        bool matches;
    } cases[] = {
        {"a", "a", true},
        {"a", "b", false},
        {"a", "", false},
        {"", "", true},
        {"*", "", true},
        {"*", "anything", true},
        {"a*", "a", true},
        {"a*c", "abbc", true},
        {"a*c", "abcb", false},
        {"*mini*", "gpt-4o-mini", true},
        {"*mini*", "gpt", false},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"azure/*", "azure/gpt-4o", true},
        {"*a*b*c", "xaxbxc", true},
        {"*a*b*c", "xaxcxb", false},
        {"[a]", "a", false},
        {"**", "x", true},
        {"a.c", "abc", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            weir_glob_match(weir_slice_cstr(cases[i].glob), weir_slice_cstr(cases[i].text)),
            cases[i].matches);
    }
}

static void test_wildcards(void **state)
{
    (void)state;
    assert_false(weir_glob_has_wildcard(WEIR_SLICE("gpt-4o")));
    assert_false(weir_glob_has_wildcard(WEIR_SLICE("")));
    assert_true(weir_glob_has_wildcard(WEIR_SLICE("gpt-*")));
    assert_true(weir_glob_has_wildcard(WEIR_SLICE("gpt-?o")));
}

enum { MAX_GLOB = 4, MAX_TEXT = 6 };

/* The `k`-th word over an alphabet, up to `max` letters; false: there are no more. */
static bool word(size_t k, const char *alphabet, size_t max, char *out, struct weir_slice *s)
{
    size_t n_letters = strlen(alphabet);
    size_t n = 0;
    for (size_t n_words = 1; k >= n_words; n++) {
        k -= n_words;
        n_words *= n_letters;
    }
    if (n > max) {
        return false;
    }
    for (size_t i = 0; i < n; i++, k /= n_letters) {
        out[i] = alphabet[k % n_letters];
    }
    *s = weir_slice_make(out, n);
    return true;
}

/* A text as long as both patterns together is found where any is: all of them are tried. */
static bool overlaps_by_trying(struct weir_slice a, struct weir_slice b)
{
    char text[MAX_TEXT];
    struct weir_slice s;
    for (size_t k = 0; word(k, "ab", MAX_TEXT, text, &s); k++) {
        if (weir_glob_match(a, s) && weir_glob_match(b, s)) {
            return true;
        }
    }
    return false;
}

static void test_overlaps_is_what_trying_finds(void **state)
{
    (void)state;
    char one[MAX_GLOB];
    char other[MAX_GLOB];
    struct weir_slice a;
    struct weir_slice b;
    for (size_t i = 0; word(i, "a*?b", MAX_GLOB - 1, one, &a); i++) {
        for (size_t k = 0; word(k, "a*?b", MAX_GLOB - 1, other, &b); k++) {
            if (weir_glob_overlaps(a, b) != overlaps_by_trying(a, b)) {
                fail_msg("`%.*s` and `%.*s`", (int)a.n, a.p, (int)b.n, b.p);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_wildcards),
        cmocka_unit_test(test_overlaps_is_what_trying_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
