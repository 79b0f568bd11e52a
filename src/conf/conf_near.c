#include "conf/conf_near.h"

#include <ctype.h>

enum { MAX_WORD_BYTES = 64, MAX_DISTANCE = 3, MAX_CANDIDATES = 256 };

static size_t allowed_distance(size_t n)
{
    return n <= 4 ? 1 : n <= 8 ? 2 : MAX_DISTANCE;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* `_` and `-` and the two cases are the same letter to someone who types from memory. */
static char fold(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

/* One row per byte of `a`; three rows are kept because a swap looks two rows back. */
static size_t distance(struct weir_slice a, struct weir_slice b)
{
    size_t rows[3][MAX_WORD_BYTES + 1];
    for (size_t j = 0; j <= b.n; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.n; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            char x = fold(a.p[i - 1]);
            char y = fold(b.p[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == fold(b.p[j - 2]) && y == fold(a.p[i - 2])) {
                row[j] = least(row[j], above2[j - 2] + 1);
            }
        }
    }
    return rows[a.n % 3][b.n];
}

void weir_conf_near_init(struct weir_conf_near *near, struct weir_slice wanted)
{
    *near =
        (struct weir_conf_near){.wanted = wanted, .best_distance = allowed_distance(wanted.n) + 1};
}

void weir_conf_near_offer(struct weir_conf_near *near, struct weir_slice candidate)
{
    struct weir_slice wanted = near->wanted;
    if (wanted.n == 0 || candidate.n == 0 || wanted.n > MAX_WORD_BYTES ||
        candidate.n > MAX_WORD_BYTES) {
        return;
    }
    if (++near->n_offered > MAX_CANDIDATES) {
        return;
    }
    size_t gap = wanted.n > candidate.n ? wanted.n - candidate.n : candidate.n - wanted.n;
    if (gap >= near->best_distance) {
        return;
    }
    size_t d = distance(wanted, candidate);
    if (d < near->best_distance) {
        near->best_distance = d;
        near->best = candidate;
    }
}
