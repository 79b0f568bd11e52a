#include "detect/rest.h"

#include "base/assert.h"
#include "detect/ascii.h"

enum { GRAM_MASK = 0xFFFFF, CODE_BITS = 5 };

#define ROW(a) [(a)] = ((a)&31) + 1, [(a) + 32] = ((a)&31) + 1

const unsigned char weir_rest_codes[256] = {
    [' '] = 1,  ['\n'] = 1, [','] = 28, ['.'] = 29, ['\''] = 30, ['-'] = 31, ['!'] = 32, ['?'] = 32,
    [';'] = 32, [')'] = 32, ROW('A'),   ROW('B'),   ROW('C'),    ROW('D'),   ROW('E'),   ROW('F'),
    ROW('G'),   ROW('H'),   ROW('I'),   ROW('J'),   ROW('K'),    ROW('L'),   ROW('M'),   ROW('N'),
    ROW('O'),   ROW('P'),   ROW('Q'),   ROW('R'),   ROW('S'),    ROW('T'),   ROW('U'),   ROW('V'),
    ROW('W'),   ROW('X'),   ROW('Y'),   ROW('Z'),
};

static inline uint32_t slot_of(uint32_t gram)
{
    return (uint32_t)(gram * 2654435761u) >> 16;
}

static void set(struct weir_rest_words *w, uint32_t gram)
{
    uint32_t slot = slot_of(gram & GRAM_MASK);
    w->bits[slot / 64] |= (uint64_t)1 << (slot % 64);
}

void weir_rest_add(struct weir_rest_words *w, struct weir_slice gram)
{
    WEIR_ASSERT(gram.n >= WEIR_REST_GRAM - 1);
    size_t from = gram.n > WEIR_REST_GRAM ? gram.n - WEIR_REST_GRAM : 0;
    uint32_t code = 0;
    for (size_t i = from; i < gram.n; i++) {
        unsigned char c = weir_rest_codes[(unsigned char)gram.p[i]];
        WEIR_ASSERT(c != 0);
        code = code << CODE_BITS | (uint32_t)(c - 1);
    }
    for (uint32_t first = 0; gram.n - from < WEIR_REST_GRAM && first < 32; first++) {
        set(w, first << (CODE_BITS * (WEIR_REST_GRAM - 1)) | code);
    }
    set(w, code);
}

/* ---- classes of bytes */

enum {
    WORD = WEIR_REST_WORDS,
    NUMB = WEIR_REST_NUMBERLESS,
    LINK = WEIR_REST_LINKLESS,
    ASCI = WEIR_REST_ASCII,
    ALL = WEIR_REST_ALL,
    ENDS = 4,      /* the bits of classes whose words end with a byte are that much higher, */
    BEGINS = 8,    /* those whose words begin with it if it is the last, and else end, that much */
    RUN = 1 << 12, /* a byte of base64, as detect/views.c has it */
};

#define E(classes) ((classes) << ENDS)
#define B(classes) ((classes) << BEGINS)
#define PAIR(c) [(c)] = ALL | RUN, [(c) + 32] = ALL | RUN
#define DIGIT(c) [(c)] = (LINK | ASCI | E(LINK) | RUN)
#define SIGN(c) [(c)] = (NUMB | LINK | ASCI | E(NUMB | LINK | ASCI))
#define BLANK(c) [(c)] = (ALL | E(ALL))
#define FOUR(m, c) m(c), m((c) + 1), m((c) + 2), m((c) + 3)
#define BEYOND(c) [(c)] = (NUMB | LINK) /* what they end: ends_beyond */
#define BEYOND_16(c)                                                                               \
    FOUR(BEYOND, c), FOUR(BEYOND, (c) + 4), FOUR(BEYOND, (c) + 8), FOUR(BEYOND, (c) + 12)

