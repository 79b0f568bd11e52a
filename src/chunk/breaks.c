#include "chunk/breaks.h"

void weir_breaks_classes_init(struct weir_breaks_classes *c)
{
    for (int cp = 0; cp < WEIR_BREAKS_TABLE; cp++) {
        c->of[cp] = (uint8_t)u_getIntPropertyValue(cp, UCHAR_SENTENCE_BREAK);
    }
}

/* The state after a code point that nothing before it matters to. */
static uint8_t alone(uint8_t class)
{
    switch (class) {
    case U_SB_UPPER:
    case U_SB_LOWER:
        return WEIR_BREAKS_LETTER;
    case U_SB_ATERM:
        return WEIR_BREAKS_STOP;
    case U_SB_STERM:
        return WEIR_BREAKS_TERM;
    case U_SB_CR:
        return WEIR_BREAKS_CR;
    case U_SB_LF:
    case U_SB_SEP:
        return WEIR_BREAKS_PARA;
    default:
        return WEIR_BREAKS_OTHER;
    }
}

static bool is_after_para(const struct weir_breaks *b)
{
    return b->state == WEIR_BREAKS_START || b->state == WEIR_BREAKS_CR ||
           b->state == WEIR_BREAKS_PARA;
}

void weir_breaks_join(struct weir_breaks *b, uint8_t class)
{
    bool is_attached = class == U_SB_EXTEND || class == U_SB_FORMAT;
    if (is_attached && !is_after_para(b)) { /* SB5 */
        return;
    }
    bool is_letter_stop = b->state == WEIR_BREAKS_LETTER && class == U_SB_ATERM;
    b->state = is_letter_stop ? WEIR_BREAKS_LETTER_STOP : alone(class);
}

/* What stays with a terminator whichever it is (SB8a, SB9, SB10): true, and the state is moved. */
static bool stays(struct weir_breaks *b, uint8_t class, bool is_stop, bool has_space)
{
    switch (class) {
    case U_SB_SP:
        b->state = is_stop ? WEIR_BREAKS_STOP_SPACE : WEIR_BREAKS_TERM_SPACE;
        return true;
    case U_SB_CLOSE:
        if (!has_space) {
            b->state = is_stop ? WEIR_BREAKS_STOP_CLOSE : WEIR_BREAKS_TERM_CLOSE;
        }
        return !has_space;
    case U_SB_SCONTINUE:
    case U_SB_ATERM:
    case U_SB_STERM:
    case U_SB_CR:
    case U_SB_LF:
    case U_SB_SEP:
        b->state = alone(class);
        return true;
    default:
        return false;
    }
}

/* After a full stop, closing punctuation, spaces (SB6, SB7, SB8, SB11). */
static enum weir_breaks_verdict after_stop(struct weir_breaks *b, uint8_t class)
{
    bool is_direct = b->state == WEIR_BREAKS_STOP || b->state == WEIR_BREAKS_LETTER_STOP;
    bool is_initial = b->state == WEIR_BREAKS_LETTER_STOP && class == U_SB_UPPER;
    if (class == U_SB_LOWER || is_initial || (is_direct && class == U_SB_NUMERIC)) {
        b->state = alone(class);
        return WEIR_BREAKS_NONE;
    }
    if (class == U_SB_UPPER || class == U_SB_OLETTER) {
        b->state = alone(class);
        return WEIR_BREAKS_HERE;
    }
    b->state = WEIR_BREAKS_STOP_AFTER;
    return WEIR_BREAKS_MAYBE;
}

/* SB8: up to the first letter, terminator or line's end. */
static enum weir_breaks_verdict settle(struct weir_breaks *b, uint8_t class)
{
    switch (class) {
    case U_SB_LOWER:
        b->state = WEIR_BREAKS_LETTER;
        return WEIR_BREAKS_NONE;
    case U_SB_UPPER:
    case U_SB_OLETTER:
    case U_SB_ATERM:
    case U_SB_STERM:
    case U_SB_CR:
    case U_SB_LF:
    case U_SB_SEP:
        b->state = alone(class);
        return WEIR_BREAKS_BACK;
    default:
        return WEIR_BREAKS_NONE;
    }
}

enum weir_breaks_verdict weir_breaks_step(struct weir_breaks *b, uint8_t class)
{
    bool is_attached = class == U_SB_EXTEND || class == U_SB_FORMAT;
    if (is_attached && !is_after_para(b)) { /* SB5 */
        return WEIR_BREAKS_NONE;
    }
    switch ((enum weir_breaks_state)b->state) {
    case WEIR_BREAKS_START:
    case WEIR_BREAKS_OTHER:
    case WEIR_BREAKS_LETTER:
        weir_breaks_join(b, class);
        return WEIR_BREAKS_NONE;
    case WEIR_BREAKS_CR:
        if (class == U_SB_LF) { /* SB3 */
            b->state = WEIR_BREAKS_PARA;
            return WEIR_BREAKS_NONE;
        }
        b->state = alone(class);
        return WEIR_BREAKS_HERE;
    case WEIR_BREAKS_PARA: /* SB4 */
        b->state = alone(class);
        return WEIR_BREAKS_HERE;
    case WEIR_BREAKS_STOP_AFTER:
        return settle(b, class);
    case WEIR_BREAKS_STOP:
    case WEIR_BREAKS_LETTER_STOP:
    case WEIR_BREAKS_STOP_CLOSE:
    case WEIR_BREAKS_STOP_SPACE:
        if (stays(b, class, true, b->state == WEIR_BREAKS_STOP_SPACE)) {
            return WEIR_BREAKS_NONE;
        }
        return after_stop(b, class);
    case WEIR_BREAKS_TERM:
    case WEIR_BREAKS_TERM_CLOSE:
    case WEIR_BREAKS_TERM_SPACE:
        if (stays(b, class, false, b->state == WEIR_BREAKS_TERM_SPACE)) {
            return WEIR_BREAKS_NONE;
        }
        b->state = alone(class);
        return WEIR_BREAKS_HERE; /* SB11 */
    }
    return WEIR_BREAKS_NONE;
}
