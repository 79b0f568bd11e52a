#include "talk/linkwatch.h"

#include "talk/mask.h"

enum {
    MODE_TEXT,
    MODE_TARGET,    /* in a target, before it is known what it is */
    MODE_SLASHES,   /* behind a scheme, or in the slashes before an authority */
    MODE_AUTHORITY, /* the host */
    MODE_PORT,
    MODE_URL,    /* behind the authority */
    MODE_CLOSED, /* a target without a host of its own, or what follows its URL */
    MODE_MAIL,   /* a target that begins with `mailto:` or `tel:` */
};

/* `<` and a letter begin a tag; behind `=` comes a value. */
enum { TAG_NONE, TAG_NAMES, TAG_VALUE };

enum { ESCAPE_NONE, ESCAPE_BEGUN, ESCAPE_HEX }; /* and the digits that were seen */

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c - 'A' + 'a') : c;
}

static bool is_space(unsigned char c)
{
    return c <= ' ';
}

static bool ends_url(unsigned char c)
{
    return is_space(c) || c == '<' || c == '>';
}

static bool is_slash(unsigned char c)
{
    return c == '/' || c == '\\';
}

/* Do the bytes before end with this? */
static bool ends_with(const struct weir_linkwatch *l, const char *end)
{
    size_t n = strlen(end);
    return memcmp(l->last + sizeof l->last - n, end, n) == 0;
}

static void begin_url(struct weir_linkwatch *l)
{
    l->mode = MODE_SLASHES;
    l->n_host = 0;
    l->is_odd = false;
}

static void put_host(struct weir_linkwatch *l, unsigned char c)
{
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    if (!is_plain || l->n_host == sizeof l->host) {
        l->is_odd = true;
    } else {
        l->host[l->n_host++] = (char)c;
    }
}

static void begin_target(struct weir_linkwatch *l, char closer)
{
    l->mode = MODE_TARGET;
    l->is_target = true;
    l->closer = closer;
    l->n_word = 0;
    l->depth = 0;
}

/* What may still become a scheme is in the bytes before. */
static void read_target(struct weir_linkwatch *l, unsigned char c)
{
    static const char *const schemes[] = {"mailto:", "tel:", "http:", "https:", "//"};
    size_t n = sizeof l->last;
    if (l->n_word == 0 && is_space(c)) {
        return;
    }
    if (l->n_word == 0 && c == '<' && (l->closer == ')' || l->closer == '\n')) {
        l->closer = '>'; /* brackets and blanks may stand in it */
        return;
    }
    l->n_word = (uint8_t)(l->n_word + (l->n_word <= n));
    struct weir_slice word = {l->last + n - l->n_word, l->n_word};
    for (size_t i = 0; l->n_word <= n && i < sizeof schemes / sizeof schemes[0]; i++) {
        struct weir_slice scheme = weir_slice_cstr(schemes[i]);
        if (weir_slice_eq(word, scheme)) {
            begin_url(l);
            l->mode = i < 2 ? MODE_MAIL : MODE_SLASHES;
            return;
        }
        if (weir_slice_starts_with(scheme, word)) {
            return;
        }
    }
    l->mode = MODE_CLOSED;
    if (is_slash(c) && l->n_word == 2 && is_slash((unsigned char)word.p[0])) {
        begin_url(l);
    }
}

/* True: a value has begun. */
static bool read_tag(struct weir_linkwatch *l, unsigned char c)
{
    bool is_letter = c >= 'a' && c <= 'z';
    if (l->tag == TAG_VALUE && !is_space(c) && c != '>') {
        bool is_quoted = c == '"' || c == '\'';
        begin_target(l, is_quoted ? (char)c : ' ');
        if (!is_quoted) {
            read_target(l, c);
        }
        return true;
    }
    if (c == '>') {
        l->tag = TAG_NONE;
    } else if (l->tag == TAG_NAMES && c == '=') {
        l->tag = TAG_VALUE;
    } else if (l->tag == TAG_NONE && is_letter && ends_with(l, (char[]){'<', (char)c, '\0'})) {
        l->tag = TAG_NAMES;
    }
    return false;
}

static void read_text(struct weir_linkwatch *l, unsigned char c)
{
    size_t n = sizeof l->last;
    if (read_tag(l, c)) {
        return;
    }
    if (ends_with(l, "](")) {
        begin_target(l, ')');
    } else if (ends_with(l, "]:")) {
        begin_target(l, '\n');
    } else if (ends_with(l, "//") || ends_with(l, ":\\\\") || ends_with(l, "http:") ||
               ends_with(l, "https:")) {
        begin_url(l);
    } else if (ends_with(l, "www.") && !weir_mask_is_word((unsigned char)l->last[n - 5])) {
        begin_url(l);
        l->mode = MODE_AUTHORITY;
        memcpy(l->host, "www.", 4);
        l->n_host = 4;
    }
}

