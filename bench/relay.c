/*
 * The floor every figure is measured above: a single-threaded relay on bare epoll that looks at
 * nothing. It accepts connections, opens one to the upstream for each, and passes bytes both ways
 * with one read and one write per readiness. What it costs is the kernel's price of the traffic.
 *
 *   relay --listen PORT --upstream HOST:PORT [--every N] [--hold-ms MS]
 *
 * --every N gathers N reads from the upstream into one write, as a gateway that batches tokens
 * does. A tail of fewer than N reads leaves when the stream ends or after MS (1000) milliseconds.
 * Port 0 picks a free port; the one in use is printed as "listening PORT".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, EVENTS_PER_TURN = 256, ACCEPTS_PER_TURN = 64 };

/* One end of a pair. `out` is what waits to be written to `fd`; empty nearly always. */
struct side {
    int fd;
    uint32_t watched;
    bool is_up;         /* towards the upstream */
    bool is_connecting; /* nothing can be written yet */
    bool is_blocked;    /* the last write did not take everything */
    bool is_read_done;  /* the peer of this socket has finished */
    bool is_shut;       /* and we have told the other side */
    unsigned n_reads;   /* gathered in `out` since the last write */
    char *out;
    size_t n_out;
    size_t out_cap;
    struct pair *pair;
};

/* Pairs that hold gathered bytes are on a list, oldest first. */
struct pair {
    struct side down;
    struct side up;
    bool is_closed;
    bool is_holding;
    int64_t held_since_ms;
    struct pair *next;
    struct pair *prev;
};

static struct {
    int epoll_fd;
    int listen_fd;
    unsigned every;
    int64_t hold_ms;
    struct sockaddr_storage upstream;
    socklen_t upstream_len;
    struct pair holding; /* list head */
    struct pair *closed; /* freed when the turn's events are done */
} relay = {.every = 1, .hold_ms = 1000};

static char scratch[READ_BYTES];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct side *other(struct side *s)
{
    return s->is_up ? &s->pair->down : &s->pair->up;
}

/* Asks epoll for what this side wants now: bytes, unless the other side is stuck; room, if it is.
 */
static void watch(struct side *s)
{
    uint32_t want = 0;
    if (!s->is_read_done && !s->is_connecting && !other(s)->is_blocked &&
        !other(s)->is_connecting) {
        want |= EPOLLIN;
    }
    if (s->is_blocked || s->is_connecting) {
        want |= EPOLLOUT;
    }
    if (want == s->watched) {
        return;
    }
    s->watched = want;
    struct epoll_event event = {.events = want, .data.ptr = s};
    epoll_ctl(relay.epoll_fd, EPOLL_CTL_MOD, s->fd, &event);
}

static void stop_holding(struct pair *p)
{
    if (p->is_holding) {
        p->next->prev = p->prev;
        p->prev->next = p->next;
        p->is_holding = false;
    }
}

static void start_holding(struct pair *p)
{
    if (p->is_holding) {
        return;
    }
    p->is_holding = true;
    p->held_since_ms = now_ms();
    p->prev = relay.holding.prev;
    p->next = &relay.holding;
    p->prev->next = p;
    p->next->prev = p;
}

static void close_pair(struct pair *p)
{
    if (p->is_closed) {
        return;
    }
    stop_holding(p);
    p->is_closed = true;
    close(p->down.fd);
    close(p->up.fd);
    free(p->down.out);
    free(p->up.out);
    p->next = relay.closed;
    relay.closed = p;
}

static void free_closed(void)
{
    while (relay.closed != NULL) {
        struct pair *p = relay.closed;
        relay.closed = p->next;
        free(p);
    }
}

static void keep(struct side *s, const char *p, size_t n)
{
    if (s->n_out + n > s->out_cap) {
        size_t cap = s->n_out + n < 4096 ? 4096 : (s->n_out + n) * 2;
        s->out = realloc(s->out, cap);
        if (s->out == NULL) {
            die("realloc");
        }
        s->out_cap = cap;
    }
    memcpy(s->out + s->n_out, p, n);
    s->n_out += n;
}

/* Writes once. Returns how much was taken, or -1 when the pair is gone. */
static ssize_t write_once(struct side *s, const char *p, size_t n)
{
    ssize_t taken = send(s->fd, p, n, MSG_NOSIGNAL);
    if (taken < 0) {
        if (errno != EAGAIN) {
            close_pair(s->pair);
            return -1;
        }
        taken = 0;
    }
    s->is_blocked = (size_t)taken < n;
    return taken;
}

/* Passes on the end of the stream, once everything before it has left. */
static void pass_end(struct side *to)
{
    if (!other(to)->is_read_done || to->n_out != 0 || to->is_shut) {
        return;
    }
    to->is_shut = true;
    if (other(to)->is_shut) {
        close_pair(to->pair);
    } else {
        shutdown(to->fd, SHUT_WR);
    }
}

static void flush_out(struct side *s)
{
    s->n_reads = 0;
    if (!s->is_up) {
        stop_holding(s->pair);
    }
    if (s->n_out != 0) {
        ssize_t taken = write_once(s, s->out, s->n_out);
        if (taken < 0) {
            return;
        }
        s->n_out -= (size_t)taken;
        memmove(s->out, s->out + taken, s->n_out);
    } else {
        s->is_blocked = false;
    }
    pass_end(s);
}

