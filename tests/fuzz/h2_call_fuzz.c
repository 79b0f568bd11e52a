/*
 * HTTP/2 as a sequence of frames, whatever their order, said by a service that we call: our calls
 * (client/call.h) with their pool and connections on one side, the input on the other side of real
 * sockets. Each call is over exactly once, nothing is told behind its end or from inside of its
 * owner's own calls, an answer that is complete has every byte that was sent for it, in order, and
 * at the end no call, connection or held byte is left.
 *
 * The first byte: bit 0, the service says no SETTINGS by itself. Then steps, which begin with their
 * kind:
 *
 *   0 to 9   a frame of this type: flags, stream, length (a byte each), payload
 *   10       a call begins: how (enum how)
 *   11       the head of a good answer: stream, whether that is all
 *   12       bytes as they are: length, bytes
 *   13       some of a good answer's body: stream, length, whether that is all
 *   14       the owner of a call does something: which call, what
 *   15       turns of the loop, and time that passes
 *   16       the service turns to another connection, ends or resets one, or stops reading
 *
 * Time stands still but for what steps let pass.
 */
#include "base/account.h"
#include "base/err.h"
#include "client/client_int.h"
#include "fuzz/h2_frames.h"
#include "obs/log.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

enum {
    CALL = H2_FRAME_KINDS,
    HEAD,
    RAW,
    BODY,
    OWNER,
    TURN,
    CONNECTION,
    N_KINDS,
    MAX_CALLS = 32,
    MAX_CONNS = 16,
    MAX_STREAMS = 16,
    MAX_STEPS = 200,
    MAX_BODY = 4096,
    LONG_MS = 200 * 1000, /* longer than calls and idle connections live */
};

enum how {
    HAS_STREAM_BODY = 1,
    IS_STREAMED = 2,
    MAY_RETRY = 4,
    CANCELS_IN_HEAD = 8,
    CANCELS_IN_BODY = 16,
    PAUSES_IN_HEAD = 32,
    PAUSES_IN_BODY = 64,
    ASKS_AGAIN = 128, /* when it is done */
};

struct call {
    struct weir_call *call; /* NULL: over */
    uint8_t how;
    bool is_in_call;
    bool is_full;
    bool has_ended_body;
    bool is_over;
    bool has_head;
    int conn; /* of a good answer; -1: nobody knows */
    size_t stream;
    size_t n_body;
};

struct conn {
    int fd; /* -1: gone */
    bool is_deaf;
    size_t n_sent[MAX_STREAMS]; /* of bodies, until they have ended */
    bool has_end[MAX_STREAMS];
};

static struct {
    struct weir_loop loop;
    struct weir_client *client;
    struct weir_target target;
    int listener;
    bool is_bare;
    bool has_raw; /* bytes were sent that are not counted */
    struct call calls[MAX_CALLS];
    size_t n_calls;
    struct conn conns[MAX_CONNS];
    size_t n_conns;
    size_t at; /* the connection that the service talks on */
} world;

/* ---- owners of calls ---- */

static void begin(uint8_t how);

static void cancel(struct call *c)
{
    c->is_over = true;
    weir_call_cancel(c->call);
    c->call = NULL;
}

/* Which stream a good answer is on stands in its field "x". */
static void read_stream(struct call *c, const struct weir_http_field *fields, size_t n)
{
    c->conn = -1;
    for (size_t i = 0; i < n; i++) {
        if (weir_slice_eq(fields[i].name, WEIR_SLICE("x")) && fields[i].value.n == 2) {
            c->conn = fields[i].value.p[0] - 'a';
            c->stream = (size_t)(fields[i].value.p[1] - 'a');
        }
    }
}

static void on_head(void *ctx, int status, const struct weir_http_field *fields, size_t n)
{
    struct call *c = ctx;
    CHECK(!c->is_over && !c->is_in_call && !c->has_head && status >= 200);
    c->has_head = true;
    read_stream(c, fields, n);
    if ((c->how & PAUSES_IN_HEAD) != 0) {
        weir_call_pause(c->call);
    }
    if ((c->how & CANCELS_IN_HEAD) != 0) {
        cancel(c);
    }
}

