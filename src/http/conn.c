/*
 * A connection from accept to close: which protocol it speaks, its one timer, its end.
 *
 *   accept ─► OPENING ──first bytes / ALPN──► OPEN(proto) ─► LINGER ─► CLOSING ─► freed
 *                 └───────── time-out, error, reset ───────────────────►┘
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/http_int.h"
#include "io/fds.h"
#include "obs/trace.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

/* Connections over the limit that are answered 503; beyond this many, and when descriptors are
 * short, they are closed without an answer. */
enum { MAX_REJECTED = 128 };

void weir_http__rest_begin(struct weir_http_rest *rest, uint64_t now_ms)
{
    *rest = (struct weir_http_rest){.since_ms = now_ms, .last_ms = now_ms};
}

bool weir_http__rest_drop(struct weir_http_rest *rest, uint64_t now_ms, size_t n)
{
    rest->last_ms = now_ms;
    rest->bytes += n;
    return rest->bytes <= WEIR_HTTP__REST_BYTES;
}

uint64_t weir_http__rest_deadline(const struct weir_http_rest *rest)
{
    uint64_t quiet_ms = rest->last_ms + WEIR_HTTP__REST_QUIET_MS;
    uint64_t all_ms = rest->since_ms + WEIR_HTTP__REST_MS;
    return quiet_ms < all_ms ? quiet_ms : all_ms;
}

static const char H2_PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static void on_timer(struct weir_timer *t, void *ctx);

static void on_sock_closed(void *ctx)
{
    struct weir_http_conn *c = ctx;
    struct weir_http_endpoint *ep = c->ep;
    weir_list_remove(&c->link);
    ep->n_conns--;
    if (!c->is_rejected) {
        ep->service->on_close(ep->ctx);
    } else if (c->is_told) {
        ep->n_rejected--;
        weir_fds_give(WEIR_FDS_REFUSED);
    }
    WEIR_ASSERT(c->account.bytes == 0);
    free(c);
    if (ep->is_draining && ep->n_conns == 0 && ep->on_empty != NULL) {
        ep->on_empty(ep->ctx);
    }
}

void weir_http__conn_close(struct weir_http_conn *c, int err, bool reset)
{
    if (c->state == WEIR_HTTP_CONN_CLOSING) {
        return;
    }
    c->state = WEIR_HTTP_CONN_CLOSING;
    weir_loop_unpost(&c->post);
    weir_loop_cancel(c->ep->loop, &c->timer);
    weir_buf_dispose(&c->sniffed);
    if (c->proto != NULL) {
        c->proto->dispose(c, err != 0 ? err : WEIR_ECLOSED);
    }
    weir_sock_close(&c->sock, reset, on_sock_closed, c);
}

void weir_http__conn_linger(struct weir_http_conn *c)
{
    if (c->state >= WEIR_HTTP_CONN_LINGER) {
        return;
    }
    c->state = WEIR_HTTP_CONN_LINGER;
    c->since_ms = weir_loop_now_ms(c->ep->loop);
    weir_http__rest_begin(&c->lingered, c->since_ms);
    weir_sock_shutdown(&c->sock);
    weir_sock_resume(&c->sock);
    weir_http__conn_tick_at(c, weir_http__rest_deadline(&c->lingered));
}

void weir_http__conn_post(struct weir_http_conn *c)
{
    if (c->state != WEIR_HTTP_CONN_CLOSING) {
        weir_loop_post(c->ep->loop, &c->post);
    }
}

static void on_post(struct weir_post *post)
{
    struct weir_http_conn *c = WEIR_LIST_ENTRY(post, struct weir_http_conn, post);
    if (c->state == WEIR_HTTP_CONN_OPEN) {
        c->proto->posted(c);
    }
}

