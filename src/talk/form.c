#include "talk/form.h"

#include "talk/credential.h"
#include "wire/json_write.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_alnum(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

static bool is_made_of(struct weir_slice s, size_t most, const char *others, bool with_digits)
{
    if (s.n == 0 || s.n > most) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        bool is_plain = with_digits ? is_alnum(s.p[i]) : is_letter(s.p[i]);
        if (!is_plain && (s.p[i] == '\0' || strchr(others, s.p[i]) == NULL)) {
            return false;
        }
    }
    return true;
}

/* Does a domain begin there: labels, and a dot before one that begins with a letter? */
static bool is_domain_at(struct weir_slice s, size_t at)
{
    size_t start = at;
    while (at < s.n && (is_alnum(s.p[at]) || s.p[at] == '-')) {
        at++;
        bool is_dot = at + 1 < s.n && s.p[at] == '.' && at > start;
        if (is_dot && is_letter(s.p[at + 1])) {
            return true;
        }
        at += is_dot;
    }
    return false;
}

static bool has_address(struct weir_slice s)
{
    for (size_t i = 1; i < s.n; i++) {
        bool has_name = is_alnum(s.p[i - 1]) || strchr("_.+-=:", s.p[i - 1]) != NULL;
        if (s.p[i] == '@' && has_name && is_domain_at(s, i + 1)) {
            return true;
        }
    }
    return false;
}

bool weir_form_is_id(struct weir_slice s, size_t most)
{
    return is_made_of(s, most, "_.:/+=@-", true) && !has_address(s);
}

bool weir_form_is_said_id(struct weir_slice s, size_t most)
{
    return weir_form_is_id(s, most) && !weir_credential_in_id(s);
}

bool weir_form_is_seal(struct weir_slice s)
{
    struct weir_slice mark = WEIR_SLICE(WEIR_FORM_SEAL_MARK);
    return weir_slice_starts_with(s, mark) &&
           is_made_of(weir_slice_sub(s, mark.n, s.n), SIZE_MAX, "_-", true);
}

bool weir_form_is_word(struct weir_slice s)
{
    return is_made_of(s, WEIR_FORM_WORD_MOST, "_", false) && !weir_credential_in_id(s);
}

bool weir_form_is_detection(struct weir_slice s)
{
    return is_made_of(s, WEIR_FORM_DETECTION_MOST, "_.:/ -", true);
}

/* The text of a string without escapes; one with escapes has characters that no form allows. */
static bool plain_text(const struct weir_json *json, uint32_t at, struct weir_slice *out)
{
    if (at == WEIR_JSON_NONE || weir_json_type(json, at) != WEIR_JSON_STRING ||
        json->nodes[at].is_escaped) {
        return false;
    }
    struct weir_slice raw = weir_json_raw(json, at);
    *out = weir_slice_sub(raw, 1, raw.n - 1);
    return true;
}

bool weir_form_is_id_at(const struct weir_json *json, uint32_t at, size_t most)
{
    struct weir_slice text;
    return plain_text(json, at, &text) && weir_form_is_said_id(text, most);
}

bool weir_form_is_base64_at(const struct weir_json *json, uint32_t at, size_t most)
{
    struct weir_slice text;
    return plain_text(json, at, &text) && is_made_of(text, most, "+/=_-", true);
}

bool weir_form_is_word_at(const struct weir_json *json, uint32_t at)
{
    struct weir_slice text;
    return plain_text(json, at, &text) && weir_form_is_word(text);
}

bool weir_form_is_json_format(const struct weir_json *json, uint32_t format)
{
    bool is_object = format != WEIR_JSON_NONE && weir_json_type(json, format) == WEIR_JSON_OBJECT;
    uint32_t type =
        is_object ? weir_json_get_set(json, format, WEIR_SLICE("type")) : WEIR_JSON_NONE;
    bool is_text = type != WEIR_JSON_NONE && weir_json_type(json, type) == WEIR_JSON_STRING;
    return is_text && weir_slice_starts_with(weir_json_raw(json, type), WEIR_SLICE("\"json"));
}

