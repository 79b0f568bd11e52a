#include "talk/form.h"

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

bool weir_form_is_id(struct weir_slice s, size_t most)
{
    return is_made_of(s, most, "_.:/+=@-", true);
}

bool weir_form_is_seal(struct weir_slice s)
{
    struct weir_slice mark = WEIR_SLICE(WEIR_FORM_SEAL_MARK);
    return weir_slice_starts_with(s, mark) &&
           is_made_of(weir_slice_sub(s, mark.n, s.n), SIZE_MAX, "_-", true);
}

bool weir_form_is_word(struct weir_slice s)
{
    return is_made_of(s, WEIR_FORM_WORD_MOST, "_", false);
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
    return plain_text(json, at, &text) && weir_form_is_id(text, most);
}

bool weir_form_is_word_at(const struct weir_json *json, uint32_t at)
{
    struct weir_slice text;
    return plain_text(json, at, &text) && weir_form_is_word(text);
}

/* ---- usage ---- */

enum { USAGE_DEPTH = 8 };

static bool is_usage_leaf(const struct weir_json *json, uint32_t at)
{
    enum weir_json_type type = weir_json_type(json, at);
    return type < WEIR_JSON_STRING || weir_form_is_word_at(json, at);
}

static bool is_usage_name(const struct weir_json *json, uint32_t key)
{
    struct weir_slice name;
    return plain_text(json, key, &name) && is_made_of(name, WEIR_FORM_DETECTION_MOST, "_.-", true);
}

size_t weir_form_write_usage(const struct weir_json *json, uint32_t at, struct weir_buf *out)
{
    struct weir_json_write w;
    uint32_t ends[USAGE_DEPTH]; /* of the objects that are open */
    size_t depth = 0;
    size_t n_odd = 0;
    uint32_t end = json->nodes[at].next;
    uint32_t i = at;
    weir_json_write_init(&w, out);
    while (i < end) {
        bool has_name = depth != 0; /* only objects are entered: the node is a key */
        if (has_name && !is_usage_name(json, i)) {
            n_odd++;
            i = json->nodes[i + 1].next;
        } else {
            if (has_name) {
                weir_json_write_key_raw(&w, weir_json_raw(json, i));
                i++;
            }
            bool is_object = weir_json_type(json, i) == WEIR_JSON_OBJECT && depth < USAGE_DEPTH;
            if (is_object) {
                weir_json_write_begin_object(&w);
                ends[depth++] = json->nodes[i].next;
                i++;
            } else if (is_usage_leaf(json, i)) {
                weir_json_write_raw(&w, weir_json_raw(json, i));
                i++;
            } else {
                weir_json_write_null(&w);
                n_odd++;
                i = json->nodes[i].next;
            }
        }
        while (depth != 0 && i == ends[depth - 1]) {
            weir_json_write_end_object(&w);
            depth--;
        }
    }
    return n_odd;
}
