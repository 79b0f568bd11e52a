/* Trailers, as callers see them: an endpoint on loopback, and a bare client of each protocol. */
#include "http/stream.h"

#include "http/endpoint.h"
#include "unit/io/pair.h"

#include <nghttp2/nghttp2.h>

enum answer { STREAMED, STREAMED_EMPTY, WITH_LENGTH, WITHOUT_BODY };

struct served {
    struct pair *pair;
    struct weir_http_endpoint endpoint;
    enum answer answer;
    size_t n_trailers;
    int n_done;
    size_t body_bytes;
};

static const struct weir_http_limits LIMITS = {
    .max_header_bytes = 16 * 1024,
    .max_headers = 64,
    .max_out_bytes = 64 * 1024,
    .max_streams = 16,
    .header_timeout_ms = 60 * 1000,
    .idle_timeout_ms = 60 * 1000,
    .write_timeout_ms = 60 * 1000,
};

static void finish(struct weir_http_stream *s, size_t n)
{
    /* Written to and gone before the answer leaves: the stream must have made copies. */
    char status[] = "grpc-status";
    char zero[] = "0";
    struct weir_http_field fields[] = {
        {weir_slice_cstr(status), weir_slice_cstr(zero)},
        {WEIR_SLICE("grpc-message"), WEIR_SLICE("well%20done")},
    };
    weir_http_stream_end_with(s, fields, n);
    memset(status, '!', sizeof status);
    memset(zero, '!', sizeof zero);
}

static void on_request(void *ctx, struct weir_http_stream *s)
{
    const struct served *sv = ctx;
    struct weir_http_field type = {WEIR_SLICE("content-type"), WEIR_SLICE("text/plain")};
    struct weir_http_response r = {.status = 200, .fields = &type, .n_fields = 1};
    r.body = sv->answer == WITH_LENGTH    ? WEIR_HTTP_BODY_LENGTH
             : sv->answer == WITHOUT_BODY ? WEIR_HTTP_BODY_NONE
                                          : WEIR_HTTP_BODY_STREAM;
    r.length = 5;
    weir_http_stream_respond(s, &r);
    if (sv->body_bytes != 0) {
        char *big = calloc(1, sv->body_bytes);
        weir_http_stream_write(s, weir_slice_make(big, sv->body_bytes));
        free(big);
    } else if (sv->answer == STREAMED || sv->answer == WITH_LENGTH) {
        weir_http_stream_write(s, WEIR_SLICE("hello"));
    }
    finish(s, sv->n_trailers);
}

static void on_done(void *ctx, const struct weir_http_stream *s)
{
    struct served *sv = ctx;
    assert_int_equal(s->status, 200);
    sv->n_done++;
    pair_look(sv->pair);
}

static void render_error(void *ctx, const struct weir_http_request *req, int status,
                         const char *what, struct weir_buf *body)
{
    (void)ctx;
    (void)req;
    (void)body;
    fail_msg("%d %s", status, what);
}

static bool may_open(void *ctx)
{
    (void)ctx;
    return true;
}

static void on_close(void *ctx)
{
    (void)ctx;
}

static const struct weir_http_service SERVICE = {
    .on_request = on_request,
    .on_done = on_done,
    .render_error = render_error,
    .may_open = may_open,
    .on_close = on_close,
};

static void on_connection(void *ctx, int fd)
{
    struct served *sv = ctx;
    weir_http_endpoint_accept(&sv->endpoint, fd);
}

static int setup(void **state)
{
    void *pair;
    pair_setup(&pair);
    struct served *sv = calloc(1, sizeof *sv);
    sv->pair = pair;
    weir_http_endpoint_init(&sv->endpoint, &sv->pair->loop);
    sv->endpoint.service = &SERVICE;
    sv->endpoint.limits = &LIMITS;
    sv->endpoint.ctx = sv;
    sv->pair->listener.on_connection = on_connection;
    sv->pair->listener.ctx = sv;
    *state = sv;
    return 0;
}

