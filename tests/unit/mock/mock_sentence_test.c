#include "mock/mock_sentence.h"

#include "base/err.h"
#include "base/utf8.h"
#include "unit/cmocka_all.h"

#include <stdio.h>

/* "start-end text|" of every sentence, with the text fed in pieces of `size` characters. */
static void split(const char *text, size_t size, struct weir_buf *out)
{
    struct weir_mock_splitter sp;
    struct weir_mock_sentence s;
    struct weir_slice rest = weir_slice_cstr(text);
    weir_mock_splitter_init(&sp, 1000);
    weir_buf_clear(out);
    bool is_end = false;
    do {
        size_t n = weir_utf8_byte_at(rest, size);
        assert_int_equal(weir_mock_splitter_add(&sp, weir_slice_sub(rest, 0, n)), 0);
        rest = weir_slice_sub(rest, n, rest.n);
        is_end = rest.n == 0;
        while (weir_mock_splitter_next(&sp, is_end, &s)) {
            weir_buf_printf(out, "%zu-%zu %.*s|", s.start_cp, s.end_cp, (int)s.text.n, s.text.p);
        }
    } while (!is_end);
    assert_false(weir_mock_splitter_next(&sp, true, &s));
    weir_mock_splitter_dispose(&sp);
}

static void sentences_do_not_depend_on_the_pieces(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"  \n", ""},
        {"One", "0-3 One|"},
        {" One. Two", "1-5 One.|6-9 Two|"},
        {"É bon?!  \xF0\x9F\x98\x80! x", "0-7 É bon?!|9-11 \xF0\x9F\x98\x80!|12-13 x|"},
        {"3.14 is pi. (Yes.) \"No.\" ", "0-11 3.14 is pi.|12-18 (Yes.)|19-24 \"No.\"|"},
        {"a.b c", "0-5 a.b c|"},
        {"wait... what", "0-7 wait...|8-12 what|"},
        {". .", "0-1 .|2-3 .|"},
    };
    struct weir_buf out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t size = 1; size < 30; size++) {
            split(cases[i][0], size, &out);
            assert_string_equal(weir_buf_cstr(&out), cases[i][1]);
        }
    }
    weir_buf_dispose(&out);
}

static void a_sentence_is_given_before_the_next_begins(void **state)
{
    struct weir_mock_splitter sp;
    struct weir_mock_sentence s;
    (void)state;
    weir_mock_splitter_init(&sp, 1000);
    weir_mock_splitter_add(&sp, WEIR_SLICE("One."));
    assert_false(weir_mock_splitter_next(&sp, false, &s));
    weir_mock_splitter_add(&sp, WEIR_SLICE("\n"));
    assert_true(weir_mock_splitter_next(&sp, false, &s));
    assert_true(weir_slice_eq_cstr(s.text, "One."));
    assert_false(weir_mock_splitter_next(&sp, false, &s));
    weir_mock_splitter_dispose(&sp);
}

static void only_unfinished_sentences_count_towards_the_ceiling(void **state)
{
    struct weir_mock_splitter sp;
    struct weir_mock_sentence s;
    (void)state;
    weir_mock_splitter_init(&sp, 16);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(weir_mock_splitter_add(&sp, WEIR_SLICE("Twelve. ")), 0);
        assert_true(weir_mock_splitter_next(&sp, false, &s));
    }
    assert_int_equal(weir_mock_splitter_add(&sp, WEIR_SLICE("seventeen letters")), WEIR_ELIMIT);
    weir_mock_splitter_dispose(&sp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_do_not_depend_on_the_pieces),
        cmocka_unit_test(a_sentence_is_given_before_the_next_begins),
        cmocka_unit_test(only_unfinished_sentences_count_towards_the_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
