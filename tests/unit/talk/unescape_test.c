/* Escapes decoded in what is no JSON, and the way back. */
#include "talk/unescape.h"

#include "unit/cmocka_all.h"

static void decodes(const char *written, const char *text)
{
    struct weir_arena arena = {0};
    struct weir_unescape u;
    weir_unescape_read(&u, weir_slice_cstr(written), &arena);
    assert_true(weir_slice_eq_cstr(u.text, text));
    weir_arena_dispose(&arena);
}

static void test_texts(void **state)
{
    (void)state;
    decodes("plain", "");
    decodes("a \\x", "");
    decodes("jane\\u0040x", "jane@x");
    decodes("\\\"\\\\\\n\\t\\/", "\"\\\n\t/");
    decodes("\\ud83d\\ude00!", "\xF0\x9F\x98\x80!");
    decodes("\\ud83d!", "\xEF\xBF\xBD!");
    decodes("\\u12\\u00e9", "\\u12\xC3\xA9");
}

static void test_spans(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_unescape u;
    /* written: é a \u0040 b \n c   decoded: é a @ b LF c */
    weir_unescape_read(&u,
                       WEIR_SLICE("\xC3\xA9"
                                  "a\\u0040b\\nc"),
                       &arena);
    static const size_t cases[][4] = {{0, 1, 0, 1},  {1, 3, 1, 8},   {2, 3, 2, 8},  {3, 4, 8, 9},
                                      {2, 5, 2, 11}, {5, 6, 11, 12}, {0, 6, 0, 12}, {3, 3, 8, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t start = cases[i][0];
        size_t end = cases[i][1];
        weir_unescape_span(&u, &start, &end);
        assert_int_equal(start, cases[i][2]);
        assert_int_equal(end, cases[i][3]);
    }
    weir_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_spans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
