#ifndef WEIR_DETECT_ASCII_H
#define WEIR_DETECT_ASCII_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Classes of ASCII bytes, whatever the locale, and looking around in a text. */

/*
 * A text that is still being written: whoever asks for a byte behind its end gets an answer that
 * more text may change. The one who judges it sets `end`, clears `is_met`, and knows by `is_met`
 * afterwards whether his judgement stands whatever follows. So all that look ahead in a text ask
 * through the functions below, or say weir_ascii_meet. Per thread; NULL: nobody wants to know.
 */
struct weir_ascii_edge {
    const char *end; /* one past the last byte that is there */
    bool is_met;
};

extern _Thread_local struct weir_ascii_edge weir_ascii_edge;

/* Somebody looked behind the end of `s`. */
static inline void weir_ascii_meet(struct weir_slice s)
{
    if (s.p + s.n == weir_ascii_edge.end) {
        weir_ascii_edge.is_met = true;
    }
}

/* Is there a byte at `at`? */
static inline bool weir_ascii_has(struct weir_slice s, size_t at)
{
    if (at < s.n) {
        return true;
    }
    weir_ascii_meet(s);
    return false;
}

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
    return weir_ascii_has(s, at) ? s.p[at] : '\0';
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

/* Does `word` stand at `at`, letters in any case? */
static inline bool weir_ascii_follows(struct weir_slice s, size_t at, const char *word)
{
    size_t n = 0;
    while (word[n] != '\0' && weir_ascii_has(s, at + n) &&
           weir_ascii_lower(s.p[at + n]) == weir_ascii_lower(word[n])) {
        n++;
    }
    return word[n] == '\0';
}

/* Where `needle` begins, from `from` on; s.n: nowhere, yet. */
static inline size_t weir_ascii_find(struct weir_slice s, size_t from, const char *needle)
{
    const char *at = from < s.n ? memmem(s.p + from, s.n - from, needle, strlen(needle)) : NULL;
    if (at == NULL) {
        weir_ascii_meet(s);
    }
    return at != NULL ? (size_t)(at - s.p) : s.n;
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
