/* HTTP/1 requests and what is the same in both roles; http1_body_test.c and http1_response_test.c
 * have the rest. Every input is fed whole, byte by byte and at random cuts. */
#include "unit/cmocka_all.h"
#include "unit/wire/http1_trace.h"

#define GET "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"

static const struct http1_trace_options requests = {
    .role = WEIR_HTTP1_REQUESTS,
    .limits = {.max_head_bytes = 256, .max_headers = 6, .max_body_bytes = 100},
};

struct row {
    const char *in;
    const char *out;
};

static void check(struct weir_slice in, const char *out)
{
    struct weir_buf trace = {0};
    cuts_check(&(struct cuts_run){&http1_trace_codec, &requests, in}, 200, &trace);
    assert_string_equal(weir_buf_cstr(&trace), out);
    weir_buf_dispose(&trace);
}

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check(weir_slice_cstr(rows[i].in), rows[i].out);
    }
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void good_request_lines(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"", "closed\n"},
        {GET "Host: a\r\n\r\n", "GET / 1.1 host=a keep | Host=a\nend\nclosed\n"},
        {"\r\n" GET "Host: a\r\n\r\n", "GET / 1.1 host=a keep | Host=a\nend\nclosed\n"},
        {"\r\n", "closed\n"},
        {"GET / HTTP/1.0\r\n\r\n", "GET / 1.0 host= close\nend\nclosed\n"},
        {"M-SEARCH /a?b=c&d|{} HTTP/1.1\r\nhost:a.b:80\r\n\r\n",
         "M-SEARCH /a?b=c&d|{} 1.1 host=a.b:80 keep | host=a.b:80\nend\nclosed\n"},
        {"GET http://Up.example:81/p?q HTTP/1.1\r\nHost: other\r\n\r\n",
         "GET /p?q 1.1 host=Up.example:81 keep | Host=other\nend\nclosed\n"},
        {"GET HTTPS://up HTTP/1.1\r\nHost: a\r\n\r\n",
         "GET / 1.1 host=up keep | Host=a\nend\nclosed\n"},
        {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
         "OPTIONS * 1.1 host=a keep | Host=a\nend\nclosed\n"},
        {"OPTIONS http://up HTTP/1.1\r\nHost: a\r\n\r\n",
         "OPTIONS * 1.1 host=up keep | Host=a\nend\nclosed\n"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZ012345 / HTTP/1.0\r\n\r\n",
         "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345 / 1.0 host= close\nend\nclosed\n"},
        {GET "Host: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: b\r\n\r\n",
         "GET / 1.1 host=a keep | Host=a\nend\nGET /2 1.1 host=b keep | Host=b\nend\nclosed\n"},
        {GET "Host: a\r\n\r\n\r\n" GET "Host: b\r\n\r\n",
         "GET / 1.1 host=a keep | Host=a\nend\nGET / 1.1 host=b keep | Host=b\nend\nclosed\n"},
    };
    CHECK_ROWS(rows);
}

static void bad_request_lines(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\r\n\r\n" GET "Host: a\r\n\r\n",          /* a second empty line */
        "\n" GET "Host: a\r\n\r\n",                /* bare LF before it */
        "\r" GET "Host: a\r\n\r\n",                /* bare CR before it */
        " GET / HTTP/1.1\r\nHost: a\r\n\r\n",      /* leading space */
        "\x16\x03\x01\x02",                        /* TLS on a plain port, refused at once */
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",      /* two spaces */
        "GET /  HTTP/1.1\r\nHost: a\r\n\r\n",      /* two spaces */
        "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",      /* tab */
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",      /* trailing space */
        "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",       /* not a token */
        "GET /\r\n\r\n",                           /* HTTP/0.9 */
        "GET\r\n\r\n",                             /* method alone */
        "GET \r\n\r\n",                            /* no target */
        "GET / http/1.1\r\nHost: a\r\n\r\n",       /* case */
        "GET / HTTP/1\r\nHost: a\r\n\r\n",         /* no minor */
        "GET / HTTP/1.10\r\nHost: a\r\n\r\n",      /* two digits */
        "GET / HTTP/x.1\r\nHost: a\r\n\r\n",       /* not a digit */
        "GET / HTTP\r\n\r\n",                      /* cut version */
        "GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n",   /* byte above 0x7e */
        "GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n",   /* DEL */
        "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n",   /* control character */
        "GET /#f HTTP/1.1\r\nHost: a\r\n\r\n",     /* fragment */
        "GET a HTTP/1.1\r\nHost: a\r\n\r\n",       /* relative */
        "GET * HTTP/1.1\r\nHost: a\r\n\r\n",       /* * is for OPTIONS */
        "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", /* authority-form */
        "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http:/a HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://u@h/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://h?q HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\r\n\r\n", /* bare LF */
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\rHost: a\r\n\r\n", /* bare CR */
        "GET / HTTP/1.1\r\n\rHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check(weir_slice_cstr(bad[i]), "EBAD 400\n");
    }
    check(WEIR_SLICE("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"), "EBAD 400\n");
}

