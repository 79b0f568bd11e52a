#ifndef WEIR_DETECT_REST_H
#define WEIR_DETECT_REST_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Most of what models write are words of letters, and most of these mean nothing to any reader. As
 * long as nothing is open and nothing else comes, readers rest: text is kept for them, all up to
 * the word being written may leave, and they read it when something else has come.
 *
 *   The gateway holds every sentence|.      they read here
 *   └──────── nobody reads ─────────┘
 *
 * Plain bytes are letters of ASCII, blanks and the signs of sentences but quotes and colons. What a
 * reader wants to see at once is told by four of them in a row: too many of these cost time, one
 * too few would be a fault. Nobody rests in a word of more than 21 bytes: it may be a token, or
 * base64.
 */
enum { WEIR_REST_GRAM = 4, WEIR_REST_BITS = 65536, WEIR_REST_WORD = 21 };

struct weir_rest_words {
    uint64_t bits[WEIR_REST_BITS / 64];
};

/* The code of a plain byte, 1 to 32; 0: it is none. Blanks have the first. */
enum { WEIR_REST_BLANK = 1, WEIR_REST_COMMA = 28 };

extern const unsigned char weir_rest_codes[256];

/* Adds the last four of `gram`, which are plain, in any case. Of three: after any plain byte. */
void weir_rest_add(struct weir_rest_words *w, struct weir_slice gram);

/* What was read last, four bytes of it. */
struct weir_rest {
    uint32_t gram;
};

/* Is `part` plain, and in none of the `n` lists? `rest` goes on. */
bool weir_rest_is_plain(struct weir_rest *rest, struct weir_slice part,
                        const struct weir_rest_words *const *lists, size_t n);

/* Where the word begins that the text ends with; `*is_plain`: it has nothing but plain bytes, so no
 * finding that began in it goes on after a blank. */
size_t weir_rest_word(struct weir_slice text, bool *is_plain);

#endif
