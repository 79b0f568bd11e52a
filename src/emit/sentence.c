/*
 * A machine of four states over classes of code points:
 *
 *            terminator            space
 *   OPEN ────────────────► ENDED ─────────► SPACE        a line feed leads to LINE from anywhere,
 *     ▲                    │  ▲ closer      │  ▲ space   a terminator to ENDED,
 *     └── anything else ───┘  └─┘           └──┘         anything not drawn to OPEN
 */
#include "emit/sentence.h"

#include "base/utf8.h"

enum glyph { OTHER, SPACE, CLOSER, TERMINATOR, STOP, DIGIT, LINE, LONG };

static const uint8_t classes[256] = {
    [' '] = SPACE,      ['\t'] = SPACE, ['"'] = CLOSER,     ['\''] = CLOSER, [')'] = CLOSER,
    [']'] = CLOSER,     ['}'] = CLOSER, ['*'] = CLOSER,     ['_'] = CLOSER,  ['`'] = CLOSER,
    ['?'] = TERMINATOR, ['.'] = STOP,   ['!'] = TERMINATOR, ['\n'] = LINE,   ['0'] = DIGIT,
    ['1'] = DIGIT,      ['2'] = DIGIT,  ['3'] = DIGIT,      ['4'] = DIGIT,   ['5'] = DIGIT,
    ['6'] = DIGIT,      ['7'] = DIGIT,  ['8'] = DIGIT,      ['9'] = DIGIT,   [0xC2] = LONG,
    [0xD8] = LONG,      [0xDB] = LONG,  [0xE0] = LONG,      [0xE2] = LONG,   [0xE3] = LONG,
    [0xEF] = LONG,
};

/* Of a code point whose lead byte is marked LONG above: all that follow here have such a one. */
static enum glyph class_of(uint32_t cp)
{
    switch (cp) {
    case 0x061F: /* Arabic question mark */
    case 0x06D4: /* Arabic full stop */
    case 0x0964: /* danda */
    case 0x0965: /* double danda */
    case 0x2026: /* ellipsis */
    case 0x3002: /* ideographic full stop */
    case 0xFF01: /* fullwidth ! */
    case 0xFF0E: /* fullwidth . */
    case 0xFF1F: /* fullwidth ? */
        return TERMINATOR;
    case 0x00BB: /* » */
    case 0x2019: /* ’ */
    case 0x201D: /* ” */
    case 0x300D: /* 」 */
    case 0x300F: /* 』 */
    case 0xFF09: /* ） */
        return CLOSER;
    default:
        return OTHER;
    }
}

static enum weir_sentence_state next_state(const struct weir_sentence *s, enum glyph c)
{
    bool is_ended = s->state == WEIR_SENTENCE_ENDED;
    switch (c) {
    case LINE:
        return WEIR_SENTENCE_LINE;
    case TERMINATOR:
        return WEIR_SENTENCE_ENDED;
    case STOP:
        return s->is_after_digit ? WEIR_SENTENCE_OPEN : WEIR_SENTENCE_ENDED;
    case CLOSER:
        return is_ended ? WEIR_SENTENCE_ENDED : WEIR_SENTENCE_OPEN;
    case SPACE:
        return is_ended || s->state == WEIR_SENTENCE_SPACE ? WEIR_SENTENCE_SPACE
                                                           : WEIR_SENTENCE_OPEN;
    default:
        return WEIR_SENTENCE_OPEN;
    }
}

void weir_sentence_feed(struct weir_sentence *s, struct weir_slice text)
{
    for (size_t i = 0; i < text.n;) {
        enum glyph c = (enum glyph)classes[(unsigned char)text.p[i]];
        size_t n_bytes = 1; /* continuation bytes are OTHER and change nothing more */
        if (c == LONG) {
            c = class_of(weir_utf8_decode(weir_slice_sub(text, i, text.n), &n_bytes));
        }
        s->state = (uint8_t)next_state(s, c);
        s->is_after_digit = c == DIGIT;
        i += n_bytes;
    }
}
