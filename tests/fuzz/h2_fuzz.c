/*
 * HTTP/2 as a sequence of frames, whatever their order: the serving side on one end of a pair of
 * sockets, the input on the other. Each request is over exactly once, nothing is said to a handler
 * behind its end, and when the caller has gone, no connection, request or held byte is left.
 *
 * The input is a list of steps. A step begins with its kind:
 *
 *   0 to 9   a frame of this type: flags, stream, length (a byte each), payload
 *   10       a request on a new stream, with more to come
 *   11       a request on a new stream, whole
 *   12       bytes as they are: length, bytes
 *   13       handlers answer: how many bytes, and whether that is all
 *   14       handlers stop reading bodies, or go on
 *   15       a turn of the loop
 */
#include "base/account.h"
#include "fuzz/h2_frames.h"
#include "http/endpoint.h"

#include <unistd.h>

enum {
    REQUEST_OPEN = H2_FRAME_KINDS,
    REQUEST_WHOLE,
    RAW,
    ANSWER,
    PAUSE,
    TURN,
    N_KINDS,
    MAX_REQUESTS = 64,
    MAX_STEPS = 200,
};

/* GET or POST / over http, by the static table. */
static const char QUESTION[] = "\x83\x86\x84\x01\x01x";

struct request {
    struct weir_http_stream *s; /* NULL once it is over */
    bool has_begun;             /* the answer */
    bool has_ended;
    bool has_body_end;
    bool is_gone;
};

static struct {
    struct weir_loop loop;
    struct weir_http_endpoint endpoint;
    struct request requests[MAX_REQUESTS];
    size_t n_requests;
    size_t n_undone;
    size_t n_done;
    int n_open;
    int fd;
    uint32_t next_stream;
} world;

/* ---- whom requests go to ---- */

static void on_body(struct weir_http_stream *s, struct weir_slice bytes)
{
    const struct request *r = s->ctx;
    CHECK(bytes.n != 0 && !r->has_body_end && !r->is_gone);
}

static void on_body_end(struct weir_http_stream *s)
{
    struct request *r = s->ctx;
    CHECK(!r->has_body_end && !r->is_gone);
    r->has_body_end = true;
}

static void on_resume(struct weir_http_stream *s)
{
    const struct request *r = s->ctx;
    CHECK(!r->is_gone);
}

static void on_gone(struct weir_http_stream *s, int err)
{
    struct request *r = s->ctx;
    CHECK(err < 0 && !r->is_gone && !r->has_ended);
    r->is_gone = true;
}

static const struct weir_http_handler HANDLER = {
    .on_body = on_body, .on_body_end = on_body_end, .on_resume = on_resume, .on_gone = on_gone};

static void undo(void *ctx)
{
    struct request *r = ctx;
    CHECK(r->s != NULL);
    r->s = NULL;
    world.n_undone++;
}

static void on_request(void *ctx, struct weir_http_stream *s)
{
    (void)ctx;
    if (world.n_requests == MAX_REQUESTS) {
        weir_http_stream_abort(s);
        return;
    }
    struct request *r = &world.requests[world.n_requests++];
    *r = (struct request){.s = s};
    s->ctx = r;
    s->service_ctx = r;
    s->handler = &HANDLER;
    weir_arena_defer(&s->arena, undo, r);
}

static void on_done(void *ctx, const struct weir_http_stream *s)
{
    (void)ctx;
    world.n_done += s->service_ctx != NULL;
}

static void render_error(void *ctx, const struct weir_http_request *req, int status,
                         const char *what, struct weir_buf *body)
{
    (void)ctx;
    (void)req;
    weir_buf_printf(body, "%d %s", status, what);
}

static bool may_open(void *ctx)
{
    (void)ctx;
    world.n_open++;
    return true;
}

static void on_close(void *ctx)
{
    (void)ctx;
    world.n_open--;
}

static const struct weir_http_service SERVICE = {.on_request = on_request,
                                                 .on_done = on_done,
                                                 .render_error = render_error,
                                                 .may_open = may_open,
                                                 .on_close = on_close};

