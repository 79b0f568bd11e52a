#include "task/blank.h"

#include "base/utf8.h"

bool weir_blank_is(struct weir_slice s)
{
    while (s.n != 0) {
        size_t width;
        if (!weir_utf8_is_space(weir_utf8_decode(s, &width))) {
            return false;
        }
        s = weir_slice_sub(s, width, s.n);
    }
    return true;
}

/* The first code point that is not white space, and what follows it; false at the end. */
static bool next_solid(struct weir_slice *s, uint32_t *cp)
{
    while (s->n != 0) {
        size_t width;
        *cp = weir_utf8_decode(*s, &width);
        *s = weir_slice_sub(*s, width, s->n);
        if (!weir_utf8_is_space(*cp)) {
            return true;
        }
    }
    return false;
}

bool weir_blank_same(struct weir_slice a, struct weir_slice b)
{
    uint32_t x;
    uint32_t y;
    for (;;) {
        bool has_x = next_solid(&a, &x);
        bool has_y = next_solid(&b, &y);
        if (!has_x || !has_y) {
            return has_x == has_y;
        }
        if (x != y) {
            return false;
        }
    }
}
