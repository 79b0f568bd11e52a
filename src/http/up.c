/*
 * What both protocols share on the calling side: opening, the choice of protocol, the end of an
 * exchange and the end of a connection.
 */
#include "base/assert.h"
#include "base/err.h"
#include "http/up_int.h"

static void on_freed(void *ctx)
{
    struct weir_http_up *up = ctx;
    up->events->on_freed(up);
}

void weir_http_up__detach(struct weir_http_exchange *ex)
{
    weir_list_remove(&ex->link);
    ex->up->n_exchanges--;
    ex->up = NULL;
}

/* Over: nothing is owed to it any more. */
static void release(struct weir_http_exchange *ex)
{
    weir_loop_unpost(&ex->post);
    weir_flow_gate_close(&ex->gate);
    ex->has_end = false;
    if (ex->is_alive != NULL) {
        *ex->is_alive = false;
    }
    weir_bufq_dispose(&ex->in);
    weir_bufq_dispose(&ex->out);
}

void weir_http_up__end(struct weir_http_exchange *ex)
{
    release(ex);
    ex->events->on_end(ex->ctx, ex->fields, ex->n_fields);
}

void weir_http_up__give_up(struct weir_http_exchange *ex, int err, const char *why)
{
    release(ex);
    ex->events->on_failed(ex->ctx, err, why);
}

void weir_http_up__answered(struct weir_http_exchange *ex)
{
    if (!ex->is_answered) {
        ex->is_answered = true;
        ex->events->on_answer(ex->ctx);
    }
}

/* Closes what can be closed at once. The exchanges that were on it are moved to `orphans`, but for
 * those that have all they need. */
static void shut(struct weir_http_up *up, struct weir_list *orphans)
{
    up->state = WEIR_HTTP_UP_CLOSING;
    weir_loop_unpost(&up->post);
    weir_loop_cancel(up->loop, &up->timer);
    weir_list_init(orphans);
    struct weir_list *link;
    while ((link = weir_list_pop(&up->exchanges)) != NULL) {
        struct weir_http_exchange *ex = WEIR_LIST_ENTRY(link, struct weir_http_exchange, link);
        ex->up = NULL;
        if (!ex->has_end) {
            weir_list_append(orphans, link);
        }
    }
    up->n_exchanges = 0;
    if (up->proto != NULL) {
        up->proto->dispose(up);
    }
    weir_buf_dispose(&up->stash);
    weir_sock_close(&up->sock, false, on_freed, up);
}

void weir_http_up_close(struct weir_http_up *up)
{
    if (up->state == WEIR_HTTP_UP_CLOSING) {
        return;
    }
    struct weir_list orphans;
    shut(up, &orphans);
    struct weir_list *link;
    while ((link = weir_list_pop(&orphans)) != NULL) {
        release(WEIR_LIST_ENTRY(link, struct weir_http_exchange, link));
    }
}

/* An exchange that fails may cancel another one of the orphans: it unlinks itself then. */
void weir_http_up__fail(struct weir_http_up *up, int err, const char *why)
{
    if (up->state == WEIR_HTTP_UP_CLOSING) {
        return;
    }
    struct weir_list orphans;
    shut(up, &orphans);
    up->events->on_gone(up, err, why);
    struct weir_list *link;
    while ((link = weir_list_pop(&orphans)) != NULL) {
        struct weir_http_exchange *ex = WEIR_LIST_ENTRY(link, struct weir_http_exchange, link);
        ex->is_cut = true;
        weir_http_up__give_up(ex, err, why);
    }
}

static void on_open(void *ctx)
{
    struct weir_http_up *up = ctx;
    bool is_h2 = weir_slice_eq(weir_sock_alpn(&up->sock), WEIR_SLICE("h2"));
    if (up->insists_on_h2 && up->sock.tls != NULL && !is_h2) {
        weir_http_up__fail(up, WEIR_EPROTO, "the service does not agree to HTTP/2");
        return;
    }
    up->proto = is_h2 || up->insists_on_h2 ? &weir_h2__up : &weir_h1__up;
    up->proto->start(up);
}

static void on_data(void *ctx, struct weir_slice bytes)
{
    struct weir_http_up *up = ctx;
    up->proto->input(up, bytes);
}

static void on_eof(void *ctx)
{
    struct weir_http_up *up = ctx;
    up->proto->eof(up);
}

static void on_drain(void *ctx)
{
    struct weir_http_up *up = ctx;
    up->proto->drained(up);
}

static void on_flush(void *ctx)
{
    struct weir_http_up *up = ctx;
    if (up->proto != NULL && up->proto->flush != NULL) {
        up->proto->flush(up);
    }
}

