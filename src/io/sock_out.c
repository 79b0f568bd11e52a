/*
 * Writing. The owner's bytes gather until the end of the turn; then they go straight to the kernel,
 * and only what it does not take becomes an asynchronous write that points into `out`.
 *
 *   write ─► stage ─(TLS: encrypt)─► out ─► send ─► uv_write for the rest
 *
 * While that write is under way nothing else is sent: what is added meanwhile waits behind it.
 */
#include "base/err.h"
#include "base/mem.h"
#include "io/io_int.h"
#include "io/sock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    MAX_IOV = 64,
    ENCRYPT_BYTES = 128 * 1024, /* at a time, so that a slow peer's backlog stays plain */
};

_Static_assert(sizeof(uv_buf_t) == sizeof(struct iovec) &&
                   offsetof(uv_buf_t, base) == offsetof(struct iovec, iov_base) &&
                   offsetof(uv_buf_t, len) == offsetof(struct iovec, iov_len),
               "libuv promises that a uv_buf_t may be cast to an iovec");

size_t weir_sock_pending(const struct weir_sock *s)
{
    return s->out.n + (s->tls != NULL ? weir_sock__tls_staged(s) : 0);
}

void weir_sock_count_on(struct weir_sock *s, struct weir_account *account)
{
    s->out.account = account;
    if (s->tls != NULL) {
        weir_sock__tls_count_on(s, account);
    }
}

struct weir_bufq *weir_sock_out(struct weir_sock *s)
{
    return s->tls != NULL ? weir_sock__tls_stage(s) : &s->out;
}

static bool takes_writes(const struct weir_sock *s)
{
    return s->write_err == 0 && (s->state == WEIR_SOCK_OPEN || s->state == WEIR_SOCK_SHAKING ||
                                 s->state == WEIR_SOCK_CONNECTING);
}

/* Sends at the end of this turn, or of the next one while flushing. */
void weir_sock__flush_soon(struct weir_sock *s)
{
    if (!weir_list_is_linked(&s->dirty_link)) {
        weir_list_append(&s->loop->dirty, &s->dirty_link);
    }
}

static enum weir_flow answer(struct weir_sock *s)
{
    return weir_flow_gate_answer(&s->gate, weir_sock_pending(s) >= s->out_max);
}

enum weir_flow weir_sock_mark_dirty(struct weir_sock *s)
{
    if (!takes_writes(s)) {
        weir_sock__drop_output(s);
        return WEIR_FLOW_OK;
    }
    weir_sock__flush_soon(s);
    return answer(s);
}

enum weir_flow weir_sock_write(struct weir_sock *s, struct weir_slice bytes)
{
    if (!takes_writes(s) || s->end_after_flush) {
        return WEIR_FLOW_OK;
    }
    weir_bufq_append(weir_sock_out(s), bytes);
    return weir_sock_mark_dirty(s);
}

void weir_sock_shutdown(struct weir_sock *s)
{
    if (takes_writes(s)) {
        s->end_after_flush = true;
        weir_flow_gate_close(&s->gate);
        weir_sock__flush_soon(s);
    }
}

void weir_sock__drop_output(struct weir_sock *s)
{
    weir_list_remove(&s->dirty_link);
    weir_flow_gate_close(&s->gate);
    if (!s->is_writing) {
        weir_bufq_dispose(&s->out);
    }
    if (s->tls != NULL) {
        weir_bufq_dispose(weir_sock__tls_stage(s));
    }
}

/* The peer may have answered before it reset: what it sent is read first, its end brings us to
 * on_error. Other errors need not end the reading, and when nothing is being read there is nothing
 * to wait for. */
static void write_failed(struct weir_sock *s, int uv_err)
{
    s->write_err = weir_io__err(uv_err);
    weir_sock__drop_output(s);
    if (!s->is_reading || s->write_err != WEIR_ERESET) {
        weir_sock__fail(s, s->write_err);
    }
}

