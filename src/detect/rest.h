#ifndef WEIR_DETECT_REST_H
#define WEIR_DETECT_REST_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Most of what models write are words of letters, and most of these mean nothing to any reader. As
 * long as nothing is open and nothing else comes, a reader rests: text is kept for it, all up to
 * the word being written may leave, and it reads when something else has come.
 *
 *   The gateway holds every sentence for 30|     one that looks for numbers reads here
 *   └──────────── nobody reads ────────┘
 *
 * What is plain depends on the reader. Words are letters of ASCII, blanks and the signs of
 * sentences but quotes and colons, and what a reader wants to see at once is told by four of these
 * in a row: too many of these cost time, one too few would be a fault. Nobody rests in a word of
 * more than 21 bytes: it may be a token.
 *
 * Words are not what base64 is made of: a run of it may be longer than the word that the text ends
 * with (`/` ends words), and may begin in one part and end in the next, with its blank. So runs are
 * counted by themselves. Who looks into views (detect/views.h) reads when one of more than 21 bytes
 * has come, and holds the one being written.
 */
enum { WEIR_REST_GRAM = 4, WEIR_REST_BITS = 65536, WEIR_REST_WORD = 21 };

/* Classes of bytes that readers rest on; each has all of the first. */
enum weir_rest_class {
    WEIR_REST_WORDS = 1,      /* a word ends with a blank, or one of WEIR_REST_ENDS */
    WEIR_REST_NUMBERLESS = 2, /* no digits, @ and : and no escapes; a word is what a mailbox has,
                                 or a bracket of a number */
    WEIR_REST_LINKLESS = 4,   /* nothing that links have; a word is letters, with a ! before them */
    WEIR_REST_ASCII = 8,      /* a word is letters and digits */
    WEIR_REST_ALL = 15,
};

struct weir_rest_words {
    uint64_t bits[WEIR_REST_BITS / 64];
};

#define WEIR_REST_ENDS " \n,;)?"

/* The code of a plain byte, 1 to 32; 0: it is none. Blanks have the first. */
enum { WEIR_REST_BLANK = 1, WEIR_REST_COMMA = 28 };

extern const unsigned char weir_rest_codes[256];

/* Adds the last four of `gram`, which are plain, in any case. Of three: after any plain byte. */
void weir_rest_add(struct weir_rest_words *w, struct weir_slice gram);

/* What was read last: four bytes of it, and how many at its end may be base64. */
struct weir_rest {
    uint32_t gram;
    size_t run;
};

/* What there is in a part of a text. */
struct weir_rest_part {
    unsigned classes; /* those that all bytes of it are in */
    unsigned lists;   /* a bit for each that has something of it */
    bool has_run;     /* of base64, maybe: more than WEIR_REST_WORD bytes, which ends in it or goes
                         on; it may have begun before */
};

/* `rest` goes on, behind what came before. `n` is less than 32. */
struct weir_rest_part weir_rest_look(struct weir_rest *rest, struct weir_slice part,
                                     const struct weir_rest_words *const *lists, size_t n);

/* Where the word begins that the text ends with; `*is_plain`: it has nothing but bytes of the
 * class, so no finding that began in it goes on after its end. */
size_t weir_rest_word(struct weir_slice text, enum weir_rest_class class, bool *is_plain);

/* One past the last byte of `part`, which is all of WEIR_REST_WORDS, that ends a word; 0: none
 * does.
 */
size_t weir_rest_ended(struct weir_slice part);

#endif
