/*
 * What a call to a service costs, in CPU time of the calling process above the kernel's price: the
 * same bytes are exchanged by a bare epoll loop and by client/call.h, over as many connections,
 * with the same peer (a child process that answers every request with a constant).
 *
 *   call_bench [calls] [connections]
 */
#include "base/assert.h"
#include "client/call.h"
#include "client/client.h"
#include "http/endpoint.h"
#include "io/listener.h"
#include "io/loop.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_ROUNDS = 5, MAX_CONNS = 1024 };

static const char BODY[] =
    "{\"contents\":[\"The quick brown fox jumps over the lazy dog. It does so "
    "every day.\"],\"detector_params\":{}}";
static const char ANSWER[] = "[[{\"start\":0,\"end\":5,\"text\":\"The q\",\"detection\":\"hap\","
                             "\"detection_type\":\"hap\",\"score\":0.9}]]";

static double cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The peer: our own serving side in a child, HTTP/1.1 and HTTP/2. */

static void on_request(void *ctx, struct weir_http_stream *s)
{
    (void)ctx;
    static const struct weir_http_field TYPE = {{"content-type", 12}, {"application/json", 16}};
    weir_http_stream_reply(s, 200, &TYPE, 1, weir_slice_make(ANSWER, sizeof ANSWER - 1));
}

static void on_body_end(struct weir_http_stream *s)
{
    on_request(NULL, s);
}

static const struct weir_http_handler HANDLER = {.on_body_end = on_body_end};

static void wait_for_body(void *ctx, struct weir_http_stream *s)
{
    (void)ctx;
    s->handler = &HANDLER;
}

static void on_done(void *ctx, const struct weir_http_stream *s)
{
    (void)ctx;
    (void)s;
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

static void on_connection(void *ctx, int fd)
{
    weir_http_endpoint_accept(ctx, fd);
}

static pid_t fork_peer(uint16_t *port)
{
    int pipe_fds[2];
    WEIR_ASSERT(pipe(pipe_fds) == 0);
    pid_t pid = fork();
    if (pid != 0) {
        WEIR_ASSERT(pid > 0 && read(pipe_fds[0], port, sizeof *port) == sizeof *port);
        return pid;
    }
    static const struct weir_http_service SERVICE = {.on_request = wait_for_body,
                                                     .on_done = on_done,
                                                     .may_open = may_open,
                                                     .on_close = on_close};
    static const struct weir_http_limits LIMITS = {.max_header_bytes = 65536,
                                                   .max_headers = 100,
                                                   .max_out_bytes = 65536,
                                                   .max_streams = 1000,
                                                   .header_timeout_ms = 60000,
                                                   .idle_timeout_ms = 600000,
                                                   .write_timeout_ms = 60000};
    struct weir_loop loop;
    struct weir_http_endpoint ep;
    struct weir_listener listener;
    WEIR_ASSERT(weir_loop_init(&loop) == 0);
    weir_http_endpoint_init(&ep, &loop);
    ep.service = &SERVICE;
    ep.limits = &LIMITS;
    WEIR_ASSERT(weir_listener_open(&listener, &loop, "127.0.0.1", 0, false) == 0);
    listener.on_connection = on_connection;
    listener.ctx = &ep;
    WEIR_ASSERT(weir_listener_start(&listener) == 0);
    WEIR_ASSERT(write(pipe_fds[1], &listener.port, sizeof listener.port) == sizeof listener.port);
    weir_loop_run(&loop);
    _exit(0);
}

/* The floor */

static double bare(uint16_t port, int n_calls, int n_conns)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    char request[2048];
    int n = snprintf(request, sizeof request,
                     "POST /api/v1/text/contents HTTP/1.1\r\nhost: 127.0.0.1:%u\r\n"
                     "content-type: application/json\r\ndetector-id: hap-en\r\n"
                     "x-model-name: hap-en\r\nuser-agent: weir/0.0.0\r\n"
                     "traceparent: 00-00000000000000000000000000000000-0000000000000000-00\r\n"
                     "content-length: %zu\r\n\r\n%s",
                     (unsigned)port, sizeof BODY - 1, BODY);
    int fds[MAX_CONNS];
    int epoll_fd = epoll_create1(0);
    for (int i = 0; i < n_conns; i++) {
        int one = 1;
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        WEIR_ASSERT(connect(fds[i], (struct sockaddr *)&addr, sizeof addr) == 0);
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event e = {.events = EPOLLIN, .data.fd = fds[i]};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[i], &e);
    }
    double begin = cpu_us();
    for (int i = 0; i < n_conns; i++) {
        WEIR_ASSERT(write(fds[i], request, (size_t)n) == n);
    }
    for (int done = 0; done < n_calls;) {
        struct epoll_event events[256];
        int n_events = epoll_wait(epoll_fd, events, 256, -1);
        for (int i = 0; i < n_events; i++) {
            static char answer[65536];
            WEIR_ASSERT(read(events[i].data.fd, answer, sizeof answer) > 0);
            done++;
            WEIR_ASSERT(write(events[i].data.fd, request, (size_t)n) == n);
        }
    }
    double took = cpu_us() - begin;
    for (int i = 0; i < n_conns; i++) {
        close(fds[i]);
    }
    close(epoll_fd);
    return took / n_calls;
}

