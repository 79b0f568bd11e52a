/* Lines of application/x-ndjson, fed whole, byte by byte and at random cuts. */
#include "unit/cmocka_all.h"
#include "unit/wire/ndjson_trace.h"

static void lines(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *out;
    } rows[] = {
        {"", ""},
        {"\n\r\n\n", ""},
        {"{}\n", "<{}>"},
        {"{}\r\n[]\n", "<{}><[]>"},
        {"1\n\n\r\n2\n", "<1><2>"},
        {"1\n2", "<1><2>"},
        {"1\r", "<1>"},
        {"\r", ""},
        {"1\r\r\n", "<1\r>"},
        {"a\rb\n", "<a\rb>"},
        {" \n", "< >"},
        {"12345678\n12345678", "<12345678><12345678>"},
        {"1234567\r\n", "<1234567>"},
        {"123456789", "ELIMIT"},
        {"123456789\n1\n", "ELIMIT"},
        {"12345678\r\n", "ELIMIT"},
        {"1\n123456789012345\n", "<1>ELIMIT"},
    };
    static const size_t max_line_bytes = 8;
    struct weir_buf trace = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weir_slice in = weir_slice_cstr(rows[i].in);
        cuts_check(&(struct cuts_run){&ndjson_trace_codec, &max_line_bytes, in}, 200, &trace);
        assert_string_equal(weir_buf_cstr(&trace), rows[i].out);
    }
    weir_buf_dispose(&trace);
}

static void a_whole_line_is_not_copied(void **state)
{
    (void)state;
    struct weir_ndjson_reader r;
    size_t used;
    struct weir_slice in = WEIR_SLICE("\n{\"a\":1}\r\n{");
    weir_ndjson_init(&r, 100);
    assert_int_equal(weir_ndjson_feed(&r, in, &used), 0);
    assert_int_equal(used, in.n - 1);
    assert_ptr_equal(r.line.p, in.p + 1);
    assert_null(r.held.p);
    assert_int_equal(weir_ndjson_feed(&r, WEIR_SLICE("{"), &used), WEIR_EAGAIN);
    assert_int_equal(weir_ndjson_feed(&r, WEIR_SLICE("}\n"), &used), 0);
    assert_true(weir_slice_eq_cstr(r.line, "{}"));
    assert_int_equal(weir_ndjson_finish(&r), WEIR_ECLOSED);
    weir_ndjson_dispose(&r);
    weir_ndjson_dispose(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(a_whole_line_is_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
