#include "talk/recur.h"

#include "base/err.h"
#include "base/utf8.h"

#include <unicode/uchar.h>

enum {
    NONE = 0, /* the root: nobody's child */
    SEPARATORS_MOST = 3,
    CHAIN_MOST = 16, /* values that end at one place and are tried; then the longest is taken */
};

struct node {
    uint32_t child;   /* the first */
    uint32_t sibling; /* the next */
    uint32_t fail;    /* the longest other one that ends as this one does */
    uint32_t out;     /* the same, of those where a value ends */
    uint16_t depth;
    bool is_value;
    unsigned char byte;
    const void *tag;
};

struct machine {
    struct node *nodes; /* nodes[0] is the root */
    size_t n;
    size_t cap;
    uint32_t from_root[256];
    size_t longest;
};

struct weir_recur {
    struct weir_arena *arena;
    struct machine machines[WEIR_MASK_FORMS];
    size_t n_bytes;
    size_t *places; /* of digits, as many as the longest value has, in a ring */
};

/* ---- making ---- */

struct weir_recur *weir_recur_new(struct weir_arena *arena)
{
    struct weir_recur *r = weir_arena_zalloc(arena, sizeof *r);
    r->arena = arena;
    return r;
}

static uint32_t add_node(struct weir_recur *r, struct machine *m, struct node node)
{
    if (m->n == m->cap) {
        m->cap = m->cap != 0 ? m->cap * 2 : 64;
        struct node *more = weir_arena_alloc(r->arena, m->cap * sizeof *more);
        if (m->n != 0) {
            memcpy(more, m->nodes, m->n * sizeof *more);
        }
        m->nodes = more;
    }
    m->nodes[m->n] = node;
    return (uint32_t)m->n++;
}

static uint32_t child_of(const struct machine *m, uint32_t at, unsigned char byte)
{
    if (at == NONE) {
        return m->from_root[byte];
    }
    uint32_t child = m->nodes[at].child;
    while (child != NONE && m->nodes[child].byte != byte) {
        child = m->nodes[child].sibling;
    }
    return child;
}

int weir_recur_add(struct weir_recur *r, enum weir_mask_form form, struct weir_slice norm,
                   const void *tag)
{
    struct machine *m = &r->machines[form];
    if (norm.n > WEIR_RECUR_VALUE_BYTES || weir_utf8_count(norm) < WEIR_RECUR_LEAST_CP) {
        return 0;
    }
    if (norm.n > WEIR_RECUR_BYTES - r->n_bytes) {
        return WEIR_ELIMIT;
    }
    r->n_bytes += norm.n;
    if (m->n == 0) {
        add_node(r, m, (struct node){0});
    }
    uint32_t at = NONE;
    for (size_t i = 0; i < norm.n; i++) {
        unsigned char byte = (unsigned char)norm.p[i];
        uint32_t next = child_of(m, at, byte);
        if (next == NONE) {
            next = add_node(r, m,
                            (struct node){.byte = byte,
                                          .depth = (uint16_t)(i + 1),
                                          .sibling = m->nodes[at].child});
            m->nodes[at].child = next;
            if (at == NONE) {
                m->from_root[byte] = next;
            }
        }
        at = next;
    }
    m->nodes[at].is_value = true;
    m->nodes[at].tag = m->nodes[at].tag == NULL ? tag : m->nodes[at].tag;
    m->longest = norm.n > m->longest ? norm.n : m->longest;
    return 0;
}

static uint32_t step(const struct machine *m, uint32_t at, unsigned char byte)
{
    uint32_t next = child_of(m, at, byte);
    while (next == NONE && at != NONE) {
        at = m->nodes[at].fail;
        next = child_of(m, at, byte);
    }
    return next;
}

/* Level by level, so that shorter ones are ready. */
static void link_up(struct weir_recur *r, struct machine *m)
{
    uint32_t *queue = weir_arena_array(r->arena, m->n + 1, sizeof *queue);
    size_t n = 0;
    for (uint32_t c = m->nodes[0].child; c != NONE; c = m->nodes[c].sibling) {
        queue[n++] = c;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t at = queue[i];
        for (uint32_t c = m->nodes[at].child; c != NONE; c = m->nodes[c].sibling) {
            uint32_t fail = step(m, m->nodes[at].fail, m->nodes[c].byte);
            m->nodes[c].fail = fail;
            m->nodes[c].out = m->nodes[fail].is_value ? fail : m->nodes[fail].out;
            queue[n++] = c;
        }
    }
}

void weir_recur_build(struct weir_recur *r)
{
    for (size_t i = 0; i < WEIR_MASK_FORMS; i++) {
        if (r->machines[i].n != 0) {
            link_up(r, &r->machines[i]);
        }
    }
    r->places =
        weir_arena_array(r->arena, r->machines[WEIR_MASK_DIGITS].longest + 1, sizeof *r->places);
}

/* ---- words ---- */

/* Thai, Lao, Myanmar and Khmer; and from Han on, Korean with them. */
static bool has_no_spaces(uint32_t cp)
{
    return cp >= 0x2E80 || (cp >= 0x0E00 && cp <= 0x0EFF) || (cp >= 0x1000 && cp <= 0x109F) ||
           (cp >= 0x1780 && cp <= 0x17FF);
}

