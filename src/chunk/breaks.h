#ifndef WEIR_CHUNK_BREAKS_H
#define WEIR_CHUNK_BREAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unicode/uchar.h>

/*
 * Sentence boundaries as Unicode has them (UAX #29, rules SB1 to SB998), one code point at a time.
 *
 * The rules are a small machine over the property Sentence_Break, whose values are ICU's. An
 * iterator of ICU wants the whole text and goes back over it whenever more has come; this one keeps
 * one byte of state, costs the same however the text is cut, and is held against ICU's in the
 * tests.
 *
 *   text     H e l l o .   T h e r e   i s   e t c .   1 2   m o r e
 *                          ^ HERE                      ^ MAYBE
 *                                                            ^ a small letter: it was none
 *
 * Only after a full stop (ATerm) can the end of a sentence depend on text further away: on the
 * first letter behind digits and the like. Everywhere else the next code point decides.
 */
struct weir_breaks {
    uint8_t state;
};

enum weir_breaks_state {
    WEIR_BREAKS_START,       /* of the text */
    WEIR_BREAKS_OTHER,       /* inside a sentence … */
    WEIR_BREAKS_LETTER,      /* … right after a letter with case */
    WEIR_BREAKS_CR,          /* a line feed may still belong to it */
    WEIR_BREAKS_PARA,        /* after a line's end: a boundary whatever comes */
    WEIR_BREAKS_STOP,        /* after a full stop … */
    WEIR_BREAKS_LETTER_STOP, /* … that follows a letter with case … */
    WEIR_BREAKS_STOP_CLOSE,  /* … and closing punctuation … */
    WEIR_BREAKS_STOP_SPACE,  /* … and spaces */
    WEIR_BREAKS_STOP_AFTER,  /* … and what is neither letter nor end: MAYBE was said */
    WEIR_BREAKS_TERM,        /* the same after any other terminator */
    WEIR_BREAKS_TERM_CLOSE,
    WEIR_BREAKS_TERM_SPACE,
};

/* About the place before the code point that was fed. */
enum weir_breaks_verdict {
    WEIR_BREAKS_NONE,
    WEIR_BREAKS_HERE,  /* a boundary */
    WEIR_BREAKS_MAYBE, /* a boundary unless the next letter is a small one */
    WEIR_BREAKS_BACK,  /* no boundary here, but there was one at the last MAYBE */
};

/* Sentence_Break of every code point below U+0800; the others are asked of ICU one by one. */
enum { WEIR_BREAKS_TABLE = 0x800 };

struct weir_breaks_classes {
    uint8_t of[WEIR_BREAKS_TABLE];
};

void weir_breaks_classes_init(struct weir_breaks_classes *c);

/* A value of ICU's USentenceBreak. */
static inline uint8_t weir_breaks_class(const struct weir_breaks_classes *c, uint32_t cp)
{
    return cp < WEIR_BREAKS_TABLE
               ? c->of[cp]
               : (uint8_t)u_getIntPropertyValue((UChar32)cp, UCHAR_SENTENCE_BREAK);
}

/* Ends a line or a paragraph: a boundary follows it. */
static inline bool weir_breaks_is_para(uint8_t class)
{
    return class == U_SB_LF || class == U_SB_CR || class == U_SB_SEP;
}

/* White_Space, by the property's definition. */
static inline bool weir_breaks_is_white(uint8_t class)
{
    return class == U_SB_SP || weir_breaks_is_para(class);
}

enum weir_breaks_verdict weir_breaks_step(struct weir_breaks *b, uint8_t class);

/* A code point of which it is known that no boundary stands before it. */
void weir_breaks_join(struct weir_breaks *b, uint8_t class);

/* MAYBE was said and is not settled. At the end of a text it was a boundary. */
static inline bool weir_breaks_is_pending(const struct weir_breaks *b)
{
    return b->state == WEIR_BREAKS_STOP_AFTER;
}

/* A terminator and perhaps closing punctuation, no space after them yet. */
static inline bool weir_breaks_is_closing(const struct weir_breaks *b)
{
    return b->state == WEIR_BREAKS_STOP || b->state == WEIR_BREAKS_LETTER_STOP ||
           b->state == WEIR_BREAKS_STOP_CLOSE || b->state == WEIR_BREAKS_TERM ||
           b->state == WEIR_BREAKS_TERM_CLOSE;
}

#endif