static void deliver(struct side *to, const char *p, size_t n)
{
    if (!to->is_up && relay.every > 1) {
        keep(to, p, n);
        if (++to->n_reads < relay.every) {
            start_holding(to->pair);
        } else {
            flush_out(to);
        }
        return;
    }
    ssize_t taken = to->n_out == 0 ? write_once(to, p, n) : 0;
    if (taken >= 0 && (size_t)taken < n) {
        keep(to, p + taken, n - (size_t)taken);
    }
}

static void on_readable(struct side *s)
{
    ssize_t n = recv(s->fd, scratch, sizeof scratch, 0);
    if (n > 0) {
        deliver(other(s), scratch, (size_t)n);
    } else if (n == 0) {
        s->is_read_done = true;
        flush_out(other(s));
    } else if (errno != EAGAIN && errno != EINTR) {
        close_pair(s->pair);
    }
}

static void on_writable(struct side *s)
{
    if (s->is_connecting) {
        int error = 0;
        socklen_t len = sizeof error;
        getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &len);
        if (error != 0) {
            close_pair(s->pair);
            return;
        }
        s->is_connecting = false;
        return;
    }
    flush_out(s);
}

/*
 * Both directions of this socket are over, and epoll would say so for ever. What it still has for
 * the other side is read; then it is no longer watched, and the pair ends when the rest has left.
 */
static void on_hang_up(struct side *s)
{
    if (!s->is_read_done) {
        on_readable(s);
    } else if (other(s)->n_out == 0) {
        close_pair(s->pair);
    } else {
        epoll_ctl(relay.epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
    }
}

static void on_event(struct side *s, uint32_t events)
{
    struct pair *p = s->pair;
    if (p->is_closed) {
        return;
    }
    if ((events & EPOLLOUT) != 0) {
        on_writable(s);
    } else if ((events & EPOLLIN) != 0) {
        on_readable(s);
    } else {
        on_hang_up(s);
    }
    if (!p->is_closed) {
        watch(&p->down);
        watch(&p->up);
    }
}

static void add(struct side *s, struct pair *p, int fd, bool is_up)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *s = (struct side){.fd = fd, .pair = p, .is_up = is_up, .is_connecting = is_up};
    s->watched = is_up ? EPOLLOUT : 0;
    struct epoll_event event = {.events = s->watched, .data.ptr = s};
    if (epoll_ctl(relay.epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        die("epoll_ctl");
    }
}

static void on_accept(void)
{
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int down = accept4(relay.listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (down < 0) {
            if (errno == EMFILE || errno == ENFILE) {
                die("accept4");
            }
            return;
        }
        int up = socket(relay.upstream.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (up < 0) {
            die("socket");
        }
        if (connect(up, (struct sockaddr *)&relay.upstream, relay.upstream_len) != 0 &&
            errno != EINPROGRESS) {
            close(down);
            close(up);
            continue;
        }
        struct pair *p = calloc(1, sizeof *p);
        if (p == NULL) {
            die("calloc");
        }
        add(&p->down, p, down, false);
        add(&p->up, p, up, true);
    }
}

/* Lets go of what has been held too long; returns epoll_wait's timeout for the rest. */
static int release_held(void)
{
    struct pair *first;
    while ((first = relay.holding.next) != &relay.holding) {
        int64_t left = first->held_since_ms + relay.hold_ms - now_ms();
        if (left > 0) {
            return (int)left;
        }
        flush_out(&first->down);
        if (!first->is_closed) {
            watch(&first->up);
            watch(&first->down);
        }
    }
    return -1;
}

static _Noreturn void run(void)
{
    struct epoll_event events[EVENTS_PER_TURN];
    for (;;) {
        int n = epoll_wait(relay.epoll_fd, events, EVENTS_PER_TURN, release_held());
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == NULL) {
                on_accept();
            } else {
                on_event(events[i].data.ptr, events[i].events);
            }
        }
        free_closed();
    }
}

static void listen_on(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    socklen_t len = sizeof address;
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, 8192) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        die("listen");
    }
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(relay.epoll_fd, EPOLL_CTL_ADD, fd, &event);
    relay.listen_fd = fd;
    printf("listening %u\n", ntohs(address.sin_port));
    fflush(stdout);
}

static void find_upstream(char *host_port)
{
    char *colon = strrchr(host_port, ':');
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (colon == NULL) {
        fprintf(stderr, "relay: --upstream wants HOST:PORT\n");
        exit(2);
    }
    *colon = '\0';
    int error = getaddrinfo(host_port, colon + 1, &hints, &found);
    if (error != 0) {
        fprintf(stderr, "relay: %s: %s\n", host_port, gai_strerror(error));
        exit(1);
    }
    memcpy(&relay.upstream, found->ai_addr, found->ai_addrlen);
    relay.upstream_len = found->ai_addrlen;
    freeaddrinfo(found);
}

int main(int argc, char **argv)
{
    const char *port = NULL;
    char *upstream = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--listen") == 0) {
            port = argv[i + 1];
        } else if (strcmp(argv[i], "--upstream") == 0) {
            upstream = argv[i + 1];
        } else if (strcmp(argv[i], "--every") == 0) {
            relay.every = (unsigned)strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--hold-ms") == 0) {
            relay.hold_ms = strtol(argv[i + 1], NULL, 10);
        } else {
            port = NULL;
            break;
        }
    }
    if (port == NULL || upstream == NULL || argc % 2 == 0) {
        fprintf(stderr, "usage: relay --listen PORT --upstream HOST:PORT [--every N] "
                        "[--hold-ms MS]\n");
        return 2;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    relay.holding.next = relay.holding.prev = &relay.holding;
    relay.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    find_upstream(upstream);
    listen_on(port);
    run();
}