static const uint16_t classes[256] = {
    FOUR(SIGN, 0),
    FOUR(SIGN, 4),
    FOUR(SIGN, 16),
    FOUR(SIGN, 20),
    FOUR(SIGN, 24),
    FOUR(SIGN, 28),
    SIGN(8),
    SIGN(9),
    SIGN(11),
    SIGN(12),
    SIGN(13),
    SIGN(14),
    SIGN(15),
    SIGN(0x7f),
    BLANK(' '),
    BLANK('\n'),
    BLANK(','),
    BLANK(';'),
    BLANK(')'),
    BLANK('?'),
    ['.'] = ALL | E(LINK | ASCI),
    ['\''] = ALL | E(LINK | ASCI),
    ['-'] = ALL | E(LINK | ASCI) | RUN,
    ['!'] = ALL | E(NUMB | ASCI) | B(LINK),
    PAIR('A'),
    PAIR('B'),
    PAIR('C'),
    PAIR('D'),
    PAIR('E'),
    PAIR('F'),
    PAIR('G'),
    PAIR('H'),
    PAIR('I'),
    PAIR('J'),
    PAIR('K'),
    PAIR('L'),
    PAIR('M'),
    PAIR('N'),
    PAIR('O'),
    PAIR('P'),
    PAIR('Q'),
    PAIR('R'),
    PAIR('S'),
    PAIR('T'),
    PAIR('U'),
    PAIR('V'),
    PAIR('W'),
    PAIR('X'),
    PAIR('Y'),
    PAIR('Z'),
    FOUR(DIGIT, '0'),
    FOUR(DIGIT, '4'),
    DIGIT('8'),
    DIGIT('9'),
    SIGN('"'),
    SIGN('#'),
    SIGN('$'),
    SIGN('*'),
    ['/'] = NUMB | LINK | ASCI | E(NUMB | LINK | ASCI) | RUN,
    SIGN('<'),
    SIGN('>'),
    SIGN(']'),
    SIGN('^'),
    SIGN('`'),
    SIGN('{'),
    SIGN('|'),
    SIGN('}'),
    SIGN('~'),
    ['%'] = LINK | ASCI | E(LINK | ASCI),
    ['&'] = LINK | ASCI | E(LINK | ASCI),
    ['\\'] = LINK | ASCI | E(LINK | ASCI),
    ['+'] = NUMB | LINK | ASCI | E(LINK | ASCI) | RUN,
    ['_'] = NUMB | LINK | ASCI | E(LINK | ASCI) | RUN,
    ['('] = NUMB | ASCI | E(ASCI) | B(NUMB), /* of a number */
    ['='] = NUMB | ASCI | E(NUMB | ASCI),
    ['['] = NUMB | ASCI | E(NUMB | ASCI),
    [':'] = ASCI | E(ASCI),
    ['@'] = ASCI | E(ASCI),
    BEYOND_16(0x80),
    BEYOND_16(0x90),
    BEYOND_16(0xA0),
    BEYOND_16(0xB0),
    BEYOND_16(0xC0),
    BEYOND_16(0xD0),
    BEYOND_16(0xE0),
    BEYOND_16(0xF0),
};

/* Does the character end a word whose last byte stands before `at`? A mailbox has letters of
 * scripts with spaces between words; Han, kana and Hangul end it. */
static bool ends_beyond(struct weir_slice t, size_t at, enum weir_rest_class class)
{
    enum { FIRST_UNSPACED = 0xE3, CONTINUES = 0xC0, CONTINUED = 0x80 };
    size_t lead = at - 1;
    while (lead > 0 && ((unsigned char)t.p[lead] & CONTINUES) == CONTINUED) {
        lead--;
    }
    return class == WEIR_REST_LINKLESS ||
           (class == WEIR_REST_NUMBERLESS && (unsigned char)t.p[lead] >= FIRST_UNSPACED);
}

static bool has_bit(char c, unsigned bits)
{
    return (classes[(unsigned char)c] & bits) != 0;
}

