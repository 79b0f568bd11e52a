/*
 * gRPC on top of an HTTP/2 call.
 *
 *   begin ─► on_head ─► on_body* ─► on_end ─► conclude ─► on_done
 *     ▲                     │ paused: the rest of the bytes waits, and so does the end
 *     └─── back-off ◄───────┴── conclude: Unavailable, nothing answered, may retry
 *
 * The handlers of the HTTP call record what came, then `advance` alone decides what follows. The
 * owner may cancel from inside any event: g is then freed when that event has returned.
 */
#include "client/grpc_call.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>

/* The back-off doubles from 50 ms; it does not pass 50 s, whatever max_retries says. */
enum { BACK_OFF_MS = 50, MAX_BACK_OFF_SHIFT = 10, MAX_FIELDS = 5 };

/* Room to frame a message is kept for the next one up to this size. */
enum { KEPT_BYTES = 1024 };

struct weir_grpc_call {
    struct weir_client *client;
    struct weir_grpc_request request;
    struct weir_call_context context;
    const struct weir_grpc_call_events *events;
    void *ctx;

    struct weir_call *http; /* NULL: not begun, ended, or waiting to begin again */
    struct weir_buf body;   /* the framed request; of a stream: room to frame one */
    char timeout[WEIR_GRPC_TIMEOUT_BYTES];
    unsigned n_retries;
    struct weir_timer back_off;

    struct weir_grpc_reader reader;
    struct weir_buf rest;   /* bytes of the answer behind the message that made the owner pause */
    struct weir_buf answer; /* the one message, where one is due */
    size_t n_messages;
    struct weir_post post; /* to advance outside of the owner's calls */

    enum weir_grpc_status status;
    int err;
    struct weir_buf text;
    struct weir_buf why;
    bool has_status;   /* the service has given one */
    bool is_from_peer; /* and `status` is it */
    bool is_unreached; /* no connection could be had */
    bool has_bytes;    /* some of the answer's body has come: no retry any more */
    bool has_ended;    /* nothing more comes; the status stands */
    bool is_broken;    /* we ended it: what is left of the answer is of no interest */
    bool is_paused;
    bool is_in_event;
    bool is_cancelled; /* from inside an event */
};

static void begin(struct weir_grpc_call *g);

/* One request, known from the start; else a stream of them. */
static bool is_whole(const struct weir_grpc_request *request)
{
    return request->message != NULL || request->packed.p != NULL;
}

static void destroy(struct weir_grpc_call *g)
{
    weir_grpc_dispose(&g->reader);
    weir_buf_dispose(&g->body);
    weir_buf_dispose(&g->rest);
    weir_buf_dispose(&g->answer);
    weir_buf_dispose(&g->text);
    weir_buf_dispose(&g->why);
    free(g);
}

/* Stops everything that could come back to g. */
static void stop(struct weir_grpc_call *g)
{
    if (g->http != NULL) {
        weir_call_cancel(g->http);
        g->http = NULL;
    }
    weir_loop_cancel(g->request.loop, &g->back_off);
    weir_loop_unpost(&g->post);
}

/* The status as we see it, when the service has none or breaks its word. */
static void judge(struct weir_grpc_call *g, enum weir_grpc_status status, int err, const char *why)
{
    g->has_ended = true;
    g->is_from_peer = false;
    g->status = status;
    g->err = err;
    weir_buf_clear(&g->text);
    weir_buf_clear(&g->why);
    weir_buf_append(&g->why, weir_slice_cstr(why));
}

/* The same, and the call is broken off. */
static void break_off(struct weir_grpc_call *g, enum weir_grpc_status status, int err,
                      const char *why)
{
    stop(g);
    judge(g, status, err, why);
    g->is_broken = true;
    weir_buf_dispose(&g->rest);
}

static enum weir_grpc_status status_of_err(int err)
{
    switch (err) {
    case WEIR_ETIMEOUT:
        return WEIR_GRPC_DEADLINE_EXCEEDED;
    case WEIR_ECANCELED:
        return WEIR_GRPC_CANCELLED;
    case WEIR_ELIMIT:
        return WEIR_GRPC_RESOURCE_EXHAUSTED;
    case WEIR_EUNSUPPORTED:
    case WEIR_EPROTO:
    case WEIR_EBAD:
    case WEIR_EPEER:
        return WEIR_GRPC_INTERNAL;
    default: /* refused, lost, too many */
        return WEIR_GRPC_UNAVAILABLE;
    }
}

