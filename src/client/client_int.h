#ifndef WEIR_CLIENT_CLIENT_INT_H
#define WEIR_CLIENT_CLIENT_INT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "client/call.h"
#include "client/client.h"
#include "client/target.h"
#include "http/up.h"
#include "io/dns.h"
#include "obs/metric.h"

/*
 * Inside the room:
 *
 *   call.c ── enter / want / leave ─► pool.c ── dial ─► dial.c ── open ─► http/up
 *   call.c ◄─ run / unconnected ───── pool.c ◄─ won / lost ─ dial.c
 *
 * A pool is what a worker knows of one service: its addresses, its connections, the calls that wait
 * for one. It holds a copy of the target, so nothing here points into a configuration that a reload
 * may have taken away; targets that are equal share a pool, so a reload that does not change a
 * service keeps its connections.
 */

/* What is counted, by service. */
enum weir_service_result {
    WEIR_SERVICE_1XX, /* a status of that class: the call has an answer */
    WEIR_SERVICE_2XX,
    WEIR_SERVICE_3XX,
    WEIR_SERVICE_4XX,
    WEIR_SERVICE_5XX,
    WEIR_SERVICE_CONNECT, /* no connection */
    WEIR_SERVICE_TIMEOUT,
    WEIR_SERVICE_BROKEN, /* the connection was lost, or the answer is not valid HTTP */
    WEIR_SERVICE_LIMIT,  /* the answer is too large */
    WEIR_SERVICE_BUSY,   /* too many calls were waiting */
    WEIR_SERVICE_CANCELED,
    WEIR_SERVICE_RESULTS,
};

struct weir_service_stats {
    struct weir_slice id;                                     /* borrowed from the pool */
    struct weir_metric_counter results[WEIR_SERVICE_RESULTS]; /* made when first needed */
    struct weir_metric_counter retries;
    struct weir_metric_histogram seconds;
    struct weir_metric_gauge connections;
};

void weir_service__stats_init(struct weir_service_stats *stats, struct weir_slice id);
void weir_service__count(struct weir_service_stats *stats, enum weir_service_result result,
                         uint64_t took_us);

struct weir_client {
    struct weir_loop *loop;
    struct weir_dns *dns;
    struct weir_map pools;       /* by id: the first of a chain */
    struct weir_list all_pools;  /* weir_pool.link */
    struct weir_list calls;      /* weir_call.link */
    uint64_t seq;                /* counts connections as they become ready */
    uint64_t keep_ms;            /* how long an idle connection is kept, and a pool without calls */
    size_t max_idle;             /* connections of one pool */
    weir_client_span_fn on_span; /* NULL: nobody keeps spans */
    void *span_ctx;
    bool is_closing;
    bool has_dns; /* not yet closed */
    struct weir_post closed;
    void (*close_fn)(void *ctx);
    void *close_ctx;
};

/* The pool for a target, made when it is new. */
struct weir_pool *weir_client__pool(struct weir_client *client, const struct weir_target *target);
/* Removes a pool from the client's table. The caller frees it. */
void weir_client__drop(struct weir_client *client, struct weir_pool *pool);
/* A pool has been freed. If the client is closing and this was the last one, the client is
 * closed. */
void weir_client__settle(struct weir_client *client);

/* A copy whose strings live in `arena`, with a reference to its TLS context. */
void weir_target__copy(struct weir_target *to, const struct weir_target *from,
                       struct weir_arena *arena);
bool weir_target__eq(const struct weir_target *a, const struct weir_target *b);

/* An address of a service. Shared by the pool, connections and dials: freed with the last. */
struct weir_pool_addr {
    struct weir_dns_addr addr;
    struct weir_list ready; /* connections with room, last used first */
    size_t n_conns;         /* all, also connecting and closing ones */
    unsigned refs;
    unsigned n_bad;        /* failed attempts in a row */
    uint64_t bad_until_ms; /* it failed: others are preferred until then */
    bool is_gone;          /* the name does not lead to it any more */
};

struct weir_dial;

