/* What services answer. */
#include "unit/cmocka_all.h"
#include "unit/wire/http1_trace.h"

static struct http1_trace_options options = {
    .role = WEIR_HTTP1_RESPONSES,
    .limits = {.max_head_bytes = 128, .max_headers = 4, .max_body_bytes = 20},
};

struct row {
    const char *in;
    const char *out;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct weir_buf trace = {0};
        struct cuts_run run = {&http1_trace_codec, &options, weir_slice_cstr(rows[i].in)};
        cuts_check(&run, 200, &trace);
        assert_string_equal(weir_buf_cstr(&trace), rows[i].out);
        weir_buf_dispose(&trace);
    }
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void good_responses(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
         "200 1.1 keep length=2 | Content-Length=2\ndata hi\nend\nclosed\n"},
        {"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
         "200 1.1 keep length=0 | Content-Length=0\nend\nclosed\n"},
        {"HTTP/1.0 599\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n",
         "599 1.0 keep length=0 | Content-Length=0 | Connection=keep-alive\nend\nclosed\n"},
        {"HTTP/1.1 200 Gr\xc3\xbc\xdf dich\t!\r\nTransfer-Encoding: Chunked\r\n\r\n"
         "2\r\nhi\r\n0\r\n\r\n",
         "200 1.1 keep chunked | Transfer-Encoding=Chunked\ndata hi\nend\nclosed\n"},
        {"HTTP/1.1 200 OK\r\n\r\nuntil the end",
         "200 1.1 close\ndata until the end\nend\nclosed\n"},
        {"HTTP/1.1 200 OK\r\n\r\n", "200 1.1 close\nend\nclosed\n"},
        {"HTTP/1.1 200 OK\r\n\r\n12345678901234567890",
         "200 1.1 close\ndata 12345678901234567890\nend\nclosed\n"},
        {"HTTP/1.1 204 No\r\n\r\nHTTP/1.1 304 Not\r\nContent-Length: 99\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
         "204 1.1 keep\nend\n304 1.1 keep length=99 | Content-Length=99\nend\n"
         "200 1.1 keep length=1 | Content-Length=1\ndata x\nend\nclosed\n"},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
         "100 1.1 keep\nend\n103 1.1 keep | Link=x\nend\n"
         "200 1.1 keep length=1 | Content-Length=1\ndata x\nend\nclosed\n"},
        {"HTTP/1.1 200 OK\r\nHost: a b\r\nExpect: tea\r\nConnection: close\r\n"
         "Content-Length: 0\r\n\r\n",
         "200 1.1 close length=0 | Host=a b | Expect=tea | Connection=close | Content-Length=0\n"
         "end\nclosed\n"},
        {"HTTP/1.1 101 Switch\r\nConnection: upgrade\r\n\r\n",
         "101 1.1 keep upgrade | Connection=upgrade\nend\nclosed\n"},
    };
    CHECK_ROWS(rows);
}

static void bad_responses(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"\r\nHTTP/1.1 200 OK\r\n\r\n", "EBAD 400\n"},
        {"http/1.1 200 OK\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 OK\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 \r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 20\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 2000\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 099 X\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 600 X\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1  200 X\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 200 X\x01\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 200 X\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 200 X\rY\r\n\r\n", "EBAD 400\n"},
        {"HTTP/2.0 200 X\r\n\r\n", "EBAD 505\n"},
        {"HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi", "EBAD 400\n"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
         "EBAD 400\n"},
        {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "EBAD 400\n"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: br\r\n\r\n", "EBAD 501\n"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n", "ELIMIT 413\n"},
        {"HTTP/1.1 200 OK\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\n\r\n", "ELIMIT 431\n"},
        {"HTTP/1.1 200 OK\r\n\r\n123456789012345678901",
         "200 1.1 close\ndata 12345678901234567890\nELIMIT 413\n"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
         "200 1.1 keep length=3 | Content-Length=3\ndata hi\ncut\n"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n!",
         "200 1.1 keep length=0 | Content-Length=0\nend\nEBAD 400\n"},
        {"HTTP/1.1 101 Switch\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "101 1.1 keep\nend\nEBAD 400\n"},
    };
    CHECK_ROWS(rows);
    struct weir_buf in = {0};
    weir_buf_append(&in, WEIR_SLICE("HTTP/1.1 200 "));
    while (in.n < 128) {
        weir_buf_append_byte(&in, 'r');
    }
    CHECK_ROWS(((struct row[]){{weir_buf_cstr(&in), "ELIMIT 431\n"}}));
    weir_buf_dispose(&in);
}

/* The answer to HEAD has no body whatever it declares; an interim answer does not use that up. */
static void answers_to_head(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
         "100 1.1 keep\nend\n200 1.1 keep length=1000 | Content-Length=1000\nend\n"
         "200 1.1 keep length=1 | Content-Length=1\ndata x\nend\nclosed\n"},
        {"HTTP/1.1 200 OK\r\n\r\n", "200 1.1 keep\nend\nclosed\n"},
    };
    options.is_no_body_expected = true;
    CHECK_ROWS(rows);
    options.is_no_body_expected = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_responses),
        cmocka_unit_test(bad_responses),
        cmocka_unit_test(answers_to_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
