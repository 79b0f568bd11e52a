#ifndef WEIR_BASE_UTF8_H
#define WEIR_BASE_UTF8_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. A byte offset
 * (`_byte`) and a code-point offset (`_cp`) never share a name.
 */

/* How many leading bytes are valid, whole sequences only; s.n when all of it is. */
size_t weir_utf8_valid_prefix(struct weir_slice s);

static inline bool weir_utf8_is_valid(struct weir_slice s)
{
    return weir_utf8_valid_prefix(s) == s.n;
}

/* Length of the valid sequence that `s` begins with; 0 when it begins with none, or is empty. */
size_t weir_utf8_sequence(struct weir_slice s);

/* The following take valid UTF-8. */

/* Code points in `s`. */
size_t weir_utf8_count(struct weir_slice s);

/* Byte offset of code point `at_cp`; s.n when there are not that many. */
size_t weir_utf8_byte_at(struct weir_slice s, size_t at_cp);

/* Byte offset of the code point `n_cp` before byte `at`; 0 when there are not that many. */
size_t weir_utf8_back(struct weir_slice s, size_t at, size_t n_cp);

/* The last byte offset up to `at` that is not inside a code point; s.n when that is shorter. */
size_t weir_utf8_floor(struct weir_slice s, size_t at);

/* Decodes the first code point; `*n_bytes` is its length. `s` must not be empty. */
uint32_t weir_utf8_decode(struct weir_slice s, size_t *n_bytes);

/* Encodes a scalar value into `out` and returns its length; a surrogate becomes U+FFFD. */
size_t weir_utf8_encode(uint32_t cp, char out[4]);

/* Unicode property White_Space. */
bool weir_utf8_is_space(uint32_t cp);

#endif
