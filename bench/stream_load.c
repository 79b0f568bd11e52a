/*
 * The caller of many streams at once: N kept-alive connections, each with one SSE answer after the
 * other, read on bare epoll. Nothing is allocated or copied per event; events are counted where
 * they lie.
 *
 *   stream_load --port P --path /v1/… --body FILE --warm FILE [--streams N] [--rounds K]
 *               [--spread-ms MS]
 *
 * Every connection first sends the warm body, once; then "ready" is printed and a line on standard
 * input awaited. Then each sends the body K times in a row, the first ones spread over MS. When
 * every stream has had an event "running" is printed, and in the end one line of JSON. What is not
 * a stream that ends by itself and has status 200 counts as failed, and so does an error event.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

enum { READ_BYTES = 64 * 1024, EVENTS_PER_TURN = 256, MAX_BODY_BYTES = 64 * 1024 };

enum where {
    STATUS_LINE,
    HEAD,      /* until an empty line */
    SIZE_LINE, /* of a chunk */
    DATA,      /* of a chunk */
    DATA_END,  /* its line end */
    TRAILER,   /* behind the chunk of size 0 */
    COMPLETE,
};

struct conn {
    int fd;
    enum where where;
    size_t n_line;      /* bytes of the present line, its end not counted */
    unsigned status;    /* while in the status line: digits so far */
    uint64_t left;      /* of a chunk */
    bool at_line_start; /* within the events */
    bool is_over;       /* failed: nothing more is sent */
    unsigned n_rounds;
    int64_t sent_ns;
    bool has_first;
};

struct times {
    int64_t *ns;
    size_t n;
};

static struct {
    int epoll_fd;
    struct conn *conns;
    size_t n_conns;
    size_t n_open; /* rounds still to come or under way */
    size_t n_started;
    unsigned rounds;
    int64_t spread_ns;
    const char *path;
    uint16_t port;
    bool is_warm;
    char *request;
    size_t n_request;
    struct times first;
    struct times total;
    uint64_t n_events;
    uint64_t n_reads;
    uint64_t n_bytes;
    uint64_t n_failed;
} load = {.n_conns = 1, .rounds = 1};

static char scratch[READ_BYTES];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- one answer ---- */

static void begin_answer(struct conn *c)
{
    c->where = STATUS_LINE;
    c->n_line = 0;
    c->status = 0;
    c->left = 0;
    c->at_line_start = true;
    c->has_first = false;
}

static void send_request(struct conn *c)
{
    begin_answer(c);
    c->sent_ns = now_ns();
    if (send(c->fd, load.request, load.n_request, MSG_NOSIGNAL) != (ssize_t)load.n_request) {
        die("send");
    }
}

static void fail(struct conn *c)
{
    c->is_over = true;
    load.n_failed++;
    load.n_open--;
    epoll_ctl(load.epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
}

static void note(struct times *times, int64_t ns)
{
    times->ns[times->n++] = ns;
}

static void on_event(struct conn *c)
{
    load.n_events++;
    if (!c->has_first) {
        c->has_first = true;
        note(&load.first, now_ns() - c->sent_ns);
        if (c->n_rounds == 0 && ++load.n_started == load.n_conns && !load.is_warm) {
            printf("running\n");
            fflush(stdout);
        }
    }
}

/* Messages and Responses name all their events. */
static bool is_error_line(const char *p, const char *end)
{
    static const char word[] = "event: error";
    size_t n = sizeof word - 1;
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0;
}

/* Lines of events: one that begins with `data` is an event, an event named `error` is one. */
static void take_data(struct conn *c, const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end) {
        if (c->at_line_start) {
            if (*p == 'd') {
                on_event(c);
            } else if (is_error_line(p, end)) {
                load.n_failed++;
            }
        }
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        c->at_line_start = eol != NULL;
        p = eol != NULL ? eol + 1 : end;
    }
}

static void end_line(struct conn *c)
{
    switch (c->where) {
    case STATUS_LINE:
        c->where = HEAD;
        break;
    case HEAD:
        c->where = c->n_line == 0 ? SIZE_LINE : HEAD;
        break;
    case SIZE_LINE:
        c->where = c->left != 0 ? DATA : TRAILER;
        break;
    case DATA_END:
        c->where = SIZE_LINE;
        break;
    default:
        c->where = c->n_line == 0 ? COMPLETE : TRAILER;
        break;
    }
    c->n_line = 0;
}

static unsigned digit_of(char byte)
{
    return byte <= '9' ? (unsigned)(byte - '0') : ((unsigned)byte | 32) - 'a' + 10;
}

static void take_line_byte(struct conn *c, char byte)
{
    if (byte == '\n') {
        end_line(c);
        return;
    }
    if (byte == '\r') {
        return;
    }
    if (c->where == STATUS_LINE && c->n_line >= 9 && c->n_line < 12) {
        c->status = c->status * 10 + digit_of(byte);
    } else if (c->where == SIZE_LINE) {
        c->left = c->left * 16 + digit_of(byte);
    }
    c->n_line++;
}

static void take(struct conn *c, const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end && c->where != COMPLETE) {
        if (c->where != DATA) {
            take_line_byte(c, *p++);
            continue;
        }
        size_t now = c->left < (uint64_t)(end - p) ? (size_t)c->left : (size_t)(end - p);
        take_data(c, p, now);
        p += now;
        c->left -= now;
        c->where = c->left == 0 ? DATA_END : DATA;
    }
}

/* ---- rounds ---- */

static void on_complete(struct conn *c)
{
    if (c->status != 200) {
        fail(c);
        return;
    }
    note(&load.total, now_ns() - c->sent_ns);
    if (++c->n_rounds < load.rounds) {
        send_request(c);
    } else {
        load.n_open--;
    }
}

