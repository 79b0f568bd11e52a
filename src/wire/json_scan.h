#ifndef WEIR_WIRE_JSON_SCAN_H
#define WEIR_WIRE_JSON_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/*
 * Looking for the end of a run inside a JSON string: the first quote, backslash or control
 * character. Nearly all bytes a gateway reads are inside strings, so this runs 16 bytes at a time
 * where SSE2 is, 8 at a time elsewhere and near the end; it never reads outside [p, end).
 */

static inline bool weir_json__is_plain(char c)
{
    return c != '"' && c != '\\' && (unsigned char)c >= 0x20;
}

static inline uint64_t weir_json__zero_bytes(uint64_t w)
{
    return (w - 0x0101010101010101u) & ~w & 0x8080808080808080u;
}

/* High bit set in some byte if one of the eight is not plain; exact in saying "all plain". */
static inline uint64_t weir_json__not_plain8(uint64_t w)
{
    uint64_t quote = weir_json__zero_bytes(w ^ 0x2222222222222222u);
    uint64_t slash = weir_json__zero_bytes(w ^ 0x5C5C5C5C5C5C5C5Cu);
    uint64_t control = (w - 0x2020202020202020u) & ~w & 0x8080808080808080u;
    return quote | slash | control;
}

/*
 * The first byte in [p, end) that is not plain, or `end`. `*high` becomes non-zero when a byte
 * before it is not ASCII, and is left alone otherwise.
 */
static inline const char *weir_json__scan(const char *p, const char *end, uint64_t *high)
{
#if defined(__SSE2__)
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
        __m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v);
        __m128i stop = _mm_or_si128(_mm_or_si128(quote, slash), control);
        unsigned stops = (unsigned)_mm_movemask_epi8(stop);
        unsigned highs = (unsigned)_mm_movemask_epi8(v);
        if (stops != 0) {
            *high |= highs & ((stops & -stops) - 1);
            return p + __builtin_ctz(stops);
        }
        *high |= highs;
        p += 16;
    }
#endif
    for (; end - p >= 8; p += 8) {
        uint64_t w;
        memcpy(&w, p, sizeof w);
        if (weir_json__not_plain8(w) != 0) {
            break;
        }
        *high |= w & 0x8080808080808080u;
    }
    for (; p != end && weir_json__is_plain(*p); p++) {
        *high |= (unsigned char)*p & 0x80u;
    }
    return p;
}

#endif