/* Whether to try again: after a back-off that still leaves time. */
static bool may_begin_again(const struct weir_grpc_call *g, uint64_t *delay_ms)
{
    if (!g->request.may_retry || g->status != WEIR_GRPC_UNAVAILABLE || g->err == WEIR_EBUSY ||
        g->has_bytes || g->n_retries >= g->request.target->max_retries) {
        return false;
    }
    unsigned shift = g->n_retries < MAX_BACK_OFF_SHIFT ? g->n_retries : MAX_BACK_OFF_SHIFT;
    uint64_t most = (uint64_t)BACK_OFF_MS << shift;
    uint64_t now = weir_loop_now_ms(g->request.loop);
    /* Between half of it and all of it; callers that failed together come back apart. */
    uint64_t seed[] = {(uintptr_t)g, now, g->n_retries};
    uint64_t dice = weir_map_hash(weir_slice_make((const char *)seed, sizeof seed));
    *delay_ms = most / 2 + dice % (most / 2 + 1);
    return g->context.deadline_ms == 0 || now + *delay_ms < g->context.deadline_ms;
}

static void back_off(struct weir_grpc_call *g, uint64_t delay_ms)
{
    g->n_retries++;
    g->has_ended = false;
    g->has_status = false;
    g->is_from_peer = false;
    g->is_broken = false;
    weir_buf_clear(&g->text);
    weir_buf_clear(&g->why);
    weir_loop_after(g->request.loop, &g->back_off, delay_ms);
}

static void report(struct weir_grpc_call *g)
{
    bool is_ok = g->status == WEIR_GRPC_OK;
    if (!is_ok && g->is_from_peer && g->why.n == 0) {
        weir_buf_printf(&g->why, "gRPC status %s", weir_grpc_status_name(g->status));
    }
    struct weir_grpc_result result = {
        .status = g->status,
        .is_from_peer = g->is_from_peer,
        .err = g->err,
        .is_unreached = g->is_unreached,
        .text = weir_buf_slice(&g->text),
        .why = weir_buf_slice(&g->why),
        .bytes = is_ok ? weir_buf_slice(&g->answer) : (struct weir_slice){0},
    };
    g->is_in_event = true;
    g->events->on_done(g->ctx, &result);
    destroy(g);
}

/* All has come and was handed out. */
static void conclude(struct weir_grpc_call *g)
{
    if (g->status == WEIR_GRPC_OK && weir_grpc_finish(&g->reader) != 0) {
        judge(g, WEIR_GRPC_INTERNAL, WEIR_EPEER, "the answer ends within a message");
    }
    if (g->status == WEIR_GRPC_OK && !g->request.has_stream_answer && g->n_messages == 0) {
        judge(g, WEIR_GRPC_INTERNAL, WEIR_EPEER, "the answer has no message");
    }
    uint64_t delay_ms;
    if (may_begin_again(g, &delay_ms)) {
        back_off(g, delay_ms);
    } else {
        report(g);
    }
}

/* The last thing every entry does: g may be gone afterwards. */
static void advance(struct weir_grpc_call *g)
{
    if (g->is_cancelled) {
        destroy(g);
    } else if (g->has_ended && !g->is_paused && g->rest.n == 0) {
        conclude(g);
    }
}

static void give_message(struct weir_grpc_call *g, struct weir_slice message)
{
    g->n_messages++;
    if (g->request.has_stream_answer) {
        g->is_in_event = true;
        g->events->on_message(g->ctx, message);
        g->is_in_event = false;
    } else if (g->n_messages == 1) {
        weir_buf_append(&g->answer, message);
    } else {
        break_off(g, WEIR_GRPC_INTERNAL, WEIR_EPEER, "the answer has more than one message");
    }
}

static const char *what_is_wrong(int err)
{
    switch (err) {
    case WEIR_ELIMIT:
        return "a message is larger than allowed";
    case WEIR_EUNSUPPORTED:
        return "a message is compressed";
    default:
        return "a message is malformed";
    }
}

