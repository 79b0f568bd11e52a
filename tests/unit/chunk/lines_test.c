#include "chunk/lines.h"
#include "unit/cmocka_all.h"

#include <string.h>

/* For each line of a text: b blank, i item, f inside a fence (first and last line too), p prose. */
static const char *kinds_of(const char *text)
{
    static char kinds[64];
    struct weir_lines l = {0};
    size_t n = 0;
    bool was_fenced = false;
    for (const char *p = text; *p != 0; p++) {
        bool is_break = *p == '\n' || *p == '\r';
        if (is_break && !(*p == '\n' && l.was_cr)) {
            bool is_blank = weir_lines_is_start(&l);
            bool is_item = weir_lines_is_item(&l);
            weir_lines_step(&l, (uint32_t)*p, WEIR_LINES_BREAK);
            assert_int_equal(l.was_blank, is_blank);
            bool is_fenced = was_fenced || weir_lines_is_fenced(&l);
            kinds[n++] = is_fenced ? 'f' : is_blank ? 'b' : is_item ? 'i' : 'p';
            was_fenced = weir_lines_is_fenced(&l);
        } else {
            bool is_space = *p == ' ' || *p == '\t';
            weir_lines_step(&l, (uint32_t)(unsigned char)*p,
                            is_break   ? WEIR_LINES_BREAK
                            : is_space ? WEIR_LINES_SPACE
                                       : WEIR_LINES_SOLID);
        }
    }
    kinds[n] = 0;
    return kinds;
}

static void test_items(void **state)
{
    (void)state;
    assert_string_equal(kinds_of("- a\n* b\n+ c\n  - d\n\t1. e\n12) f\n# g\n### h\n"), "iiiiiiii");
    assert_string_equal(kinds_of("**1. a**\n**1.** b\n1.2. c\n> - d\n- [ ] e\n"), "iiiii");
    assert_string_equal(kinds_of("-a\n1.a\n1234. a\n1 a\n**a** b\n> a\n1.\n3.14 a\n"), "pppppppp");
}

static void test_blank(void **state)
{
    (void)state;
    assert_string_equal(kinds_of("\n \t\na\r\n\r\n\rb\r\r\n"), "bbpbbpb");
}

static void test_fences(void **state)
{
    (void)state;
    assert_string_equal(kinds_of("```\na\n\n```\nb\n"), "ffffp");
    assert_string_equal(kinds_of("````\n```\n````x\n`````  \nb\n"), "ffffp");
    assert_string_equal(kinds_of("~~~ a ``` b\n```\n~~~\nb\n"), "fffp");
    assert_string_equal(kinds_of("    ```sh\n  a\n ```\nb\n"), "fffp");
    assert_string_equal(kinds_of("> ```\n> a\n> ```\nb\n"), "fffp");
    assert_string_equal(kinds_of("1. ```\n   ```\nb\n"), "ffp");
    assert_string_equal(kinds_of("``` a ` b\n``\n**```\nb\n"), "pppp");
    assert_string_equal(kinds_of("```\r\na\r\n```\r\nb\r\n"), "fffp");
    assert_string_equal(kinds_of("```\n- a\n# b\n"), "fff");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_items),
    cmocka_unit_test(test_blank),
    cmocka_unit_test(test_fences),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
