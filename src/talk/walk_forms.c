#include "base/utf8.h"
#include "talk/form.h"
#include "talk/walk_int.h"

enum { MAX_HEAD_BYTES = 256 };

/* ---- control members ---- */

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_role(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '_' && (s.p[i] < 'a' || s.p[i] > 'z')) {
            return false;
        }
    }
    return s.n != 0 && s.n <= WEIR_FORM_WORD_MOST;
}

static bool is_word(const char *const *words, struct weir_slice s)
{
    for (; *words != NULL; words++) {
        if (weir_slice_eq_cstr(s, *words)) {
            return true;
        }
    }
    return false;
}

bool weir_walk__fits(const struct weir_walk_member *m, struct weir_slice text)
{
    switch (m->form) {
    case WEIR_WALK_FORM_WORD:
    case WEIR_WALK_FORM_WORDS:
        return is_word(m->words, text);
    case WEIR_WALK_FORM_ID:
    case WEIR_WALK_FORM_STATE:
        return weir_form_is_id(text, WEIR_FORM_ID_MOST);
    case WEIR_WALK_FORM_CALL_ID:
        return weir_form_is_id(text, WEIR_FORM_CALL_ID_MOST);
    case WEIR_WALK_FORM_ROLE:
        return is_role(text);
    default:
        return false;
    }
}

bool weir_walk__is_header(struct weir_slice name, struct weir_slice value)
{
    struct weir_slice rest = value;
    struct weir_slice first = weir_slice_cut(&rest, ' ');
    return weir_form_is_id(name, WEIR_FORM_ID_MOST) &&
           weir_form_is_id(first, WEIR_FORM_CALL_ID_MOST) &&
           (rest.p == NULL || weir_form_is_id(rest, WEIR_FORM_CALL_ID_MOST));
}

/* ---- base64 ---- */

/* The six bits of a character of either alphabet; -1: white space; -2: none. */
static int bits_of(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == '+' || c == '-') {
        return 62;
    }
    if (c == '/' || c == '_') {
        return 63;
    }
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' ? -1 : -2;
}

/* Without the padding and the white space at the end. */
static struct weir_slice without_end(struct weir_slice s)
{
    while (s.n != 0 && (s.p[s.n - 1] == '=' || bits_of(s.p[s.n - 1]) == -1)) {
        s.n--;
    }
    return s;
}

/* `with_space`: as some decoders take it. Otherwise words with spaces between them are none. */
static bool is_base64(struct weir_slice s, bool with_space)
{
    s = without_end(s);
    for (size_t i = 0; i < s.n; i++) {
        if (bits_of(s.p[i]) < (with_space ? -1 : 0)) {
            return false;
        }
    }
    return true;
}

/* As decoders of many kinds read it: either alphabet, white space, any bits at the end. */
static struct weir_slice decode_base64(struct weir_slice s, struct weir_arena *arena)
{
    s = without_end(s);
    char *out = weir_arena_alloc(arena, s.n / 4 * 3 + 3);
    size_t n = 0;
    uint32_t bits = 0;
    unsigned n_bits = 0;
    for (size_t i = 0; i < s.n; i++) {
        int six = bits_of(s.p[i]);
        if (six < 0) {
            continue;
        }
        bits = (bits << 6 | (uint32_t)six) & 0xffffff;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            out[n++] = (char)(bits >> n_bits & 0xff);
        }
    }
    return weir_slice_make(out, n);
}

/* Characters that people write, and nothing else. */
static bool is_plain_text(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f') {
            return false;
        }
    }
    return s.n != 0 && weir_utf8_is_valid(s);
}

static bool is_url_alphabet(struct weir_slice s)
{
    return weir_slice_find(s, '-') < s.n || weir_slice_find(s, '_') < s.n;
}

/* ---- data: URLs ---- */

struct data_url {
    struct weir_slice prefix; /* up to and including the comma */
    struct weir_slice type;   /* image/png; may be empty */
    struct weir_slice body;
    bool is_base64;
};

static bool starts_with_nocase(struct weir_slice s, struct weir_slice prefix)
{
    return s.n >= prefix.n && weir_slice_eq_nocase(weir_slice_sub(s, 0, prefix.n), prefix);
}

static bool read_data_url(struct data_url *u, struct weir_slice text)
{
    static const char before[] = " \t\r\n";
    size_t skip = 0;
    while (skip < text.n && text.p[skip] != '\0' && strchr(before, text.p[skip]) != NULL) {
        skip++;
    }
    struct weir_slice url = weir_slice_sub(text, skip, text.n);
    size_t comma = weir_slice_find(text, ',');
    if (!starts_with_nocase(url, WEIR_SLICE("data:")) || comma == text.n) {
        return false;
    }
    struct weir_slice head = weir_slice_sub(text, skip + 5, comma);
    *u = (struct data_url){.prefix = weir_slice_sub(text, 0, comma + 1),
                           .body = weir_slice_sub(text, comma + 1, text.n)};
    u->type = weir_slice_trim(weir_slice_cut(&head, ';'));
    while (head.p != NULL) {
        struct weir_slice param = weir_slice_trim(weir_slice_cut(&head, ';'));
        u->is_base64 = u->is_base64 || weir_slice_eq_nocase(param, WEIR_SLICE("base64"));
    }
    return true;
}

