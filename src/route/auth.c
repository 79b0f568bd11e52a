#include "route/auth.h"

/* The token of `Authorization: Bearer TOKEN`, or empty. */
static struct weir_slice bearer(const struct weir_http_request *req)
{
    struct weir_slice value = weir_http_request_get(req, WEIR_SLICE("authorization"));
    struct weir_slice scheme = {value.p, value.n < 7 ? value.n : 7};
    if (!weir_slice_eq_nocase(scheme, WEIR_SLICE("Bearer "))) {
        return WEIR_SLICE("");
    }
    return weir_slice_trim(weir_slice_sub(value, 7, value.n));
}

bool weir_auth_may_enter(const struct weir_conf_auth *auth, const struct weir_http_request *req)
{
    if (auth->keys_env.s.p == NULL) {
        return true;
    }
    struct weir_slice token = bearer(req);
    bool is_known = false;
    for (size_t i = 0; i < auth->n_keys; i++) {
        bool same = weir_slice_eq_secret(token, auth->keys[i]);
        is_known = is_known || same;
    }
    return is_known && token.n != 0;
}

bool weir_auth_is_ambiguous(const struct weir_http_request *req)
{
    size_t n = 0;
    for (size_t i = 0; i < req->n_fields; i++) {
        n += weir_slice_eq_nocase(req->fields[i].name, WEIR_SLICE("authorization"));
    }
    return n > 1;
}

static bool is_port(struct weir_slice s)
{
    uint64_t port;
    return s.n == 0 || (s.p[0] == ':' && weir_slice_u64(weir_slice_sub(s, 1, s.n), &port) == 0);
}

bool weir_auth_is_local(struct weir_slice authority)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct weir_slice name = weir_slice_cstr(names[i]);
        if (authority.n >= name.n &&
            weir_slice_eq_nocase(weir_slice_sub(authority, 0, name.n), name) &&
            is_port(weir_slice_sub(authority, name.n, authority.n))) {
            return true;
        }
    }
    return false;
}
