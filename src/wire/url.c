#include "wire/url.h"

#include "base/err.h"

#include <arpa/inet.h>
#include <netinet/in.h>

void weir_url_split(struct weir_slice target, struct weir_url_target *out)
{
    size_t at = weir_slice_find(target, '?');
    out->path = weir_slice_make(target.p, at);
    out->query = at == target.n ? (struct weir_slice){0} : weir_slice_sub(target, at + 1, target.n);
}

bool weir_url_next_param(struct weir_slice *query, struct weir_url_param *out)
{
    while (query->p != NULL) {
        struct weir_slice one = weir_slice_cut(query, '&');
        if (one.n == 0) {
            continue;
        }
        size_t at = weir_slice_find(one, '=');
        out->has_value = at != one.n;
        out->key = weir_slice_make(one.p, at);
        out->value = out->has_value ? weir_slice_sub(one, at + 1, one.n) : (struct weir_slice){0};
        return true;
    }
    return false;
}

int weir_url_get_param(struct weir_arena *a, struct weir_slice query, struct weir_slice name,
                       struct weir_slice *value)
{
    struct weir_url_param param;
    while (weir_url_next_param(&query, &param)) {
        struct weir_slice key;
        int rc = weir_url_decode_form(a, param.key, &key);
        if (rc != 0) {
            return rc;
        }
        if (weir_slice_eq(key, name)) {
            return weir_url_decode_form(a, param.value, value);
        }
    }
    return WEIR_ENOTFOUND;
}

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

/* `from` is the first byte that needs decoding. */
static int decode_from(struct weir_arena *a, struct weir_slice s, size_t from, bool is_form,
                       struct weir_slice *out)
{
    char *to = weir_arena_alloc(a, s.n);
    memcpy(to, s.p, from);
    size_t n = from;
    for (size_t i = from; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            int byte = escaped_byte(weir_slice_sub(s, i, s.n));
            if (byte <= 0) {
                return WEIR_EBAD;
            }
            c = (char)byte;
            i += 2;
        } else if (c == '+' && is_form) {
            c = ' ';
        }
        to[n++] = c;
    }
    *out = weir_slice_make(to, n);
    return 0;
}

int weir_url_decode(struct weir_arena *a, struct weir_slice s, struct weir_slice *out)
{
    size_t from = weir_slice_find(s, '%');
    *out = s;
    return from == s.n ? 0 : decode_from(a, s, from, false, out);
}

int weir_url_decode_form(struct weir_arena *a, struct weir_slice s, struct weir_slice *out)
{
    size_t from = 0;
    while (from < s.n && s.p[from] != '%' && s.p[from] != '+') {
        from++;
    }
    *out = s;
    return from == s.n ? 0 : decode_from(a, s, from, true, out);
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
