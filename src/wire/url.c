#include "wire/url.h"

#include "base/err.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum { HTTP_PORT = 80, HTTPS_PORT = 443 };

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* The byte that "%XX" at the start of `s` stands for, or -1. */
static int escaped_byte(struct weir_slice s)
{
    if (s.n < 3) {
        return -1;
    }
    int high = hex_value(s.p[1]);
    int low = hex_value(s.p[2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* RFC 3986 unreserved and sub-delims, a bit for each of the bytes 0-127. */
static bool is_name_char(char c)
{
    static const uint64_t allowed[2] = {0x2bff7fd200000000, 0x47fffffe87fffffe};
    unsigned char u = (unsigned char)c;
    return u < 128 && (allowed[u >> 6] >> (u & 63) & 1) != 0;
}

static bool is_reg_name(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (is_name_char(s.p[i])) {
            continue;
        }
        if (s.p[i] != '%' || escaped_byte(weir_slice_sub(s, i, s.n)) < 0) {
            return false;
        }
        i += 2;
    }
    return s.n != 0;
}

static bool is_v6_address(struct weir_slice s)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr ignored;
    if (s.n >= sizeof text || memchr(s.p, '\0', s.n) != NULL) {
        return false;
    }
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return inet_pton(AF_INET6, text, &ignored) == 1;
}

static int parse_port(struct weir_slice s, struct weir_url_authority *out)
{
    uint64_t port;
    if (s.n == 0) {
        return 0;
    }
    if (s.p[0] != ':' || weir_slice_u64(weir_slice_sub(s, 1, s.n), &port) != 0 ||
        port > UINT16_MAX) {
        return WEIR_EBAD;
    }
    out->has_port = true;
    out->port = (uint16_t)port;
    return 0;
}

int weir_url_parse_authority(struct weir_slice s, struct weir_url_authority *out)
{
    *out = (struct weir_url_authority){0};
    size_t host_end;
    if (s.n != 0 && s.p[0] == '[') {
        size_t close = weir_slice_find(s, ']');
        if (close == s.n || !is_v6_address(weir_slice_sub(s, 1, close))) {
            return WEIR_EBAD;
        }
        out->host = weir_slice_sub(s, 1, close);
        out->is_v6 = true;
        host_end = close + 1;
    } else {
        host_end = weir_slice_find(s, ':');
        out->host = weir_slice_make(s.p, host_end);
        if (!is_reg_name(out->host)) {
            return WEIR_EBAD;
        }
    }
    return parse_port(weir_slice_sub(s, host_end, s.n), out);
}

static bool take_scheme(struct weir_slice *url, struct weir_slice scheme)
{
    if (url->n < scheme.n || !weir_slice_eq_nocase(weir_slice_sub(*url, 0, scheme.n), scheme)) {
        return false;
    }
    *url = weir_slice_sub(*url, scheme.n, url->n);
    return true;
}

static bool is_plain(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c >= 0x7F || c == '#') {
            return false;
        }
    }
    return true;
}

static size_t find_first(struct weir_slice s, const char *any)
{
    size_t i = 0;
    while (i < s.n && strchr(any, s.p[i]) == NULL) {
        i++;
    }
    return i;
}

int weir_url_parse(struct weir_slice url, struct weir_url *out)
{
    struct weir_url_authority authority;
    struct weir_url u = {.is_tls = take_scheme(&url, WEIR_SLICE("https://"))};
    if (!is_plain(url) || (!u.is_tls && !take_scheme(&url, WEIR_SLICE("http://")))) {
        return WEIR_EBAD;
    }
    size_t at = find_first(url, "/?");
    struct weir_slice behind = weir_slice_sub(url, at, url.n);
    if (weir_url_parse_authority(weir_slice_sub(url, 0, at), &authority) != 0 ||
        (authority.has_port && authority.port == 0)) {
        return WEIR_EBAD;
    }
    size_t query_at = find_first(behind, "?");
    u.host = authority.host;
    u.port = u.is_tls ? HTTPS_PORT : HTTP_PORT;
    if (authority.has_port) {
        u.port = authority.port;
    }
    u.path = weir_slice_sub(behind, 0, query_at);
    u.query = weir_slice_sub(behind, query_at, behind.n);
    *out = u;
    return 0;
}

static bool is_unreserved(char c)
{
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

void weir_url_append_escaped(struct weir_buf *out, struct weir_slice s)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (is_unreserved(s.p[i])) {
            weir_buf_append_byte(out, s.p[i]);
        } else {
            char escaped[3] = {'%', digits[c >> 4], digits[c & 15]};
            weir_buf_append(out, weir_slice_make(escaped, sizeof escaped));
        }
    }
}

bool weir_url_unescape(struct weir_slice s, struct weir_arena *arena, struct weir_slice *out)
{
    char *text = weir_arena_alloc(arena, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int byte = (unsigned char)s.p[i];
        if (s.p[i] == '%') {
            byte = escaped_byte(weir_slice_sub(s, i, s.n));
            i += 2;
        }
        if (byte < 0) {
            return false;
        }
        text[n++] = (char)byte;
    }
    *out = weir_slice_make(text, n);
    return true;
}
