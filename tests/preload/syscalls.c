/*
 * Loaded before the C library (LD_PRELOAD): system calls that fail as often as a test says, and a
 * clock that jumps. The test holds the wires: WEIR_SYSCALLS names a file of numbers, mapped by both
 * sides (tests/integration/test_syscalls.py). All zero: nothing happens.
 *
 *   [call] = n       every n-th such call fails
 *   [ERRNO + call]   with this error; 0: a short read or write of one byte
 *   [COUNT + call]   how many have failed
 *   [CLOCK]          milliseconds that the monotonic clock is ahead, [WALL] the clock on the wall
 *
 * Reading and writing fail on connections only: what a program tells itself is not a peer's doing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { ACCEPT, READ, WRITE, OPEN, EPOLL, SOCKET, N_CALLS = 8 };
enum { ERRNO = N_CALLS, COUNT = 2 * N_CALLS, CLOCK = 3 * N_CALLS, WALL, N_NUMBERS = 64 };

static _Atomic int64_t *wires;
static _Atomic int64_t calls[N_CALLS];

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("WEIR_SYSCALLS");
    REAL(open);
    int fd = path != NULL ? real(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    void *p = mmap(NULL, N_NUMBERS * sizeof *wires, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    wires = p != MAP_FAILED ? p : NULL;
    close(fd);
}

/* Is it this call's turn? */
static bool fails(int call)
{
    int64_t every = wires != NULL ? atomic_load(&wires[call]) : 0;
    if (every == 0 || (atomic_fetch_add(&calls[call], 1) + 1) % every != 0) {
        return false;
    }
    atomic_fetch_add(&wires[COUNT + call], 1);
    errno = (int)atomic_load(&wires[ERRNO + call]);
    return true;
}

static bool is_connection(int fd)
{
    struct sockaddr_storage name;
    socklen_t n = sizeof name;
    int kept = errno;
    bool is = getsockname(fd, (struct sockaddr *)&name, &n) == 0 && name.ss_family == AF_INET;
    errno = kept;
    return is;
}

int accept4(int fd, struct sockaddr *restrict name, socklen_t *restrict n, int flags)
{
    REAL(accept4);
    return fails(ACCEPT) ? -1 : real(fd, name, n, flags);
}

int socket(int domain, int type, int protocol)
{
    REAL(socket);
    return fails(SOCKET) ? -1 : real(domain, type, protocol);
}

ssize_t read(int fd, void *p, size_t n)
{
    REAL(read);
    if (wires != NULL && n != 0 && is_connection(fd) && fails(READ)) {
        return errno != 0 ? -1 : real(fd, p, 1);
    }
    return real(fd, p, n);
}

/* A write that does not go as asked; true with its result. As with the kernel, who cannot write
 * because the connection is gone cannot read from it either. */
static bool is_spoilt(int fd, const struct iovec *v, size_t n, ssize_t *result)
{
    if (wires == NULL || n == 0 || v[0].iov_len == 0 || !is_connection(fd) || !fails(WRITE)) {
        return false;
    }
    int err = errno;
    if (err == EPIPE || err == ECONNRESET) {
        shutdown(fd, SHUT_RDWR);
    }
    REAL(send);
    *result = err != 0 ? -1 : real(fd, v[0].iov_base, 1, MSG_NOSIGNAL);
    errno = err != 0 ? err : errno;
    return true;
}

ssize_t write(int fd, const void *p, size_t n)
{
    REAL(write);
    ssize_t result;
    struct iovec v = {.iov_base = (void *)(uintptr_t)p, .iov_len = n};
    return is_spoilt(fd, &v, 1, &result) ? result : real(fd, p, n);
}

ssize_t writev(int fd, const struct iovec *v, int n)
{
    REAL(writev);
    ssize_t result;
    return is_spoilt(fd, v, n > 0 ? (size_t)n : 0, &result) ? result : real(fd, v, n);
}

ssize_t send(int fd, const void *p, size_t n, int flags)
{
    REAL(send);
    ssize_t result;
    struct iovec v = {.iov_base = (void *)(uintptr_t)p, .iov_len = n};
    return is_spoilt(fd, &v, 1, &result) ? result : real(fd, p, n, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    REAL(sendmsg);
    ssize_t result;
    return is_spoilt(fd, m->msg_iov, m->msg_iovlen, &result) ? result : real(fd, m, flags);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    REAL(open);
    return fails(OPEN) ? -1 : real(path, flags, mode);
}

int epoll_wait(int fd, struct epoll_event *events, int n, int ms)
{
    REAL(epoll_wait);
    return fails(EPOLL) ? -1 : real(fd, events, n, ms);
}

int epoll_pwait(int fd, struct epoll_event *events, int n, int ms, const sigset_t *mask)
{
    REAL(epoll_pwait);
    return fails(EPOLL) ? -1 : real(fd, events, n, ms, mask);
}

int clock_gettime(clockid_t id, struct timespec *at)
{
    REAL(clock_gettime);
    int rc = real(id, at);
    bool is_wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
    int64_t ahead = wires != NULL ? atomic_load(&wires[is_wall ? WALL : CLOCK]) : 0;
    if (rc == 0 && ahead != 0) {
        int64_t ns = at->tv_nsec + ahead % 1000 * 1000000;
        at->tv_sec += ahead / 1000 + (ns < 0 ? -1 : ns / 1000000000);
        at->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
    }
    return rc;
}
