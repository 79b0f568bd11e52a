#include "base/buf.h"
#include "emit/fence.h"
#include "unit/cmocka_all.h"

/* Whether the end of `text` is inside a block, however it is cut. */
static void assert_open(const char *text, bool is_open)
{
    struct weir_slice whole = weir_slice_cstr(text);
    for (size_t cut = 0; cut <= whole.n; cut++) {
        struct weir_fence f = {0};
        weir_fence_feed(&f, weir_slice_sub(whole, 0, cut));
        weir_fence_feed(&f, weir_slice_sub(whole, cut, whole.n));
        assert_int_equal(weir_fence_is_open(&f), is_open);
    }
    struct weir_fence f = {0};
    for (size_t i = 0; i < whole.n; i++) {
        weir_fence_feed(&f, weir_slice_sub(whole, i, i + 1));
    }
    assert_int_equal(weir_fence_is_open(&f), is_open);
}

static void fences_open(void **state)
{
    (void)state;
    assert_open("```\n", true);
    assert_open("~~~\n", true);
    assert_open("text\n   ```python title=x\ncode", true);
    assert_open("~~~ `info` ~~~\n", true); /* tildes allow anything behind them */
    assert_open("``````\n", true);
    assert_open("```", false); /* the line is not over */
}

static void what_is_no_fence(void **state)
{
    (void)state;
    assert_open("``\n", false);
    assert_open("    ```\n", false);
    assert_open("\t```\n", false);
    assert_open("x ```\n", false);
    assert_open("``` a`b\n", false);
    assert_open("```x```\n", false);
    assert_open("`~`\n", false);
    assert_open("\n\n", false);
}

static void fences_close(void **state)
{
    (void)state;
    assert_open("```\na\n```\n", false);
    assert_open("```\na\n````\n", false);
    assert_open("```\na\n   ```  \t\r\n", false);
    assert_open("````\na\n```\n", true);
    assert_open("```\na\n~~~\n", true);
    assert_open("~~~\na\n~~~ x\n", true);
    assert_open("```\na\n```py\n", true);
    assert_open("```\na\n    ```\n", true);
    assert_open("```\na\n```\n~~~\nb\n", true);
    assert_open("```\na\n```\n~~~\nb\n~~~\n", false);
}

static void lines_of_any_length(void **state)
{
    (void)state;
    struct weir_buf line = {0};
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(weir_buf_append_byte(&line, i < 3 ? '`' : 'x'), 0);
    }
    struct weir_fence f = {0};
    weir_fence_feed(&f, weir_buf_slice(&line));
    assert_false(weir_fence_is_open(&f));
    weir_fence_feed(&f, WEIR_SLICE("\n"));
    assert_true(weir_fence_is_open(&f));
    line.p[0] = ' ';
    line.p[99999] = '`';
    weir_fence_feed(&f, weir_buf_slice(&line));
    weir_fence_feed(&f, WEIR_SLICE("\n"));
    assert_true(weir_fence_is_open(&f));
    weir_buf_dispose(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fences_open),
        cmocka_unit_test(what_is_no_fence),
        cmocka_unit_test(fences_close),
        cmocka_unit_test(lines_of_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