static uint8_t body_byte(size_t place)
{
    return (uint8_t)(place * 7 + 1);
}

static void check_body(struct call *c, struct weir_slice bytes)
{
    for (size_t i = 0; i < bytes.n && !world.has_raw; i++) {
        CHECK((uint8_t)bytes.p[i] == body_byte(c->n_body + i));
    }
    c->n_body += bytes.n;
}

static void on_body(void *ctx, struct weir_slice bytes)
{
    struct call *c = ctx;
    CHECK(!c->is_over && !c->is_in_call && c->has_head && bytes.n != 0);
    check_body(c, bytes);
    if ((c->how & PAUSES_IN_BODY) != 0) {
        weir_call_pause(c->call);
    }
    if ((c->how & CANCELS_IN_BODY) != 0) {
        cancel(c);
    }
}

static void on_room(void *ctx)
{
    struct call *c = ctx;
    CHECK(!c->is_over && !c->is_in_call && c->is_full);
    c->is_full = false;
}

static void on_done(void *ctx, const struct weir_call_result *r)
{
    struct call *c = ctx;
    CHECK(!c->is_over && !c->is_in_call);
    CHECK((r->err != 0) == (r->why != NULL) && (r->err != 0 || r->has_head));
    c->is_over = true;
    c->call = NULL;
    if (!c->has_head) {
        read_stream(c, r->fields, r->n_fields);
        check_body(c, r->body);
    }
    if (r->err == 0 && c->conn >= 0 && !world.has_raw) {
        CHECK(c->n_body == world.conns[c->conn].n_sent[c->stream]);
    }
    if ((c->how & ASKS_AGAIN) != 0) {
        begin(c->how & (uint8_t)~ASKS_AGAIN);
    }
}

static const struct weir_call_events EVENTS = {
    .on_head = on_head, .on_body = on_body, .on_room = on_room, .on_done = on_done};
static const struct weir_call_events WHOLE_EVENTS = {.on_room = on_room, .on_done = on_done};

static void begin(uint8_t how)
{
    if (world.n_calls == MAX_CALLS) {
        return;
    }
    struct call *c = &world.calls[world.n_calls++];
    bool is_streamed = (how & IS_STREAMED) != 0;
    struct weir_call_request request = {.target = &world.target,
                                        .method = WEIR_SLICE("POST"),
                                        .path = WEIR_SLICE("/"),
                                        .has_stream_body = (how & HAS_STREAM_BODY) != 0,
                                        .answer = is_streamed ? WEIR_CALL_STREAM : WEIR_CALL_WHOLE,
                                        .max_body_bytes = MAX_BODY,
                                        .may_retry =
                                            (how & MAY_RETRY) != 0 && (how & HAS_STREAM_BODY) == 0};
    if (!request.has_stream_body) {
        request.body = WEIR_SLICE("what is asked");
    }
    *c = (struct call){.how = how, .conn = -1, .is_in_call = true};
    c->call = weir_call_start(world.client, &request, is_streamed ? &EVENTS : &WHOLE_EVENTS, c);
    c->is_in_call = false;
}

static void write_body(struct call *c, uint8_t n)
{
    static const char bytes[1024];
    if ((c->how & HAS_STREAM_BODY) == 0 || c->has_ended_body) {
        return;
    }
    for (; n > 0; n--) {
        enum weir_flow flow = weir_call_write(c->call, weir_slice_make(bytes, sizeof bytes));
        CHECK(!c->is_full || flow == WEIR_FLOW_FULL); /* until there is room again */
        c->is_full = flow == WEIR_FLOW_FULL;
    }
}

