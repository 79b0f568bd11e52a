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

/* Where in an HTML tag, as HTML's own tokenizer counts. */
enum {
    TAG_NONE,
    TAG_NAME,
    TAG_BEFORE, /* an attribute */
    TAG_ATTRIBUTE,
    TAG_AFTER, /* the name of an attribute */
    TAG_VALUE, /* before it */
    TAG_BARE,  /* in a value without quotes */
    TAG_SINGLE,
    TAG_DOUBLE,
    TAG_DOUBTFUL, /* a value has a tag in it: which of the two is one, readers may see differently
                   */
};

/* How a target ends, where it is not with this very byte. */
enum {
    CLOSER_NONE = '\0', /* with the text */
    CLOSER_URL = '(',   /* behind `url(`: with a quote, if one comes first, or with a bracket */
    CLOSER_IMPORT = '@' /* behind `@import`: with a quote; without one it is none */
};

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
    l->is_port = false;
}

static void begin_text(struct weir_linkwatch *l)
{
    begin_url(l);
    l->mode = MODE_TEXT;
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

static void end_target(struct weir_linkwatch *l)
{
    l->is_target = false;
    begin_text(l);
}

/* What stands around the tag goes on behind it, and stays closed. */
static void begin_tag(struct weir_linkwatch *l)
{
    l->tag = TAG_NAME;
    if (l->is_target && l->closer != '>') {
        l->mode = MODE_CLOSED;
        l->n_word = 1;
    } else { /* the bracket that would end the target ends the tag */
        end_target(l);
    }
}

static uint8_t tag_behind_name(unsigned char c, uint8_t otherwise)
{
    return is_space(c) ? TAG_AFTER : c == '/' ? TAG_BEFORE : c == '=' ? TAG_VALUE : otherwise;
}

static uint8_t next_of_tag(uint8_t tag, unsigned char c)
{
    switch (tag) {
    case TAG_NAME:
        return is_space(c) || c == '/' ? TAG_BEFORE : TAG_NAME;
    case TAG_BEFORE: /* an equals sign is a name here */
        return is_space(c) || c == '/' ? TAG_BEFORE : TAG_ATTRIBUTE;
    case TAG_ATTRIBUTE:
    case TAG_AFTER:
        return tag_behind_name(c, TAG_ATTRIBUTE);
    case TAG_VALUE:
        return is_space(c) ? TAG_VALUE : c == '"' ? TAG_DOUBLE : c == '\'' ? TAG_SINGLE : TAG_BARE;
    case TAG_BARE:
        return is_space(c) ? TAG_BEFORE : TAG_BARE;
    case TAG_SINGLE:
        return c == '\'' ? TAG_BEFORE : TAG_SINGLE;
    case TAG_DOUBLE:
        return c == '"' ? TAG_BEFORE : TAG_DOUBLE;
    default:
        return tag;
    }
}

/* True: the byte is of a tag. */
static bool read_tag(struct weir_linkwatch *l, unsigned char c)
{
    bool is_letter = c >= 'a' && c <= 'z';
    bool is_begun = l->last[sizeof l->last - 2] == '<' && (is_letter || c == '/');
    if (l->tag == TAG_NONE) {
        if (is_begun) {
            begin_tag(l);
        }
        return is_begun;
    }
    if (is_begun && l->tag >= TAG_VALUE) {
        l->tag = TAG_DOUBTFUL;
    } else if (c == '>' && l->tag < TAG_SINGLE) {
        l->tag = TAG_NONE;
    } else {
        l->tag = next_of_tag(l->tag, c);
    }
    if (l->tag == TAG_NAME && !l->is_target &&
        (ends_with(l, "<mailto:") || ends_with(l, "<tel:"))) {
        l->tag = TAG_NONE; /* no tag but an address in brackets */
        begin_target(l, '>');
        l->mode = MODE_MAIL;
    }
    return true;
}

/* Of a name in any script, in lower case. */
static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || c >= 0x80;
}

/* Is the word at hand a name with a dot, and letters behind the last one? One with an `@` is
 * somebody's address, and what follows it is no path. */
static bool is_domain(const struct weir_linkwatch *l)
{
    size_t n = l->n_host;
    while (n > 0 && is_letter((unsigned char)l->host[n - 1])) {
        n--;
    }
    bool is_name = l->n_host - n >= 2 && n >= 2 && l->host[n - 1] == '.';
    return is_name && memchr(l->host, '@', n) == NULL;
}

/* `evil.example/…`: there are pages that make a link of a name without a scheme, too. In text the
 * host is the word at hand; behind its colon `is_port` is set. */
