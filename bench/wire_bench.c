/*
 * What the byte codecs cost, in CPU time: reading the head of a small GET, of an SDK's POST, one
 * event of a token stream, and the same event inside its HTTP chunk. Usage: wire_bench
 */
#include "base/assert.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/http1.h"
#include "wire/ndjson.h"
#include "wire/sse.h"

#include <stdio.h>
#include <time.h>

enum { N_ROUNDS = 9, N_TIMES = 20000, N_EVENTS = 64 };

static const char small_get[] = "GET /health HTTP/1.1\r\n"
                                "Host: localhost:8033\r\n"
                                "User-Agent: curl/7.88.1\r\n"
                                "Accept: */*\r\n"
                                "\r\n";

static const char sdk_post[] = "POST /v1/chat/completions HTTP/1.1\r\n"
                               "Host: 127.0.0.1:8033\r\n"
                               "Accept-Encoding: gzip, deflate\r\n"
                               "Connection: keep-alive\r\n"
                               "Accept: application/json\r\n"
                               "Content-Type: application/json\r\n"
                               "User-Agent: OpenAI/Python 1.54.0\r\n"
                               "X-Stainless-Lang: python\r\n"
                               "X-Stainless-Package-Version: 1.54.0\r\n"
                               "X-Stainless-OS: Linux\r\n"
                               "X-Stainless-Arch: x64\r\n"
                               "X-Stainless-Runtime: CPython\r\n"
                               "X-Stainless-Runtime-Version: 3.11.2\r\n"
                               "Authorization: Bearer sk-0123456789abcdef0123456789abcdef\r\n"
                               "X-Stainless-Async: false\r\n"
                               "x-stainless-retry-count: 0\r\n"
                               "Content-Length: 0\r\n"
                               "\r\n";

static const char token_event[] =
    "data: {\"id\":\"chatcmpl-9f8a7b6c5d4e3f2a1b0c\",\"object\":\"chat.completion.chunk\","
    "\"created\":1731628800,\"model\":\"granite-3.1-8b-instruct\",\"choices\":[{\"index\":0,"
    "\"delta\":{\"content\":\" gateway\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";

static const struct weir_http1_limits limits = {16384, 100, 0};

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Reads `text` to its end once and returns how many units (heads, events) were in it. */
typedef int (*read_fn)(void *reader, struct weir_slice text);

/* The best of several rounds: what the work costs without the neighbours. */
static double best_ns(read_fn fn, void *reader, struct weir_slice text)
{
    double best = 0;
    for (int round = 0; round < N_ROUNDS; round++) {
        double start = cpu_ns();
        long units = 0;
        for (int i = 0; i < N_TIMES; i++) {
            units += fn(reader, text);
        }
        double ns = (cpu_ns() - start) / (double)units;
        best = round == 0 || ns < best ? ns : best;
    }
    return best;
}

/* HEAD and END of each request. */
static int read_requests(void *reader, struct weir_slice text)
{
    int n = 0;
    size_t used;
    enum weir_http1_event event;
    int rc;
    while ((rc = weir_http1_feed(reader, text, &used, &event)) == 0) {
        text = weir_slice_sub(text, used, text.n);
        n += event == WEIR_HTTP1_HEAD;
    }
    WEIR_ASSERT(rc == WEIR_EAGAIN && n == 1);
    return n;
}

static int read_events(void *reader, struct weir_slice text)
{
    int n = 0;
    size_t used;
    while (weir_sse_feed(reader, text, &used) == 0) {
        text = weir_slice_sub(text, used, text.n);
        n++;
    }
    WEIR_ASSERT(n != 0);
    return n;
}

static int read_lines(void *reader, struct weir_slice text)
{
    int n = 0;
    size_t used;
    while (weir_ndjson_feed(reader, text, &used) == 0) {
        text = weir_slice_sub(text, used, text.n);
        n++;
    }
    WEIR_ASSERT(n != 0);
    return n;
}

/* An answer of a model server: chunks with an event in each. */
struct stream {
    struct weir_http1_reader http;
    struct weir_sse_reader sse;
};

static int read_stream(void *reader, struct weir_slice text)
{
    struct stream *s = reader;
    int n = 0;
    size_t used;
    enum weir_http1_event event;
    while (weir_http1_feed(&s->http, text, &used, &event) == 0) {
        text = weir_slice_sub(text, used, text.n);
        if (event == WEIR_HTTP1_DATA) {
            n += read_events(&s->sse, s->http.data);
        }
    }
    WEIR_ASSERT(n == N_EVENTS);
    return n;
}

static void bench_requests(const char *what, struct weir_slice text)
{
    struct weir_http1_reader r;
    weir_http1_init(&r, WEIR_HTTP1_REQUESTS, &limits);
    printf("http1 %-24s %4zu bytes  %6.1f ns\n", what, text.n, best_ns(read_requests, &r, text));
    weir_http1_dispose(&r);
}

static void bench_events(void)
{
    struct weir_sse_reader r;
    struct weir_slice one = weir_slice_cstr(token_event);
    weir_sse_init(&r, 65536);
    printf("sse   %-24s %4zu bytes  %6.1f ns\n", "event", one.n, best_ns(read_events, &r, one));
    weir_sse_dispose(&r);
    struct weir_ndjson_reader lines;
    weir_ndjson_init(&lines, 65536);
    printf("ndjson %-23s %4zu bytes  %6.1f ns\n", "line", one.n, best_ns(read_lines, &lines, one));
    weir_ndjson_dispose(&lines);
}

static void bench_stream(void)
{
    struct weir_buf text = {0};
    struct stream s;
    char size[18];
    weir_buf_append(&text, WEIR_SLICE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
    for (int i = 0; i < N_EVENTS; i++) {
        size_t n = weir_http1_chunk_head(size, sizeof token_event - 1);
        weir_buf_append(&text, weir_slice_make(size, n));
        weir_buf_append(&text, weir_slice_cstr(token_event));
        weir_buf_append(&text, WEIR_SLICE("\r\n"));
    }
    weir_buf_append(&text, WEIR_SLICE("0\r\n\r\n"));
    weir_http1_init(&s.http, WEIR_HTTP1_RESPONSES, &limits);
    weir_sse_init(&s.sse, 65536);
    printf("both  %-24s %4zu bytes  %6.1f ns\n", "event in its chunk", sizeof token_event - 1,
           best_ns(read_stream, &s, weir_buf_slice(&text)));
    weir_sse_dispose(&s.sse);
    weir_http1_dispose(&s.http);
    weir_buf_dispose(&text);
}

int main(void)
{
    bench_requests("small GET, head and end", weir_slice_cstr(small_get));
    bench_requests("SDK's POST, head and end", weir_slice_cstr(sdk_post));
    bench_events();
    bench_stream();
    return 0;
}
