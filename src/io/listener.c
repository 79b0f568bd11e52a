/*
 * The socket is made by hand and then handed to libuv, which has no way to ask for SO_REUSEPORT
 * before bind. Accepted connections inherit TCP_NODELAY and keep-alive from it, which saves each of
 * them three system calls.
 */
#include "io/listener.h"

#include "base/assert.h"
#include "base/err.h"
#include "io/io_int.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096, KEEPALIVE_S = 60 };

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

int weir_listener_open(struct weir_listener *l, struct weir_loop *loop, const char *host,
                       uint16_t port, bool reuse_port)
{
    *l = (struct weir_listener){.port = port};
    int fd = bind_socket(host, reuse_port, &l->port);
    if (fd < 0) {
        return fd;
    }
    l->loop = loop;
    uv_tcp_init(&loop->uv, &l->tcp);
    l->tcp.data = l;
    /* It only takes note of a descriptor that is new and does not block already. */
    WEIR_ASSERT(uv_tcp_open(&l->tcp, fd) == 0);
    return 0;
}

int weir_listener_probe(const char *host, uint16_t port)
{
    int fd = bind_socket(host, false, &port);
    if (fd < 0) {
        return fd;
    }
    /* Binding alone is refused only by a socket that listens without sharing; listening tells. */
    int err = listen(fd, 1) == 0 ? 0 : weir_err_from_errno(errno);
    close(fd);
    return err;
}

/* An error here is the kernel's (out of descriptors, a peer gone before accept): libuv goes on
 * listening, and there is no connection to take. */
static void on_connection(uv_stream_t *server, int status)
{
    struct weir_listener *l = server->data;
    if (status == 0) {
        l->on_connection(l->ctx, server);
    }
}

int weir_listener_start(struct weir_listener *l)
{
    WEIR_ASSERT(l->on_connection != NULL);
    return weir_io__err(uv_listen((uv_stream_t *)&l->tcp, BACKLOG, on_connection));
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
    uv_close((uv_handle_t *)&l->tcp, on_closed);
}
