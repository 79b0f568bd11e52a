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