static void read_bare(struct weir_linkwatch *l, unsigned char c)
{
    bool is_digit = c >= '0' && c <= '9';
    bool is_name = is_digit || is_letter(c) || c == '.' || c == '-' || c == '@';
    if ((c == '/' || c == '?' || c == '#') && is_domain(l)) {
        l->mode = MODE_URL;
    } else if (c == ':' && !l->is_port && is_domain(l)) {
        l->is_port = true;
    } else if (is_name && !l->is_port && l->n_host < sizeof l->host) {
        l->host[l->n_host++] = (char)c;
    } else if (!l->is_port || !is_digit) {
        l->n_host = 0;
        l->is_port = false;
    }
}

static void read_text(struct weir_linkwatch *l, unsigned char c)
{
    size_t n = sizeof l->last;
    read_bare(l, c);
    if (l->mode == MODE_URL) {
        return;
    }
    if (ends_with(l, "](")) {
        begin_target(l, ')');
    } else if (ends_with(l, "url(") && !weir_mask_is_word((unsigned char)l->last[n - 5])) {
        begin_target(l, CLOSER_URL);
    } else if (ends_with(l, "@import")) {
        begin_target(l, CLOSER_IMPORT);
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

/* A URL that has another one in it, plain or in escapes, leads there if its host sends on whoever
 * asks: a value behind it would be the other's. */
static bool has_inner(const struct weir_linkwatch *l)
{
    static const char *const begins[] = {
        "//",     "\\\\",   "/\\",     "\\/", "http:",    "https:", "www.",
        "%2f%2f", "%5c%5c", "http%3a", "%25", "https%3a", "%2f/",   "/%2f"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        if (ends_with(l, begins[i])) {
            return true;
        }
    }
    return false;
}

/* A target ends with its bracket or quote, or with a blank line; that of a definition with the line
 * that it stands on. */
static bool ends_target(struct weir_linkwatch *l, unsigned char c)
{
    bool is_escaped = l->last[sizeof l->last - 2] == '\\';
    if (l->closer == CLOSER_NONE || l->closer == CLOSER_URL || l->closer == CLOSER_IMPORT) {
        return false;
    }
    if (c == '\n' && l->n_word != 0 && (l->closer == '\n' || l->is_line_blank)) {
        return true;
    }
    if (l->closer == ')' && c == '(' && l->depth != UINT16_MAX) {
        l->depth++;
    }
    if (c != (unsigned char)l->closer || c == '\n' || is_escaped) {
        return false;
    }
    if (c == ')' && l->depth != 0) {
        l->depth--;
        return false;
    }
    return true;
}

/* Behind `url(` and `@import`, at the first byte that is not white space. True: it is a quote. */
static bool read_css(struct weir_linkwatch *l, unsigned char c)
{
    bool is_quote = c == '"' || c == '\'';
    bool is_import = l->closer == CLOSER_IMPORT;
    if (is_quote) {
        l->closer = (char)c;
    } else if (is_import) {
        end_target(l);
    } else {
        l->closer = ')';
    }
    return is_quote;
}

static void read_next(struct weir_linkwatch *l, unsigned char c)
{
    if (read_tag(l, c)) {
        return;
    }
    bool is_css = l->is_target && (l->closer == CLOSER_URL || l->closer == CLOSER_IMPORT);
    if (is_css && !is_space(c) && read_css(l, c)) {
        return;
    }
    if (l->is_target && ends_target(l, c)) {
        end_target(l);
        return;
    }
    bool is_url = l->mode >= MODE_SLASHES && l->mode <= MODE_URL;
    if (is_url && ends_url(c)) {
        begin_text(l);
        l->mode = l->is_target ? MODE_CLOSED : MODE_TEXT;
        return;
    }
    if (is_url && !l->is_target && ends_with(l, "](")) { /* it was the link's text */
        begin_target(l, ')');
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
    case MODE_URL:
        l->is_odd = l->is_odd || has_inner(l);
        break;
    case MODE_MAIL:
        if (l->closer == '>' && (is_space(c) || c == '/')) { /* a tag after all */
            end_target(l);
            l->tag = TAG_BEFORE;
        }
        break;
    default:
        break;
    }
}

static void read_byte(struct weir_linkwatch *l, unsigned char raw)
{
    unsigned char c = lower(raw);
    memmove(l->last, l->last + 1, sizeof l->last - 1);
    l->last[sizeof l->last - 1] = (char)c;
    read_next(l, c);
    l->is_line_blank = c == '\n' || (l->is_line_blank && is_space(c));
}

void weir_linkwatch_begin_url(struct weir_linkwatch *l)
{
    begin_target(l, CLOSER_NONE);
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
    if (l->tag != TAG_NONE) {
        return false;
    }
    bool is_first = l->mode == MODE_TARGET && l->closer == CLOSER_NONE && l->n_word == 0;
    if (l->mode == MODE_TEXT || l->mode == MODE_MAIL || is_first) {
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