static void other_statuses(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", "EBAD 505\n"},
        {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", "EBAD 505\n"},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "EBAD 505\n"},
        {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", "EBAD 505\n"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456 / HTTP/1.1\r\nHost: a\r\n\r\n", "EBAD 501\n"},
        {POST "Transfer-Encoding: gzip\r\n\r\n", "EBAD 501\n"},
        {POST "Transfer-Encoding: gzip, chunked\r\n\r\n", "EBAD 501\n"},
        {POST "Transfer-Encoding: chunked, identity\r\n\r\n", "EBAD 501\n"},
        {POST "Transfer-Encoding: xchunked\r\n\r\n", "EBAD 501\n"},
        {POST "Transfer-Encoding: chunked;q=1\r\n\r\n", "EBAD 501\n"},
        {POST "Expect: tea\r\n\r\n", "EBAD 417\n"},
        {POST "Expect: 100-continue, tea\r\n\r\n", "EBAD 417\n"},
        {POST "Expect:\r\n\r\n", "EBAD 417\n"},
        {POST "Content-Length: 101\r\n\r\n", "ELIMIT 413\n"},
        {POST "Content-Length: 18446744073709551615\r\n\r\n", "ELIMIT 413\n"},
    };
    CHECK_ROWS(rows);
}

static void good_fields(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {GET "HOST:\t a \t \r\nx:\r\ny: a b\tc \x80\xff!\r\n\r\n",
         "GET / 1.1 host=a keep | HOST=a | x= | y=a b\tc \x80\xff!\nend\nclosed\n"},
        {GET "Host: [2001:db8::1]:8080\r\n!#$%&'*+-.^_`|~9: :\r\n\r\n",
         "GET / 1.1 host=[2001:db8::1]:8080 keep | Host=[2001:db8::1]:8080 | "
         "!#$%&'*+-.^_`|~9=:\nend\nclosed\n"},
        {GET "Host: a\r\nConnection: foo , CLOSE,\r\n\r\n",
         "GET / 1.1 host=a close | Host=a | Connection=foo , CLOSE,\nend\nclosed\n"},
        {GET "Host: a\r\nConnection: closed\r\n\r\n",
         "GET / 1.1 host=a keep | Host=a | Connection=closed\nend\nclosed\n"},
        {GET "Host: a\r\nConnection: Upgrade, keep-alive\r\nUpgrade: h2c\r\n\r\n",
         "GET / 1.1 host=a keep upgrade | Host=a | Connection=Upgrade, keep-alive | "
         "Upgrade=h2c\nend\nclosed\n"},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
         "GET / 1.0 host= keep | Connection=Keep-Alive\nend\nclosed\n"},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nConnection: close\r\n\r\n",
         "GET / 1.0 host= close | Connection=Keep-Alive | Connection=close\nend\nclosed\n"},
        {POST "Expect: 100-Continue\r\n\r\n",
         "POST / 1.1 host=a keep expect | Host=a | Expect=100-Continue\nend\nclosed\n"},
        {"POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n",
         "POST / 1.0 host= close | Expect=100-continue\nend\nclosed\n"},
    };
    CHECK_ROWS(rows);
}

