/*
 * Two counters: all connections, and callers among them. A take adds first and looks then, so that
 * threads that take at the same time cannot both have the last place.
 */
#include "io/fds.h"

#include "base/err.h"
#include "obs/log.h"
#include "obs/metric.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    /* epoll, wake-up, two for signals, libuv's spare, the listener, two for names */
    PER_LOOP = 8,
    HEALTH_ROOM = 16,
    REFUSED_ROOM = 16,
    /* spare, health listener, watched folder, configuration and certificates while they are read,
     * /proc for metrics, XML schema processes: some of each */
    FILES = 32,
    FIXED = FILES + HEALTH_ROOM + REFUSED_ROOM,
    MIN_CONNECTIONS = 16,
    MAX_LOOKED_AT = 4096, /* no parent process leaves us more descriptors than this */
    MAX_TURNED_AWAY = 64, /* at a time, then the loop has others to serve */
    LOG_EVERY_S = 10,
};

static struct {
    atomic_size_t max_connections; /* 0: no limit */
    atomic_size_t max_callers;
    atomic_size_t n_connections;
    atomic_size_t n_callers;
    atomic_size_t n_refused;
} table;

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static int spare = -1;

/* Who went without. */
enum who { WHO_CALLER, WHO_SERVICE, WHO_HEALTH, WHO_ACCEPT, N_WHO };

static const char *const WHO[N_WHO] = {"caller", "service", "health", "accept"};
static struct weir_metric_counter exhausted[N_WHO];

void weir_fds_declare_metrics(void)
{
    static const struct weir_metric_def def = {
        .name = "weir_descriptors_exhausted_total",
        .help = "Connections not made for want of file descriptors: a caller or a health probe "
                "refused, a service not called, accept failed.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"who"},
    };
    struct weir_metric_family *f = weir_metric_declare(&def);
    for (size_t i = 0; i < N_WHO; i++) {
        exhausted[i] = weir_metric_counter(f, WEIR_METRIC_LABELS(weir_slice_cstr(WHO[i])));
    }
}

/* Always counted, but logged only now and then: it happens thousands of times in a row. */
static void note(enum who who)
{
    static _Atomic int64_t said_s[N_WHO];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    weir_metric_add(exhausted[who], 1);
    int64_t last_s = atomic_load_explicit(&said_s[who], memory_order_relaxed);
    bool is_due = last_s == 0 || now.tv_sec >= last_s + LOG_EVERY_S;
    if (is_due && atomic_compare_exchange_strong(&said_s[who], &last_s, now.tv_sec)) {
        WEIR_LOG_WARN("server", NULL, "out of file descriptors", weir_log_cstr("who", WHO[who]),
                      weir_log_u64("connections", atomic_load(&table.n_connections)),
                      weir_log_u64("max_connections", atomic_load(&table.max_connections)),
                      weir_log_cstr("advice", "raise the limit of open files (ulimit -n, "
                                              "LimitNOFILE= of systemd)"));
    }
}

struct weir_fds_room weir_fds_divide(size_t limit, size_t n_open, size_t n_loops)
{
    size_t fixed = n_open + n_loops * PER_LOOP + FIXED;
    struct weir_fds_room r = {.limit = limit, .needed = fixed + MIN_CONNECTIONS};
    if (limit >= r.needed) {
        r.connections = limit - fixed;
        r.callers = r.connections / 2;
    }
    return r;
}

void weir_fds_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static size_t read_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT32_MAX) {
        return INT32_MAX;
    }
    return limit.rlim_cur;
}

/* Asked one by one: a look into /proc would need a descriptor. */
static size_t count_open(size_t limit)
{
    size_t n = 0;
    for (int fd = 0; fd < MAX_LOOKED_AT && (size_t)fd < limit; fd++) {
        n += fcntl(fd, F_GETFD) != -1;
    }
    return n;
}

static void take_spare(void)
{
    if (spare < 0) {
        spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
}

void weir_fds_set_room(const struct weir_fds_room *room)
{
    atomic_store(&table.max_callers, room != NULL ? room->callers : 0);
    atomic_store(&table.max_connections, room != NULL ? room->connections : 0);
    if (room == NULL) {
        atomic_store(&table.n_connections, 0);
        atomic_store(&table.n_callers, 0);
        atomic_store(&table.n_refused, 0);
    }
}

int weir_fds_init(size_t n_loops, struct weir_fds_room *room)
{
    weir_fds_raise_limit();
    size_t limit = read_limit();
    *room = weir_fds_divide(limit, count_open(limit), n_loops);
    if (room->connections == 0) {
        return WEIR_ELIMIT;
    }
    pthread_mutex_lock(&spare_lock);
    take_spare();
    pthread_mutex_unlock(&spare_lock);
    weir_fds_set_room(room);
    return 0;
}

static bool add_within(atomic_size_t *n, size_t max)
{
    if (atomic_fetch_add_explicit(n, 1, memory_order_relaxed) < max) {
        return true;
    }
    atomic_fetch_sub_explicit(n, 1, memory_order_relaxed);
    return false;
}

static void subtract(atomic_size_t *n)
{
    atomic_fetch_sub_explicit(n, 1, memory_order_relaxed);
}

static bool try_take(enum weir_fds_use use, size_t max)
{
    switch (use) {
    case WEIR_FDS_REFUSED:
        return add_within(&table.n_refused, max != SIZE_MAX ? REFUSED_ROOM : SIZE_MAX);
    case WEIR_FDS_HEALTH:
        return add_within(&table.n_connections, max != SIZE_MAX ? max + HEALTH_ROOM : SIZE_MAX);
    case WEIR_FDS_SERVICE:
        return add_within(&table.n_connections, max);
    case WEIR_FDS_CALLER:
        break;
    }
    size_t max_callers = max != SIZE_MAX ? atomic_load(&table.max_callers) : SIZE_MAX;
    if (!add_within(&table.n_callers, max_callers)) {
        return false;
    }
    if (!add_within(&table.n_connections, max)) {
        subtract(&table.n_callers);
        return false;
    }
    return true;
}

bool weir_fds_take(enum weir_fds_use use)
{
    static const enum who who[] = {[WEIR_FDS_CALLER] = WHO_CALLER,
                                   [WEIR_FDS_SERVICE] = WHO_SERVICE,
                                   [WEIR_FDS_HEALTH] = WHO_HEALTH};
    size_t max = atomic_load_explicit(&table.max_connections, memory_order_relaxed);
    if (try_take(use, max != 0 ? max : SIZE_MAX)) {
        return true;
    }
    if (use != WEIR_FDS_REFUSED) {
        note(who[use]);
    }
    return false;
}

void weir_fds_give(enum weir_fds_use use)
{
    if (use == WEIR_FDS_REFUSED) {
        subtract(&table.n_refused);
        return;
    }
    subtract(&table.n_connections);
    if (use == WEIR_FDS_CALLER) {
        subtract(&table.n_callers);
    }
}

void weir_fds_note_unconnected(void)
{
    note(WHO_SERVICE);
}

void weir_fds_turn_away(int listener_fd)
{
    note(WHO_ACCEPT);
    pthread_mutex_lock(&spare_lock);
    take_spare();
    if (spare >= 0) {
        close(spare);
        spare = -1;
        int fd = 0;
        /* Another thread may take the descriptor that was just freed; then accept fails, and
         * that is all. */
        for (int i = 0; i < MAX_TURNED_AWAY && fd >= 0; i++) {
            fd = accept4(listener_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd >= 0) {
                close(fd);
            }
        }
        take_spare();
    }
    pthread_mutex_unlock(&spare_lock);
}
