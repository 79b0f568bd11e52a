/*
 * What may be the beginning of something, at the end of a text that goes on: the word being
 * written, and before it the groups of a number. Everything else can leave.
 */
#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/pii_int.h"

#include <string.h>

enum { MAX_WORD = 72, MAX_NUMBER = 64, MAX_GROUPS_BACK = 16 };

/* What a mailbox, an address or a code is made of; beyond ASCII letters of spaced scripts. */
static bool is_word_byte(char c)
{
    return weir_ascii_is_alnum(c) || (unsigned char)c >= 0x80 ||
           (c != '\0' && strchr("._%+-'@:", c) != NULL);
}

static size_t word_start(struct weir_slice t)
{
    size_t from = t.n;
    while (from > 0 && t.n - from < MAX_WORD && is_word_byte(t.p[from - 1])) {
        if ((unsigned char)t.p[from - 1] >= 0x80) {
            size_t at = weir_utf8_back(t, from, 1);
            size_t n;
            uint32_t cp = weir_utf8_decode(weir_slice_sub(t, at, t.n), &n);
            bool is_spaced =
                cp < 0x0E00 || (cp >= 0x10A0 && cp < 0x1200) || (cp >= 0x1E00 && cp < 0x2000);
            if (!is_spaced) {
                break;
            }
            from = at;
        } else {
            from--;
        }
    }
    return from;
}

static bool is_joint(char c)
{
    return c != '\0' && strchr(" -./()+", c) != NULL;
}

/* Digits with up to three joints between: where the first of them stands, with a bracket or a plus
 * sign before it. */
static size_t number_start(struct weir_slice t)
{
    size_t at = t.n;
    size_t from = t.n;
    size_t n_joints = 0;
    while (at > 0 && t.n - at < MAX_NUMBER) {
        char c = t.p[at - 1];
        if (weir_ascii_is_digit(c)) {
            from = at - 1;
            n_joints = 0;
        } else if (!is_joint(c) || ++n_joints > WEIR_PII_MAX_JOINT) {
            break;
        }
        at--;
    }
    for (size_t i = 0; i < 2 && from > 0 && (t.p[from - 1] == '(' || t.p[from - 1] == '+'); i++) {
        from--;
    }
    bool may_open = from == t.n && from > 0 && (t.p[from - 1] == '(' || t.p[from - 1] == '+');
    return may_open ? from - 1 - (from > 1 && t.p[from - 2] == '+') : from;
}

static size_t alnum_start(struct weir_slice t, size_t end)
{
    size_t from = end;
    while (from > 0 && weir_ascii_is_alnum(t.p[from - 1]) && end - from < MAX_NUMBER) {
        from--;
    }
    return from;
}

static bool has_digit(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (weir_ascii_is_digit(s.p[i])) {
            return true;
        }
    }
    return false;
}

/*
 * Groups of letters and digits, with one joint between: national numbers (AB 12 34 56 C). A group
 * before another has a digit, or is short.
 */
static size_t groups_start(struct weir_slice t)
{
    size_t from = alnum_start(t, t.n);
    for (size_t i = 0; i < MAX_GROUPS_BACK && from > 0; i++) {
        char joint = t.p[from - 1];
        size_t before = alnum_start(t, from - 1);
        struct weir_slice group = weir_slice_sub(t, before, from - 1);
        bool is_short = group.n > 0 && group.n <= 2;
        if (joint == '\0' || strchr(" -./:+", joint) == NULL || t.n - before > MAX_NUMBER ||
            (!has_digit(group) && !is_short)) {
            break;
        }
        from = before;
    }
    return from;
}

/* SW1A 1A: a postcode's first half, a blank, and what there is of the second. */
static size_t post_code_start(struct weir_slice t)
{
    enum { MAX_SECOND = 2, MAX_FIRST = 4 };
    size_t from = alnum_start(t, t.n);
    bool is_second = from == t.n || (t.n - from <= MAX_SECOND && weir_ascii_is_digit(t.p[from]));
    if (!is_second || weir_ascii_before(t, from) != ' ') {
        return t.n;
    }
    size_t before = alnum_start(t, from - 1);
    struct weir_slice first = weir_slice_sub(t, before, from - 1);
    bool is_first = first.n >= 2 && first.n <= MAX_FIRST && weir_ascii_is_alpha(first.p[0]) &&
                    (has_digit(first) || weir_slice_eq_cstr(first, "GIR"));
    return is_first ? before : t.n;
}

/* GB29 NWBK 601: the first twelve letters and digits of an IBAN. */
static size_t iban_start(struct weir_slice t)
{
    enum { LONGEST = 13 };
    size_t stop = t.n > LONGEST ? t.n - LONGEST : 0;
    size_t from = t.n;
    for (size_t at = t.n; at > stop; at--) {
        char c = t.p[at - 1];
        if (!weir_ascii_is_alnum(c) && c != ' ' && c != '-') {
            break;
        }
        bool is_begun = at + 2 < t.n && weir_ascii_is_alpha(c) && weir_ascii_is_alpha(t.p[at]) &&
                        weir_ascii_is_digit(t.p[at + 1]) && weir_ascii_is_digit(t.p[at + 2]) &&
                        !weir_ascii_is_alnum(weir_ascii_before(t, at - 1));
        from = is_begun ? at - 1 : from;
    }
    return from;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t weir_pii__tail(struct weir_slice t, bool has_ids)
{
    size_t from = least(word_start(t), number_start(t));
    from = least(from, least(iban_start(t), post_code_start(t)));
    return has_ids ? least(from, groups_start(t)) : from;
}
