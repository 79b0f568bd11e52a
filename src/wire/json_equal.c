/*
 * Are two values the same? Both are walked at once with a stack of the containers being compared,
 * on the heap, so depth costs no stack. Members in the same order are met in step; the first that
 * is not makes its object look names up, in large objects through a hash table made once.
 */
#include "base/mem.h"
#include "wire/json_int.h"

#include <stdlib.h>

/* Two containers of the same type and size, partly compared. */
struct frame {
    uint32_t in_a;
    uint32_t in_b;
    uint32_t at_a;                 /* next item to compare, or WEIR_JSON_NONE */
    uint32_t at_b;                 /* its counterpart if the order is the same */
    struct weir_json__names names; /* of in_b; no slots until needed */
};

struct walk {
    const struct weir_json *a;
    const struct weir_json *b;
    struct frame *frames;
    size_t n;
    size_t cap;
};

/*
 * A number as decimal: 0.digits × 10^exponent, digits without zeros at either end. Zero has no
 * digits. `digits` may still contain the point.
 */
struct decimal {
    struct weir_slice digits;
    int64_t exponent;
    bool is_negative;
    bool is_huge; /* the exponent as spelled is beyond counting */
};

static bool read_exponent(struct weir_slice s, int64_t *exponent)
{
    bool is_negative = s.n != 0 && s.p[0] == '-';
    int64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '-' || s.p[i] == '+') {
            continue;
        }
        if (v > INT64_MAX / 100) {
            return false;
        }
        v = v * 10 + (s.p[i] - '0');
    }
    *exponent = is_negative ? -v : v;
    return true;
}

static struct decimal read_decimal(struct weir_slice s)
{
    struct decimal d = {.is_negative = s.p[0] == '-'};
    s = weir_slice_sub(s, d.is_negative, s.n);
    size_t e = 0;
    while (e < s.n && s.p[e] != 'e' && s.p[e] != 'E') {
        e++;
    }
    d.is_huge = e < s.n && !read_exponent(weir_slice_sub(s, e + 1, s.n), &d.exponent);
    s.n = e;
    size_t point = weir_slice_find(s, '.');
    size_t from = 0;
    while (from < s.n && (s.p[from] == '0' || s.p[from] == '.')) {
        from++;
    }
    size_t to = s.n;
    while (to > from && (s.p[to - 1] == '0' || s.p[to - 1] == '.')) {
        to--;
    }
    d.digits = weir_slice_sub(s, from, to);
    /* Digits before the point count up, zeros skipped behind it count down. */
    d.exponent += (int64_t)point - (int64_t)from + (from > point);
    return d;
}

/* Equal but for where the point stands. */
static bool same_digits(struct weir_slice x, struct weir_slice y)
{
    size_t i = 0;
    size_t k = 0;
    for (;;) {
        i += i < x.n && x.p[i] == '.';
        k += k < y.n && y.p[k] == '.';
        if (i == x.n || k == y.n) {
            return i == x.n && k == y.n;
        }
        if (x.p[i++] != y.p[k++]) {
            return false;
        }
    }
}

static bool same_number(struct weir_slice x, struct weir_slice y)
{
    if (weir_slice_eq(x, y)) {
        return true;
    }
    struct decimal a = read_decimal(x);
    struct decimal b = read_decimal(y);
    if (a.digits.n == 0 || b.digits.n == 0) {
        return a.digits.n == b.digits.n; /* zero, whatever sign and exponent */
    }
    return !a.is_huge && !b.is_huge && a.is_negative == b.is_negative && a.exponent == b.exponent &&
           same_digits(a.digits, b.digits);
}

/* Digits as fractions: 0.12 against 0.119. Neither ends with a zero, so the longer is larger. */
static int compare_digits(struct weir_slice x, struct weir_slice y)
{
    size_t i = 0;
    size_t k = 0;
    for (;;) {
        i += i < x.n && x.p[i] == '.';
        k += k < y.n && y.p[k] == '.';
        if (i == x.n || k == y.n) {
            return (i < x.n) - (k < y.n);
        }
        if (x.p[i] != y.p[k]) {
            return x.p[i] < y.p[k] ? -1 : 1;
        }
        i++;
        k++;
    }
}

/* Beyond counting is larger than, or nearer to zero than, all that can be counted. */
static int64_t clamped_exponent(const struct decimal *d, struct weir_slice s)
{
    if (!d->is_huge) {
        return d->exponent;
    }
    const char *e = memchr(s.p, 'e', s.n);
    e = e != NULL ? e : memchr(s.p, 'E', s.n);
    return e[1] == '-' ? INT64_MIN : INT64_MAX;
}

