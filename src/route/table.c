#include "route/table.h"

#include "route/reply.h"

static bool is_path(struct weir_slice path, struct weir_slice pattern)
{
    size_t star = pattern.p != NULL ? weir_slice_find(pattern, '*') : pattern.n;
    if (star == pattern.n) {
        return weir_slice_eq(path, pattern);
    }
    struct weir_slice prefix = weir_slice_sub(pattern, 0, star);
    struct weir_slice suffix = weir_slice_sub(pattern, star + 1, pattern.n);
    if (path.n <= prefix.n + suffix.n || !weir_slice_starts_with(path, prefix) ||
        !weir_slice_ends_with(path, suffix)) {
        return false;
    }
    struct weir_slice between = weir_slice_sub(path, prefix.n, path.n - suffix.n);
    return suffix.n == 0 || weir_slice_find(between, '/') == between.n;
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
    switch (method) {
    case WEIR_HTTP_GET:
        return WEIR_SLICE("GET, HEAD, OPTIONS");
    case WEIR_HTTP_DELETE:
        return WEIR_SLICE("GET, HEAD, DELETE, OPTIONS");
    case WEIR_ROUTE_ANY:
        return WEIR_SLICE("GET, HEAD, POST, DELETE, OPTIONS");
    default:
        return WEIR_SLICE("POST, OPTIONS");
    }
}

static const char *words_of(enum weir_http_method method)
{
    switch (method) {
    case WEIR_HTTP_GET:
        return "method not allowed: use GET";
    case WEIR_HTTP_DELETE:
        return "method not allowed: use GET or DELETE";
    case WEIR_ROUTE_ANY:
        return "method not allowed: use GET, POST or DELETE";
    default:
        return "method not allowed: use POST";
    }
}

static bool is_allowed(const struct weir_route_entry *entry, enum weir_http_method method)
{
    bool is_read = method == WEIR_HTTP_GET || method == WEIR_HTTP_HEAD;
    bool may_read = entry->method == WEIR_HTTP_GET || entry->method == WEIR_HTTP_DELETE;
    if (entry->method == WEIR_ROUTE_ANY) {
        return is_read || method == WEIR_HTTP_POST || method == WEIR_HTTP_DELETE;
    }
    return method == entry->method || (is_read && may_read);
}

void weir_route_dispatch(const struct weir_route_entry *entry, void *env,
                         struct weir_http_stream *s)
{
    bool is_options = s->req.method == WEIR_HTTP_OPTIONS;
    if (is_options && weir_slice_eq(s->req.path, WEIR_SLICE("*"))) {
        weir_reply_allow(s, WEIR_SLICE("GET, HEAD, POST, DELETE, OPTIONS"));
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
        weir_reply_error_with(s, 405, weir_slice_cstr(words_of(entry->method)), allow);
        return;
    }
    entry->begin(env, s);
}
