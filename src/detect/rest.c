#include "detect/rest.h"

#include "base/assert.h"

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

bool weir_rest_is_plain(struct weir_rest *rest, struct weir_slice part,
                        const struct weir_rest_words *const *lists, size_t n)
{
    uint32_t gram = rest->gram;
    for (size_t i = 0; i < part.n; i++) {
        unsigned char code = weir_rest_codes[(unsigned char)part.p[i]];
        if (code == 0) {
            return false;
        }
        gram = (gram << CODE_BITS | (uint32_t)(code - 1)) & GRAM_MASK;
        uint32_t slot = slot_of(gram);
        for (size_t k = 0; k < n; k++) {
            if ((lists[k]->bits[slot / 64] >> (slot % 64) & 1) != 0) {
                return false;
            }
        }
    }
    rest->gram = gram;
    return true;
}

size_t weir_rest_word(struct weir_slice t, bool *is_plain)
{
    size_t at = t.n;
    *is_plain = true;
    while (at > 0 && weir_rest_codes[(unsigned char)t.p[at - 1]] != WEIR_REST_BLANK) {
        if (weir_rest_codes[(unsigned char)t.p[at - 1]] == 0 || t.n - at >= WEIR_REST_WORD) {
            *is_plain = false;
            break;
        }
        at--;
    }
    return at;
}
