/*
 * HTTP/2, calling side, on nghttp2: it knows the protocol, this file runs a connection and
 * h2_exchange.c what is on it.
 *
 *   input ─► nghttp2_session_mem_recv ─► callbacks ─► the exchange
 *   begin / write ─► the exchange's queue ─► flush: nghttp2_session_mem_send ─► socket
 *
 * The connection is ready when the peer's SETTINGS have come: then its limit of streams is known,
 * and that it speaks HTTP/2 at all. After a GOAWAY what runs goes on and nothing new begins.
 *
 * An owner may close the connection from inside any event, also while nghttp2 reads: the session is
 * deleted when it has returned, and until then callbacks refuse.
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/h2_client_int.h"

#include <stdlib.h>

enum { MAX_STREAMS = 1000 }; /* on one connection, whatever the peer allows */

static nghttp2_session *session_of(const struct weir_http_up *up)
{
    return up->h2->session;
}

static bool is_closing(const struct weir_http_up *up)
{
    return up->state == WEIR_HTTP_UP_CLOSING;
}

/* Frames about the connection */

static size_t h2_room(const struct weir_http_up *up)
{
    nghttp2_session *session = session_of(up);
    if (up->is_draining || nghttp2_session_check_request_allowed(session) == 0) {
        return 0;
    }
    size_t max =
        nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    max = max < MAX_STREAMS ? max : MAX_STREAMS;
    return max > up->n_exchanges ? max - up->n_exchanges : 0;
}

static void on_settings(struct weir_http_up *up)
{
    if (up->state == WEIR_HTTP_UP_READY) {
        up->events->on_room(up);
    } else if (h2_room(up) == 0) {
        weir_http_up__fail(up, WEIR_EBUSY, "the service allows no streams");
    } else {
        up->state = WEIR_HTTP_UP_READY;
        up->events->on_ready(up);
    }
}

static void on_goaway(struct weir_http_up *up)
{
    up->is_draining = true;
    weir_loop_post(up->loop, &up->post);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    struct weir_http_up *up = user_data;
    if (is_closing(up)) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (weir_h2__is_flood(&up->h2->calm, frame, weir_loop_now_ms(up->loop))) {
        up->h2->is_flooded = true;
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    struct weir_http_exchange *ex =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    bool is_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame->hd.type) {
    case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
            on_settings(up);
        }
        break;
    case NGHTTP2_GOAWAY:
        on_goaway(up);
        break;
    case NGHTTP2_HEADERS:
        if (ex != NULL) {
            weir_h2__on_headers(session, ex, is_end);
        }
        break;
    case NGHTTP2_DATA:
        if (ex != NULL && is_end) {
            weir_h2__on_end(ex);
        }
        break;
    default:
        break;
    }
    return is_closing(up) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* The connection */

static nghttp2_session *new_session(struct weir_http_up *up)
{
    nghttp2_session_callbacks *cb = weir_h2__callbacks();
    nghttp2_option *option = weir_h2__options();
    nghttp2_session *session;
    weir_h2__set_stream_callbacks(cb);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    int rc = nghttp2_session_client_new3(&session, cb, up, option, weir_h2__memory());
    WEIR_ASSERT(rc == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(cb);
    return session;
}

static void h2_start(struct weir_http_up *up)
{
    up->state = WEIR_HTTP_UP_SETTLING;
    up->h2 = weir_mem_zalloc(sizeof *up->h2);
    up->h2->session = new_session(up);
    up->sock.out_max = WEIR_H2__SOCK_BYTES;
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, WEIR_HTTP_UP__HEAD_BYTES},
    };
    nghttp2_submit_settings(session_of(up), NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(session_of(up), NGHTTP2_FLAG_NONE, 0,
                                          WEIR_H2__CONN_WINDOW_BYTES);
    weir_sock_mark_dirty(&up->sock);
}

static bool is_over(const struct weir_http_up *up)
{
    nghttp2_session *session = session_of(up);
    return !nghttp2_session_want_read(session) && !nghttp2_session_want_write(session);
}

/* Frames for as much as the socket takes soon; drained tells when there is room for more. Runs
 * right before the socket sends. */
static void h2_flush(struct weir_http_up *up)
{
    while (weir_sock_pending(&up->sock) < WEIR_H2__SOCK_BYTES) {
        const uint8_t *data;
        ssize_t n = nghttp2_session_mem_send(session_of(up), &data);
        if (n <= 0) {
            break;
        }
        weir_bufq_append(weir_sock_out(&up->sock), weir_slice_make((const char *)data, (size_t)n));
    }
    if (is_over(up)) {
        weir_loop_post(up->loop, &up->post);
    }
}