/* Is `at`, one past a byte, where a word ends? */
static bool ends_word(struct weir_slice t, size_t at, enum weir_rest_class class)
{
    char c = t.p[at - 1];
    return (unsigned char)c < 0x80 ? has_bit(c, E((unsigned)class) | B((unsigned)class))
                                   : ends_beyond(t, at, class);
}

static void look_at_classes(struct weir_rest *rest, struct weir_slice part,
                            struct weir_rest_part *found)
{
    unsigned common = WEIR_REST_ALL;
    size_t run = rest->run;
    size_t longest = 0;
    for (size_t i = 0; i < part.n; i++) {
        unsigned own = classes[(unsigned char)part.p[i]];
        common &= own;
        run = (own & RUN) != 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    rest->run = run;
    found->classes = common;
    found->has_run = longest > WEIR_REST_WORD;
}

enum { LISTS = 4 };

/* Which of a row of lists, as bits, have something of what follows `*gram`, which goes on. */
static unsigned look_at_row(const struct weir_rest_words *const row[LISTS], struct weir_slice part,
                            uint32_t *gram)
{
    enum { LETTER_MASK = 31 }; /* what has no code counts as the last of them */
    const struct weir_rest_words *a = row[0];
    const struct weir_rest_words *b = row[1];
    const struct weir_rest_words *c = row[2];
    const struct weir_rest_words *d = row[3];
    uint64_t in[LISTS] = {0};
    uint32_t last = *gram;
    for (size_t i = 0; i < part.n; i++) {
        uint32_t letter = (weir_rest_codes[(unsigned char)part.p[i]] - 1U) & LETTER_MASK;
        last = (last << CODE_BITS | letter) & GRAM_MASK;
        uint32_t slot = slot_of(last);
        uint64_t bit = (uint64_t)1 << (slot % 64);
        in[0] |= a->bits[slot / 64] & bit;
        in[1] |= b->bits[slot / 64] & bit;
        in[2] |= c->bits[slot / 64] & bit;
        in[3] |= d->bits[slot / 64] & bit;
    }
    *gram = last;
    unsigned found = 0;
    for (unsigned k = 0; k < LISTS; k++) {
        found |= in[k] != 0 ? 1U << k : 0U;
    }
    return found;
}

/* Rows are looked at whole: what is missing is the first again, and left out. */
static unsigned look_at_lists(struct weir_rest *rest, struct weir_slice part,
                              const struct weir_rest_words *const *lists, size_t n)
{
    unsigned found = 0;
    uint32_t gram = rest->gram;
    for (size_t from = 0; from < n; from += LISTS) {
        const struct weir_rest_words *row[LISTS];
        for (size_t k = 0; k < LISTS; k++) {
            row[k] = lists[from + k < n ? from + k : from];
        }
        gram = rest->gram;
        found |= look_at_row(row, part, &gram) << from;
    }
    rest->gram = gram;
    return found & ((1U << n) - 1);
}

struct weir_rest_part weir_rest_look(struct weir_rest *rest, struct weir_slice part,
                                     const struct weir_rest_words *const *lists, size_t n)
{
    struct weir_rest_part found = {.lists = look_at_lists(rest, part, lists, n)};
    look_at_classes(rest, part, &found);
    return found;
}

size_t weir_rest_word(struct weir_slice t, enum weir_rest_class class, bool *is_plain)
{
    size_t at = t.n;
    *is_plain = true;
    if (at > 0 && has_bit(t.p[at - 1], B((unsigned)class))) {
        return at - 1 - (weir_ascii_before(t, at - 1) == '+'); /* +(44) */
    }
    while (at > 0 && !ends_word(t, at, class)) {
        if (!has_bit(t.p[at - 1], class) || t.n - at >= WEIR_REST_WORD) {
            *is_plain = false;
            break;
        }
        at--;
    }
    return at;
}

size_t weir_rest_ended(struct weir_slice part)
{
    size_t at = part.n;
    while (at > 0 && !has_bit(part.p[at - 1], E((unsigned)WEIR_REST_WORDS))) {
        at--;
    }
    return at;
}