/* Hands out the messages in `in`; returns how much of it was used. Less than all of it only when
 * the owner paused; and when the call has come to its end nothing else matters. */
static size_t read_messages(struct weir_grpc_call *g, struct weir_slice in)
{
    size_t at = 0;
    while (at < in.n && !g->is_paused && !g->is_cancelled && !g->is_broken) {
        size_t used;
        int rc = weir_grpc_feed(&g->reader, weir_slice_sub(in, at, in.n), &used);
        at += used;
        if (rc == 0) {
            give_message(g, g->reader.message);
        } else if (rc != WEIR_EAGAIN) {
            break_off(g, status_of_err(rc), rc == WEIR_ELIMIT ? rc : WEIR_EPEER, what_is_wrong(rc));
        }
    }
    return at;
}

static struct weir_slice field(const struct weir_http_field *fields, size_t n, const char *name)
{
    return weir_http_field_get(fields, n, weir_slice_cstr(name));
}

/* The service's own status, where these fields have one. */
static void take_status(struct weir_grpc_call *g, const struct weir_http_field *fields, size_t n)
{
    struct weir_slice status = field(fields, n, "grpc-status");
    if (status.p == NULL) {
        return;
    }
    g->has_status = true;
    g->is_from_peer = true;
    g->status = weir_grpc_parse_status(status);
    g->err = g->status != WEIR_GRPC_OK ? WEIR_EPEER : 0;
    weir_buf_clear(&g->text);
    weir_grpc_decode_text(field(fields, n, "grpc-message"), &g->text);
}

/* Not 200: the service's status if it gives one all the same, else what HTTP's stands for. */
static void take_http_status(struct weir_grpc_call *g, int status)
{
    bool is_told = g->has_status && g->status != WEIR_GRPC_OK;
    if (!is_told) {
        judge(g, weir_grpc_status_from_http(status), WEIR_EPEER, "");
        weir_buf_printf(&g->why, "HTTP status %d", status);
    }
    stop(g);
    g->is_from_peer = true;
    g->is_broken = true;
    g->has_ended = true;
}

static bool is_grpc(struct weir_slice content_type)
{
    struct weir_slice name = WEIR_SLICE("application/grpc");
    if (content_type.n < name.n ||
        !weir_slice_eq_nocase(weir_slice_make(content_type.p, name.n), name)) {
        return false;
    }
    char next = content_type.n > name.n ? content_type.p[name.n] : ';';
    return next == ';' || next == '+' || next == ' ';
}

static void on_head(void *ctx, int status, const struct weir_http_field *fields, size_t n_fields)
{
    struct weir_grpc_call *g = ctx;
    take_status(g, fields, n_fields);
    if (status != 200) {
        take_http_status(g, status);
    } else if (!is_grpc(field(fields, n_fields, "content-type"))) {
        break_off(g, WEIR_GRPC_UNKNOWN, WEIR_EPEER, "the answer's content type is not gRPC's");
    }
    advance(g);
}

static void on_body(void *ctx, struct weir_slice bytes)
{
    struct weir_grpc_call *g = ctx;
    g->has_bytes = g->has_bytes || bytes.n != 0;
    size_t used = g->rest.n == 0 ? read_messages(g, bytes) : 0;
    if (!g->is_broken && !g->is_cancelled && used < bytes.n) {
        weir_buf_append(&g->rest, weir_slice_sub(bytes, used, bytes.n));
    }
    advance(g);
}

static void on_room(void *ctx)
{
    struct weir_grpc_call *g = ctx;
    if (g->events->on_room != NULL) {
        g->is_in_event = true;
        g->events->on_room(g->ctx);
        g->is_in_event = false;
    }
    advance(g);
}

static void on_end(void *ctx, const struct weir_call_result *result)
{
    struct weir_grpc_call *g = ctx;
    g->http = NULL;
    g->has_ended = true;
    g->is_unreached = result->is_unreached;
    take_status(g, result->trailers, result->n_trailers);
    /* If a service sent a status and then broke the connection, its status counts. */
    if (result->err != 0 && (!g->has_status || g->status == WEIR_GRPC_OK)) {
        judge(g, status_of_err(result->err), result->err, result->why);
    } else if (!g->has_status) {
        judge(g, WEIR_GRPC_UNKNOWN, WEIR_EPEER, "the answer has no gRPC status");
    }
    advance(g);
}

