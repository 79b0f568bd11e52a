#include "wire/url.h"

#include "base/err.h"

#include <arpa/inet.h>
#include <netinet/in.h>

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
