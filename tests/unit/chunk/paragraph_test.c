#include "chunk/paragraph.h"
#include "unit/chunk/cutting.h"
#include "unit/cmocka_all.h"

static struct weir_chunk_paragraph chunker;

static int set_up(void **state)
{
    (void)state;
    weir_chunk_paragraph_init(&chunker, WEIR_SLICE("paragraphs"), 0);
    return 0;
}

static void test_paragraphs(void **state)
{
    (void)state;
    static const char *const wants[] = {
        "",
        " \n\n ",
        "One. Two.\nThree.\n\n|Four.\n \t \n  |Five.",
        "\n\n  One.\r\n\r\n\r\n|Two.\r\nThree\r\r|Four\n\r\n|Five\n",
        "One\xe2\x80\xa9|Two\xe2\x80\xa8Three\xe2\x80\xa8\xe2\x80\xa8|Four\xc2\x85\xc2\x85|Five",
        "\u4f60\u597d\u3002\u3000\n\u3000\n|\u518d\u89c1",
        NULL,
    };
    for (const char *const *want = wants; *want != NULL; want++) {
        cutting_expect(&chunker.base, *want);
    }
}

static void test_fences(void **state)
{
    (void)state;
    static const char *const wants[] = {
        "Look:\n\n|```\na\n\n\nb\n```\n\n|After\n\n|that",
        "Look:\n```\na\n\nb\n```\nstill\n\n|new",
        "~~~\na\n\n```\n\n~~~\n\n|out",
        "```a``` b\n\n|c\n\n|```\nunclosed\n\nto the end",
        "  - ```\n\n  ```\n\n|x",
        NULL,
    };
    for (const char *const *want = wants; *want != NULL; want++) {
        cutting_expect(&chunker.base, *want);
    }
}

static void test_bound(void **state)
{
    (void)state;
    struct weir_chunk_paragraph small;
    weir_chunk_paragraph_init(&small, WEIR_SLICE("small"), 1); /* the least is 16 */
    cutting_expect(&small.base, "twelve signs |are\nthe most |inalineofthebest|of");
    weir_chunk_paragraph_init(&small, WEIR_SLICE("small"), 20);
    cutting_expect(&small.base, "abcdef ghijk\n|lmnop qrstuv wxyz");
    cutting_expect(&small.base, "```\nabcdefgh\n\n|ijklmnop qrst\n```\n\n|end");
    cutting_expect(&small.base, "aaaaaaaaaaaaaaaaaaaa|aaaaaaaaaaaaaaaaaaaa|aaa bbb");
    cutting_expect(&small.base, "a\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n|\n\nb");
}

static void test_out_with_the_next(void **state)
{
    (void)state;
    struct cutting_input in = {.chunker = &chunker.base, .text = WEIR_SLICE("One\n\n\nTwo\n\nX")};
    struct cutting c = cutting_run(&in, 1, NULL);
    assert_int_equal(c.n, 3);
    assert_int_equal(c.chunks[0].known_cp, 7);
    assert_int_equal(c.chunks[1].known_cp, 12);
    cutting_dispose(&c);
}

static void test_cut(void **state)
{
    (void)state;
    size_t cuts[] = {2, 3, 11};
    struct weir_slice text = WEIR_SLICE("abc\n\n```\nde\n\nf\n```\n\ng");
    struct cutting_input in = {&chunker.base, text, cuts, 3};
    cutting_check_all(&in, 10);
    struct cutting c = cutting_run(&in, 1, NULL);
    struct weir_buf got = {0};
    cutting_print(&got, &c, text);
    assert_string_equal(weir_buf_cstr(&got), "ab|c|\n\n```\nde|\n\nf\n```\n\n|g");
    weir_buf_dispose(&got);
    cutting_dispose(&c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_paragraphs), cmocka_unit_test(test_fences),
    cmocka_unit_test(test_bound),      cmocka_unit_test(test_out_with_the_next),
    cmocka_unit_test(test_cut),
};

int main(void)
{
    return cmocka_run_group_tests(tests, set_up, NULL);
}
