#include "base/buf.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SMALLEST_BYTES = 64 };

void weir_buf_init(struct weir_buf *b, size_t max_bytes)
{
    *b = (struct weir_buf){.max = max_bytes};
}

void weir_buf_dispose(struct weir_buf *b)
{
    weir_account_sub(b->account, b->cap);
    free(b->p);
    *b = (struct weir_buf){.max = b->max, .account = b->account};
}

static void set_cap(struct weir_buf *b, size_t cap)
{
    if (cap > b->cap) {
        b->p = weir_mem_realloc(b->p, cap);
        weir_account_add(b->account, cap - b->cap);
        b->cap = cap;
    }
}

/* 0 and how much `n` more bytes are in all, or WEIR_ELIMIT. */
static int add_up(const struct weir_buf *b, size_t n, size_t *need)
{
    bool is_too_much = __builtin_add_overflow(b->n, n, need) || *need > SIZE_MAX / 2 ||
                       (b->max != 0 && *need > b->max);
    return is_too_much ? WEIR_ELIMIT : 0;
}

/* `spare` bytes (a NUL that is not content) may lie beyond the ceiling. */
static int grow(struct weir_buf *b, size_t n, size_t spare)
{
    size_t need;
    if (add_up(b, n, &need) != 0) {
        return WEIR_ELIMIT;
    }
    size_t cap = b->cap < SMALLEST_BYTES ? SMALLEST_BYTES : b->cap;
    while (cap < need + spare) {
        cap *= 2;
    }
    if (b->max != 0 && cap - spare > b->max) {
        cap = b->max + spare;
    }
    set_cap(b, cap);
    return 0;
}

int weir_buf_reserve_exact(struct weir_buf *b, size_t n)
{
    size_t need;
    int rc = add_up(b, n, &need);
    if (rc == 0) {
        set_cap(b, need);
    }
    return rc;
}

int weir_buf_reserve(struct weir_buf *b, size_t n)
{
    /* The capacity may exceed the ceiling by a NUL: the ceiling is checked on its own. */
    bool within = b->max == 0 || n <= b->max - b->n;
    return within && n <= b->cap - b->n ? 0 : grow(b, n, 0);
}

int weir_buf_append(struct weir_buf *b, struct weir_slice s)
{
    int rc = weir_buf_reserve(b, s.n);
    if (rc == 0 && s.n != 0) {
        memcpy(b->p + b->n, s.p, s.n);
        b->n += s.n;
    }
    return rc;
}

int weir_buf_append_byte(struct weir_buf *b, char c)
{
    return weir_buf_append(b, weir_slice_make(&c, 1));
}

int weir_buf_append_u64(struct weir_buf *b, uint64_t n)
{
    char digits[WEIR_SLICE_U64_MOST];
    return weir_buf_append(b, weir_slice_of_u64(n, digits));
}

int weir_buf_printf(struct weir_buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    size_t room = b->cap - b->n;
    int n = vsnprintf(room != 0 ? b->p + b->n : NULL, room, fmt, args);
    va_end(args);
    WEIR_ASSERT(n >= 0);
    int rc = 0;
    if ((size_t)n >= room) {
        rc = grow(b, (size_t)n, 1);
        if (rc == 0) {
            vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
        }
    }
    va_end(again);
    if (rc == 0 && b->max != 0 && (size_t)n > b->max - b->n) {
        rc = WEIR_ELIMIT;
    }
    if (rc == 0) {
        b->n += (size_t)n;
    }
    return rc;
}

void weir_buf_consume(struct weir_buf *b, size_t n)
{
    WEIR_ASSERT(n <= b->n);
    b->n -= n;
    if (b->n != 0 && n != 0) {
        memmove(b->p, b->p + n, b->n);
    }
}

const char *weir_buf_cstr(struct weir_buf *b)
{
    if (b->n == b->cap) {
        int rc = grow(b, 0, 1);
        WEIR_ASSERT(rc == 0);
    }
    b->p[b->n] = '\0';
    return b->p;
}
