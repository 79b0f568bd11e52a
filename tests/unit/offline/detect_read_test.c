/* Bytes to blocks: the same text whatever the cuts, valid whatever the bytes, covered once. */
#include "offline/detect_read.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "unit/cmocka_all.h"

#include <stdlib.h>

/* What all blocks answer for, joined. Places are checked on the way. */
static void read_all(struct weir_slice bytes, size_t step, struct weir_buf *out)
{
    struct weir_detect_read r;
    struct weir_detect_block block;
    struct weir_detect_place place = {.line = 1, .column = 1};
    weir_detect_read_init(&r);
    for (size_t at = 0; at <= bytes.n; at += step) {
        size_t end = bytes.n - at < step ? bytes.n : at + step;
        weir_detect_read_add(&r, weir_slice_sub(bytes, at, end));
        if (end == bytes.n) {
            weir_detect_read_end(&r);
        }
        while (weir_detect_read_next(&r, &block)) {
            assert_true(weir_utf8_is_valid(block.text));
            assert_true(block.text.n <= WEIR_DETECT_READ_BLOCK_BYTES);
            assert_true(block.answers_bytes != 0 && block.answers_bytes <= block.text.n);
            assert_memory_equal(&block.place, &place, sizeof place);
            struct weir_slice answers = weir_slice_sub(block.text, 0, block.answers_bytes);
            assert_int_equal(block.answers_cp, weir_utf8_count(answers));
            size_t overlap = block.text.n - block.answers_bytes;
            assert_true(block.is_last ? overlap == 0
                                      : overlap >= WEIR_DETECT_READ_OVERLAP_BYTES - 4);
            weir_buf_append(out, answers);
            weir_detect_place_move(&place, &answers, block.answers_cp);
            weir_detect_read_pass(&r, &block);
        }
        if (end == bytes.n) {
            break;
        }
    }
    assert_true(r.is_last_out || out->n == 0);
    weir_detect_read_dispose(&r);
}

static void expect(struct weir_slice bytes, struct weir_slice expected)
{
    static const size_t steps[] = {1, 2, 3, 5, 1000, 65536};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct weir_buf out = {0};
        read_all(bytes, steps[i], &out);
        assert_true(weir_slice_eq(weir_buf_slice(&out), expected));
        weir_buf_dispose(&out);
    }
}

#define BAD "\xEF\xBF\xBD"

static void test_bytes(void **state)
{
    (void)state;
    expect(WEIR_SLICE(""), WEIR_SLICE(""));
    expect(WEIR_SLICE("a"), WEIR_SLICE("a"));
    expect(WEIR_SLICE("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"),
           WEIR_SLICE("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"));
    expect(WEIR_SLICE("\xEF\xBB\xBFx"), WEIR_SLICE("x"));
    expect(WEIR_SLICE("\xEF\xBB\xBF"), WEIR_SLICE(""));
    expect(WEIR_SLICE("x\xEF\xBB\xBF"), WEIR_SLICE("x\xEF\xBB\xBF"));
    expect(WEIR_SLICE("\xEF\xBB"), WEIR_SLICE(BAD BAD));
    expect(WEIR_SLICE("\xFF\xFD\x80"), WEIR_SLICE(BAD BAD BAD));
    expect(WEIR_SLICE("\xFF"), WEIR_SLICE(BAD));
    expect(WEIR_SLICE("\xE2\x82"
                      "a\xE2"),
           WEIR_SLICE(BAD BAD "a" BAD));
    expect(WEIR_SLICE("\xED\xA0\x80\xC0\xAF\xF4\x90\x80\x80"),
           WEIR_SLICE(BAD BAD BAD BAD BAD BAD BAD BAD BAD));
    expect(WEIR_SLICE("\xF0\x9F\xF0\x9F\x98\x80"), WEIR_SLICE(BAD BAD "\xF0\x9F\x98\x80"));
    expect(WEIR_SLICE("a\0b"), WEIR_SLICE("a\0b"));
}

