/*
 * Where lines go. One lock is held for a line's write, so that lines of several threads never mix;
 * formatting happens before it, on the caller's stack.
 *
 * A thread that runs a loop gathers the lines of a turn and writes them in one go: no more than a
 * pipe takes whole, so that a gathered piece is written or dropped as a single line would be.
 * Sockets and terminals, which may take half of it, get line by line.
 *
 * Not to wait for a reader: a pipe or terminal is opened a second time, which gives a description
 * of our own that may be non-blocking while the inherited one, shared with other processes, stays
 * as it is. Where that is refused, poll tells whether a piece of PIPE_BUF bytes fits. A socket can
 * be asked per call.
 */
#include "obs/log.h"

#include "base/err.h"
#include "base/mem.h"
#include "obs/obs_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How long a line that has begun may wait to be finished; only long lines into a full pipe do. */
enum { FINISH_WAIT_MS = 10, MAX_WRITES = 4 };

/* With the line feed in front still one atomic write into a pipe. */
enum { HELD_BYTES = PIPE_BUF - 1 };

/* Lines of one thread that wait for the end of its turn. */
struct held {
    size_t n; /* of `bytes`, whose first is the line feed of struct weir_log_line */
    unsigned n_lines;
    char bytes[1 + HELD_BYTES];
};

static _Thread_local struct held *held; /* NULL: nothing waits in this thread */

atomic_int weir_log__threshold = WEIR_LOG_LEVEL_INFO;
static _Atomic uint64_t n_dropped;

