#ifndef WEIR_BASE_SLICE_H
#define WEIR_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A string is a pointer and a length, passed by value. A slice borrows: whoever made the bytes says
 * how long they live. All-zero is the empty slice. Not NUL-terminated.
 */
struct weir_slice {
    const char *p;
    size_t n;
};

#define WEIR_SLICE(literal) ((struct weir_slice){("" literal), sizeof(literal) - 1})

static inline struct weir_slice weir_slice_make(const char *p, size_t n)
{
    return (struct weir_slice){p, n};
}

static inline struct weir_slice weir_slice_cstr(const char *s)
{
    return (struct weir_slice){s, s != NULL ? strlen(s) : 0};
}

/* The part from `from` to `to` (exclusive); both must lie inside. NULL plus 0 is not C. */
static inline struct weir_slice weir_slice_sub(struct weir_slice s, size_t from, size_t to)
{
    return (struct weir_slice){from != 0 ? s.p + from : s.p, to - from};
}

static inline bool weir_slice_eq(struct weir_slice a, struct weir_slice b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool weir_slice_eq_cstr(struct weir_slice a, const char *s)
{
    return weir_slice_eq(a, weir_slice_cstr(s));
}

static inline bool weir_slice_starts_with(struct weir_slice s, struct weir_slice prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

static inline bool weir_slice_ends_with(struct weir_slice s, struct weir_slice suffix)
{
    return s.n >= suffix.n &&
           (suffix.n == 0 || memcmp(s.p + (s.n - suffix.n), suffix.p, suffix.n) == 0);
}

/* ASCII letters compare without case; every other byte as it is. */
bool weir_slice_eq_nocase(struct weir_slice a, struct weir_slice b);

/* <0, 0, >0 as memcmp; a prefix sorts first. */
int weir_slice_cmp(struct weir_slice a, struct weir_slice b);

/* Index of the first `c`, or s.n when there is none. */
size_t weir_slice_find(struct weir_slice s, char c);

/* Without spaces and tabs at both ends. */
struct weir_slice weir_slice_trim(struct weir_slice s);

/*
 * Cuts off and returns what stands before the first `sep`, moving `*rest` behind it. Without `sep`
 * the whole is returned and `*rest` becomes empty with p == NULL, which ends a loop on `rest->p`.
 */
struct weir_slice weir_slice_cut(struct weir_slice *rest, char sep);

/* Digits only, at least one, no sign, no overflow: 0 or WEIR_EINVAL. */
int weir_slice_u64(struct weir_slice s, uint64_t *out);

/* The other way round; `digits` is where they are written. */
enum { WEIR_SLICE_U64_MOST = 20 }; /* digits, as many as 2^64 - 1 has */
struct weir_slice weir_slice_of_u64(uint64_t n, char digits[WEIR_SLICE_U64_MOST]);

/* Same time whatever the content: for keys and tokens. Lengths are not secret. */
bool weir_slice_eq_secret(struct weir_slice a, struct weir_slice b);

#endif
