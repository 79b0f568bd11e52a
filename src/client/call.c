/*
 * One call from start to on_done.
 *
 *            ┌─ QUEUED ─┐
 *   start ───┴──────────┴─► WAITING ─► RUNNING ─► on_done
 *                              ▲          │
 *                              ├──────────┤ stale or refused: again at once, quietly
 *                              └─ BACKOFF ◄ 502, 503, 504, no connection: again later
 *
 * There is one timer. While the exchange runs it is not moved with every byte: when it fires it
 * looks at what the exchange has noted and is set again, or the call has failed.
 */
#include "client/client_int.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "obs/log.h"
#include "obs/trace.h"

#include <stdlib.h>

/* What a call whose answer is gathered needs, its own fields and those of the answer; it is over
 * soon. One whose answer is streamed may last for minutes, and takes what it needs. */
enum { WHOLE_ARENA_BYTES = 1024 - 16 };

enum {
    BACKOFF_MS = 50, /* before the first retry; doubles */
    MAX_DOUBLINGS = 10,
    MAX_QUIET = 5,               /* repetitions of what the service did not process */
    DISCARD_BYTES = 64 * 1024,   /* of an answer that leads to a retry; more is not worth reading */
    RESERVE_BYTES = 1024 * 1024, /* for an announced body; a longer one has to come first */
    KEEP_BYTES = 64 * 1024,      /* of a streamed body, to be sent again on another connection */
};

static uint64_t now_of(const struct weir_call *call)
{
    return weir_loop_now_ms(call->client->loop);
}

/* The end */

static enum weir_service_result result_of(const struct weir_call *call)
{
    switch (call->err) {
    case 0:
        return (enum weir_service_result)(WEIR_SERVICE_1XX + call->status / 100 - 1);
    case WEIR_ETIMEOUT:
        return WEIR_SERVICE_TIMEOUT;
    case WEIR_EBUSY:
        return WEIR_SERVICE_BUSY;
    case WEIR_ELIMIT:
        return WEIR_SERVICE_LIMIT;
    case WEIR_ECANCELED:
        return WEIR_SERVICE_CANCELED;
    case WEIR_EREFUSED:
    case WEIR_EUNREACHABLE:
    case WEIR_ETLS:
        return WEIR_SERVICE_CONNECT;
    default:
        return WEIR_SERVICE_BROKEN;
    }
}

/* Breaks off what runs, if anything does. */
static void leave_conn(struct weir_call *call)
{
    struct weir_http_up *up = call->exchange.up;
    weir_http_exchange_cancel(&call->exchange);
    if (up != NULL) {
        weir_pool__returned(WEIR_LIST_ENTRY(up, struct weir_pool_conn, up));
    }
}

/* Off every list, so that nothing finds it any more. */
static void detach(struct weir_call *call)
{
    struct weir_pool *pool = call->pool;
    weir_loop_cancel(call->client->loop, &call->timer);
    weir_loop_unpost(&call->post);
    weir_list_remove(&call->link);
    leave_conn(call);
    uint64_t took_us = (uv_hrtime() - call->started_ns) / 1000;
    weir_service__count(&pool->stats, result_of(call), took_us);
    weir_pool__leave(pool, call);
    call->pool = NULL;
    call->state = WEIR_CALL_DONE;
}

static void free_call(struct weir_call *call)
{
    weir_buf_dispose(&call->kept);
    weir_buf_dispose(&call->body);
    weir_arena_dispose(&call->arena);
    free(call);
}

static void tell_done(struct weir_call *call, const struct weir_http_field *trailers,
                      size_t n_trailers)
{
    weir_call__tell_span(call, trailers, n_trailers);
    detach(call);
    bool is_whole = call->request.answer == WEIR_CALL_WHOLE;
    struct weir_call_result result = {
        .err = call->err,
        .is_unreached = call->is_unreached,
        .why = call->why,
        .has_head = call->has_head,
        .status = call->status,
        .fields = call->fields,
        .n_fields = call->n_fields,
        .trailers = trailers,
        .n_trailers = n_trailers,
        .body = is_whole && call->err == 0 ? weir_buf_slice(&call->body) : WEIR_SLICE(""),
    };
    call->events->on_done(call->ctx, &result);
    free_call(call);
}

/* First error wins; called from the top of the loop only. */
static void fail(struct weir_call *call, int err, const char *why)
{
    call->err = err;
    call->why = why;
    tell_done(call, NULL, 0);
}

static void fail_later(struct weir_call *call, int err, const char *why)
{
    call->state = WEIR_CALL_FAILED;
    call->err = err;
    call->why = why;
    weir_loop_post(call->client->loop, &call->post);
}

