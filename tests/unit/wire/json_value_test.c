/* Looking into a parsed document: members, walking, strings, numbers, equality. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "wire/json.h"

#include <math.h>
#include <stdio.h>

#define S(literal)                                                                                 \
    {                                                                                              \
        ("" literal), sizeof(literal) - 1                                                          \
    }

static struct weir_arena arena;

static int drop_arena(void **state)
{
    (void)state;
    weir_arena_dispose(&arena);
    return 0;
}

static struct weir_json doc(struct weir_slice src)
{
    struct weir_json j;
    struct weir_json_error err;
    struct weir_json_limits limits = {.max_depth = 20000};
    if (weir_json_parse(&j, src, &limits, &arena, &err) != 0) {
        fail_msg("%.*s: byte %zu: %s", (int)src.n, src.p, err.at_byte, err.what);
    }
    return j;
}

static void assert_slice(struct weir_slice got, struct weir_slice expected)
{
    if (!weir_slice_eq(got, expected)) {
        fail_msg("\"%.*s\", not \"%.*s\"", (int)got.n, got.p, (int)expected.n, expected.p);
    }
}

static void test_get(void **state)
{
    (void)state;
    struct weir_json j =
        doc(WEIR_SLICE("{\"a\":1,\"b\":{\"a\":null,\"\\u0063\":[]},\"\":2,\"n\\u0000\":3}"));
    assert_slice(weir_json_raw(&j, weir_json_get(&j, 0, WEIR_SLICE("a"))), WEIR_SLICE("1"));
    uint32_t b = weir_json_get(&j, 0, WEIR_SLICE("b"));
    assert_int_equal(weir_json_type(&j, b), WEIR_JSON_OBJECT);
    assert_int_equal(weir_json_type(&j, weir_json_get(&j, b, WEIR_SLICE("a"))), WEIR_JSON_NULL);
    assert_int_equal(weir_json_type(&j, weir_json_get(&j, b, WEIR_SLICE("c"))), WEIR_JSON_ARRAY);
    assert_slice(weir_json_raw(&j, weir_json_get(&j, 0, WEIR_SLICE(""))), WEIR_SLICE("2"));
    assert_slice(weir_json_raw(&j, weir_json_get(&j, 0, WEIR_SLICE("n\0"))), WEIR_SLICE("3"));
    assert_int_equal(weir_json_get(&j, 0, WEIR_SLICE("c")), WEIR_JSON_NONE);
    assert_int_equal(weir_json_get(&j, 0, WEIR_SLICE("n")), WEIR_JSON_NONE);
    assert_int_equal(weir_json_get(&j, weir_json_get(&j, 0, WEIR_SLICE("a")), WEIR_SLICE("a")),
                     WEIR_JSON_NONE);
    assert_int_equal(weir_json_get_set(&j, b, WEIR_SLICE("a")), WEIR_JSON_NONE);
    assert_int_equal(weir_json_get_set(&j, b, WEIR_SLICE("zz")), WEIR_JSON_NONE);
    assert_int_not_equal(weir_json_get_set(&j, b, WEIR_SLICE("c")), WEIR_JSON_NONE);
    struct weir_json empty = doc(WEIR_SLICE("{}"));
    assert_int_equal(weir_json_get(&empty, 0, WEIR_SLICE("a")), WEIR_JSON_NONE);
}

static void test_walk(void **state)
{
    (void)state;
    struct weir_json j = doc(WEIR_SLICE("[[1,[2]],{\"x\":[3,4],\"y\":{}},\"s\",[]]"));
    static const char *items[] = {"[1,[2]]", "{\"x\":[3,4],\"y\":{}}", "\"s\"", "[]"};
    size_t n = 0;
    for (uint32_t at = weir_json_first(&j, 0); at != WEIR_JSON_NONE;
         at = weir_json_after(&j, 0, at)) {
        assert_slice(weir_json_raw(&j, at), weir_slice_cstr(items[n++]));
    }
    assert_int_equal(n, 4);
    uint32_t object = weir_json_after(&j, 0, weir_json_first(&j, 0));
    uint32_t key = weir_json_first(&j, object);
    assert_slice(weir_json_raw(&j, key), WEIR_SLICE("\"x\""));
    assert_slice(weir_json_raw(&j, key + 1), WEIR_SLICE("[3,4]"));
    key = weir_json_after(&j, object, key);
    assert_slice(weir_json_raw(&j, key), WEIR_SLICE("\"y\""));
    assert_int_equal(weir_json_after(&j, object, key), WEIR_JSON_NONE);
    assert_int_equal(weir_json_first(&j, key + 1), WEIR_JSON_NONE);
    assert_int_equal(weir_json_first(&j, key), WEIR_JSON_NONE);
}

static const struct {
    struct weir_slice src;
    struct weir_slice value;
} strings[] = {
    {S("\"\""), S("")},
    {S("\"plain\""), S("plain")},
    {S("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), S("\"\\/\b\f\n\r\t")},
    {S("\"a\\u0000b\""), S("a\0b")},
    {S("\"\\u00e9\\u20AC\""), S("\xC3\xA9\xE2\x82\xAC")},
    {S("\"x\\ud83d\\ude00y\""), S("x\xF0\x9F\x98\x80y")},
    {S("\"\\uDBFF\\uDFFF\""), S("\xF4\x8F\xBF\xBF")},
    {S("\"\\ud83d\""), S("\xEF\xBF\xBD")},
    {S("\"\\ude00\\ud83d!\""), S("\xEF\xBF\xBD\xEF\xBF\xBD!")},
    {S("\"\\ud83d\\ud83d\\ude00\""), S("\xEF\xBF\xBD\xF0\x9F\x98\x80")},
    {S("\"\\\\ud83d\""), S("\\ud83d")},
    {S("\"h\xC3\xA9\\n\xE2\x82\xAC\""), S("h\xC3\xA9\n\xE2\x82\xAC")},
};

static void test_string_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        struct weir_json j = doc(strings[i].src);
        struct weir_slice value = strings[i].value;
        assert_slice(weir_json_string(&j, 0, &arena), value);
        assert_true(weir_json_string_eq(&j, 0, value));
        assert_false(weir_json_string_eq(&j, 0, WEIR_SLICE("another")));
        struct weir_buf b = {0};
        assert_int_equal(weir_buf_append(&b, WEIR_SLICE("> ")), 0);
        assert_int_equal(weir_json_string_append(&j, 0, &b), 0);
        assert_slice(weir_slice_sub(weir_buf_slice(&b), 2, b.n), value);
        weir_buf_dispose(&b);
        for (size_t n = 0; n < value.n; n++) {
            assert_false(weir_json_string_eq(&j, 0, weir_slice_sub(value, 0, n)));
        }
    }
}

static void test_string_borrows_when_it_can(void **state)
{
    (void)state;
    struct weir_slice src = WEIR_SLICE("\"plain\"");
    struct weir_json j = doc(src);
    assert_ptr_equal(weir_json_string(&j, 0, NULL).p, src.p + 1);
}

/* The ceiling is about the value, not about its longer spelling. */
static void test_append_at_the_ceiling(void **state)
{
    (void)state;
    struct weir_json j = doc(WEIR_SLICE("\"\\u0041\\u0042\\u0043\""));
    struct weir_buf b;
    weir_buf_init(&b, 3);
    assert_int_equal(weir_json_string_append(&j, 0, &b), 0);
    assert_slice(weir_buf_slice(&b), WEIR_SLICE("ABC"));
    assert_int_equal(weir_json_string_append(&j, 0, &b), WEIR_ELIMIT);
    assert_slice(weir_buf_slice(&b), WEIR_SLICE("ABC"));
    weir_buf_dispose(&b);
}