static int teardown(void **state)
{
    struct served *sv = *state;
    void *pair = sv->pair;
    weir_http_endpoint_abort(&sv->endpoint);
    pair_teardown(&pair);
    free(sv);
    return 0;
}

/* ---- HTTP/1 ---- */

/* The answer's bytes from the blank line on. */
static const char *ask_h1(struct served *sv, const char *request)
{
    struct side *down = &sv->pair->down;
    pair_connect(sv->pair);
    side_say(down, request);
    pair_run(sv->pair, sv->n_done == 1);
    side_say(down, "GET /next HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    sv->answer = WITHOUT_BODY;
    pair_run(sv->pair, down->n_eof == 1);
    const char *body = strstr(weir_buf_cstr(&down->got), "\r\n\r\n");
    assert_non_null(body);
    return body + 4;
}

static const char REQUEST_11[] = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

static void a_chunked_body_has_a_trailer(void **state)
{
    struct served *sv = *state;
    sv->n_trailers = 2;
    const char *body = ask_h1(sv, REQUEST_11);
    const char *expected = "5\r\nhello\r\n0\r\ngrpc-status: 0\r\ngrpc-message: well%20done\r\n\r\n"
                           "HTTP/1.1 200 OK\r\n";
    assert_memory_equal(body, expected, strlen(expected));
}

static void without_fields_the_end_is_plain(void **state)
{
    struct served *sv = *state;
    const char *body = ask_h1(sv, REQUEST_11);
    const char *expected = "5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n";
    assert_memory_equal(body, expected, strlen(expected));
}

static void a_body_with_length_has_none(void **state)
{
    struct served *sv = *state;
    sv->n_trailers = 2;
    sv->answer = WITH_LENGTH;
    const char *body = ask_h1(sv, REQUEST_11);
    const char *expected = "helloHTTP/1.1 200 OK\r\n";
    assert_memory_equal(body, expected, strlen(expected));
}

static void a_head_request_gets_none(void **state)
{
    struct served *sv = *state;
    sv->n_trailers = 2;
    const char *body = ask_h1(sv, "HEAD / HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_memory_equal(body, "HTTP/1.1 200 OK\r\n", 17);
}

/* ---- HTTP/2 ---- */

struct h2_client {
    struct served *served;
    nghttp2_session *session;
    struct weir_buf fields; /* name=value; in order, `|` between two header blocks */
    size_t n_body;
    bool is_closed;
    uint32_t close_code;
};

static struct weir_slice slice_of(nghttp2_rcbuf *buf)
{
    nghttp2_vec v = nghttp2_rcbuf_get_buf(buf);
    return weir_slice_make((const char *)v.base, v.len);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                     nghttp2_rcbuf *value, uint8_t flags, void *user_data)
{
    struct h2_client *cl = user_data;
    struct weir_slice n = slice_of(name);
    struct weir_slice v = slice_of(value);
    (void)session;
    (void)frame;
    (void)flags;
    if (!weir_slice_eq(n, WEIR_SLICE("date"))) {
        weir_buf_printf(&cl->fields, "%.*s=%.*s;", (int)n.n, n.p, (int)v.n, v.p);
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    struct h2_client *cl = user_data;
    (void)session;
    if (frame->hd.type == NGHTTP2_HEADERS) {
        bool is_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
        weir_buf_printf(&cl->fields, is_end ? "." : "|");
    }
    return 0;
}

static int on_body(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data,
                   size_t len, void *user_data)
{
    struct h2_client *cl = user_data;
    (void)session;
    (void)flags;
    (void)stream_id;
    (void)data;
    cl->n_body += len;
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code,
                           void *user_data)
{
    struct h2_client *cl = user_data;
    (void)session;
    (void)stream_id;
    cl->is_closed = true;
    cl->close_code = error_code;
    return 0;
}

static void say_frames(struct h2_client *cl)
{
    const uint8_t *data;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(cl->session, &data)) > 0) {
        weir_sock_write(&cl->served->pair->down.sock,
                        weir_slice_make((const char *)data, (size_t)n));
    }
    assert_int_equal(n, 0);
}

static struct h2_client *the_client; /* of the test that runs: hooks have no context */

static void feed_client(struct side *side)
{
    struct h2_client *cl = the_client;
    ssize_t n = nghttp2_session_mem_recv(cl->session, (const uint8_t *)side->now.p, side->now.n);
    assert_int_equal(n, side->now.n);
    say_frames(cl);
}

#define NV(name_, value_)                                                                          \
    {                                                                                              \
        .name = (uint8_t *)(name_), .value = (uint8_t *)(value_), .namelen = sizeof(name_) - 1,    \
        .valuelen = sizeof(value_) - 1                                                             \
    }

static void ask_h2(struct served *sv, struct h2_client *cl)
{
    nghttp2_session_callbacks *cb;
    nghttp2_session_callbacks_new(&cb);
    nghttp2_session_callbacks_set_on_header_callback2(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_body);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    *cl = (struct h2_client){.served = sv};
    assert_int_equal(nghttp2_session_client_new(&cl->session, cb, cl), 0);
    nghttp2_session_callbacks_del(cb);
    nghttp2_nv head[] = {NV(":method", "GET"), NV(":scheme", "http"), NV(":path", "/"),
                         NV(":authority", "x")};
    nghttp2_submit_settings(cl->session, NGHTTP2_FLAG_NONE, NULL, 0);
    nghttp2_submit_request(cl->session, NULL, head, 4, NULL, NULL);
    the_client = cl;
    sv->pair->down.at_data = feed_client;
    pair_connect(sv->pair);
    say_frames(cl);
    pair_run(sv->pair, cl->is_closed && sv->n_done == 1);
    assert_int_equal(cl->close_code, 0);
}

static void dispose_client(struct h2_client *cl)
{
    nghttp2_session_del(cl->session);
    weir_buf_dispose(&cl->fields);
}

static void expect_h2(struct served *sv, size_t n_body, const char *fields)
{
    struct h2_client cl;
    ask_h2(sv, &cl);
    assert_int_equal(cl.n_body, n_body);
    assert_string_equal(weir_buf_cstr(&cl.fields), fields);
    dispose_client(&cl);
}

#define HEAD ":status=200;content-type=text/plain;"

static void http2_sends_them_last(void **state)
{
    struct served *sv = *state;
    sv->n_trailers = 2;
    expect_h2(sv, 5, HEAD "|grpc-status=0;grpc-message=well%20done;.");
}

static void http2_sends_them_behind_an_empty_body(void **state)
{
    struct served *sv = *state;
    sv->n_trailers = 1;
    sv->answer = STREAMED_EMPTY;
    expect_h2(sv, 0, HEAD "|grpc-status=0;.");
}

static void http2_sends_them_behind_a_body_of_many_windows(void **state)
{
    struct served *sv = *state;
    sv->n_trailers = 1;
    sv->body_bytes = 1000 * 1000;
    expect_h2(sv, 1000 * 1000, HEAD "|grpc-status=0;.");
}

static void http2_without_fields_ends_with_the_body(void **state)
{
    struct served *sv = *state;
    expect_h2(sv, 5, HEAD "|");
}

static void http2_without_body_has_none(void **state)
{
    struct served *sv = *state;
    sv->n_trailers = 2;
    sv->answer = WITHOUT_BODY;
    expect_h2(sv, 0, HEAD ".");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_chunked_body_has_a_trailer),
        TEST(without_fields_the_end_is_plain),
        TEST(a_body_with_length_has_none),
        TEST(a_head_request_gets_none),
        TEST(http2_sends_them_last),
        TEST(http2_sends_them_behind_an_empty_body),
        TEST(http2_sends_them_behind_a_body_of_many_windows),
        TEST(http2_without_fields_ends_with_the_body),
        TEST(http2_without_body_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
