/* The writer: spelling, commas, ceilings, and that what it wrote reads back. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "wire/json.h"
#include "wire/json_write.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static void assert_text(struct weir_slice got, const char *expected)
{
    if (!weir_slice_eq_cstr(got, expected)) {
        fail_msg("%.*s, not %s", (int)got.n, got.p, expected);
    }
}

/* Finishes, compares and forgets. */
static void expect(struct weir_json_write *w, const char *expected)
{
    assert_int_equal(weir_json_write_finish(w), 0);
    assert_text(weir_buf_slice(w->out), expected);
    weir_buf_dispose(w->out);
}

static void write_everything(struct weir_json_write *w)
{
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("a"));
    weir_json_write_begin_array(w);
    weir_json_write_i64(w, -1);
    weir_json_write_begin_array(w);
    weir_json_write_end_array(w);
    weir_json_write_begin_object(w);
    weir_json_write_end_object(w);
    weir_json_write_string(w, WEIR_SLICE("x"));
    weir_json_write_end_array(w);
    weir_json_write_key(w, WEIR_SLICE("q\"\n"));
    weir_json_write_bool(w, true);
    weir_json_write_key(w, WEIR_SLICE(""));
    weir_json_write_null(w);
    weir_json_write_key(w, WEIR_SLICE("r"));
    weir_json_write_raw(w, WEIR_SLICE("[1, 2]"));
    weir_json_write_key(w, WEIR_SLICE("o"));
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("f"));
    weir_json_write_f64(w, 0.5);
    weir_json_write_end_object(w);
    weir_json_write_key(w, WEIR_SLICE("z"));
    weir_json_write_bool(w, false);
    weir_json_write_end_object(w);
}

static const char everything[] = "{\"a\":[-1,[],{},\"x\"],\"q\\\"\\n\":true,\"\":null,\"r\":[1, 2],"
                                 "\"o\":{\"f\":0.5},\"z\":false}";

static void test_commas(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &b);
    write_everything(&w);
    expect(&w, everything);
}

static void test_appends(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    struct weir_json_write w;
    assert_int_equal(weir_buf_append(&b, WEIR_SLICE("data: ")), 0);
    weir_json_write_init(&w, &b);
    weir_json_write_null(&w);
    expect(&w, "data: null");
}

/* At every ceiling too low the error comes back and the buffer is as before. */
static void test_ceiling(void **state)
{
    (void)state;
    for (size_t max = 3; max <= 2 + sizeof everything; max++) {
        struct weir_buf b;
        weir_buf_init(&b, max);
        assert_int_equal(weir_buf_append(&b, WEIR_SLICE("> ")), 0);
        struct weir_json_write w;
        weir_json_write_init(&w, &b);
        write_everything(&w);
        bool fits = max >= 2 + sizeof everything - 1;
        assert_int_equal(weir_json_write_finish(&w), fits ? 0 : WEIR_ELIMIT);
        assert_int_equal(b.n, fits ? 2 + sizeof everything - 1 : 2);
        weir_buf_dispose(&b);
    }
}

static void test_strings(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &b);
    weir_json_write_begin_array(&w);
    weir_json_write_string(&w, WEIR_SLICE(""));
    weir_json_write_string(&w, (struct weir_slice){0});
    weir_json_write_string(&w, WEIR_SLICE("\"\\/\b\f\n\r\t"));
    weir_json_write_string(&w, WEIR_SLICE("\0\x01\x1f\x20\x7f"));
    weir_json_write_string(&w, WEIR_SLICE("\xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80"));
    weir_json_write_string(&w, WEIR_SLICE("a run that is longer than sixteen\nand another one\n"));
    weir_json_write_end_array(&w);
    expect(&w, "[\"\",\"\",\"\\\"\\\\/\\b\\f\\n\\r\\t\",\"\\u0000\\u0001\\u001f \x7f\","
               "\"\xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80\","
               "\"a run that is longer than sixteen\\nand another one\\n\"]");
}

/* Every string comes back as it was: all single characters, and each escape at every place. */
static void test_strings_read_back(void **state)
{
    (void)state;
    for (size_t n = 1; n < 40; n++) {
        char text[40];
        for (int c = 0; c < 128; c++) {
            memset(text, 'x', sizeof text);
            text[n / 2] = (char)c;
            struct weir_buf b = {0};
            struct weir_arena arena = {0};
            struct weir_json j;
            assert_int_equal(weir_json_write_quoted(&b, weir_slice_make(text, n)), 0);
            assert_int_equal(weir_json_parse(&j, weir_buf_slice(&b), NULL, &arena, NULL), 0);
            assert_true(weir_json_string_eq(&j, 0, weir_slice_make(text, n)));
            weir_arena_dispose(&arena);
            weir_buf_dispose(&b);
        }
    }
}

