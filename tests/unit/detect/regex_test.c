/* `regex`: personal data with its checks, near misses, spans, custom patterns and their limits. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "base/mem.h"
#include "detect/pii.h"
#include "detect/regex.h"
#include "unit/detect/builtin_probe.h"

#include <string.h>

#define ALL                                                                                        \
    "{\"regex\":[\"email\",\"credit-card\",\"ipv4\",\"ipv6\",\"phone\",\"us-ssn\",\"uk-post-"      \
    "code\","                                                                                      \
    "\"iban\"]}"

static const struct probe_case cases[] = {
    {"Mail ann.lee+x@mail.example.co.uk.", "email_address[ann.lee+x@mail.example.co.uk]"},
    {"<o'brien@example.com>, bob@x.io", "email_address[o'brien@example.com] "
                                        "email_address[bob@x.io]"},
    {"邮箱john@example.com。", "email_address[john@example.com]"},
    {"jürgen@bücher.example иван@пример.рф", "email_address[jürgen@bücher.example] "
                                             "email_address[иван@пример.рф]"},
    {"9.0.0.1-9.0.0.9 host.example/8.8.8.8", "ipv4[9.0.0.1] ipv4[9.0.0.9] ipv4[8.8.8.8]"},
    {"10.0.0.1 127.0.0.1 192.168.1.254 172.16.0.1 169.254.1.1 100.64.0.1 198.51.100.1", ""},
    {"0.0.0.0 255.255.255.255 224.0.0.1 203.0.113.7 192.0.2.1 198.18.0.1 ::1 fe80::1 fd00::1", ""},
    {"172.32.0.1 100.128.0.1 \"v8\": \"4.5.103.43\"", "ipv4[172.32.0.1] ipv4[100.128.0.1]"},
    {"so.1.2.3.4 nginx/1.2.3.4 1.2.3.4-beta 1.2.3.4 release oid 1.2.3.4 x-1.2.3.4", ""},
    {"args[::2] x[1::2]", ""},
    {"an DE75 5121 0800 1245 1261 99, BIC", "iban[DE75 5121 0800 1245 1261 99]"},
    {"(415)-555-0199 at w1a 0ax, GIR 0AA", "us-phone-number[(415)-555-0199] "
                                           "uk-post-code[w1a 0ax] uk-post-code[GIR 0AA]"},
    {"sw1 2nd, cr2 5gb", ""},
    {"icon@2x.png, @home, a@b, x@y.1, git@github.com:a/b.git", ""},
    {"https://user:secret@host.example.com/", ""},
    {"pay 4111 1111 1111 1111 12/27", "credit_card[4111 1111 1111 1111]"},
    {"4111-1111-1111-1111, 378282246310005", "credit_card[4111-1111-1111-1111] "
                                             "credit_card[378282246310005]"},
    {"5555555555554444 5105105105105100", "credit_card[5555555555554444] "
                                          "credit_card[5105105105105100]"},
    {"4111 1111 1111 1112, 1234567812345670, 0.4111111111111111", ""},
    {"at 93.184.216.34:8080, 9.0.0.0/8.", "ipv4[93.184.216.34] ipv4[9.0.0.0]"},
    {"256.1.1.1 1.2.3 1.2.3.4.5 v1.2.3.4 version 1.2.3.4 01.2.3.4", ""},
    {"[2606:4700::1]:443 and 2a00:1ff:fe23:4567:890a::, ::ffff:8.8.8.8.",
     "ipv6[2606:4700::1] ipv6[2a00:1ff:fe23:4567:890a::] ipv6[::ffff:8.8.8.8] ipv4[8.8.8.8]"},
    {"[2001:db8::1]:443 ::ffff:10.0.0.1", ""},
    {"to=ann%40example.com&n=1 q%3Dbob%40b.example x@y.xn--p1ai 50%40 off",
     "email_address[ann%40example.com] email_address[bob%40b.example] email_address[x@y.xn--p1ai]"},
    {"+44 (0)20 7946 0958, 0049 30 901820, 06 12 34 56 78, (11) 91234-5678",
     "phone-number[+44 (0)20 7946 0958] phone-number[0049 30 901820] "
     "phone-number[06 12 34 56 78] phone-number[(11) 91234-5678]"},
    {"212-555-0187x4587, 123-456 7890, 001-212-555-0187, (212-555-0187)",
     "us-phone-number[212-555-0187x4587] us-phone-number[123-456 7890] "
     "us-phone-number[001-212-555-0187] us-phone-number[212-555-0187]"},
    {"tel. 22 55 14 88; tel +44 20; +999 1234567890, ISBN 0-306-40615-2, lot 0415-555-0132",
     "phone-number[22 55 14 88]"},
    {"219.09.8765, 219 09 8765, 219-09.8765, ssn 219-098765, 912-72-3456, 987-65-4321",
     "social_security_number[219.09.8765] social_security_number[219 09 8765] "
     "social_security_number[219-098765] us-itin[912-72-3456]"},
    {"call now, card 4111 1111 1111 1111", "credit_card[4111 1111 1111 1111]"},
    {"6331101999990016 122000000000003", "credit_card[6331101999990016] "
                                         "credit_card[122000000000003]"},
    {"12:30:45 std::dec a::b 00:1B:44:11:3A:B7 2001:db8::g", ""},
    {"call (555) 123-4567 or +1 212-555-0123 or 646.555.0199",
     "us-phone-number[(555) 123-4567] us-phone-number[+1 212-555-0123] "
     "us-phone-number[646.555.0199]"},
    {"phone: 2125550123; order 2125550123", "us-phone-number[2125550123]"},
    {"SSN 536-22-1234, ssn:536221234", "social_security_number[536-22-1234] "
                                       "social_security_number[536221234]"},
    {"000-12-3456 666-12-3456 912-34-5678 123-00-4567 536-22-12345 536221234", ""},
    {"at SW1A 1AA, M1 1AE or EC1A1BB", "uk-post-code[SW1A 1AA] uk-post-code[M1 1AE] "
                                       "uk-post-code[EC1A1BB]"},
    {"b2 3rd ZZ1 1AA XSW1A 1AAB A1 1AA", ""},
    {"GB82 WEST 1234 5698 7654 32 / DE89370400440532013000",
     "iban[GB82 WEST 1234 5698 7654 32] iban[DE89370400440532013000]"},
    {"GB82 WEST 1234 5698 7654 33, DE8937040044053201300", ""},
};

static void test_names(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_regex, ALL);
    probe_cases(&p, cases, sizeof cases / sizeof cases[0]);
    probe_close(&p);
}

/* The older names are taken, and mean what the new ones do. */
static void test_older_names(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_regex,
               "{\"regex\":[\"us-phone-number\",\"us-social-security-number\"]}");
    assert_string_equal(probe_line(&p, "+1 212-555-0123 +44 20 7946 0958 SSN 536-22-1234"),
                        "us-phone-number[+1 212-555-0123] phone-number[+44 20 7946 0958] "
                        "social_security_number[536-22-1234]");
    probe_close(&p);
}

