#include "mock/mock_reply.h"

#include "base/mem.h"
#include "mock/mock_player.h"
#include "route/decode.h"
#include "route/reply.h"
#include "wire/json_write.h"

#include <stdlib.h>

static const struct weir_decode_limits DECODE = {
    .max_body_bytes = 64 * 1024 * 1024,
    .max_json_depth = 256,
    .max_json_nodes = UINT32_MAX,
};

/* Keys of fail_first that are remembered; more are not failed. */
enum { MAX_KEYS = 10000 };

/* ---- waiting and failing ---- */

struct pending {
    struct weir_http_stream *s;
    const struct weir_mock_role *role;
    const struct weir_json *body;
    struct weir_timer timer;
};

/* Counts a request of a key; true while it is among the first that fail. */
static bool is_among_first(struct weir_mock_request *r, struct weir_slice key)
{
    struct weir_mock_server *sv = r->worker->server;
    uintptr_t n;
    pthread_mutex_lock(&sv->lock);
    n = (uintptr_t)weir_map_get(&sv->failures, key);
    bool is_known = n != 0 || weir_map_has(&sv->failures, key);
    bool fails = n < r->set.fail_first && (is_known || sv->failures.n < MAX_KEYS);
    if (fails && !is_known) {
        key = weir_slice_make(weir_mem_dup(key.p, key.n), key.n);
    }
    if (fails) {
        weir_map_put(&sv->failures, key, (void *)(n + 1));
    }
    pthread_mutex_unlock(&sv->lock);
    return fails;
}

static bool must_fail(struct weir_http_stream *s)
{
    struct weir_mock_request *r = weir_mock_request_of(s);
    const struct weir_mock_settings *set = &r->set;
    if (set->fail_first != 0) {
        return is_among_first(r, set->key.p != NULL ? set->key : s->req.path);
    }
    if (set->fail_rate > 0) {
        return (double)(weir_mock_request_random(r) >> 11) * 0x1p-53 < set->fail_rate;
    }
    bool is_told = set->status != 0 || set->grpc_status != 0;
    return is_told && set->fail_at == WEIR_MOCK_UNSET;
}

static void go_on(struct pending *p)
{
    const struct weir_mock_settings *set = &weir_mock_request_of(p->s)->set;
    if (must_fail(p->s)) {
        struct weir_slice message =
            set->message.p != NULL ? set->message : WEIR_SLICE("the mock was told to fail");
        p->role->fail(p->s, set->status != 0 ? (int)set->status : 500, message);
        return;
    }
    p->role->go(p->s, p->body);
}

static void on_timer(struct weir_timer *t, void *ctx)
{
    (void)t;
    go_on(ctx);
}

static void cancel(void *ctx)
{
    struct pending *p = ctx;
    weir_loop_cancel(p->s->loop, &p->timer);
}

static void wait_and_go(struct pending *p)
{
    struct weir_mock_request *r = weir_mock_request_of(p->s);
    uint64_t delay_ms = r->set.delay_ms;
    if (r->set.jitter_ms != 0) {
        delay_ms += weir_mock_request_random(r) % (r->set.jitter_ms + 1);
    }
    if (delay_ms == 0) {
        go_on(p);
        return;
    }
    p->timer.fn = on_timer;
    p->timer.ctx = p;
    weir_arena_defer(&p->s->arena, cancel, p);
    weir_loop_after(p->s->loop, &p->timer, delay_ms);
}

static struct pending *new_pending(struct weir_http_stream *s, const struct weir_mock_role *role)
{
    struct pending *p = weir_arena_zalloc(&s->arena, sizeof *p);
    p->s = s;
    p->role = role;
    return p;
}

static void on_json(void *ctx, struct weir_http_stream *s, const struct weir_json *body)
{
    struct pending *p = ctx;
    p->body = body;
    if (p->role->take == NULL || p->role->take(s, body)) {
        wait_and_go(p);
    }
}

void weir_mock_reply_begin(struct weir_http_stream *s, const struct weir_mock_role *role)
{
    weir_decode_json_body(s, &DECODE, on_json, new_pending(s, role));
}

void weir_mock_reply_wait(struct weir_http_stream *s, const struct weir_mock_role *role)
{
    wait_and_go(new_pending(s, role));
}

bool weir_mock_reply_settings(struct weir_http_stream *s, const struct weir_json *body,
                              uint32_t object, bool is_lenient)
{
    struct weir_mock_json from = {
        .json = body, .object = object, .is_lenient = is_lenient, .arena = &s->arena};
    struct weir_mock_mistake mistake;
    if (weir_mock_settings_json(&weir_mock_request_of(s)->set, &from, &mistake) != 0) {
        weir_reply_error(s, 400, weir_slice_cstr(mistake.text));
        return false;
    }
    return true;
}

/* ---- bodies ---- */

struct body {
    struct weir_slice bytes;
    size_t n_send; /* of them, before the end or the cut */
    bool is_cut;
    bool is_sent;
};

