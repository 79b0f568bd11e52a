#ifndef WEIR_TESTS_UNIT_HTTP_SERVE_H
#define WEIR_TESTS_UNIT_HTTP_SERVE_H

/*
 * An endpoint on loopback whose handler does what a test hooks into it, and the client's socket
 * (pair->down) on the same loop. Every exchange leaves a record that outlives its stream.
 */
#include "base/mem.h"
#include "http/endpoint.h"
#include "http/http_int.h"
#include "http/stream.h"
#include "unit/flow_watch.h"
#include "unit/io/pair.h"

#include <sys/socket.h>

enum {
    SERVE_MAX_EXCHANGES = 64,
    SERVE_OUT_BYTES = 64 * 1024,
    SERVE_BIG = 10 * 1024 * 1024,
    SERVE_PIECE = 8 * 1024,
};

struct exchange;
typedef void (*exchange_hook_fn)(struct exchange *x);

struct exchange {
    struct served *sv;
    struct weir_http_stream *s; /* NULL once it is over */
    struct weir_slice now;      /* during at_body */
    char path[32];
    size_t n_got; /* body bytes, whose content follows pair_byte */
    int n_request, n_body_end, n_gone, n_done, n_undone;
    unsigned n_resume, n_full;
    struct flow_watch flow;
    int gone_err, status;
    size_t to_send, sent; /* exchange_send_on */
};

struct served {
    struct pair *pair;
    struct weir_http_endpoint endpoint;
    struct weir_http_limits limits;
    exchange_hook_fn at_request, at_body, at_body_end, at_resume, at_gone;
    bool any_body; /* request bodies do not follow pair_byte */
    struct exchange x[SERVE_MAX_EXCHANGES];
    size_t n_x; /* more than there is room for are counted only */
    size_t n_done;
    int n_open, n_empty;
    size_t most_pending; /* of any connection, seen between turns */
    size_t most_stash;
};

/* Bytes `from`… of a stream that follows pair_byte. */
static inline void serve_check_bytes(struct weir_slice bytes, size_t from)
{
    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] != pair_byte(from + i)) {
            fail_msg("byte %zu is not what was sent", from + i);
        }
    }
}

static inline void call(exchange_hook_fn hook, struct exchange *x)
{
    if (hook != NULL) {
        hook(x);
    }
}

static inline void serve_on_body(struct weir_http_stream *s, struct weir_slice bytes)
{
    struct exchange *x = s->ctx;
    assert_int_equal(x->n_body_end + x->n_gone, 0);
    assert_false(s->body_paused);
    assert_true(bytes.n != 0);
    if (!x->sv->any_body) {
        serve_check_bytes(bytes, x->n_got);
    }
    x->n_got += bytes.n;
    x->now = bytes;
    call(x->sv->at_body, x);
    x->now = weir_slice_make(NULL, 0);
}

static inline void serve_on_body_end(struct weir_http_stream *s)
{
    struct exchange *x = s->ctx;
    assert_int_equal(x->n_body_end + x->n_gone, 0);
    assert_false(s->body_paused);
    x->n_body_end++;
    call(x->sv->at_body_end, x);
}

static inline void serve_on_resume(struct weir_http_stream *s)
{
    struct exchange *x = s->ctx;
    assert_int_equal(x->n_gone, 0);
    flow_watch_resumed(&x->flow);
    x->n_resume++;
    call(x->sv->at_resume, x);
}

static inline void serve_on_gone(struct weir_http_stream *s, int err)
{
    struct exchange *x = s->ctx;
    assert_int_equal(x->n_gone, 0);
    assert_true(err < 0);
    x->n_gone++;
    x->gone_err = err;
    call(x->sv->at_gone, x);
}

static const struct weir_http_handler SERVE_HANDLER = {
    .on_body = serve_on_body,
    .on_body_end = serve_on_body_end,
    .on_resume = serve_on_resume,
    .on_gone = serve_on_gone,
};

static inline void serve_undo(void *ctx)
{
    struct exchange *x = ctx;
    x->n_undone++;
    x->s = NULL;
}

