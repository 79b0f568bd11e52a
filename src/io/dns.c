/*
 * c-ares does the protocol and the timing; we watch its sockets and its clock.
 *
 *   lookup ─► ares_getaddrinfo ─► [sockets, timer] ─► on_answer ─► posted ─► fn
 *
 * Its channel is made with the first name that needs it: a process that only knows addresses never
 * reads the resolver's configuration. A question cannot be taken back from c-ares; a cancelled one
 * is left to be answered into the void.
 */
#include "io/dns.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"

#include <ares.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { TRY_MS = 1500, TRIES = 3 }; /* of each server, the time growing with each round */

struct weir_dns {
    struct weir_loop *loop;
    ares_channel channel;
    bool has_channel;
    struct weir_list polls;
    struct weir_list answered; /* queries whose fn is posted */
    size_t n_polls;            /* also those closing */
    struct weir_timer timer;
    struct weir_post later; /* the end of close */
    void (*close_fn)(void *ctx);
    void *close_ctx;
};

/* A socket of c-ares'. */
struct dns_poll {
    uv_poll_t handle;
    struct weir_dns *dns;
    struct weir_list link;
    ares_socket_t fd;
};

struct weir_dns_query {
    struct weir_dns *dns;
    struct weir_list link; /* in `answered` */
    struct weir_post post;
    weir_dns_done_fn fn; /* NULL: cancelled */
    void *ctx;
    uint16_t port;
    int err;
    const char *why;
    struct weir_dns_addr *addrs;
    size_t n_addrs;
};

/* Without asking */

bool weir_dns_literal(const char *host, uint16_t port, struct weir_dns_addr out[2], size_t *n)
{
    memset(out, 0, 2 * sizeof *out);
    *n = 1;
    if (inet_pton(AF_INET, host, &out[0].u.v4.sin_addr) == 1) {
        out[0].u.v4.sin_family = AF_INET;
        out[0].u.v4.sin_port = htons(port);
        return true;
    }
    if (inet_pton(AF_INET6, host, &out[0].u.v6.sin6_addr) == 1) {
        out[0].u.v6.sin6_family = AF_INET6;
        out[0].u.v6.sin6_port = htons(port);
        return true;
    }
    if (strcasecmp(host, "localhost") != 0 && strcasecmp(host, "localhost.") != 0) {
        *n = 0;
        return false;
    }
    *n = 2;
    out[0].u.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    out[0].u.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    out[1].u.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    out[1].u.v6.sin6_addr = in6addr_loopback;
    out[1].is_fallback = true;
    return true;
}

bool weir_dns_addr_eq(const struct weir_dns_addr *a, const struct weir_dns_addr *b)
{
    if (a->u.any.sa_family != b->u.any.sa_family) {
        return false;
    }
    if (a->u.any.sa_family == AF_INET) {
        return a->u.v4.sin_port == b->u.v4.sin_port &&
               a->u.v4.sin_addr.s_addr == b->u.v4.sin_addr.s_addr;
    }
    return a->u.v6.sin6_port == b->u.v6.sin6_port &&
           a->u.v6.sin6_scope_id == b->u.v6.sin6_scope_id &&
           memcmp(&a->u.v6.sin6_addr, &b->u.v6.sin6_addr, sizeof a->u.v6.sin6_addr) == 0;
}

/* The channel */

static void arm_timer(struct weir_dns *dns)
{
    struct timeval tv;
    if (!dns->has_channel || ares_timeout(dns->channel, NULL, &tv) == NULL) {
        weir_loop_cancel(dns->loop, &dns->timer);
        return;
    }
    uint64_t ms = (uint64_t)tv.tv_sec * 1000 + (uint64_t)tv.tv_usec / 1000;
    weir_loop_after(dns->loop, &dns->timer, ms + 1);
}

