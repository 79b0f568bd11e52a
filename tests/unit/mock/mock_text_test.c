#include "mock/mock_text.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "unit/cmocka_all.h"

static void expect(const char *text, bool is_split, const char *quoted)
{
    struct weir_arena arena = {0};
    struct weir_buf all = {0};
    struct weir_buf plain = {0};
    struct weir_mock_text cut;
    weir_mock_text_cut(&cut, weir_slice_cstr(text), is_split, &arena);
    for (size_t i = 0; i < cut.n; i++) {
        weir_buf_append(&all, cut.tokens[i].quoted);
        weir_buf_append(&plain, cut.tokens[i].plain);
        assert_int_equal(cut.tokens[i].n_cp, weir_utf8_count(cut.tokens[i].plain));
    }
    assert_string_equal(weir_buf_cstr(&all), quoted);
    assert_string_equal(weir_buf_cstr(&plain), text);
    if (!is_split) {
        assert_int_equal(weir_mock_text_count(weir_slice_cstr(text)), cut.n);
    }
    weir_buf_dispose(&all);
    weir_buf_dispose(&plain);
    weir_arena_dispose(&arena);
}

static void a_token_is_a_word_with_its_space(void **state)
{
    (void)state;
    expect("", false, "");
    expect("a bc  d\n", false, "\"a\"\" bc\"\"  d\"\"\\n\"");
    expect("\"x\" \\", false, "\"\\\"x\\\"\"\" \\\\\"");
    expect("aaaaaaaaaaaabb", false, "\"aaaaaaaaaaaa\"\"bb\"");
}

static void pairs_are_cut_in_two(void **state)
{
    (void)state;
    expect("a\xF0\x9F\x98\x80"
           "b",
           false,
           "\"a\xF0\x9F\x98\x80"
           "b\"");
    expect("a\xF0\x9F\x98\x80"
           "b",
           true, "\"a\\ud83d\"\"\\ude00b\"");
    expect("\xF0\x9F\x98\x80\xF0\x9F\x98\x81", true, "\"\\ud83d\"\"\\ude00\\ud83d\"\"\\ude01\"");
    expect("\xF0\x9F\x98\x80 \xF0\x9F\x98\x81", true,
           "\"\\ud83d\"\"\\ude00\"\" \\ud83d\"\"\\ude01\"");
    expect("\xC3\xA9 x", true, "\"\xC3\xA9\"\" x\"");
}

static void lists_keep_their_spelling(void **state)
{
    struct weir_arena arena = {0};
    struct weir_json j;
    struct weir_mock_text text;
    struct weir_slice src = WEIR_SLICE("[[\"\\u0061\",\"\\ud83d\",\"\"],[1]]");
    (void)state;
    assert_int_equal(weir_json_parse(&j, src, NULL, &arena, NULL), 0);
    uint32_t good = weir_json_first(&j, 0);
    assert_int_equal(weir_mock_text_list(&text, &j, good, &arena), 0);
    assert_int_equal(text.n, 3);
    assert_true(weir_slice_eq_cstr(text.tokens[0].quoted, "\"\\u0061\""));
    assert_true(weir_slice_eq_cstr(text.tokens[0].plain, "a"));
    assert_true(weir_slice_eq_cstr(text.tokens[1].quoted, "\"\\ud83d\""));
    assert_int_equal(text.tokens[1].n_cp, 1);
    uint32_t bad = weir_json_after(&j, 0, good);
    assert_int_equal(weir_mock_text_list(&text, &j, bad, &arena), WEIR_EINVAL);
    assert_int_equal(weir_mock_text_list(&text, &j, bad + 1, &arena), WEIR_EINVAL);
    weir_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_a_word_with_its_space),
        cmocka_unit_test(pairs_are_cut_in_two),
        cmocka_unit_test(lists_keep_their_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
