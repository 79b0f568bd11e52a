#include "talk/unescape.h"

#include "base/utf8.h"

static int hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The unit of `\uXXXX` at `at`; false: there is none. */
static bool unit_at(struct weir_slice s, size_t at, uint32_t *unit)
{
    if (at + 6 > s.n || s.p[at] != '\\' || s.p[at + 1] != 'u') {
        return false;
    }
    *unit = 0;
    for (size_t i = at + 2; i < at + 6; i++) {
        if (hex(s.p[i]) < 0) {
            return false;
        }
        *unit = *unit * 16 + (uint32_t)hex(s.p[i]);
    }
    return true;
}

/* The character that the escape at `at` stands for, and its length; 0: it is none. */
static size_t escape_at(struct weir_slice s, size_t at, uint32_t *cp)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    uint32_t low;
    if (unit_at(s, at, cp)) {
        bool is_high = *cp >= 0xd800 && *cp < 0xdc00;
        if (is_high && unit_at(s, at + 6, &low) && low >= 0xdc00 && low < 0xe000) {
            *cp = 0x10000 + ((*cp - 0xd800) << 10) + (low - 0xdc00);
            return 12;
        }
        return 6;
    }
    const char *found = at + 1 < s.n && s.p[at + 1] != '\0' ? strchr(from, s.p[at + 1]) : NULL;
    if (found == NULL) {
        return 0;
    }
    *cp = (uint32_t)to[found - from];
    return 2;
}

/* An upper bound: every escape has a backslash. */
static size_t count_marks(struct weir_slice s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        n += s.p[i] == '\\';
    }
    return n;
}

void weir_unescape_read(struct weir_unescape *u, struct weir_slice written,
                        struct weir_arena *arena)
{
    struct weir_buf out = {0};
    size_t n_marks = count_marks(written);
    *u = (struct weir_unescape){0};
    if (n_marks == 0) {
        return;
    }
    u->marks = weir_arena_array(arena, n_marks, sizeof *u->marks);
    size_t at_cp = 0;
    size_t written_cp = 0;
    for (size_t at = 0; at < written.n; at_cp++) {
        uint32_t cp;
        size_t n = written.p[at] == '\\' ? escape_at(written, at, &cp) : 0;
        if (n != 0) {
            char bytes[4];
            weir_buf_append(&out, weir_slice_make(bytes, weir_utf8_encode(cp, bytes)));
            u->marks[u->n++] = (struct weir_unescape_mark){at_cp, written_cp, written_cp + n};
            written_cp += n;
        } else {
            n = weir_utf8_sequence(weir_slice_sub(written, at, written.n));
            weir_buf_append(&out, weir_slice_sub(written, at, at + n));
            written_cp++;
        }
        at += n;
    }
    u->text = u->n != 0 ? weir_arena_dup(arena, weir_buf_slice(&out)) : (struct weir_slice){0};
    weir_buf_dispose(&out);
}

/* The last mark at or before there; NULL: none. */
static const struct weir_unescape_mark *mark_before(const struct weir_unescape *u, size_t cp)
{
    size_t from = 0;
    size_t to = u->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (u->marks[middle].at_cp <= cp) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from != 0 ? &u->marks[from - 1] : NULL;
}

void weir_unescape_span(const struct weir_unescape *u, size_t *start_cp, size_t *end_cp)
{
    const struct weir_unescape_mark *m = mark_before(u, *start_cp);
    bool is_empty = *end_cp == *start_cp;
    if (m != NULL) {
        *start_cp = m->at_cp == *start_cp ? m->from_cp : *start_cp - m->at_cp - 1 + m->until_cp;
    }
    m = is_empty ? NULL : mark_before(u, *end_cp - 1);
    if (m != NULL) {
        *end_cp = *end_cp - 1 - m->at_cp + m->until_cp;
    }
    *end_cp = is_empty ? *start_cp : *end_cp;
}
