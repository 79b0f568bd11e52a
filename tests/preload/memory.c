/*
 * Loaded before the C library (LD_PRELOAD): allocations that fail. WEIR_MEMORY names a file of
 * numbers that the test maps, too (tests/integration/test_memory_runs_out.py). All zero: nothing
 * happens.
 *
 *   [LEFT]     how many allocations still succeed; the one behind them fails, and LEFT is 0 then
 *   [FAILING]  how many fail in a row, at least 1
 *   [LEAST]    smaller ones do not count
 *   [SEEN]     how many were asked for, of those that count
 *   [FAILED]   how many have failed
 *
 * Only allocations of the server's program and its libraries count that are asked for while the
 * test says so; who asks is not known, which is the point.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEFT, FAILING, LEAST, SEEN, FAILED, N_NUMBERS = 64 };

static _Atomic int64_t *wires;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("WEIR_MEMORY");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    void *p = mmap(NULL, N_NUMBERS * sizeof *wires, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    wires = p != MAP_FAILED ? p : NULL;
    close(fd);
}

static bool fails(size_t n)
{
    if (wires == NULL || (int64_t)n < atomic_load(&wires[LEAST])) {
        return false;
    }
    atomic_fetch_add(&wires[SEEN], 1);
    if (atomic_load(&wires[LEFT]) == 0) {
        return false;
    }
    int64_t left = atomic_fetch_sub(&wires[LEFT], 1);
    if (left > atomic_load(&wires[FAILING])) {
        return false;
    }
    atomic_fetch_add(&wires[FAILED], 1);
    errno = ENOMEM;
    return true;
}

#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (real == NULL) {                                                                            \
        real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                         \
    }

void *malloc(size_t n)
{
    REAL(malloc);
    return fails(n) ? NULL : real(n);
}

void *realloc(void *p, size_t n)
{
    REAL(realloc);
    return fails(n) ? NULL : real(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    REAL(aligned_alloc);
    return fails(n) ? NULL : real(alignment, n);
}

/* dlsym itself may ask for zeroed memory before the real one is known: the C library's other name
 * for it needs no dlsym. */
extern void *__libc_calloc(size_t count, size_t size);

void *calloc(size_t count, size_t size)
{
    static __typeof__(&calloc) real;
    static bool is_looking;
    if (real == NULL && !is_looking) {
        is_looking = true;
        real = (__typeof__(&calloc))dlsym(RTLD_NEXT, "calloc");
    }
    if (real == NULL) {
        return __libc_calloc(count, size);
    }
    return fails(count * size) ? NULL : real(count, size);
}