void weir_http__conn_tick_at(struct weir_http_conn *c, uint64_t at_ms)
{
    if (c->state == WEIR_HTTP_CONN_CLOSING || at_ms == UINT64_MAX) {
        return;
    }
    if (!weir_timer_is_armed(&c->timer) || at_ms < c->timer.due_ms) {
        weir_timers_set(&c->ep->loop->timers, &c->timer, at_ms);
    }
}

uint64_t weir_http__conn_write_deadline(struct weir_http_conn *c, uint64_t now_ms)
{
    if (weir_sock_pending(&c->sock) == 0) {
        return UINT64_MAX;
    }
    if (c->sock.sent_bytes != c->seen_sent || c->seen_sent_ms == 0) {
        c->seen_sent = c->sock.sent_bytes;
        c->seen_sent_ms = now_ms;
    }
    return c->seen_sent_ms + c->limits.write_timeout_ms;
}

/* After our end: gone when everything was sent and the peer ended too, or when time is up. */
static void tick_linger(struct weir_http_conn *c, uint64_t now_ms)
{
    uint64_t deadline = weir_http__conn_write_deadline(c, now_ms);
    if (deadline == UINT64_MAX) {
        deadline = weir_http__rest_deadline(&c->lingered);
    }
    if (now_ms >= deadline) {
        weir_http__conn_close(c, WEIR_ETIMEOUT, weir_sock_pending(&c->sock) != 0);
    } else {
        weir_http__conn_tick_at(c, deadline);
    }
}

static void on_timer(struct weir_timer *t, void *ctx)
{
    struct weir_http_conn *c = ctx;
    uint64_t now_ms = weir_loop_now_ms(c->ep->loop);
    (void)t;
    switch (c->state) {
    case WEIR_HTTP_CONN_OPENING:
        weir_http__conn_close(c, WEIR_ETIMEOUT, false);
        break;
    case WEIR_HTTP_CONN_OPEN:
        weir_http__conn_tick_at(c, c->proto->tick(c, now_ms));
        break;
    case WEIR_HTTP_CONN_LINGER:
        tick_linger(c, now_ms);
        break;
    case WEIR_HTTP_CONN_CLOSING:
        break;
    }
}

static void begin(struct weir_http_conn *c, const struct weir_http_proto *proto,
                  struct weir_slice first)
{
    c->proto = proto;
    c->state = WEIR_HTTP_CONN_OPEN;
    if (first.n != 0) {
        proto->input(c, first);
    } else {
        proto->posted(c);
    }
}