static void on_error(void *ctx, int err)
{
    struct weir_http_up *up = ctx;
    weir_http_up__fail(up, err, weir_sock_why(&up->sock));
}

static const struct weir_sock_events SOCK_EVENTS = {
    .on_open = on_open,
    .on_data = on_data,
    .on_eof = on_eof,
    .on_drain = on_drain,
    .on_flush = on_flush,
    .on_error = on_error,
};

static void on_timer(struct weir_timer *t, void *ctx)
{
    struct weir_http_up *up = ctx;
    (void)t;
    up->proto->tick(up);
}

static void on_post(struct weir_post *post)
{
    struct weir_http_up *up = WEIR_LIST_ENTRY(post, struct weir_http_up, post);
    up->proto->posted(up);
}

void weir_http_up_open(struct weir_http_up *up, struct weir_loop *loop,
                       const struct weir_http_up_options *options)
{
    up->loop = loop;
    up->state = WEIR_HTTP_UP_CONNECTING;
    up->insists_on_h2 = options->is_h2;
    up->ping_interval_ms = options->ping_interval_ms;
    up->ping_timeout_ms = options->ping_timeout_ms;
    up->timer.fn = on_timer;
    up->timer.ctx = up;
    up->post.fn = on_post;
    weir_list_init(&up->exchanges);
    weir_sock_connect(&up->sock, loop, options->addr, options->tls, options->server_name);
    weir_sock_listen_to(&up->sock, &SOCK_EVENTS, up);
}

size_t weir_http_up_room(const struct weir_http_up *up)
{
    return up->state == WEIR_HTTP_UP_READY ? up->proto->room(up) : 0;
}

bool weir_http_up_is_h2(const struct weir_http_up *up)
{
    return up->proto == &weir_h2__up;
}

void weir_http_up_begin(struct weir_http_up *up, struct weir_http_exchange *ex,
                        const struct weir_http_up_request *request)
{
    WEIR_ASSERT(weir_http_up_room(up) != 0 && ex->up == NULL);
    ex->up = up;
    ex->loop = up->loop;
    ex->body = request->body;
    ex->has_stream_body = request->has_stream_body;
    ex->is_head_only = weir_slice_eq(request->method, WEIR_SLICE("HEAD"));
    ex->out_ms = weir_loop_now_ms(up->loop);
    ex->in_ms = ex->out_ms;
    weir_bufq_init(&ex->out, WEIR_HTTP_UP__OUT_BYTES);
    ex->out.account = ex->arena->account;
    ex->in.account = ex->arena->account;
    weir_list_append(&up->exchanges, &ex->link);
    up->n_exchanges++;
    up->n_begun++;
    up->proto->begin(up, ex, request);
}

enum weir_flow weir_http_exchange_write(struct weir_http_exchange *ex, struct weir_slice bytes)
{
    WEIR_ASSERT(ex->has_stream_body && !ex->has_body_end);
    if (ex->up == NULL) {
        return WEIR_FLOW_OK; /* its end is under way to the owner */
    }
    if (bytes.n != 0) {
        if (ex->out.n == 0) {
            ex->out_ms = weir_loop_now_ms(ex->loop);
        }
        weir_bufq_append(&ex->out, bytes);
        ex->up->proto->wake(ex);
    }
    return weir_flow_gate_answer(&ex->gate, weir_bufq_is_full(&ex->out));
}

void weir_http_exchange_end_body(struct weir_http_exchange *ex)
{
    WEIR_ASSERT(ex->has_stream_body && !ex->has_body_end);
    ex->has_body_end = true;
    if (ex->up != NULL) {
        ex->up->proto->wake(ex);
    }
}

void weir_http_exchange_pause(struct weir_http_exchange *ex)
{
    ex->is_paused = true;
    if (ex->up != NULL) {
        ex->up->proto->set_paused(ex);
    }
}

void weir_http_exchange_resume(struct weir_http_exchange *ex)
{
    if (!ex->is_paused) {
        return;
    }
    ex->is_paused = false;
    if (ex->has_end) {
        weir_loop_post(ex->loop, &ex->post);
    } else if (ex->up != NULL) {
        ex->in_ms = weir_loop_now_ms(ex->loop);
        ex->up->proto->set_paused(ex);
    }
}

void weir_http_exchange_cancel(struct weir_http_exchange *ex)
{
    struct weir_http_up *up = ex->up;
    weir_list_remove(&ex->link); /* also from among the orphans of a connection that fails */
    if (up != NULL) {
        up->n_exchanges--;
        up->proto->cancel(ex);
        ex->up = NULL;
    }
    release(ex);
}
