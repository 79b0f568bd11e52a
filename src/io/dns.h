#ifndef WEIR_IO_DNS_H
#define WEIR_IO_DNS_H

#include "io/loop.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Names to addresses, on a loop, by c-ares: the hosts file first (/etc/hosts, or the one that the
 * environment variable CARES_HOSTS names), then the name servers of the system. Nothing is kept:
 * how long an answer is good for is the asker's business.
 */
struct weir_dns;
struct weir_dns_query;

enum { WEIR_DNS_MAX_ADDRS = 64 }; /* of one name; a zone may hold more, they are left out */

struct weir_dns_addr {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } u;
    bool is_fallback; /* to be tried only when the others cannot be reached */
};

/*
 * What needs no look-up: an address literal is itself, `localhost` is 127.0.0.1 and, as a fallback,
 * ::1. False for any other name.
 */
bool weir_dns_literal(const char *host, uint16_t port, struct weir_dns_addr out[2], size_t *n);

/* Do both name the same socket? */
bool weir_dns_addr_eq(const struct weir_dns_addr *a, const struct weir_dns_addr *b);

struct weir_dns *weir_dns_new(struct weir_loop *loop);

/* "127.0.0.1:5353,…" instead of the system's name servers: for tests. 0 or WEIR_EINVAL, WEIR_EIO.
 */
int weir_dns_set_servers(struct weir_dns *dns, const char *servers);

/* Addresses, with the port that was asked for, A and AAAA alike in the order they came; `addrs` and
 * `why` live during the call. */
typedef void (*weir_dns_done_fn)(void *ctx, int err, const char *why,
                                 const struct weir_dns_addr *addrs, size_t n_addrs);

/* Never from inside this call: fn once, then the query is gone. WEIR_EUNREACHABLE when the name has
 * no address, WEIR_ETIMEOUT, WEIR_EIO. `host` is borrowed for the call only. */
struct weir_dns_query *weir_dns_lookup(struct weir_dns *dns, const char *host, uint16_t port,
                                       weir_dns_done_fn fn, void *ctx);

/* fn will not be called. Not after fn. */
void weir_dns_cancel(struct weir_dns_query *query);

/* Drops all queries without calling their fn; `fn` when all memory is free. */
void weir_dns_close(struct weir_dns *dns, void (*fn)(void *ctx), void *ctx);

#endif
