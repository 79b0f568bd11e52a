#ifndef WEIR_TESTS_UNIT_HTTP_SERVE_TLS_H
#define WEIR_TESTS_UNIT_HTTP_SERVE_TLS_H

/* The same endpoint behind TLS. The group needs certs_setup and certs_teardown. */
#include "unit/http/serve.h"
#include "unit/io/certs.h"

static inline void serve_use_tls(struct served *sv, bool offer_h2)
{
    struct weir_tls_options up = {.cert_path = certs_path("server.pem"),
                                  .key_path = certs_path("server.key"),
                                  .offer_h2 = true};
    struct weir_tls_options down = {.ca_path = certs_path("ca.pem"), .offer_h2 = offer_h2};
    struct weir_buf why = {0};
    sv->pair->up_tls = weir_tls_new_server(&up, &why);
    sv->pair->down_tls = weir_tls_new_client(&down, &why);
    assert_true(sv->pair->up_tls != NULL && sv->pair->down_tls != NULL);
    weir_buf_dispose(&why);
    sv->endpoint.tls = sv->pair->up_tls;
}

#endif
