/* The scanner's verdicts, with the JSON reader as the judge of what is valid. */
#include "base/arena.h"
#include "base/buf.h"
#include "unit/cmocka_all.h"
#include "wire/argscan.h"
#include "wire/json.h"

static struct weir_argscan scan_of(struct weir_slice text)
{
    struct weir_argscan s = {0};
    weir_argscan_feed(&s, text);
    return s;
}

static bool is_valid(const char *text)
{
    struct weir_slice whole = weir_slice_cstr(text);
    struct weir_argscan one = scan_of(whole);
    struct weir_argscan many = {0};
    for (size_t i = 0; i < whole.n; i++) {
        weir_argscan_feed(&many, weir_slice_sub(whole, i, i + 1));
    }
    assert_memory_equal(&one, &many, sizeof one);
    return weir_argscan_is_valid(&one);
}

static void valid_texts(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}",        "[]",
        "{\"a\":1}", " { \"a\" : [ 1 , 2.5e-3 , -0 , true , false , null ] } \n",
        "\"\"",      "\"\\u00e9\\n\\\\\\/\\\"\"",
        "0",         "-1",
        "12",        "1.5",
        "1E+10",     "true",
        "null",      "{\"\":{}}",
        "[[[[]]]]",  "{\"a\":1,\"a\":2}",
        "\"é😀\""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_true(is_valid(texts[i]));
    }
}

static void texts_that_are_not(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",           " ",           "{",         "}",      "{]",    "[}",        "{\"a\"}",
        "{\"a\":}",   "{\"a\":1,}",  "[1,]",      "[,1]",   "{,}",   "{a:1}",     "{'a':1}",
        "{\"a\":1}x", "{}{}",        "1 2",       "01",     "-",     "1.",        ".5",
        "1e",         "1e+",         "+1",        "tru",    "trues", "nul",       "\"",
        "\"\\x\"",    "\"\\u12g4\"", "\"\\u12\"", "\"\n\"", "[1 2]", "{\"a\" 1}", "\"a\" \"b\"",
        "NaN",        "{\"a\":1",    "[\"a\"",    "--1",    "1.2.3"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (is_valid(texts[i])) {
            print_message("%s\n", texts[i]);
        }
        assert_false(is_valid(texts[i]));
    }
}

static void closed_is_about_brackets(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_closed;
        bool is_placeholder;
    } cases[] = {
        {"", false, false},       {"{", false, false},          {"{}", true, true},
        {"{ }", true, false},     {"[]", true, false},          {" {}", true, false},
        {"{\"}\"", false, false}, {"{\"\\\"}\"}", true, false}, {"{a}", true, false},
        {"{[}]", true, false},    {"12", false, false},         {"\"{}\"", false, false},
        {"{}\n", true, false},    {"}", false, false},          {"[{\"a\":[1]}", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_argscan s = scan_of(weir_slice_cstr(cases[i].text));
        assert_int_equal(weir_argscan_is_closed(&s), cases[i].is_closed);
        assert_int_equal(weir_argscan_is_placeholder(&s), cases[i].is_placeholder);
    }
    struct weir_argscan nul = scan_of(weir_slice_make("\0{}", 3));
    assert_false(weir_argscan_is_container(&nul));
}

static void deep_texts(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    for (int i = 0; i < WEIR_ARGSCAN_DEPTH; i++) {
        assert_int_equal(weir_buf_append(&text, WEIR_SLICE("[")), 0);
    }
    struct weir_argscan s = scan_of(weir_buf_slice(&text));
    struct weir_argscan deeper = s;
    for (int i = 0; i < WEIR_ARGSCAN_DEPTH; i++) {
        weir_argscan_feed(&s, WEIR_SLICE("]"));
    }
    assert_true(weir_argscan_is_valid(&s));
    assert_true(weir_argscan_is_closed(&s));
    weir_argscan_feed(&deeper, WEIR_SLICE("{"));
    for (int i = 0; i < WEIR_ARGSCAN_DEPTH + 1; i++) {
        weir_argscan_feed(&deeper, WEIR_SLICE("]"));
    }
    assert_false(weir_argscan_is_valid(&deeper));
    assert_true(weir_argscan_is_closed(&deeper));
    weir_buf_dispose(&text);
}

/* Every text of up to six of these pieces: the reader and the scanner agree. */
static void agrees_with_the_reader(void **state)
{
    (void)state;
    static const char *const pieces[] = {"{", "}", "[", "]",  "\"", ":",    ",", "1",
                                         "-", ".", "e", "\\", "u",  "null", " ", "00e9"};
    enum { PIECES = sizeof pieces / sizeof pieces[0] };
    struct weir_json_tape tape = {0};
    uint64_t rng = 1;
    for (int round = 0; round < 200000; round++) {
        char bytes[64];
        size_t n = 0;
        rng = rng * UINT64_C(6364136223846793005) + 1;
        for (uint64_t bits = rng >> 16, k = 1 + (rng >> 60) % 9; k > 0; k--, bits /= PIECES) {
            const char *piece = pieces[bits % PIECES];
            memcpy(bytes + n, piece, strlen(piece));
            n += strlen(piece);
        }
        struct weir_slice whole = weir_slice_make(bytes, n);
        struct weir_json j;
        struct weir_argscan s = scan_of(whole);
        bool is_json = weir_json_parse_reuse(&j, whole, NULL, &tape, NULL) == 0;
        bool has_twice = !is_json && weir_argscan_is_valid(&s); /* equal names, the reader's rule */
        assert_true(is_json == weir_argscan_is_valid(&s) || has_twice);
        if (has_twice) {
            assert_non_null(memchr(bytes, ',', n));
            assert_non_null(memchr(bytes, '{', n));
        }
    }
    weir_json_tape_dispose(&tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_texts),
        cmocka_unit_test(texts_that_are_not),
        cmocka_unit_test(closed_is_about_brackets),
        cmocka_unit_test(deep_texts),
        cmocka_unit_test(agrees_with_the_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