/* A kind that nobody asked for is not looked for; one that was is checked. */
static void test_ids(void **state)
{
    (void)state;
    static const struct probe_case one[] = {
        {"RSSMRA85T10A562S and ABCPK1234L", "it-fiscal-code[RSSMRA85T10A562S]"},
        {"RSSMRA85T10A562T, xRSSMRA85T10A562S, RSSMRA85T10A562SX", ""},
    };
    struct probe p;
    probe_open(&p, &weir_detect_regex, "{\"regex\":[\"it-fiscal-code\"]}");
    probe_cases(&p, one, sizeof one / sizeof one[0]);
    probe_close(&p);
    static const struct probe_case several[] = {
        {"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed 0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
         "ethereum-address[0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed]"},
        {"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb",
         "bitcoin-address[1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa]"},
        {"401-023-2137, order 4010232137, NHS 4010232137",
         "uk-nhs[401-023-2137] uk-nhs[4010232137]"},
        {"1HGCM82633A004352 1HGCM82633A004353", "vin[1HGCM82633A004352]"},
        {"", ""},
    };
    probe_open(&p, &weir_detect_regex,
               "{\"regex\":[\"ethereum-address\",\"bitcoin-address\",\"uk-nhs\",\"vin\"]}");
    probe_cases(&p, several, sizeof several / sizeof several[0]);
    probe_close(&p);
}

static void test_spans_are_code_points(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_regex, "{\"regex\":[\"email\"]}");
    const struct weir_detect_call *call =
        probe_ask(&p, WEIR_SLICE("grüße 世界 a@b.de ü c@d.de"), "");
    assert_int_equal(call->lists[0].n, 2);
    const struct weir_detection *d = call->lists[0].items;
    assert_int_equal(d[0].start_cp, 9);
    assert_int_equal(d[0].end_cp, 15);
    assert_int_equal(d[1].start_cp, 18);
    assert_int_equal(d[1].end_cp, 24);
    assert_true(weir_slice_eq_cstr(d[0].detection_type, "pii"));
    assert_true(weir_slice_eq_cstr(d[0].detector_id, "det"));
    assert_true(d[0].score == 1.0);
    probe_close(&p);
}

