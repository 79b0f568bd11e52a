/*
 * YAML nodes as JSON: spellings of the core schema, and the writing out of aliases and merge keys,
 * which is where a small document can become a large one. The buffer's ceiling stops that; what
 * writes nothing (merging the same names again and again) is counted.
 */
#include "base/err.h"
#include "base/map.h"
#include "detect/yamldoc.h"
#include "wire/json_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_VISITS = 4000000 };

/* ---- spellings */

static bool is_one_of(struct weir_slice s, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (weir_slice_eq_cstr(s, *words)) {
            return true;
        }
    }
    return false;
}

static const char *const null_words[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const true_words[] = {"true", "True", "TRUE", NULL};
static const char *const false_words[] = {"false", "False", "FALSE", NULL};
static const char *const special_floats[] = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf",
                                             "+.INF", "-.inf", "-.Inf", "-.INF", ".nan",
                                             ".NaN",  ".NAN",  NULL};

static bool is_digit(char c, int base)
{
    bool is_letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return (c >= '0' && c < '0' + (base < 10 ? base : 10)) || (base == 16 && is_letter);
}

static size_t digits(struct weir_slice s, size_t from, int base)
{
    size_t at = from;
    while (at < s.n && is_digit(s.p[at], base)) {
        at++;
    }
    return at - from;
}

/* 16 for 0x…, 8 for 0o…, else 0. */
static int prefix_base(struct weir_slice s)
{
    if (s.n > 2 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'o')) {
        int base = s.p[1] == 'x' ? 16 : 8;
        return digits(s, 2, base) == s.n - 2 ? base : 0;
    }
    return 0;
}

/* Where the parts of [-+]? digits* (. digits*)? ([eE] [-+]? digits)? stand. */
struct parts {
    bool is_negative;
    struct weir_slice whole;
    struct weir_slice fraction;
    struct weir_slice exponent; /* with its sign */
};

static bool split_number(struct weir_slice s, struct parts *p)
{
    size_t at = s.n != 0 && (s.p[0] == '-' || s.p[0] == '+');
    *p = (struct parts){.is_negative = at != 0 && s.p[0] == '-'};
    p->whole = weir_slice_sub(s, at, at + digits(s, at, 10));
    at += p->whole.n;
    if (at < s.n && s.p[at] == '.') {
        at++;
        p->fraction = weir_slice_sub(s, at, at + digits(s, at, 10));
        at += p->fraction.n;
    }
    if (p->whole.n + p->fraction.n == 0) {
        return false;
    }
    if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
        size_t from = ++at;
        at += at < s.n && (s.p[at] == '-' || s.p[at] == '+');
        size_t n = digits(s, at, 10);
        at += n;
        p->exponent = weir_slice_sub(s, from, at);
        return n != 0 && at == s.n;
    }
    return at == s.n;
}

enum weir_yamldoc_kind weir_yamldoc__resolve(struct weir_slice s)
{
    if (is_one_of(s, null_words)) {
        return WEIR_YAMLDOC_NULL;
    }
    if (is_one_of(s, true_words)) {
        return WEIR_YAMLDOC_TRUE;
    }
    if (is_one_of(s, false_words)) {
        return WEIR_YAMLDOC_FALSE;
    }
    struct parts p;
    if (prefix_base(s) != 0) {
        return WEIR_YAMLDOC_INT;
    }
    if (split_number(s, &p)) {
        size_t n_sign = (size_t)(s.p[0] == '-' || s.p[0] == '+');
        return p.whole.n + n_sign == s.n ? WEIR_YAMLDOC_INT : WEIR_YAMLDOC_FLOAT;
    }
    return is_one_of(s, special_floats) ? WEIR_YAMLDOC_FLOAT : WEIR_YAMLDOC_TEXT;
}

