#include "mock/mock_grpc.h"

#include "base/err.h"
#include "mock/mock_reply.h"
#include "route/reply.h"
#include "wire/grpc_paths.h"
#include "wire/proto.h"

#include <proto/health.pb-c.h>
#include <stdio.h>

enum { MAX_MESSAGE_BYTES = 64 * 1024 * 1024, CUT_AFTER_MS = 20 };

/* ---- health ---- */

static void on_health_check(struct weir_mock_call *call)
{
    Grpc__Health__V1__HealthCheckResponse answer = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    switch ((enum weir_mock_health)call->set->health) {
    case WEIR_MOCK_HEALTH_GOOD:
    case WEIR_MOCK_HEALTH_EMPTY:
        WEIR_PROTO_SET(&answer, status,
                       GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING);
        break;
    case WEIR_MOCK_HEALTH_BAD:
        WEIR_PROTO_SET(&answer, status,
                       GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING);
        break;
    case WEIR_MOCK_HEALTH_ERROR:
        weir_mock_grpc_end(call, WEIR_GRPC_UNAVAILABLE, "not now");
        return;
    case WEIR_MOCK_HEALTH_ABSENT:
        weir_mock_grpc_end(call, WEIR_GRPC_NOT_FOUND, "unknown service");
        return;
    }
    weir_mock_grpc_answer(call, &answer.base);
}

static const struct weir_mock_method HEALTH = {
    .path = WEIR_GRPC_HEALTH_CHECK,
    .on_end = on_health_check,
};

static const struct weir_mock_method *const METHODS[] = {
    &HEALTH,
    &weir_mock_chunker_unary,
    &weir_mock_chunker_stream,
    &weir_mock_nlp_unary,
    &weir_mock_nlp_stream,
    &weir_mock_nlp_tokenize,
    &weir_mock_tgis_unary,
    &weir_mock_tgis_stream,
    &weir_mock_tgis_tokenize,
    &weir_mock_tgis_info,
};

static const struct weir_mock_method *find_method(struct weir_slice path)
{
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        if (weir_slice_eq_cstr(path, METHODS[i]->path)) {
            return METHODS[i];
        }
    }
    return NULL;
}

/* ---- answering ---- */

static const struct weir_http_field TYPE = {{"content-type", 12}, {"application/grpc", 16}};

static void send_head(struct weir_mock_call *call)
{
    struct weir_http_response r = {
        .status = 200, .fields = &TYPE, .n_fields = 1, .body = WEIR_HTTP_BODY_STREAM};
    if (!call->has_head) {
        call->has_head = true;
        weir_http_stream_respond(call->s, &r);
    }
}

void weir_mock_grpc_end(struct weir_mock_call *call, enum weir_grpc_status status,
                        const char *message)
{
    if (call->is_over) {
        return;
    }
    call->is_over = true;
    char code[8];
    int n_code = snprintf(code, sizeof code, "%d", (int)status);
    struct weir_buf text = {0};
    weir_grpc_encode_text(weir_slice_cstr(message), &text);
    struct weir_http_field fields[] = {
        TYPE,
        {WEIR_SLICE("grpc-status"), weir_slice_make(code, (size_t)n_code)},
        {WEIR_SLICE("grpc-message"), weir_buf_slice(&text)},
    };
    size_t n = text.n != 0 ? 3 : 2;
    if (call->has_head) {
        weir_http_stream_end_with(call->s, fields + 1, n - 1);
    } else {
        /* Nothing was said: the status rides on the head. */
        struct weir_http_response r = {
            .status = 200, .fields = fields, .n_fields = n, .body = WEIR_HTTP_BODY_NONE};
        weir_http_stream_respond(call->s, &r);
        weir_http_stream_end(call->s);
    }
    weir_buf_dispose(&text);
}

void weir_mock_grpc_stall(struct weir_mock_call *call)
{
    call->is_over = true;
}

static void on_cut(struct weir_timer *t, void *ctx)
{
    struct weir_mock_call *call = ctx;
    (void)t;
    weir_mock_request_of(call->s)->was_cut = true;
    weir_http_stream_abort(call->s);
}