static void test_request_params_replace(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_regex, "{\"regex\":[\"email\"]}");
    for (int i = 0; i < 100; i++) { /* more than are kept */
        char params[64];
        snprintf(params, sizeof params, "{\"regex\":[\"x%d\",\"ipv4\"]}", i % 50);
        const struct weir_detect_call *call =
            probe_ask(&p, WEIR_SLICE("a@b.de 9.0.0.1 x49 x7"), params);
        assert_int_equal(call->fault.origin, WEIR_FAULT_NONE);
        size_t n_x = i % 50 == 49 || i % 50 == 7 || i % 50 == 4;
        assert_int_equal(call->lists[0].n, 1 + n_x);
    }
    assert_string_equal(probe_line(&p, "a@b.de 9.0.0.1"), "email_address[a@b.de]");
    probe_close(&p);
}

static void test_custom(void **state)
{
    (void)state;
    static const struct probe_case custom[] = {
        {"ORD-123456, ord-1", "custom-regex[ORD-123456]"},
        {"straße STRASSE größe", "custom-regex[größe]"},
        {"ab", "custom-regex[b]"},
        {"", ""},
    };
    struct probe p;
    probe_open(&p, &weir_detect_regex,
               "{\"regex\":[\"ORD-\\\\d{6}\",\"\\\\bgr\\\\w+\",\"(?<=a)b|z*\"]}");
    probe_cases(&p, custom, sizeof custom / sizeof custom[0]);
    const struct weir_detect_call *call = probe_ask(&p, WEIR_SLICE("ORD-999999"), "");
    assert_true(weir_slice_eq_cstr(call->lists[0].items[0].detection_type, "regex"));
    probe_close(&p);
}

static void refuses(const char *params, const char *words)
{
    struct weir_builtin b;
    struct weir_buf why = {0};
    assert_int_not_equal(
        weir_builtin_init(&b, &weir_detect_regex, WEIR_SLICE("d"), weir_slice_cstr(params), &why),
        0);
    assert_non_null(strstr(weir_buf_cstr(&why), words));
    weir_buf_dispose(&why);
    weir_builtin_dispose(&b);
}

static void test_named_patterns(void **state)
{
    (void)state;
    static const struct probe_case named[] = {
        {"ORD-12345678 and a@b.de", "order-number[ORD-12345678] email_address[a@b.de]"},
    };
    struct probe p;
    probe_open(&p, &weir_detect_regex,
               "{\"regex\":[{\"name\":\"order-number\",\"pattern\":\"ORD-\\\\d{8}\"},\"email\"]}");
    probe_cases(&p, named, 1);
    probe_close(&p);
    refuses("{\"regex\":[{\"name\":\"a\"}]}", "a `name` and a `pattern`");
    refuses("{\"regex\":[{\"name\":\"a\",\"pattern\":\"b\",\"x\":1}]}", "a `name` and a `pattern`");
    refuses("{\"regex\":[{\"name\":\"a\",\"pattern\":5}]}", "which are strings");
    refuses("{\"regex\":[{\"name\":\"\",\"pattern\":\"b\"}]}", "the name of a pattern");
    refuses("{\"regex\":[{\"name\":\"a\\u00e9\",\"pattern\":\"b\"}]}", "the name of a pattern");
    refuses("{\"regex\":[{\"name\":\"a\",\"pattern\":\"(\"}]}", "regular expression");
    refuses("{\"regex\":[5]}", "array of strings");
    refuses("{\"regex\":{}}", "array of at most 32");
}

static void test_words_that_are_no_names(void **state)
{
    (void)state;
    static const struct {
        const char *params, *unknown;
    } words[] = {{"{}", NULL},
                 {"{\"regex\":\"email\"}", NULL},
                 {"{\"regex\":\"emial\"}", "emial"},
                 {"{\"regex\":[\"email\",\"us-ssn\",\"us-phone-number\"]}", NULL},
                 {"{\"regex\":[\"email\",\"us_ssn\"]}", "us_ssn"},
                 {"{\"regex\":[\"Email\"]}", "Email"},
                 {"{\"regex\":[\"a b\",\"x.y\",\"\"]}", NULL},
                 {"{\"regex\":[{\"name\":\"word\",\"pattern\":\"word\"}]}", NULL}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct weir_arena arena = {0};
        struct weir_slice got = weir_regex_unknown_name(weir_slice_cstr(words[i].params), &arena);
        assert_true(weir_slice_eq_cstr(got, words[i].unknown));
        weir_arena_dispose(&arena);
    }
    size_t n = 0;
    for (; weir_pii_name(n) != NULL; n++) {
        assert_true(weir_pii_find(weir_slice_cstr(weir_pii_name(n))) != 0);
    }
    assert_true(n > 10);
}

