#ifndef WEIR_EMIT_SENTENCE_H
#define WEIR_EMIT_SENTENCE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Does a growing text end like a sentence? Only the end counts: a line feed, or a terminator that
 * may be followed by closing quotes and brackets and then by spaces. A full stop right after an
 * ASCII digit is none, so that "3." can still become "3.14".
 *
 * The answer is kept in two bytes and no text is looked at twice, so a delta costs its own length.
 * All-zero is the empty text.
 */
struct weir_sentence {
    uint8_t state;
    bool is_after_digit;
};

enum weir_sentence_state {
    WEIR_SENTENCE_OPEN,  /* anything else */
    WEIR_SENTENCE_ENDED, /* a terminator, closers may have followed */
    WEIR_SENTENCE_SPACE, /* the same, then spaces or tabs */
    WEIR_SENTENCE_LINE,  /* a line feed */
};

/* `text` is valid UTF-8, whole code points. */
void weir_sentence_feed(struct weir_sentence *s, struct weir_slice text);

static inline bool weir_sentence_is_line(const struct weir_sentence *s)
{
    return s->state == WEIR_SENTENCE_LINE;
}

static inline bool weir_sentence_is_end(const struct weir_sentence *s)
{
    return s->state != WEIR_SENTENCE_OPEN;
}

#endif
