#include "server/export_where.h"

#include "base/err.h"
#include "wire/url.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443 };

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

int weir_export_where_parse(struct weir_slice url, struct weir_export_where *out)
{
    struct weir_url_authority authority;
    struct weir_export_where w = {0};
    w.is_tls = take_scheme(&url, WEIR_SLICE("https://"));
    if (!w.is_tls && !take_scheme(&url, WEIR_SLICE("http://"))) {
        return WEIR_EBAD;
    }
    size_t at = find_first(url, "/?");
    struct weir_slice behind = weir_slice_sub(url, at, url.n);
    if (!is_plain(url) || weir_url_parse_authority(weir_slice_sub(url, 0, at), &authority) != 0 ||
        (authority.has_port && authority.port == 0)) {
        return WEIR_EBAD;
    }
    size_t query_at = find_first(behind, "?");
    w.host = authority.host;
    w.port = w.is_tls ? HTTPS_PORT : HTTP_PORT;
    if (authority.has_port) {
        w.port = authority.port;
    }
    w.path = weir_slice_sub(behind, 0, query_at);
    w.rest = weir_slice_sub(behind, query_at, behind.n);
    *out = w;
    return 0;
}

struct weir_slice weir_export_where_path(struct weir_arena *a, const struct weir_export_where *w,
                                         bool is_own, const char *signal)
{
    struct weir_slice path = w->path;
    if (is_own) {
        signal = path.n != 0 ? "" : "/";
    } else {
        while (path.n != 0 && path.p[path.n - 1] == '/') {
            path.n--;
        }
    }
    return weir_slice_cstr(
        weir_arena_printf(a, "%.*s%s%.*s", (int)path.n, path.p, signal, (int)w->rest.n, w->rest.p));
}