/* Longer than a window and than what a match may look ahead. */
static void test_custom_in_long_texts(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_regex, "{\"regex\":[\"needle\\\\d+$\",\"^h\\u00e9\"]}");
    size_t n = 40000;
    char *text = weir_mem_alloc(n);
    memset(text, '-', n);
    memcpy(text, "h\xc3\xa9", 3);
    for (size_t at = 250; at < 300; at++) {
        memcpy(text + at, "\xc3\xa9", 2); /* across a window's end */
    }
    memcpy(text + n - 8, "needle42", 8);
    const struct weir_detect_call *call = probe_ask(&p, weir_slice_make(text, n), "");
    assert_int_equal(call->fault.origin, WEIR_FAULT_NONE);
    assert_int_equal(call->lists[0].n, 2);
    assert_int_equal(call->lists[0].items[1].text.n, 8);
    free(text);
    probe_close(&p);
}

static void assert_limit(struct probe *p, struct weir_slice text, const char *params)
{
    const struct weir_detect_call *call = probe_ask(p, text, params);
    if (call->fault.origin != WEIR_FAULT_DETECTOR) {
        fail_msg("%s was no limit", params);
    }
    assert_int_equal(call->fault.status, 422);
    assert_true(call->fault.message.n > 0);
    assert_null(call->lists);
}

static void test_hostile_patterns(void **state)
{
    (void)state;
    static const char *const hostile[] = {
        "{\"regex\":[\"(a+)+$\"]}",
        "{\"regex\":[\"(a|aa)+$\"]}",
        "{\"regex\":[\"(a{1,30}){1,30}c\"]}",
        "{\"regex\":[\"((a{1,9}){1,9}){1,9}c\"]}",
        "{\"regex\":[\"a*a*a*a*c\"]}",
        "{\"regex\":[\"[^x]*x\"]}",
        "{\"regex\":[\"(.*)\\\\1\\\\1c\"]}",
        "{\"regex\":[\"(?:a?){200}c\"]}",
        "{\"regex\":[\"(?R)?a\"]}",
        "{\"regex\":[\"(*NO_JIT)a\"]}",
        "{\"regex\":[\"(?<=a{9000})c\"]}",
        "{\"regex\":[\"((a{1,999}){1,999}){1,999}\"]}",
        "{\"regex\":[\"\\\\C\"]}",
        "{\"regex\":[\"(\"]}",
        "{\"regex\":[\"\"]}",
        "{\"regex\":[7]}",
        "{\"regex\":{}}",
        "{\"other\":1}",
        "{\"regex\":[\".\"]}",
    };
    struct probe p;
    probe_open(&p, &weir_detect_regex, "{}");
    size_t n = 1 << 20;
    char *text = weir_mem_alloc(n);
    memset(text, 'a', n);
    text[n - 1] = 'b';
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        assert_limit(&p, weir_slice_make(text, n), hostile[i]);
    }
    char params[2048];
    memset(params, 'a', sizeof params);
    memcpy(params, "{\"regex\":[\"", 11);
    memcpy(params + 1400, "\"]}", 4);
    assert_limit(&p, weir_slice_make(text, n), params);
    free(text);
    probe_close(&p);
}

/* Each text is cheap enough, all of them are not: the budget is the call's. */
static void test_budget_of_many_contents(void **state)
{
    (void)state;
    enum { N = 200, BYTES = 8000 };
    struct probe p;
    probe_open(&p, &weir_detect_regex, "{\"regex\":[\"a{0,900}c\"]}");
    char *text = weir_mem_alloc(BYTES);
    memset(text, 'a', BYTES);
    memcpy(text + BYTES - 2, "xc", 2); /* a c somewhere, or nothing would be tried */
    struct weir_slice contents[N];
    for (size_t i = 0; i < N; i++) {
        contents[i] = weir_slice_make(text, BYTES);
    }
    struct weir_detect_input input = {
        .type = WEIR_DETECT_CONTENTS, .contents = contents, .n_contents = N, .threshold = 0.5};
    struct weir_detect_env env = {0};
    p.call = weir_detect_start(&p.detector.base, &env, &input, NULL, NULL);
    assert_int_equal(p.call->fault.origin, WEIR_FAULT_DETECTOR);
    assert_int_equal(p.call->fault.err, WEIR_ELIMIT);
    free(text);
    probe_close(&p);
}

static void test_only_contents(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_regex, "{}");
    struct weir_detect_input input = {.type = WEIR_DETECT_CHAT, .messages = WEIR_SLICE("[]")};
    struct weir_detect_env env = {0};
    p.call = weir_detect_start(&p.detector.base, &env, &input, NULL, NULL);
    assert_int_equal(p.call->fault.origin, WEIR_FAULT_DETECTOR);
    probe_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_older_names),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_spans_are_code_points),
        cmocka_unit_test(test_request_params_replace),
        cmocka_unit_test(test_custom),
        cmocka_unit_test(test_named_patterns),
        cmocka_unit_test(test_words_that_are_no_names),
        cmocka_unit_test(test_custom_in_long_texts),
        cmocka_unit_test(test_hostile_patterns),
        cmocka_unit_test(test_budget_of_many_contents),
        cmocka_unit_test(test_only_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
