/* Bodies of requests: by length and in chunks, their limits, and what is written. */
#include "unit/cmocka_all.h"
#include "unit/wire/http1_trace.h"

#define CHUNKED "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
#define CHUNKED_HEAD "POST / 1.1 host=a keep chunked | Host=a | Transfer-Encoding=chunked\n"

static struct http1_trace_options options = {
    .role = WEIR_HTTP1_REQUESTS,
    .limits = {.max_head_bytes = 128, .max_headers = 8, .max_body_bytes = 20},
};

struct row {
    const char *in;
    const char *out;
};

static void check(struct weir_slice in, const char *out)
{
    struct weir_buf trace = {0};
    cuts_check(&(struct cuts_run){&http1_trace_codec, &options, in}, 200, &trace);
    assert_string_equal(weir_buf_cstr(&trace), out);
    weir_buf_dispose(&trace);
}

static void lengths(void **state)
{
    (void)state;
    check(WEIR_SLICE("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
                     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
          "POST / 1.1 host=a keep length=5 | Host=a | Content-Length=5\ndata hello\nend\n"
          "GET / 1.1 host=a keep | Host=a\nend\nclosed\n");
    check(WEIR_SLICE("POST / HTTP/1.0\r\nContent-Length: 0000\r\n\r\n"),
          "POST / 1.0 host= close length=0 | Content-Length=0000\nend\nclosed\n");
    check(WEIR_SLICE("GET / HTTP/1.0\r\nContent-Length: 20\r\n\r\n0123456789\r\n\r\n\r\n\r\n..z"),
          "GET / 1.0 host= close length=20 | Content-Length=20\ndata 0123456789\r\n\r\n\r\n\r\n..\n"
          "end\ncut\n");
}

static void chunks(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {CHUNKED "0\r\n\r\n", CHUNKED_HEAD "end\nclosed\n"},
        {CHUNKED "3\r\nabc\r\nA\r\n0123456789\r\n000\r\n\r\n",
         CHUNKED_HEAD "data abc0123456789\nend\nclosed\n"},
        {CHUNKED "3;x=y\r\nabc\r\n2 \t; q=\"a;\x80\"\r\n\r\n\r\n0;last\r\n\r\n",
         CHUNKED_HEAD "data abc\r\n\nend\nclosed\n"},
        {CHUNKED "0000000000000001\r\nx\r\n0\r\nA: b\r\nC:\r\n\r\nX",
         CHUNKED_HEAD "data x\nend\ncut\n"},
        {CHUNKED "5\r\nabc", CHUNKED_HEAD "data abc\ncut\n"},
        {CHUNKED "1\r\nx\r\n0\r\n", CHUNKED_HEAD "data x\ncut\n"},
        {CHUNKED "14\r\n01234567890123456789\r\n0\r\n\r\n",
         CHUNKED_HEAD "data 01234567890123456789\nend\nclosed\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(weir_slice_cstr(rows[i].in), rows[i].out);
    }
}

static void bad_chunks(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\r\n\r\n", /* no size */
        "g\r\n",    /* not hexadecimal */
        "-1\r\n",
        "+1\r\n",
        "0x1\r\n",
        " 1\r\n",
        "1 \r\nx\r\n", /* white space without an extension */
        ";a\r\n",
        "00000000000000001\r\nx\r\n0\r\n\r\n", /* 17 digits */
        "1\nx\r\n0\r\n\r\n",                   /* bare LF */
        "1\rx",                                /* bare CR */
        "1;a\nx\r\n",
        "1;a\x01\r\nx\r\n",
        "1;a\rb\r\n",
        "0\r\n\n", /* last line */
        "0\r\n\rX",
        "0\r\n: b\r\n\r\n", /* trailers */
        "0\r\nA : b\r\n\r\n",
        "0\r\nA\r\n\r\n",
        "0\r\nA: b\n\r\n",
        "0\r\nA: b\rc\r\n\r\n",
        "0\r\nA: b\r\n c\r\n\r\n",
        "0\r\nA: \x02\r\n\r\n",
    };
    struct weir_buf in = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        weir_buf_clear(&in);
        weir_buf_append(&in, WEIR_SLICE(CHUNKED));
        weir_buf_append(&in, weir_slice_cstr(bad[i]));
        check(weir_buf_slice(&in), CHUNKED_HEAD "EBAD 400\n");
    }
    weir_buf_dispose(&in);
    /* Behind the chunk's bytes exactly CRLF. */
    check(WEIR_SLICE(CHUNKED "1\r\nxy\r\n0\r\n\r\n"), CHUNKED_HEAD "data x\nEBAD 400\n");
    check(WEIR_SLICE(CHUNKED "1\r\nx\n0\r\n\r\n"), CHUNKED_HEAD "data x\nEBAD 400\n");
    check(WEIR_SLICE(CHUNKED "1\r\nx\r0\r\n\r\n"), CHUNKED_HEAD "data x\nEBAD 400\n");
}

static void body_limit(void **state)
{
    (void)state;
    check(WEIR_SLICE(CHUNKED "15\r\n"), CHUNKED_HEAD "ELIMIT 413\n");
    check(WEIR_SLICE(CHUNKED "A\r\n0123456789\r\nb\r\n"),
          CHUNKED_HEAD "data 0123456789\nELIMIT 413\n");
    check(WEIR_SLICE(CHUNKED "ffffffffffffffff\r\n"), CHUNKED_HEAD "ELIMIT 413\n");
    /* No limit, but the sum must not wrap round. */
    options.limits.max_body_bytes = 0;
    check(WEIR_SLICE(CHUNKED "1\r\nx\r\nffffffffffffffff\r\n"),
          CHUNKED_HEAD "data x\nELIMIT 413\n");
    check(WEIR_SLICE("POST / HTTP/1.0\r\nContent-Length: 18446744073709551615\r\n\r\nx"),
          "POST / 1.0 host= close length=18446744073709551615 | "
          "Content-Length=18446744073709551615\ndata x\ncut\n");
    options.limits.max_body_bytes = 20;
}

