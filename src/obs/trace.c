#include "obs/trace.h"

#include "base/assert.h"
#include "base/err.h"

#include <sys/random.h>

/* xoshiro256**: small, fast, passes the usual statistical tests. All-zero is not seeded yet. */
static _Thread_local uint64_t state[4];

static inline uint64_t rotl(uint64_t x, int b)
{
    return (x << b) | (x >> (64 - b));
}

static void seed(void)
{
    do {
        ssize_t got = getrandom(state, sizeof state, 0);
        WEIR_ASSERT(got == (ssize_t)sizeof state);
    } while ((state[0] | state[1] | state[2] | state[3]) == 0);
}

uint64_t weir_trace_random(void)
{
    if ((state[0] | state[1] | state[2] | state[3]) == 0) {
        seed();
    }
    uint64_t result = rotl(state[1] * 5, 7) * 9;
    uint64_t t = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= t;
    state[3] = rotl(state[3], 45);
    return result;
}

/* Fills `n` bytes, a multiple of eight, not all of them zero: all-zero ids are invalid. */
static void random_id(uint8_t *out, size_t n)
{
    uint64_t seen = 0;
    do {
        for (size_t i = 0; i < n; i += 8) {
            uint64_t r = weir_trace_random();
            memcpy(out + i, &r, 8);
            seen |= r;
        }
    } while (seen == 0);
}

static char *put_hex(char *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    return out;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 2n digits at `p` to n bytes. False when one is not a lower-case digit. */
static bool take_hex(const char *p, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int high = digit_value(p[2 * i]);
        int low = digit_value(p[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool is_zero(const uint8_t *p, size_t n)
{
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++) {
        any |= p[i];
    }
    return any == 0;
}

int weir_trace_parse(struct weir_slice s, struct weir_trace *out)
{
    struct weir_trace t;
    uint8_t version;
    if (s.n < WEIR_TRACE_PARENT_BYTES || s.p[2] != '-' || s.p[35] != '-' || s.p[52] != '-') {
        return WEIR_EBAD;
    }
    if (!take_hex(s.p, &version, 1) || !take_hex(s.p + 3, t.trace_id, sizeof t.trace_id) ||
        !take_hex(s.p + 36, t.span_id, sizeof t.span_id) || !take_hex(s.p + 53, &t.flags, 1)) {
        return WEIR_EBAD;
    }
    bool has_more = s.n > WEIR_TRACE_PARENT_BYTES;
    if (version == 0xFF || (has_more && (version == 0 || s.p[WEIR_TRACE_PARENT_BYTES] != '-'))) {
        return WEIR_EBAD;
    }
    if (is_zero(t.trace_id, sizeof t.trace_id) || is_zero(t.span_id, sizeof t.span_id)) {
        return WEIR_EBAD;
    }
    t.flags &= WEIR_TRACE_SAMPLED;
    *out = t;
    return 0;
}

void weir_trace_format(const struct weir_trace *t, char out[WEIR_TRACE_PARENT_BYTES + 1])
{
    uint8_t version = 0;
    char *p = put_hex(out, &version, 1);
    *p++ = '-';
    p = put_hex(p, t->trace_id, sizeof t->trace_id);
    *p++ = '-';
    p = put_hex(p, t->span_id, sizeof t->span_id);
    *p++ = '-';
    p = put_hex(p, &t->flags, 1);
    *p = '\0';
}

void weir_trace_start(struct weir_trace *out, bool is_sampled)
{
    random_id(out->trace_id, sizeof out->trace_id);
    random_id(out->span_id, sizeof out->span_id);
    out->flags = is_sampled ? WEIR_TRACE_SAMPLED : 0;
}

void weir_trace_child(const struct weir_trace *parent, struct weir_trace *out)
{
    struct weir_trace t = *parent;
    random_id(t.span_id, sizeof t.span_id);
    *out = t;
}

void weir_trace_id_hex(const struct weir_trace *t, char out[WEIR_TRACE_ID_BYTES + 1])
{
    *put_hex(out, t->trace_id, sizeof t->trace_id) = '\0';
}

void weir_trace_request_id(char out[WEIR_TRACE_ID_BYTES + 1])
{
    uint8_t id[WEIR_TRACE_ID_BYTES / 2];
    random_id(id, sizeof id);
    *put_hex(out, id, sizeof id) = '\0';
}