static bool ends_with_nocase(struct weir_slice s, struct weir_slice suffix)
{
    return s.n >= suffix.n && weir_slice_eq_nocase(weir_slice_sub(s, s.n - suffix.n, s.n), suffix);
}

static bool is_text_type(struct weir_slice type)
{
    static const char *const whole[] = {
        "application/json",       "application/xml",      "application/yaml", "application/x-yaml",
        "application/javascript", "application/x-ndjson", "application/sql",  "application/toml"};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        if (weir_slice_eq_nocase(type, weir_slice_cstr(whole[i]))) {
            return true;
        }
    }
    return type.n == 0 || starts_with_nocase(type, WEIR_SLICE("text/")) ||
           ends_with_nocase(type, WEIR_SLICE("+json")) ||
           ends_with_nocase(type, WEIR_SLICE("+xml"));
}

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

static struct weir_slice decode_percent(struct weir_slice s, struct weir_arena *arena)
{
    char *out = weir_arena_alloc(arena, s.n);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool is_escape =
            s.p[i] == '%' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 && hex(s.p[i + 2]) >= 0;
        out[n++] = is_escape ? (char)(hex(s.p[i + 1]) * 16 + hex(s.p[i + 2])) : s.p[i];
        i += is_escape ? 2 : 0;
    }
    return weir_slice_make(out, n);
}

static struct weir_slice encode_percent(struct weir_slice prefix, struct weir_slice text,
                                        struct weir_arena *arena)
{
    struct weir_buf out = {0};
    weir_buf_append(&out, prefix);
    for (size_t i = 0; i < text.n; i++) {
        if (is_alnum(text.p[i])) {
            weir_buf_append_byte(&out, text.p[i]);
        } else {
            weir_buf_printf(&out, "%%%02X", (unsigned char)text.p[i]);
        }
    }
    struct weir_slice url = weir_arena_dup(arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return url;
}

struct weir_slice weir_walk_encode(const struct weir_walk_item *item, struct weir_slice text,
                                   struct weir_arena *arena)
{
    if (item->is_percent) {
        return encode_percent(item->prefix, text, arena);
    }
    struct weir_buf out = {0};
    weir_buf_append(&out, item->prefix);
    weir_buf_append(&out, weir_base64_encode(arena, item->form, text));
    struct weir_slice joined = weir_arena_dup(arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return joined;
}

/* ---- what a string holds ---- */

static void take_text(struct weir_walk_item *item, struct weir_slice prefix,
                      struct weir_slice encoded, struct weir_slice text)
{
    item->prefix = prefix;
    item->text = text;
    item->form = is_url_alphabet(encoded) ? WEIR_BASE64_URL : WEIR_BASE64_STANDARD;
}

/* Names and parameters of a type, as they are written everywhere. */
static bool is_plain_head(const struct data_url *u)
{
    for (size_t i = 0; i + 1 < u->prefix.n; i++) {
        char c = u->prefix.p[i];
        if (!is_alnum(c) && (c == '\0' || strchr(":/;=+.-_", c) == NULL)) {
            return false;
        }
    }
    return u->prefix.n <= MAX_HEAD_BYTES;
}

static enum weir_walk_kind open_data_url(struct weir_walk_item *item, const struct data_url *u,
                                         struct weir_arena *arena)
{
    if (!is_plain_head(u)) {
        return WEIR_WALK_REFUSED;
    }
    if (!is_text_type(u->type)) {
        return u->is_base64 && is_base64(u->body, false) ? WEIR_WALK_MEDIA : WEIR_WALK_IDENTIFIER;
    }
    if (u->is_base64 && !is_base64(u->body, true)) {
        return WEIR_WALK_REFUSED;
    }
    struct weir_slice text =
        u->is_base64 ? decode_base64(u->body, arena) : decode_percent(u->body, arena);
    take_text(item, u->prefix, u->body, text);
    item->is_percent = !u->is_base64;
    return text.n == 0 || is_plain_text(text) ? WEIR_WALK_ENCODED : WEIR_WALK_REFUSED;
}

enum weir_walk_kind weir_walk__open(struct weir_walk_item *item, struct weir_slice text,
                                    bool is_url, struct weir_arena *arena)
{
    struct data_url url;
    if (read_data_url(&url, text)) {
        return open_data_url(item, &url, arena);
    }
    if (is_url) {
        return WEIR_WALK_IDENTIFIER;
    }
    if (!is_base64(text, false)) {
        return WEIR_WALK_TEXT;
    }
    struct weir_slice bytes = decode_base64(text, arena);
    if (!is_plain_text(bytes)) {
        return WEIR_WALK_MEDIA;
    }
    take_text(item, WEIR_SLICE(""), text, bytes);
    return WEIR_WALK_ENCODED;
}