/* Time */

static void want_again(struct weir_call *call);

static void on_timer(struct weir_timer *t, void *ctx)
{
    struct weir_call *call = ctx;
    const struct weir_target *target = &call->pool->target;
    uint64_t now_ms = now_of(call);
    (void)t;
    if (now_ms >= call->deadline_ms) {
        fail(call, WEIR_ETIMEOUT,
             weir_arena_printf(&call->arena, "time was up before %.*s had answered",
                               (int)target->id.n, target->id.p));
    } else if (now_ms < weir_call__due(call)) {
        weir_call__arm(call);
    } else if (call->state == WEIR_CALL_BACKOFF) {
        want_again(call);
    } else if (call->state == WEIR_CALL_WAITING) {
        weir_pool__stop_waiting(call->pool, call);
        weir_call__unconnected(call, WEIR_ETIMEOUT, NULL);
    } else {
        fail(call, WEIR_ETIMEOUT, weir_call__late_phrase(call));
    }
}

static void enter(struct weir_call *call, enum weir_call_state state)
{
    call->state = state;
    call->since_ms = now_of(call);
    weir_call__arm(call);
}

/* Again */

static void want_again(struct weir_call *call)
{
    enter(call, WEIR_CALL_WAITING);
    weir_pool__want(call->pool, call);
}

/* Half to one and a half of what the doubling says, so that many do not come back together. */
static uint64_t backoff_ms(uint32_t n_retries)
{
    uint32_t doublings = n_retries < MAX_DOUBLINGS ? n_retries : MAX_DOUBLINGS;
    uint64_t ms = (uint64_t)BACKOFF_MS << doublings;
    return ms / 2 + weir_trace_random() % (ms + 1);
}

/* Plans a retry if one is allowed and in time: call->since_ms is when. */
static bool plan_retry(struct weir_call *call)
{
    const struct weir_target *target = &call->pool->target;
    if (!call->request.may_retry || call->n_retries >= target->max_retries) {
        return false;
    }
    if (call->request.has_stream_body && !call->can_replay) {
        return false;
    }
    uint64_t at_ms = now_of(call) + backoff_ms(call->n_retries);
    if (at_ms >= call->deadline_ms) {
        return false;
    }
    call->n_retries++;
    call->since_ms = at_ms;
    weir_metric_add(call->pool->stats.retries, 1);
    return true;
}

static void log_retry(const struct weir_call *call, const char *why)
{
    const struct weir_call_context *context = call->request.context;
    WEIR_LOG_DEBUG("client", context != NULL ? context->log : NULL, "service is asked again",
                   weir_log_str("service", call->pool->target.id), weir_log_cstr("why", why),
                   weir_log_u64("retry", call->n_retries));
}

static void back_off(struct weir_call *call)
{
    call->is_discarding = false;
    call->state = WEIR_CALL_BACKOFF;
    weir_call__arm(call);
}

/* A request that the peer cannot have seen is repeated, not counted as a retry, once, on a
 * connection that nobody has used before; what it says it has not processed, a few times. */
static bool repeat_quietly(struct weir_call *call, int err)
{
    const struct weir_http_exchange *ex = &call->exchange;
    bool is_lost = ex->is_cut && (err == WEIR_ERESET || err == WEIR_ECLOSED);
    bool is_stale = is_lost && call->is_on_used && !ex->is_answered && !call->was_stale;
    bool is_refused = ex->is_refused && call->n_quiet < MAX_QUIET;
    bool is_lossless = !call->request.has_stream_body || call->can_replay;
    if (!(is_stale || is_refused) || !is_lossless) {
        return false;
    }
    call->n_quiet++;
    if (is_stale) {
        call->was_stale = true;
        call->min_seq = call->client->seq;
    }
    want_again(call);
    return true;
}

static bool is_retried_status(const struct weir_call *call, int status)
{
    return !call->request.keeps_status && (status == 502 || status == 503 || status == 504);
}

/* The answer */

static void on_answer(void *ctx)
{
    struct weir_call *call = ctx;
    weir_call__arm(call);
}

static void take_head(struct weir_call *call, int status, const struct weir_http_field *fields,
                      size_t n_fields)
{
    call->has_head = true;
    call->status = status;
    call->fields = fields;
    call->n_fields = n_fields;
    call->can_replay = false;
    weir_buf_dispose(&call->kept);
}