static void on_post(struct weir_post *post)
{
    struct weir_grpc_call *g = WEIR_LIST_ENTRY(post, struct weir_grpc_call, post);
    size_t used = read_messages(g, weir_buf_slice(&g->rest));
    if (used < g->rest.n) {
        weir_buf_consume(&g->rest, used);
    } else {
        weir_buf_dispose(&g->rest);
    }
    advance(g);
}

static void on_back_off_over(struct weir_timer *timer, void *ctx)
{
    (void)timer;
    begin(ctx);
}

static uint64_t time_left_ms(const struct weir_grpc_call *g)
{
    uint64_t now = weir_loop_now_ms(g->request.loop);
    return g->context.deadline_ms > now ? g->context.deadline_ms - now : 1;
}

static size_t fill_fields(struct weir_grpc_call *g, struct weir_http_field *fields)
{
    size_t n = 0;
    fields[n++] =
        (struct weir_http_field){WEIR_SLICE("content-type"), WEIR_SLICE("application/grpc")};
    fields[n++] = (struct weir_http_field){WEIR_SLICE("te"), WEIR_SLICE("trailers")};
    if (g->context.deadline_ms != 0) {
        size_t len = weir_grpc_format_timeout(time_left_ms(g), g->timeout);
        struct weir_slice value = weir_slice_make(g->timeout, len);
        fields[n++] = (struct weir_http_field){WEIR_SLICE("grpc-timeout"), value};
    }
    if (g->request.is_gzip) {
        fields[n++] = (struct weir_http_field){WEIR_SLICE("grpc-encoding"), WEIR_SLICE("gzip")};
    }
    if (g->request.model_id.n != 0) {
        fields[n++] = (struct weir_http_field){WEIR_SLICE("mm-model-id"), g->request.model_id};
    }
    return n;
}

static void begin(struct weir_grpc_call *g)
{
    static const struct weir_call_events events = {
        .on_head = on_head, .on_body = on_body, .on_room = on_room, .on_done = on_end};
    bool has_all = is_whole(&g->request);
    struct weir_http_field fields[MAX_FIELDS];
    struct weir_call_request request = {
        .target = g->request.target,
        .context = &g->context,
        .method = WEIR_SLICE("POST"),
        .path = weir_slice_cstr(g->request.path),
        .fields = fields,
        .n_fields = fill_fields(g, fields),
        .body = has_all ? weir_buf_slice(&g->body) : (struct weir_slice){0},
        .has_stream_body = !has_all,
        .answer = WEIR_CALL_STREAM,
    };
    g->http = weir_call_start(g->client, &request, &events, g);
    if (g->is_paused) {
        weir_call_pause(g->http);
    }
}

/* An id that cannot stand in a header would break the HTTP/2 connection for all calls on it. */
static bool can_be_metadata(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < 0x20 || s.p[i] > 0x7e) {
            return false;
        }
    }
    return s.n == 0 || (s.p[0] != ' ' && s.p[s.n - 1] != ' ');
}

/* The time for all attempts together: the service's, or less where the request has less left. */
static uint64_t deadline_of(const struct weir_grpc_request *request)
{
    uint64_t timeout_ms = request->target->request_timeout_ms;
    uint64_t given = request->context != NULL ? request->context->deadline_ms : 0;
    uint64_t own = timeout_ms != 0 ? weir_loop_now_ms(request->loop) + timeout_ms : 0;
    return own == 0 || (given != 0 && given < own) ? given : own;
}

static int frame(struct weir_buf *out, const struct weir_grpc_request *request)
{
    struct weir_slice packed = request->packed;
    if (request->message != NULL) {
        return weir_proto_append_framed(out, request->message);
    }
    if (packed.n > INT32_MAX) {
        return WEIR_ELIMIT;
    }
    char prefix[WEIR_GRPC_PREFIX_BYTES];
    weir_grpc_put_prefix(prefix, (uint32_t)packed.n);
    prefix[0] = request->is_gzip; /* "compressed, as grpc-encoding says" */
    weir_buf_reserve(out, sizeof prefix + packed.n);
    weir_buf_append(out, weir_slice_make(prefix, sizeof prefix));
    return weir_buf_append(out, packed);
}