static void bad_fields(void **state)
{
    (void)state;
    static const char *const bad[] = {
        GET "\r\n",                       /* no Host */
        GET "Host: a\r\nHost: a\r\n\r\n", /* two */
        "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\n\r\n", /* absolute-form needs one too */
        GET "Host:\r\n\r\n",              /* empty */
        GET "Host: a b\r\n\r\n",          /* not a host */
        GET "Host: a/b\r\n\r\n",
        GET "Host: u@a\r\n\r\n",
        GET "Host: a:\r\n\r\n",
        GET "Host: a:x\r\n\r\n",
        GET "Host: a:65536\r\n\r\n",
        GET "Host: [::1\r\n\r\n",
        GET "Host: [::g]\r\n\r\n",
        GET "Host: ::1\r\n\r\n",
        GET "Host: a%2\r\n\r\n",
        GET "Host: \x80\r\n\r\n",
        GET "Host: a\r\nX : b\r\n\r\n", /* white space before the colon */
        GET "Host: a\r\nX\t: b\r\n\r\n",
        GET "Host: a\r\n X: b\r\n\r\n", /* folded */
        GET "Host: a\r\nX: b\r\n c\r\n\r\n",
        GET "Host: a\r\nX: b\r\n\tc\r\n\r\n",
        GET "Host: a\r\nX: b\r\n \r\n\r\n",
        GET " \r\nHost: a\r\n\r\n",
        GET "Host: a\r\n: b\r\n\r\n", /* no name */
        GET "Host: a\r\nXY\r\n\r\n",  /* no colon */
        GET "Host: a\r\nX Y: b\r\n\r\n",
        GET "Host: a\r\nX(: b\r\n\r\n",
        GET "Host: a\r\nX\x80: b\r\n\r\n",
        GET "Host: a\r\nX: b\x01\r\n\r\n", /* control characters */
        GET "Host: a\r\nX: b\x7f\r\n\r\n",
        GET "Host: a\r\nX: b\x0b\r\n\r\n",
        GET "Host: a\r\nX: b\rc\r\n\r\n",    /* bare CR */
        GET "Host: a\r\nX: b\nc: d\r\n\r\n", /* bare LF */
        POST "Content-Length:\r\n\r\n",      /* lengths */
        POST "Content-Length: +5\r\n\r\n",
        POST "Content-Length: -1\r\n\r\n",
        POST "Content-Length: 0x5\r\n\r\n",
        POST "Content-Length: 5 5\r\n\r\n",
        POST "Content-Length: 5, 5\r\n\r\n",
        POST "Content-Length: 5,\r\n\r\n",
        POST "Content-Length: 5.0\r\n\r\n",
        POST "Content-Length: 18446744073709551616\r\n\r\n",
        POST "Content-Length: 99999999999999999999999\r\n\r\n",
        POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
        POST "Content-Length: 5\r\ncontent-length: 6\r\n\r\n",
        POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        POST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
        POST "Transfer-Encoding:\r\n\r\n", /* codings */
        POST "Transfer-Encoding: ,chunked\r\n\r\n",
        POST "Transfer-Encoding: chunked, chunked\r\n\r\n",
        POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check(weir_slice_cstr(bad[i]), "EBAD 400\n");
    }
    check(WEIR_SLICE(GET "Host: a\r\nX: \0\r\n\r\n"), "EBAD 400\n");
}

/* A head of exactly `n` bytes, padded in the target or in a field. */
static void padded_head(struct weir_buf *out, size_t n, bool in_target)
{
    const char *front = in_target ? "GET /" : "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    const char *back = in_target ? " HTTP/1.1\r\nHost: a\r\n\r\n" : "\r\n\r\n";
    weir_buf_clear(out);
    weir_buf_append(out, weir_slice_cstr(front));
    while (out->n < n - strlen(back)) {
        weir_buf_append_byte(out, 'x');
    }
    weir_buf_append(out, weir_slice_cstr(back));
    assert_int_equal(out->n, n);
}

static void assert_trace_starts(struct weir_slice in, const char *start)
{
    struct weir_buf trace = {0};
    cuts_check(&(struct cuts_run){&http1_trace_codec, &requests, in}, 200, &trace);
    assert_true(weir_slice_starts_with(weir_buf_slice(&trace), weir_slice_cstr(start)));
    weir_buf_dispose(&trace);
}

static void head_limits(void **state)
{
    (void)state;
    struct weir_buf in = {0};
    padded_head(&in, 256, true);
    assert_trace_starts(weir_buf_slice(&in), "GET /xxx");
    padded_head(&in, 256, false);
    assert_trace_starts(weir_buf_slice(&in), "GET / 1.1");
    padded_head(&in, 257, false);
    check(weir_buf_slice(&in), "ELIMIT 431\n");
    padded_head(&in, 4000, false);
    check(weir_buf_slice(&in), "ELIMIT 431\n");
    /* One byte too long, but the first line was read: still the header's fault. */
    padded_head(&in, 257, true);
    check(weir_buf_slice(&in), "ELIMIT 431\n");
    padded_head(&in, 300, true);
    check(weir_buf_slice(&in), "ELIMIT 414\n");
    weir_buf_clear(&in);
    for (int i = 0; i < 256; i++) {
        weir_buf_append_byte(&in, 'G');
    }
    check(weir_buf_slice(&in), "ELIMIT 414\n");
    in.n--;
    check(weir_buf_slice(&in), "cut\n");
    weir_buf_dispose(&in);

    assert_trace_starts(WEIR_SLICE(GET "Host: a\r\nb:\r\nc:\r\nd:\r\ne:\r\nf:\r\n\r\n"), "GET /");
    check(WEIR_SLICE(GET "Host: a\r\nb:\r\nc:\r\nd:\r\ne:\r\nf:\r\ng:\r\n\r\n"), "ELIMIT 431\n");
}