int weir_json_compare_numbers(const struct weir_json *a, uint32_t at_a, const struct weir_json *b,
                              uint32_t at_b)
{
    struct weir_slice raw_a = weir_json_raw(a, at_a);
    struct weir_slice raw_b = weir_json_raw(b, at_b);
    struct decimal x = read_decimal(raw_a);
    struct decimal y = read_decimal(raw_b);
    int sign_x = x.digits.n == 0 ? 0 : x.is_negative ? -1 : 1;
    int sign_y = y.digits.n == 0 ? 0 : y.is_negative ? -1 : 1;
    if (sign_x != sign_y || sign_x == 0) {
        return sign_x - sign_y;
    }
    int64_t e_x = clamped_exponent(&x, raw_a);
    int64_t e_y = clamped_exponent(&y, raw_b);
    if (e_x != e_y) {
        return e_x < e_y ? -sign_x : sign_x;
    }
    return sign_x * compare_digits(x.digits, y.digits);
}

bool weir_json_is_whole(const struct weir_json *j, uint32_t at)
{
    if (j->nodes[at].is_integer) {
        return true;
    }
    struct weir_slice raw = weir_json_raw(j, at);
    struct decimal d = read_decimal(raw);
    size_t n_digits = d.digits.n - (weir_slice_find(d.digits, '.') < d.digits.n);
    return d.digits.n == 0 || clamped_exponent(&d, raw) >= (int64_t)n_digits;
}

static bool is_container(const struct weir_json_node *node)
{
    return node->type == WEIR_JSON_ARRAY || node->type == WEIR_JSON_OBJECT;
}

static void push(struct walk *w, uint32_t at_a, uint32_t at_b)
{
    if (w->n == w->cap) {
        w->cap = w->cap != 0 ? w->cap * 2 : 16;
        w->frames = weir_mem_realloc(w->frames, w->cap * sizeof *w->frames);
    }
    w->frames[w->n++] = (struct frame){.in_a = at_a,
                                       .in_b = at_b,
                                       .at_a = weir_json_first(w->a, at_a),
                                       .at_b = weir_json_first(w->b, at_b)};
}

/* Compares two values; of containers only type and size, their items are left to the stack. */
static bool same_value(struct walk *w, uint32_t at_a, uint32_t at_b)
{
    const struct weir_json_node *x = &w->a->nodes[at_a];
    const struct weir_json_node *y = &w->b->nodes[at_b];
    if (x->type != y->type) {
        return false;
    }
    if (x->type == WEIR_JSON_NUMBER) {
        return same_number(weir_json_raw(w->a, at_a), weir_json_raw(w->b, at_b));
    }
    if (x->type == WEIR_JSON_STRING) {
        return weir_json__same_string(w->a, at_a, w->b, at_b, true);
    }
    if (x->n != y->n) {
        return false;
    }
    if (is_container(x) && x->n != 0) {
        push(w, at_a, at_b);
    }
    return true;
}

/* The key of in_b with the name of the current one of in_a. */
static uint32_t find_key(const struct walk *w, struct frame *f)
{
    if (f->at_b != WEIR_JSON_NONE && weir_json__same_string(w->a, f->at_a, w->b, f->at_b, true)) {
        return f->at_b;
    }
    uint32_t n = w->b->nodes[f->in_b].n;
    if (n > WEIR_JSON__FEW_MEMBERS) {
        if (f->names.slots == NULL) {
            struct weir_json__slot *slots =
                weir_mem_array(weir_json__names_slots(n), sizeof *slots);
            weir_json__names_fill(&f->names, w->b, f->in_b, slots);
        }
        return weir_json__names_find(&f->names, w->b, w->a, f->at_a);
    }
    uint32_t key = weir_json_first(w->b, f->in_b);
    while (key != WEIR_JSON_NONE && !weir_json__same_string(w->a, f->at_a, w->b, key, true)) {
        key = weir_json_after(w->b, f->in_b, key);
    }
    return key;
}

static void pop(struct walk *w)
{
    w->n--;
    free(w->frames[w->n].names.slots);
}

/* One step of the innermost pair. Names are unique and sizes equal: finding all of a's is enough.
 */
static bool step(struct walk *w)
{
    struct frame *f = &w->frames[w->n - 1];
    if (f->at_a == WEIR_JSON_NONE) {
        pop(w);
        return true;
    }
    bool is_object = w->a->nodes[f->in_a].type == WEIR_JSON_OBJECT;
    uint32_t at_a = f->at_a;
    uint32_t at_b = is_object ? find_key(w, f) : f->at_b;
    if (at_b == WEIR_JSON_NONE) {
        return false;
    }
    f->at_a = weir_json_after(w->a, f->in_a, at_a);
    f->at_b = weir_json_after(w->b, f->in_b, at_b);
    return same_value(w, at_a + is_object, at_b + is_object);
}

bool weir_json_equal(const struct weir_json *a, uint32_t at_a, const struct weir_json *b,
                     uint32_t at_b)
{
    struct walk w = {.a = a, .b = b};
    bool is_same = same_value(&w, at_a, at_b);
    while (is_same && w.n != 0) {
        is_same = step(&w);
    }
    while (w.n != 0) {
        pop(&w);
    }
    free(w.frames);
    return is_same;
}