static void on_timer(struct weir_timer *t, void *ctx)
{
    struct weir_dns *dns = ctx;
    (void)t;
    ares_process_fd(dns->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    arm_timer(dns);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    const struct dns_poll *p = handle->data;
    struct weir_dns *dns = p->dns;
    /* An error is found out by trying to read. */
    bool can_read = status != 0 || (events & UV_READABLE) != 0;
    bool can_write = status == 0 && (events & UV_WRITABLE) != 0;
    ares_process_fd(dns->channel, can_read ? p->fd : ARES_SOCKET_BAD,
                    can_write ? p->fd : ARES_SOCKET_BAD);
    arm_timer(dns);
}

static void finish_close(struct weir_dns *dns)
{
    void (*fn)(void *ctx) = dns->close_fn;
    void *ctx = dns->close_ctx;
    free(dns);
    fn(ctx);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct dns_poll *p = handle->data;
    struct weir_dns *dns = p->dns;
    free(p);
    if (--dns->n_polls == 0 && dns->close_fn != NULL) {
        finish_close(dns);
    }
}

static struct dns_poll *find_poll(struct weir_dns *dns, ares_socket_t fd)
{
    for (struct weir_list *at = dns->polls.next; at != &dns->polls; at = at->next) {
        struct dns_poll *p = WEIR_LIST_ENTRY(at, struct dns_poll, link);
        if (p->fd == fd) {
            return p;
        }
    }
    return NULL;
}

static struct dns_poll *new_poll(struct weir_dns *dns, ares_socket_t fd)
{
    struct dns_poll *p = weir_mem_zalloc(sizeof *p);
    p->dns = dns;
    p->fd = fd;
    p->handle.data = p;
    if (uv_poll_init_socket(&dns->loop->uv, &p->handle, fd) != 0) {
        free(p); /* c-ares times out */
        return NULL;
    }
    weir_list_append(&dns->polls, &p->link);
    dns->n_polls++;
    return p;
}

/* c-ares opened a socket, wants other events of it, or is about to close it (neither). */
static void on_sock_state(void *data, ares_socket_t fd, int readable, int writable)
{
    struct weir_dns *dns = data;
    struct dns_poll *p = find_poll(dns, fd);
    if (readable == 0 && writable == 0) {
        if (p != NULL) {
            weir_list_remove(&p->link);
            uv_close((uv_handle_t *)&p->handle, on_poll_closed);
        }
        return;
    }
    p = p != NULL ? p : new_poll(dns, fd);
    if (p != NULL) {
        int events = (readable != 0 ? UV_READABLE : 0) | (writable != 0 ? UV_WRITABLE : 0);
        uv_poll_start(&p->handle, events, on_poll);
    }
}

static void init_library(void)
{
    WEIR_ASSERT(ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS);
}

static bool open_channel(struct weir_dns *dns)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_library);
    if (!dns->has_channel) {
        struct ares_options options = {
            .timeout = TRY_MS,
            .tries = TRIES,
            .sock_state_cb = on_sock_state,
            .sock_state_cb_data = dns,
        };
        int mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
        dns->has_channel = ares_init_options(&dns->channel, &options, mask) == ARES_SUCCESS;
    }
    return dns->has_channel;
}

struct weir_dns *weir_dns_new(struct weir_loop *loop)
{
    struct weir_dns *dns = weir_mem_zalloc(sizeof *dns);
    dns->loop = loop;
    dns->timer.fn = on_timer;
    dns->timer.ctx = dns;
    weir_list_init(&dns->polls);
    weir_list_init(&dns->answered);
    return dns;
}

int weir_dns_set_servers(struct weir_dns *dns, const char *servers)
{
    if (!open_channel(dns)) {
        return WEIR_EIO;
    }
    return ares_set_servers_ports_csv(dns->channel, servers) == ARES_SUCCESS ? 0 : WEIR_EINVAL;
}

/* A question */

static void free_query(struct weir_dns_query *q)
{
    weir_list_remove(&q->link);
    weir_loop_unpost(&q->post);
    free(q->addrs);
    free(q);
}

static void on_post(struct weir_post *post)
{
    struct weir_dns_query *q = WEIR_LIST_ENTRY(post, struct weir_dns_query, post);
    weir_list_remove(&q->link);
    q->fn(q->ctx, q->err, q->why, q->addrs, q->n_addrs);
    free_query(q);
}

static void tell_later(struct weir_dns_query *q)
{
    weir_list_append(&q->dns->answered, &q->link);
    weir_loop_post(q->dns->loop, &q->post);
}