/* An announced length that is too long needs no reading; one that is not saves growing. */
static bool has_room_for(struct weir_call *call)
{
    struct weir_slice text =
        weir_http_field_get(call->fields, call->n_fields, WEIR_SLICE("content-length"));
    uint64_t length;
    if (text.p == NULL || weir_slice_u64(text, &length) != 0 ||
        weir_slice_eq(call->request.method, WEIR_SLICE("HEAD"))) {
        return true;
    }
    if (length > call->request.max_body_bytes) {
        return false;
    }
    weir_buf_reserve(&call->body, length < RESERVE_BYTES ? (size_t)length : RESERVE_BYTES);
    return true;
}

static void fail_too_large(struct weir_call *call)
{
    const struct weir_target *t = &call->pool->target;
    fail(call, WEIR_ELIMIT,
         weir_arena_printf(&call->arena, "the answer of %.*s is larger than %zu bytes",
                           (int)t->id.n, t->id.p, call->request.max_body_bytes));
}

static void on_head(void *ctx, int status, const struct weir_http_field *fields, size_t n_fields)
{
    struct weir_call *call = ctx;
    if (is_retried_status(call, status) && plan_retry(call)) {
        log_retry(call, "status");
        call->is_discarding = true;
        call->discarded_bytes = 0;
        weir_http_exchange_resume(&call->exchange);
        return;
    }
    take_head(call, status, fields, n_fields);
    if (call->request.answer == WEIR_CALL_STREAM) {
        call->events->on_head(call->ctx, status, fields, n_fields);
    } else if (!has_room_for(call)) {
        fail_too_large(call);
    }
}

static void discard(struct weir_call *call, size_t n)
{
    call->discarded_bytes += n;
    if (call->discarded_bytes > DISCARD_BYTES) {
        leave_conn(call);
        back_off(call);
    }
}

static void on_body(void *ctx, struct weir_slice bytes)
{
    struct weir_call *call = ctx;
    if (call->is_discarding) {
        discard(call, bytes.n);
    } else if (call->request.answer == WEIR_CALL_STREAM) {
        call->events->on_body(call->ctx, bytes);
    } else if (bytes.n > call->request.max_body_bytes - call->body.n) {
        fail_too_large(call);
    } else if (bytes.n > call->body.cap - call->body.n &&
               !weir_account_has_room(call->body.account, bytes.n + call->body.cap)) {
        fail(call, WEIR_EFULL, "there is no room for the answer: limits.max_held_bytes_total");
    } else {
        weir_buf_append(&call->body, bytes);
    }
}

static void resume_owner(struct weir_call *call)
{
    if (weir_flow_gate_resume(&call->gate) && call->events->on_room != NULL) {
        call->events->on_room(call->ctx);
    }
}

static void on_room(void *ctx)
{
    struct weir_call *call = ctx;
    weir_flow_gate_has_room(&call->gate);
    resume_owner(call);
}

static void on_end(void *ctx, const struct weir_http_field *trailers, size_t n_trailers)
{
    struct weir_call *call = ctx;
    if (call->is_discarding) {
        back_off(call);
    } else {
        tell_done(call, trailers, n_trailers);
    }
}

static void on_failed(void *ctx, int err, const char *why)
{
    struct weir_call *call = ctx;
    const struct weir_target *t = &call->pool->target;
    if (call->is_discarding) {
        back_off(call);
    } else if (!repeat_quietly(call, err)) {
        fail(call, err, weir_arena_printf(&call->arena, "%.*s: %s", (int)t->id.n, t->id.p, why));
    }
}

static const struct weir_http_exchange_events EXCHANGE_EVENTS = {
    .on_answer = on_answer,
    .on_head = on_head,
    .on_body = on_body,
    .on_room = on_room,
    .on_end = on_end,
    .on_failed = on_failed,
};

/* From the pool */

void weir_call__admitted(struct weir_call *call)
{
    enter(call, WEIR_CALL_WAITING);
}

/* What the owner wrote while there was no connection, or on one that was lost. */
static void write_kept(struct weir_call *call)
{
    struct weir_http_exchange *ex = &call->exchange;
    enum weir_flow flow = weir_http_exchange_write(ex, weir_buf_slice(&call->kept));
    if (call->has_body_end) {
        weir_http_exchange_end_body(ex);
    }
    bool is_owed = weir_flow_gate_is_owed(&call->gate);
    if (flow == WEIR_FLOW_FULL && is_owed) {
        (void)weir_flow_gate_answer(&call->gate, true); /* this exchange tells of room */
    } else if (flow == WEIR_FLOW_OK && weir_flow_gate_has_room(&call->gate)) {
        weir_loop_post(call->client->loop, &call->post);
    }
}

