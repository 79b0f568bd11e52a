/* Findings replaced in texts that come whole or in pieces. */
#include "task/redact.h"

#include "base/utf8.h"
#include "unit/cmocka_all.h"

struct span {
    size_t start, end;
    const char *kind;
    const char *id;
};

/* Replaces in pieces of so many code points; findings come with the piece they begin in. */
static void redact(const char *text, const struct span *spans, size_t n, size_t piece_cp,
                   const char *with, struct weir_buf *out)
{
    struct weir_redact r = {0};
    struct weir_slice rest = weir_slice_cstr(text);
    size_t at = 0;
    while (rest.n != 0) {
        size_t bytes = weir_utf8_byte_at(rest, piece_cp);
        struct weir_slice piece = weir_slice_sub(rest, 0, bytes);
        size_t end = at + weir_utf8_count(piece);
        struct weir_detection found[8];
        const struct weir_detection *pointers[8];
        size_t n_found = 0;
        for (size_t i = n; i-- > 0;) { /* in any order */
            if (spans[i].start >= at && spans[i].start < end) {
                found[n_found] =
                    (struct weir_detection){.has_span = true,
                                            .start_cp = spans[i].start,
                                            .end_cp = spans[i].end,
                                            .detection = weir_slice_cstr(spans[i].kind),
                                            .detection_type = WEIR_SLICE("type"),
                                            .detector_id = weir_slice_cstr(spans[i].id)};
                pointers[n_found] = &found[n_found];
                n_found++;
            }
        }
        struct weir_redact_piece in = {
            .text = piece, .start_cp = at, .findings = pointers, .n_findings = n_found};
        struct weir_slice before = weir_buf_slice(out);
        bool is_changed = weir_redact_piece(&r, weir_slice_cstr(with), &in, out);
        struct weir_slice added = weir_slice_sub(weir_buf_slice(out), before.n, out->n);
        assert_int_equal(is_changed, !weir_slice_eq(added, piece));
        rest = weir_slice_sub(rest, bytes, rest.n);
        at = end;
    }
}

static void check(const char *text, const struct span *spans, size_t n, const char *want)
{
    for (size_t piece_cp = 1; piece_cp < 30; piece_cp++) {
        struct weir_buf out = {0};
        redact(text, spans, n, piece_cp, "[{detection}]", &out);
        assert_string_equal(weir_buf_cstr(&out), want);
        weir_buf_dispose(&out);
    }
}

#define CHECK(text, want, ...)                                                                     \
    do {                                                                                           \
        const struct span spans[] = {__VA_ARGS__};                                                 \
        check(text, spans, sizeof spans / sizeof spans[0], want);                                  \
    } while (0)

static void test_runs(void **state)
{
    (void)state;
    CHECK("mail a@b now", "mail [m] now", {5, 8, "m", "d"});
    CHECK("0123456789", "[a]9", {0, 5, "a", "d"}, {3, 9, "b", "d"});   /* overlapping: one */
    CHECK("0123456789", "0[a]89", {1, 4, "a", "d"}, {4, 8, "b", "d"}); /* touching: one */
    CHECK("0123456789", "0[a]4[b]89", {1, 4, "a", "d"}, {5, 8, "b", "d"});
    CHECK("0123456789", "[a]", {0, 10, "a", "d"}, {2, 3, "b", "d"}, {9, 10, "c", "d"});
    CHECK("\xC3\xA4\xF0\x9F\x98\x80"
          "e\xCC\x81z",
          "\xC3\xA4[a]z", {1, 4, "a", "d"});
}

/* The first of a run: smallest start, then largest end, then detector id. */
static void test_whose_words(void **state)
{
    (void)state;
    CHECK("0123456789", "0[b]6789", {1, 3, "a", "d"}, {1, 6, "b", "d"});
    CHECK("0123456789", "0[b]6789", {1, 6, "a", "y"}, {1, 6, "b", "x"});
    CHECK("0123456789", "0[a]9", {1, 3, "a", "z"}, {2, 9, "b", "a"});
}