static void take_addrs(struct weir_dns_query *q, const struct ares_addrinfo *info)
{
    q->addrs = weir_mem_array(WEIR_DNS_MAX_ADDRS, sizeof *q->addrs);
    const struct ares_addrinfo_node *node = info->nodes;
    for (; node != NULL && q->n_addrs < WEIR_DNS_MAX_ADDRS; node = node->ai_next) {
        struct weir_dns_addr *to = &q->addrs[q->n_addrs];
        if (node->ai_family == AF_INET && node->ai_addrlen >= sizeof to->u.v4) {
            memcpy(&to->u.v4, node->ai_addr, sizeof to->u.v4);
            to->u.v4.sin_port = htons(q->port);
            q->n_addrs++;
        } else if (node->ai_family == AF_INET6 && node->ai_addrlen >= sizeof to->u.v6) {
            memcpy(&to->u.v6, node->ai_addr, sizeof to->u.v6);
            to->u.v6.sin6_port = htons(q->port);
            q->n_addrs++;
        }
    }
}

static int err_of(int status)
{
    switch (status) {
    case ARES_SUCCESS:
        return 0;
    case ARES_ETIMEOUT:
        return WEIR_ETIMEOUT;
    case ARES_ENODATA:
    case ARES_ENOTFOUND:
    case ARES_EBADNAME:
    case ARES_ECONNREFUSED:
    case ARES_ESERVFAIL:
    case ARES_EREFUSED:
        return WEIR_EUNREACHABLE;
    default:
        return WEIR_EIO;
    }
}

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
    struct weir_dns_query *q = arg;
    (void)timeouts;
    if (status == ARES_SUCCESS && info != NULL) {
        take_addrs(q, info);
        if (q->n_addrs == 0) {
            status = ARES_ENODATA;
        }
    }
    ares_freeaddrinfo(info);
    if (q->fn == NULL) {
        free_query(q);
        return;
    }
    q->err = err_of(status);
    q->why = ares_strerror(status);
    tell_later(q);
}

struct weir_dns_query *weir_dns_lookup(struct weir_dns *dns, const char *host, uint16_t port,
                                       weir_dns_done_fn fn, void *ctx)
{
    struct weir_dns_query *q = weir_mem_zalloc(sizeof *q);
    q->dns = dns;
    q->post.fn = on_post;
    q->fn = fn;
    q->ctx = ctx;
    q->port = port;
    if (!open_channel(dns)) {
        q->err = WEIR_EIO;
        q->why = "the resolver's configuration cannot be read";
        tell_later(q);
        return q;
    }
    /* The order is ours: all of them are used in turn. CARES_HOSTS may name another hosts file. */
    struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC,
                                        .ai_socktype = SOCK_STREAM,
                                        .ai_flags = ARES_AI_NOSORT | ARES_AI_ENVHOSTS};
    ares_getaddrinfo(dns->channel, host, NULL, &hints, on_answer, q);
    arm_timer(dns);
    return q;
}

void weir_dns_cancel(struct weir_dns_query *query)
{
    query->fn = NULL;
    if (weir_list_is_linked(&query->link)) {
        free_query(query);
    }
}

static void on_later(struct weir_post *post)
{
    finish_close(WEIR_LIST_ENTRY(post, struct weir_dns, later));
}

/* Destroying the channel answers every question that is left, and closes every socket. */
void weir_dns_close(struct weir_dns *dns, void (*fn)(void *ctx), void *ctx)
{
    weir_loop_cancel(dns->loop, &dns->timer);
    if (dns->has_channel) {
        dns->has_channel = false;
        ares_destroy(dns->channel);
    }
    for (struct weir_list *at = dns->answered.next; at != &dns->answered;) {
        struct weir_dns_query *q = WEIR_LIST_ENTRY(at, struct weir_dns_query, link);
        at = at->next;
        free_query(q);
    }
    dns->close_fn = fn;
    dns->close_ctx = ctx;
    if (dns->n_polls == 0) {
        dns->later.fn = on_later;
        weir_loop_post(dns->loop, &dns->later);
    }
}