static void test_halves_at_the_ends(void **state)
{
    (void)state;
    static const struct {
        struct weir_slice src;
        uint16_t low;  /* 0: does not begin so */
        uint16_t high; /* 0: does not end so */
    } cases[] = {
        {S("\"\""), 0, 0},
        {S("\"a\\ud83d\""), 0, 0xD83D},
        {S("\"\\uDE00 b\""), 0xDE00, 0},
        {S("\"\\ude00\\ud83d\""), 0xDE00, 0xD83D},
        {S("\"\\ud83d\\ude00\""), 0, 0},
        {S("\"\\ud83d\\ude00\\uDBFF\""), 0, 0xDBFF},
        {S("\"\\ude00\""), 0xDE00, 0},
        {S("\"\\ud83d\""), 0, 0xD83D},
        {S("\"\\ud800\\\\ud83d\""), 0, 0}, /* a backslash, then letters */
        {S("\"\\\\\\ud83d\""), 0, 0xD83D}, /* a backslash, then the half */
        {S("\"\\ude00\\\\\\\\ud83d\""), 0xDE00, 0},
        {S("\"x\\ud83dx\""), 0, 0},
        {S("\"\\udc00\\u0041\""), 0xDC00, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weir_json j = doc(cases[i].src);
        uint16_t unit = 0;
        assert_int_equal(weir_json_string_begins_low(&j, 0, &unit), cases[i].low != 0);
        assert_int_equal(unit, cases[i].low); /* untouched where there is none */
        unit = 0;
        assert_int_equal(weir_json_string_ends_high(&j, 0, &unit), cases[i].high != 0);
        assert_int_equal(unit, cases[i].high);
    }
}

static void test_i64(void **state)
{
    (void)state;
    struct weir_json j = doc(WEIR_SLICE("[0,-0,42,9223372036854775807,-9223372036854775808,"
                                        "9223372036854775808,-9223372036854775809,1.0,1e2,\"1\","
                                        "99999999999999999999999]"));
    static const int64_t good[] = {0, 0, 42, INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < 10; i++) {
        int64_t v = -1;
        int rc = weir_json_i64(&j, 1 + i, &v);
        assert_int_equal(rc, i < 5 ? 0 : WEIR_EINVAL);
        if (i < 5) {
            assert_true(v == good[i]);
        }
    }
    int64_t v;
    assert_int_equal(weir_json_i64(&j, 0, &v), WEIR_EINVAL);
}

static void test_u64(void **state)
{
    (void)state;
    struct weir_json j = doc(WEIR_SLICE("[0,-0,18446744073709551615,18446744073709551616,-1,1.5]"));
    uint64_t v = 1;
    assert_int_equal(weir_json_u64(&j, 1, &v), 0);
    assert_true(v == 0);
    assert_int_equal(weir_json_u64(&j, 2, &v), 0);
    assert_true(v == 0);
    assert_int_equal(weir_json_u64(&j, 3, &v), 0);
    assert_true(v == UINT64_MAX);
    assert_int_equal(weir_json_u64(&j, 4, &v), WEIR_EINVAL);
    assert_int_equal(weir_json_u64(&j, 5, &v), WEIR_EINVAL);
    assert_int_equal(weir_json_u64(&j, 6, &v), WEIR_EINVAL);
    assert_slice(weir_json_raw(&j, 4), WEIR_SLICE("18446744073709551616"));
}

static void test_f64(void **state)
{
    (void)state;
    static const struct {
        struct weir_slice src;
        double value;
    } cases[] = {
        {S("0"), 0.0},
        {S("0.5"), 0.5},
        {S("-0.97"), -0.97},
        {S("1e2"), 100.0},
        {S("1E-2"), 0.01},
        {S("0.1"), 0.1},
        {S("123456789012345"), 123456789012345.0},
        {S("0.00000000000001"), 0.00000000000001},
        {S("1234567890123456"), 1234567890123456.0},
        {S("9007199254740993"), 9007199254740992.0},
        {S("0.30000000000000004"), 0.30000000000000004},
        {S("1.7976931348623157e308"), 1.7976931348623157e308},
        {S("5e-324"), 5e-324},
        {S("1e-400"), 0.0},
        {S("18446744073709551616"), 18446744073709551616.0},
        {S("0.1000000000000000055511151231257827021181583404541015625000000000000000000000001"),
         0.1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weir_json j = doc(cases[i].src);
        double v = -1;
        assert_int_equal(weir_json_f64(&j, 0, &v), 0);
        assert_memory_equal(&v, &cases[i].value, sizeof v);
    }
    double v;
    struct weir_json j = doc(WEIR_SLICE("[-0.0,1e400,-1e400,\"1\",null]"));
    assert_int_equal(weir_json_f64(&j, 1, &v), 0);
    assert_true(v == 0.0 && signbit(v));
    for (uint32_t at = 2; at <= 5; at++) {
        assert_int_equal(weir_json_f64(&j, at, &v), WEIR_EINVAL);
    }
}

struct pair {
    struct weir_slice a;
    struct weir_slice b;
    bool is_same;
};

static const struct pair pairs[] = {
    {S("1"), S("1"), true},
    {S("1"), S("1.0"), true},
    {S("1"), S("1.00e0"), true},
    {S("100"), S("1e2"), true},
    {S("1200"), S("0.0012e6"), true},
    {S("0.1"), S("10e-2"), true},
    {S("12.5"), S("1.25E+1"), true},
    {S("0"), S("-0.000e99999999999999999999"), true},
    {S("1"), S("-1"), false},
    {S("1"), S("10"), false},
    {S("10"), S("0.1"), false},
    {S("0.01"), S("0.1"), false},
    {S("1.01"), S("1.1"), false},
    {S("11"), S("1.1"), false},
    {S("18446744073709551616"), S("18446744073709551617"), false},
    {S("1e400"), S("10e399"), true},
    {S("1e400"), S("1e401"), false},
    {S("1e99999999999999999999"), S("1e99999999999999999999"), true},
    {S("1e99999999999999999999"), S("1e99999999999999999998"), false},
    {S("1"), S("true"), false},
    {S("true"), S("true"), true},
    {S("true"), S("false"), false},
    {S("null"), S("false"), false},
    {S("\"a\""), S("\"\\u0061\""), true},
    {S("\"a\\u0062c\""), S("\"\\u0061bc\""), true},
    {S("\"a\""), S("\"b\""), false},
    {S("\"\\ud83d\\ude00\""), S("\"\xF0\x9F\x98\x80\""), true},
    {S("\"\\ud800\""), S("\"\\uD800\""), true},
    {S("\"\\ud800\""), S("\"\\ud801\""), false},
    {S("\"\\ud800\""), S("\"\\ufffd\""), false},
    {S("\"1\""), S("1"), false},
    {S("[]"), S("{}"), false},
    {S("[]"), S("[ ]"), true},
    {S("[1,2]"), S("[2,1]"), false},
    {S("[1,[2,[3]]]"), S("[1.0,[2,[3e0]]]"), true},
    {S("[1,[2,[3]]]"), S("[1,[2,[4]]]"), false},
    {S("[[],[]]"), S("[[]]"), false},
    {S("{\"a\":1,\"b\":2}"), S("{\"b\":2,\"a\":1}"), true},
    {S("{\"a\":1,\"b\":2}"), S("{\"b\":1,\"a\":2}"), false},
    {S("{\"a\":1,\"b\":2}"), S("{\"a\":1,\"c\":2}"), false},
    {S("{\"a\":1}"), S("{\"a\":1,\"b\":2}"), false},
    {S("{\"a\":{\"x\":[1,{\"p\":0,\"q\":1}],\"y\":0},\"b\":[]}"),
     S("{\"b\":[],\"a\":{\"y\":0,\"x\":[1,{\"q\":1,\"\\u0070\":0}]}}"), true},
    {S("{\"a\":{\"x\":[1,{\"p\":0,\"q\":1}],\"y\":0},\"b\":[]}"),
     S("{\"b\":[],\"a\":{\"y\":0,\"x\":[1,{\"q\":2,\"p\":0}]}}"), false},
    {S("{\"\\ud800\":1}"), S("{\"\\udfff\":1}"), false},
};

static void test_equal(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct weir_json a = doc(pairs[i].a);
        struct weir_json b = doc(pairs[i].b);
        if (weir_json_equal(&a, 0, &b, 0) != pairs[i].is_same ||
            weir_json_equal(&b, 0, &a, 0) != pairs[i].is_same) {
            fail_msg("%.*s and %.*s", (int)pairs[i].a.n, pairs[i].a.p, (int)pairs[i].b.n,
                     pairs[i].b.p);
        }
        assert_true(weir_json_equal(&a, 0, &a, 0));
    }
}

/* Members k0 to k<n-1>, counted up or down, the value of `odd` different. */
static struct weir_json wide(struct weir_buf *b, unsigned n, bool is_down, unsigned odd)
{
    weir_buf_append_byte(b, '{');
    for (unsigned i = 0; i < n; i++) {
        unsigned k = is_down ? n - 1 - i : i;
        weir_buf_printf(b, "%s\"%sk%u\":[%u]", i != 0 ? "," : "", k % 3 ? "" : "\\u006b", k,
                        k == odd ? n : k);
    }
    weir_buf_append_byte(b, '}');
    return doc(weir_buf_slice(b));
}

static void test_equal_of_large_objects(void **state)
{
    (void)state;
    static const unsigned sizes[] = {2, 16, 17, 100, 30000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned n = sizes[i];
        struct weir_buf b[3] = {{0}};
        struct weir_json up = wide(&b[0], n, false, n);
        struct weir_json down = wide(&b[1], n, true, n);
        struct weir_json odd = wide(&b[2], n, true, n / 2);
        assert_true(weir_json_equal(&up, 0, &down, 0));
        assert_true(weir_json_equal(&down, 0, &up, 0));
        assert_false(weir_json_equal(&up, 0, &odd, 0));
        assert_false(weir_json_equal(&odd, 0, &down, 0));
        for (int k = 0; k < 3; k++) {
            weir_buf_dispose(&b[k]);
        }
    }
}

static void test_equal_when_deep(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    for (int i = 0; i < 10000; i++) {
        weir_buf_append(&b, WEIR_SLICE("{\"a\":["));
    }
    weir_buf_append_byte(&b, '1');
    size_t middle = b.n - 1;
    for (int i = 0; i < 10000; i++) {
        weir_buf_append(&b, WEIR_SLICE("]}"));
    }
    struct weir_buf other = {0};
    weir_buf_append(&other, weir_buf_slice(&b));
    struct weir_json x = doc(weir_buf_slice(&b));
    struct weir_json y = doc(weir_buf_slice(&other));
    assert_true(weir_json_equal(&x, 0, &y, 0));
    other.p[middle] = '2';
    assert_false(weir_json_equal(&x, 0, &y, 0));
    weir_buf_dispose(&b);
    weir_buf_dispose(&other);
}

/* From small to large; the same twice where two spellings are one value. */
static void test_compare_numbers(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"-1e99999999999999999999", "-1e400"},
        {"-1e400", "-10"},
        {"-10", "-9.99"},
        {"-9.99", "-1e-400"},
        {"-1e-400", "-1e-99999999999999999999"},
        {"-1e-99999999999999999999", "0"},
        {"0", "1e-99999999999999999999"},
        {"1e-400", "0.001"},
        {"0.001", "0.0011"},
        {"0.9", "1"},
        {"1", "1.00000000000000000000000000001"},
        {"9", "10"},
        {"9007199254740992", "9007199254740993"},
        {"99e398", "1e400"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct weir_json a = doc(weir_slice_cstr(rows[i][0]));
        struct weir_json b = doc(weir_slice_cstr(rows[i][1]));
        assert_true(weir_json_compare_numbers(&a, 0, &b, 0) < 0);
        assert_true(weir_json_compare_numbers(&b, 0, &a, 0) > 0);
        assert_true(weir_json_compare_numbers(&a, 0, &a, 0) == 0);
    }
    static const char *const same[][2] = {
        {"0", "-0.0e5"}, {"1", "10e-1"}, {"-12.50", "-1.25e1"}, {"1e400", "10E399"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct weir_json a = doc(weir_slice_cstr(same[i][0]));
        struct weir_json b = doc(weir_slice_cstr(same[i][1]));
        assert_int_equal(weir_json_compare_numbers(&a, 0, &b, 0), 0);
        assert_int_equal(weir_json_compare_numbers(&b, 0, &a, 0), 0);
    }
}

static void test_is_whole(void **state)
{
    (void)state;
    static const char *const whole[] = {"7", "-7.0", "70e-1", "1e400", "0.0", "0e-5", "1.5e1"};
    static const char *const broken[] = {"7.5",    "1e-1", "1e-400",
                                         "1.55e1", "-0.1", "1e-99999999999999999999"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        struct weir_json j = doc(weir_slice_cstr(whole[i]));
        assert_true(weir_json_is_whole(&j, 0));
    }
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct weir_json j = doc(weir_slice_cstr(broken[i]));
        assert_false(weir_json_is_whole(&j, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_get, drop_arena),
        cmocka_unit_test_teardown(test_walk, drop_arena),
        cmocka_unit_test_teardown(test_string_values, drop_arena),
        cmocka_unit_test_teardown(test_string_borrows_when_it_can, drop_arena),
        cmocka_unit_test_teardown(test_append_at_the_ceiling, drop_arena),
        cmocka_unit_test_teardown(test_halves_at_the_ends, drop_arena),
        cmocka_unit_test_teardown(test_i64, drop_arena),
        cmocka_unit_test_teardown(test_u64, drop_arena),
        cmocka_unit_test_teardown(test_f64, drop_arena),
        cmocka_unit_test_teardown(test_equal, drop_arena),
        cmocka_unit_test_teardown(test_equal_of_large_objects, drop_arena),
        cmocka_unit_test_teardown(test_equal_when_deep, drop_arena),
        cmocka_unit_test_teardown(test_compare_numbers, drop_arena),
        cmocka_unit_test_teardown(test_is_whole, drop_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