/* Set before the first thread, but for what the lock guards. */
static struct {
    struct weir_log_style style;
    int fd;
    int own_fd; /* -1, or a description of our own for the same file */
    bool is_socket;
    bool can_fill;    /* has a reader that may be slow or gone */
    bool is_atomic;   /* takes HELD_BYTES whole or not at all */
    size_t max_piece; /* bytes that poll vouches for */
    weir_log_now_fn now_us;
    weir_log_line_fn capture;
    void *capture_ctx;
    pthread_mutex_t lock; /* guards what follows, and writing */
    uint64_t n_reported;  /* of n_dropped */
    bool is_torn;         /* the last line was not finished */
} out = {
    .style = {.format = WEIR_LOG_FULL},
    .fd = STDERR_FILENO,
    .own_fd = -1,
    .can_fill = true,
    .max_piece = PIPE_BUF,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

static bool wants_colour(const struct weir_log_options *o)
{
    if (o->format == WEIR_LOG_JSON || o->colour == WEIR_LOG_COLOUR_NEVER) {
        return false;
    }
    if (o->colour == WEIR_LOG_COLOUR_ALWAYS) {
        return true;
    }
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return (no_color == NULL || no_color[0] == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0) && isatty(o->fd) != 0;
}

static int open_again(int fd)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* A plain file is never full and has one position for all who write it: used as it is. */
static void choose_way(int fd)
{
    struct stat st;
    mode_t mode = fstat(fd, &st) == 0 ? st.st_mode : 0;
    out.fd = fd;
    out.is_socket = S_ISSOCK(mode);
    out.max_piece = SIZE_MAX;
    out.can_fill = S_ISFIFO(mode) || S_ISSOCK(mode) || isatty(fd) != 0;
    out.is_atomic = S_ISFIFO(mode) || !out.can_fill;
    if (S_ISFIFO(mode) || isatty(fd) != 0) {
        out.own_fd = open_again(fd);
        out.max_piece = out.own_fd >= 0 ? SIZE_MAX : PIPE_BUF;
    }
}

void weir_log_setup(const struct weir_log_options *options)
{
    if (out.own_fd >= 0) {
        close(out.own_fd);
        out.own_fd = -1;
    }
    out.style =
        (struct weir_log_style){.format = options->format, .has_colour = wants_colour(options)};
    out.is_torn = false;
    choose_way(options->fd);
    weir_log_set_level(options->level);
}

void weir_log_set_level(enum weir_log_level level)
{
    atomic_store_explicit(&weir_log__threshold, (int)level, memory_order_relaxed);
}

void weir_log_set_clock(weir_log_now_fn now_us)
{
    out.now_us = now_us;
}

void weir_log_set_capture(weir_log_line_fn fn, void *ctx)
{
    pthread_mutex_lock(&out.lock);
    out.capture = fn;
    out.capture_ctx = ctx;
    pthread_mutex_unlock(&out.lock);
}

static int64_t now_us(void)
{
    if (out.now_us != NULL) {
        return out.now_us();
    }
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Also false when the reading end of a pipe is closed: writing would raise SIGPIPE. */
static bool can_write(int fd, int wait_ms)
{
    if (!out.can_fill) {
        return true;
    }
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, wait_ms) == 1 && p.revents == POLLOUT;
}

static ssize_t write_piece(int fd, const char *p, size_t n)
{
    ssize_t got;
    do {
        got = out.is_socket ? send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL) : write(fd, p, n);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* How many bytes went; fewer than all only when the reader is slow or gone. */
static size_t write_bytes(const char *p, size_t n)
{
    int fd = out.own_fd >= 0 ? out.own_fd : out.fd;
    size_t done = 0;
    for (int i = 0; i < MAX_WRITES && done < n; i++) {
        if (!can_write(fd, i == 0 ? 0 : FINISH_WAIT_MS)) {
            break;
        }
        size_t piece = n - done < out.max_piece ? n - done : out.max_piece;
        ssize_t got = write_piece(fd, p + done, piece);
        if (got < 0 && (errno != EAGAIN || done == 0)) {
            break;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return done;
}

/* Under the lock, bytes as in struct weir_log_line. False when they were not written whole. */
static bool deliver(const char *bytes, size_t n)
{
    if (out.capture != NULL) {
        out.capture(out.capture_ctx, weir_slice_make(bytes + 1, n - 1));
        return true;
    }
    size_t skip = out.is_torn ? 0 : 1;
    size_t done = write_bytes(bytes + skip, n - skip);
    if (done != 0) {
        out.is_torn = done != n - skip;
    }
    return done == n - skip;
}

/* Under the lock. Logs how many lines were dropped. False when that could not be written either. */
static bool report_dropped(int64_t now)
{
    uint64_t n = atomic_load_explicit(&n_dropped, memory_order_relaxed);
    if (n == out.n_reported) {
        return true;
    }
    const struct weir_log_field fields[] = {
        weir_log_cstr(NULL, "log lines were dropped, the reader is too slow"),
        weir_log_u64("lines", n - out.n_reported),
    };
    struct weir_log_record r = {WEIR_LOG_LEVEL_WARN, now, "log", NULL, fields, 2};
    struct weir_log_line line;
    weir_log__format(&line, &out.style, &r);
    if (!deliver(line.bytes, line.n)) {
        return false;
    }
    out.n_reported = n;
    return true;
}

static void write_lines(const char *bytes, size_t n, unsigned n_lines)
{
    pthread_mutex_lock(&out.lock);
    if (!report_dropped(now_us()) || !deliver(bytes, n)) {
        atomic_fetch_add_explicit(&n_dropped, n_lines, memory_order_relaxed);
    }
    pthread_mutex_unlock(&out.lock);
}

/* False when the line may not wait: it is written now, behind those that wait. */
static bool hold_line(enum weir_log_level level, const struct weir_log_line *line)
{
    size_t n = line->n - 1;
    if (held == NULL) {
        return false;
    }
    bool can_wait = level < WEIR_LOG_LEVEL_WARN && n <= HELD_BYTES && out.is_atomic;
    if (!can_wait || out.capture != NULL) {
        weir_log_flush();
        return false;
    }
    if (held->n + n > sizeof held->bytes) {
        weir_log_flush();
    }
    memcpy(held->bytes + held->n, line->bytes + 1, n);
    held->n += n;
    held->n_lines++;
    return true;
}

void weir_log_emit(enum weir_log_level level, const char *target, const struct weir_log_ctx *ctx,
                   const struct weir_log_field *fields, size_t n)
{
    struct weir_log_record r = {level, now_us(), target, ctx, fields, n};
    struct weir_log_line line;
    weir_log__format(&line, &out.style, &r);
    if (!hold_line(level, &line)) {
        write_lines(line.bytes, line.n, 1);
    }
}

void weir_log_hold(void)
{
    if (held == NULL) {
        held = weir_mem_alloc(sizeof *held);
        held->n = 1;
        held->n_lines = 0;
        held->bytes[0] = '\n';
    }
}

void weir_log_flush(void)
{
    if (held != NULL && held->n_lines != 0) {
        write_lines(held->bytes, held->n, held->n_lines);
        held->n = 1;
        held->n_lines = 0;
    }
}

void weir_log_release(void)
{
    weir_log_flush();
    free(held);
    held = NULL;
}

uint64_t weir_log_n_dropped(void)
{
    return atomic_load_explicit(&n_dropped, memory_order_relaxed);
}

static double read_dropped(void *ctx)
{
    (void)ctx;
    return (double)weir_log_n_dropped();
}

void weir_log_declare_metrics(void)
{
    static const struct weir_metric_def def = {
        .name = "weir_log_dropped_lines_total",
        .help = "Log lines lost because their reader was too slow.",
        .type = WEIR_METRIC_COUNTER,
    };
    weir_metric_callback(weir_metric_declare(&def), WEIR_METRIC_NO_LABELS, read_dropped, NULL);
}

struct weir_log_field weir_log_err(const char *key, int err)
{
    return weir_log_cstr(key, weir_err_name(err));
}

int weir_log_parse_level(struct weir_slice s, enum weir_log_level *level)
{
    static const char *const names[] = {"trace", "debug", "info", "warn", "error", "off"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (weir_slice_eq_nocase(s, weir_slice_cstr(names[i]))) {
            *level = (enum weir_log_level)i;
            return 0;
        }
    }
    return WEIR_EINVAL;
}

int weir_log_parse_format(struct weir_slice s, enum weir_log_format *format)
{
    static const char *const names[] = {"full", "compact", "pretty", "json", "terminal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (weir_slice_eq_nocase(s, weir_slice_cstr(names[i]))) {
            *format = (enum weir_log_format)i;
            return 0;
        }
    }
    return WEIR_EINVAL;
}
