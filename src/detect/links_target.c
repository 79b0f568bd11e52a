#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/charref.h"
#include "detect/links_int.h"

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

size_t weir_links__decode(struct weir_slice raw, bool has_escapes, size_t most,
                          struct weir_buf *out)
{
    size_t i = 0;
    weir_buf_clear(out);
    for (size_t n; i < raw.n && out->n < most; i += n) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(raw, i, raw.n), &n);
        if (cp == '&') {
            size_t end = weir_charref_read(raw, i, &cp);
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
    return i;
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