/* Hexadecimal and octal; beyond what a double holds it stays a text. */
static int write_based(struct weir_slice s, int base, struct weir_buf *out)
{
    double value = 0;
    for (size_t i = 2; i < s.n; i++) {
        char c = s.p[i];
        value = value * base + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    uint64_t exact = strtoull(s.p + 2, NULL, base);
    if (value < 18446744073709551615.0) {
        return weir_buf_printf(out, "%llu", (unsigned long long)exact);
    }
    return isinf(value) ? weir_json_write_quoted(out, s) : weir_buf_printf(out, "%.0f", value);
}

int weir_yamldoc__number(enum weir_yamldoc_kind kind, struct weir_slice s, struct weir_buf *out)
{
    struct parts p;
    int base = prefix_base(s);
    if (base != 0) {
        return write_based(s, base, out);
    }
    if (!split_number(s, &p)) {
        return weir_json_write_quoted(out, s); /* .inf and .nan */
    }
    while (p.whole.n > 1 && p.whole.p[0] == '0') {
        p.whole = weir_slice_sub(p.whole, 1, p.whole.n);
    }
    int rc = weir_buf_append(out, p.is_negative ? WEIR_SLICE("-") : WEIR_SLICE(""));
    rc = rc != 0 ? rc : weir_buf_append(out, p.whole.n != 0 ? p.whole : WEIR_SLICE("0"));
    if (rc == 0 && (p.fraction.n != 0 || (kind == WEIR_YAMLDOC_FLOAT && p.exponent.n == 0))) {
        rc = weir_buf_append_byte(out, '.');
        rc = rc != 0 ? rc : weir_buf_append(out, p.fraction.n != 0 ? p.fraction : WEIR_SLICE("0"));
    }
    if (rc == 0 && p.exponent.n != 0) {
        rc = weir_buf_append_byte(out, 'e');
        rc = rc != 0 ? rc : weir_buf_append(out, p.exponent);
    }
    return rc;
}

/* ---- writing out */

struct writer {
    struct weir_buf *out;
    size_t n_visits;
    int rc; /* the first error sticks */
};

/* The mapping that is being written: merged names that are there already do not count. */
struct members {
    struct weir_map seen; /* used with merge keys only */
    bool is_first;
};

static void write_value(struct writer *w, const struct weir_yamldoc_node *n, int depth);

static void note(struct writer *w, int rc)
{
    w->rc = w->rc != 0 ? w->rc : rc;
}

static void write_name(struct writer *w, const struct weir_yamldoc_node *name)
{
    note(w, weir_json_write_quoted(w->out, name->text));
    note(w, weir_buf_append_byte(w->out, ':'));
}

static void write_member(struct writer *w, struct members *m, struct weir_yamldoc_node **pair,
                         int depth)
{
    if (!m->is_first) {
        note(w, weir_buf_append_byte(w->out, ','));
    }
    m->is_first = false;
    write_name(w, pair[0]);
    write_value(w, pair[1], depth + 1);
}

/* Own names first, then those of what is merged in, nearest first. */
static void write_merged(struct writer *w, struct members *m, const struct weir_yamldoc_node *n,
                         int depth)
{
    if (depth > WEIR_YAMLDOC_MAX_DEPTH || ++w->n_visits > MAX_VISITS) {
        note(w, WEIR_ELIMIT);
    }
    for (size_t i = 0; i < n->n && w->rc == 0; i++) {
        struct weir_yamldoc_node **pair = &n->items[2 * i];
        w->n_visits++;
        if (!pair[0]->is_merge && !weir_map_has(&m->seen, pair[0]->text)) {
            weir_map_put(&m->seen, pair[0]->text, pair[0]);
            write_member(w, m, pair, depth);
        }
    }
    for (size_t i = 0; i < n->n && w->rc == 0; i++) {
        const struct weir_yamldoc_node *from = n->items[2 * i + 1];
        if (!n->items[2 * i]->is_merge) {
            continue;
        }
        bool is_one = from->kind == WEIR_YAMLDOC_MAPPING;
        for (size_t k = 0; k < (is_one ? 1 : from->n) && w->rc == 0; k++) {
            write_merged(w, m, is_one ? from : from->items[k], depth + 1);
        }
    }
}

static void write_mapping(struct writer *w, const struct weir_yamldoc_node *n, int depth)
{
    struct members m = {.is_first = true};
    note(w, weir_buf_append_byte(w->out, '{'));
    if (n->has_merge) {
        write_merged(w, &m, n, depth);
    }
    for (size_t i = 0; !n->has_merge && i < n->n && w->rc == 0; i++) {
        write_member(w, &m, &n->items[2 * i], depth);
    }
    note(w, weir_buf_append_byte(w->out, '}'));
    weir_map_dispose(&m.seen);
}

static void write_sequence(struct writer *w, const struct weir_yamldoc_node *n, int depth)
{
    note(w, weir_buf_append_byte(w->out, '['));
    for (size_t i = 0; i < n->n && w->rc == 0; i++) {
        if (i != 0) {
            note(w, weir_buf_append_byte(w->out, ','));
        }
        write_value(w, n->items[i], depth + 1);
    }
    note(w, weir_buf_append_byte(w->out, ']'));
}

static void write_value(struct writer *w, const struct weir_yamldoc_node *n, int depth)
{
    if (depth > WEIR_YAMLDOC_MAX_DEPTH) {
        note(w, WEIR_ELIMIT);
        return;
    }
    switch (n->kind) {
    case WEIR_YAMLDOC_NULL:
        note(w, weir_buf_append(w->out, WEIR_SLICE("null")));
        break;
    case WEIR_YAMLDOC_FALSE:
        note(w, weir_buf_append(w->out, WEIR_SLICE("false")));
        break;
    case WEIR_YAMLDOC_TRUE:
        note(w, weir_buf_append(w->out, WEIR_SLICE("true")));
        break;
    case WEIR_YAMLDOC_INT:
    case WEIR_YAMLDOC_FLOAT:
        note(w, weir_yamldoc__number(n->kind, n->text, w->out));
        break;
    case WEIR_YAMLDOC_TEXT:
        note(w, weir_json_write_quoted(w->out, n->text));
        break;
    case WEIR_YAMLDOC_SEQUENCE:
        write_sequence(w, n, depth);
        break;
    case WEIR_YAMLDOC_MAPPING:
        write_mapping(w, n, depth);
        break;
    }
}

int weir_yamldoc_json(const struct weir_yamldoc_node *root, struct weir_buf *out)
{
    struct writer w = {.out = out};
    if (root == NULL) {
        return weir_buf_append(out, WEIR_SLICE("null"));
    }
    write_value(&w, root, 1);
    return w.rc;
}