/* More headers than the reader has places of its own. */
static void many_headers(void **state)
{
    (void)state;
    struct http1_trace_options wide = requests;
    wide.limits.max_head_bytes = 10000;
    wide.limits.max_headers = 100;
    struct weir_buf in = {0};
    struct weir_buf want = {0};
    weir_buf_append(&in, WEIR_SLICE(GET "Host: a\r\n"));
    weir_buf_append(&want, WEIR_SLICE("GET / 1.1 host=a keep | Host=a"));
    for (int i = 1; i < 100; i++) {
        weir_buf_printf(&in, "x-%d: %d\r\n", i, i * i);
        weir_buf_printf(&want, " | x-%d=%d", i, i * i);
    }
    weir_buf_append(&in, WEIR_SLICE("\r\n"));
    weir_buf_append(&want, WEIR_SLICE("\nend\nclosed\n"));
    struct weir_buf trace = {0};
    struct cuts_run run = {&http1_trace_codec, &wide, weir_buf_slice(&in)};
    cuts_check(&run, 200, &trace);
    assert_string_equal(weir_buf_cstr(&trace), weir_buf_cstr(&want));

    in.n -= 2;
    weir_buf_append(&in, WEIR_SLICE("x-100: 1\r\n\r\n"));
    run.input = weir_buf_slice(&in);
    cuts_check(&run, 20, &trace);
    assert_string_equal(weir_buf_cstr(&trace), "ELIMIT 431\n");
    weir_buf_dispose(&trace);
    weir_buf_dispose(&want);
    weir_buf_dispose(&in);
}

static void cut_messages(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"G", "cut\n"},
        {GET "Host: a\r\n", "cut\n"},
        {POST "Content-Length: 2\r\n\r\nx",
         "POST / 1.1 host=a keep length=2 | Host=a | Content-Length=2\ndata x\ncut\n"},
    };
    CHECK_ROWS(rows);
}

/* A whole head is read where it lies; one in pieces is held only as long as it is needed. */
static void memory_of_heads(void **state)
{
    (void)state;
    struct weir_http1_reader r;
    size_t used;
    enum weir_http1_event event;
    weir_http1_init(&r, WEIR_HTTP1_REQUESTS, &requests.limits);
    struct weir_slice in = WEIR_SLICE(GET "Host: a\r\n\r\n");
    assert_true(weir_http1_is_idle(&r));
    assert_int_equal(weir_http1_feed(&r, in, &used, &event), 0);
    assert_int_equal(used, in.n);
    assert_ptr_equal(r.head.method.p, in.p);
    assert_null(r.held.p);
    assert_false(weir_http1_is_idle(&r));
    assert_int_equal(weir_http1_feed(&r, WEIR_SLICE(""), &used, &event), 0);
    assert_int_equal(event, WEIR_HTTP1_END);
    assert_true(weir_http1_is_idle(&r));

    assert_int_equal(weir_http1_feed(&r, weir_slice_sub(in, 0, 9), &used, &event), WEIR_EAGAIN);
    assert_false(weir_http1_is_idle(&r));
    weir_http1_release(&r); /* does not lose the first piece */
    assert_int_equal(weir_http1_feed(&r, weir_slice_sub(in, 9, in.n), &used, &event), 0);
    assert_int_equal(used, in.n - 9);
    assert_ptr_equal(r.head.method.p, r.held.p);
    assert_true(weir_slice_eq_cstr(r.head.host, "a"));
    weir_http1_release(&r);
    assert_null(r.held.p);
    assert_int_equal(r.head.n_headers, 0);
    assert_int_equal(weir_http1_feed(&r, WEIR_SLICE(""), &used, &event), 0);
    assert_int_equal(event, WEIR_HTTP1_END);
    weir_http1_dispose(&r);
    weir_http1_dispose(&r);
}

static void refusal_lasts(void **state)
{
    (void)state;
    struct weir_http1_reader r;
    size_t used;
    enum weir_http1_event event;
    weir_http1_init(&r, WEIR_HTTP1_REQUESTS, &requests.limits);
    struct weir_slice good = WEIR_SLICE(GET "Host: a\r\n\r\n");
    assert_int_equal(weir_http1_feed(&r, WEIR_SLICE("GET /\n"), &used, &event), WEIR_EBAD);
    assert_int_equal(weir_http1_feed(&r, good, &used, &event), WEIR_EBAD);
    assert_int_equal(used, 0);
    assert_int_equal(r.bad_status, 400);
    assert_false(weir_http1_is_idle(&r));
    assert_int_equal(weir_http1_eof(&r), WEIR_EBAD);
    weir_http1_dispose(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_request_lines), cmocka_unit_test(bad_request_lines),
        cmocka_unit_test(other_statuses),     cmocka_unit_test(good_fields),
        cmocka_unit_test(bad_fields),         cmocka_unit_test(head_limits),
        cmocka_unit_test(many_headers),       cmocka_unit_test(cut_messages),
        cmocka_unit_test(memory_of_heads),    cmocka_unit_test(refusal_lasts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