void weir_mock_grpc_cut(struct weir_mock_call *call)
{
    send_head(call);
    call->is_over = true;
    call->timer.fn = on_cut;
    call->timer.ctx = call;
    weir_loop_after(call->s->loop, &call->timer, CUT_AFTER_MS);
}

static const char *message_of(const struct weir_mock_call *call)
{
    const struct weir_mock_settings *set = call->set;
    struct weir_slice message =
        set->message.p != NULL ? set->message : WEIR_SLICE("the mock was told to fail");
    return weir_arena_dup(&call->s->arena, message).p;
}

static enum weir_grpc_status status_of(const struct weir_mock_call *call)
{
    uint32_t chosen = call->set->grpc_status;
    return chosen != 0 ? (enum weir_grpc_status)chosen : WEIR_GRPC_INTERNAL;
}

static bool is_at_failure(const struct weir_mock_call *call)
{
    uint32_t at = weir_mock_settings_fail_at(call->set);
    return at != WEIR_MOCK_UNSET && weir_mock_request_of(call->s)->n_events == at;
}

/* In place of a message. */
static void fail_now(struct weir_mock_call *call)
{
    if (call->set->error == WEIR_MOCK_ERROR_CUT) {
        weir_mock_grpc_cut(call);
    } else if (call->set->error == WEIR_MOCK_ERROR_STALL) {
        weir_mock_grpc_stall(call);
    } else {
        weir_mock_grpc_end(call, status_of(call), message_of(call));
    }
}

static void send_framed(struct weir_mock_call *call, const struct weir_buf *frame)
{
    weir_mock_request_of(call->s)->n_events++;
    send_head(call);
    if (weir_http_stream_write(call->s, weir_buf_slice(frame)) == WEIR_FLOW_FULL) {
        weir_http_stream_pause_body(call->s);
    }
}

void weir_mock_grpc_send(struct weir_mock_call *call, const ProtobufCMessage *m)
{
    struct weir_buf frame = {0};
    if (call->is_over) {
        return;
    }
    if (is_at_failure(call)) {
        fail_now(call);
        return;
    }
    weir_proto_append_framed(&frame, m);
    send_framed(call, &frame);
    weir_buf_dispose(&frame);
}

void weir_mock_grpc_send_raw(struct weir_mock_call *call, struct weir_slice message)
{
    struct weir_buf frame = {0};
    char prefix[WEIR_GRPC_PREFIX_BYTES];
    if (call->is_over) {
        return;
    }
    weir_grpc_put_prefix(prefix, (uint32_t)message.n);
    weir_buf_append(&frame, weir_slice_make(prefix, sizeof prefix));
    weir_buf_append(&frame, message);
    send_framed(call, &frame);
    weir_buf_dispose(&frame);
}

void weir_mock_grpc_answer(struct weir_mock_call *call, const ProtobufCMessage *m)
{
    weir_mock_grpc_send(call, m);
    weir_mock_grpc_end(call, WEIR_GRPC_OK, "");
}

/* ---- playing ---- */

static enum weir_mock_next next_played(void *ctx, struct weir_buf *out, uint64_t *wait_ms)
{
    struct weir_mock_call *call = ctx;
    if (!is_at_failure(call)) {
        return call->source->next(call->source_ctx, out, wait_ms);
    }
    if (call->set->error == WEIR_MOCK_ERROR_CUT) {
        return WEIR_MOCK_CUT;
    }
    return call->set->error == WEIR_MOCK_ERROR_STALL ? WEIR_MOCK_STALL : WEIR_MOCK_END;
}

static void end_played(void *ctx, struct weir_http_stream *s)
{
    struct weir_mock_call *call = ctx;
    (void)s;
    if (is_at_failure(call)) {
        weir_mock_grpc_end(call, status_of(call), message_of(call));
    } else {
        weir_mock_grpc_end(call, WEIR_GRPC_OK, "");
    }
}