static bool is_word_cp(uint32_t cp)
{
    if (cp < 0x80) {
        return weir_mask_is_word((unsigned char)cp);
    }
    return !has_no_spaces(cp) && u_isalnum((UChar32)cp);
}

static bool is_word_at(struct weir_slice text, size_t byte)
{
    size_t n;
    return byte < text.n && is_word_cp(weir_utf8_decode(weir_slice_sub(text, byte, text.n), &n));
}

/* Does a word go on over this place? */
static bool is_inside(struct weir_slice text, size_t byte)
{
    return byte != 0 && byte < text.n && is_word_at(text, byte) &&
           is_word_at(text, weir_utf8_back(text, byte, 1));
}

/* ---- finding ---- */

/* Where the value of a node begins, when it ends at `to`. */
typedef size_t (*begins_fn)(const struct weir_recur *r, size_t to, size_t depth, size_t n_digits);

static size_t begins_before(const struct weir_recur *r, size_t to, size_t depth, size_t n_digits)
{
    (void)r;
    (void)n_digits;
    return to - depth;
}

static size_t begins_at_digit(const struct weir_recur *r, size_t to, size_t depth, size_t n_digits)
{
    (void)to;
    return r->places[(n_digits - depth) % r->machines[WEIR_MASK_DIGITS].longest];
}

struct ending {
    struct weir_slice text;
    const struct machine *m;
    begins_fn begins;
    size_t to;
    size_t n_digits;
};

/* The longest value that ends here and is no part of a longer word. */
static bool tell(struct weir_recur *r, const struct ending *e, uint32_t at,
                 const struct weir_recur_sink *sink)
{
    at = e->m->nodes[at].is_value ? at : e->m->nodes[at].out;
    if (at == NONE || is_inside(e->text, e->to)) {
        return true;
    }
    uint32_t longest = at;
    size_t n_tried = 0;
    while (at != NONE) {
        size_t from = e->begins(r, e->to, e->m->nodes[at].depth, e->n_digits);
        bool is_free = !is_inside(e->text, from);
        if (is_free || ++n_tried == CHAIN_MOST) { /* rather too much than too little */
            at = is_free ? at : longest;
            from = e->begins(r, e->to, e->m->nodes[at].depth, e->n_digits);
            return sink->found(sink->ctx, e->text, from, e->to, e->m->nodes[at].tag);
        }
        at = e->m->nodes[at].out;
    }
    return true;
}

static bool find_bytes(struct weir_recur *r, enum weir_mask_form form, struct weir_slice text,
                       const struct weir_recur_sink *sink)
{
    const struct machine *m = &r->machines[form];
    uint32_t at = NONE;
    for (size_t i = 0; m->n != 0 && i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool is_upper = form == WEIR_MASK_LOWER && c >= 'A' && c <= 'Z';
        at = step(m, at, is_upper ? (unsigned char)(c - 'A' + 'a') : c);
        struct ending e = {.text = text, .m = m, .begins = begins_before, .to = i + 1};
        if (at != NONE && !tell(r, &e, at, sink)) {
            return false;
        }
    }
    return true;
}

/* What may stand between digits: its bytes, or 0. */
static size_t separator(struct weir_slice text, size_t at)
{
    unsigned char c = (unsigned char)text.p[at];
    if (c < 0x80) {
        return c != '\0' && strchr(" -.()/+", c) != NULL;
    }
    size_t n;
    uint32_t cp = weir_utf8_decode(weir_slice_sub(text, at, text.n), &n);
    bool is_one = cp == 0xA0 || (cp >= 0x2000 && cp <= 0x2015) || cp == 0x202F;
    return is_one ? n : 0;
}

static void find_digits(struct weir_recur *r, struct weir_slice text,
                        const struct weir_recur_sink *sink)
{
    const struct machine *m = &r->machines[WEIR_MASK_DIGITS];
    uint32_t at = NONE;
    size_t n_digits = 0;
    size_t n_between = 0;
    for (size_t i = 0; m->n != 0 && i < text.n;) {
        unsigned char c = (unsigned char)text.p[i];
        if (c >= '0' && c <= '9') {
            at = step(m, at, c);
            r->places[n_digits++ % m->longest] = i++;
            n_between = 0;
            struct ending e = {text, m, begins_at_digit, i, n_digits};
            if (at != NONE && !tell(r, &e, at, sink)) {
                return;
            }
            continue;
        }
        size_t n = separator(text, i);
        if (n == 0 || ++n_between > SEPARATORS_MOST) {
            at = NONE;
            n_between = 0;
        }
        i += n != 0 ? n : 1;
    }
}

void weir_recur_find(struct weir_recur *r, struct weir_slice text,
                     const struct weir_recur_sink *sink)
{
    if (find_bytes(r, WEIR_MASK_AS_IS, text, sink) && find_bytes(r, WEIR_MASK_LOWER, text, sink)) {
        find_digits(r, text, sink);
    }
}