/* The client */

struct run {
    struct weir_loop loop;
    struct weir_client *client;
    struct weir_target target;
    struct weir_call_context context;
    struct weir_log_ctx log;
    int left;
    int running;
};

static void start(struct run *r);

static void on_answer(void *ctx, const struct weir_call_result *result)
{
    struct run *r = ctx;
    WEIR_ASSERT(result->err == 0 && result->status == 200 && result->body.n == sizeof ANSWER - 1);
    r->running--;
    if (r->left > 0) {
        start(r);
    } else if (r->running == 0) {
        weir_loop_stop(&r->loop);
    }
}

static void start(struct run *r)
{
    static const struct weir_http_field FIELDS[] = {
        {{"content-type", 12}, {"application/json", 16}},
        {{"detector-id", 11}, {"hap-en", 6}},
        {{"x-model-name", 12}, {"hap-en", 6}},
    };
    static const struct weir_call_events EVENTS = {.on_done = on_answer};
    struct weir_call_request request = {
        .target = &r->target,
        .context = &r->context,
        .method = WEIR_SLICE("POST"),
        .path = WEIR_SLICE("/api/v1/text/contents"),
        .fields = FIELDS,
        .n_fields = 3,
        .body = weir_slice_make(BODY, sizeof BODY - 1),
        .max_body_bytes = 1 << 20,
    };
    r->left--;
    r->running++;
    weir_call_start(r->client, &request, &EVENTS, r);
}

static void on_closed(void *ctx)
{
    weir_loop_stop(ctx);
}

static double client(uint16_t port, enum weir_target_protocol protocol, int n_calls, int n_conns)
{
    struct run r = {.left = n_conns,
                    .target = {.id = WEIR_SLICE("hap-en"),
                               .hostname = "127.0.0.1",
                               .port = port,
                               .protocol = protocol,
                               .connect_timeout_ms = 10000,
                               .first_byte_timeout_ms = 120000,
                               .idle_timeout_ms = 120000,
                               .request_timeout_ms = 600000,
                               .keep_alive_interval_ms = 30000,
                               .keep_alive_timeout_ms = 30000,
                               .dns_interval_ms = 10000}};
    r.context.log = &r.log;
    weir_trace_start(&r.log.trace, false);
    WEIR_ASSERT(weir_loop_init(&r.loop) == 0);
    r.client = weir_client_new(&r.loop);
    double took = 0;
    for (int is_warm = 0; is_warm < 2; is_warm++) {
        double begin = cpu_us();
        r.left = is_warm ? n_calls : n_conns;
        for (int i = 0; i < n_conns; i++) {
            start(&r);
        }
        weir_loop_run(&r.loop);
        took = cpu_us() - begin;
    }
    weir_client_close(r.client, on_closed, &r.loop);
    weir_loop_run(&r.loop);
    weir_loop_dispose(&r.loop);
    return took / n_calls;
}

int main(int argc, char **argv)
{
    int n_calls = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 100000;
    int n_conns = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 32;
    WEIR_ASSERT(n_calls > 0 && n_conns > 0 && n_conns <= MAX_CONNS);
    uint16_t port;
    pid_t peer = fork_peer(&port);
    double best[3] = {1e9, 1e9, 1e9};
    for (int i = 0; i < N_ROUNDS; i++) {
        double now[3] = {bare(port, n_calls, n_conns),
                         client(port, WEIR_TARGET_HTTP, n_calls, n_conns),
                         client(port, WEIR_TARGET_H2, n_calls, n_conns)};
        for (int k = 0; k < 3; k++) {
            best[k] = now[k] < best[k] ? now[k] : best[k];
        }
    }
    printf("a call, %d at a time, µs of CPU: bare epoll %.2f, HTTP/1.1 %.2f (+%.2f), HTTP/2 %.2f\n",
           n_conns, best[0], best[1], best[1] - best[0], best[2]);
    kill(peer, SIGKILL);
    waitpid(peer, NULL, 0);
    return 0;
}