static void read_authority(struct weir_linkwatch *l, unsigned char c)
{
    if (c == '/' || c == '?' || c == '#') {
        l->mode = MODE_URL;
    } else if (c == ':' && l->mode == MODE_AUTHORITY) {
        l->mode = MODE_PORT;
    } else if (l->mode == MODE_PORT) {
        l->is_odd = l->is_odd || c < '0' || c > '9';
    } else {
        put_host(l, c);
    }
}

/* A target of markdown ends with its bracket, or with the line that it stands on. */
static bool ends_target(struct weir_linkwatch *l, unsigned char c)
{
    switch (l->closer) {
    case '"':
    case '\'':
        return c == (unsigned char)l->closer;
    case ' ':
        return is_space(c) || c == '>';
    case ')':
        if (c == '(') {
            l->depth++;
            return false;
        }
        if (c == ')' && l->depth != 0) {
            l->depth--;
            return false;
        }
        break;
    default:
        break;
    }
    return (c == '\n' && l->n_word != 0) || (l->closer != '\n' && c == (unsigned char)l->closer);
}

static void end_target(struct weir_linkwatch *l, unsigned char c)
{
    l->is_target = false;
    l->mode = MODE_TEXT;
    if (l->tag == TAG_VALUE) {
        l->tag = c == '>' ? TAG_NONE : TAG_NAMES;
    }
}

static void read_byte(struct weir_linkwatch *l, unsigned char raw)
{
    unsigned char c = lower(raw);
    memmove(l->last, l->last + 1, sizeof l->last - 1);
    l->last[sizeof l->last - 1] = (char)c;
    if (l->is_target && ends_target(l, c)) {
        end_target(l, c);
        return;
    }
    bool is_url = l->mode >= MODE_SLASHES && l->mode <= MODE_URL;
    if (is_url && ends_url(c)) {
        l->mode = l->is_target ? MODE_CLOSED : MODE_TEXT;
        l->tag = c == '>' ? TAG_NONE : l->tag;
        return;
    }
    switch (l->mode) {
    case MODE_TEXT:
        read_text(l, c);
        break;
    case MODE_TARGET:
        read_target(l, c);
        break;
    case MODE_SLASHES:
        if (!is_slash(c)) {
            l->mode = MODE_AUTHORITY;
            read_authority(l, c);
        }
        break;
    case MODE_AUTHORITY:
    case MODE_PORT:
        read_authority(l, c);
        break;
    default:
        break;
    }
}

/* ---- JSON ---- */

static int hex_of(unsigned char c)
{
    c = lower(c);
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void end_string(struct weir_linkwatch *l)
{
    bool is_json = l->is_json;
    *l = (struct weir_linkwatch){.is_json = is_json};
}

static void read_escape(struct weir_linkwatch *l, unsigned char c)
{
    if (l->escape == ESCAPE_BEGUN) {
        static const char plain[] = "nrtbf";
        l->escape = c == 'u' ? ESCAPE_HEX : ESCAPE_NONE;
        l->escaped = 0;
        if (c != 'u') {
            bool is_blank = c != '\0' && strchr(plain, c) != NULL;
            read_byte(l, is_blank ? (c == 'n' ? '\n' : ' ') : c);
        }
        return;
    }
    int digit = hex_of(c);
    if (digit < 0) { /* no JSON */
        l->escape = ESCAPE_NONE;
        read_byte(l, c);
        return;
    }
    l->escaped = (uint16_t)(l->escaped << 4 | digit);
    if (++l->escape == ESCAPE_HEX + 4) {
        l->escape = ESCAPE_NONE;
        read_byte(l, l->escaped < 0x80 ? (unsigned char)l->escaped : 0x80);
    }
}

void weir_linkwatch_feed(struct weir_linkwatch *l, struct weir_slice text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (l->is_json && l->escape != ESCAPE_NONE) {
            read_escape(l, c);
        } else if (l->is_json && c == '\\') {
            l->escape = ESCAPE_BEGUN;
        } else if (l->is_json && c == '"') {
            end_string(l);
        } else {
            read_byte(l, c);
        }
    }
}

bool weir_linkwatch_is_open(const struct weir_linkwatch *l,
                            const struct weir_linkwatch_hosts *hosts)
{
    if (l->mode == MODE_TEXT || l->mode == MODE_MAIL) {
        return true;
    }
    if (l->mode != MODE_URL || l->is_odd) {
        return false;
    }
    struct weir_slice host = {l->host, l->n_host};
    for (size_t i = 0; i < hosts->n; i++) {
        if (weir_slice_eq(host, hosts->names[i])) {
            return true;
        }
    }
    return false;
}
