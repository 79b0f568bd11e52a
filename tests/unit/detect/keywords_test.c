/* `keywords`: whole words in any case, phrases, allowed terms, scripts without spaces, limits. */
#include "unit/cmocka_all.h"

#include "base/mem.h"
#include "detect/keywords.h"
#include "unit/detect/builtin_probe.h"

static const struct probe_case cases[] = {
    {"The FORBIDDEN word, unforbidden, forbiddens.", "forbidden[FORBIDDEN]"},
    {"a top  \n secret plan", "top secret[top  \n secret]"},
    {"a top secret recipe, top secret", "top secret[top secret]"},
    {"Moby Dick and dick", "dick[dick]"},
    {"STRASSE Straße ÜBER über", "über[ÜBER] über[über]"},
    {"这是机密文件。", "机密[机密]"},
    {"C++ and c", "c++[C++]"},
    {"ban ban-aid banana ban_1", "ban[ban] ban[ban]"},
    {"", ""},
};

static void test_terms(void **state)
{
    (void)state;
    struct probe p;
    probe_open(
        &p, &weir_detect_keywords,
        "{\"deny\":[\"forbidden\",\"top secret\",\"dick\",\" über \",\"机密\",\"c++\",\"ban\"],"
        "\"allow\":[\"top secret recipe\",\"Moby Dick\"]}");
    probe_cases(&p, cases, sizeof cases / sizeof cases[0]);
    const struct weir_detect_call *call = probe_ask(&p, WEIR_SLICE("über Ban"), "");
    assert_int_equal(call->lists[0].n, 2);
    assert_int_equal(call->lists[0].items[1].start_cp, 5);
    assert_true(weir_slice_eq_cstr(call->lists[0].items[1].detection_type, "keyword"));
    probe_close(&p);
}

/* Letters with marks are the same in one character and in two; a term ends where one does. */
static const struct probe_case folded_cases[] = {
    {"STRASSE, strasse, Stra\xC3\x9F"
     "e, Stra\xE1\xBA\x9E"
     "E",
     "straße[STRASSE] straße[strasse] straße[Straße] straße[Stra\xE1\xBA\x9E"
     "E]"},
    {"na\xC3\xAFve, nai\xCC\x88ve, naive", "naïve[na\xC3\xAFve] naïve[nai\xCC\x88ve]"},
    {"mañ man\xCC\x83 man", "man[man]"},
    {"각 가", "가[가]"},
    {"İstanbul ISTANBUL", "istanbul[İstanbul] istanbul[ISTANBUL]"},
    {"\xE1\xBE\x82 \xCE\x90", "\xCE\x90[\xCE\x90]"},
};

static void test_folding(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_keywords,
               "{\"deny\":[\"straße\",\"naïve\",\"man\",\"가\",\"istanbul\",\"ΐ\"]}");
    probe_cases(&p, folded_cases, sizeof folded_cases / sizeof folded_cases[0]);
    probe_close(&p);
}

static void test_nothing_listed(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_keywords, "{}");
    assert_string_equal(probe_line(&p, "anything at all"), "");
    const struct weir_detect_call *call =
        probe_ask(&p, WEIR_SLICE("anything at all"), "{\"deny\":[\"at all\"]}");
    assert_int_equal(call->lists[0].n, 1);
    probe_close(&p);
}

static void test_thousands(void **state)
{
    (void)state;
    struct weir_buf params = {0};
    weir_buf_printf(&params, "{\"deny\":[");
    for (int i = 0; i < 10000; i++) {
        weir_buf_printf(&params, "%s\"term%d\"", i != 0 ? "," : "", i);
    }
    weir_buf_printf(&params, "]}");
    struct probe p;
    probe_open(&p, &weir_detect_keywords, weir_buf_cstr(&params));
    assert_string_equal(probe_line(&p, "term term0 Term9999 term10000 xterm1"),
                        "term0[term0] term9999[Term9999]");
    probe_close(&p);
    weir_buf_dispose(&params);
}

static void test_wrong_params(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{\"deny\":[\"\"]}",
                                        "{\"deny\":[\"  \"]}",
                                        "{\"deny\":[1]}",
                                        "{\"deny\":{}}",
                                        "{\"denied\":[]}",
                                        "[]",
                                        "{"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct weir_builtin b;
        struct weir_buf why = {0};
        assert_int_not_equal(weir_builtin_init(&b, &weir_detect_keywords, WEIR_SLICE("k"),
                                               weir_slice_cstr(wrong[i]), &why),
                             0);
        assert_true(why.n > 0);
        weir_buf_dispose(&why);
        weir_builtin_dispose(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms),          cmocka_unit_test(test_folding),
        cmocka_unit_test(test_nothing_listed), cmocka_unit_test(test_thousands),
        cmocka_unit_test(test_wrong_params),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