static void free_session(struct weir_http_up *up)
{
    nghttp2_session_del(up->h2->session);
    free(up->h2);
    up->h2 = NULL;
}

/* Whatever came, the peer is alive. */
static void heard(struct weir_http_up *up)
{
    struct weir_h2_up *h = up->h2;
    h->heard_ms = weir_loop_now_ms(up->loop);
    if (h->ping_ms != 0) {
        h->ping_ms = 0;
        weir_loop_after(up->loop, &up->timer, up->ping_interval_ms);
    }
}

static void h2_input(struct weir_http_up *up, struct weir_slice bytes)
{
    struct weir_h2_up *h = up->h2;
    heard(up);
    h->is_receiving = true;
    ssize_t used = nghttp2_session_mem_recv(h->session, (const uint8_t *)bytes.p, bytes.n);
    h->is_receiving = false;
    if (h->is_doomed) {
        free_session(up);
    } else if (used < 0) {
        weir_http_up__fail(up, WEIR_EPROTO,
                           h->is_flooded ? "the service floods the connection with empty frames"
                                         : nghttp2_strerror((int)used));
    } else if (nghttp2_session_get_outbound_queue_size(h->session) > WEIR_H2__MAX_QUEUED_FRAMES) {
        weir_http_up__fail(up, WEIR_ELIMIT,
                           "the service does not read our answers to its pings and settings");
    } else {
        weir_sock_mark_dirty(&up->sock);
    }
}

static void h2_eof(struct weir_http_up *up)
{
    weir_http_up__fail(up, WEIR_ECLOSED, "the service closed the connection");
}

static void h2_drained(struct weir_http_up *up)
{
    weir_sock_mark_dirty(&up->sock);
}

/* A connection that will take no more exchanges ends with its last one. */
static void h2_posted(struct weir_http_up *up)
{
    if (is_over(up) && !up->is_draining) {
        weir_http_up__fail(up, WEIR_EPROTO,
                           up->state == WEIR_HTTP_UP_SETTLING ? "the service does not speak HTTP/2"
                                                              : "the service broke HTTP/2's rules");
    } else if (is_over(up) || (up->is_draining && up->n_exchanges == 0)) {
        weir_http_up__fail(up, WEIR_ECLOSED, "the service ended the connection");
    }
}

static void watch_peer(struct weir_http_up *up)
{
    struct weir_h2_up *h = up->h2;
    bool has_pings = up->ping_interval_ms != 0 && up->ping_timeout_ms != 0;
    if (up->n_exchanges == 1) {
        h->heard_ms = weir_loop_now_ms(up->loop);
        h->ping_ms = 0;
    }
    if (has_pings && !weir_timer_is_armed(&up->timer)) {
        weir_loop_after(up->loop, &up->timer, up->ping_interval_ms);
    }
}

static void h2_begin(struct weir_http_up *up, struct weir_http_exchange *ex,
                     const struct weir_http_up_request *request)
{
    weir_h2__begin(up, ex, request);
    watch_peer(up);
}

static void h2_tick(struct weir_http_up *up)
{
    struct weir_h2_up *h = up->h2;
    uint64_t now_ms = weir_loop_now_ms(up->loop);
    if (up->n_exchanges == 0) {
        return;
    }
    uint64_t at_ms = h->heard_ms + up->ping_interval_ms;
    if (h->ping_ms != 0) {
        at_ms = h->ping_ms + up->ping_timeout_ms;
        if (now_ms >= at_ms) {
            weir_http_up__fail(up, WEIR_ETIMEOUT, "the service does not answer pings");
            return;
        }
    } else if (now_ms >= at_ms) {
        nghttp2_submit_ping(h->session, NGHTTP2_FLAG_NONE, NULL);
        weir_sock_mark_dirty(&up->sock);
        h->ping_ms = now_ms;
        at_ms = now_ms + up->ping_timeout_ms;
    }
    weir_timers_set(&up->loop->timers, &up->timer, at_ms);
}

static void h2_dispose(struct weir_http_up *up)
{
    if (up->h2->is_receiving) {
        up->h2->is_doomed = true;
    } else {
        free_session(up);
    }
}

const struct weir_http_up_proto weir_h2__up = {
    .start = h2_start,
    .input = h2_input,
    .eof = h2_eof,
    .drained = h2_drained,
    .flush = h2_flush,
    .tick = h2_tick,
    .posted = h2_posted,
    .room = h2_room,
    .begin = h2_begin,
    .wake = weir_h2__wake,
    .set_paused = weir_h2__set_paused,
    .cancel = weir_h2__cancel,
    .dispose = h2_dispose,
};
