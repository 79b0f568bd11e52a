#include "chunk/runon.h"

enum { SORT_NUMBER = 1, SORT_LETTER, SORT_BULLET };
enum { CLOSE_STOP = 1, CLOSE_BRACKET, CLOSE_BOTH };
enum { MAX_NUMBER = 999 };

static bool is_bullet(uint32_t cp)
{
    return cp == 0x2022 || cp == 0x2023 || cp == 0x2043 || cp == 0x25AA || cp == 0x25CF ||
           cp == 0x25E6;
}

static bool is_digit(uint32_t cp)
{
    return cp >= '0' && cp <= '9';
}

static bool is_letter(uint32_t cp)
{
    return (cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z');
}

static uint8_t close_of(uint32_t cp)
{
    return cp == '.' ? CLOSE_STOP : cp == ')' ? CLOSE_BRACKET : 0;
}

static enum weir_runon_verdict go(struct weir_runon *r, enum weir_runon_at at)
{
    r->at = (uint8_t)at;
    return WEIR_RUNON_GOES_ON;
}

/* The first code point of a line: letters begin with a. */
static enum weir_runon_verdict begin_line(struct weir_runon *r, uint32_t cp)
{
    *r = (struct weir_runon){0};
    if (is_bullet(cp)) {
        r->sort = SORT_BULLET;
        r->bullet = cp;
        return go(r, WEIR_RUNON_TEXT);
    }
    if (is_digit(cp)) {
        r->sort = SORT_NUMBER;
        r->number = (uint16_t)(cp - '0');
        return go(r, WEIR_RUNON_FIRST);
    }
    if (cp == 'a' || cp == 'A') {
        r->sort = SORT_LETTER;
        r->number = (uint16_t)cp;
        return go(r, WEIR_RUNON_FIRST);
    }
    return go(r, WEIR_RUNON_NONE);
}

/* One more of a number; false: it is none, or too long. */
static bool add_digit(const struct weir_runon *r, uint16_t *number, uint32_t cp)
{
    bool is_good = r->sort == SORT_NUMBER && is_digit(cp) && *number * 10 <= MAX_NUMBER - 9;
    *number = is_good ? (uint16_t)(*number * 10 + (cp - '0')) : *number;
    return is_good;
}

static enum weir_runon_verdict read_first(struct weir_runon *r, uint32_t cp)
{
    if (add_digit(r, &r->number, cp)) {
        return WEIR_RUNON_GOES_ON;
    }
    r->close = close_of(cp);
    return go(r, r->close != 0 ? WEIR_RUNON_CLOSED : WEIR_RUNON_NONE);
}

static enum weir_runon_verdict read_next(struct weir_runon *r, uint32_t cp)
{
    if (add_digit(r, &r->seen, cp)) {
        return WEIR_RUNON_GOES_ON;
    }
    uint8_t close = r->close == CLOSE_BOTH ? CLOSE_STOP : r->close;
    bool is_next = r->seen == r->number + 1 && close_of(cp) == close;
    return go(r, is_next ? WEIR_RUNON_NEXT_CLOSED : WEIR_RUNON_TEXT);
}

/* Behind white space in an item. */
static enum weir_runon_verdict read_word(struct weir_runon *r, uint32_t cp)
{
    if (r->sort == SORT_BULLET) {
        go(r, WEIR_RUNON_TEXT);
        return cp == r->bullet ? WEIR_RUNON_CUT_HERE : WEIR_RUNON_GOES_ON;
    }
    bool is_one = r->sort == SORT_NUMBER ? is_digit(cp) : is_letter(cp);
    go(r, is_one ? WEIR_RUNON_NEXT : WEIR_RUNON_TEXT);
    r->seen = (uint16_t)(r->sort == SORT_NUMBER ? cp - '0' : cp);
    return is_one ? WEIR_RUNON_BEGINS : WEIR_RUNON_GOES_ON;
}

static enum weir_runon_verdict step_solid(struct weir_runon *r, uint32_t cp)
{
    switch ((enum weir_runon_at)r->at) {
    case WEIR_RUNON_START:
        return begin_line(r, cp);
    case WEIR_RUNON_FIRST:
        return read_first(r, cp);
    case WEIR_RUNON_CLOSED:
        if (cp != ')' || r->close != CLOSE_STOP) {
            return go(r, WEIR_RUNON_NONE);
        }
        r->close = CLOSE_BOTH;
        return WEIR_RUNON_GOES_ON;
    case WEIR_RUNON_GAP:
        return read_word(r, cp);
    case WEIR_RUNON_NEXT:
        return read_next(r, cp);
    case WEIR_RUNON_NEXT_CLOSED:
        return go(r,
                  cp == ')' && r->close == CLOSE_BOTH ? WEIR_RUNON_NEXT_CLOSED : WEIR_RUNON_TEXT);
    case WEIR_RUNON_NONE:
    case WEIR_RUNON_TEXT:
        return WEIR_RUNON_GOES_ON;
    }
    return WEIR_RUNON_GOES_ON;
}

static enum weir_runon_verdict step_white(struct weir_runon *r)
{
    switch ((enum weir_runon_at)r->at) {
    case WEIR_RUNON_FIRST:
        return go(r, WEIR_RUNON_NONE);
    case WEIR_RUNON_NEXT_CLOSED:
        r->number = r->seen;
        go(r, WEIR_RUNON_GAP);
        return WEIR_RUNON_CUT;
    case WEIR_RUNON_CLOSED:
    case WEIR_RUNON_TEXT:
    case WEIR_RUNON_NEXT:
        return go(r, WEIR_RUNON_GAP);
    case WEIR_RUNON_START:
    case WEIR_RUNON_NONE:
    case WEIR_RUNON_GAP:
        return WEIR_RUNON_GOES_ON;
    }
    return WEIR_RUNON_GOES_ON;
}

enum weir_runon_verdict weir_runon_step(struct weir_runon *r, uint32_t cp,
                                        enum weir_runon_space space)
{
    if (space == WEIR_RUNON_LINE) {
        *r = (struct weir_runon){0};
        return WEIR_RUNON_GOES_ON;
    }
    return space == WEIR_RUNON_WHITE ? step_white(r) : step_solid(r, cp);
}