/* ---- usage, and what filters say ---- */

enum { PLAIN_DEPTH = 8 };

static bool is_plain_leaf(const struct weir_json *json, uint32_t at)
{
    enum weir_json_type type = weir_json_type(json, at);
    return type < WEIR_JSON_STRING || weir_form_is_word_at(json, at);
}

static bool is_plain_name(const struct weir_json *json, uint32_t key)
{
    struct weir_slice name;
    bool is_text = plain_text(json, key, &name) && name.n != 0;
    bool is_number = is_text && name.p[0] >= '0' && name.p[0] <= '9'; /* and no name */
    return is_text && !is_number && is_made_of(name, WEIR_FORM_DETECTION_MOST, "_.-", true) &&
           !weir_credential_in_id(name);
}

struct plain {
    const struct weir_json *json;
    struct weir_json_write w;
    bool takes_arrays;
    uint32_t open[PLAIN_DEPTH]; /* the containers */
    size_t depth;
    size_t n_odd;
};

static bool is_object(const struct plain *p, size_t depth)
{
    return weir_json_type(p->json, p->open[depth]) == WEIR_JSON_OBJECT;
}

/* A value; returns the node to go on with. */
static uint32_t write_plain_value(struct plain *p, uint32_t at)
{
    const struct weir_json *json = p->json;
    enum weir_json_type type = weir_json_type(json, at);
    bool is_entered = type == WEIR_JSON_OBJECT || (type == WEIR_JSON_ARRAY && p->takes_arrays);
    if (is_entered && p->depth < PLAIN_DEPTH) {
        p->open[p->depth++] = at;
        if (type == WEIR_JSON_OBJECT) {
            weir_json_write_begin_object(&p->w);
        } else {
            weir_json_write_begin_array(&p->w);
        }
        return at + 1;
    }
    if (is_plain_leaf(json, at)) {
        weir_json_write_raw(&p->w, weir_json_raw(json, at));
    } else {
        weir_json_write_null(&p->w);
        p->n_odd++;
    }
    return json->nodes[at].next;
}

static uint32_t write_plain_member(struct plain *p, uint32_t key)
{
    if (!is_plain_name(p->json, key)) {
        p->n_odd++;
        return p->json->nodes[key + 1].next;
    }
    weir_json_write_key_raw(&p->w, weir_json_raw(p->json, key));
    return write_plain_value(p, key + 1);
}

static size_t write_plain(struct plain *p, uint32_t at, struct weir_buf *out)
{
    uint32_t end = p->json->nodes[at].next;
    weir_json_write_init(&p->w, out);
    while (at < end) {
        bool is_member = p->depth != 0 && is_object(p, p->depth - 1);
        at = is_member ? write_plain_member(p, at) : write_plain_value(p, at);
        while (p->depth != 0 && at == p->json->nodes[p->open[p->depth - 1]].next) {
            p->depth--;
            if (is_object(p, p->depth)) {
                weir_json_write_end_object(&p->w);
            } else {
                weir_json_write_end_array(&p->w);
            }
        }
    }
    return p->n_odd;
}

size_t weir_form_write_usage(const struct weir_json *json, uint32_t at, struct weir_buf *out)
{
    struct plain p = {.json = json};
    return write_plain(&p, at, out);
}

size_t weir_form_write_filters(const struct weir_json *json, uint32_t object,
                               const char *const *names, struct weir_buf *out)
{
    size_t n_odd = 0;
    for (; *names != NULL; names++) {
        struct plain p = {.json = json, .takes_arrays = true};
        uint32_t at = weir_json_get_set(json, object, weir_slice_cstr(*names));
        if (at != WEIR_JSON_NONE) {
            weir_buf_printf(out, "%s\"%s\":", out->n != 0 ? "," : "", *names);
            n_odd += write_plain(&p, at, out);
        }
    }
    return n_odd;
}
