#include "route/table.h"

#include "route/reply.h"

static bool is_path(struct weir_slice path, struct weir_slice pattern)
{
    if (pattern.p[pattern.n - 1] != '*') {
        return weir_slice_eq(path, pattern);
    }
    struct weir_slice prefix = weir_slice_sub(pattern, 0, pattern.n - 1);
    return path.n > prefix.n && weir_slice_starts_with(path, prefix);
}

const struct weir_route_entry *weir_route_find(const struct weir_route_entry *table, size_t n,
                                               struct weir_slice path)
{
    for (size_t i = 0; i < n; i++) {
        if (is_path(path, weir_slice_cstr(table[i].path))) {
            return &table[i];
        }
    }
    return NULL;
}

static struct weir_slice allow_of(enum weir_http_method method)
{
    return method == WEIR_HTTP_GET ? WEIR_SLICE("GET, HEAD, OPTIONS") : WEIR_SLICE("POST, OPTIONS");
}

static bool is_allowed(const struct weir_route_entry *entry, enum weir_http_method method)
{
    bool is_head = method == WEIR_HTTP_HEAD && entry->method == WEIR_HTTP_GET;
    return method == entry->method || is_head;
}

void weir_route_dispatch(const struct weir_route_entry *entry, void *env,
                         struct weir_http_stream *s)
{
    bool is_options = s->req.method == WEIR_HTTP_OPTIONS;
    if (is_options && weir_slice_eq(s->req.path, WEIR_SLICE("*"))) {
        weir_reply_allow(s, WEIR_SLICE("GET, HEAD, POST, OPTIONS"));
        return;
    }
    if (entry == NULL || (entry->exists != NULL && !entry->exists(env))) {
        weir_reply_error(s, 404, WEIR_SLICE("unknown path"));
        return;
    }
    if (is_options) {
        weir_reply_allow(s, allow_of(entry->method));
        return;
    }
    if (!is_allowed(entry, s->req.method)) {
        struct weir_http_field allow = {WEIR_SLICE("allow"), allow_of(entry->method)};
        const char *what = entry->method == WEIR_HTTP_GET ? "method not allowed: use GET"
                                                          : "method not allowed: use POST";
        weir_reply_error_with(s, 405, weir_slice_cstr(what), allow);
        return;
    }
    entry->begin(env, s);
}
