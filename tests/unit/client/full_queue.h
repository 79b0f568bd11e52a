#ifndef WEIR_TESTS_UNIT_CLIENT_FULL_QUEUE_H
#define WEIR_TESTS_UNIT_CLIENT_FULL_QUEUE_H

/* An address that does not answer at all: somebody listens but never accepts, and the queue of
 * those who wait for it is full, so that the kernel drops whoever comes next. */
#include "unit/cmocka_all.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FULL_QUEUE_WAITING = 4 };

struct full_queue {
    int listener;
    int waiting[FULL_QUEUE_WAITING];
};

/* `port` 0 picks one; returns the port. */
static inline uint16_t full_queue_open(struct full_queue *q, uint32_t host, uint16_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    addr.sin_addr.s_addr = htonl(host);
    socklen_t n = sizeof addr;
    q->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(q->listener, (struct sockaddr *)&addr, n), 0);
    assert_int_equal(listen(q->listener, 0), 0);
    assert_int_equal(getsockname(q->listener, (struct sockaddr *)&addr, &n), 0);
    for (int i = 0; i < FULL_QUEUE_WAITING; i++) {
        q->waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(q->waiting[i], (struct sockaddr *)&addr, n);
    }
    return ntohs(addr.sin_port);
}

static inline void full_queue_close(struct full_queue *q)
{
    for (int i = 0; i < FULL_QUEUE_WAITING; i++) {
        close(q->waiting[i]);
    }
    close(q->listener);
}

#endif
