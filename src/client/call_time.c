/*
 * When a call is late, and how that is said. Nothing here moves a call on.
 */
#include "client/client_int.h"

#include "base/err.h"

static uint64_t now_of(const struct weir_call *call)
{
    return weir_loop_now_ms(call->client->loop);
}

static double seconds(uint64_t ms)
{
    return (double)ms / 1000;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t first_byte_ms(const struct weir_call *call)
{
    uint64_t own_ms = call->request.first_byte_timeout_ms;
    return own_ms != 0 ? own_ms : call->pool->target.first_byte_timeout_ms;
}

static uint64_t after(uint64_t since_ms, uint64_t limit_ms)
{
    return limit_ms != 0 ? since_ms + limit_ms : UINT64_MAX;
}

/* Is the owner the one that is waited for? */
static bool waits_for_owner(const struct weir_http_exchange *ex)
{
    return ex->is_paused || (!ex->is_sent && ex->has_stream_body && ex->out.n == 0);
}

/* When the exchange is late, as things are now. UINT64_MAX: we wait for nothing of the service. */
static uint64_t exchange_due(const struct weir_call *call)
{
    const struct weir_http_exchange *ex = &call->exchange;
    const struct weir_target *t = &call->pool->target;
    if (waits_for_owner(ex)) {
        return UINT64_MAX;
    }
    if (!ex->is_sent && (!ex->is_answered || ex->has_stream_body)) {
        return after(ex->out_ms, t->idle_timeout_ms);
    }
    if (!ex->is_answered) {
        return after(ex->out_ms, first_byte_ms(call));
    }
    return after(ex->in_ms, t->idle_timeout_ms);
}

uint64_t weir_call__due(const struct weir_call *call)
{
    switch (call->state) {
    case WEIR_CALL_WAITING:
        return after(call->since_ms, call->pool->target.connect_timeout_ms);
    case WEIR_CALL_RUNNING:
        return exchange_due(call);
    case WEIR_CALL_BACKOFF:
        return call->since_ms; /* when it ends */
    default:
        return UINT64_MAX;
    }
}

/* What becomes due later needs no timer of its own: the timer fires once per idle time (before
 * the answer: once per first-byte time, which begins when the request has been sent) and looks
 * then. */
static uint64_t next_look(const struct weir_call *call)
{
    const struct weir_target *t = &call->pool->target;
    uint64_t now_ms = now_of(call);
    uint64_t at_ms = after(now_ms, t->idle_timeout_ms);
    return call->exchange.is_answered ? at_ms : min_u64(at_ms, after(now_ms, first_byte_ms(call)));
}

void weir_call__arm(struct weir_call *call)
{
    uint64_t at_ms = min_u64(weir_call__due(call), call->deadline_ms);
    if (call->state == WEIR_CALL_RUNNING) {
        at_ms = min_u64(at_ms, next_look(call));
    }
    if (at_ms != UINT64_MAX) {
        weir_timers_set(&call->client->loop->timers, &call->timer, at_ms);
    } else {
        weir_loop_cancel(call->client->loop, &call->timer);
    }
}

const char *weir_call__late_phrase(struct weir_call *call)
{
    const struct weir_http_exchange *ex = &call->exchange;
    const struct weir_target *t = &call->pool->target;
    struct weir_arena *a = &call->arena;
    int n = (int)t->id.n;
    if (!ex->is_sent && (!ex->is_answered || ex->has_stream_body)) {
        return weir_arena_printf(a, "%.*s took nothing more of the request for %g s", n, t->id.p,
                                 seconds(t->idle_timeout_ms));
    }
    if (!ex->is_answered) {
        return weir_arena_printf(a, "%.*s did not begin to answer within %g s", n, t->id.p,
                                 seconds(first_byte_ms(call)));
    }
    return weir_arena_printf(a, "%.*s sent no more of its answer for %g s", n, t->id.p,
                             seconds(t->idle_timeout_ms));
}

uint64_t weir_call__deadline(const struct weir_call *call)
{
    const struct weir_call_context *context = call->request.context;
    uint64_t at_ms = after(now_of(call), call->pool->target.request_timeout_ms);
    if (context != NULL && context->deadline_ms != 0) {
        at_ms = min_u64(at_ms, context->deadline_ms);
    }
    return at_ms;
}

const char *weir_call__unconnected_phrase(struct weir_call *call, int err, const char *why)
{
    const struct weir_target *t = &call->pool->target;
    if (err == WEIR_ETIMEOUT) {
        return weir_arena_printf(&call->arena, "connect to %.*s timed out after %g s", (int)t->id.n,
                                 t->id.p, seconds(t->connect_timeout_ms));
    }
    return weir_arena_printf(&call->arena, "connect to %.*s failed: %s", (int)t->id.n, t->id.p,
                             why);
}
