#ifndef WEIR_TESTS_UNIT_IO_DNS_PEER_H
#define WEIR_TESTS_UNIT_IO_DNS_PEER_H

/*
 * A name server on loopback, on the loop of the test: answers every question with the same
 * addresses, with "no such name", or not at all.
 */
#include "io/loop.h"
#include "unit/cmocka_all.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DNS_PEER_MAX = 8, DNS_A = 1, DNS_AAAA = 28 };

struct dns_peer {
    uv_udp_t udp;
    struct weir_loop *loop;
    char servers[32]; /* for weir_dns_set_servers */
    const char *v4[DNS_PEER_MAX];
    const char *v6[DNS_PEER_MAX];
    bool has_no_such_name;
    bool is_silent;
    int n_asked; /* questions for A */
    unsigned char in[512];
    unsigned char out[1024];
};

static inline void dns_peer_on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    struct dns_peer *d = h->data;
    (void)suggested;
    *buf = uv_buf_init((char *)d->in, sizeof d->in);
}

static inline size_t dns_peer_add(unsigned char *to, int type, const char *text)
{
    size_t n = type == DNS_A ? 4 : 16;
    const unsigned char head[12] = {0xc0, 12, 0, (unsigned char)type, 0, 1, 0, 0,
                                    0,    60, 0, (unsigned char)n};
    memcpy(to, head, sizeof head);
    assert_int_equal(inet_pton(type == DNS_A ? AF_INET : AF_INET6, text, to + 12), 1);
    return 12 + n;
}

static inline void dns_peer_on_question(uv_udp_t *udp, ssize_t n, const uv_buf_t *buf,
                                        const struct sockaddr *from, unsigned flags)
{
    struct dns_peer *d = udp->data;
    (void)flags;
    if (n < 17 || from == NULL) {
        return;
    }
    size_t end = 12;
    while (buf->base[end] != 0) {
        end += 1 + (size_t)buf->base[end];
    }
    end += 5;
    int type = (unsigned char)buf->base[end - 3];
    d->n_asked += type == DNS_A;
    weir_loop_stop(d->loop);
    if (d->is_silent) {
        return;
    }
    memcpy(d->out, buf->base, end);
    d->out[2] = 0x81;                              /* an answer, recursion was wanted … */
    d->out[3] = d->has_no_such_name ? 0x83 : 0x80; /* … and was done */
    memset(d->out + 6, 0, 6);
    const char *const *addrs = type == DNS_A ? d->v4 : d->v6;
    for (int i = 0; i < DNS_PEER_MAX && addrs[i] != NULL && !d->has_no_such_name; i++) {
        end += dns_peer_add(d->out + end, type, addrs[i]);
        d->out[7]++;
    }
    uv_buf_t out = uv_buf_init((char *)d->out, (unsigned)end);
    assert_true(uv_udp_try_send(udp, &out, 1, from) == (int)end);
}

static inline void dns_peer_open(struct dns_peer *d, struct weir_loop *loop)
{
    struct sockaddr_in addr;
    int n = sizeof addr;
    d->loop = loop;
    assert_int_equal(uv_udp_init(&loop->uv, &d->udp), 0);
    d->udp.data = d;
    uv_ip4_addr("127.0.0.1", 0, &addr);
    assert_int_equal(uv_udp_bind(&d->udp, (const struct sockaddr *)&addr, 0), 0);
    assert_int_equal(uv_udp_getsockname(&d->udp, (struct sockaddr *)&addr, &n), 0);
    snprintf(d->servers, sizeof d->servers, "127.0.0.1:%u", (unsigned)ntohs(addr.sin_port));
    assert_int_equal(uv_udp_recv_start(&d->udp, dns_peer_on_alloc, dns_peer_on_question), 0);
}

static inline void dns_peer_close(struct dns_peer *d)
{
    uv_close((uv_handle_t *)&d->udp, NULL);
}

#endif