static void add_ext(struct weir_buf *in, size_t n)
{
    weir_buf_append(in, WEIR_SLICE("1;"));
    for (size_t i = 0; i < n; i++) {
        weir_buf_append_byte(in, 'e');
    }
    weir_buf_append(in, WEIR_SLICE("\r\nx\r\n"));
}

static void extension_limits(void **state)
{
    (void)state;
    struct weir_buf in = {0};
    weir_buf_append(&in, WEIR_SLICE(CHUNKED));
    add_ext(&in, 1024);
    weir_buf_append(&in, WEIR_SLICE("0\r\n\r\n"));
    check(weir_buf_slice(&in), CHUNKED_HEAD "data x\nend\nclosed\n");
    in.n = sizeof(CHUNKED) - 1;
    add_ext(&in, 1025);
    check(weir_buf_slice(&in), CHUNKED_HEAD "ELIMIT 413\n");

    /* 64 times 1 KiB are as many as a message may have. */
    options.limits.max_body_bytes = 1000;
    struct weir_buf trace = {0};
    in.n = sizeof(CHUNKED) - 1;
    for (int i = 0; i < 64; i++) {
        add_ext(&in, 1024);
    }
    struct cuts_run run = {&http1_trace_codec, &options, weir_buf_slice(&in)};
    cuts_check(&run, 4, &trace);
    assert_true(weir_slice_ends_with(weir_buf_slice(&trace), WEIR_SLICE("xxx\ncut\n")));
    add_ext(&in, 1);
    run.input = weir_buf_slice(&in);
    cuts_check(&run, 4, &trace);
    assert_true(weir_slice_ends_with(weir_buf_slice(&trace), WEIR_SLICE("xxx\nELIMIT 413\n")));
    options.limits.max_body_bytes = 20;
    weir_buf_dispose(&trace);
    weir_buf_dispose(&in);
}

static void trailer_limit(void **state)
{
    (void)state;
    struct weir_buf in = {0};
    weir_buf_append(&in, WEIR_SLICE(CHUNKED "0\r\nA:"));
    for (int i = 0; i < 122; i++) {
        weir_buf_append_byte(&in, 'v');
    }
    size_t at = in.n;
    weir_buf_append(&in, WEIR_SLICE("\r\n\r\n"));
    check(weir_buf_slice(&in), CHUNKED_HEAD "end\nclosed\n");
    in.n = at;
    weir_buf_append(&in, WEIR_SLICE("v\r\n\r\n"));
    check(weir_buf_slice(&in), CHUNKED_HEAD "ELIMIT 431\n");
    weir_buf_dispose(&in);
}

/* Body bytes are handed out where they lie. */
static void data_is_not_copied(void **state)
{
    (void)state;
    struct weir_http1_reader r;
    size_t used;
    enum weir_http1_event event;
    struct weir_slice in = WEIR_SLICE("3\r\nabc\r\n0\r\n\r\nrest");
    weir_http1_init(&r, WEIR_HTTP1_REQUESTS, &options.limits);
    assert_int_equal(weir_http1_feed(&r, WEIR_SLICE(CHUNKED), &used, &event), 0);
    assert_int_equal(weir_http1_feed(&r, in, &used, &event), 0);
    assert_int_equal(event, WEIR_HTTP1_DATA);
    assert_ptr_equal(r.data.p, in.p + 3);
    assert_int_equal(r.data.n, 3);
    assert_int_equal(used, 6);
    in = weir_slice_sub(in, used, in.n);
    assert_int_equal(weir_http1_feed(&r, in, &used, &event), 0);
    assert_int_equal(event, WEIR_HTTP1_END);
    assert_int_equal(used, 7);
    assert_true(weir_http1_is_idle(&r));
    weir_http1_dispose(&r);
}

static void chunk_heads(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        const char *out;
    } rows[] = {
        {0, "0\r\n"},   {1, "1\r\n"},       {15, "f\r\n"},
        {16, "10\r\n"}, {0xabc, "abc\r\n"}, {SIZE_MAX, "ffffffffffffffff\r\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char out[18];
        size_t n = weir_http1_chunk_head(out, rows[i].n);
        assert_true(weir_slice_eq_cstr(weir_slice_make(out, n), rows[i].out));
    }
}

static void names_and_values(void **state)
{
    (void)state;
    assert_true(weir_http1_is_token(WEIR_SLICE("X-Y_z.9!#$%&'*+^`|~")));
    assert_false(weir_http1_is_token(WEIR_SLICE("")));
    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        bool is_token = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                        (c >= 'A' && c <= 'Z') || (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
        bool is_value = c == '\t' || (c >= ' ' && c != 0x7f);
        assert_int_equal(weir_http1_is_token(weir_slice_make(&byte, 1)), is_token);
        assert_int_equal(weir_http1_is_field_value(weir_slice_make(&byte, 1)), is_value);
    }
    assert_true(weir_http1_is_field_value(WEIR_SLICE("")));
    assert_false(weir_http1_is_field_value(WEIR_SLICE("a\r\nb: c")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths),
        cmocka_unit_test(chunks),
        cmocka_unit_test(bad_chunks),
        cmocka_unit_test(body_limit),
        cmocka_unit_test(extension_limits),
        cmocka_unit_test(trailer_limit),
        cmocka_unit_test(data_is_not_copied),
        cmocka_unit_test(chunk_heads),
        cmocka_unit_test(names_and_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