static void test_templates(void **state)
{
    (void)state;
    static const struct span one[] = {{1, 3, "kind", "det"}};
    static const struct {
        const char *with;
        const char *want;
    } cases[] = {
        {"", "03"},
        {"***", "0***3"},
        {"{detection}{detection_type}/{detector_id}", "0kindtype/det3"},
        {"{detection", "0{detection3"}, /* the configuration refuses these */
        {"{{detection}}", "0{kind}3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_buf out = {0};
        redact("0123", one, 1, 2, cases[i].with, &out);
        assert_string_equal(weir_buf_cstr(&out), cases[i].want);
        weir_buf_dispose(&out);
    }
}

/* Without a span there is nothing to replace: who asks has to know. */
static void test_without_span(void **state)
{
    (void)state;
    struct weir_detection none = {.detection = WEIR_SLICE("x")};
    const struct weir_detection *pointers[] = {&none};
    struct weir_redact r = {0};
    struct weir_buf out = {0};
    struct weir_redact_piece in = {
        .text = WEIR_SLICE("abc"), .findings = pointers, .n_findings = 1};
    assert_false(weir_redact_piece(&r, WEIR_SLICE("[]"), &in, &out));
    assert_string_equal(weir_buf_cstr(&out), "abc");
    weir_buf_dispose(&out);
}

/* Where a place of the text stands in what has left, for what was found elsewhere and later. */
static void test_places(void **state)
{
    (void)state;
    /* 0123456789 becomes 0[a]45[bc]9 */
    struct weir_detection found[] = {
        {.has_span = true, .start_cp = 1, .end_cp = 3, .detection = WEIR_SLICE("a")},
        {.has_span = true, .start_cp = 3, .end_cp = 4, .detection = WEIR_SLICE("x")},
        {.has_span = true, .start_cp = 6, .end_cp = 9, .detection = WEIR_SLICE("bc")}};
    const struct weir_detection *pointers[] = {&found[0], &found[1], &found[2]};
    struct weir_redact r = {.keeps_runs = true};
    struct weir_buf out = {0};
    struct weir_redact_piece in = {
        .text = WEIR_SLICE("01234567"), .findings = pointers, .n_findings = 3};
    weir_redact_piece(&r, WEIR_SLICE("[{detection}]"), &in, &out);
    in = (struct weir_redact_piece){.text = WEIR_SLICE("89"), .start_cp = 8};
    weir_redact_piece(&r, WEIR_SLICE("[{detection}]"), &in, &out);
    assert_string_equal(weir_buf_cstr(&out), "0[a]45[bc]9");
    static const size_t starts[] = {0, 1, 1, 1, 4, 5, 6, 6, 6, 10, 11};
    static const size_t ends[] = {0, 1, 4, 4, 4, 5, 6, 10, 10, 10, 11};
    for (size_t i = 0; i <= 10; i++) {
        assert_int_equal(weir_redact_map(&r, i, false), starts[i]);
        assert_int_equal(weir_redact_map(&r, i, true), ends[i]);
    }
    weir_redact_forget(&r, 6);
    for (size_t i = 6; i <= 10; i++) {
        assert_int_equal(weir_redact_map(&r, i, false), starts[i]);
        assert_int_equal(weir_redact_map(&r, i, true), ends[i]);
    }
    weir_redact_forget(&r, 10);
    assert_int_equal(weir_redact_map(&r, 10, true), ends[10]);
    weir_redact_dispose(&r);
    weir_buf_dispose(&out);
}

/* JSON that stays JSON: what stands behind a number, a string or an escape that was replaced is
 * found again where it is, however the text was cut. Marks are capitals. */
static void test_places_in_json(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t start_cp;
        size_t end_cp;
        const char *left;
    } cases[] = {
        {"{'a':17,'b':'X yZ'}", 5, 7, "{'a':'[n]','b':'X yZ'}"},
        {"{'a':1234567,'b':'X'}", 7, 9, "{'a':'[n]','b':'X'}"},
        {"[17,18,'X',19,'Y']", 1, 3, "['[n]',18,'X',19,'Y']"},
        {"{'a':'uv w','b':'X'}", 6, 8, "{'a':'[n] w','b':'X'}"},
        {"{'a':'u\\nv','b':'X'}", 6, 8, "{'a':'[n]v','b':'X'}"},
        {"{'a':'uv','b':17,'c':'X'}", 6, 16, "{'a':'[n]','[n]':'[n]','c':'X'}"},
        {"[17]X", 1, 3, "['[n]']X"},
        {"[17X, Y", 1, 3, "[[n]X, Y"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_detection d = {.has_span = true,
                                   .start_cp = cases[i].start_cp,
                                   .end_cp = cases[i].end_cp,
                                   .detection = WEIR_SLICE("n")};
        const struct weir_detection *pointer = &d;
        char text[64] = {0};
        char left[64] = {0};
        for (size_t k = 0; k < strlen(cases[i].text); k++) {
            text[k] = cases[i].text[k] == '\'' ? '"' : cases[i].text[k];
        }
        for (size_t k = 0; k < strlen(cases[i].left); k++) {
            left[k] = cases[i].left[k] == '\'' ? '"' : cases[i].left[k];
        }
        for (size_t cut = 0; cut <= strlen(text); cut++) {
            struct weir_keep_json keep = {0};
            struct weir_redact r = {.keeps_runs = true, .keep = &keep};
            struct weir_buf out = {0};
            size_t at[] = {0, cut, strlen(text)};
            for (size_t k = 0; k < 2; k++) {
                bool touches = d.start_cp < at[k + 1] && d.end_cp > at[k];
                struct weir_redact_piece in = {.text = {text + at[k], at[k + 1] - at[k]},
                                               .start_cp = at[k],
                                               .findings = &pointer,
                                               .n_findings = touches};
                weir_redact_piece(&r, WEIR_SLICE("[{detection}]"), &in, &out);
            }
            weir_redact_end(&r, &out);
            assert_string_equal(weir_buf_cstr(&out), left);
            for (size_t k = 0; text[k] != '\0'; k++) {
                if (text[k] >= 'X' && text[k] <= 'Z') {
                    const char *there = strchr(left, text[k]);
                    assert_int_equal(weir_redact_map(&r, k, false), there - left);
                    assert_int_equal(weir_redact_map(&r, k + 1, true), there - left + 1);
                }
            }
            weir_redact_dispose(&r);
            weir_keep_json_dispose(&keep);
            weir_buf_dispose(&out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),      cmocka_unit_test(test_whose_words),
        cmocka_unit_test(test_templates), cmocka_unit_test(test_without_span),
        cmocka_unit_test(test_places),    cmocka_unit_test(test_places_in_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
