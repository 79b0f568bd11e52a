#include "base/glob.h"

#include "base/mem.h"

#include <stdlib.h>

bool weir_glob_match(struct weir_slice glob, struct weir_slice text)
{
    size_t g = 0;
    size_t t = 0;
    size_t after_star = SIZE_MAX; /* where to take up the pattern again */
    size_t star_text = 0;         /* and the text, one byte further each time */
    while (t < text.n) {
        if (g < glob.n && glob.p[g] == '*') {
            after_star = ++g;
            star_text = t;
        } else if (g < glob.n && (glob.p[g] == '?' || glob.p[g] == text.p[t])) {
            g++;
            t++;
        } else if (after_star != SIZE_MAX) {
            g = after_star;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (g < glob.n && glob.p[g] == '*') {
        g++;
    }
    return g == glob.n;
}

bool weir_glob_has_wildcard(struct weir_slice glob)
{
    return weir_slice_find(glob, '*') < glob.n || weir_slice_find(glob, '?') < glob.n;
}

/* Can the rests of both, from `i` and `j` on, match a common text? `below` has the answers for
 * i + 1 and `here` those for i and every larger j. */
static bool overlaps_at(struct weir_slice a, size_t i, struct weir_slice b, size_t j,
                        const bool *below, const bool *here)
{
    bool has_a = i < a.n;
    bool has_b = j < b.n;
    if (has_a && a.p[i] == '*') { /* it stands for nothing, or takes one more of the other */
        return below[j] || (has_b && here[j + 1]);
    }
    if (has_b && b.p[j] == '*') {
        return here[j + 1] || (has_a && below[j]);
    }
    if (!has_a || !has_b) {
        return has_a == has_b;
    }
    bool is_same = a.p[i] == b.p[j] || a.p[i] == '?' || b.p[j] == '?';
    return is_same && below[j + 1];
}

bool weir_glob_overlaps(struct weir_slice a, struct weir_slice b)
{
    bool *rows = weir_mem_zalloc(2 * (b.n + 2));
    bool *here = rows;
    bool *below = rows + b.n + 2; /* all false: behind the end of `a` nothing is left to match */
    for (size_t i = a.n + 1; i-- > 0;) {
        for (size_t j = b.n + 1; j-- > 0;) {
            here[j] = overlaps_at(a, i, b, j, below, here);
        }
        bool *row = below;
        below = here;
        here = row;
    }
    bool is_found = below[0];
    free(rows);
    return is_found;
}