static void act(struct call *c, uint8_t what)
{
    if (c->is_over) {
        return;
    }
    c->is_in_call = true;
    switch (what & 7) {
    case 0:
        weir_call_pause(c->call);
        break;
    case 1:
        weir_call_resume(c->call);
        break;
    case 2:
        cancel(c);
        break;
    case 3:
        if ((c->how & HAS_STREAM_BODY) != 0 && !c->has_ended_body) {
            c->has_ended_body = true;
            weir_call_end_body(c->call);
        }
        break;
    default:
        write_body(c, what >> 3);
        break;
    }
    c->is_in_call = false;
}

/* ---- the service ---- */

static void hang_up(struct conn *c, bool is_reset)
{
    struct linger linger = {.l_onoff = 1};
    if (c->fd < 0) {
        return;
    }
    if (!is_reset) {
        shutdown(c->fd, SHUT_WR);
        return;
    }
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(c->fd);
    c->fd = -1;
}

static void accept_all(void)
{
    int fd;
    while ((fd = accept4(world.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct conn *c = &world.conns[world.n_conns % MAX_CONNS];
        if (world.n_conns >= MAX_CONNS) {
            struct conn spare = {.fd = fd};
            hang_up(&spare, true);
            continue;
        }
        *c = (struct conn){.fd = fd};
        world.at = world.n_conns++;
        if (!world.is_bare) {
            h2_say_frame(fd, H2_SETTINGS_FRAME, 0, 0, WEIR_SLICE(""));
        }
    }
}

static void turn(void)
{
    static char heard[64 * 1024];
    world.loop.is_running = true;
    uv_run(&world.loop.uv, UV_RUN_NOWAIT);
    world.loop.is_running = false;
    accept_all();
    for (size_t i = 0; i < world.n_conns; i++) {
        const struct conn *c = &world.conns[i];
        while (c->fd >= 0 && !c->is_deaf && read(c->fd, heard, sizeof heard) > 0) {
        }
    }
}

static void pass_time(uint64_t ms)
{
    world.loop.held_ms += ms;
    weir_timers_run(&world.loop.timers, world.loop.held_ms);
}

static uint32_t stream_number(size_t index)
{
    return (uint32_t)(1 + 2 * index);
}

static void say_head(struct conn *c, uint8_t stream, bool is_all)
{
    size_t index = stream % MAX_STREAMS;
    /* :status 200, then a field of one letter that names connection and stream. */
    char block[] = {'\x88', 0, 1, 'x', 2, (char)('a' + world.at), (char)('a' + index)};
    h2_say_frame(c->fd, H2_HEADERS_FRAME, H2_END_HEADERS | (is_all ? H2_END_STREAM : 0),
                 stream_number(index), weir_slice_make(block, sizeof block));
    c->has_end[index] = c->has_end[index] || is_all;
}

static void say_body(struct conn *c, uint8_t stream, uint8_t n, bool is_all)
{
    size_t index = stream % MAX_STREAMS;
    char bytes[256];
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (char)body_byte(c->n_sent[index] + i);
    }
    c->n_sent[index] += c->has_end[index] ? 0 : n;
    /* What is sent in part cannot be counted on. */
    world.has_raw = !h2_say_frame(c->fd, H2_DATA_FRAME, is_all ? H2_END_STREAM : 0,
                                  stream_number(index), weir_slice_make(bytes, n)) ||
                    world.has_raw;
    c->has_end[index] = c->has_end[index] || is_all;
}

static void act_connection(uint8_t what)
{
    struct conn *c = &world.conns[world.at];
    switch (what & 7) {
    case 0:
        hang_up(c, false);
        break;
    case 1:
        hang_up(c, true);
        break;
    case 2:
        c->is_deaf = !c->is_deaf;
        break;
    default:
        world.at = (what >> 3) % (world.n_conns != 0 ? world.n_conns : 1);
        break;
    }
}

/* ---- one input ---- */

/* What a connection is told. Nothing is said before there is one. */
static void step_service(uint8_t kind, struct weir_slice *rest)
{
    struct conn *c = &world.conns[world.at];
    uint8_t first;
    uint8_t second;
    struct weir_slice bytes;
    switch (kind) {
    case HEAD:
        first = next_byte(rest);
        say_head(c, first, (next_byte(rest) & 1) != 0);
        break;
    case BODY:
        first = next_byte(rest);
        second = next_byte(rest);
        say_body(c, first, second, (next_byte(rest) & 1) != 0);
        break;
    case RAW:
        bytes = next_bytes(rest, next_byte(rest));
        world.has_raw = true;
        h2_say(c->fd, bytes.p, bytes.n);
        break;
    default:
        world.has_raw = world.has_raw || kind == H2_DATA_FRAME || kind == H2_HEADERS_FRAME;
        h2_say_any(c->fd, kind, rest);
        break;
    }
}

static void step(struct weir_slice *rest)
{
    uint8_t kind = next_byte(rest) % N_KINDS;
    uint8_t first;
    switch (kind) {
    case CALL:
        begin(next_byte(rest));
        break;
    case OWNER:
        first = next_byte(rest);
        if (world.n_calls != 0) {
            act(&world.calls[first % world.n_calls], next_byte(rest));
        }
        break;
    case TURN:
        first = next_byte(rest);
        pass_time((uint64_t)(first >> 4) * (first >> 4) * 100);
        for (int i = first & 3; i >= 0; i--) {
            turn();
        }
        break;
    case CONNECTION:
        act_connection(next_byte(rest));
        break;
    default:
        step_service(kind, rest);
        break;
    }
}

static void make_world(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof addr;
    weir_log_set_level(WEIR_LOG_LEVEL_OFF);
    CHECK(weir_loop_init(&world.loop) == 0);
    world.client = weir_client_new(&world.loop);
    world.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    CHECK(bind(world.listener, (struct sockaddr *)&addr, n) == 0);
    CHECK(listen(world.listener, 64) == 0);
    CHECK(getsockname(world.listener, (struct sockaddr *)&addr, &n) == 0);
    world.target = (struct weir_target){.id = WEIR_SLICE("s"),
                                        .hostname = "127.0.0.1",
                                        .port = ntohs(addr.sin_port),
                                        .protocol = WEIR_TARGET_H2,
                                        .path_prefix = WEIR_SLICE(""),
                                        .api_token = WEIR_SLICE(""),
                                        .connect_timeout_ms = 10000,
                                        .first_byte_timeout_ms = 10000,
                                        .idle_timeout_ms = 10000,
                                        .request_timeout_ms = 60000,
                                        .keep_alive_interval_ms = 5000,
                                        .keep_alive_timeout_ms = 5000,
                                        .max_retries = 2,
                                        .max_concurrent = 8,
                                        .max_waiting = 8};
    world.loop.held_ms = 1000;
}

static bool is_quiet(void)
{
    return weir_list_is_empty(&world.client->calls) && weir_list_is_empty(&world.client->all_pools);
}

/* The service resets every connection, time passes, owners go on reading: all is over then. */
static void end_all(void)
{
    for (int i = 0; i < 50 && !is_quiet(); i++) {
        for (size_t k = 0; k < world.n_conns; k++) {
            hang_up(&world.conns[k], true);
        }
        for (size_t k = 0; k < world.n_calls; k++) {
            act(&world.calls[k], 1);
        }
        turn();
        turn();
        pass_time(i < 10 ? 1000 : LONG_MS);
    }
    CHECK(is_quiet());
    for (size_t k = 0; k < world.n_conns; k++) {
        hang_up(&world.conns[k], true);
    }
    for (size_t k = 0; k < world.n_calls; k++) {
        CHECK(world.calls[k].is_over);
    }
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
    world.is_bare = (next_byte(&rest) & 1) != 0;
    world.has_raw = false;
    world.n_calls = world.n_conns = world.at = 0;
    world.conns[0] = (struct conn){.fd = -1};
    for (int i = 0; i < MAX_STEPS && rest.n != 0; i++) {
        step(&rest);
    }
    turn();
    end_all();
    CHECK(weir_account_total() == held);
    return 0;
}
