#include "unit/cmocka_all.h"

#include "base/err.h"
#include "wire/base64.h"

static void known_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *standard, *bare, *url;
    } rows[] = {
        {"", "", "", ""},
        {"f", "Zg==", "Zg", "Zg"},
        {"fo", "Zm8=", "Zm8", "Zm8"},
        {"foo", "Zm9v", "Zm9v", "Zm9v"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy", "Zm9vYmFy"},
        {"\xfb\xff\xfe\xff", "+//+/w==", "+//+/w", "-__-_w"},
    };
    struct weir_arena a = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *texts[] = {rows[i].standard, rows[i].bare, rows[i].url};
        for (int form = WEIR_BASE64_STANDARD; form <= WEIR_BASE64_URL; form++) {
            enum weir_base64_form f = (enum weir_base64_form)form;
            struct weir_slice bytes = weir_slice_cstr(rows[i].bytes);
            assert_true(weir_slice_eq_cstr(weir_base64_encode(&a, f, bytes), texts[form]));
            struct weir_slice back;
            assert_int_equal(weir_base64_decode(&a, f, weir_slice_cstr(texts[form]), &back), 0);
            assert_true(weir_slice_eq(back, bytes));
        }
    }
    weir_arena_dispose(&a);
}

static void all_bytes_come_back(void **state)
{
    (void)state;
    char bytes[260];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 7);
    }
    struct weir_arena a = {0};
    for (size_t n = 0; n <= sizeof bytes; n++) {
        for (int form = WEIR_BASE64_STANDARD; form <= WEIR_BASE64_URL; form++) {
            enum weir_base64_form f = (enum weir_base64_form)form;
            struct weir_slice in = weir_slice_make(bytes, n);
            struct weir_slice back;
            struct weir_slice text = weir_base64_encode(&a, f, in);
            assert_int_equal(weir_base64_decode(&a, f, text, &back), 0);
            assert_true(weir_slice_eq(back, in));
        }
    }
    weir_arena_dispose(&a);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        enum weir_base64_form form;
        const char *text;
    } rows[] = {
        {WEIR_BASE64_STANDARD, "Zg"}, /* padding is missing */
        {WEIR_BASE64_STANDARD, "Zg="},
        {WEIR_BASE64_STANDARD, "Zg==="}, /* too much of it */
        {WEIR_BASE64_STANDARD, "Z==="},
        {WEIR_BASE64_STANDARD, "===="},
        {WEIR_BASE64_STANDARD, "="},
        {WEIR_BASE64_STANDARD, "Zg==Zg=="}, /* in the middle */
        {WEIR_BASE64_STANDARD, "Zm=v"},
        {WEIR_BASE64_STANDARD, "Zh=="}, /* unused bits */
        {WEIR_BASE64_STANDARD, "Zm9="},
        {WEIR_BASE64_STANDARD, "Zm9v\n"}, /* white space */
        {WEIR_BASE64_STANDARD, "Zm 9"},
        {WEIR_BASE64_STANDARD, "-__-"}, /* the other alphabet */
        {WEIR_BASE64_STANDARD, "Zm9\x80"},
        {WEIR_BASE64_BARE, "Zg=="},
        {WEIR_BASE64_BARE, "Z"},
        {WEIR_BASE64_BARE, "Zh"},
        {WEIR_BASE64_BARE, "Zm9vY"},
        {WEIR_BASE64_BARE, "A"}, /* one digit says nothing, even with no bit set */
        {WEIR_BASE64_URL, "Zm9vA"},
        {WEIR_BASE64_URL, "Zg=="},
        {WEIR_BASE64_URL, "+//+"},
        {WEIR_BASE64_URL, "Zm9"},
    };
    struct weir_arena a = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weir_slice bytes;
        assert_int_equal(
            weir_base64_decode(&a, rows[i].form, weir_slice_cstr(rows[i].text), &bytes), WEIR_EBAD);
    }
    weir_arena_dispose(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_pairs),
        cmocka_unit_test(all_bytes_come_back),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
