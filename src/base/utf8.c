#include "base/utf8.h"

/* Eight bytes at once: all ASCII when no high bit is set. */
static inline bool is_ascii8(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return (w & 0x8080808080808080u) == 0;
}

/* The same of four to eight bytes, as a token's last ones are: the first four and the last four. */
static inline bool is_ascii_4_to_8(const char *p, size_t n)
{
    uint32_t first;
    uint32_t last;
    memcpy(&first, p, sizeof first);
    memcpy(&last, p + n - sizeof last, sizeof last);
    return ((first | last) & 0x80808080u) == 0;
}

/* Length of the valid sequence at p, which has n >= 1 bytes; 0 when it is not one. */
static size_t sequence(const unsigned char *p, size_t n)
{
    unsigned char lead = p[0];
    if (lead < 0x80) {
        return 1;
    }
    size_t len = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || n < len) {
        return 0;
    }
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    switch (lead) {
    case 0xE0: /* overlong below */
        low = 0xA0;
        break;
    case 0xED: /* surrogates above */
        high = 0x9F;
        break;
    case 0xF0: /* overlong below */
        low = 0x90;
        break;
    case 0xF4: /* beyond U+10FFFF above */
        high = 0x8F;
        break;
    default:
        break;
    }
    if (p[1] < low || p[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return len;
}

size_t weir_utf8_sequence(struct weir_slice s)
{
    return s.n != 0 ? sequence((const unsigned char *)s.p, s.n) : 0;
}

size_t weir_utf8_valid_prefix(struct weir_slice s)
{
    size_t i = 0;
    while (i < s.n) {
        if (s.n - i >= 8 && is_ascii8(s.p + i)) {
            i += 8;
            continue;
        }
        if (s.n - i >= 4 && s.n - i < 8 && is_ascii_4_to_8(s.p + i, s.n - i)) {
            return s.n;
        }
        size_t len = sequence((const unsigned char *)s.p + i, s.n - i);
        if (len == 0) {
            return i;
        }
        i += len;
    }
    return i;
}

static inline bool is_lead(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* Lead bytes among eight: those without the pattern 10xxxxxx. */
static inline size_t count8(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    uint64_t trail = (w >> 7) & ~(w >> 6) & 0x0101010101010101u;
    return 8 - (size_t)__builtin_popcountll(trail);
}

size_t weir_utf8_count(struct weir_slice s)
{
    size_t n_cp = 0;
    size_t i = 0;
    for (; s.n - i >= 8; i += 8) {
        n_cp += count8(s.p + i);
    }
    if (s.n - i >= 4 && is_ascii_4_to_8(s.p + i, s.n - i)) {
        return n_cp + (s.n - i);
    }
    for (; i < s.n; i++) {
        n_cp += is_lead(s.p[i]);
    }
    return n_cp;
}

size_t weir_utf8_back(struct weir_slice s, size_t at, size_t n_cp)
{
    for (; at > 0 && n_cp > 0; n_cp--) {
        at--;
        while (at > 0 && !is_lead(s.p[at])) {
            at--;
        }
    }
    return at;
}

size_t weir_utf8_floor(struct weir_slice s, size_t at)
{
    if (at >= s.n) {
        return s.n;
    }
    while (at != 0 && !is_lead(s.p[at])) {
        at--;
    }
    return at;
}

size_t weir_utf8_byte_at(struct weir_slice s, size_t at_cp)
{
    size_t seen_cp = 0;
    size_t i = 0;
    while (s.n - i >= 8) {
        size_t c = count8(s.p + i);
        if (seen_cp + c > at_cp) {
            break;
        }
        seen_cp += c;
        i += 8;
    }
    for (; i < s.n; i++) {
        if (is_lead(s.p[i])) {
            if (seen_cp == at_cp) {
                return i;
            }
            seen_cp++;
        }
    }
    return s.n;
}

uint32_t weir_utf8_decode(struct weir_slice s, size_t *n_bytes)
{
    const unsigned char *p = (const unsigned char *)s.p;
    if (p[0] < 0x80) {
        *n_bytes = 1;
        return p[0];
    }
    if (p[0] < 0xE0) {
        *n_bytes = 2;
        return ((p[0] & 0x1Fu) << 6) | (p[1] & 0x3Fu);
    }
    if (p[0] < 0xF0) {
        *n_bytes = 3;
        return ((p[0] & 0x0Fu) << 12) | ((p[1] & 0x3Fu) << 6) | (p[2] & 0x3Fu);
    }
    *n_bytes = 4;
    return ((p[0] & 0x07u) << 18) | ((p[1] & 0x3Fu) << 12) | ((p[2] & 0x3Fu) << 6) | (p[3] & 0x3Fu);
}

size_t weir_utf8_encode(uint32_t cp, char out[4])
{
    if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF)) {
        cp = 0xFFFD;
    }
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | (cp >> 6));
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | (cp >> 12));
        out[1] = (char)(0x80 | ((cp >> 6) & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | (cp >> 18));
    out[1] = (char)(0x80 | ((cp >> 12) & 0x3F));
    out[2] = (char)(0x80 | ((cp >> 6) & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

bool weir_utf8_is_space(uint32_t cp)
{
    return (cp >= 0x09 && cp <= 0x0D) || cp == 0x20 || cp == 0x85 || cp == 0xA0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 || cp == 0x202F ||
           cp == 0x205F || cp == 0x3000;
}