static void start(struct weir_grpc_call *g)
{
    if (!can_be_metadata(g->request.model_id)) {
        judge(g, WEIR_GRPC_INVALID_ARGUMENT, WEIR_EINVAL, "the model id cannot be a header");
    } else if (is_whole(&g->request) && frame(&g->body, &g->request) != 0) {
        judge(g, WEIR_GRPC_RESOURCE_EXHAUSTED, WEIR_ELIMIT, "the request is too large");
    } else {
        begin(g);
        return;
    }
    weir_loop_post(g->request.loop, &g->post);
}

static void count_on(struct weir_grpc_call *g, struct weir_account *account)
{
    g->reader.held.account = account;
    g->body.account = account;
    g->rest.account = account;
    g->answer.account = account;
}

struct weir_grpc_call *weir_grpc_call_start(struct weir_client *client,
                                            const struct weir_grpc_request *request,
                                            const struct weir_grpc_call_events *events, void *ctx)
{
    WEIR_ASSERT(is_whole(request) || !request->may_retry);
    struct weir_grpc_call *g = weir_mem_zalloc(sizeof *g);
    g->client = client;
    g->request = *request;
    g->events = events;
    g->ctx = ctx;
    if (request->context != NULL) {
        g->context = *request->context;
    }
    g->context.deadline_ms = deadline_of(request);
    g->back_off = (struct weir_timer){.fn = on_back_off_over, .ctx = g};
    g->post.fn = on_post;
    weir_grpc_init(&g->reader, request->max_message_bytes);
    count_on(g, g->context.account);
    start(g);
    return g;
}

enum weir_flow weir_grpc_call_send(struct weir_grpc_call *call, const ProtobufCMessage *m)
{
    if (call->http == NULL) {
        return WEIR_FLOW_OK; /* the call has ended; on_done is under way */
    }
    weir_buf_clear(&call->body);
    int rc = weir_proto_append_framed(&call->body, m);
    if (rc != 0) {
        break_off(call, WEIR_GRPC_RESOURCE_EXHAUSTED, rc, "the request is too large");
        weir_loop_post(call->request.loop, &call->post);
        return WEIR_FLOW_OK;
    }
    enum weir_flow flow = weir_call_write(call->http, weir_buf_slice(&call->body));
    if (call->body.cap > KEPT_BYTES) {
        weir_buf_dispose(&call->body);
    }
    return flow;
}

void weir_grpc_call_end(struct weir_grpc_call *call)
{
    if (call->http != NULL) {
        weir_call_end_body(call->http);
    }
}

void weir_grpc_call_pause(struct weir_grpc_call *call)
{
    if (!call->is_paused && call->http != NULL) {
        weir_call_pause(call->http);
    }
    call->is_paused = true;
}

void weir_grpc_call_resume(struct weir_grpc_call *call)
{
    if (!call->is_paused) {
        return;
    }
    call->is_paused = false;
    if (call->http != NULL) {
        weir_call_resume(call->http);
    }
    if (call->rest.n != 0 || call->has_ended) {
        weir_loop_post(call->request.loop, &call->post);
    }
}

void weir_grpc_call_cancel(struct weir_grpc_call *call)
{
    stop(call);
    if (call->is_in_event) {
        call->is_cancelled = true;
    } else {
        destroy(call);
    }
}

void weir_grpc_result_fault(const struct weir_grpc_result *result, struct weir_arena *arena,
                            struct weir_fault *fault)
{
    bool is_told = result->is_from_peer && result->status != WEIR_GRPC_OK;
    fault->err = result->err;
    fault->is_unreached = result->is_unreached;
    fault->status = is_told ? weir_grpc_status_to_http(result->status) : 0;
    if (result->err == WEIR_EINVAL) {
        fault->status = weir_grpc_status_to_http(WEIR_GRPC_INVALID_ARGUMENT);
    }
    fault->message = weir_fault_message(arena, result->text);
    fault->why = weir_slice_cstr(weir_arena_printf(arena, "%.*s%s%.*s", (int)result->why.n,
                                                   result->why.p, result->text.n != 0 ? ": " : "",
                                                   (int)result->text.n, result->text.p));
}
