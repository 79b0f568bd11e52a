#include "route/cors.h"

#include "route/headers.h"

enum { MAX_ASKED_BYTES = 1024 };

/* The origin as it is answered: itself, or `*`. p NULL: it is not listed. */
static struct weir_slice allowed(const struct weir_conf_list *origins, struct weir_slice origin)
{
    for (size_t i = 0; i < origins->n; i++) {
        if (weir_slice_eq_cstr(origins->items[i].s, "*")) {
            return WEIR_SLICE("*");
        }
        if (weir_slice_eq_nocase(origins->items[i].s, origin)) {
            return origin;
        }
    }
    return (struct weir_slice){0};
}

/* Names of headers, as a browser lists them: they are told back. */
static bool is_list(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_alnum && c != '-' && c != '_' && c != ',' && c != ' ') {
            return false;
        }
    }
    return s.n != 0 && s.n <= MAX_ASKED_BYTES;
}

static void answer_preflight(struct weir_http_stream *s)
{
    struct weir_slice asked =
        weir_http_request_get(&s->req, WEIR_SLICE("access-control-request-headers"));
    struct weir_http_field fields[] = {
        {WEIR_SLICE("access-control-allow-methods"), WEIR_SLICE("GET, POST, DELETE")},
        {WEIR_SLICE("access-control-max-age"), WEIR_SLICE("600")},
        {WEIR_SLICE("access-control-allow-headers"), asked},
    };
    weir_http_stream_reply(s, 204, fields, is_list(asked) ? 3 : 2, WEIR_SLICE(""));
}

bool weir_cors_begin(struct weir_http_stream *s)
{
    const struct weir_conf *conf = weir_request_of(s)->env->conf;
    struct weir_slice origin = weir_http_request_get(&s->req, WEIR_SLICE("origin"));
    if (conf->cors_origins.n == 0 || origin.p == NULL) {
        return false;
    }
    struct weir_slice told = allowed(&conf->cors_origins, origin);
    weir_headers_add(s, WEIR_SLICE("vary"), WEIR_SLICE("origin"));
    if (told.p == NULL) {
        return false;
    }
    weir_headers_add(s, WEIR_SLICE("access-control-allow-origin"), told);
    weir_headers_add(s, WEIR_SLICE("access-control-expose-headers"),
                     WEIR_SLICE("x-request-id, x-weir-route, x-weir-policy, x-weir-guarded, "
                                "x-weir-action, retry-after"));
    bool is_preflight =
        s->req.method == WEIR_HTTP_OPTIONS &&
        weir_http_request_get(&s->req, WEIR_SLICE("access-control-request-method")).p != NULL;
    if (is_preflight) {
        answer_preflight(s);
    }
    return is_preflight;
}
