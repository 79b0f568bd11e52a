#include "detect/places.h"

#include "base/utf8.h"

enum { CP_PER_MARK = 256 };

void weir_places_set(struct weir_places *p, struct weir_slice text)
{
    p->text = text;
    p->is_counted = false;
    p->is_marked = false;
}

size_t weir_places_count(struct weir_places *p)
{
    if (!p->is_counted) {
        p->n_cp = weir_utf8_count(p->text);
        p->is_counted = true;
    }
    return p->n_cp;
}

static void mark(struct weir_places *p)
{
    size_t at_byte = 0;
    weir_buf_clear(&p->marks);
    do {
        weir_buf_append(&p->marks, weir_slice_make((const char *)&at_byte, sizeof at_byte));
        at_byte += weir_utf8_byte_at(weir_slice_sub(p->text, at_byte, p->text.n), CP_PER_MARK);
    } while (at_byte < p->text.n);
    p->is_marked = true;
}

static size_t byte_at(struct weir_places *p, size_t at_cp)
{
    if (weir_places_count(p) == p->text.n) {
        return at_cp;
    }
    if (!p->is_marked) {
        mark(p);
    }
    size_t n_marks = p->marks.n / sizeof(size_t);
    size_t no = at_cp / CP_PER_MARK < n_marks ? at_cp / CP_PER_MARK : n_marks - 1;
    size_t from = ((const size_t *)(const void *)p->marks.p)[no];
    struct weir_slice rest = weir_slice_sub(p->text, from, p->text.n);
    return from + weir_utf8_byte_at(rest, at_cp - no * CP_PER_MARK);
}

struct weir_slice weir_places_slice(struct weir_places *p, size_t start_cp, size_t end_cp)
{
    size_t start_byte = byte_at(p, start_cp);
    return weir_slice_sub(p->text, start_byte, byte_at(p, end_cp));
}

void weir_places_dispose(struct weir_places *p)
{
    weir_buf_dispose(&p->marks);
}
