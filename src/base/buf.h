#ifndef WEIR_BASE_BUF_H
#define WEIR_BASE_BUF_H

#include "base/account.h"
#include "base/slice.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A growing contiguous run of bytes with a ceiling. Full is an answer (WEIR_ELIMIT), not an
 * accident, and a refused append changes nothing. `max` 0 means no ceiling: only for what no peer
 * can size. With an account (set after init, while empty) its memory counts there. All-zero is a
 * valid empty buffer.
 */
struct weir_buf {
    char *p; /* NULL while nothing was ever appended */
    size_t n;
    size_t cap;
    size_t max;
    struct weir_account *account;
};

static inline struct weir_slice weir_buf_slice(const struct weir_buf *b)
{
    return (struct weir_slice){b->p, b->n};
}

void weir_buf_init(struct weir_buf *b, size_t max_bytes);
void weir_buf_dispose(struct weir_buf *b); /* keeps `max` and `account` */

int weir_buf_append(struct weir_buf *b, struct weir_slice s);
int weir_buf_append_byte(struct weir_buf *b, char c);
int weir_buf_append_u64(struct weir_buf *b, uint64_t n); /* in decimal digits */
int weir_buf_printf(struct weir_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Room for `n` more bytes at p + n, to be filled and then claimed by adding to `n`. */
int weir_buf_reserve(struct weir_buf *b, size_t n);

/* The same where it is known that no more will come: without room for growth. */
int weir_buf_reserve_exact(struct weir_buf *b, size_t n);

/* Drops the first `n` bytes, moving the rest to the front. Not for loops over large buffers. */
void weir_buf_consume(struct weir_buf *b, size_t n);

/* Empty, memory kept. */
static inline void weir_buf_clear(struct weir_buf *b)
{
    b->n = 0;
}

/* NUL-terminates without counting it and returns p: for C interfaces. */
const char *weir_buf_cstr(struct weir_buf *b);

#endif