static inline void serve_on_request(void *ctx, struct weir_http_stream *s)
{
    struct served *sv = ctx;
    struct exchange *x = &sv->x[sv->n_x < SERVE_MAX_EXCHANGES ? sv->n_x : SERVE_MAX_EXCHANGES - 1];
    sv->n_x++;
    *x = (struct exchange){.sv = sv, .s = s, .n_request = 1};
    snprintf(x->path, sizeof x->path, "%.*s", (int)s->req.path.n, s->req.path.p);
    s->service_ctx = x;
    s->ctx = x;
    s->handler = &SERVE_HANDLER;
    weir_arena_defer(&s->arena, serve_undo, x);
    call(sv->at_request, x);
}

static inline void serve_on_done(void *ctx, const struct weir_http_stream *s)
{
    struct served *sv = ctx;
    struct exchange *x = s->service_ctx;
    sv->n_done++;
    if (x != NULL) {
        x->n_done++;
        x->status = s->status;
    }
}

static inline void serve_render_error(void *ctx, const struct weir_http_request *req, int status,
                                      const char *what, struct weir_buf *body)
{
    (void)ctx;
    if (req != NULL) {
        weir_buf_printf(body, "[%.*s %.*s] ", (int)req->method_name.n, req->method_name.p,
                        (int)req->path.n, req->path.p);
    }
    weir_buf_printf(body, "%d %s", status, what);
}

static inline bool serve_may_open(void *ctx)
{
    struct served *sv = ctx;
    sv->n_open++;
    return true;
}

static inline void serve_on_close(void *ctx)
{
    struct served *sv = ctx;
    sv->n_open--;
}

static inline void serve_on_empty(void *ctx)
{
    struct served *sv = ctx;
    sv->n_empty++;
}

static const struct weir_http_service SERVE_SERVICE = {
    .on_request = serve_on_request,
    .on_done = serve_on_done,
    .render_error = serve_render_error,
    .may_open = serve_may_open,
    .on_close = serve_on_close,
};

static inline void serve_on_connection(void *ctx, int fd)
{
    struct served *sv = ctx;
    weir_http_endpoint_accept(&sv->endpoint, fd);
}

/* Accepted sockets inherit it: what the kernel holds is small beside what the tests send. */
static inline void serve_shrink_kernel_buffer(struct served *sv)
{
    int fd = sv->pair->listener.fd;
    int bytes = 32 * 1024;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
}

static inline int serve_setup(void **state)
{
    void *pair;
    pair_setup(&pair);
    struct served *sv = calloc(1, sizeof *sv);
    sv->pair = pair;
    sv->limits = (struct weir_http_limits){
        .max_header_bytes = 16 * 1024,
        .max_headers = 64,
        .max_out_bytes = SERVE_OUT_BYTES,
        .max_streams = 16,
        .header_timeout_ms = 60 * 1000,
        .idle_timeout_ms = 60 * 1000,
        .write_timeout_ms = 60 * 1000,
    };
    weir_http_endpoint_init(&sv->endpoint, &sv->pair->loop);
    sv->endpoint.service = &SERVE_SERVICE;
    sv->endpoint.limits = &sv->limits;
    sv->endpoint.ctx = sv;
    sv->endpoint.on_empty = serve_on_empty;
    sv->pair->listener.on_connection = serve_on_connection;
    sv->pair->listener.ctx = sv;
    sv->pair->down.at_error = side_close;
    serve_shrink_kernel_buffer(sv);
    *state = sv;
    return 0;
}

/* Whatever a test left open ends here, and then every exchange has been undone exactly once. */
static inline int serve_teardown(void **state)
{
    struct served *sv = *state;
    void *pair = sv->pair;
    weir_http_endpoint_abort(&sv->endpoint);
    pair_teardown(&pair);
    assert_int_equal(sv->n_open, 0);
    assert_int_equal(sv->endpoint.n_conns, 0);
    size_t n = sv->n_x < SERVE_MAX_EXCHANGES ? sv->n_x : SERVE_MAX_EXCHANGES;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sv->x[i].n_done, 1);
        assert_int_equal(sv->x[i].n_undone, 1);
    }
    free(sv);
    return 0;
}

static inline struct weir_http_conn *serve_conn(const struct served *sv)
{
    assert_false(weir_list_is_empty(&sv->endpoint.conns));
    return WEIR_LIST_ENTRY(sv->endpoint.conns.next, struct weir_http_conn, link);
}

