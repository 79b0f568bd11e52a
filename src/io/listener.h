#ifndef WEIR_IO_LISTENER_H
#define WEIR_IO_LISTENER_H

#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/*
 * A listening TCP socket on a loop. Several workers listen on one port, each with its own socket
 * (SO_REUSEPORT): a connection stays with the worker that the kernel gave it to.
 *
 * When the process is out of descriptors, connections that wait are turned away (io/fds.h) and the
 * listener rests for a moment before it accepts again.
 */
struct weir_listener {
    uv_poll_t poll;
    struct weir_loop *loop; /* NULL: not open */
    int fd;
    void (*on_connection)(void *ctx, int fd); /* takes the descriptor: weir_sock_accept */
    void *ctx;
    void (*close_fn)(void *ctx);
    void *close_ctx;
    uint16_t port;          /* the real one, also when 0 was asked for */
    struct weir_timer rest; /* out of descriptors: when to try again */
};

/*
 * `host` is an address literal ("::" takes IPv4 too, brackets may stand around IPv6) or
 * "localhost", which is 127.0.0.1. Sets every field. 0 or WEIR_EINUSE, WEIR_EDENIED, WEIR_EINVAL,
 * WEIR_ELIMIT, WEIR_EIO; after an error there is nothing to close.
 */
int weir_listener_open(struct weir_listener *l, struct weir_loop *loop, const char *host,
                       uint16_t port, bool reuse_port);

/* Could the port be bound by us alone? The answers of open; nothing stays bound. */
int weir_listener_probe(const char *host, uint16_t port);

/* Begins to accept; set on_connection and ctx before. 0 or WEIR_EINUSE, WEIR_EIO. */
int weir_listener_start(struct weir_listener *l);

/* Stops accepting; the memory is free again in fn, which may be NULL. */
void weir_listener_close(struct weir_listener *l, void (*fn)(void *ctx), void *ctx);

#endif