struct weir_pool_conn {
    struct weir_http_up up;
    struct weir_pool *pool;
    struct weir_pool_addr *addr; /* a reference */
    struct weir_dial *dial;      /* while it is an attempt of one */
    struct weir_list link;       /* in addr->ready, or in dial->attempts */
    struct weir_list idle_link;
    struct weir_list all_link;
    uint64_t idle_since_ms;
    uint64_t began_ms;
    uint64_t seq; /* the order in which connections became ready */
};

struct weir_dial_end {
    bool is_extra; /* nobody waits for it: it spreads the load over one more address */
    int err;       /* the first failure */
    char why[192];
};

/* Attempts to connect to one address after another; the first that is ready wins. */
struct weir_dial {
    struct weir_pool *pool;
    struct weir_list link;
    struct weir_list attempts;     /* weir_pool_conn.link */
    struct weir_pool_addr **order; /* references */
    size_t n_order;
    size_t next;
    struct weir_timer timer;
    uint64_t deadline_ms;
    struct weir_dial_end end;
};

struct weir_pool {
    struct weir_client *client;
    struct weir_target target; /* a copy */
    struct weir_arena arena;   /* its strings */
    struct weir_slice authority;
    struct weir_list link;
    struct weir_pool *next; /* in the chain of one id */

    size_t n_calls;  /* that know this pool */
    size_t n_active; /* of them, past the queue */
    struct weir_list queued;
    size_t n_queued;
    struct weir_list waiting; /* for a connection */
    size_t n_waiting;

    struct weir_pool_addr **addrs;
    size_t n_addrs;
    size_t next_addr;
    bool is_literal; /* the addresses are known without asking, for good */
    struct weir_dns_query *query;
    uint64_t looked_up_ms;

    struct weir_list conns; /* weir_pool_conn.all_link */
    struct weir_list idle;  /* weir_pool_conn.idle_link, longest idle first */
    size_t n_idle;
    size_t n_conns;   /* also closing ones */
    size_t room_seen; /* exchanges that the last new connection had room for; 0: none yet */
    struct weir_list dials;
    size_t n_dials; /* without extra ones */
    uint64_t no_dial_until_ms;
    struct weir_timer timer; /* closes what is idle, then the pool itself */
    uint64_t last_call_ms;
    bool is_dead; /* freed when its last connection is */
    struct weir_post freeing;
    struct weir_service_stats stats;
};

struct weir_pool *weir_pool__new(struct weir_client *client, const struct weir_target *target);

/* Closes all. The memory is freed when the last connection has closed; weir_client__settle is
 * called then. */
void weir_pool__kill(struct weir_pool *pool);
void weir_pool__close_idle(struct weir_pool *pool);

/* A new call: true when it may go on to want, false when it is queued; WEIR_EBUSY in `*err`. */
bool weir_pool__enter(struct weir_pool *pool, struct weir_call *call, int *err);
/* It needs a connection now; weir_call__run or weir_call__unconnected follows, maybe at once. */
void weir_pool__want(struct weir_pool *pool, struct weir_call *call);
/* It has waited long enough. */
void weir_pool__stop_waiting(struct weir_pool *pool, struct weir_call *call);
/* It has ended, wherever it was. */
void weir_pool__leave(struct weir_pool *pool, struct weir_call *call);
/* A call has left a connection that stays open: it has room for another. */
void weir_pool__returned(struct weir_pool_conn *conn);
/* Decides what can go on: the queue, the calls that wait, look-ups and dials. */
void weir_pool__advance(struct weir_pool *pool);

/* addr.c */
struct weir_pool_addr *weir_pool__addr_ref(struct weir_pool_addr *addr);
void weir_pool__addr_unref(struct weir_pool_addr *addr);
bool weir_pool__addr_is_good(const struct weir_pool_addr *addr, uint64_t now_ms);
/* The address could not be connected: for a while others are preferred. */
void weir_pool__addr_blame(struct weir_pool_addr *addr, uint64_t now_ms);
/* Takes what a look-up said; what it does not name any more is gone. */
void weir_pool__set_addrs(struct weir_pool *pool, const struct weir_dns_addr *addrs, size_t n);
/* A connection with room, taking turns among the addresses; NULL when there is none. */
struct weir_pool_conn *weir_pool__take(struct weir_pool *pool, uint64_t min_seq);
/* All addresses in the order they are to be tried; the references and the array are the caller's.
 */