static void test_integers(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &b);
    weir_json_write_begin_array(&w);
    weir_json_write_i64(&w, 0);
    weir_json_write_i64(&w, INT64_MIN);
    weir_json_write_i64(&w, INT64_MAX);
    weir_json_write_i64(&w, -10);
    weir_json_write_u64(&w, 0);
    weir_json_write_u64(&w, UINT64_MAX);
    weir_json_write_end_array(&w);
    expect(&w, "[0,-9223372036854775808,9223372036854775807,-10,0,18446744073709551615]");
}

static void check_f64(double v, const char *expected)
{
    struct weir_buf b = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &b);
    weir_json_write_f64(&w, v);
    assert_int_equal(weir_json_write_finish(&w), 0);
    if (expected != NULL) {
        assert_text(weir_buf_slice(&b), expected);
    }
    struct weir_json_tape tape = {0};
    struct weir_json j;
    double back = 0;
    assert_int_equal(weir_json_parse_reuse(&j, weir_buf_slice(&b), NULL, &tape, NULL), 0);
    assert_int_equal(weir_json_f64(&j, 0, &back), 0);
    assert_memory_equal(&back, &v, sizeof v);
    weir_json_tape_dispose(&tape);
    weir_buf_dispose(&b);
}

static void test_f64_spelling(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *expected;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.5, "-1.5"},
        {0.5, "0.5"},
        {0.1, "0.1"},
        {0.97, "0.97"},
        {100.0, "100.0"},
        {0.0001, "0.0001"},
        {0.00012, "0.00012"},
        {0.00001, "1e-5"},
        {1234567.125, "1234567.125"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3.0, "0.3333333333333333"},
        {999999999999999.0, "999999999999999.0"},
        {1e15, "1000000000000000.0"},
        {9007199254740993.0, "9007199254740992.0"},
        {1e16, "1e16"},
        {123456789012345680000.0, "1.2345678901234568e20"},
        {1e22, "1e22"},
        {1e23, "1e23"},
        {1e300, "1e300"},
        {-1.5e-7, "-1.5e-7"},
        {DBL_MAX, "1.7976931348623157e308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {1.5e-323, "1.5e-323"},
        {0x1p-44, "5.684341886080802e-14"}, /* the nearest 16 digits end in 1 and read lower */
        {0x1p-1021, "4.450147717014403e-308"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_f64(cases[i].v, cases[i].expected);
    }
}

static void test_f64_reads_back(void **state)
{
    (void)state;
    for (int e = -1074; e < 1024; e++) {
        check_f64(ldexp(1.0, e), NULL);
        check_f64(nextafter(ldexp(1.0, e), 0), NULL);
        check_f64(-nextafter(ldexp(1.0, e), HUGE_VAL), NULL);
    }
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 5000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double v;
        memcpy(&v, &random, sizeof v);
        check_f64(isfinite(v) ? v : 0.0, NULL);
        check_f64((double)(random % 1000000) / 1e6, NULL);
    }
}

static void test_node(void **state)
{
    (void)state;
    struct weir_slice src = WEIR_SLICE(" {\n \"a b\" : [ 1.0 ,\t{ } , [ ] , \" x\\u0041 \" ],\r\n"
                                       " \"n\":{ \"deep\" : [ [ null ] ] } } \n");
    struct weir_json j;
    struct weir_arena arena = {0};
    assert_int_equal(weir_json_parse(&j, src, NULL, &arena, NULL), 0);
    struct weir_buf b = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &b);
    weir_json_write_begin_array(&w);
    weir_json_write_node(&w, &j, 0);
    weir_json_write_node(&w, &j, weir_json_get(&j, 0, WEIR_SLICE("n")));
    weir_json_write_node(&w, &j, 3);
    weir_json_write_end_array(&w);
    expect(&w, "[{\"a b\":[1.0,{},[],\" x\\u0041 \"],\"n\":{\"deep\":[[null]]}},"
               "{\"deep\":[[null]]},1.0]");
    weir_arena_dispose(&arena);
}

static void test_deeper_than_its_bits(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &b);
    for (int i = 0; i < 200; i++) {
        weir_json_write_begin_array(&w);
        weir_json_write_begin_object(&w);
        weir_json_write_key(&w, WEIR_SLICE("k"));
    }
    weir_json_write_null(&w);
    for (int i = 0; i < 200; i++) {
        weir_json_write_end_object(&w);
        weir_json_write_end_array(&w);
    }
    assert_int_equal(weir_json_write_finish(&w), 0);
    struct weir_json j;
    struct weir_arena arena = {0};
    struct weir_json_limits limits = {.max_depth = 400};
    assert_int_equal(weir_json_parse(&j, weir_buf_slice(&b), &limits, &arena, NULL), 0);
    weir_arena_dispose(&arena);
    weir_buf_dispose(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas),
        cmocka_unit_test(test_appends),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_strings_read_back),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_f64_spelling),
        cmocka_unit_test(test_f64_reads_back),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_deeper_than_its_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
