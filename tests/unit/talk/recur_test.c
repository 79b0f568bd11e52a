/* Where values recur: whole words, in their normalised form. */
#include "talk/recur.h"

#include "unit/cmocka_all.h"

#include <stdlib.h>

struct heard {
    char marks[256]; /* a # for each byte that was found */
    size_t n;
};

static bool on_found(void *ctx, struct weir_slice text, size_t from, size_t to, const void *tag)
{
    struct heard *h = ctx;
    assert_true(from < to && to <= text.n && to < sizeof h->marks);
    assert_non_null(tag);
    memset(h->marks + from, '#', to - from);
    h->n++;
    return true;
}

static bool on_counted(void *ctx, struct weir_slice text, size_t from, size_t to, const void *tag)
{
    (void)text;
    (void)tag;
    assert_true(from < to);
    *(size_t *)ctx += 1;
    return true;
}

struct value {
    enum weir_mask_form form;
    const char *norm;
};

static const struct value VALUES[] = {
    {WEIR_MASK_AS_IS, "Jane Doe"},
    {WEIR_MASK_AS_IS, "Jane"},
    {WEIR_MASK_AS_IS, "Doe"}, /* too short */
    {WEIR_MASK_LOWER, "jane@example.org"},
    {WEIR_MASK_DIGITS, "4111111111111111"},
    {WEIR_MASK_DIGITS, "15551234567"},
    {WEIR_MASK_AS_IS, "\xE6\x9D\xB1\xE4\xBA\xAC\xE9\x83\xBD\xE6\xB8\xAF"},
    {WEIR_MASK_AS_IS, "-4321"},
};

static void finds(const char *text, const char *marks)
{
    struct weir_arena arena = {0};
    struct weir_recur *r = weir_recur_new(&arena);
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++) {
        assert_int_equal(
            weir_recur_add(r, VALUES[i].form, weir_slice_cstr(VALUES[i].norm), &VALUES[i]), 0);
    }
    weir_recur_build(r);
    struct heard h = {.n = 0};
    memset(h.marks, '.', strlen(text));
    weir_recur_find(r, weir_slice_cstr(text), &(struct weir_recur_sink){on_found, &h});
    assert_string_equal(h.marks, marks);
    weir_arena_dispose(&arena);
}

static void test_finds(void **state)
{
    (void)state;
    finds("", "");
    finds("Jane Doe", "########");
    finds("to Jane Doe.", "...########.");
    finds("Jane Does", "####.....");
    finds("xJane Doe", ".........");
    finds("Janes \xC3\xA9Jane Jane\xC3\xA9", "...................");
    finds("jane", "....");
    finds("JANE@example.ORG,", "################.");
    finds("xjane@example.org", ".................");
    finds("jane@example.org.uk", "################..."); /* which is not inside a word */
    finds("4111-1111 1111.1111", "###################");
    finds("4111  1111\xC2\xA0"
          "11111111",
          "####################");
    finds("4111    1111 1111 1111", "......................");
    finds("4111a1111 1111 1111", "...................");
    finds("94111111111111111", ".................");
    finds("9 4111111111111111", "..################");
    finds("+1 (555) 123-4567", ".################");
    finds("\xE5\x9C\xA8\xE6\x9D\xB1\xE4\xBA\xAC\xE9\x83\xBD\xE6\xB8\xAF\xE5\x8D\x80",
          "...############...");
    finds("a-4321", ".#####");
    finds("-43210", "......");
}

/* Many nested values and a text made of them: the time must not explode, and no byte is missed. */
static void test_nested(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_recur *r = weir_recur_new(&arena);
    char value[WEIR_RECUR_VALUE_BYTES + 1] = "b";
    size_t n = 1;
    while (n + 3 <= WEIR_RECUR_VALUE_BYTES) {
        memcpy(value + n, " bb", 4);
        n += 3;
        assert_int_equal(weir_recur_add(r, WEIR_MASK_AS_IS, weir_slice_cstr(value), value), 0);
    }
    weir_recur_build(r);
    enum { BYTES = 300000 };
    char *text = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++) {
        text[i] = i % 3 == 2 ? ' ' : 'b';
    }
    size_t n_found = 0;
    weir_recur_find(r, weir_slice_make(text, BYTES),
                    &(struct weir_recur_sink){on_counted, &n_found});
    assert_in_range(n_found, BYTES / 3 - 32, BYTES / 3); /* one for each end of a word */
    weir_arena_dispose(&arena);
    free(text);
}

static void test_limits(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_recur *r = weir_recur_new(&arena);
    char value[WEIR_RECUR_VALUE_BYTES + 2];
    memset(value, 'a', sizeof value);
    int rc = 0;
    size_t n = 0;
    struct weir_slice long_one = {value, WEIR_RECUR_VALUE_BYTES + 1};
    assert_int_equal(weir_recur_add(r, WEIR_MASK_AS_IS, long_one, value), 0); /* is not sought */
    for (; rc == 0 && n < 2000; n++) {
        memcpy(value, &n, sizeof n);
        rc = weir_recur_add(r, WEIR_MASK_AS_IS, weir_slice_make(value, WEIR_RECUR_VALUE_BYTES),
                            value);
    }
    assert_int_not_equal(rc, 0);
    assert_int_equal(n, WEIR_RECUR_BYTES / WEIR_RECUR_VALUE_BYTES + 1);
    weir_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_finds), cmocka_unit_test(test_nested),
                                       cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
