#include "server/export_where.h"

#include "base/err.h"
#include "wire/url.h"

int weir_export_where_parse(struct weir_slice url, struct weir_export_where *out)
{
    struct weir_url u;
    if (weir_url_parse(url, &u) != 0) {
        return WEIR_EBAD;
    }
    *out = (struct weir_export_where){
        .is_tls = u.is_tls, .host = u.host, .port = u.port, .path = u.path, .rest = u.query};
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