static void on_readable(struct conn *c)
{
    ssize_t n = recv(c->fd, scratch, sizeof scratch, 0);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            fail(c);
        }
        return;
    }
    load.n_reads++;
    load.n_bytes += (uint64_t)n;
    take(c, scratch, (size_t)n);
    if (c->where == COMPLETE) {
        on_complete(c);
    }
}

/* How long until the next stream has to begin; -1: all have. */
static int begin_due(size_t *next, int64_t began_ns)
{
    while (*next < load.n_conns) {
        int64_t at = began_ns + load.spread_ns / (int64_t)load.n_conns * (int64_t)*next;
        int64_t wait = at - now_ns();
        if (wait > 0) {
            return (int)(wait / 1000000) + 1;
        }
        struct conn *c = &load.conns[(*next)++];
        if (!c->is_over) {
            send_request(c);
        }
    }
    return -1;
}

static void run_rounds(unsigned rounds)
{
    struct epoll_event events[EVENTS_PER_TURN];
    size_t next = 0;
    int64_t began_ns = now_ns();
    load.rounds = rounds;
    load.n_open = load.n_conns;
    for (size_t i = 0; i < load.n_conns; i++) {
        load.conns[i].n_rounds = 0;
    }
    while (load.n_open != 0) {
        int n = epoll_wait(load.epoll_fd, events, EVENTS_PER_TURN, begin_due(&next, began_ns));
        for (int i = 0; i < n; i++) {
            on_readable(events[i].data.ptr);
        }
    }
}

/* ---- setting up ---- */

static void read_request(const char *file)
{
    static char body[MAX_BODY_BYTES];
    FILE *f = fopen(file, "rb");
    if (f == NULL) {
        die(file);
    }
    size_t n = fread(body, 1, sizeof body, f);
    fclose(f);
    size_t cap = n + strlen(load.path) + 256;
    free(load.request);
    load.request = malloc(cap);
    if (load.request == NULL) {
        die("malloc");
    }
    int head = snprintf(load.request, cap,
                        "POST %s HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n"
                        "content-type: application/json\r\ncontent-length: %zu\r\n\r\n",
                        load.path, n);
    memcpy(load.request + head, body, n);
    load.n_request = (size_t)head + n;
}

static void open_all(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(load.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (size_t i = 0; i < load.n_conns; i++) {
        struct conn *c = &load.conns[i];
        int one = 1;
        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0) {
            die("connect");
        }
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(load.epoll_fd, EPOLL_CTL_ADD, c->fd, &event);
    }
}

static void *zalloc(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (p == NULL) {
        die("calloc");
    }
    return p;
}

static void forget_warm_up(void)
{
    load.first.n = load.total.n = 0;
    load.n_events = load.n_reads = load.n_bytes = 0;
    load.n_started = 0;
    load.is_warm = false;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void print_times(const char *name, struct times *times)
{
    double sum = 0;
    qsort(times->ns, times->n, sizeof *times->ns, compare);
    for (size_t i = 0; i < times->n; i++) {
        sum += (double)times->ns[i];
    }
    size_t n = times->n != 0 ? times->n : 1;
    const int64_t *middle = &times->ns[n / 2];
    const int64_t *last = &times->ns[n * 99 / 100];
    printf(",\"%s_ms\":{\"mean\":%.3f,\"p50\":%.3f,\"p99\":%.3f}", name, sum / (double)n / 1e6,
           (double)*middle / 1e6, (double)*last / 1e6);
}

static bool read_args(int argc, char **argv, const char **body, const char **warm)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--port") == 0) {
            load.port = (uint16_t)strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--path") == 0) {
            load.path = value;
        } else if (strcmp(argv[i], "--body") == 0) {
            *body = value;
        } else if (strcmp(argv[i], "--warm") == 0) {
            *warm = value;
        } else if (strcmp(argv[i], "--streams") == 0) {
            load.n_conns = strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--rounds") == 0) {
            load.rounds = (unsigned)strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--spread-ms") == 0) {
            load.spread_ns = strtol(value, NULL, 10) * 1000000;
        } else {
            return false;
        }
    }
    return argc % 2 == 1 && load.port != 0 && load.path != NULL && *body != NULL && *warm != NULL &&
           load.n_conns != 0 && load.rounds != 0;
}

int main(int argc, char **argv)
{
    const char *body = NULL;
    const char *warm = NULL;
    if (!read_args(argc, argv, &body, &warm)) {
        fprintf(stderr, "usage: stream_load --port P --path PATH --body FILE --warm FILE "
                        "[--streams N] [--rounds K] [--spread-ms MS]\n");
        return 2;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    unsigned rounds = load.rounds;
    load.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    load.conns = zalloc(load.n_conns, sizeof *load.conns);
    load.first.ns = zalloc(load.n_conns * rounds, sizeof *load.first.ns);
    load.total.ns = zalloc(load.n_conns * rounds, sizeof *load.total.ns);
    load.is_warm = true;
    open_all();
    read_request(warm);
    run_rounds(1);
    forget_warm_up();
    read_request(body);
    printf("ready\n");
    fflush(stdout);
    (void)getchar();
    int64_t began_ns = now_ns();
    run_rounds(rounds);
    printf("{\"seconds\":%.3f,\"events\":%llu,\"reads\":%llu,\"bytes\":%llu,\"failed\":%llu",
           (double)(now_ns() - began_ns) / 1e9, (unsigned long long)load.n_events,
           (unsigned long long)load.n_reads, (unsigned long long)load.n_bytes,
           (unsigned long long)load.n_failed);
    print_times("first", &load.first);
    print_times("total", &load.total);
    printf("}\n");
    return load.n_failed != 0;
}
