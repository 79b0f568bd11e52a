#ifndef WEIR_DETECT_ASCII_H
#define WEIR_DETECT_ASCII_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Classes of ASCII bytes, whatever the locale, and looking around in a text. */

static inline bool weir_ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool weir_ascii_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool weir_ascii_is_alpha(char c)
{
    return weir_ascii_is_upper(c) || (c >= 'a' && c <= 'z');
}

static inline bool weir_ascii_is_alnum(char c)
{
    return weir_ascii_is_alpha(c) || weir_ascii_is_digit(c);
}

static inline bool weir_ascii_is_hex(char c)
{
    return weir_ascii_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static inline bool weir_ascii_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline char weir_ascii_lower(char c)
{
    return weir_ascii_is_upper(c) ? (char)(c + ('a' - 'A')) : c;
}

/* The byte at `at`, or NUL outside of the text; `before` is the one before `at`. */
static inline char weir_ascii_at(struct weir_slice s, size_t at)
{
    return at < s.n ? s.p[at] : '\0';
}

static inline char weir_ascii_before(struct weir_slice s, size_t at)
{
    return at > 0 && at <= s.n ? s.p[at - 1] : '\0';
}

/* The first byte from `at` that is not ASCII, or the end. */
static inline size_t weir_ascii_skip(struct weir_slice s, size_t at)
{
    uint64_t block;
    while (at + sizeof block <= s.n) {
        memcpy(&block, s.p + at, sizeof block);
        if ((block & 0x8080808080808080u) != 0) {
            break;
        }
        at += sizeof block;
    }
    while (at < s.n && (unsigned char)s.p[at] < 0x80) {
        at++;
    }
    return at;
}

/* Does `s` contain the lower-case `needle`, letters in any case? For short texts. */
static inline bool weir_ascii_contains(struct weir_slice s, const char *needle)
{
    size_t n = strlen(needle);
    for (size_t i = 0; i + n <= s.n; i++) {
        size_t k = 0;
        while (k < n && weir_ascii_lower(s.p[i + k]) == needle[k]) {
            k++;
        }
        if (k == n) {
            return true;
        }
    }
    return false;
}

#endif
