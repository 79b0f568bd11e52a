/* Escapes and base64 are seen as what they stand for; spans are of what is written. */
#include "unit/cmocka_all.h"

#include "base/mem.h"
#include "detect/regex.h"
#include "detect/secrets.h"
#include "unit/detect/builtin_probe.h"

static const struct probe_case personal[] = {
    {"mail=ann%40example.com&x=1", "email_address[ann%40example.com]"},
    {"c&#97;ll ann&#64;example.com.", "email_address[ann&#64;example.com]"},
    {"\"to\":\"ann\\u0040example\\u002ecom\"", "email_address[ann\\u0040example\\u002ecom]"},
    {"tel=(212)%20555-0187", "us-phone-number[(212)%20555-0187]"},
    {"4111%2D1111%2D1111%2D1111", "credit_card[4111%2D1111%2D1111%2D1111]"},
    /* my mail is ann@example.com ok */
    {"see bXkgbWFpbCBpcyBhbm5AZXhhbXBsZS5jb20gb2s= there",
     "email_address[bXkgbWFpbCBpcyBhbm5AZXhhbXBsZS5jb20gb2s=]"},
    /* one level only: %2540 is %40 */
    {"(212)%2520555-0187", ""},
    {"100%25 of 555&amp;1234, C:\\users\\x, internationalisation of everything", ""},
};

static void test_personal(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_regex, "{\"regex\":[\"email\",\"phone\",\"credit-card\"]}");
    probe_cases(&p, personal, sizeof personal / sizeof personal[0]);
    probe_close(&p);
}

static const struct probe_case hidden[] = {
    {"q=password%3DXk29fjQ8sLpv%20and", "password[Xk29fjQ8sLpv]"},
    {"{\\u0022password\\u0022:\\u0022Xk29fjQ8sLpv\\u0022}", "password[Xk29fjQ8sLpv]"},
};

static void test_hidden(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_secrets, "{}");
    probe_cases(&p, hidden, sizeof hidden / sizeof hidden[0]);
    probe_close(&p);
}

/* A word of more than 1,024 bytes behind its first escape is let go, and costs no more than others.
 */
static void test_long_words(void **state)
{
    (void)state;
    static const char *const floods[] = {"%41",  "&#65;", "\\u0041", "aGVsbG8gd29ybGQg",
                                         "%41 ", "="};
    struct probe p;
    probe_open(&p, &weir_detect_regex, "{\"regex\":[\"email\"]}");
    size_t n = 300000;
    char *text = weir_mem_alloc(n);
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        for (size_t at = 0; at < n; at++) {
            text[at] = floods[i][at % strlen(floods[i])];
        }
        const struct weir_detect_call *call = probe_ask(&p, weir_slice_make(text, n), "");
        assert_int_equal(call->fault.origin, WEIR_FAULT_NONE);
        assert_int_equal(call->lists[0].n, 0);
    }
    free(text);
    probe_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_personal),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