static const struct weir_http_limits LIMITS = {.max_header_bytes = 4096,
                                               .max_headers = 32,
                                               .max_out_bytes = 16 * 1024,
                                               .max_streams = 8,
                                               .max_held_bytes = 1 << 20,
                                               .header_timeout_ms = 60000,
                                               .idle_timeout_ms = 60000,
                                               .write_timeout_ms = 60000};

/* ---- the caller ---- */

static void turn(void)
{
    static char heard[64 * 1024];
    uv_run(&world.loop.uv, UV_RUN_NOWAIT);
    while (world.fd >= 0 && read(world.fd, heard, sizeof heard) > 0) {
    }
}

/* Where the socket is full, the gateway gets a turn to read it. */
static void say_or_turn(bool is_said)
{
    if (!is_said) {
        turn();
    }
}

static void ask(bool is_whole)
{
    uint8_t flags = H2_END_HEADERS | (is_whole ? H2_END_STREAM : 0);
    say_or_turn(h2_say_frame(world.fd, H2_HEADERS_FRAME, flags, world.next_stream,
                             weir_slice_make(QUESTION, sizeof QUESTION - 1)));
    world.next_stream += 2;
}

/* Every request that may still say something says so much. */
static void answer_all(uint8_t how)
{
    static const char text[256];
    for (size_t i = 0; i < world.n_requests; i++) {
        struct request *r = &world.requests[i];
        if (r->s == NULL || r->is_gone || r->has_ended) {
            continue;
        }
        if (!r->has_begun) {
            r->has_begun = true;
            weir_http_stream_respond(
                r->s, &(struct weir_http_response){.status = 200, .body = WEIR_HTTP_BODY_STREAM});
        }
        for (int k = how >> 3; k > 0; k--) {
            weir_http_stream_write(r->s, weir_slice_make(text, sizeof text));
        }
        if ((how & 1) != 0) {
            r->has_ended = true;
            weir_http_stream_end(r->s);
        }
    }
}

static void pause_all(uint8_t how)
{
    for (size_t i = 0; i < world.n_requests; i++) {
        struct request *r = &world.requests[i];
        if (r->s != NULL && !r->is_gone && !r->has_ended) {
            ((how & 1) != 0 ? weir_http_stream_pause_body : weir_http_stream_resume_body)(r->s);
        }
    }
}

/* ---- one input ---- */

static void step(struct weir_slice *rest)
{
    uint8_t kind = next_byte(rest) % N_KINDS;
    struct weir_slice bytes;
    switch (kind) {
    case REQUEST_OPEN:
    case REQUEST_WHOLE:
        ask(kind == REQUEST_WHOLE);
        break;
    case RAW:
        bytes = next_bytes(rest, next_byte(rest));
        say_or_turn(h2_say(world.fd, bytes.p, bytes.n));
        break;
    case ANSWER:
        answer_all(next_byte(rest));
        break;
    case PAUSE:
        pause_all(next_byte(rest));
        break;
    case TURN:
        turn();
        break;
    default:
        say_or_turn(h2_say_any(world.fd, kind, rest));
        break;
    }
}

static void make_world(void)
{
    CHECK(weir_loop_init(&world.loop) == 0);
    weir_http_endpoint_init(&world.endpoint, &world.loop);
    world.endpoint.service = &SERVICE;
    world.endpoint.limits = &LIMITS;
}

static void connect_caller(void)
{
    int fds[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    weir_http_endpoint_accept(&world.endpoint, fds[0]);
    world.fd = fds[1];
    world.next_stream = 1;
    world.n_requests = world.n_undone = world.n_done = 0;
    CHECK(h2_say(world.fd, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_made;
    if (!is_made) {
        is_made = true;
        make_world();
    }
    size_t held = weir_account_total();
    struct weir_slice rest = weir_slice_make((const char *)data, size);
    connect_caller();
    for (int i = 0; i < MAX_STEPS && rest.n != 0; i++) {
        step(&rest);
    }
    turn();
    close(world.fd);
    world.fd = -1;
    for (int i = 0; i < 50 && world.endpoint.n_conns != 0; i++) {
        turn();
    }
    CHECK(world.endpoint.n_conns == 0 && world.n_open == 0);
    CHECK(world.n_undone == world.n_requests && world.n_done == world.n_requests);
    CHECK(weir_account_total() == held);
    return 0;
}