static void test_utf16(void **state)
{
    (void)state;
    expect(WEIR_SLICE("\xFF\xFE"), WEIR_SLICE(""));
    expect(WEIR_SLICE("\xFF\xFE"
                      "a\0\xFC\0\x3D\xD8\0\xDE"),
           WEIR_SLICE("a\xC3\xBC\xF0\x9F\x98\x80"));
    expect(WEIR_SLICE("\xFE\xFF\0a\0\xFC\xD8\x3D\xDE\0"), WEIR_SLICE("a\xC3\xBC\xF0\x9F\x98\x80"));
    /* Halves without a partner, at the end too, and half a unit. */
    expect(WEIR_SLICE("\xFE\xFF\xD8\x3D\xD8\x3D\xDE\0\0b"), WEIR_SLICE(BAD "\xF0\x9F\x98\x80"
                                                                           "b"));
    expect(WEIR_SLICE("\xFE\xFF\xDE\0\0b\xD8\x3D"), WEIR_SLICE(BAD "b" BAD));
    expect(WEIR_SLICE("\xFE\xFF\0b\0"), WEIR_SLICE("b" BAD));
}

/* Texts of several blocks: with lines, with spaces only, with nothing to cut at. */
static void test_blocks(void **state)
{
    static const char *const fillers[] = {"a line\n", "word ", "x", "\xF0\x9F\x98\x80",
                                          "\xE2\x82\xAC"};
    (void)state;
    for (size_t i = 0; i < sizeof fillers / sizeof fillers[0]; i++) {
        struct weir_buf text = {0};
        while (text.n < 3 * (size_t)WEIR_DETECT_READ_BLOCK_BYTES) {
            weir_buf_append(&text, weir_slice_cstr(fillers[i]));
        }
        struct weir_buf out = {0};
        read_all(weir_buf_slice(&text), 4099, &out);
        assert_true(weir_slice_eq(weir_buf_slice(&out), weir_buf_slice(&text)));
        weir_buf_dispose(&out);
        weir_buf_dispose(&text);
    }
}

static void test_blocks_begin_with_a_line(void **state)
{
    struct weir_detect_read r;
    struct weir_detect_block block;
    struct weir_buf text = {0};
    (void)state;
    while (text.n < 4 * (size_t)WEIR_DETECT_READ_BLOCK_BYTES) {
        weir_buf_printf(&text, "some words in line %zu\n", text.n);
    }
    weir_detect_read_init(&r);
    weir_detect_read_add(&r, weir_buf_slice(&text));
    weir_detect_read_end(&r);
    while (weir_detect_read_next(&r, &block)) {
        assert_int_equal(block.place.column, 1);
        assert_true(weir_slice_starts_with(block.text, WEIR_SLICE("some words")));
        weir_detect_read_pass(&r, &block);
    }
    weir_detect_read_dispose(&r);
    weir_buf_dispose(&text);
}

static void test_places(void **state)
{
    struct weir_detect_place p = {.line = 1, .column = 1};
    struct weir_slice rest = WEIR_SLICE("\xC3\xBC"
                                        "b\n\ncd");
    (void)state;
    weir_detect_place_move(&p, &rest, 2);
    assert_int_equal(p.line, 1);
    assert_int_equal(p.column, 3);
    weir_detect_place_move(&p, &rest, 3);
    assert_int_equal(p.line, 3);
    assert_int_equal(p.column, 2);
    assert_int_equal(p.at_cp, 5);
    assert_true(weir_slice_eq_cstr(rest, "d"));
    weir_detect_place_move(&p, &rest, 100);
    assert_int_equal(p.at_cp, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),  cmocka_unit_test(test_utf16),
        cmocka_unit_test(test_blocks), cmocka_unit_test(test_blocks_begin_with_a_line),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