/* Over the limit: sends a 503 in HTTP/1.1 and closes. */
static void reject(struct weir_http_conn *c)
{
    struct weir_buf body = {0};
    c->ep->service->render_error(c->ep->ctx, NULL, 503,
                                 "too many connections: limits.max_connections, or the limit of "
                                 "open files",
                                 &body);
    struct weir_buf out = {0};
    char id[WEIR_TRACE_ID_BYTES + 1];
    weir_trace_request_id(id);
    weir_buf_printf(&out,
                    "HTTP/1.1 503 %s\r\ncontent-type: application/json\r\nretry-after: 1\r\n"
                    "x-request-id: %s\r\ncontent-length: %zu\r\nconnection: close\r\n\r\n",
                    weir_http_reason(503), id, body.n);
    weir_buf_append(&out, weir_buf_slice(&body));
    weir_sock_write(&c->sock, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    weir_buf_dispose(&body);
    weir_http__conn_linger(c);
}

static void on_open(void *ctx)
{
    struct weir_http_conn *c = ctx;
    if (c->is_rejected) {
        reject(c);
        return;
    }
    struct weir_slice alpn = weir_sock_alpn(&c->sock);
    if (weir_slice_eq(alpn, WEIR_SLICE("h2"))) {
        begin(c, &weir_h2__proto, WEIR_SLICE(""));
    } else if (alpn.n != 0) {
        begin(c, &weir_h1__proto, WEIR_SLICE(""));
    }
}

/* HTTP/2 by prior knowledge begins with a preface that no HTTP/1 request begins with. */
static void sniff(struct weir_http_conn *c, struct weir_slice bytes)
{
    if (c->sniffed.n != 0) {
        weir_buf_append(&c->sniffed, bytes);
        bytes = weir_buf_slice(&c->sniffed);
    }
    size_t known = sizeof H2_PREFACE - 1;
    size_t n = bytes.n < known ? bytes.n : known;
    bool is_h2 = memcmp(bytes.p, H2_PREFACE, n) == 0;
    if (is_h2 && n < known) {
        if (c->sniffed.n == 0) {
            weir_buf_append(&c->sniffed, bytes);
        }
        return;
    }
    struct weir_buf first = c->sniffed;
    c->sniffed = (struct weir_buf){.account = first.account};
    begin(c, is_h2 ? &weir_h2__proto : &weir_h1__proto, bytes);
    weir_buf_dispose(&first);
}

static void on_data(void *ctx, struct weir_slice bytes)
{
    struct weir_http_conn *c = ctx;
    switch (c->state) {
    case WEIR_HTTP_CONN_OPENING:
        sniff(c, bytes);
        break;
    case WEIR_HTTP_CONN_OPEN:
        c->proto->input(c, bytes);
        break;
    case WEIR_HTTP_CONN_LINGER:
        if (!weir_http__rest_drop(&c->lingered, weir_loop_now_ms(c->ep->loop), bytes.n)) {
            weir_http__conn_close(c, 0, true);
        }
        break;
    case WEIR_HTTP_CONN_CLOSING:
        break;
    }
}

static void on_eof(void *ctx)
{
    struct weir_http_conn *c = ctx;
    c->peer_ended = true;
    switch (c->state) {
    case WEIR_HTTP_CONN_OPENING:
        weir_http__conn_close(c, 0, false);
        break;
    case WEIR_HTTP_CONN_OPEN:
        c->proto->eof(c);
        break;
    case WEIR_HTTP_CONN_LINGER:
        if (weir_sock_pending(&c->sock) == 0) {
            weir_http__conn_close(c, 0, false);
        }
        break;
    case WEIR_HTTP_CONN_CLOSING:
        break;
    }
}

static void on_drain(void *ctx)
{
    struct weir_http_conn *c = ctx;
    if (c->state == WEIR_HTTP_CONN_OPEN) {
        c->proto->drained(c);
    }
}

static void on_flush(void *ctx)
{
    struct weir_http_conn *c = ctx;
    if (c->state == WEIR_HTTP_CONN_OPEN && c->proto->flush != NULL) {
        c->proto->flush(c);
    }
}

/* Our end of the stream has been sent. If the peer has ended, too, the connection is over. */
static void on_sent_end(void *ctx)
{
    struct weir_http_conn *c = ctx;
    if (c->peer_ended) {
        weir_http__conn_close(c, 0, false);
    }
}

static void on_error(void *ctx, int err)
{
    weir_http__conn_close(ctx, err, false);
}

static const struct weir_sock_events SOCK_EVENTS = {
    .on_open = on_open,
    .on_data = on_data,
    .on_eof = on_eof,
    .on_drain = on_drain,
    .on_flush = on_flush,
    .on_sent_end = on_sent_end,
    .on_error = on_error,
};

/* May a connection over the limit stay open until its 503 has been sent? */
static bool may_tell(struct weir_http_endpoint *ep)
{
    if (ep->n_rejected == MAX_REJECTED || !weir_fds_take(WEIR_FDS_REFUSED)) {
        return false;
    }
    ep->n_rejected++;
    return true;
}

/* For the log: "192.0.2.7", without the port. */
static void note_peer(struct weir_http_conn *c, int fd)
{
    struct sockaddr_storage addr = {0};
    socklen_t n = sizeof addr;
    if (getpeername(fd, (struct sockaddr *)&addr, &n) != 0 ||
        uv_ip_name((struct sockaddr *)&addr, c->peer, sizeof c->peer) != 0) {
        c->peer[0] = '\0';
    }
}

void weir_http_endpoint_accept(struct weir_http_endpoint *ep, int fd)
{
    struct weir_http_conn *c = weir_mem_zalloc(sizeof *c);
    bool may_open = !ep->is_draining && ep->service->may_open(ep->ctx);
    c->ep = ep;
    c->limits = *ep->limits;
    c->is_rejected = !may_open;
    c->is_told = !may_open && may_tell(ep);
    c->timer.fn = on_timer;
    c->timer.ctx = c;
    c->post.fn = on_post;
    c->sniffed.max = sizeof H2_PREFACE + WEIR_LOOP_READ_BYTES;
    c->sniffed.account = &c->account;
    c->since_ms = weir_loop_now_ms(ep->loop);
    note_peer(c, fd);
    /* A failed accept leaves an initialised handle that still has to be closed. */
    int rc = weir_sock_accept(&c->sock, ep->loop, fd, ep->tls);
    weir_sock_count_on(&c->sock, &c->account);
    weir_list_append(&ep->conns, &c->link);
    ep->n_conns++;
    if (rc != 0 || (c->is_rejected && !c->is_told)) {
        weir_http__conn_close(c, rc, false);
        return;
    }
    c->sock.out_max = c->limits.max_out_bytes;
    weir_sock_listen_to(&c->sock, &SOCK_EVENTS, c);
    weir_http__conn_tick_at(c, c->since_ms + c->limits.header_timeout_ms);
}

void weir_http_endpoint_init(struct weir_http_endpoint *ep, struct weir_loop *loop)
{
    *ep = (struct weir_http_endpoint){.loop = loop, .date_s = -1};
    weir_list_init(&ep->conns);
}

/* Calls `fn` on every connection, which may remove itself (but closes later, in a callback). */
static void for_each(struct weir_http_endpoint *ep, void (*fn)(struct weir_http_conn *c))
{
    struct weir_list *at = ep->conns.next;
    while (at != &ep->conns) {
        struct weir_list *next = at->next;
        fn(WEIR_LIST_ENTRY(at, struct weir_http_conn, link));
        at = next;
    }
}

static void drain_one(struct weir_http_conn *c)
{
    if (c->state == WEIR_HTTP_CONN_OPENING) {
        weir_http__conn_close(c, 0, false);
    } else if (c->state == WEIR_HTTP_CONN_OPEN) {
        c->proto->drain(c);
    }
}

static void abort_one(struct weir_http_conn *c)
{
    weir_http__conn_close(c, WEIR_ECANCELED, false);
}

void weir_http_endpoint_drain(struct weir_http_endpoint *ep)
{
    ep->is_draining = true;
    for_each(ep, drain_one);
    if (ep->n_conns == 0 && ep->on_empty != NULL) {
        ep->on_empty(ep->ctx);
    }
}

void weir_http_endpoint_refuse(struct weir_http_endpoint *ep, int status, const char *what)
{
    struct weir_list *at = ep->conns.next;
    while (at != &ep->conns) {
        struct weir_http_conn *c = WEIR_LIST_ENTRY(at, struct weir_http_conn, link);
        at = at->next;
        if (c->state == WEIR_HTTP_CONN_OPEN) {
            c->proto->refuse(c, status, what);
        }
    }
}

void weir_http_endpoint_abort(struct weir_http_endpoint *ep)
{
    for_each(ep, abort_one);
}

struct weir_slice weir_http_endpoint_date(struct weir_http_endpoint *ep)
{
    /* The loop's clock is monotonic; asking the kernel's coarse clock is a few nanoseconds. */
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec != ep->date_s) {
        struct tm tm;
        gmtime_r(&now.tv_sec, &tm);
        ep->date_s = now.tv_sec;
        strftime(ep->date, sizeof ep->date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    }
    return weir_slice_cstr(ep->date);
}
