/*
 * Scalars: what they are by the YAML 1.2 core schema (so `off` and `yes` are texts, `0o17` is a
 * number), their values, and how messages show them.
 */
#include "base/buf.h"
#include "base/utf8.h"
#include "conf/conf_node.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_QUOTED_CP = 60 };

static bool is_one_of(struct weir_slice s, const char *const words[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (weir_slice_eq_cstr(s, words[i])) {
            return true;
        }
    }
    return false;
}

static const char *const null_words[] = {"", "~", "null", "Null", "NULL"};
static const char *const true_words[] = {"true", "True", "TRUE"};
static const char *const false_words[] = {"false", "False", "FALSE"};
static const char *const special_floats[] = {
    ".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf", "+.INF",
    "-.inf", "-.Inf", "-.INF", ".nan",  ".NaN",  ".NAN",
};

static size_t count_of(struct weir_slice s, size_t from, const char *set)
{
    size_t n = 0;
    while (from + n < s.n && strchr(set, s.p[from + n]) != NULL && s.p[from + n] != '\0') {
        n++;
    }
    return n;
}

static const char decimal[] = "0123456789";

static bool has_sign(struct weir_slice s)
{
    return s.n > 0 && (s.p[0] == '-' || s.p[0] == '+');
}

static bool is_int(struct weir_slice s)
{
    if (weir_slice_starts_with(s, WEIR_SLICE("0o"))) {
        return s.n > 2 && count_of(s, 2, "01234567") == s.n - 2;
    }
    if (weir_slice_starts_with(s, WEIR_SLICE("0x"))) {
        return s.n > 2 && count_of(s, 2, "0123456789abcdefABCDEF") == s.n - 2;
    }
    size_t at = has_sign(s);
    return s.n > at && count_of(s, at, decimal) == s.n - at;
}

/* [-+]? ( . digits | digits [. digits*]? ) ( [eE] [-+]? digits )? */
static bool is_float(struct weir_slice s)
{
    if (is_one_of(s, special_floats, sizeof special_floats / sizeof *special_floats)) {
        return true;
    }
    size_t at = has_sign(s);
    size_t n_before = count_of(s, at, decimal);
    at += n_before;
    if (at < s.n && s.p[at] == '.') {
        size_t n_after = count_of(s, at + 1, decimal);
        at += 1 + n_after;
        n_before += n_after;
    }
    if (n_before == 0) {
        return false;
    }
    if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
        at++;
        at += at < s.n && (s.p[at] == '-' || s.p[at] == '+');
        size_t n_exponent = count_of(s, at, decimal);
        at += n_exponent;
        return n_exponent > 0 && at == s.n;
    }
    return at == s.n;
}

static enum weir_conf_scalar_type type_of_text(struct weir_slice s)
{
    if (is_one_of(s, null_words, sizeof null_words / sizeof *null_words)) {
        return WEIR_CONF_IS_NULL;
    }
    if (is_one_of(s, true_words, 3) || is_one_of(s, false_words, 3)) {
        return WEIR_CONF_IS_BOOL;
    }
    if (is_int(s)) {
        return WEIR_CONF_IS_INT;
    }
    return is_float(s) ? WEIR_CONF_IS_FLOAT : WEIR_CONF_IS_TEXT;
}

enum weir_conf_scalar_type weir_conf__scalar_type(const struct weir_conf_node *n)
{
    return n->is_plain ? type_of_text(n->text) : WEIR_CONF_IS_TEXT;
}

bool weir_conf__is_null(const struct weir_conf_node *n)
{
    return n->kind == WEIR_CONF_SCALAR && weir_conf__scalar_type(n) == WEIR_CONF_IS_NULL;
}

/* Quoted or not does not matter for what came from a variable: see the header. */
static bool is_type(const struct weir_conf_node *n, enum weir_conf_scalar_type type)
{
    return n->kind == WEIR_CONF_SCALAR && (n->is_plain || n->is_expanded) &&
           type_of_text(n->text) == type;
}