struct weir_pool_addr **weir_pool__order(struct weir_pool *pool);

struct weir_pool_conn *weir_pool__open(struct weir_pool *pool, struct weir_pool_addr *addr);

/* Begins to connect, trying the addresses in their order. Takes the references and the array. */
void weir_dial__start(struct weir_pool *pool, struct weir_pool_addr **order, size_t n,
                      bool is_extra);
void weir_dial__on_ready(struct weir_pool_conn *conn);
void weir_dial__on_gone(struct weir_pool_conn *conn, int err, const char *why);
void weir_dial__cancel(struct weir_dial *dial);
/* Called by dial.c; pool.c goes on. */
void weir_pool__dial_won(struct weir_pool *pool, struct weir_pool_conn *conn);
void weir_pool__dial_lost(struct weir_pool *pool, const struct weir_dial_end *end);

enum weir_call_state {
    WEIR_CALL_QUEUED,      /* too many others run */
    WEIR_CALL_WAITING,     /* for a connection */
    WEIR_CALL_UNCONNECTED, /* there is none; weir_call__unconnected is about to be called */
    WEIR_CALL_RUNNING,     /* on a connection */
    WEIR_CALL_BACKOFF,     /* the timer starts the next attempt */
    WEIR_CALL_FAILED,      /* on_done is posted */
    WEIR_CALL_DONE,        /* inside on_done */
};

struct weir_call {
    struct weir_client *client;
    struct weir_pool *pool;
    struct weir_list link;      /* in the client */
    struct weir_list pool_link; /* queued or waiting */
    struct weir_arena arena;
    struct weir_http_up_request wire;
    struct weir_call_request request;
    const struct weir_call_events *events; /* from here on: what every piece of an answer needs */
    void *ctx;
    enum weir_call_state state;
    bool is_discarding; /* the rest of an answer after which the call is repeated */
    struct weir_http_exchange exchange;
    struct weir_timer timer; /* the only one */
    struct weir_post post;

    uint64_t started_ns;
    uint64_t deadline_ms; /* of all of it; UINT64_MAX: none */
    uint64_t since_ms;    /* of the present state */
    uint64_t min_seq;     /* only connections that became ready after this one may be used */
    uint32_t n_retries;
    uint32_t n_quiet; /* repetitions that do not count as retries */
    bool was_stale;   /* repeated once because of a stale connection */
    bool is_active;   /* counts in pool->n_active */
    bool is_on_used;  /* the connection had served others before */
    bool is_paused;
    struct weir_flow_gate gate; /* to the owner: FULL, then on_room */
    bool has_body_end;
    bool can_replay;      /* `kept` is all of the streamed body so far */
    struct weir_buf kept; /* written before there was a connection, or not answered yet */
    size_t discarded_bytes;

    bool has_head;
    int status;
    const struct weir_http_field *fields;
    size_t n_fields;
    struct weir_buf body;
    int err;
    bool is_unreached; /* no connection could be had */
    const char *why;

    char trace_parent[WEIR_TRACE_PARENT_BYTES + 1];
    struct weir_trace trace; /* its own span */
    uint8_t parent_id[8];
};

/* call_head.c: fills call->wire. 0, or WEIR_EINVAL with call->why. */
int weir_call__build(struct weir_call *call);

/* call_span.c: reports the call's span to the client's watcher, if there is one. */
void weir_call__tell_span(const struct weir_call *call, const struct weir_http_field *trailers,
                          size_t n_trailers);

/* call_time.c. When the call's present state is late, UINT64_MAX: never; and the timer set to it.
 */
uint64_t weir_call__due(const struct weir_call *call);
void weir_call__arm(struct weir_call *call);
uint64_t weir_call__deadline(const struct weir_call *call);
const char *weir_call__late_phrase(struct weir_call *call);
const char *weir_call__unconnected_phrase(struct weir_call *call, int err, const char *why);

/* From the pool. */
void weir_call__admitted(struct weir_call *call);
void weir_call__run(struct weir_call *call, struct weir_pool_conn *conn);
void weir_call__unconnected(struct weir_call *call, int err, const char *why);

#endif