static enum weir_mock_next next_of_body(void *ctx, struct weir_buf *out, uint64_t *wait_ms)
{
    struct body *b = ctx;
    (void)wait_ms;
    if (!b->is_sent) {
        b->is_sent = true;
        weir_buf_append(out, weir_slice_sub(b->bytes, 0, b->n_send));
        return WEIR_MOCK_MORE;
    }
    return b->is_cut ? WEIR_MOCK_CUT : WEIR_MOCK_END;
}

static const struct weir_mock_source BODY = {.next = next_of_body};

/* A copy of the body with white space behind it. */
static struct weir_slice pad(struct weir_http_stream *s, struct weir_slice body)
{
    size_t n_pad = weir_mock_request_of(s)->set.pad_bytes;
    char *copy = weir_arena_alloc(&s->arena, body.n + n_pad);
    if (body.n != 0) {
        memcpy(copy, body.p, body.n);
    }
    memset(copy + body.n, ' ', n_pad);
    return weir_slice_make(copy, body.n + n_pad);
}

void weir_mock_reply_send(struct weir_http_stream *s, const struct weir_mock_answer *answer)
{
    struct weir_mock_settings *set = &weir_mock_request_of(s)->set;
    struct weir_http_field fields[2] = {
        {WEIR_SLICE("content-type"), weir_slice_cstr(answer->type)},
    };
    size_t n_fields = answer->type != NULL;
    if (answer->status >= 400 && set->retry_after != 0) {
        const char *seconds = weir_arena_printf(&s->arena, "%u", set->retry_after);
        fields[n_fields].name = WEIR_SLICE("retry-after");
        fields[n_fields++].value = weir_slice_cstr(seconds);
    }
    bool is_plain = set->cut_bytes == 0 && set->pad_bytes == 0 && !answer->is_cut;
    if (is_plain || answer->body.n == 0) {
        weir_http_stream_reply(s, answer->status, fields, n_fields, answer->body);
        return;
    }
    struct body *b = weir_arena_zalloc(&s->arena, sizeof *b);
    b->bytes = pad(s, answer->body);
    b->n_send = answer->is_cut ? b->bytes.n / 2 : b->bytes.n;
    b->is_cut = answer->is_cut;
    struct weir_http_response r = {.status = answer->status,
                                   .fields = fields,
                                   .n_fields = n_fields,
                                   .body = WEIR_HTTP_BODY_LENGTH,
                                   .length = b->bytes.n};
    set->first_ms = 0;
    weir_http_stream_respond(s, &r);
    weir_mock_player_start(s, &BODY, b);
}

void weir_mock_reply_json(struct weir_http_stream *s, struct weir_slice json)
{
    const struct weir_mock_settings *set = &weir_mock_request_of(s)->set;
    struct weir_mock_answer answer = {.status = 200, .type = "application/json"};
    answer.body = set->answer.p != NULL ? set->answer : json;
    weir_mock_reply_send(s, &answer);
}

/* ---- failures ---- */

static void send_error(struct weir_http_stream *s, int status, const struct weir_buf *body)
{
    struct weir_mock_answer answer = {
        .status = status, .type = "application/json", .body = weir_buf_slice(body)};
    weir_mock_reply_send(s, &answer);
}

void weir_mock_reply_openai_error(struct weir_http_stream *s, int status, struct weir_slice message)
{
    struct weir_buf body = {0};
    struct weir_json_write w;
    bool is_flat = weir_mock_request_of(s)->set.error == WEIR_MOCK_ERROR_FLAT;
    weir_json_write_init(&w, &body);
    weir_json_write_begin_object(&w);
    if (is_flat) {
        weir_json_write_key(&w, WEIR_SLICE("object"));
        weir_json_write_string(&w, WEIR_SLICE("error"));
    } else {
        weir_json_write_key(&w, WEIR_SLICE("error"));
        weir_json_write_begin_object(&w);
    }
    weir_json_write_key(&w, WEIR_SLICE("message"));
    weir_json_write_string(&w, message);
    weir_json_write_key(&w, WEIR_SLICE("type"));
    weir_json_write_string(&w, is_flat ? WEIR_SLICE("MockError")
                                       : weir_slice_cstr(weir_reply_error_type(status)));
    weir_json_write_key(&w, WEIR_SLICE("param"));
    weir_json_write_null(&w);
    weir_json_write_key(&w, WEIR_SLICE("code"));
    weir_json_write_i64(&w, status);
    if (!is_flat) {
        weir_json_write_end_object(&w);
    }
    weir_json_write_end_object(&w);
    send_error(s, status, &body);
    weir_buf_dispose(&body);
}

void weir_mock_reply_messages_error(struct weir_http_stream *s, int status,
                                    struct weir_slice message)
{
    struct weir_buf body = {0};
    weir_reply_error_body(&body, WEIR_REPLY_MESSAGES, status, message);
    send_error(s, status, &body);
    weir_buf_dispose(&body);
}

void weir_mock_reply_detector_error(struct weir_http_stream *s, int status,
                                    struct weir_slice message)
{
    struct weir_buf body = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &body);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("code"));
    weir_json_write_i64(&w, status);
    weir_json_write_key(&w, WEIR_SLICE("message"));
    weir_json_write_string(&w, message);
    weir_json_write_end_object(&w);
    send_error(s, status, &body);
    weir_buf_dispose(&body);
}
