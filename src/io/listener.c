/*
 * The socket is ours and libuv only says when somebody waits: it has no way to ask for SO_REUSEPORT
 * before bind, and out of descriptors its own accept tries for ever without coming back. Accepted
 * connections inherit TCP_NODELAY and keep-alive, which saves each of them three system calls.
 */
#include "io/listener.h"

#include "base/assert.h"
#include "base/err.h"
#include "io/fds.h"
#include "io/io_int.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 4096,
    KEEPALIVE_S = 60,
    ACCEPTS_PER_TURN = 64, /* then those who are here have their turn */
    REST_MS = 100,
};

/* IPv6 literals come with or without brackets. */
static int parse_host(const char *host, uint16_t port, struct sockaddr_storage *addr)
{
    char text[128];
    size_t n = strlen(host);
    bool in_brackets = n >= 2 && host[0] == '[' && host[n - 1] == ']';
    if (in_brackets) {
        host++;
        n -= 2;
    }
    if (n == 0 || n >= sizeof text) {
        return WEIR_EINVAL;
    }
    memcpy(text, host, n);
    text[n] = '\0';
    if (strcmp(text, "localhost") == 0) {
        memcpy(text, "127.0.0.1", sizeof "127.0.0.1");
    }
    if (!in_brackets && uv_ip4_addr(text, port, (struct sockaddr_in *)addr) == 0) {
        return 0;
    }
    return uv_ip6_addr(text, port, (struct sockaddr_in6 *)addr) == 0 ? 0 : WEIR_EINVAL;
}

static int set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0 ? 0 : -errno;
}

static int set_options(int fd, int family, bool reuse_port)
{
    int err = set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (err == 0 && reuse_port) {
        err = set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    }
    if (err == 0 && family == AF_INET6) {
        err = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    }
    if (err == 0) {
        err = set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    }
    if (err == 0) {
        err = set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    }
    if (err == 0) {
        err = set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S);
    }
    return err;
}

static int bind_and_ask_port(int fd, struct sockaddr_storage *addr, uint16_t *port)
{
    socklen_t len =
        addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (bind(fd, (struct sockaddr *)addr, len) != 0) {
        return -errno;
    }
    len = sizeof *addr;
    if (getsockname(fd, (struct sockaddr *)addr, &len) != 0) {
        return -errno;
    }
    *port = ntohs(addr->ss_family == AF_INET6 ? ((struct sockaddr_in6 *)addr)->sin6_port
                                              : ((struct sockaddr_in *)addr)->sin_port);
    return 0;
}

/* A bound socket's descriptor, or a WEIR_ code. */
static int bind_socket(const char *host, bool reuse_port, uint16_t *port)
{
    struct sockaddr_storage addr = {0};
    int err = parse_host(host, *port, &addr);
    if (err != 0) {
        return err;
    }
    int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return weir_err_from_errno(errno);
    }
    err = set_options(fd, addr.ss_family, reuse_port);
    if (err == 0) {
        err = bind_and_ask_port(fd, &addr, port);
    }
    if (err != 0) {
        close(fd);
        return weir_err_from_errno(-err);
    }
    return fd;
}

static bool is_out_of_descriptors(int sys)
{
    return sys == EMFILE || sys == ENFILE || sys == ENOBUFS || sys == ENOMEM;
}

static void rest(struct weir_listener *l)
{
    weir_fds_turn_away(l->fd);
    uv_poll_stop(&l->poll);
    weir_loop_after(l->loop, &l->rest, REST_MS);
}

/* Any other error belongs to a connection that broke before it was accepted: the next one may be
 * good. */
static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct weir_listener *l = poll->data;
    (void)status; /* found out by trying */
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN && !uv_is_closing((uv_handle_t *)poll); i++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            l->on_connection(l->ctx, fd);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (is_out_of_descriptors(errno)) {
            rest(l);
            return;
        }
    }
}

static int start_polling(struct weir_listener *l)
{
    return weir_io__err(uv_poll_start(&l->poll, UV_READABLE, on_readable));
}

static void on_rested(struct weir_timer *t, void *ctx)
{
    struct weir_listener *l = ctx;
    (void)t;
    if (start_polling(l) != 0) {
        weir_loop_after(l->loop, &l->rest, REST_MS);
    }
}

int weir_listener_open(struct weir_listener *l, struct weir_loop *loop, const char *host,
                       uint16_t port, bool reuse_port)
{
    *l = (struct weir_listener){.port = port};
    int fd = bind_socket(host, reuse_port, &l->port);
    if (fd < 0) {
        return fd;
    }
    int err = uv_poll_init(&loop->uv, &l->poll, fd);
    if (err != 0) {
        close(fd);
        return weir_io__err(err);
    }
    l->loop = loop;
    l->fd = fd;
    l->poll.data = l;
    l->rest = (struct weir_timer){.fn = on_rested, .ctx = l};
    return 0;
}

int weir_listener_probe(const char *host, uint16_t port)
{
    int fd = bind_socket(host, false, &port);
    if (fd < 0) {
        return fd;
    }
    /* bind may succeed although another socket uses the port; listen fails then. */
    int err = listen(fd, 1) == 0 ? 0 : weir_err_from_errno(errno);
    close(fd);
    return err;
}

int weir_listener_start(struct weir_listener *l)
{
    WEIR_ASSERT(l->on_connection != NULL);
    if (listen(l->fd, BACKLOG) != 0) {
        return weir_err_from_errno(errno);
    }
    return start_polling(l);
}

static void on_closed(uv_handle_t *handle)
{
    struct weir_listener *l = handle->data;
    if (l->close_fn != NULL) {
        l->close_fn(l->close_ctx);
    }
}

void weir_listener_close(struct weir_listener *l, void (*fn)(void *ctx), void *ctx)
{
    l->close_fn = fn;
    l->close_ctx = ctx;
    weir_loop_cancel(l->loop, &l->rest);
    uv_close((uv_handle_t *)&l->poll, on_closed);
    close(l->fd);
}
