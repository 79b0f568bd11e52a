#ifndef WEIR_CLIENT_TARGET_H
#define WEIR_CLIENT_TARGET_H

#include "base/slice.h"
#include "io/tls.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * How a service is called: its address, its time limits, the credentials it gets. Made by
 * the server from the configuration, const afterwards, shared by all workers; strings are borrowed
 * from the configuration, which outlives it. What changes (addresses, connections, counts of calls)
 * belongs to a worker's client (client/client.h), which knows a target by what it says and keeps a
 * copy: nothing looks at this object after the last call on it has ended.
 *
 * All strings are set, if only to "". A time of 0 means no limit.
 */
enum weir_target_protocol {
    WEIR_TARGET_HTTP, /* HTTP/1.1; HTTP/2 where TLS and ALPN agree on it */
    WEIR_TARGET_H2,   /* HTTP/2 only, also without TLS (prior knowledge) */
};

struct weir_target {
    struct weir_slice id; /* for logs, metrics, /info: "hap-en" */
    const char *kind;     /* for traces: "detector"; a literal, "" or NULL: none */
    const char *hostname; /* a name or an address literal, IPv6 without brackets */
    uint16_t port;
    enum weir_target_protocol protocol;
    struct weir_tls *tls;            /* NULL: plain; a reference */
    struct weir_slice path_prefix;   /* "" or "/x" */
    struct weir_slice api_token;     /* "" or the bearer token; secret */
    uint64_t connect_timeout_ms;     /* look-up, TCP, TLS; all addresses together */
    uint64_t first_byte_timeout_ms;  /* from the last request byte to the first answer byte */
    uint64_t idle_timeout_ms;        /* between two reads of an answer, two writes of a request */
    uint64_t request_timeout_ms;     /* all of it */
    uint64_t keep_alive_interval_ms; /* HTTP/2: pings while calls run in silence; 0: none */
    uint64_t keep_alive_timeout_ms;
    uint64_t dns_interval_ms; /* names are looked up again this often, while they are used */
    uint32_t max_retries;     /* of calls that ask for retries */
    uint32_t max_concurrent;  /* calls under way at once per worker; more wait. 0: no limit */
    uint32_t max_waiting;     /* calls that may wait; those beyond fail with WEIR_EBUSY */
};

#endif
