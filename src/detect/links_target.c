#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/links_int.h"

/* ---- character references */

/* Those that stand for ASCII, and those that a browser drops from a host. The others cannot make
 * a host that is allowed. */
static const struct {
    const char *name;
    uint32_t cp;
} references[] = {
    {"Tab", '\t'},
    {"NewLine", '\n'},
    {"excl", '!'},
    {"quot", '"'},
    {"QUOT", '"'},
    {"num", '#'},
    {"dollar", '$'},
    {"percnt", '%'},
    {"amp", '&'},
    {"AMP", '&'},
    {"apos", '\''},
    {"lpar", '('},
    {"rpar", ')'},
    {"ast", '*'},
    {"midast", '*'},
    {"plus", '+'},
    {"comma", ','},
    {"period", '.'},
    {"sol", '/'},
    {"colon", ':'},
    {"semi", ';'},
    {"lt", '<'},
    {"LT", '<'},
    {"equals", '='},
    {"gt", '>'},
    {"GT", '>'},
    {"quest", '?'},
    {"commat", '@'},
    {"lsqb", '['},
    {"lbrack", '['},
    {"bsol", '\\'},
    {"rsqb", ']'},
    {"rbrack", ']'},
    {"Hat", '^'},
    {"lowbar", '_'},
    {"UnderBar", '_'},
    {"grave", '`'},
    {"lcub", '{'},
    {"lbrace", '{'},
    {"verbar", '|'},
    {"vert", '|'},
    {"VerticalLine", '|'},
    {"rcub", '}'},
    {"rbrace", '}'},
    {"shy", 0xAD},
    {"nbsp", 0xA0},
    {"zwj", 0x200D},
    {"zwnj", 0x200C},
    {"ZeroWidthSpace", 0x200B},
    {"NoBreak", 0x2060},
};

static bool named(struct weir_slice name, uint32_t *cp)
{
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++) {
        if (weir_slice_eq_cstr(name, references[i].name)) {
            *cp = references[i].cp;
            return true;
        }
    }
    return false;
}

/* The digits of &#x6a; with or without the semicolon. Returns one past it, or `at`. */
static size_t read_numeric(struct weir_slice s, size_t at, uint32_t *cp)
{
    enum { MOST = 16 };
    size_t i = at + 2;
    bool is_hex = weir_ascii_lower(weir_ascii_at(s, i)) == 'x';
    i += is_hex;
    size_t from = i;
    uint32_t value = 0;
    for (; i < s.n && i - from < MOST; i++) {
        char c = weir_ascii_lower(s.p[i]);
        if (is_hex ? !weir_ascii_is_hex(c) : !weir_ascii_is_digit(c)) {
            break;
        }
        uint32_t digit = weir_ascii_is_digit(c) ? (uint32_t)(c - '0') : (uint32_t)(c - 'a' + 10);
        value = value * (is_hex ? 16 : 10) + digit;
        value = value > 0x10FFFF ? 0x110000 : value;
    }
    *cp = value <= 0x10FFFF ? value : 0xFFFD;
    return i == from ? at : i + (weir_ascii_at(s, i) == ';');
}

/* One past the reference at `at`, or `at`. */
static size_t read_reference(struct weir_slice s, size_t at, uint32_t *cp)
{
    enum { LONGEST = 16 };
    if (weir_ascii_at(s, at + 1) == '#') {
        return read_numeric(s, at, cp);
    }
    size_t end = at + 1;
    while (end < s.n && end - at < LONGEST && weir_ascii_is_alnum(s.p[end])) {
        end++;
    }
    bool is_one = weir_ascii_at(s, end) == ';' && named(weir_slice_sub(s, at + 1, end), cp);
    return is_one ? end + 1 : at;
}

/* ---- decoding */

static bool is_blank(unsigned char c)
{
    return c <= ' ';
}

static bool is_dropped(uint32_t cp)
{
    return cp == '\t' || cp == '\n' || cp == '\r';
}

static bool is_escapable(char c)
{
    return c > ' ' && c < 0x7f && !weir_ascii_is_alnum(c);
}

static void put(struct weir_buf *out, uint32_t cp)
{
    char bytes[4];
    bool is_leading = out->n == 0 && cp <= ' ';
    if (!is_dropped(cp) && !is_leading) {
        weir_buf_append(out, weir_slice_make(bytes, weir_utf8_encode(cp, bytes)));
    }
}

void weir_links__decode(struct weir_slice raw, bool has_escapes, struct weir_buf *out)
{
    weir_buf_clear(out);
    for (size_t i = 0, n; i < raw.n; i += n) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(raw, i, raw.n), &n);
        if (cp == '&') {
            size_t end = read_reference(raw, i, &cp);
            n = end > i ? end - i : 1;
        } else if (cp == '\\' && has_escapes && is_escapable(weir_ascii_at(raw, i + 1))) {
            cp = (unsigned char)raw.p[i + 1];
            n = 2;
        }
        put(out, cp);
    }
    while (out->n != 0 && is_blank((unsigned char)out->p[out->n - 1])) {
        out->n--;
    }
}

/* ---- schemes */

static bool starts(struct weir_slice s, const char *word)
{
    size_t n = strlen(word);
    return s.n >= n && weir_slice_eq_nocase(weir_slice_sub(s, 0, n), weir_slice_cstr(word));
}

static size_t skip_slashes(struct weir_slice s, size_t at)
{
    while (weir_ascii_at(s, at) == '/' || weir_ascii_at(s, at) == '\\') {
        at++;
    }
    return at;
}

enum weir_links__scheme weir_links__parse_scheme(struct weir_slice address, size_t *authority)
{
    static const char *const scripts[] = {"javascript:", "vbscript:", "data:text/html",
                                          "data:application/xhtml", NULL};
    static const char *const schemes[] = {"https:", "http:", "ftp:", "ftps:", "wss:", "ws:", NULL};
    for (const char *const *w = scripts; *w != NULL; w++) {
        if (starts(address, *w) && address.n > strlen(*w)) {
            return WEIR_LINKS_SCRIPT;
        }
    }
    for (const char *const *w = schemes; *w != NULL; w++) {
        if (starts(address, *w)) {
            *authority = skip_slashes(address, strlen(*w));
            return WEIR_LINKS_WEB;
        }
    }
    *authority = skip_slashes(address, 0);
    return *authority >= 2 ? WEIR_LINKS_WEB : WEIR_LINKS_RELATIVE;
}