static inline void serve_turn(struct served *sv)
{
    pair_turn(sv->pair, UV_RUN_NOWAIT);
    const struct weir_list *at = sv->endpoint.conns.next;
    for (; at != &sv->endpoint.conns; at = at->next) {
        const struct weir_http_conn *c = WEIR_LIST_ENTRY(at, struct weir_http_conn, link);
        size_t pending = weir_sock_pending(&c->sock);
        sv->most_pending = pending > sv->most_pending ? pending : sv->most_pending;
        sv->most_stash = c->h1.stash.n > sv->most_stash ? c->h1.stash.n : sv->most_stash;
    }
}

/* Turns the loop, never blocking, until a condition holds. */
#define serve_run(sv, cond)                                                                        \
    do {                                                                                           \
        while (!(cond)) {                                                                          \
            if ((sv)->pair->timed_out) {                                                           \
                fail_msg("waited in vain for: %s", #cond);                                         \
            }                                                                                      \
            serve_turn(sv);                                                                        \
        }                                                                                          \
    } while (0)

/* Some turns, for things that must not happen. */
static inline void serve_spin(struct served *sv)
{
    for (int i = 0; i < 50; i++) {
        serve_turn(sv);
    }
}

#define serve_settle(sv, number) pair_settle_by(serve_spin(sv), number)

/* What tests hook in. */

static inline void exchange_respond(struct exchange *x)
{
    struct weir_http_response r = {.status = 200, .body = WEIR_HTTP_BODY_STREAM};
    weir_http_stream_respond(x->s, &r);
}

static inline enum weir_flow exchange_write(struct exchange *x, struct weir_slice bytes)
{
    enum weir_flow flow = FLOW_WATCH_WRITE(&x->flow, weir_http_stream_write(x->s, bytes));
    x->n_full = x->flow.n_fulls;
    return flow;
}

static inline void exchange_end(struct exchange *x)
{
    flow_watch_ended(&x->flow);
    weir_http_stream_end(x->s);
}

static inline void exchange_abort(struct exchange *x)
{
    flow_watch_ended(&x->flow);
    weir_http_stream_abort(x->s);
}

static inline void exchange_pause(struct exchange *x)
{
    weir_http_stream_pause_body(x->s);
}

static inline void exchange_resume(struct exchange *x)
{
    weir_http_stream_resume_body(x->s);
}

static inline void exchange_reply(struct exchange *x)
{
    weir_http_stream_reply(x->s, 200, NULL, 0, WEIR_SLICE("done"));
}

static inline void exchange_reply_empty(struct exchange *x)
{
    weir_http_stream_reply(x->s, 200, NULL, 0, WEIR_SLICE(""));
}

static inline void exchange_respond_and_abort(struct exchange *x)
{
    exchange_respond(x);
    exchange_write(x, WEIR_SLICE("some"));
    exchange_abort(x);
}

/* What came goes back at once; while the caller does not read, nothing is read from it. */
static inline void exchange_echo(struct exchange *x)
{
    if (exchange_write(x, x->now) == WEIR_FLOW_FULL) {
        exchange_pause(x);
    }
}

static inline void serve_echo(struct served *sv)
{
    sv->at_request = exchange_respond;
    sv->at_body = exchange_echo;
    sv->at_resume = exchange_resume;
    sv->at_body_end = exchange_end;
}

/* As much of to_send as FULL allows, then the end. */
static inline void exchange_send_on(struct exchange *x)
{
    char piece[SERVE_PIECE];
    enum weir_flow flow = WEIR_FLOW_OK;
    while (x->sent < x->to_send && flow == WEIR_FLOW_OK) {
        size_t left = x->to_send - x->sent;
        size_t n = left < sizeof piece ? left : sizeof piece;
        for (size_t i = 0; i < n; i++) {
            piece[i] = pair_byte(x->sent + i);
        }
        x->sent += n;
        flow = exchange_write(x, weir_slice_make(piece, n));
    }
    if (x->sent == x->to_send) {
        exchange_end(x);
    }
}

static inline void exchange_send_big(struct exchange *x)
{
    x->to_send = SERVE_BIG;
    exchange_respond(x);
    exchange_send_on(x);
}

static inline void serve_big(struct served *sv)
{
    sv->at_request = exchange_send_big;
    sv->at_resume = exchange_send_on;
}

#define SERVE_TEST(fn) cmocka_unit_test_setup_teardown(fn, serve_setup, serve_teardown)

#endif