bool weir_conf__as_bool(const struct weir_conf_node *n, bool *out)
{
    if (!is_type(n, WEIR_CONF_IS_BOOL)) {
        return false;
    }
    *out = is_one_of(n->text, true_words, 3);
    return true;
}

bool weir_conf__as_int(const struct weir_conf_node *n, int64_t *out)
{
    if (!is_type(n, WEIR_CONF_IS_INT)) {
        return false;
    }
    const char *digits = n->text.p;
    int base = 10;
    if (weir_slice_starts_with(n->text, WEIR_SLICE("0o"))) {
        base = 8;
        digits += 2;
    } else if (weir_slice_starts_with(n->text, WEIR_SLICE("0x"))) {
        base = 16;
        digits += 2;
    }
    errno = 0;
    long long value = strtoll(digits, NULL, base);
    *out = value;
    return errno == 0;
}

bool weir_conf__as_number(const struct weir_conf_node *n, double *out)
{
    int64_t whole;
    if (weir_conf__as_int(n, &whole)) {
        *out = (double)whole;
        return true;
    }
    if (!is_type(n, WEIR_CONF_IS_FLOAT)) {
        return false;
    }
    *out = strtod(n->text.p, NULL); /* .inf and .nan come out as 0, but are no number to us */
    bool is_special = is_one_of(n->text, special_floats, sizeof special_floats / sizeof(char *));
    return !is_special && isfinite(*out);
}

bool weir_conf__as_text(const struct weir_conf_node *n, struct weir_slice *out)
{
    if (n->kind != WEIR_CONF_SCALAR) {
        return false;
    }
    if (n->is_plain && !n->is_expanded && type_of_text(n->text) != WEIR_CONF_IS_TEXT) {
        return false;
    }
    *out = n->text;
    return true;
}

/* Control characters and bidirectional tricks would let a value forge the lines around it. */
static bool is_printable(uint32_t cp)
{
    bool is_control = cp < 0x20 || (cp >= 0x7f && cp < 0xa0);
    bool is_format = (cp >= 0x200b && cp <= 0x200f) || (cp >= 0x2028 && cp <= 0x202e) ||
                     (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff;
    return !is_control && !is_format;
}

const char *weir_conf__quote(struct weir_arena *a, struct weir_slice s)
{
    struct weir_buf out = {0};
    weir_buf_append_byte(&out, '`');
    s.n = weir_utf8_valid_prefix(s);
    for (int i = 0; s.n > 0 && i < MAX_QUOTED_CP; i++) {
        size_t n_bytes;
        uint32_t cp = weir_utf8_decode(s, &n_bytes);
        if (is_printable(cp)) {
            weir_buf_append(&out, weir_slice_sub(s, 0, n_bytes));
        } else {
            weir_buf_printf(&out, "\\u{%x}", cp);
        }
        s = weir_slice_sub(s, n_bytes, s.n);
    }
    weir_buf_append(&out, s.n > 0 ? WEIR_SLICE("…`") : WEIR_SLICE("`"));
    const char *text = weir_arena_dup(a, weir_buf_slice(&out)).p;
    weir_buf_dispose(&out);
    return text;
}

const char *weir_conf__describe(struct weir_arena *a, const struct weir_conf_node *n)
{
    if (n->kind != WEIR_CONF_SCALAR) {
        return n->kind == WEIR_CONF_MAPPING ? "a mapping" : "a list";
    }
    const char *quoted = weir_conf__quote(a, n->text);
    switch (weir_conf__scalar_type(n)) {
    case WEIR_CONF_IS_NULL:
        return "nothing";
    case WEIR_CONF_IS_BOOL:
        return quoted;
    case WEIR_CONF_IS_INT:
    case WEIR_CONF_IS_FLOAT:
        return weir_arena_printf(a, "the number %s", quoted);
    case WEIR_CONF_IS_TEXT:
        break;
    }
    return weir_arena_printf(a, "the text %s", quoted);
}