static void on_written(uv_write_t *req, int status)
{
    struct weir_sock *s = req->data;
    free(req);
    if (s->state == WEIR_SOCK_CLOSING) {
        return;
    }
    s->is_writing = false;
    s->sent_bytes += status == 0 ? s->in_flight_bytes : 0;
    weir_bufq_consume(&s->out, s->in_flight_bytes);
    s->in_flight_bytes = 0;
    if (status != 0) {
        write_failed(s, status);
    } else if (takes_writes(s)) {
        weir_sock__flush_soon(s);
    } else {
        weir_sock__drop_output(s);
    }
}

static void write_rest(struct weir_sock *s)
{
    struct iovec iov[MAX_IOV];
    int n = weir_bufq_iov(&s->out, iov, MAX_IOV, &s->in_flight_bytes);
    uv_write_t *req = weir_mem_alloc(sizeof *req); /* few sockets ever need one: not theirs */
    req->data = s;
    int err = uv_write(req, (uv_stream_t *)&s->tcp, (const uv_buf_t *)iov, (unsigned)n, on_written);
    s->is_writing = err == 0;
    if (err != 0) {
        free(req);
        write_failed(s, err);
    }
}

/* As uv_try_write does, in fewer steps. Returns how many bytes the kernel took, or a libuv
 * error. */
static ssize_t try_send(const struct weir_sock *s, struct iovec *iov, int n)
{
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t)n};
    ssize_t taken;
    do {
        taken = n == 1 ? send(s->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL)
                       : sendmsg(s->fd, &message, MSG_NOSIGNAL);
    } while (taken < 0 && errno == EINTR);
    if (taken < 0) {
        return errno == EWOULDBLOCK || errno == ENOBUFS ? UV_EAGAIN : uv_translate_sys_error(errno);
    }
    return taken;
}

/* False when the kernel takes no more bytes, for now or because of an error. */
static bool write_some(struct weir_sock *s)
{
    struct iovec iov[MAX_IOV];
    size_t bytes;
    int n = weir_bufq_iov(&s->out, iov, MAX_IOV, &bytes);
    ssize_t taken = try_send(s, iov, n);
    if (taken < 0 && taken != UV_EAGAIN) {
        write_failed(s, (int)taken);
        return false;
    }
    if (taken > 0) {
        s->sent_bytes += (size_t)taken;
        weir_bufq_consume(&s->out, (size_t)taken);
    }
    if (taken < 0 || (size_t)taken < bytes) {
        write_rest(s);
        return false;
    }
    return true;
}

/* Fills `out` if it is empty. True when there is something to send. */
static bool refill(struct weir_sock *s)
{
    if (s->out.n == 0 && s->tls != NULL && s->state == WEIR_SOCK_OPEN) {
        if (weir_sock__tls_staged(s) != 0) {
            weir_sock__tls_encrypt(s, ENCRYPT_BYTES);
        } else if (s->end_after_flush) {
            weir_sock__tls_end(s);
        }
    }
    return s->out.n != 0;
}

static void send_end(struct weir_sock *s)
{
    if (!s->has_sent_end) {
        /* libuv holds no bytes of ours, so its queued uv_shutdown would only come later. A peer
         * that is gone already makes this fail, and reading tells of it. */
        shutdown(s->fd, SHUT_WR);
        s->has_sent_end = true;
        s->tell_sent_end = true;
        weir_loop_post(s->loop, &s->later);
    }
}

void weir_sock__flush(struct weir_sock *s)
{
    if (s->is_writing || !takes_writes(s) || s->state == WEIR_SOCK_CONNECTING) {
        return;
    }
    if (s->state == WEIR_SOCK_OPEN && s->events->on_flush != NULL) {
        s->events->on_flush(s->ctx);
        (void)answer(s); /* what was appended counts as written */
    }
    while (refill(s)) {
        if (!write_some(s)) {
            break;
        }
    }
    if (!takes_writes(s)) {
        return;
    }
    size_t pending = weir_sock_pending(s);
    if (pending <= s->out_max / 2 && weir_flow_gate_has_room(&s->gate)) {
        weir_loop_post(s->loop, &s->later);
    }
    if (pending == 0 && s->end_after_flush && s->state == WEIR_SOCK_OPEN) {
        send_end(s);
    }
}