void weir_call__run(struct weir_call *call, struct weir_pool_conn *conn)
{
    call->exchange = (struct weir_http_exchange){
        .events = &EXCHANGE_EVENTS,
        .ctx = call,
        .arena = &call->arena,
        .is_paused = call->is_paused,
    };
    call->is_on_used = conn->up.n_begun != 0;
    weir_http_up_begin(&conn->up, &call->exchange, &call->wire);
    if (call->request.has_stream_body) {
        write_kept(call);
    }
    enter(call, WEIR_CALL_RUNNING);
}

/* Which errors another attempt may cure: a certificate does not become valid by waiting. */
static bool is_curable(int err)
{
    return err != WEIR_ETLS && err != WEIR_EPROTO;
}

void weir_call__unconnected(struct weir_call *call, int err, const char *why)
{
    const char *phrase = weir_call__unconnected_phrase(call, err, why);
    if (is_curable(err) && plan_retry(call)) {
        log_retry(call, phrase);
        back_off(call);
    } else {
        call->is_unreached = true;
        fail(call, err, phrase);
    }
}

/* Posted: a failure that was known at once, or room. */
static void on_post(struct weir_post *post)
{
    struct weir_call *call = WEIR_LIST_ENTRY(post, struct weir_call, post);
    if (call->state == WEIR_CALL_FAILED) {
        tell_done(call, NULL, 0);
    } else {
        resume_owner(call);
    }
}

/* From the owner */

struct weir_call *weir_call_start(struct weir_client *client,
                                  const struct weir_call_request *request,
                                  const struct weir_call_events *events, void *ctx)
{
    struct weir_call *call = weir_mem_zalloc(sizeof *call);
    call->client = client;
    call->pool = weir_client__pool(client, request->target);
    call->request = *request;
    call->events = events;
    call->ctx = ctx;
    call->timer.fn = on_timer;
    call->timer.ctx = call;
    call->post.fn = on_post;
    call->started_ns = uv_hrtime();
    call->deadline_ms = weir_call__deadline(call);
    call->can_replay = request->has_stream_body;
    call->arena.account = weir_call_account(request->context);
    if (request->answer == WEIR_CALL_WHOLE) {
        weir_arena_expect(&call->arena, WHOLE_ARENA_BYTES);
    }
    call->body.account = call->arena.account;
    call->kept.account = call->arena.account;
    weir_list_append(&client->calls, &call->link);
    int err;
    bool may_go_on = weir_pool__enter(call->pool, call, &err);
    if (err != 0) {
        fail_later(call, err, "too many calls wait for the service");
    } else if (weir_call__build(call) != 0) {
        fail_later(call, WEIR_EINVAL, "a header field or the path cannot be sent");
    } else if (may_go_on) {
        want_again(call);
    } else {
        enter(call, WEIR_CALL_QUEUED);
    }
    return call;
}

/* Kept as long as it may have to be sent again. */
static void keep(struct weir_call *call, struct weir_slice bytes)
{
    bool is_sending = call->state == WEIR_CALL_RUNNING;
    if (is_sending && call->kept.n + bytes.n > KEEP_BYTES) {
        call->can_replay = false;
        weir_buf_dispose(&call->kept);
    } else {
        weir_buf_append(&call->kept, bytes);
    }
}

enum weir_flow weir_call_write(struct weir_call *call, struct weir_slice bytes)
{
    WEIR_ASSERT(call->request.has_stream_body && !call->has_body_end);
    if (call->state == WEIR_CALL_DONE || call->state == WEIR_CALL_FAILED) {
        return WEIR_FLOW_OK;
    }
    if (call->can_replay) {
        keep(call, bytes);
    }
    bool is_full = call->exchange.up != NULL
                       ? weir_http_exchange_write(&call->exchange, bytes) == WEIR_FLOW_FULL
                       : call->kept.n >= KEEP_BYTES;
    return weir_flow_gate_answer(&call->gate, is_full);
}

void weir_call_end_body(struct weir_call *call)
{
    WEIR_ASSERT(call->request.has_stream_body && !call->has_body_end);
    call->has_body_end = true;
    if (call->exchange.up != NULL) {
        weir_http_exchange_end_body(&call->exchange);
        weir_call__arm(call);
    }
}

/* An answer that is thrown away is read whatever the owner wants. */
void weir_call_pause(struct weir_call *call)
{
    call->is_paused = true;
    if (!call->is_discarding) {
        weir_http_exchange_pause(&call->exchange);
    }
}

void weir_call_resume(struct weir_call *call)
{
    call->is_paused = false;
    weir_http_exchange_resume(&call->exchange);
}

void weir_call_cancel(struct weir_call *call)
{
    if (call->state == WEIR_CALL_DONE) {
        return;
    }
    call->err = WEIR_ECANCELED;
    weir_call__tell_span(call, NULL, 0);
    detach(call);
    free_call(call);
}
