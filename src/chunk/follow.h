#ifndef WEIR_CHUNK_FOLLOW_H
#define WEIR_CHUNK_FOLLOW_H

#include "base/map.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What the next word says about a sentence that may have ended. Some ends cannot be recognised by
 * what stands before them, but by the word behind them, which is waited for, letter by letter:
 *
 *   … at 5 p.m. |He left.      … at 5 p.m. Monday …     "He" begins sentences, "Monday" need not
 *   … am 3. Oktober …          … zusammen 5. |Dann …    "Oktober" is counted
 *   「行こう。」と彼は …        「行こう。」|彼は …          と goes on behind a quotation
 *
 * Words of all languages are in the same tables: nobody has to say which one a text is in. Nothing
 * is kept of a text but the word, and a word longer than any in the tables is not waited for.
 */
enum weir_follow_mode {
    WEIR_FOLLOW_NOTHING, /* is waited for */
    WEIR_FOLLOW_STRONG,  /* ends before a word that begins sentences and is not part of a name */
    WEIR_FOLLOW_ANY,     /* ends before any word that begins sentences: articles and the like too */
    WEIR_FOLLOW_COUNTED, /* ends unless something comes that has an ordinal before it */
    WEIR_FOLLOW_QUOTE,   /* ends unless the sentence around a quotation goes on */
};

enum weir_follow_verdict {
    WEIR_FOLLOW_WAIT,
    WEIR_FOLLOW_ENDS,    /* the sentence ended before the word */
    WEIR_FOLLOW_GOES_ON, /* it did not */
};

enum { WEIR_FOLLOW_MAX_BYTES = 24 };

/* All-zero waits for nothing. */
struct weir_follow {
    uint8_t mode;
    uint8_t n;
    char word[WEIR_FOLLOW_MAX_BYTES];
};

struct weir_follow_words {
    struct weir_map starters;
};

void weir_follow_words_init(struct weir_follow_words *words);
void weir_follow_words_dispose(struct weir_follow_words *words);

/* One more code point, the first being the word's first letter. Any verdict but WAIT is the last:
 * `f` waits for nothing then. */
enum weir_follow_verdict weir_follow_step(struct weir_follow *f,
                                          const struct weir_follow_words *words, uint32_t cp,
                                          bool is_letter);

/* Nothing more comes. */
enum weir_follow_verdict weir_follow_end(struct weir_follow *f,
                                         const struct weir_follow_words *words);

static inline bool weir_follow_is_waiting(const struct weir_follow *f)
{
    return f->mode != WEIR_FOLLOW_NOTHING;
}

#endif