static const struct weir_mock_source PLAYED = {.next = next_played, .end = end_played};

void weir_mock_grpc_play(struct weir_mock_call *call, const struct weir_mock_source *source,
                         void *ctx)
{
    if (call->is_over) {
        return;
    }
    call->source = source;
    call->source_ctx = ctx;
    send_head(call);
    weir_mock_player_start(call->s, &PLAYED, call);
}

/* ---- reading ---- */

static void on_body(struct weir_http_stream *s, struct weir_slice bytes)
{
    struct weir_mock_call *call = s->ctx;
    for (size_t at = 0; !call->is_over;) {
        size_t used;
        int rc = weir_grpc_feed(&call->reader, weir_slice_sub(bytes, at, bytes.n), &used);
        at += used;
        if (rc == WEIR_EAGAIN) {
            return;
        }
        if (rc == WEIR_ELIMIT) {
            weir_mock_grpc_end(call, WEIR_GRPC_RESOURCE_EXHAUSTED, "the message is too large");
        } else if (rc != 0) {
            weir_mock_grpc_end(call, WEIR_GRPC_INTERNAL, "the message's frame is malformed");
        } else if (call->method->on_message != NULL) {
            call->method->on_message(call, call->reader.message);
        }
    }
}

static void on_body_end(struct weir_http_stream *s)
{
    struct weir_mock_call *call = s->ctx;
    if (weir_grpc_finish(&call->reader) != 0) {
        weir_mock_grpc_end(call, WEIR_GRPC_INTERNAL, "the call ended within a message");
    } else if (!call->is_over) {
        call->method->on_end(call);
    }
}

static void on_resume(struct weir_http_stream *s)
{
    weir_http_stream_resume_body(s);
}

static const struct weir_http_handler HANDLER = {
    .on_body = on_body,
    .on_body_end = on_body_end,
    .on_resume = on_resume,
};

static void dispose(void *ctx)
{
    struct weir_mock_call *call = ctx;
    weir_loop_cancel(call->s->loop, &call->timer);
    weir_grpc_dispose(&call->reader);
}

static void go(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_mock_call *call = s->ctx;
    (void)body;
    if (call->method->is_conversation) {
        send_head(call);
    }
    weir_http_stream_resume_body(s);
}

/* `status` fails as a proxy in between would, in HTTP; otherwise it is a gRPC status. */
static void fail(struct weir_http_stream *s, int status, struct weir_slice message)
{
    struct weir_mock_call *call = s->ctx;
    (void)message;
    if (call->set->status != 0) {
        call->is_over = true;
        weir_http_stream_reply(s, status, NULL, 0, WEIR_SLICE("not gRPC"));
        return;
    }
    enum weir_grpc_status chosen = call->set->grpc_status != 0
                                       ? (enum weir_grpc_status)call->set->grpc_status
                                       : WEIR_GRPC_UNAVAILABLE;
    weir_mock_grpc_end(call, chosen, message_of(call));
}

bool weir_mock_grpc_is(const struct weir_http_stream *s)
{
    struct weir_slice type = weir_http_request_get(&s->req, WEIR_SLICE("content-type"));
    return s->req.method == WEIR_HTTP_POST &&
           weir_slice_starts_with(type, WEIR_SLICE("application/grpc"));
}

void weir_mock_grpc_begin(struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {.go = go, .fail = fail};
    struct weir_mock_call *call = weir_arena_zalloc(&s->arena, sizeof *call);
    call->s = s;
    call->set = &weir_mock_request_of(s)->set;
    call->method = find_method(s->req.path);
    weir_grpc_init(&call->reader, MAX_MESSAGE_BYTES);
    weir_arena_defer(&s->arena, dispose, call);
    if (call->method == NULL) {
        weir_mock_grpc_end(call, WEIR_GRPC_UNIMPLEMENTED, "unknown method");
        return;
    }
    s->ctx = call;
    s->handler = &HANDLER;
    /* What the caller says is held back while the answer is to wait. */
    weir_http_stream_pause_body(s);
    weir_mock_reply_wait(s, &role);
}
