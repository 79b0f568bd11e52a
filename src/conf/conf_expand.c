/*
 * ${VAR} and ${VAR:-default} in values. No nesting, no other shell syntax; $${ is a literal ${.
 * Values of variables are outside input: they must be UTF-8 and their sum is bounded.
 */
#include "base/buf.h"
#include "base/utf8.h"
#include "conf/conf_node.h"

/* One ${…}, cut up. */
struct reference {
    const char *name; /* NUL-terminated */
    struct weir_slice fallback;
    bool has_fallback;
};

static bool refuse(struct weir_conf_yaml *y, int line, const char *what, struct weir_slice excerpt)
{
    struct weir_conf_pos at = {y->file, line};
    weir_conf_problems_add(y->problems, WEIR_CONF_ERROR, at, "%s %s", what,
                           weir_conf__quote(y->arena, excerpt));
    return false;
}

static bool is_name_byte(char c, bool is_first)
{
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return is_letter || (!is_first && c >= '0' && c <= '9');
}

/* `inside` is what stands between the braces. */
static bool parse_reference(struct weir_conf_yaml *y, int line, struct weir_slice inside,
                            struct reference *out)
{
    size_t n = 0;
    while (n < inside.n && is_name_byte(inside.p[n], n == 0)) {
        n++;
    }
    struct weir_slice rest = weir_slice_sub(inside, n, inside.n);
    out->has_fallback = weir_slice_starts_with(rest, WEIR_SLICE(":-"));
    if (n == 0 || (rest.n != 0 && !out->has_fallback)) {
        return refuse(y, line,
                      "expected ${NAME} or ${NAME:-default} (and $${ for a literal ${), found",
                      inside);
    }
    out->name = weir_arena_dup(y->arena, weir_slice_sub(inside, 0, n)).p;
    out->fallback = out->has_fallback ? weir_slice_sub(rest, 2, rest.n) : rest;
    return true;
}

static bool append_value(struct weir_conf_yaml *y, int line, const struct reference *ref,
                         struct weir_buf *out)
{
    const char *value = y->env != NULL ? y->env(y->env_ctx, ref->name) : NULL;
    struct weir_slice s = weir_slice_cstr(value);
    if (ref->has_fallback && s.n == 0) {
        s = ref->fallback;
    } else if (value == NULL) {
        return refuse(y, line, "environment variable is not set and has no default:",
                      weir_slice_cstr(ref->name));
    }
    if (!weir_utf8_is_valid(s)) {
        return refuse(y, line,
                      "environment variable is not valid UTF-8:", weir_slice_cstr(ref->name));
    }
    y->n_expanded_bytes += s.n;
    if (y->n_expanded_bytes > WEIR_CONF_MAX_TEXT_BYTES) {
        return refuse(y, line, "environment variables expand to too much text, at",
                      weir_slice_cstr(ref->name));
    }
    return weir_buf_append(out, s) == 0;
}

/* Consumes one ${…} from the front of `rest`. */
static bool expand_one(struct weir_conf_yaml *y, int line, struct weir_slice *rest,
                       struct weir_buf *out)
{
    size_t close = weir_slice_find(*rest, '}');
    if (close == rest->n) {
        return refuse(y, line, "${ is never closed by }:", *rest);
    }
    struct reference ref = {0};
    bool is_good = parse_reference(y, line, weir_slice_sub(*rest, 2, close), &ref) &&
                   append_value(y, line, &ref, out);
    *rest = weir_slice_sub(*rest, close + 1, rest->n);
    return is_good;
}

bool weir_conf__expand(struct weir_conf_yaml *y, int line, struct weir_slice *text,
                       bool *is_expanded)
{
    if (memmem(text->p, text->n, "${", 2) == NULL) {
        return true;
    }
    struct weir_buf out = {0};
    bool is_good = true;
    struct weir_slice rest = *text;
    while (rest.n > 0 && is_good) {
        if (weir_slice_starts_with(rest, WEIR_SLICE("$${"))) {
            weir_buf_append(&out, WEIR_SLICE("${"));
            rest = weir_slice_sub(rest, 3, rest.n);
        } else if (weir_slice_starts_with(rest, WEIR_SLICE("${"))) {
            is_good = expand_one(y, line, &rest, &out);
            *is_expanded = true;
        } else {
            weir_buf_append_byte(&out, rest.p[0]);
            rest = weir_slice_sub(rest, 1, rest.n);
        }
    }
    if (is_good) {
        *text = weir_arena_dup(y->arena, weir_buf_slice(&out));
    }
    weir_buf_dispose(&out);
    return is_good;
}
