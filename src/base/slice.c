#include "base/slice.h"

#include "base/err.h"

static inline unsigned char lower(char c)
{
    unsigned char u = (unsigned char)c;
    return (u >= 'A' && u <= 'Z') ? (unsigned char)(u | 0x20) : u;
}

bool weir_slice_eq_nocase(struct weir_slice a, struct weir_slice b)
{
    if (a.n != b.n) {
        return false;
    }
    for (size_t i = 0; i < a.n; i++) {
        if (lower(a.p[i]) != lower(b.p[i])) {
            return false;
        }
    }
    return true;
}

int weir_slice_cmp(struct weir_slice a, struct weir_slice b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n != 0 ? memcmp(a.p, b.p, n) : 0;
    if (c != 0) {
        return c;
    }
    return (a.n > b.n) - (a.n < b.n);
}

size_t weir_slice_find(struct weir_slice s, char c)
{
    const char *hit = s.n != 0 ? memchr(s.p, c, s.n) : NULL;
    return hit != NULL ? (size_t)(hit - s.p) : s.n;
}

struct weir_slice weir_slice_trim(struct weir_slice s)
{
    while (s.n != 0 && (s.p[0] == ' ' || s.p[0] == '\t')) {
        s.p++;
        s.n--;
    }
    while (s.n != 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t')) {
        s.n--;
    }
    return s;
}

struct weir_slice weir_slice_cut(struct weir_slice *rest, char sep)
{
    size_t at = weir_slice_find(*rest, sep);
    struct weir_slice head = {rest->p, at};
    if (at == rest->n) {
        *rest = (struct weir_slice){NULL, 0};
    } else {
        *rest = weir_slice_sub(*rest, at + 1, rest->n);
    }
    return head;
}

int weir_slice_u64(struct weir_slice s, uint64_t *out)
{
    uint64_t v = 0;
    if (s.n == 0) {
        return WEIR_EINVAL;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return WEIR_EINVAL;
        }
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v)) {
            return WEIR_EINVAL;
        }
    }
    *out = v;
    return 0;
}

bool weir_slice_eq_secret(struct weir_slice a, struct weir_slice b)
{
    if (a.n != b.n) {
        return false;
    }
    volatile unsigned char diff = 0;
    for (size_t i = 0; i < a.n; i++) {
        diff = (unsigned char)(diff | (unsigned char)(a.p[i] ^ b.p[i]));
    }
    return diff == 0;
}

struct weir_slice weir_slice_of_u64(uint64_t n, char digits[WEIR_SLICE_U64_MOST])
{
    size_t at = WEIR_SLICE_U64_MOST;
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n != 0);
    return weir_slice_make(digits + at, WEIR_SLICE_U64_MOST - at);
}
